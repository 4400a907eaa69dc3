//! Dense columns that lie side by side are multiplied as one matrix.

use feasible_nn::internals::runs;

#[test]
fn runs_are_the_stretches_of_consecutive_columns() {
    let found: Vec<_> = runs(&[0, 1, 4, 7, 8, 9]).collect();
    assert_eq!(found, [(0..2, 0), (2..3, 4), (3..6, 7)]);
    assert_eq!(runs(&[]).count(), 0);
}

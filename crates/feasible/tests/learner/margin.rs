//! How much stricter than stated a requirement is trained.

use feasible::internals::learned;
use feasible::{Loss, Problem, Requirement};

use super::{everyone, measurement};

#[test]
fn a_margin_moves_towards_the_gap_and_no_further_than_it_may() {
    let everyone = everyone();
    let problem = Problem::minimise(&everyone, Loss::Squared)
        .subject_to(Requirement::average("mean", &everyone, Loss::Squared).at_most(1.0))
        .subject_to(Requirement::pointwise("each", &everyone, Loss::Squared).at_most(1.0))
        .check()
        .unwrap();
    let measured = |violation: f64| measurement(0.0, vec![vec![violation], vec![violation; 2]]);
    let after = |before: &[f64], training: f64, validation: f64| {
        learned(before, &problem, &[0.5, 0.5], &measured(training), &measured(validation))
    };
    let close = |found: Vec<f64>, average: f64| {
        assert!((found[0] - average).abs() < 1e-12 && found[1] == 0.0, "{found:?} {average}");
    };
    close(after(&[], -0.1, 0.1), 0.3 * 0.2);
    close(after(&[0.2, 0.0], -0.1, -0.2), 0.7 * 0.2);
    close(after(&[0.5, 0.0], 0.0, 9.0), 0.5);
    close(after(&[0.2, 0.0], 0.0, f64::NAN), 0.2);
}

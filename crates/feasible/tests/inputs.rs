//! How rows are stored: groups of columns, what a counterfactual changes, lists of nearly one length.

use feasible::internals::RowOffsets;
use feasible::{Inputs, InputsBuilder, Shift, rho};

#[test]
fn categories_are_found_as_groups_of_columns_of_which_a_row_has_one() {
    // Two categories; one indicator, on or off; three categories.
    let rows: [&[u32]; 5] = [&[0, 3], &[1, 2, 4], &[1, 5], &[0, 2, 3], &[0, 4]];
    let mut builder = InputsBuilder::new(6, vec![], rows.len()).unwrap();
    for hot in rows {
        builder.push(&[], hot).unwrap();
    }
    assert_eq!(builder.finish().exclusive(), [0, 2, 3]);
}

#[test]
fn columns_that_never_meet_are_one_group() {
    let mut builder = InputsBuilder::new(4, vec![1], 2).unwrap();
    builder.push(&[0.5], &[0]).unwrap();
    builder.push(&[0.5], &[3]).unwrap();
    assert_eq!(builder.finish().exclusive(), [0]);
}

#[test]
fn rows_that_change_alike_share_a_move() {
    let x = Inputs::new(vec![1., 0., 0., 1., 1., 1., 0., 0.], 2).unwrap();
    let swap = Shift::new(&x, rho::swap(0, 1)).unwrap();
    let moves = swap.moves().unwrap();
    // (1, 0) and (0, 1) change, (1, 1) and (0, 0) do not.
    assert_eq!((0..4).map(|r| moves.of_row(r)).collect::<Vec<_>>(), [0, 1, 2, 2]);
    assert_eq!(moves.count(), 3);
    assert_eq!(moves.example(2), 2);
}

#[test]
fn many_different_changes_are_no_moves() {
    let x = Inputs::new((0..40).map(|i| i as f32).collect(), 1).unwrap();
    let square = Shift::new(&x, |x: &mut [f32]| x[0] *= x[0]).unwrap();
    assert!(square.is_even() && square.moves().is_none());
}

fn ragged(lengths: &[usize]) -> RowOffsets {
    let mut offsets = RowOffsets::ragged(0);
    let mut end = 0;
    for length in lengths {
        end += length;
        offsets.end_at(end);
    }
    offsets
}

#[test]
fn lists_of_nearly_one_length_are_filled_up_where_they_lie() {
    let ragged = ragged(&[2, 3, 0, 3]);
    let even = ragged.even().unwrap();
    assert_eq!(even, RowOffsets::Even { length: 3 });
    let mut numbers = vec![1, 2, 3, 4, 5, 6, 7, 8];
    even.fill_up(&ragged, &mut numbers, 0);
    assert_eq!(numbers, [1, 2, 0, 3, 4, 5, 0, 0, 0, 6, 7, 8]);
}

#[test]
fn lists_of_different_lengths_stay_as_they_are() {
    assert_eq!(ragged(&[1, 1, 1, 40]).even(), None);
    assert_eq!(ragged(&[]).even(), Some(RowOffsets::Even { length: 0 }));
}

//! Rows that are alike, and inputs that are shared.

use feasible::internals::Dedup;
use feasible::{Inputs, Samples, Shift, Targets, Vectors, rho};

fn samples() -> Samples {
    // Rows 0, 2 and 5 agree; row 3 has the same inputs and another target.
    let x = [[1., 0., 7.], [0., 1., 7.], [1., 0., 7.], [1., 0., 7.], [0., 1., 7.], [1., 0., 7.]];
    let y = vec![1, 0, 1, 0, 0, 1];
    let inputs = Inputs::new(x.concat(), 3).unwrap();
    Samples::new(inputs, Targets::Classes(y)).unwrap()
}

#[test]
fn rows_of_a_kind_agree_in_inputs_and_target_and_lie_together() {
    let samples = samples();
    let flip = Shift::new(samples.inputs(), rho::flip(0)).unwrap();
    let alike = Dedup::of(&samples, &[0, 1, 2, 3, 4, 5], &[&flip], 2).unwrap();
    assert_eq!(alike.kind_of_row, [0, 1, 0, 2, 1, 0]);
    assert_eq!(alike.representative, [0, 1, 3]);
    assert_eq!(alike.rows, [0, 2, 5, 1, 4, 3]);
    assert_eq!(alike.cuts, [0, 5, 6]);
    // (1, 0), (0, 1), and flipped (0, 0), (1, 1): four inputs for six questions, too many.
    assert!(alike.pool.is_none());
}

#[test]
fn rows_of_a_kind_agree_in_every_number_of_a_target() {
    let inputs = Inputs::new(vec![1.0; 4], 1).unwrap();
    let y = Vectors::new(vec![1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 2.0, 2.0], 2).unwrap();
    let samples = Samples::new(inputs, Targets::Vectors(y)).unwrap();
    let alike = Dedup::of(&samples, &[0, 1, 2, 3], &[], 4).unwrap();
    assert_eq!(alike.kind_of_row, [0, 1, 0, 2]);
}

#[test]
fn inputs_shared_between_kinds_and_views_are_pooled() {
    let samples = samples();
    let swap = Shift::new(samples.inputs(), rho::swap(0, 1)).unwrap();
    let shifts = [&swap, &swap, &swap];
    let alike = Dedup::of(&samples, &[0, 1, 2, 3, 4, 5], &shifts, 2).unwrap();
    let pool = alike.pool.unwrap();
    assert_eq!(pool.inputs.rows(), 2);
    assert_eq!((pool.shown, pool.starts), (vec![0, 1, 1, 0, 0, 1], vec![0, 2, 4, 6]));
    assert_eq!(pool.shown_by, [0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1]);
    // (0, 0) and (0, 1); (1, 1) and (1, 0); the first two again.
    assert_eq!((pool.pair_of, pool.pairs), (vec![0, 1, 2, 3, 0, 1], 4));
    assert_eq!(pool.inputs.row(1), [0., 1., 7.]);
}

#[test]
fn a_restricted_pool_shows_only_what_is_asked_about() {
    let samples = samples();
    let swap = Shift::new(samples.inputs(), rho::swap(0, 1)).unwrap();
    let same = Shift::new(samples.inputs(), rho::swap(0, 0)).unwrap();
    let shifts = [&swap, &same, &same, &swap];
    let alike = Dedup::of(&samples, &[0, 1, 2, 3, 4, 5], &shifts, 2).unwrap();
    let pool = alike.pool.unwrap();
    let none = pool.restricted(&[true, false, true, true, false]);
    assert_eq!((none.shown, none.starts), (vec![0, 1, 0], vec![0, 1, 2, 3]));
    assert!(none.shown_by.iter().all(|&shown| shown == 0));
    let all = pool.restricted(&[true; 5]);
    assert_eq!((all.shown, all.shown_by), (pool.shown.clone(), pool.shown_by.clone()));
    let last = pool.restricted(&[true, false, false, false, true]);
    assert_eq!((last.shown, last.pair_of), (pool.shown, pool.pair_of));
    assert_eq!(last.shown_by[..5], [0, 0, 0, 0, 1]);
}

#[test]
fn rows_that_do_not_repeat_have_no_kinds() {
    let inputs = Inputs::new((0..8).map(|i| i as f32).collect(), 1).unwrap();
    let samples = Samples::new(inputs, Targets::Classes(vec![0; 8])).unwrap();
    assert!(Dedup::of(&samples, &[0, 1, 2, 3, 4, 5, 6, 7], &[], 4).is_none());
}

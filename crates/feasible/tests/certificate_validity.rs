//! Certificates are wrong no more often than they say, on populations that are known.
//!
//! A few hundred trials each; the example `certificate_validity` runs thousands and prints the table. A test
//! fails if what it saw had a probability below one in a million under the promise; some eighty such
//! comparisons are made, so a false alarm is less likely than one in ten thousand runs, and the streams
//! are fixed anyhow.
#![allow(clippy::unwrap_used)]

use crate::common::depth::depth;
use crate::validity::{
    ADVERSE, OVERLAPS, SHAPES, bounds_beside_verdicts, clipped, differences, families, gates,
    ladders, means, normal_approximation, small_differences, sums,
};
use feasible::certificate::{Delta, Simultaneous};

fn trials() -> u64 {
    400 * depth()
}

#[test]
fn bounds_on_means_are_wrong_no_more_often_than_they_say() {
    for delta in [0.05, 0.2] {
        for shape in SHAPES.into_iter().chain(ADVERSE) {
            for n in [20, 200] {
                for (name, tally) in means(shape, n, Delta::new(delta).unwrap(), trials()) {
                    let shape = shape.name();
                    assert!(!tally.refutes(delta), "{name}, {shape}, n = {n}: {tally:?}");
                }
            }
        }
    }
}

#[test]
fn the_same_test_refutes_a_bound_that_is_not_valid() {
    let tally = normal_approximation(100, trials());
    assert!(tally.refutes(0.05), "{tally:?}");
}

#[test]
fn bounds_on_differences_are_wrong_no_more_often_than_they_say() {
    let delta = Delta::new(0.1).unwrap();
    for overlap in 0..OVERLAPS.len() {
        for tally in differences(overlap, 80, delta, 120) {
            assert!(!tally.refutes(0.1), "{}: {tally:?}", OVERLAPS[overlap]);
        }
    }
    for rows in [[5, 5], [20, 300], [40, 8]] {
        for tally in small_differences(rows, delta, 120) {
            assert!(!tally.refutes(0.1), "{rows:?}: {tally:?}");
        }
    }
    for tally in sums(60, delta, trials()) {
        assert!(!tally.refutes(0.1), "{tally:?}");
    }
}

#[test]
fn what_is_said_of_a_loss_without_an_upper_bound_is_wrong_no_more_often_than_it_says() {
    for delta in [0.05, 0.2] {
        for n in [30, 300] {
            for (tally, what) in clipped(n, Delta::new(delta).unwrap(), trials()).iter().zip([
                "anything",
                "the clipped mean",
                "violated",
            ]) {
                assert!(!tally.refutes(delta), "{what}, n = {n}: {tally:?}");
            }
        }
    }
}

#[test]
fn bounds_for_groups_apart_are_narrower_than_two_bounds_that_share_delta() {
    let delta = Delta::new(0.05).unwrap();
    // Exact unconditional, then Fisher's product.
    for (n, narrower) in [(400, 0.72), (8000, 0.85)] {
        let width = |overlap| differences(overlap, n, delta, 15).map(|tally| tally.mean_width());
        let ([apart, _], [split, _]) = (width(0), width(2));
        assert!(apart < narrower * split, "{n}: {apart} {split}");
    }
}

#[test]
fn no_dependent_requirement_is_certified_or_called_violated_wrongly_too_often() {
    let delta = Delta::new(0.1).unwrap();
    for simultaneous in [Simultaneous::Holm, Simultaneous::Bonferroni] {
        for met in [0, 2, 5] {
            for tally in families(simultaneous, met, 300, delta, trials()) {
                assert!(!tally.refutes(0.1), "{simultaneous}, {met} met: {tally:?}");
            }
        }
    }
}

#[test]
fn verdicts_and_the_bounds_of_what_is_not_certified_are_rarely_wrong_together() {
    let delta = Delta::new(0.1).unwrap();
    for violated in [0, 1, 3, 5] {
        let tally = bounds_beside_verdicts(violated, 300, delta, trials());
        assert!(!tally.refutes(0.1), "{violated}: {tally:?}");
    }
}

#[test]
fn a_gate_rarely_lets_a_model_pass_that_violates_a_requirement() {
    let delta = Delta::new(0.1).unwrap();
    for violated in [1, 2, 5] {
        let [gate, _] = gates(violated, 300, delta, trials());
        assert!(!gate.refutes(0.1), "{violated}: {gate:?}");
    }
    // With all of them met it passes more often than verdicts one by one would.
    let [gate, holm] = gates(0, 300, delta, trials());
    assert!(gate.wrong > holm.wrong, "{gate:?} {holm:?}");
}

#[test]
fn a_ladder_of_models_rarely_ends_in_one_that_violates() {
    let delta = Delta::new(0.1).unwrap();
    let taken = ladders(400, delta, trials());
    assert!(!taken.refutes(0.1), "{taken:?}");
    // And it does climb: on average beyond the first two rungs.
    assert!(taken.mean_width() > 2.0, "{taken:?}");
}

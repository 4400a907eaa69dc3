//! Certificates are wrong no more often than they say, on populations that are known.
//!
//! A few hundred trials each; the example `certificate_validity` runs thousands and prints the table. A test
//! fails if what it saw had a probability below one in a million under the promise; some eighty such
//! comparisons are made, so a false alarm is less likely than one in ten thousand runs, and the streams
//! are fixed anyhow.
#![allow(clippy::unwrap_used)]

use crate::common::depth::depth;
use crate::validity::shifts::{CLAIMS, base_rates, shifted};
use crate::validity::widths::{KINDS, Kind, width};
use crate::validity::{
    ADVERSE, OVERLAPS, SHAPES, bounds_beside_verdicts, clipped, differences, families, gates,
    ladders, means, normal_approximation, small_differences, sums,
};
use feasible::certificate::{Count, Delta, Difference, Simultaneous};

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
    for (n, narrower) in [(400, 0.72), (8000, 0.74)] {
        let width = |overlap| differences(overlap, n, delta, 15).map(|tally| tally.mean_width());
        let ([apart, _], [split, _]) = (width(0), width(2));
        assert!(apart < narrower * split, "{n}: {apart} {split}");
    }
}

#[test]
fn at_a_thousand_rows_no_bound_is_a_third_wider_than_the_normal_approximation() {
    let delta = Delta::new(0.05).unwrap();
    // Of rare hits the approximation is too sure, and nothing to compare with.
    for kind in KINDS.into_iter().filter(|kind| *kind != Kind::RareOverlapping) {
        let (tally, ratio) = width(kind, 1000, delta, 30 * depth());
        assert!(ratio < 1.3 && !tally.refutes(0.05), "{}: {ratio}, {tally:?}", kind.name());
    }
}

#[test]
fn bounds_of_groups_that_share_rows_are_wrong_no_more_often_than_they_say() {
    let delta = Delta::new(0.1).unwrap();
    for kind in
        [Kind::Everyone, Kind::RareOverlapping, Kind::OverlappingMeans, Kind::UnitDifference]
    {
        for n in [30, 120] {
            let (tally, _) = width(kind, n, delta, 150 * depth());
            assert!(!tally.refutes(0.1), "{}, n = {n}: {tally:?}", kind.name());
        }
    }
}

#[test]
fn the_bound_on_a_difference_of_rates_never_grows_with_the_rows() {
    let delta = Delta::new(0.05).unwrap();
    let width = |rows: [u64; 2]| {
        let [a, b] = [90 * rows[0] / 300, rows[1] / 5];
        let count = |hits, rows| Count::new(hits, rows).unwrap();
        let difference = Difference::Apart { a: count(a, rows[0]), b: count(b, rows[1]) };
        difference.upper(delta) - difference.estimate()
    };
    let widths = [3000, 10_000, 20_000, 30_000, 100_000].map(|rows| width([300, rows]));
    assert!(widths.windows(2).all(|pair| pair[1] < pair[0]), "{widths:?}");
    let widths = [1000, 2000, 3000, 10_000, 100_000].map(|rows| width([rows, rows]));
    assert!(widths.windows(2).all(|pair| pair[1] < pair[0]), "{widths:?}");
    // With a million rows of the other group the bound is that of the 300 alone, whose outcomes are few: a little wider than before.
    let alone = Count::new(90, 300).unwrap();
    let (alone, width) = (alone.upper(delta) - alone.rate(), width([300, 1_000_000]));
    assert!(width < alone && width > 0.97 * alone, "{width} {alone}");
}

#[test]
fn what_is_certified_at_a_shift_holds_in_every_population_of_that_shift() {
    let delta = Delta::new(0.1).unwrap();
    for shift in [1.0, 1.5, 3.0] {
        for (tally, what) in shifted(shift, 120, delta, trials() / 4).iter().zip(CLAIMS) {
            assert!(!tally.refutes(0.1), "{what} at {shift}: {tally:?}");
        }
    }
}

#[test]
fn bounds_for_a_range_of_base_rates_hold_all_over_it() {
    let delta = Delta::new(0.1).unwrap();
    for n in [30, 300] {
        for tally in base_rates(n, delta, trials()) {
            assert!(!tally.refutes(0.1), "{n} rows: {tally:?}");
        }
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

//! Over the whole life of a model no verdict is wrong more often than promised, on populations that are known.
//!
//! A few hundred lives each; the example `monitor_validity` draws thousands and prints the table. A test fails if
//! what it saw had a probability below one in a million under the promise; the streams are fixed anyhow.
#![allow(clippy::unwrap_used)]

use crate::common::depth::depth;
use crate::lives::{DELTA, Errors, LIVES, change, median, monthly_certificates, together};
use feasible::certificate::{Count, Delta, Values};
use feasible::monitor::{MonitorPlan, MonitorVerdict, Wager, Wealth};
use feasible::requirement::Sense;

fn trials() -> u64 {
    100 * depth()
}

#[test]
fn in_few_lives_is_any_verdict_ever_wrong_though_one_looks_every_month() {
    for life in LIVES {
        let errors = life.errors(trials());
        for wrong in [errors.any, errors.bounds] {
            assert!(!Errors::refutes(wrong, trials(), DELTA), "{}: {errors:?}", life.name());
        }
        for wrong in [errors.certified, errors.drifted] {
            assert!(!Errors::refutes(wrong, trials(), DELTA / 2.0), "{}: {errors:?}", life.name());
        }
    }
}

#[test]
fn several_requirements_share_the_error_and_monthly_certificates_do_not() {
    assert!(!Errors::refutes(together(trials()), trials(), DELTA));
    assert!(Errors::refutes(monthly_certificates(12, trials()), trials(), DELTA));
}

#[test]
fn a_late_drift_suspends_the_certificate_at_once_and_is_proven_soon() {
    let change = change(0.06, 0.16, 500, 60);
    assert_eq!((change.certified, change.early), (60, 0));
    assert!(median(&change.lapsed) == 1, "{:?}", change.lapsed);
    assert!(median(&change.drifted) <= 3, "{:?}", change.drifted);
}

fn wealth(hits: u64, rows: u64, wager: &Wager) -> Option<Wealth> {
    Some(Wealth::of_count(Count::new(hits, rows).unwrap(), wager))
}

#[test]
fn a_verdict_is_the_bound_on_its_side_of_the_limit() {
    let plan = MonitorPlan::new(Delta::new(DELTA).unwrap(), 1);
    for limit in [0.01, 0.1, 0.5] {
        let wager = Wager::share(limit);
        for hits in 0..200 {
            let track = plan.judge(Sense::AtMost, &wager, &[wealth(hits, 400, &wager)]);
            let certified = track.verdict == MonitorVerdict::Certified;
            // To within the bisection.
            assert!(
                certified == (track.upper() < limit) || (track.upper() - limit).abs() < 1e-8,
                "{hits} {limit}"
            );
            assert_eq!(
                track.verdict == MonitorVerdict::Drifted,
                track.lower() > limit,
                "{hits} {limit}"
            );
            assert!(track.lower() <= hits as f64 / 400.0 && hits as f64 / 400.0 <= track.upper());
        }
    }
}

#[test]
fn at_least_is_at_most_of_what_is_missing() {
    let plan = MonitorPlan::new(Delta::new(DELTA).unwrap(), 3);
    let (most, least) = (Wager::share(0.25), Wager::share(0.75));
    let months = [(20, 100), (31, 90), (70, 200), (90, 200)];
    let of = |flip: bool, wager: &Wager| -> Vec<Option<Wealth>> {
        months.iter().map(|(k, n)| wealth(if flip { n - k } else { *k }, *n, wager)).collect()
    };
    let above = plan.judge(Sense::AtMost, &most, &of(false, &most));
    let below = plan.judge(Sense::AtLeast, &least, &of(true, &least));
    assert_eq!((above.verdict, above.drift), (below.verdict, below.drift));
    for (a, b) in above.looks.iter().zip(&below.looks) {
        assert!((a.so_far.1 + b.so_far.0 - 1.0).abs() < 1e-6, "{a:?} {b:?}");
    }
}

#[test]
fn rows_counted_and_rows_averaged_are_the_same_bets() {
    let wager = Wager::share(0.1);
    let values =
        Values::new((0..50).map(|i| f64::from(u8::from(i % 7 == 0))).collect(), 1.0).unwrap();
    let (a, b) = (Wealth::of_values(&values, &wager), wealth(8, 50, &wager).unwrap());
    for (a, b) in a.up.iter().chain(&a.down).zip(b.up.iter().chain(&b.down)) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
}

#[test]
fn a_certificate_is_about_as_wide_as_one_look_allows() {
    // 50 of 1,000 rows: Clopper and Pearson's bound at 95 % is 6.29 %; all looks of a life cost a quarter more.
    let wager = Wager::share(0.1);
    let plan = MonitorPlan::new(Delta::new(DELTA).unwrap(), 1);
    let upper = plan.judge(Sense::AtMost, &wager, &[wealth(50, 1000, &wager)]).upper();
    assert!((0.0795..0.0797).contains(&upper), "{upper}");
}

#[test]
fn limits_at_the_ends_and_empty_tables_give_answers() {
    let plan = MonitorPlan::new(Delta::new(DELTA).unwrap(), 1);
    for limit in [-3.0, 0.0, 1e-9, 1.0 - 1e-9, 1.0, 1e308] {
        for sense in [Sense::AtMost, Sense::AtLeast] {
            let wager = Wager::share(limit);
            let tables = [None, wealth(0, 1000, &wager), None, wealth(1000, 1000, &wager)];
            assert!(tables.iter().flatten().all(Wealth::is_whole), "{limit}");
            let track = plan.judge(sense, &wager, &tables);
            assert!((0.0..=1.0).contains(&track.lower()) && (0.0..=1.0).contains(&track.upper()));
            assert!(track.lower() <= 0.5 && track.upper() >= 0.5, "{limit} {track:?}");
        }
    }
    let none = plan.judge(Sense::AtMost, &Wager::share(0.1), &[]);
    assert_eq!((none.verdict, none.lower(), none.upper()), (MonitorVerdict::Open, 0.0, 1.0));
}

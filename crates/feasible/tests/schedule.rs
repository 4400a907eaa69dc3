//! Rates over the epochs.

use feasible::Schedule;

#[test]
fn halving_every_50_halves_at_50_and_not_before() {
    let schedule = Schedule::Step { factor: 0.5, every: 50.0 };
    assert_eq!(schedule.factor(49.9), 1.0);
    assert_eq!(schedule.factor(50.0), 0.5);
    assert_eq!(schedule.factor(149.0), 0.25);
}

#[test]
fn a_cosine_starts_at_one_passes_the_middle_and_stays_on_its_floor() {
    let schedule = Schedule::Cosine { over: 10.0, floor: 0.2 };
    assert_eq!(schedule.factor(0.0), 1.0);
    assert!((schedule.factor(5.0) - 0.6).abs() < 1e-12);
    assert_eq!(schedule.factor(99.0), 0.2);
}

#[test]
fn ranges_are_checked() {
    assert!(Schedule::Step { factor: 0.0, every: 1.0 }.check().is_err());
    assert!(Schedule::Step { factor: 0.5, every: f64::NAN }.check().is_err());
    assert!(Schedule::Cosine { over: 0.0, floor: 0.0 }.check().is_err());
    assert!(Schedule::Cosine { over: 5.0, floor: 1.5 }.check().is_err());
}

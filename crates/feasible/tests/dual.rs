//! How violations move multipliers.

use feasible::dual::DualState;
use feasible::{Dual, Kind};

fn run(dual: &Dual, kind: Kind, start: &[f64], violations: &[&[(usize, f64)]]) -> Vec<f64> {
    let mut multipliers = start.to_vec();
    let mut state = DualState::start(dual, start.len());
    let points = if kind == Kind::Average { 1.0 } else { start.len() as f64 };
    for seen in violations {
        dual.step(0.0, points, &mut multipliers, &mut state, seen.iter().copied());
    }
    multipliers
}

#[test]
fn ascent_adds_the_rate_times_the_violation_and_projects() {
    let dual = Dual::ascent(0.5);
    assert_eq!(run(&dual, Kind::Average, &[1.0], &[&[(0, 0.4)]]), [1.2]);
    assert_eq!(run(&dual, Kind::Average, &[1.0], &[&[(0, -9.0)]]), [0.0]);
}

#[test]
fn algorithm1_divides_pointwise_violations_by_n_and_average_ones_not() {
    let dual = Dual::algorithm1(0.5);
    assert_eq!(run(&dual, Kind::Pointwise, &[1.0, 1.0], &[&[(0, 0.4)]]), [1.1, 1.0]);
    assert_eq!(run(&dual, Kind::Average, &[1.0], &[&[(0, 0.4)]]), [1.2]);
}

#[test]
fn the_first_adam_step_is_the_rate_whatever_the_violation() {
    let moved = run(&Dual::adam(0.01), Kind::Pointwise, &[1.0; 2], &[&[(0, 1e-3), (1, 50.0)]]);
    for m in moved {
        // ε = 1e-8 beside a violation of 1e-3 shortens the step by 1e-5 of itself.
        assert!((m - 1.01).abs() < 2e-7, "{m}");
    }
}

#[test]
fn a_multiplier_that_is_not_seen_does_not_move_and_keeps_its_own_bias_correction() {
    for dual in [Dual::ascent(0.1), Dual::adam(0.1), Dual::nu_pi(0.1, 0.5, 0.9)] {
        let violation = |n| [(n, 0.7)];
        let late =
            run(&dual, Kind::Pointwise, &[1.0; 2], &[&violation(0), &violation(0), &violation(1)]);
        let alone = run(&dual, Kind::Pointwise, &[1.0; 2], &[&violation(1)]);
        assert_eq!(alone[0], 1.0);
        assert_eq!(late[1], alone[1], "{dual:?}");
    }
}

#[test]
fn nu_pi_without_proportional_gain_is_ascent() {
    let violations: Vec<[(usize, f64); 1]> = (0..9).map(|t| [(0, (t as f64).cos())]).collect();
    let violations: Vec<&[(usize, f64)]> = violations.iter().map(|s| s.as_slice()).collect();
    let pi = run(&Dual::nu_pi(0.3, 0.0, 0.9), Kind::Average, &[1.0], &violations);
    assert_eq!(pi, run(&Dual::ascent(0.3), Kind::Average, &[1.0], &violations));
}

#[test]
fn nu_pi_answers_a_jump_of_the_violation_with_its_proportional_part() {
    // Violation 0 then 1, plain PI (ν = 0): κᵢ·1 + κₚ·(1 − 0) on the second step.
    let moved =
        run(&Dual::nu_pi(0.1, 2.0, 0.0), Kind::Average, &[1.0], &[&[(0, 0.0)], &[(0, 1.0)]]);
    assert!((moved[0] - 3.1).abs() < 1e-12);
}

#[test]
fn all_multipliers_at_once_move_as_one_by_one() {
    for dual in [Dual::adam(0.3), Dual::ascent(0.3), Dual::nu_pi(0.3, 0.5, 0.9)] {
        let start = [1.0, 0.1, 0.0, 2.0];
        let (mut together, mut apart) = (start, start);
        let mut states = [DualState::start(&dual, 4), DualState::start(&dual, 4)];
        for t in 0..5 {
            let violations: [f64; 4] = std::array::from_fn(|n| (n as f64 + 2.0 * t as f64).sin());
            let [a, b] = &mut states;
            dual.step_all(t as f64, together.len() as f64, &mut together, a, &violations, 0.25);
            let seen = violations.iter().map(|s| s + 0.25).enumerate();
            dual.step(t as f64, apart.len() as f64, &mut apart, b, seen);
        }
        assert_eq!(together, apart);
        assert_eq!(states[0], states[1]);
    }
}

#[test]
fn rates_and_decays_are_checked() {
    for (dual, name) in [
        (Dual::ascent(0.0), "dual rate"),
        (Dual::adam(f64::NAN), "dual rate"),
        (Dual::adam_with(0.1, 1.0, 0.9), "dual beta1"),
        (Dual::nu_pi(0.1, -1.0, 0.0), "proportional gain"),
        (Dual::nu_pi(0.1, 1.0, 1.0), "nu"),
    ] {
        let error = dual.check().unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
    }
}

//! Priors of ε have the laws they name.

use feasible::TrainingPlace;
use feasible::adversary::{Budget, Prior};

fn draws(prior: &Prior, n: u64) -> Vec<f64> {
    let place = TrainingPlace { seed: 5, epoch: 0 };
    let budget = Budget::from(prior.clone());
    (0..n).map(|id| budget.epsilon(place, id, f64::INFINITY)).collect()
}

/// Mean and variance within five standard errors (the fourth moment bounded by that of the
/// heaviest law here, the exponential: 9 σ⁴).
fn check(prior: Prior, mean: f64, variance: f64) {
    let x = draws(&prior, 40_000);
    let n = x.len() as f64;
    let m = x.iter().sum::<f64>() / n;
    let v = x.iter().map(|x| (x - m).powi(2)).sum::<f64>() / n;
    assert!((m - mean).abs() < 5.0 * (variance / n).sqrt() + 1e-12, "{prior:?} mean {m}");
    assert!((v - variance).abs() < 5.0 * (9.0f64 / n).sqrt() * variance + 1e-12, "{prior:?} {v}");
}

#[test]
fn priors_have_their_mean_and_variance() {
    let beta = |scale: f64, a: f64, b: f64| {
        let variance = a * b / ((a + b).powi(2) * (a + b + 1.0));
        check(
            Prior::Beta { scale, alpha: a, beta: b },
            scale * a / (a + b),
            scale * scale * variance,
        );
    };
    beta(0.25, 3.0, 8.0);
    beta(0.1, 3.0, 10.0);
    beta(1.0, 0.5, 0.5);
    check(Prior::Exponential { mean: 0.1 }, 0.1, 0.01);
    check(Prior::Uniform { low: 0.1, high: 0.3 }, 0.2, 0.04 / 12.0);
    check(Prior::Fixed { epsilon: 0.04 }, 0.04, 0.0);
    let values = vec![0.0, 0.1, 0.2];
    check(Prior::Discrete { values, weights: vec![1.0, 2.0, 1.0] }, 0.1, 0.005);
}

#[test]
fn a_beta_draw_has_the_distribution_function_of_its_law() {
    // P(X ≤ x) of Beta(3, 8) is the binomial tail P(Bin(10, x) ≥ 3).
    let x = draws(&Prior::Beta { scale: 1.0, alpha: 3.0, beta: 8.0 }, 20_000);
    for at in [0.1, 0.2, 0.3, 0.5] {
        let choose = [1.0, 10.0, 45.0];
        let below: f64 =
            (0..3).map(|k| choose[k] * at_power(at, k) * at_power(1.0 - at, 10 - k)).sum();
        let share = x.iter().filter(|&&x| x <= at).count() as f64 / x.len() as f64;
        // Five standard deviations of a share.
        assert!((share - (1.0 - below)).abs() < 5.0 * 0.5 / (x.len() as f64).sqrt(), "{at}");
    }
}

fn at_power(x: f64, n: usize) -> f64 {
    x.powi(n as i32)
}

//! Binomial tails against sums of their terms.

use feasible::internals::{deviance, ln_at_least, ln_at_most};

/// P(K ≤ k) by adding up products of fractions, for small n.
fn plain(k: u64, n: u64, p: f64) -> f64 {
    let mut coefficient = 1.0;
    let mut sum = 0.0;
    for i in 0..=k {
        sum += coefficient * p.powi(i as i32) * (1.0 - p).powi((n - i) as i32);
        coefficient *= (n - i) as f64 / (i + 1) as f64;
    }
    sum
}

#[test]
fn tails_are_sums_of_the_probabilities() {
    for n in [1, 2, 5, 17, 40] {
        for k in 0..=n {
            for p in [1e-6, 0.01, 0.3, 0.5, 0.77, 0.999] {
                let tail = ln_at_most(k, n, p, 1.0 - p).exp();
                // Forty terms of relative error 1e-16 each, and logarithms of size 30.
                assert!((tail / plain(k, n, p) - 1.0).abs() < 1e-12, "{k} {n} {p}");
                let upper = ln_at_least(k, n, p, 1.0 - p).exp();
                let other = if k == 0 { 1.0 } else { 1.0 - plain(k - 1, n, p) };
                assert!((upper - other).abs() < 1e-13, "{k} {n} {p}");
            }
        }
    }
}

#[test]
fn the_deviance_series_meets_the_formula() {
    for m in [0.5, 3.0, 1e4] {
        for ratio in [0.82, 0.9, 1.1, 1.21] {
            let x = m * ratio;
            let direct = x * f64::ln(x / m) + m - x;
            // The direct form loses about two digits to cancellation at these ratios.
            assert!((deviance(x, m) / direct - 1.0).abs() < 1e-12, "{m} {ratio}");
        }
    }
    assert_eq!(deviance(7.0, 7.0), 0.0);
}

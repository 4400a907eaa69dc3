//! The empirical Bernstein bound of Maurer and Pontil (2009, Theorem 4) for values in [0, 1], with V the
//! sample variance:
//!
//! $$ \mathbb{E}[X] \le \bar X + \sqrt{\frac{2 V \log(2/\delta)}{n}}
//!    + \frac{7 \log(2/\delta)}{3(n - 1)} . $$

use super::delta::Delta;

/// The upper bound at 1 − δ; 1, which is vacuous, for a single row.
pub(crate) fn upper(mean: f64, variance: f64, n: u64, delta: Delta) -> f64 {
    if n < 2 {
        return 1.0;
    }
    let (n, log) = (n as f64, std::f64::consts::LN_2 - delta.ln());
    (mean + (2.0 * variance * log / n).sqrt() + 7.0 * log / (3.0 * (n - 1.0))).min(1.0)
}

/// log of the p-value of "the expectation is at least `limit`", limit > mean: the δ at which the bound
/// is the limit, a quadratic equation in √log(2/δ).
pub(crate) fn ln_p(mean: f64, variance: f64, n: u64, limit: f64) -> f64 {
    if n < 2 {
        return 0.0;
    }
    let n = n as f64;
    let (a, b) = (7.0 / (3.0 * (n - 1.0)), (2.0 * variance / n).sqrt());
    let gap = limit - mean;
    // The root of a x² + b x = gap, written so that nothing cancels.
    let root = 2.0 * gap / (b + (b * b + 4.0 * a * gap).sqrt());
    (std::f64::consts::LN_2 - root * root).min(0.0)
}

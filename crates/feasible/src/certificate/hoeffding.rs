//! Hoeffding's bound (1963) for values in [0, 1]:
//!
//! $$ \mathbb{E}[X] \le \bar X + \sqrt{\frac{\log(1/\delta)}{2n}} . $$

use super::delta::Delta;

/// The upper bound at 1 − δ.
pub(crate) fn upper(mean: f64, n: u64, delta: Delta) -> f64 {
    (mean + (-delta.ln() / (2.0 * n as f64)).sqrt()).min(1.0)
}

/// log of the p-value of "the expectation is at least `limit`", limit > mean.
pub(crate) fn ln_p(mean: f64, n: u64, limit: f64) -> f64 {
    -2.0 * n as f64 * (limit - mean).powi(2)
}

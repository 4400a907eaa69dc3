//! The Hoeffding-Bentkus bound (Bates, Angelopoulos, Lei, Malik and Jordan 2021) for values in [0, 1].
//!
//! The p-value of "the expectation is at least m" is the smaller of two, Hoeffding's in its sharper
//! form and Bentkus' (2004) by way of the binomial distribution:
//!
//! $$ p(m) = \min\Big( e^{-n\,h(\bar X, m)},\;
//!    e \cdot \Pr\big[\mathrm{bin}(n, m) \le \lceil n \bar X \rceil\big] \Big) , \qquad
//!    h(a, b) = a \log\tfrac{a}{b} + (1 - a) \log\tfrac{1 - a}{1 - b} . $$
//!
//! Both bound the same tail of X̄, so their minimum does too and needs no correction.

use super::binomial::ln_at_most;
use super::delta::Delta;

/// The upper bound at 1 − δ: the largest m whose p-value is at least δ.
pub(crate) fn upper(mean: f64, n: u64, delta: Delta) -> f64 {
    let (mut low, mut high) = (mean, 1.0);
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return high;
        }
        if ln_p(mean, n, middle) < delta.ln() { high = middle } else { low = middle }
    }
}

/// log of the p-value of "the expectation is at least `limit`", limit > mean.
pub(crate) fn ln_p(mean: f64, n: u64, limit: f64) -> f64 {
    let hoeffding = -(n as f64) * divergence(mean, limit);
    // A mean that is k/n but for rounding counts k.
    let hits = (n as f64 * mean - 1e-9).ceil().max(0.0) as u64;
    let bentkus = 1.0 + ln_at_most(hits, n, limit, 1.0 - limit);
    hoeffding.min(bentkus).min(0.0)
}

/// h(a, b), a < b.
fn divergence(a: f64, b: f64) -> f64 {
    let one = if a > 0.0 { a * (a / b).ln() } else { 0.0 };
    let other = if a < 1.0 { (1.0 - a) * ((1.0 - a) / (1.0 - b)).ln() } else { 0.0 };
    one + other
}

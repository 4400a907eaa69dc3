//! The betting bound of Waudby-Smith and Ramdas (2024): one side of their hedged capital.
//!
//! Somebody who holds that E\[X\] ≥ m must accept bets that pay m − X each round. Capital that starts at 1
//! and stakes λₜ ≥ 0, decided before Xₜ is seen,
//!
//! $$ K_t(m) = \prod_{i \le t} \big( 1 + \lambda_i(m)\,(m - X_i) \big) , \qquad
//!    \Pr\big[\max_t K_t(m) \ge 1/\delta\big] \le \delta \quad \text{if } \mathbb{E}[X] \ge m , $$
//!
//! is not expected to grow if they are right (Ville's inequality). 1/max K is therefore a p-value, and the
//! bound is where bets begin to make rich. The stakes are the predictable plug-in for a
//! sample of n,
//!
//! $$ \lambda_t(m) = \min\Big( \sqrt{\tfrac{2 \log(1/\delta)}{n\, \hat\sigma^2_{t-1}}} ,\;
//!    \frac{\kappa}{1 - m} \Big) , \qquad
//!    \hat\sigma^2_t = \frac{\frac14 + \sum_{i \le t} (X_i - \hat\mu_i)^2}{t + 1} , \quad
//!    \hat\mu_t = \frac{\frac12 + \sum_{i \le t} X_i}{t + 1} , $$
//!
//! cut so that no single row can ruin. Each factor grows with m, so the bound is found by bisection. The
//! hedged capital of the paper splits δ between this side and its mirror image; a requirement has one
//! side, which gets all of δ.

use super::delta::Delta;

/// κ: the largest share of the capital that one row can lose.
const MOST: f64 = 0.9;

/// Values in [0, 1], each with the stake that the rows before it lead to.
pub(crate) struct Capital<'a> {
    values: &'a [f64],
    stakes: Vec<f64>,
}

impl<'a> Capital<'a> {
    /// Bets on `values`, in their order, made for a bound at `design`.
    pub(crate) fn against(values: &'a [f64], design: Delta) -> Self {
        let n = values.len() as f64;
        let aim = -2.0 * design.ln() / n;
        let (mut sum, mut squares, mut variance) = (0.5, 0.25, 0.25);
        let mut stakes = Vec::with_capacity(values.len());
        for (t, &x) in values.iter().enumerate() {
            stakes.push((aim / variance).sqrt());
            let rounds = t as f64 + 2.0;
            sum += x;
            squares += (x - sum / rounds).powi(2);
            variance = squares / rounds;
        }
        Self { values, stakes }
    }

    /// log of the p-value of "the expectation is at least `m`": −log max K.
    pub(crate) fn ln_p(&self, m: f64) -> f64 {
        let most = if m < 1.0 { MOST / (1.0 - m) } else { f64::INFINITY };
        let (mut capital, mut richest) = (0.0f64, 0.0f64);
        for (&x, &stake) in self.values.iter().zip(&self.stakes) {
            capital += (stake.min(most) * (m - x)).ln_1p();
            richest = richest.max(capital);
        }
        -richest
    }

    /// The upper bound at 1 − δ.
    pub(crate) fn upper(&self, delta: Delta) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        // The upper end is on the safe side.
        while high - low > 1e-9 * high {
            let middle = 0.5 * (low + high);
            if self.ln_p(middle) < delta.ln() { high = middle } else { low = middle }
        }
        high
    }
}

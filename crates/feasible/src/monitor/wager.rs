//! What is bet on, and the stakes.

use serde::{Deserialize, Serialize};

/// How many stakes are tried at once.
pub(crate) const STAKES: usize = 20;

/// Stakes as shares of the largest one that cannot ruin: fine where few rows decide, then halved down to where ten
/// million rows near the limit do. No stake is more than a third from the best one, which costs a ninth of
/// the growth at most.
const SHARES: [f64; STAKES] = {
    let mut shares = [1.0; STAKES];
    [shares[0], shares[1], shares[2], shares[3]] = [0.999, 0.97, 0.9, 0.75];
    let mut g = 4;
    while g < STAKES {
        shares[g] = 0.5f64 / (1u32 << (g - 4)) as f64;
        g += 1;
    }
    shares
};

/// The least distance of a limit from the ends of the range that stakes are made for, relative to the range.
const LEAST: f64 = 1e-6;

/// Values in [low, high], and the limit that their average is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wager {
    /// The limit c.
    pub limit: f64,
    /// The least value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
}

impl Wager {
    /// A share of rows.
    pub fn share(limit: f64) -> Self {
        Self::mean(limit, 1.0)
    }

    /// The mean of losses in [0, `bound`].
    pub fn mean(limit: f64, bound: f64) -> Self {
        Self::within(limit, 0.0, bound)
    }

    /// The difference of two means of losses in [0, `bound`].
    pub fn difference(limit: f64, bound: f64) -> Self {
        Self::within(limit, -bound, bound)
    }

    /// A limit beyond what values can be is as good as one a range further out, and keeps capitals finite.
    fn within(limit: f64, low: f64, high: f64) -> Self {
        let range = high - low;
        let limit =
            if low < 0.0 { limit.clamp(low, high) } else { limit.clamp(low - range, high + range) };
        Self { limit, low, high }
    }

    /// Stakes of those who bet that values are large.
    pub(crate) fn up(&self) -> [f64; STAKES] {
        self.stakes(self.limit - self.low)
    }

    /// Stakes of those who bet that values are small.
    pub(crate) fn down(&self) -> [f64; STAKES] {
        self.stakes(self.high - self.limit)
    }

    /// The most that a row can cost is `worst`; for differences it is the whole range, as what is bet against may
    /// differ from the limit.
    fn stakes(&self, worst: f64) -> [f64; STAKES] {
        let range = self.high - self.low;
        let worst = if self.low < 0.0 { range } else { worst.max(LEAST * range) };
        SHARES.map(|share| share / worst)
    }
}

/// The weights v of the stakes: they fall like 1/(g + 3) from the largest stake on, and sum to 1.
const WEIGHTS: [f64; STAKES] = {
    let (mut weights, mut sum, mut g) = ([0.0; STAKES], 0.0, 0);
    while g < STAKES {
        weights[g] = 1.0 / (g as f64 + 3.0);
        sum += weights[g];
        g += 1;
    }
    while g > 0 {
        g -= 1;
        weights[g] /= sum;
    }
    weights
};

/// log Σ v exp(x) over the stakes.
pub(crate) fn ln_mixture(x: impl Fn(usize) -> f64) -> f64 {
    let x: [f64; STAKES] = std::array::from_fn(x);
    let most = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + x.iter().zip(WEIGHTS).map(|(x, v)| v * (x - most).exp()).sum::<f64>().ln()
}

//! Counting bounds: k of n rows, and the interval of Clopper and Pearson (1934).
//!
//! If k of n independent rows have a property whose probability is p, the upper bound is the largest
//! p at which so few would not surprise,
//!
//! $$ p^+ = \max\{p : \Pr[\mathrm{bin}(n, p) \le k] \ge \delta\} , \qquad
//!    \Pr[\,p \le p^+] \ge 1 - \delta \text{ for every } p , $$
//!
//! and the lower bound its mirror image. Nothing is approximated: k = 0 gives 1 − δ^{1/n}.
//!
//! ```
//! use feasible::certificate::{Count, Delta};
//! let delta = Delta::new(0.05)?;
//! // No violation in 299 rows: less than 1 % of the population violates, with 95 % confidence.
//! assert!(Count::new(0, 299)?.upper(delta) < 0.01);
//! assert!(Count::new(0, 298)?.upper(delta) > 0.01);
//! # Ok::<(), feasible::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use super::binomial::{ln_at_least, ln_at_most};
use super::delta::Delta;
use crate::error::{Error, Result};

/// k of n rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    hits: u64,
    rows: u64,
}

impl Count {
    /// `hits` of `rows`.
    ///
    /// # Errors
    /// No rows, or more hits than rows.
    pub fn new(hits: u64, rows: u64) -> Result<Self> {
        Error::unless(rows > 0, "rows", rows as f64, "at least 1: there is nothing to count")?;
        Error::unless(hits <= rows, "hits", hits as f64, &format!("at most the {rows} rows"))?;
        Ok(Self { hits, rows })
    }

    /// How many of the values are true.
    ///
    /// # Errors
    /// No values.
    pub fn of(values: impl IntoIterator<Item = bool>) -> Result<Self> {
        let (mut hits, mut rows) = (0, 0);
        for value in values {
            rows += 1;
            hits += u64::from(value);
        }
        Self::new(hits, rows)
    }

    /// k.
    pub fn hits(self) -> u64 {
        self.hits
    }

    /// n.
    pub fn rows(self) -> u64 {
        self.rows
    }

    /// k/n.
    pub fn rate(self) -> f64 {
        self.hits as f64 / self.rows as f64
    }

    /// The rows that were not counted.
    #[must_use]
    pub fn complement(self) -> Self {
        Self { hits: self.rows - self.hits, rows: self.rows }
    }

    /// p⁺: P(p ≤ p⁺) ≥ 1 − δ.
    pub fn upper(self, delta: Delta) -> f64 {
        let Self { hits: k, rows: n } = self;
        if k == n {
            return 1.0;
        }
        if k == 0 {
            return -(delta.ln() / n as f64).exp_m1();
        }
        let exceeds = |p, q| ln_at_most(k, n, p, q) < delta.ln();
        logit_where(k as f64 / (n - k) as f64, exceeds)
    }

    /// p⁻: P(p ≥ p⁻) ≥ 1 − δ.
    pub fn lower(self, delta: Delta) -> f64 {
        // Not 1 − upper of the complement: that would lose the digits of a small bound.
        let Self { hits: k, rows: n } = self;
        if k == 0 {
            return 0.0;
        }
        if k == n {
            return (delta.ln() / n as f64).exp();
        }
        let exceeds = |q, p| ln_at_least(k, n, p, q) < delta.ln();
        let q_odds = (n - k) as f64 / k as f64;
        logit_of_complement(q_odds, exceeds)
    }

    /// log of the p-value of "the probability is at least `p`": how few hits are to be expected then.
    pub fn ln_p_at_least(self, p: f64) -> f64 {
        if p >= 1.0 {
            return if self.hits == self.rows { 0.0 } else { f64::NEG_INFINITY };
        }
        ln_at_most(self.hits, self.rows, p, 1.0 - p)
    }

    /// log of the p-value of "the probability is at most `p`".
    pub fn ln_p_at_most(self, p: f64) -> f64 {
        self.complement().ln_p_at_least(1.0 - p)
    }
}

/// The log-odds of the smallest p where `exceeds(p, 1 − p)`, by bisection from the odds `start`; of the
/// last two candidates the one on the safe side.
fn bisect(start: f64, exceeds: impl Fn(f64, f64) -> bool) -> f64 {
    let pair = |t: f64| (1.0 / (1.0 + (-t).exp()), 1.0 / (1.0 + t.exp()));
    let at = |t: f64| {
        let (p, q) = pair(t);
        exceeds(p, q)
    };
    // The bound is beyond k/n, unless δ is above a half.
    let (mut low, mut high, mut step) = (start.ln(), start.ln(), 1.0);
    while at(low) && low > -800.0 {
        high = low;
        low -= step;
        step *= 2.0;
    }
    while !at(high) && high < 800.0 {
        low = high;
        high += step;
        step *= 2.0;
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return high;
        }
        if at(middle) { high = middle } else { low = middle }
    }
}

fn logit_where(start: f64, exceeds: impl Fn(f64, f64) -> bool) -> f64 {
    1.0 / (1.0 + (-bisect(start, exceeds)).exp())
}

fn logit_of_complement(start: f64, exceeds: impl Fn(f64, f64) -> bool) -> f64 {
    1.0 / (1.0 + bisect(start, exceeds).exp())
}

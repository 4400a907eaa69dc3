//! Differences of two rates: p_a − p_b, as in demographic parity.
//!
//! **Rows apart.** Given how many there are, the rows of two disjoint groups are independent. Small groups
//! have an exact unconditional bound ([Buehler's](super::unconditional)), at some milliseconds. For larger ones, if the
//! difference were d or more, then for p_a = m both "at most k_a hits at m" and "at least k_b hits at
//! m − d" would have p-values of their own, independent of each other; Fisher's product of the two is
//! again one, and the nuisance m is given its worst value:
//!
//! $$ p(d) = \sup_m x(m)\,\big(1 - \log x(m)\big) , \qquad
//!    x(m) = \Pr[\mathrm{bin}(n_a, m) \le k_a] \; \Pr[\mathrm{bin}(n_b, m - d) \ge k_b] . $$
//!
//! Both factors are tails of beta distributions with log-concave densities, so log x is concave in m
//! and its maximum is found exactly. Which of the two is used depends on n_a and n_b alone.
//!
//! **A group and everyone.** If the second group contains the first, whose share of it is π,
//! p_a − p_b = (1 − π)(p_a − p_r) with r the rest, which is apart from a. A tenth of δ goes to an interval
//! for π, the others to p_a − p_r.
//!
//! **Anything else.** Two Clopper-Pearson bounds at δ/2 each, whatever the dependence.

use super::binomial::{ln_at_least, ln_at_most};
use super::count::Count;
use super::delta::Delta;
use super::unconditional::{Unconditional, is_small};

/// How the rows of two rates lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// p_a − p_b of groups without common rows.
    Apart {
        /// The first group.
        a: Count,
        /// The second.
        b: Count,
    },
    /// p_part − p_whole.
    Within {
        /// The group.
        part: Count,
        /// Everyone else; `None` if there is nobody else in the sample.
        rest: Option<Count>,
    },
    /// p_a − p_b of groups that overlap in some other way.
    Any {
        /// The first group.
        a: Count,
        /// The second.
        b: Count,
    },
}

/// The share of δ that goes to π, half of it to either side.
const FOR_SIZE: f64 = 0.1;

impl Difference {
    /// The difference of the shares counted.
    pub fn estimate(self) -> f64 {
        match self {
            Self::Apart { a, b } | Self::Any { a, b } => a.rate() - b.rate(),
            Self::Within { rest: None, .. } => 0.0,
            Self::Within { part, rest: Some(rest) } => {
                let rows = (part.rows() + rest.rows()) as f64;
                part.rate() - (part.hits() + rest.hits()) as f64 / rows
            }
        }
    }

    /// Rows of the two groups together.
    pub fn rows(self) -> u64 {
        match self {
            Self::Apart { a, b } | Self::Any { a, b } => a.rows() + b.rows(),
            Self::Within { part, rest } => part.rows() + rest.map_or(0, Count::rows),
        }
    }

    /// Hits and misses exchanged, which turns the sign of the difference.
    #[must_use]
    pub fn complement(self) -> Self {
        match self {
            Self::Apart { a, b } => Self::Apart { a: a.complement(), b: b.complement() },
            Self::Within { part, rest } => {
                Self::Within { part: part.complement(), rest: rest.map(Count::complement) }
            }
            Self::Any { a, b } => Self::Any { a: a.complement(), b: b.complement() },
        }
    }

    /// The upper bound on the difference at 1 − δ.
    pub fn upper(self, delta: Delta) -> f64 {
        self.upper_designed(delta, delta)
    }

    /// The lower bound on the difference at 1 − δ.
    pub fn lower(self, delta: Delta) -> f64 {
        -self.complement().upper(delta)
    }

    /// Whether the bound is the exact unconditional one.
    pub(crate) fn is_exact(self) -> bool {
        match self {
            Self::Apart { a, b } | Self::Within { part: a, rest: Some(b) } => {
                is_small(a.rows(), b.rows())
            }
            Self::Within { rest: None, .. } | Self::Any { .. } => false,
        }
    }

    /// The upper bound at 1 − δ; outcomes are ordered as suits a bound at `design`.
    pub(crate) fn upper_designed(self, delta: Delta, design: Delta) -> f64 {
        let bound = match self {
            Self::Apart { a, b } => RateGap::new(a, b, design).upper(delta),
            Self::Within { part, rest } => {
                let (least, most) = rest_share(part, rest, delta);
                let gap = match rest {
                    Some(rest) => {
                        let design = design.times(1.0 - FOR_SIZE);
                        RateGap::new(part, rest, design).upper(delta.times(1.0 - FOR_SIZE))
                    }
                    None => 1.0,
                };
                // A positive gap is largest with the largest rest, a negative one with the smallest.
                gap * if gap > 0.0 { most } else { least }
            }
            Self::Any { a, b } => a.upper(delta.among(2)) - b.lower(delta.among(2)),
        };
        // A bound that is raised to the estimate is as valid.
        bound.max(self.estimate())
    }

    /// log of the p-value of "the difference is at least `limit`": the smallest δ whose bound is below it.
    pub(crate) fn ln_p_at_least(self, limit: f64, design: Delta) -> f64 {
        if self.estimate() >= limit {
            return 0.0;
        }
        match self {
            Self::Apart { a, b } => RateGap::new(a, b, design).ln_p(limit),
            Self::Within { part, rest } => {
                let gap = rest.map(|r| RateGap::new(part, r, design.times(1.0 - FOR_SIZE)));
                smallest_ln_delta(|delta| {
                    let (least, most) = rest_share(part, rest, delta);
                    // gap · share < limit, at the share that makes it largest.
                    let share = if limit > 0.0 { most } else { least };
                    let Some(gap) = &gap else { return share < limit };
                    share > 0.0 && gap.ln_p(limit / share) < delta.times(1.0 - FOR_SIZE).ln()
                })
            }
            Self::Any { .. } => smallest_ln_delta(|delta| self.upper(delta) < limit),
        }
    }
}

/// An interval for 1 − π, the rest's share of everyone, at its part of δ.
fn rest_share(part: Count, rest: Option<Count>, delta: Delta) -> (f64, f64) {
    let others = rest.map_or(0, Count::rows);
    // Within bounds by construction: a part has rows.
    let Ok(count) = Count::new(others, part.rows() + others) else { return (0.0, 1.0) };
    let side = delta.times(0.5 * FOR_SIZE);
    (count.lower(side), count.upper(side))
}

/// log of the smallest δ at which a bound is below the limit, by bisection in log δ. For bounds that are
/// nested: whose design does not depend on δ.
pub(crate) fn smallest_ln_delta(below: impl Fn(Delta) -> bool) -> f64 {
    let below = |ln: f64| Delta::new(ln.exp()).is_ok_and(&below);
    let (mut low, mut high) = (-690.0, -1e-9);
    if !below(high) {
        return 0.0;
    }
    if below(low) {
        return low;
    }
    while high - low > 1e-6 {
        let middle = 0.5 * (low + high);
        if below(middle) { high = middle } else { low = middle }
    }
    high
}

/// p_a − p_b of groups apart, ready for bounds and p-values.
enum RateGap {
    Exact(Unconditional),
    Product(Count, Count),
}

impl RateGap {
    fn new(a: Count, b: Count, design: Delta) -> Self {
        match is_small(a.rows(), b.rows()) {
            true => Self::Exact(Unconditional::new(a, b, design)),
            false => Self::Product(a, b),
        }
    }

    fn ln_p(&self, d: f64) -> f64 {
        match self {
            _ if d > 1.0 => f64::NEG_INFINITY,
            _ if d <= -1.0 => 0.0,
            Self::Exact(exact) => exact.ln_p(d),
            Self::Product(a, b) => ln_p_product(*a, *b, d),
        }
    }

    fn upper(&self, delta: Delta) -> f64 {
        let (a, b) = match self {
            Self::Exact(exact) => return exact.upper(delta),
            Self::Product(a, b) => (*a, *b),
        };
        // The largest d with p(d) ≥ δ, from the safe side.
        let (mut low, mut high) = (-1.0, 1.0);
        while high - low > 1e-9 {
            let middle = 0.5 * (low + high);
            if ln_p_product(a, b, middle) < delta.ln() { high = middle } else { low = middle }
        }
        high
    }
}

/// log p(d).
fn ln_p_product(a: Count, b: Count, d: f64) -> f64 {
    let ln_x = |m: f64| {
        let other = (m - d).clamp(0.0, 1.0);
        ln_at_most(a.hits(), a.rows(), m, 1.0 - m)
            + ln_at_least(b.hits(), b.rows(), other, 1.0 - other)
    };
    let (first, last) = (d.max(0.0), (1.0 + d).min(1.0));
    // Concave: a search by golden section closes in on the maximum, where it is flat.
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let (mut low, mut high) = (first, last);
    let (mut one, mut two) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_one, mut at_two) = (ln_x(one), ln_x(two));
    for _ in 0..64 {
        if at_one < at_two {
            low = one;
            (one, at_one) = (two, at_two);
            two = low + golden * (high - low);
            at_two = ln_x(two);
        } else {
            high = two;
            (two, at_two) = (one, at_one);
            one = high - golden * (high - low);
            at_one = ln_x(one);
        }
    }
    // What the search may have missed of a flat maximum.
    let best = at_one.max(at_two).max(ln_x(first)).max(ln_x(last)) + 1e-9;
    let best = best.min(0.0);
    (best + (1.0 - best).ln()).min(0.0)
}

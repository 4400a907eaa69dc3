//! Differences of two rates: p_a − p_b, as in demographic parity.
//!
//! **Rows apart.** Given how many there are, the rows of two disjoint groups are independent. If the
//! difference were d or more, then for p_a = m both "at most k_a hits at m" and "at least k_b hits at
//! m − d" would have p-values of their own, independent of each other; Fisher's product of the two is
//! again one, and the nuisance m is given its worst value:
//!
//! $$ p(d) = \sup_m x(m)\,\big(1 - \log x(m)\big) , \qquad
//!    x(m) = \Pr[\mathrm{bin}(n_a, m) \le k_a] \; \Pr[\mathrm{bin}(n_b, m - d) \ge k_b] . $$
//!
//! Both factors are tails of beta distributions with log-concave densities, so log x is concave in m
//! and its maximum is found exactly. With equal groups the bound is two thirds as wide as one that
//! splits δ between two Clopper-Pearson bounds.
//!
//! **A group and everyone.** If the second group contains the first, whose share of it is π,
//! p_a − p_b = (1 − π)(p_a − p_r) with r the rest, which is apart from a. A tenth of δ goes to an interval
//! for π, the others to p_a − p_r.
//!
//! **Anything else.** Two Clopper-Pearson bounds at δ/2 each, whatever the dependence.

use super::binomial::{ln_at_least, ln_at_most};
use super::count::Count;
use super::delta::Delta;

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
        match self {
            Self::Apart { a, b } => upper_apart(a, b, delta),
            Self::Within { part, rest } => {
                let gap = match rest {
                    Some(rest) => upper_apart(part, rest, delta.times(1.0 - FOR_SIZE)),
                    None => 1.0,
                };
                let others = rest.map_or(0, Count::rows);
                let whole = part.rows() + others;
                // Within bounds by construction: others ≤ whole, and a part has rows.
                let Ok(rest_share) = Count::new(others, whole) else { return 1.0 };
                let side = delta.times(0.5 * FOR_SIZE);
                // A positive gap is largest with the largest rest, a negative one with the smallest.
                gap * if gap > 0.0 { rest_share.upper(side) } else { rest_share.lower(side) }
            }
            Self::Any { a, b } => a.upper(delta.among(2)) - b.lower(delta.among(2)),
        }
    }

    /// The lower bound on the difference at 1 − δ.
    pub fn lower(self, delta: Delta) -> f64 {
        -self.complement().upper(delta)
    }
}

/// The largest d with p(d) ≥ δ, from the safe side.
fn upper_apart(a: Count, b: Count, delta: Delta) -> f64 {
    let (mut low, mut high) = (-1.0, 1.0);
    while high - low > 1e-9 {
        let middle = 0.5 * (low + high);
        if ln_p_apart(a, b, middle) < delta.ln() { high = middle } else { low = middle }
    }
    high
}

/// log p(d).
pub(crate) fn ln_p_apart(a: Count, b: Count, d: f64) -> f64 {
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

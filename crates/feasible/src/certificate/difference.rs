//! Differences of two rates: p_a − p_b, as in demographic parity.
//!
//! **Rows apart.** Given how many there are, the rows of two disjoint groups are independent, and there is an exact unconditional
//! bound: [Buehler's](super::unconditional) for small groups, [with a shorter search](super::searched) for large ones. Which of
//! the two is used depends on n_a and n_b alone.
//!
//! **A group and everyone, groups that share rows.** [Bets](super::betting) on the rows, in an order drawn at random: a row of both groups
//! hardly counts. For small groups within everyone, p_a − p_b = (1 − π)(p_a − p_r) with r the rest, which is apart from a, and π the
//! group's share; a tenth of δ goes to an interval for π, the others to p_a − p_r.
//!
//! **Anything else.** Two Clopper-Pearson bounds at δ/2 each, whatever the dependence.

use std::cell::RefCell;

use super::betting::{Game, Pair};
use super::count::Count;
use super::delta::Delta;
use super::searched::Searched;
use super::unconditional::{Unconditional, is_small};
use crate::stream::{Purpose, Stream};

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
    /// p_a − p_b of groups that share some rows, of which the value is the same in both.
    Shared {
        /// The first group.
        a: Count,
        /// The second.
        b: Count,
        /// Rows of both.
        both: Count,
    },
    /// p_a − p_b of groups that depend on each other in some other way.
    Any {
        /// The first group.
        a: Count,
        /// The second.
        b: Count,
    },
}

/// The share of δ that goes to π, half of it to either side.
const FOR_SIZE: f64 = 0.1;
/// A group and everyone: rows of the group, and of the rest, from which on bets are used.
const ENOUGH: u64 = 50;

impl Difference {
    /// The difference of the shares counted.
    pub fn estimate(self) -> f64 {
        match self {
            Self::Apart { a, b } | Self::Shared { a, b, .. } | Self::Any { a, b } => {
                a.rate() - b.rate()
            }
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
            Self::Shared { a, b, both } => a.rows() + b.rows() - both.rows(),
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
            Self::Shared { a, b, both } => {
                let (a, b) = (a.complement(), b.complement());
                Self::Shared { a, b, both: both.complement() }
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

    /// What the bound is called.
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Any { .. } => "Clopper-Pearson, δ/2 each",
            _ if self.is_bet_on() => "betting",
            _ => "exact unconditional",
        }
    }

    /// Whether the bound is by betting.
    pub(crate) fn is_bet_on(self) -> bool {
        match self {
            Self::Within { part, rest: Some(rest) } => part.rows().min(rest.rows()) >= ENOUGH,
            Self::Shared { .. } => true,
            Self::Apart { .. } | Self::Within { rest: None, .. } | Self::Any { .. } => false,
        }
    }

    /// The rows in a random order, where they are bet on.
    fn game(self, design: Delta) -> Option<Game> {
        if !self.is_bet_on() {
            return None;
        }
        // Hits and misses of the first group alone, of the second alone, and of both.
        let cells = match self {
            Self::Within { part, rest: Some(rest) } => [
                [0, 0],
                [rest.hits(), rest.complement().hits()],
                [part.hits(), part.complement().hits()],
            ],
            Self::Shared { a, b, both } => {
                let misses = |count: Count| count.complement().hits();
                let less =
                    |count: Count| [count.hits() - both.hits(), misses(count) - misses(both)];
                [less(a), less(b), [both.hits(), misses(both)]]
            }
            _ => return None,
        };
        let of = [[true, false], [false, true], [true, true]];
        let mut kinds: Vec<u32> = Vec::new();
        for (kind, rows) in cells.into_iter().flatten().enumerate() {
            kinds.extend(std::iter::repeat_n(kind as u32, rows as usize));
        }
        // An order of its own for every outcome. No epoch of a training has this number.
        let mix = |seed: u64, rows: &u64| seed.wrapping_mul(1_000_003).wrapping_add(*rows);
        let seed = cells.iter().flatten().fold(0, mix);
        Stream::new(seed, Purpose::Shuffle, u64::MAX, 1).shuffle(&mut kinds);
        let pair = |kind: &u32| -> Pair {
            let value = if kind.is_multiple_of(2) { 1.0 } else { 0.0 };
            of[(kind / 2) as usize].map(|member| member.then_some(value))
        };
        Some(Game::of_difference(&kinds.iter().map(pair).collect::<Vec<_>>(), design))
    }

    /// The upper bound at 1 − δ; outcomes are ordered as suits a bound at `design`.
    pub(crate) fn upper_designed(self, delta: Delta, design: Delta) -> f64 {
        if let Some(game) = self.game(design) {
            return game.upper(delta).max(self.estimate());
        }
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
            Self::Shared { a, b, .. } | Self::Any { a, b } => {
                a.upper(delta.among(2)) - b.lower(delta.among(2))
            }
        };
        // A bound that is raised to the estimate is as valid.
        bound.max(self.estimate())
    }

    /// log of the p-value of "the difference is at least `limit`": the smallest δ whose bound is below it.
    pub(crate) fn ln_p_at_least(self, limit: f64, design: Delta) -> f64 {
        if self.estimate() >= limit {
            return 0.0;
        }
        if let Some(game) = self.game(design) {
            return if limit > 1.0 { f64::NEG_INFINITY } else { game.ln_p(limit) };
        }
        match self {
            Self::Apart { a, b } => RateGap::new(a, b, design).ln_p(limit),
            Self::Within { part, rest } => {
                let gap = rest.map(|r| RateGap::new(part, r, design.times(1.0 - FOR_SIZE)));
                let gap = gap.map(RefCell::new);
                smallest_ln_delta(|delta| {
                    let (least, most) = rest_share(part, rest, delta);
                    // gap · share < limit, at the share that makes it largest.
                    let share = if limit > 0.0 { most } else { least };
                    let Some(gap) = &gap else { return share < limit };
                    share > 0.0
                        && gap.borrow_mut().ln_p(limit / share) < delta.times(1.0 - FOR_SIZE).ln()
                })
            }
            Self::Shared { .. } | Self::Any { .. } => {
                smallest_ln_delta(|delta| self.upper(delta) < limit)
            }
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
    Small(Unconditional),
    Large(Searched),
}

impl RateGap {
    fn new(a: Count, b: Count, design: Delta) -> Self {
        match is_small(a.rows(), b.rows()) {
            true => Self::Small(Unconditional::new(a, b, design)),
            false => Self::Large(Searched::new(a, b, design)),
        }
    }

    fn ln_p(&mut self, d: f64) -> f64 {
        match self {
            _ if d > 1.0 => f64::NEG_INFINITY,
            _ if d <= -1.0 => 0.0,
            Self::Small(small) => small.ln_p(d),
            Self::Large(large) => large.ln_p(d),
        }
    }

    fn upper(&mut self, delta: Delta) -> f64 {
        match self {
            Self::Small(small) => small.upper(delta),
            Self::Large(large) => large.upper(delta),
        }
    }
}

//! From the capitals of tables to bounds and verdicts, at every table.

use serde::{Deserialize, Serialize};

use super::wager::{STAKES, Wager, ln_mixture};
use super::wealth::{FOR_SIZE, Wealth, weight};
use crate::certificate::Delta;
use crate::requirement::Sense;

/// What is proven about a requirement by all tables so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum MonitorVerdict {
    /// The average over all tables so far meets it.
    Certified,
    /// The average over some tables in a row violates it, and it was met when training ended.
    Drifted,
    /// The same of a requirement that was not met when training ended: nothing has drifted.
    Violated,
    /// Neither is proven, or a certificate is suspended.
    Open,
}

impl MonitorVerdict {
    /// The verdict on a requirement that was met when training ended, or was not.
    ///
    /// ```
    /// use feasible::monitor::MonitorVerdict;
    /// let verdict = MonitorVerdict::Drifted.since_training(false);
    /// assert!(verdict == MonitorVerdict::Violated && verdict.is_violation());
    /// ```
    #[must_use]
    pub fn since_training(self, met: bool) -> Self {
        match self {
            Self::Drifted if !met => Self::Violated,
            verdict => verdict,
        }
    }

    /// Whether a violation is proven.
    pub fn is_violation(self) -> bool {
        matches!(self, Self::Drifted | Self::Violated)
    }
}

impl std::fmt::Display for MonitorVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Certified => "CERTIFIED",
            Self::Drifted => "DRIFTED",
            Self::Violated => "VIOLATED",
            Self::Open => "OPEN",
        })
    }
}

/// All that is decided before the first table: the error of a whole life, and among how many requirements it is
/// shared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MonitorPlan {
    delta: Delta,
    requirements: usize,
}

/// How a requirement stands after all tables, and how it stood after each.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Track {
    /// The verdict now.
    pub verdict: MonitorVerdict,
    /// First and last of the tables, counted from 0, over which the average violates the requirement; the last is
    /// the one that proved it.
    pub drift: Option<(usize, usize)>,
    /// The first of the latest tables that suspend a certificate.
    pub suspended: Option<usize>,
    /// What the bounds are limited to.
    range: (f64, f64),
    /// After each table.
    pub looks: Vec<Look>,
}

/// What was known after a table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Look {
    /// Bounds on the number in this table, at 1 − δ for it alone; `None` if it applies to no row.
    pub alone: Option<(f64, f64)>,
    /// Bounds on the average over all tables so far, valid at all times at once.
    pub so_far: (f64, f64),
    /// The verdict.
    pub verdict: MonitorVerdict,
}

impl Track {
    /// The lower bound on the average so far.
    pub fn lower(&self) -> f64 {
        self.looks.last().map_or(self.range.0, |look| look.so_far.0)
    }

    /// The upper bound on the average so far.
    pub fn upper(&self) -> f64 {
        self.looks.last().map_or(self.range.1, |look| look.so_far.1)
    }
}

impl MonitorPlan {
    /// δ, for `requirements` requirements together.
    pub fn new(delta: Delta, requirements: usize) -> Self {
        Self { delta, requirements }
    }

    /// α: the error of each verdict on one requirement.
    pub fn alpha(&self) -> Delta {
        self.delta.among(2 * self.requirements.max(1))
    }

    /// Judges the tables of a life so far, in order; `None` for one without evidence on the requirement.
    pub fn judge(&self, sense: Sense, wager: &Wager, tables: &[Option<Wealth>]) -> Track {
        // A group may be compared with everyone, whose share then has its part of α.
        let difference = wager.low < 0.0;
        let alpha = self.alpha().times(if difference { 1.0 - FOR_SIZE } else { 1.0 });
        let (proof, doubt) = (-alpha.ln(), -self.delta.ln());
        let mut sum = Sum::default();
        let mut windows = Windows::new(sense);
        let mut track = Track {
            verdict: MonitorVerdict::Open,
            drift: None,
            suspended: None,
            range: (wager.low, wager.high),
            looks: Vec::with_capacity(tables.len()),
        };
        for (at, wealth) in tables.iter().enumerate() {
            windows.add(wealth.as_ref());
            let alone = wealth.as_ref().map(|wealth| {
                let each = self.delta.among(2);
                let mut one = Sum::default();
                one.add(wealth, wager);
                sum.add(wealth, wager);
                (one.lower(wager, -each.ln()), one.upper(wager, -each.ln()))
            });
            if track.drift.is_none() {
                track.drift = windows.start(proof, true).map(|start| (start, at));
            }
            let met = match sense {
                Sense::AtMost => ln_mixture(|g| sum.down[g]),
                Sense::AtLeast => ln_mixture(|g| sum.up[g]),
            };
            let certified = met >= proof && track.drift.is_none();
            track.suspended = if certified { windows.start(doubt, false) } else { None };
            track.verdict = match (track.drift, certified && track.suspended.is_none()) {
                (Some(_), _) => MonitorVerdict::Drifted,
                (None, true) => MonitorVerdict::Certified,
                (None, false) => MonitorVerdict::Open,
            };
            // A certificate has all of α; bets against it that start at the first table have half, their weight.
            let other = proof - weight(0).ln();
            let so_far = match sense {
                Sense::AtMost => (sum.lower(wager, other), sum.upper(wager, proof)),
                Sense::AtLeast => (sum.lower(wager, proof), sum.upper(wager, other)),
            };
            track.looks.push(Look { alone, so_far, verdict: track.verdict });
        }
        track
    }
}

/// Capitals over several tables.
#[derive(Clone, Debug, Default)]
struct Sum {
    units: f64,
    up: [f64; STAKES],
    down: [f64; STAKES],
    /// Σ units · what was bet against, upwards and downwards.
    against: [f64; 2],
    /// Σ units / (1 − π), for the largest and the smallest 1 − π; Σ units where there is no π.
    scale: [f64; 2],
    of_part: bool,
}

impl Sum {
    fn add(&mut self, wealth: &Wealth, wager: &Wager) {
        let units = wealth.units as f64;
        self.units += units;
        for g in 0..STAKES {
            self.up[g] += wealth.up[g];
            self.down[g] += wealth.down[g];
        }
        let (against, scale) = match wealth.within {
            Some(w) => ([w.up, w.down], [w.most, w.least]),
            None => ([wager.limit; 2], [1.0; 2]),
        };
        self.of_part |= wealth.within.is_some();
        for side in 0..2 {
            self.against[side] += units * against[side];
            self.scale[side] += units / scale[side];
        }
    }

    /// The largest average that bets downwards have not ruled out.
    fn upper(&self, wager: &Wager, proof: f64) -> f64 {
        let stakes = wager.down();
        let excess =
            |u: f64| ln_mixture(|g| self.down[g] - self.units * (-stakes[g] * u).ln_1p()) - proof;
        let (low, high) = self.range(wager);
        self.value(edge(low, high, excess), 1).min(wager.high)
    }

    /// The smallest average that bets upwards have not ruled out.
    fn lower(&self, wager: &Wager, proof: f64) -> f64 {
        let stakes = wager.up();
        let excess =
            |u: f64| ln_mixture(|g| self.up[g] - self.units * (-stakes[g] * u).ln_1p()) - proof;
        let (low, high) = self.range(wager);
        self.value(-edge(-high, -low, excess), 0).max(wager.low)
    }

    /// What the mean of values minus what was bet against can be.
    fn range(&self, wager: &Wager) -> (f64, f64) {
        let range = wager.high - wager.low;
        if self.of_part {
            (-range, range)
        } else {
            (wager.low - wager.limit, wager.high - wager.limit)
        }
    }

    /// The average that goes with a mean of `u` over what was bet against; of the scales that π allows, the one that
    /// is on the safe side.
    fn value(&self, u: f64, side: usize) -> f64 {
        if self.units == 0.0 {
            return if side == 1 { f64::INFINITY } else { f64::NEG_INFINITY };
        }
        let total = self.against[side] + self.units * u;
        let safe = (total >= 0.0) == (side == 1);
        total / self.scale[usize::from(!safe)]
    }
}

/// The x in [low, high] at which `excess`, which grows, is 0; from the safe side, where it is positive. The secant rule of
/// Illinois, with a bisection now and then so that it must end.
fn edge(low: f64, high: f64, excess: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (low, high);
    let (mut below, mut above) = (excess(low), excess(high));
    if below > 0.0 {
        return low;
    }
    let mut round = 0;
    while above > 0.0 && high - low > 1e-12 + 1e-9 * high.abs().max(low.abs()) {
        let secant = (low * above - high * below) / (above - below);
        round += 1;
        let middle = match secant > low && secant < high && round % 3 != 0 {
            true => secant,
            false => 0.5 * (low + high),
        };
        if middle <= low || middle >= high {
            break;
        }
        let found = excess(middle);
        if found > 0.0 {
            (high, above, below) = (middle, found, 0.5 * below);
        } else {
            (low, below, above) = (middle, found, 0.5 * above);
        }
    }
    high
}

/// Bets against the requirement, started anew at every table.
struct Windows {
    sense: Sense,
    /// log capitals of the first tables: none, one, two, ….
    sums: Vec<[f64; STAKES]>,
    /// log of the sums over all starts, weighted and not: no single one is above.
    weighted: [f64; STAKES],
    plain: [f64; STAKES],
}

impl Windows {
    fn new(sense: Sense) -> Self {
        let none = [f64::NEG_INFINITY; STAKES];
        Self { sense, sums: vec![[0.0; STAKES]], weighted: none, plain: none }
    }

    fn add(&mut self, wealth: Option<&Wealth>) {
        let at = self.sums.len() - 1;
        let logs = wealth.map(|wealth| match self.sense {
            Sense::AtMost => &wealth.up,
            Sense::AtLeast => &wealth.down,
        });
        let gain = |g: usize| logs.map_or(0.0, |logs| logs[g]);
        let last = self.sums[at];
        self.sums.push(std::array::from_fn(|g| last[g] + gain(g)));
        for g in 0..STAKES {
            self.weighted[g] = ln_add(self.weighted[g], weight(at).ln()) + gain(g);
            self.plain[g] = ln_add(self.plain[g], 0.0) + gain(g);
        }
    }

    /// The latest start whose capital up to now is `proof` or more, after its weight if `weighted`.
    fn start(&self, proof: f64, weighted: bool) -> Option<usize> {
        // The sum over all starts is at least the largest: mostly there is no need to look at each.
        let all = if weighted { &self.weighted } else { &self.plain };
        if ln_mixture(|g| all[g]) < proof {
            return None;
        }
        let now = self.sums.len() - 1;
        let enough = |start: &usize| {
            let capital = ln_mixture(|g| self.sums[now][g] - self.sums[*start][g]);
            capital + if weighted { weight(*start).ln() } else { 0.0 } >= proof
        };
        let mut start = (0..now).rev().find(enough)?;
        // Tables that say nothing do not belong to what they precede.
        while start + 1 < now && self.sums[start] == self.sums[start + 1] {
            start += 1;
        }
        Some(start)
    }
}

/// log(eᵃ + eᵇ).
fn ln_add(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if large == f64::NEG_INFINITY { large } else { large + (small - large).exp().ln_1p() }
}

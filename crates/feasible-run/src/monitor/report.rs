//! What a ledger proves.

use std::path::Path;

use feasible::certificate::Delta;
use feasible::monitor::{MonitorPlan, MonitorVerdict, Track, Wealth};
use feasible::requirement::Sense;
use serde::Serialize;

use super::ledger::{Entry, Header, Ledger, TableEvidence, Watched};
use crate::directory::RunDirectory;
use crate::error::Result;

/// How a model in use stands: a function of its ledger.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MonitorReport {
    /// What the problem is called.
    pub problem: String,
    /// Whether a violation is proven of some requirement that was met when training ended.
    pub drifted: bool,
    /// Whether one is proven of some requirement that was not.
    pub violated: bool,
    /// Whether every requirement is certified.
    pub certified: bool,
    /// 1 − δ, of all verdicts of the life together.
    pub confidence: f64,
    /// The tables.
    pub tables: Vec<WatchedTable>,
    /// The requirements.
    pub requirements: Vec<WatchedRequirement>,
}

/// A table of the ledger.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WatchedTable {
    /// What it is called.
    pub label: String,
    /// Its rows.
    pub rows: usize,
    /// Whether it has the target.
    pub labelled: bool,
    /// The number, from 1, of the table whose labels these are.
    pub labels_of: Option<usize>,
}

/// A requirement, over all tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WatchedRequirement {
    /// Its name.
    pub name: String,
    /// The number it speaks of.
    pub subject: String,
    /// At most or at least.
    pub sense: Sense,
    /// The limit.
    pub limit: f64,
    /// Γ, if not 1: it is certified if it holds wherever no kind of row is more than this many times as common as in the tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shift: Option<f64>,
    /// The bound on the average there, on the side of the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_at_shift: Option<f64>,
    /// Whether it can be watched: its loss has a bound.
    pub watched: bool,
    /// What is proven.
    pub verdict: MonitorVerdict,
    /// The first and the last of the tables over which the average violates it.
    pub drift: Option<(String, String)>,
    /// The first of the latest tables that suspend a certificate.
    pub suspended: Option<String>,
    /// Rows it speaks of, in all tables.
    pub rows: u64,
    /// The average over all tables, in the samples.
    pub value: Option<f64>,
    /// The lower bound on the average over all tables.
    pub lower: Option<f64>,
    /// The upper bound.
    pub upper: Option<f64>,
    /// After each table that speaks of it.
    pub looks: Vec<TableLook>,
}

/// A requirement after one of the tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableLook {
    /// The number of the table, from 1.
    pub table: usize,
    /// What it is called.
    pub label: String,
    /// Rows of it that the requirement speaks of.
    pub rows: u64,
    /// The number in this table.
    pub value: f64,
    /// Bounds on it, for this table alone.
    pub interval: (f64, f64),
    /// The average over all tables up to this one.
    pub average: f64,
    /// Bounds on the average, valid at all times at once.
    pub bounds: (f64, f64),
    /// The verdict after this table.
    pub verdict: MonitorVerdict,
}

impl MonitorReport {
    /// What the ledger of a run directory proves; `None` if there is none.
    ///
    /// # Errors
    /// A ledger that cannot be read or is damaged.
    pub fn of(directory: &Path) -> Result<Option<Self>> {
        let Some(Ledger { header: Some(header), entries, .. }) =
            super::read(&RunDirectory::new(directory))?
        else {
            return Ok(None);
        };
        let delta = Delta::confidence(header.confidence)?;
        let bounded = header.requirements.iter().filter(|one| one.wager.is_some()).count();
        let plan = MonitorPlan::new(delta, bounded);
        let summary = RunDirectory::new(directory).summary()?;
        let met = |name: &str| summary.as_ref().and_then(|of| of.is_met(name)).unwrap_or(true);
        let one = |(at, watched): (usize, &Watched)| {
            requirement(&plan, at, watched, met(&watched.name), &entries)
        };
        let requirements: Vec<_> = header.requirements.iter().enumerate().map(one).collect();
        let is = |verdict| move |one: &WatchedRequirement| one.verdict == verdict;
        let table = |entry: &Entry| WatchedTable {
            label: entry.label.clone(),
            rows: entry.rows,
            labelled: entry.labelled,
            labels_of: entry.labels_of,
        };
        let Header { problem, confidence, .. } = header;
        Ok(Some(Self {
            problem,
            drifted: requirements.iter().any(is(MonitorVerdict::Drifted)),
            violated: requirements.iter().any(is(MonitorVerdict::Violated)),
            certified: requirements.iter().all(is(MonitorVerdict::Certified)),
            confidence,
            tables: entries.iter().map(table).collect(),
            requirements,
        }))
    }

    /// Rows of all tables, each once.
    pub fn rows(&self) -> usize {
        self.tables.iter().filter(|table| table.labels_of.is_none()).map(|table| table.rows).sum()
    }
}

impl Watched {
    /// The bound on the side of the limit wherever no kind of row is more than `shift` times as common; as
    /// [`feasible::certificate`] has it.
    fn bound_at_shift(&self, (lower, upper): (f64, f64)) -> Option<f64> {
        let (shift, wager) = (self.shift?, self.wager?);
        let (end, bound) = match self.sense {
            Sense::AtMost => (wager.low, upper),
            Sense::AtLeast => (wager.high, lower),
        };
        Some((end + shift * (bound - end)).clamp(wager.low, wager.high))
    }

    /// A certificate must carry to the shift; a violation is one in the tables themselves.
    fn at_shift(&self, bounds: (f64, f64), verdict: MonitorVerdict) -> MonitorVerdict {
        let beyond = |bound: f64| match self.sense {
            Sense::AtMost => bound > self.limit,
            Sense::AtLeast => bound < self.limit,
        };
        match (verdict, self.bound_at_shift(bounds)) {
            (MonitorVerdict::Certified, Some(bound)) if beyond(bound) => MonitorVerdict::Open,
            (verdict, _) => verdict,
        }
    }
}

fn requirement(
    plan: &MonitorPlan,
    at: usize,
    watched: &Watched,
    met: bool,
    entries: &[Entry],
) -> WatchedRequirement {
    let seen: Vec<Option<&TableEvidence>> =
        entries.iter().map(|e| e.requirements[at].as_ref()).collect();
    let bets: Vec<Option<Wealth>> =
        seen.iter().map(|seen| Some(seen.as_ref()?.bets.clone())).collect();
    let track = watched.wager.map(|wager| plan.judge(watched.sense, &wager, &bets));
    let label = |at: usize| entries[at].label.clone();
    let (mut units, mut sum) = (0.0, 0.0);
    let mut looks = Vec::new();
    for (at, (seen, entry)) in seen.iter().zip(entries).enumerate() {
        let (Some(seen), Some(look)) = (seen, track.as_ref().map(|track| track.looks[at])) else {
            continue;
        };
        units += seen.bets.units as f64;
        sum += seen.bets.units as f64 * seen.value;
        looks.push(TableLook {
            table: at + 1,
            label: entry.label.clone(),
            rows: seen.rows,
            value: seen.value,
            interval: look.alone.unwrap_or(look.so_far),
            average: sum / units,
            bounds: look.so_far,
            verdict: watched.at_shift(look.so_far, look.verdict).since_training(met),
        });
    }
    let some = track.as_ref().filter(|_| !looks.is_empty());
    WatchedRequirement {
        name: watched.name.clone(),
        subject: watched.subject.clone(),
        sense: watched.sense,
        limit: watched.limit,
        shift: watched.shift,
        bound_at_shift: some
            .and_then(|track| watched.bound_at_shift((track.lower(), track.upper()))),
        watched: watched.wager.is_some(),
        verdict: some.map_or(MonitorVerdict::Open, |track| {
            watched.at_shift((track.lower(), track.upper()), track.verdict).since_training(met)
        }),
        drift: some.and_then(|track| track.drift).map(|(first, last)| (label(first), label(last))),
        suspended: some.and_then(|track| track.suspended).map(label),
        rows: seen.iter().flatten().map(|seen| seen.rows).sum(),
        value: looks.last().map(|look| look.average),
        lower: some.map(Track::lower),
        upper: some.map(Track::upper),
        looks,
    }
}

//! The terms of a source on rows many of which are alike: each kind of row is worked on once.
//!
//! The rows' weights are added up by kind, the losses evaluated once for each kind that has a weight
//! or whose value is wanted, and their values counted as often as there are rows. There are outputs of each
//! kind once, with all its views; or, where the inputs of views are shared, of each distinct input once,
//! and a loss is evaluated at each distinct pair of them once for all the terms it serves.

use std::ops::Range;

use crate::dedup::{Dedup, Pool};
use crate::lagrangian::terms::entries::{Entries, NONE};
use crate::lagrangian::terms::kinds::Kinds;
use crate::lagrangian::terms::{
    At, Found, Outputs, PointViolation, SeenKinds, TermSums, Terms, Weight, Work,
};
use crate::loss::LossRows;
use crate::real::Real;
use crate::requirement::{Kind, Limit};
use crate::source::{NOT_A_MEMBER, Owner, Source, SourceTerm};

/// What the rows of a source have in common.
#[derive(Clone, Debug)]
pub(in crate::lagrangian) struct Shared<'s> {
    pub(in crate::lagrangian) dedup: &'s Dedup,
    /// The inputs this pass asks about, and the number of times they were chosen.
    pub(in crate::lagrangian) pool: Option<&'s Pool>,
    pub(in crate::lagrangian) version: u32,
    /// Which of [`Dedup::rows`] these are, if they come kind by kind.
    pub(in crate::lagrangian) sorted: Option<Range<usize>>,
}

/// What a group of terms is evaluated with.
pub(super) struct Task<'t> {
    pub(super) of: &'t Source,
    pub(super) dedup: &'t Dedup,
    pub(super) pool: Option<&'t Pool>,
    version: u32,
    at: At<'t>,
    /// The number of the source's first term.
    first_term: usize,
}

impl Terms {
    /// As [`Terms::on_rows`], for rows that repeat. There are outputs for `asked`: one row of each kind, or the distinct
    /// inputs that they show ([`Kinds::ask`]).
    pub(in crate::lagrangian) fn on_kinds<T: Real>(
        &self,
        work: &mut Work<T>,
        at: At<'_>,
        shared: &Shared<'_>,
        asked: &[u32],
        mut outputs: Outputs<'_, T>,
    ) -> bool {
        let of = &self.problem.sources()[at.source];
        let &Shared { dedup, pool, version, .. } = shared;
        let task = Task { of, dedup, pool, version, at, first_term: self.first[at.source] };
        let everyone = of.terms.iter().all(|term| term.member_of_row.is_none());
        if let Some(part) = &shared.sorted
            && pool.is_none()
            && at.ask.multipliers().is_none()
            && everyone
        {
            self.values_of_kinds(work, &task, part, asked, &mut outputs);
            return false;
        }
        let (mut wanted, mut start) = (false, 0);
        for group in of.terms.chunk_by(SourceTerm::is_evaluated_as) {
            wanted |= self.group(work, &task, start, group, &mut outputs);
            start += group.len();
        }
        wanted
    }

    /// The values of all terms at every kind, in the order in which the model was asked about them.
    fn values_of_kinds<T: Real>(
        &self,
        work: &mut Work<T>,
        task: &Task<'_>,
        part: &Range<usize>,
        asked: &[u32],
        outputs: &mut Outputs<'_, T>,
    ) {
        work.positions.clear();
        work.positions.extend(0..asked.len() as u32);
        work.values.resize(asked.len(), T::ZERO);
        for (t, term) in task.of.terms.iter().enumerate() {
            for (q, &slot) in term.slots.iter().enumerate() {
                work.losses(task.of, term, slot, asked, false, true, outputs);
                work.kinds.weigh_samples(task.of, term, task.at.rows);
                let Work { kinds, found, values, measured, .. } = work;
                let Found { sums, seen, seen_kinds, of_kinds, .. } = found;
                let measured = if term.measure.is_some() { &*measured } else { &*values };
                let sums = &mut sums[task.first_term + t];
                let Kinds { counts, mass, place_of_row, .. } = &*kinds;
                let counts = if term.weighted { Counts::Mass(mass) } else { Counts::Rows(counts) };
                let all = OfKinds { counts, place_of_row, values, measured };
                let point = |row: u32| q * term.members + row as usize;
                let Some((requirement, limit)) = self.common_limit(term) else {
                    self.record_kinds(task, term, all, point, sums, seen);
                    continue;
                };
                add_values(term, &all, sums);
                let mut keep = |values: &[T]| {
                    let violation = |v: &T| term.coefficient * (v.to_f64() - limit);
                    of_kinds.extend(values.iter().map(violation));
                    of_kinds.len() - values.len()
                };
                seen_kinds.push(SeenKinds {
                    requirement,
                    source: task.at.source,
                    point: point(0),
                    rows: part.clone(),
                    first_kind: kinds.kinds.first().copied().unwrap_or(0),
                    measured: keep(measured),
                    primal: term.measure.is_some().then(|| keep(values)),
                });
            }
        }
    }

    /// Requirement and limit of a term of a pointwise requirement with one limit for all.
    fn common_limit(&self, term: &SourceTerm) -> Option<(usize, f64)> {
        let Owner::Requirement(i) = term.owner else { return None };
        let requirement = &self.problem.requirements()[i];
        match requirement.limit() {
            Limit::Common(limit) if requirement.kind() == Kind::Pointwise => Some((i, *limit)),
            _ => None,
        }
    }

    /// Some terms with the same loss; true if they put anything into the seeds.
    fn group<T: Real>(
        &self,
        work: &mut Work<T>,
        task: &Task<'_>,
        start: usize,
        group: &[SourceTerm],
        outputs: &mut Outputs<'_, T>,
    ) -> bool {
        let wants_values = task.at.ask.wants_values();
        let Work { kinds, entries, values, measured, by_at, by_against, .. } = &mut *work;
        let (loss, measure) = (&group[0].loss, &group[0].measure);
        let (vanishes, pair) = (loss.vanishes_between_equals(), loss.compares_views());
        let pool = task.pool.filter(|_| vanishes);
        let weigh = |term: &SourceTerm, scale: f64| {
            task.at.ask.multipliers().map(|m| Weight::of(term, task.of, self, m, scale))
        };
        entries.begin(1 + task.of.views.len());
        let mut uniform = 0;
        if let Some(pool) = pool {
            for term in group {
                if let (None, Some(Weight::Uniform(weight))) =
                    (&term.member_of_row, weigh(term, 1.0))
                {
                    uniform += 1;
                    for &slot in &term.slots {
                        entries.of_view[slot] += T::from_f64(weight);
                    }
                }
            }
            let keep = wants_values || uniform < group.len();
            let scale = T::from_f64(task.at.scale);
            entries.add_pairs(kinds, (pool, task.version), task.first_term + start, scale, keep);
        }
        for term in group.iter().filter(|_| uniform < group.len()) {
            let weigh = weigh(term, task.at.scale);
            if !wants_values && weigh.as_ref().is_none_or(Weight::is_zero) {
                continue;
            }
            if let (Some(_), None, Some(Weight::Uniform(_))) = (pool, &term.member_of_row, &weigh) {
                continue;
            }
            for (q, &slot) in term.slots.iter().enumerate() {
                let point = |member: u32| q * term.members + member as usize;
                match pool {
                    Some(pool) => {
                        if weigh.is_some() {
                            kinds.weigh((task.of, term), weigh.as_ref(), task.at.rows, point);
                            entries.weigh_pairs(kinds, pool, slot);
                        }
                    }
                    None => {
                        kinds.weigh((task.of, term), weigh.as_ref(), task.at.rows, point);
                        entries.add_kinds(kinds, task, slot, wants_values, pair);
                    }
                }
            }
        }
        let moves =
            task.at.ask.multipliers().is_some() && entries.weights.iter().any(|&w| w != T::ZERO);
        if !moves && !wants_values {
            return false;
        }
        let width = outputs.width;
        entries.read(outputs.outputs, width, pair);
        let Entries { samples, positions, weights, at, against, .. } = &*entries;
        let targets = task.of.samples.targets();
        let rows = LossRows { width, at, against, targets, samples, positions };
        values.resize(if wants_values { positions.len() } else { 0 }, T::ZERO);
        if moves {
            by_at.clear();
            by_at.resize(at.len(), T::ZERO);
            by_against.clear();
            by_against.resize(against.len(), T::ZERO);
            loss.seeds(rows, weights, values, by_at, by_against);
            entries.scatter(by_at, by_against, width, pair, outputs.seeds);
        } else {
            loss.values(rows, values);
        }
        if wants_values {
            if let Some(measure) = measure {
                measured.resize(positions.len(), T::ZERO);
                measure.values(rows, measured);
            }
            self.record_group(work, task, start, group);
        }
        moves
    }

    /// As [`Terms::record`] for the terms of a group, each kind's value counted for all its rows.
    fn record_group<T: Real>(
        &self,
        work: &mut Work<T>,
        task: &Task<'_>,
        start: usize,
        group: &[SourceTerm],
    ) {
        let Work { kinds, entries, values, measured, found, .. } = work;
        let Found { sums, seen, .. } = found;
        let pool = task.pool.filter(|_| group[0].loss.vanishes_between_equals());
        let count = kinds.kinds.len();
        let mut of_term = entries.of_term.chunks_exact(count.max(1));
        let mut entry_of = std::mem::take(&mut kinds.entry_of);
        for (t, term) in group.iter().enumerate() {
            for (q, &slot) in term.slots.iter().enumerate() {
                entry_of.clear();
                match pool {
                    Some(pool) => entries.pairs_of(kinds, pool, slot, &mut entry_of),
                    None => entry_of.extend(of_term.next().into_iter().flatten()),
                }
                let point = |member: u32| q * term.members + member as usize;
                kinds.weigh((task.of, term), None, task.at.rows, point);
                spread(&entry_of, values, &mut kinds.values);
                if term.measure.is_some() {
                    spread(&entry_of, measured, &mut kinds.measured);
                }
                let Kinds { members, mass, place_of_row, values, measured, .. } = &*kinds;
                let measured = if term.measure.is_some() { measured } else { values };
                let counts = if term.weighted { Counts::Mass(mass) } else { Counts::Rows(members) };
                let of_kinds = OfKinds { counts, place_of_row, values, measured };
                let sums = &mut sums[task.first_term + start + t];
                self.record_kinds(task, term, of_kinds, point, sums, seen);
            }
        }
        kinds.entry_of = entry_of;
    }

    /// Keeps the values of one view of a term: sums, and the points of a pointwise requirement.
    fn record_kinds<T: Real>(
        &self,
        task: &Task<'_>,
        term: &SourceTerm,
        of_kinds: OfKinds<'_, T>,
        point: impl Fn(u32) -> usize,
        sums: &mut TermSums,
        seen: &mut Vec<PointViolation>,
    ) {
        add_values(term, &of_kinds, sums);
        let OfKinds { place_of_row, values, measured, .. } = of_kinds;
        let Owner::Requirement(i) = term.owner else { return };
        let requirement = &self.problem.requirements()[i];
        if requirement.kind() != Kind::Pointwise {
            return;
        }
        seen.reserve(task.at.rows.len());
        for (&row, &place) in task.at.rows.iter().zip(place_of_row) {
            let member = term.member_of_row.as_ref().map_or(row, |of| of[row as usize]);
            if member != NOT_A_MEMBER {
                let point = point(member);
                let limit = requirement.limit().of(point);
                let violation =
                    |values: &[T]| term.coefficient * (values[place as usize].to_f64() - limit);
                seen.push(PointViolation {
                    requirement: i as u32,
                    point: point as u32,
                    measured: violation(measured),
                    primal: violation(values),
                });
            }
        }
    }
}

/// What a view of a term makes of the kinds of a chunk.
struct OfKinds<'k, T> {
    counts: Counts<'k>,
    /// The place of each row's kind.
    place_of_row: &'k [u32],
    values: &'k [T],
    measured: &'k [T],
}

/// How often each kind counts.
#[derive(Clone, Copy)]
enum Counts<'k> {
    /// Its rows.
    Rows(&'k [u32]),
    /// What its rows weigh.
    Mass(&'k [f64]),
}

/// Adds the values of a view of a term, each kind's as often as it counts.
fn add_values<T: Real>(term: &SourceTerm, of_kinds: &OfKinds<'_, T>, sums: &mut TermSums) {
    let OfKinds { counts, values, measured, .. } = *of_kinds;
    let total = |values: &[T]| -> f64 {
        let values = values.iter().map(|v| v.to_f64());
        match counts {
            Counts::Rows(counts) => values.zip(counts).map(|(v, &n)| f64::from(n) * v).sum(),
            Counts::Mass(mass) => values.zip(mass).map(|(v, &w)| w * v).sum(),
        }
    };
    sums.points += match counts {
        Counts::Rows(counts) => counts.iter().map(|&n| n as usize).sum::<usize>() as f64,
        Counts::Mass(mass) => mass.iter().sum(),
    };
    let primal = total(values);
    sums.primal += primal;
    sums.measured += if term.measure.is_some() { total(measured) } else { primal };
}

/// The value of each kind's entry; 0 where it has none.
fn spread<T: Real>(entry_of: &[u32], values: &[T], to: &mut Vec<T>) {
    to.clear();
    to.extend(entry_of.iter().map(|&e| if e == NONE { T::ZERO } else { values[e as usize] }));
}

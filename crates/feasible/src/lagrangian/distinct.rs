//! A chunk of a pass over rows many of which are alike: each kind of row is worked on once.
//!
//! The rows' weights are added up by kind, the losses evaluated once for each kind that has a weight
//! or whose value is wanted, and their values counted as often as there are rows. The model sees each
//! kind once with all its views; or, where the inputs of views are shared, each distinct input once,
//! and a loss each distinct pair of them once for all the terms it serves.

use std::ops::Range;

use crate::alike::{Alike, Pool};
use crate::lagrangian::Ask;
use crate::lagrangian::chunk::{Ground, ViewShifts, Weigh};
use crate::lagrangian::entries::{Entries, NONE};
use crate::lagrangian::kinds::Kinds;
use crate::lagrangian::lane::{Lane, Seen, SeenKinds, TermSums};
use crate::loss::Rows;
use crate::model::{Batch, Model};
use crate::real::Real;
use crate::requirement::{Kind, Level};
use crate::source::{NOT_A_MEMBER, Owner, Source, SourceTerm};

/// What the rows of a source have in common.
#[derive(Clone, Debug)]
pub(super) struct Shared<'s> {
    pub(super) alike: &'s Alike,
    /// The inputs this pass asks about, and the number of times they were chosen.
    pub(super) pool: Option<&'s Pool>,
    pub(super) version: u32,
    /// Which of [`Alike::rows`] the chunk is, if its rows come kind by kind.
    pub(super) sorted: Option<Range<usize>>,
}

/// What a chunk is evaluated with.
pub(super) struct Task<'t> {
    pub(super) of: &'t Source,
    pub(super) alike: &'t Alike,
    pub(super) pool: Option<&'t Pool>,
    pub(super) version: u32,
    pub(super) rows: &'t [u32],
    pub(super) scale: f64,
    pub(super) ask: Ask<'t>,
    /// The number of the source's first term.
    pub(super) first_term: usize,
}

impl<M: Model> Ground<M> {
    /// As [`Ground::chunk`], for a source whose rows repeat.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn distinct_chunk(
        &self,
        lane: &mut Lane<M>,
        theta: &[M::Real],
        source: usize,
        Shared { alike, pool, version, sorted }: Shared<'_>,
        rows: &[u32],
        scale: f64,
        ask: Ask<'_>,
    ) {
        let of = &self.problem.sources()[source];
        let mut asked = std::mem::take(&mut lane.asked);
        match &sorted {
            Some(part) => lane.kinds.collect_sorted(alike, part.clone()),
            None => lane.kinds.collect(alike, rows),
        }
        lane.kinds.ask(alike, pool, &mut asked);
        let views;
        let batch = match pool {
            Some(pool) => Batch { inputs: &pool.inputs, rows: &asked, shifts: &[] },
            None => {
                views = ViewShifts::new(&of.views, |_| &[]);
                Batch { inputs: of.samples.inputs(), rows: &asked, shifts: views.as_slice() }
            }
        };
        self.forward(lane, theta, &batch);
        if ask.multipliers().is_some() {
            lane.seeds.clear();
            lane.seeds.resize(lane.outputs.len(), M::Real::ZERO);
        }
        let task = Task {
            of,
            alike,
            pool,
            version,
            rows,
            scale,
            ask,
            first_term: self.first_term[source],
        };
        let mut wanted = false;
        let mut start = 0;
        let everyone = of.terms.iter().all(|term| term.member_of_row.is_none());
        if let Some(part) = sorted
            && pool.is_none()
            && ask.multipliers().is_none()
            && everyone
        {
            self.values_of_kinds(lane, &task, source, part, &asked);
            lane.asked = asked;
            return;
        }
        for group in of.terms.chunk_by(SourceTerm::is_evaluated_as) {
            wanted |= self.group(lane, &task, start, group);
            start += group.len();
        }
        if wanted {
            let Lane { tape, seeds, gradient, .. } = lane;
            self.model.backward(theta, &batch, tape, seeds, gradient);
        }
        lane.asked = asked;
    }

    /// The values of all terms at every kind, in the order in which the model was asked about them.
    fn values_of_kinds(
        &self,
        lane: &mut Lane<M>,
        task: &Task<'_>,
        source: usize,
        part: Range<usize>,
        asked: &[u32],
    ) {
        lane.positions.clear();
        lane.positions.extend(0..asked.len() as u32);
        lane.values.resize(asked.len(), M::Real::ZERO);
        for (t, term) in task.of.terms.iter().enumerate() {
            for (q, &slot) in term.slots.iter().enumerate() {
                self.losses(lane, task.of, term, slot, asked, false, true);
                let Lane { kinds, sums, seen, seen_kinds, of_kinds, values, measured, .. } = lane;
                let measured = if term.measure.is_some() { &*measured } else { &*values };
                let sums = &mut sums[task.first_term + t];
                let Kinds { counts, place_of_row, .. } = &*kinds;
                let all = OfKinds { counts, place_of_row, values, measured };
                let point = |row: u32| q * term.members + row as usize;
                let Some((requirement, level)) = self.common_level(term) else {
                    self.record_kinds(task, term, all, point, sums, seen);
                    continue;
                };
                add_values(term, &all, sums);
                let mut keep = |values: &[M::Real]| {
                    let slack = |v: &M::Real| term.coefficient * (v.to_f64() - level);
                    of_kinds.extend(values.iter().map(slack));
                    of_kinds.len() - values.len()
                };
                seen_kinds.push(SeenKinds {
                    requirement,
                    source,
                    point: point(0),
                    rows: part.clone(),
                    first_kind: kinds.kinds.first().copied().unwrap_or(0),
                    measured: keep(measured),
                    primal: term.measure.is_some().then(|| keep(values)),
                });
            }
        }
    }

    /// Requirement and level of a term of a pointwise requirement with one level for all.
    fn common_level(&self, term: &SourceTerm) -> Option<(usize, f64)> {
        let Owner::Requirement(i) = term.owner else { return None };
        let requirement = &self.problem.requirements()[i];
        match requirement.level() {
            Level::Common(level) if requirement.kind() == Kind::Pointwise => Some((i, *level)),
            _ => None,
        }
    }

    /// Some terms with the same loss; true if they put anything into the seeds.
    fn group(
        &self,
        lane: &mut Lane<M>,
        task: &Task<'_>,
        start: usize,
        group: &[SourceTerm],
    ) -> bool {
        let wants_values = task.ask.wants_values();
        let Lane { kinds, entries, .. } = lane;
        let (loss, measure) = (&group[0].loss, &group[0].measure);
        let (vanishes, pair) = (loss.vanishes_between_equals(), loss.compares_views());
        let pool = task.pool.filter(|_| vanishes);
        let weigh = |term: &SourceTerm, scale: f64| {
            let factor = scale * term.coefficient / term.points() as f64;
            task.ask.multipliers().map(|m| Weigh::of(term.owner, self, m, factor))
        };
        entries.begin(1 + task.of.views.len());
        let mut uniform = 0;
        if let Some(pool) = pool {
            for term in group {
                if let (None, Some(Weigh::Uniform(weight))) =
                    (&term.member_of_row, weigh(term, 1.0))
                {
                    uniform += 1;
                    for &slot in &term.slots {
                        entries.of_view[slot] += M::Real::from_f64(weight);
                    }
                }
            }
            let keep = wants_values || uniform < group.len();
            let scale = M::Real::from_f64(task.scale);
            entries.add_pairs(kinds, (pool, task.version), task.first_term + start, scale, keep);
        }
        for term in group.iter().filter(|_| uniform < group.len()) {
            let weigh = weigh(term, task.scale);
            if !wants_values && weigh.as_ref().is_none_or(Weigh::is_zero) {
                continue;
            }
            if let (Some(_), None, Some(Weigh::Uniform(_))) = (pool, &term.member_of_row, &weigh) {
                continue;
            }
            for (q, &slot) in term.slots.iter().enumerate() {
                let point = |member: u32| q * term.members + member as usize;
                match pool {
                    Some(pool) => {
                        if weigh.is_some() {
                            kinds.weigh(term, weigh.as_ref(), task.rows, point);
                            entries.weigh_pairs(kinds, pool, slot);
                        }
                    }
                    None => {
                        kinds.weigh(term, weigh.as_ref(), task.rows, point);
                        entries.add_kinds(kinds, task, slot, wants_values, pair);
                    }
                }
            }
        }
        let moves =
            task.ask.multipliers().is_some() && entries.weights.iter().any(|&w| w != M::Real::ZERO);
        if !moves && !wants_values {
            return false;
        }
        let width = self.model.output_width();
        entries.read(&lane.outputs, width, pair);
        let Entries { samples, positions, weights, at, against, .. } = &*entries;
        let targets = task.of.samples.targets();
        let rows = Rows { width, at, against, targets, samples, positions };
        let mut values = std::mem::take(&mut lane.values);
        values.resize(if wants_values { positions.len() } else { 0 }, M::Real::ZERO);
        if moves {
            let mut by_at = std::mem::take(&mut lane.by_at);
            let mut by_against = std::mem::take(&mut lane.by_against);
            by_at.clear();
            by_at.resize(at.len(), M::Real::ZERO);
            by_against.clear();
            by_against.resize(against.len(), M::Real::ZERO);
            loss.seeds(rows, weights, &mut values, &mut by_at, &mut by_against);
            entries.scatter(&by_at, &by_against, width, pair, &mut lane.seeds);
            (lane.by_at, lane.by_against) = (by_at, by_against);
        } else {
            loss.values(rows, &mut values);
        }
        if wants_values {
            let mut measured = std::mem::take(&mut lane.measured);
            if let Some(measure) = measure {
                measured.resize(positions.len(), M::Real::ZERO);
                measure.values(rows, &mut measured);
            }
            self.record_group(lane, task, start, group, &values, &measured);
            lane.measured = measured;
        }
        lane.values = values;
        moves
    }

    /// As [`Lane::record`] for the terms of a group, each kind's value counted for all its rows.
    fn record_group(
        &self,
        lane: &mut Lane<M>,
        task: &Task<'_>,
        start: usize,
        group: &[SourceTerm],
        values: &[M::Real],
        measured: &[M::Real],
    ) {
        let Lane { kinds, entries, sums, seen, .. } = lane;
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
                kinds.weigh(term, None, task.rows, point);
                spread(&entry_of, values, &mut kinds.values);
                if term.measure.is_some() {
                    spread(&entry_of, measured, &mut kinds.measured);
                }
                let Kinds { members, place_of_row, values, measured, .. } = &*kinds;
                let measured = if term.measure.is_some() { measured } else { values };
                let of_kinds = OfKinds { counts: members, place_of_row, values, measured };
                let sums = &mut sums[task.first_term + start + t];
                self.record_kinds(task, term, of_kinds, point, sums, seen);
            }
        }
        kinds.entry_of = entry_of;
    }

    /// Keeps the values of one view of a term: sums, and the points of a pointwise requirement.
    fn record_kinds(
        &self,
        task: &Task<'_>,
        term: &SourceTerm,
        of_kinds: OfKinds<'_, M::Real>,
        point: impl Fn(u32) -> usize,
        sums: &mut TermSums,
        seen: &mut Vec<Seen>,
    ) {
        add_values(term, &of_kinds, sums);
        let OfKinds { place_of_row, values, measured, .. } = of_kinds;
        let Owner::Requirement(i) = term.owner else { return };
        let requirement = &self.problem.requirements()[i];
        if requirement.kind() != Kind::Pointwise {
            return;
        }
        seen.reserve(task.rows.len());
        for (&row, &place) in task.rows.iter().zip(place_of_row) {
            let member = term.member_of_row.as_ref().map_or(row, |of| of[row as usize]);
            if member != NOT_A_MEMBER {
                let point = point(member);
                let level = requirement.level().of(point);
                let slack = |values: &[M::Real]| {
                    term.coefficient * (values[place as usize].to_f64() - level)
                };
                seen.push(Seen {
                    requirement: i as u32,
                    point: point as u32,
                    measured: slack(measured),
                    primal: slack(values),
                });
            }
        }
    }
}

/// What a view of a term makes of the kinds of a chunk.
struct OfKinds<'k, T> {
    /// How many rows of each kind count.
    counts: &'k [u32],
    /// The place of each row's kind.
    place_of_row: &'k [u32],
    values: &'k [T],
    measured: &'k [T],
}

/// Adds the values of a view of a term, each kind's as often as it counts.
fn add_values<T: Real>(term: &SourceTerm, of_kinds: &OfKinds<'_, T>, sums: &mut TermSums) {
    let OfKinds { counts, values, measured, .. } = *of_kinds;
    let total = |values: &[T]| -> f64 {
        values.iter().zip(counts).map(|(v, &n)| f64::from(n) * v.to_f64()).sum()
    };
    sums.points += counts.iter().map(|&n| n as usize).sum::<usize>();
    let primal = total(values);
    sums.primal += primal;
    sums.measured += if term.measure.is_some() { total(measured) } else { primal };
}

/// The value of each kind's entry; 0 where it has none.
fn spread<T: Real>(entry_of: &[u32], values: &[T], to: &mut Vec<T>) {
    to.clear();
    to.extend(entry_of.iter().map(|&e| if e == NONE { T::ZERO } else { values[e as usize] }));
}

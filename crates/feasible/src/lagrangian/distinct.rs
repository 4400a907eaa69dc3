//! A chunk of a pass over rows many of which are alike: each kind of row is worked on once.
//!
//! The rows' weights are added up by kind, the losses evaluated once for each kind that has a weight
//! or whose value is wanted, and their values counted as often as there are rows. The model sees each
//! kind once with all its views; or, where the inputs of views are shared, each distinct input once,
//! and a loss each distinct pair of them once for all the terms it serves.

use crate::alike::{Alike, Pool};
use crate::lagrangian::Ask;
use crate::lagrangian::chunk::{Ground, Weigh};
use crate::lagrangian::lane::{Lane, Seen, TermSums};
use crate::loss::Rows;
use crate::model::{Batch, Model, ViewShift};
use crate::real::Real;
use crate::requirement::Kind;
use crate::source::{NOT_A_MEMBER, Owner, Source, SourceTerm};

/// The kinds in a chunk, and memory that is reused from chunk to chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct Kinds<T> {
    /// Per kind of the source: the chunk that last saw it, and its place there.
    mark: Vec<Mark>,
    chunk: u32,
    /// The kinds in this chunk; how many rows each has; and the place of each row's kind.
    kinds: Vec<u32>,
    counts: Vec<u32>,
    place_of_row: Vec<u32>,
    /// Per distinct input of the pool: as `mark`, the place among those the model is asked about.
    input_mark: Vec<Mark>,
    // Per kind of the chunk, for one term:
    weights: Vec<T>,
    members: Vec<u32>,
    values: Vec<T>,
    measured: Vec<T>,
    entry_of: Vec<u32>,
}

/// When something was last seen, and its place then.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    seen: u32,
    place: u32,
}

/// What the losses of a group of terms are evaluated at, laid out as a loss wants it.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries<T> {
    /// Per pair of inputs: the group that last saw it, and its entry.
    mark: Vec<Mark>,
    group: u32,
    /// Where entries are pairs, those of each kind's shown inputs, and where each kind's start; that
    /// of x with itself is [`NONE`].
    of_shown: Vec<u32>,
    starts: Vec<u32>,
    /// The weight of each view, of the terms that weigh all rows alike.
    of_view: Vec<T>,
    /// The same by what one kind shows.
    of_this: Vec<T>,
    /// Where entries are kinds: per term and view, per kind of the chunk, the entry, or [`NONE`].
    of_term: Vec<u32>,
    /// The output rows, and the sample whose target counts.
    rows: Vec<(u32, u32)>,
    samples: Vec<u32>,
    positions: Vec<u32>,
    weights: Vec<T>,
    at: Vec<T>,
    against: Vec<T>,
}

/// No entry: the value is 0.
const NONE: u32 = u32::MAX;

/// What the rows of a source have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared<'s> {
    pub(super) alike: &'s Alike,
    /// The inputs this pass asks about.
    pub(super) pool: Option<&'s Pool>,
    /// Whether the rows of a chunk come kind by kind.
    pub(super) sorted: bool,
}

/// What a chunk is evaluated with.
struct Task<'t> {
    of: &'t Source,
    alike: &'t Alike,
    pool: Option<&'t Pool>,
    rows: &'t [u32],
    scale: f64,
    ask: Ask<'t>,
    /// The number of the source's first term.
    first_term: usize,
}

impl<T: Real> Kinds<T> {
    /// Finds the kinds among `rows`.
    fn collect(&mut self, alike: &Alike, rows: &[u32], sorted: bool) {
        if sorted {
            self.collect_sorted(alike, rows);
            return;
        }
        self.mark.resize(alike.representative.len(), Mark::default());
        self.chunk += 1;
        self.kinds.clear();
        self.counts.clear();
        self.place_of_row.clear();
        for &row in rows {
            let kind = alike.kind_of_row[row as usize];
            let mark = &mut self.mark[kind as usize];
            if mark.seen != self.chunk {
                *mark = Mark { seen: self.chunk, place: self.kinds.len() as u32 };
                self.kinds.push(kind);
                self.counts.push(0);
            }
            self.counts[mark.place as usize] += 1;
            self.place_of_row.push(mark.place);
        }
    }

    /// The same for rows of one kind together, the kinds consecutive.
    fn collect_sorted(&mut self, alike: &Alike, rows: &[u32]) {
        self.chunk += 1;
        self.kinds.clear();
        self.counts.clear();
        self.place_of_row.clear();
        let first = rows.first().map_or(0, |&row| alike.kind_of_row[row as usize]);
        let place = |&row: &u32| alike.kind_of_row[row as usize] - first;
        self.place_of_row.extend(rows.iter().map(place));
        let kinds = self.place_of_row.last().map_or(0, |&last| last + 1);
        self.kinds.extend(first..first + kinds);
        self.counts.resize(kinds as usize, 0);
        for &place in &self.place_of_row {
            self.counts[place as usize] += 1;
        }
    }

    /// The rows the model is asked about: one of each kind, or the distinct inputs they show.
    fn ask(&mut self, alike: &Alike, pool: Option<&Pool>, asked: &mut Vec<u32>) {
        asked.clear();
        let Some(pool) = pool else {
            asked.extend(self.kinds.iter().map(|&k| alike.representative[k as usize]));
            return;
        };
        self.input_mark.resize(pool.inputs.rows(), Mark::default());
        for &kind in &self.kinds {
            for &input in &pool.shown[pool.range(kind)] {
                let mark = &mut self.input_mark[input as usize];
                if mark.seen != self.chunk {
                    *mark = Mark { seen: self.chunk, place: asked.len() as u32 };
                    asked.push(input);
                }
            }
        }
    }

    /// Weights and numbers of members of each kind for one view of a term.
    fn weigh(
        &mut self,
        term: &SourceTerm,
        weigh: Option<&Weigh<'_>>,
        rows: &[u32],
        point: impl Fn(u32) -> usize,
    ) {
        let kinds = self.kinds.len();
        self.weights.clear();
        self.members.clear();
        match (&term.member_of_row, weigh) {
            (None, None | Some(Weigh::Uniform(_))) => {
                self.members.extend_from_slice(&self.counts);
                let one = weigh.map_or(0.0, |weigh| weigh.at(0));
                let weight = |&count: &u32| T::from_f64(one * f64::from(count));
                self.weights.extend(self.counts.iter().map(weight));
            }
            (member_of_row, _) => {
                self.weights.resize(kinds, T::ZERO);
                self.members.resize(kinds, 0);
                for (&row, &place) in rows.iter().zip(&self.place_of_row) {
                    let member = member_of_row.as_ref().map_or(row, |of| of[row as usize]);
                    if member != NOT_A_MEMBER {
                        self.members[place as usize] += 1;
                        if let Some(weigh) = weigh {
                            self.weights[place as usize] += T::from_f64(weigh.at(point(member)));
                        }
                    }
                }
            }
        }
    }
}

impl<M: Model> Ground<'_, M> {
    /// As [`Ground::chunk`], for a source whose rows repeat.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn distinct_chunk(
        &self,
        lane: &mut Lane<M::Real>,
        theta: &[M::Real],
        source: usize,
        Shared { alike, pool, sorted }: Shared<'_>,
        rows: &[u32],
        scale: f64,
        ask: Ask<'_>,
    ) {
        let of = &self.problem.sources()[source];
        let mut asked = std::mem::take(&mut lane.asked);
        lane.kinds.collect(alike, rows, sorted);
        lane.kinds.ask(alike, pool, &mut asked);
        let no_shifts: &[ViewShift<'_>] = &[];
        let batch = match pool {
            Some(pool) => Batch { inputs: &pool.inputs, rows: &asked, shifts: no_shifts },
            None => {
                let shifts = self.fixed_views[source].as_deref().unwrap_or(no_shifts);
                Batch { inputs: of.samples.inputs(), rows: &asked, shifts }
            }
        };
        self.model.forward(theta, &batch, &mut lane.tape);
        if ask.multipliers().is_some() {
            lane.seeds.clear();
            lane.seeds.resize(lane.tape.outputs.len(), M::Real::ZERO);
        }
        let task = Task { of, alike, pool, rows, scale, ask, first_term: self.first_term[source] };
        let mut wanted = false;
        let mut start = 0;
        let everyone = of.terms.iter().all(|term| term.member_of_row.is_none());
        if pool.is_none() && ask.multipliers().is_none() && everyone {
            self.values_of_kinds(lane, &task, &asked);
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
    fn values_of_kinds(&self, lane: &mut Lane<M::Real>, task: &Task<'_>, asked: &[u32]) {
        lane.positions.clear();
        lane.positions.extend(0..asked.len() as u32);
        lane.values.resize(asked.len(), M::Real::ZERO);
        for (t, term) in task.of.terms.iter().enumerate() {
            for (q, &slot) in term.slots.iter().enumerate() {
                self.losses(lane, task.of, term, slot, asked, false, true);
                let Lane { kinds, sums, seen, values, measured, .. } = lane;
                let measured = if term.measure.is_some() { &*measured } else { &*values };
                let number = task.first_term + t;
                let point = |row: u32| q * term.members + row as usize;
                let Kinds { counts, place_of_row, .. } = kinds;
                let of_kinds = OfKinds { counts, place_of_row, values, measured };
                self.record_kinds(task, term, of_kinds, point, &mut sums[number], seen);
            }
        }
    }

    /// Some terms with the same loss; true if they put anything into the seeds.
    fn group(
        &self,
        lane: &mut Lane<M::Real>,
        task: &Task<'_>,
        start: usize,
        group: &[SourceTerm],
    ) -> bool {
        let wants_values = task.ask.wants_values();
        let Lane { kinds, entries, .. } = lane;
        let (loss, measure) = (&group[0].loss, &group[0].measure);
        let (vanishes, pair) = (loss.vanishes_between_equals(), loss.compares_views());
        entries.begin();
        let pool = task.pool.filter(|_| vanishes);
        if let Some(pool) = pool {
            entries.add_pairs(kinds, pool);
        }
        for term in group {
            let factor = task.scale * term.coefficient / term.points() as f64;
            let weigh = task.ask.multipliers().map(|m| Weigh::of(term.owner, self, m, factor));
            if !wants_values && weigh.as_ref().is_none_or(Weigh::is_zero) {
                continue;
            }
            for (q, &slot) in term.slots.iter().enumerate() {
                if let (Some(_), None, Some(Weigh::Uniform(weight))) =
                    (pool, &term.member_of_row, &weigh)
                {
                    entries.of_view[slot] += M::Real::from_f64(*weight);
                    continue;
                }
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
        if let Some(pool) = pool {
            entries.weigh_views(kinds, pool);
        }
        let moves =
            task.ask.multipliers().is_some() && entries.weights.iter().any(|&w| w != M::Real::ZERO);
        if !moves && !wants_values {
            return false;
        }
        let width = self.model.output_width();
        entries.read(&lane.tape.outputs, width, pair);
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
        lane: &mut Lane<M::Real>,
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
        let OfKinds { counts, place_of_row, values, measured } = of_kinds;
        let total = |values: &[M::Real]| -> f64 {
            values.iter().zip(counts).map(|(v, &n)| f64::from(n) * v.to_f64()).sum()
        };
        sums.points += counts.iter().map(|&n| n as usize).sum::<usize>();
        let primal = total(values);
        sums.primal += primal;
        sums.measured += if term.measure.is_some() { total(measured) } else { primal };
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

/// The value of each kind's entry; 0 where it has none.
fn spread<T: Real>(entry_of: &[u32], values: &[T], to: &mut Vec<T>) {
    to.clear();
    to.extend(entry_of.iter().map(|&e| if e == NONE { T::ZERO } else { values[e as usize] }));
}

impl<T: Real> Entries<T> {
    /// Forgets the last group's entries.
    fn begin(&mut self) {
        self.group += 1;
        self.of_term.clear();
        self.rows.clear();
        self.samples.clear();
        self.weights.clear();
    }

    /// Adds the pairs of x and what else each kind shows.
    fn add_pairs(&mut self, kinds: &Kinds<T>, pool: &Pool) {
        self.mark.resize(pool.pairs.max(self.mark.len()), Mark::default());
        self.of_shown.clear();
        self.starts.clear();
        self.of_view.clear();
        self.of_view.resize(pool.slots, T::ZERO);
        for &kind in &kinds.kinds {
            let range = pool.range(kind);
            let output = |input: u32| kinds.input_mark[input as usize].place;
            let at = output(pool.shown[range.start]);
            self.starts.push(self.of_shown.len() as u32);
            self.of_shown.push(NONE);
            for shown in range.start + 1..range.end {
                let mark = &mut self.mark[pool.pair_of[shown] as usize];
                if mark.seen != self.group {
                    *mark = Mark { seen: self.group, place: self.rows.len() as u32 };
                    self.rows.push((at, output(pool.shown[shown])));
                }
                self.of_shown.push(mark.place);
            }
        }
        // Losses that vanish between equal outputs do not ask for the target.
        self.samples.resize(self.rows.len(), 0);
        self.weights.resize(self.rows.len(), T::ZERO);
    }

    /// The entry that each kind has for a view.
    fn pairs_of(&self, kinds: &Kinds<T>, pool: &Pool, slot: usize, entry_of: &mut Vec<u32>) {
        entry_of.extend(kinds.kinds.iter().zip(&self.starts).map(|(&kind, &start)| {
            let shown = pool.shown_by[kind as usize * pool.slots + slot];
            self.of_shown[(start + shown) as usize]
        }));
    }

    /// Adds the kinds' weights for one view to their pairs.
    fn weigh_pairs(&mut self, kinds: &Kinds<T>, pool: &Pool, slot: usize) {
        for ((&kind, &start), &weight) in kinds.kinds.iter().zip(&self.starts).zip(&kinds.weights) {
            let shown = pool.shown_by[kind as usize * pool.slots + slot];
            let entry = self.of_shown[(start + shown) as usize];
            if entry != NONE {
                self.weights[entry as usize] += weight;
            }
        }
    }

    /// Adds the weights that views have for all rows alike.
    fn weigh_views(&mut self, kinds: &Kinds<T>, pool: &Pool) {
        if self.of_view.iter().all(|&w| w == T::ZERO) {
            return;
        }
        let mut of_this = std::mem::take(&mut self.of_this);
        for ((&kind, &start), &count) in kinds.kinds.iter().zip(&self.starts).zip(&kinds.counts) {
            let shown = pool.range(kind).len();
            of_this.clear();
            of_this.resize(shown, T::ZERO);
            let by = &pool.shown_by[kind as usize * pool.slots..][..pool.slots];
            for (&shown, &weight) in by.iter().zip(&self.of_view) {
                of_this[shown as usize] += weight;
            }
            let count = T::from_f64(f64::from(count));
            let entries = &self.of_shown[start as usize..][..shown];
            for (&entry, &weight) in entries.iter().zip(&of_this).skip(1) {
                self.weights[entry as usize] += count * weight;
            }
        }
        self.of_this = of_this;
    }

    /// Adds a view of every kind as entries of their own.
    fn add_kinds(
        &mut self,
        kinds: &Kinds<T>,
        task: &Task<'_>,
        slot: usize,
        wants_values: bool,
        pair: bool,
    ) {
        let count = kinds.kinds.len() as u32;
        for (place, &kind) in kinds.kinds.iter().enumerate() {
            let (weight, members) = (kinds.weights[place], kinds.members[place]);
            if members == 0 || !(wants_values || weight != T::ZERO) {
                self.of_term.push(NONE);
                continue;
            }
            let output = |slot: usize| match task.pool {
                None => slot as u32 * count + place as u32,
                Some(pool) => {
                    let shown = pool.shown_by[kind as usize * pool.slots + slot] as usize;
                    let input = pool.shown[pool.range(kind).start + shown];
                    kinds.input_mark[input as usize].place
                }
            };
            let at = if pair { 0 } else { slot };
            self.of_term.push(self.rows.len() as u32);
            self.rows.push((output(at), output(slot)));
            self.samples.push(task.alike.representative[kind as usize]);
            self.weights.push(weight);
        }
    }

    /// Lines up the outputs.
    fn read(&mut self, outputs: &[T], width: usize, pair: bool) {
        let entries = self.rows.len();
        self.positions.clear();
        self.positions.extend(0..entries as u32);
        self.at.resize(entries * width, T::ZERO);
        self.against.resize(if pair { entries * width } else { 0 }, T::ZERO);
        match width {
            1 => self.copy::<1>(outputs, 1, pair),
            2 => self.copy::<2>(outputs, 2, pair),
            _ => self.copy::<0>(outputs, width, pair),
        }
    }

    /// W is the width, or 0 for any.
    #[inline(always)]
    fn copy<const W: usize>(&mut self, outputs: &[T], width: usize, pair: bool) {
        let width = if W == 0 { width } else { W };
        let row = |r: u32| &outputs[r as usize * width..][..width];
        for (to, &(at, _)) in self.at.chunks_exact_mut(width).zip(&self.rows) {
            to.copy_from_slice(row(at));
        }
        if pair {
            for (to, &(_, against)) in self.against.chunks_exact_mut(width).zip(&self.rows) {
                to.copy_from_slice(row(against));
            }
        }
    }

    /// Adds the entries' seeds to those of the outputs they were read from.
    fn scatter(&self, by_at: &[T], by_against: &[T], width: usize, pair: bool, seeds: &mut [T]) {
        match width {
            1 => self.add::<1>(by_at, by_against, 1, pair, seeds),
            2 => self.add::<2>(by_at, by_against, 2, pair, seeds),
            _ => self.add::<0>(by_at, by_against, width, pair, seeds),
        }
    }

    #[inline(always)]
    fn add<const W: usize>(
        &self,
        by_at: &[T],
        by_against: &[T],
        width: usize,
        pair: bool,
        seeds: &mut [T],
    ) {
        let width = if W == 0 { width } else { W };
        let mut add = |r: u32, by: &[T]| {
            let to = &mut seeds[r as usize * width..][..width];
            for (seed, &g) in to.iter_mut().zip(by) {
                *seed += g;
            }
        };
        for (by, &(at, _)) in by_at.chunks_exact(width).zip(&self.rows) {
            add(at, by);
        }
        if pair {
            for (by, &(_, against)) in by_against.chunks_exact(width).zip(&self.rows) {
                add(against, by);
            }
        }
    }
}

//! A chunk of a pass over rows many of which are alike: each kind of row is worked on once.
//!
//! The rows' weights are added up by kind, the losses evaluated once for each kind that has a weight
//! or whose value is wanted, and their values counted as often as there are rows. The model sees each
//! kind once with all its views; or, where the inputs of views are shared, each distinct input once.

use crate::alike::{Alike, Pool};
use crate::lagrangian::Ask;
use crate::lagrangian::chunk::{Ground, Weigh};
use crate::lagrangian::lane::{Lane, Seen};
use crate::loss::Rows;
use crate::model::{Batch, Model, ViewShift};
use crate::real::Real;
use crate::requirement::Kind;
use crate::source::{NOT_A_MEMBER, Owner, Source, SourceTerm};

/// The kinds in a chunk, and memory that is reused from chunk to chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct Kinds<T> {
    /// Per kind of the source: the chunk that last saw it, and its place there.
    mark: Vec<(u32, u32)>,
    chunk: u32,
    /// The kinds in this chunk; how many rows each has; and the place of each row's kind.
    kinds: Vec<u32>,
    counts: Vec<u32>,
    place_of_row: Vec<u32>,
    /// The rows the model is asked about: one of each kind, or distinct inputs.
    asked: Vec<u32>,
    /// Per distinct input of the pool: as `mark`.
    input_mark: Vec<(u32, u32)>,
    /// kinds × slots: where the outputs are, when inputs are shared.
    output_of: Vec<u32>,
    // Per kind of the chunk, for one term:
    weights: Vec<T>,
    members: Vec<u32>,
    values: Vec<T>,
    measured: Vec<T>,
    // Per entry, that is kind that is evaluated:
    entry: Entries<T>,
    entry_values: Vec<T>,
    by_at: Vec<T>,
    by_against: Vec<T>,
}

/// The evaluated kinds of one term and view, laid out as a loss wants them.
#[derive(Clone, Debug, Default)]
struct Entries<T> {
    place: Vec<u32>,
    samples: Vec<u32>,
    positions: Vec<u32>,
    weights: Vec<T>,
    at: Vec<T>,
    against: Vec<T>,
}

impl<T: Real> Kinds<T> {
    /// Finds the kinds among `rows`.
    fn collect(&mut self, alike: &Alike, rows: &[u32]) {
        self.mark.resize(alike.representative.len(), (0, 0));
        self.chunk += 1;
        self.kinds.clear();
        self.counts.clear();
        self.place_of_row.clear();
        for &row in rows {
            let kind = alike.kind_of_row[row as usize];
            let (chunk, place) = &mut self.mark[kind as usize];
            if *chunk != self.chunk {
                (*chunk, *place) = (self.chunk, self.kinds.len() as u32);
                self.kinds.push(kind);
                self.counts.push(0);
            }
            self.counts[*place as usize] += 1;
            self.place_of_row.push(*place);
        }
    }

    /// What the model is asked about.
    fn ask(&mut self, alike: &Alike) {
        self.asked.clear();
        self.output_of.clear();
        let Some(pool) = &alike.pool else {
            self.asked.extend(self.kinds.iter().map(|&k| alike.representative[k as usize]));
            return;
        };
        self.input_mark.resize(pool.inputs.rows(), (0, 0));
        for &kind in &self.kinds {
            let Pool { of_kind, slots, .. } = pool;
            for &input in &of_kind[kind as usize * slots..][..*slots] {
                let (chunk, place) = &mut self.input_mark[input as usize];
                if *chunk != self.chunk {
                    (*chunk, *place) = (self.chunk, self.asked.len() as u32);
                    self.asked.push(input);
                }
                self.output_of.push(*place);
            }
        }
    }

    /// The output row of a kind through a view.
    #[inline(always)]
    fn output(&self, place: usize, slot: usize, slots: usize) -> usize {
        if self.output_of.is_empty() {
            slot * self.kinds.len() + place
        } else {
            self.output_of[place * slots + slot] as usize
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
        self.weights.resize(kinds, T::ZERO);
        self.members.clear();
        match (&term.member_of_row, weigh) {
            (None, None | Some(Weigh::Uniform(_))) => {
                self.members.extend_from_slice(&self.counts);
                if let Some(weigh) = weigh {
                    let one = weigh.at(0);
                    for (weight, &count) in self.weights.iter_mut().zip(&self.counts) {
                        *weight = T::from_f64(one * f64::from(count));
                    }
                }
            }
            (member_of_row, _) => {
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
        alike: &Alike,
        rows: &[u32],
        scale: f64,
        ask: Ask<'_>,
    ) {
        let of = &self.problem.sources()[source];
        let mut kinds = std::mem::take(&mut lane.kinds);
        kinds.collect(alike, rows);
        kinds.ask(alike);
        let asked = std::mem::take(&mut kinds.asked);
        let no_shifts: &[ViewShift<'_>] = &[];
        let batch = match &alike.pool {
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
        let mut wanted = false;
        for (t, term) in of.terms.iter().enumerate() {
            let number = self.first_term[source] + t;
            wanted |=
                self.distinct_term(lane, &mut kinds, of, alike, term, number, rows, scale, ask);
        }
        if wanted {
            let Lane { tape, seeds, gradient, .. } = lane;
            self.model.backward(theta, &batch, tape, seeds, gradient);
        }
        kinds.asked = asked;
        lane.kinds = kinds;
    }

    /// One term on one chunk; true if it put anything into the seeds.
    #[allow(clippy::too_many_arguments)]
    fn distinct_term(
        &self,
        lane: &mut Lane<M::Real>,
        kinds: &mut Kinds<M::Real>,
        of: &Source,
        alike: &Alike,
        term: &SourceTerm,
        number: usize,
        rows: &[u32],
        scale: f64,
        ask: Ask<'_>,
    ) -> bool {
        let factor = scale * term.coefficient / term.points() as f64;
        let weigh = ask.multipliers().map(|m| Weigh::of(term.owner, self, m, factor));
        let wants_values = ask.wants_values();
        if !wants_values && weigh.as_ref().is_none_or(Weigh::is_zero) {
            return false;
        }
        let (width, slots) = (self.model.output_width(), 1 + of.views.len());
        let pair = term.loss.compares_views();
        let mut wanted = false;
        for (q, &slot) in term.slots.iter().enumerate() {
            let point = |member: u32| q * term.members + member as usize;
            kinds.weigh(term, weigh.as_ref(), rows, point);
            let mut entry = std::mem::take(&mut kinds.entry);
            entry.choose(kinds, wants_values, |place| {
                // The same input twice: no distance, and no gradient.
                term.loss.vanishes_between_equals()
                    && kinds.output(place, slot, slots) == kinds.output(place, 0, slots)
            });
            let moves = weigh.is_some() && entry.weights.iter().any(|&w| w != M::Real::ZERO);
            entry.read(kinds, alike, &lane.tape.outputs, width, pair, |place| {
                let at = if pair { 0 } else { slot };
                (kinds.output(place, at, slots), kinds.output(place, slot, slots))
            });
            let count = kinds.kinds.len();
            let Entries { place, samples, positions, weights, at, against, .. } = &entry;
            let targets = of.samples.targets();
            let rows_of = Rows { width, at, against, targets, samples, positions };
            let (values, by_at) = (&mut kinds.entry_values, &mut kinds.by_at);
            values.resize(place.len(), M::Real::ZERO);
            if moves {
                by_at.clear();
                by_at.resize(place.len() * width, M::Real::ZERO);
                kinds.by_against.clear();
                kinds.by_against.resize(place.len() * width, M::Real::ZERO);
                term.loss.seeds(rows_of, weights, values, by_at, &mut kinds.by_against);
                wanted = true;
            } else {
                term.loss.values(rows_of, values);
            }
            if wants_values {
                spread(place, values, count, &mut kinds.values);
                if let Some(measure) = &term.measure {
                    measure.values(rows_of, values);
                    spread(place, values, count, &mut kinds.measured);
                }
                self.record_kinds(lane, kinds, term, number, rows, point);
            }
            if moves {
                for (e, &place) in entry.place.iter().enumerate() {
                    let to = if pair { 0 } else { slot };
                    let to = kinds.output(place as usize, to, slots) * width;
                    let by = &kinds.by_at[e * width..][..width];
                    for (seed, &g) in lane.seeds[to..to + width].iter_mut().zip(by) {
                        *seed += g;
                    }
                    if pair {
                        let to = kinds.output(place as usize, slot, slots) * width;
                        let by = &kinds.by_against[e * width..][..width];
                        for (seed, &g) in lane.seeds[to..to + width].iter_mut().zip(by) {
                            *seed += g;
                        }
                    }
                }
            }
            kinds.entry = entry;
        }
        wanted
    }

    /// As [`Lane::record`], each kind's value counted for all its rows.
    fn record_kinds(
        &self,
        lane: &mut Lane<M::Real>,
        kinds: &Kinds<M::Real>,
        term: &SourceTerm,
        number: usize,
        rows: &[u32],
        point: impl Fn(u32) -> usize,
    ) {
        let measured = if term.measure.is_some() { &kinds.measured } else { &kinds.values };
        let total = |values: &[M::Real]| -> f64 {
            values.iter().zip(&kinds.members).map(|(v, &n)| f64::from(n) * v.to_f64()).sum()
        };
        let primal = total(&kinds.values);
        let sums = &mut lane.sums[number];
        sums.points += kinds.members.iter().map(|&n| n as usize).sum::<usize>();
        sums.primal += primal;
        sums.measured += if term.measure.is_some() { total(measured) } else { primal };
        let Owner::Requirement(i) = term.owner else { return };
        let requirement = &self.problem.requirements()[i];
        if requirement.kind() != Kind::Pointwise {
            return;
        }
        for (&row, &place) in rows.iter().zip(&kinds.place_of_row) {
            let member = term.member_of_row.as_ref().map_or(row, |of| of[row as usize]);
            if member != NOT_A_MEMBER {
                let point = point(member);
                let level = requirement.level().of(point);
                let slack = |v: &[M::Real]| term.coefficient * (v[place as usize].to_f64() - level);
                lane.seen.push(Seen {
                    requirement: i as u32,
                    point: point as u32,
                    measured: slack(measured),
                    primal: slack(&kinds.values),
                });
            }
        }
    }
}

/// Puts the entries' values where their kinds are, 0 elsewhere.
fn spread<T: Real>(place: &[u32], values: &[T], kinds: usize, to: &mut Vec<T>) {
    to.clear();
    to.resize(kinds, T::ZERO);
    for (&place, &value) in place.iter().zip(values) {
        to[place as usize] = value;
    }
}

impl<T: Real> Entries<T> {
    /// The kinds that have members, and a weight or a value that is wanted.
    fn choose(&mut self, kinds: &Kinds<T>, wants_values: bool, is_zero: impl Fn(usize) -> bool) {
        self.place.clear();
        self.weights.clear();
        for (place, (&members, &weight)) in kinds.members.iter().zip(&kinds.weights).enumerate() {
            let counts = members > 0 && (wants_values || weight != T::ZERO);
            if counts && !is_zero(place) {
                self.place.push(place as u32);
                self.weights.push(weight);
            }
        }
    }

    /// Lines up their outputs.
    fn read(
        &mut self,
        kinds: &Kinds<T>,
        alike: &Alike,
        outputs: &[T],
        width: usize,
        pair: bool,
        rows_of: impl Fn(usize) -> (usize, usize),
    ) {
        let entries = self.place.len();
        self.positions.clear();
        self.positions.extend(0..entries as u32);
        self.samples.clear();
        let kind = |&place: &u32| kinds.kinds[place as usize] as usize;
        self.samples.extend(self.place.iter().map(|place| alike.representative[kind(place)]));
        self.at.clear();
        self.against.clear();
        for &place in &self.place {
            let (at, against) = rows_of(place as usize);
            self.at.extend_from_slice(&outputs[at * width..][..width]);
            if pair {
                self.against.extend_from_slice(&outputs[against * width..][..width]);
            }
        }
    }
}

//! A pass over rows that are worked on shard by shard ([`Shards`](crate::reduce::Shards)).
//!
//! Chunks end where a shard ends, and what a model derived for one shard is not used for the next, so the gradient and
//! the sums of a shard depend on its rows alone. Each is computed by one worker; then gradients are added up along the
//! tree, and sums of losses in the order of the shards. After the pass every worker has the same gradient and the same sums,
//! and the violations of the points of its own rows.
//!
//! In a training step of a model that couples rows, what is said of shards here holds of groups of them: the rows of a
//! group are one batch. The statistics that the model keeps are the means of those that each group would have led to.

use std::ops::Range;

use rayon::prelude::*;

use crate::aligned::AlignedVec;
use crate::lagrangian::pass::feed::{Feed, Job};
use crate::lagrangian::pass::lane::Lane;
use crate::lagrangian::pass::{CHUNK_OUTPUT_ROWS, Chunk, LANES, Passes, Selection};
use crate::lagrangian::terms::{Ask, Found, TermSums, Terms};
use crate::model::{Mode, Model, Pass};
use crate::real::Real;
use crate::reduce::{GROUP, SHARDS, Shards};

/// The memory of such passes.
pub(super) struct Sharded<M: Model> {
    /// Per source, the rows of the pass that are worked on here, shard by shard.
    rows: Vec<Vec<u32>>,
    chunks: Vec<Chunk>,
    /// Which chunks each shard has; of a group, its first shard has all.
    of_shard: Vec<Range<usize>>,
    lanes: Vec<NodeLane<M>>,
}

impl<M: Model> Default for Sharded<M> {
    fn default() -> Self {
        Self { rows: Vec::new(), chunks: Vec::new(), of_shard: Vec::new(), lanes: Vec::new() }
    }
}

/// A node of the tree, worked on by one thread.
struct NodeLane<M: Model> {
    node: Range<usize>,
    /// How many a gradient has.
    parameters: usize,
    lane: Lane<M>,
    /// What each of its shards has found.
    found: Vec<Vec<TermSums>>,
    /// Memory for gradients: one for each level of the tree below the node.
    spare: Vec<AlignedVec<M::Real>>,
    /// The statistics that each group that has rows would lead to.
    statistics: Vec<Vec<M::Real>>,
}

impl<M: Model> Passes<M> {
    /// One pass over `selections`, one per source, whose result is in the first lane.
    pub(super) fn run_sharded(
        &mut self,
        shards: &Shards,
        terms: &Terms,
        theta: &[M::Real],
        selections: &[Selection<'_>],
        ask: Ask<'_>,
        mode: Mode,
    ) {
        let model = &*self.model;
        let (parameters, trainable) = (model.parameter_count(), model.trainable_count());
        let (whole, couples) = (model.needs_whole_batch(), model.couples_rows());
        // How many shards are worked on as one batch.
        let leaf = if couples && mode == Mode::Training { GROUP } else { 1 };
        let Sharded { rows, chunks, of_shard, lanes } = &mut self.sharded;
        if lanes.is_empty() {
            let lane = |node| NodeLane {
                node,
                parameters,
                lane: Lane::new(parameters),
                found: Vec::new(),
                spare: Vec::new(),
                statistics: Vec::new(),
            };
            // A model that spreads rows over threads needs much memory for each lane.
            let threads = self.pool.as_ref().map_or(1, |pool| pool.current_num_threads());
            let most = shards.own().len() / if couples { GROUP } else { 1 };
            let nodes = shards.own_nodes(if whole { threads.min(most).max(1) } else { LANES });
            lanes.extend(nodes.into_iter().map(lane));
        }
        let cut = Cut { shards, terms, selections, ask, leaf };
        let occupied = cut.chunks(model, &mut self.feeds, rows, chunks, of_shard);
        let own: Vec<Selection<'_>> = selections
            .iter()
            .zip(&*rows)
            .map(|(of, rows)| Selection { rows, scale: of.scale, whole: false })
            .collect();
        let job = Job { model, theta, terms, ask, place: self.place };
        let (feeds, chunks, of_shard) = (&self.feeds, &*chunks, &*of_shard);
        let rows_of = |lane: &mut Lane<M>, shard: usize| {
            lane.work.found.sums.clear();
            lane.work.found.sums.resize(terms.count(), TermSums::default());
            lane.pass = Pass { mode, outputs_only: ask.multipliers().is_none(), repeats: false };
            let mut source = None;
            for chunk in &chunks[of_shard[shard].clone()] {
                lane.pass.repeats = source == Some(chunk.source);
                source = Some(chunk.source);
                feeds[chunk.source].run(lane, chunk, &own[chunk.source], &job);
            }
        };
        let keeps = mode == Mode::Training && trainable < parameters;
        let batch = |at: &mut NodeLane<M>, shard: usize| {
            rows_of(&mut at.lane, shard);
            if keeps && !of_shard[shard].is_empty() {
                let mut after = theta.to_vec();
                model.absorb(&mut after, &mut at.lane.tape);
                at.statistics.push(after.split_off(trainable));
            }
        };
        let gradients = ask.multipliers().is_some();
        let work = |at: &mut NodeLane<M>| {
            at.lane.work.found.clear(terms.count());
            at.found.clear();
            at.statistics.clear();
            at.sum(at.node.clone(), leaf, gradients, of_shard, &batch)
        };
        let views = |chunk: &Chunk| 1 + terms.problem.sources()[chunk.source].views.len();
        let size =
            chunks.iter().map(|chunk| (chunk.end - chunk.start) * views(chunk)).sum::<usize>();
        let sums: Vec<Option<AlignedVec<M::Real>>> = match &self.pool {
            Some(pool) if whole || size > CHUNK_OUTPUT_ROWS => {
                pool.install(|| lanes.par_iter_mut().map(work).collect())
            }
            _ => lanes.iter_mut().map(work).collect(),
        };
        if self.lanes.is_empty() {
            self.lanes.push(Lane::new(parameters));
        }
        let first = &mut self.lanes[0];
        if ask.multipliers().is_some() {
            let mut nodes: Vec<_> = lanes.iter().map(|at| at.node.clone()).zip(sums).collect();
            shards.add_up(occupied, &mut nodes, &mut first.gradient);
            for (at, (_, sum)) in lanes.iter_mut().zip(nodes) {
                at.spare.extend(sum);
            }
        }
        if ask.wants_values() {
            first.work.found.clear(terms.count());
            let parameters = if ask.multipliers().is_none() { theta } else { &[] };
            tell_all(shards, terms, leaf, lanes, hash(parameters), &mut first.work.found);
        }
    }
}

impl<M: Model> Sharded<M> {
    /// Makes the statistics of the last training step the means of those of all groups, added up in their order.
    pub(super) fn absorb(&mut self, shards: &Shards, statistics: &mut [M::Real]) {
        if statistics.is_empty() {
            return;
        }
        let own: Vec<M::Real> =
            self.lanes.iter_mut().flat_map(|at| at.statistics.drain(..)).flatten().collect();
        let (mut sums, mut groups) = (vec![0.0; statistics.len()], 0.0);
        for message in shards.gather(&M::Real::to_message(&own)) {
            for group in message.chunks_exact(size_of_val(statistics)) {
                M::Real::of_message(group, statistics, |to, x| *to = x);
                sums.iter_mut().zip(&*statistics).for_each(|(sum, x)| *sum += x.to_f64());
                groups += 1.0;
            }
        }
        if groups > 0.0 {
            let to = statistics.iter_mut().zip(sums);
            to.for_each(|(to, sum)| *to = M::Real::from_f64(sum / groups));
        }
    }
}

impl<M: Model> NodeLane<M> {
    /// The gradient of a node, if it has rows and gradients are asked for. `batch` works on the rows of so many shards as
    /// `leaf` says, from one on.
    fn sum(
        &mut self,
        node: Range<usize>,
        leaf: usize,
        gradients: bool,
        of_shard: &[Range<usize>],
        batch: &impl Fn(&mut Self, usize),
    ) -> Option<AlignedVec<M::Real>> {
        if node.len() > leaf {
            let middle = node.start + node.len() / 2;
            let left = self.sum(node.start..middle, leaf, gradients, of_shard, batch);
            let right = self.sum(middle..node.end, leaf, gradients, of_shard, batch);
            return match (left, right) {
                (Some(mut sum), Some(other)) => {
                    sum.iter_mut().zip(&*other).for_each(|(sum, &x)| *sum += x);
                    self.spare.push(other);
                    Some(sum)
                }
                (left, right) => left.or(right),
            };
        }
        let has_rows = !of_shard[node.start].is_empty();
        if gradients && has_rows {
            let mut gradient = self.spare.pop().unwrap_or_default();
            gradient.place(self.parameters).fill(M::Real::ZERO);
            self.lane.gradient = gradient;
        }
        batch(self, node.start);
        self.found.push(self.lane.work.found.sums.clone());
        (gradients && has_rows).then(|| std::mem::take(&mut self.lane.gradient))
    }
}

/// How the rows of a pass that are worked on here are cut into chunks, shard by shard.
struct Cut<'c> {
    shards: &'c Shards,
    terms: &'c Terms,
    selections: &'c [Selection<'c>],
    ask: Ask<'c>,
    /// How many shards are worked on as one batch.
    leaf: usize,
}

impl Cut<'_> {
    /// The chunks, and which of them each shard has; which shards have rows anywhere.
    fn chunks<M: Model>(
        &self,
        model: &M,
        feeds: &mut [Feed],
        rows: &mut Vec<Vec<u32>>,
        chunks: &mut Vec<Chunk>,
        of_shard: &mut Vec<Range<usize>>,
    ) -> u64 {
        let Self { shards, terms, selections, ask, leaf } = *self;
        let own = shards.own();
        let mut occupied = 0_u64;
        rows.resize_with(selections.len(), Vec::new);
        // Where the rows of each shard start, per source.
        let mut starts = vec![[0_usize; SHARDS + 1]; selections.len()];
        for (source, (selection, rows)) in selections.iter().zip(&mut *rows).enumerate() {
            let (of, starts) = (shards.source(source), &mut starts[source]);
            if selection.whole {
                rows.clone_from(&of.own);
                *starts = of.starts;
                occupied |= of.occupied;
                continue;
            }
            // Rows are selected by their places.
            let shard = |place: u32| of.shard[place as usize] as usize;
            for &place in selection.rows {
                occupied |= 1 << shard(place);
                if own.contains(&shard(place)) {
                    starts[shard(place) + 1] += 1;
                }
            }
            (0..SHARDS).for_each(|shard| starts[shard + 1] += starts[shard]);
            rows.resize(starts[SHARDS], 0);
            let mut next = *starts;
            for &place in selection.rows.iter().filter(|&&place| own.contains(&shard(place))) {
                rows[next[shard(place)]] = of.row[place as usize];
                next[shard(place)] += 1;
            }
        }
        chunks.clear();
        of_shard.clear();
        of_shard.resize(SHARDS, 0..0);
        for shard in own.step_by(leaf) {
            let before = chunks.len();
            for (source, feed) in feeds.iter_mut().enumerate() {
                let (start, end) = (starts[source][shard], starts[source][shard + leaf]);
                let (rows, scale) = (&mut rows[source], selections[source].scale);
                match leaf {
                    1 => feed.cut_shard(model, terms, rows, start..end, scale, ask, chunks),
                    // Statistics are of all rows together.
                    _ if start < end => chunks.push(Chunk { source, start, end, views: true }),
                    _ => {}
                }
            }
            of_shard[shard] = before..chunks.len();
        }
        occupied
    }
}

/// Tells all workers the sums of losses that each has found, added up in the order of the shards. Violations of single points
/// stay where their rows are.
///
/// θ is the same everywhere as long as all compute alike, which is made sure of by its hash.
fn tell_all<M: Model>(
    shards: &Shards,
    terms: &Terms,
    leaf: usize,
    lanes: &[NodeLane<M>],
    theta: u64,
    to: &mut Found,
) {
    let alone = shards.reduce().workers() == 1;
    let numbers = |sums: &TermSums| [sums.primal, sums.measured, sums.points];
    let own = lanes.iter().flat_map(|at| &at.found).flatten().flat_map(numbers);
    let mut sums: Vec<f64> = own.collect();
    to.seen.extend(lanes.iter().flat_map(|at| &at.lane.work.found.seen));
    if !alone {
        let mut message = theta.to_le_bytes().to_vec();
        message.append(&mut f64::to_message(&sums));
        sums.clear();
        let mut stop = false;
        let message = shards.sealed(message, false);
        for (worker, message) in shards.gather(&message).iter().enumerate() {
            let (message, stops) = Shards::unsealed(message);
            stop |= stops;
            let (hash, message) = message.split_at(8);
            if hash != theta.to_le_bytes() {
                let here = shards.reduce().worker();
                shards.reduce().fail(&format!(
                    "workers {here} and {worker} have computed different parameters from the same numbers: run the same \
                     program, with the same system libraries, on processors of the same kind"
                ));
            }
            let count = shards.of_worker(worker).len() / leaf * terms.count() * 3;
            let before = sums.len();
            sums.resize(before + count, 0.0);
            f64::of_message(message, &mut sums[before..], |to, x| *to = x);
        }
        shards.note_stop(stop);
    }
    for of_shard in sums.chunks_exact((terms.count() * 3).max(1)) {
        for (sum, of) in to.sums.iter_mut().zip(of_shard.chunks_exact(3)) {
            sum.primal += of[0];
            sum.measured += of[1];
            sum.points += of[2];
        }
    }
}

/// A hash of numbers, by their bits.
fn hash<T: Real>(numbers: &[T]) -> u64 {
    let bits = numbers.iter().map(|x| x.to_f64().to_bits());
    bits.fold(0, |hash: u64, bits| (hash.rotate_left(5) ^ bits).wrapping_mul(0x517c_c1b7_2722_0a95))
}

//! A pass over rows that are worked on shard by shard ([`Shards`](crate::reduce::Shards)).
//!
//! Chunks end where a shard ends, and what a model derived for one shard is not used for the next, so the gradient and
//! the sums of a shard depend on its rows alone. Each is computed by one worker; then gradients are added up along the
//! tree, and sums of losses in the order of the shards. After the pass every worker has the same gradient and the same sums,
//! and the violations of the points of its own rows.

use std::ops::Range;

use rayon::prelude::*;

use crate::aligned::AlignedVec;
use crate::lagrangian::pass::feed::{Feed, Job};
use crate::lagrangian::pass::lane::Lane;
use crate::lagrangian::pass::{CHUNK_OUTPUT_ROWS, Chunk, LANES, Passes, Selection};
use crate::lagrangian::terms::{Ask, Found, TermSums, Terms};
use crate::model::{Mode, Model, Pass};
use crate::real::Real;
use crate::reduce::{SHARDS, Shards};

/// The memory of such passes.
pub(super) struct Sharded<M: Model> {
    /// Per source, the rows of the pass that are worked on here, shard by shard.
    rows: Vec<Vec<u32>>,
    chunks: Vec<Chunk>,
    /// Which chunks each shard has.
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
    lane: Lane<M>,
    /// What each of its shards has found.
    found: Vec<Vec<TermSums>>,
    /// Memory for gradients: one for each level of the tree below the node.
    spare: Vec<AlignedVec<M::Real>>,
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
        let parameters = self.model.parameter_count();
        let Sharded { rows, chunks, of_shard, lanes } = &mut self.sharded;
        if lanes.is_empty() {
            let lane = |node| NodeLane {
                node,
                lane: Lane::new(parameters),
                found: Vec::new(),
                spare: Vec::new(),
            };
            lanes.extend(shards.own_nodes(LANES).into_iter().map(lane));
        }
        let occupied = cut(shards, terms, &mut self.feeds, selections, ask, rows, chunks, of_shard);
        let own: Vec<Selection<'_>> = selections
            .iter()
            .zip(&*rows)
            .map(|(of, rows)| Selection { rows, scale: of.scale, whole: false })
            .collect();
        let job = Job { model: &*self.model, theta, terms, ask, place: self.place };
        let (feeds, chunks, of_shard) = (&self.feeds, &*chunks, &*of_shard);
        let leaf = |lane: &mut Lane<M>, shard: usize| {
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
        let work = |at: &mut NodeLane<M>| {
            at.lane.work.found.clear(terms.count());
            at.found.clear();
            let node = at.node.clone();
            at.sum(node, parameters, ask.multipliers().is_some(), of_shard, &leaf)
        };
        let views = |chunk: &Chunk| 1 + terms.problem.sources()[chunk.source].views.len();
        let size =
            chunks.iter().map(|chunk| (chunk.end - chunk.start) * views(chunk)).sum::<usize>();
        let sums: Vec<Option<AlignedVec<M::Real>>> = match &self.pool {
            Some(pool) if size > CHUNK_OUTPUT_ROWS => {
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
            tell_all(shards, terms, lanes, hash(parameters), &mut first.work.found);
        }
    }
}

impl<M: Model> NodeLane<M> {
    /// The gradient of a node, if it has rows and gradients are asked for.
    fn sum(
        &mut self,
        node: Range<usize>,
        parameters: usize,
        gradients: bool,
        of_shard: &[Range<usize>],
        leaf: &impl Fn(&mut Lane<M>, usize),
    ) -> Option<AlignedVec<M::Real>> {
        if node.len() > 1 {
            let middle = node.start + node.len() / 2;
            let left = self.sum(node.start..middle, parameters, gradients, of_shard, leaf);
            let right = self.sum(middle..node.end, parameters, gradients, of_shard, leaf);
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
            gradient.place(parameters).fill(M::Real::ZERO);
            self.lane.gradient = gradient;
        }
        leaf(&mut self.lane, node.start);
        self.found.push(self.lane.work.found.sums.clone());
        (gradients && has_rows).then(|| std::mem::take(&mut self.lane.gradient))
    }
}

/// Cuts the rows of a pass that are worked on here into chunks, shard by shard; which shards have rows anywhere.
#[allow(clippy::too_many_arguments)]
fn cut(
    shards: &Shards,
    terms: &Terms,
    feeds: &mut [Feed],
    selections: &[Selection<'_>],
    ask: Ask<'_>,
    rows: &mut Vec<Vec<u32>>,
    chunks: &mut Vec<Chunk>,
    of_shard: &mut Vec<Range<usize>>,
) -> u64 {
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
    for shard in own {
        let before = chunks.len();
        for (source, feed) in feeds.iter_mut().enumerate() {
            let range = starts[source][shard]..starts[source][shard + 1];
            feed.cut_shard(terms, &mut rows[source], range, selections[source].scale, ask, chunks);
        }
        of_shard[shard] = before..chunks.len();
    }
    occupied
}

/// Tells all workers the sums of losses that each has found, added up in the order of the shards. Violations of single points
/// stay where their rows are.
///
/// θ is the same everywhere as long as all compute alike, which is made sure of by its hash.
fn tell_all<M: Model>(
    shards: &Shards,
    terms: &Terms,
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
            let count = shards.of_worker(worker).len() * terms.count() * 3;
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

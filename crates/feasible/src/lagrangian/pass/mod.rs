//! The half of the Lagrangian that drives a model over the rows.
//!
//! A pass cuts the selected rows of every source into chunks of fixed size: model forward for all views, losses to
//! values and seeds ([`terms`](super::terms)), model backward once. Chunks are dealt to a fixed number of lanes, and
//! lanes are added up in order, so the bits of the result depend on the rows alone and not on how many threads worked.

use std::sync::Arc;

use rayon::prelude::*;

use crate::adaptive::TrainingPlace;
use crate::dedup::Dedup;
use crate::denormals::{FlushDenormals, flushing_pool};
use crate::error::Result;
use crate::lagrangian::terms::{Ask, Found, Terms};
use crate::model::{Mode, Model, Pass};
use crate::problem::Problem;
use crate::real::Real;
use crate::reduce::{Shards, Workers};

mod active_views;
mod feed;
mod inactive_rows;
mod lane;
mod sharded;

use feed::{Feed, Job};
use lane::Lane;
use sharded::Sharded;

/// Lanes a pass is dealt to: the most threads that can work on one pass.
pub(super) const LANES: usize = 16;
/// Output rows (rows × views) per chunk, about: enough for the kernels, small for the cache.
const CHUNK_OUTPUT_ROWS: usize = 512;

/// Rows per chunk, outside a training step, of a model that spreads them over threads itself.
const CHUNK_WHOLE_ROWS: usize = 128;

/// Rows per chunk.
fn rows_per_chunk(views: usize) -> usize {
    (CHUNK_OUTPUT_ROWS / views).max(32)
}

/// The rows of one source that a pass takes, and the factor that makes their sum an estimate
/// of the sum over all rows.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'s> {
    /// Rows of the source.
    pub rows: &'s [u32],
    /// That factor.
    pub scale: f64,
    /// Whether these are all rows of the source.
    pub whole: bool,
}

/// A chunk of a pass.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    source: usize,
    start: usize,
    end: usize,
    /// Whether anything is asked about the views.
    views: bool,
}

/// Takes rows through a model, on a number of threads.
pub(super) struct Passes<M: Model> {
    pub(super) model: Arc<M>,
    /// Per source.
    feeds: Vec<Feed>,
    lanes: Vec<Lane<M>>,
    chunks: Vec<Chunk>,
    /// Of a problem whose work is divided over workers.
    sharded: Sharded<M>,
    pool: Option<rayon::ThreadPool>,
    /// Where adaptive views are asked for.
    pub(super) place: TrainingPlace,
}

impl<M: Model> Passes<M> {
    /// # Errors
    /// Threads that cannot be started.
    pub(super) fn new(problem: &Problem, model: Arc<M>, threads: usize, seed: u64) -> Result<Self> {
        Ok(Self {
            model,
            feeds: (0..problem.sources().len()).map(Feed::new).collect(),
            lanes: Vec::new(),
            chunks: Vec::new(),
            sharded: Sharded::default(),
            pool: flushing_pool(threads)?,
            place: TrainingPlace { seed, epoch: 0 },
        })
    }

    /// Looks for rows that are alike, whose work later passes do once.
    pub(super) fn deduplicate(&mut self, problem: &Problem) {
        // Statistics of a batch count every row of it; rows that are alike may be in different shards.
        if !self.model.needs_whole_batch() && problem.shards().is_none() {
            for (source, feed) in problem.sources().iter().zip(&mut self.feeds) {
                feed.deduplicate(source);
            }
        }
    }

    /// The rows of a source that are alike.
    pub(super) fn dedup(&self, source: usize) -> Option<&Dedup> {
        self.feeds[source].dedup()
    }

    /// One pass over `selections`, one per source.
    pub(super) fn run(
        &mut self,
        terms: &Terms,
        theta: &[M::Real],
        selections: &[Selection<'_>],
        ask: Ask<'_>,
        mode: Mode,
    ) {
        let _flush = FlushDenormals::new();
        if let Some(shards) = terms.problem.shards() {
            return self.run_sharded(shards, terms, theta, selections, ask, mode);
        }
        self.chunks.clear();
        for (feed, selection) in self.feeds.iter_mut().zip(selections) {
            feed.cut(&*self.model, terms, selection, ask, mode, &mut self.chunks);
        }
        let whole = self.model.needs_whole_batch();
        let active = if whole { 1 } else { self.lanes_for(terms) };
        while self.lanes.len() < active {
            self.lanes.push(Lane::new(self.model.parameter_count()));
        }
        let job = Job { model: &*self.model, theta, terms, ask, place: self.place };
        let (feeds, chunks) = (&self.feeds, &self.chunks);
        let work = |(number, lane): (usize, &mut Lane<M>)| {
            lane.work.found.clear(terms.count());
            lane.pass = Pass { mode, outputs_only: ask.multipliers().is_none(), repeats: false };
            if ask.multipliers().is_some() {
                lane.gradient.fill(M::Real::ZERO);
            }
            let share = |n: usize| n * chunks.len() / active;
            let mut source = None;
            for chunk in &chunks[share(number)..share(number + 1)] {
                lane.pass.repeats = source == Some(chunk.source);
                source = Some(chunk.source);
                feeds[chunk.source].run(lane, chunk, &selections[chunk.source], &job);
            }
        };
        let lanes = &mut self.lanes[..active];
        match &self.pool {
            Some(pool) if active > 1 || whole => {
                pool.install(|| lanes.par_iter_mut().enumerate().for_each(work));
            }
            _ => lanes.iter_mut().enumerate().for_each(work),
        }
        self.reduce(terms.problem.workers(), active, ask);
    }

    /// How many lanes the chunks are worth.
    fn lanes_for(&self, terms: &Terms) -> usize {
        let size = |chunk: &Chunk| {
            let views = terms.problem.sources()[chunk.source].views.len();
            (chunk.end - chunk.start) * if chunk.views { 1 + views } else { 1 }
        };
        let little = self.chunks.iter().map(size).sum::<usize>() <= CHUNK_OUTPUT_ROWS;
        if little { 1 } else { self.chunks.len().clamp(1, LANES) }
    }

    /// Adds the lanes up, in order, into the first one, with those of all workers. This is the one place where work
    /// done apart comes together; single points stay where their rows are.
    fn reduce(&mut self, workers: &Workers, active: usize, ask: Ask<'_>) {
        let lanes = &mut self.lanes[..active];
        if ask.multipliers().is_some() {
            let mut gradients = lanes.iter_mut().map(|lane| &mut lane.gradient[..]);
            let mut parts: [&mut [M::Real]; LANES] =
                std::array::from_fn(|_| gradients.next().unwrap_or_default());
            workers.add(&mut parts[..active]);
        }
        if ask.wants_values() {
            let (first, others) = lanes.split_at_mut(1);
            let others = others.iter_mut().map(|lane| &mut lane.work.found);
            first[0].work.found.add_up(others, workers);
        }
    }

    /// What the last pass found.
    pub(super) fn found(&self) -> &Found {
        &self.lanes[0].work.found
    }

    /// The gradient of the last pass.
    pub(super) fn gradient(&mut self) -> &mut [M::Real] {
        &mut self.lanes[0].gradient
    }

    /// Folds the batch statistics of the last training step into θ.
    pub(super) fn absorb(&mut self, shards: Option<&Shards>, theta: &mut [M::Real]) {
        if let Some(shards) = shards {
            return self.sharded.absorb(shards, &mut theta[self.model.trainable_count()..]);
        }
        for lane in &mut self.lanes {
            self.model.absorb(theta, &mut lane.tape);
        }
    }
}

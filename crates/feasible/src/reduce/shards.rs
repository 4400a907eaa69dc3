//! The shards of a problem whose work is divided over workers, and the tree along which they are added up.
//!
//! A row's shard is a hash of its id, one of 64, whatever the number of workers. Worker w of W works on the shards
//! ⌊64 w/W⌋ … ⌊64 (w + 1)/W⌋ − 1. Sums of gradients are made per shard, then along one binary tree over all
//! shards: (((0 + 1) + (2 + 3)) + …). A worker adds up the largest nodes of the tree that are all its own, one of them if
//! W is a power of two, and sends these to the worker that has the other half. So every sum has the same bits for any
//! number of workers. A shard without a row in a pass is left out of the tree.
//!
//! A model that couples the rows of a batch (BatchNorm) is trained on groups of 8 shards, each as a batch of its own. Then a
//! worker has whole groups, and no sum of a gradient is made below them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::aligned::AlignedVec;
use crate::error::{Error, Result};
use crate::real::Real;
use crate::reduce::Reduce;
use crate::reduce::collective::{broadcast, gather_all};
use crate::source::Source;

/// How many shards there are, and the most workers that have any.
pub const SHARDS: usize = 64;

/// How many neighbouring shards are a group.
pub const GROUP: usize = 8;

/// The shard of a sample, by its id.
pub fn shard_of(id: u64) -> u8 {
    // Vigna's splitmix64: ids are often 0, 1, 2, …
    let mut x = id.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) % SHARDS as u64) as u8
}

/// The shards of a worker, `together` of which are not taken apart.
fn shards_of(worker: usize, workers: usize, together: usize) -> Range<usize> {
    let first = |w: usize| w * (SHARDS / together) / workers * together;
    first(worker)..first(worker + 1)
}

/// The shards of the rows of a problem, and which of them are worked on here.
#[derive(Clone, Debug)]
pub struct Shards {
    reduce: Arc<dyn Reduce>,
    /// How many neighbouring shards are always on the same worker: 1, or a group.
    together: usize,
    sources: Arc<[SourceShards]>,
    /// Shared by the problems that one is made of.
    stop: Arc<Stop>,
}

/// The shards of the rows of one source. Every worker knows all rows by their place in the order of their ids, from 0.
#[derive(Debug)]
pub(crate) struct SourceShards {
    /// The shard of each row, by its place.
    pub(crate) shard: Vec<u8>,
    /// The row of the data set, by its place; of no meaning for rows that are not here.
    pub(crate) row: Vec<u32>,
    /// The rows here, by shard, then by id.
    pub(crate) own: Vec<u32>,
    /// Where those of each shard begin, and the last ends.
    pub(crate) starts: [usize; SHARDS + 1],
    /// The shards that have rows anywhere.
    pub(crate) occupied: u64,
}

impl SourceShards {
    fn new(source: &Source, here: &Range<usize>) -> Self {
        let ids = source.samples.ids();
        let shard: Vec<u8> = source.rows.iter().map(|&row| shard_of(ids[row as usize])).collect();
        let starts = starts(&shard, here);
        let (mut next, mut own) = (starts, vec![0; starts[SHARDS]]);
        for (&row, &shard) in source.rows.iter().zip(&shard) {
            if here.contains(&(shard as usize)) {
                own[next[shard as usize]] = row;
                next[shard as usize] += 1;
            }
        }
        let occupied = occupied(&shard);
        Self { shard, row: source.rows.clone(), own, starts, occupied }
    }

    /// Of a data set that has the rows here and no others, in the order in which they are worked on.
    fn of_own_rows(shard: Vec<u8>, here: &Range<usize>) -> Self {
        let starts = starts(&shard, here);
        let (mut next, mut row) = (starts, vec![u32::MAX; shard.len()]);
        for (row, &shard) in row.iter_mut().zip(&shard) {
            if here.contains(&(shard as usize)) {
                *row = next[shard as usize] as u32;
                next[shard as usize] += 1;
            }
        }
        let own = (0..starts[SHARDS] as u32).collect();
        Self { row, own, starts, occupied: occupied(&shard), shard }
    }
}

/// Where the rows here begin in each shard, and the last ends, of the shards of all rows.
fn starts(shard: &[u8], here: &Range<usize>) -> [usize; SHARDS + 1] {
    let mut starts = [0; SHARDS + 1];
    for &shard in shard.iter().filter(|&&shard| here.contains(&(shard as usize))) {
        starts[shard as usize + 1] += 1;
    }
    (0..SHARDS).for_each(|shard| starts[shard + 1] += starts[shard]);
    starts
}

/// The shards that have rows.
fn occupied(shard: &[u8]) -> u64 {
    shard.iter().fold(0, |all, &shard| all | 1 << (shard % SHARDS as u8))
}

/// Whether work is to stop: on this worker, and on any, as of the last pass. It travels with gradients and sums.
#[derive(Debug, Default)]
struct Stop {
    here: AtomicBool,
    anywhere: AtomicBool,
}

impl Shards {
    /// Of a problem. `together` is 1, or the shards of a group.
    ///
    /// # Errors
    /// More workers than shards or groups.
    pub(crate) fn new(
        reduce: Arc<dyn Reduce>,
        sources: &[Source],
        together: usize,
    ) -> Result<Self> {
        let workers = reduce.workers();
        let allowed = match together {
            1 => "at most 64, one per shard",
            _ => "at most 8 with BatchNorm, one per group of shards",
        };
        Error::unless(workers <= SHARDS / together, "workers", workers as f64, allowed)?;
        let here = shards_of(reduce.worker(), workers, together);
        let of = sources.iter().map(|source| SourceShards::new(source, &here));
        Ok(Self { sources: of.collect(), reduce, together, stop: Arc::default() })
    }

    /// Of the shards of all rows, per source, where the rows here are all there are of the data sets, in the order in which
    /// they are worked on.
    pub fn of_shares(reduce: Arc<dyn Reduce>, together: usize, shards: Vec<Vec<u8>>) -> Self {
        let here = shards_of(reduce.worker(), reduce.workers(), together);
        let of = shards.into_iter().map(|shard| SourceShards::of_own_rows(shard, &here));
        Self { sources: of.collect(), reduce, together, stop: Arc::default() }
    }

    /// Whether all workers, who call this at the same time, have the same problem.
    ///
    /// # Errors
    /// Workers whose problems differ.
    pub(crate) fn check_same(&self, sources: &[Source]) -> Result<()> {
        let digest =
            sources.iter().flat_map(digest).flat_map(u64::to_le_bytes).collect::<Vec<u8>>();
        if self.gather(&digest).iter().any(|other| *other != digest) {
            return Err(Error::Shape {
                what: "rows and terms of a problem that is divided over workers".into(),
                expected: "the same on every worker".into(),
                found: sources.iter().map(|s| s.rows.len()).sum(),
            });
        }
        Ok(())
    }

    /// The same where the rows here are all that is left of the data sets, in the order in which they are worked on.
    pub(crate) fn of_own_rows(&self) -> Self {
        let shards = self.sources.iter().map(|source| source.shard.clone()).collect();
        let sources = Self::of_shares(self.reduce.clone(), self.together, shards).sources;
        Self { sources, ..self.clone() }
    }

    pub(crate) fn reduce(&self) -> &Arc<dyn Reduce> {
        &self.reduce
    }

    /// How many neighbouring shards are always on the same worker.
    pub(crate) fn together(&self) -> usize {
        self.together
    }

    /// The shards of a worker.
    pub(crate) fn of_worker(&self, worker: usize) -> Range<usize> {
        shards_of(worker, self.reduce.workers(), self.together)
    }

    /// Whether no group of shards is on two workers.
    pub(crate) fn are_grouped(&self) -> bool {
        let workers = 0..self.reduce.workers();
        workers.into_iter().all(|worker| self.of_worker(worker).start.is_multiple_of(GROUP))
    }

    /// The shards that are worked on here.
    pub fn own(&self) -> Range<usize> {
        self.of_worker(self.reduce.worker())
    }

    /// The worker that has a shard.
    pub fn owner(&self, shard: usize) -> usize {
        let (number, all) = (shard / self.together, SHARDS / self.together);
        ((number + 1) * self.reduce.workers() - 1) / all
    }

    /// Those of the rows of a source.
    pub(crate) fn source(&self, source: usize) -> &SourceShards {
        &self.sources[source]
    }

    /// The messages of all workers, in order.
    pub(crate) fn gather(&self, own: &[u8]) -> Vec<Vec<u8>> {
        gather_all(&*self.reduce, own)
    }

    /// Whether any worker is to stop. Of several, all stop after the same pass, the next one.
    pub(crate) fn interrupted(&self, interrupt: &AtomicBool) -> bool {
        let here = interrupt.load(Ordering::Relaxed);
        self.stop.here.store(here, Ordering::Relaxed);
        match self.reduce.workers() {
            1 => here,
            _ => self.stop.anywhere.load(Ordering::Relaxed),
        }
    }

    /// Ends a message with whether work is to stop.
    pub(crate) fn sealed(&self, mut message: Vec<u8>, stop: bool) -> Vec<u8> {
        message.push(u8::from(stop || self.stop.here.load(Ordering::Relaxed)));
        message
    }

    /// A message without its end, and whether that asks to stop.
    pub(crate) fn unsealed(message: &[u8]) -> (&[u8], bool) {
        message.split_last().map_or((message, false), |(&stop, message)| (message, stop != 0))
    }

    /// All workers know by now whether one is to stop.
    pub(crate) fn note_stop(&self, stop: bool) {
        self.stop.anywhere.store(stop, Ordering::Relaxed);
    }

    /// The nodes of the tree that the shards here are cut into, so that threads have enough of them.
    pub fn own_nodes(&self, at_least: usize) -> Vec<Range<usize>> {
        let own = self.own();
        let most = (own.len() / at_least).max(1);
        let mut nodes = Vec::new();
        let mut first = own.start;
        while first < own.end {
            let mut size = 1;
            while size * 2 <= most && first.is_multiple_of(size * 2) && first + size * 2 <= own.end
            {
                size *= 2;
            }
            nodes.push(first..first + size);
            first += size;
        }
        nodes
    }

    /// The sum over all shards, of the sums over nodes here; zeros if no shard has a row.
    pub fn add_up<T: Real>(
        &self,
        occupied: u64,
        nodes: &mut [(Range<usize>, Option<AlignedVec<T>>)],
        total: &mut [T],
    ) {
        let mut stop = false;
        let Some(root) = self.join(occupied, nodes, &mut stop, 0..SHARDS) else {
            return total.fill(T::ZERO);
        };
        if let (true, Some(sum)) = (root.worker == self.reduce.worker(), &nodes[root.node].1) {
            total.copy_from_slice(sum);
        }
        if self.reduce.workers() > 1 {
            let mut message = self.sealed(T::to_message(total), stop);
            broadcast(&*self.reduce, root.worker, &mut message);
            let (message, stop) = Self::unsealed(&message);
            T::of_message(message, total, |to, x| *to = x);
            self.note_stop(stop);
        }
    }

    /// Adds up a node of the tree: where its sum is, if it has a row.
    ///
    /// All workers walk the tree in the same order, and each takes part in the sums that concern it, so none waits for
    /// one that waits for it.
    fn join<T: Real>(
        &self,
        occupied: u64,
        nodes: &mut [(Range<usize>, Option<AlignedVec<T>>)],
        stop: &mut bool,
        of: Range<usize>,
    ) -> Option<Place> {
        if (occupied >> of.start) << (SHARDS - of.len()) == 0 {
            return None;
        }
        let (worker, here) = (self.owner(of.start), self.reduce.worker());
        if self.owner(of.end - 1) == worker {
            let node = nodes.iter().position(|(node, _)| *node == of);
            if worker != here || node.is_some() {
                return Some(Place { worker, node: node.unwrap_or(0) });
            }
        }
        let middle = of.start + of.len() / 2;
        let left = self.join(occupied, nodes, stop, of.start..middle);
        let right = self.join(occupied, nodes, stop, middle..of.end);
        let (Some(left), Some(right)) = (left, right) else { return left.or(right) };
        match (left.worker == here, right.worker == here) {
            (true, true) => {
                if let Some(other) = nodes[right.node].1.take()
                    && let Some(sum) = &mut nodes[left.node].1
                {
                    sum.iter_mut().zip(&*other).for_each(|(sum, &x)| *sum += x);
                    nodes[right.node].1 = Some(other);
                }
            }
            (true, false) => {
                let message = self.reduce.receive(right.worker);
                let (message, stops) = Self::unsealed(&message);
                *stop |= stops;
                if let Some(sum) = &mut nodes[left.node].1 {
                    T::of_message(message, sum, |sum, x| *sum += x);
                }
            }
            (false, true) => {
                if let Some(sum) = &nodes[right.node].1 {
                    self.reduce.send(left.worker, &self.sealed(T::to_message(sum), *stop));
                }
            }
            (false, false) => {}
        }
        Some(left)
    }
}

/// Where the sum of a node is.
#[derive(Clone, Copy)]
struct Place {
    worker: usize,
    node: usize,
}

/// What two workers' sources have in common if they are the same.
fn digest(source: &Source) -> [u64; 4] {
    let ids = source.rows.iter().fold(0_u64, |hash, &row| {
        (hash.rotate_left(5) ^ source.samples.ids()[row as usize])
            .wrapping_mul(0x517c_c1b7_2722_0a95)
    });
    let points = source.terms.iter().fold(0, |sum, t| sum ^ t.points.to_bits().rotate_left(7));
    [source.rows.len() as u64, ids, source.terms.len() as u64, points]
}

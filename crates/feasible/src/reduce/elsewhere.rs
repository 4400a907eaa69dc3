//! The points of a requirement on other workers.
//!
//! The violation and the multiplier of a point are known to the worker that has its row. What is made of all of them (sums,
//! maxima, counts) is combined here: worker by worker where rows are [spread](crate::Problem::spread_over), and shard by
//! shard, in order, where they are [divided](crate::Problem::divided_over), so that sums have the same bits for any number of
//! workers.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::reduce::Workers;
use crate::reduce::collective::{Number, gather, gather_all};

/// The points of a requirement on other workers: none of an average, whose value is the same on all, and those of
/// their rows where each point has a multiplier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elsewhere(Option<Arc<Everywhere>>);

#[derive(Debug)]
struct Everywhere {
    workers: Workers,
    /// How many points there are.
    points: f64,
    shards: Option<PointShards>,
}

/// The points here of a requirement whose rows are divided into shards: by ρ, then by shard, then by id.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PointShards {
    /// Where the members of each shard here begin, and the last ends.
    pub(crate) cuts: Vec<usize>,
    /// Which member each one is in the whole problem.
    pub(crate) numbers: Vec<u32>,
    /// How many members there are in the whole problem.
    pub(crate) members: usize,
    /// How many ρ there are.
    pub(crate) transformations: usize,
}

/// What is measured does not depend on who measured it.
impl PartialEq for Elsewhere {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Elsewhere {
    /// Of a requirement with this number of points here.
    pub(crate) fn new(workers: &Workers, here: usize) -> Self {
        let (points, workers) = (workers.sum(here as f64), workers.clone());
        let several = !workers.is_alone();
        Self(several.then(|| Arc::new(Everywhere { workers, points, shards: None })))
    }

    /// Of a requirement whose rows are divided into shards.
    pub(crate) fn in_shards(workers: &Workers, shards: PointShards) -> Self {
        let points = (shards.members * shards.transformations) as f64;
        let workers = workers.clone();
        Self(Some(Arc::new(Everywhere { workers, points, shards: Some(shards) })))
    }

    fn workers(&self) -> Option<&Workers> {
        self.0.as_ref().map(|all| &all.workers)
    }

    /// The points here, where rows are divided into shards.
    pub(crate) fn shards(&self) -> Option<&PointShards> {
        self.0.as_ref().and_then(|all| all.shards.as_ref())
    }

    /// The number of points, of which `here` are on this worker.
    pub(crate) fn count(&self, here: usize) -> f64 {
        self.0.as_ref().map_or(here as f64, |all| all.points)
    }

    /// Sums over all points, of which `here` are on this worker. `of` gives the sums over some of these.
    pub(crate) fn sums<const K: usize>(
        &self,
        here: usize,
        of: impl Fn(Range<usize>) -> [f64; K],
    ) -> [f64; K] {
        Self::sums_of_each(&[(self, here)], |_, range| of(range))[0]
    }

    /// Sums over all points of several requirements of a problem, each with the number of its points here. `of` gives the
    /// sums over some points of one of them. One message, if rows are divided.
    pub(crate) fn sums_of_each<const K: usize>(
        each: &[(&Self, usize)],
        of: impl Fn(usize, Range<usize>) -> [f64; K],
    ) -> Vec<[f64; K]> {
        let add =
            |to: &mut [f64], more: &[f64]| to.iter_mut().zip(more).for_each(|(to, x)| *to += x);
        let in_shards = |i: &usize| each[*i].0.shards().is_some();
        let divided: Vec<usize> = (0..each.len()).filter(in_shards).collect();
        let not_divided = |i: usize| {
            let mut sums = if in_shards(&i) { [0.0; K] } else { of(i, 0..each[i].1) };
            if let Some(workers) = each[i].0.workers().filter(|_| !in_shards(&i)) {
                workers.reduce().add_f64(&mut [&mut sums]);
            }
            sums
        };
        let mut sums: Vec<[f64; K]> = (0..each.len()).map(not_divided).collect();
        let Some(workers) = divided.first().and_then(|&i| each[i].0.workers()) else { return sums };
        let here = each[divided[0]].0.shards().map_or(0, |shards| shards.cuts.len() - 1);
        let mut parts = vec![0.0; here * divided.len() * K];
        for (at, part) in parts.chunks_exact_mut(K).enumerate() {
            let (shard, i) = (at / divided.len(), divided[at % divided.len()]);
            let Some(shards) = each[i].0.shards() else { continue };
            let members = shards.numbers.len();
            for q in 0..shards.transformations {
                let first = q * members;
                add(part, &of(i, first + shards.cuts[shard]..first + shards.cuts[shard + 1]));
            }
        }
        if !workers.is_alone() {
            let mut message = Vec::new();
            f64::write(&parts, &mut message);
            let messages = gather_all(&**workers.reduce(), &message);
            parts = messages.iter().flat_map(|m| m.chunks_exact(8).map(f64::read)).collect();
        }
        for (at, part) in parts.chunks_exact(K).enumerate() {
            add(&mut sums[divided[at % divided.len()]], part);
        }
        sums
    }

    /// The largest of all points of several requirements of a problem, of the largest of those here. One message.
    pub(crate) fn largest_of_each(each: &[(&Self, f64)]) -> Vec<f64> {
        let mut all: Vec<f64> = each.iter().map(|(_, here)| *here).collect();
        if let Some(workers) = each.iter().find_map(|(elsewhere, _)| elsewhere.workers()) {
            workers.reduce().largest(&mut all);
        }
        // What is known everywhere has no other points.
        let own = |(largest, (elsewhere, here)): (f64, &(&Self, f64))| {
            if elsewhere.workers().is_some() { largest } else { *here }
        };
        all.into_iter().zip(each).map(own).collect()
    }

    /// The sum over all points.
    pub(crate) fn sum(&self, here: usize, of: impl Fn(Range<usize>) -> f64) -> f64 {
        self.sums(here, |range| [of(range)])[0]
    }

    /// The mean over all points.
    pub(crate) fn mean(&self, here: usize, of: impl Fn(Range<usize>) -> f64) -> f64 {
        self.sum(here, of) / self.count(here)
    }

    /// The largest of all points, of the largest of those here.
    pub(crate) fn largest(&self, here: f64) -> f64 {
        self.workers().map_or(here, |workers| workers.largest(here))
    }

    /// Whether it holds for any point, of whether it does for any here.
    pub(crate) fn any(&self, here: bool) -> bool {
        self.workers().map_or(here, |workers| workers.any(here))
    }

    /// The number that `but` of all points are above and no more; these are here, none of them NaN.
    pub(crate) fn largest_but(&self, here: &[f64], but: usize) -> f64 {
        let Some(workers) = self.workers().filter(|workers| !workers.is_alone()) else {
            let mut values = here.to_vec();
            let but = but.min(values.len() - 1);
            return *values.select_nth_unstable_by(but, |a, b| b.total_cmp(a)).1;
        };
        // The least key that no more than `but` keys are above is that of one of the values.
        let keys: Vec<u64> = here.iter().copied().map(key).collect();
        let (mut low, mut high) = (0, u64::MAX);
        while low < high {
            let middle = low + (high - low) / 2;
            let above = keys.iter().filter(|&&key| key > middle).count();
            if workers.sum(above as f64) <= but as f64 { high = middle } else { low = middle + 1 }
        }
        from_key(low)
    }
}

/// Between the points here and those of the whole problem, where rows are divided into shards.
impl Elsewhere {
    /// Which point of the whole problem one here is.
    pub(crate) fn number(&self, here: usize) -> usize {
        self.shards().map_or(here, |shards| {
            let (q, member) = (here / shards.numbers.len(), here % shards.numbers.len());
            q * shards.members + shards.numbers[member] as usize
        })
    }

    /// Of a list of all points, those here. `None` if the list has another length; an empty one stays so.
    pub(crate) fn own(&self, all: Vec<f64>) -> Option<Vec<f64>> {
        let Some(shards) = self.shards().filter(|_| !all.is_empty()) else { return Some(all) };
        let here = 0..shards.numbers.len() * shards.transformations;
        let fits = all.len() == shards.members * shards.transformations;
        fits.then(|| here.map(|point| all[self.number(point)]).collect())
    }

    /// Lists of all points, of lists of those here, on all workers. They all call this at the same time.
    pub(crate) fn everyone(&self, here: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        let Some((shards, reduce)) = self.shards().zip(self.workers().map(Workers::reduce)) else {
            return here;
        };
        self.joined(shards, here.len(), &gather_all(&**reduce, &message(shards, &here)))
    }

    /// The points elsewhere that are not in such lists: those of rows that are spread.
    pub(crate) fn after_everyone(self) -> Self {
        if self.shards().is_some() { Self::default() } else { self }
    }

    /// The same on worker 0 alone; nothing on the others.
    pub(crate) fn at_first(&self, here: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        let Some((shards, reduce)) = self.shards().zip(self.workers().map(Workers::reduce)) else {
            return here;
        };
        self.joined(shards, here.len(), &gather(&**reduce, message(shards, &here)))
    }

    /// Puts the points of all messages in their places. A list that is empty in all of them stays so.
    fn joined(&self, shards: &PointShards, lists: usize, messages: &[Vec<u8>]) -> Vec<Vec<f64>> {
        let points = shards.members * shards.transformations;
        let mut all = vec![Vec::new(); lists];
        for message in messages {
            let (count, rest) = message.split_at(4);
            let count = number_of(count) as usize;
            let (numbers, mut rest) = rest.split_at(4 * count);
            for list in &mut all {
                let (used, values) = rest.split_at(1);
                if used == [0] {
                    rest = values;
                    continue;
                }
                list.resize(points, 0.0);
                let (values, after) = values.split_at(8 * count * shards.transformations);
                let mut values = values.chunks_exact(8).map(f64::read);
                for q in 0..shards.transformations {
                    for (n, value) in numbers.chunks_exact(4).zip(&mut values) {
                        list[q * shards.members + number_of(n) as usize] = value;
                    }
                }
                rest = after;
            }
        }
        all
    }
}

/// Which members are here, and lists of their points.
fn message(shards: &PointShards, lists: &[Vec<f64>]) -> Vec<u8> {
    let mut message = (shards.numbers.len() as u32).to_le_bytes().to_vec();
    message.extend(shards.numbers.iter().flat_map(|n| n.to_le_bytes()));
    for list in lists {
        message.push(u8::from(!list.is_empty()));
        f64::write(list, &mut message);
    }
    message
}

/// A number of a message, of its bytes.
fn number_of(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_le_bytes)
}

/// A whole number in the order of the numbers, as `f64::total_cmp` has it.
fn key(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn from_key(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

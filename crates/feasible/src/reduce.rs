//! How sums over rows meet where the rows of a problem are spread over several workers.
//!
//! Every worker has some of the rows, and the multipliers of these rows: λ stays where its row is. What travels are
//! sums over rows (gradients, losses, counts) and maxima. [`Alone`] is the one worker that has all rows; its threads
//! add up parts of their own. [`Problem::spread_over`](crate::Problem::spread_over) takes any other [`Reduce`].
//!
//! All workers take the same steps in the same order, because all that decides a step (θ, μ, averages, residuals)
//! has the same bits on each of them.
//!
//! ```
//! use feasible::reduce::{Alone, Reduce};
//! // Two threads of the one worker have added up some rows each.
//! let (mut first, mut second) = ([1.0, 2.0], [0.5, 0.25]);
//! Alone.add_f64(&mut [&mut first, &mut second]);
//! assert_eq!((first, Alone.workers()), ([1.5, 2.25], 1));
//! let mut sums = [1.0_f32];
//! Alone.add_f32(&mut [&mut sums]);
//! let mut worst = [0.5];
//! Alone.largest(&mut worst);
//! assert_eq!((sums, worst), ([1.0], [0.5]));
//! ```

use std::fmt::Debug;
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::real::Real;

/// Adds up, and compares, what several workers have.
///
/// A call returns once every worker has made the same call with lists of the same length, and returns the same bits on all
/// of them. An implementation that loses a worker must not return: it ends the process, or panics.
pub trait Reduce: Debug + Send + Sync {
    /// Adds up the parts of all workers, number by number, into the first part of each worker. The other parts are
    /// of no use afterwards.
    ///
    /// Additions are made one after the other, from the first part of the first worker to the last part of the last.
    /// Then the bits do not depend on how many workers the same parts are spread over.
    fn add_f64(&self, parts: &mut [&mut [f64]]);

    /// The same in single precision.
    fn add_f32(&self, parts: &mut [&mut [f32]]);

    /// The largest that any worker has, number by number; NaN if one has that.
    fn largest(&self, values: &mut [f64]);

    /// How many workers there are.
    fn workers(&self) -> usize;
}

/// One worker that has all rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alone;

impl Reduce for Alone {
    fn add_f64(&self, parts: &mut [&mut [f64]]) {
        add_in_order(parts);
    }

    fn add_f32(&self, parts: &mut [&mut [f32]]) {
        add_in_order(parts);
    }

    fn largest(&self, _: &mut [f64]) {}

    fn workers(&self) -> usize {
        1
    }
}

/// Adds all parts to the first, in order.
fn add_in_order<T: Copy + AddAssign>(parts: &mut [&mut [T]]) {
    let Some((first, others)) = parts.split_first_mut() else { return };
    for part in others {
        for (total, x) in first.iter_mut().zip(&**part) {
            *total += *x;
        }
    }
}

/// The workers that the rows of a problem are spread over.
#[derive(Clone, Debug)]
pub(crate) struct Workers(Arc<dyn Reduce>);

impl Default for Workers {
    fn default() -> Self {
        Self(Arc::new(Alone))
    }
}

impl Workers {
    pub(crate) fn new(reduce: Arc<dyn Reduce>) -> Self {
        Self(reduce)
    }

    pub(crate) fn reduce(&self) -> &Arc<dyn Reduce> {
        &self.0
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.0.workers() == 1
    }

    /// Adds parts up into the first, those of all workers.
    pub(crate) fn add<T: Real>(&self, parts: &mut [&mut [T]]) {
        T::add_parts(&*self.0, parts);
    }

    /// The sum of a number over all workers.
    pub(crate) fn sum(&self, x: f64) -> f64 {
        let mut sum = [x];
        self.0.add_f64(&mut [&mut sum]);
        sum[0]
    }

    /// The largest of a number over all workers; NaN if one is.
    pub(crate) fn largest(&self, x: f64) -> f64 {
        let mut largest = [x];
        self.0.largest(&mut largest);
        largest[0]
    }

    /// Whether it holds on any worker.
    pub(crate) fn any(&self, holds: bool) -> bool {
        self.largest(f64::from(u8::from(holds))) > 0.0
    }

    /// Whether any worker is to stop.
    pub(crate) fn interrupted(&self, interrupt: &AtomicBool) -> bool {
        self.any(interrupt.load(Ordering::Relaxed))
    }
}

/// The points of a requirement on other workers: none of an average, whose value is the same on all, and those of
/// their rows where each point has a multiplier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elsewhere(Option<(Workers, f64)>);

/// What is measured does not depend on who measured it.
impl PartialEq for Elsewhere {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Elsewhere {
    /// Of a requirement with this number of points here.
    pub(crate) fn new(workers: &Workers, here: usize) -> Self {
        let all = workers.sum(here as f64);
        Self((!workers.is_alone()).then(|| (workers.clone(), all)))
    }

    /// The number of points, of which `here` are on this worker.
    pub(crate) fn count(&self, here: usize) -> f64 {
        self.0.as_ref().map_or(here as f64, |(_, all)| *all)
    }

    /// The sum over all points, of the sum over those here.
    pub(crate) fn sum(&self, here: f64) -> f64 {
        self.0.as_ref().map_or(here, |(workers, _)| workers.sum(here))
    }

    /// The mean over all points, of the sum over those here and their number.
    pub(crate) fn mean(&self, here: f64, points: usize) -> f64 {
        self.sum(here) / self.count(points)
    }

    /// The largest of all points, of the largest of those here.
    pub(crate) fn largest(&self, here: f64) -> f64 {
        self.0.as_ref().map_or(here, |(workers, _)| workers.largest(here))
    }

    /// Whether it holds for any point, of whether it does for any here.
    pub(crate) fn any(&self, here: bool) -> bool {
        self.0.as_ref().map_or(here, |(workers, _)| workers.any(here))
    }

    /// The number that `but` of all points are above and no more; these are here, none of them NaN.
    pub(crate) fn largest_but(&self, here: &[f64], but: usize) -> f64 {
        if self.0.is_none() {
            let mut values = here.to_vec();
            let but = but.min(values.len() - 1);
            return *values.select_nth_unstable_by(but, |a, b| b.total_cmp(a)).1;
        }
        // The least key that no more than `but` keys are above is that of one of the values.
        let keys: Vec<u64> = here.iter().copied().map(key).collect();
        let (mut low, mut high) = (0, u64::MAX);
        while low < high {
            let middle = low + (high - low) / 2;
            let above = keys.iter().filter(|&&key| key > middle).count();
            if self.sum(above as f64) <= but as f64 { high = middle } else { low = middle + 1 }
        }
        from_key(low)
    }
}

/// A whole number in the order of the numbers, as `f64::total_cmp` has it.
fn key(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn from_key(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

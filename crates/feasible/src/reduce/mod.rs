//! How sums over rows meet where the rows of a problem are spread over several workers.
//!
//! There are two ways. With [`Problem::spread_over`](crate::Problem::spread_over) every worker has some of the rows, and
//! the multipliers of these rows: λ stays where its row is. What travels are sums over rows (gradients, losses, counts)
//! and maxima, and the bits of a result depend on how many workers there are. With
//! [`Problem::divided_over`](crate::Problem::divided_over) every worker has the whole problem, and the work on its rows
//! is divided by 64 shards that do not depend on the workers: the bits of a result are the same for any number of them.
//! [`Alone`] is the one worker that has all rows; its threads add up parts of their own.
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
//!
//! Two workers that are threads, each with a line to the other:
//!
//! ```
//! use std::sync::mpsc::{Receiver, Sender, channel};
//! use std::sync::{Arc, Mutex};
//! use feasible::reduce::{Alone, Reduce, SHARDS};
//! use feasible::{Inputs, Learner, Loss, Population, Problem, Samples, Targets};
//! use feasible_nn::{Adam, Linear};
//!
//! #[derive(Debug)]
//! struct Half(usize, Sender<Vec<u8>>, Mutex<Receiver<Vec<u8>>>);
//!
//! impl Reduce for Half {
//!     fn workers(&self) -> usize { 2 }
//!     fn worker(&self) -> usize { self.0 }
//!     fn send(&self, _: usize, message: &[u8]) {
//!         if self.1.send(message.to_vec()).is_err() { self.fail("the other half is lost") }
//!     }
//!     fn receive(&self, _: usize) -> Vec<u8> {
//!         let message = self.2.lock().unwrap().recv();
//!         message.unwrap_or_else(|_| self.fail("the other half is lost"))
//!     }
//! }
//!
//! let x = Inputs::new((0..100).map(|n| n as f32 / 100.0).collect(), 1)?;
//! let y = Targets::Values((0..100).map(|n| (n % 7) as f32).collect());
//! let everyone = Population::new(Samples::new(x, y)?);
//! let problem = Problem::minimise(&everyone, Loss::Squared).check()?;
//! let solve = |worker: Arc<dyn Reduce>| {
//!     let learner = Learner::alternating(Adam::new(0.1)).epochs(3);
//!     learner.solve(&problem.divided_over(worker)?, Linear::new(1, 1)?)
//! };
//! let (to_second, of_first) = channel();
//! let (to_first, of_second) = channel();
//! let second = Half(1, to_first, Mutex::new(of_first));
//! let (first, second) = std::thread::scope(|scope| {
//!     let second = scope.spawn(|| {
//!         let mut greeting = Vec::new();
//!         second.broadcast(0, &mut greeting);
//!         assert_eq!(greeting, [SHARDS as u8]);
//!         solve(Arc::new(second))
//!     });
//!     let first = Half(0, to_second, Mutex::new(of_second));
//!     first.broadcast(0, &mut vec![64]);
//!     (solve(Arc::new(first)), second.join().unwrap())
//! });
//! assert_eq!(first?, solve(Arc::new(Alone))?);
//! assert_eq!(second?, solve(Arc::new(Alone))?);
//! # Ok::<(), feasible::Error>(())
//! ```

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::real::Real;

pub(crate) mod collective;
mod shards;

pub use shards::SHARDS;
pub(crate) use shards::Shards;

/// A worker among several, and how it reaches the others.
///
/// Sending and receiving is all that an implementation needs to have; the sums are made of that. Messages between two
/// workers arrive in the order in which they were sent. An implementation that loses a worker must not return: it ends
/// the process, or panics.
pub trait Reduce: Debug + Send + Sync {
    /// How many workers there are.
    fn workers(&self) -> usize;

    /// Which of them this is, from 0.
    fn worker(&self) -> usize;

    /// Sends a message to another worker. May wait until it is received.
    fn send(&self, to: usize, message: &[u8]);

    /// Waits for the next message of another worker.
    fn receive(&self, from: usize) -> Vec<u8>;

    /// Ends the work of all, because workers differ where they must not.
    ///
    /// # Panics
    /// Always, unless an implementation has a better way to end.
    fn fail(&self, why: &str) -> ! {
        panic!("{why}")
    }

    /// Gives every worker what worker `root` has.
    fn broadcast(&self, root: usize, message: &mut Vec<u8>) {
        collective::broadcast(self, root, message);
    }

    /// Adds up the parts of all workers, number by number, into the first part of each worker. The other parts are
    /// of no use afterwards. Returns once every worker has made the same call with lists of the same length, the same
    /// bits on all of them.
    ///
    /// Additions are made one after the other, from the first part of the first worker to the last part of the last.
    /// Then the bits do not depend on how many workers the same parts are spread over.
    fn add_f64(&self, parts: &mut [&mut [f64]]) {
        collective::add(self, parts);
    }

    /// The same in single precision.
    fn add_f32(&self, parts: &mut [&mut [f32]]) {
        collective::add(self, parts);
    }

    /// The largest that any worker has, number by number; NaN if one has that.
    fn largest(&self, values: &mut [f64]) {
        collective::largest(self, values);
    }
}

/// One worker that has all rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alone;

impl Reduce for Alone {
    fn workers(&self) -> usize {
        1
    }

    fn worker(&self) -> usize {
        0
    }

    /// There is no one to send to.
    fn send(&self, _: usize, _: &[u8]) {}

    /// There is no one to hear from.
    fn receive(&self, _: usize) -> Vec<u8> {
        Vec::new()
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
        let here = interrupt.load(Ordering::Relaxed);
        if self.is_alone() { here } else { self.any(here) }
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

//! How sums over rows meet where the rows of a problem are spread over several workers.
//!
//! λ stays where its row is; what travels are sums over rows (gradients, losses, counts) and maxima. There are two ways. With
//! [`Problem::spread_over`](crate::Problem::spread_over) every worker has some of the rows, any of them, and the bits of a
//! result depend on how many workers there are. With [`Problem::divided_over`](crate::Problem::divided_over) every worker
//! begins with the whole problem and works on the rows of some of 64 shards, which do not depend on the workers: the bits of
//! a result are the same for any number of them.
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
//!     let own = problem.divided_over(worker.clone())?.of_own_rows();
//!     let mut training = learner.begin(&own, Linear::new(1, 1)?)?;
//!     while training.advance().is_some() {}
//!     // It is collected on the first worker, to be saved there.
//!     assert_eq!(training.whole_state().is_some(), worker.worker() == 0);
//!     Ok::<_, feasible::Error>(training.finish())
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
mod elsewhere;
pub(crate) mod shards;

pub(crate) use elsewhere::{Elsewhere, PointShards};
pub use shards::SHARDS;
pub(crate) use shards::{GROUP, Shards};

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

    /// Whether this is worker 0.
    pub(crate) fn is_first(&self) -> bool {
        self.0.worker() == 0
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

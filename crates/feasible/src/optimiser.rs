//! The primal optimiser, as a pure pair: an empty state for θ ∈ ℝᵖ, and a step.
//!
//! Implementations (SGD, Adam, AdamW) live with the engine in `feasible-nn`, because a fused
//! step over the flat θ is a kernel like any other.
//!
//! ```
//! use feasible::optimiser::{Optimiser, OptimiserState};
//! use feasible::{Error, Inputs, Learner, Loss, Population, Problem, Samples, Targets};
//! use feasible_nn::Linear;
//!
//! /// Heavy-ball momentum: one vector of state.
//! #[derive(Debug)]
//! struct HeavyBall {
//!     rate: f64,
//!     momentum: f64,
//! }
//!
//! impl Optimiser<f64> for HeavyBall {
//!     fn slots(&self) -> usize {
//!         1
//!     }
//!
//!     fn check(&self) -> Result<(), Error> {
//!         Error::unless(self.rate > 0.0, "rate", self.rate, "above 0")
//!     }
//!
//!     fn step(&self, _: f64, state: &mut OptimiserState<f64>, theta: &mut [f64], gradient: &[f64]) {
//!         for ((t, v), g) in theta.iter_mut().zip(&mut state.slots[0]).zip(gradient) {
//!             *v = self.momentum * *v - self.rate * g;
//!             *t += *v;
//!         }
//!         state.step += 1;
//!     }
//! }
//!
//! let x = Inputs::dense(vec![0.0, 1.0, 2.0], 1)?;
//! let everyone = Population::new(Samples::new(x, Targets::Values(vec![1.0, 3.0, 5.0]))?);
//! let problem = Problem::minimise(&everyone, Loss::Squared).check()?;
//! let learner = Learner::alternating(HeavyBall { rate: 0.05, momentum: 0.8 }).epochs(500);
//! let line = learner.solve(&problem, Linear::new(1, 1)?.double())?.theta;
//! assert!((line[0] - 2.0).abs() < 1e-3 && (line[1] - 1.0).abs() < 1e-3, "{line:?}");
//! # Ok::<(), feasible::Error>(())
//! ```

use std::fmt::Debug;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::error::Result;
use crate::real::Real;

/// A first-order method on a flat θ.
pub trait Optimiser<T: Real>: Debug + Send + Sync {
    /// How many vectors of length p its state holds.
    fn slots(&self) -> usize;

    /// # Errors
    /// A setting outside its range, named.
    fn check(&self) -> Result<()>;

    /// Moves θ along −gradient. `epoch` is the number of epochs done, fractions included, for
    /// schedules. `state.step` counts the steps before this one; the method increments it.
    fn step(&self, epoch: f64, state: &mut OptimiserState<T>, theta: &mut [T], gradient: &[T]);
}

impl<T: Real, O: Optimiser<T> + ?Sized> Optimiser<T> for Box<O> {
    fn slots(&self) -> usize {
        (**self).slots()
    }

    fn check(&self) -> Result<()> {
        (**self).check()
    }

    fn step(&self, epoch: f64, state: &mut OptimiserState<T>, theta: &mut [T], gradient: &[T]) {
        (**self).step(epoch, state, theta, gradient);
    }
}

/// All that an optimiser remembers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "T: Serialize", deserialize = "T: DeserializeOwned"))]
pub struct OptimiserState<T> {
    /// Steps done.
    pub step: u64,
    /// Momentum and the like, each as long as θ.
    pub slots: Vec<Vec<T>>,
}

impl<T: Real> OptimiserState<T> {
    /// The state before the first step.
    pub fn new(slots: usize, parameters: usize) -> Self {
        Self { step: 0, slots: vec![vec![T::ZERO; parameters]; slots] }
    }
}

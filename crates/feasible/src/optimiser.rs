//! The primal optimiser, as a pure pair: an empty state for θ ∈ ℝᵖ, and a step.
//!
//! Implementations (SGD, Adam, AdamW) live with the engine in `feasible-nn`, because a fused
//! step over the flat θ is a kernel like any other.

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

//! Stochastic gradient descent.
//!
//! g ← ∇ + decay·θ; b ← momentum·b + g; θ ← θ − η·b, or with Nesterov's look-ahead
//! θ ← θ − η·(g + momentum·b). (PyTorch's form: b starts at the first g, without damping.)

use feasible::{Error, Optimiser, OptimiserState, Result, Schedule};
use serde::{Deserialize, Serialize};

use super::{check_decay, check_rate};
use crate::kernel::{Kernels, SgdStep};
use crate::simd::Level;

/// Gradient descent; see the [module](self).
///
/// | setting | default | |
/// | --- | --- | --- |
/// | rate η | given | ≥ 0 |
/// | schedule | constant | a factor on η over the epochs |
/// | momentum | 0 | in \[0, 1) |
/// | nesterov | no | needs momentum |
/// | weight decay | 0 | ≥ 0, added to the gradient |
///
/// ```
/// use feasible_nn::Sgd;
/// let optimiser = Sgd::new(0.1).momentum(0.9).nesterov(true);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sgd {
    rate: f64,
    #[serde(default)]
    schedule: Schedule,
    #[serde(default)]
    momentum: f64,
    #[serde(default)]
    nesterov: bool,
    #[serde(default)]
    weight_decay: f64,
}

impl Sgd {
    /// With step size `rate` and no momentum.
    pub fn new(rate: f64) -> Self {
        let schedule = Schedule::Constant;
        Self { rate, schedule, momentum: 0.0, nesterov: false, weight_decay: 0.0 }
    }

    /// A factor on the rate over the epochs.
    pub fn schedule(self, schedule: Schedule) -> Self {
        Self { schedule, ..self }
    }

    /// The share of the last step that is kept.
    pub fn momentum(self, momentum: f64) -> Self {
        Self { momentum, ..self }
    }

    /// Whether to look ahead.
    pub fn nesterov(self, nesterov: bool) -> Self {
        Self { nesterov, ..self }
    }

    /// Adds `weight_decay`·θ to the gradient.
    pub fn weight_decay(self, weight_decay: f64) -> Self {
        Self { weight_decay, ..self }
    }
}

impl<T: Kernels> Optimiser<T> for Sgd {
    fn slots(&self) -> usize {
        usize::from(self.momentum != 0.0)
    }

    fn check(&self) -> Result<()> {
        check_rate(self.rate)?;
        self.schedule.check()?;
        let momentum = self.momentum;
        Error::unless((0.0..1.0).contains(&momentum), "momentum", momentum, "in [0, 1)")?;
        Error::unless(
            !self.nesterov || momentum > 0.0,
            "momentum",
            momentum,
            "positive with Nesterov's look-ahead",
        )?;
        check_decay(self.weight_decay)
    }

    fn step(&self, epoch: f64, state: &mut OptimiserState<T>, theta: &mut [T], gradient: &[T]) {
        state.step += 1;
        let step = SgdStep {
            rate: self.rate * self.schedule.factor(epoch),
            momentum: self.momentum,
            nesterov: self.nesterov,
            decay: self.weight_decay,
        };
        // PyTorch starts b at g; from b = 0 the rule b ← momentum·b + g does the same.
        let buffer = state.slots.first_mut().map_or(&mut [][..], |b| &mut b[..]);
        T::sgd(Level::best(), step, theta, gradient, buffer);
    }
}

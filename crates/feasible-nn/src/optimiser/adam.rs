//! Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019).
//!
//! m ← β₁m + (1 − β₁)g; v ← β₂v + (1 − β₂)g²; with m̂ = m/(1 − β₁ᵗ), v̂ = v/(1 − β₂ᵗ):
//! θ ← θ − η m̂ / (√v̂ + ε). Weight decay is added to the gradient in [`Adam`]; in [`AdamW`] it
//! shrinks θ by η·decay before the step and leaves the moments alone.

use feasible::{Error, Optimiser, OptimiserState, Result, Schedule};
use serde::{Deserialize, Serialize};

use super::{check_decay, check_rate};
use crate::kernel::{AdamStep, Kernels};
use crate::simd::Level;

macro_rules! adam {
    ($(#[$doc:meta])* $name:ident, decay $decay:literal $decay_function:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            rate: f64,
            #[serde(default)]
            schedule: Schedule,
            #[serde(default = "default_betas")]
            betas: (f64, f64),
            #[serde(default = "default_epsilon")]
            epsilon: f64,
            #[serde(default = "one")]
            unit: f64,
            #[serde(default = $decay_function)]
            weight_decay: f64,
        }

        impl $name {
            /// With step size `rate` and the defaults of the table above.
            pub fn new(rate: f64) -> Self {
                Self {
                    rate,
                    schedule: Schedule::Constant,
                    betas: default_betas(),
                    epsilon: default_epsilon(),
                    unit: 1.0,
                    weight_decay: $decay,
                }
            }

            /// A factor on the rate over the epochs.
            pub fn schedule(self, schedule: Schedule) -> Self {
                Self { schedule, ..self }
            }

            /// β₁ and β₂, how much of the moments is kept.
            pub fn betas(self, first: f64, second: f64) -> Self {
                Self { betas: (first, second), ..self }
            }

            /// ε, which keeps the division away from 0.
            pub fn epsilon(self, epsilon: f64) -> Self {
                Self { epsilon, ..self }
            }

            /// What gradients are divided by before anything else: about their size, where their squares would be beyond single
            /// precision. ε is in this unit.
            pub fn unit(self, unit: f64) -> Self {
                Self { unit, ..self }
            }

            /// How strongly θ is drawn to 0.
            pub fn weight_decay(self, weight_decay: f64) -> Self {
                Self { weight_decay, ..self }
            }

            fn checked(&self) -> Result<()> {
                check_rate(self.rate)?;
                self.schedule.check()?;
                for (name, beta) in [("beta1", self.betas.0), ("beta2", self.betas.1)] {
                    Error::unless((0.0..1.0).contains(&beta), name, beta, "in [0, 1)")?;
                }
                let epsilon = self.epsilon;
                // In f32 an ε that rounds to 0 would divide 0 by 0 where no gradient ever came.
                Error::unless(
                    epsilon >= 1e-30 && epsilon.is_finite(),
                    "epsilon",
                    epsilon,
                    "at least 1e-30",
                )?;
                let unit = self.unit;
                Error::unless(unit > 0.0 && unit.is_finite(), "unit", unit, "positive and finite")?;
                check_decay(self.weight_decay)
            }

            /// The step number `t`, from 1, without decay.
            fn numbers(&self, epoch: f64, t: u64) -> AdamStep {
                let rate = self.rate * self.schedule.factor(epoch);
                let (b1, b2) = self.betas;
                let t = t as f64;
                AdamStep {
                    rate: rate / (1.0 - b1.powf(t)),
                    betas: self.betas,
                    root: 1.0 / (1.0 - b2.powf(t)).sqrt(),
                    epsilon: self.epsilon,
                    decay: 0.0,
                    scale: 1.0 / self.unit,
                    keep: 1.0,
                }
            }
        }
    };
}

fn default_betas() -> (f64, f64) {
    (0.9, 0.999)
}

fn default_epsilon() -> f64 {
    1e-8
}

fn one() -> f64 {
    1.0
}

fn no_decay() -> f64 {
    0.0
}

fn decoupled_decay() -> f64 {
    0.01
}

adam! {
    /// Adam; see the [module](self).
    ///
    /// | setting | default | |
    /// | --- | --- | --- |
    /// | rate η | given | ≥ 0 |
    /// | schedule | constant | a factor on η over the epochs |
    /// | betas | 0.9, 0.999 | in \[0, 1) |
    /// | epsilon | 1e-8 | ≥ 1e-30 |
    /// | unit | 1 | > 0, what gradients are divided by |
    /// | weight decay | 0 | ≥ 0, added to the gradient |
    ///
    /// ```
    /// use feasible::Schedule;
    /// use feasible_nn::Adam;
    /// let halving = Schedule::Step { factor: 0.5, every: 50.0 };
    /// let optimiser = Adam::new(0.1).schedule(halving).betas(0.9, 0.99);
    /// ```
    Adam, decay 0.0 "no_decay"
}

adam! {
    /// Adam with decoupled weight decay; see the [module](self).
    ///
    /// Settings as [`Adam`]'s, except that the weight decay is 0.01 unless set, and decoupled.
    AdamW, decay 0.01 "decoupled_decay"
}

fn apply<T: Kernels>(
    step: AdamStep,
    state: &mut OptimiserState<T>,
    theta: &mut [T],
    gradient: &[T],
) {
    let [m, v] = &mut state.slots[..] else {
        panic!("Adam's state has two slots, this one has {}", state.slots.len());
    };
    T::adam(Level::best(), step, theta, gradient, m, v);
}

impl<T: Kernels> Optimiser<T> for Adam {
    fn slots(&self) -> usize {
        2
    }

    fn check(&self) -> Result<()> {
        self.checked()
    }

    fn step(&self, epoch: f64, state: &mut OptimiserState<T>, theta: &mut [T], gradient: &[T]) {
        state.step += 1;
        let step = AdamStep { decay: self.weight_decay, ..self.numbers(epoch, state.step) };
        apply(step, state, theta, gradient);
    }
}

impl<T: Kernels> Optimiser<T> for AdamW {
    fn slots(&self) -> usize {
        2
    }

    fn check(&self) -> Result<()> {
        self.checked()
    }

    fn step(&self, epoch: f64, state: &mut OptimiserState<T>, theta: &mut [T], gradient: &[T]) {
        state.step += 1;
        let rate = self.rate * self.schedule.factor(epoch);
        let keep = 1.0 - rate * self.weight_decay;
        let step = AdamStep { keep, ..self.numbers(epoch, state.step) };
        apply(step, state, theta, gradient);
    }
}

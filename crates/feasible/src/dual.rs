//! Dual optimisers: how the violations move the multipliers.
//!
//! With s = ℓ − c the violation of a multiplier m (positive: violated), every method ends in the
//! projection m ← \[m + step\]₊:
//!
//! | method | step | reference |
//! | --- | --- | --- |
//! | ascent | η s | Algorithm 1 of the paper |
//! | Adam | η m̂ / (√v̂ + ε), m̂ and v̂ the bias-corrected moments of s | Kingma and Ba 2015 |
//! | νPI | κᵢ s + κₚ (ξ' − ξ), ξ' = ν ξ + (1 − ν) s | Sohrabi et al. 2024 |
//!
//! The gradient of the Lagrangian with respect to λ(n) is s(n)/N: Algorithm 1 writes η/N.
//! [`Scaling`] selects whether ascent and νPI see s or s/N for pointwise requirements; Adam does
//! not care (up to ε), and always sees s.
//!
//! Each multiplier has its own state, and only multipliers that receive a violation move:
//! no momentum leaks into samples that were not seen.
//!
//! Under Adam a multiplier moves by about η per step whatever the violation, so the sizes of
//! its multipliers are not sensitivities until they have settled.
//!
//! ```
//! use feasible::dual::DualState;
//! use feasible::{Dual, DualMethod, Scaling};
//! // One of two multipliers has been given a violation; the other does not move.
//! let step = |dual: Dual| {
//!     let (mut multipliers, mut state) = ([1.0, 1.0], DualState::start(&dual, 2));
//!     dual.step(0.0, 2.0, &mut multipliers, &mut state, [(0, 0.5)]);
//!     multipliers
//! };
//! assert_eq!(step(Dual::ascent(1.0)), [1.5, 1.0]);
//! // As the paper writes it: η/N, here with N = 2.
//! assert_eq!(step(Dual::algorithm1(1.0)), [1.25, 1.0]);
//! let scaling = |dual: Dual| match dual.method() {
//!     DualMethod::Ascent { scaling } | DualMethod::NuPi { scaling, .. } => Some(*scaling),
//!     DualMethod::Adam { .. } => None,
//! };
//! assert_eq!(scaling(Dual::algorithm1(1.0)), Some(Scaling::PerSample));
//! assert_eq!(scaling(Dual::nu_pi(0.1, 1.0, 0.9)), Some(Scaling::Raw));
//! // Adam moves by its rate whatever the violation.
//! assert!((step(Dual::adam(0.1))[0] - 1.1).abs() < 1e-6);
//! ```

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::schedule::Schedule;

/// Whether a pointwise violation enters a dual step unscaled or divided by N.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scaling {
    /// s(n): rates mean the same for μ and λ (the default).
    #[default]
    Raw,
    /// s(n)/N, as in Algorithm 1: the gradient of the Lagrangian.
    PerSample,
}

/// The rule of a dual step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "method")]
pub enum DualMethod {
    /// Projected (sub)gradient ascent.
    Ascent {
        /// Of pointwise violations.
        scaling: Scaling,
    },
    /// Adam.
    Adam {
        /// Decay of the first moment, in [0, 1).
        beta1: f64,
        /// Decay of the second moment, in [0, 1). With 0.999 early violations are
        /// remembered long: multipliers return to 0 slowly.
        beta2: f64,
        /// Added to √v̂.
        epsilon: f64,
    },
    /// Proportional-integral control of the violation; η is κᵢ.
    NuPi {
        /// κₚ, at least 0.
        proportional: f64,
        /// ν in [0, 1): smoothing of the proportional part; 0 is plain PI.
        nu: f64,
        /// Of pointwise violations.
        scaling: Scaling,
    },
}

/// A dual optimiser: a method, its rate and the rate's schedule.
///
/// ```
/// use feasible::{Dual, Schedule};
/// let compas = Dual::adam(2.0).schedule(Schedule::Step { factor: 0.5, every: 50.0 });
/// # compas.check()?;
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dual {
    rate: f64,
    schedule: Schedule,
    method: DualMethod,
}

impl Dual {
    fn new(rate: f64, method: DualMethod) -> Self {
        Self { rate, schedule: Schedule::Constant, method }
    }

    /// Projected ascent on the raw violations.
    pub fn ascent(rate: f64) -> Self {
        Self::new(rate, DualMethod::Ascent { scaling: Scaling::Raw })
    }

    /// Projected ascent as Algorithm 1 writes it: η for μ, η/N for λ.
    pub fn algorithm1(rate: f64) -> Self {
        Self::new(rate, DualMethod::Ascent { scaling: Scaling::PerSample })
    }

    /// Adam with its usual decays 0.9 and 0.999.
    pub fn adam(rate: f64) -> Self {
        Self::new(rate, DualMethod::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 })
    }

    /// Adam with other decays of its moments.
    pub fn adam_with(rate: f64, beta1: f64, beta2: f64) -> Self {
        Self::new(rate, DualMethod::Adam { beta1, beta2, epsilon: 1e-8 })
    }

    /// ε of Adam: its steps fall with violations that are not well above it. Default 1e-8; other methods have none.
    ///
    /// ```
    /// // Violations of the order of 1e-12.
    /// assert!(feasible::Dual::adam(0.1).epsilon(1e-20).check().is_ok());
    /// ```
    pub fn epsilon(mut self, epsilon: f64) -> Self {
        if let DualMethod::Adam { epsilon: own, .. } = &mut self.method {
            *own = epsilon;
        }
        self
    }

    /// νPI on the raw violations: integral gain `rate`, proportional gain and smoothing.
    pub fn nu_pi(rate: f64, proportional: f64, nu: f64) -> Self {
        Self::new(rate, DualMethod::NuPi { proportional, nu, scaling: Scaling::Raw })
    }

    /// Changes the rate over the epochs.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// The rate η.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The rule.
    pub fn method(&self) -> &DualMethod {
        &self.method
    }

    /// # Errors
    /// A rate, decay or gain outside its range.
    pub fn check(&self) -> Result<()> {
        let rate_ok = self.rate > 0.0 && self.rate.is_finite();
        Error::unless(rate_ok, "dual rate", self.rate, "positive and finite")?;
        let decay = |name, x| Error::unless((0.0..1.0).contains(&x), name, x, "in [0, 1)");
        match self.method {
            DualMethod::Ascent { .. } => {}
            DualMethod::Adam { beta1, beta2, epsilon } => {
                decay("dual beta1", beta1)?;
                decay("dual beta2", beta2)?;
                let fine = epsilon > 0.0 && epsilon.is_finite();
                Error::unless(fine, "dual epsilon", epsilon, "positive and finite")?;
            }
            DualMethod::NuPi { proportional, nu, .. } => {
                let gain_ok = proportional >= 0.0 && proportional.is_finite();
                Error::unless(gain_ok, "proportional gain", proportional, "at least 0 and finite")?;
                decay("nu", nu)?;
            }
        }
        self.schedule.check()
    }

    /// Moves all multipliers of one requirement, whose violations are `violations` + `margin`; `epoch` is the number of
    /// epochs done, for schedules, and `points` the N of a pointwise requirement, 1 of an average.
    ///
    /// # Panics
    /// If `state` was made by another method, or for fewer multipliers.
    #[doc(hidden)]
    pub fn step_all(
        &self,
        epoch: f64,
        points: f64,
        multipliers: &mut [f64],
        state: &mut DualState,
        violations: &[f64],
        margin: f64,
    ) {
        let DualState { first, second, steps } = state;
        match (self.method, steps.first()) {
            // All in step: one loop without branches.
            (DualMethod::Adam { beta1, beta2, epsilon }, Some(&before))
                if steps.iter().fold(true, |same, &s| same & (s == before)) =>
            {
                let number = before.saturating_add(1);
                steps.fill(number);
                let rate = self.rate * self.schedule.factor(epoch);
                let adam = AdamStep::new(rate, beta1, beta2, epsilon, number);
                let moments = first.iter_mut().zip(second);
                for ((m, &violation), (first, second)) in
                    multipliers.iter_mut().zip(violations).zip(moments)
                {
                    adam.apply(violation + margin, first, second, m);
                }
            }
            _ => {
                let seen = violations.iter().map(|s| s + margin).enumerate();
                self.step(epoch, points, multipliers, state, seen);
            }
        }
    }

    /// Moves the multipliers of one requirement.
    ///
    /// `seen` pairs the index of a multiplier with its violation; others do not move.
    ///
    /// # Panics
    /// If `state` was made by another method, or for an index that is not a multiplier's.
    pub fn step(
        &self,
        epoch: f64,
        points: f64,
        multipliers: &mut [f64],
        state: &mut DualState,
        seen: impl IntoIterator<Item = (usize, f64)>,
    ) {
        let rate = self.rate * self.schedule.factor(epoch);
        let scale = |scaling| match scaling {
            Scaling::PerSample => 1.0 / points,
            Scaling::Raw => 1.0,
        };
        match self.method {
            DualMethod::Ascent { scaling } => {
                let rate = rate * scale(scaling);
                for (n, violation) in seen {
                    ascend(&mut multipliers[n], rate * violation);
                }
            }
            DualMethod::Adam { beta1, beta2, epsilon } => {
                let mut adam = AdamStep::new(rate, beta1, beta2, epsilon, 1);
                for (n, violation) in seen {
                    state.steps[n] = state.steps[n].saturating_add(1);
                    // Most multipliers have seen as many steps as the one before.
                    if state.steps[n] != adam.number {
                        adam = AdamStep::new(rate, beta1, beta2, epsilon, state.steps[n]);
                    }
                    let (first, second) = (&mut state.first[n], &mut state.second[n]);
                    adam.apply(violation, first, second, &mut multipliers[n]);
                }
            }
            DualMethod::NuPi { proportional, nu, scaling } => {
                let scale = scale(scaling);
                for (n, violation) in seen {
                    let violation = scale * violation;
                    // ξ starts at the first violation seen, so that the first step is plain ascent.
                    let before = if state.steps[n] == 0 { violation } else { state.first[n] };
                    state.steps[n] = state.steps[n].saturating_add(1);
                    let after = nu * before + (1.0 - nu) * violation;
                    state.first[n] = after;
                    let step = rate * violation + proportional * (after - before);
                    ascend(&mut multipliers[n], step);
                }
            }
        }
    }
}

/// m ← \[m + step\]₊.
#[inline(always)]
fn ascend(multiplier: &mut f64, step: f64) {
    *multiplier = (*multiplier + step).max(0.0);
}

/// Step `number` of Adam: η m̂ / (√v̂ + ε) as r·first / (√second + e).
#[derive(Clone, Copy, Debug)]
struct AdamStep {
    number: u32,
    beta1: f64,
    beta2: f64,
    /// r = η √u₂ / u₁, where u = 1 − βᵗ takes the bias away.
    rate: f64,
    /// e = ε √u₂.
    epsilon: f64,
}

impl AdamStep {
    fn new(rate: f64, beta1: f64, beta2: f64, epsilon: f64, number: u32) -> Self {
        let unbias = |beta: f64| 1.0 - beta.powi(number.min(i32::MAX as u32) as i32);
        let root = unbias(beta2).sqrt();
        let (rate, epsilon) = (rate * root / unbias(beta1), epsilon * root);
        Self { number, beta1, beta2, rate, epsilon }
    }

    #[inline(always)]
    fn apply(&self, violation: f64, first: &mut f64, second: &mut f64, multiplier: &mut f64) {
        *first = self.beta1 * *first + (1.0 - self.beta1) * violation;
        *second = self.beta2 * *second + (1.0 - self.beta2) * violation * violation;
        ascend(multiplier, self.rate * *first / (second.sqrt() + self.epsilon));
    }
}

/// What a dual optimiser remembers of each multiplier of one requirement. Unused parts are empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DualState {
    first: Vec<f64>,
    second: Vec<f64>,
    steps: Vec<u32>,
}

impl DualState {
    /// Lengths of `first` (and `steps`) and of `second`.
    fn lengths(dual: &Dual, multipliers: usize) -> (usize, usize) {
        match dual.method {
            DualMethod::Ascent { .. } => (0, 0),
            DualMethod::Adam { .. } => (multipliers, multipliers),
            DualMethod::NuPi { .. } => (multipliers, 0),
        }
    }

    /// Whether this is what such a dual optimiser remembers of this number of multipliers.
    pub(crate) fn fits(&self, dual: &Dual, multipliers: usize) -> bool {
        let (first, second) = Self::lengths(dual, multipliers);
        (self.first.len(), self.second.len(), self.steps.len()) == (first, second, first)
    }

    /// What it remembers, one list after the other: of each multiplier, or empty.
    pub(crate) fn lists(&self) -> [Vec<f64>; 3] {
        let steps = self.steps.iter().map(|&steps| f64::from(steps)).collect();
        [self.first.clone(), self.second.clone(), steps]
    }

    /// What remembers such lists.
    pub(crate) fn of_lists([first, second, steps]: [Vec<f64>; 3]) -> Self {
        Self { first, second, steps: steps.into_iter().map(|steps| steps as u32).collect() }
    }

    /// Whether anything it remembers is not a number.
    pub(crate) fn has_nan(&self) -> bool {
        self.first.iter().chain(&self.second).any(|x| x.is_nan())
    }

    /// The state before the first step.
    pub fn start(dual: &Dual, multipliers: usize) -> Self {
        let (first, second) = Self::lengths(dual, multipliers);
        Self { first: vec![0.0; first], second: vec![0.0; second], steps: vec![0; first] }
    }

    pub(crate) fn all(problem: &Problem, duals: &[Dual]) -> Vec<Self> {
        let pairs = problem.requirements().iter().zip(duals);
        pairs.map(|(requirement, dual)| Self::start(dual, requirement.multipliers())).collect()
    }
}

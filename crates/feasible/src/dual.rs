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
    pub(crate) fn step_all(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::Kind;

    fn run(dual: &Dual, kind: Kind, start: &[f64], violations: &[&[(usize, f64)]]) -> Vec<f64> {
        let mut multipliers = start.to_vec();
        let mut state = DualState::start(dual, start.len());
        let points = if kind == Kind::Average { 1.0 } else { start.len() as f64 };
        for seen in violations {
            dual.step(0.0, points, &mut multipliers, &mut state, seen.iter().copied());
        }
        multipliers
    }

    #[test]
    fn ascent_adds_the_rate_times_the_violation_and_projects() {
        let dual = Dual::ascent(0.5);
        assert_eq!(run(&dual, Kind::Average, &[1.0], &[&[(0, 0.4)]]), [1.2]);
        assert_eq!(run(&dual, Kind::Average, &[1.0], &[&[(0, -9.0)]]), [0.0]);
    }

    #[test]
    fn algorithm1_divides_pointwise_violations_by_n_and_average_ones_not() {
        let dual = Dual::algorithm1(0.5);
        assert_eq!(run(&dual, Kind::Pointwise, &[1.0, 1.0], &[&[(0, 0.4)]]), [1.1, 1.0]);
        assert_eq!(run(&dual, Kind::Average, &[1.0], &[&[(0, 0.4)]]), [1.2]);
    }

    #[test]
    fn the_first_adam_step_is_the_rate_whatever_the_violation() {
        let moved = run(&Dual::adam(0.01), Kind::Pointwise, &[1.0; 2], &[&[(0, 1e-3), (1, 50.0)]]);
        for m in moved {
            // ε = 1e-8 beside a violation of 1e-3 shortens the step by 1e-5 of itself.
            assert!((m - 1.01).abs() < 2e-7, "{m}");
        }
    }

    #[test]
    fn a_multiplier_that_is_not_seen_does_not_move_and_keeps_its_own_bias_correction() {
        for dual in [Dual::ascent(0.1), Dual::adam(0.1), Dual::nu_pi(0.1, 0.5, 0.9)] {
            let violation = |n| [(n, 0.7)];
            let late = run(
                &dual,
                Kind::Pointwise,
                &[1.0; 2],
                &[&violation(0), &violation(0), &violation(1)],
            );
            let alone = run(&dual, Kind::Pointwise, &[1.0; 2], &[&violation(1)]);
            assert_eq!(alone[0], 1.0);
            assert_eq!(late[1], alone[1], "{dual:?}");
        }
    }

    #[test]
    fn nu_pi_without_proportional_gain_is_ascent() {
        let violations: Vec<[(usize, f64); 1]> = (0..9).map(|t| [(0, (t as f64).cos())]).collect();
        let violations: Vec<&[(usize, f64)]> = violations.iter().map(|s| s.as_slice()).collect();
        let pi = run(&Dual::nu_pi(0.3, 0.0, 0.9), Kind::Average, &[1.0], &violations);
        assert_eq!(pi, run(&Dual::ascent(0.3), Kind::Average, &[1.0], &violations));
    }

    #[test]
    fn nu_pi_answers_a_jump_of_the_violation_with_its_proportional_part() {
        // Violation 0 then 1, plain PI (ν = 0): κᵢ·1 + κₚ·(1 − 0) on the second step.
        let moved =
            run(&Dual::nu_pi(0.1, 2.0, 0.0), Kind::Average, &[1.0], &[&[(0, 0.0)], &[(0, 1.0)]]);
        assert!((moved[0] - 3.1).abs() < 1e-12);
    }

    #[test]
    fn all_multipliers_at_once_move_as_one_by_one() {
        for dual in [Dual::adam(0.3), Dual::ascent(0.3), Dual::nu_pi(0.3, 0.5, 0.9)] {
            let start = [1.0, 0.1, 0.0, 2.0];
            let (mut together, mut apart) = (start, start);
            let mut states = [DualState::start(&dual, 4), DualState::start(&dual, 4)];
            for t in 0..5 {
                let violations: [f64; 4] =
                    std::array::from_fn(|n| (n as f64 + 2.0 * t as f64).sin());
                let [a, b] = &mut states;
                dual.step_all(t as f64, together.len() as f64, &mut together, a, &violations, 0.25);
                let seen = violations.iter().map(|s| s + 0.25).enumerate();
                dual.step(t as f64, apart.len() as f64, &mut apart, b, seen);
            }
            assert_eq!(together, apart);
            assert_eq!(states[0], states[1]);
        }
    }

    #[test]
    fn rates_and_decays_are_checked() {
        for (dual, name) in [
            (Dual::ascent(0.0), "dual rate"),
            (Dual::adam(f64::NAN), "dual rate"),
            (Dual::adam_with(0.1, 1.0, 0.9), "dual beta1"),
            (Dual::nu_pi(0.1, -1.0, 0.0), "proportional gain"),
            (Dual::nu_pi(0.1, 1.0, 1.0), "nu"),
        ] {
            let error = dual.check().unwrap_err().to_string();
            assert!(error.starts_with(name), "{error}");
        }
    }
}

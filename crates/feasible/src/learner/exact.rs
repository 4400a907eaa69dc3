//! `Exact`: Algorithm 1 of the paper. Minimise the Lagrangian over θ to a measured tolerance ρ,
//! then one dual step.
//!
//! Two kinds of dual step:
//!
//! - **ascent** (`Learner::ascent`), Algorithm 1 to the letter: μ ← \[μ + η s\]₊ and
//!   λ ← \[λ + (η/N) s\]₊ after each minimisation of the Lagrangian. Theorem 3 bounds the
//!   number of steps to a neighbourhood whose size is proportional to η.
//! - **proximal** (the default), the same step on the augmented Lagrangian (method of
//!   multipliers), with a penalty r that takes the place of η and grows while the violation
//!   shrinks slowly. Same saddle points; it converges to them instead of to a neighbourhood, and
//!   needs no strong convexity.
//!
//! The inner minimisation is L-BFGS on the full populations: smooth losses, and views that do
//! not depend on the model.

use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::dual::Dual;
use crate::error::{Error, Result};
use crate::learner::augmented::Augmented;
use crate::learner::feasibility::{Effort, infeasibility};
use crate::learner::lbfgs::{Limits, minimise};
use crate::learner::report::Rho;
use crate::learner::strategy::{Desk, Moved, Strategy, move_all_duals};
use crate::measurement::Measurement;
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::problem::Problem;
use crate::real::Real;

/// Where the penalty of the augmented Lagrangian starts, unless told.
const FIRST_PENALTY: f64 = 10.0;
const LARGEST_PENALTY: f64 = 1e9;

/// The strategy of Algorithm 1. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exact {
    /// η of the paper's ascent; proximal if `None`.
    pub(crate) rate: Option<f64>,
    /// Where the penalty r starts.
    pub(crate) penalty: f64,
    /// Largest inner tolerance ρ.
    pub(crate) rho: f64,
    /// Largest number of inner iterations.
    pub(crate) iterations: usize,
}

impl Default for Exact {
    fn default() -> Self {
        Self { rate: None, penalty: FIRST_PENALTY, rho: 1e-10, iterations: 1000 }
    }
}

impl Exact {
    /// Minimises over θ; returns ρ. `None` if interrupted on the way: θ is then where it was, and
    /// the minimisation starts again when the training goes on.
    fn minimise<M: Model>(&self, desk: &mut Desk<'_, '_, M>, penalty: Option<f64>) -> Option<Rho> {
        let problem = desk.lagrangian.problem();
        let alpha = problem.decay();
        let proven = alpha > 0.0 && problem.is_convex(desk.lagrangian.model());
        let rho = |norm: f64, decrement: f64| {
            if proven { norm * norm / (2.0 * alpha) } else { decrement }
        };
        let smallest = desk.rules.kkt.unwrap_or(f64::INFINITY);
        let interrupt = desk.interrupt;
        let done = |norm: f64, decrement: f64| {
            let small = rho(norm, decrement) <= self.rho && norm <= 0.5 * smallest;
            small || interrupt.load(Ordering::Relaxed)
        };
        let mut x: Vec<f64> = desk.state.theta.iter().map(|t| t.to_f64()).collect();
        let limits = Limits { iterations: self.iterations, done: &done, target: f64::NEG_INFINITY };
        let mut function = Augmented::new(desk.lagrangian, &desk.state.multipliers, penalty);
        let minimum = minimise(&mut function, &mut x, limits);
        if desk.is_interrupted() {
            return None;
        }
        for (theta, x) in desk.state.theta.iter_mut().zip(&x) {
            *theta = M::Real::from_f64(*x);
        }
        Some(Rho { value: rho(minimum.gradient_norm, minimum.decrement), proven })
    }

    /// Raises the penalty while violation and complementarity shrink too slowly.
    fn adapt(before: f64, after: f64, penalty: &mut f64) {
        if after > 0.25 * before {
            *penalty = (4.0 * *penalty).min(LARGEST_PENALTY);
        }
    }
}

impl<M: Model> Strategy<M> for Exact {
    fn check(&self, problem: &Problem) -> Result<()> {
        let positive = |name, x: f64| Error::unless(x > 0.0 && x.is_finite(), name, x, "positive");
        positive("dual rate", self.rate.unwrap_or(1.0))?;
        positive("penalty", self.penalty)?;
        positive("rho", self.rho)?;
        Error::unless(self.iterations > 0, "inner iterations", 0.0, "at least 1")?;
        if problem.has_adaptive_views() {
            return Err(Error::Setting {
                setting: "populations whose view depends on the model".into(),
                value: 1.0,
                allowed: "none for the exact learner: its inner problem must stand still".into(),
            });
        }
        Ok(())
    }

    fn duals(&self, problem: &Problem) -> Vec<Dual> {
        let dual = Dual::algorithm1(self.rate.unwrap_or(1.0));
        vec![dual; problem.requirements().len()]
    }

    fn optimiser_slots(&self) -> usize {
        0
    }

    fn first_penalty(&self) -> f64 {
        self.penalty
    }

    fn epoch(&self, mut desk: Desk<'_, '_, M>) -> Option<Moved> {
        if desk.is_interrupted() {
            return None;
        }
        let problem = desk.lagrangian.problem();
        let primal = Instant::now();
        let penalty = match self.rate {
            Some(_) => None,
            None => Some(desk.state.penalty),
        };
        let rho = self.minimise(&mut desk, penalty)?;
        let primal_time = primal.elapsed();
        let dual = Instant::now();
        let measurement = desk.lagrangian.measure(&desk.state.theta);
        let state = &mut *desk.state;
        let mut against = None;
        if measurement.is_finite() {
            match penalty {
                Some(r) => {
                    let after = unsettled(&measurement, &state.multipliers, r);
                    let before = state.progress.least_violation.unwrap_or(f64::INFINITY);
                    Self::adapt(before, after, &mut state.penalty);
                    state.progress.least_violation = Some(after.min(before));
                    // θ minimises the plain Lagrangian at the new multipliers.
                    state.multipliers = state.multipliers.stepped(r, &measurement);
                }
                None => {
                    against = Some(state.multipliers.clone());
                    let duals = Strategy::<M>::duals(self, problem);
                    move_all_duals(problem, &duals, state, 0.0, &measurement);
                }
            }
        }
        let dual_time = dual.elapsed();
        // Look after 4, 8, 16, … steps that have not led to feasibility.
        let steps = state.epoch + 1;
        let look = desk.rules.look_for_infeasibility
            && steps >= 4
            && steps.is_power_of_two()
            && !measurement.is_feasible(problem, desk.rules.tolerance);
        let infeasible = look
            .then(|| {
                let effort = Effort { iterations: 2000, hopeful: 0.0 };
                infeasibility(desk.lagrangian, &desk.state.theta, desk.rules.tolerance, effort)
            })
            .flatten();
        Some(Moved { measurement, against, rho: Some(rho), infeasible, primal_time, dual_time })
    }
}

/// How far slacks and multipliers are from complementary: max |max(s, −m/r)|.
fn unsettled(measurement: &Measurement, multipliers: &Multipliers, penalty: f64) -> f64 {
    let rows = measurement.slacks.iter().zip(multipliers.iter());
    rows.flat_map(|(slacks, m)| slacks.primal().zip(m))
        .map(|(s, m)| s.max(-m / penalty).abs())
        .fold(0.0, f64::max)
}

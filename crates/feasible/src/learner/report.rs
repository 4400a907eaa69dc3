//! What an observer sees of an epoch.

use serde::{Deserialize, Serialize};

use crate::measurement::Standing;
use crate::optimality::{Gap, Kkt};

/// An epoch (or an outer iteration of the exact learner), as observers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochReport {
    /// Epochs done, this one included.
    pub epoch: u64,
    /// The average loss of the objective.
    pub objective: f64,
    /// α/2 ‖θ‖².
    pub penalty: f64,
    /// L̂ at θ and the multipliers it was trained against.
    pub lagrangian: f64,
    /// The duality gap of that pair.
    pub gap: Gap,
    /// What the minimisation over θ is known to have missed; `None` if it is not measured.
    pub rho: Option<InnerTolerance>,
    /// KKT residuals, where a stopping rule asks for them.
    pub kkt: Option<Kkt>,
    /// Every requirement, with its multipliers after the dual step.
    pub requirements: Vec<Standing>,
    /// The same on the validation populations, if there are any.
    pub validation: Option<ValidationReport>,
    /// Whether this is the best iterate so far.
    pub best: bool,
}

/// What an epoch is about to do, in this order: [`Training::advance_observed`](crate::Training::advance_observed)
/// tells. There is no clock in here: who wants to know how long a phase takes looks at one when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Moving θ.
    Primal,
    /// Measuring violations and moving multipliers.
    Dual,
    /// All that comes after: looking for infeasibility, validation, rules for stopping.
    Judging,
}

/// Objective and requirements on the validation populations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidationReport {
    /// The average loss of the objective.
    pub objective: f64,
    /// Every requirement; multipliers are from training.
    pub requirements: Vec<Standing>,
}

/// The inner tolerance of Algorithm 1: L̂(θ) ≤ min L̂ + ρ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct InnerTolerance {
    /// ρ.
    pub value: f64,
    /// Proven (‖∇L̂‖²/2α for an α-strongly convex Lagrangian) or estimated (what a
    /// quasi-Newton step would still gain).
    pub proven: bool,
}

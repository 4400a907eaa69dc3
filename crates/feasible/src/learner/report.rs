//! What an observer sees of an epoch.

use serde::{Deserialize, Serialize};

use crate::measurement::Standing;
use crate::optimality::{Gap, Kkt};

/// An epoch (or an outer iteration of the exact learner), as observers see it.
///
/// ```
/// use feasible::learner::{Best, InnerTolerance, Phase, Progress, Shortfall, ValidationReport};
/// use feasible::{EpochReport, Inputs, Learner, Loss, Outcome, Population, Problem, Requirement, Samples, Targets, Training};
/// use feasible_nn::{Linear, Sgd};
/// let x = Inputs::dense(vec![0.0, 1.0, 2.0], 1)?;
/// let everyone = Population::new(Samples::new(x, Targets::Values(vec![0.0, 1.0, 8.0]))?);
/// let problem = |c| {
///     let each = Requirement::pointwise("each", &everyone, Loss::Squared).at_most(c);
///     Problem::minimise(&everyone, Loss::Squared).subject_to(each).check()
/// };
/// let (strict, loose) = (problem(0.5)?, problem(5.0)?);
///
/// // By hand, with another problem to validate on: a phase is announced before it begins.
/// let learner = Learner::alternating(Sgd::new(0.05))
///     .epochs(20)
///     .keep_best_on(loose)
///     .stop_when_feasible();
/// let mut training: Training<'_, _> = learner.begin(&strict, Linear::new(1, 1)?.double())?;
/// let mut phases = Vec::new();
/// let report: EpochReport = training.advance_observed(&mut |phase| phases.push(phase)).expect("an epoch");
/// assert_eq!(phases, [Phase::Primal, Phase::Dual, Phase::Judging]);
/// let Some(ValidationReport { requirements, .. }) = &report.validation else { unreachable!() };
/// assert_eq!((requirements[0].limit, report.requirements[0].limit), (5.0, 0.5));
/// let Some(Best { epoch, .. }) = &training.state().best else { unreachable!() };
/// assert_eq!((*epoch, report.best), (1, true));
/// let Progress { best, .. } = &training.state().progress;
/// assert!(best.is_some());
/// training.stop();
/// assert_eq!(training.finish().outcome, Outcome::Interrupted);
///
/// // The exact learner proves how nearly it minimised; a line cannot meet the strict limit.
/// let solution = Learner::exact().solve_observed(&strict, Linear::new(1, 1)?.double(), |report| {
///     if let Some(InnerTolerance { value, .. }) = report.rho {
///         assert!(value >= 0.0);
///     }
///     std::ops::ControlFlow::Continue(())
/// })?;
/// assert!(matches!(solution.outcome, Outcome::Infeasible { proven: true, .. }), "{}", solution.outcome);
/// let Shortfall { requirement, violation, .. } = &solution.shortfalls[0];
/// assert!(requirement == "each" && *violation > 0.0);
/// # Ok::<(), feasible::Error>(())
/// ```
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
    /// KKT residuals, where a stopping rule needs them.
    pub kkt: Option<Kkt>,
    /// Every requirement, with its multipliers after the dual step.
    pub requirements: Vec<Standing>,
    /// The same on the validation populations, if there are any.
    pub validation: Option<ValidationReport>,
    /// Whether this is the best iterate so far.
    pub best: bool,
}

/// What an epoch is about to do, in this order: [`Training::advance_observed`](crate::Training::advance_observed)
/// reports it. The core has no clock: to time a phase, read one when it begins.
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

//! Which nonlinearity the network of a run has, where its file leaves that open ([`Plan::leaves_activation_open`]).
//!
//! A network of each kind is trained without the requirements, with seed 0, and the one with the lesser loss on the validation rows is taken: what suits the
//! table does not depend on a limit or a seed, so that the runs of a sweep and of several seeds have the same kind. The run's problem file says which it is.

use feasible::Outcome;
use feasible_problem::plan::Plan;

use crate::error::Result;
use crate::fit::solve;
use crate::interrupt::Interrupt;
use crate::parts::on_validation;

/// The plan with the network that does better without requirements, or as it is if nothing is open; `None` if it was interrupted.
///
/// # Errors
/// As [`fit_in`](crate::fit_in).
pub fn settle_network(plan: &Plan, interrupt: &Interrupt) -> Result<Option<Plan>> {
    if !plan.leaves_activation_open() {
        return Ok(Some(plan.clone()));
    }
    let mut best = None;
    for activation in plan.model().activation().into_iter().chain(plan.other_activations()) {
        let candidate = plan.clone().with_seed(0).with_activation(activation)?;
        let candidate = candidate.without_requirements()?;
        let Some(solution) = solve(&candidate, interrupt)? else { return Ok(None) };
        let loss = match solution.outcome {
            Outcome::Diverged { .. } => f64::INFINITY,
            _ => on_validation(&candidate, &solution.theta)?.objective,
        };
        if best.is_none_or(|(least, _)| loss < least) {
            best = Some((loss, activation));
        }
    }
    best.map(|(_, activation)| Ok(plan.settled_on(activation)?)).transpose()
}

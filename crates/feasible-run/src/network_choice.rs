//! Which nonlinearity the network of a run has, where its file leaves that open ([`Plan::leaves_activation_open`]).
//!
//! A network of each kind is trained without the requirements, with seed 0. Another kind than the plan's own is taken if its losses on the validation rows are
//! clearly lower: where rows do not tell the two apart, the smoother one is the safer one under requirements. What suits the
//! table does not depend on a limit or a seed, so that the runs of a sweep and of several seeds have the same kind. The run's problem file says which it is.

use feasible::{Outcome, Solution};
use feasible_problem::network::Network;
use feasible_problem::plan::Plan;

use crate::error::Result;
use crate::fit::solve;
use crate::interrupt::Interrupt;

/// By how many standard errors another kind of network must be better.
const BETTER: f64 = 2.0;

/// The plan with the network that does better without requirements, or as it is if nothing is open; `None` if it was interrupted.
///
/// # Errors
/// As [`fit_in`](crate::fit_in).
pub fn settle_network(plan: &Plan, interrupt: &Interrupt) -> Result<Option<Plan>> {
    let own = plan.model().activation().filter(|_| plan.leaves_activation_open());
    let Some(own) = own else { return Ok(Some(plan.clone())) };
    let mut best: Option<(Vec<f64>, _)> = None;
    for activation in std::iter::once(own).chain(plan.other_activations()) {
        let candidate = plan.clone().with_seed(0).with_activation(activation)?;
        let candidate = candidate.without_requirements()?;
        let Some(solution) = solve(&candidate, interrupt)? else { return Ok(None) };
        if let Outcome::Diverged { .. } = solution.outcome {
            continue;
        }
        let losses = unseen_losses(&candidate, candidate.model(), &solution)?;
        if best.as_ref().is_none_or(|(least, _)| worse_by(least, &losses) > BETTER) {
            best = Some((losses, activation));
        }
    }
    Ok(Some(plan.settled_on(best.map_or(own, |(_, activation)| activation))?))
}

/// The losses of the objective on the validation rows, which the training has not seen; none if there are no such rows.
pub(crate) fn unseen_losses(
    plan: &Plan,
    model: &Network,
    solution: &Solution<f32>,
) -> Result<Vec<f64>> {
    let Some(problem) = plan.validation() else { return Ok(Vec::new()) };
    let objective = problem.objective();
    Ok(objective.population().losses(objective.loss(), model, &solution.theta)?)
}

/// By how many standard errors the losses of some rows are above others of the same rows, in the mean.
pub(crate) fn worse_by(losses: &[f64], others: &[f64]) -> f64 {
    let n = losses.len() as f64;
    let apart = || losses.iter().zip(others).map(|(a, b)| a - b);
    let mean = apart().sum::<f64>() / n;
    let variance = apart().map(|d| (d - mean) * (d - mean)).sum::<f64>() / (n - 1.0);
    mean / (variance / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_difference_is_given_in_its_standard_errors() {
        // Differences 1, 2, 3: mean 2, variance 1, standard error 1/√3.
        let found = worse_by(&[2.0, 4.0, 6.0], &[1.0, 2.0, 3.0]);
        assert!((found - 2.0 * 3f64.sqrt()).abs() < 1e-12, "{found}");
        assert!(worse_by(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]) < 0.0);
        // Nothing is told apart by equal losses, or by one row: no number is above NaN.
        assert!(worse_by(&[1.0, 1.0], &[1.0, 1.0]).is_nan());
        assert!(worse_by(&[2.0], &[1.0]).is_nan());
    }
}

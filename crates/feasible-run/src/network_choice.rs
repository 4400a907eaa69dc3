//! Which network a run trains, where its file leaves that open ([`Plan::leaves_network_open`]): whether numbers that suit it are piecewise linear, and, of a single
//! network, which nonlinearity it has.
//!
//! A network of each kind is trained without the requirements, with seed 0, and compared on the validation rows. A single network is of another kind than the plan's own
//! if that one's losses are clearly lower: where rows do not tell the two apart, the smoother one is the safer one under requirements. For networks that are averaged
//! the best with either encoding are compared; their nonlinearity is compared again, on all folds. What suits the
//! table does not depend on a limit or a seed, so that the runs of a sweep and of several seeds have the same kind. The run's problem file says which it is.

use feasible::{Outcome, Solution};
use feasible_nn::Activation;
use feasible_problem::network::Network;
use feasible_problem::plan::Plan;

use crate::error::Result;
use crate::fit::solve;
use crate::interrupt::Interrupt;

/// By how many standard errors another kind of network must be better, where one is trained.
const BETTER: f64 = 2.0;
/// By how many another encoding must be better, where networks are averaged: averages gain more from piecewise linear numbers than single networks,
/// which vary more with them.
const BETTER_IN_AVERAGES: f64 = 1.0;
/// By how many standard errors two encodings must differ for no further fold to be looked at, and the folds that are looked at, at most.
const CLEAR: f64 = 2.0;
const FOLDS_LOOKED_AT: usize = 3;

/// A kind of network, and its losses on rows that it has not seen.
struct Candidate {
    plan: Plan,
    activation: Activation,
    losses: Vec<f64>,
}

impl Candidate {
    /// Trains networks with each nonlinearity; those that diverge are left out. `None` if it was interrupted.
    fn all_of(plan: &Plan, interrupt: &Interrupt) -> Result<Option<Vec<Self>>> {
        let mut found = Vec::new();
        for activation in plan.model().activation().into_iter().chain(plan.other_activations()) {
            let mut candidate = Self { plan: plan.clone(), activation, losses: Vec::new() };
            match candidate.look_at(0, interrupt)? {
                None => return Ok(None),
                Some(true) => found.push(candidate),
                Some(false) => {}
            }
        }
        Ok(Some(found))
    }

    /// Trains the network without this fold, and adds its losses there; whether it did not diverge, and `None` if it was interrupted.
    fn look_at(&mut self, fold: usize, interrupt: &Interrupt) -> Result<Option<bool>> {
        let network = self.plan.without_requirements()?.with_seed(0).fold(fold)?;
        let network = network.with_activation(self.activation)?;
        let Some(solution) = solve(&network, interrupt)? else { return Ok(None) };
        let converges = !matches!(solution.outcome, Outcome::Diverged { .. });
        if converges {
            self.losses.extend(unseen_losses(&network, network.model(), &solution)?);
        }
        Ok(Some(converges))
    }

    /// By how many standard errors another one is better.
    fn worse_than(&self, other: &Self) -> f64 {
        worse_by(&self.losses, &other.losses)
    }
}

/// The plan with the network that does better without requirements, or as it is if nothing is open; `None` if it was interrupted.
///
/// # Errors
/// As [`fit_in`](crate::fit_in).
pub fn settle_network(plan: &Plan, interrupt: &Interrupt) -> Result<Option<Plan>> {
    if !plan.leaves_network_open() {
        return Ok(Some(plan.clone()));
    }
    let mut finalists = Vec::new();
    for encoded in std::iter::once(plan.clone()).chain(plan.other_encoding()?) {
        let Some(candidates) = Candidate::all_of(&encoded, interrupt)? else { return Ok(None) };
        match plan.leaves_activation_open() {
            true => finalists.extend(candidates),
            // The nonlinearity of averages is compared again, by all folds.
            false => finalists.extend(best(candidates, 0.0)),
        }
    }
    if plan.leaves_activation_open() {
        let Some(chosen) = best(finalists, BETTER) else { return Ok(Some(plan.clone())) };
        return Ok(Some(stated(plan, &chosen.plan).settled_on(chosen.activation)?));
    }
    for fold in 1..plan.folds().min(FOLDS_LOOKED_AT) {
        let [own, other] = &mut finalists[..] else { break };
        if own.worse_than(other).abs() > CLEAR {
            break;
        }
        let mut diverged = false;
        for candidate in [own, other] {
            let Some(converges) = candidate.look_at(fold, interrupt)? else { return Ok(None) };
            if !converges {
                candidate.losses.clear();
                diverged = true;
            }
        }
        if diverged {
            break;
        }
    }
    // What diverges on a fold has no losses.
    finalists.retain(|candidate| !candidate.losses.is_empty());
    let chosen = best(finalists, BETTER_IN_AVERAGES);
    Ok(Some(chosen.map_or_else(|| plan.clone(), |chosen| stated(plan, &chosen.plan))))
}

/// The first candidate, or a later one that is better by so many standard errors than the best before it.
fn best(candidates: Vec<Candidate>, by: f64) -> Option<Candidate> {
    let better = |best: Candidate, other: Candidate| {
        if best.worse_than(&other) > by { other } else { best }
    };
    candidates.into_iter().reduce(better)
}

/// The plan with an encoding that was chosen for this one, stated if it was open.
fn stated(plan: &Plan, chosen: &Plan) -> Plan {
    match plan.leaves_encoding_open() {
        true => chosen.with_stated_encoding(),
        false => chosen.clone(),
    }
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

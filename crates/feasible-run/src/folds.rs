//! The average of models that were trained without one fold of the rows each ([`Plan::fold`]), networks and linear models mixed
//! with the weights that are best on the rows that they have not seen.
//!
//! The first network is the training of the run; the others follow when it has ended, in memory: a run that is stopped meanwhile
//! trains them again when it is resumed.

use feasible::{Outcome, Solution};
use feasible_problem::network::Network;
use feasible_problem::plan::Plan;
use feasible_problem::text::{percent, short};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::evaluate::Evaluation;
use crate::fit::solve;
use crate::interrupt::Interrupt;
use crate::parts::on_validation;
use crate::threads;

/// How the networks of an average do on the rows that each of them has not seen: every row once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossValidation {
    /// Models that are averaged.
    pub folds: usize,
    /// The share of the network in each of them; the rest is a linear model.
    pub network: f32,
    /// Rows.
    pub rows: usize,
    /// The average loss of the objective.
    #[serde(deserialize_with = "feasible::json::or_nan")]
    pub objective: f64,
    /// The share of right predictions (of classes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// The root mean squared error (of numbers).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rmse: Option<f64>,
}

impl CrossValidation {
    fn of(network: f32, folds: &[Evaluation]) -> Self {
        let rows: usize = folds.iter().map(|fold| fold.rows).sum();
        let mean = |of: &dyn Fn(&Evaluation) -> Option<f64>| -> Option<f64> {
            let each = folds.iter().map(|fold| Some(of(fold)? * fold.rows as f64));
            Some(each.sum::<Option<f64>>()? / rows.max(1) as f64)
        };
        Self {
            folds: folds.len(),
            network,
            rows,
            objective: mean(&|fold| Some(fold.objective)).unwrap_or(f64::NAN),
            accuracy: mean(&|fold| fold.accuracy),
            rmse: mean(&|fold| fold.rmse.map(|rmse| rmse * rmse)).map(f64::sqrt),
        }
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let quality = match (self.accuracy, self.rmse) {
            (Some(accuracy), _) => format!("accuracy {}, ", percent(accuracy)),
            (None, Some(rmse)) => format!("root mean squared error {}, ", short(rmse)),
            (None, None) => String::new(),
        };
        let models = match self.network {
            1.0 => "networks".to_string(),
            0.0 => "linear models, which do better here than networks".into(),
            share => {
                format!("mixtures of a network ({}) and a linear model", percent(share.into()))
            }
        };
        format!(
            "The model is the average of {0} {models}, each trained\n\
             without one of {0} parts of the training rows. Cross-validated, on the rows that each did not see:\n\
             {quality}objective {1}.",
            self.folds,
            short(self.objective)
        )
    }
}

/// The average of the networks of a plan, as a solution of a plan of its own.
pub(crate) struct Average {
    pub(crate) plan: Plan,
    pub(crate) solution: Solution<f32>,
    pub(crate) result: CrossValidation,
}

/// What is trained on one fold.
struct Member {
    plan: Plan,
    network: Solution<f32>,
    /// The linear model that is mixed with it; `None` for networks alone, or if its training diverged.
    linear: Option<(Network, Solution<f32>)>,
}

impl Member {
    /// Trains what is missing; `None` if it was interrupted.
    fn train(
        plan: Plan,
        network: Option<&Solution<f32>>,
        interrupt: &Interrupt,
    ) -> Result<Option<Self>> {
        let linear = match plan.shares_of_networks() {
            [1.0] => None,
            _ => {
                let plan = plan.with_linear_model()?;
                match solve(&plan, interrupt)? {
                    Some(solution) if diverged(&solution) => None,
                    Some(solution) => Some((plan.model().clone(), solution)),
                    None => return Ok(None),
                }
            }
        };
        let network = match network {
            Some(known) => known.clone(),
            None => match solve(&plan, interrupt)? {
                Some(solution) => solution,
                None => return Ok(None),
            },
        };
        Ok(Some(Self { plan, network, linear }))
    }

    /// How a mixture with this share of the network does on the rows that it has not seen.
    fn judged(&self, share: f32) -> Result<Evaluation> {
        let (model, theta) = mixture(&self.plan, &[self], share)?;
        on_validation(&self.plan.with_model(model), &theta)
    }
}

fn diverged(solution: &Solution<f32>) -> bool {
    matches!(solution.outcome, Outcome::Diverged { .. })
}

/// The mean of the mixtures of some members, and its parameters.
fn mixture(plan: &Plan, members: &[&Member], share: f32) -> Result<(Network, Vec<f32>)> {
    let networks: Vec<&[f32]> = members.iter().map(|of| &of.network.theta[..]).collect();
    let (network, theta) = plan.model().average(&networks)?;
    let linears: Option<Vec<_>> = members.iter().map(|of| of.linear.as_ref()).collect();
    let Some(linears) = linears.filter(|_| share < 1.0) else { return Ok((network, theta)) };
    let thetas: Vec<&[f32]> = linears.iter().map(|(_, of)| &of.theta[..]).collect();
    let (linear, of_linear) = linears[0].0.average(&thetas)?;
    match share {
        0.0 => Ok((linear, of_linear)),
        _ => Ok(network.mixture(&theta, &of_linear, share)?),
    }
}

impl Average {
    /// Trains the models of all folds; the network of the first is given. `None` if it was interrupted.
    pub(crate) fn of(
        plan: &Plan,
        first: &Solution<f32>,
        interrupt: &Interrupt,
    ) -> Result<Option<Self>> {
        let count = plan.settings().training.threads;
        let fold = |n: usize| match interrupt.is_raised() {
            true => Ok(None),
            false => Member::train(plan.fold(n)?, (n == 0).then_some(first), interrupt),
        };
        let folds = 0..plan.folds();
        let members: Option<Vec<Member>> = match count {
            1 => folds.map(fold).collect::<Result<_>>()?,
            _ => threads::on(count, || folds.into_par_iter().map(fold).collect::<Result<_>>())?,
        };
        let Some(members) = members else { return Ok(None) };
        if members.iter().any(|member| diverged(&member.network)) {
            return Err(Error::unfit(
                plan.name(),
                "the training of one of the models that are averaged diverged: choose a smaller `training.rate`, or \
                 `training.folds = 1`",
            ));
        }
        let mut best: Option<CrossValidation> = None;
        let shares = match members.iter().all(|member| member.linear.is_some()) {
            true => plan.shares_of_networks(),
            false => &[1.0],
        };
        for &share in shares {
            let judged = members.iter().map(|member| member.judged(share));
            let found = CrossValidation::of(share, &judged.collect::<Result<Vec<_>>>()?);
            if best.as_ref().is_none_or(|best| found.objective < best.objective) {
                best = Some(found);
            }
        }
        // There is one share at least.
        let Some(result) = best else { return Ok(None) };
        let all: Vec<&Member> = members.iter().collect();
        let (model, theta) = mixture(plan, &all, result.network)?;
        let solution = Solution { theta, ..first.clone() };
        Ok(Some(Self { plan: plan.on_all_rows()?.with_model(model), solution, result }))
    }
}

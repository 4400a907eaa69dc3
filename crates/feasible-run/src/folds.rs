//! The average of models that were trained without one fold of the rows each ([`Plan::fold`]): networks of the kind that is better on the rows
//! that they have not seen, mixed with linear models with the weights that are best there, and the outputs scaled as is best there: networks may be surer than they
//! should be, or less sure.
//!
//! The first network is the training of the run; the others follow when it has ended, in memory: a run that is stopped meanwhile
//! trains them again when it is resumed.

use feasible::{Learner, Loss, Outcome, Solution};
use feasible_nn::Activation;
use feasible_problem::network::Network;
use feasible_problem::plan::Plan;
use feasible_problem::recipe::SCALE_SPREAD;
use feasible_problem::text::{percent, short};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::evaluate::Evaluation;
use crate::fit::solve_with_metrics;
use crate::interrupt::Interrupt;
use crate::metrics::EpochMetrics;
use crate::network_choice::{unseen_losses, worse_by};
use crate::parts::on_validation;
use crate::threads;

/// The logarithm of the largest scale that is tried, and of the ratio of two that are not told apart.
const LOG_SCALE: f64 = 1.5;
const LOG_PRECISION: f64 = 0.02;

/// How closely the linear models are solved, beside the size of the objective, and the steps that this may take. By batches they were
/// off by far where columns are nearly dependent; in this many steps, and no more, the exact learner is as fast.
const LINEAR_RHO: f64 = 1e-7;
const LINEAR_ITERATIONS: usize = 100;

/// By how many standard errors a kind of network must be worse on the rows of the first fold for it not to be trained on the other folds.
const CLEARLY: f64 = 3.0;

/// How the models of a fold are put together: s · (w · network + (1 − w) · linear model).
#[derive(Clone, Copy)]
struct Mix {
    /// Which of the networks that are compared.
    kind: usize,
    network: f32,
    scale: f32,
}

fn unscaled() -> f32 {
    1.0
}

fn is_unscaled(scale: &f32) -> bool {
    *scale == 1.0
}

/// How the networks of an average do on the rows that each of them has not seen: every row once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossValidation {
    /// Models that are averaged.
    pub folds: usize,
    /// The share of the network in each of them; the rest is a linear model.
    pub network: f32,
    /// The nonlinearity of the networks, which was chosen; absent where there was no choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    /// What the outputs are multiplied by; above 1 the models were not sure enough, below 1 too sure.
    #[serde(default = "unscaled", skip_serializing_if = "is_unscaled")]
    pub scale: f32,
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
    /// How the networks in the model were trained, one a fold; empty for linear models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<NetworkTraining>,
}

/// How one network of an average was trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkTraining {
    /// Epochs done.
    pub epochs: u64,
    /// The epoch that the network is from.
    pub kept_epoch: u64,
}

/// The least and the largest of some numbers, or the number that they all are; `None` if there are none.
pub(crate) fn range(numbers: impl Iterator<Item = u64> + Clone) -> Option<String> {
    let (least, most) = (numbers.clone().min()?, numbers.max()?);
    Some(if least == most { least.to_string() } else { format!("{least} to {most}") })
}

impl CrossValidation {
    fn of(mix: Mix, activation: Option<Activation>, folds: &[Evaluation]) -> Self {
        let rows: usize = folds.iter().map(|fold| fold.rows).sum();
        let mean = |of: &dyn Fn(&Evaluation) -> Option<f64>| -> Option<f64> {
            let each = folds.iter().map(|fold| Some(of(fold)? * fold.rows as f64));
            Some(each.sum::<Option<f64>>()? / rows.max(1) as f64)
        };
        Self {
            folds: folds.len(),
            network: mix.network,
            activation: activation.filter(|_| mix.network > 0.0),
            scale: mix.scale,
            rows,
            objective: mean(&|fold| Some(fold.objective)).unwrap_or(f64::NAN),
            accuracy: mean(&|fold| fold.accuracy),
            rmse: mean(&|fold| fold.rmse.map(|rmse| rmse * rmse)).map(f64::sqrt),
            networks: Vec::new(),
        }
    }

    /// How the models were trained.
    pub(crate) fn training(&self) -> String {
        match range(self.networks.iter().map(|network| network.epochs)) {
            Some(epochs) => format!("{} networks trained for {epochs} epochs", self.folds),
            None => format!("{} linear models solved", self.folds),
        }
    }

    /// Whether an epoch is of a network in the model.
    pub fn has(&self, epoch: &EpochMetrics) -> bool {
        !self.networks.is_empty()
            && (self.activation.is_none() || epoch.activation == self.activation)
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let quality = match (self.accuracy, self.rmse) {
            (Some(accuracy), _) => format!("accuracy {}, ", percent(accuracy)),
            (None, Some(rmse)) => format!("root mean squared error {}, ", short(rmse)),
            (None, None) => String::new(),
        };
        let units = match self.activation {
            Some(Activation::Sigmoid) => " of sigmoids",
            Some(Activation::Relu) => " of ReLUs",
            Some(Activation::Tanh) => " of tanh units",
            Some(Activation::Silu) => " of SiLUs",
            None => "",
        };
        let models = match self.network {
            1.0 => format!("networks{units}"),
            0.0 => "linear models, which do better here than networks".into(),
            share => {
                let share = percent(share.into());
                format!("mixtures of a network{units} ({share}) and a linear model")
            }
        };
        let scaled = match self.scale {
            scale if (scale - 1.0).abs() < 0.05 => String::new(),
            scale => {
                let sure = if scale < 1.0 { "too sure" } else { "not sure enough" };
                format!(
                    " Outputs are multiplied by {}: the models were {sure} there.",
                    short(scale.into())
                )
            }
        };
        format!(
            "The model is the average of {0} {models}, each trained without one of {0} parts of the training rows. \
             Cross-validated, on the rows that each did not see: {quality}objective {1}.{scaled}",
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
    /// The epochs of all its networks but the first training of the run, which has written its own.
    pub(crate) metrics: Vec<EpochMetrics>,
    /// What it was judged by; none if a loss is not finite.
    pub(crate) unseen: UnseenLosses,
}

/// The losses of models on rows that they have not seen, and what these count.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct UnseenLosses {
    pub(crate) losses: Vec<f64>,
    pub(crate) weights: Option<Vec<f64>>,
}

impl UnseenLosses {
    /// Of a model on the validation rows of a plan; `None` where they are not finite.
    pub(crate) fn of(plan: &Plan, model: &Network, theta: &[f32]) -> Option<Self> {
        let objective = plan.validation()?.objective();
        let losses = objective.population().losses(objective.measure(), model, theta).ok()?;
        let samples = plan.data().validation.as_ref()?;
        let weights = samples.weights().map(<[f64]>::to_vec);
        losses.iter().all(|loss| loss.is_finite()).then_some(Self { losses, weights })
    }

    /// Their mean; `None` of no rows.
    pub(crate) fn mean(&self) -> Option<f64> {
        let weight = |row: usize| self.weights.as_ref().map_or(1.0, |weights| weights[row]);
        let rows = || self.losses.iter().enumerate().map(|(row, loss)| (weight(row), loss));
        let all: f64 = rows().map(|(weight, _)| weight).sum();
        (all > 0.0).then(|| rows().map(|(weight, loss)| weight * loss).sum::<f64>() / all)
    }

    /// Those of several folds together.
    fn joined(folds: Vec<Self>) -> Self {
        let mut all = Self::default();
        for fold in folds {
            all.losses.extend(fold.losses);
            if let Some(weights) = fold.weights {
                all.weights.get_or_insert_default().extend(weights);
            }
        }
        all
    }
}

/// A network that was trained on all folds but one.
struct TrainedNetwork {
    model: Network,
    solution: Solution<f32>,
    metrics: Vec<EpochMetrics>,
}

/// What is trained on one fold.
struct Member {
    plan: Plan,
    /// One of each kind that is compared, the plan's own first.
    networks: Vec<TrainedNetwork>,
    /// The linear model that is mixed with it; `None` for networks alone, or if its training diverged.
    linear: Option<(Network, Solution<f32>)>,
}

impl Member {
    /// Trains networks of these kinds, the plan's own unless it is given; `None` if it was interrupted.
    fn train(
        of: &Plan,
        fold: usize,
        kinds: &[Activation],
        own: Option<&Solution<f32>>,
        interrupt: &Interrupt,
    ) -> Result<Option<Self>> {
        let plan = of.fold(fold)?;
        let linear = match plan.shares_of_networks() {
            [1.0] => None,
            _ => {
                let linear = plan.with_linear_model()?;
                let learner = Learner::exact().epochs(1).rho(LINEAR_RHO);
                let learner = learner.inner_iterations(LINEAR_ITERATIONS);
                // What the exact learner cannot solve is left out.
                let solved = learner.solve(linear.train(), linear.model().clone()).ok();
                let solved = solved.filter(|solution| !diverged(solution));
                solved.map(|solution| (linear.model().clone(), solution))
            }
        };
        if interrupt.is_raised() {
            return Ok(None);
        }
        let mut networks = Vec::new();
        for &kind in kinds {
            let own = own.filter(|_| plan.model().activation() == Some(kind));
            let candidate = plan.with_activation(kind)?;
            let solved = match own {
                Some(known) => Some((known.clone(), Vec::new())),
                None => solve_with_metrics(&candidate, interrupt)?,
            };
            let Some((solution, metrics)) = solved else { return Ok(None) };
            let activation = Some(kind).filter(|_| kinds_compared(of));
            let named = |epoch| EpochMetrics { fold: Some(fold + 1), activation, ..epoch };
            let metrics = metrics.into_iter().map(named).collect();
            networks.push(TrainedNetwork { model: candidate.model().clone(), solution, metrics });
        }
        Ok(Some(Self { plan, networks, linear }))
    }

    /// Leaves out kinds of networks that are clearly worse than another on the rows that they have not seen.
    fn without_clearly_worse(&mut self) -> Result<()> {
        let losses = |of: &TrainedNetwork| unseen_losses(&self.plan, &of.model, &of.solution);
        let losses = self.networks.iter().map(losses).collect::<Result<Vec<_>>>()?;
        let mut places = losses.iter();
        self.networks.retain(|_| {
            let own = places.next();
            own.is_none_or(|own| !losses.iter().any(|other| worse_by(own, other) > CLEARLY))
        });
        Ok(())
    }

    /// The losses of a mixture on the rows that it has not seen.
    fn losses(&self, mix: Mix) -> Result<Option<UnseenLosses>> {
        let (model, theta) = mixture(&[self], mix)?;
        Ok(UnseenLosses::of(&self.plan, &model, &theta))
    }

    /// How a mixture does on the rows that it has not seen.
    fn judged(&self, mix: Mix) -> Result<Evaluation> {
        let (model, theta) = mixture(&[self], mix)?;
        on_validation(&self.plan.with_model(model), &theta)
    }
}

fn diverged(solution: &Solution<f32>) -> bool {
    matches!(solution.outcome, Outcome::Diverged { .. })
}

/// The mean of the mixtures of some members, and its parameters.
fn mixture(members: &[&Member], mix: Mix) -> Result<(Network, Vec<f32>)> {
    let (model, theta) = unscaled_mixture(members, mix)?;
    let theta = model.scaled(&theta, mix.scale)?;
    Ok((model, theta))
}

fn unscaled_mixture(members: &[&Member], mix: Mix) -> Result<(Network, Vec<f32>)> {
    // There are as many networks on every fold.
    let networks: Vec<_> = members.iter().map(|of| &of.networks[mix.kind]).collect();
    let thetas: Vec<&[f32]> = networks.iter().map(|of| &of.solution.theta[..]).collect();
    let (network, theta) = networks[0].model.average(&thetas)?;
    let linears: Option<Vec<_>> = members.iter().map(|of| of.linear.as_ref()).collect();
    let Some(linears) = linears.filter(|_| mix.network < 1.0) else { return Ok((network, theta)) };
    let thetas: Vec<&[f32]> = linears.iter().map(|(_, of)| &of.theta[..]).collect();
    let (linear, of_linear) = linears[0].0.average(&thetas)?;
    match mix.network {
        0.0 => Ok((linear, of_linear)),
        share => Ok(network.mixture(&theta, &of_linear, share)?),
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
        let own = plan.model().activation();
        let kinds: Vec<Activation> = own.into_iter().chain(plan.other_activations()).collect();
        let zeroth = Member::train(plan, 0, &kinds, Some(first), interrupt)?;
        let Some(mut zeroth) = zeroth else { return Ok(None) };
        zeroth.without_clearly_worse()?;
        let kinds: Vec<Activation> =
            zeroth.networks.iter().filter_map(|of| of.model.activation()).collect();
        let fold = |n: usize| match interrupt.is_raised() {
            true => Ok(None),
            false => Member::train(plan, n, &kinds, None, interrupt),
        };
        let folds = 1..plan.folds();
        let others: Option<Vec<Member>> = match count {
            1 => folds.map(fold).collect::<Result<_>>()?,
            _ => threads::on(count, || folds.into_par_iter().map(fold).collect::<Result<_>>())?,
        };
        let Some(others) = others else { return Ok(None) };
        let compared = kinds_compared(plan);
        let members: Vec<Member> = std::iter::once(zeroth).chain(others).collect();
        // A kind of network that diverges on a fold is left out.
        let kinds: Vec<usize> = (0..members[0].networks.len())
            .filter(|&kind| !members.iter().any(|member| diverged(&member.networks[kind].solution)))
            .collect();
        if kinds.is_empty() {
            return Err(Error::unfit(
                plan.name(),
                "the training of one of the models that are averaged diverged: choose a smaller `training.rate`, or \
                 `training.folds = 1`",
            ));
        }
        let shares = match members.iter().all(|member| member.linear.is_some()) {
            true => plan.shares_of_networks(),
            false => &[1.0],
        };
        let judged = |mix: Mix| -> Result<CrossValidation> {
            let each = members.iter().map(|member| member.judged(mix));
            let of = members[0].networks[mix.kind].model.activation();
            let activation = of.filter(|_| compared);
            Ok(CrossValidation::of(mix, activation, &each.collect::<Result<Vec<_>>>()?))
        };
        let mut best: Option<(f64, Mix, CrossValidation)> = None;
        for &kind in &kinds {
            // The linear model alone is the same for every kind.
            for &network in shares.iter().filter(|&&share| share > 0.0 || kind == kinds[0]) {
                let (penalised, mix, found) = scaled(plan, kind, network, &judged)?;
                if best.as_ref().is_none_or(|(least, ..)| penalised < *least) {
                    best = Some((penalised, mix, found));
                }
            }
        }
        // There is one share at least.
        let Some((_, mix, mut result)) = best else { return Ok(None) };
        let all: Vec<&Member> = members.iter().collect();
        let (model, theta) = mixture(&all, mix)?;
        let unseen = all.iter().map(|member| member.losses(mix)).collect::<Result<Option<_>>>()?;
        let unseen = unseen.map(UnseenLosses::joined).unwrap_or_default();
        let whole = plan.on_all_rows()?.with_model(model);
        let mut metrics = Vec::new();
        if mix.network > 0.0 {
            for member in members {
                let network = member.networks.into_iter().nth(mix.kind);
                let Some(TrainedNetwork { solution, metrics: epochs, .. }) = network else {
                    continue;
                };
                let (epochs_done, kept_epoch) = (solution.epochs, solution.kept_epoch);
                result.networks.push(NetworkTraining { epochs: epochs_done, kept_epoch });
                metrics.extend(epochs);
            }
        }
        let solution = solution_at(&whole, theta, first, &result.networks)?;
        Ok(Some(Self { plan: whole, solution, result, metrics, unseen }))
    }
}

/// The average as a solution: what is measured at its own parameters, and the epochs of its networks.
fn solution_at(
    plan: &Plan,
    theta: Vec<f32>,
    first: &Solution<f32>,
    networks: &[NetworkTraining],
) -> Result<Solution<f32>> {
    let (problem, model) = (plan.train(), plan.model());
    let optimality = problem.optimality(model, &theta, &first.multipliers)?;
    Ok(Solution {
        measurement: problem.measure(model, &theta)?,
        theta,
        gap: optimality.gap,
        kkt: optimality.kkt,
        outcome: Outcome::Unconstrained,
        epochs: networks.iter().map(|network| network.epochs).max().unwrap_or(0),
        kept_epoch: 0,
        ..first.clone()
    })
}

/// Whether networks of several nonlinearities are compared.
fn kinds_compared(plan: &Plan) -> bool {
    !plan.other_activations().is_empty()
}

/// A mixture with the scale that is best on the rows that its parts have not seen, and what is least there: the objective plus
/// (log s)²/(2τ²) for all rows together, in units of a log-likelihood. A few rows that happen to be all right would otherwise make a model as sure as can be.
fn scaled(
    plan: &Plan,
    kind: usize,
    network: f32,
    judged: &dyn Fn(Mix) -> Result<CrossValidation>,
) -> Result<(f64, Mix, CrossValidation)> {
    let unscaled = Mix { kind, network, scale: 1.0 };
    let plain = judged(unscaled)?;
    // A loss that is no log-likelihood stands for one with errors as large as those found.
    let unit = match plan.train().objective().loss() {
        Loss::CrossEntropy | Loss::Logistic | Loss::Poisson => 1.0,
        _ => plain.objective.abs(),
    };
    let prior = unit / (2.0 * SCALE_SPREAD * SCALE_SPREAD * plain.rows.max(1) as f64);
    let at = |log: f64| -> Result<(f64, Mix, CrossValidation)> {
        let mix = Mix { scale: log.exp() as f32, ..unscaled };
        let found = judged(mix)?;
        Ok((found.objective + prior * log * log, mix, found))
    };
    // Golden-section search: the objective is convex in the scale.
    let ratio = 0.5 * (5f64.sqrt() - 1.0);
    let (mut low, mut high) = (-LOG_SCALE, LOG_SCALE);
    let (mut left, mut right) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_left, mut at_right) = (at(left)?, at(right)?);
    while high - low > LOG_PRECISION {
        if at_left.0 < at_right.0 {
            (high, right, at_right) = (right, left, at_left);
            left = high - ratio * (high - low);
            at_left = at(left)?;
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + ratio * (high - low);
            at_right = at(right)?;
        }
    }
    let best = if at_left.0 < at_right.0 { at_left } else { at_right };
    // Numbers that are not comparable leave the scale as it is.
    Ok(if best.0 < plain.objective { best } else { (plain.objective, unscaled, plain) })
}

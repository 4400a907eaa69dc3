//! Recipes: the settings of a training that a problem file leaves open. All numbers are here.
//!
//! - `paper`: what the paper's experiments do: Adam at a rate of 0.1, one dual step of Adam an
//!   epoch, all epochs, the last iterate.
//! - `feasible`: what meets the requirements: a smaller primal rate that falls to 0 along a cosine,
//!   so that the last iterates stand still; a dual optimiser that forgets early violations; the
//!   best feasible iterate on validation rows; margins that are learned from them. Batches and epochs follow from the
//!   number of rows, see `Length`; pointwise invariance is treated apart, see `Invariance`.

use feasible::Schedule;
use feasible_nn::Activation;

use crate::settings::{
    CheckpointSettings, DualMethod, DualSettings, ExactDual, FirstOrderSettings, LearnerSettings,
    MeasuredOn, OptimiserSettings, TrainingSettings,
};
use crate::spec::{
    CheckpointSpec, DualMethodName, DualSpec, Keep, LearnerName, Margins, ModelKind, OptimiserName,
    Recipe, RequirementKind, RequirementSpec, ScheduleSpec, ShuffleName, Spec, TrainingSpec,
};

/// Seconds between checkpoints, unless told otherwise: a checkpoint of a large table takes a few
/// hundredths of a second, so this costs less than 1 % of the time and a crash at most ten seconds.
pub const CHECKPOINT_SECONDS: f64 = 10.0;

/// The numbers of a recipe.
struct Numbers {
    learner: LearnerName,
    /// The learner where averages of a single view are required, rates and losses. A dual step an epoch lets θ
    /// overshoot in between, and many such requirements take turns at being violated; a step with
    /// every batch does not.
    learner_of_averages: LearnerName,
    length: Length,
    optimiser: OptimiserName,
    rate: f64,
    schedule: ScheduleSpec,
    dual_method: DualMethodName,
    dual_rate: f64,
    /// The same for a learner whose multipliers move with every batch, of which there are many.
    dual_rate_by_batch: f64,
    dual_beta1: f64,
    dual_beta2: f64,
    dual_schedule: ScheduleSpec,
    keep: Keep,
    /// The share of the epochs without a better iterate after which training ends; 0 for never.
    patience: f64,
    /// The margin of average requirements between two views: on other rows an average is
    /// a little larger as often as a little smaller.
    average_margin: f64,
    invariance: Option<Invariance>,
    /// Whether margins of average requirements are learned from validation rows.
    margins: Margins,
    /// Rows that an epoch is measured on.
    measure_on: Option<usize>,
    /// Whether the search for infeasibility, hundreds of passes over everyone, is worth its time.
    look_for_infeasibility: bool,
}

/// Batches and epochs.
enum Length {
    Fixed {
        epochs: u64,
        batch_size: usize,
    },
    /// For so many steps on θ in all, within these epochs. Small tables get smaller batches, so that an
    /// epoch has at least about [`BATCHES`] of them.
    Steps {
        steps: u64,
        least: u64,
        most: u64,
        batch_size: usize,
    },
}

/// Batches that an epoch of a small table has, about.
const BATCHES: usize = 16;
/// The smallest batch.
const SMALLEST_BATCH: usize = 8;

impl Length {
    /// Rows per batch, for so many training rows.
    fn batch_size(&self, rows: usize) -> usize {
        match *self {
            Self::Fixed { batch_size, .. } => batch_size,
            Self::Steps { batch_size, .. } => {
                (rows / BATCHES).next_power_of_two().clamp(SMALLEST_BATCH, batch_size)
            }
        }
    }

    /// Epochs of batches of this size.
    fn epochs(&self, rows: usize, batch_size: usize) -> u64 {
        match *self {
            Self::Fixed { epochs, .. } => epochs,
            Self::Steps { steps, least, most, .. } => {
                let batches = rows.div_ceil(batch_size.max(1)).max(1) as u64;
                (steps / batches).clamp(least, most)
            }
        }
    }
}

/// What a recipe goes by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// Whether the data are images.
    pub images: bool,
    /// Training rows.
    pub rows: usize,
    /// Whether the average of a loss or a rate is required, rather than invariance alone.
    pub averages: bool,
}

impl Circumstances {
    /// Those of a problem, before its rows are counted.
    pub fn of(spec: &Spec) -> Self {
        let averages = |requirement: &RequirementSpec| {
            let compares = requirement.loss.is_some_and(|loss| loss.losses().0.compares_views());
            requirement.kind == RequirementKind::Average && !compares
        };
        let images = spec.data.is_images();
        Self { images, rows: 0, averages: spec.requirements.iter().any(averages) }
    }
}

/// Whether a share of the training rows is taken for validation where the file gives none: to choose the
/// iterate, and to learn margins.
pub fn takes_validation(training: &TrainingSpec) -> bool {
    training.recipe == Recipe::Feasible
        && training.learner != Some(LearnerName::Exact)
        && training.keep != Some(Keep::Last)
}

/// Networks that are averaged where nothing speaks against it.
pub const FOLDS: usize = 5;
/// The weight decay of a linear model that is mixed with them, times theirs: it is the one of scikit-learn's logistic regression,
/// α = 1/N for an objective of size 1.
pub const LINEAR_DECAY: f64 = 1.0 / DECAY;
/// Shares of the networks in a mixture that are compared.
pub const SHARES: [f32; 5] = [1.0, 0.75, 0.5, 0.25, 0.0];

/// Nonlinearities of networks that are compared where they are averaged. Sigmoids suit noise, and ReLU targets that follow from the inputs.
pub const ACTIVATIONS: [Activation; 2] = [Activation::Sigmoid, Activation::Relu];

/// The standard deviation of the logarithm of the scale of a mixture's outputs, as it is expected before rows are looked at.
pub const SCALE_SPREAD: f64 = 0.25;

/// α of the weight decay α/2 ‖θ‖² of a network, for so many training rows and an objective of this size. As a prior on θ it
/// fades with the rows: it keeps networks of small tables from being too sure, and large tables do not notice.
pub fn weight_decay(recipe: Recipe, model: ModelKind, images: bool, rows: usize, size: f64) -> f64 {
    let network = model.is_mlp() && !images && recipe == Recipe::Feasible;
    if network { DECAY * size / rows.max(1) as f64 } else { 0.0 }
}

/// α times the rows, for an objective of size 1.
const DECAY: f64 = 0.125;

/// How a recipe treats pointwise requirements between two views.
///
/// A constant model is invariant, so multipliers may start large: the model then never learns what
/// it would have to unlearn. They come down by ascent, whose steps are proportional to the violations,
/// so that what is left of them says who was hard. A margin of nearly the whole limit keeps the
/// many samples on the safe side of it, in use as in training.
struct Invariance {
    start: f64,
    margin: f64,
    /// By how much a multiplier falls in a dual step where the loss is 0.
    fall: f64,
}

const PAPER: Numbers = Numbers {
    learner: LearnerName::Alternating,
    learner_of_averages: LearnerName::Alternating,
    length: Length::Fixed { epochs: 300, batch_size: 128 },
    optimiser: OptimiserName::Adam,
    rate: 0.1,
    schedule: ScheduleSpec::Constant,
    dual_method: DualMethodName::Adam,
    dual_rate: 0.01,
    dual_rate_by_batch: 0.01,
    dual_beta1: 0.9,
    dual_beta2: 0.999,
    dual_schedule: ScheduleSpec::Constant,
    keep: Keep::Last,
    patience: 0.0,
    average_margin: 0.0,
    invariance: None,
    margins: Margins::Stated,
    measure_on: None,
    look_for_infeasibility: true,
};

const FEASIBLE: Numbers = Numbers {
    learner: LearnerName::Alternating,
    learner_of_averages: LearnerName::Simultaneous,
    length: Length::Steps { steps: 18_000, least: 20, most: 400, batch_size: 128 },
    optimiser: OptimiserName::Adam,
    rate: 0.003,
    schedule: ScheduleSpec::Cosine { over: None, floor: 0.0 },
    dual_method: DualMethodName::Adam,
    dual_rate: 0.1,
    dual_rate_by_batch: 0.01,
    dual_beta1: 0.9,
    dual_beta2: 0.9,
    dual_schedule: ScheduleSpec::Constant,
    keep: Keep::Best,
    patience: 0.5,
    average_margin: 0.5,
    invariance: Some(Invariance { start: 30.0, margin: 0.98, fall: 0.6 }),
    margins: Margins::Learned,
    measure_on: None,
    look_for_infeasibility: true,
};

/// Images as in the paper: Adam with its authors' settings. The paper gives no dual rate but that it
/// is "smaller"; with a dual step an epoch a multiplier could hardly move, so it moves with every batch,
/// by plain ascent, whose steps fall with the violation.
const PAPER_IMAGES: Numbers = Numbers {
    learner: LearnerName::Simultaneous,
    learner_of_averages: LearnerName::Simultaneous,
    length: Length::Fixed { epochs: 100, batch_size: 128 },
    rate: 0.001,
    dual_method: DualMethodName::Ascent,
    dual_rate: 0.005,
    dual_rate_by_batch: 0.005,
    keep: Keep::Best,
    measure_on: Some(1000),
    look_for_infeasibility: false,
    ..PAPER
};

/// Images, in fewer epochs: the rate falls to 0 along a cosine.
const FEASIBLE_IMAGES: Numbers = Numbers {
    length: Length::Fixed { epochs: 30, batch_size: 128 },
    schedule: ScheduleSpec::Cosine { over: None, floor: 0.0 },
    dual_rate: 0.02,
    dual_rate_by_batch: 0.02,
    ..PAPER_IMAGES
};

/// Outer iterations of the exact learner, whose step is a whole minimisation.
const EXACT_ITERATIONS: u64 = 100;

impl Recipe {
    fn numbers(self, images: bool) -> &'static Numbers {
        match (self, images) {
            (Self::Paper, false) => &PAPER,
            (Self::Feasible, false) => &FEASIBLE,
            (Self::Paper, true) => &PAPER_IMAGES,
            (Self::Feasible, true) => &FEASIBLE_IMAGES,
        }
    }
}

/// The seed, where none is given.
pub const SEED: u64 = 0;
/// Where multipliers start, as in the paper.
pub const MULTIPLIERS_START: f64 = 1.0;

/// The settings of a training under these circumstances: what `spec` leaves open is the recipe's.
pub fn settings(spec: &TrainingSpec, of: Circumstances) -> TrainingSettings {
    let recipe = spec.recipe.numbers(of.images);
    let usual = if of.averages { recipe.learner_of_averages } else { recipe.learner };
    let learner = spec.learner.unwrap_or(usual);
    let exact = learner == LearnerName::Exact;
    let batch_size = spec.batch_size.unwrap_or_else(|| recipe.length.batch_size(of.rows));
    let usual_epochs = match exact {
        true => EXACT_ITERATIONS,
        false => recipe.length.epochs(of.rows, batch_size),
    };
    let epochs = spec.epochs.unwrap_or(usual_epochs);
    let checkpoint = spec.checkpoint.unwrap_or_default();
    TrainingSettings {
        seed: spec.seed.unwrap_or(SEED),
        threads: spec.threads.unwrap_or(1),
        shards: spec.shards.unwrap_or(false),
        epochs,
        seconds: spec.seconds,
        start: spec.start.unwrap_or(MULTIPLIERS_START),
        // Decided when the data are known.
        folds: spec.folds.unwrap_or(1),
        keep: spec.keep.unwrap_or(if exact { Keep::Last } else { recipe.keep }),
        margins: spec.margins.unwrap_or(recipe.margins),
        patience: spec.patience.unwrap_or(match exact {
            true => 0,
            false => (recipe.patience * epochs as f64).ceil() as u64,
        }),
        stop_when_feasible: spec.stop_when_feasible.unwrap_or(false),
        // What the learner itself goes by, so that training and evaluation agree.
        // What single precision can tell apart.
        tolerance: spec.tolerance.unwrap_or(if exact { 1e-5 } else { 0.0 }),
        look_for_infeasibility: spec
            .look_for_infeasibility
            .unwrap_or(recipe.look_for_infeasibility),
        checkpoint: CheckpointSettings {
            epochs: checkpoint.epochs.unwrap_or(u64::MAX),
            seconds: checkpoint.seconds.unwrap_or(CHECKPOINT_SECONDS),
        },
        learner: match learner {
            // Its default is the proximal step, which has no rate of its own.
            LearnerName::Exact => {
                let rate = spec.dual.and_then(|dual| dual.rate);
                let ascent = |rate| ExactDual::Ascent { rate };
                LearnerSettings::Exact(rate.map_or(ExactDual::Proximal, ascent))
            }
            learner => {
                let settings = first_order(spec, of.images, learner, epochs, batch_size);
                LearnerSettings::FirstOrder(settings)
            }
        },
    }
}

fn first_order(
    spec: &TrainingSpec,
    images: bool,
    learner: LearnerName,
    epochs: u64,
    batch_size: usize,
) -> FirstOrderSettings {
    let recipe = spec.recipe.numbers(images);
    let simultaneous = learner == LearnerName::Simultaneous;
    let measure_on = spec.measure_on.or(recipe.measure_on.filter(|_| simultaneous));
    FirstOrderSettings {
        simultaneous,
        measured_on: measure_on.map_or(MeasuredOn::All, MeasuredOn::Rows),
        batch_size,
        shuffle: spec.shuffle.unwrap_or(ShuffleName::Rows),
        optimiser: match spec.optimiser.unwrap_or(recipe.optimiser) {
            OptimiserName::Adam => OptimiserSettings::Adam,
            OptimiserName::Adamw => OptimiserSettings::AdamW,
            OptimiserName::Sgd => OptimiserSettings::Sgd { momentum: spec.momentum.unwrap_or(0.0) },
        },
        rate: spec.rate.unwrap_or(recipe.rate),
        schedule: schedule(spec.schedule.unwrap_or(recipe.schedule), epochs),
        dual: dual(spec.recipe, images, &spec.dual.unwrap_or_default(), epochs, simultaneous),
    }
}

/// A dual optimiser over a number of epochs: what `given` leaves open is the recipe's.
pub fn dual(
    recipe: Recipe,
    images: bool,
    given: &DualSpec,
    epochs: u64,
    simultaneous: bool,
) -> DualSettings {
    let recipe = recipe.numbers(images);
    DualSettings {
        method: match given.method.unwrap_or(recipe.dual_method) {
            DualMethodName::Adam => DualMethod::Adam {
                beta1: given.beta1.unwrap_or(recipe.dual_beta1),
                beta2: given.beta2.unwrap_or(recipe.dual_beta2),
            },
            DualMethodName::Ascent => DualMethod::Ascent,
            DualMethodName::Algorithm1 => DualMethod::Algorithm1,
            DualMethodName::NuPi => DualMethod::NuPi {
                proportional: given.proportional.unwrap_or(1.0),
                nu: given.nu.unwrap_or(0.0),
            },
        },
        rate: given.rate.unwrap_or(match simultaneous {
            true => recipe.dual_rate_by_batch,
            false => recipe.dual_rate,
        }),
        every: given.every.unwrap_or(1),
        size: 1.0,
        schedule: schedule(given.schedule.unwrap_or(recipe.dual_schedule), epochs),
    }
}

fn schedule(spec: ScheduleSpec, epochs: u64) -> Schedule {
    match spec {
        ScheduleSpec::Constant => Schedule::Constant,
        ScheduleSpec::Step { factor, every } => Schedule::Step { factor, every },
        ScheduleSpec::Cosine { over, floor } => {
            Schedule::Cosine { over: over.unwrap_or(epochs.max(1) as f64), floor }
        }
    }
}

/// `spec` with everything that it leaves open written out, as a problem file of these settings has it.
pub fn fill(spec: &TrainingSpec, settings: &TrainingSettings, images: bool) -> TrainingSpec {
    let recipe = spec.recipe.numbers(images);
    // What the exact learner has no use for is not written down as if it had.
    let first_order = settings.learner.first_order();
    let measure_on = first_order.and_then(|of| match of.measured_on {
        MeasuredOn::Rows(rows) => Some(rows),
        MeasuredOn::All => None,
    });
    TrainingSpec {
        recipe: spec.recipe,
        learner: Some(settings.learner.name()),
        epochs: Some(settings.epochs),
        batch_size: first_order.map(|of| of.batch_size),
        optimiser: first_order.map(|of| of.optimiser.name()),
        rate: first_order.map(|of| of.rate),
        momentum: spec.momentum,
        start: spec.start,
        seed: Some(settings.seed),
        threads: Some(settings.threads),
        shards: settings.shards.then_some(true),
        folds: spec.folds,
        keep: Some(settings.keep),
        seconds: settings.seconds,
        margins: first_order.map(|_| settings.margins),
        patience: Some(settings.patience),
        stop_when_feasible: Some(settings.stop_when_feasible),
        tolerance: Some(settings.tolerance),
        shuffle: first_order.map(|of| of.shuffle),
        measure_on,
        look_for_infeasibility: Some(settings.look_for_infeasibility),
        schedule: first_order.map(|_| spec.schedule.unwrap_or(recipe.schedule)),
        dual: match first_order {
            Some(of) => {
                let given = spec.dual.unwrap_or_default();
                let schedule = given.schedule.unwrap_or(recipe.dual_schedule);
                Some(written(&of.dual, schedule))
            }
            None => spec.dual,
        },
        checkpoint: Some(CheckpointSpec {
            epochs: spec.checkpoint.and_then(|checkpoint| checkpoint.epochs),
            seconds: Some(settings.checkpoint.seconds),
        }),
    }
}

/// A dual optimiser as a problem file has it.
fn written(dual: &DualSettings, schedule: ScheduleSpec) -> DualSpec {
    let mut spec = DualSpec {
        method: Some(dual.method.name()),
        rate: Some(dual.rate),
        every: Some(dual.every),
        schedule: Some(schedule),
        ..DualSpec::default()
    };
    match dual.method {
        DualMethod::Adam { beta1, beta2 } => {
            (spec.beta1, spec.beta2) = (Some(beta1), Some(beta2));
        }
        DualMethod::NuPi { proportional, nu } => {
            (spec.proportional, spec.nu) = (Some(proportional), Some(nu));
        }
        DualMethod::Ascent | DualMethod::Algorithm1 => {}
    }
    spec
}

/// Fills in what a requirement leaves open. `training` is as the file gives it: a start or a
/// dual optimiser given there is kept to. A multiplier of the requirement is worth `unit` of one between losses of size 1.
pub fn fill_requirement(
    training: &TrainingSpec,
    images: bool,
    requirement: &mut RequirementSpec,
    unit: f64,
) {
    let between_views = requirement.loss.is_some_and(|loss| loss.losses().0.compares_views());
    let exact = training.learner == Some(LearnerName::Exact);
    let recipe = training.recipe.numbers(images);
    let Some(limit) = requirement.at_most.filter(|&c| c > 0.0 && between_views && !exact) else {
        return;
    };
    if requirement.kind == RequirementKind::Average && recipe.average_margin > 0.0 {
        requirement.margin.get_or_insert(recipe.average_margin);
    }
    let (Some(invariance), RequirementKind::Pointwise) = (&recipe.invariance, requirement.kind)
    else {
        return;
    };
    let margin = *requirement.margin.get_or_insert(invariance.margin);
    if training.start.is_none() {
        requirement.start.get_or_insert(unit * invariance.start);
    }
    if training.dual.is_none() {
        requirement.dual.get_or_insert(DualSpec {
            method: Some(DualMethodName::Ascent),
            rate: Some(unit * invariance.fall / ((1.0 - margin) * limit)),
            ..DualSpec::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(rows: usize) -> (usize, u64) {
        let of = Circumstances { rows, ..Circumstances::default() };
        let settings = settings(&TrainingSpec::default(), of);
        let batch_size = settings.learner.first_order().map(|of| of.batch_size);
        (batch_size.unwrap_or(0), settings.epochs)
    }

    #[test]
    fn small_tables_get_smaller_batches_and_more_epochs() {
        assert_eq!(length(99), (8, 400));
        assert_eq!(length(560), (64, 400));
        assert_eq!(length(29_304), (128, 78));
        assert_eq!(length(1_000_000), (128, 20));
        for rows in [1, 2, 10, 99, 1000, 5000, 30_000, 1_000_000] {
            let (batch_size, epochs) = length(rows);
            let steps = rows.div_ceil(batch_size) as u64 * epochs;
            assert!(steps >= 400, "{rows} rows: {steps} steps");
        }
    }

    #[test]
    fn the_paper_and_what_a_file_says_are_kept_to() {
        let paper = TrainingSpec { recipe: Recipe::Paper, ..TrainingSpec::default() };
        let of = Circumstances { rows: 200, averages: true, ..Circumstances::default() };
        let found = settings(&paper, of);
        assert_eq!((found.epochs, found.patience, found.margins), (300, 0, Margins::Stated));
        assert_eq!(found.learner.name(), LearnerName::Alternating);
        let given = TrainingSpec { batch_size: Some(50), epochs: Some(7), ..paper };
        let found = settings(&given, of);
        assert_eq!(found.learner.first_order().map(|of| of.batch_size), Some(50));
        assert_eq!(found.epochs, 7);
    }
}

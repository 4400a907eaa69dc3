//! `[training]`: how the problem is solved. What is not given is taken from the
//! [recipe](crate::recipe).
//!
//! | key | meaning |
//! | --- | --- |
//! | `recipe` | `feasible` (the default) or `paper` |
//! | `learner` | `alternating`, `simultaneous` or `exact` |
//! | `epochs` | epochs, or outer iterations of `exact` |
//! | `batch_size` | rows per batch |
//! | `optimiser` | `adam`, `adamw` or `sgd` |
//! | `rate`, `schedule` | primal step size, and how it changes |
//! | `momentum` | of `sgd` |
//! | `dual` | `{ method, rate, schedule, every, … }` |
//! | `start` | where the multipliers of all requirements start |
//! | `seed` | first parameters and shuffles; 0 |
//! | `threads` | changes nothing but the time; 1 |
//! | `shards` | rows are worked on in 64 shards, so that results have the same bits on any number of MPI ranks; false, true under `mpirun` |
//! | `folds` | networks that are averaged, each trained without one fold of the rows; 5 of small tables without requirements, else 1 |
//! | `keep` | the iterate that is returned: `last` or `best` (on validation rows, if any) |
//! | `margins` | `learned`: average requirements are trained against limits that are stricter by as much as validation rows show to be needed; or `stated` |
//! | `seconds` | training ends after this time with the best model so far; none |
//! | `patience` | epochs without a better iterate after which training ends |
//! | `shuffle` | `rows`: an epoch takes the rows in any order; `blocks`: neighbouring rows at about the same time, the default where rows are on disk |
//! | `measure_on` | `simultaneous`: rows that the metrics of an epoch are measured on; all, 1,000 of images |
//! | `stop_when_feasible` | end at the first feasible iterate |
//! | `tolerance` | share of a limit by which it may be exceeded and still count as met (1e-5 for `exact`, else 0) |
//! | `look_for_infeasibility` | name a problem that cannot be solved; true |
//! | `checkpoint` | `{ epochs, seconds }`: when state is saved |

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[training]`. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingSpec {
    /// Where settings that are not given come from. Default `feasible`.
    pub recipe: Recipe,
    /// When the multipliers move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learner: Option<LearnerName>,
    /// Epochs, or outer iterations of the exact learner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<u64>,
    /// Rows per batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<usize>,
    /// The primal optimiser.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimiser: Option<OptimiserName>,
    /// The primal step size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Momentum of `sgd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub momentum: Option<f64>,
    /// Where the multipliers of all requirements start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
    /// Seed of start and shuffles. Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Threads; results do not depend on it. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Whether rows are worked on in 64 shards: the same bits on any number of MPI ranks. Default false, true under `mpirun`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<bool>,
    /// Networks that are averaged, each trained without one fold of the rows; 1 for a single network. Default 5 where a table of up to 20,000
    /// rows has no requirements and gives no validation rows, and the model is a network with one hidden layer; else 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folds: Option<usize>,
    /// Which iterate is returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<Keep>,
    /// Whether margins of average requirements are learned from validation rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margins: Option<Margins>,
    /// Seconds after which training ends with the best model so far. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Epochs without a better iterate after which training ends; 0 for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patience: Option<u64>,
    /// The order of the rows in an epoch: `rows` for any, or `blocks`, which reads neighbouring rows at about the same time. Default
    /// `rows`, and `blocks` where rows are kept on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shuffle: Option<ShuffleName>,
    /// `simultaneous`: rows that the metrics of an epoch are measured on. Default all, of images 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure_on: Option<usize>,
    /// End at the first feasible iterate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_when_feasible: Option<bool>,
    /// Share of a limit by which it may be exceeded and still count as met; of 1 where the limit is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Whether to look for proof that a problem cannot be solved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look_for_infeasibility: Option<bool>,
    /// How the primal step size changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleSpec>,
    /// The dual optimiser.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dual: Option<DualSpec>,
    /// When state is saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointSpec>,
}

/// Where settings that are not given come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recipe {
    /// Ours: meets the requirements.
    #[default]
    Feasible,
    /// The paper's experiments.
    Paper,
}

/// When the multipliers move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LearnerName {
    /// Once an epoch, on the violations of everyone.
    Alternating,
    /// With every batch, on the violations it showed.
    Simultaneous,
    /// After minimising the Lagrangian (Algorithm 1).
    Exact,
}

/// A primal optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OptimiserName {
    /// Adam.
    Adam,
    /// Adam that also shrinks θ by 0.01 times the rate at every step, beside `objective.weight_decay`.
    Adamw,
    /// Gradient descent.
    Sgd,
}

/// The iterate that is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// The last one.
    Last,
    /// The best feasible one, on validation rows if there are any.
    Best,
}

/// The order of the rows in an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShuffleName {
    /// All rows are shuffled.
    Rows,
    /// Blocks of neighbouring rows are shuffled, then the rows of some blocks together.
    Blocks,
}

/// Where the margins of average requirements come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Margins {
    /// From validation rows, beside those that are stated.
    Learned,
    /// From `margin` alone.
    Stated,
}

/// How a step size changes over the epochs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ScheduleSpec {
    /// Not at all.
    Constant,
    /// factor^⌊epoch / every⌋.
    Step {
        /// In (0, 1].
        factor: f64,
        /// Epochs.
        every: f64,
    },
    /// From 1 to `floor` along half a cosine.
    Cosine {
        /// Length in epochs. Default all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        over: Option<f64>,
        /// Where it ends. Default 0.
        #[serde(default)]
        floor: f64,
    },
}

/// A dual optimiser. What is not given is taken from the recipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DualSpec {
    /// The method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<DualMethodName>,
    /// The step size η.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// `adam`: decay of the first moment. Default 0.9.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta1: Option<f64>,
    /// `adam`: decay of the second moment. Default 0.999.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta2: Option<f64>,
    /// `nu-pi`: the proportional gain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proportional: Option<f64>,
    /// `nu-pi`: the smoothing of the proportional part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nu: Option<f64>,
    /// Epochs (or batches, of the simultaneous learner) between dual steps. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<u64>,
    /// How the step size changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleSpec>,
}

/// A dual method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DualMethodName {
    /// Adam.
    Adam,
    /// Projected ascent on the raw violations.
    Ascent,
    /// Projected ascent as Algorithm 1 writes it: η/N for pointwise requirements.
    Algorithm1,
    /// Proportional-integral control.
    NuPi,
}

/// When state is saved: after a number of epochs or of seconds, whichever comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointSpec {
    /// Epochs. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<u64>,
    /// Seconds. Default 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

//! The settings of a plan: every default filled in, nothing left open. The numbers are the [recipe](crate::recipe)'s.
//!
//! A [`Spec`](crate::Spec) is what a file says; [`Settings`] are what is done.

use feasible::learner::Shuffle;
use feasible::{Dual, Learner, Optimiser, Problem, Schedule};
use feasible_nn::{Activation, Adam, AdamW, Sgd};
use serde::{Deserialize, Serialize};

use crate::loss::LossName;
use crate::spec::{DualMethodName, Keep, LearnerName, Margins, OptimiserName, ShuffleName};

/// The settings of a plan. See the [module](self).
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The loss that is minimised.
    pub objective: LossName,
    /// α of α/2 ‖θ‖².
    pub weight_decay: f64,
    /// How it is trained.
    pub training: TrainingSettings,
}

/// `[training]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingSettings {
    /// Seed of start and shuffles.
    pub seed: u64,
    /// Threads; results do not depend on it.
    pub threads: usize,
    /// Whether rows are worked on in shards, so that results do not depend on the number of ranks.
    pub shards: bool,
    /// Epochs, or outer iterations of the exact learner.
    pub epochs: u64,
    /// Seconds after which training ends with the best so far; without a limit if `None`.
    pub seconds: Option<f64>,
    /// Where multipliers start, if a requirement does not say.
    pub start: f64,
    /// Networks that are averaged, each trained without one fold of the rows.
    pub folds: usize,
    /// Which iterate is returned.
    pub keep: Keep,
    /// Whether margins of average requirements are learned from validation rows.
    pub margins: Margins,
    /// Epochs without a better iterate after which training ends; 0 for never.
    pub patience: u64,
    /// End at the first feasible iterate.
    pub stop_when_feasible: bool,
    /// Share of a limit by which it may be exceeded and still count as met; of 1 where the limit is 0.
    pub tolerance: f64,
    /// Whether to look for proof that a problem cannot be solved.
    pub look_for_infeasibility: bool,
    /// When state is saved.
    pub checkpoint: CheckpointSettings,
    /// When and how parameters and multipliers move.
    pub learner: LearnerSettings,
}

/// When state is saved: after a number of epochs or of seconds, whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckpointSettings {
    /// Epochs; `u64::MAX` for never.
    pub epochs: u64,
    /// Seconds.
    pub seconds: f64,
}

/// When and how parameters and multipliers move.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum LearnerSettings {
    /// Alternating or simultaneous.
    FirstOrder(FirstOrderSettings),
    /// Algorithm 1.
    Exact(ExactDual),
}

/// How the multipliers of Algorithm 1 move.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum ExactDual {
    /// By the proximal step, which has no rate.
    Proximal,
    /// By ascent.
    Ascent {
        /// The step size η.
        rate: f64,
    },
}

/// A learner that takes batches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FirstOrderSettings {
    /// Whether multipliers move with every batch, not once an epoch.
    pub simultaneous: bool,
    /// Rows that the metrics of an epoch are measured on.
    pub measured_on: MeasuredOn,
    /// Rows per batch.
    pub batch_size: usize,
    /// The order of the rows in an epoch.
    pub shuffle: ShuffleName,
    /// The primal optimiser.
    pub optimiser: OptimiserSettings,
    /// The primal step size.
    pub rate: f64,
    /// How it changes.
    pub schedule: Schedule,
    /// The dual optimiser.
    pub dual: DualSettings,
}

/// Rows that the metrics of an epoch are measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MeasuredOn {
    /// All.
    All,
    /// This number.
    Rows(usize),
}

/// By how many times the rate `adamw` shrinks θ at every step.
pub(crate) const ADAMW_DECAY: f64 = 0.01;

/// A primal optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum OptimiserSettings {
    /// Adam.
    Adam,
    /// Adam with decoupled weight decay.
    AdamW,
    /// Gradient descent.
    Sgd {
        /// Its momentum.
        momentum: f64,
    },
}

/// A dual optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DualSettings {
    /// The method.
    pub method: DualMethod,
    /// The step size η.
    pub rate: f64,
    /// Epochs (or batches, of the simultaneous learner) between dual steps.
    pub every: u64,
    /// How the step size changes.
    pub schedule: Schedule,
    /// How large violations are that are not small.
    pub size: f64,
}

/// A dual method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum DualMethod {
    /// Adam.
    Adam {
        /// Decay of the first moment.
        beta1: f64,
        /// Decay of the second moment.
        beta2: f64,
    },
    /// Projected ascent on the raw violations.
    Ascent,
    /// Projected ascent as Algorithm 1 writes it: η/N for pointwise requirements.
    Algorithm1,
    /// Proportional-integral control.
    NuPi {
        /// The proportional gain.
        proportional: f64,
        /// The smoothing of the proportional part.
        nu: f64,
    },
}

/// `[model]`, for inputs of some width.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelSettings {
    /// A multilayer perceptron.
    Mlp {
        /// Widths of the hidden layers.
        hidden: Vec<usize>,
        /// The nonlinearity.
        activation: Activation,
    },
    /// Linear, logistic or softmax regression.
    Linear,
    /// A finite kernel expansion.
    Kernel {
        /// The kernel.
        kernel: feasible_nn::Kernel,
        /// Number of centres.
        centres: usize,
        /// Seed of their draw.
        seed: u64,
    },
    /// A small convolutional network, for images.
    Cnn {
        /// Whether the first layer takes pixels to mean 0 and deviation 1, by channel.
        normalise: bool,
    },
    /// A residual network of 18 layers, for images.
    Resnet18 {
        /// Whether the first layer takes pixels to mean 0 and deviation 1, by channel.
        normalise: bool,
        /// Channels of the first stage.
        width: usize,
    },
}

impl LearnerSettings {
    /// What a problem file calls it.
    pub fn name(&self) -> LearnerName {
        match self {
            Self::FirstOrder(of) if of.simultaneous => LearnerName::Simultaneous,
            Self::FirstOrder(_) => LearnerName::Alternating,
            Self::Exact(_) => LearnerName::Exact,
        }
    }

    /// The settings of a learner that takes batches.
    pub fn first_order(&self) -> Option<&FirstOrderSettings> {
        match self {
            Self::FirstOrder(of) => Some(of),
            Self::Exact(_) => None,
        }
    }
}

impl OptimiserSettings {
    /// What a problem file calls it.
    pub fn name(self) -> OptimiserName {
        match self {
            Self::Adam => OptimiserName::Adam,
            Self::AdamW => OptimiserName::Adamw,
            Self::Sgd { .. } => OptimiserName::Sgd,
        }
    }
}

impl DualMethod {
    /// What a problem file calls it.
    pub fn name(self) -> DualMethodName {
        match self {
            Self::Adam { .. } => DualMethodName::Adam,
            Self::Ascent => DualMethodName::Ascent,
            Self::Algorithm1 => DualMethodName::Algorithm1,
            Self::NuPi { .. } => DualMethodName::NuPi,
        }
    }
}

impl DualSettings {
    /// For multipliers that are worth `unit` of those between losses of size 1, of violations of this size.
    pub(crate) fn scaled(mut self, unit: f64, size: f64) -> Self {
        self.rate *= match self.method {
            // Its steps do not depend on the size of the violation.
            DualMethod::Adam { .. } => unit,
            DualMethod::Ascent | DualMethod::Algorithm1 | DualMethod::NuPi { .. } => unit / size,
        };
        if let DualMethod::NuPi { proportional, .. } = &mut self.method {
            *proportional *= unit / size;
        }
        self
    }

    /// For violations of this size.
    pub(crate) fn of_violations(self, size: f64) -> Self {
        Self { size, ..self }
    }

    fn dual(&self) -> Dual {
        let rate = self.rate;
        let dual = match self.method {
            DualMethod::Adam { beta1, beta2 } => Dual::adam_with(rate, beta1, beta2),
            DualMethod::Ascent => Dual::ascent(rate),
            DualMethod::Algorithm1 => Dual::algorithm1(rate),
            DualMethod::NuPi { proportional, nu } => Dual::nu_pi(rate, proportional, nu),
        };
        dual.epsilon(1e-8 * self.size).schedule(self.schedule)
    }
}

impl TrainingSettings {
    /// The learner, started with `seed`; `own` are the duals of single requirements, by the name of the core's
    /// requirement, and `size` that of the objective.
    pub(crate) fn learner(
        &self,
        seed: u64,
        own: &[(String, DualSettings)],
        validation: Option<&Problem>,
        size: f64,
    ) -> Learner {
        let mut learner = match &self.learner {
            LearnerSettings::Exact(ExactDual::Proximal) => Learner::exact(),
            LearnerSettings::Exact(ExactDual::Ascent { rate }) => Learner::exact().ascent(*rate),
            LearnerSettings::FirstOrder(of) => of.learner(own, size),
        };
        learner = learner
            .epochs(self.epochs)
            .seed(seed)
            .threads(self.threads)
            .look_for_infeasibility(self.look_for_infeasibility)
            .relative_tolerance(self.tolerance);
        if self.patience > 0 {
            learner = learner.patience(self.patience);
        }
        if self.stop_when_feasible {
            learner = learner.stop_when_feasible();
        }
        match (self.keep, validation) {
            (Keep::Best, Some(validation)) => learner.keep_best_on(validation.clone()),
            (Keep::Best, None) => learner.keep_best(),
            (Keep::Last, _) => learner.keep_last(),
        }
    }
}

impl FirstOrderSettings {
    fn learner(&self, own: &[(String, DualSettings)], size: f64) -> Learner {
        let (rate, schedule) = (self.rate, self.schedule);
        // Adam divides by the size of the gradients, unless that is as small as its ε; their squares must be within single
        // precision. A power of two leaves the digits as they are.
        let unit = size.log2().round().exp2();
        let epsilon = 1e-8 * (size / unit);
        let optimiser: Box<dyn Optimiser<f32>> = match self.optimiser {
            OptimiserSettings::Adam => {
                Box::new(Adam::new(rate).schedule(schedule).unit(unit).epsilon(epsilon))
            }
            OptimiserSettings::AdamW => {
                let adam = AdamW::new(rate).weight_decay(ADAMW_DECAY);
                Box::new(adam.schedule(schedule).unit(unit).epsilon(epsilon))
            }
            OptimiserSettings::Sgd { momentum } => {
                Box::new(Sgd::new(rate).schedule(schedule).momentum(momentum))
            }
        };
        let mut learner = match self.simultaneous {
            true => Learner::simultaneous(optimiser),
            false => Learner::alternating(optimiser),
        };
        learner =
            learner.batch_size(self.batch_size).dual(self.dual.dual()).dual_period(self.dual.every);
        learner = learner.shuffle(match self.shuffle {
            ShuffleName::Rows => Shuffle::Rows,
            ShuffleName::Blocks => Shuffle::Blocks,
        });
        if let MeasuredOn::Rows(rows) = self.measured_on {
            learner = learner.measure_on(rows);
        }
        for (name, own) in own {
            learner = learner.dual_for(name, own.dual());
        }
        learner
    }
}

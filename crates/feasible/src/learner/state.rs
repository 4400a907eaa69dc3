//! All that a training needs to go on, as one value.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::dual::DualState;
use crate::error::{Error, Result};
use crate::learner::progress::Progress;
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::optimiser::OptimiserState;
use crate::outcome::Outcome;
use crate::problem::Problem;
use crate::real::Real;

/// The state between two steps of a training. Saved and resumed, a training ends in the same
/// bits as one left alone: shuffles are a function of seed and epoch, and need no state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "T: Serialize", deserialize = "T: DeserializeOwned"))]
pub struct State<T> {
    /// The seed of start and shuffles.
    pub seed: u64,
    /// Epochs done.
    pub epoch: u64,
    /// Batches done of the next epoch.
    pub batch: u64,
    /// θ.
    pub theta: Vec<T>,
    /// What the primal optimiser remembers.
    pub optimiser: OptimiserState<T>,
    /// μ and λ.
    pub multipliers: Multipliers,
    /// What the dual optimisers remember, per requirement.
    pub duals: Vec<DualState>,
    /// The penalty of the augmented Lagrangian, where there is one.
    pub penalty: f64,
    /// The kept iterate, if the best one is asked for.
    pub best: Option<Best<T>>,
    /// How long ago things last improved.
    pub progress: Progress,
    /// How it ended, once it has.
    pub outcome: Option<Outcome>,
}

/// The best iterate so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "T: Serialize", deserialize = "T: DeserializeOwned"))]
pub struct Best<T> {
    /// After how many epochs.
    pub epoch: u64,
    /// θ.
    pub theta: Vec<T>,
    /// The multipliers of that moment.
    pub multipliers: Multipliers,
    /// Whether it met every requirement.
    pub feasible: bool,
    /// Its KKT residual beside the sizes of the problem, where the learner measures it.
    #[serde(default)]
    pub residual: Option<f64>,
}

impl<T: Real> State<T> {
    /// # Errors
    /// A state whose lengths do not fit this problem and model.
    pub fn check<M: Model<Real = T>>(&self, problem: &Problem, model: &M) -> Result<()> {
        let p = model.parameter_count();
        let state = |reason: String| Err(Error::State { reason });
        if self.theta.len() != p {
            return state(format!("it has {} parameters, the model {p}", self.theta.len()));
        }
        let trainable = model.trainable_count();
        if self.optimiser.slots.iter().any(|slot| slot.len() != trainable) {
            return state("its optimiser was made for another model".into());
        }
        if !self.multipliers.fits(problem) || self.duals.len() != problem.requirements().len() {
            return state("its multipliers were made for other requirements or samples".into());
        }
        Ok(())
    }
}

//! What a learner returns.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::learner::Shortfall;
use crate::measurement::{Measurement, Standing};
use crate::multiplier::Multipliers;
use crate::optimality::{Gap, Kkt};
use crate::outcome::Outcome;

/// One deterministic model, its multipliers, its slacks, and how training ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "T: Serialize", deserialize = "T: DeserializeOwned"))]
pub struct Solution<T> {
    /// The parameters.
    pub theta: Vec<T>,
    /// μ and λ.
    pub multipliers: Multipliers,
    /// Objective and slacks on the training populations.
    pub measurement: Measurement,
    /// One line per requirement.
    pub requirements: Vec<Standing>,
    /// The duality gap of (θ, μ, λ), with the Lagrangian at θ as the dual value.
    pub gap: Gap,
    /// KKT residuals of (θ, μ, λ).
    pub kkt: Kkt,
    /// How training ended.
    pub outcome: Outcome,
    /// The requirements that are not met, with what was reached and what would help; the worst first.
    #[serde(default)]
    pub shortfalls: Vec<Shortfall>,
    /// Epochs done.
    pub epochs: u64,
    /// The epoch the parameters are from.
    pub kept_epoch: u64,
}

impl<T> Solution<T> {
    /// The objective: average loss plus weight decay.
    pub fn objective(&self) -> f64 {
        self.measurement.value()
    }

    /// The standing of the requirement called `name`.
    pub fn requirement(&self, name: &str) -> Option<&Standing> {
        self.requirements.iter().find(|r| r.name == name)
    }

    /// Whether every requirement is met on the training populations.
    pub fn is_feasible(&self) -> bool {
        self.requirements.iter().all(|r| r.met)
    }
}

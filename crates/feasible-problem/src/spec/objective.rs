//! `[objective]`: what is minimised; `[evaluation]`: what is reported besides.

use feasible_data::ClassWeights;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::adversary::Share;
use super::requirement::Counterfactuals;
use crate::loss::LossName;
use crate::schema;

/// `[objective]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ObjectiveSpec {
    /// The loss. Default `cross-entropy` for classes, `squared` for numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossName>,
    /// The loss by which the best iterate is chosen on the validation rows. Default the objective's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_by: Option<LossName>,
    /// What rows of each class weigh: `"balanced"`, so that all classes weigh the same, or a number for each class.
    /// Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::class_weights")]
    pub class_weights: Option<ClassWeights>,
    /// α of α/2 ‖θ‖². Default 0; of multilayer perceptrons with the recipe `feasible` an eighth of the size of the objective
    /// over the training rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_decay: Option<f64>,
}

/// `[evaluation]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EvaluationSpec {
    /// Counterfactuals whose flip rates are reported. Default those of the requirements and of the
    /// embedded data set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counterfactual: Option<Counterfactuals>,
    /// The attack that requirements with an adversary are judged by, after training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attack: Option<EvaluationAttackSpec>,
}

/// The attack that requirements with an adversary are judged by: the worst for the requirement, sample by sample, of
/// the sample itself and of every point of every run. Its ball and its loss are those of the requirement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EvaluationAttackSpec {
    /// Steps of a run. Default 50, or as many as in training if that is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// The length of a step as a share of ε. Default a tenth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Share>,
    /// Runs, each from another random point. Default 2, or as many as in training if that is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restarts: Option<u32>,
}

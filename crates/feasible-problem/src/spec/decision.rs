//! `[decision]`: where the probability of the positive class is cut, chosen after training on the validation rows.
//!
//! ```toml
//! [decision]                          # the threshold that is right most often, of those that meet the rates
//! maximise = "accuracy"
//! ```
//!
//! | key | default | meaning |
//! | --- | --- | --- |
//! | `maximise` | `accuracy` | `accuracy`, `balanced-accuracy` or `f1` on the validation rows |
//! | `per` | none | a column: each of its categories gets a threshold of its own |
//! | `threshold` | chosen | 0.5: none is chosen, and rates are met by training alone |
//!
//! Without `[decision]` the more probable class is predicted, the threshold is 1/2, unless the one rate that is required is
//! [left to the threshold](crate::threshold).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[decision]`. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DecisionSpec {
    /// What the threshold makes as large as the requirements allow. Default `accuracy`.
    pub maximise: Maximise,
    /// A column: each of its categories gets a threshold of its own. Default one threshold for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per: Option<String>,
    /// 0.5: no threshold is chosen, the more probable class is predicted, and rates are met by training alone. Default chosen on the validation rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
}

impl DecisionSpec {
    /// Whether a threshold is chosen.
    pub fn chooses(&self) -> bool {
        self.threshold.is_none()
    }
}

/// What a threshold is chosen for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Maximise {
    /// The share of right predictions.
    #[default]
    Accuracy,
    /// The mean of recall and specificity.
    BalancedAccuracy,
    /// F1 of the positive class.
    F1,
}

impl Maximise {
    /// What it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::BalancedAccuracy => "balanced accuracy",
            Self::F1 => "F1",
        }
    }
}

//! Losses by the names a problem file gives them.

use feasible::Loss;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Smoothing of the total variation that stands in for the flip rate: well below the differences of
/// probabilities that matter, and above those that rounding makes.
const FLIP_SMOOTHING: f64 = 1e-3;
/// δ of the Huber loss.
const HUBER_DELTA: f64 = 1.0;

/// A loss by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossName {
    /// −log p_y.
    CrossEntropy,
    /// Cross-entropy of a model with one output.
    Logistic,
    /// (f − y)².
    Squared,
    /// |f − y|.
    Absolute,
    /// ½(f − y)² up to |f − y| = 1, linear beyond.
    Huber,
    /// max(0, 1 − m).
    Hinge,
    /// max(0, 1 − m)².
    SquaredHinge,
    /// ½ Σ (p_j − 1\[j = y\])².
    Brier,
    /// 1 − p_y.
    SmoothedError,
    /// 1\[predicted ≠ y\]; its surrogate is 1 − p_y.
    Error,
    /// KL(f(x) ‖ f(ρ(x))).
    Kl,
    /// ½ (KL(p ‖ q) + KL(q ‖ p)).
    SymmetricKl,
    /// ½ ‖p − q‖₁, slightly smoothed.
    TotalVariation,
    /// ‖f(x) − f(ρ(x))‖².
    SquaredDistance,
    /// 1\[the prediction changes\]; its surrogate is the total variation.
    Flip,
}

impl LossName {
    /// The loss whose gradient moves θ, and the one that moves the multipliers if it is another.
    pub fn losses(self) -> (Loss, Option<Loss>) {
        let variation = Loss::TotalVariation { smoothing: FLIP_SMOOTHING };
        let loss = match self {
            Self::CrossEntropy => Loss::CrossEntropy,
            Self::Logistic => Loss::Logistic,
            Self::Squared => Loss::Squared,
            Self::Absolute => Loss::Absolute,
            Self::Huber => Loss::Huber { delta: HUBER_DELTA },
            Self::Hinge => Loss::Hinge,
            Self::SquaredHinge => Loss::SquaredHinge,
            Self::Brier => Loss::Brier,
            Self::SmoothedError => Loss::SmoothedError,
            Self::Error => return (Loss::SmoothedError, Some(Loss::Error)),
            Self::Kl => Loss::Kl,
            Self::SymmetricKl => Loss::SymmetricKl,
            Self::TotalVariation => variation,
            Self::SquaredDistance => Loss::SquaredDistance,
            Self::Flip => return (variation, Some(Loss::Flip)),
        };
        (loss, None)
    }

    /// Whether the model must have a single output for it.
    pub fn wants_one_output(self) -> bool {
        matches!(
            self,
            Self::Logistic
                | Self::Hinge
                | Self::SquaredHinge
                | Self::Squared
                | Self::Absolute
                | Self::Huber
        )
    }
}

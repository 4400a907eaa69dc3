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
    /// The pinball loss of a quantile, `{ quantile = 0.9 }`: τ (y − f) where f is below y, (1 − τ)(f − y) above.
    Quantile(QuantileLevel),
    /// Half the Poisson deviance of a count whose expectation is e^f.
    Poisson,
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

/// τ of a quantile: between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct QuantileLevel(pub f64);

// What is not equal to itself is no quantile, and refused when a problem is checked.
impl Eq for QuantileLevel {}

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
            Self::Quantile(QuantileLevel(tau)) => Loss::Quantile { tau },
            Self::Poisson => Loss::Poisson,
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
                | Self::Quantile(_)
                | Self::Poisson
        )
    }

    /// Whether it is of numbers, of which the model gives one.
    pub fn is_of_numbers(self) -> bool {
        matches!(
            self,
            Self::Squared | Self::Absolute | Self::Huber | Self::Quantile(_) | Self::Poisson
        )
    }
}

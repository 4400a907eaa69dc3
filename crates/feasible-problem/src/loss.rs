//! Losses by the names a problem file gives them.

use feasible::Loss;
use feasible::loss::Coordinate;
use feasible_data::{TargetCoordinate, TargetEncoder, nearest, visible};
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

    /// As [`LossName::losses`], for a target. Of several numbers it is the mean over them, each in units of its standard deviation on
    /// the training rows (counts of the Poisson loss as they are), or the loss of the one that `of` names, in its own units.
    ///
    /// # Errors
    /// The key that is wrong, `loss` or `of`, and why.
    pub fn losses_of(
        self,
        target: &TargetEncoder,
        of: Option<&str>,
    ) -> Result<(Loss, Option<Loss>), (&'static str, String)> {
        let all = target.coordinates();
        let (loss, measure) = self.losses();
        if all.is_empty() {
            return match of {
                Some(_) => {
                    let message = "has no effect: it names one of several targets, but there is only one. Remove it";
                    Err(("of", message.into()))
                }
                None => Ok((loss, measure)),
            };
        }
        if !(self.is_of_numbers() || self == Self::SquaredDistance) {
            let message = format!(
                "{loss} is of classes, and {} numbers are predicted: use squared, absolute, huber, a quantile or poisson, \
                 or squared-distance between two views",
                all.len()
            );
            return Err(("loss", message));
        }
        let (label, terms) = match of {
            Some(name) => {
                let index = all.iter().position(|of| of.column == name);
                let Some(index) = index else { return Err(("of", unknown(name, all))) };
                let term = Coordinate { index, weight: 1.0, unit: 1.0 };
                (visible(name).into_owned(), vec![term])
            }
            None => {
                let deviations = self != Self::Poisson;
                let weight = 1.0 / all.len() as f64;
                let term = |(index, of): (usize, &TargetCoordinate)| {
                    let unit = if deviations { of.deviation } else { 1.0 };
                    Coordinate { index, weight, unit }
                };
                let terms = all.iter().enumerate().map(term).collect();
                (together(all, deviations), terms)
            }
        };
        let loss = loss.of_coordinates(label, terms);
        // Deviations were checked when the target was fitted or read.
        Ok((loss.map_err(|error| ("loss", error.to_string()))?, None))
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

/// Several targets in a few words: `x, y (in deviations)`.
fn together(all: &[TargetCoordinate], deviations: bool) -> String {
    let names: Vec<&str> = all.iter().map(|of| of.column.as_str()).collect();
    let names = match names.len() {
        0..=4 => visible(&names.join(", ")).into_owned(),
        count => format!("{count} targets"),
    };
    if deviations { format!("{names} (in deviations)") } else { names }
}

fn unknown(name: &str, all: &[TargetCoordinate]) -> String {
    let names: Vec<&str> = all.iter().map(|of| of.column.as_str()).collect();
    let hint = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean '{}'?", visible(&near)),
        None => format!("the targets are {}", visible(&names.join(", "))),
    };
    format!("'{}' is not predicted: {hint}", visible(name))
}

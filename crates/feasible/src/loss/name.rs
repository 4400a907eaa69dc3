//! What losses are called.

use std::fmt;

use super::Loss;

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CrossEntropy => f.write_str("cross-entropy"),
            Self::Logistic => f.write_str("logistic loss"),
            Self::Squared => f.write_str("squared error"),
            Self::Absolute => f.write_str("absolute error"),
            Self::Huber { delta } => write!(f, "Huber loss (delta {delta})"),
            Self::Quantile { tau } => write!(f, "pinball loss (quantile {tau})"),
            Self::Poisson => f.write_str("half the Poisson deviance"),
            Self::Hinge => f.write_str("hinge loss"),
            Self::SquaredHinge => f.write_str("squared hinge loss"),
            Self::Brier => f.write_str("Brier score"),
            Self::SmoothedError => f.write_str("smoothed error"),
            Self::Probability { class } => write!(f, "probability of class {class}"),
            Self::Error => f.write_str("error"),
            Self::Selected { class } => write!(f, "selection of class {class}"),
            Self::FalseDiscovery { class, rate } => {
                write!(f, "false discovery of class {class} (against {rate})")
            }
            Self::SmoothedFalseDiscovery { class, rate } => {
                write!(f, "smoothed false discovery of class {class} (against {rate})")
            }
            Self::Kl => f.write_str("KL divergence"),
            Self::SymmetricKl => f.write_str("symmetric KL divergence"),
            Self::TotalVariation { smoothing } => {
                write!(f, "total variation (smoothing {smoothing})")
            }
            Self::SquaredDistance => f.write_str("squared distance of outputs"),
            Self::Flip => f.write_str("flip"),
            Self::Bounded(bounded) => {
                write!(f, "{} (bounded by {})", bounded.loss(), bounded.bound())
            }
            Self::Coordinates(of) => write!(f, "{} of {}", of.loss(), of.label()),
            Self::Custom(loss) => f.write_str(&loss.name()),
        }
    }
}

//! What the theory needs to know about a loss.

use std::f64::consts::SQRT_2;

use super::{Bounded, Loss};

/// Convexity, Lipschitz constant and bound of a loss, as a function of the outputs.
///
/// By default nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Properties {
    /// Convex in the outputs (for pairs: in both views together).
    pub convex: bool,
    /// M with |ℓ(f) − ℓ(f′)| ≤ M ‖f − f′‖₂; for pairs, of the two views stacked. `None`: no such M.
    pub lipschitz: Option<f64>,
    /// B with 0 ≤ ℓ ≤ B. `None`: unbounded.
    pub bound: Option<f64>,
}

/// The largest slope of Brier's score by z_1 − z_0: that of (1 − p)² at p = 1/3.
const BRIER_SLOPE: f64 = 8.0 / 27.0;

impl Loss {
    /// Convexity, Lipschitz constant M and bound B for `width` outputs.
    pub fn properties(&self, width: usize) -> Properties {
        // A function of z_1 − z_0 with slope at most 1 has M = 1 of z alone, √2 of (z_0, z_1).
        let by_contrast = if width == 1 { 1.0 } else { SQRT_2 };
        // The mean over k numbers of functions with slope at most 1 has slope √k/k.
        let mean = (width.max(1) as f64).sqrt().recip();
        let new = |convex, lipschitz, bound| Properties { convex, lipschitz, bound };
        match self {
            Self::CrossEntropy | Self::Logistic => new(true, Some(by_contrast), None),
            Self::Squared | Self::SquaredHinge | Self::SquaredDistance | Self::Poisson => {
                new(true, None, None)
            }
            Self::Quantile { tau } => new(true, Some(tau.max(1.0 - tau) * mean), None),
            Self::Absolute => new(true, Some(mean), None),
            Self::Hinge => new(true, Some(1.0), None),
            Self::Huber { delta } => new(true, Some(*delta * mean), None),
            Self::Coordinates(of) => of.properties(),
            Self::Brier => new(false, Some(BRIER_SLOPE * by_contrast), Some(1.0)),
            Self::SmoothedError | Self::Probability { .. } => {
                new(false, Some(by_contrast / 4.0), Some(1.0))
            }
            Self::SmoothedFalseDiscovery { rate, .. } => {
                new(false, Some(rate.max(1.0 - rate) * by_contrast / 4.0), Some(1.0))
            }
            Self::Error | Self::Selected { .. } | Self::FalseDiscovery { .. } | Self::Flip => {
                new(false, None, Some(1.0))
            }
            Self::Kl | Self::SymmetricKl => new(false, None, None),
            // ‖J c‖ ≤ √2/4 for the Jacobian J of softmax and |c_j| ≤ 1/2, as it is convex in c and, at the
            // vertices, at most √2 π(1 − π) with π the mass where c is 1/2. Two views: √2 of that.
            Self::TotalVariation { smoothing } => {
                let bound = 1.0 / (1.0f64.hypot(*smoothing) + smoothing);
                new(false, Some(by_contrast * SQRT_2 / 4.0), Some(bound))
            }
            Self::Bounded(bounded) => bounded.properties(width),
            Self::Custom(loss) => loss.properties(width),
        }
    }
}

impl Bounded {
    fn properties(&self, width: usize) -> Properties {
        let bound = self.bound;
        let plain = self.loss.properties(width);
        if plain.bound.is_some_and(|own| own <= bound) {
            return plain;
        }
        let lipschitz = match *self.loss {
            Loss::CrossEntropy | Loss::Logistic | Loss::Kl | Loss::SymmetricKl => {
                Some(self.floored_lipschitz(width))
            }
            Loss::SquaredHinge => Some(2.0 * bound.sqrt()),
            Loss::Squared => Some(2.0 * (bound / width.max(1) as f64).sqrt()),
            Loss::SquaredDistance => Some((8.0 * bound).sqrt()),
            Loss::Huber { delta } => {
                Some(delta.min((2.0 * bound).sqrt()) / (width.max(1) as f64).sqrt())
            }
            Loss::Coordinates(ref of) => of.clipped_lipschitz(bound),
            _ => plain.lipschitz,
        };
        Properties { convex: false, lipschitz, bound: Some(bound) }
    }

    /// With κ = 1 − kτ. Cross-entropy: its slope by the logits is κp(1 − p)/(κp + τ) times at most √2,
    /// largest where κp + τ = R = √(τ² + κτ); this M is attained. Divergences: log-ratios lie in
    /// [−D, D], D = log((1 − (k − 1)τ)/τ), so that the gradient by z is at most κD/√2 and by u at most √2
    /// (for one output, both divided by √2); this M is an upper bound.
    fn floored_lipschitz(&self, width: usize) -> f64 {
        let by_contrast = if width == 1 { 1.0 } else { SQRT_2 };
        let (k, tau) = (width.max(2) as f64, (-self.bound).exp());
        let kept = 1.0 - k * tau;
        let widest = self.bound + (-(k - 1.0) * tau).ln_1p();
        let (by_z, by_u) = (0.5 * kept * widest, 1.0);
        by_contrast
            * match *self.loss {
                Loss::Kl => f64::hypot(by_z, by_u),
                Loss::SymmetricKl => (by_z + by_u) / SQRT_2,
                _ => {
                    let r = (tau * tau + kept * tau).sqrt();
                    (r - tau) * (kept + tau - r) / (kept * r)
                }
            }
    }
}

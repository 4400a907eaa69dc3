//! Balls ‖δ‖ ≤ ε: a random point, a step of steepest ascent, the nearest point inside.

use serde::{Deserialize, Serialize};

use crate::stream::Stream;

/// How the size of a perturbation is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Norm {
    /// maxᵢ |δᵢ|.
    Linf,
    /// √Σ δᵢ².
    L2,
}

/// Entries the adversary may change, all others being 0 throughout.
pub(super) type Columns<'a> = &'a [u32];

impl Norm {
    /// ‖δ‖.
    pub fn of(self, delta: &[f32]) -> f64 {
        let sizes = delta.iter().map(|d| f64::from(d.abs()));
        match self {
            Self::Linf => sizes.fold(0.0, f64::max),
            Self::L2 => sizes.map(|d| d * d).sum::<f64>().sqrt(),
        }
    }

    /// A point drawn uniformly from the ball.
    pub(super) fn start(
        self,
        epsilon: f32,
        columns: Columns<'_>,
        random: &mut Stream,
        delta: &mut [f32],
    ) {
        match self {
            Self::Linf => {
                for &c in columns {
                    delta[c as usize] = epsilon * (2.0 * random.uniform() - 1.0) as f32;
                }
            }
            Self::L2 => {
                for &c in columns {
                    delta[c as usize] = normal(random) as f32;
                }
                // Uniform in the ball: a uniform direction, and the radius to the power 1/d.
                let radius = random.uniform().powf(1.0 / columns.len().max(1) as f64);
                let size = self.of(delta).max(f64::MIN_POSITIVE);
                let factor = (f64::from(epsilon) * radius / size) as f32;
                columns.iter().for_each(|&c| delta[c as usize] *= factor);
                self.project(epsilon, delta);
            }
        }
    }

    /// Moves δ by `length` in the direction of steepest ascent of ⟨gradient, ·⟩ in this norm.
    pub(super) fn step(
        self,
        length: f32,
        columns: Columns<'_>,
        gradient: &[f32],
        delta: &mut [f32],
    ) {
        match self {
            Self::Linf => {
                for &c in columns {
                    let g = gradient[c as usize];
                    // signum(0) is 1 in Rust: a coordinate without a slope stays where it is.
                    if g != 0.0 {
                        delta[c as usize] += length * g.signum();
                    }
                }
            }
            Self::L2 => {
                let square = |&c: &u32| f64::from(gradient[c as usize]).powi(2);
                let size = columns.iter().map(square).sum::<f64>().sqrt();
                if size > 0.0 {
                    let factor = f64::from(length) / size;
                    for &c in columns {
                        delta[c as usize] += (factor * f64::from(gradient[c as usize])) as f32;
                    }
                }
            }
        }
    }

    /// The point of the ball nearest to δ.
    pub(super) fn project(self, epsilon: f32, delta: &mut [f32]) {
        match self {
            Self::Linf => delta.iter_mut().for_each(|d| *d = d.clamp(-epsilon, epsilon)),
            Self::L2 => {
                let size = self.of(delta);
                if size > f64::from(epsilon) {
                    // A little inside, so that rounding does not lead out.
                    let factor = f64::from(epsilon) / size * (1.0 - 1e-7);
                    delta.iter_mut().for_each(|d| *d = (f64::from(*d) * factor) as f32);
                }
            }
        }
    }
}

/// A standard normal number (Box and Muller).
pub(super) fn normal(random: &mut Stream) -> f64 {
    let radius = (-2.0 * (1.0 - random.uniform()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.uniform()).cos()
}

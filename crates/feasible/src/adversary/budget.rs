//! ε: fixed, or drawn from a prior.
//!
//! The paper's robust experiments replace the worst case at one ε by an expectation over
//! ε ~ 𝔓: E over (x, y) and ε of ℓ at δ*(x, y; ε) ≤ c, which is strict where ε is likely and
//! degrades smoothly beyond.

use serde::{Deserialize, Serialize};

use crate::adaptive::TrainingPlace;
use crate::adversary::ball::normal;
use crate::error::{Error, Result};
use crate::limit::suggestion;
use crate::stream::{Purpose, Stream};

/// The law of ε.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "prior", rename_all = "snake_case", deny_unknown_fields)]
pub enum Prior {
    /// One value.
    Fixed {
        /// ε.
        epsilon: f64,
    },
    /// `scale` · Beta(α, β).
    Beta {
        /// The largest ε.
        scale: f64,
        /// α.
        alpha: f64,
        /// β.
        beta: f64,
    },
    /// Exponential with this mean.
    Exponential {
        /// The mean.
        mean: f64,
    },
    /// Uniform on \[low, high\].
    Uniform {
        /// The smallest ε.
        low: f64,
        /// The largest.
        high: f64,
    },
    /// One of these values, with probabilities in proportion to the weights.
    Discrete {
        /// The values.
        values: Vec<f64>,
        /// Their weights.
        weights: Vec<f64>,
    },
}

/// How often ε is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// For each sample and epoch: independent of batches.
    #[default]
    Sample,
    /// Once for all samples of a batch and epoch, keyed by the smallest id in it.
    Batch,
}

/// A prior and how often it is drawn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// The law.
    #[serde(flatten)]
    pub prior: Prior,
    /// Per sample or per batch.
    #[serde(default)]
    pub draw: Draw,
}

impl From<Prior> for Budget {
    fn from(prior: Prior) -> Self {
        Self { prior, draw: Draw::Sample }
    }
}

impl Budget {
    /// One ε for all.
    pub fn fixed(epsilon: f64) -> Self {
        Prior::Fixed { epsilon }.into()
    }

    /// `scale` · Beta(α, β), per sample.
    pub fn beta(scale: f64, alpha: f64, beta: f64) -> Self {
        Prior::Beta { scale, alpha, beta }.into()
    }

    /// The same law, drawn this often.
    pub fn draw(self, draw: Draw) -> Self {
        Self { draw, ..self }
    }

    /// # Errors
    /// An ε that could be negative, infinite or above `most`; parameters outside their range.
    pub(super) fn check(&self, most: f64) -> Result<()> {
        let limit = |x: f64| {
            let allowed = if most > 1.0 {
                format!("a number ≥ 0, at most {most:e}")
            } else {
                format!("in [0, {most}]{}", suggestion(x))
            };
            Error::unless(x >= 0.0 && x <= most, "epsilon", x, &allowed)
        };
        let positive = |what: &str, x: f64| {
            Error::unless(x > 0.0 && x.is_finite(), what, x, "a positive number")
        };
        match &self.prior {
            Prior::Fixed { epsilon } => limit(*epsilon),
            Prior::Beta { scale, alpha, beta } => {
                limit(*scale)?;
                positive("alpha of the Beta prior", *alpha)?;
                positive("beta of the Beta prior", *beta)
            }
            Prior::Exponential { mean } => limit(*mean),
            Prior::Uniform { low, high } => {
                limit(*low)?;
                limit(*high)?;
                let allowed = format!("at least the low end, {low}");
                Error::unless(low <= high, "high end of the uniform prior", *high, &allowed)
            }
            Prior::Discrete { values, weights } => {
                if values.is_empty() || values.len() != weights.len() {
                    return Err(Error::Shape {
                        what: "weights of the discrete prior".into(),
                        expected: format!(
                            "one for each of the {} values, at least 1",
                            values.len()
                        ),
                        found: weights.len(),
                    });
                }
                values.iter().try_for_each(|&v| limit(v))?;
                let fine = |w: f64| w >= 0.0 && w.is_finite();
                if let Some(&bad) = weights.iter().find(|w| !fine(**w)) {
                    Error::unless(false, "weight of the discrete prior", bad, "a number ≥ 0")?;
                }
                positive("sum of the weights of the discrete prior", weights.iter().sum())
            }
        }
    }

    /// ε of a sample (or of a batch, whose key is its smallest id).
    #[doc(hidden)]
    pub fn epsilon(&self, place: TrainingPlace, key: u64, most: f64) -> f64 {
        let mut random = Stream::new(place.seed, Purpose::View, place.epoch << 20, key);
        self.prior.draw(&mut random).min(most)
    }
}

impl Prior {
    /// One draw.
    pub(super) fn draw(&self, random: &mut Stream) -> f64 {
        match self {
            Self::Fixed { epsilon } => *epsilon,
            Self::Beta { scale, alpha, beta } => {
                let (a, b) = (gamma(*alpha, random), gamma(*beta, random));
                // Both are 0 only by underflow, for tiny parameters.
                if a + b > 0.0 { scale * a / (a + b) } else { 0.0 }
            }
            Self::Exponential { mean } => -mean * (1.0 - random.uniform()).ln(),
            Self::Uniform { low, high } => low + (high - low) * random.uniform(),
            Self::Discrete { values, weights } => {
                let mut left = random.uniform() * weights.iter().sum::<f64>();
                for (value, weight) in values.iter().zip(weights) {
                    left -= weight;
                    if left < 0.0 {
                        return *value;
                    }
                }
                values[values.len() - 1]
            }
        }
    }
}

/// A Gamma(shape, 1) number (Marsaglia and Tsang, 2000; below 1 by their power of a uniform).
fn gamma(shape: f64, random: &mut Stream) -> f64 {
    if shape < 1.0 {
        let lift = (1.0 - random.uniform()).powf(1.0 / shape);
        return gamma(shape + 1.0, random) * lift;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(random);
        let v = (1.0 + c * x).powi(3);
        if v <= 0.0 {
            continue;
        }
        let u = 1.0 - random.uniform();
        if u.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

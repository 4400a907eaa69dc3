//! δ, the probability of being wrong that the user accepts.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// δ in (0, 1), checked once. A statement at δ holds with probability at least 1 − δ.
///
/// ```
/// use feasible::certificate::Delta;
/// assert!((Delta::confidence(0.95)?.value() - 0.05).abs() < 1e-15);
/// let error = Delta::new(1.5).unwrap_err().to_string();
/// assert_eq!(error, "delta = 1.5: must be between 0 and 1, both excluded: 0.05 for 95 %");
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Delta(f64);

impl Delta {
    /// δ itself.
    ///
    /// # Errors
    /// A number that is not in (0, 1).
    pub fn new(delta: f64) -> Result<Self> {
        let allowed = "between 0 and 1, both excluded: 0.05 for 95 %";
        Error::unless(delta > 0.0 && delta < 1.0, "delta", delta, allowed)?;
        Ok(Self(delta))
    }

    /// The δ = 1 − `confidence`.
    ///
    /// # Errors
    /// A confidence that is not in (0, 1).
    pub fn confidence(confidence: f64) -> Result<Self> {
        let inside = confidence > 0.0 && confidence < 1.0;
        let allowed = "between 0 and 1, both excluded: 0.95 for 95 %";
        Error::unless(inside, "confidence", confidence, allowed)?;
        // 1 − 0.95 is 0.05, whatever binary fractions say.
        let delta = 1.0 - confidence;
        let rounded = (delta * 1e15).round() / 1e15;
        Ok(Self(if rounded > 0.0 { rounded } else { delta }))
    }

    /// δ.
    pub fn value(self) -> f64 {
        self.0
    }

    /// log δ.
    pub fn ln(self) -> f64 {
        self.0.ln()
    }

    /// z with Pr\[Z > z\] ≈ δ of a standard normal Z, to three digits for δ ≤ 1/2 (Abramowitz and Stegun 26.2.23).
    ///
    /// ```
    /// use feasible::certificate::Delta;
    /// assert!((Delta::new(0.05)?.normal_quantile() - 1.645).abs() < 1e-3);
    /// # Ok::<(), feasible::Error>(())
    /// ```
    pub fn normal_quantile(self) -> f64 {
        let t = (-2.0 * self.ln().min(-0.7)).sqrt();
        let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
        let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
        t - above / below
    }

    /// δ/m: what each of m statements may spend so that all hold at δ (Bonferroni).
    #[must_use]
    pub fn among(self, m: usize) -> Self {
        self.times(1.0 / m.max(1) as f64)
    }

    /// A part of δ, `share` in (0, 1].
    #[must_use]
    pub(crate) fn times(self, share: f64) -> Self {
        Self((self.0 * share).max(f64::MIN_POSITIVE))
    }
}

impl TryFrom<f64> for Delta {
    type Error = Error;

    fn try_from(delta: f64) -> Result<Self> {
        Self::new(delta)
    }
}

impl From<Delta> for f64 {
    fn from(delta: Delta) -> Self {
        delta.0
    }
}

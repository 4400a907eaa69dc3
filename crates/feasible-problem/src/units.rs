//! Outputs in the units of the target.
//!
//! A network starts with outputs of the order of 1 and learns by steps of that order. A target may be a price in the
//! hundred thousands or a concentration of 1e-6, so the last layer g is read as
//!
//! $$ f_\theta(x) = m + s\, g_\theta(x) , $$
//!
//! m and s being mean and standard deviation of the target on the training rows. Losses, limits, multipliers and prices
//! act on f and are therefore in the user's units by themselves; nothing has to be mapped back.

use feasible::Targets;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// f = offset + scale · g. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputUnits {
    /// m.
    pub offset: f64,
    /// s.
    pub scale: f64,
}

impl OutputUnits {
    /// Mean and standard deviation of a numeric target; `None` for classes. A target that never changes has scale 1.
    pub fn of(targets: &Targets) -> Option<Self> {
        let Targets::Values(values) = targets else { return None };
        let count = values.len().max(1) as f64;
        let mean = values.iter().map(|&y| f64::from(y) / count).sum::<f64>();
        let squares = values.iter().map(|&y| (f64::from(y) - mean).powi(2) / count).sum::<f64>();
        let deviation = squares.sqrt();
        // Below this the deviation is rounding of the mean.
        let varies = deviation > 1e-12 * mean.abs() && deviation.is_normal();
        Some(Self { offset: mean, scale: if varies { deviation } else { 1.0 } })
    }

    /// # Errors
    /// Numbers that are not finite in single precision, or a scale that is not positive.
    pub(crate) fn check(self) -> Result<()> {
        let single = |x: f64| (x as f32).is_finite();
        if single(self.offset) && single(self.scale) && self.scale as f32 > 0.0 {
            return Ok(());
        }
        let Self { offset, scale } = self;
        let reason = format!(
            "offset {offset:e}, scale {scale:e}: both must be finite in single precision, the scale positive"
        );
        Err(Error::unfit("units of the outputs", reason))
    }

    /// Takes outputs of the last layer to the units of the target.
    pub(crate) fn apply(self, outputs: &mut [f32]) {
        let (offset, scale) = (self.offset as f32, self.scale as f32);
        for output in outputs {
            *output = offset + scale * *output;
        }
    }
}

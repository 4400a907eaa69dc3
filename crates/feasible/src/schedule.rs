//! How a step size changes over the epochs; one type for the primal and the dual.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A factor on the step size, as a function of the epochs done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// 1 throughout (the default).
    #[default]
    Constant,
    /// factor^⌊epoch / every⌋: "halve every 50" is `Step { factor: 0.5, every: 50.0 }`.
    Step {
        /// What the step size is multiplied with, in (0, 1].
        factor: f64,
        /// After how many epochs each time.
        every: f64,
    },
    /// From 1 down to `floor` along half a cosine over `over` epochs, then `floor`.
    Cosine {
        /// Length in epochs.
        over: f64,
        /// Where it ends, in [0, 1].
        floor: f64,
    },
}

impl Schedule {
    /// The factor after `epoch` epochs (fractions count).
    pub fn factor(&self, epoch: f64) -> f64 {
        match *self {
            Self::Constant => 1.0,
            Self::Step { factor, every } => factor.powf((epoch / every).floor()),
            Self::Cosine { over, floor } => {
                let t = (epoch / over).min(1.0);
                floor + (1.0 - floor) * 0.5 * (1.0 + (std::f64::consts::PI * t).cos())
            }
        }
    }

    /// # Errors
    /// A factor or length outside its range.
    pub fn check(&self) -> Result<()> {
        match *self {
            Self::Constant => Ok(()),
            Self::Step { factor, every } => {
                Error::unless(
                    factor > 0.0 && factor <= 1.0,
                    "schedule factor",
                    factor,
                    "in (0, 1]",
                )?;
                Error::unless(
                    every > 0.0 && every.is_finite(),
                    "schedule period",
                    every,
                    "positive",
                )
            }
            Self::Cosine { over, floor } => {
                Error::unless(over > 0.0 && over.is_finite(), "schedule length", over, "positive")?;
                Error::unless((0.0..=1.0).contains(&floor), "schedule floor", floor, "in [0, 1]")
            }
        }
    }
}

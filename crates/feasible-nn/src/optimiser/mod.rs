//! First-order methods on the flat θ, as PyTorch defines them.

pub mod adam;
pub mod sgd;

pub use adam::{Adam, AdamW};
pub use sgd::Sgd;

use feasible::{Error, Result};

/// A step size: finite and not negative.
fn check_rate(rate: f64) -> Result<()> {
    Error::unless(rate >= 0.0 && rate.is_finite(), "rate", rate, "a number ≥ 0")
}

/// A weight decay: finite and not negative.
fn check_decay(decay: f64) -> Result<()> {
    Error::unless(decay >= 0.0 && decay.is_finite(), "weight decay", decay, "a number ≥ 0")
}

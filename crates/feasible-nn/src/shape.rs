//! Checks of the sizes a user gives.

use feasible::{Error, Result};

pub(crate) fn positive(setting: &str, width: usize) -> Result<()> {
    Error::unless(width > 0, setting, width as f64, "at least 1")
}

//! Checks of the sizes a user gives.

use feasible::{Error, Result};

/// The most numbers that θ, or a value of a network, may have: 8 GiB in `f32`.
pub(crate) const MOST: usize = 1 << 31;

pub(crate) fn positive(setting: &str, width: usize) -> Result<()> {
    Error::unless(width > 0, setting, width as f64, "at least 1")
}

/// The product of sizes.
///
/// # Errors
/// One above [`MOST`].
pub(crate) fn product(setting: &str, sizes: &[usize]) -> Result<usize> {
    let product = sizes.iter().try_fold(1, |all: usize, &size| all.checked_mul(size));
    match product.filter(|&all| all <= MOST) {
        Some(all) => Ok(all),
        None => {
            let value = sizes.iter().map(|&size| size as f64).product();
            let allowed = format!("at most {MOST}");
            Err(Error::Setting { setting: setting.into(), value, allowed })
        }
    }
}

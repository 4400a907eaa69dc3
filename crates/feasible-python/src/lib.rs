//! The extension module of the Python package `feasible`, which is in `python/`.
//!
//! Everything numerical is in the Rust crates; here values are handed over, and errors become exceptions.

use pyo3::prelude::*;

mod error;

#[pymodule]
mod _feasible {
    #[pymodule_export]
    use crate::error::FeasibleError;

    #[pymodule_export]
    use super::version;
}

/// The version of the package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

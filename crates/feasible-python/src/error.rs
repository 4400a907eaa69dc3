//! What is refused, as an exception with the sentence of the program.

use pyo3::exceptions::PyValueError;
use pyo3::{PyErr, create_exception};

create_exception!(
    feasible,
    FeasibleError,
    PyValueError,
    "Input that cannot be used: what was found, where, and what to do about it."
);

/// An error of the Rust crates as a [`FeasibleError`].
pub(crate) fn refused(error: impl std::fmt::Display) -> PyErr {
    FeasibleError::new_err(error.to_string())
}

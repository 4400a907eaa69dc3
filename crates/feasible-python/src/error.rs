//! What is refused, as an exception with the sentence of the program.

use pyo3::exceptions::PyValueError;
use pyo3::{PyErr, create_exception};

create_exception!(
    feasible,
    FeasibleError,
    PyValueError,
    "Input that cannot be used: what was found, where, and what to do about it."
);

/// What tables in memory are called.
pub(crate) const TABLE: &str = "X";

/// An error of the Rust crates as a [`FeasibleError`].
pub(crate) fn refused(error: impl std::fmt::Display) -> PyErr {
    FeasibleError::new_err(rows_from_zero(&error.to_string()))
}

/// The same of a run: a problem that was put together here has keys, and no lines that anybody could look up.
pub(crate) fn refused_run(error: feasible_run::Error) -> PyErr {
    match error {
        feasible_run::Error::Problem(error) => refused_problem(error),
        other => refused(other),
    }
}

/// As [`refused_run`].
pub(crate) fn refused_problem(error: feasible_problem::Error) -> PyErr {
    use feasible_problem::Error;
    match error {
        Error::Problem { place, message } if place.key.is_empty() || place.key == "." => {
            refused(message)
        }
        Error::Problem { place, message } => refused(format!("{}: {message}", place.key)),
        Error::Data(feasible_data::Error::Missing { place }) => refused(format!(
            "{place}: the value is NaN or None, which is missing: drop the row or column, or set \
             missing=\"category\" or missing=\"impute\""
        )),
        other => refused(other),
    }
}

/// Rows of a table in memory are counted as Python counts them: `X, line 3` is `X, row 2`.
fn rows_from_zero(text: &str) -> String {
    let line = format!("{TABLE}, line ");
    let mut parts = text.split(&line);
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        match part[..digits].parse::<u64>() {
            Ok(number) => {
                out += &format!("{TABLE}, row {}{}", number.saturating_sub(1), &part[digits..]);
            }
            Err(_) => out += &format!("{line}{part}"),
        }
    }
    out
}

//! The extension module of the Python package `feasible`, which is in `python/`.
//!
//! Everything numerical is in the Rust crates; here values are handed over, and errors become exceptions.
//!
//! | file | |
//! | --- | --- |
//! | `table.rs`, `arrow.rs`, `objects.rs`, `categories.rs` | arrays and frames become a table |
//! | `fit.rs` | a table and a problem become a run; Ctrl-C |
//! | `run.rs` | a run: predictions, multipliers, certificate, page, files |
//! | `judge.rs` | the outputs of any predictor |
//! | `duals.rs` | multipliers for a training loop of somebody else's |
//! | `datasets.rs` | the embedded tables |
//! | `error.rs` | what is refused |

mod arrow;
mod categories;
mod datasets;
mod duals;
mod error;
mod fit;
mod judge;
mod objects;
mod run;
mod table;

#[pyo3::pymodule]
mod _feasible {
    #[pymodule_export]
    use crate::datasets::{load_data, load_images};
    #[pymodule_export]
    use crate::duals::DualsCore;
    #[pymodule_export]
    use crate::error::FeasibleError;
    #[pymodule_export]
    use crate::fit::fit;
    #[pymodule_export]
    use crate::judge::{changes, judge};
    #[pymodule_export]
    use crate::run::Run;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::{read_problem, version};

    #[cfg(debug_assertions)]
    #[pymodule_export]
    use crate::panic_for_a_test;
}

/// The version of the package.
#[pyo3::pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// A problem file, or the embedded problem of this name, as JSON.
#[pyo3::pyfunction]
fn read_problem(name: &str) -> pyo3::PyResult<String> {
    let source = feasible_problem::ProblemSource::open(name).map_err(error::refused)?;
    // Every key is checked here; what is handed on is what the file says.
    source.parse(&[]).map_err(error::refused)?;
    let table: toml::Table = source.text().parse().map_err(error::refused)?;
    serde_json::to_string(&table).map_err(error::refused)
}

/// Panics, here or on a thread as trainings have one: only in builds for tests, which see that the interpreter lives.
#[cfg(debug_assertions)]
#[pyo3::pyfunction]
fn panic_for_a_test(py: pyo3::Python<'_>, on_a_thread: bool) {
    let bug = || panic!("a bug, for a test");
    if on_a_thread { fit::joined(py, std::thread::spawn(bug)) } else { bug() }
}

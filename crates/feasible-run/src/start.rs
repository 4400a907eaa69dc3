//! Where a training may start: at the solution of another run of the same shape.

use std::path::Path;

use feasible::{Multipliers, Problem};

use crate::error::{Error, Result};
use crate::files::{MODEL, MULTIPLIERS};
use crate::saved_model::SavedModel;
use crate::storage::{Storage, read, read_from};

/// A start: parameters and multipliers.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// θ.
    pub theta: Vec<f32>,
    /// μ and λ.
    pub multipliers: Multipliers,
    /// What it is, for those who read the run: `the solution at 0.01`.
    pub of: String,
}

impl Start {
    /// The solution of a finished run in a directory, for a problem of the same shape.
    ///
    /// # Errors
    /// Files that are missing, damaged, or of other requirements or samples.
    pub fn open(directory: &Path, problem: &Problem, of: &str) -> Result<Self> {
        let location = directory.display().to_string();
        Self::read(&location, &|name| read_from(directory, name), problem, of)
    }

    /// As [`Start::open`], from any storage.
    ///
    /// # Errors
    /// As [`Start::open`].
    pub fn of(storage: &dyn Storage, problem: &Problem, of: &str) -> Result<Self> {
        Self::read(&storage.location(), &|name| read(storage, name), problem, of)
    }

    fn read(
        location: &str,
        read: &dyn Fn(&str) -> Result<Option<Vec<u8>>>,
        problem: &Problem,
        of: &str,
    ) -> Result<Self> {
        let needed = |name: &'static str| {
            read(name)?.ok_or_else(|| Error::NotARun { location: location.into(), missing: name })
        };
        let path = |name: &str| format!("{location}/{name}");
        let model = SavedModel::from_bytes(&path(MODEL), &needed(MODEL)?)?;
        let multipliers = multipliers(&path(MULTIPLIERS), &needed(MULTIPLIERS)?, problem)?;
        Ok(Self { theta: model.theta().to_vec(), multipliers, of: of.to_string() })
    }
}

/// The multipliers of `multipliers.csv`: numbers are written so that they are read back to the bit.
fn multipliers(path: &str, bytes: &[u8], problem: &Problem) -> Result<Multipliers> {
    let damaged = |reason: String| Error::Damaged { path: path.into(), reason };
    let mut reader = csv::Reader::from_reader(bytes);
    let headers = reader.headers().map_err(|e| damaged(e.to_string()))?;
    let column = headers.iter().position(|name| name == "multiplier");
    let column = column.ok_or_else(|| damaged("it has no column 'multiplier'".into()))?;
    let mut numbers = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| damaged(e.to_string()))?;
        let cell = record.get(column).unwrap_or_default();
        let number: f64 = cell.parse().map_err(|_| damaged(format!("'{cell}' is no number")))?;
        numbers.push(number);
    }
    let needed: usize = problem.requirements().iter().map(|r| r.multipliers()).sum();
    if numbers.len() != needed {
        return Err(damaged(format!("it has {} multipliers, not {needed}", numbers.len())));
    }
    let mut rest = numbers.into_iter();
    let each = problem.requirements().iter().map(|r| rest.by_ref().take(r.multipliers()).collect());
    Ok(Multipliers::new(problem, each.collect())?)
}

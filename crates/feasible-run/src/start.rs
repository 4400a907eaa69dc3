//! Where a training may start: at the solution of another run of the same shape.

use std::path::Path;

use feasible::{Multipliers, Problem};

use crate::directory::RunDirectory;
use crate::error::{Error, Result};
use crate::files::{MODEL, MULTIPLIERS};
use crate::multipliers::read_multipliers;
use crate::saved_model::SavedModel;
use crate::storage::{Storage, read};

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
        let run = RunDirectory::new(directory);
        Self::read(&run.location(), &|name| run.read(name), problem, of)
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
    let read = read_multipliers(path, bytes)?;
    let numbers = || read.iter().flat_map(|one| &one.points).map(|point| point.multiplier);
    let needed: usize = problem.requirements().iter().map(|r| r.multipliers()).sum();
    if numbers().count() != needed {
        let reason = format!("it has {} multipliers, not {needed}", numbers().count());
        return Err(Error::Damaged { path: path.into(), reason });
    }
    let mut rest = numbers();
    let each = problem.requirements().iter().map(|r| rest.by_ref().take(r.multipliers()).collect());
    Ok(Multipliers::new(problem, each.collect())?)
}

//! Where the rows of a training are kept: in memory, or on disk.
//!
//! On disk (`data.store = "disk"`), every list that is as long as the table lies in a [scratch file](feasible_data::scratch), which has no name; what
//! stays in memory does not grow with the rows. A file that leaves `store` out gets it where its tables are [expected](feasible_data::expected_bytes) to take
//! more than the [limit on memory](crate::memory::limit).
//!
//! Where the scratch file is, the problem file has no say in: in the directory that the user names for it, in which tables are then kept as they were read,
//! too ([`set_cache`]); otherwise where the run goes ([`set_place`]).

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use feasible_data::{expected_bytes, scratch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::memory;
use crate::spec::{DataSpec, ProblemSource};
use crate::text::bytes;

/// Where rows are kept. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Store {
    /// In memory.
    Memory,
    /// On disk, for tables larger than memory.
    Disk,
}

/// The directory that the user named, and the one of the run.
static PLACES: Mutex<(Option<PathBuf>, Option<PathBuf>)> = Mutex::new((None, None));

/// From now on what is kept on disk is in this directory, tables as they were read too.
pub fn set_cache(directory: &Path) {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner).0 = Some(absolute(directory));
}

/// From now on what is kept on disk is where this directory is, or is to be, unless the user named another.
pub fn set_place(directory: &Path) {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(absolute(directory));
}

/// The directory in which tables are kept as they were read, if the user named one.
pub(crate) fn cache() -> Option<PathBuf> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
}

/// Where the scratch file is.
pub(crate) fn directory() -> PathBuf {
    let place = || PLACES.lock().unwrap_or_else(PoisonError::into_inner).1.clone();
    let there =
        |place: PathBuf| place.ancestors().find(|above| above.is_dir()).map(Path::to_path_buf);
    cache().or_else(|| place().and_then(there)).unwrap_or_else(|| absolute(Path::new(".")))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Decides where rows are kept, and begins a scratch file if that is on disk. A sentence if it was decided without being asked.
///
/// # Errors
/// A program that cannot keep lists on disk; a directory that cannot be made or has no room.
pub(crate) fn choose(source: &ProblemSource, spec: &mut DataSpec) -> Result<Option<String>> {
    let asked = spec.store;
    let files = [&spec.file, &spec.train, &spec.validation, &spec.test];
    let expected = match source.tables().in_memory() {
        Some(_) => 0,
        // What cannot be read is said by who reads it.
        None => {
            let of = |path: &PathBuf| expected_bytes(path).unwrap_or(0);
            files.into_iter().flatten().map(of).fold(0, u64::saturating_add)
        }
    };
    let reason = match (asked, memory::limit()) {
        (Some(Store::Memory), _) => return Ok(None),
        (Some(Store::Disk), _) => None,
        (None, Some(limit)) if expected > limit && scratch::is_possible() => Some(format!(
            "the rows are kept on disk, as in memory they would take about {}, and {} are allowed: data.store = \"memory\" or \
             \"disk\" decides it",
            bytes(expected as usize),
            bytes(limit as usize)
        )),
        (None, _) => return Ok(None),
    };
    if !scratch::is_possible() {
        let message =
            "\"disk\" needs the `feasible` program on Linux: this one keeps rows in memory";
        return Err(source.at("data.store", message));
    }
    // The table as it was read lies beside, if it is kept.
    let beside = if cache().is_some() { expected / 2 } else { 0 };
    begin(expected.saturating_add(beside))?;
    spec.store = Some(Store::Disk);
    Ok(reason)
}

/// What is said where rows take more memory than there may be, and disk would do.
pub(crate) fn hint() -> &'static str {
    match scratch::is_possible() && !scratch::is_begun() {
        true => ". data.store = \"disk\" keeps rows on disk",
        false => "",
    }
}

/// Begins a scratch file where so many bytes are expected.
///
/// # Errors
/// A program that cannot keep lists on disk; a directory that cannot be made or has no room.
pub(crate) fn begin(expected: u64) -> Result<()> {
    let directory = directory();
    let path = directory.display().to_string();
    let failed = |source| Error::Storage { operation: "keep rows in", path: path.clone(), source };
    if cache().is_some() {
        // Its tables are trusted, and a run may be from anyone.
        if directory.join("run.json").exists() {
            let message = format!("{path} is a run directory: name one for tables alone");
            return Err(Error::unfit("--cache", message));
        }
        std::fs::create_dir_all(&directory).map_err(failed)?;
    }
    if let Some(free) = scratch::free_bytes(&directory).filter(|&free| free < expected) {
        let message = format!(
            "the training needs about {} on disk, and {} are free in {path}: name a directory with more room (--cache)",
            bytes(expected as usize),
            bytes(free as usize)
        );
        return Err(Error::unfit("data.store", message));
    }
    scratch::begin(&directory).map_err(failed)
}

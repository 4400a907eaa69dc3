//! Where the rows of a training are kept: in memory, or on disk.
//!
//! On disk (`data.store = "disk"`), every list that is as long as the table lies in a [scratch file](feasible_data::scratch) of the directory
//! `data.cache`, `feasible-cache` beside the problem file by default; what stays in memory does not grow with the rows. A file that leaves `store` out gets
//! it where its tables are [expected](feasible_data::expected_bytes) to take more than the [limit on memory](crate::memory::limit).

use std::path::{Path, PathBuf};

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

/// The directory where there is no `data.cache`.
const CACHE: &str = "feasible-cache";

/// Decides where rows are kept, and begins a scratch file if that is on disk. A sentence if it was decided without being asked.
///
/// # Errors
/// A program that cannot keep lists on disk; a directory that cannot be made or has no room.
pub(crate) fn choose(source: &ProblemSource, spec: &mut DataSpec) -> Result<Option<String>> {
    let asked = spec.store;
    if asked != Some(Store::Disk) && spec.cache.is_some() && asked.is_some() {
        let message = "has no effect: data.store is \"memory\". Remove one of them";
        return Err(source.at("data.cache", message));
    }
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
    let directory = spec.cache.get_or_insert_with(|| source.directory().join(CACHE));
    if let Ok(absolute) = std::path::absolute(&*directory) {
        *directory = absolute;
    }
    // The table as it was read lies beside.
    begin(directory, expected.saturating_add(expected / 2)).map_err(|error| match error {
        Error::Unfit { what, reason } => source.at(&what, reason),
        other => other,
    })?;
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

/// Begins a scratch file in a directory, where so many bytes are expected.
///
/// # Errors
/// A program that cannot keep lists on disk; a directory that cannot be made or has no room.
pub(crate) fn begin(directory: &Path, expected: u64) -> Result<()> {
    let path = directory.display().to_string();
    let failed = |source| Error::Storage { operation: "keep rows in", path: path.clone(), source };
    std::fs::create_dir_all(directory).map_err(failed)?;
    if let Some(free) = scratch::free_bytes(directory).filter(|&free| free < expected) {
        let message = format!(
            "the training needs about {} on disk, and {} are free in {path}: name a directory with more room",
            bytes(expected as usize),
            bytes(free as usize)
        );
        return Err(Error::unfit("data.cache", message));
    }
    scratch::begin(directory).map_err(failed)
}

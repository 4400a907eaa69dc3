//! A run directory: every file of it by name, read and checked.
//!
//! Who reports on a run, certifies it or resumes it asks here. Files are written through a [`Storage`](crate::Storage)
//! while a run goes on; their names are in [`files`], their checks in [`parse`].

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use feasible_problem::Fingerprints;
use feasible_problem::spec::ProblemSource;
use serde::de::DeserializeOwned;

use crate::attack::Curve;
use crate::error::{Error, Result};
use crate::files::{self, RunInfo};
use crate::metrics::{EpochMetrics, EpochTiming};
use crate::multipliers::{Multiplied, read_multipliers};
use crate::parse;
use crate::prices::Prices;
use crate::saved_model::SavedModel;
use crate::seeds::Seeds;
use crate::summary::Summary;

/// A directory that a run is in, or may be. See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDirectory {
    path: PathBuf,
}

/// What a directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// No run.
    Other,
    /// A run that was stopped before it began.
    NotBegun,
    /// A run that can be resumed.
    Begun,
    /// A run with its summary.
    Complete,
    /// The runs of several seeds, each in a directory of its own.
    Seeds,
    /// A ladder that is complete, and none of whose models was certified.
    LadderWithoutModel,
}

impl RunDirectory {
    /// The directory at this path, whether it is there or not.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// A run directory, or the one that a model file lies in.
    pub fn holding(path: &Path) -> Self {
        match path.parent() {
            Some(parent) if path.is_file() => Self::new(parent),
            _ => Self::new(path),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The same for messages.
    pub fn shown(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }

    /// Whether there is anything of this name. A link or a pipe is refused when it is opened.
    pub fn has(&self, name: &str) -> bool {
        self.file(name).symlink_metadata().is_ok()
    }

    /// What it holds.
    pub fn contents(&self) -> Contents {
        let has = |name| self.has(name);
        match () {
            () if has(files::SEEDS) => Contents::Seeds,
            () if has(files::LADDER) && has(files::SUMMARY) && !has(files::MODEL) => {
                Contents::LadderWithoutModel
            }
            // The problem is the last file to be written before a run begins.
            () if has(files::PROBLEM) && has(files::SUMMARY) => Contents::Complete,
            () if has(files::PROBLEM) => Contents::Begun,
            () if has(files::README) => Contents::NotBegun,
            () => Contents::Other,
        }
    }

    /// The bytes of a file; `None` if there is none.
    ///
    /// # Errors
    /// A file that cannot be read, a link or a pipe; here and below.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match feasible_data::disk::read_inside(&self.file(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(source) => {
                Err(Error::Storage { operation: "read", path: self.shown(name), source })
            }
        }
    }

    fn needed(&self, name: &'static str) -> Result<Vec<u8>> {
        let location = || self.path.display().to_string();
        self.read(name)?.ok_or_else(|| Error::NotARun { location: location(), missing: name })
    }

    fn optional<T>(
        &self,
        name: &str,
        parse: impl Fn(&str, &[u8]) -> Result<T>,
    ) -> Result<Option<T>> {
        self.read(name)?.map(|bytes| parse(&self.shown(name), &bytes)).transpose()
    }

    /// `run.json`.
    ///
    /// # Errors
    /// No such file, a damaged one, or a run of another format.
    pub fn info(&self) -> Result<RunInfo> {
        let bytes = self.needed(files::RUN)?;
        if let Ok(raw) = serde_json::from_slice::<serde_json::Value>(&bytes)
            && let Some(format) = raw["format"].as_u64()
            && format != u64::from(files::FORMAT)
        {
            let version = raw["feasible"].as_str().unwrap_or("of unknown version").to_string();
            return Err(Error::OtherFormat { directory: self.path.clone(), version, format });
        }
        parse::run_info(&self.shown(files::RUN), &bytes)
    }

    /// `problem.toml`.
    ///
    /// # Errors
    /// No such file, or one that is not text.
    pub fn problem(&self) -> Result<ProblemSource> {
        let name = self.shown(files::PROBLEM);
        let text = String::from_utf8(self.needed(files::PROBLEM)?)
            .map_err(|error| Error::Damaged { path: name.clone(), reason: error.to_string() })?;
        Ok(ProblemSource::new(name, text))
    }

    /// `summary.json` of a run; `None` if it has not ended.
    ///
    /// # Errors
    /// A damaged file; here and below.
    pub fn summary(&self) -> Result<Option<Summary>> {
        self.optional(files::SUMMARY, parse::summary)
    }

    /// `seeds.json`, where several were trained.
    ///
    /// # Errors
    /// As above.
    pub fn seeds(&self) -> Result<Option<Seeds>> {
        self.optional(files::SEEDS, parse::seeds)
    }

    /// The directories of the seeds that have begun, by seed.
    ///
    /// # Errors
    /// A directory that cannot be listed.
    pub fn seed_directories(&self) -> Result<Vec<Self>> {
        let failed = |source| {
            let path = self.path.display().to_string();
            Error::Storage { operation: "read", path, source }
        };
        let mut found: Vec<(u64, Self)> = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let seed = name.strip_prefix("seed-").and_then(|seed| seed.parse().ok());
            let one = Self::new(path);
            found.extend(seed.filter(|_| one.has(files::RUN)).map(|seed| (seed, one)));
        }
        found.sort_unstable_by_key(|(seed, _)| *seed);
        Ok(found.into_iter().map(|(_, one)| one).collect())
    }

    /// How many epochs are on record, the last of which may be half a line.
    ///
    /// # Errors
    /// As above.
    pub fn epochs_done(&self) -> Result<usize> {
        let metrics = self.read(files::METRICS)?.unwrap_or_default();
        Ok(metrics.iter().filter(|&&byte| byte == b'\n').count())
    }

    /// `metrics.jsonl`.
    ///
    /// # Errors
    /// As above.
    pub fn metrics(&self) -> Result<Vec<EpochMetrics>> {
        self.lines(files::METRICS)
    }

    /// `timings.jsonl`; empty if it is not there.
    ///
    /// # Errors
    /// As above.
    pub fn timings(&self) -> Result<Vec<EpochTiming>> {
        self.lines(files::TIMINGS)
    }

    fn lines<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>> {
        let bytes = self.read(name)?.unwrap_or_default();
        parse::lines(&bytes).map_err(|(line, reason)| Error::Damaged {
            path: format!("{}, line {line},", self.shown(name)),
            reason,
        })
    }

    /// `multipliers.csv`; empty if it is not there.
    ///
    /// # Errors
    /// As above.
    pub fn multipliers(&self) -> Result<Vec<Multiplied>> {
        read_multipliers(&self.file(files::MULTIPLIERS))
    }

    /// `model.safetensors`.
    ///
    /// # Errors
    /// No such file, or one that is no model.
    pub fn model(&self) -> Result<SavedModel> {
        SavedModel::open(&self.path)
    }

    /// The model and the SHA-256 of its file; `None` if there is none.
    ///
    /// # Errors
    /// A file that cannot be read; one that is no model is an error of its own.
    pub fn model_and_hash(&self) -> Result<Option<(Result<SavedModel>, String)>> {
        let Some(bytes) = self.read(files::MODEL)? else { return Ok(None) };
        let model = SavedModel::from_bytes(&self.shown(files::MODEL), &bytes);
        Ok(Some((model, feasible_problem::data::sha256(&bytes))))
    }

    /// `fingerprints.bin`.
    ///
    /// # Errors
    /// As above.
    pub fn fingerprints(&self) -> Result<Option<Fingerprints>> {
        self.optional(files::FINGERPRINTS, parse::fingerprints)
    }

    /// `sensitivity.json`.
    ///
    /// # Errors
    /// As above.
    pub fn prices(&self) -> Result<Option<Prices>> {
        self.optional(files::SENSITIVITY, parse::prices)
    }

    /// `attack.json`.
    ///
    /// # Errors
    /// As above.
    pub fn curve(&self) -> Result<Option<Curve>> {
        self.optional(files::ATTACK[0], parse::curve)
    }
}

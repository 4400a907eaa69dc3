//! A run directory: every file of it by name, read and checked.
//!
//! Who reports on a run, certifies it or resumes it asks here. Files are written through a [`Storage`](crate::Storage)
//! during a run; their names are in [`files`], their checks in [`parse`].

use std::cmp::Ordering;
use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use feasible_data::disk;
use feasible_problem::Fingerprints;
use feasible_problem::spec::ProblemSource;
use serde::de::DeserializeOwned;

use crate::attack::Curve;
use crate::attacked::{AttackedExamples, AttackedImages};
use crate::baseline::Baseline;
use crate::error::{Error, Result};
use crate::files::{self, RunInfo};
use crate::groups::GroupTables;
use crate::ladder::Listed;
use crate::metrics::{EpochMetrics, EpochTiming};
use crate::multipliers::{Multiplied, read_multipliers};
use crate::parse;
use crate::prices::Prices;
use crate::saved_model::SavedModel;
use crate::seeds::Seeds;
use crate::summary::Summary;
use crate::tune::Search;

/// A directory that a run is in, or may be. See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDirectory {
    path: PathBuf,
}

/// What a directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// No run, or one that was stopped before it began.
    Other,
    /// A run: complete, or one that can be resumed.
    Run,
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

    /// The same for messages.
    pub fn location(&self) -> String {
        self.path.display().to_string()
    }

    /// The run of a seed, where there are several.
    #[must_use]
    pub fn seed(&self, seed: u64) -> Self {
        Self::new(self.file(&format!("{}{seed}", files::SEED)))
    }

    /// The run of a rung of a ladder, from 0.
    #[must_use]
    pub fn rung(&self, at: usize) -> Self {
        Self::new(self.file(&format!("{}{}", files::RUNG, at + 1)))
    }

    /// The runs of a limit of a sweep, one for each seed.
    #[must_use]
    pub fn limit(&self, limit: f64) -> Self {
        // Short even where a limit is tiny: 1e-300, not three hundred digits.
        Self::new(self.file(&format!("{}{limit:?}", files::LIMIT)))
    }

    /// A trial of a search, from 0.
    #[must_use]
    pub fn trial(&self, number: usize) -> Self {
        Self::new(self.file(&format!("{}{number}", files::TRIAL)))
    }

    /// The runs that all limits of a sweep start from, where they do.
    #[must_use]
    pub fn start(&self) -> Self {
        Self::new(self.file(files::START))
    }

    /// The directories in it whose names are one of `prefixes` and a number, by number; links are none.
    ///
    /// # Errors
    /// A directory that cannot be listed.
    pub(crate) fn numbered<N: FromStr + PartialOrd + Debug>(
        &self,
        prefixes: &[&str],
    ) -> Result<Vec<Self>> {
        let failed = |source| Error::Storage { operation: "read", path: self.location(), source };
        let mut found: Vec<(N, Self)> = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let of = |prefix: &&str| -> Option<N> {
                let number: N = name.strip_prefix(prefix)?.parse().ok()?;
                // `seed-07` is nobody's.
                (format!("{prefix}{number:?}") == name).then_some(number)
            };
            if let Some(number) = prefixes.iter().find_map(of)
                && entry.file_type().map_err(failed)?.is_dir()
            {
                found.push((number, Self::new(entry.path())));
            }
        }
        found.sort_by(|(a, _), (b, _)| a.partial_cmp(b).unwrap_or(Ordering::Equal));
        Ok(found.into_iter().map(|(_, one)| one).collect())
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The path of a file in it, for messages.
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
            () if has(files::PROBLEM) => Contents::Run,
            () => Contents::Other,
        }
    }

    /// The bytes of a file; `None` if there is none.
    ///
    /// # Errors
    /// A file that cannot be read, a link or a pipe; here and below.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match files::read_file(&self.path, name) {
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
        self.read(name)?.ok_or_else(|| Error::NotARun { location: self.location(), missing: name })
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
        let mut seeds = self.numbered::<u64>(&[files::SEED])?;
        seeds.retain(|one| one.has(files::RUN));
        Ok(seeds)
    }

    /// `ladder.json`, where rungs were trained.
    ///
    /// # Errors
    /// A damaged file; here and below.
    pub fn ladder(&self) -> Result<Option<Listed>> {
        self.optional(files::LADDER, parse::ladder)
    }

    /// `tune.json`, where settings were searched.
    ///
    /// # Errors
    /// As above.
    pub fn search(&self) -> Result<Option<Search>> {
        self.optional(files::TUNE, parse::search)
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
        let (file, shown) = (self.file(files::MULTIPLIERS), self.shown(files::MULTIPLIERS));
        match disk::open_inside(&file, OpenOptions::new().read(true)) {
            Ok(file) => read_multipliers(&shown, file),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(Error::Storage { operation: "read", path: shown, source }),
        }
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

    /// `groups.json`.
    ///
    /// # Errors
    /// As above.
    pub fn groups(&self) -> Result<Option<GroupTables>> {
        self.optional(files::GROUPS, parse::groups)
    }

    /// `baseline.json`.
    ///
    /// # Errors
    /// As above.
    pub fn baseline(&self) -> Result<Option<Baseline>> {
        self.optional(files::BASELINE, parse::baseline)
    }

    /// `sensitivity.json`.
    ///
    /// # Errors
    /// As above.
    pub fn prices(&self) -> Result<Option<Prices>> {
        self.optional(files::SENSITIVITY, parse::prices)
    }

    /// `attack.json`, with the pixels of its examples, if they are there.
    ///
    /// # Errors
    /// As above.
    pub fn curve(&self) -> Result<Option<Curve>> {
        let [name, _, _, sheet] = files::ATTACK;
        let Some(mut curve) = self.optional(name, parse::curve)? else { return Ok(None) };
        curve.examples = self.with_sheet(curve.examples, sheet)?;
        Ok(Some(curve))
    }

    /// `adversary.json`, with the pixels of its examples, if they are there.
    ///
    /// # Errors
    /// As above.
    pub fn attacked(&self) -> Result<Option<AttackedImages>> {
        let [name, sheet] = files::ADVERSARY;
        let Some(mut attacked) = self.optional(name, parse::attacked)? else { return Ok(None) };
        attacked.examples = self.with_sheet(attacked.examples, sheet)?;
        Ok(Some(attacked))
    }

    /// Examples with their PNG file; `None` without one.
    fn with_sheet(
        &self,
        examples: Option<AttackedExamples>,
        name: &str,
    ) -> Result<Option<AttackedExamples>> {
        let Some(mut examples) = examples else { return Ok(None) };
        let Some(sheet) = self.read(name)? else { return Ok(None) };
        examples.sheet = sheet;
        Ok(Some(examples))
    }
}

//! A finished run, read from its directory.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use feasible_run::files::{self, RunInfo};
use feasible_run::metrics::{EpochMetrics, EpochTiming};
use feasible_run::monitor::MonitorReport;
use feasible_run::{Curve, Prices, SavedModel, Summary, disk, parse};
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::multipliers::{Multiplied, read_multipliers};

/// A finished run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Where it is.
    pub directory: PathBuf,
    /// `run.json`.
    pub info: RunInfo,
    /// `summary.json`.
    pub summary: Summary,
    /// `metrics.jsonl`.
    pub epochs: Vec<EpochMetrics>,
    /// `timings.jsonl`; empty if it is not there.
    pub timings: Vec<EpochTiming>,
    /// `multipliers.csv`.
    pub multipliers: Vec<Multiplied>,
    /// `problem.toml`.
    pub problem: String,
    /// The same, read as TOML.
    pub settings: toml::Table,
    /// SHA-256 of `model.safetensors`.
    pub model_sha256: Option<String>,
    /// How much stricter each requirement was in training than stated; empty if the model says
    /// nothing of it.
    pub margins: Vec<f64>,
    /// `sensitivity.json`, if there is one and it is of this model.
    pub prices: Option<Prices>,
    /// `attack.json`, if the model was attacked.
    pub curve: Option<Curve>,
    /// What `monitor.jsonl` proves, if the model is monitored.
    pub monitored: Option<MonitorReport>,
}

impl Run {
    /// Reads a run.
    ///
    /// # Errors
    /// A directory that is not a run, a run cut short, one of a newer format, damaged files.
    pub fn open(directory: &Path) -> Result<Self> {
        let path = |name: &str| directory.join(name);
        let shown = |name: &str| path(name).display().to_string();
        let not_a_run = |missing| Error::NotARun { directory: directory.to_path_buf(), missing };
        if let Some(bytes) = optional(&path(files::SEEDS))? {
            let seeds = sound(parse::seeds(&shown(files::SEEDS), &bytes))?.seeds.len();
            return Err(Error::Seeds { directory: directory.to_path_buf(), seeds });
        }
        let Some(bytes) = optional(&path(files::RUN))? else {
            return Err(not_a_run(files::RUN));
        };
        let raw: serde_json::Value = json(&path(files::RUN), &bytes)?;
        let (format, known) = (raw["format"].as_u64().unwrap_or(0), u64::from(files::FORMAT));
        if format != known {
            let version = raw["feasible"].as_str().unwrap_or("of unknown version").to_string();
            let directory = directory.to_path_buf();
            return Err(Error::OtherFormat { directory, version, format, known });
        }
        let info = sound(parse::run_info(&shown(files::RUN), &bytes))?;
        let metrics = optional(&path(files::METRICS))?.unwrap_or_default();
        let Some(bytes) = optional(&path(files::SUMMARY))? else {
            // The line being written when a run was stopped may be half a line: count ends.
            let done = match metrics.iter().filter(|&&byte| byte == b'\n').count() {
                0 => String::new(),
                1 => " after 1 epoch".into(),
                n => format!(" after {n} epochs"),
            };
            return Err(Error::Unfinished { directory: directory.to_path_buf(), done });
        };
        let summary = sound(parse::summary(&shown(files::SUMMARY), &bytes))?;
        let Some(problem) = optional(&path(files::PROBLEM))? else {
            return Err(not_a_run(files::PROBLEM));
        };
        let problem = String::from_utf8_lossy(&problem).into_owned();
        let settings = problem.parse().map_err(|error: toml::de::Error| Error::Damaged {
            file: path(files::PROBLEM),
            line: None,
            reason: error.message().to_string(),
        })?;
        let timings = optional(&path(files::TIMINGS))?.unwrap_or_default();
        let model = optional(&path(files::MODEL))?;
        // A model that cannot be used is no reason not to report on its training.
        let saved = model
            .as_ref()
            .and_then(|bytes| SavedModel::from_bytes(&shown(files::MODEL), bytes).ok());
        let margins = saved.map_or_else(Vec::new, |saved| {
            saved.clauses().iter().map(|clause| clause.margin).collect()
        });
        let model_sha256 = model.map(|bytes| feasible_problem::data::sha256(&bytes));
        let prices: Option<Prices> = match optional(&path(files::SENSITIVITY))? {
            Some(bytes) => Some(sound(parse::prices(&shown(files::SENSITIVITY), &bytes))?),
            None => None,
        };
        let prices = prices.filter(|prices| Some(&prices.model) == model_sha256.as_ref());
        let curve = match optional(&path(files::ATTACK[0]))? {
            Some(bytes) => Some(sound(parse::curve(&shown(files::ATTACK[0]), &bytes))?),
            None => None,
        };
        Ok(Self {
            directory: directory.to_path_buf(),
            info,
            summary,
            epochs: lines(&path(files::METRICS), &metrics)?,
            timings: lines(&path(files::TIMINGS), &timings)?,
            multipliers: read_multipliers(&path(files::MULTIPLIERS))?,
            problem,
            settings,
            model_sha256,
            margins,
            prices,
            curve,
            monitored: MonitorReport::of(directory)?,
        })
    }

    /// The title of the problem, or its name.
    pub fn title(&self) -> &str {
        let title = self.settings.get("title").and_then(toml::Value::as_str);
        title.unwrap_or(&self.summary.problem)
    }
}

/// The bytes of a file; `None` if there is none.
fn optional(file: &Path) -> Result<Option<Vec<u8>>> {
    match disk::read_inside(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(source) => Err(Error::Io { operation: "read", file: file.to_path_buf(), source }),
    }
}

fn json<T: DeserializeOwned>(file: &Path, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| Error::Damaged {
        file: file.to_path_buf(),
        line: Some(error.line()).filter(|&line| line > 0),
        reason: error.to_string(),
    })
}

/// What is wrong with a file, as the other files of a run have it.
fn sound<T>(parsed: feasible_run::Result<T>) -> Result<T> {
    parsed.map_err(|error| match error {
        feasible_run::Error::Damaged { path, reason } => {
            Error::Damaged { file: path.into(), line: None, reason }
        }
        other => other.into(),
    })
}

/// One value for each line.
fn lines<T: DeserializeOwned>(file: &Path, bytes: &[u8]) -> Result<Vec<T>> {
    let values = parse::lines(bytes).map_err(|(line, reason)| Error::Damaged {
        file: file.to_path_buf(),
        line: Some(line),
        reason,
    })?;
    Ok(values)
}

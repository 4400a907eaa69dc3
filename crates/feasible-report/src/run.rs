//! A finished run, read from its directory.

use std::path::{Path, PathBuf};

use feasible_run::files::{self, RunInfo};
use feasible_run::metrics::{EpochMetrics, EpochTiming};
use feasible_run::monitor::MonitorReport;
use feasible_run::multipliers::Multiplied;
use feasible_run::{
    AttackedImages, Baseline, Curve, GroupTables, Prices, RunDirectory, Search, Summary,
};

use crate::error::{Error, Result};

/// A finished run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Where it is.
    pub directory: PathBuf,
    /// `run.json`.
    pub info: RunInfo,
    /// `summary.json`.
    pub summary: Summary,
    /// `metrics.jsonl`; of an average, the epochs of the networks in it.
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
    /// `adversary.json`, if a requirement on images has an adversary.
    pub attacked: Option<AttackedImages>,
    /// `groups.json`, if there is one.
    pub groups: Option<GroupTables>,
    /// `baseline.json`, if one was trained.
    pub baseline: Option<Baseline>,
    /// What `monitor.jsonl` proves, if the model is monitored.
    pub monitored: Option<MonitorReport>,
    /// `tune.json`, if its settings were searched and this is the run of those that were chosen.
    pub search: Option<Search>,
}

impl Run {
    /// Reads a run.
    ///
    /// # Errors
    /// A directory that is not a run, a run cut short, one of a newer format, damaged files.
    pub fn open(directory: &Path) -> Result<Self> {
        let run = RunDirectory::new(directory);
        if let Some(listed) = run.seeds()? {
            let seeds = listed.seeds.len();
            return Err(Error::Seeds { directory: directory.to_path_buf(), seeds });
        }
        let info = run.info()?;
        let Some(summary) = run.summary()? else {
            let done = match run.epochs_done()? {
                0 => String::new(),
                1 => " after 1 epoch".into(),
                n => format!(" after {n} epochs"),
            };
            return Err(Error::Unfinished { directory: directory.to_path_buf(), done });
        };
        let problem = run.problem()?.text().to_string();
        let settings = problem.parse().map_err(|error: toml::de::Error| {
            let (path, reason) = (run.shown(files::PROBLEM), error.message().to_string());
            feasible_run::Error::Damaged { path, reason }
        })?;
        // A model that cannot be used is no reason not to report on its training.
        let (model, model_sha256) = run.model_and_hash()?.unzip();
        let margins = match model {
            Some(Ok(model)) => model.clauses().iter().map(|clause| clause.margin).collect(),
            _ => Vec::new(),
        };
        let (mut epochs, mut timings) = (run.metrics()?, run.timings()?);
        if let Some(average) = &summary.cross_validation {
            epochs.retain(|epoch| average.has(epoch));
            // Of one network only.
            timings.clear();
        }
        let prices = run.prices()?.filter(|prices| Some(&prices.model) == model_sha256.as_ref());
        Ok(Self {
            directory: directory.to_path_buf(),
            info,
            summary,
            epochs,
            timings,
            multipliers: run.multipliers()?,
            problem,
            settings,
            model_sha256,
            margins,
            prices,
            curve: run.curve()?,
            attacked: run.attacked()?,
            groups: run.groups()?,
            baseline: run.baseline()?,
            monitored: MonitorReport::of(directory)?,
            search: run.search()?.filter(|search| search.chosen.is_some()),
        })
    }

    /// The title of the problem, or its name.
    pub fn title(&self) -> &str {
        let title = self.settings.get("title").and_then(toml::Value::as_str);
        title.unwrap_or(&self.summary.problem)
    }
}

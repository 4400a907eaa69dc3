//! `feasible reproduce`.

use std::sync::Arc;
use std::time::Instant;

use feasible_run::problems;
use feasible_run::reproduce::{Reproduction, adult, compas};

use super::fit::workers;
use crate::arguments::ReproduceArguments;
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::terminal::Terminal;

/// Repeats an experiment of the paper.
pub fn reproduce(arguments: &ReproduceArguments, terminal: &Terminal) -> Result<Exit> {
    let start = Instant::now();
    let name = arguments.experiment.as_str();
    let variants = problems().iter().filter(|problem| problem.name.starts_with(name)).count();
    let progress = Arc::new(Progress::new(variants * arguments.seeds as usize, terminal));
    let mut overrides = Vec::new();
    if let Some(directory) = super::data_dir(&arguments.overrides.data_dir) {
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        let quoted = serde_json::Value::from(directory.display().to_string());
        overrides.push(format!("data.directory={quoted}"));
    }
    overrides.extend_from_slice(&arguments.overrides.set);
    let how = Reproduction {
        seeds: (1..=arguments.seeds).collect(),
        workers: workers(arguments.threads),
        overrides,
        interrupt: interrupt::on_signal(&progress),
    };
    let observer = |event: &_| progress.observe(event);
    let stopped = |error: feasible_run::Error| {
        progress.clear();
        if how.interrupt.is_raised() {
            Failure::interrupted("interrupted: nothing of a reproduction is kept")
        } else {
            error.into()
        }
    };
    if name == "adult" {
        let table = adult(&how, &observer).map_err(stopped)?;
        terminal.result(&table, || table.to_text())?;
    } else {
        let table = compas(&how, &observer).map_err(stopped)?;
        terminal.result(&table, || table.to_text())?;
    }
    terminal.note(&format!("{:.1} s", start.elapsed().as_secs_f64()));
    Ok(Exit::Met)
}

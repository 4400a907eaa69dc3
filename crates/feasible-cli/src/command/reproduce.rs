//! `feasible reproduce`.

use std::sync::Arc;
use std::time::Instant;

use feasible_report::Report;
use feasible_run::reproduce::{Reproduction, adult, compas};
use feasible_run::{files, problems};

use super::fit::workers;
use crate::arguments::ReproduceArguments;
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::terminal::{Terminal, command_line};

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
    let unused = || super::fit::unused(&format!("reproduce-{name}"));
    let directory = (!arguments.no_report).then(|| arguments.output.clone().unwrap_or_else(unused));
    if let Some(directory) = &directory {
        // Before hours of training, not after.
        drop(feasible_run::Directory::create(directory)?);
    }
    let how = Reproduction {
        seeds: (1..=arguments.seeds).collect(),
        workers: workers(arguments.threads),
        overrides,
        directory: directory.clone(),
        interrupt: interrupt::on_signal(&progress),
    };
    let observer = |event: &_| progress.observe(event);
    let stopped = |error: feasible_run::Error| {
        progress.clear();
        if how.interrupt.is_raised() {
            Failure::interrupted("interrupted: a reproduction cannot be resumed")
        } else {
            error.into()
        }
    };
    let report = if name == "adult" {
        let table = adult(&how, &observer).map_err(stopped)?;
        terminal.result(&table, || table.to_text())?;
        directory.as_deref().map(|directory| Report::of_adult(&table, directory, &command_line()))
    } else {
        let table = compas(&how, &observer).map_err(stopped)?;
        terminal.result(&table, || table.to_text())?;
        directory.as_deref().map(|_| Report::of_compas(&table, &command_line()))
    };
    terminal.note(&format!("{:.1} s", start.elapsed().as_secs_f64()));
    if let (Some(report), Some(directory)) = (report, &directory) {
        let (report, page) = (report?, directory.join(files::REPORT));
        report.write(&page)?;
        report.write_figures(&directory.join(files::FIGURES))?;
        terminal.note(&format!("on one page: {}", page.display()));
    }
    Ok(Exit::Met)
}

//! `feasible reproduce`.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use feasible_paper::{
    Budget, CIFAR_10, FASHION_MNIST, Reproduction, RobustExperiment, RobustReproduction, adult,
    compas,
};
use feasible_problem::spec::Override;
use feasible_problem::{problems, store};
use feasible_run::files;
use feasible_run::output::write_own;

use super::attack;
use super::fit::workers;
use crate::arguments::{self, ReproduceArguments};
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::terminal::{Terminal, command_line};

const GOES_ON: &str = "interrupted: the same command continues from there";

/// What is put on top of every problem file.
fn overrides(arguments: &ReproduceArguments) -> Vec<Override> {
    arguments.overrides.memory.apply();
    store::set_place(arguments.output.as_deref().unwrap_or(Path::new("runs")));
    let mut overrides = Vec::new();
    if let Some(directory) = super::data_dir(&arguments.overrides.data_dir) {
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        overrides.push(Override::DataDirectory(directory));
    }
    overrides.extend(arguments.overrides.set.iter().cloned().map(Override::Text));
    overrides
}

/// A robust experiment: networks, their curves, and the figures.
fn robust(
    experiment: &RobustExperiment,
    arguments: &ReproduceArguments,
    terminal: &Terminal,
) -> Result<Exit> {
    let start = Instant::now();
    if arguments.seeds.is_some() {
        return Err(Failure::input("--seeds goes with adult and compas: here one seed is trained"));
    }
    if arguments.no_report {
        return Err(Failure::input(
            "--no-report goes with adult and compas: here the runs are kept so that they can be continued",
        ));
    }
    let budget = match arguments.budget {
        None | Some(arguments::Budget::Small) => Budget::Small,
        Some(arguments::Budget::Paper) => Budget::Paper,
    };
    let usual = || Path::new("runs").join(format!("{}-{}", experiment.name(), budget.name()));
    let directory = arguments.output.clone().unwrap_or_else(usual);
    let progress = Arc::new(Progress::new(experiment.problems().len(), terminal));
    let how = RobustReproduction {
        budget,
        directory: directory.clone(),
        threads: workers(arguments.threads),
        overrides: overrides(arguments),
        interrupt: interrupt::listen(&progress, || GOES_ON.into()),
    };
    let table = experiment.reproduce(&how, &|event| progress.observe(event), &mut |stage| {
        progress.note(&format!("{stage}, {:.0} s", start.elapsed().as_secs_f64()));
    });
    progress.clear();
    let table = table.map_err(|error| match how.interrupt.is_raised() {
        true => Failure::interrupted(GOES_ON),
        false => error.into(),
    })?;
    terminal.result(&table, |page| table.text_on(page))?;
    let text = serde_json::to_string_pretty(&table).unwrap_or_default() + "\n";
    write(&directory, "table.json", text.as_bytes())?;
    for row in &table.rows {
        attack::write(&row.curve, &row.directory)?;
    }
    let report = table.report(&command_line())?;
    let page = directory.join(files::REPORT);
    report.write_own(&page)?;
    report.write_figures(&directory)?;
    terminal.note(&format!("Report: {}", page.display()));
    terminal.note(&format!("Runs, curves and figures: {}", directory.display()));
    terminal.note(&format!("{:.1} s", start.elapsed().as_secs_f64()));
    Ok(Exit::Met)
}

fn write(directory: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = directory.join(name);
    let written = write_own(&path, &|out| out.write_all(bytes));
    written.map_err(|error| Failure::file("write", &path, &error))
}

/// Repeats an experiment of the paper.
pub fn reproduce(arguments: &ReproduceArguments, terminal: &Terminal) -> Result<Exit> {
    let start = Instant::now();
    let name = arguments.experiment.as_str();
    if let Some(of) = [&FASHION_MNIST, &CIFAR_10].into_iter().find(|of| of.name() == name) {
        return robust(of, arguments, terminal);
    }
    if arguments.budget.is_some() {
        return Err(Failure::input(format!(
            "--budget goes with fashion-mnist and cifar-10: {name} takes minutes as it is"
        )));
    }
    let seeds = arguments.seeds.unwrap_or(5);
    let variants = problems().iter().filter(|problem| problem.name.starts_with(name)).count();
    let progress = Arc::new(Progress::new(variants * seeds as usize, terminal));
    let overrides = overrides(arguments);
    let unused = || super::fit::unused(&format!("reproduce-{name}"));
    let directory = (!arguments.no_report).then(|| arguments.output.clone().unwrap_or_else(unused));
    // Before hours of training, not after; and for this program alone.
    let held = directory.as_deref().map(|directory| feasible_paper::open(directory, name));
    let _held = held.transpose()?;
    let kept = match &directory {
        Some(directory) => format!(
            "interrupted: the same command with `-o {}` continues from there",
            directory.display()
        ),
        None => "interrupted: without a directory nothing of a reproduction is kept".into(),
    };
    let how = Reproduction {
        seeds: (1..=seeds).collect(),
        workers: workers(arguments.threads),
        overrides,
        directory: directory.clone(),
        interrupt: interrupt::listen(&progress, {
            let kept = kept.clone();
            move || kept.clone()
        }),
    };
    let observer = |event: &_| progress.observe(event);
    let stopped = |error: feasible_run::Error| {
        progress.clear();
        if how.interrupt.is_raised() { Failure::interrupted(kept.clone()) } else { error.into() }
    };
    let report = if name == "adult" {
        let table = adult(&how, &observer).map_err(stopped)?;
        terminal.result(&table, |page| table.text_on(page))?;
        directory.as_deref().map(|directory| table.report(directory, &command_line()))
    } else {
        let table = compas(&how, &observer).map_err(stopped)?;
        terminal.result(&table, |page| table.text_on(page))?;
        directory.as_deref().map(|_| table.report(&command_line()))
    };
    terminal.note(&format!("{:.1} s", start.elapsed().as_secs_f64()));
    if let (Some(report), Some(directory)) = (report, &directory) {
        let (report, page) = (report?, directory.join(files::REPORT));
        report.write_own(&page)?;
        report.write_figures(&directory.join(files::FIGURES))?;
        terminal.note(&format!("Report: {}", page.display()));
    }
    Ok(Exit::Met)
}

//! `feasible sweep`.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use feasible_problem::spec::Override;
use feasible_problem::text::Page;
use feasible_problem::{recipe, store};
use feasible_report::Report;
use feasible_run::storage::no_link;
use feasible_run::sweep::{Frontier, Warmth, join, limits};
use feasible_run::{SweepOptions, files, sweep as solve};
use serde::Serialize;

use super::fit::{unused, workers};
use super::{seeds, source, stem};
use crate::arguments::SweepArguments;
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;
use crate::outputs::Inputs;
use crate::progress::Progress;
use crate::ranks;
use crate::terminal::{Terminal, command_line};

/// What `--json` prints.
#[derive(Serialize)]
struct Swept<'a> {
    directory: &'a Path,
    #[serde(flatten)]
    frontier: &'a Frontier,
}

/// Solves a problem over limits of a requirement.
pub fn sweep(arguments: &SweepArguments, terminal: &Terminal) -> Result<Exit> {
    let start = Instant::now();
    store::set_place(arguments.output.as_deref().unwrap_or(Path::new("runs")));
    let limits = limits(&arguments.limits, arguments.points as usize)?;
    let mut settings = Vec::new();
    settings.extend(arguments.epochs.map(Override::Epochs));
    let source = source(&arguments.problem, &settings, &arguments.overrides)?;
    let spec = source.parse(&[])?;
    let first = arguments.seed.or(spec.training.seed).unwrap_or(recipe::SEED);
    let seeds = seeds(first, arguments.seeds)?;
    let stem = format!("{}-sweep", stem(&arguments.problem));
    let directory = arguments.output.clone().unwrap_or_else(|| unused(&stem));
    Inputs::new().problem(&arguments.problem, &spec).refuse_directory(&directory)?;
    // Before hours of training, not after.
    no_link(&directory.join(files::FIGURES))?;
    let progress = Arc::new(Progress::new(limits.len() * arguments.seeds as usize, terminal));
    let kept = {
        let shown = directory.display().to_string();
        move || {
            format!(
                "interrupted: the limits that are done are kept in {shown}; the same command with -o \
                 {shown} continues"
            )
        }
    };
    let options = SweepOptions {
        limits,
        seeds,
        start: match (arguments.warm, arguments.cold) {
            (true, _) => Some(Warmth::Warm),
            (_, true) => Some(Warmth::Afresh),
            (false, false) => None,
        },
        threads: workers(arguments.threads),
        directory: Some(directory.clone()),
        part: arguments.part.or(ranks::share()),
        force: arguments.force,
        interrupt: interrupt::listen(&progress, kept.clone()),
        ..SweepOptions::new(&arguments.requirement)
    };
    let frontier = solve(&source, &options, &|event| progress.observe(event));
    progress.clear();
    let shown = directory.display();
    let frontier = frontier.map_err(|error| match options.interrupt.is_raised() {
        true => Failure::interrupted(kept()),
        false => error.into(),
    })?;
    let frontier = match ranks::share() {
        None => frontier,
        Some(_) if ranks::meet() => join(&directory)?,
        Some(_) => return Ok(Exit::Met),
    };
    let missing = frontier.missing().len();
    let text = |page: &Page| match missing {
        0 => frontier.text_on(page),
        n => format!(
            "{} of {} runs are finished; once other parts have finished the rest, `feasible report {shown}` joins them\n",
            frontier.points.len(),
            frontier.points.len() + n
        ),
    };
    terminal.result(&Swept { directory: &directory, frontier: &frontier }, text)?;
    terminal.note(&format!("{:.1} s. Runs: {shown}", start.elapsed().as_secs_f64()));
    if !arguments.no_report && missing == 0 {
        let report = Report::of_sweep(&frontier, &command_line())?;
        let page = directory.join(files::REPORT);
        report.write_own(&page)?;
        report.write_figures(&directory.join(files::FIGURES))?;
        terminal.note(&format!("Report: {}", page.display()));
    }
    Ok(Exit::Met)
}

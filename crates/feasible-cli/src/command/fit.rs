//! `feasible fit` and `feasible resume`.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use feasible_problem::data::Data;
use feasible_problem::spec::Override;
use feasible_problem::{Plan, store};
use feasible_run::{Event, Fit, FitOptions, Fitted, RunDirectory, RunVerdict, files};
use serde::Serialize;

use super::{incomplete_search, seeds, source};
use crate::arguments::{FitArguments, ResumeArguments};
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;
use crate::outputs::Inputs;
use crate::progress::Progress;
use crate::ranks;
use crate::terminal::{Terminal, warn};

/// Trains a problem.
pub fn fit(arguments: &FitArguments, terminal: &Terminal) -> Result<Exit> {
    let start = Instant::now();
    let count = arguments.seeds.unwrap_or(1);
    let progress = Arc::new(Progress::new(count as usize, terminal));
    let (chosen, begun) = (Arc::new(OnceLock::<PathBuf>::new()), progress.clone());
    let told = chosen.clone();
    let interrupt = interrupt::listen(&progress, move || match told.get() {
        Some(directory) if begun.has_begun() => kept(directory),
        _ => "interrupted before training began".into(),
    });
    let plan = planned(arguments)?;
    terminal.detail(&format!("planned in {:.0} ms", start.elapsed().as_secs_f64() * 1e3));
    plan.notes().for_each(|note| terminal.note(note));
    plan.data().store_notes.iter().for_each(|note| terminal.note(note));
    let directory = arguments.output.clone().unwrap_or_else(|| unused(plan.name()));
    Inputs::new().problem(&arguments.problem, plan.spec()).refuse_directory(&directory)?;
    let _ = chosen.set(directory.clone());
    let seeds = seeds(plan.seed(), count)?;
    let options = FitOptions {
        directory: Some(directory.clone()),
        force: arguments.force,
        seeds,
        workers: workers(arguments.threads),
        part: arguments.part.or(ranks::share()),
        interrupt,
    };
    let mut fit = feasible_run::fit(&plan, &options, &|event| progress.observe(event));
    if ranks::share().is_some() && fit.as_ref().is_ok_and(|fit| !fit.is_interrupted()) {
        if !ranks::meet() {
            return Ok(Exit::Met);
        }
        // All are finished: this sums them up.
        let observe = |event: &Event| progress.observe(event);
        fit = feasible_run::resume(&directory, &options.interrupt, &observe);
    }
    progress.clear();
    // What only training needed is dropped before the page is made.
    let data = plan.into_training_data();
    let pages = |fit: &Fit| on_pages(fit, &directory, Some(&data), terminal);
    report(&fit?, &directory, terminal, (!arguments.no_report).then_some(&pages))
}

/// The plan that the arguments ask for.
pub fn planned(arguments: &FitArguments) -> Result<Plan> {
    store::set_place(arguments.output.as_deref().unwrap_or(Path::new("runs")));
    let mut settings = Vec::new();
    settings.extend(arguments.seed.map(Override::Seed));
    if arguments.baseline || arguments.no_baseline {
        settings.push(Override::Text(format!("report.baseline={}", arguments.baseline)));
    }
    if arguments.seeds.is_none_or(|n| n == 1) {
        settings.extend(arguments.threads.map(Override::Threads));
    }
    if ranks::is_launched() && ranks::share().is_none() {
        settings.push(Override::Text("training.shards=true".into()));
    }
    Ok(Plan::check(&source(&arguments.problem, &settings, &arguments.overrides)?)?)
}

/// Whether the problem asks for a ladder of models; what is wrong with it is said when it is planned.
#[cfg(feature = "mpi")]
pub fn is_ladder(arguments: &FitArguments) -> bool {
    let source = source(&arguments.problem, &[], &arguments.overrides).ok();
    let spec = source.and_then(|source| source.parse(&[]).ok());
    spec.and_then(|spec| spec.certify).is_some_and(|certify| certify.ladder.is_some())
}

/// Continues a run.
pub fn resume(arguments: &ResumeArguments, terminal: &Terminal) -> Result<Exit> {
    let directory = &arguments.directory;
    arguments.memory.apply();
    store::set_place(directory);
    is_run(directory)?;
    if ranks::are_several() && seeds_in(directory) > 1 {
        return Err(Failure::input(format!(
            "{} holds runs of several seeds, and one training is divided over the ranks at a time: resume it without \
             mpirun",
            directory.display()
        )));
    }
    let progress = Arc::new(Progress::new(seeds_in(directory), terminal));
    let resumed = directory.clone();
    let interrupt = interrupt::listen(&progress, move || kept(&resumed));
    let go = if arguments.finish { feasible_run::finish } else { feasible_run::resume };
    let fit = go(directory, &interrupt, &|event| progress.observe(event));
    progress.clear();
    let pages = |fit: &Fit| on_pages(fit, directory, None, terminal);
    report(&fit?, directory, terminal, (!arguments.no_report).then_some(&pages))
}

/// Puts every run on a page, and several side by side. That it cannot be done takes nothing away from the training: it is
/// said, and is how the command ends.
pub(super) fn on_pages(
    fit: &Fit,
    directory: &Path,
    data: Option<&Arc<Data>>,
    terminal: &Terminal,
) -> Option<Exit> {
    let page = directory.join(files::REPORT);
    let one = |directory: &Path| match data {
        Some(data) => feasible_report::Report::of_data(directory, data.clone()),
        None => feasible_report::Report::of(directory),
    };
    let written = || -> feasible_report::Result<bool> {
        let top = RunDirectory::new(directory);
        if !top.has(files::SEEDS) {
            return one(directory)?.write_own(&page).map(|()| true);
        }
        for run in fit.runs() {
            let run = top.seed(run.seed);
            one(run.path())?.write_own(&run.file(files::REPORT))?;
        }
        // Of several jobs, the last has all runs.
        let whole = top.has(files::SUMMARY);
        if whole {
            feasible_report::Report::compare(&[directory.to_path_buf()])?.write_own(&page)?;
        }
        Ok(whole)
    };
    match written() {
        Ok(false) => None,
        Ok(true) => {
            terminal.note(&format!("Report: {}", page.display()));
            None
        }
        Err(error) => {
            warn(&format!("the report was not written: {error}"));
            Some(Failure::from(error).exit())
        }
    }
}

/// How a command ends whose training is complete, but for something beside it that the machine did not let it write.
pub(super) fn unwritten(fit: &Fit) -> Option<Exit> {
    let summaries = fit.runs().iter().filter_map(|run| run.summary.as_ref());
    summaries.into_iter().any(|summary| summary.unwritten).then_some(Exit::Internal)
}

/// The first of runs/NAME, runs/NAME-2, … that does not exist.
pub(super) fn unused(problem: &str) -> PathBuf {
    let stem = Path::new(problem).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let numbered = (2..).map(|n: u32| format!("{stem}-{n}"));
    let mut names = std::iter::once(stem.clone()).chain(numbered);
    let free = |name: &String| !Path::new("runs").join(name).exists();
    Path::new("runs").join(names.find(free).unwrap_or(stem))
}

/// Looks before anything is written: a lock has no business in a directory that is not a run directory.
fn is_run(directory: &Path) -> Result<()> {
    let shown = directory.display();
    let run = RunDirectory::new(directory);
    // The problem is the last file to be written before a run begins.
    if run.has(files::PROBLEM) || !directory.is_dir() {
        return Ok(());
    }
    Err(Failure::input(if run.has(files::TUNE) {
        incomplete_search(directory)
    } else if run.has(files::README) {
        format!(
            "{shown} holds a run that had not begun: start it again with `feasible fit --force`"
        )
    } else {
        format!("{shown} is not a run directory: it has no {}", files::PROBLEM)
    }))
}

/// What is kept of a run that was ended while it could not save.
fn kept(directory: &Path) -> String {
    let shown = directory.display();
    match RunDirectory::new(directory).has(files::SUMMARY) {
        true => format!(
            "interrupted: the run in {shown} is complete; `feasible report {shown}` writes its page"
        ),
        false => {
            format!("interrupted: `feasible resume {shown}` continues it from what was saved last")
        }
    }
}

/// How many seeds a run directory is for.
fn seeds_in(directory: &Path) -> usize {
    // Whether it is damaged is said by what reads it next.
    let listed = RunDirectory::new(directory).seeds();
    listed.ok().flatten().map_or(1, |listed| listed.seeds.len())
}

/// How many trainings to run at once.
pub(super) fn workers(threads: Option<u64>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    threads.map_or_else(cores, |n| n as usize)
}

/// What `--json` prints.
#[derive(Serialize)]
struct FitReport<'a> {
    directory: &'a Path,
    /// Whether every requirement is met on the rows the models are judged by.
    met: bool,
    /// What the runs come to; none of a training that was interrupted, or while other jobs have rungs of a ladder to train.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<RunVerdict>,
    /// Whether it was interrupted and can be resumed.
    interrupted: bool,
    runs: &'a [Fitted],
}

/// Writes the pages of a fit; how the command ends if that cannot be done.
type Pages<'a> = &'a dyn Fn(&Fit) -> Option<Exit>;

fn report(
    fit: &Fit,
    directory: &Path,
    terminal: &Terminal,
    pages: Option<Pages<'_>>,
) -> Result<Exit> {
    let top = RunDirectory::new(directory);
    let interrupted = fit.is_interrupted();
    // A ladder of which other jobs have rungs: none of its models is taken yet.
    let partly = top.ladder()?.filter(|_| !interrupted && !top.has(files::SUMMARY));
    let met = partly.is_none() && fit.met();
    let verdict = (partly.is_none() && !interrupted).then(|| fit.verdict_state());
    let report = FitReport { directory, met, verdict, interrupted, runs: fit.runs() };
    let shown = directory.display();
    if interrupted {
        let epochs: u64 = fit.runs().iter().map(|run| run.epochs).sum();
        let message = format!(
            "interrupted after {epochs} epochs: `feasible resume {shown}` continues from there"
        );
        if terminal.json {
            // The result says so: standard output holds one document.
            terminal.result(&report, |_| String::new())?;
            terminal.note(&message);
            return Ok(Exit::Interrupted);
        }
        return Err(Failure::interrupted(message));
    }
    if let Some(ladder) = partly {
        let done = (0..ladder.rooms.len()).filter(|&at| top.rung(at).has(files::SUMMARY)).count();
        terminal.result(&report, |_| {
            format!(
                "{done} of {} rungs are finished; once other parts have finished the rest, `feasible report {shown}` joins them\n",
                ladder.rooms.len()
            )
        })?;
        return Ok(Exit::Met);
    }
    terminal.result(&report, |page| fit.text_on(page))?;
    let failed = pages.and_then(|pages| pages(fit)).or_else(|| unwritten(fit));
    if let Some(seeds) = top.seeds()?.filter(|_| !top.has(files::SUMMARY)) {
        let done = seeds.seeds.iter().filter(|&&seed| top.seed(seed).has(files::SUMMARY)).count();
        terminal.note(&format!(
            "{done} of {} seeds are finished; once other parts have finished the rest, `feasible report {shown}` joins them",
            seeds.seeds.len()
        ));
    }
    terminal.note(&format!("Run directory: {shown}"));
    Ok(failed.unwrap_or(Exit::met(met)))
}

//! The experiments of "Probably Approximately Correct Constrained Learning" (Chamon and Ribeiro, NeurIPS 2020), each as one call.
//!
//! Every variant is an embedded problem file, those on fairness trained with several seeds; figures of
//! the paper stand beside ours, in a table and on a page of its own (`report`).

mod adult;
mod compas;
mod page;
mod robust;

use std::path::{Path, PathBuf};

use feasible_data::visible;
use feasible_problem::memory;
use feasible_problem::plan::Plan;
use feasible_problem::spec::{Override, ProblemSource};
use feasible_run::error::{Error, Result};
use feasible_run::files::{FIGURES, PROBLEM, REPORT, is_ours};
use feasible_run::fit::{Observer, fit_in, resume_in};
use feasible_run::output::refuse_foreign;
use feasible_run::seeds::at_once;
use feasible_run::storage::{Directory, Memory, Storage, failed, names, no_link};
use feasible_run::summary::{SeedsSummary, Summary};
use feasible_run::{Interrupt, RunDirectory};

pub use adult::{AdultRow, AdultTable, adult};
pub use compas::{CompasRow, CompasTable, Multiplier, PAPER_ACCURACY, compas};
pub use robust::{
    Budget, CIFAR_10, FASHION_MNIST, RobustExperiment, RobustReproduction, RobustRow, RobustTable,
    Shown,
};

/// How to reproduce.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// The seeds; 1 to 5 by default.
    pub seeds: Vec<u64>,
    /// Trainings at the same time; 2 by default.
    pub workers: usize,
    /// What is put on top of every problem file.
    pub overrides: Vec<Override>,
    /// Where every run is kept, as `PROBLEM/seed-N`; `None` leaves nothing behind.
    pub directory: Option<PathBuf>,
    /// Stops it.
    pub interrupt: Interrupt,
}

impl Default for Reproduction {
    fn default() -> Self {
        let (seeds, interrupt) = ((1..=5).collect(), Interrupt::new());
        Self { seeds, workers: 2, overrides: Vec::new(), directory: None, interrupt }
    }
}

/// Where the run of a problem and a seed is kept.
pub fn run_directory(top: &Path, problem: &str, seed: u64) -> PathBuf {
    RunDirectory::new(top.join(problem)).seed(seed).path().to_path_buf()
}

/// The directory of a reproduction, for this process alone: a new one, or one in which the same was begun.
///
/// # Errors
/// Anything else in it; [`Error::InUse`].
pub fn open(top: &Path, experiment: &str) -> Result<Directory> {
    let ours = |name: &str| name.starts_with(experiment) || [REPORT, FIGURES].contains(&name);
    let checked = |names: Vec<String>| match names.iter().find(|name| !ours(name)) {
        None => Ok(()),
        Some(name) => {
            let reason = format!(
                "it holds {}, which is no part of a reproduction of {experiment}: name another directory",
                visible(name)
            );
            Err(Error::unfit(top.display().to_string(), reason))
        }
    };
    // First without the lock: it would be a new file in a directory that is not ours.
    checked(names(top).unwrap_or_default())?;
    let page = top.join(REPORT);
    let path = page.display().to_string();
    refuse_foreign(&page).map_err(|source| Error::Storage { operation: "write", path, source })?;
    let directory = Directory::open_or_create(top)?;
    checked(directory.list().map_err(failed("list", &directory, ""))?)?;
    Ok(directory)
}

/// The result of a run that was done before; `None` if there is none, or not yet.
fn done(plan: &Plan, directory: &Path) -> Result<Option<Summary>> {
    for directory in directory.ancestors().take(2) {
        no_link(directory)?;
    }
    let run = RunDirectory::new(directory);
    if !run.has(PROBLEM) {
        return Ok(None);
    }
    check_same(plan, &run)?;
    run.summary()
}

/// Whether the run in a directory is that of the plan, threads aside.
fn check_same(plan: &Plan, run: &RunDirectory) -> Result<()> {
    let mut there = run.problem()?.parse(&[])?;
    there.training.threads = plan.spec().training.threads;
    if there == *plan.spec() {
        return Ok(());
    }
    let reason = "it holds a run with other settings: give another directory, or remove it";
    Err(Error::unfit(run.path().display().to_string(), reason))
}

/// Trains every problem with every seed, as many at a time as there are workers.
fn train(
    problems: &[&str],
    how: &Reproduction,
    observer: Observer<'_>,
) -> Result<Vec<SeedsSummary>> {
    let mut plans: Vec<Plan> = Vec::new();
    for name in problems {
        let source = ProblemSource::open(name)?.with(&how.overrides);
        plans.push(match plans.first() {
            Some(first) => first.variant(&source)?,
            None => Plan::check(&source)?,
        });
    }
    let jobs: Vec<(usize, u64)> =
        (0..plans.len()).flat_map(|p| how.seeds.iter().map(move |&seed| (p, seed))).collect();
    let job = |(p, seed): (usize, u64)| -> Result<Summary> {
        let interrupted = || Error::unfit("reproduction", "it was interrupted");
        if how.interrupt.is_raised() {
            return Err(interrupted());
        }
        let plan = plans[p].clone().with_seed(seed).without_baseline();
        let run = match &how.directory {
            Some(top) => {
                let directory = run_directory(top, problems[p], seed);
                if let Some(summary) = done(&plan, &directory)? {
                    return Ok(summary);
                }
                if directory.join(PROBLEM).is_file() {
                    resume_in(&Directory::open(&directory)?, &how.interrupt, observer)?
                } else {
                    // What was stopped before it had a problem is no run yet.
                    let storage = Directory::replace(&directory, is_ours)?;
                    fit_in(&plan, &storage, &how.interrupt, observer)?
                }
            }
            None => fit_in(&plan, &Memory::new(), &how.interrupt, observer)?,
        };
        run.summary.ok_or_else(interrupted)
    };
    let estimates = plans.iter().map(Plan::estimate);
    let (shared, each) = estimates
        .fold((0, 0), |(shared, each): (u64, u64), e| (shared + e.shared, each.max(e.each)));
    let workers = memory::at_once(shared, each, how.workers);
    let mut runs = at_once(&jobs, workers, job)?.into_iter();
    Ok(problems
        .iter()
        .map(|name| SeedsSummary {
            problem: name.to_string(),
            runs: runs.by_ref().take(how.seeds.len()).collect(),
        })
        .collect())
}

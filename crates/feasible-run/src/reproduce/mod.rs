//! The paper's experiments, each as one call.
//!
//! Every variant is an embedded problem file, those on fairness trained with several seeds; figures of
//! the paper stand beside ours.

mod adult;
mod compas;
mod robust;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::fit::{Observer, fit_in};
use crate::interrupt::Interrupt;
use crate::memory;
use crate::plan::Plan;
use crate::seeds::{at_once, seed_directory};
use crate::spec::Source;
use crate::storage::{Directory, Memory, Storage};
use crate::summary::{SeedsSummary, Summary};

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
    /// Overrides on every problem file: `training.epochs=10`.
    pub overrides: Vec<String>,
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
    top.join(problem).join(seed_directory(seed))
}

/// Trains every problem with every seed, as many at a time as there are workers.
fn train(
    problems: &[&str],
    how: &Reproduction,
    observer: Observer<'_>,
) -> Result<Vec<SeedsSummary>> {
    let plans = problems
        .iter()
        .map(|name| Plan::check(&Source::open(name)?.with_overrides(&how.overrides)))
        .collect::<Result<Vec<Plan>>>()?;
    let jobs: Vec<(usize, u64)> =
        (0..plans.len()).flat_map(|p| how.seeds.iter().map(move |&seed| (p, seed))).collect();
    let job = |(p, seed): (usize, u64)| -> Result<Summary> {
        let plan = plans[p].clone().with_seed(seed);
        let storage: Box<dyn Storage> = match &how.directory {
            Some(top) => Box::new(Directory::create(&run_directory(top, problems[p], seed))?),
            None => Box::new(Memory::new()),
        };
        let run = fit_in(&plan, storage.as_ref(), &how.interrupt, observer)?;
        run.summary.ok_or_else(|| Error::unfit("reproduction", "it was interrupted"))
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

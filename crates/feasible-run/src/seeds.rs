//! Fitting into a directory: one seed, or several at once, each in a subdirectory of its own.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use feasible::Outcome;
use feasible_problem::plan::Plan;
use feasible_problem::text::{BAD, GOOD, Page};
use serde::{Deserialize, Serialize};

use crate::conclusion::RunVerdict;
use crate::directory::RunDirectory;
use crate::error::{Error, Result};
use crate::files::{
    LADDER, PROBLEM, README, RUNG, SEED, SEEDS, SUMMARY, TRIAL, TUNE, is_ours, json,
};
use crate::fit::{Fitted, Observer, finish_in, fit_in, resume_in, resume_on};
use crate::interrupt::Interrupt;
use crate::job_part::{JobPart, in_turn, resumed, unfinished};
use crate::ladder;
use crate::removal::Inner;
use crate::resumable::ResumableDirectory;
use crate::storage::{Directory, Memory, Storage, failed, no_link};
use crate::summary::{SeedsSummary, Summary};

/// How to fit.
#[derive(Clone, Debug)]
pub struct FitOptions {
    /// Where the run goes; `None` leaves nothing behind.
    pub directory: Option<PathBuf>,
    /// Replace a run that is already there.
    pub force: bool,
    /// The seeds; the plan's own if there are none.
    pub seeds: Vec<u64>,
    /// Seeds fitted at the same time.
    pub workers: usize,
    /// Train only the share of one of several jobs, which are given the same directory and the same seeds, or the same ladder.
    pub part: Option<JobPart>,
    /// Stops it.
    pub interrupt: Interrupt,
}

impl Default for FitOptions {
    fn default() -> Self {
        let (directory, seeds) = (None, Vec::new());
        Self { directory, force: false, seeds, workers: 1, part: None, interrupt: Interrupt::new() }
    }
}

/// The result of a fit: one training for each seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    runs: Vec<Fitted>,
}

impl Fit {
    /// Of one training.
    pub(crate) fn of(run: Fitted) -> Self {
        Self { runs: vec![run] }
    }

    /// Of the trainings of one of several jobs.
    pub(crate) fn of_several(runs: Vec<Fitted>) -> Self {
        Self { runs }
    }

    /// Every training, by seed.
    pub fn runs(&self) -> &[Fitted] {
        &self.runs
    }

    /// Whether any training was interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.runs().iter().any(|run| run.outcome == Outcome::Interrupted)
    }

    /// Whether every requirement is met on the rows the models are judged by.
    pub fn met(&self) -> bool {
        self.runs().iter().all(|run| run.summary.as_ref().is_some_and(Summary::met))
    }

    /// What the runs come to.
    pub fn verdict_state(&self) -> RunVerdict {
        match (self.seeds_summary(), self.runs.first().and_then(|run| run.summary.as_ref())) {
            (Some(all), _) => all.verdict_state(),
            (None, Some(one)) => one.verdict_state(),
            (None, None) => RunVerdict::NotMet,
        }
    }

    /// Several seeds summed up; `None` for one, or if any was interrupted.
    pub fn seeds_summary(&self) -> Option<SeedsSummary> {
        if self.runs.len() < 2 {
            return None;
        }
        let runs: Vec<Summary> =
            self.runs.iter().map(|run| run.summary.clone()).collect::<Option<_>>()?;
        Some(SeedsSummary { problem: runs.first()?.problem.clone(), runs })
    }

    /// The verdict and the numbers, for people.
    pub fn to_text(&self) -> String {
        self.text_on(&Page::default())
    }

    /// The same, laid out for a page.
    pub fn text_on(&self, page: &Page) -> String {
        if let Some(summary) = self.seeds_summary() {
            let color = if summary.met() { GOOD } else { BAD };
            let verdict = match summary.verdict_state() {
                RunVerdict::NoRequirements => summary.verdict(),
                _ => page.paint(color, &summary.verdict()),
            };
            return format!("{verdict}\n{}", summary.text_on(page));
        }
        let text = |run: &Fitted| match &run.summary {
            Some(summary) => summary.text_on(page),
            None => format!("seed {}: {} after {} epochs\n", run.seed, run.outcome, run.epochs),
        };
        self.runs.iter().map(text).collect()
    }
}

/// The most seeds of one directory.
pub const MOST_SEEDS: usize = 10_000;

/// The most threads that fit at the same time.
const MOST_WORKERS: usize = 1024;

/// `seeds.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seeds {
    /// What the problem is called.
    pub problem: String,
    /// The seeds, ascending.
    pub seeds: Vec<u64>,
    /// Seeds fitted at the same time.
    pub workers: usize,
}

/// Fits a plan.
///
/// # Errors
/// A directory that is not empty (unless forced) or cannot be written.
pub fn fit(plan: &Plan, options: &FitOptions, observer: Observer<'_>) -> Result<Fit> {
    let interrupt = &options.interrupt;
    let mut seeds = options.seeds.clone();
    seeds.sort_unstable();
    seeds.dedup();
    if seeds.len() > MOST_SEEDS {
        let reason = format!("{} seeds are more than {MOST_SEEDS}", seeds.len());
        return Err(Error::unfit("--seeds", reason));
    }
    let open = |path: &Path| match options.force {
        true => Directory::replace_with(path, is_ours, plan.has_baseline(), runs_inside),
        false => Directory::create(path),
    };
    let rooms = plan.spec().certify.as_ref().and_then(|certify| certify.ladder.clone());
    if rooms.is_some() && seeds.len() > 1 {
        return Err(Error::unfit(
            "--seeds",
            "a ladder is certified for one seed at a time: fit each, or leave out `ladder`",
        ));
    }
    if let Some(part) = &options.part {
        return match (&options.directory, rooms) {
            (None, _) => Err(Error::unfit("--part", "the jobs need a directory to meet in")),
            (Some(path), Some(rooms)) => {
                let plan = plan.clone().with_seed(seeds.first().copied().unwrap_or(plan.seed()));
                ladder::fit_part(&plan, &rooms, path, part, options, observer)
            }
            (Some(path), None) => fit_part(plan, path, &seeds, part, options, observer),
        };
    }
    if let Some(rooms) = rooms {
        let plan = plan.clone().with_seed(seeds.first().copied().unwrap_or(plan.seed()));
        let top = match &options.directory {
            Some(path) => Some((path.as_path(), open(path)?)),
            None => None,
        };
        return Ok(Fit::of(ladder::fit(&plan, &rooms, top, interrupt, observer)?));
    }
    if seeds.len() < 2 {
        let plan = plan.clone().with_seed(seeds.first().copied().unwrap_or(plan.seed()));
        let fitted = match &options.directory {
            Some(path) => fit_in(&plan, &open(path)?, interrupt, observer)?,
            None => fit_in(&plan, &Memory::new(), interrupt, observer)?,
        };
        return Ok(Fit::of(fitted));
    }
    let Some(path) = &options.directory else {
        let train =
            |seed| fit_in(&plan.clone().with_seed(seed), &Memory::new(), interrupt, observer);
        return Ok(Fit { runs: at_once(&seeds, plan.at_once(options.workers), train)? });
    };
    let top = open(path)?;
    let write =
        |name: &str, bytes: &[u8]| top.write(name, bytes).map_err(failed("write", &top, name));
    write(README, SEEDS_README.as_bytes())?;
    let listed =
        Seeds { problem: plan.name().into(), seeds: seeds.clone(), workers: options.workers };
    write(SEEDS, &json(&listed))?;
    write(PROBLEM, plan.spec().to_toml().as_bytes())?;
    let train = |seed| {
        if interrupt.is_raised() {
            return Ok(Fitted::not_begun(seed));
        }
        let directory = Directory::create(RunDirectory::new(path).seed(seed).path())?;
        fit_in(&plan.clone().with_seed(seed), &directory, interrupt, observer)
    };
    sum_up(&top, Fit { runs: at_once(&seeds, plan.at_once(options.workers), train)? })
}

/// The seeds of one of several jobs.
fn fit_part(
    plan: &Plan,
    path: &Path,
    seeds: &[u64],
    part: &JobPart,
    options: &FitOptions,
    observer: Observer<'_>,
) -> Result<Fit> {
    if seeds.len() < 2 {
        return Err(Error::unfit(
            "--part",
            "there is one seed, and jobs share out several (--seeds), or the models of a ladder",
        ));
    }
    let toml = plan.spec().to_toml();
    let listed =
        Seeds { problem: plan.name().into(), seeds: seeds.to_vec(), workers: options.workers };
    let run = RunDirectory::new(path);
    let same = |bytes: &[u8]| {
        let known: Option<Seeds> = serde_json::from_slice(bytes).ok();
        let known =
            known.is_some_and(|k| (&k.problem, &k.seeds) == (&listed.problem, &listed.seeds));
        known && run.read(PROBLEM).is_ok_and(|p| p.is_none_or(|p| p == toml.as_bytes()))
    };
    let directory = ResumableDirectory {
        what: "runs",
        file: SEEDS,
        is_same: &same,
        ours: &is_ours,
        inside: runs_inside,
        first: &[
            (SEEDS, &|| json(&listed)),
            (README, &|| SEEDS_README.into()),
            (PROBLEM, &|| toml.clone().into_bytes()),
        ],
    };
    // Held while the first files are written: other jobs work in it at the same time.
    drop(in_turn(|| directory.open(path, options.force))?);
    let train = |seed| begin_or_resume(Some(plan), &run, seed, &options.interrupt, observer);
    let runs = at_once(&part.share(seeds), plan.at_once(options.workers), train)?;
    if missing(&run, &listed).is_empty() {
        join(path)?;
    }
    Ok(Fit { runs })
}

/// Continues the run of a seed, or begins it.
fn begin_or_resume(
    plan: Option<&Plan>,
    run: &RunDirectory,
    seed: u64,
    interrupt: &Interrupt,
    observer: Observer<'_>,
) -> Result<Fitted> {
    if interrupt.is_raised() {
        return Ok(Fitted::not_begun(seed));
    }
    let inner = run.seed(seed);
    no_link(inner.path())?;
    if inner.has(PROBLEM) {
        return resume_on(plan, &Directory::open(inner.path())?, interrupt, observer);
    }
    // Stopped before this seed was begun.
    let plan = plan.cloned().map_or_else(|| fresh(run), Ok)?.with_seed(seed);
    fit_in(&plan, &Directory::replace(inner.path(), is_ours)?, interrupt, observer)
}

/// The plan of a directory of several seeds.
fn fresh(run: &RunDirectory) -> Result<Plan> {
    let plan = Plan::check(&run.problem()?)?;
    Ok(match run.seeds()? {
        Some(listed) => plan.called(&listed.problem),
        None => plan,
    })
}

/// The seeds whose runs are not finished.
fn missing(run: &RunDirectory, listed: &Seeds) -> Vec<u64> {
    let mut missing = listed.seeds.clone();
    missing.retain(|&seed| !run.seed(seed).has(SUMMARY));
    missing
}

/// Sums up the runs of several seeds that were trained in parts, in their directory.
///
/// # Errors
/// A directory that holds no such runs, or some that are not finished.
pub fn join(path: &Path) -> Result<SeedsSummary> {
    let run = RunDirectory::new(path);
    let none = || Error::NotARun { location: run.location(), missing: SEEDS };
    let listed = run.seeds()?.ok_or_else(none)?;
    // A job writes what a run's requirements cost after all else: read while no other job joins, the last to end has all.
    let top = in_turn(|| Directory::open(path))?;
    let one = |&seed: &u64| {
        let inner = run.seed(seed);
        no_link(inner.path())?;
        inner.summary()
    };
    let runs: Vec<Option<Summary>> = listed.seeds.iter().map(one).collect::<Result<_>>()?;
    let Some(runs) = runs.into_iter().collect::<Option<_>>() else {
        let missing = missing(&run, &listed);
        let names: Vec<String> = missing.iter().map(|seed| format!("seed {seed}")).collect();
        return Err(unfinished(path, "runs", &names, listed.seeds.len(), &resumed(path)));
    };
    let summary = SeedsSummary { problem: listed.problem, runs };
    top.write(SUMMARY, &json(&summary.written())).map_err(failed("write", &top, SUMMARY))?;
    Ok(summary)
}

/// Ends the run in a directory where its last checkpoint is.
///
/// # Errors
/// As [`finish_in`]; a directory with the runs of several seeds, or of a ladder.
pub fn finish(path: &Path, interrupt: &Interrupt, observer: Observer<'_>) -> Result<Fit> {
    let top = Directory::open(path)?;
    let run = RunDirectory::new(path);
    if run.has(LADDER) || run.has(SEEDS) {
        return Err(Error::SeveralRuns { location: top.location() });
    }
    Ok(Fit::of(finish_in(&top, interrupt, observer)?))
}

/// Continues the run, or the runs of several seeds, in a directory.
///
/// # Errors
/// As [`resume_in`].
pub fn resume(path: &Path, interrupt: &Interrupt, observer: Observer<'_>) -> Result<Fit> {
    let (top, run) = (Directory::open(path)?, RunDirectory::new(path));
    if run.ladder()?.is_some() {
        return Ok(Fit::of(ladder::resume(path, top, interrupt, observer)?));
    }
    let Some(listed) = run.seeds()? else {
        return Ok(Fit::of(resume_in(&top, interrupt, observer)?));
    };
    // All seeds share its data. What is wrong with it, every run that was begun says of its own file.
    let plan = fresh(&run).ok();
    let workers = plan.as_ref().map_or(listed.workers, |plan| plan.at_once(listed.workers));
    let train = |seed| begin_or_resume(plan.as_ref(), &run, seed, interrupt, observer);
    let runs = at_once(&listed.seeds, workers, train)?;
    sum_up(&top, Fit { runs })
}

fn sum_up(top: &Directory, fit: Fit) -> Result<Fit> {
    if let Some(summary) = fit.seeds_summary() {
        top.write(SUMMARY, &json(&summary.written())).map_err(failed("write", top, SUMMARY))?;
    }
    Ok(fit)
}

/// The runs in a directory of several seeds, of a ladder or of a search; none of any other directory, nor behind a link.
pub(crate) fn runs_inside(path: &Path) -> Result<Vec<Inner>> {
    let run = RunDirectory::new(path);
    let prefixes: &[&str] = match () {
        () if run.has(TUNE) => &[TRIAL],
        () if run.has(SEEDS) || run.has(LADDER) => &[SEED, RUNG],
        () => return Ok(Vec::new()),
    };
    let runs = run.numbered::<u64>(prefixes)?;
    Ok(runs.iter().map(|one| Inner::run(one.path())).collect())
}

/// Runs `job` for every item, `workers` at a time; results in the order of the items.
pub fn at_once<I: Copy + Sync, T: Send>(
    items: &[I],
    workers: usize,
    job: impl Fn(I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let slots: Vec<Mutex<Option<Result<T>>>> = items.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..workers.min(MOST_WORKERS).clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(item), Some(slot)) = (items.get(at), slots.get(at)) else { break };
                    let result = job(*item);
                    if let Ok(mut slot) = slot.lock() {
                        *slot = Some(result);
                    }
                }
            });
        }
    });
    let lost = || Err(Error::unfit("worker", "a thread ended without a result"));
    slots.into_iter().map(|slot| slot.into_inner().ok().flatten().unwrap_or_else(lost)).collect()
}

const SEEDS_README: &str = "\
Runs of feasible: one problem, several seeds.

problem.toml   the problem, every default filled in
seeds.json     the seeds
seed-N/        the run of seed N, with a README.txt of its own
summary.json   all runs' summaries
";

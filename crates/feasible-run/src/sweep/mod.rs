//! A sweep: the same problem over limits of one requirement, to see what a stricter limit costs.
//!
//! What is compared must differ in the limit and in nothing else. Where a limit starts is therefore
//! part of the design ([`Starts`]):
//!
//! | start | of | because |
//! | --- | --- | --- |
//! | in a chain, from the next looser limit's solution | the exact learner | it ends in a minimum wherever it starts, and is there sooner |
//! | afresh | first-order learners | all limits have had the same epochs, batches and initial θ |
//! | all from the loosest limit's solution | first-order learners, if asked for | all have had the same epochs, and start feasible for the loosest |
//!
//! A chain of first-order trainings would compare limits with different numbers of epochs: on Adult
//! the objective at the strict end falls by a fifth from that alone. Runs that do not depend on each
//! other are trained at the same time; results depend on neither threads nor interruptions.
//!
//! ```
//! use feasible_problem::ProblemSource;
//! use feasible_run::{SweepOptions, sweep};
//! let quick = ["training.epochs=2".to_string()];
//! let source = ProblemSource::open("compas")?.with_overrides(&quick);
//! let options = SweepOptions { limits: vec![1e-4, 1e-2], ..SweepOptions::new("invariance") };
//! let frontier = sweep(&source, &options, &|_| {})?;
//! assert_eq!((frontier.points.len(), frontier.at(1e-2).count()), (2, 1));
//! # Ok::<(), feasible_run::Error>(())
//! ```
//!
//! Every limit and seed is a run of its own, `limit-0.01/seed-1`, which can be reported on and whose
//! model can be used. A run that is finished is not trained again, so a sweep that was stopped
//! continues from there; nor is one that another of several jobs has finished ([`SweepOptions::part`]).

mod frontier;
mod limits;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use feasible_problem::clause::Clause;
use feasible_problem::data::{TableHash, sha256};
use feasible_problem::plan::Plan;
pub use feasible_problem::spec::LimitKey as Key;
use feasible_problem::spec::{LearnerName, Override, ProblemSource};
use serde::{Deserialize, Serialize};

use crate::directory::RunDirectory;
use crate::error::{Error, Result};
use crate::files::{FIGURES, LIMIT, PROBLEM, README, SEED, SUMMARY, is_ours, json};
use crate::fit::{Observer, fit_from};
use crate::interrupt::Interrupt;
use crate::job_part::{JobPart, WHOLE, in_turn, unfinished};
use crate::parse;
use crate::removal::Inner;
use crate::resumable::ResumableDirectory;
use crate::seeds::at_once;
use crate::start::Start;
use crate::storage::{Directory, Memory, Storage, failed, no_link, read};
use crate::summary::Summary;

pub use frontier::{Achieved, Frontier, Point};
pub use limits::limits;

/// What is swept, and how it ended.
pub const SWEEP: &str = "sweep.json";
/// The same as a table.
pub const SWEEP_CSV: &str = "sweep.csv";

/// How to sweep.
#[derive(Clone, Debug)]
pub struct SweepOptions {
    /// The requirement whose limit moves, by the name it has in the problem file.
    pub requirement: String,
    /// The limits, in any order.
    pub limits: Vec<f64>,
    /// The seeds; the problem's own if there are none.
    pub seeds: Vec<u64>,
    /// Where limits start; by default a chain for the exact learner, afresh for others.
    pub start: Option<Warmth>,
    /// Cores to use: runs are trained at the same time, and share what is left.
    pub threads: usize,
    /// Where to leave it; `None` leaves nothing behind.
    pub directory: Option<PathBuf>,
    /// Train only the share of one of several jobs, which are given the same directory.
    pub part: Option<JobPart>,
    /// Replace a sweep of other settings.
    pub force: bool,
    /// Stops it.
    pub interrupt: Interrupt,
}

impl SweepOptions {
    /// Of a requirement, with no limits yet.
    pub fn new(requirement: &str) -> Self {
        Self {
            requirement: requirement.to_string(),
            limits: Vec::new(),
            seeds: Vec::new(),
            start: None,
            threads: 1,
            directory: None,
            part: None,
            force: false,
            interrupt: Interrupt::new(),
        }
    }
}

/// Whether to start from solutions of other limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmth {
    /// From another limit's solution.
    Warm,
    /// From the model's own start.
    Afresh,
}

/// Where each limit starts. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Starts {
    /// From the solution of the next looser limit.
    Chain,
    /// From the solution of the loosest limit.
    Loosest,
    /// From the model's own start.
    Afresh,
}

impl Starts {
    fn of(warmth: Option<Warmth>, exact: bool) -> Self {
        match (warmth, exact) {
            (Some(Warmth::Warm) | None, true) => Self::Chain,
            (Some(Warmth::Warm), false) => Self::Loosest,
            (Some(Warmth::Afresh), _) | (None, false) => Self::Afresh,
        }
    }
}

/// `sweep.json` while a sweep is under way: what must be the same for it to be resumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Design {
    /// SHA-256 of the problem with the limit left out.
    problem: String,
    tables: Vec<TableHash>,
    requirement: String,
    limits: Vec<f64>,
    starts: Starts,
}

/// `sweep.json`.
#[derive(Serialize, Deserialize)]
struct Saved {
    feasible: String,
    design: Design,
    /// The numbers of the constraints that the requirement stands for.
    swept: Vec<usize>,
    /// Without points while it is under way.
    frontier: Frontier,
}

/// Solves a problem at every limit; of one of several jobs ([`SweepOptions::part`]) the frontier has the points that
/// are finished by then ([`Frontier::missing`]).
///
/// # Errors
/// A requirement that does not exist, no limits, a directory that holds something else, an
/// interruption; a part of a sweep that has no directory.
pub fn sweep(
    source: &ProblemSource,
    options: &SweepOptions,
    observer: Observer<'_>,
) -> Result<Frontier> {
    let sweep = Sweep::check(source, options)?;
    let mut limits = sweep.design.limits.clone();
    // The loosest first.
    if sweep.key != Key::AtLeast {
        limits.reverse();
    }
    if options.part.is_some() {
        let none = || Error::unfit("--part", "the jobs need a directory to meet in");
        let path = options.directory.as_ref().ok_or_else(none)?;
        // Held while the first files are written: other jobs work in it at the same time.
        drop(in_turn(|| sweep.open(path, options))?);
        sweep.solve(&limits, options, observer)?;
        return joined(path);
    }
    let top = match &options.directory {
        Some(path) => Some(sweep.open(path, options)?),
        None => None,
    };
    let points = sweep.solve(&limits, options, observer)?;
    let saved = Saved { frontier: sweep.outline().with(points), ..sweep.saved() };
    if let Some(top) = &top {
        write(top, &saved)?;
    }
    Ok(saved.frontier)
}

/// The results of a sweep whose runs were trained in parts, written to its directory.
///
/// # Errors
/// A directory that holds no sweep, or one of which runs are not finished.
pub fn join(path: &Path) -> Result<Frontier> {
    let frontier = joined(path)?;
    let run = |(limit, seed): &(f64, u64)| format!("limit {limit:?}, seed {seed}");
    let missing: Vec<String> = frontier.missing().iter().map(run).collect();
    let all = frontier.limits.len() * frontier.seeds.len();
    match missing.is_empty() {
        true => Ok(frontier),
        false => Err(unfinished(path, "runs", &missing, all, WHOLE)),
    }
}

/// The most runs of a sweep.
const MOST_RUNS: usize = 1_000_000;

/// The results that are there; written once all are.
fn joined(path: &Path) -> Result<Frontier> {
    let (run, what) = (RunDirectory::new(path), RunDirectory::new(path).shown(SWEEP));
    let missing = || Error::NotARun { location: run.location(), missing: SWEEP };
    let bytes = run.read(SWEEP)?.ok_or_else(missing)?;
    let damaged =
        |error: serde_json::Error| Error::Damaged { path: what.clone(), reason: error.to_string() };
    let mut saved: Saved = serde_json::from_slice(&bytes).map_err(damaged)?;
    let (limits, seeds) = (saved.frontier.limits.len(), saved.frontier.seeds.len());
    if limits.saturating_mul(seeds) > MOST_RUNS {
        let reason = format!("{limits} limits and {seeds} seeds are more than {MOST_RUNS} runs");
        return Err(Error::Damaged { path: what, reason });
    }
    if saved.frontier.missing().is_empty() {
        return Ok(saved.frontier);
    }
    let mut points = Vec::new();
    for (limit, seed) in saved.frontier.runs() {
        let one = run.limit(limit).seed(seed);
        for directory in one.path().ancestors().take(2) {
            no_link(directory)?;
        }
        if let Some(bytes) = one.read(SUMMARY)? {
            let summary: Summary = parse::summary(&one.shown(SUMMARY), &bytes)?;
            points.push(Point::of(&summary, limit, &saved.swept));
        }
    }
    saved.frontier = saved.frontier.with(points);
    if saved.frontier.missing().is_empty() {
        write(&in_turn(|| Directory::open(path))?, &saved)?;
    }
    Ok(saved.frontier)
}

/// Writes the results.
fn write(top: &Directory, saved: &Saved) -> Result<()> {
    let write =
        |name: &str, bytes: &[u8]| top.write(name, bytes).map_err(failed("write", top, name));
    write(SWEEP_CSV, &saved.frontier.to_csv())?;
    write(SWEEP, &json(saved))
}

/// A checked sweep.
struct Sweep<'a> {
    source: &'a ProblemSource,
    name: String,
    /// The number of the `[[requirement]]`.
    at: usize,
    key: Key,
    kind: feasible_problem::spec::RequirementKind,
    seeds: Vec<u64>,
    design: Design,
    /// The problem, as it stands in the file.
    toml: String,
    /// A plan of one of the limits: all others share its data.
    first: Plan,
    /// Plans that are in use, one for each limit: seeds at the same limit share one.
    plans: Mutex<Vec<(f64, Weak<Plan>)>>,
}

impl<'a> Sweep<'a> {
    fn check(source: &'a ProblemSource, options: &SweepOptions) -> Result<Self> {
        let spec = source.parse(&[])?;
        let name = &options.requirement;
        let names = || spec.requirements.iter().map(|r| r.name.as_str());
        let Some(at) = names().position(|known| known == name) else {
            let hint = match feasible_data::nearest(name, names()) {
                _ if spec.requirements.is_empty() => "the problem has none".to_string(),
                nearest => {
                    let nearest =
                        nearest.map_or(String::new(), |name| format!("did you mean '{name}'? "));
                    format!(
                        "{nearest}The requirements are '{}'",
                        names().collect::<Vec<_>>().join("', '")
                    )
                }
            };
            let reason = format!("no requirement is named '{name}': {hint}");
            return Err(Error::unfit("--requirement", reason));
        };
        let Some(key) = Key::of(&spec.requirements[at]) else {
            let reason = format!("'{name}' has no limit: give at_most, at_least or within");
            return Err(Error::unfit("--requirement", reason));
        };
        let mut limits = options.limits.clone();
        limits.sort_unstable_by(f64::total_cmp);
        limits.dedup();
        let (Some(&strictest), Some(&loosest)) = (limits.first(), limits.last()) else {
            return Err(Error::unfit("--limits", "there is none"));
        };
        // Every limit is checked before any is trained; the strictest first, to fail early.
        for &limit in &limits {
            let checked = source.clone().with(&[setting(at, key, limit)]);
            checked.parse(&[])?;
        }
        let planned = |limit: f64, known: Option<&Plan>| {
            let source = source.clone().with(&[setting(at, key, limit)]);
            let plan = match known {
                Some(known) => known.variant(&source),
                None => Plan::check(&source),
            };
            plan.map_err(|error| match error {
                feasible_problem::Error::Problem { place, message }
                    if place.key == format!("requirement[{at}].{}", key.name()) =>
                {
                    Error::unfit("--limits", message)
                }
                other => other.into(),
            })
        };
        let first = planned(strictest, None)?;
        if loosest > strictest {
            planned(loosest, Some(&first))?;
        }
        let mut seeds = options.seeds.clone();
        if seeds.is_empty() {
            seeds.push(first.seed());
        }
        seeds.sort_unstable();
        seeds.dedup();
        let mut bare = spec.clone();
        let requirement = &mut bare.requirements[at];
        (requirement.at_most, requirement.at_least, requirement.within) = (None, None, None);
        (bare.training.seed, bare.training.threads) = (None, None);
        let kind = spec.requirements[at].kind;
        let exact = first.settings().training.learner.name() == LearnerName::Exact;
        let design = Design {
            problem: sha256(bare.to_toml().as_bytes()),
            tables: first.data().hashes.clone(),
            requirement: name.clone(),
            limits,
            starts: Starts::of(options.start, exact),
        };
        Ok(Self {
            source,
            name: first.name().to_string(),
            at,
            key,
            kind,
            seeds,
            design,
            toml: spec.to_toml(),
            first,
            plans: Mutex::new(Vec::new()),
        })
    }

    /// The frontier without its points.
    fn outline(&self) -> Frontier {
        Frontier {
            problem: self.name.clone(),
            requirement: self.design.requirement.clone(),
            key: self.key,
            kind: self.kind,
            starts: self.design.starts,
            seeds: self.seeds.clone(),
            limits: self.design.limits.clone(),
            points: Vec::new(),
        }
    }

    fn saved(&self) -> Saved {
        Saved {
            feasible: env!("CARGO_PKG_VERSION").to_string(),
            design: self.design.clone(),
            swept: self.swept(),
            frontier: self.outline(),
        }
    }

    /// The numbers of the constraints that the requirement stands for, at any limit.
    fn swept(&self) -> Vec<usize> {
        let of = |(at, clause): (usize, &Clause)| (clause.from == self.at).then_some(at);
        self.first.clauses().iter().enumerate().filter_map(of).collect()
    }

    /// The directory: new, or that of the same sweep, which is then resumed.
    fn open(&self, path: &Path, options: &SweepOptions) -> Result<Directory> {
        let same = |bytes: &[u8]| {
            let saved: Result<Saved, _> = serde_json::from_slice(bytes);
            // Seeds can be added later, but all jobs must know of all.
            let seeds = |saved: &Saved| saved.frontier.seeds == self.seeds;
            saved.is_ok_and(|saved| {
                saved.design == self.design && (options.part.is_none() || seeds(&saved))
            })
        };
        let directory = ResumableDirectory {
            what: "a sweep",
            file: SWEEP,
            is_same: &same,
            ours: &|name| is_ours(name) || [SWEEP, SWEEP_CSV].contains(&name),
            inside,
            first: &[
                (SWEEP, &|| json(&self.saved())),
                (README, &|| SWEEP_README.into()),
                (PROBLEM, &|| self.toml.clone().into_bytes()),
            ],
        };
        directory.open(path, options.force)
    }

    /// The plan of a limit.
    fn plan(&self, limit: f64) -> Result<Arc<Plan>> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.retain(|(_, plan)| plan.strong_count() > 0);
        let known = plans.iter().find(|(of, _)| *of == limit).and_then(|(_, plan)| plan.upgrade());
        if let Some(plan) = known {
            return Ok(plan);
        }
        let source = self.source.clone().with(&[setting(self.at, self.key, limit)]);
        let plan = Arc::new(self.first.variant(&source)?.called(&self.name));
        plans.push((limit, Arc::downgrade(&plan)));
        Ok(plan)
    }

    /// Every limit, the loosest first, with every seed.
    fn solve(
        &self,
        limits: &[f64],
        options: &SweepOptions,
        observer: Observer<'_>,
    ) -> Result<Vec<Point>> {
        let ours = |training: usize| options.part.is_none_or(|part| part.takes(training));
        let all = limits.iter().flat_map(|&l| (0..self.seeds.len()).map(move |s| (s, l)));
        let afresh = self.design.starts == Starts::Afresh;
        // Limits that start from each other are one job's, seed by seed.
        let pairs: Vec<(usize, f64)> = all
            .enumerate()
            .filter(|&(at, (seed, _))| ours(if afresh { at } else { seed }))
            .map(|(_, pair)| pair)
            .collect();
        let own: Vec<usize> = (0..self.seeds.len()).filter(|&seed| ours(seed)).collect();
        let (threads, seeds) = (options.threads.max(1), own.len().max(1));
        // Cores that trainings at the same time leave over go to each of them.
        let work = |jobs: usize| Work {
            options,
            observer,
            workers: self.first.at_once(threads.min(jobs.max(1))),
            threads: (threads / threads.min(jobs.max(1))).max(1),
        };
        match self.design.starts {
            Starts::Afresh => {
                let work = work(pairs.len());
                let job =
                    |(at, limit): (usize, f64)| self.point(limit, self.seeds[at], None, &work);
                at_once(&pairs, work.workers, job)
            }
            Starts::Loosest => {
                let loosest = limits.first().copied().unwrap_or_default();
                let first = work(seeds);
                let start = |at: usize| {
                    let seed = self.seeds[at];
                    let top = options.directory.as_ref().map(RunDirectory::new);
                    let place = top.map(|top| top.start().seed(seed));
                    self.run(loosest, seed, place, None, &first).map(|(_, start)| (at, start))
                };
                let starts: BTreeMap<usize, Start> =
                    at_once(&own, first.workers, start)?.into_iter().collect();
                let work = work(pairs.len());
                let job = |(at, limit): (usize, f64)| {
                    self.point(limit, self.seeds[at], starts.get(&at), &work)
                };
                at_once(&pairs, work.workers, job)
            }
            Starts::Chain => {
                let work = work(seeds);
                let chain = |at: usize| {
                    let seed = self.seeds[at];
                    let (mut points, mut before): (Vec<Point>, Option<Start>) = (Vec::new(), None);
                    for &limit in limits {
                        let place = self.place(options, limit, seed);
                        let (point, start) =
                            self.run(limit, seed, place, before.as_ref(), &work)?;
                        points.push(point);
                        before = Some(start);
                    }
                    Ok(points)
                };
                Ok(at_once(&own, work.workers, chain)?.into_iter().flatten().collect())
            }
        }
    }

    fn place(&self, options: &SweepOptions, limit: f64, seed: u64) -> Option<RunDirectory> {
        Some(RunDirectory::new(options.directory.as_ref()?).limit(limit).seed(seed))
    }

    fn point(
        &self,
        limit: f64,
        seed: u64,
        start: Option<&Start>,
        work: &Work<'_>,
    ) -> Result<Point> {
        let place = self.place(work.options, limit, seed);
        Ok(self.run(limit, seed, place, start, work)?.0)
    }

    /// Trains one limit with one seed, unless that is done already.
    fn run(
        &self,
        limit: f64,
        seed: u64,
        place: Option<RunDirectory>,
        start: Option<&Start>,
        work: &Work<'_>,
    ) -> Result<(Point, Start)> {
        let interrupted = || Error::unfit("sweep", "it was interrupted");
        if work.options.interrupt.is_raised() {
            return Err(interrupted());
        }
        let plan = self.plan(limit)?;
        for directory in place.iter().flat_map(|run| run.path().ancestors().take(2)) {
            no_link(directory)?;
        }
        let storage: Box<dyn Storage> = match &place {
            Some(run) if run.has(SUMMARY) => Box::new(Directory::open(run.path())?),
            Some(run) => Box::new(Directory::replace(run.path(), is_ours)?),
            None => Box::new(Memory::new()),
        };
        let storage = storage.as_ref();
        let summary: Summary = match read(storage, SUMMARY)? {
            Some(bytes) => parse::summary(&format!("{}/{SUMMARY}", storage.location()), &bytes)?,
            None => {
                let plan = plan.as_ref().clone().with_seed(seed).with_threads(work.threads);
                let plan = plan.without_baseline();
                let interrupt = &work.options.interrupt;
                let fitted = fit_from(&plan, start, storage, interrupt, work.observer)?;
                fitted.summary.ok_or_else(interrupted)?
            }
        };
        let start = Start::of(storage, plan.train(), &format!("the solution at {limit}"))?;
        Ok((Point::of(&summary, limit, &self.swept()), start))
    }
}

/// How trainings are shared out.
struct Work<'a> {
    options: &'a SweepOptions,
    observer: Observer<'a>,
    workers: usize,
    threads: usize,
}

/// Sets the limit of a requirement.
fn setting(requirement: usize, key: Key, limit: f64) -> Override {
    Override::Limit { requirement, key, limit }
}

/// The runs and figures of a sweep, and nothing else; nor what is behind a link.
fn inside(path: &Path) -> Result<Vec<Inner>> {
    let is_directory = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let run = RunDirectory::new(path);
    let start = Some(run.start()).filter(|start| is_directory(start.path()));
    let mut inside = Vec::new();
    for limit in run.numbered::<f64>(&[LIMIT])?.into_iter().chain(start) {
        let seeds = limit.numbered::<u64>(&[SEED])?;
        let seeds = seeds.iter().map(|seed| Inner::run(seed.path())).collect();
        inside.push(Inner::of_runs(limit.path(), seeds));
    }
    let figures = path.join(FIGURES);
    inside.extend(is_directory(&figures).then(|| Inner::of_pictures(&figures)));
    Ok(inside)
}

const SWEEP_README: &str = "\
A sweep of feasible: one problem over limits of one requirement.

problem.toml   the problem
sweep.json     what was swept, and the results
sweep.csv      the same as a table: one line for each limit, seed and part of the data
report.html    the same on one page
figures/       its figures
limit-L/       the runs of limit L, one directory for each seed; where one started from the solution
               of another limit, run.json says so, and training its problem.toml alone may end
               elsewhere
start/         the runs that all limits started from, where they did
";

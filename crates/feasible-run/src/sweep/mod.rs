//! A sweep: the same problem over levels of one requirement, to see what a stricter level costs.
//!
//! What is compared must differ in the level and in nothing else. Where a level starts is therefore
//! part of the design ([`Starts`]):
//!
//! | start | of | because |
//! | --- | --- | --- |
//! | in a chain, from the next looser level's solution | the exact learner | it ends in a minimum wherever it starts, and is there sooner |
//! | afresh | first-order learners | all levels have had the same epochs, batches and initial θ |
//! | all from the loosest level's solution | first-order learners, if asked for | all have had the same epochs, and start feasible for the loosest |
//!
//! A chain of first-order trainings would compare levels with different numbers of epochs: on Adult
//! the objective at the strict end falls by a fifth from that alone. Runs that do not depend on each
//! other are trained at the same time; results depend on neither threads nor interruptions.
//!
//! ```
//! use feasible_problem::Source;
//! use feasible_run::{SweepOptions, sweep};
//! let quick = ["training.epochs=2".to_string()];
//! let source = Source::open("compas")?.with_overrides(&quick);
//! let options = SweepOptions { levels: vec![1e-4, 1e-2], ..SweepOptions::new("invariance") };
//! let frontier = sweep(&source, &options, &|_| {})?;
//! assert_eq!((frontier.points.len(), frontier.at(1e-2).count()), (2, 1));
//! # Ok::<(), feasible_run::Error>(())
//! ```
//!
//! Every level and seed is a run of its own, `level-0.01/seed-1`, which can be reported on and whose
//! model can be used. A run that is finished is not trained again, so a sweep that was stopped goes
//! on from there.

mod frontier;
mod levels;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use feasible_problem::clause::Clause;
use feasible_problem::data::{TableHash, sha256};
use feasible_problem::plan::Plan;
pub use feasible_problem::spec::LimitKey as Key;
use feasible_problem::spec::{LearnerName, Override, Source};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::files::{FIGURES, PROBLEM, README, SUMMARY, is_ours, json};
use crate::fit::{Observer, fit_from};
use crate::interrupt::Interrupt;
use crate::parse;
use crate::seeds::{at_once, seed_directory};
use crate::start::Start;
use crate::storage::{Directory, Memory, Storage, failed, no_link, read, read_from};
use crate::summary::Summary;

pub use frontier::{Achieved, Frontier, Point};
pub use levels::levels;

/// What is swept, and how it ended.
pub const SWEEP: &str = "sweep.json";
/// The same as a table.
pub const SWEEP_CSV: &str = "sweep.csv";

/// How to sweep.
#[derive(Clone, Debug)]
pub struct SweepOptions {
    /// The requirement whose level moves, by the name it has in the problem file.
    pub requirement: String,
    /// The levels, in any order.
    pub levels: Vec<f64>,
    /// The seeds; the problem's own if there are none.
    pub seeds: Vec<u64>,
    /// Where levels start; by default a chain for the exact learner, afresh for others.
    pub start: Option<Warmth>,
    /// Cores to use: runs are trained at the same time, and share what is left.
    pub threads: usize,
    /// Where to leave it; `None` leaves nothing behind.
    pub directory: Option<PathBuf>,
    /// Replace a sweep of other settings.
    pub force: bool,
    /// Stops it.
    pub interrupt: Interrupt,
}

impl SweepOptions {
    /// Of a requirement, with no levels yet.
    pub fn new(requirement: &str) -> Self {
        Self {
            requirement: requirement.to_string(),
            levels: Vec::new(),
            seeds: Vec::new(),
            start: None,
            threads: 1,
            directory: None,
            force: false,
            interrupt: Interrupt::new(),
        }
    }
}

/// Whether to start from solutions of other levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmth {
    /// From another level's solution.
    Warm,
    /// From the model's own start.
    Afresh,
}

/// Where each level starts. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Starts {
    /// From the solution of the next looser level.
    Chain,
    /// From the solution of the loosest level.
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

/// `sweep.json` while a sweep is under way: what must be the same for it to go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Design {
    /// SHA-256 of the problem with the level left out.
    problem: String,
    tables: Vec<TableHash>,
    requirement: String,
    levels: Vec<f64>,
    starts: Starts,
}

/// `sweep.json`.
#[derive(Serialize, Deserialize)]
struct Saved {
    feasible: String,
    design: Design,
    /// `None` while it is under way.
    frontier: Option<Frontier>,
}

/// Solves a problem at every level.
///
/// # Errors
/// A requirement that does not exist, no levels, a directory that holds something else, an
/// interruption.
pub fn sweep(source: &Source, options: &SweepOptions, observer: Observer<'_>) -> Result<Frontier> {
    let sweep = Sweep::check(source, options)?;
    let mut levels = sweep.design.levels.clone();
    let top = match &options.directory {
        Some(path) => Some(sweep.open(path, options.force)?),
        None => None,
    };
    // The loosest first.
    if sweep.key != Key::AtLeast {
        levels.reverse();
    }
    let mut points: Vec<Point> = sweep.solve(&levels, options, observer)?;
    points.sort_by(|a, b| a.level.total_cmp(&b.level).then(a.seed.cmp(&b.seed)));
    let frontier = Frontier {
        problem: sweep.name.clone(),
        requirement: options.requirement.clone(),
        key: sweep.key,
        kind: sweep.kind,
        starts: sweep.design.starts,
        seeds: sweep.seeds.clone(),
        levels: sweep.design.levels.clone(),
        points,
    };
    if let Some(top) = &top {
        let saved = sweep.saved(Some(frontier.clone()));
        let write =
            |name: &str, bytes: &[u8]| top.write(name, bytes).map_err(failed("write", top, name));
        write(SWEEP_CSV, &frontier.to_csv())?;
        write(SWEEP, &json(&saved))?;
    }
    Ok(frontier)
}

/// A checked sweep.
struct Sweep<'a> {
    source: &'a Source,
    name: String,
    /// The number of the `[[requirement]]`.
    at: usize,
    key: Key,
    kind: feasible_problem::spec::Kind,
    seeds: Vec<u64>,
    design: Design,
    /// The problem, as it stands in the file.
    toml: String,
    /// A plan of one of the levels: all others share its data.
    first: Plan,
    /// Plans that are in use, one for each level: seeds at the same level share one.
    plans: Mutex<Vec<(f64, Weak<Plan>)>>,
}

impl<'a> Sweep<'a> {
    fn check(source: &'a Source, options: &SweepOptions) -> Result<Self> {
        let spec = source.parse(&[])?;
        let name = &options.requirement;
        let names = || spec.requirements.iter().map(|r| r.name.as_str());
        let Some(at) = names().position(|known| known == name) else {
            let hint = match feasible_data::nearest(name, names()) {
                _ if spec.requirements.is_empty() => "the problem has none".to_string(),
                Some(nearest) => format!("did you mean '{nearest}'?"),
                None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
            };
            let reason = format!("no requirement is named '{name}': {hint}");
            return Err(Error::unfit("--requirement", reason));
        };
        let Some(key) = Key::of(&spec.requirements[at]) else {
            let reason = format!("'{name}' has no level: give at_most, at_least or within");
            return Err(Error::unfit("--requirement", reason));
        };
        let mut levels = options.levels.clone();
        levels.sort_unstable_by(f64::total_cmp);
        levels.dedup();
        let (Some(&strictest), Some(&loosest)) = (levels.first(), levels.last()) else {
            return Err(Error::unfit("--levels", "there is none"));
        };
        // Every level is checked before any is trained; the strictest first, to fail early.
        for &level in &levels {
            let checked = source.clone().with(&[setting(at, key, level)]);
            checked.parse(&[])?;
        }
        let planned = |level: f64, known: Option<&Plan>| {
            let source = source.clone().with(&[setting(at, key, level)]);
            let plan = match known {
                Some(known) => known.variant(&source),
                None => Plan::check(&source),
            };
            plan.map_err(|error| match error {
                feasible_problem::Error::Problem { place, message }
                    if place.key == format!("requirement[{at}].{}", key.name()) =>
                {
                    Error::unfit("--levels", message)
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
            levels,
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

    fn saved(&self, frontier: Option<Frontier>) -> Saved {
        let feasible = env!("CARGO_PKG_VERSION").to_string();
        Saved { feasible, design: self.design.clone(), frontier }
    }

    /// The directory: new, or that of the same sweep, which then goes on.
    fn open(&self, path: &Path, force: bool) -> Result<Directory> {
        let known = read_from(path, SWEEP)?;
        let same = known.as_ref().is_some_and(|bytes| {
            let saved: Result<Saved, _> = serde_json::from_slice(bytes);
            saved.is_ok_and(|saved| saved.design == self.design)
        });
        let complete = |top: Directory| -> Result<Directory> {
            // The design first: from then on the same sweep goes on here, whenever it was stopped.
            let first: [(&str, &dyn Fn() -> Vec<u8>); 3] = [
                (SWEEP, &|| json(&self.saved(None))),
                (README, &|| SWEEP_README.into()),
                (PROBLEM, &|| self.toml.clone().into_bytes()),
            ];
            for (name, bytes) in first {
                if read(&top, name)?.is_none() {
                    top.write(name, &bytes()).map_err(failed("write", &top, name))?;
                }
            }
            Ok(top)
        };
        if same {
            return complete(Directory::open(path)?);
        }
        if known.is_some() && !force {
            let reason = "it holds a sweep of other settings: give another directory, or --force \
                          to replace it";
            return Err(Error::unfit(path.display().to_string(), reason));
        }
        let ours = |name: &str| is_ours(name) || [SWEEP, SWEEP_CSV].contains(&name);
        let top = match force {
            true if known.is_some() => Directory::replace_with(path, ours, remove_runs)?,
            true => Directory::replace(path, ours)?,
            false => Directory::create(path)?,
        };
        complete(top)
    }

    /// The plan of a level.
    fn plan(&self, level: f64) -> Result<Arc<Plan>> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.retain(|(_, plan)| plan.strong_count() > 0);
        let known = plans.iter().find(|(of, _)| *of == level).and_then(|(_, plan)| plan.upgrade());
        if let Some(plan) = known {
            return Ok(plan);
        }
        let source = self.source.clone().with(&[setting(self.at, self.key, level)]);
        let plan = Arc::new(self.first.variant(&source)?.called(&self.name));
        plans.push((level, Arc::downgrade(&plan)));
        Ok(plan)
    }

    /// Every level, the loosest first, with every seed.
    fn solve(
        &self,
        levels: &[f64],
        options: &SweepOptions,
        observer: Observer<'_>,
    ) -> Result<Vec<Point>> {
        let pairs: Vec<(usize, f64)> =
            levels.iter().flat_map(|&l| (0..self.seeds.len()).map(move |s| (s, l))).collect();
        let (threads, seeds) = (options.threads.max(1), self.seeds.len());
        // Cores that trainings at the same time leave over go to each of them.
        let work = |jobs: usize| Work {
            options,
            observer,
            workers: self.first.at_once(threads.min(jobs)),
            threads: (threads / threads.min(jobs)).max(1),
        };
        match self.design.starts {
            Starts::Afresh => {
                let work = work(pairs.len());
                let job =
                    |(at, level): (usize, f64)| self.point(level, self.seeds[at], None, &work);
                at_once(&pairs, work.workers, job)
            }
            Starts::Loosest => {
                let loosest = levels.first().copied().unwrap_or_default();
                let first = work(seeds);
                let start = |seed: u64| {
                    let place = options.directory.as_ref();
                    let place = place.map(|top| top.join(START).join(seed_directory(seed)));
                    self.run(loosest, seed, place, None, &first).map(|(_, start)| start)
                };
                let starts = at_once(&self.seeds, first.workers, start)?;
                let work = work(pairs.len());
                let job = |(at, level): (usize, f64)| {
                    self.point(level, self.seeds[at], Some(&starts[at]), &work)
                };
                at_once(&pairs, work.workers, job)
            }
            Starts::Chain => {
                let work = work(seeds);
                let chain = |seed: u64| {
                    let (mut points, mut before): (Vec<Point>, Option<Start>) = (Vec::new(), None);
                    for &level in levels {
                        let place = self.place(options, level, seed);
                        let (point, start) =
                            self.run(level, seed, place, before.as_ref(), &work)?;
                        points.push(point);
                        before = Some(start);
                    }
                    Ok(points)
                };
                Ok(at_once(&self.seeds, work.workers, chain)?.into_iter().flatten().collect())
            }
        }
    }

    fn place(&self, options: &SweepOptions, level: f64, seed: u64) -> Option<PathBuf> {
        let top = options.directory.as_ref()?;
        Some(top.join(level_directory(level)).join(seed_directory(seed)))
    }

    fn point(
        &self,
        level: f64,
        seed: u64,
        start: Option<&Start>,
        work: &Work<'_>,
    ) -> Result<Point> {
        let place = self.place(work.options, level, seed);
        Ok(self.run(level, seed, place, start, work)?.0)
    }

    /// Trains one level with one seed, unless that is done already.
    fn run(
        &self,
        level: f64,
        seed: u64,
        place: Option<PathBuf>,
        start: Option<&Start>,
        work: &Work<'_>,
    ) -> Result<(Point, Start)> {
        let interrupted = || Error::unfit("sweep", "it was interrupted");
        if work.options.interrupt.is_raised() {
            return Err(interrupted());
        }
        let plan = self.plan(level)?;
        for directory in place.iter().flat_map(|path| path.ancestors().take(2)) {
            no_link(directory)?;
        }
        let storage: Box<dyn Storage> = match &place {
            Some(path) if path.join(SUMMARY).is_file() => Box::new(Directory::open(path)?),
            Some(path) => Box::new(Directory::replace(path, is_ours)?),
            None => Box::new(Memory::new()),
        };
        let storage = storage.as_ref();
        let summary: Summary = match read(storage, SUMMARY)? {
            Some(bytes) => parse::summary(&format!("{}/{SUMMARY}", storage.location()), &bytes)?,
            None => {
                let plan = plan.as_ref().clone().with_seed(seed).with_threads(work.threads);
                let interrupt = &work.options.interrupt;
                let fitted = fit_from(&plan, start, storage, interrupt, work.observer)?;
                fitted.summary.ok_or_else(interrupted)?
            }
        };
        let of = |(at, clause): (usize, &Clause)| (clause.from == self.at).then_some(at);
        let swept: Vec<usize> = plan.clauses().iter().enumerate().filter_map(of).collect();
        let start = Start::of(storage, plan.train(), &format!("the solution at {level}"))?;
        Ok((Point::of(&summary, level, &swept), start))
    }
}

/// How trainings are shared out.
struct Work<'a> {
    options: &'a SweepOptions,
    observer: Observer<'a>,
    workers: usize,
    threads: usize,
}

/// The runs that all levels start from, where they do.
const START: &str = "start";

/// Sets the level of a requirement.
fn setting(requirement: usize, key: Key, limit: f64) -> Override {
    Override::Limit { requirement, key, limit }
}

/// The subdirectory of a level.
pub fn level_directory(level: f64) -> String {
    // Short even where a level is tiny: 1e-300, not three hundred digits.
    format!("level-{level:?}")
}

/// Removes the runs and figures of a sweep, and nothing else; nor what is behind a link.
fn remove_runs(path: &Path) -> Result<()> {
    let is_directory =
        |path: &Path| path.symlink_metadata().is_ok_and(|found| found.file_type().is_dir());
    let entries = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
    let removed = |path: &Path| {
        std::fs::remove_dir_all(path).map_err(|source| Error::Storage {
            operation: "remove",
            path: path.display().to_string(),
            source,
        })
    };
    let numbered = |path: &Path, prefix: &str| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.strip_prefix(prefix).is_some_and(|n| n.parse::<f64>().is_ok()) && is_directory(path)
    };
    let ours =
        |path: &PathBuf| numbered(path, "level-") || path.ends_with(START) && is_directory(path);
    for level in entries(path).map(|e| e.path()).filter(ours) {
        for seed in entries(&level).map(|e| e.path()).filter(|p| numbered(p, "seed-")) {
            drop(Directory::replace(&seed, is_ours)?);
            removed(&seed)?;
        }
        // Only if nothing else is in it.
        let _ = std::fs::remove_dir(&level);
    }
    let figures = path.join(FIGURES);
    let drawn = |path: &PathBuf| path.extension().is_some_and(|e| e == "svg" || e == "png");
    if !is_directory(&figures) {
        return Ok(());
    }
    for figure in entries(&figures).map(|e| e.path()).filter(drawn) {
        let _ = std::fs::remove_file(figure);
    }
    let _ = std::fs::remove_dir(&figures);
    Ok(())
}

const SWEEP_README: &str = "\
A sweep of feasible: one problem over levels of one requirement.

problem.toml   the problem
sweep.json     what was swept and what came of it
sweep.csv      the same as a table: one line for each level, seed and part of the data
report.html    the same on one page
figures/       its figures
level-L/       the runs of level L, one directory for each seed; where one started from the solution
               of another level, run.json says so, and training its problem.toml alone may end
               elsewhere
start/         the runs that all levels started from, where they did
";

//! A sweep: the same problem over levels of one requirement, to see what a stricter level costs.
//!
//! Levels are solved from the loosest to the strictest, each from the solution of the one before:
//! neighbouring levels have neighbouring solutions, so that differences between them are of the
//! level and not of chance. Seeds are chains of their own and run at the same time; results depend
//! on neither threads nor interruptions.
//!
//! ```
//! use feasible_run::{Source, SweepOptions, sweep};
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

use serde::{Deserialize, Serialize};

use crate::data::{TableHash, sha256};
use crate::error::{Error, Result};
use crate::files::{PROBLEM, README, SUMMARY, is_ours, json};
use crate::fit::{Observer, fit_from};
use crate::interrupt::Interrupt;
use crate::plan::Plan;
use crate::seeds::{at_once, seed_directory};
use crate::spec::{RequirementSpec, Source};
use crate::start::Start;
use crate::storage::{Directory, Memory, Storage, failed, read, read_from};
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
    /// Start every level afresh instead of from the solution of the looser one.
    pub cold: bool,
    /// Cores to use: seeds run at the same time, and share what is left.
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
            cold: false,
            threads: 1,
            directory: None,
            force: false,
            interrupt: Interrupt::new(),
        }
    }
}

/// The key that holds a requirement's level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    /// Looser upwards.
    AtMost,
    /// Looser downwards.
    AtLeast,
    /// Looser upwards.
    Within,
}

impl Key {
    fn of(spec: &RequirementSpec) -> Option<Self> {
        match (spec.at_most, spec.at_least, spec.within) {
            (Some(_), _, _) => Some(Self::AtMost),
            (_, Some(_), _) => Some(Self::AtLeast),
            (_, _, Some(_)) => Some(Self::Within),
            (None, None, None) => None,
        }
    }

    /// As the problem file has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::AtMost => "at_most",
            Self::AtLeast => "at_least",
            Self::Within => "within",
        }
    }

    /// `≤` or `≥`.
    pub fn sign(self) -> &'static str {
        if self == Self::AtLeast { "≥" } else { "≤" }
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
    cold: bool,
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
    let job = |seed: u64| sweep.chain(&levels, seed, options, observer);
    let chains = at_once(&sweep.seeds, sweep.workers, job)?;
    let mut points: Vec<Point> = chains.into_iter().flatten().collect();
    points.sort_by(|a, b| a.level.total_cmp(&b.level).then(a.seed.cmp(&b.seed)));
    let frontier = Frontier {
        problem: sweep.name.clone(),
        requirement: options.requirement.clone(),
        key: sweep.key,
        kind: sweep.kind,
        warm: !options.cold,
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
    kind: crate::spec::Kind,
    seeds: Vec<u64>,
    workers: usize,
    design: Design,
    /// The problem, as it stands in the file.
    toml: String,
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
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        if levels.is_empty() {
            return Err(Error::unfit("--levels", "there is none"));
        }
        // Every level is checked before any is trained; the strictest first, to fail early.
        let (mut tables, mut seed, mut title) = (Vec::new(), 0, String::new());
        for &level in &levels {
            let checked = source.clone().with_overrides(&[setting(at, key, level)]);
            checked.parse(&[])?;
        }
        for &level in levels.first().into_iter().chain(levels.last().filter(|_| levels.len() > 1)) {
            let plan = Plan::check(&source.clone().with_overrides(&[setting(at, key, level)]))?;
            (tables, seed, title) =
                (plan.data().hashes.clone(), plan.seed(), plan.name().to_string());
        }
        let mut seeds = options.seeds.clone();
        if seeds.is_empty() {
            seeds.push(seed);
        }
        seeds.sort_unstable();
        seeds.dedup();
        let mut bare = spec.clone();
        let requirement = &mut bare.requirements[at];
        (requirement.at_most, requirement.at_least, requirement.within) = (None, None, None);
        (bare.training.seed, bare.training.threads) = (None, None);
        let kind = spec.requirements[at].kind;
        let design = Design {
            problem: sha256(bare.to_toml().as_bytes()),
            tables,
            requirement: name.clone(),
            levels,
            cold: options.cold,
        };
        let workers = options.threads.clamp(1, seeds.len());
        Ok(Self {
            source,
            name: title,
            at,
            key,
            kind,
            seeds,
            workers,
            design,
            toml: spec.to_toml(),
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
        if same {
            return Directory::open(path);
        }
        if known.is_some() && !force {
            let reason = "it holds a sweep of other settings: give another directory, or --force \
                          to replace it";
            return Err(Error::unfit(path.display().to_string(), reason));
        }
        if known.is_some() {
            remove_runs(path)?;
        }
        let top = match force {
            true => Directory::replace(path, |name| {
                is_ours(name) || [SWEEP, SWEEP_CSV].contains(&name)
            })?,
            false => Directory::create(path)?,
        };
        let write =
            |name: &str, bytes: &[u8]| top.write(name, bytes).map_err(failed("write", &top, name));
        write(README, SWEEP_README.as_bytes())?;
        write(PROBLEM, self.toml.as_bytes())?;
        write(SWEEP, &json(&self.saved(None)))?;
        Ok(top)
    }

    /// The plan of a level.
    fn plan(&self, level: f64) -> Result<Arc<Plan>> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.retain(|(_, plan)| plan.strong_count() > 0);
        let known = plans.iter().find(|(of, _)| *of == level).and_then(|(_, plan)| plan.upgrade());
        if let Some(plan) = known {
            return Ok(plan);
        }
        let source = self.source.clone().with_overrides(&[setting(self.at, self.key, level)]);
        let plan = Arc::new(Plan::check(&source)?.called(&self.name));
        plans.push((level, Arc::downgrade(&plan)));
        Ok(plan)
    }

    /// All levels with one seed.
    fn chain(
        &self,
        levels: &[f64],
        seed: u64,
        options: &SweepOptions,
        observer: Observer<'_>,
    ) -> Result<Vec<Point>> {
        let threads = (options.threads / self.workers).max(1);
        let mut points = Vec::new();
        let mut before: Option<Start> = None;
        for &level in levels {
            let plan = self.plan(level)?;
            let place =
                |path: &PathBuf| path.join(level_directory(level)).join(seed_directory(seed));
            let place = options.directory.as_ref().map(place);
            let storage: Box<dyn Storage> = match &place {
                Some(path) if path.join(SUMMARY).is_file() => Box::new(Directory::open(path)?),
                Some(path) => Box::new(Directory::replace(path, is_ours)?),
                None => Box::new(Memory::new()),
            };
            let storage = storage.as_ref();
            let summary: Summary = match read(storage, SUMMARY)? {
                Some(bytes) => serde_json::from_slice(&bytes).map_err(|error| Error::Damaged {
                    path: format!("{}/{SUMMARY}", storage.location()),
                    reason: error.to_string(),
                })?,
                None => {
                    // A thread more or less changes nothing but the time.
                    let plan = plan.as_ref().clone().with_seed(seed).with_threads(threads);
                    let start = before.as_ref().filter(|_| !options.cold);
                    let fitted = fit_from(&plan, start, storage, &options.interrupt, observer)?;
                    fitted.summary.ok_or_else(|| Error::unfit("sweep", "it was interrupted"))?
                }
            };
            let of = |(at, clause): (usize, &crate::clause::Clause)| {
                (clause.from == self.at).then_some(at)
            };
            let swept: Vec<usize> = plan.clauses().iter().enumerate().filter_map(of).collect();
            points.push(Point::of(&summary, level, &swept));
            before = Some(Start::of(storage, plan.train(), &format!("the solution at {level}"))?);
        }
        Ok(points)
    }
}

/// Sets the level of a requirement.
fn setting(at: usize, key: Key, level: f64) -> String {
    format!("requirement.{at}.{}={level:?}", key.name())
}

/// The subdirectory of a level.
pub fn level_directory(level: f64) -> String {
    format!("level-{level}")
}

/// Removes the runs of a sweep, and nothing else.
fn remove_runs(path: &Path) -> Result<()> {
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
        name.strip_prefix(prefix).is_some_and(|n| n.parse::<f64>().is_ok()) && path.is_dir()
    };
    for level in entries(path).map(|e| e.path()).filter(|p| numbered(p, "level-")) {
        for seed in entries(&level).map(|e| e.path()).filter(|p| numbered(p, "seed-")) {
            drop(Directory::replace(&seed, is_ours)?);
            removed(&seed)?;
        }
        // Only if nothing else is in it.
        let _ = std::fs::remove_dir(&level);
    }
    Ok(())
}

const SWEEP_README: &str = "\
A sweep of feasible: one problem over levels of one requirement.

problem.toml   the problem
sweep.json     what was swept and what came of it
sweep.csv      the same as a table: one line for each level, seed and part of the data
report.html    the same on one page
level-L/       the runs of level L, one directory for each seed; each started from the solution of
               the next looser level (run.json says so), so training its problem.toml alone ends
               elsewhere
";

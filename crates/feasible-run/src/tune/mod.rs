//! A search for model and training settings under the requirements, by successive halving (`halving.rs`).
//!
//! Every trial is the training of the problem with other settings; the first has those of the file. Trials are compared by the best
//! iterate on the validation rows, by the rules that a training itself keeps it by ([`feasible::learner::Merit`]): what meets every
//! requirement with room before what does not, then the objective, taken over the epochs around the best one. At last the settings of the file are kept unless another
//! trial is better by two standard errors of the difference, row by row, and by more the more trials there are: the best of many on few rows is luck. Where `fit` averages
//! networks, the difference is that of the averages, each row being judged by the networks that have not seen it. Nothing else of the data is looked at: a trial evaluates no test row and no reserve,
//! so a certificate of the model that is chosen holds as that of any other.
//!
//! ```
//! use feasible_problem::ProblemSource;
//! use feasible_run::{TuneOptions, tune};
//! let quick = ["training.epochs=9".to_string()];
//! let source = ProblemSource::open("compas")?.with_overrides(&quick);
//! let options = TuneOptions { trials: Some(4), ..TuneOptions::default() };
//! let tuned = tune(&source, &options, &|_| {})?;
//! assert_eq!(tuned.search.trials.len(), 4);
//! assert!(tuned.search.trials[0].settings.is_empty());
//! let (_, chosen) = tuned.search.chosen().unwrap();
//! // The settings of the file are a trial, too: what is chosen is no worse on the validation rows.
//! let of = |trial: &feasible_run::tune::TrialRecord| trial.last().and_then(|last| last.merit);
//! assert!(of(chosen) <= of(&tuned.search.trials[0]));
//! # Ok::<(), feasible_run::Error>(())
//! ```
//!
//! Trials are in `trial-0`, `trial-1`, …, each with its checkpoint; a search that was stopped continues from there. The
//! directory itself becomes the run of the trial that was chosen: the same bytes as of a fit with its settings. Several
//! processes may share the trials out (`shared.rs`).

mod halving;
mod record;
mod shared;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use feasible::Outcome;
use feasible_problem::data::{Data, sha256};
use feasible_problem::memory;
use feasible_problem::plan::Plan;
use feasible_problem::space::{Space, Trial, reason, setting};
use feasible_problem::spec::tune::{MOST_TRIALS, TRIALS};
use feasible_problem::spec::{Keep, ProblemSource};
use serde::{Deserialize, Serialize};

use crate::directory::RunDirectory;
use crate::error::{Error, Result};
use crate::files::{METRICS, PROBLEM, README, SUMMARY, TUNE, is_ours, json};
use crate::fit::{Fitted, Observer, fit_on, solve, train_until};
use crate::folds::{Average, UnseenLosses};
use crate::interrupt::Interrupt;
use crate::job_part::in_turn;
use crate::metrics::Event;
use crate::network_choice::settle_network;
use crate::parse;
use crate::resumable::ResumableDirectory;
use crate::seeds::{Fit, at_once, runs_inside};
use crate::storage::{Directory, Memory, Storage, failed, no_link, read};

pub use record::{PairedDifference, RoundResult, Search, SearchDesign, TrialRecord};
pub use shared::SharedSearch;
pub(crate) use shared::join;

/// How to search.
#[derive(Clone, Debug)]
pub struct TuneOptions {
    /// Trials, that of the file included; as the file says, or 27.
    pub trials: Option<u64>,
    /// Cores to use: trials are trained at the same time, and share what is left.
    pub threads: usize,
    /// Where to leave it; `None` leaves nothing behind.
    pub directory: Option<PathBuf>,
    /// Replace a search of other settings.
    pub force: bool,
    /// Stops it.
    pub interrupt: Interrupt,
}

impl Default for TuneOptions {
    fn default() -> Self {
        let interrupt = Interrupt::new();
        Self { trials: None, threads: 1, directory: None, force: false, interrupt }
    }
}

/// A search that ended.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// How every trial did.
    pub search: Search,
    /// The run of the trial that was chosen.
    pub fit: Fit,
}

/// Searches, and trains what is chosen.
///
/// # Errors
/// A problem without validation rows, settings that cannot be tried, a directory that holds something else, an interruption.
pub fn tune(
    source: &ProblemSource,
    options: &TuneOptions,
    observer: Observer<'_>,
) -> Result<Tuned> {
    Tuning::check(source, options.trials)?.run(options, observer)
}

/// A checked search: every trial can be trained.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Where the plans of trials come from.
    from: Origin,
    /// The plan of the file, whose data all trials share.
    first: Plan,
    /// As it begins.
    search: Search,
    /// What a training of each trial takes, in bytes.
    memory: Vec<u64>,
}

/// Where the plans of trials come from.
#[derive(Clone, Debug)]
enum Origin {
    /// A problem file, with the settings of each trial on top.
    File(ProblemSource),
    /// The trials in a directory, which were begun.
    Trials(RunDirectory),
}

/// A problem file and its plan, with the network that `fit` would choose: all trials have it that do not say another.
fn settled(source: &ProblemSource) -> Result<(ProblemSource, Plan)> {
    let planned = Plan::check(source)?;
    if !planned.leaves_network_open() {
        return Ok((source.clone(), planned));
    }
    let plan = settle_network(&planned, &Interrupt::new())?.unwrap_or(planned.clone());
    let written =
        |key: &str, value: Result<toml::Value, _>| value.map(|value| format!("{key}={value}")).ok();
    let activation = planned
        .leaves_activation_open()
        .then(|| written("model.activation", toml::Value::try_from(plan.model().activation())));
    let encoding = planned
        .leaves_encoding_open()
        .then(|| written("data.piecewise", toml::Value::try_from(&plan.spec().data.piecewise)));
    let set: Vec<String> = activation.into_iter().chain(encoding).flatten().collect();
    let source = source.clone().with_overrides(&set);
    let plan = plan.variant(&source)?;
    Ok((source, plan))
}

impl Tuning {
    /// Draws the trials and holds each against the data.
    ///
    /// # Errors
    /// As [`tune`].
    pub fn check(source: &ProblemSource, trials: Option<u64>) -> Result<Self> {
        let (source, planned) = &settled(source)?;
        let given = match &planned.spec().tune {
            Some(tune) => Some(Space::check(source, tune)?),
            None => None,
        };
        let wanted = trials.or(given.as_ref().map(|(trials, _)| *trials)).unwrap_or(TRIALS);
        if !(1..=MOST_TRIALS).contains(&wanted) {
            let reason = format!("a search has 1 to {MOST_TRIALS} trials, not {wanted}");
            return Err(Error::unfit("--trials", reason));
        }
        // A search is complete with its summary: a baseline after it would not be continued.
        let first = planned.clone().without_search().without_baseline();
        can_be_tuned(source, &first)?;
        let space = given.map(|(_, space)| space).filter(|space| !space.is_empty());
        let space = space.unwrap_or_else(|| Space::usual(&first));
        let (data, seed) = (first.data(), first.seed());
        let mut bare = first.spec().clone();
        bare.training.threads = None;
        let mut tuning = Self {
            from: Origin::File(source.clone()),
            search: Search {
                feasible: env!("CARGO_PKG_VERSION").into(),
                problem: first.name().into(),
                design: SearchDesign {
                    problem: sha256(bare.to_toml().as_bytes()),
                    tables: data.hashes.clone(),
                    seed,
                    validation_rows: data.split.validation.len(),
                    space: space.clone(),
                    rounds: Vec::new(),
                },
                trials: Vec::new(),
                chosen: None,
            },
            memory: Vec::new(),
            first,
        };
        let mut specs = vec![tuning.first.spec().clone()];
        tuning.add(Trial::new(), &tuning.first.clone());
        for settings in space.candidates(seed, wanted - 1) {
            if tuning.search.trials.len() as u64 >= wanted {
                break;
            }
            let plan = tuning.drawn(source, &settings)?;
            if !specs.contains(plan.spec()) {
                specs.push(plan.spec().clone());
                tuning.add(settings, &plan);
            }
        }
        tuning.search.design.rounds = halving::shares(tuning.search.trials.len());
        Ok(tuning)
    }

    fn add(&mut self, settings: Trial, plan: &Plan) {
        let (epochs, parameters) = (plan.settings().training.epochs, plan.parameters());
        let (rounds, dropped_after) = (Vec::new(), None);
        self.memory.push(plan.estimate().each);
        self.search.trials.push(TrialRecord {
            settings,
            epochs,
            parameters,
            rounds,
            dropped_after,
        });
    }

    /// The plan of a trial.
    fn plan(&self, n: usize) -> Result<Plan> {
        match &self.from {
            Origin::File(source) => self.drawn(source, &self.search.trials[n].settings),
            Origin::Trials(run) => {
                let plan = self.first.variant(&run.trial(n).problem()?)?;
                Ok(plan.called(self.first.name()))
            }
        }
    }

    /// The plan of a problem file with the settings of a trial.
    fn drawn(&self, source: &ProblemSource, settings: &Trial) -> Result<Plan> {
        let set: Vec<String> = settings.iter().map(|(key, value)| setting(key, value)).collect();
        if set.is_empty() {
            return Ok(self.first.clone());
        }
        let wrong = |reason: String| -> Error {
            let shown = set.join(", ");
            source.at("tune", format!("with {shown}: {reason}")).into()
        };
        let plan = self
            .first
            .variant(&source.clone().with_overrides(&set))
            .map_err(|error| wrong(reason(error)))?;
        if plan.settings().training.keep != Keep::Best {
            return Err(wrong("no iterate is chosen on validation rows".into()));
        }
        if !Arc::ptr_eq(&plan.shared_data(), &self.first.shared_data()) {
            return Err(wrong("other rows would be trained and validated on".into()));
        }
        Ok(plan.without_search().without_baseline().called(self.first.name()))
    }

    /// The plan of the problem file.
    pub fn plan_of_file(&self) -> &Plan {
        &self.first
    }

    /// How many trials there are.
    pub fn trials(&self) -> usize {
        self.search.trials.len()
    }

    /// How many trainings, or parts of them, a search consists of at most.
    pub fn trainings(&self) -> usize {
        halving::sizes(self.trials()).iter().sum::<usize>() + 1
    }

    /// The data, for a report; see [`Plan::into_training_data`].
    pub fn into_training_data(self) -> Arc<Data> {
        self.first.into_training_data()
    }

    /// Searches, and trains what is chosen.
    ///
    /// # Errors
    /// A directory that holds something else, files that cannot be written, an interruption.
    pub fn run(&self, options: &TuneOptions, observer: Observer<'_>) -> Result<Tuned> {
        let (top, place): (Box<dyn Storage>, Place) = match &options.directory {
            Some(path) => {
                let top = self.open(path, options.force)?;
                (Box::new(top), Place::Directory(RunDirectory::new(path)))
            }
            None => {
                let trials = (0..self.trials()).map(|_| Memory::new()).collect();
                (Box::new(Memory::new()), Place::Memory(trials))
            }
        };
        let mut search = self.known(options)?;
        while let Some(share) = search.share() {
            let trained = self.train(&search.alive(), share, &place, options, observer)?;
            self.note(&mut search, trained, &*top)?;
        }
        self.conclude(search, &*top, &place, options, observer)
    }

    /// The search as its directory has it, or as it begins.
    fn known(&self, options: &TuneOptions) -> Result<Search> {
        let saved = match &options.directory {
            Some(path) => RunDirectory::new(path).search()?,
            None => None,
        };
        Ok(saved.unwrap_or_else(|| self.search.clone()))
    }

    /// Trains some trials up to a share of their epochs.
    fn train(
        &self,
        trials: &[usize],
        share: f64,
        place: &Place,
        options: &TuneOptions,
        observer: Observer<'_>,
    ) -> Result<Vec<Trained>> {
        let job = |n: usize| self.round(n, share, place, options, observer, trials.len());
        at_once(trials, self.share_out(options.threads, trials).0, job)
    }

    /// Compares the trials of a round, and writes how they did.
    fn note(&self, search: &mut Search, trained: Vec<Trained>, top: &dyn Storage) -> Result<()> {
        search.note(compared(trained));
        top.write(TUNE, &json(&search)).map_err(failed("write", top, TUNE))
    }

    /// The run of the trial that was chosen.
    fn conclude(
        &self,
        search: Search,
        top: &dyn Storage,
        place: &Place,
        options: &TuneOptions,
        observer: Observer<'_>,
    ) -> Result<Tuned> {
        let lost = || Error::unfit("tune", "no trial was chosen");
        let chosen = search.chosen.ok_or_else(lost)?;
        let fit = Fit::of(self.fit(chosen, top, place, options, observer)?);
        Ok(Tuned { search, fit })
    }

    /// How many of these trials are trained at once, and threads of each.
    fn share_out(&self, threads: usize, trials: &[usize]) -> (usize, usize) {
        let wanted = threads.clamp(1, trials.len().max(1));
        let each = trials.iter().map(|&n| self.memory[n]).max().unwrap_or(0);
        let workers = memory::at_once(self.first.estimate().shared, each, wanted);
        (workers, (threads / workers).max(1))
    }

    /// Trains a trial up to a share of its epochs.
    fn round(
        &self,
        n: usize,
        share: f64,
        place: &Place,
        options: &TuneOptions,
        observer: Observer<'_>,
        together: usize,
    ) -> Result<Trained> {
        if options.interrupt.is_raised() {
            return Err(interrupted());
        }
        let trial = &self.search.trials[n];
        let threads = self.share_out(options.threads, &vec![n; together]).1;
        let plan = self.plan(n)?.computed_on(threads);
        let until = halving::until(trial.epochs, share);
        let numbered = |event: &Event| observer(&event.clone().of_trial(n as u64));
        place.trial(n, |storage| {
            let state = train_until(&plan, until, storage, &options.interrupt, &numbered)?;
            let state = state.ok_or_else(interrupted)?;
            if state.epoch > until {
                return Err(Error::Damaged {
                    path: format!("{}/{}", storage.location(), crate::files::CHECKPOINT),
                    reason: format!(
                        "it is at epoch {} of {until} of this round: search again with --force",
                        state.epoch
                    ),
                });
            }
            let lines = read(storage, METRICS)?.unwrap_or_default();
            let metrics = parse::lines(&lines).map_err(|(line, reason)| Error::Damaged {
                path: format!("{}/{METRICS}, line {line},", storage.location()),
                reason,
            })?;
            let mut result = RoundResult::of(&state, trial.epochs, &metrics);
            let unseen = match &state.best {
                Some(best) if share >= 1.0 => {
                    let alone = || UnseenLosses::of(&plan, plan.model(), &best.theta);
                    match plan.folds() > 1 && !result.diverged() {
                        true => averaged(&plan, &options.interrupt)?,
                        false => alone().unwrap_or_default(),
                    }
                }
                _ => UnseenLosses::default(),
            };
            if plan.folds() > 1 {
                // What the average is judged by, not its first network alone.
                result.objective = unseen.mean().or(result.objective);
            }
            observer(&Event::Ended { seed: n as u64, ended: result.to_text() });
            Ok(Trained { trial: n, result, unseen })
        })
    }

    /// Makes the run of the trial that was chosen, unless that is done already.
    fn fit(
        &self,
        chosen: usize,
        top: &dyn Storage,
        place: &Place,
        options: &TuneOptions,
        observer: Observer<'_>,
    ) -> Result<Fitted> {
        if let Some(bytes) = read(top, SUMMARY)? {
            let path = format!("{}/{SUMMARY}", top.location());
            let summary = parse::summary(&path, &bytes)?;
            let (seed, outcome, epochs) = (summary.seed, summary.outcome.clone(), summary.epochs);
            return Ok(Fitted { seed, outcome, epochs, summary: Some(summary) });
        }
        let plan = self.plan(chosen)?.computed_on(options.threads);
        let numbered = |event: &Event| observer(&event.clone().of_trial(chosen as u64));
        let run = place
            .trial(chosen, |trained| fit_on(&plan, trained, top, &options.interrupt, &numbered))?;
        if run.outcome == Outcome::Interrupted { Err(interrupted()) } else { Ok(run) }
    }

    /// The directory: new, or that of the same search, which is then continued.
    fn open(&self, path: &Path, force: bool) -> Result<Directory> {
        let same = |bytes: &[u8]| serde_json::from_slice(bytes).is_ok_and(|of| self.is_same(&of));
        let directory = ResumableDirectory {
            what: "a search",
            file: TUNE,
            is_same: &same,
            ours: &is_ours,
            inside: runs_inside,
            first: &[(TUNE, &|| json(&self.search)), (README, &|| TUNE_README.into())],
        };
        directory.open(path, force)
    }

    /// Whether another search is the same, however far it has got.
    fn is_same(&self, other: &Search) -> bool {
        let settings = |search: &Search| -> Vec<Trial> {
            search.trials.iter().map(|trial| trial.settings.clone()).collect()
        };
        other.design == self.search.design && settings(other) == settings(&self.search)
    }
}

/// A trial after a round.
#[derive(Serialize, Deserialize)]
struct Trained {
    trial: usize,
    result: RoundResult,
    /// The losses of the model that `fit` would make of it, on rows that it has not seen, after the last round.
    unseen: UnseenLosses,
}

/// The results of a round, with differences from the settings of the file after the last one.
fn compared(trained: Vec<Trained>) -> Vec<(usize, RoundResult)> {
    let file = trained.iter().find(|of| of.trial == 0).map(|of| of.unseen.losses.clone());
    let file = file.unwrap_or_default();
    let of = |Trained { trial, mut result, unseen }: Trained| {
        let UnseenLosses { losses, weights } = unseen;
        if trial > 0 && !losses.is_empty() && losses.len() == file.len() {
            result.difference = PairedDifference::of(&losses, &file, weights.as_deref());
        }
        (trial, result)
    };
    trained.into_iter().map(of).collect()
}

/// The losses of the average that `fit` would make of a plan, every row being judged by the models that have not seen it.
fn averaged(plan: &Plan, interrupt: &Interrupt) -> Result<UnseenLosses> {
    let Some(first) = solve(plan, interrupt)? else { return Err(interrupted()) };
    match Average::of(plan, &first, interrupt) {
        Ok(Some(average)) => Ok(average.unseen),
        Ok(None) => Err(interrupted()),
        // Diverged on another fold.
        Err(_) => Ok(UnseenLosses::default()),
    }
}

fn interrupted() -> Error {
    Error::unfit("tune", "it was interrupted")
}

/// Whether a problem can be searched: an iterate is chosen on validation rows, and by nothing else.
fn can_be_tuned(source: &ProblemSource, plan: &Plan) -> Result<()> {
    let wrong = |key: &str, message: &str| Err(source.at(key, message).into());
    let training = &plan.settings().training;
    if plan.validation().is_none() {
        let message = "a search chooses on validation rows, but there are none: set, for example, split = { train = 0.6, validation = 0.2, test = 0.2 }";
        return wrong("data.split", message);
    }
    if training.keep != Keep::Best {
        let message = "a search chooses by the best iterate on validation rows, but the last one is kept: set \
                       keep = \"best\"";
        return wrong("training.keep", message);
    }
    if training.seconds.is_some() {
        let message = "the choice of a search must not depend on the clock: remove it, or give fewer --trials";
        return wrong("training.seconds", message);
    }
    if plan.spec().certify.as_ref().is_some_and(|certify| certify.ladder.is_some()) {
        let message = "a search trains one model: leave it out, and give it to `feasible fit` with the \
                       problem file that is chosen";
        return wrong("certify.ladder", message);
    }
    Ok(())
}

/// Where trials are kept: in the directory of the search, or in memory.
enum Place {
    Directory(RunDirectory),
    Memory(Vec<Memory>),
}

impl Place {
    /// What is done with the files of a trial.
    fn trial<T>(&self, n: usize, job: impl FnOnce(&dyn Storage) -> Result<T>) -> Result<T> {
        match self {
            Self::Memory(trials) => job(&trials[n]),
            Self::Directory(run) => {
                let inner = run.trial(n);
                no_link(inner.path())?;
                // Other jobs may look at it for a moment.
                let storage = in_turn(|| match inner.has(PROBLEM) {
                    true => Directory::open(inner.path()),
                    false => Directory::replace(inner.path(), is_ours),
                })?;
                job(&storage)
            }
        }
    }
}

const TUNE_README: &str = "\
A search of feasible for model and training settings, and the run of those that were chosen.

tune.json      what was searched, how every trial did on the validation rows, and which one was chosen; it is
               complete before a test row is looked at
trial-N/       the training of trial N as far as it got: problem, metrics, checkpoint. Trial 0 has the settings
               of the problem file. They may be deleted once the search is complete

All other files are those of a run with the settings that were chosen: `feasible fit problem.toml` repeats it.

problem.toml        the problem with the chosen settings, every default filled in
run.json            seed, versions, and the SHA-256 of every table that was read
rows.json           which rows were trained, validated and tested on
fingerprints.bin    hashes of the rows that were trained and validated on; keep it as private as the data
metrics.jsonl       one line per epoch; timings.jsonl has the clock times
checkpoint.bin      the state to resume from
model.safetensors   the trained model with its preprocessing and requirements: the one file to hand over
multipliers.csv     the final multipliers
summary.json        how training ended, accuracy, requirements and flip rates on every part
report.html         the run on one page, with the search; model-card.md the same in short
";

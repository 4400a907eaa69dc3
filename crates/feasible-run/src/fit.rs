//! One training: from a plan to a run directory, resumable at any moment.
//!
//! ```
//! use feasible_problem::{Plan, ProblemSource};
//! use feasible_run::{Interrupt, Memory, fit_in};
//! let overrides = ["training.epochs=2".to_string(), "requirement.gender.all_but=1e-3".into()];
//! let plan = Plan::check(&ProblemSource::open("adult")?.with_overrides(&overrides))?;
//! let files = Memory::new();
//! let run = fit_in(&plan, &files, &Interrupt::new(), &|_| {})?;
//! assert_eq!(run.epochs, 2);
//! assert!(run.summary.is_some_and(|s| s.train.accuracy > Some(0.7)));
//! # Ok::<(), feasible_run::Error>(())
//! ```
//!
//! After every epoch a line is added to the metrics; a checkpoint says how many bytes of metrics
//! belong to it, and their SHA-256, and is written after they are on disk. To resume is to check those, cut off the
//! rest and continue, so a run that was killed ends in the same bytes as one left alone.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, ErrorKind};
use std::time::{Duration, Instant};

use feasible::learner::Phase;
use feasible::{Outcome, Solution, State, Training};
use feasible_problem::plan::Plan;
use feasible_problem::spec::ProblemSource;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::attacked::AttackedImages;
use crate::baseline;
use crate::checkpoint::{self, Checkpoint, CheckpointError};
use crate::close_call::close_call;
use crate::error::{Error, Result};
use crate::files::{
    ADVERSARY, CHECKPOINT, FINGERPRINTS, GROUPS, METRICS, MODEL, MULTIPLIERS, PROBLEM, PartRows,
    README, README_TEXT, ROWS, RUN, RunInfo, SUMMARY, TIMINGS, json,
};
use crate::folds::Average;
use crate::interrupt::Interrupt;
use crate::metrics::{EpochMetrics, EpochTiming, Event, json_line};
use crate::multipliers::multipliers_csv;
use crate::network_choice::settle_network;
use crate::parse;
use crate::ranks::{self, AfterEpoch};
use crate::saved_model::SavedModel;
use crate::start::Start;
use crate::storage::{Content, Memory, Storage, failed, read};
use crate::summarise::{certified, evaluate};
use crate::summary::Summary;
use crate::threads;

/// Who is told of progress.
pub type Observer<'a> = &'a (dyn Fn(&Event) + Sync);

/// A training that ended or was interrupted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// The seed.
    pub seed: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Epochs done.
    pub epochs: u64,
    /// The results; `None` if it was interrupted and can be resumed.
    #[serde(serialize_with = "written")]
    pub summary: Option<Summary>,
}

fn written<S: serde::Serializer>(
    of: &Option<Summary>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    of.as_ref().map(Summary::written).serialize(serializer)
}

impl Fitted {
    /// A training that was interrupted before it began.
    pub(crate) fn not_begun(seed: u64) -> Self {
        Self { seed, outcome: Outcome::Interrupted, epochs: 0, summary: None }
    }
}

/// Trains a plan from the start.
///
/// # Errors
/// Files that cannot be written. The last checkpoint, if there is one, is then still good.
pub fn fit_in(
    plan: &Plan,
    storage: &dyn Storage,
    interrupt: &Interrupt,
    observer: Observer<'_>,
) -> Result<Fitted> {
    fit_from(plan, None, storage, interrupt, observer)
}

/// Trains a plan from a solution found elsewhere, if there is one.
///
/// # Errors
/// As [`fit_in`]; a start that does not fit the plan.
pub fn fit_from(
    plan: &Plan,
    start: Option<&Start>,
    storage: &dyn Storage,
    interrupt: &Interrupt,
    observer: Observer<'_>,
) -> Result<Fitted> {
    let info = RunInfo { started_from: start.map(|start| start.of.clone()), ..RunInfo::of(plan) };
    write(storage, README, README_TEXT.as_bytes())?;
    let mut problem = begin_run(plan, &info, storage, &|| Ok(()))?;
    let Some(settled) = settle_network(plan, interrupt)? else {
        return Ok(Fitted::not_begun(plan.seed()));
    };
    if plan.leaves_network_open() {
        problem = begin_run(&settled, &info, storage, &|| Ok(()))?;
    }
    let plan = &settled;
    let from = start.map_or(Beginning::Scratch, Beginning::Solution);
    drive(plan, problem.as_bytes(), from, storage, interrupt, observer)
}

fn write(storage: &dyn Storage, name: &str, bytes: &[u8]) -> Result<()> {
    storage.write(name, bytes).map_err(failed("write", storage, name))
}

/// Writes what a run begins with, `then` what it begins from, and the problem last: a directory with a problem is a run that
/// can be resumed. The problem file.
fn begin_run(
    plan: &Plan,
    info: &RunInfo,
    storage: &dyn Storage,
    then: &dyn Fn() -> Result<()>,
) -> Result<String> {
    let problem = plan.spec().to_toml();
    let data = plan.data();
    write(storage, ROWS, &json(&PartRows::of(&data.split, &data.reserve_rows)))?;
    write(storage, FINGERPRINTS, &plan.fingerprints().to_bytes())?;
    write(storage, RUN, &json(info))?;
    then()?;
    write(storage, PROBLEM, problem.as_bytes())?;
    Ok(problem)
}

/// Trains a plan up to an epoch, or continues to it, and leaves it there, to be continued: nothing is evaluated or
/// certified, so no row is looked at but those that are trained and validated on. `None` if it was interrupted.
pub(crate) fn train_until(
    plan: &Plan,
    epoch: u64,
    storage: &dyn Storage,
    interrupt: &Interrupt,
    observer: Observer<'_>,
) -> Result<Option<State<f32>>> {
    let problem = plan.spec().to_toml();
    if read(storage, PROBLEM)?.is_none() {
        write(storage, PROBLEM, problem.as_bytes())?;
    }
    let from = match saved(storage, problem.as_bytes(), plan)? {
        Some(checkpoint) if is_at(&checkpoint.state, epoch) => {
            let (seed, epoch) = (plan.seed(), checkpoint.state.epoch);
            (observer)(&Event::Started { seed, epoch, epochs: epoch });
            return Ok(Some(checkpoint.state));
        }
        checkpoint => checkpoint.map_or(Beginning::Scratch, Beginning::Checkpoint),
    };
    let mut run = TrainingRun::open(plan, problem.as_bytes(), from, storage, interrupt, observer)?;
    let training = run.advance_to(epoch)?;
    let state = training.whole_state().map(Cow::into_owned);
    Ok(state.filter(|state| is_at(state, epoch)))
}

/// Trains a plan to its end in memory and leaves nothing behind; `None` if it was interrupted.
pub(crate) fn solve(plan: &Plan, interrupt: &Interrupt) -> Result<Option<Solution<f32>>> {
    Ok(solve_with_metrics(plan, interrupt)?.map(|(solution, _)| solution))
}

/// As [`solve`], with the metrics of the epochs.
pub(crate) fn solve_with_metrics(
    plan: &Plan,
    interrupt: &Interrupt,
) -> Result<Option<(Solution<f32>, Vec<EpochMetrics>)>> {
    let (storage, from) = (Memory::new(), Beginning::Scratch);
    let mut run = TrainingRun::open(plan, &[], from, &storage, interrupt, &|_| {})?;
    let training = run.advance_to(u64::MAX)?;
    let ended = !matches!(training.state().outcome, None | Some(Outcome::Interrupted));
    if !ended || interrupt.is_raised() {
        return Ok(None);
    }
    Ok(Some((training.finish(), saved_metrics(&storage)?)))
}

fn saved_metrics(storage: &dyn Storage) -> Result<Vec<EpochMetrics>> {
    Ok(parse::lines(&read(storage, METRICS)?.unwrap_or_default()).unwrap_or_default())
}

/// Whether a training has got as far as this epoch, or has ended before.
pub(crate) fn is_at(state: &State<f32>, epoch: u64) -> bool {
    let ended = !matches!(state.outcome, None | Some(Outcome::Interrupted));
    ended || state.epoch >= epoch
}

/// Makes a run of a training that another storage holds up to its last checkpoint, and ends it as any other.
///
/// # Errors
/// As [`resume_in`].
pub(crate) fn fit_on(
    plan: &Plan,
    trained: &dyn Storage,
    storage: &dyn Storage,
    interrupt: &Interrupt,
    observer: Observer<'_>,
) -> Result<Fitted> {
    if read(storage, PROBLEM)?.is_none() {
        begin_run(plan, &RunInfo::of(plan), storage, &|| {
            for name in [METRICS, TIMINGS, CHECKPOINT] {
                if let Some(bytes) = read(trained, name)? {
                    write(storage, name, &bytes)?;
                }
            }
            Ok(())
        })?;
    }
    let problem = plan.spec().to_toml();
    let checkpoint = saved(storage, problem.as_bytes(), plan)?;
    let from = checkpoint.map_or(Beginning::Scratch, Beginning::Checkpoint);
    drive(plan, problem.as_bytes(), from, storage, interrupt, observer)
}

/// The plan of a run directory, and the bytes of its problem file; the data are those of `known` where they can be, and
/// are checked to be the same as then.
pub(crate) fn reopen(
    location: &str,
    known: Option<&Plan>,
    read: &dyn Fn(&str) -> Result<Option<Vec<u8>>>,
) -> Result<(Plan, Vec<u8>)> {
    let path = |name: &str| format!("{location}/{name}");
    let needed = |name: &'static str| {
        read(name)?.ok_or_else(|| Error::NotARun { location: location.into(), missing: name })
    };
    let problem = needed(PROBLEM)?;
    let info = parse::run_info(&path(RUN), &needed(RUN)?)?;
    let text = String::from_utf8(problem.clone())
        .map_err(|error| Error::Damaged { path: path(PROBLEM), reason: error.to_string() })?;
    let source = ProblemSource::new(path(PROBLEM), text);
    let plan = match known {
        Some(known) => known.variant(&source)?,
        None => Plan::check(&source)?,
    };
    let plan = plan.called(&info.problem);
    let now = &plan.data().hashes;
    if info.tables.len() != now.len() {
        let reason = format!(
            "the run was started on {} files of tables, and there are {}: restore them, or start a new run",
            info.tables.len(),
            now.len()
        );
        return Err(Error::unfit(location, reason));
    }
    for (then, now) in info.tables.iter().zip(now) {
        if then.sha256 != now.sha256 {
            return Err(Error::DataChanged {
                table: now.table.clone(),
                expected: then.sha256.clone(),
                found: now.sha256.clone(),
            });
        }
    }
    Ok((plan, problem))
}

/// Continues a run.
///
/// # Errors
/// Files that are missing, damaged, from a newer program or of another problem; data that have
/// changed.
pub fn resume_in(
    storage: &dyn Storage,
    interrupt: &Interrupt,
    observer: Observer<'_>,
) -> Result<Fitted> {
    resume_on(None, storage, interrupt, observer)
}

/// As [`resume_in`], on the data of a plan where they are the run's.
///
/// # Errors
/// As [`resume_in`].
pub fn resume_on(
    known: Option<&Plan>,
    storage: &dyn Storage,
    interrupt: &Interrupt,
    observer: Observer<'_>,
) -> Result<Fitted> {
    let (plan, problem, checkpoint) = reopen_in(storage, known)?;
    // It was stopped before it was known what to train.
    if checkpoint.is_none() && plan.leaves_network_open() {
        return fit_from(&plan, None, storage, interrupt, observer);
    }
    let from = checkpoint.map_or(Beginning::Scratch, Beginning::Checkpoint);
    drive(&plan, &problem, from, storage, interrupt, observer)
}

/// Ends a run where its last checkpoint is, as if that had been its last epoch: with the model that was the best
/// so far, or as it is, whichever the problem says is kept.
///
/// # Errors
/// As [`resume_in`]; a run without a checkpoint.
pub fn finish_in(
    storage: &dyn Storage,
    interrupt: &Interrupt,
    observer: Observer<'_>,
) -> Result<Fitted> {
    let (plan, problem, checkpoint) = reopen_in(storage, None)?;
    let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.state.epoch > 0) else {
        return Err(Error::NotTrained { location: storage.location() });
    };
    drive(&plan, &problem, Beginning::End(checkpoint), storage, interrupt, observer)
}

/// As [`finish_in`], of a run whose plan is at hand, so that its data need not be read again.
///
/// # Errors
/// As [`finish_in`].
pub fn finish_plan(
    plan: &Plan,
    storage: &dyn Storage,
    interrupt: &Interrupt,
    observer: Observer<'_>,
) -> Result<Fitted> {
    let problem = plan.spec().to_toml();
    let checkpoint = saved(storage, problem.as_bytes(), plan)?;
    let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.state.epoch > 0) else {
        return Err(Error::NotTrained { location: storage.location() });
    };
    drive(plan, problem.as_bytes(), Beginning::End(checkpoint), storage, interrupt, observer)
}

/// Plan, problem and last checkpoint of a run.
fn reopen_in(
    storage: &dyn Storage,
    known: Option<&Plan>,
) -> Result<(Plan, Vec<u8>, Option<Box<Checkpoint>>)> {
    let (plan, problem) = reopen(&storage.location(), known, &|name| read(storage, name))?;
    let checkpoint = saved(storage, &problem, &plan)?;
    Ok((plan, problem, checkpoint))
}

/// The last checkpoint of a run; none if it was stopped before its first, when the start is as good.
fn saved(storage: &dyn Storage, problem: &[u8], plan: &Plan) -> Result<Option<Box<Checkpoint>>> {
    let path = format!("{}/{CHECKPOINT}", storage.location());
    let wrong = |reason| Error::Checkpoint { path: path.clone(), reason };
    let Some(bytes) = read(storage, CHECKPOINT)? else { return Ok(None) };
    let checkpoint = Checkpoint::from_bytes(&bytes).map_err(wrong)?;
    if checkpoint.problem[..] != Sha256::digest(problem)[..] {
        return Err(wrong(CheckpointError::OtherProblem));
    }
    checkpoint.check_epochs(plan.settings().training.epochs).map_err(wrong)?;
    Ok(Some(Box::new(checkpoint)))
}

/// Where a training begins.
enum Beginning<'a> {
    Scratch,
    Solution(&'a Start),
    Checkpoint(Box<Checkpoint>),
    /// And ends there, too.
    End(Box<Checkpoint>),
}

fn drive(
    plan: &Plan,
    problem: &[u8],
    from: Beginning<'_>,
    storage: &dyn Storage,
    interrupt: &Interrupt,
    observer: Observer<'_>,
) -> Result<Fitted> {
    let mut run = TrainingRun::open(plan, problem, from, storage, interrupt, observer)?;
    run.on_ranks = true;
    run.train()
}

/// The metrics that were written so far: their length and what their hash is made from.
#[derive(Default)]
struct Metrics {
    length: u64,
    hash: Sha256,
}

impl Metrics {
    /// Those that a checkpoint goes with, which must be there as they were written.
    fn known(storage: &dyn Storage, length: u64, hash: [u8; 32]) -> Result<Self> {
        /// All of a line that is looked at.
        #[derive(Deserialize)]
        struct Line {
            epoch: u64,
        }
        let damaged = |reason: &str| Error::Damaged {
            path: format!("{}/{METRICS}", storage.location()),
            reason: format!("{reason}: restore it from a copy, or start the run again"),
        };
        let failed = failed("read", storage, METRICS);
        let mut known = Self::default();
        let mut lines = match storage.read_first(METRICS, length) {
            Ok(file) => BufReader::with_capacity(1 << 16, file),
            Err(error) if error.kind() == ErrorKind::NotFound && length == 0 => return Ok(known),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(damaged("it is missing"));
            }
            Err(error) => return Err(failed(error)),
        };
        let (mut line, mut before, mut sound) = (Vec::new(), 0, true);
        while lines.read_until(b'\n', &mut line).map_err(&failed)? > 0 {
            known.add(&line);
            let read = serde_json::from_slice(&line).map(|Line { epoch }| epoch).unwrap_or(0);
            sound &= read > before;
            before = read;
            line.clear();
        }
        if known.length != length {
            return Err(damaged("it is shorter than when the checkpoint was saved"));
        }
        if known.hash() != hash || !sound {
            return Err(damaged("its content is not what the checkpoint was saved with"));
        }
        Ok(known)
    }

    fn add(&mut self, line: &[u8]) {
        self.length += line.len() as u64;
        self.hash.update(line);
    }

    fn hash(&self) -> [u8; 32] {
        self.hash.clone().finalize().into()
    }
}

/// Cuts off what a full disk or a kill left of a last line, which the next one would be added to.
fn cut_half_a_line(storage: &dyn Storage, name: &str) -> Result<()> {
    let bytes = read(storage, name)?.unwrap_or_default();
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    if whole == bytes.len() {
        return Ok(());
    }
    storage.truncate(name, whole as u64).map_err(failed("truncate", storage, name))
}

/// How long the phases of an epoch take.
#[derive(Default)]
struct PhaseTimes {
    now: Option<(Phase, Instant)>,
    primal: Duration,
    dual: Duration,
}

impl PhaseTimes {
    fn enter(&mut self, phase: Phase) {
        match self.now.replace((phase, Instant::now())) {
            Some((Phase::Primal, since)) => self.primal += since.elapsed(),
            Some((Phase::Dual, since)) => self.dual += since.elapsed(),
            Some((Phase::Judging, _)) | None => {}
        }
    }
}

/// A training and where it is saved.
struct TrainingRun<'a> {
    plan: &'a Plan,
    storage: &'a dyn Storage,
    interrupt: &'a Interrupt,
    observer: Observer<'a>,
    problem: [u8; 32],
    metrics: Metrics,
    state: Option<State<f32>>,
    start: Option<&'a Start>,
    end_here: bool,
    /// Whether the ranks of a job take part.
    on_ranks: bool,
}

impl<'a> TrainingRun<'a> {
    fn open(
        plan: &'a Plan,
        problem: &[u8],
        from: Beginning<'a>,
        storage: &'a dyn Storage,
        interrupt: &'a Interrupt,
        observer: Observer<'a>,
    ) -> Result<Self> {
        let end_here = matches!(from, Beginning::End(_));
        let (state, metrics, start) = match from {
            Beginning::Checkpoint(checkpoint) | Beginning::End(checkpoint) => {
                let known = Metrics::known(storage, checkpoint.metrics, checkpoint.metrics_hash)?;
                (Some(checkpoint.state), known, None)
            }
            Beginning::Solution(start) => (None, Metrics::default(), Some(start)),
            Beginning::Scratch => (None, Metrics::default(), None),
        };
        cut_half_a_line(storage, TIMINGS)?;
        storage.truncate(METRICS, metrics.length).map_err(failed("truncate", storage, METRICS))?;
        let problem = Sha256::digest(problem).into();
        let on_ranks = false;
        Ok(Self {
            plan,
            storage,
            interrupt,
            observer,
            problem,
            metrics,
            state,
            start,
            end_here,
            on_ranks,
        })
    }

    /// Trains to the end, and saves what came of it.
    fn train(mut self) -> Result<Fitted> {
        let run = self.advance_to(u64::MAX)?;
        let seed = self.plan.seed();
        let (epochs, outcome) = (run.state().epoch, run.state().outcome.clone());
        let summary = match outcome {
            None | Some(Outcome::Interrupted) => None,
            Some(_) => self.save(run)?,
        };
        // The run is complete by now, whatever becomes of the baseline.
        let beside = |summary| baseline::beside(self.plan, self.storage, self.interrupt, summary);
        let summary = summary.map(beside);
        let ended = summary.as_ref().map_or("interrupted".into(), Summary::headline);
        let outcome = summary.as_ref().map_or(Outcome::Interrupted, |s| s.outcome.clone());
        (self.observer)(&Event::Ended { seed, ended });
        Ok(Fitted { seed, outcome, epochs, summary })
    }

    /// Trains up to an epoch, if it does not end or is not interrupted before, and saves the state.
    fn advance_to(&mut self, last: u64) -> Result<Training<'a, f32>> {
        let plan = self.plan;
        let seed = plan.seed();
        let begin = |state: Option<State<f32>>| -> Result<Training<'a, f32>> {
            let here = plan.alone()?;
            let learner = here.learner(seed);
            Ok(match state {
                Some(state) => learner.resume(here.train(), plan.model(), state)?,
                None => learner.begin(here.train(), plan.model())?,
            })
        };
        let training = &plan.settings().training;
        let epochs = training.epochs.min(last);
        let cadence = training.checkpoint;
        let seconds = Duration::from_secs_f64(cadence.seconds);
        let mut run = begin(self.state.take())?;
        if let Some(start) = self.start {
            run.warm_start(&start.theta, &start.multipliers)?;
            // From now on the start is part of the run: it can be resumed.
            self.save_checkpoint(&run)?;
        }
        if self.end_here {
            run.end_here();
        }
        let ranks = ranks::leader().filter(|_| self.on_ranks);
        if let Some(ranks) = ranks {
            run = ranks::begin(ranks, plan, run, last)?;
        }
        self.interrupt.listen(&run.interrupter());
        (self.observer)(&Event::Started { seed, epoch: run.state().epoch, epochs });
        let start = Instant::now();
        let traffic = || ranks.and_then(|_| ranks::traffic());
        let mut sent = traffic();
        let (mut saved_at, mut unsaved, mut out_of_time) = (start, 0, false);
        // Beyond the last epoch a training notices that it has ended.
        while run.state().epoch < last {
            let mut times = PhaseTimes::default();
            let Some(report) = run.advance_observed(&mut |phase| times.enter(phase)) else { break };
            let metrics = EpochMetrics::new(&report).of_network(plan, 0);
            let before = std::mem::replace(&mut sent, traffic());
            let timing = EpochTiming {
                epoch: report.epoch,
                primal: times.primal.as_secs_f64(),
                dual: times.dual.as_secs_f64(),
                elapsed: start.elapsed().as_secs_f64(),
                ranks: sent.zip(before).map(|(now, before)| now.since(before)),
            };
            self.append(METRICS, &json_line(&metrics))?;
            self.append(TIMINGS, &json_line(&timing))?;
            (self.observer)(&Event::Epoch { seed, epochs, metrics: Box::new(metrics) });
            unsaved += 1;
            let due = unsaved >= cadence.epochs || saved_at.elapsed() >= seconds;
            out_of_time =
                training.seconds.is_some_and(|most| start.elapsed().as_secs_f64() >= most);
            if let Some(ranks) = ranks {
                // A state has a part on every rank.
                ranks::tell(&**ranks, AfterEpoch { save: due, end: out_of_time });
            }
            if due {
                self.save_checkpoint(&run)?;
                (saved_at, unsaved) = (Instant::now(), 0);
            }
            if out_of_time {
                break;
            }
        }
        if ranks.is_some() {
            // The others are done; what follows is done here.
            let state = run.whole_state().map(Cow::into_owned);
            drop(run);
            ranks::end();
            run = begin(state)?;
        }
        if out_of_time {
            run.end_here();
        }
        self.save_checkpoint(&run)?;
        Ok(run)
    }

    fn append(&mut self, name: &str, line: &[u8]) -> Result<()> {
        self.storage.append(name, line).map_err(failed("append to", self.storage, name))?;
        if name == METRICS {
            self.metrics.add(line);
        }
        Ok(())
    }

    fn save_checkpoint(&self, run: &Training<'_, f32>) -> Result<()> {
        let Some(state) = run.whole_state() else { return Ok(()) };
        self.storage.sync(METRICS).map_err(failed("sync", self.storage, METRICS))?;
        let metrics = (self.metrics.length, self.metrics.hash());
        let content: Content<'_> = &|out| checkpoint::write(&state, metrics, self.problem, out);
        self.write_by(CHECKPOINT, content)?;
        (self.observer)(&Event::Checkpoint { seed: state.seed, epoch: state.epoch });
        Ok(())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        write(self.storage, name, bytes)
    }

    fn write_by(&self, name: &str, content: Content<'_>) -> Result<()> {
        self.storage.write_by(name, content).map_err(failed("write", self.storage, name))
    }

    /// Writes the model, then what it certifies; `None` if interrupted on the way.
    ///
    /// The last checkpoint has the end of the training, so a run that is stopped here does the rest of this when
    /// it is resumed, and until then its model can be used and certified.
    fn save(&self, run: Training<'_, f32>) -> Result<Option<Summary>> {
        let plan = self.plan;
        let count = plan.settings().training.threads;
        let stopped = || self.interrupt.is_raised();
        if stopped() {
            return Ok(None);
        }
        let solution = run.finish();
        if stopped() {
            return Ok(None);
        }
        // A training that was cut short is not made longer by others.
        let averages = plan.folds() > 1 && !self.end_here;
        let epochs = saved_metrics(self.storage)?;
        let average = match averages {
            true => match Average::of(plan, &solution, self.interrupt)? {
                Some(average) => Some(average),
                None => return Ok(None),
            },
            false => None,
        };
        // The checkpoint has only its own: what follows is cut off and added again by whoever resumes.
        for metrics in average.iter().flat_map(|average| &average.metrics) {
            let line = json_line(metrics);
            self.storage.append(METRICS, &line).map_err(failed(
                "append to",
                self.storage,
                METRICS,
            ))?;
        }
        let (plan, solution) = match &average {
            Some(average) => (&average.plan, &average.solution),
            None => (plan, &solution),
        };
        let (mut summary, groups, test) = threads::on(count, || evaluate(plan, solution))?;
        if let Some(average) = &average {
            summary.kept_epoch = None;
            summary.cross_validation = Some(average.result.clone());
        }
        summary.close_call = summary.kept_epoch.and_then(|kept| close_call(plan, kept, &epochs));
        let model = SavedModel::new(plan, solution.theta.clone(), summary.clone())?;
        // A run that is complete and resumed all the same stays complete.
        if read(self.storage, SUMMARY)?.is_none() {
            self.write(MODEL, &model.to_bytes()?)?;
        }
        let (multipliers, measurement) = (&solution.multipliers, &solution.measurement);
        self.write_by(MULTIPLIERS, &|out| {
            multipliers_csv(plan.train(), plan.clauses(), multipliers, measurement, out)
        })?;
        if stopped() {
            return Ok(None);
        }
        let theta = &solution.theta;
        let attacked = threads::on(count, || AttackedImages::of(plan, theta, &stopped))?;
        if stopped() {
            return Ok(None);
        }
        let summary = threads::on(count, || certified(plan, solution, summary, test.as_ref()));
        self.write(MODEL, &model.with_training(summary.clone()).to_bytes()?)?;
        self.write(GROUPS, &json(&groups))?;
        if let Some(attacked) = attacked {
            let [name, sheet] = ADVERSARY;
            if let Some(examples) = &attacked.examples {
                self.write(sheet, &examples.sheet)?;
            }
            self.write(name, &json(&attacked))?;
        }
        self.write(SUMMARY, &json(&summary.written()))?;
        Ok(Some(summary))
    }
}

//! A ladder: one model for each `room`, the most cautious first, tested in this order on the reserve.
//!
//! The order is in the problem file, so it is fixed before the reserve is looked at; each model is tested at
//! the whole δ, up to the first that is not certified (Learn-then-Test, see
//! [`feasible::certificate::fixed_sequence`]). Of those certified the one with the best objective on the
//! training rows is taken: any choice among them is as safe. Proven of it is that all requirements hold, at their
//! limits, and nothing beyond: no bound is shown for it.
//!
//! Every rung is a run of its own in `rung-1`, `rung-2`, …; the directory itself holds the model that was
//! taken. No rung needs another to be trained, so several jobs may share them out; they are tested once all are there.

use std::path::Path;

use feasible::Outcome;
use feasible::certificate::fixed_sequence;
use feasible_problem::plan::Plan;
use feasible_problem::spec::ProblemSource;
use feasible_problem::text::{Align, Grid, Page, percent, short};
use serde::{Deserialize, Serialize};

use crate::baseline;
use crate::directory::RunDirectory;
use crate::error::{Error, Result};
use crate::files::{
    FINGERPRINTS, GROUPS, LADDER, MODEL, PROBLEM, PartRows, README, ROWS, RUN, RunInfo, SUMMARY,
    is_ours, json,
};
use crate::fit::{Fitted, Observer, fit_in, resume_on};
use crate::interrupt::Interrupt;
use crate::job_part::{JobPart, in_turn, resumed, unfinished};
use crate::resumable::ResumableDirectory;
use crate::saved_model::SavedModel;
use crate::seeds::{Fit, FitOptions, runs_inside};
use crate::storage::{Directory, Memory, Storage, failed, no_link, read};
use crate::summary::Summary;

/// One model of a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    /// How many times the computed margin it was trained for.
    pub room: f64,
    /// The average loss of the objective on the training rows.
    pub objective: f64,
    /// The share of right predictions on the training rows (of classes).
    pub accuracy: Option<f64>,
    /// Whether it is certified that all requirements hold; `None` if it was not tested.
    pub certified: Option<bool>,
    /// Whether it is the one that was taken.
    pub taken: bool,
}

/// `ladder.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// What the problem is called.
    pub problem: String,
    /// The room of each rung.
    pub rooms: Vec<f64>,
}

/// The plan of one rung.
fn rung(plan: &Plan, room: f64) -> Result<Plan> {
    let mut spec = plan.spec().clone();
    if let Some(certify) = &mut spec.certify {
        (certify.ladder, certify.room) = (None, Some(room));
    }
    // One for the whole ladder.
    spec.report.baseline = spec.report.baseline.map(|_| false);
    let name = format!("{}, room {room}", plan.name());
    Ok(plan.variant(&ProblemSource::new(name, spec.to_toml()))?.called(plan.name()))
}

/// Trains every rung and takes the best certified model.
pub(crate) fn fit(
    plan: &Plan,
    rooms: &[f64],
    top: Option<(&Path, Directory)>,
    interrupt: &Interrupt,
    observer: Observer<'_>,
) -> Result<Fitted> {
    if let Some((_, top)) = &top {
        let write =
            |name: &str, bytes: &[u8]| top.write(name, bytes).map_err(failed("write", top, name));
        write(README, LADDER_README.as_bytes())?;
        let data = plan.data();
        write(ROWS, &json(&PartRows::of(&data.split, &data.reserve_rows)))?;
        write(FINGERPRINTS, &plan.fingerprints().to_bytes())?;
        write(RUN, &json(&RunInfo::of(plan)))?;
        write(LADDER, &json(&Listed { problem: plan.name().into(), rooms: rooms.to_vec() }))?;
        write(PROBLEM, plan.spec().to_toml().as_bytes())?;
    }
    climb(plan, rooms, top, interrupt, observer)
}

/// Continues a ladder.
pub(crate) fn resume(
    path: &Path,
    top: Directory,
    interrupt: &Interrupt,
    observer: Observer<'_>,
) -> Result<Fitted> {
    let (plan, _) = crate::fit::reopen(&top.location(), None, &|name| read(&top, name))?;
    let missing = || Error::NotARun { location: top.location(), missing: LADDER };
    let listed = RunDirectory::new(path).ladder()?.ok_or_else(missing)?;
    climb(&plan, &listed.rooms, Some((path, top)), interrupt, observer)
}

/// The rungs of one of several jobs; of the last to end, the model that is taken.
pub(crate) fn fit_part(
    plan: &Plan,
    rooms: &[f64],
    path: &Path,
    part: &JobPart,
    options: &FitOptions,
    observer: Observer<'_>,
) -> Result<Fit> {
    let interrupt = &options.interrupt;
    let run = RunDirectory::new(path);
    let listed = Listed { problem: plan.name().into(), rooms: rooms.to_vec() };
    let (toml, data) = (plan.spec().to_toml(), plan.data());
    let same = |bytes: &[u8]| {
        let known = serde_json::from_slice(bytes).is_ok_and(|known: Listed| known == listed);
        known && run.read(PROBLEM).is_ok_and(|p| p.is_none_or(|p| p == toml.as_bytes()))
    };
    let directory = ResumableDirectory {
        what: "a ladder",
        file: LADDER,
        is_same: &same,
        ours: &is_ours,
        inside: runs_inside,
        first: &[
            (LADDER, &|| json(&listed)),
            (README, &|| LADDER_README.into()),
            (ROWS, &|| json(&PartRows::of(&data.split, &data.reserve_rows))),
            (FINGERPRINTS, &|| plan.fingerprints().to_bytes()),
            (RUN, &|| json(&RunInfo::of(plan))),
            (PROBLEM, &|| toml.clone().into_bytes()),
        ],
    };
    // Held while the first files are written: other jobs work in it at the same time.
    drop(in_turn(|| directory.open(path, options.force))?);
    let own = part.share(&rooms.iter().copied().enumerate().collect::<Vec<_>>());
    let mut runs = Vec::new();
    for (at, room) in own {
        let fitted = train(plan, room, path, at, interrupt, observer)?.0;
        if fitted.outcome == Outcome::Interrupted {
            return Ok(Fit::of(fitted));
        }
        runs.push(fitted);
    }
    if !missing(&run, rooms).is_empty() {
        return Ok(Fit::of_several(runs));
    }
    match in_turn(|| Directory::open(path)) {
        // Another job had them all, too, and is at it.
        Err(Error::InUse { .. }) => Ok(Fit::of_several(runs)),
        top => Ok(Fit::of(climb(plan, rooms, Some((path, top?)), interrupt, observer)?)),
    }
}

/// The rungs, from 0, whose runs are not finished.
fn missing(run: &RunDirectory, rooms: &[f64]) -> Vec<usize> {
    (0..rooms.len()).filter(|&at| !run.rung(at).has(SUMMARY)).collect()
}

/// Takes the best of models that were trained in parts.
pub(crate) fn join(path: &Path) -> Result<()> {
    let run = RunDirectory::new(path);
    let none = || Error::NotARun { location: run.location(), missing: LADDER };
    let rooms = run.ladder()?.ok_or_else(none)?.rooms;
    let missing: Vec<String> =
        missing(&run, &rooms).iter().map(|at| format!("rung {}", at + 1)).collect();
    if !missing.is_empty() {
        return Err(unfinished(path, "rungs", &missing, rooms.len(), &resumed(path)));
    }
    let top = in_turn(|| Directory::open(path))?;
    resume(path, top, &Interrupt::new(), &|_| {}).map(drop)
}

/// Model and groups of a run.
type Files = [Option<Vec<u8>>; 2];

/// Trains a rung, or continues it, in a directory of its own.
fn train(
    plan: &Plan,
    room: f64,
    path: &Path,
    at: usize,
    interrupt: &Interrupt,
    observer: Observer<'_>,
) -> Result<(Fitted, Files)> {
    let inner = RunDirectory::new(path).rung(at);
    no_link(inner.path())?;
    let begun = inner.has(PROBLEM);
    let storage = match begun {
        // Of a job that has just ended it, for a moment more.
        true if inner.has(SUMMARY) => in_turn(|| Directory::open(inner.path()))?,
        true => Directory::open(inner.path())?,
        false => Directory::replace(inner.path(), is_ours)?,
    };
    let fitted = match begun {
        true => resume_on(Some(plan), &storage, interrupt, observer)?,
        false => fit_in(&rung(plan, room)?, &storage, interrupt, observer)?,
    };
    Ok((fitted, [read(&storage, MODEL)?, read(&storage, GROUPS)?]))
}

fn climb(
    plan: &Plan,
    rooms: &[f64],
    top: Option<(&Path, Directory)>,
    interrupt: &Interrupt,
    observer: Observer<'_>,
) -> Result<Fitted> {
    let mut trained: Vec<(Fitted, Files)> = Vec::new();
    for (at, &room) in rooms.iter().enumerate() {
        let (fitted, files) = match &top {
            Some((path, _)) => train(plan, room, path, at, interrupt, observer)?,
            None => {
                let storage = Memory::new();
                let fitted = fit_in(&rung(plan, room)?, &storage, interrupt, observer)?;
                (fitted, [read(&storage, MODEL)?, read(&storage, GROUPS)?])
            }
        };
        if fitted.outcome == Outcome::Interrupted {
            return Ok(fitted);
        }
        trained.push((fitted, files));
    }
    let top = top.map(|(_, top)| top);
    let mut fitted = take(rooms, trained, top.as_ref())?;
    let memory = Memory::new();
    let storage: &dyn Storage = top.as_ref().map_or(&memory, |top| top);
    let beside = |summary| baseline::beside(plan, storage, interrupt, summary);
    fitted.summary = fitted.summary.map(beside);
    Ok(fitted)
}

/// Tests the rungs in order and writes the model that is taken.
fn take(
    rooms: &[f64],
    mut trained: Vec<(Fitted, Files)>,
    top: Option<&Directory>,
) -> Result<Fitted> {
    let lost = || Error::unfit("ladder", "a training ended without a summary");
    let summaries: Vec<Summary> = trained
        .iter()
        .map(|(fitted, _)| fitted.summary.clone())
        .collect::<Option<_>>()
        .ok_or_else(lost)?;
    let certified = fixed_sequence(summaries.len(), |at| {
        let found = summaries[at].certificate.as_ref().map(|c| c.certificate.clone());
        found.ok_or_else(|| {
            let reason = summaries[at].no_certificate.clone().unwrap_or_default();
            Error::unfit("ladder", reason)
        })
    })?;
    let better = |a: &usize, b: &usize| {
        summaries[*a].train.objective.total_cmp(&summaries[*b].train.objective)
    };
    let taken = (0..certified).min_by(better);
    let rungs = summaries.iter().zip(rooms).enumerate().map(|(at, (summary, &room))| Rung {
        room,
        objective: summary.train.objective,
        accuracy: summary.train.accuracy,
        certified: (at <= certified).then_some(at < certified),
        taken: taken == Some(at),
    });
    let rungs: Vec<Rung> = rungs.collect();
    // If none is certified the most cautious one is reported, and no model is handed over.
    let (mut fitted, [model, groups]) = trained.swap_remove(taken.unwrap_or(0));
    if let Some(summary) = &mut fitted.summary {
        summary.ladder = Some(rungs);
        if let Some(taken) = taken {
            let tested = summaries[..=taken].iter().filter_map(|s| s.certificate.as_ref());
            let tested: Vec<_> = tested.map(|tested| &tested.certificate).collect();
            summary.certificate =
                summary.certificate.take().map(|certificate| certificate.chosen_after(&tested));
        }
        if let Some(top) = top {
            let write = |name: &str, bytes: &[u8]| {
                top.write(name, bytes).map_err(failed("write", top, name))
            };
            if let (Some(_), Some(bytes)) = (taken, model) {
                let model = SavedModel::from_bytes(MODEL, &bytes)?.with_training(summary.clone());
                write(MODEL, &model.to_bytes()?)?;
            }
            if let Some(groups) = groups {
                write(GROUPS, &groups)?;
            }
            write(SUMMARY, &json(&summary.written()))?;
        }
    }
    Ok(fitted)
}

/// The ladder as a table.
pub(crate) fn to_text(rungs: &[Rung], page: &Page) -> String {
    let mut text = String::from(
        "\nLadder: the most cautious model first, tested in this order up to the first that is not \
         certified\n\n",
    );
    let mut grid = Grid::new();
    grid.row(["room", "train objective", "accuracy", ""].map(String::from));
    for rung in rungs {
        let verdict = match (rung.certified, rung.taken) {
            (Some(true), true) => "certified, taken",
            (Some(true), false) => "certified",
            (Some(false), _) => "not certified",
            (None, _) => "not tested",
        };
        grid.row([
            short(rung.room),
            short(rung.objective),
            rung.accuracy.map_or("".into(), percent),
            verdict.into(),
        ]);
    }
    text += &grid.on(page, &[Align::Right, Align::Right, Align::Right, Align::Left]);
    if rungs.iter().all(|rung| !rung.taken) {
        text += "\nNo model of the ladder is certified; what is above is the most cautious one.\n";
    }
    text
}

const LADDER_README: &str = "\
A ladder of runs of feasible: one problem, trained with more and with less room to spare.

problem.toml        the problem, every default filled in
ladder.json         how many times the computed margin each rung is trained for
rung-N/             the run of rung N, with a README.txt of its own; its certificate is about that model
                    alone, as if no other had been looked at
model.safetensors   the best certified model, if any is; the files beside it are as in a run. Proven of it are
                    the limits of its requirements, and no bound beyond them: it was chosen with the rows
                    that certify it
summary.json        the results, and the verdict on each rung
";

//! Trainings whose work is divided over the ranks of a job, which MPI or something like it has started.
//!
//! Rank 0 leads: it writes files, prints, evaluates and certifies, as a program that is alone. A table of several files or row groups it
//! reads with the others (`reading`), as far as they see the files. When it trains, it
//! deals out to each of the others the rows of its shards, encoded, with model, learner and the part of the state that training begins
//! with ([`PlanShare`]), and all take the same steps ([`feasible::Problem::divided_for`]). The multipliers of a row are
//! on the rank that has the row; they are collected on rank 0 for a checkpoint and at the end. So a checkpoint is one file, written by
//! rank 0, and does not depend on how many ranks there are.

mod pieces;
mod reading;

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use feasible::{Reduce, State, Training};
use feasible_problem::plan::{Plan, PlanShare, TrainingNeeds};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{self, Checkpoint};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::metrics::Traffic;

static BUSY: AtomicBool = AtomicBool::new(false);
static LEADER: OnceLock<Arc<dyn Reduce>> = OnceLock::new();
static TRAFFIC: OnceLock<fn() -> Traffic> = OnceLock::new();

/// What rank 0 tells the others.
#[derive(Serialize, Deserialize)]
enum Word {
    /// Read parts of a table. To each rank follows what there is to read.
    Read,
    /// Train up to an epoch. To each rank follows what its share [needs](TrainingNeeds), and then the share, with its part of
    /// the state, in a checkpoint.
    Train { last: u64 },
    /// End, with an exit code.
    End(u8),
}

/// Makes this process rank 0 of a job: from now on the others read tables with it, and take part in its trainings. Once per process.
/// `traffic` counts what this process sends.
pub fn lead(reduce: Arc<dyn Reduce>, traffic: fn() -> Traffic) {
    feasible_problem::data::read_with(Arc::new(reading::OtherRanks(reduce.clone())));
    let _ = LEADER.set(reduce);
    let _ = TRAFFIC.set(traffic);
}

/// Ends the other ranks with an exit code. Rank 0 says so when none is in a training.
pub fn dismiss(ranks: &dyn Reduce, exit: u8) {
    say(ranks, &Word::End(exit));
}

/// Whether the other ranks are in the middle of a training, or of a table.
pub fn are_busy() -> bool {
    BUSY.load(Ordering::SeqCst)
}

/// The other ranks have left the training.
pub(crate) fn end() {
    BUSY.store(false, Ordering::SeqCst);
}

/// The ranks that take part in trainings of this process.
pub(crate) fn leader() -> Option<&'static Arc<dyn Reduce>> {
    LEADER.get().filter(|reduce| reduce.workers() > 1)
}

/// What this process has sent to other ranks so far.
pub(crate) fn traffic() -> Option<Traffic> {
    TRAFFIC.get().map(|traffic| traffic())
}

fn say(ranks: &dyn Reduce, word: &Word) {
    // Of what is in a word, nothing can fail to be encoded.
    let mut message = postcard::to_allocvec(word).unwrap_or_default();
    ranks.broadcast(0, &mut message);
}

/// What rank 0 has decided after an epoch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct AfterEpoch {
    /// To save the state, of which every rank has a part.
    pub(crate) save: bool,
    /// To end the training: its time is over.
    pub(crate) end: bool,
}

/// Tells the other ranks what rank 0 has decided.
pub(crate) fn tell(ranks: &dyn Reduce, decided: AfterEpoch) {
    ranks.broadcast(0, &mut vec![u8::from(decided.save), u8::from(decided.end)]);
}

/// What rank 0 has decided.
fn told(ranks: &dyn Reduce) -> AfterEpoch {
    let mut message = Vec::new();
    ranks.broadcast(0, &mut message);
    let is = |n: usize| message.get(n) == Some(&1);
    AfterEpoch { save: is(0), end: is(1) }
}

/// Continues a training, which is on this rank alone, on all ranks.
pub(crate) fn begin<'p>(
    ranks: &Arc<dyn Reduce>,
    plan: &'p Plan,
    run: Training<'p, f32>,
    last: u64,
) -> Result<Training<'p, f32>> {
    if !plan.settings().training.shards {
        return Err(Error::unfit(
            plan.name(),
            "this training was started without `training.shards`, so on several ranks it would not continue to the same \
             bits: resume it without mpirun, or start it again with mpirun",
        ));
    }
    let Some(state) = run.whole_state().map(Cow::into_owned) else { return Ok(run) };
    drop(run);
    // What is wrong is found out before the others are told.
    let divided = plan.own_share(ranks)?;
    BUSY.store(true, Ordering::SeqCst);
    say(&**ranks, &Word::Train { last });
    (1..ranks.workers()).try_for_each(|rank| deal(&**ranks, plan, rank, &state))?;
    let learner = divided.learner(plan.seed());
    Ok(learner.resume(divided.train(), plan.model(), state)?)
}

/// Sends a rank its share of a training.
fn deal(ranks: &dyn Reduce, plan: &Plan, rank: usize, state: &State<f32>) -> Result<()> {
    let unfit = |error: String| Error::unfit(plan.name(), error);
    let share = plan.share(rank, ranks.workers())?;
    let mut saved = Vec::new();
    checkpoint::write(&share.of_state(state.clone())?, (0, [0; 32]), [0; 32], &mut saved)
        .map_err(|error| unfit(error.to_string()))?;
    let sent = pieces::send(ranks, rank, &plan.needs(&share))
        .and_then(|()| pieces::send(ranks, rank, &(share, saved)));
    sent.map_err(|error| unfit(error.to_string()))
}

/// Takes part in what rank 0 reads and trains until it ends; its exit code.
///
/// # Errors
/// A share of the rows for which there is no room here.
pub fn follow(ranks: &Arc<dyn Reduce>, interrupt: &Interrupt) -> Result<u8> {
    loop {
        let mut message = Vec::new();
        ranks.broadcast(0, &mut message);
        match postcard::from_bytes(&message).map_err(damaged)? {
            Word::End(exit) => return Ok(exit),
            Word::Read => reading::read_share(&**ranks)?,
            Word::Train { last } => {
                let needs: TrainingNeeds = pieces::receive(&**ranks, 0).map_err(damaged)?;
                needs.prepare()?;
                let (share, saved): (PlanShare, Vec<u8>) =
                    pieces::receive(&**ranks, 0).map_err(damaged)?;
                let state = Checkpoint::from_bytes(&saved).map_err(damaged)?.state;
                drop(saved);
                train(ranks, share, state, last, interrupt)?;
            }
        }
    }
}

fn damaged(error: impl std::fmt::Display) -> Error {
    Error::Damaged { path: "a message of rank 0".into(), reason: error.to_string() }
}

/// Trains as rank 0 does, on the rows of this rank, and keeps nothing.
fn train(
    ranks: &Arc<dyn Reduce>,
    share: PlanShare,
    state: State<f32>,
    last: u64,
    interrupt: &Interrupt,
) -> Result<()> {
    let of = share.training(ranks)?;
    let mut run = of.learner.resume_share(&of.problem, of.model, state)?;
    interrupt.listen(&run.interrupter());
    while run.state().epoch < last && run.advance().is_some() {
        let decided = told(&**ranks);
        if decided.save {
            run.whole_state();
        }
        if decided.end {
            break;
        }
    }
    // What rank 0 continues with alone.
    run.whole_state();
    Ok(())
}

//! Trainings whose work is divided over the ranks of a job, which MPI or something like it has started.
//!
//! Rank 0 leads: it reads and writes files, prints, evaluates and certifies, as a program that is alone. When it trains, it
//! tells the others the problem and the state that training begins with; they read the data, and all take the same
//! steps ([`feasible::Problem::divided_over`]). The multipliers of a row are on the rank that has the row; they are collected on
//! rank 0 for a checkpoint and at the end. So a checkpoint is one file, written by rank 0, and does not depend on how many ranks
//! there are.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use feasible::{Reduce, State, Training};
use feasible_problem::network::Network;
use feasible_problem::plan::Plan;
use feasible_problem::spec::ProblemSource;
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
    /// Train this problem, filled in, from the state in a checkpoint up to an epoch.
    Train { name: String, problem: String, state: Vec<u8>, last: u64 },
    /// End, with an exit code.
    End(u8),
}

/// Makes this process rank 0 of a job: from now on the others take part in its trainings. Once per process.
/// `traffic` counts what this process sends.
pub fn lead(reduce: Arc<dyn Reduce>, traffic: fn() -> Traffic) {
    let _ = LEADER.set(reduce);
    let _ = TRAFFIC.set(traffic);
}

/// Ends the other ranks with an exit code. Rank 0 says so when none is in a training.
pub fn dismiss(ranks: &dyn Reduce, exit: u8) {
    say(ranks, &Word::End(exit));
}

/// Whether the other ranks are in the middle of a training.
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
    run: Training<&'p Network>,
    last: u64,
) -> Result<Training<&'p Network>> {
    if !plan.settings().training.shards {
        return Err(Error::unfit(
            plan.name(),
            "this training was started without `training.shards`, so on several ranks it would not continue to the same \
             bits: resume it without mpirun, or start it again with mpirun",
        ));
    }
    let Some(state) = run.whole_state().map(Cow::into_owned) else { return Ok(run) };
    drop(run);
    let mut saved = Vec::new();
    checkpoint::write(&state, (0, [0; 32]), [0; 32], &mut saved)
        .map_err(|error| Error::unfit(plan.name(), error.to_string()))?;
    let (name, problem) = (plan.name().to_string(), plan.spec().to_toml());
    BUSY.store(true, Ordering::SeqCst);
    say(&**ranks, &Word::Train { name, problem, state: saved, last });
    let divided = plan.in_shards(ranks)?;
    let learner = divided.learner(plan.seed());
    Ok(learner.resume(divided.train(), plan.model(), state)?)
}

/// Takes part in the trainings of rank 0 until it ends; its exit code. `known` is a plan that it will probably ask for.
///
/// # Errors
/// A problem or data that are not the same as on rank 0.
pub fn follow(ranks: &Arc<dyn Reduce>, known: Option<Plan>, interrupt: &Interrupt) -> Result<u8> {
    let mut known = known;
    loop {
        let mut message = Vec::new();
        ranks.broadcast(0, &mut message);
        let damaged =
            |reason: String| Error::Damaged { path: "a message of rank 0".into(), reason };
        match postcard::from_bytes(&message).map_err(|error| damaged(error.to_string()))? {
            Word::End(exit) => return Ok(exit),
            Word::Train { name, problem, state, last } => {
                let plan = match known.take().filter(|plan| plan.spec().to_toml() == problem) {
                    Some(plan) => plan,
                    None => Plan::check(&ProblemSource::new(name, problem))?,
                };
                let state = Checkpoint::from_bytes(&state).map_err(|e| damaged(e.to_string()))?;
                train(ranks, plan, state.state, last, interrupt)?;
            }
        }
    }
}

/// Trains as rank 0 does, and keeps nothing: during the training, of the data, the rows of this rank.
fn train(
    ranks: &Arc<dyn Reduce>,
    plan: Plan,
    state: State<f32>,
    last: u64,
    interrupt: &Interrupt,
) -> Result<()> {
    let divided = plan.in_shards(ranks)?.of_own_rows();
    let learner = divided.learner(plan.seed());
    let (problem, model) = (divided.train().clone(), plan.model().clone());
    drop((plan, divided));
    let mut run = learner.resume(&problem, model, state)?;
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

//! The program as one of several ranks that `mpirun` has started.
//!
//! Rank 0 is the program as it is. The others help it to train, print nothing unless they fail, and end when it ends, with
//! the same exit code. Built without the feature `mpi`, the program refuses to be one of several.

#[cfg(feature = "mpi")]
mod line;
#[cfg(all(feature = "mpi", unix))]
mod supervisor;
#[cfg(feature = "mpi")]
mod world;

use feasible_run::JobPart;

use crate::arguments::Command;
use crate::exit::{Exit, Failure, Result};
use crate::terminal::Terminal;

/// The number that a launcher has put into the first of some variables of the environment.
fn number(names: &[&str]) -> Option<usize> {
    names.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// How many ranks a launcher of MPI programs has started; `None` if none has.
fn launched() -> Option<usize> {
    number(&["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"])
}

/// Which of them this process is.
fn rank() -> Option<usize> {
    number(&["OMPI_COMM_WORLD_RANK", "PMI_RANK"])
}

#[cfg(all(feature = "mpi", unix))]
pub use supervisor::supervise;

/// Watches over a rank, where this process has started one: how it ended.
#[cfg(not(all(feature = "mpi", unix)))]
pub fn supervise() -> Option<std::process::ExitCode> {
    None
}

/// Whether the program is one of several ranks, or the one rank of a job, and can train on them.
pub fn is_launched() -> bool {
    cfg!(feature = "mpi") && launched().is_some()
}

/// Whether there are other ranks.
pub fn are_several() -> bool {
    launched().is_some_and(|ranks| ranks > 1)
}

/// Whether ranks share out the trainings of a command, each a part of them, instead of dividing one.
#[cfg(feature = "mpi")]
fn shares(command: &Command) -> bool {
    match command {
        Command::Sweep(_) | Command::Tune(_) => true,
        Command::Fit(of) => of.seeds.is_some_and(|n| n > 1) || crate::command::fit::is_ladder(of),
        _ => false,
    }
}

/// Joins the other ranks, if there are any. Does all that a rank other than 0 has to do; then, how it ends.
#[cfg(not(feature = "mpi"))]
pub fn join(_: &Command, _: &mut Terminal) -> Result<Option<Exit>> {
    if !are_several() {
        return Ok(None);
    }
    match rank() {
        None | Some(0) => Err(Failure::input(
            "this program was built without MPI, so every rank would train by itself: build it with `cargo build --release \
             -p feasible-cli --features mpi`, or start it without mpirun",
        )),
        Some(_) => Ok(Some(Exit::Input)),
    }
}

/// Ends with the other ranks.
#[cfg(not(feature = "mpi"))]
pub fn leave(exit: Exit) -> Exit {
    exit
}

/// The part of this rank, where ranks share out the trainings of a command.
#[cfg(not(feature = "mpi"))]
pub fn share() -> Option<JobPart> {
    None
}

/// The ranks that share out the trainings of a command.
#[cfg(not(feature = "mpi"))]
pub fn all_that_share() -> Option<std::sync::Arc<dyn feasible::Reduce>> {
    None
}

/// Waits until every rank has done its part. Whether this is the rank that joins the parts.
#[cfg(not(feature = "mpi"))]
pub fn meet() -> bool {
    true
}

#[cfg(feature = "mpi")]
pub use joined::{all_that_share, join, leave, let_connect, meet, share};

#[cfg(feature = "mpi")]
mod joined {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, OnceLock};
    use std::thread;
    use std::time::Duration;

    use feasible::Reduce;
    use feasible_run::ranks;

    use super::world::World;
    use super::{Command, Exit, Failure, JobPart, Result, Terminal, launched, shares};
    use crate::arguments::{FitArguments, SweepArguments, TuneArguments};
    use crate::interrupt;
    use crate::terminal::error;

    /// Seconds without an answer after which a rank is lost, if the environment does not say.
    const PATIENCE: f64 = 60.0;

    static WORLD: OnceLock<Arc<World>> = OnceLock::new();
    static JOINING: AtomicBool = AtomicBool::new(false);
    static PART: OnceLock<JobPart> = OnceLock::new();

    /// The part of this rank, where ranks share out the trainings of a command.
    pub fn share() -> Option<JobPart> {
        PART.get().copied()
    }

    /// The ranks that share out the trainings of a command.
    pub fn all_that_share() -> Option<Arc<dyn Reduce>> {
        let world = WORLD.get().filter(|_| PART.get().is_some())?;
        Some(world.clone())
    }

    /// Waits a little if this rank is connecting to its launcher: Open MPI 4.1 may crash or hang where a rank ends halfway.
    pub fn let_connect() {
        if JOINING.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(300));
        }
    }

    /// Waits until every rank has done its part. Whether this is the rank that joins the parts.
    pub fn meet() -> bool {
        match WORLD.get() {
            Some(world) if world.worker() > 0 => {
                world.send(0, &[]);
                false
            }
            Some(world) => {
                (1..world.workers()).for_each(|rank| drop(world.receive(rank)));
                true
            }
            None => true,
        }
    }

    /// Joins the other ranks, if there are any. Does all that a rank other than 0 has to do; then, how it ends.
    pub fn join(command: &Command, terminal: &mut Terminal) -> Result<Option<Exit>> {
        if launched().is_none() {
            return Ok(None);
        }
        let lost = |sentence: &str| error(sentence, Exit::Internal);
        let patience = patience()?;
        JOINING.store(true, Ordering::SeqCst);
        let joined = World::join(patience, lost);
        JOINING.store(false, Ordering::SeqCst);
        let world = joined
            .map_err(|error| Failure::internal(format!("cannot join the other ranks: {error}")))?;
        let world = WORLD.get_or_init(|| world);
        // Rank 0 decides, because others need not see the problem file.
        let mut shared = vec![u8::from(world.worker() == 0 && shares(command))];
        world.broadcast(0, &mut shared);
        if shared == [1] {
            let part = JobPart::new(world.worker() + 1, world.workers());
            let _ = part.map(|part| PART.set(part));
            terminal.quiet |= world.worker() > 0;
            let (Command::Sweep(SweepArguments { output, part, .. })
            | Command::Fit(FitArguments { output, part, .. })
            | Command::Tune(TuneArguments { output, part, .. })) = command
            else {
                return Ok(None);
            };
            let wrong = match (output, part) {
                _ if world.workers() == 1 => None,
                (None, _) => {
                    Some("--output: the ranks need a directory to meet in: give one with -o DIR")
                }
                (_, Some(_)) => Some("--part: the ranks share out the trainings: leave it out"),
                (Some(_), None) => None,
            };
            return match (wrong, world.worker()) {
                (None, _) => Ok(None),
                (Some(sentence), 0) => Err(Failure::input(sentence)),
                (Some(_), _) => Ok(Some(Exit::Input)),
            };
        }
        if world.worker() > 0 {
            return Ok(Some(follow(world)));
        }
        match command {
            Command::Fit(_) | Command::Resume(_) => {
                let traffic = || WORLD.get().map(|world| world.traffic()).unwrap_or_default();
                ranks::lead(world.clone(), traffic);
            }
            _ if world.workers() > 1 => {
                terminal.note(
                    "only `fit`, `resume`, `sweep` and `tune` use all ranks: this runs on rank 0 alone",
                );
            }
            _ => {}
        }
        Ok(None)
    }

    /// Trains along with rank 0 until it ends.
    fn follow(world: &Arc<World>) -> Exit {
        let interrupt = interrupt::follow();
        let reduce: Arc<dyn Reduce> = world.clone();
        match ranks::follow(&reduce, &interrupt) {
            Ok(exit) => {
                interrupt::leave();
                world.leave();
                Exit::of_code(exit)
            }
            Err(failed) => {
                let failure = Failure::from(failed);
                error(&format!("rank {}: {}", world.worker(), failure.message()), failure.exit());
                world.abort(failure.exit() as i32)
            }
        }
    }

    /// Ends with the other ranks: when all have done their part, or at once if they are in the middle of a training.
    pub fn leave(exit: Exit) -> Exit {
        interrupt::leave();
        if let Some(world) = WORLD.get().filter(|_| PART.get().is_some()) {
            match exit {
                Exit::Met | Exit::NotMet => world.leave(),
                // The others may wait for this one.
                _ => world.abort(exit as i32),
            }
        } else if let Some(world) = WORLD.get().filter(|world| world.worker() == 0) {
            if ranks::are_busy() {
                world.abort(exit as i32);
            }
            ranks::dismiss(&**world, exit as u8);
            world.leave();
        }
        exit
    }

    /// How long a rank may not answer before it is lost.
    fn patience() -> Result<Duration> {
        const NAME: &str = "FEASIBLE_RANK_TIMEOUT";
        let Some(text) = std::env::var_os(NAME).filter(|text| !text.is_empty()) else {
            return Ok(Duration::from_secs_f64(PATIENCE));
        };
        let text = text.to_string_lossy();
        let seconds = text.parse().ok().filter(|seconds| (1.0..=1e6).contains(seconds));
        let wrong =
            || Failure::input(format!("{NAME}={text}: is a number of seconds, from 1 to 1e6"));
        seconds.map(Duration::from_secs_f64).ok_or_else(wrong)
    }
}

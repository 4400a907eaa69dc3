//! The process that a launcher starts watches over the one that works.
//!
//! A process that is killed cannot say so, and a launcher has its own words and its own exit codes. So the program starts itself once more, as its
//! child, which is the rank: what MPI needs to know is in the environment, which it inherits. The process above it passes signals and the exit code
//! on. If the rank was killed, it says which one that was and ends with 3, upon which the launcher ends the others. If it is killed itself, the rank is
//! too, and the launcher says so in its way.

use std::os::unix::process::{CommandExt, ExitStatusExt, parent_id};
use std::process::{Child, Command, ExitCode, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCHLD, SIGKILL};
use signal_hook::iterator::Signals;
use signal_hook::low_level::signal_name;

use super::{launched, number, rank};
use crate::exit::Exit;
use crate::interrupt::not_ignored;
use crate::terminal::error;

/// Tells the rank, by its number, which process watches over it.
const SUPERVISOR: &str = "FEASIBLE_SUPERVISOR";

/// Watches over a rank, if a launcher has started this process to be one: how it ended. `None` where this process does the work.
pub fn supervise() -> Option<ExitCode> {
    let ranks = launched()?;
    if let Some(supervisor) = number(&[SUPERVISOR]) {
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
        let gone = parent_id() as usize != supervisor;
        return gone.then(|| Exit::Internal.into());
    }
    // A rank that cannot be watched over works all the same.
    let mut signals = Signals::new(not_ignored().into_iter().chain([SIGCHLD])).ok()?;
    let mut words = std::env::args_os();
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.arg0(words.next()?).args(words).env(SUPERVISOR, std::process::id().to_string());
    let mut child = command.spawn().ok()?;
    let (status, told) = wait(&mut child, &mut signals)?;
    Some(match (status.code(), status.signal()) {
        (Some(code), _) => ExitCode::from(code as u8),
        (None, Some(signal)) if !told => {
            error(&sentence(rank().unwrap_or(0), ranks, signal), Exit::Internal);
            Exit::Internal.into()
        }
        _ => Exit::Interrupted.into(),
    })
}

/// Passes signals on until the rank has ended: how, and whether it was told to.
fn wait(child: &mut Child, signals: &mut Signals) -> Option<(ExitStatus, bool)> {
    let mut told = false;
    // It may have ended before signals were looked at, so the list of them begins with one.
    for signal in std::iter::once(SIGCHLD).chain(signals.forever()) {
        if signal != SIGCHLD {
            told = true;
            let named = Signal::from_named_raw(signal);
            named.map(|signal| kill_process(Pid::from_child(child), signal));
        } else if let Some(status) = child.try_wait().ok()? {
            return Some((status, told));
        }
    }
    None
}

/// What is said of a rank that was killed.
fn sentence(rank: usize, ranks: usize, signal: i32) -> String {
    let name = signal_name(signal).map(|name| format!(" ({name})")).unwrap_or_default();
    let why = if signal == SIGKILL { ", as a system does that runs out of memory" } else { "" };
    format!(
        "rank {rank} of {ranks} was killed by signal {signal}{name}{why}. All ranks end; `feasible resume` continues from the \
         last checkpoint, on any number of ranks"
    )
}

//! Ctrl-C: the first one saves and stops, the second one quits at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use feasible_run::Interrupt;

use crate::exit::Exit;
use crate::progress::Progress;

/// Raises the returned flag on SIGINT and SIGTERM (Ctrl-C elsewhere).
///
/// Before a training has begun there is nothing to save, so the program ends there and then.
pub fn on_signal(progress: &Arc<Progress>) -> Interrupt {
    let interrupt = Interrupt::new();
    let (flag, progress) = (interrupt.clone(), progress.clone());
    let again = AtomicBool::new(false);
    let handler = move || {
        if again.swap(true, Ordering::SeqCst) || !progress.has_begun() {
            progress.clear();
            std::process::exit(Exit::Interrupted as i32);
        }
        progress.note("stopping and saving; press Ctrl-C again to quit at once");
        flag.raise();
    };
    // Without a handler the system ends the program, which is as resumable as kill -9.
    let _ = ctrlc::set_handler(handler);
    interrupt
}

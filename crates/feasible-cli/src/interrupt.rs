//! Ctrl-C, SIGTERM, SIGHUP, SIGXCPU and SIGXFSZ end the program within a second, whatever it is doing.
//!
//! | when | what happens |
//! | --- | --- |
//! | nothing listens, or no training has begun | it ends at once |
//! | work [`listen`]s | it is told to stop, and has [`GRACE`] to save; then the program ends in any case |
//! | a second signal | it ends at once |
//!
//! Files are replaced whole, so no moment is a wrong one to end at. The clock that ends the program is
//! started before anything is printed: a terminal that takes no more text holds nothing up. SIGXFSZ comes with a
//! write that fails: who wrote has [`FAILED_WRITE`] to say which file it was and end the program with 3. A signal that
//! the caller chose to ignore before starting the program (`nohup`) stays ignored where the system says so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use feasible_run::Interrupt;

use crate::exit::Exit;
use crate::progress::Progress;
use crate::terminal::error;

/// How long work has to stop and save.
const GRACE: Duration = Duration::from_millis(700);
/// How long a write that failed at the limit of file sizes has to be reported.
const FAILED_WRITE: Duration = Duration::from_millis(100);
/// How long the last message has to be printed.
const LAST_WORDS: Duration = Duration::from_millis(150);

/// What listens.
struct Work {
    flag: Interrupt,
    progress: Arc<Progress>,
    /// What to say if it had to be ended: what is kept, and how it is resumed.
    kept: Arc<dyn Fn() -> String + Send + Sync>,
}

static WORK: Mutex<Option<Work>> = Mutex::new(None);
#[cfg(feature = "mpi")]
static FOLLOWS: std::sync::OnceLock<Interrupt> = std::sync::OnceLock::new();
static RAISED: AtomicBool = AtomicBool::new(false);
#[cfg(feature = "mpi")]
static LEAVES: AtomicBool = AtomicBool::new(false);
#[cfg(feature = "mpi")]
static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
/// In this time a launcher, and the process that watches over a rank, pass the same signal on.
#[cfg(feature = "mpi")]
const TWICE: Duration = Duration::from_millis(200);

/// From now on signals end the program as the [module](self) says.
pub fn watch() {
    // Without a handler the system ends the program, which is as resumable as kill -9.
    #[cfg(unix)]
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(not_ignored()) {
        let _ = thread::Builder::new().spawn(move || {
            for signal in signals.forever() {
                if signal == signal_hook::consts::SIGXFSZ {
                    thread::sleep(FAILED_WRITE);
                }
                raised();
            }
        });
    }
    #[cfg(not(unix))]
    let _ = ctrlc::set_handler(raised);
}

/// The signals that end the program; not a hangup that `nohup` told the system to ignore, nor a limit that
/// the caller did.
#[cfg(unix)]
pub fn not_ignored() -> Vec<i32> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let ignored = |signal: &i32| mask >> (signal - 1) & 1 == 1;
    let respected = [SIGHUP, SIGXCPU, SIGXFSZ].into_iter().filter(|signal| !ignored(signal));
    [SIGINT, SIGTERM].into_iter().chain(respected).collect()
}

/// A flag that a signal raises; `kept` says what is kept of the work if it does not stop in time.
pub fn listen(
    progress: &Arc<Progress>,
    kept: impl Fn() -> String + Send + Sync + 'static,
) -> Interrupt {
    let flag = Interrupt::new();
    let work = Work { flag: flag.clone(), progress: progress.clone(), kept: Arc::new(kept) };
    *WORK.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
    if RAISED.load(Ordering::SeqCst) {
        flag.raise();
    }
    flag
}

/// A flag that a signal raises on a rank that follows another: that one says what is kept.
#[cfg(feature = "mpi")]
pub fn follow() -> Interrupt {
    let flag = FOLLOWS.get_or_init(Interrupt::new).clone();
    if RAISED.load(Ordering::SeqCst) {
        flag.raise();
    }
    flag
}

/// From now on a signal changes nothing: this rank has said how it ends. A launcher tells those to end that leave last.
#[cfg(feature = "mpi")]
pub fn leave() {
    LEAVES.store(true, Ordering::SeqCst);
}

fn raised() {
    #[cfg(feature = "mpi")]
    if LEAVES.load(Ordering::SeqCst) {
        return;
    }
    #[cfg(feature = "mpi")]
    if FIRST.get().is_some_and(|first| crate::ranks::is_launched() && first.elapsed() < TWICE) {
        return;
    }
    #[cfg(feature = "mpi")]
    FIRST.get_or_init(std::time::Instant::now);
    if RAISED.swap(true, Ordering::SeqCst) {
        end();
    }
    #[cfg(feature = "mpi")]
    if let Some(flag) = FOLLOWS.get() {
        flag.raise();
        let _ = thread::Builder::new().spawn(|| {
            thread::sleep(2 * GRACE);
            end();
        });
        return;
    }
    let clock = thread::Builder::new().spawn(|| {
        thread::sleep(GRACE + LAST_WORDS);
        end();
    });
    let work = WORK.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(Work { flag, progress, kept }) = work.filter(|_| clock.is_ok()) else {
        error("interrupted", Exit::Interrupted);
        end();
    };
    if !progress.has_begun() {
        error(&kept(), Exit::Interrupted);
        end();
    }
    flag.raise();
    let shown = progress.clone();
    let _ = thread::Builder::new().spawn(move || {
        thread::sleep(GRACE);
        progress.clear();
        error(&kept(), Exit::Interrupted);
        end();
    });
    shown.note("stopping; press Ctrl-C again to quit at once");
}

fn end() -> ! {
    #[cfg(feature = "mpi")]
    crate::ranks::let_connect();
    std::process::exit(Exit::Interrupted as i32)
}

//! Workers on several machines: [`Reduce`] over MPI.
//!
//! MPI is used by the thread that trains. While that one computes, another thread answers whether the rank is there; while it waits for
//! another rank, it answers that itself, and whom it waits for. A rank that waits for another asks it after half the
//! time-out. If that one waits itself, the question goes to the rank that it waits for; if it works, waiting continues, however long the work takes. A rank
//! that does not answer for the other half of the time-out is lost: its machine, its network or its process. Then the whole job ends with a sentence
//! that names it, and exit code 3.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use feasible::Reduce;
use feasible_run::metrics::Traffic;

use super::line::Line;

/// How a job ends that has lost a rank.
pub const LOST: i32 = 3;
/// How long questions of other ranks may wait while this one works.
const NAP: Duration = Duration::from_millis(5);

/// The ranks of a job, and which of them this process is. There is one per process.
pub struct World {
    rank: usize,
    ranks: usize,
    line: Arc<Mutex<Line>>,
    lost: Arc<Lost>,
    messages: AtomicU64,
    bytes: AtomicU64,
    /// In nanoseconds.
    waited: AtomicU64,
}

/// Is told which rank was lost.
pub(super) type Lost = dyn Fn(&str) + Send + Sync;

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank, self.ranks)
    }
}

impl World {
    /// Joins the other ranks. `lost` is told the sentence with which a job ends that has lost a rank: one that does not
    /// answer for the time `patience`. Called by the thread that leaves them.
    ///
    /// # Errors
    /// A thread that cannot be started, MPI that cannot be, or a second call.
    pub fn join(
        patience: Duration,
        lost: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<Arc<Self>> {
        let lost: Arc<Lost> = Arc::new(lost);
        let line = Line::open(patience, lost.clone());
        let line = line.ok_or_else(|| io::Error::other("MPI cannot be initialised"))?;
        let [rank, ranks] = line.place();
        let line = Arc::new(Mutex::new(line));
        let shared = line.clone();
        thread::Builder::new().name("mpi".into()).spawn(move || answer(&shared))?;
        let [messages, bytes, waited] = Default::default();
        Ok(Arc::new(Self { rank, ranks, line, lost, messages, bytes, waited }))
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what may wait for another rank.
    fn waiting<T>(&self, work: impl FnOnce(&mut Line) -> T) -> T {
        let began = Instant::now();
        let done = work(&mut self.line());
        self.waited.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        done
    }

    /// What was sent from here, and how long sending and receiving took, so far.
    pub fn traffic(&self) -> Traffic {
        let [messages, bytes, waited] =
            [&self.messages, &self.bytes, &self.waited].map(|count| count.load(Ordering::Relaxed));
        Traffic { messages, bytes, waited: waited as f64 / 1e9 }
    }

    /// Leaves MPI, after the last message; waits for the others to do the same.
    pub fn leave(&self) {
        self.line().close();
    }

    /// Ends all ranks with an exit code.
    pub fn abort(&self, code: i32) -> ! {
        self.line().abort(code)
    }
}

impl Reduce for World {
    fn workers(&self) -> usize {
        self.ranks
    }

    fn worker(&self) -> usize {
        self.rank
    }

    fn send(&self, to: usize, message: &[u8]) {
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(message.len() as u64, Ordering::Relaxed);
        self.waiting(|line| line.send(to, message));
    }

    fn receive(&self, from: usize) -> Vec<u8> {
        self.waiting(|line| line.receive(from))
    }

    fn fail(&self, why: &str) -> ! {
        (self.lost)(why);
        self.abort(LOST)
    }
}

/// Answers other ranks while this one works.
fn answer(line: &Mutex<Line>) {
    loop {
        thread::sleep(NAP);
        match line.try_lock() {
            Ok(line) if line.is_closed() => return,
            Ok(line) => line.answer(None),
            // The thread that waits answers by itself.
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Poisoned(_)) => return,
        }
    }
}

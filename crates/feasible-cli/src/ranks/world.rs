//! Workers on several machines: [`Reduce`] over MPI.
//!
//! MPI belongs to one thread of each rank, which also answers, at any time, whether the rank is there and whom it
//! waits for. A rank that waits for another asks it after half the time-out. If that one waits itself, the question goes to
//! the rank that it waits for; if it works, waiting continues, however long the work takes. A rank that does not answer for
//! the other half of the time-out is lost: its machine, its network or its process. Then the whole job ends with a sentence
//! that names it, and exit code 3.

use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use feasible::Reduce;

use super::line::Line;

/// How a job ends that has lost a rank.
pub const LOST: i32 = 3;

/// The ranks of a job, and which of them this process is. There is one per process.
pub struct World {
    rank: usize,
    ranks: usize,
    /// To the thread that has MPI, and back.
    line: Mutex<(Sender<Order>, Receiver<Vec<u8>>)>,
    lost: Arc<Lost>,
}

/// Is told which rank was lost.
pub(super) type Lost = dyn Fn(&str) + Send + Sync;

/// What the thread that has MPI is to do.
enum Order {
    Send(usize, Vec<u8>),
    Receive(usize),
    Leave,
    Abort(i32),
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank, self.ranks)
    }
}

impl World {
    /// Joins the other ranks. `lost` is told the sentence with which a job ends that has lost a rank: one that does not
    /// answer for the time `patience`.
    ///
    /// # Errors
    /// A thread that cannot be started, MPI that cannot be, or a second call.
    pub fn join(
        patience: Duration,
        lost: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<Arc<Self>> {
        let lost: Arc<Lost> = Arc::new(lost);
        let (orders, to_do) = channel();
        let (answer, answers) = channel();
        let told = lost.clone();
        thread::Builder::new().name("mpi".into()).spawn(move || {
            if let Some(line) = Line::open(patience, told) {
                let _ = answer.send(line.place());
                serve(line, &to_do, &answer);
            }
        })?;
        let place = answers.recv().map_err(|_| io::Error::other("MPI cannot be initialised"))?;
        let [rank, ranks] = [0, 4].map(|at| {
            let bytes = place[at..at + 4].try_into().unwrap_or_default();
            u32::from_le_bytes(bytes) as usize
        });
        Ok(Arc::new(Self { rank, ranks, line: Mutex::new((orders, answers)), lost }))
    }

    /// Gives an order and waits until it is done.
    fn order(&self, order: Order) -> Vec<u8> {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let given = line.0.send(order);
        // The answer often comes within microseconds, sooner than a sleeping thread wakes.
        for _ in 0..SPINS {
            match line.1.try_recv() {
                Ok(answer) => return answer,
                Err(TryRecvError::Empty) => thread::yield_now(),
                Err(TryRecvError::Disconnected) => break,
            }
        }
        match given.ok().and_then(|()| line.1.recv().ok()) {
            Some(answer) => answer,
            None => std::process::exit(LOST),
        }
    }

    /// Leaves MPI, after the last message; waits for the others to do the same.
    pub fn leave(&self) {
        self.order(Order::Leave);
    }

    /// Ends all ranks with an exit code.
    pub fn abort(&self, code: i32) -> ! {
        self.order(Order::Abort(code));
        std::process::exit(code)
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
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        // Without an answer: what is sent next, or waited for, comes after it.
        if line.0.send(Order::Send(to, message.to_vec())).is_err() {
            std::process::exit(LOST);
        }
    }

    fn receive(&self, from: usize) -> Vec<u8> {
        self.order(Order::Receive(from))
    }

    fn fail(&self, why: &str) -> ! {
        (self.lost)(why);
        self.abort(LOST)
    }
}

/// Looks for something to do this often before it sleeps.
const SPINS: usize = 200;
/// How long questions of other ranks may wait while this one works.
const NAP: Duration = Duration::from_millis(5);

/// Does what it is ordered to, and answers other ranks in between.
fn serve(mut line: Line, orders: &Receiver<Order>, answer: &Sender<Vec<u8>>) {
    loop {
        let quick = (0..SPINS).find_map(|_| match orders.try_recv() {
            Ok(order) => Some(order),
            Err(_) => {
                thread::yield_now();
                None
            }
        });
        let order = match quick.map_or_else(|| orders.recv_timeout(NAP), Ok) {
            Ok(order) => order,
            Err(RecvTimeoutError::Timeout) => {
                line.answer(None);
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let done = match order {
            Order::Send(to, message) => {
                line.send(to, &message);
                continue;
            }
            Order::Receive(from) => line.receive(from),
            Order::Leave => {
                drop(line);
                let _ = answer.send(Vec::new());
                return;
            }
            Order::Abort(code) => line.abort(code),
        };
        if answer.send(done).is_err() {
            return;
        }
    }
}

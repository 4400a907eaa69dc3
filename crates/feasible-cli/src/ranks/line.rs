//! Messages between two ranks, none of which is waited for without end.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use mpi::Threading;
use mpi::datatype::Equivalence;
use mpi::environment::Universe;
use mpi::point_to_point::{Destination, Source};
use mpi::request::{Request, Scope, scope};
use mpi::topology::{Communicator, SimpleCommunicator};

use super::world::{LOST, Lost};

/// Messages of a training.
const DATA: i32 = 1;
/// "Are you there?"
const QUESTION: i32 = 2;
/// "I am, and wait for …"
const ANSWER: i32 = 3;
/// The most bytes of one message of MPI, whose lengths are 32-bit numbers; longer ones are cut.
const PART: usize = 1 << 30;
/// How long a message is looked for without a rest.
const SOON: Duration = Duration::from_millis(2);
/// What a rank answers that waits for no one.
const WORKS: i32 = -1;

/// MPI, which one thread at a time has.
pub(super) struct Line {
    patience: Duration,
    lost: Arc<Lost>,
    /// Leaves MPI when it is dropped.
    universe: Option<Universe>,
}

/// All ranks.
fn world() -> SimpleCommunicator {
    SimpleCommunicator::world()
}

impl Line {
    /// Initialises MPI, which can be done once. `None` if it cannot be, or cannot be used by one thread after another.
    pub(super) fn open(patience: Duration, lost: Arc<Lost>) -> Option<Self> {
        let (universe, threading) = mpi::initialize_with_threading(Threading::Serialized)?;
        let usable = threading >= Threading::Serialized;
        usable.then_some(Self { patience, lost, universe: Some(universe) })
    }

    /// Which rank this is, and of how many.
    pub(super) fn place(&self) -> [usize; 2] {
        [world().rank(), world().size()].map(|n| n as usize)
    }

    /// Whether MPI was left.
    pub(super) fn is_closed(&self) -> bool {
        self.universe.is_none()
    }

    /// Leaves MPI.
    pub(super) fn close(&mut self) {
        self.universe = None;
    }

    /// Sends a message. The last part of it is the one that is not full.
    pub(super) fn send(&mut self, to: usize, message: &[u8]) {
        let world = world();
        let process = world.process_at_rank(to as i32);
        for part in
            message.chunks(PART).chain(message.len().is_multiple_of(PART).then_some(&[][..]))
        {
            scope(|scope| {
                let request = process.immediate_send_with_tag(scope, part, DATA);
                self.finish(request, to);
            });
        }
    }

    /// Waits for a message.
    pub(super) fn receive(&mut self, from: usize) -> Vec<u8> {
        let mut whole = self.receive_part(from);
        let mut last = whole.len();
        while last == PART {
            let mut part = self.receive_part(from);
            last = part.len();
            whole.append(&mut part);
        }
        whole
    }

    fn receive_part(&mut self, from: usize) -> Vec<u8> {
        let world = world();
        let process = world.process_at_rank(from as i32);
        let mut wait = Wait::new(self, from);
        let (message, status) = loop {
            match process.immediate_matched_probe_with_tag(DATA) {
                Some(found) => break found,
                None => wait.look_around(),
            }
        };
        let mut part = vec![0_u8; status.count(u8::equivalent_datatype()) as usize];
        scope(|scope| {
            let request = message.immediate_matched_receive_into(scope, &mut part[..]);
            self.finish(request, from);
        });
        part
    }

    /// Waits for a transfer to or from a rank.
    fn finish<'a, D: ?Sized, S: Scope<'a>>(&self, mut request: Request<'a, D, S>, with: usize) {
        let mut wait = Wait::new(self, with);
        while let Err(unfinished) = request.test() {
            request = unfinished;
            wait.look_around();
        }
    }

    /// Tells ranks that ask whom this one waits for.
    pub(super) fn answer(&self, waits_for: Option<usize>) {
        let world = world();
        let anyone = world.any_process();
        while let Some(status) = anyone.immediate_probe_with_tag(QUESTION) {
            let process = world.process_at_rank(status.source_rank());
            let mut question = [0_i32];
            process.receive_into_with_tag(&mut question[..], QUESTION);
            let answer = [waits_for.map_or(WORKS, |rank| rank as i32)];
            process.send_with_tag(&answer[..], ANSWER);
        }
    }

    pub(super) fn abort(&self, code: i32) -> ! {
        world().abort(code)
    }
}

/// A rank waits for another.
struct Wait<'l> {
    line: &'l Line,
    peer: usize,
    began: Instant,
    /// Who is asked, and since when.
    asked: Option<(usize, Instant)>,
    /// When someone last answered, or waiting began.
    heard: Instant,
    hops: usize,
}

impl<'l> Wait<'l> {
    fn new(line: &'l Line, peer: usize) -> Self {
        let now = Instant::now();
        Self { line, peer, began: now, asked: None, heard: now, hops: 0 }
    }

    /// Between two looks at what is waited for: answers others, asks them, rests.
    fn look_around(&mut self) {
        let now = Instant::now();
        // What comes soon is not to be kept waiting by questions, nor by a thread that wakes late.
        if now - self.began < SOON {
            thread::yield_now();
            return;
        }
        self.line.answer(Some(self.peer));
        self.hear();
        let half = self.line.patience / 2;
        match self.asked {
            Some((rank, since)) if now - since > half => self.line.lose(rank, self.line.patience),
            Some(_) => {}
            None if now - self.heard > half => self.ask(self.peer),
            None => {}
        }
        let waited = now - self.began;
        thread::sleep((waited / 100).min(Duration::from_millis(2)));
    }

    fn ask(&mut self, rank: usize) {
        world().process_at_rank(rank as i32).send_with_tag(&[0_i32][..], QUESTION);
        self.asked = Some((rank, Instant::now()));
    }

    /// Takes in answers.
    fn hear(&mut self) {
        let world = world();
        let anyone = world.any_process();
        while let Some(status) = anyone.immediate_probe_with_tag(ANSWER) {
            let process = world.process_at_rank(status.source_rank());
            let mut answer = [WORKS];
            process.receive_into_with_tag(&mut answer[..], ANSWER);
            let from = status.source_rank() as usize;
            if self.asked.is_none_or(|(rank, _)| rank != from) {
                continue;
            }
            (self.asked, self.heard) = (None, Instant::now());
            let here = world.rank();
            // Whoever waits for a third is not the one who is lost.
            if answer[0] != WORKS && answer[0] != here && self.hops < world.size() as usize {
                self.hops += 1;
                self.ask(answer[0] as usize);
            } else {
                self.hops = 0;
            }
        }
    }
}

impl Line {
    /// Ends the job because a rank does not answer.
    fn lose(&self, rank: usize, after: Duration) -> ! {
        let seconds = after.as_secs_f64();
        // Others may find out at the same time. One of them is enough to say so.
        thread::sleep(Duration::from_millis(400) * world().rank().clamp(0, 5) as u32);
        (self.lost)(&format!(
            "rank {rank} of {} has not answered for {seconds} s: its process, its machine or its network is gone. All ranks \
             end; `feasible resume` continues from the last checkpoint, on any number of ranks",
            world().size()
        ));
        // What was said is on its way through the launcher, which ends with the job.
        thread::sleep(Duration::from_millis(200));
        world().abort(LOST)
    }
}

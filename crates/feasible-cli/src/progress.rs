//! Progress of trainings on standard error: a bar on a terminal, else a line now and then.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use feasible_run::{EpochMetrics, Event};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal::{Terminal, warn};

/// Steps of the bar.
const STEPS: u64 = 1000;
/// The least time between two lines; it grows with the time since the start.
const PAUSE: Duration = Duration::from_secs(1);
/// The same for an attack, whose batches are slower.
const ATTACK_PAUSE: Duration = Duration::from_secs(2);
/// At most about this many lines for each doubling of the time.
const LINES: u32 = 20;

/// Shows the progress of one or several trainings.
#[derive(Debug)]
pub struct Progress {
    trainings: usize,
    /// What the trainings are told apart by: a seed, or a trial of a search.
    each: &'static str,
    quiet: bool,
    verbose: bool,
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    start: Instant,
    /// Finished share of each training under way, by the thread that it runs on.
    under_way: HashMap<ThreadId, f64>,
    ended: usize,
    /// Trainings' worth of work that was done before this process started.
    before: f64,
    begun: bool,
    last_line: Option<Instant>,
}

impl Progress {
    /// Of this number of trainings.
    pub fn new(trainings: usize, terminal: &Terminal) -> Self {
        let bar = (terminal.is_interactive() && !terminal.quiet).then(|| {
            let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:12} {wide_msg}");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        let state = State {
            start: Instant::now(),
            under_way: HashMap::new(),
            ended: 0,
            before: 0.0,
            begun: false,
            last_line: None,
        };
        Self {
            trainings: trainings.max(1),
            each: "seed",
            quiet: terminal.quiet,
            verbose: terminal.verbose,
            bar,
            state: Mutex::new(state),
        }
    }

    /// Of this number of trainings of a search.
    pub fn of_trials(trainings: usize, terminal: &Terminal) -> Self {
        Self { each: "trial", ..Self::new(trainings, terminal) }
    }

    /// Whether a training has begun.
    pub fn has_begun(&self) -> bool {
        self.state().begun
    }

    /// Takes note of an event.
    pub fn observe(&self, event: &Event) {
        let (thread, each) = (std::thread::current().id(), self.each);
        match event {
            Event::Started { seed, epoch, epochs } => {
                let mut state = self.state();
                if !state.begun {
                    state.start = Instant::now();
                }
                state.begun = true;
                let share = share(*epoch, *epochs);
                state.before += share;
                state.under_way.insert(thread, share);
                drop(state);
                // Trials are resumed in every round.
                if *epoch > 0 && (self.each == "seed" || self.verbose) {
                    self.note(&format!("{each} {seed}: resuming after epoch {epoch}"));
                }
            }
            Event::Epoch { seed, epochs, metrics } => {
                let mut state = self.state();
                state.under_way.insert(thread, share(metrics.epoch, *epochs));
                let done = state.done(self.trainings);
                let due = self.bar.is_some() || self.verbose || state.line_is_due();
                if self.quiet || !due {
                    return;
                }
                let left = state.left(self.trainings);
                let ended = state.ended;
                drop(state);
                let text = self.line(*seed, *epochs, metrics, ended, left);
                match &self.bar {
                    Some(bar) => {
                        bar.set_message(feasible_data::visible(&text).into_owned());
                        bar.set_position((done * STEPS as f64) as u64);
                    }
                    None => warn(&text),
                }
            }
            Event::Checkpoint { seed, epoch } if self.verbose => {
                self.note(&format!("{each} {seed}: saved after epoch {epoch}"));
            }
            Event::Ended { seed, ended: how } => {
                let mut state = self.state();
                state.under_way.remove(&thread);
                state.ended += 1;
                let ended = state.ended;
                drop(state);
                if ended == self.trainings {
                    self.clear();
                }
                let of = match self.trainings {
                    1 => String::new(),
                    n => format!(" ({ended} of {n})"),
                };
                self.note(&format!("{each} {seed}: {how}{of}"));
            }
            _ => {}
        }
    }

    /// A line above the bar.
    pub fn note(&self, text: &str) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.suspend(|| warn(text)),
            None => warn(text),
        }
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn line(
        &self,
        seed: u64,
        epochs: u64,
        metrics: &EpochMetrics,
        ended: usize,
        left: Option<Duration>,
    ) -> String {
        let each = self.each;
        let mut text = match self.trainings {
            1 => String::new(),
            n => format!("{ended} of {n} trained, {each} {seed}, "),
        };
        text += &format!("epoch {}/{epochs}, ", metrics.epoch);
        if let Some(left) = left {
            text += &format!("{} left, ", shown(left));
        }
        text += &format!("objective {}", significant(metrics.objective));
        if let Some(worst) = metrics.worst() {
            let name: String = worst.name.chars().take(32).collect();
            text += &format!(", worst violation {} ({name})", significant(worst.worst_violation));
        }
        text
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The progress of an attack: a line that is written over on a terminal, else a line now and then.
#[derive(Debug)]
pub struct AttackLine {
    bar: Option<ProgressBar>,
    epsilons: usize,
    quiet: bool,
    start: Instant,
    last_line: Mutex<Instant>,
}

impl AttackLine {
    /// Of an attack at this number of ε.
    pub fn new(terminal: &Terminal, epsilons: usize) -> Self {
        let bar = (terminal.is_interactive() && !terminal.quiet).then(|| {
            let target = ProgressDrawTarget::stderr();
            let bar = ProgressBar::with_draw_target(Some(epsilons as u64), target);
            let style = ProgressStyle::with_template("{bar:12} {wide_msg}");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        let now = Instant::now();
        Self { bar, epsilons, quiet: terminal.quiet, start: now, last_line: Mutex::new(now) }
    }

    /// How many ε are done, and how many samples are attacked at the next.
    pub fn show(&self, done: usize, attacked: usize) {
        let text = || {
            let number = (done + 1).min(self.epsilons);
            format!("ε {number} of {}, {attacked} samples attacked", self.epsilons)
        };
        match &self.bar {
            Some(bar) => {
                bar.set_message(text());
                bar.set_position(done as u64);
            }
            None if self.quiet || done >= self.epsilons => {}
            None => {
                let mut last = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
                if last.elapsed() >= ATTACK_PAUSE.max(self.start.elapsed() / LINES) {
                    *last = Instant::now();
                    warn(&format!("{}, {} so far", text(), shown(self.start.elapsed())));
                }
            }
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl State {
    /// The finished share of all work.
    fn done(&self, trainings: usize) -> f64 {
        let under_way: f64 = self.under_way.values().sum();
        ((self.ended as f64 + under_way) / trainings as f64).min(1.0)
    }

    /// The time it will still take, going by the time it took so far.
    fn left(&self, trainings: usize) -> Option<Duration> {
        let done = self.done(trainings);
        let here = done - self.before / trainings as f64;
        let seconds = self.start.elapsed().as_secs_f64() * (1.0 - done) / here;
        (here > 0.0).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
    }

    fn line_is_due(&mut self) -> bool {
        let pause = PAUSE.max(self.start.elapsed() / LINES);
        let due = self.last_line.is_none_or(|last| last.elapsed() >= pause);
        if due {
            self.last_line = Some(Instant::now());
        }
        due
    }
}

fn share(epoch: u64, epochs: u64) -> f64 {
    if epochs == 0 { 0.0 } else { (epoch as f64 / epochs as f64).min(1.0) }
}

/// Three significant digits.
fn significant(x: f64) -> String {
    if x == 0.0 || (1e-3..1e4).contains(&x.abs()) {
        let digits = if x == 0.0 { 0 } else { (2 - x.abs().log10().floor() as i32).max(0) };
        format!("{x:.*}", digits as usize)
    } else {
        format!("{x:.2e}")
    }
}

/// `3 s`, `2 min 10 s`, `1 h 5 min`.
fn shown(time: Duration) -> String {
    match time.as_secs() {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_numbers_are_short() {
        let times = [0, 59, 130, 3900].map(|s| shown(Duration::from_secs(s)));
        assert_eq!(times, ["0 s", "59 s", "2 min 10 s", "1 h 5 min"]);
        let numbers = [0.0, 0.351_23, -12.345, 1e-5, 123_456.0].map(significant);
        assert_eq!(numbers, ["0", "0.351", "-12.3", "1.00e-5", "1.23e5"]);
    }

    #[test]
    fn what_was_done_before_does_not_shorten_the_time_left() {
        let now = Instant::now();
        let state = State {
            start: now.checked_sub(Duration::from_secs(10)).unwrap_or(now),
            under_way: HashMap::from([(std::thread::current().id(), 0.75)]),
            ended: 0,
            before: 0.5,
            begun: true,
            last_line: None,
        };
        // A quarter took 10 seconds, a quarter is left.
        let left = state.left(1).unwrap().as_secs_f64();
        assert!((left - 10.0).abs() < 0.5, "{left}");
    }
}

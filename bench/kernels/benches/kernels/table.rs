//! What was measured, and the table of it.

use std::time::{Duration, Instant};

use criterion::Criterion;
use feasible_bench::peak;
use feasible_nn::Level;

/// What one call does, in the unit that limits it.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Additions and multiplications.
    Flop(usize),
    /// Bytes read and written.
    Bytes(usize),
    /// Samples.
    Rows(usize),
}

struct Line {
    kernel: String,
    level: Option<Level>,
    work: Work,
    seconds: f64,
}

/// Runs kernels with criterion and remembers the fastest block of calls of each.
pub struct Measured {
    criterion: Criterion,
    peaks: Vec<(Level, f64)>,
    lines: Vec<Line>,
}

/// Calls are timed in blocks of about this time: long for the clock, and short enough that some block
/// of a run is not interrupted.
const BLOCK: Duration = Duration::from_micros(50);

impl Measured {
    pub fn new(criterion: Criterion) -> Self {
        let peaks = Level::available().into_iter().map(|l| (l, 0.0)).collect();
        let mut measured = Self { criterion, peaks, lines: Vec::new() };
        measured.measure_peaks();
        measured
    }

    /// The largest counts: the clock moves with the load of the machine, and kernels are measured
    /// when it is fast too. So this is done after every kernel.
    fn measure_peaks(&mut self) {
        for (level, gflops) in &mut self.peaks {
            *gflops = gflops.max(peak::gflops(*level));
        }
    }

    /// Times `call`; `level` is `None` for what does not depend on it.
    pub fn time(&mut self, kernel: &str, level: Option<Level>, work: Work, mut call: impl FnMut()) {
        let (mut fastest, mut block) = (f64::INFINITY, 1);
        let name = format!("{kernel}/{}", level.map_or("any", Level::name));
        self.criterion.bench_function(&name, |bencher| {
            bencher.iter_custom(|calls| {
                let (mut left, mut whole) = (calls, Duration::ZERO);
                while left > 0 {
                    let now = left.min(block);
                    let start = Instant::now();
                    for _ in 0..now {
                        call();
                    }
                    let time = start.elapsed();
                    if time >= BLOCK {
                        fastest = fastest.min(time.as_secs_f64() / now as f64);
                    } else if now == block {
                        block *= 2;
                    }
                    (left, whole) = (left - now, whole + time);
                }
                whole
            });
        });
        // Kernels that were not chosen have no time.
        if fastest.is_finite() {
            self.measure_peaks();
            self.lines.push(Line { kernel: kernel.into(), level, work, seconds: fastest });
        }
    }

    /// The table.
    pub fn print(self) {
        if self.lines.is_empty() {
            return;
        }
        let core = self.peaks.iter().map(|p| p.1).fold(0.0, f64::max);
        println!("\n{:<46} {:<9} {:>9}  {:<14} {:>9} {:>9}", "", "", "", "", "of the", "of the");
        println!(
            "{:<46} {:<9} {:>9}  {:<14} {:>9} {:>9}",
            "kernel", "level", "µs", "rate", "level's", "core's"
        );
        for (level, gflops) in &self.peaks {
            let rate = format!("{gflops:.1} GFLOP/s");
            let of_core = 100.0 * gflops / core;
            println!(
                "{:<46} {:<9} {:>9}  {rate:<14} {:>7} % {of_core:>7.1} %",
                "peak",
                level.name(),
                "",
                100
            );
        }
        // All levels of a kernel together, kernels in the order they were measured.
        let mut kernels: Vec<&str> = Vec::new();
        for line in &self.lines {
            if !kernels.contains(&line.kernel.as_str()) {
                kernels.push(&line.kernel);
            }
        }
        for kernel in kernels {
            for line in self.lines.iter().filter(|l| l.kernel == kernel) {
                self.print_line(line, core);
            }
        }
    }

    fn print_line(&self, line: &Line, core: f64) {
        let Line { kernel, level, work, seconds } = line;
        let giga = |n: usize| n as f64 / seconds / 1e9;
        let rate = match *work {
            Work::Flop(n) => format!("{:.1} GFLOP/s", giga(n)),
            Work::Bytes(n) => format!("{:.1} GB/s", giga(n)),
            Work::Rows(n) => format!("{:.1} ns a row", seconds * 1e9 / n as f64),
        };
        let shares = match (work, level) {
            (Work::Flop(n), Some(level)) => {
                let own = self.peaks.iter().find(|p| p.0 == *level).map_or(f64::NAN, |p| p.1);
                format!("{:>7.1} % {:>7.1} %", 100.0 * giga(*n) / own, 100.0 * giga(*n) / core)
            }
            _ => String::new(),
        };
        let level = level.map_or("any", Level::name);
        let text = format!("{kernel:<46} {level:<9} {:>9.2}  {rate:<14} {shares}", seconds * 1e6);
        println!("{}", text.trim_end());
    }
}

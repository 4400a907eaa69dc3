//! How much memory a training takes, and how much there may be.
//!
//! Anyone can type a large number into a problem file. Before anything is allocated from one, an estimate of what a
//! training takes is compared with a limit:
//!
//! 1. the one that was given ([`set_limit`], `--memory`);
//! 2. otherwise, on Linux, the memory that is available: `MemAvailable` of `/proc/meminfo`, or the limit of the
//!    control group if that is lower;
//! 3. elsewhere there is none.
//!
//! What is above it is an error about the problem file. What the system refuses to give in spite of it (a limit on
//! the address space, for instance) is an [`Error::Memory`], as long as it is a large buffer.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use feasible::{Model, Requirement};
use feasible_data::scratch;

use crate::clause::Clause;
use crate::data::Data;
use crate::error::{Error, Result};
use crate::network::Network;
use crate::settings::{LearnerSettings, OptimiserSettings, TrainingSettings};
use crate::spec::Keep;
use crate::text::bytes;

/// The limit that was given; 0 if none was.
static GIVEN: AtomicU64 = AtomicU64::new(0);

/// What a training takes, in bytes: an estimate that is right to a factor of about two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Table and samples, which trainings of one plan share.
    pub shared: u64,
    /// What every training takes of its own: θ, optimisers, multipliers, passes over the data.
    pub each: u64,
    /// The part of `each` that is in proportion to the number of parameters.
    pub parameters: u64,
    /// The part that is in proportion to the number of multipliers.
    pub multipliers: u64,
}

impl Estimate {
    /// With this number of trainings at once.
    pub fn total(&self, at_once: usize) -> u64 {
        self.shared.saturating_add(self.each.saturating_mul(at_once as u64))
    }
}

impl Estimate {
    /// Where [what grows with the rows](crate::store) is kept on disk: the rest, and [`BESIDE`].
    #[must_use]
    pub fn on_disk(self) -> Self {
        let each = (self.each - self.multipliers).saturating_add(BESIDE);
        Self { shared: 0, each, multipliers: 0, ..self }
    }
}

/// Short lists of a training whose long ones are on disk: pieces of a table while it is read, text of categories and files.
pub const BESIDE: u64 = 30_000_000;

/// Sets the limit for this process, instead of what the machine has available.
pub fn set_limit(bytes: u64) {
    GIVEN.store(bytes.max(1), Ordering::Relaxed);
}

/// The most memory that sizes in a problem file may ask for, if there is a limit: what was available when this was
/// first called, if none was given.
pub fn limit() -> Option<u64> {
    static FOUND: OnceLock<Option<u64>> = OnceLock::new();
    match GIVEN.load(Ordering::Relaxed) {
        0 => *FOUND.get_or_init(available),
        given => Some(given),
    }
}

/// Reads `1.5GB`, `800 MB`, `2GiB` or a number of bytes.
///
/// ```
/// use feasible_problem::memory;
/// assert_eq!(memory::parse("1.5GB"), Ok(1_500_000_000));
/// assert_eq!(memory::parse("2 MiB"), Ok(2 << 20));
/// assert!(memory::parse("much").is_err());
/// ```
///
/// # Errors
/// Other text, or less than a byte.
pub fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => f64::NAN,
    };
    let bytes = number.trim().parse().unwrap_or(f64::NAN) * unit;
    match bytes {
        1.0..1e18 => Ok(bytes as u64),
        _ => Err("write a size as a number with a unit: 800MB, 1.5GB, 2GiB".into()),
    }
}

#[cfg(target_os = "linux")]
fn available() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| of_meminfo(&text));
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let limits = group_files(&groups).into_iter();
    let group = limits.filter_map(|file| read(&file)?.trim().parse().ok()).min();
    match (machine, group) {
        (Some(machine), Some(group)) => Some(u64::min(machine, group)),
        (machine, group) => machine.or(group),
    }
}

#[cfg(not(target_os = "linux"))]
fn available() -> Option<u64> {
    None
}

/// `MemAvailable` of `/proc/meminfo`, in bytes.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn of_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// The files with the limits of the control groups of `/proc/self/cgroup`, from each group up to the root: in version
/// 2 `memory.max`, in version 1 `memory.limit_in_bytes`. A group without a limit says `max`.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn group_files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(kinds), Some(group)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (root, name) = match kinds {
            "" => ("/sys/fs/cgroup", "memory.max"),
            kinds if kinds.split(',').any(|kind| kind == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let mut group = group.trim_end_matches('/');
        loop {
            files.push(format!("{root}{group}/{name}"));
            match group.rfind('/') {
                Some(at) => group = &group[..at],
                None => break,
            }
        }
    }
    files
}

/// How many of the trainings that are wanted fit at the same time, one at least: their results do not depend on it.
pub fn at_once(shared: u64, each: u64, wanted: usize) -> usize {
    let Some(limit) = limit() else { return wanted };
    let fit = limit.saturating_sub(shared) / each.max(1);
    wanted.min(usize::try_from(fit).unwrap_or(usize::MAX)).max(1)
}

/// What is said of a size above the limit; `None` if it is below.
pub(crate) fn too_much(needed: u64) -> Option<String> {
    let limit = limit().filter(|&limit| needed > limit)?;
    let (needed, shown) = (bytes(needed as usize), bytes(limit as usize));
    Some(match GIVEN.load(Ordering::Relaxed) {
        0 => format!(
            "training would take about {needed} of memory, and {shown} are available here: make it smaller, or \
             allow more with --memory"
        ),
        _ => format!(
            "training would take about {needed} of memory, more than the {shown} of --memory: make it smaller, or \
             allow more"
        ),
    })
}

/// Allocates this number of bytes at once, and frees them.
///
/// # Errors
/// They are not to be had.
pub(crate) fn probe(needed: u64, what: &str) -> Result<()> {
    let needed = usize::try_from(needed).unwrap_or(usize::MAX);
    reserve(&mut Vec::<u8>::new(), needed, what)
}

/// Takes memory for `count` more values.
///
/// # Errors
/// It is not to be had.
pub fn reserve<T>(list: &mut Vec<T>, count: usize, what: &str) -> Result<()> {
    let needed = count.saturating_mul(size_of::<T>());
    scratch::fallibly(|| list.try_reserve_exact(count))
        .map_err(|_| Error::Memory { what: what.into(), needed })
}

/// Output rows of a chunk of a pass, lanes of a pass, and rows of a chunk of a network for images: as in the core.
const CHUNK: usize = 512;
const LANES: usize = 16;
const WHOLE: usize = 128;

/// What a requirement on this number of rows takes: its points, the list of what its counterfactual changes, and for each
/// multiplier λ, its moments and steps, the last sound and the best one, and what is measured.
pub(crate) fn of_requirement(clause: &Clause, requirement: &Requirement, rows: usize) -> u64 {
    let points: usize = requirement.terms().iter().map(|term| term.population().points()).sum();
    let changes = if clause.change.is_some() { 24 * rows } else { 0 };
    (8 * points + changes) as u64 + of_multipliers(requirement)
}

fn of_multipliers(requirement: &Requirement) -> u64 {
    8 * 12 * requirement.multipliers() as u64
}

/// What trainings of a model take, with requirements and this number of views of x.
pub(crate) fn estimate(
    data: &Data,
    model: &Network,
    training: &TrainingSettings,
    requirements: &[(&Clause, &Requirement)],
    views: usize,
) -> Estimate {
    let parts =
        [Some(&data.train), data.validation.as_ref(), data.test.as_ref(), data.reserve.as_ref()];
    let samples: u64 = parts
        .into_iter()
        .flatten()
        .map(|samples| {
            let inputs = samples.inputs();
            let hot: usize = (0..inputs.rows()).map(|row| inputs.hot(row).len()).sum();
            4 * (inputs.rows() * (inputs.dense_columns().len() + 4) + hot) as u64
        })
        .sum();
    let multipliers: u64 = requirements.iter().map(|(_, r)| of_multipliers(r)).sum();
    let all: u64 =
        requirements.iter().map(|(clause, r)| of_requirement(clause, r, data.train.len())).sum();
    let shared =
        samples.saturating_add(data.table.bytes() as u64).saturating_add(all - multipliers);
    let p = 4 * model.parameter_count() as u64;
    let rows = data.train.len();
    let (moments, batch) = match &training.learner {
        // Twenty pairs of steps and gradients, in double precision.
        LearnerSettings::Exact(_) => (2 * 2 * 20, rows),
        LearnerSettings::FirstOrder(of) => match of.optimiser {
            OptimiserSettings::Sgd { .. } => (1, of.batch_size),
            OptimiserSettings::Adam | OptimiserSettings::AdamW => (2, of.batch_size),
        },
    };
    let exact = training.learner.first_order().is_none();
    let best = u64::from(training.keep == Keep::Best || exact);
    // θ, the last sound one, a start or solution, and the bytes of the model's file.
    let state = p.saturating_mul(moments + best + 5);
    let (lanes, output_rows) = if model.needs_whole_batch() && training.shards {
        // Each thread has a shard, or a group of an eighth of the batch, more or less.
        let some = if model.couples_rows() { batch / 4 } else { 0 };
        (training.threads.max(1), some.max(WHOLE).min(rows).saturating_mul(views))
    } else if model.needs_whole_batch() {
        let batch = batch.min(rows);
        (1, batch.max(WHOLE.min(rows)).saturating_mul(views))
    } else {
        let chunk = (CHUNK / views).max(32).min(rows.max(1));
        (rows.div_ceil(chunk).clamp(1, LANES), chunk.saturating_mul(views))
    };
    let validation = u64::from(data.validation.is_some());
    let lanes = lanes as u64 * (1 + validation);
    let passes = lanes.saturating_mul(4 * model.scratch(output_rows) as u64);
    let gradients = lanes.saturating_mul(p);
    let parameters = state.saturating_add(gradients).saturating_add(4 * model.fixed() as u64);
    let each = parameters.saturating_add(passes).saturating_add(multipliers);
    Estimate { shared, each, parameters, multipliers }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_from_the_files_of_the_kernel() {
        let text = "MemTotal:       24000000 kB\nMemFree:  100 kB\nMemAvailable:   23000000 kB\n";
        assert_eq!(of_meminfo(text), Some(23_000_000 * 1024));
        for text in ["", "MemAvailable: many kB\n", "MemAvailable: 99999999999999999999 kB\n"] {
            assert_eq!(of_meminfo(text), None, "{text}");
        }
        assert_eq!(
            group_files("0::/user.slice/job-1\n"),
            [
                "/sys/fs/cgroup/user.slice/job-1/memory.max",
                "/sys/fs/cgroup/user.slice/memory.max",
                "/sys/fs/cgroup/memory.max"
            ]
        );
        assert_eq!(
            group_files("5:cpu,memory:/a\n4:pids:/b\nbroken\n"),
            [
                "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes"
            ]
        );
    }

    #[test]
    fn sizes_are_read_with_their_unit() {
        assert_eq!(parse("1GB"), Ok(1_000_000_000));
        assert_eq!(parse(" 512 mib "), Ok(512 << 20));
        assert_eq!(parse("4096"), Ok(4096));
        for text in ["", "GB", "-1GB", "0", "1XB", "nan", "inf", "1e400GB", "99999999999999999999"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn memory_that_is_not_to_be_had_is_an_error() {
        let error = probe(u64::MAX, "θ").unwrap_err();
        assert!(matches!(error, Error::Memory { .. }), "{error}");
        assert!(!error.is_input());
    }
}

//! The files of a run directory.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek};
use std::path::Path;

use feasible_data::{Split, disk};
use feasible_problem::data::TableHash;
use feasible_problem::plan::Plan;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::sweep::SWEEP;

/// What the run directory is.
pub const README: &str = "README.txt";
/// The problem with every default filled in.
pub const PROBLEM: &str = "problem.toml";
/// Seed, versions and data hashes.
pub const RUN: &str = "run.json";
/// The rows that were trained, validated and tested on.
pub const ROWS: &str = "rows.json";
/// One line per epoch.
pub const METRICS: &str = "metrics.jsonl";
/// Clock times of the epochs.
pub const TIMINGS: &str = "timings.jsonl";
/// The state to resume from.
pub const CHECKPOINT: &str = "checkpoint.bin";
/// The trained model.
pub const MODEL: &str = "model.safetensors";
/// The final multipliers.
pub const MULTIPLIERS: &str = "multipliers.csv";
/// The results.
pub const SUMMARY: &str = "summary.json";
/// How the model does within groups, and what the data look like.
pub const GROUPS: &str = "groups.json";
/// The parameters of a model without the requirements,
pub const BASELINE_MODEL: &str = "baseline.safetensors";
/// and how it does.
pub const BASELINE: &str = "baseline.json";
/// What the rows that were trained and validated on look like.
pub const FINGERPRINTS: &str = "fingerprints.bin";
/// The seeds of a directory that holds several runs.
pub const SEEDS: &str = "seeds.json";

/// The run of a seed: this and the seed.
pub(crate) const SEED: &str = "seed-";
/// The run of a rung: this and its number.
pub(crate) const RUNG: &str = "rung-";
/// The runs of a limit of a sweep: this and the limit.
pub(crate) const LIMIT: &str = "limit-";
/// The runs that all limits of a sweep start from, where they do.
pub(crate) const START: &str = "start";

/// A trial of a search: this and its number.
pub(crate) const TRIAL: &str = "trial-";
/// What was searched, how every trial did, and which one was chosen.
pub const TUNE: &str = "tune.json";

/// The rungs of a directory that holds a ladder.
pub const LADDER: &str = "ladder.json";

/// The page about the run.
pub const REPORT: &str = "report.html";
/// Where the figures of a sweep or a reproduction are.
pub const FIGURES: &str = "figures";
/// The model card.
pub const MODEL_CARD: &str = "model-card.md";
/// Prices of the requirements, verified by solving again.
pub const SENSITIVITY: &str = "sensitivity.json";

/// Accuracy against ε, once the model was attacked: as JSON, as a table, as a drawing, and examples of images.
pub const ATTACK: [&str; 4] = ["attack.json", "attack.csv", "attack.svg", "attack.png"];
/// Images under the attack of a requirement: counts, and examples.
pub const ADVERSARY: [&str; 2] = ["adversary.json", "adversary.png"];

/// The model as a graph for other programs, once it was exported.
pub const ONNX: &str = "model.onnx";

/// The ledger of the tables on which the model is monitored.
pub const MONITOR: &str = "monitor.jsonl";

/// The most bytes that a file of a run has. What grows with the rows or the parameters is checked by its own header where it is
/// long ([`read_file`]).
fn most_bytes(name: &str) -> u64 {
    match name {
        MODEL | BASELINE_MODEL | CHECKPOINT | FINGERPRINTS | MULTIPLIERS => u64::MAX,
        ROWS => 4 << 30,
        METRICS | TIMINGS | MONITOR => 1 << 30,
        _ => 1 << 28,
    }
}

/// What is longer says how long it is before it is read.
const LONG: u64 = 1 << 26;

/// The bytes of a file of a run.
///
/// # Errors
/// As [`disk::read_inside`]; a long file that is not as long as it says, or of another content than its checksum says.
pub fn read_file(directory: &Path, name: &str) -> io::Result<Vec<u8>> {
    disk::fault("read")?;
    read_opened(disk::open_inside(&directory.join(name), OpenOptions::new().read(true))?, name)
}

/// As [`read_file`], of a file that has another name, or lies elsewhere.
pub(crate) fn read_opened(mut file: File, name: &str) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    if length > LONG && length <= most_bytes(name) {
        let stated = match name {
            CHECKPOINT => crate::checkpoint::stated_length(&mut file)?,
            MODEL | BASELINE_MODEL => crate::saved_model::stated_length(&mut file)?,
            FINGERPRINTS => crate::parse::digested_length(&mut file, length)?,
            _ => length,
        };
        if stated != length {
            let text =
                format!("it has {length} bytes, and by its content it has {stated}: restore it");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        file.rewind()?;
    }
    disk::read_within(file, most_bytes(name))
}

/// Whether a directory says that it is that of a run, or of several: by its README, or by what was to be trained.
pub fn is_run(directory: &Path) -> bool {
    let open = |name: &str| disk::open_inside(&directory.join(name), OpenOptions::new().read(true));
    let read =
        |name: &str| open(name).and_then(|file| disk::read_within(file, LONG)).unwrap_or_default();
    let is_record = |name: &&str| {
        let record: Option<Map<String, Value>> = serde_json::from_slice(&read(name)).ok();
        record.is_some_and(|of| of.contains_key("problem") || of.contains_key("design"))
    };
    let readme = read(README);
    ["A run", "Runs", "A ladder of runs", "A search", "A sweep"]
        .iter()
        .any(|what| readme.starts_with(format!("{what} of feasible").as_bytes()))
        || [RUN, SEEDS, LADDER, TUNE, SWEEP].iter().any(is_record)
}

/// Whether a run, or a report on it, writes a file of this name.
pub fn is_ours(name: &str) -> bool {
    let state = [README, PROBLEM, RUN, ROWS, FINGERPRINTS, METRICS, TIMINGS, CHECKPOINT];
    let results =
        [MODEL, MULTIPLIERS, SUMMARY, SEEDS, LADDER, REPORT, MODEL_CARD, SENSITIVITY, MONITOR];
    let later = [ONNX, TUNE, GROUPS, BASELINE, BASELINE_MODEL].contains(&name);
    let attacked = ATTACK.contains(&name) || ADVERSARY.contains(&name);
    state.contains(&name) || results.contains(&name) || attacked || later
}

pub(crate) const README_TEXT: &str = "\
A run of feasible.

problem.toml        the problem, every default filled in; `feasible fit problem.toml` runs it again
run.json            seed, versions, and the SHA-256 of every table that was read
rows.json           which rows were trained, validated and tested on (ranges of row numbers, both
                    ends included; row 0 is the first row of the first table, tables one after
                    the other)
fingerprints.bin    hashes of the rows that were trained and validated on, by which `feasible certify`
                    knows them again in other tables; keep it as private as the data
metrics.jsonl       one line per epoch
timings.jsonl       clock times of the epochs; it, and the page that shows them, are all that differs
                    between equal runs
checkpoint.bin      the state to resume from: `feasible resume` with this directory
model.safetensors   the trained model with its preprocessing and requirements: the one file to
                    hand over; its metadata entry 'feasible' is readable JSON
multipliers.csv     the final multipliers: mu of average requirements, lambda of each row of
                    pointwise ones, with violations (positive: violated)
summary.json        how training ended, accuracy, requirements and flip rates on every part
groups.json         rates within groups, with intervals; calibration, thresholds, what the data look like
baseline.json       a model of the same recipe without the requirements, if one was trained, and how it does;
                    its parameters are in baseline.safetensors
report.html         the run on one page
model-card.md       the same for those who use the model, in short
monitor.jsonl       the tables on which the model was monitored, once `feasible monitor` was called: append-only,
                    with hashes of some of their rows; keep it as private as the data
adversary.json      of images with an adversary: how many of each class are still recognised under attack; examples
                    are in adversary.png (the image, the attacked image, the difference amplified)
attack.json         accuracy against the size of attacks, once `feasible attack` was called; also as
                    attack.csv and attack.svg, and of images examples in attack.png
model.onnx          the model for other programs, once `feasible export` was called
";

/// The format of run directories that this program writes and reports on.
pub const FORMAT: u32 = 2;

/// `run.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Format version of the directory.
    pub format: u32,
    /// The version of this program.
    pub feasible: String,
    /// What the problem is called.
    pub problem: String,
    /// The seed.
    pub seed: u64,
    /// Every table that was read.
    pub tables: Vec<TableHash>,
    /// Rows in all tables.
    pub rows: usize,
    /// Number of parameters.
    pub parameters: usize,
    /// Number of multipliers.
    pub multipliers: usize,
    /// The solution that training started from, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_from: Option<String>,
}

impl RunInfo {
    pub(crate) fn of(plan: &Plan) -> Self {
        Self {
            format: FORMAT,
            feasible: env!("CARGO_PKG_VERSION").into(),
            problem: plan.name().into(),
            seed: plan.seed(),
            tables: plan.data().hashes.clone(),
            rows: plan.data().table.rows(),
            parameters: plan.parameters(),
            multipliers: plan.multipliers(),
            started_from: None,
        }
    }
}

/// `rows.json`: rows of each part as ranges, both ends included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartRows {
    /// Trained on.
    pub train: Vec<(u32, u32)>,
    /// Validated on.
    pub validation: Vec<(u32, u32)>,
    /// Tested on.
    pub test: Vec<(u32, u32)>,
    /// Kept back for a certificate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reserve: Vec<(u32, u32)>,
}

impl PartRows {
    /// Of a split, and of the rows kept back.
    pub fn of(split: &Split, reserve: &[u32]) -> Self {
        fn ranges(rows: &[u32]) -> Vec<(u32, u32)> {
            let runs = rows.chunk_by(|a, b| a + 1 == *b);
            runs.map(|run| (run[0], run[run.len() - 1])).collect()
        }
        Self {
            train: ranges(&split.train),
            validation: ranges(&split.validation),
            test: ranges(&split.test),
            reserve: ranges(reserve),
        }
    }

    /// As a split.
    pub fn split(&self) -> Split {
        let rows = |ranges: &[(u32, u32)]| ranges.iter().flat_map(|&(a, b)| a..=b).collect();
        Split {
            train: rows(&self.train),
            validation: rows(&self.validation),
            test: rows(&self.test),
        }
    }
}

/// A value as readable JSON.
pub fn json(value: &impl Serialize) -> Vec<u8> {
    // Structs of numbers, text and lists cannot fail to serialise.
    let mut bytes = serde_json::to_vec_pretty(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

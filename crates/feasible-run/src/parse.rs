//! The files of a run, from bytes: one function for each, which checks what it returns.
//!
//! A file may be damaged, cut short, or written by someone else on purpose. Nothing here panics, takes memory out of
//! proportion to the file, or returns a value whose parts contradict each other; what is wrong is an error that
//! names the file. Binary files have theirs beside their types: [`SavedModel::from_bytes`](crate::SavedModel::from_bytes),
//! [`Checkpoint::from_bytes`](crate::Checkpoint::from_bytes).
//!
//! ```
//! use feasible_run::parse;
//! let error = parse::summary("runs/adult/summary.json", b"{}").unwrap_err();
//! assert!(error.to_string().starts_with("runs/adult/summary.json is damaged: missing field"));
//! ```

use std::io::{self, Read};

use feasible_problem::Fingerprints;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::attack::{ClassCurve, Curve};
use crate::attacked::{AttackedExamples, AttackedImages};
use crate::baseline::Baseline;
use crate::error::{Error, Result};
use crate::files::{PartRows, RunInfo};
use crate::groups::GroupTables;
use crate::ladder::Listed;
use crate::prices::Prices;
use crate::seeds::{MOST_SEEDS, Seeds};
use crate::summary::{SeedsSummary, Summary};
use crate::tune::Search;

fn damaged(path: &str, reason: String) -> Error {
    Error::Damaged { path: path.into(), reason }
}

fn json<T: DeserializeOwned>(path: &str, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| damaged(path, error.to_string()))
}

/// How long a file is that ends with the SHA-256 of what is before; 0 if it does not.
pub(crate) fn digested_length(file: &mut impl Read, length: u64) -> io::Result<u64> {
    let (mut hash, mut end) = (Sha256::new(), [0; 32]);
    let (mut content, mut buffer) =
        (file.by_ref().take(length.saturating_sub(32)), vec![0; 1 << 16]);
    loop {
        match content.read(&mut buffer)? {
            0 => break,
            read => hash.update(&buffer[..read]),
        }
    }
    file.read_exact(&mut end)?;
    Ok(if hash.finalize()[..] == end { length } else { 0 })
}

/// `fingerprints.bin`.
///
/// # Errors
/// Bytes that are not such a file.
pub fn fingerprints(path: &str, bytes: &[u8]) -> Result<Fingerprints> {
    Fingerprints::from_bytes(bytes).map_err(|reason| damaged(path, reason))
}

/// `run.json`; `path` stands for the file in messages, here and below.
///
/// # Errors
/// Bytes that are not such a file, here and below.
pub fn run_info(path: &str, bytes: &[u8]) -> Result<RunInfo> {
    json(path, bytes)
}

/// `rows.json`: ranges that ascend and do not overlap within a part, of rows that a table may have.
///
/// # Errors
/// Ranges that do not.
pub fn rows(path: &str, bytes: &[u8], table_rows: usize) -> Result<PartRows> {
    let rows: PartRows = json(path, bytes)?;
    for part in [&rows.train, &rows.validation, &rows.test, &rows.reserve] {
        let mut next = 0;
        for &(first, last) in part {
            let (first, last) = (u64::from(first), u64::from(last));
            if first < next || last < first || last >= table_rows as u64 {
                return Err(damaged(
                    path,
                    format!("rows {first} to {last} are not ascending rows of {table_rows}"),
                ));
            }
            next = last + 1;
        }
    }
    Ok(rows)
}

/// `summary.json` of a run.
///
/// # Errors
/// One whose parts are about different requirements.
pub fn summary(path: &str, bytes: &[u8]) -> Result<Summary> {
    let summary: Summary = json(path, bytes)?;
    summary.check().map_err(|reason| damaged(path, reason))?;
    Ok(summary)
}

/// `summary.json` of several seeds.
///
/// # Errors
/// Runs that are not of one problem.
pub fn seeds_summary(path: &str, bytes: &[u8]) -> Result<SeedsSummary> {
    let summary: SeedsSummary = json(path, bytes)?;
    summary.check().map_err(|reason| damaged(path, reason))?;
    Ok(summary)
}

/// `seeds.json`.
///
/// # Errors
/// Too many seeds, or one of them twice.
pub fn seeds(path: &str, bytes: &[u8]) -> Result<Seeds> {
    let listed: Seeds = json(path, bytes)?;
    if listed.seeds.len() > MOST_SEEDS || !listed.seeds.windows(2).all(|pair| pair[0] < pair[1]) {
        return Err(damaged(
            path,
            format!("its seeds do not ascend, or are more than {MOST_SEEDS}"),
        ));
    }
    Ok(listed)
}

/// `ladder.json`.
///
/// # Errors
/// Rooms that a problem file may not have either.
pub fn ladder(path: &str, bytes: &[u8]) -> Result<Listed> {
    let listed: Listed = json(path, bytes)?;
    if listed.rooms.is_empty() || listed.rooms.iter().any(|room| !(0.0..=100.0).contains(room)) {
        return Err(damaged(path, "its rooms are not numbers from 0 to 100".into()));
    }
    Ok(listed)
}

/// `tune.json`.
///
/// # Errors
/// Trials with results of rounds that they did not take part in, a choice of one that was dropped.
pub fn search(path: &str, bytes: &[u8]) -> Result<Search> {
    let search: Search = json(path, bytes)?;
    search.check().map_err(|reason| damaged(path, reason))?;
    Ok(search)
}

/// `sensitivity.json`.
///
/// # Errors
/// As above.
pub fn prices(path: &str, bytes: &[u8]) -> Result<Prices> {
    json(path, bytes)
}

/// `attack.json`.
///
/// # Errors
/// Shares that are not of its counts.
pub fn curve(path: &str, bytes: &[u8]) -> Result<Curve> {
    let curve: Curve = json(path, bytes)?;
    for point in &curve.points {
        let share = |x: f64| (0.0..=1.0).contains(&x);
        if point.correct > point.total
            || ![point.accuracy, point.low, point.high].into_iter().all(share)
            || !(point.epsilon >= 0.0 && point.epsilon.is_finite())
        {
            let reason = format!("its point at ε = {} is not an accuracy", point.epsilon);
            return Err(damaged(path, reason));
        }
    }
    let whole = |of: &ClassCurve| {
        of.correct.len() == curve.points.len() && of.correct.iter().all(|&n| n <= of.total)
    };
    if let Some(of) = curve.by_class.iter().find(|of| !whole(of)) {
        let reason = format!("the counts of its class '{}' are not of its images", of.class);
        return Err(damaged(path, reason));
    }
    let examples = curve.examples.as_ref().map_or(Ok(()), AttackedExamples::check);
    examples.map_err(|reason| damaged(path, reason))?;
    Ok(curve)
}

/// `adversary.json`.
///
/// # Errors
/// Counts that contradict each other, examples that are too large.
pub fn attacked(path: &str, bytes: &[u8]) -> Result<AttackedImages> {
    let attacked: AttackedImages = json(path, bytes)?;
    attacked.check().map_err(|reason| damaged(path, reason))?;
    Ok(attacked)
}

/// `groups.json`.
///
/// # Errors
/// Rates that are not of its counts, tables of more groups than a run has.
pub fn groups(path: &str, bytes: &[u8]) -> Result<GroupTables> {
    let groups: GroupTables = json(path, bytes)?;
    groups.check().map_err(|reason| damaged(path, reason))?;
    Ok(groups)
}

/// `baseline.json`.
///
/// # Errors
/// Evaluations of different requirements, groups as in [`groups`].
pub fn baseline(path: &str, bytes: &[u8]) -> Result<Baseline> {
    let baseline: Baseline = json(path, bytes)?;
    baseline.check().map_err(|reason| damaged(path, reason))?;
    Ok(baseline)
}

/// The lines of `metrics.jsonl` or `timings.jsonl`, one value a line.
///
/// # Errors
/// The number of a line, from 1, that is not of this kind, and what is wrong with it.
pub fn lines<T: DeserializeOwned>(bytes: &[u8]) -> Result<Vec<T>, (usize, String)> {
    let mut values = Vec::new();
    for (at, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        if !line.iter().all(u8::is_ascii_whitespace) {
            let value = serde_json::from_slice(line);
            values.push(value.map_err(|error| (at + 1, error.to_string()))?);
        }
    }
    Ok(values)
}

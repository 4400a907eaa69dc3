//! A run directory in which one file has been exchanged, and which is reported on, certified and monitored; and a
//! sweep that finds a `sweep.json` in its directory.
//!
//! The bytes are those of [`runs`](crate::runs), with a finished run; the lines of a ledger are chained anew, and in
//! `sweep.json` `{problem}` stands for the hash of the problem, which names the path of the table.

use std::path::Path;

use feasible_problem::ProblemSource;
use feasible_report::Report;
use feasible_run::monitor::MonitorReport;
use feasible_run::sweep::SWEEP;
use feasible_run::{RunRecord, SweepOptions, files, sweep};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::runs::{Begun, begun};

/// The files that may be exchanged.
pub const FILES: [&str; 14] = [
    files::RUN,
    files::ROWS,
    files::METRICS,
    files::TIMINGS,
    files::FINGERPRINTS,
    files::MULTIPLIERS,
    files::SUMMARY,
    files::MONITOR,
    files::SENSITIVITY,
    files::ATTACK[0],
    files::ADVERSARY[0],
    files::TUNE,
    files::GROUPS,
    files::BASELINE,
];

thread_local! {
    static DONE: Option<(Begun, TempDir)> = done();
    static PROBLEM: Option<String> =
        DONE.with(|done| hash_of(&sweep_file(&done.as_ref()?.0).ok()?));
}

fn done() -> Option<(Begun, TempDir)> {
    let (begun, directory) = (begun(false), tempfile::tempdir().ok()?);
    for (name, bytes) in begun.files() {
        std::fs::write(directory.path().join(name), bytes).ok()?;
    }
    Some((begun, directory))
}

/// A run that is accepted gives a page and a card without scripts; a sweep ends, or leaves the file as it was.
///
/// # Panics
/// If it does not, or if there is no temporary directory.
pub fn run(bytes: &[u8]) -> bool {
    DONE.with(|done| {
        let Some((begun, directory)) = done else { panic!("no temporary directory") };
        let Some((name, content)) = begun.file(bytes) else { return false };
        if name == SWEEP {
            return swept(begun, &content);
        }
        if !FILES.contains(&name) {
            return false;
        }
        let content = if name == files::MONITOR { chained(&content) } else { content };
        let file = directory.path().join(name);
        let put = |bytes: &[u8]| {
            if let Err(error) = std::fs::write(&file, bytes) {
                panic!("{}: {error}", file.display());
            }
        };
        put(&content);
        let accepted = reported(directory.path());
        match begun.files().get(name) {
            Some(bytes) => put(bytes),
            None => assert!(std::fs::remove_file(&file).is_ok(), "it was written"),
        }
        accepted
    })
}

/// A sweep of one limit, in a directory that has this file.
fn swept(begun: &Begun, found: &[u8]) -> bool {
    let Some(hash) = PROBLEM.with(Clone::clone) else { panic!("a sweep cannot be made") };
    let found = String::from_utf8_lossy(found).replace("{problem}", &hash).into_bytes();
    let Ok(directory) = tempfile::tempdir() else { panic!("no temporary directory") };
    let file = directory.path().join(SWEEP);
    let left = || std::fs::read(&file).unwrap_or_default();
    assert!(std::fs::write(&file, &found).is_ok(), "it is written");
    match solved(begun, directory.path()) {
        Ok(()) => {
            let saved: Result<serde_json::Value, _> = serde_json::from_slice(&left());
            assert!(saved.is_ok_and(|saved| saved["frontier"].is_object()), "what is left of it");
            true
        }
        Err(error) => {
            assert!(left() == found, "refused ({error}), and the file is another");
            false
        }
    }
}

fn solved(begun: &Begun, directory: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let source = ProblemSource::open(&begun.problem().display().to_string())?;
    let source = source.with_overrides(&["training.epochs=1".to_string()]);
    let directory = Some(directory.to_path_buf());
    let options = SweepOptions { limits: vec![0.4], directory, ..SweepOptions::new("older") };
    sweep(&source, &options, &|_| {})?;
    Ok(())
}

/// What a sweep of this run leaves.
fn sweep_file(begun: &Begun) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    solved(begun, directory.path())?;
    Ok(std::fs::read(directory.path().join(SWEEP))?)
}

fn hash_of(sweep: &[u8]) -> Option<String> {
    let saved: serde_json::Value = serde_json::from_slice(sweep).ok()?;
    Some(saved["design"]["problem"].as_str()?.to_string())
}

/// The bytes that stand for the file of a sweep that has ended.
///
/// # Errors
/// What the program or the system says.
pub fn sweep_seed() -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut begun = begun(false);
    let file = sweep_file(&begun)?;
    let hash = hash_of(&file).ok_or("a sweep without the hash of its problem")?;
    begun.add(SWEEP, String::from_utf8(file)?.replace(&hash, "{problem}").into_bytes());
    Ok(begun.seed(SWEEP))
}

fn reported(directory: &Path) -> bool {
    if let Ok(record) = RunRecord::open(directory)
        && let Ok(certification) = record.certify_own(&record.settings())
    {
        assert!(!certification.to_text().is_empty());
    }
    if let Ok(Some(standing)) = MonitorReport::of(directory) {
        assert!(!standing.to_text().is_empty());
    }
    let Ok(report) = Report::of(directory) else { return false };
    let page = report.html().to_ascii_lowercase();
    for tag in ["<script", "<iframe", "<object", "javascript:"] {
        assert!(!page.contains(tag), "a page with {tag}");
    }
    assert!(report.card().is_none_or(|card| !card.to_ascii_lowercase().contains("<script")));
    true
}

/// The lines of a ledger with the hashes that they should have.
fn chained(ledger: &[u8]) -> Vec<u8> {
    const CHAIN: &str = ",\"chain\":\"";
    let Ok(text) = std::str::from_utf8(ledger) else { return ledger.to_vec() };
    let (mut before, mut all) = (String::new(), String::new());
    for line in text.lines() {
        let body = line.rsplit_once(CHAIN).map_or(line, |(body, _)| body);
        let hash = Sha256::digest(format!("{before}{body}").as_bytes());
        before = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        all += &format!("{body}{CHAIN}{before}\"}}\n");
    }
    all.into_bytes()
}

//! A run directory in which one file has been exchanged, and which is reported on, certified and monitored.
//!
//! The bytes are those of [`runs`](crate::runs), with a finished run; the lines of a ledger are chained anew.

use std::path::Path;

use feasible_report::Report;
use feasible_run::monitor::Standing;
use feasible_run::{RunRecord, files};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::runs::{Begun, begun};

/// The files that may be exchanged.
pub const FILES: [&str; 10] = [
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
];

thread_local! {
    static DONE: Option<(Begun, TempDir)> = done();
}

fn done() -> Option<(Begun, TempDir)> {
    let (begun, directory) = (begun(false), tempfile::tempdir().ok()?);
    for (name, bytes) in begun.files() {
        std::fs::write(directory.path().join(name), bytes).ok()?;
    }
    Some((begun, directory))
}

/// A run that is accepted gives a page and a card without scripts.
///
/// # Panics
/// If it does not, or if there is no temporary directory.
pub fn run(bytes: &[u8]) -> bool {
    DONE.with(|done| {
        let Some((begun, directory)) = done else { panic!("no temporary directory") };
        let Some((name, content)) = begun.file(bytes) else { return false };
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

fn reported(directory: &Path) -> bool {
    if let Ok(record) = RunRecord::open(directory)
        && let Ok(certification) = record.certify_own(&record.settings())
    {
        assert!(!certification.to_text().is_empty());
    }
    if let Ok(Some(standing)) = Standing::of(directory) {
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

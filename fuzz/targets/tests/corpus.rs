//! Every target over its corpus and mutations of it: what libFuzzer does on a nightly toolchain, for a moment.
//!
//! `FEASIBLE_DEPTH=100 cargo test --release -p feasible-fuzz-targets --test corpus` takes a hundred times as many
//! mutations; `FEASIBLE_FUZZ_SEED` draws others; `FEASIBLE_FUZZ_CASE=models:17` runs that one alone and keeps it.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

#[path = "../../../crates/feasible/tests/common/depth.rs"]
mod depth;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use depth::depth;
use feasible_fuzz_targets::memory::{Limited, case};
use feasible_fuzz_targets::mutation::{Random, mutated};
use feasible_fuzz_targets::{TARGETS, Target, quiet_decoders};

#[global_allocator]
static ALLOCATOR: Limited = Limited;

/// Longer than any case takes on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}

fn directory(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus").join(target)
}

/// The files of a corpus, by name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(directory(target)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// The mutation of this number; the same on every machine.
fn mutation(corpus: &[Vec<u8>], seed: u64, case: u64) -> Vec<u8> {
    mutated(corpus, &mut Random::new(seed.wrapping_mul(1_000_003).wrapping_add(case)))
}

fn kept(target: &str, case: u64, bytes: &[u8]) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{target}-{case}"));
    std::fs::write(&file, bytes).unwrap();
    file
}

/// Runs a target on its corpus, which it accepts and refuses as the names say, and on so many mutations.
fn check(name: &'static str, mutations: u64) {
    quiet_decoders();
    let target = *TARGETS.iter().find(|target| target.name == name).unwrap();
    let seed = number("FEASIBLE_FUZZ_SEED").unwrap_or(1);
    let mutations = mutations * depth();
    let (begun, cases) = channel();
    let body = std::thread::Builder::new().stack_size(2 << 20);
    let body = body.spawn(move || {
        let files = corpus(name);
        assert!(files.len() >= 3, "a corpus of {} files", files.len());
        let bytes: Vec<Vec<u8>> = files.iter().map(|(_, bytes)| bytes.clone()).collect();
        if let Ok(one) = std::env::var("FEASIBLE_FUZZ_CASE") {
            if let Some(number) = one.strip_prefix(&format!("{name}:")) {
                let number: u64 = number.parse().unwrap();
                let bytes = mutation(&bytes, seed, number);
                let file = kept(name, number, &bytes);
                case(name, number);
                let accepted = (target.run)(&bytes);
                println!("{}: accepted: {accepted}", file.display());
            }
            return;
        }
        let mut wrong = Vec::new();
        for (file, bytes) in &files {
            begun.send(file.clone()).unwrap();
            let accepted = (target.run)(bytes);
            if file.starts_with(if accepted { "bad" } else { "valid" }) {
                wrong.push(file);
            }
        }
        assert!(wrong.is_empty(), "{name}: accepted or refused against their names: {wrong:?}");
        let mut accepted = 0;
        for number in 0..mutations {
            case(name, number);
            begun.send(format!("mutation {number}")).unwrap();
            accepted += u64::from(run(target, number, &mutation(&bytes, seed, number)));
        }
        println!("{name}: {} files, {mutations} mutations, {accepted} accepted", files.len());
        // Mutations that are all refused would test the first check of a reader, and nothing behind it.
        assert!(accepted * 100 >= mutations, "{accepted} of {mutations} mutations are accepted");
    });
    let body = body.unwrap();
    let mut last = String::from("the start");
    loop {
        match cases.recv_timeout(PATIENCE) {
            Ok(case) => last = case,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => panic!("{name}: {last} takes more than {PATIENCE:?}"),
        }
    }
    if let Err(panic) = body.join() {
        eprintln!("{name}: {last}");
        std::panic::resume_unwind(panic);
    }
}

/// Runs a case; one that panics is kept in a file.
fn run(target: Target, number: u64, bytes: &[u8]) -> bool {
    let ran = std::panic::catch_unwind(|| (target.run)(bytes));
    ran.unwrap_or_else(|panic| {
        let file = kept(target.name, number, bytes);
        eprintln!("{}, mutation {number}: kept in {}", target.name, file.display());
        std::panic::resume_unwind(panic)
    })
}

/// `cargo test -p feasible-fuzz-targets --test corpus -- --ignored`, when a format has changed.
#[test]
#[ignore = "writes into fuzz/corpus"]
fn the_files_that_the_program_makes_itself_are_written() {
    feasible_fuzz_targets::seeds::write(&directory("")).unwrap();
}

#[test]
fn tables_are_refused_or_read_as_they_will_be_written() {
    check("tables", 300);
}

#[test]
fn expressions_are_refused_or_printed_as_they_are_meant() {
    check("expressions", 600);
}

#[test]
fn problem_files_are_refused_or_printed_as_the_plan_they_are() {
    check("problems", 100);
}

#[test]
fn models_are_refused_or_predict_finite_numbers() {
    check("models", 100);
}

#[test]
fn checkpoints_are_refused_or_written_as_they_were_read() {
    check("checkpoints", 300);
}

#[test]
fn images_are_refused_or_whole() {
    check("images", 100);
}

#[test]
fn runs_with_a_foreign_file_are_refused_or_end() {
    check("runs", 100);
}

#[test]
fn reports_on_runs_with_a_foreign_file_are_refused_or_harmless() {
    check("reports", 100);
}

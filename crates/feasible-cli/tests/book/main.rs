//! The book is true: its links lead somewhere, its commands run, its reference is the program's.
//!
//! `UPDATE_BOOK=1 cargo test -p feasible-cli --test book` writes the pages under `docs/reference` and the printed
//! output in the pages that are run again. Commands marked slow run with
//! `cargo test -p feasible-cli --test book -- --ignored`.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod links;
mod markdown;
mod pages;
mod problem_keys;
mod reference;
mod run_files;
#[path = "../support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};

/// A path in the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(repository(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Whether pages are written instead of compared.
fn updating() -> bool {
    std::env::var_os("UPDATE_BOOK").is_some()
}

/// The Markdown files in a directory of the repository and below it, sorted, as paths from the repository.
fn markdown_files(directory: &str) -> Vec<String> {
    let skipped = ["target", "node_modules", "site", "runs"];
    let mut files = Vec::new();
    for entry in std::fs::read_dir(repository(directory)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = if directory == "." { name.clone() } else { format!("{directory}/{name}") };
        if entry.file_type().unwrap().is_dir() {
            if !name.starts_with('.') && !skipped.contains(&name.as_str()) {
                files.extend(markdown_files(&path));
            }
        } else if name.ends_with(".md") {
            files.push(path);
        }
    }
    files.sort();
    files
}

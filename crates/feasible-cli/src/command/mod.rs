//! One module for each command.

pub mod audit;
pub mod bound;
pub mod certify;
pub mod check;
pub mod data;
pub mod fit;
mod image_data;
pub mod init;
pub mod predict;
pub mod report;
pub mod reproduce;
pub mod shell;
pub mod sweep;

use std::io::Read;
use std::path::{Path, PathBuf};

use feasible_data::{Format, Table};
use feasible_run::{SavedModel, Source, files};

use crate::arguments::Overrides;
use crate::exit::{Failure, Result};

/// A problem file with what the arguments put on top of it; later ones win.
fn source(problem: &str, first: &[String], overrides: &Overrides) -> Result<Source> {
    let mut all = first.to_vec();
    let opened = Source::open(problem)?;
    if let Some(directory) = data_dir(&overrides.data_dir) {
        let embedded = opened.parse(&overrides.set)?.data.source.is_some();
        if embedded {
            let directory = std::path::absolute(&directory).unwrap_or(directory);
            let quoted = serde_json::Value::from(directory.display().to_string());
            all.push(format!("data.directory={quoted}"));
        } else if overrides.data_dir.is_some() {
            return Err(Failure::input(format!(
                "--data-dir: {problem} names its own files, not an embedded data set"
            )));
        }
    }
    all.extend_from_slice(&overrides.set);
    Ok(opened.with_overrides(&all))
}

/// The directory of original files: the flag, else the environment.
fn data_dir(flag: &Option<PathBuf>) -> Option<PathBuf> {
    let environment = || std::env::var_os("FEASIBLE_DATA").filter(|value| !value.is_empty());
    flag.clone().or_else(|| environment().map(PathBuf::from))
}

/// A table from a file, or from standard input.
fn table(path: &Path, format: &Format) -> Result<Table> {
    if path != Path::new("-") {
        return Ok(Table::read(path, format)?);
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|error| Failure::file("read", Path::new("standard input"), &error))?;
    Ok(Table::from_bytes("standard input", &bytes, format)?)
}

/// A saved model; a directory without one says what to do.
fn model(path: &Path) -> Result<SavedModel> {
    if path.is_dir() && !path.join(files::MODEL).exists() {
        let shown = path.display();
        if path.join(files::SEEDS).exists() {
            return Err(Failure::input(format!(
                "{shown} holds the runs of several seeds: name one of its seed-… directories"
            )));
        }
        if path.join(files::LADDER).exists() && path.join(files::SUMMARY).exists() {
            return Err(Failure::input(format!(
                "{shown} has no model: none of its ladder was certified; each is in its rung-…"
            )));
        }
        if path.join(files::PROBLEM).exists() {
            return Err(Failure::input(format!(
                "{shown} has no model yet: `feasible resume {shown}` goes on with the run"
            )));
        }
        return Err(Failure::input(format!(
            "{shown} is not a run directory: it has no {}",
            files::MODEL
        )));
    }
    Ok(SavedModel::open(path)?)
}

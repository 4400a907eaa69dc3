//! One module for each command.

pub mod attack;
pub mod audit;
pub mod bound;
pub mod certify;
pub mod check;
pub mod data;
mod data_images;
pub mod export;
pub mod fit;
pub mod init;
pub mod monitor;
pub mod predict;
pub mod report;
pub mod reproduce;
pub mod shell;
pub mod sweep;
pub mod tune;

use std::io::Read;
use std::path::{Path, PathBuf};

use feasible_data::{Format, ImageSet, Limits, Table};
use feasible_problem::spec::Override;
use feasible_problem::{Gallery, Plan, ProblemSource, memory, problems};
use feasible_run::directory::Contents;
use feasible_run::{RunDirectory, SavedModel, files};

use crate::arguments::{LimitArguments, Overrides};
use crate::exit::{Failure, Result};
use crate::outputs::refuse_standard_output;

/// A problem file with what the arguments put on top of it; later ones win.
fn source(problem: &str, first: &[Override], overrides: &Overrides) -> Result<ProblemSource> {
    overrides.memory.apply();
    let mut all = first.to_vec();
    let opened = ProblemSource::open(problem)?;
    if let Some(directory) = data_dir(&overrides.data_dir) {
        let embedded = opened.parse(&overrides.set)?.data.source.is_some();
        if embedded {
            let directory = std::path::absolute(&directory).unwrap_or(directory);
            all.push(Override::DataDirectory(directory));
        } else if overrides.data_dir.is_some() {
            return Err(Failure::input(format!(
                "--data-dir: {problem} names its own files, not an embedded data set"
            )));
        }
    }
    Ok(opened.with(&all).with_overrides(&overrides.set))
}

/// The limit on memory that the environment gives; a flag wins over it.
pub fn memory_of_environment() -> Result<()> {
    let Some(text) = std::env::var_os("FEASIBLE_MEMORY").filter(|value| !value.is_empty()) else {
        return Ok(());
    };
    let text = text.to_string_lossy();
    let bytes = memory::parse(&text)
        .map_err(|reason| Failure::input(format!("FEASIBLE_MEMORY={text}: {reason}")))?;
    memory::set_limit(bytes);
    Ok(())
}

/// What a problem is called, without directory and `.toml`.
fn stem(problem: &str) -> String {
    Path::new(problem).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// `count` seeds from the first on.
fn seeds(first: u64, count: u64) -> Result<Vec<u64>> {
    let last = first.checked_add(count - 1).ok_or_else(|| {
        Failure::input(format!("--seeds {count}: there are fewer seeds than that after {first}"))
    })?;
    Ok((first..=last).collect())
}

/// The directory of original files: the flag, else the environment.
fn data_dir(flag: &Option<PathBuf>) -> Option<PathBuf> {
    let environment = || std::env::var_os("FEASIBLE_DATA").filter(|value| !value.is_empty());
    flag.clone().or_else(|| environment().map(PathBuf::from))
}

/// A table from a file, or from standard input.
fn table(path: &Path, format: &Format, limits: &LimitArguments) -> Result<Table> {
    let mut format = format.clone();
    limits.raise(&mut format.limits);
    refuse_standard_output(path)?;
    if path != Path::new("-") {
        return Ok(Table::read(path, &format)?);
    }
    let mut bytes = Vec::new();
    let most = format.limits.stdin_bytes;
    let read = std::io::stdin().lock().take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| Failure::file("read", Path::new("standard input"), &error))?;
    if bytes.len() as u64 > most {
        return Err(Failure::input(format!(
            "standard input: more than the {most} bytes allowed. Save it to a file and name that, or raise the \
             limit with --read-limit stdin_bytes=N"
        )));
    }
    Ok(Table::from_bytes("standard input", &bytes, &format)?)
}

/// Images by the name of a set, of a folder, of a problem, or of a run.
fn gallery(data: &str, directory: Option<&Path>, raised: &LimitArguments) -> Result<Gallery> {
    let path = Path::new(data);
    if ImageSet::all().iter().any(|set| set.name == data) {
        return Ok(Gallery::named(data, directory)?);
    }
    if path.is_dir() && !path.join(files::PROBLEM).is_file() {
        let mut limits = Limits::default();
        raised.raise(&mut limits);
        return Ok(Gallery::folder(path, &limits)?);
    }
    if path.is_dir() {
        return own_gallery(path);
    }
    if path.is_file() || problems().iter().any(|problem| problem.name == data) {
        return of_plan(&Plan::check(&source(data, &[], &Overrides::default())?)?);
    }
    let sets: Vec<&str> = ImageSet::all().iter().map(|set| set.name).collect();
    Err(Failure::input(format!(
        "{data}: no such image set, folder or problem file (sets: {})",
        sets.join(", ")
    )))
}

/// The images a run was made with.
fn own_gallery(run: &Path) -> Result<Gallery> {
    let problem = run.join(files::PROBLEM);
    if !problem.is_file() {
        return Err(Failure::input(format!(
            "{} is not a run directory: name the images (`feasible data` lists sets)",
            run.display()
        )));
    }
    of_plan(&Plan::check(&ProblemSource::open(&problem.display().to_string())?)?)
}

fn of_plan(plan: &Plan) -> Result<Gallery> {
    let tables = || Failure::input(format!("the data of {} are tables, not images", plan.name()));
    Gallery::of(plan.data()).ok_or_else(tables)
}

/// What is said of a directory in which settings are still searched.
fn incomplete_search(path: &Path) -> String {
    let shown = path.display();
    format!(
        "{shown} holds a search that is not complete: the same `feasible tune` command with -o {shown} continues it"
    )
}

/// A saved model.
fn model(path: &Path) -> Result<SavedModel> {
    has_model(path)?;
    Ok(SavedModel::open(path)?)
}

/// Refuses a directory without a model, and says what to do.
fn has_model(path: &Path) -> Result<()> {
    let run = RunDirectory::new(path);
    if path.is_dir() && !run.has(files::MODEL) {
        let shown = path.display();
        return Err(Failure::input(match run.contents() {
            Contents::Seeds => {
                format!(
                    "{shown} holds the runs of several seeds: name one of its seed-… directories"
                )
            }
            Contents::LadderWithoutModel => format!(
                "{shown} has no model: none of its ladder was certified; each is in its rung-…"
            ),
            Contents::Run => {
                format!("{shown} has no model yet: `feasible resume {shown}` continues the run")
            }
            Contents::Other if run.has(files::TUNE) => incomplete_search(path),
            Contents::Other => {
                format!("{shown} is not a run directory: it has no {}", files::MODEL)
            }
        }));
    }
    Ok(())
}

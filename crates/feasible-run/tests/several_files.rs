//! A table in several files gives the model of the table in one, and a run knows its files again.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::common;

use std::fs;
use std::path::Path;

use feasible_problem::{Plan, ProblemSource};
use feasible_run::{FitOptions, Interrupt, Memory, Storage, files, fit, fit_in, resume};

use common::{GENDER, people, problem};

/// The people of `people.csv` in three files of a directory.
fn in_parts(directory: &Path) {
    let text = people(300);
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    let rows: Vec<&str> = lines.collect();
    fs::create_dir(directory.join("people")).unwrap();
    for (at, rows) in rows.chunks(110).enumerate() {
        let part = format!("{header}\n{}\n", rows.join("\n"));
        fs::write(directory.join(format!("people/part-{at}.csv")), part).unwrap();
    }
}

/// The problem on the parts, by this path.
fn of_parts(source: &ProblemSource, directory: &Path, path: &str) -> ProblemSource {
    let text = source.text().replace("\"people.csv\"", &format!("\"{path}\""));
    let file = directory.join("parts.toml");
    fs::write(&file, text).unwrap();
    ProblemSource::open(file.to_str().unwrap()).unwrap()
}

#[test]
fn a_directory_or_a_pattern_trains_the_model_of_one_file() {
    let directory = tempfile::tempdir().unwrap();
    let source = problem(directory.path(), GENDER, "epochs = 2\n");
    in_parts(directory.path());
    let trained = |source: &ProblemSource| {
        let run = Memory::new();
        let plan = Plan::check(source).unwrap().without_baseline();
        fit_in(&plan, &run, &Interrupt::new(), &|_| {}).unwrap();
        (run, plan.data().hashes.len())
    };
    let (whole, one) = trained(&source);
    assert_eq!(one, 1);
    for path in ["people", "people/part-*.csv"] {
        let (parts, three) = trained(&of_parts(&source, directory.path(), path));
        assert_eq!(three, 3, "{path}");
        // Every loss of every epoch.
        let metrics = |run: &Memory| run.read(files::METRICS).unwrap();
        assert!(metrics(&whole) == metrics(&parts), "{path}");
    }
}

#[test]
fn files_that_are_added_changed_or_removed_are_noticed_when_a_run_is_resumed() {
    let directory = tempfile::tempdir().unwrap();
    let source = problem(directory.path(), GENDER, "epochs = 2\n");
    in_parts(directory.path());
    let source = of_parts(&source, directory.path(), "people");
    let run = directory.path().join("run");
    let options = FitOptions { directory: Some(run.clone()), ..FitOptions::default() };
    fit(&Plan::check(&source).unwrap().without_baseline(), &options, &|_| {}).unwrap();
    let again = || resume(&run, &Interrupt::new(), &|_| {});
    assert!(again().is_ok());
    let added = directory.path().join("people/part-9.csv");
    fs::copy(directory.path().join("people/part-0.csv"), &added).unwrap();
    let error = again().unwrap_err().to_string();
    assert!(error.contains("started on 3 files of tables, and there are 4"), "{error}");
    fs::remove_file(directory.path().join("people/part-0.csv")).unwrap();
    let error = again().unwrap_err().to_string();
    assert!(error.contains("has changed since the run was started"), "{error}");
}

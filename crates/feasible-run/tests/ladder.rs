//! Ladders whose rungs are trained by several jobs.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use std::time::Duration;

use feasible_problem::Plan;
use feasible_run::{Directory, FitOptions, JobPart, RunDirectory, files, fit};

use crate::common::problem;

#[test]
fn the_job_that_joins_waits_for_a_rung_that_its_job_still_holds() {
    let directory = tempfile::tempdir().unwrap();
    let error = "[[requirement]]\nname = \"errors\"\nrate = \"error\"\nat_most = 0.6\n\n\
                 [certify]\nconfidence = 0.9\nreserve = 0.3\nladder = [1.0, 0.0]\n";
    let plan = Plan::check(&problem(directory.path(), error, "epochs = 2\n")).unwrap();
    let path = directory.path().join("run");
    let part = |number| {
        let (directory, part) = (Some(path.clone()), JobPart::new(number, 2));
        fit(&plan, &FitOptions { directory, part, ..FitOptions::default() }, &|_| {})
    };
    part(1).unwrap();
    let run = RunDirectory::new(&path);
    // As the first job does for a moment after it has written its summary.
    let held = Directory::open(run.rung(0).path()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !run.rung(1).has(files::SUMMARY) {
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(Duration::from_millis(300));
            drop(held);
        });
        part(2).unwrap();
    });
    assert!(run.has(files::SUMMARY), "the last job joins");
}

//! Data are read once and shared, and may come from memory.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::common;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use feasible_data::{Format, Table};
use feasible_problem::data::{Files, TableRead, Tables};
use feasible_problem::{Plan, ProblemSource};
use feasible_run::{
    FitOptions, Interrupt, Memory, Storage, SweepOptions, files, fit, fit_in, sweep,
};

use common::{GENDER, people, problem};

/// Counts the tables that are read from files.
#[derive(Debug, Default)]
struct Counted(AtomicUsize);

impl Tables for Counted {
    fn read(&self, path: &Path, format: &Format) -> feasible_problem::Result<TableRead> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Files.read(path, format)
    }
}

impl Counted {
    fn of(source: ProblemSource) -> (ProblemSource, Arc<Self>) {
        let counted = Arc::new(Self::default());
        (source.with_tables(counted.clone()), counted)
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[test]
fn a_sweep_of_five_limits_and_two_seeds_reads_its_table_once() {
    let directory = tempfile::tempdir().unwrap();
    let (source, counted) = Counted::of(problem(directory.path(), GENDER, "epochs = 1\n"));
    let options = SweepOptions {
        limits: vec![1e-4, 1e-3, 1e-2, 0.1, 0.2],
        seeds: vec![1, 2],
        threads: 2,
        ..SweepOptions::new("gender")
    };
    let frontier = sweep(&source, &options, &|_| {}).unwrap();
    assert_eq!(frontier.points.len(), 10);
    assert_eq!(counted.count(), 1);
}

#[test]
fn the_rungs_of_a_ladder_share_the_table() {
    let directory = tempfile::tempdir().unwrap();
    let error = "[[requirement]]\nname = \"errors\"\nrate = \"error\"\nat_most = 0.6\n\n\
                 [certify]\nconfidence = 0.9\nreserve = 0.3\nladder = [1.0, 0.5, 0.0]\n";
    let (source, counted) = Counted::of(problem(directory.path(), error, "epochs = 2\n"));
    let plan = Plan::check(&source).unwrap();
    // Nobody could read it again.
    std::fs::remove_file(directory.path().join("people.csv")).unwrap();
    let fitted = fit(&plan, &FitOptions::default(), &|_| {}).unwrap();
    let ladder = fitted.runs()[0].summary.as_ref().unwrap().ladder.clone().unwrap();
    assert_eq!(ladder.len(), 3);
    assert_eq!(counted.count(), 1);
}

#[test]
fn a_variant_shares_data_only_if_they_are_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let (source, counted) = Counted::of(problem(directory.path(), GENDER, "epochs = 1\n"));
    let plan = Plan::check(&source).unwrap();
    let with = |change: &str| source.clone().with_overrides(&[change.to_string()]);
    let limit = plan.variant(&with("requirement.gender.at_most=0.5")).unwrap();
    assert!(Arc::ptr_eq(&limit.shared_data(), &plan.shared_data()));
    let filled = ProblemSource::new("filled.toml", plan.spec().to_toml());
    assert!(Arc::ptr_eq(&plan.variant(&filled).unwrap().shared_data(), &plan.shared_data()));
    assert_eq!(counted.count(), 1);
    for (change, reads) in [
        ("data.split.seed=4", 2),
        ("certify={ confidence = 0.9, all_but = 0.5 }", 3),
        ("data.rare=40", 4),
    ] {
        let other = plan.variant(&with(change)).unwrap();
        let fresh = Plan::check(
            &source.clone().with_tables(Arc::new(Files)).with_overrides(&[change.to_string()]),
        );
        assert_eq!(other.data().split, fresh.unwrap().data().split, "{change}");
        assert_eq!(counted.count(), reads, "{change}");
    }
}

#[test]
fn a_table_in_memory_gives_the_same_bits_as_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let source = problem(directory.path(), GENDER, "epochs = 3\nkeep = \"best\"\n");
    let trained = |plan: &Plan| {
        let run = Memory::new();
        fit_in(plan, &run, &Interrupt::new(), &|_| {}).unwrap();
        run
    };
    let by_path = trained(&Plan::check(&source).unwrap().without_baseline());
    let table = Table::from_bytes("people", people(300).as_bytes(), &Format::default()).unwrap();
    std::fs::remove_file(directory.path().join("people.csv")).unwrap();
    let in_memory = trained(&Plan::with_table(&source, table.clone()).unwrap());
    let same = [files::MODEL, files::MULTIPLIERS, files::METRICS, files::SUMMARY, files::ROWS];
    for name in same.into_iter().chain([files::FINGERPRINTS, files::PROBLEM]) {
        assert!(by_path.read(name).unwrap() == in_memory.read(name).unwrap(), "{name} differs");
    }
    // Without a name in the problem file it has its own.
    let unnamed =
        ProblemSource::new("p.toml", source.text().replace("file = \"people.csv\"\n", ""));
    let plan = Plan::with_table(&unnamed, table.clone()).unwrap();
    assert_eq!(plan.data().hashes[0].table, "people");
    let other = ProblemSource::new("p.toml", "[data]\nsource = \"adult\"\n");
    let error = Plan::with_table(&other, table).unwrap_err().to_string();
    assert!(error.contains("the table is in memory"), "{error}");
}

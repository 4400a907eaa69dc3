//! What the requirements cost, and how the model does within groups.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::path::Path;

use common::{GENDER, assert_same, plan, problem, write};
use feasible_problem::{Plan, ProblemSource};
use feasible_run::groups::{GroupRates, GroupTables};
use feasible_run::{
    FitOptions, Interrupt, Memory, RunDirectory, Storage, Summary, files, fit, fit_in, parse,
    resume_in,
};

const TRAINING: &str = "epochs = 4\n";

fn fitted(plan: &Plan) -> (Memory, Summary) {
    let storage = Memory::new();
    let run = fit_in(plan, &storage, &Interrupt::new(), &|_| {}).unwrap();
    (storage, run.summary.unwrap())
}

fn groups(storage: &Memory) -> GroupTables {
    parse::groups("groups", &storage.read(files::GROUPS).unwrap()).unwrap()
}

fn with(source: &ProblemSource, set: &str) -> Plan {
    Plan::check(&source.clone().with_overrides(&[set.to_string()])).unwrap()
}

#[test]
fn the_cost_is_the_difference_to_a_training_without_requirements() {
    let scratch = tempfile::tempdir().unwrap();
    let plan = plan(scratch.path(), GENDER, TRAINING);
    let (storage, summary) = fitted(&plan);
    // The same file without the requirement, with the settings that were filled in.
    let mut spec = plan.spec().clone();
    spec.requirements.clear();
    spec.report.baseline = None;
    spec.training.dual = None;
    let (_, without) = fitted(&Plan::check(&ProblemSource::new("p", spec.to_toml())).unwrap());
    let of = |part: &str, measure: &str| {
        summary.cost.iter().find(|d| d.part == part && d.measure == measure).unwrap()
    };
    let test = |summary: &Summary| summary.test.clone().unwrap();
    let accuracy = of("test", "accuracy");
    assert_eq!(Some(accuracy.with), test(&summary).accuracy);
    assert_eq!(Some(accuracy.without), test(&without).accuracy);
    assert_eq!(of("train", "objective").without, without.train.objective);
    let flips = of("test", "flip rate, Male ↔ Female");
    assert_eq!(flips.with, test(&summary).flip_rates[0].share);
    assert!(flips.without > flips.with, "{flips:?}");
    // `fit` without requirements would average five networks on so small a table: the line says that this is one.
    let compared = "The cost of the requirements, test rows (without: one model, trained the same way):\n  accuracy ";
    assert!(summary.to_text().contains(compared));
    // What is on disk is what was returned; the model knows nothing of it.
    let read = parse::summary("s", &storage.read(files::SUMMARY).unwrap()).unwrap();
    assert_eq!(read, summary);
    let (bare, alone) = fitted(&plan.clone().without_baseline());
    assert!(alone.cost.is_empty() && bare.read(files::BASELINE).is_err());
    assert_eq!(bare.read(files::MODEL).unwrap(), storage.read(files::MODEL).unwrap());
    assert_eq!(bare.read(files::GROUPS).unwrap(), storage.read(files::GROUPS).unwrap());
}

#[test]
fn nothing_of_a_baseline_without_requirements_and_none_by_itself_for_images() {
    let scratch = tempfile::tempdir().unwrap();
    let (storage, summary) = fitted(&plan(scratch.path(), "", TRAINING));
    assert!(summary.cost.is_empty() && storage.read(files::BASELINE).is_err());
    assert!(storage.read(files::GROUPS).is_ok());
    let images = "[data]\nsource = \"fashion-mnist-sample\"\nper_class = { train = 2, validation = 1, test = 1 }\n\
        [model]\nkind = \"cnn\"\n[[requirement]]\nname = \"robust\"\nloss = \"cross-entropy\"\nat_most = 0.5\n\
        adversary = { epsilon = 0.1, steps = 2 }\n";
    let source = ProblemSource::new("images.toml", images);
    assert!(!Plan::check(&source).unwrap().has_baseline());
    assert!(with(&source, "report.baseline=true").has_baseline());
}

#[test]
fn a_run_with_other_limits_finds_the_baseline_of_one_beside_it() {
    let scratch = tempfile::tempdir().unwrap();
    let source = problem(scratch.path(), GENDER, TRAINING);
    let run = |plan: &Plan, name: &str, force: bool| {
        let directory = Some(scratch.path().join("runs").join(name));
        fit(plan, &FitOptions { directory, force, ..FitOptions::default() }, &|_| {}).unwrap();
        RunDirectory::new(scratch.path().join("runs").join(name))
    };
    let model = |run: &RunDirectory| run.read(files::BASELINE_MODEL).unwrap().unwrap();
    let fingerprint = |run: &RunDirectory| run.baseline().unwrap().unwrap().fingerprint;
    let first = run(&with(&source, "requirement.gender.at_most=1e-2"), "first", false);
    let second = run(&with(&source, "requirement.gender.at_most=1e-1"), "second", false);
    assert_eq!(model(&first), model(&second));
    assert_eq!(fingerprint(&first), fingerprint(&second));
    for other in ["training.seed=9", "training.epochs=5", "model.hidden=[5]", "data.split.seed=4"] {
        let other = run(&with(&source, other), "other", true);
        assert_ne!(fingerprint(&first), fingerprint(&other));
    }
    // A file that was damaged is not taken, and nobody minds.
    let file = first.file(files::BASELINE_MODEL);
    let mut bytes = model(&first);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let third = run(&with(&source, "requirement.gender.at_most=1e-2"), "third", false);
    assert_eq!(model(&third), model(&second));
}

#[test]
fn an_interrupted_baseline_leaves_a_complete_run_that_resumes_to_the_same_bytes() {
    let scratch = tempfile::tempdir().unwrap();
    let plan = plan(scratch.path(), GENDER, TRAINING);
    let (expected, _) = fitted(&plan);
    // As if it had been stopped after the run: what the baseline writes is not there.
    let (storage, _) = fitted(&plan.clone().without_baseline());
    let problem = expected.read(files::PROBLEM).unwrap();
    for name in [files::PROBLEM, files::CHECKPOINT] {
        storage.write(name, &expected.read(name).unwrap()).unwrap();
    }
    assert!(String::from_utf8(problem).unwrap().contains("[report]\nbaseline = true"));
    resume_in(&storage, &Interrupt::new(), &|_| {}).unwrap();
    assert_same(&storage, &expected, "resumed");
}

fn group<'a>(tables: &'a GroupTables, columns: &[&str], group: &str) -> &'a GroupRates {
    let table = tables.tables.iter().find(|table| table.columns == columns).unwrap();
    table.groups.iter().find(|one| one.group == group).unwrap()
}

/// The table that `problem` writes, as cells.
fn rows(directory: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(directory.join("people.csv")).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(String::from).collect()).collect()
}

#[test]
fn groups_are_those_that_requirements_name_with_counts_of_the_test_rows() {
    let scratch = tempfile::tempdir().unwrap();
    let older = "[[requirement]]\nname = \"older\"\nloss = \"cross-entropy\"\nwhere = \"age >= 45\"\nat_most = 0.9\n";
    let source = problem(scratch.path(), &format!("{GENDER}{older}"), TRAINING);
    let plan = with(&source, "report.groups=[\"city\"]");
    let (storage, summary) = fitted(&plan);
    let found = groups(&storage);
    let columns: Vec<Vec<String>> =
        found.tables.iter().map(|table| table.columns.clone()).collect();
    let named = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let expected = [
        named(&["gender"]),
        named(&["age"]),
        named(&["city"]),
        named(&["gender", "age"]),
        named(&["gender", "city"]),
        named(&["age", "city"]),
    ];
    assert_eq!(columns, expected);
    // Counted again from the file.
    let table = rows(scratch.path());
    let test: Vec<&Vec<String>> =
        plan.data().split.test.iter().map(|&row| &table[row as usize]).collect();
    let count =
        |keep: &dyn Fn(&Vec<String>) -> bool| test.iter().filter(|row| keep(row)).count() as u64;
    let old = |row: &Vec<String>| row[0].parse::<f64>().unwrap() >= 45.0;
    let women = group(&found, &["gender"], "Female");
    assert_eq!(women.rows, count(&|row| row[1] == "Female"));
    let base = &women.rates[0];
    assert_eq!((base.name.as_str(), base.rows), ("base rate of 'high'", women.rows));
    assert_eq!(base.hits, count(&|row| row[1] == "Female" && row[4] == "high"));
    assert_eq!(group(&found, &["age"], "≥ 45").rows, count(&old));
    let both = group(&found, &["gender", "age"], "Female, ≥ 45");
    assert_eq!(both.rows, count(&|row| row[1] == "Female" && old(row)));
    // All rows together are what the summary says.
    let judged = summary.test.unwrap();
    let confusion = judged.confusion.unwrap();
    let rate = |name: &str| found.everyone.rates.iter().find(|rate| rate.name == name).unwrap();
    assert_eq!(rate("accuracy").share(), judged.accuracy);
    assert_eq!(rate("recall of 'high'").hits, confusion[1][1]);
    assert_eq!(rate("false positive rate of 'high'").hits, confusion[0][1]);
    assert_eq!(rate("selection rate of 'high'").hits, confusion[0][1] + confusion[1][1]);
    assert_eq!(rate("precision of 'high'").rows, confusion[0][1] + confusion[1][1]);
    let half = found.thresholds.iter().find(|at| at.threshold == 0.5).unwrap();
    assert_eq!(Some(half.accuracy), judged.accuracy);
    let binned: u64 = found.calibration.iter().map(|bin| bin.rows).sum();
    assert_eq!(binned, found.everyone.rows);
    let data = found.data.unwrap();
    let sizes: Vec<u64> = data.parts.iter().map(|part| part.rows).collect();
    assert_eq!(sizes.iter().sum::<u64>(), 300);
    assert_eq!(data.columns.len(), 5);
}

#[test]
fn a_column_that_is_not_there_is_refused_by_its_key() {
    let scratch = tempfile::tempdir().unwrap();
    let source = problem(scratch.path(), GENDER, TRAINING);
    let set = ["report.groups=[\"gendre\"]".to_string()];
    let error = Plan::check(&source.with_overrides(&set)).unwrap_err().to_string();
    assert!(error.contains("report.groups") && error.contains("gendre"), "{error}");
    assert!(error.contains("'gender'"), "{error}");
}

#[test]
fn numbers_and_more_than_two_classes_have_tables_of_their_own() {
    let scratch = tempfile::tempdir().unwrap();
    let mut csv = String::from("x,site,y,kind\n");
    for n in 0..200 {
        let (x, site) = (n % 17, ["a", "b"][n % 2]);
        csv += &format!("{x},{site},{}.5,{}\n", 3 * x + n % 2, ["p", "q", "r"][x % 3]);
    }
    write(scratch.path(), "t.csv", &csv);
    let source = |target: &str, drop: &str| {
        let text = format!(
            "[data]\nfile = \"t.csv\"\ntarget = \"{target}\"\ndrop = [\"{drop}\"]\n[model]\nkind = \"linear\"\n\
             [training]\nepochs = 3\n[report]\ngroups = [\"site\"]\n"
        );
        let path = write(scratch.path(), "p.toml", &text);
        ProblemSource::open(path.to_str().unwrap()).unwrap()
    };
    let (storage, summary) = fitted(&Plan::check(&source("y", "kind")).unwrap());
    let found = groups(&storage);
    let names = |of: &GroupRates| of.means.iter().map(|mean| mean.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&found.everyone), ["mean target", "root mean squared error", "bias"]);
    assert_eq!(Some(found.everyone.means[1].value), summary.test.unwrap().rmse);
    assert!(found.thresholds.is_empty() && found.calibration.is_empty());
    let (storage, summary) = fitted(&Plan::check(&source("kind", "y")).unwrap());
    let found = groups(&storage);
    let rates: Vec<&str> = found.everyone.rates.iter().map(|rate| rate.name.as_str()).collect();
    assert_eq!(rates, ["accuracy", "recall of 'p'", "recall of 'q'", "recall of 'r'"]);
    let judged = summary.test.unwrap();
    assert_eq!(found.everyone.rates[0].share(), judged.accuracy);
    assert_eq!(found.everyone.rates[2].share(), judged.by_class.unwrap()[1].recall);
}

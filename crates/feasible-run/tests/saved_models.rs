//! A model that is saved and used again.
#![allow(clippy::unwrap_used)]

use crate::common;

use feasible_data::{Table, Unseen};
use feasible_problem::Plan;
use feasible_run::{
    FitOptions, Formulas, Interrupt, Memory, SavedModel, Storage, files, fit, fit_in,
};

use common::{GENDER, plan};

fn saved(training: &str, overrides: &[&str]) -> (SavedModel, Memory, Plan) {
    let directory = tempfile::tempdir().unwrap();
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    let source = common::problem(directory.path(), GENDER, training).with_overrides(&overrides);
    let plan = Plan::check(&source).unwrap();
    let files = Memory::new();
    fit_in(&plan, &files, &Interrupt::new(), &|_| {}).unwrap();
    let model = SavedModel::from_bytes("m", &files.read(files::MODEL).unwrap()).unwrap();
    (model, files, plan)
}

#[test]
fn a_model_is_read_back_as_it_was_written() {
    for kind in ["mlp", "linear", "kernel"] {
        let (model, files, _) = saved("epochs = 2\n", &[&format!("model.kind={kind}")]);
        assert_eq!(model.to_bytes().unwrap(), files.read(files::MODEL).unwrap(), "{kind}");
    }
}

#[test]
fn an_audit_of_the_test_rows_repeats_the_summary() {
    let (model, _, plan) = saved("epochs = 20\nrate = 0.02\n", &[]);
    let mut csv = Vec::new();
    plan.data().table.write_csv(&mut csv).unwrap();
    let text = String::from_utf8(csv).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut test = format!("{}\n", lines[0]);
    for &row in &plan.data().split.test {
        test += &format!("{}\n", lines[1 + row as usize]);
    }
    let table = Table::from_bytes("test.csv", test.as_bytes(), &model.audit_format()).unwrap();
    let audit = model.audit(&table, None).unwrap();
    assert_eq!(Some(&audit.evaluation), model.manifest().training.test.as_ref());
    assert!(audit.to_text().contains("confusion"));
    assert_eq!(audit.met(), audit.evaluation.met);
}

#[test]
fn predictions_have_classes_and_probabilities_and_need_no_target() {
    let (model, _, _) = saved("epochs = 20\nrate = 0.02\n", &[]);
    let csv = b"city,age,gender,degree\nA,25,Female,none\nB,58,Male,master\n";
    let table = Table::from_bytes("new.csv", csv, &model.input_format()).unwrap();
    let predictions = model.predict(&table, None).unwrap();
    assert_eq!(predictions.classes, ["low", "high"]);
    let classes: Vec<_> =
        predictions.rows.iter().map(|row| row.class.as_deref().unwrap()).collect();
    assert_eq!(classes, ["low", "high"]);
    for row in &predictions.rows {
        assert!((row.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
    let mut out = Vec::new();
    predictions.write_csv(&mut out, Formulas::Quote).unwrap();
    assert!(String::from_utf8(out).unwrap().starts_with("row,class,p(low),p(high)\n0,low,0."));
}

#[test]
fn an_unseen_category_is_an_error_or_other_as_asked() {
    let (model, _, _) = saved("epochs = 2\n", &[]);
    let csv = b"city,age,gender,degree\nAtlantis,25,Female,none\n";
    let table = Table::from_bytes("new.csv", csv, &model.input_format()).unwrap();
    let error = model.predict(&table, None).unwrap_err().to_string();
    assert!(error.starts_with("new.csv, line 2, column 'city': category 'Atlantis'"), "{error}");
    assert_eq!(model.predict(&table, Some(Unseen::Other)).unwrap().rows.len(), 1);
}

#[test]
fn a_file_that_is_no_model_is_refused_with_a_reason() {
    let (model, _, _) = saved("epochs = 1\n", &[]);
    let bytes = model.to_bytes().unwrap();
    let refuse =
        |bytes: &[u8]| SavedModel::from_bytes("m", bytes).map(|_| ()).unwrap_err().to_string();
    assert!(refuse(b"age\n").starts_with("m is not a model that can be used"));
    assert!(refuse(&bytes[..bytes.len() - 4]).contains("m is not a model"));
    let newer = String::from_utf8_lossy(&bytes[..200]).contains("version\\\":3,");
    assert!(newer, "the manifest is readable");
    let mut changed = bytes.clone();
    let at = changed.windows(12).position(|w| w == b"version\\\":3,").unwrap();
    changed[at + 10] = b'9';
    assert!(refuse(&changed).contains("use the program that wrote it"), "{}", refuse(&changed));
}

#[test]
fn numbers_are_predicted_too() {
    let directory = tempfile::tempdir().unwrap();
    let text = "[data]\nfile = \"people.csv\"\ntarget = \"age\"\n\n[model]\nkind = \"linear\"\n\n\
                [[requirement]]\nname = \"women\"\nloss = \"squared\"\nwhere = \"gender == 'Female'\"\n\
                at_most = 2000\n\n[training]\nepochs = 60\nrate = 1.0\n";
    common::write(directory.path(), "people.csv", &common::people(200));
    let path = common::write(directory.path(), "p.toml", text);
    let source = feasible_problem::ProblemSource::open(path.to_str().unwrap()).unwrap();
    let plan = Plan::check(&source).unwrap();
    let files = Memory::new();
    let run = fit_in(&plan, &files, &Interrupt::new(), &|_| {}).unwrap();
    let summary = run.summary.unwrap();
    assert!(summary.train.rmse < Some(15.0), "{}", summary.to_text());
    let model = SavedModel::from_bytes("m", &files.read(files::MODEL).unwrap()).unwrap();
    let predictions = model.predict(&plan.data().table, None).unwrap();
    assert!(predictions.rows.iter().all(|row| row.value.is_some() && row.class.is_none()));
}

#[test]
fn several_seeds_are_kept_summed_up_and_resumable() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), GENDER, "epochs = 3\n");
    let path = directory.path().join("runs");
    let options = FitOptions {
        directory: Some(path.clone()),
        seeds: vec![1, 2, 3],
        workers: 2,
        ..FitOptions::default()
    };
    let first = fit(&plan, &options, &|_| {}).unwrap();
    assert_eq!(first.runs().len(), 3);
    assert!(first.to_text().contains("3 seeds (1, 2, 3): mean ± sd"));
    let model = std::fs::read(path.join("seed-2").join(files::MODEL)).unwrap();
    // One seed was never begun, another lost its model: both are done again, to the same bytes.
    std::fs::remove_dir_all(path.join("seed-3")).unwrap();
    std::fs::remove_file(path.join("seed-2").join(files::MODEL)).unwrap();
    let again = feasible_run::resume(&path, &Interrupt::new(), &|_| {}).unwrap();
    assert_eq!(again, first);
    assert_eq!(std::fs::read(path.join("seed-2").join(files::MODEL)).unwrap(), model);
    let refused = fit(&plan, &options, &|_| {}).unwrap_err().to_string();
    assert!(refused.contains("is not empty"), "{refused}");
    let forced = FitOptions { force: true, seeds: vec![4], ..options };
    assert_eq!(fit(&plan, &forced, &|_| {}).unwrap().runs().len(), 1);
}

#[test]
fn rows_and_multipliers_name_the_samples() {
    let (_, files, plan) = saved("epochs = 2\n", &[]);
    let rows: files::PartRows = serde_json::from_slice(&files.read(files::ROWS).unwrap()).unwrap();
    assert_eq!(rows.split(), plan.data().split);
    let csv = String::from_utf8(files.read(files::MULTIPLIERS).unwrap()).unwrap();
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("requirement,kind,row,counterfactual,multiplier,violation"));
    let ids: Vec<u32> = lines.map(|l| l.split(',').nth(2).unwrap().parse().unwrap()).collect();
    assert_eq!(ids, plan.data().split.train);
}

#[test]
fn a_starter_file_is_a_sound_problem() {
    let directory = tempfile::tempdir().unwrap();
    let path = common::write(directory.path(), "people.csv", &common::people(300));
    let table = Table::read(&path, &feasible_data::Format::default()).unwrap();
    let text =
        feasible_problem::starter(&table, &feasible_data::Format::default(), "people.csv", None)
            .unwrap();
    let problem = common::write(directory.path(), "people.toml", &text);
    let source = feasible_problem::ProblemSource::open(problem.to_str().unwrap()).unwrap();
    let plan = Plan::check(&source).unwrap();
    assert_eq!(plan.data().target.column(), "income");
    let required: String = text
        .lines()
        .filter(|line| !line.starts_with("# drop"))
        .map(|line| {
            line.strip_prefix("# ")
                .filter(|l| l.contains('=') || l.starts_with('['))
                .unwrap_or(line)
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let problem = common::write(directory.path(), "all.toml", &required);
    let source = feasible_problem::ProblemSource::open(problem.to_str().unwrap()).unwrap();
    assert!(Plan::check(&source).unwrap().train().requirements().len() > 1);
}

//! Small tables without requirements: models of several folds are averaged, networks mixed with linear models.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use std::fmt::Write;

use feasible::{Outcome, Purpose, Stream};
use feasible_data::{Format, Table};
use feasible_problem::{Plan, ProblemSource};
use feasible_run::files::{
    CHECKPOINT, FINGERPRINTS, METRICS, MODEL, PROBLEM, README, ROWS, RUN, SUMMARY,
};
use feasible_run::{
    EpochMetrics, Interrupt, Memory, SavedModel, Storage, Summary, fit_in, resume_in,
};

/// Inputs a and b, y = 3a − 2b + `curve` · sin(4a) + `noise`, and whether y is above 0.
fn csv(rows: usize, curve: f64, noise: f64) -> String {
    let mut stream = Stream::new(8, Purpose::Initial, 0, 0);
    let mut csv = String::from("a,b,y,above,weight\n");
    for i in 0..rows {
        let mut normal = || (0..12).map(|_| stream.uniform()).sum::<f64>() - 6.0;
        let (a, b) = (normal(), normal());
        let y = 3.0 * a - 2.0 * b + curve * (4.0 * a).sin() + noise * normal();
        writeln!(csv, "{a},{b},{y},{},{}", if y > 0.0 { "yes" } else { "no" }, 1 + i % 3).unwrap();
    }
    csv
}

fn table(rows: usize, curve: f64, noise: f64) -> Table {
    let csv = csv(rows, curve, noise);
    Table::from_bytes("made", csv.as_bytes(), &Format::default()).unwrap()
}

fn problem(target: &str, more: &str) -> ProblemSource {
    let other = if target == "y" { "above" } else { "y" };
    let text = format!("[data]\ntarget = \"{target}\"\ndrop = [\"{other}\", \"weight\"]\n{more}");
    ProblemSource::new("made.toml", text)
}

fn plan(table: Table, target: &str, more: &str) -> Plan {
    Plan::with_table(&problem(target, more), table).unwrap()
}

fn fitted(plan: &Plan) -> (Summary, Memory) {
    let files = Memory::new();
    let run = fit_in(plan, &files, &Interrupt::new(), &|_| {}).unwrap();
    (run.summary.unwrap(), files)
}

#[test]
fn every_row_is_learned_from_and_cross_validated() {
    let plan = plan(table(500, 1.0, 0.5), "above", "");
    let (summary, files) = fitted(&plan);
    let found = summary.cross_validation.clone().unwrap();
    assert_eq!((found.folds, found.rows), (5, 400));
    // No row is left that no network has seen, so none is said to be for validation.
    assert_eq!((summary.train.rows, summary.validation.is_none()), (400, true));
    assert_eq!(summary.test.as_ref().unwrap().rows, 100);
    assert!(summary.to_text().contains("average of 5"), "{}", summary.to_text());
    // Cross-validation is an honest estimate: far nearer to the test rows than five standard errors.
    let (said, measured) = (found.accuracy.unwrap(), summary.test.unwrap().accuracy.unwrap());
    assert!((said - measured).abs() < 5.0 * (0.25_f64 / 100.0).sqrt() * 0.5, "{said} {measured}");
    // What is saved is the average.
    let model = SavedModel::from_bytes(MODEL, &files.read(MODEL).unwrap()).unwrap();
    assert!(model.network().describe().contains("320 ") || found.network == 0.0);
}

#[test]
fn what_a_run_says_of_its_training_is_about_the_networks_in_its_model() {
    for (target, curve) in [("above", 1.0), ("y", 3.0), ("y", 0.0)] {
        let plan = plan(table(300, curve, 0.3), target, "[training]\nepochs = 30\n");
        let (summary, files) = fitted(&plan);
        let average = summary.cross_validation.as_ref().unwrap();
        let model = SavedModel::from_bytes(MODEL, &files.read(MODEL).unwrap()).unwrap();
        let whole = plan.on_all_rows().unwrap().with_model(model.network().clone());
        let multipliers = feasible::Multipliers::start(whole.train());
        let at_model =
            whole.train().optimality(whole.model(), model.theta(), &multipliers).unwrap();
        assert_eq!((summary.kkt, summary.gap), (at_model.kkt, at_model.gap));
        assert_eq!(summary.outcome, Outcome::Unconstrained);
        assert_eq!(summary.kept_epoch, None);
        let lines = files.read(METRICS).unwrap();
        let lines = lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let lines = lines.map(|line| serde_json::from_slice::<EpochMetrics>(line).unwrap());
        let lines: Vec<EpochMetrics> = lines.filter(|line| average.has(line)).collect();
        if average.network == 0.0 {
            assert!(lines.is_empty() && summary.headline().contains("linear models"));
            continue;
        }
        assert_eq!(average.networks.len(), 5);
        for (fold, network) in average.networks.iter().enumerate() {
            let own = || lines.iter().filter(|line| line.fold == Some(fold + 1));
            assert_eq!(own().count() as u64, network.epochs, "{target}, {curve}, {fold}");
            // Its own validation rows chose the epoch, up to ties.
            let unseen = |line: &EpochMetrics| line.validation.as_ref().unwrap().objective;
            let least = own().map(unseen).fold(f64::INFINITY, f64::min);
            let kept = own().find(|line| line.epoch == network.kept_epoch).map(unseen).unwrap();
            assert!(kept <= least * 1.01, "{target}, {curve}, {fold}: {kept}, {least}");
        }
        let kept = average.networks.iter().map(|network| network.kept_epoch);
        let said = format!("(best epoch: {} to ", kept.min().unwrap());
        assert!(summary.to_text().contains(&said), "{said}: {}", summary.to_text());
    }
}

#[test]
fn what_is_linear_is_left_to_linear_models_and_what_is_not_to_networks() {
    let of = |curve: f64, noise: f64, more: &str| {
        let (summary, _) = fitted(&plan(table(400, curve, noise), "y", more));
        let share = summary.cross_validation.as_ref().unwrap().network;
        (share, summary.test.unwrap().rmse.unwrap())
    };
    let network_alone = "[model]\nkind = \"mlp\"\n";
    let (share, error) = of(0.0, 0.1, "");
    assert!(share < 0.5, "{share}");
    // The noise is 0.1.
    assert!(error < 0.12, "{error}");
    let (whole, alone) = of(0.0, 0.1, network_alone);
    assert_eq!(whole, 1.0);
    assert!(error < alone, "{error} {alone}");
    let (share, _) = of(3.0, 0.3, "");
    assert!(share > 0.5, "{share}");
}

#[test]
fn models_are_made_as_sure_as_the_rows_that_they_have_not_seen_say() {
    let scale = |noise: f64| {
        let (summary, files) = fitted(&plan(table(800, 1.0, noise), "above", ""));
        let found = summary.cross_validation.unwrap();
        let model = SavedModel::from_bytes(MODEL, &files.read(MODEL).unwrap()).unwrap();
        (found.scale, found.to_text(), model.theta().iter().all(|x| x.is_finite()))
    };
    // The class follows from the inputs, so decay keeps networks from being as sure as they should be.
    let (sure, text, finite) = scale(0.0);
    assert!(sure > 1.1 && text.contains("not sure enough") && finite, "{sure} {text}");
    // It has next to nothing to do with them, so that what networks have learned is chance.
    let (unsure, text, finite) = scale(100.0);
    assert!(unsure < 0.9 && text.contains("too sure") && finite, "{unsure} {text}");
}

#[test]
fn a_run_that_is_stopped_after_its_training_ends_in_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("made.csv");
    std::fs::write(&file, csv(300, 1.0, 0.5)).unwrap();
    let file = format!("file = {:?}\n[training]\nepochs = 20\n", file.display().to_string());
    let plan = Plan::check(&problem("above", &file)).unwrap();
    let (_, whole) = fitted(&plan);
    let stopped = Memory::new();
    for name in [README, ROWS, FINGERPRINTS, RUN, PROBLEM, METRICS, CHECKPOINT] {
        stopped.write(name, &whole.read(name).unwrap()).unwrap();
    }
    let run = resume_in(&stopped, &Interrupt::new(), &|_| {}).unwrap();
    assert!(run.summary.is_some());
    for name in [SUMMARY, MODEL, METRICS] {
        assert_eq!(whole.read(name).unwrap(), stopped.read(name).unwrap(), "{name}");
    }
    // Nor do threads change a bit.
    let (_, threaded) = fitted(&plan.clone().computed_on(2));
    assert_eq!(whole.read(MODEL).unwrap(), threaded.read(MODEL).unwrap());
}

#[test]
fn weights_count_in_every_fold() {
    let of = |more: &str| {
        let source = ProblemSource::new(
            "w.toml",
            format!("[data]\ntarget = \"y\"\ndrop = [\"above\"]\n{more}"),
        );
        let plan = Plan::with_table(&source, table(200, 1.0, 1.0)).unwrap();
        let fold = plan.fold(2).unwrap();
        let weights =
            fold.train().objective().population().samples().weights().map(<[f64]>::to_vec);
        (weights, fold.data().split.train.clone())
    };
    let (weights, rows) = of("weight = \"weight\"\n");
    let weights = weights.unwrap();
    let mean = rows.iter().map(|row| f64::from(1 + row % 3)).sum::<f64>() / rows.len() as f64;
    let own = weights.iter().sum::<f64>() / weights.len() as f64;
    for (weight, row) in weights.iter().zip(&rows) {
        let expected = f64::from(1 + row % 3) / mean * own;
        assert!((weight - expected).abs() < 1e-9, "row {row}: {weight} {expected}");
    }
    assert_eq!(of("").0, None);
}

#[test]
fn networks_are_averaged_only_where_nothing_speaks_against_it() {
    let folds = |target: &str, more: &str| plan(table(300, 1.0, 0.5), target, more).folds();
    assert_eq!(folds("above", ""), 5);
    assert_eq!(folds("above", "[training]\nfolds = 3\n"), 3);
    for single in [
        "[training]\nfolds = 1\n",
        "[training]\nrecipe = \"paper\"\n",
        "[training]\nlearner = \"exact\"\n[model]\nkind = \"linear\"\n",
        "[training]\nseconds = 5\n",
        "[model]\nhidden = [8, 8]\n",
        "[model]\nkind = \"kernel\"\n",
        "[decision]\nmaximise = \"accuracy\"\n",
        "split = { validation = 0.1 }\n",
        "[[requirement]]\nname = \"r\"\nrate = \"recall\"\nat_least = 0.5\n",
    ] {
        assert_eq!(folds("above", single), 1, "{single}");
    }
    for (wrong, reason) in [
        ("[training]\nfolds = 0\n", "2 to 20"),
        ("[training]\nfolds = 21\n", "2 to 20"),
        ("[training]\nfolds = 5\n[model]\nhidden = [8, 8]\n", "one hidden layer"),
        ("split = { validation = 0.1 }\n[training]\nfolds = 5\n", "for validation are given"),
        (
            "[training]\nfolds = 5\n[[requirement]]\nname = \"r\"\nrate = \"recall\"\nat_least = 0.5\n",
            "requirements",
        ),
    ] {
        let source = problem("above", wrong);
        let error = Plan::with_table(&source, table(300, 1.0, 0.5)).unwrap_err().to_string();
        assert!(error.contains("training.folds") && error.contains(reason), "{wrong}: {error}");
    }
    // Of large tables each row counts for little, and time for more.
    let large = plan(table(26_000, 1.0, 0.5), "above", "[training]\nepochs = 1\n");
    assert_eq!((large.folds(), large.spec().training.folds), (1, None));
}

#[test]
fn a_run_of_one_network_is_resumed_as_one() {
    let one =
        plan(table(300, 1.0, 0.5), "above", "[training]\nfolds = 1\n[model]\nkind = \"mlp\"\n");
    let text = one.spec().to_toml();
    assert!(text.contains("folds = 1"), "{text}");
    let source = ProblemSource::new("again.toml", text);
    assert_eq!(Plan::with_table(&source, one.data().table.clone()).unwrap().folds(), 1);
}

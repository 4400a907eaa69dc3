//! Several numbers predicted by one model: each in its own units, whatever the others' are.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::common;

use std::fmt::Write;

use feasible::{Outcome, Purpose, Stream, Targets};
use feasible_data::{Format, Table};
use feasible_problem::{Plan, ProblemSource};
use feasible_run::{
    Evaluation, Event, Fitted, Formulas, Interrupt, Memory, SavedModel, Storage, Summary, files,
    fit_in,
};
use serde_json::{Value, json};

/// A gym's table after that of Linnerud: three exercises, from which weight, waist and pulse are told; the units of
/// these are `scales`, and their offsets ten of them.
fn gym(rows: usize, scales: [f64; 3]) -> String {
    let mut stream = Stream::new(7, Purpose::Initial, 0, 0);
    // Sums of twelve uniform numbers are as good as normal.
    let mut normal = || (0..12).map(|_| stream.uniform()).sum::<f64>() - 6.0;
    let mut csv = String::from("chins,situps,jumps,group,weight,waist,pulse\n");
    for i in 0..rows {
        let [a, b, c] = [normal(), normal(), normal()];
        let y = [2.0 * a - b, a + b + c, 3.0 * c - a].map(|y| y + 10.0);
        let y = [0, 1, 2].map(|j| (y[j] + 0.5 * normal()) * scales[j]);
        let group = ["morning", "evening", "evening"][i % 3];
        writeln!(csv, "{a},{b},{c},{group},{:e},{:e},{:e}", y[0], y[1], y[2]).unwrap();
    }
    csv
}

const SCALES: [f64; 3] = [1e3, 1.0, 1e-3];
const TARGETS: &str = "[data]\ntarget = [\"weight\", \"waist\", \"pulse\"]\n";

fn table(csv: &str) -> Table {
    Table::from_bytes("gym", csv.as_bytes(), &Format::default()).unwrap()
}

fn plan(csv: &str, text: &str) -> Plan {
    Plan::with_table(&ProblemSource::new("gym.toml", text), table(csv)).unwrap()
}

fn refused(csv: &str, text: &str) -> String {
    let source = ProblemSource::new("gym.toml", text);
    Plan::with_table(&source, table(csv)).unwrap_err().to_string()
}

fn run(plan: &Plan) -> (Memory, Fitted) {
    let files = Memory::new();
    let run = fit_in(plan, &files, &Interrupt::new(), &|_| {}).unwrap();
    assert_ne!(run.outcome, Outcome::Interrupted);
    (files, run)
}

fn summary(plan: &Plan) -> Summary {
    run(plan).1.summary.unwrap()
}

/// The errors of each target, in units of `scales`.
fn errors(evaluation: &Evaluation, scales: [f64; 3]) -> Vec<f64> {
    evaluation.by_target.iter().zip(scales).map(|(of, scale)| of.rmse / scale).collect()
}

#[test]
fn each_number_is_learned_in_its_own_units() {
    let of = |scales: [f64; 3]| summary(&plan(&gym(400, scales), TARGETS)).test.unwrap();
    let usual = of([1.0; 3]);
    let names: Vec<&str> = usual.by_target.iter().map(|of| of.target.as_str()).collect();
    assert_eq!(names, ["weight", "waist", "pulse"]);
    // Noise of 0.5 is what no model can predict; the deviations are 2.3, 1.8 and 3.2.
    assert!(errors(&usual, [1.0; 3]).iter().all(|e| *e < 1.0), "{:?}", usual.by_target);
    let other = of(SCALES);
    for (a, b) in errors(&usual, [1.0; 3]).iter().zip(errors(&other, SCALES)) {
        // Single precision of targets and outputs changes the path a little.
        assert!((a - b).abs() < 0.1 * a, "{a} and {b}");
    }
    let (a, b) = (usual.rmse.unwrap(), other.rmse.unwrap());
    assert!((a - b).abs() < 0.1 * a && a < 0.4, "in deviations: {a} and {b}");
}

/// Least squares with an intercept by the normal equations, in f64.
fn least_squares(x: &[Vec<f64>], y: &[f64]) -> Vec<f64> {
    let p = x[0].len() + 1;
    let row = |x: &[f64]| [x, &[1.0]].concat();
    let mut a = vec![vec![0.0; p + 1]; p];
    for (x, y) in x.iter().zip(y) {
        let x = row(x);
        for i in 0..p {
            (0..p).for_each(|j| a[i][j] += x[i] * x[j]);
            a[i][p] += x[i] * y;
        }
    }
    for i in 0..p {
        for k in i + 1..p {
            let factor = a[k][i] / a[i][i];
            (i..=p).for_each(|j| a[k][j] -= factor * a[i][j]);
        }
    }
    let mut beta = vec![0.0; p];
    for i in (0..p).rev() {
        let rest: f64 = (i + 1..p).map(|j| a[i][j] * beta[j]).sum();
        beta[i] = (a[i][p] - rest) / a[i][i];
    }
    x.iter().map(|x| row(x).iter().zip(&beta).map(|(x, b)| x * b).sum()).collect()
}

#[test]
fn a_linear_model_by_the_exact_learner_is_least_squares_of_each_number() {
    let csv = gym(200, SCALES);
    let exact = "split = { test = 0.0 }\ndrop = [\"group\"]\nstandardise = true\n[model]\nkind = \"linear\"\n\
                 [training]\nlearner = \"exact\"\n";
    let plan = plan(&csv, &format!("{TARGETS}{exact}"));
    let (files, fitted) = run(&plan);
    assert!(matches!(fitted.outcome, Outcome::Converged), "{:?}", fitted.outcome);
    let model = SavedModel::from_bytes("model", &files.read(files::MODEL).unwrap()).unwrap();
    let predicted = model.predict(&table(&csv), None).unwrap();
    assert_eq!(predicted.targets, ["weight", "waist", "pulse"]);
    let train = &plan.data().train;
    let x: Vec<Vec<f64>> = (0..train.len())
        .map(|row| train.inputs().row(row).iter().map(|&x| f64::from(x)).collect())
        .collect();
    let Targets::Vectors(y) = train.targets() else { panic!("vectors") };
    let mut objective = 0.0;
    for j in 0..3 {
        let y: Vec<f64> = y.coordinate(j).map(f64::from).collect();
        let deviation = plan.data().target.coordinates()[j].deviation;
        let expected = least_squares(&x, &y);
        for ((row, expected), y) in predicted.rows.iter().zip(&expected).zip(&y) {
            // θ is in single precision, and the inner problem is solved to a tolerance.
            let off = (row.values[j] - expected).abs();
            assert!(off < 2e-3 * deviation, "{j}: {} instead of {expected}", row.values[j]);
            objective += ((expected - y) / deviation).powi(2) / (3.0 * train.len() as f64);
        }
    }
    // The least value of all: no model of these has a smaller one.
    let found = fitted.summary.unwrap().train.objective;
    assert!((found - objective).abs() < 1e-4 * objective, "{found} instead of {objective}");
}

#[test]
fn a_kernel_model_predicts_all_numbers() {
    let kernel = "drop = [\"group\"]\n[model]\nkind = \"kernel\"\ncentres = 60\n";
    let found = summary(&plan(&gym(300, SCALES), &format!("{TARGETS}{kernel}"))).test.unwrap();
    assert!(errors(&found, SCALES).iter().all(|e| *e < 1.5), "{:?}", found.by_target);
}

#[test]
fn a_requirement_is_of_all_numbers_or_of_one_in_its_units() {
    let csv = gym(1200, SCALES);
    let text = format!(
        "{TARGETS}[[requirement]]\nname = \"all\"\nloss = \"squared\"\nwhere = \"group == 'morning'\"\nat_most = 0.1\n\
         [[requirement]]\nname = \"pulse\"\nloss = \"absolute\"\nof = \"pulse\"\nat_most = 6e-4\n\
         [[requirement]]\nname = \"weight\"\nloss = \"squared\"\nof = \"weight\"\nat_most = 4e5\nbound = 1e8\n"
    );
    let plan = plan(&csv, &text);
    let described = plan.describe();
    for words in [
        "E[ squared error of weight, waist, pulse (in deviations) ]",
        "y = (weight, waist, pulse), 3 numbers",
        "the loss is the mean over the targets, each in units of its standard deviation on the training rows: weight 22",
        "absolute error of pulse",
        "squared error of weight (bounded by 100000000)",
    ] {
        assert!(described.contains(words), "no '{words}' in {described}");
    }
    let (files, fitted) = run(&plan);
    let summary = fitted.summary.unwrap();
    assert!(summary.train.met, "{}", summary.to_text());
    // The values are those of the predictions.
    let model = SavedModel::from_bytes("model", &files.read(files::MODEL).unwrap()).unwrap();
    let predicted = model.predict(&table(&csv), None).unwrap();
    let test = plan.data().test.as_ref().unwrap();
    let Targets::Vectors(y) = test.targets() else { panic!("vectors") };
    let mean = |of: &dyn Fn(&[f64], &[f32]) -> f64| {
        let each = test
            .ids()
            .iter()
            .enumerate()
            .map(|(at, &id)| of(&predicted.rows[id as usize].values, y.row(at)));
        each.sum::<f64>() / test.len() as f64
    };
    let values: Vec<f64> =
        summary.test.unwrap().requirements.iter().map(|r| r.value.unwrap()).collect();
    let pulse = mean(&|f, y| (f[2] - f64::from(y[2])).abs());
    let weight = mean(&|f, y| (f[0] - f64::from(y[0])).powi(2));
    // Losses are computed in single precision.
    assert!((values[1] - pulse).abs() < 1e-4 * pulse, "{} instead of {pulse}", values[1]);
    assert!((values[2] - weight).abs() < 1e-4 * weight, "{} instead of {weight}", values[2]);
}

#[test]
fn bounded_losses_of_several_numbers_are_certified() {
    let text = format!(
        "{TARGETS}split = {{ test = 0.4 }}\n[[requirement]]\nname = \"all\"\nloss = \"squared\"\nbound = 4.0\nat_most = 0.4\n\
         [[requirement]]\nname = \"waist\"\nloss = \"absolute\"\nof = \"waist\"\nbound = 4.0\nat_most = 0.1\n"
    );
    let found = summary(&plan(&gym(2000, SCALES), &text));
    let text = found.certificate.unwrap_or_else(|| panic!("{:?}", found.no_certificate)).to_text();
    let named = "the expected squared error of weight, waist, pulse (in deviations) (bounded by 4) is at most";
    assert!(text.contains(named) && text.contains("CERTIFIED"), "{text}");
    // Noise alone is 0.4 on average.
    assert!(text.contains("VIOLATED"), "{text}");
}

#[test]
fn predictions_have_a_column_for_each_target() {
    let (files, fitted) =
        run(&plan(&gym(60, SCALES), &format!("{TARGETS}[training]\nepochs = 2\n")));
    let model = SavedModel::from_bytes("model", &files.read(files::MODEL).unwrap()).unwrap();
    let again = SavedModel::from_bytes("again", &model.to_bytes().unwrap()).unwrap();
    let predictions = again.predict(&table(&gym(3, SCALES)), None).unwrap();
    let mut csv = Vec::new();
    predictions.write_csv(&mut csv, Formulas::Quote).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("row,weight,waist,pulse"));
    assert_eq!(lines.clone().count(), 3);
    assert!(lines.all(|line| line.split(',').count() == 4), "{csv}");
    let json = serde_json::to_value(&predictions).unwrap();
    assert_eq!(json["targets"], json!(["weight", "waist", "pulse"]));
    assert_eq!(json["rows"][0]["values"].as_array().unwrap().len(), 3);
    // An audit says the same of the same rows as the training did.
    let summary = fitted.summary.unwrap();
    let text = summary.to_text();
    for label in ["root mean squared error, in deviations", "  of weight", "  of pulse"] {
        assert!(text.contains(label), "no '{label}' in {text}");
    }
    let audit = model.audit(&table(&gym(60, SCALES)), None).unwrap();
    assert_eq!(audit.evaluation.by_target.len(), 3);
    assert_eq!(audit.evaluation.rows, 60);
}

#[test]
fn a_list_of_one_target_is_the_target() {
    let csv = gym(80, SCALES);
    let others = "drop = [\"waist\", \"pulse\"]\n[training]\nepochs = 5\n";
    let of = |target: &str| {
        let (files, _) = run(&plan(&csv, &format!("[data]\ntarget = {target}\n{others}")));
        (files.read(files::MODEL).unwrap(), files.read(files::SUMMARY).unwrap())
    };
    assert!(of("\"weight\"") == of("[\"weight\"]"));
}

#[test]
fn counts_of_several_kinds_are_predicted_together() {
    let mut stream = Stream::new(3, Purpose::Initial, 0, 0);
    let mut csv = String::from("a,few,many\n");
    for _ in 0..400 {
        let a = 2.0 * stream.uniform() - 1.0;
        // Rounded up or down by chance, so that the expectation is right.
        let mut count = |mean: f64| (mean + stream.uniform()).floor();
        let (few, many) = (count(a.exp()), count((3.0 - a).exp()));
        writeln!(csv, "{a},{few},{many}").unwrap();
    }
    let text = "[data]\ntarget = [\"few\", \"many\"]\n[objective]\nloss = \"poisson\"\n[model]\nkind = \"linear\"\n";
    let plan = plan(&csv, text);
    assert!(plan.model().units().is_none());
    let (files, fitted) = run(&plan);
    let found = fitted.summary.unwrap().test.unwrap();
    // Rounding has a deviation of at most 1/2.
    assert!(found.by_target[0].rmse < 0.7 && found.by_target[1].rmse < 2.0, "{found:?}");
    let model = SavedModel::from_bytes("model", &files.read(files::MODEL).unwrap()).unwrap();
    let predicted = model.predict(&table("a,few,many\n0,1,1\n"), None).unwrap();
    let values = &predicted.rows[0].values;
    assert!((values[0] - 1.0).abs() < 0.2 && (values[1] - 3f64.exp()).abs() < 2.0, "{values:?}");
    let negative = format!("{csv}0.5,1,-2\n");
    let message = refused(&negative, text);
    assert!(message.contains("'many'") && message.contains("-2 is below 0"), "{message}");
}

#[test]
fn interrupted_a_run_of_several_targets_ends_in_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("gym.csv");
    std::fs::write(&file, gym(60, SCALES)).unwrap();
    for learner in ["simultaneous", "exact"] {
        let text = format!(
            "{TARGETS}file = {:?}\n[model]\nkind = \"linear\"\n[training]\nepochs = 4\nlearner = \"{learner}\"\n\
             [[requirement]]\nname = \"waist\"\nloss = \"squared\"\nof = \"waist\"\nat_most = 0.5\n",
            file.display().to_string()
        );
        let plan = Plan::check(&ProblemSource::new("gym.toml", &text)).unwrap();
        let (expected, _) = run(&plan);
        let (files, interrupt) = (Memory::new(), Interrupt::new());
        let stop = |event: &Event| {
            if matches!(event, Event::Epoch { metrics, .. } if metrics.epoch == 2) {
                interrupt.raise();
            }
        };
        fit_in(&plan, &files, &interrupt, &stop).unwrap();
        feasible_run::resume_in(&files, &Interrupt::new(), &|_| {}).unwrap();
        common::assert_same(&files, &expected, learner);
    }
}

#[test]
fn what_does_not_fit_several_targets_is_refused_by_key() {
    let csv = gym(40, SCALES);
    let requirement =
        |keys: &str| format!("{TARGETS}[[requirement]]\nname = \"r\"\nat_most = 0.5\n{keys}\n");
    let kl = "counterfactual = { swap = { group = [\"morning\", \"evening\"] } }";
    for (text, message) in [
        ("[data]\ntarget = []\n".to_string(), "data.target: the list is empty: name the columns to predict"),
        ("[data]\ntarget = 3\n".into(), "the name of a column, or a list of names"),
        ("[data]\ntarget = [\"weight\", \"wist\"]\n".into(), "data.target[1]: gym has no column 'wist': did you mean 'waist'?"),
        ("[data]\ntarget = [\"weight\", \"weight\"]\n".into(), "column 'weight': it is named twice: predict it once"),
        ("[data]\ntarget = [\"weight\", \"group\"]\n".into(), "column 'group' is categorical, but a number is to be predicted"),
        (format!("{TARGETS}task = \"classify\"\n"), "several columns are predicted, so each is a number"),
        (format!("{TARGETS}positive = \"1\"\n"), "several columns are predicted, so each is a number"),
        (format!("{TARGETS}[objective]\nloss = \"cross-entropy\"\n"), "objective.loss: cross-entropy is of classes, and 3 numbers are predicted"),
        (format!("{TARGETS}[objective]\nclass_weights = \"balanced\"\n"), "objective.class_weights: has no effect"),
        (format!("{TARGETS}[decision]\nmaximise = \"accuracy\"\n"), "decision: a number is predicted, not a class"),
        (requirement(&format!("loss = \"kl\"\n{kl}")), "requirement[0].loss: KL divergence is of classes, and 3 numbers"),
        (requirement("rate = \"recall\""), "requirement[0].rate: rates are about classes"),
        (requirement("loss = \"squared\"\nof = \"wast\""), "requirement[0].of: 'wast' is not predicted: did you mean 'waist'?"),
        (requirement("rate = \"recall\"\nof = \"waist\""), "requirement[0].of: names the target of a loss"),
        (requirement("loss = \"squared\"\nadversary = { epsilon = 0.1 }"), "requirement[0].adversary: an adversary attacks the prediction of a class or of one number"),
        (
            "[data]\ntarget = \"weight\"\n[[requirement]]\nname = \"r\"\nat_most = 0.5\nloss = \"squared\"\nof = \"weight\"\n".into(),
            "requirement[0].of: has no effect",
        ),
    ] {
        let found = refused(&csv, &text);
        assert!(found.contains(message), "{text}\n{found}");
    }
    let missing = format!("{csv}0,0,0,evening,1,,1\n");
    let found = refused(&missing, TARGETS);
    assert!(found.contains("column 'waist'"), "{found}");
}

#[test]
fn invariance_of_several_numbers_counts_each_in_its_deviation() {
    let text = format!(
        "{TARGETS}[[requirement]]\nname = \"group\"\nloss = \"squared-distance\"\nkind = \"pointwise\"\nat_most = 1e-3\n\
         counterfactual = {{ swap = {{ group = [\"morning\", \"evening\"] }} }}\n"
    );
    let found = summary(&plan(&gym(400, SCALES), &text));
    assert!(found.train.met, "{}", found.to_text());
    assert!(errors(&found.test.unwrap(), SCALES).iter().all(|e| *e < 1.0));
}

/// A model file with another manifest.
fn with_manifest(bytes: &[u8], change: &dyn Fn(&mut Value)) -> Vec<u8> {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let entry = &mut header["__metadata__"]["feasible"];
    let mut manifest: Value = serde_json::from_str(entry.as_str().unwrap()).unwrap();
    change(&mut manifest);
    *entry = manifest.to_string().into();
    let header = header.to_string().into_bytes();
    [&(header.len() as u64).to_le_bytes(), &header[..], &bytes[8 + length..]].concat()
}

#[test]
fn targets_of_a_manifest_that_do_not_fit_are_refused() {
    let (files, _) = run(&plan(&gym(60, SCALES), &format!("{TARGETS}[training]\nepochs = 1\n")));
    let bytes = files.read(files::MODEL).unwrap();
    type Case<'a> = (&'a dyn Fn(&mut Value), &'a str);
    let cases: [Case<'_>; 8] = [
        (
            &|m| m["target"]["coordinates"][1]["deviation"] = json!(0.0),
            "'waist' has the deviation 0e0",
        ),
        (
            &|m| m["target"]["coordinates"][1]["deviation"] = json!(1e300),
            "'waist' has the deviation 1e300",
        ),
        (
            &|m| m["target"]["coordinates"][1]["column"] = json!("weight"),
            "has the column 'weight' twice",
        ),
        (
            &|m| m["target"]["column"] = json!("waist"),
            "its target is a class, one number or several",
        ),
        (
            &|m| m["target"]["coordinates"] = json!([]),
            "its network gives 3 outputs, its target takes 1",
        ),
        (
            &|m| drop(m["target"]["coordinates"].as_array_mut().unwrap().pop()),
            "its network gives 3 outputs, its target takes 2",
        ),
        (
            &|m| drop(m["units"].as_array_mut().unwrap().pop()),
            "2 for 3 outputs: one for each is needed",
        ),
        (&|m| m["units"][2]["scale"] = json!(-1.0), "the scale positive"),
    ];
    for (change, message) in cases {
        let found = SavedModel::from_bytes("model", &with_manifest(&bytes, change)).unwrap_err();
        assert!(found.to_string().contains(message), "{found} instead of {message}");
    }
    assert!(SavedModel::from_bytes("model", &with_manifest(&bytes, &|_| {})).is_ok());
}

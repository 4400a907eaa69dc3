//! Weights, precision, rates of classes, thresholds, quantiles and counts, from a table to predictions.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::fmt::Write;
use std::path::Path;

use feasible_data::{Format, Table};
use feasible_problem::{Plan, ProblemSource};
use feasible_run::{Evaluation, Fitted, Interrupt, Memory, SavedModel, Storage, Summary, fit_in};

use common::{people, plan, write};

fn trained(plan: &Plan) -> (Summary, SavedModel) {
    let files = Memory::new();
    let Fitted { summary, .. } = fit_in(plan, &files, &Interrupt::new(), &|_| {}).unwrap();
    let model = SavedModel::from_bytes("m", &files.read("model.safetensors").unwrap()).unwrap();
    (summary.unwrap(), model)
}

fn open(directory: &Path, name: &str, text: &str) -> Plan {
    let path = write(directory, name, text);
    Plan::check(&ProblemSource::open(path.to_str().unwrap()).unwrap()).unwrap()
}

fn close(a: f64, b: f64, within: f64) {
    assert!((a - b).abs() <= within, "{a} {b}");
}

#[test]
fn a_row_of_weight_two_is_the_row_twice() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let (mut once, mut often) = (String::new(), String::new());
    for (line, text) in people(150).lines().enumerate() {
        let weight = 1 + line % 3;
        let cell = if line == 0 { "w".to_string() } else { weight.to_string() };
        writeln!(once, "{text},{cell}").unwrap();
        for _ in 0..if line == 0 { 1 } else { weight } {
            writeln!(often, "{text},1").unwrap();
        }
    }
    let often = often.replacen("income,1", "income,w", 1);
    write(d, "once.csv", &once);
    write(d, "often.csv", &often);
    let fit = |name: &str, weight: &str| {
        let text = format!(
            "[data]\nfile = \"{name}.csv\"\ntarget = \"income\"\npositive = \"high\"\n{weight}\n\
             split = {{ test = 0.0 }}\n[model]\nkind = \"linear\"\n[training]\nlearner = \"exact\"\n"
        );
        trained(&open(d, "p.toml", &text))
    };
    let (by_weight, model) = fit("once", "weight = \"w\"");
    let (by_rows, other) = fit("often", "drop = [\"w\"]");
    // Unregularised logistic regression has one least objective; single precision stops near it.
    close(by_weight.train.objective, by_rows.train.objective, 1e-5);
    let table = Table::from_bytes("t", once.as_bytes(), &Format::default()).unwrap();
    let (a, b) = (model.predict(&table, None).unwrap(), other.predict(&table, None).unwrap());
    for (a, b) in a.rows.iter().zip(&b.rows) {
        close(a.probabilities[1], b.probabilities[1], 5e-3);
    }
    let (plain, _) = fit("once", "drop = [\"w\"]");
    assert!((plain.train.objective - by_rows.train.objective).abs() > 1e-4);
    // An audit of the same rows knows the weights, and asks for them.
    let audit = model.audit(&table, None).unwrap();
    close(audit.evaluation.objective, by_weight.train.objective, 1e-6);
    let without = once.lines().map(|line| line.rsplit_once(',').unwrap().0).collect::<Vec<_>>();
    let table = Table::from_bytes("t", without.join("\n").as_bytes(), &Format::default()).unwrap();
    assert!(model.audit(&table, None).unwrap_err().to_string().contains("'w'"));
    assert_eq!(model.predict(&table, None).unwrap().rows.len(), 150);
}

fn value(evaluation: &Evaluation, name: &str) -> f64 {
    let found = evaluation.requirements.iter().find(|r| r.name == name);
    found.and_then(|r| r.value).unwrap()
}

#[test]
fn precision_and_rates_of_classes_are_those_one_counts() {
    let directory = tempfile::tempdir().unwrap();
    let requirement = |name: &str, rest: &str| {
        format!("[[requirement]]\nname = \"{name}\"\n{rest}\nat_least = 0.01\n\n")
    };
    let text = [
        requirement("precision", "rate = \"precision\""),
        requirement("npv", "rate = \"npv\""),
        requirement("women", "rate = \"ppv\"\nwhere = \"gender == 'Female'\""),
        requirement("recall of low", "rate = \"recall\"\nclass = \"low\""),
        requirement("precision of low", "rate = \"precision\"\nclass = \"low\""),
    ]
    .concat();
    let (summary, _) = trained(&plan(directory.path(), &text, "epochs = 30\nrate = 0.05\n"));
    let test = summary.test.unwrap();
    let c = test.confusion.clone().unwrap();
    let [tn, fp, fn_, tp] = [c[0][0], c[0][1], c[1][0], c[1][1]].map(|x| x as f64);
    close(value(&test, "precision"), tp / (tp + fp), 1e-12);
    close(value(&test, "npv"), tn / (tn + fn_), 1e-12);
    close(value(&test, "recall of low"), tn / (tn + fp), 1e-12);
    close(value(&test, "precision of low"), tn / (tn + fn_), 1e-12);
    let points = test.requirements.iter().find(|r| r.name == "precision").unwrap().points;
    assert_eq!(points as f64, tp + fp);
    close(test.f1.unwrap(), 2.0 * tp / (2.0 * tp + fp + fn_), 1e-12);
    close(test.balanced_accuracy.unwrap(), 0.5 * (tp / (tp + fn_) + tn / (tn + fp)), 1e-12);
    // The certificate is exact on what is predicted.
    let certificate = summary.certificate.unwrap().certificate;
    let found = certificate.findings.iter().find(|f| f.name == "precision").unwrap();
    assert_eq!(found.subject, "the precision of 'high'");
    assert_eq!(found.rows as f64, tp + fp);
    close(found.estimate.unwrap(), tp / (tp + fp), 1e-12);
    // Calibration: everyone, and the group that a requirement speaks of.
    let groups: Vec<&str> = test.calibration.iter().map(|c| c.group.as_str()).collect();
    assert_eq!(groups, ["everyone", "gender == 'Female'"]);
    close(test.calibration[0].observed, (fn_ + tp) / (tn + fp + fn_ + tp), 1e-12);
}

#[test]
fn a_floor_raises_the_precision() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    write(d, "many.csv", &people(3000));
    let fit = |requirement: &str| {
        let text = format!(
            "[data]\nfile = \"many.csv\"\ntarget = \"income\"\npositive = \"high\"\n\
             split = {{ validation = 0.2, test = 0.2 }}\n{requirement}"
        );
        trained(&open(d, "p.toml", &text)).0
    };
    let free = fit("");
    let precision =
        |evaluation: &Evaluation| evaluation.by_class.as_ref().unwrap()[1].precision.unwrap();
    let before = precision(&free.train);
    // About 0.71.
    assert!(before < 0.75, "{before}");
    let bound = fit(
        "[[requirement]]\nname = \"p\"\nrate = \"precision\"\nat_least = 0.82\nmargin = 0.05\n\n[training]\nepochs = 200\ndual = { rate = 0.1 }\n",
    );
    // The epoch is chosen on the validation rows, so that the training rows may miss the floor by a little.
    let after = precision(&bound.train);
    assert!(after >= 0.78, "{after}");
    // Not by predicting nothing.
    assert!(bound.train.by_class.as_ref().unwrap()[1].recall.unwrap() > 0.1);
}

#[test]
fn several_classes_have_recalls_and_a_top_two() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let mut csv = String::from("x,y,kind\n");
    for i in 0..300 {
        let (x, y) = (f64::from(i * 37 % 101) / 10.0, f64::from(i * 53 % 97) / 10.0);
        let kind = if x + 0.3 * f64::from(i % 7) > 7.0 {
            "c"
        } else if y > 5.0 {
            "b"
        } else {
            "a"
        };
        writeln!(csv, "{x},{y},{kind}").unwrap();
    }
    write(d, "kinds.csv", &csv);
    let text = "[data]\nfile = \"kinds.csv\"\ntarget = \"kind\"\nsplit = { test = 0.3 }\n\
                [[requirement]]\nname = \"r\"\nrate = \"recall\"\nclass = \"b\"\nat_least = 0.01\n\
                [[requirement]]\nname = \"f\"\nrate = \"fpr\"\nclass = \"b\"\nat_most = 0.99\n\
                [[requirement]]\nname = \"m\"\nrate = \"fnr\"\nclass = \"b\"\nat_most = 0.99\n\
                [[requirement]]\nname = \"s\"\nrate = \"specificity\"\nclass = \"b\"\nat_least = 0.01\n\
                [[requirement]]\nname = \"p\"\nrate = \"precision\"\nclass = \"b\"\nat_least = 0.01\n";
    let (summary, model) = trained(&open(d, "p.toml", text));
    let test = summary.test.unwrap();
    let c = test.confusion.clone().unwrap();
    let row = |y: usize| c[y].iter().sum::<u64>() as f64;
    let column = |p: usize| c.iter().map(|row| row[p]).sum::<u64>() as f64;
    let all = test.rows as f64;
    let right = c[1][1] as f64;
    close(value(&test, "r"), right / row(1), 1e-12);
    close(value(&test, "m"), 1.0 - right / row(1), 1e-12);
    close(value(&test, "f"), (column(1) - right) / (all - row(1)), 1e-12);
    close(value(&test, "s"), 1.0 - (column(1) - right) / (all - row(1)), 1e-12);
    close(value(&test, "p"), right / column(1), 1e-12);
    let rates = test.by_class.unwrap();
    let f1 = |of: usize| 2.0 * c[of][of] as f64 / (row(of) + column(of));
    close(rates[2].f1.unwrap(), f1(2), 1e-12);
    close(test.f1.unwrap(), (f1(0) + f1(1) + f1(2)) / 3.0, 1e-12);
    // Top 2 of 3, from probabilities, on all rows.
    let table = Table::from_bytes("t", csv.as_bytes(), &Format::default()).unwrap();
    let audit = model.audit(&table, None).unwrap().evaluation;
    let kinds = csv.lines().skip(1).map(|line| line.rsplit_once(',').unwrap().1);
    let predictions = model.predict(&table, None).unwrap();
    let hits = predictions.rows.iter().zip(kinds).filter(|(row, kind)| {
        let p = |class: &str| row.probabilities["abc".find(class).unwrap()];
        ["a", "b", "c"].iter().filter(|other| p(other) > p(kind)).count() < 2
    });
    close(audit.top[0].share, hits.count() as f64 / 300.0, 1e-12);
    assert_eq!((audit.top.len(), audit.top[0].k), (1, 2));
}

/// Probability and class of the validation rows, and whether the row is a woman's.
fn validation(plan: &Plan, model: &SavedModel) -> Vec<(f64, bool, bool)> {
    let data = plan.data();
    let all = model.predict(&data.table, None).unwrap().rows;
    let text = |column: &str, row: usize| data.table.column(column).unwrap().text(row).unwrap();
    data.split
        .validation
        .iter()
        .map(|&row| row as usize)
        .map(|row| {
            (
                all[row].probabilities[1],
                text("income", row) == "high",
                text("gender", row) == "Female",
            )
        })
        .collect()
}

/// (measure, largest violation) of a threshold, by counting.
fn counted(rows: &[(f64, bool, bool)], threshold: f64) -> (f64, f64) {
    let count =
        |of: &dyn Fn(&(f64, bool, bool)) -> bool| rows.iter().filter(|r| of(r)).count() as f64;
    let tp = count(&|r| r.0 > threshold && r.1);
    let fp = count(&|r| r.0 > threshold && !r.1);
    let positives = count(&|r| r.1);
    let f1 = if tp + fp + positives > 0.0 { 2.0 * tp / (tp + fp + positives) } else { 0.0 };
    let fpr = fp / (rows.len() as f64 - positives);
    let women = count(&|r| r.2 && r.1);
    let found = count(&|r| r.2 && r.1 && r.0 > threshold);
    (f1, (fpr - 0.25).max(0.5 - found / women).max(0.0))
}

const DECIDED: &str = "[[requirement]]\nname = \"fpr\"\nrate = \"fpr\"\nat_most = 0.25\n\n\
     [[requirement]]\nname = \"women\"\nrate = \"recall\"\nwhere = \"gender == 'Female'\"\nat_least = 0.5\n\n\
     [decision]\nmaximise = \"f1\"\n";

#[test]
fn the_threshold_is_the_best_of_all_that_meet_the_rates() {
    let directory = tempfile::tempdir().unwrap();
    // A training of one epoch: the rates are for the threshold to meet.
    let plan = plan(directory.path(), DECIDED, "epochs = 3\n");
    let (summary, model) = trained(&plan);
    let decision = summary.decision.clone().unwrap();
    let rows = validation(&plan, &model);
    // Every threshold there is.
    let mut cuts: Vec<f64> = rows.iter().map(|r| r.0).chain([0.0, 1.0]).collect();
    cuts.sort_by(f64::total_cmp);
    let thresholds = cuts.windows(2).map(|w| 0.5 * (w[0] + w[1]));
    let all: Vec<(f64, f64)> = thresholds.map(|t| counted(&rows, t)).collect();
    let feasible = all.iter().filter(|(_, violation)| *violation <= 1e-12);
    let best = feasible.map(|(f1, _)| *f1).fold(f64::NAN, f64::max);
    let (reached, violation) = counted(&rows, decision.threshold);
    if best.is_nan() {
        assert!(!decision.met);
    } else {
        assert!(decision.met && violation <= 1e-12, "{violation}");
        close(reached, best, 1e-12);
    }
    close(decision.reached, reached, 1e-12);
    close(decision.at_half, counted(&rows, 0.5).0, 1e-12);
    assert_ne!(decision.threshold, 0.5, "the test tries nothing otherwise");

    // What is measured, predicted and certified are the decisions.
    let validation = summary.validation.as_ref().unwrap();
    close(validation.f1.unwrap(), reached, 1e-12);
    let predictions = model.predict(&plan.data().table, None).unwrap();
    for row in &predictions.rows {
        let positive = row.probabilities[1] > decision.threshold;
        assert_eq!(row.class.as_deref() == Some("high"), positive);
    }
    let test = summary.test.as_ref().unwrap();
    let c = test.confusion.as_ref().unwrap();
    let fpr = c[0][1] as f64 / (c[0][0] + c[0][1]) as f64;
    close(value(test, "fpr"), fpr, 1e-12);
    let certificate = &summary.certificate.as_ref().unwrap().certificate;
    let found = certificate.findings.iter().find(|f| f.name == "fpr").unwrap();
    close(found.estimate.unwrap(), fpr, 1e-12);
    assert!(summary.to_text().contains("Decision: 'high' where its probability is above 0."));
    // The objective does not know it.
    let undecided = DECIDED.split("[decision]").next().unwrap();
    let other = tempfile::tempdir().unwrap();
    let (plain, _) = trained(&common::plan(other.path(), undecided, "epochs = 3\n"));
    assert_eq!(plain.test.unwrap().objective, test.objective);
    assert_eq!(plain.decision, None);
    // An audit of the test rows finds what the run found.
    let audit = model.audit(&plan.data().table, None).unwrap().evaluation;
    let predicted = predictions.rows.iter().filter(|r| r.class.as_deref() == Some("high")).count();
    let c = audit.confusion.unwrap();
    assert_eq!((c[0][1] + c[1][1]) as usize, predicted);
}

#[test]
fn groups_have_thresholds_of_their_own_only_if_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let parity = "[[requirement]]\nname = \"parity\"\nrate = \"selection\"\nwhere = \"gender == 'Female'\"\n\
                  against = \"gender == 'Male'\"\nwithin = 0.05\nstart = 0.0\ndual = { method = \"ascent\", rate = 1e-9 }\n\n[evaluation]\ncounterfactual = { swap = { degree = [\"none\", \"master\"] } }\n\n";
    let fit = |decision: &str| {
        let plan = plan(
            directory.path(),
            &format!("{parity}{decision}"),
            "epochs = 40\nrate = 0.05\nkeep = \"last\"\n",
        );
        let (summary, model) = trained(&plan);
        (plan, summary, model)
    };
    let (_, common, _) = fit("[decision]\n");
    let (plan, own, model) = fit("[decision]\nper = \"gender\"\n");
    let (common, own) = (common.decision.unwrap(), own.decision.unwrap());
    assert_eq!(common.groups, None);
    let groups = own.groups.clone().unwrap();
    assert_eq!(groups.column, "gender");
    // One threshold meets parity by selecting nearly all or nobody; two of them at no such price.
    assert!(own.met && own.reached >= common.reached, "{own:?} {common:?}");
    assert!(groups.thresholds["Female"] < groups.thresholds["Male"], "{groups:?}");
    assert!(own.to_text().contains("above a threshold that depends on gender (Female above "));
    let rows = validation(&plan, &model);
    let share = |women: bool| {
        let threshold = groups.thresholds[if women { "Female" } else { "Male" }];
        let of: Vec<_> = rows.iter().filter(|r| r.2 == women).collect();
        of.iter().filter(|r| r.0 > threshold).count() as f64 / of.len() as f64
    };
    assert!((share(true) - share(false)).abs() <= 0.05 + 1e-12);
    for (row, prediction) in
        model.predict(&plan.data().table, None).unwrap().rows.iter().enumerate()
    {
        let group = plan.data().table.column("gender").unwrap().text(row).unwrap();
        let positive = prediction.probabilities[1] > groups.thresholds[&group];
        assert_eq!(prediction.class.as_deref() == Some("high"), positive);
    }
}

#[test]
fn a_quantile_lies_above_its_share_and_counts_add_up() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let mut csv = String::from("x,n\n");
    let mut state = 12345_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    for i in 0..400 {
        let x = f64::from(i % 20) / 10.0;
        // A Poisson number of mean e^x, by waiting times.
        let (mut n, mut time) = (0, -uniform().ln());
        while time < x.exp() {
            n += 1;
            time -= uniform().ln();
        }
        writeln!(csv, "{x},{n}").unwrap();
    }
    write(d, "counts.csv", &csv);
    let fit = |loss: &str| {
        let text = format!(
            "[data]\nfile = \"counts.csv\"\ntarget = \"n\"\ntask = \"regress\"\nsplit = {{ test = 0.0 }}\n\
             [model]\nkind = \"linear\"\n[objective]\nloss = {loss}\n[training]\nlearner = \"exact\"\n"
        );
        let (summary, model) = trained(&open(d, "p.toml", &text));
        let table = Table::from_bytes("t", csv.as_bytes(), &Format::default()).unwrap();
        let rows = model.predict(&table, None).unwrap().rows;
        (summary, rows.iter().map(|row| row.value.unwrap()).collect::<Vec<f64>>())
    };
    let counts: Vec<f64> =
        csv.lines().skip(1).map(|l| l.split_once(',').unwrap().1.parse().unwrap()).collect();
    let (summary, means) = fit("\"poisson\"");
    // The score equations of the log link: predictions add up to the counts, also weighted by x.
    let (sum, observed) = (means.iter().sum::<f64>(), counts.iter().sum::<f64>());
    close(sum, observed, 1e-2 * observed);
    // And they are near e^x, which the counts were drawn with.
    for (i, mean) in means.iter().enumerate() {
        let truth = (f64::from(i as u32 % 20) / 10.0).exp();
        assert!((mean / truth).ln().abs() < 0.25, "{mean} {truth}");
    }
    let square: f64 = means.iter().zip(&counts).map(|(f, y)| (f - y) * (f - y)).sum();
    close(summary.train.rmse.unwrap(), (square / 400.0).sqrt(), 1e-4);
    let (_, upper) = fit("{ quantile = 0.9 }");
    let below = counts.iter().zip(&upper).filter(|(y, f)| y <= f).count() as f64 / 400.0;
    assert!((0.86..=0.95).contains(&below), "{below}");
}

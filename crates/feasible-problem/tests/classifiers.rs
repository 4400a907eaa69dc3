//! Weights, classes of rates, precision, thresholds, quantiles and counts: what files may say, and what is refused.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::fmt::Write;
use std::path::Path;

use feasible_problem::{Plan, ProblemSource};

use common::{GENDER, people, problem, refused, write};

/// A problem on people with a weight: `rows` are (line, weight) to change.
fn weighted(directory: &Path, changes: &[(usize, &str)], rest: &str) -> ProblemSource {
    let mut csv = String::new();
    for (line, text) in people(60).lines().enumerate() {
        let own = changes.iter().find(|(at, _)| *at == line).map(|(_, weight)| *weight);
        let weight = if line == 0 { "w".into() } else { format!("{}", 1 + line % 3) };
        writeln!(csv, "{text},{}", own.unwrap_or(&weight)).unwrap();
    }
    write(directory, "weighted.csv", &csv);
    let text = format!(
        "[data]\nfile = \"weighted.csv\"\ntarget = \"income\"\npositive = \"high\"\nweight = \"w\"\n{rest}"
    );
    let path = write(directory, "weighted.toml", &text);
    ProblemSource::open(path.to_str().unwrap()).unwrap()
}

#[test]
fn weights_are_of_the_objective_and_no_input() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let plan =
        Plan::check(&weighted(d, &[], "\n[objective]\nclass_weights = \"balanced\"\n")).unwrap();
    assert!(plan.data().encoder.variables().iter().all(|variable| variable.column != "w"));
    let samples = &plan.data().train;
    let weights = samples.weights().unwrap();
    // Balanced: both classes weigh half of what all rows weigh by their column, which is what all weigh.
    let feasible::Targets::Classes(y) = samples.targets() else { panic!() };
    let mass = |class: u32| -> f64 {
        weights.iter().zip(y).filter(|(_, y)| **y == class).map(|(w, _)| w).sum()
    };
    assert!((mass(0) - mass(1)).abs() < 1e-9, "{} {}", mass(0), mass(1));
    let by_column: f64 = samples.ids().iter().map(|row| (1 + (row + 1) % 3) as f64).sum();
    assert!((mass(0) + mass(1) - by_column).abs() < 1e-9);
    let text = plan.describe();
    assert!(text.contains(", rows weighted by 'w'; classes weighted: low "), "{text}");

    let named = weighted(d, &[], "\n[objective]\nclass_weights = { high = 4 }\n");
    let plan = Plan::check(&named).unwrap();
    let weights = plan.data().weights.clone().unwrap();
    assert_eq!(weights.classes, Some(vec![1.0, 4.0]));
    // What is written beside a run means the same.
    let again = Plan::check(&ProblemSource::new("again", plan.spec().to_toml())).unwrap();
    assert_eq!(again.data().weights, Some(weights));
}

#[test]
fn weights_that_cannot_be_meant_are_refused_with_their_row() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    for (cell, found) in [("0", "0"), ("-2", "-2"), ("", "missing")] {
        let error = refused(d, &weighted(d, &[(7, cell)], ""));
        let place = "weighted.csv, line 8, column 'w'";
        assert!(error.contains(place), "{error}");
        assert!(error.contains(&format!("the weight is {found}: give every row")), "{error}");
    }
    let error = refused(d, &weighted(d, &[(7, "heavy")], ""));
    assert!(error.contains("'w'") && error.contains("weights are numbers"), "{error}");
    let objective = |weights: &str| format!("\n[objective]\nclass_weights = {weights}\n");
    for (weights, message) in [
        ("{ hgih = 2 }", "did you mean 'high'?"),
        ("{ high = 0 }", "class 'high' has the weight 0: give a number above 0"),
        ("\"fair\"", "\"balanced\", or a table of classes"),
    ] {
        let error = refused(d, &weighted(d, &[], &objective(weights)));
        assert!(error.contains("objective.class_weights") && error.contains(message), "{error}");
    }
    let source = problem(d, "", "epochs = 1\n");
    let no_column = source.clone().with_overrides(&["data.weight=ages".into()]);
    let error = refused(d, &no_column);
    assert!(error.contains("data.weight") && error.contains("'ages'"), "{error}");
    let target = source.with_overrides(&["data.weight=income".into()]);
    let error = refused(d, &target);
    assert!(error.contains("cannot also be predicted"), "{error}");
    problem(d, "[objective]\nclass_weights = \"balanced\"\n", "epochs = 1\n");
    let text = std::fs::read_to_string(d.join("problem.toml")).unwrap();
    let text = text.replace("target = \"income\"\npositive = \"high\"", "target = \"age\"");
    let path = write(d, "number.toml", &text);
    let error = refused(d, &ProblemSource::open(path.to_str().unwrap()).unwrap());
    assert!(
        error.contains("objective.class_weights: has no effect: a number is predicted"),
        "{error}"
    );
}

#[test]
fn a_rate_is_of_the_class_that_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let of = |rest: &str| {
        problem(d, &format!("[[requirement]]\nname = \"r\"\n{rest}\n"), "epochs = 1\n")
    };
    let says = |rest: &str, message: &str| {
        let error = refused(d, &of(rest));
        assert!(error.contains(message), "{rest}: {error}");
    };
    says("rate = \"recall\"\nclass = \"hihg\"\nat_least = 0.5", "did you mean 'high'?");
    says(
        "loss = \"cross-entropy\"\nclass = \"high\"\nat_most = 0.5",
        "requirement[0].class: is the positive class of a rate",
    );
    says("rate = \"error\"\nclass = \"high\"\nat_most = 0.5", "an error rate is about all classes");
    says(
        "rate = \"precision\"\nwhere = \"age > 30\"\nwithin = 0.1",
        "requirement[0].within: a rate over predictions such as precision is a ratio",
    );
    for (called, key) in [
        ("selection rate", "selection"),
        ("True Positive Rate", "tpr"),
        ("false positive rate", "fpr"),
        ("false-positives-rate", "fpr"),
        ("false_negative_rate", "fnr"),
        ("true negative rate", "specificity"),
        ("positive predictive value", "precision"),
        ("negative predictive value", "npv"),
        ("error rate", "error"),
        ("accuracy rate", "accuracy"),
        ("tprr", "tpr"),
    ] {
        let meant = format!("unknown value '{called}': did you mean '{key}'?");
        says(&format!("rate = \"{called}\"\nat_most = 0.5"), &meant);
    }
    says("rate = \"ppv\"\nat_least = 1.0", "1 is not a limit of a precision");
    says("rate = \"npv\"\nat_least = 90", "did you mean 0.9?");
    says(
        "rate = \"npv\"\nat_least = 0.9\nmeasured_by = \"error\"",
        "negative predictive value has its own measure",
    );
    let text = Plan::check(&of("rate = \"precision\"\nwhere = \"age > 30\"\nat_least = 0.8"))
        .unwrap()
        .describe();
    let sentence = "precision of 'high' | age > 30 ≥ 0.8, as E[ 1{predicted 'high'} (1{y ≠ 'high'} − 0.2) | age > 30 ] ≤ 0";
    assert!(text.contains(sentence), "{text}");
    let text =
        Plan::check(&of("rate = \"recall\"\nclass = \"low\"\nat_least = 0.8")).unwrap().describe();
    assert!(text.contains("recall of 'low' ≥ 0.8"), "{text}");

    // Three classes.
    let three = |rest: &str| {
        of(rest);
        let text = std::fs::read_to_string(d.join("problem.toml")).unwrap();
        let text = text.replace("target = \"income\"\npositive = \"high\"", "target = \"degree\"");
        let path = write(d, "three.toml", &text);
        ProblemSource::open(path.to_str().unwrap()).unwrap()
    };
    let error = refused(d, &three("rate = \"recall\"\nat_least = 0.1"));
    assert!(error.contains("needs two classes, or the one it is about"), "{error}");
    let error = refused(d, &three("rate = \"npv\"\nclass = \"master\"\nat_least = 0.1"));
    assert!(error.contains("needs two classes; of several"), "{error}");
    for rate in ["recall", "fpr", "fnr", "specificity", "precision", "selection"] {
        let text = format!("rate = \"{rate}\"\nclass = \"master\"\nat_least = 0.1");
        assert!(Plan::check(&three(&text)).is_ok(), "{rate}");
    }
}

#[test]
fn a_threshold_needs_two_classes_and_validation_rows() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let decision = |rest: &str, more: &str| {
        problem(d, &format!("{more}\n[decision]\n{rest}\n"), "epochs = 1\n")
    };
    let says = |source: &ProblemSource, message: &str| {
        let error = refused(d, source);
        assert!(error.contains(message), "{error}");
    };
    let accuracy = decision("maximise = \"accuracy\"", "");
    let text = Plan::check(&accuracy).unwrap().describe();
    assert!(text.contains("predict           'high' above a threshold, which maximises the accuracy of the 60 validation rows"), "{text}");
    let none = accuracy.clone().with_overrides(&["data.split.validation=0.0".into()]);
    says(&none, "decision: the threshold is chosen on validation rows, but there are none");
    says(&decision("maximise = \"auc\"", ""), "decision.maximise");
    says(&decision("per = \"gendre\"", ""), "did you mean 'gender'?");
    says(&decision("per = \"age\"", ""), "decision.per: is a column of numbers");
    says(
        &decision("per = \"gender\"", GENDER),
        "the counterfactual Male ↔ Female changes this column",
    );
    let text = std::fs::read_to_string(d.join("problem.toml")).unwrap();
    for (target, message) in [("degree", "separates two classes"), ("age", "a number is predicted")]
    {
        let to = format!("target = \"{target}\"");
        let text =
            text.replace("target = \"income\"\npositive = \"high\"", &to).replace(GENDER, "");
        let path = write(d, "other.toml", &text);
        says(&ProblemSource::open(path.to_str().unwrap()).unwrap(), message);
    }
}

#[test]
fn counts_are_not_negative_and_have_one_link() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    write(d, "counts.csv", "x,n\n1,0\n2,3\n3,-1\n4,5\n5,2\n6,7\n");
    let source = |rest: &str| {
        let text = format!(
            "[data]\nfile = \"counts.csv\"\ntarget = \"n\"\ntask = \"regress\"\nsplit = {{ test = 0.0 }}\n{rest}"
        );
        let path = write(d, "counts.toml", &text);
        ProblemSource::open(path.to_str().unwrap()).unwrap()
    };
    let error = refused(d, &source("[objective]\nloss = \"poisson\"\n"));
    assert!(error.contains("counts.csv, line 4, column 'n': -1 is below 0"), "{error}");
    let mixed = "[objective]\nloss = \"squared\"\n\n[[requirement]]\nname = \"r\"\nloss = \"poisson\"\nat_most = 1\n";
    let error = refused(d, &source(mixed));
    assert!(error.contains("requirement[0].loss: of a Poisson loss"), "{error}");
    let error = refused(d, &source("[objective]\nloss = { quantile = 1.5 }\n"));
    assert!(error.contains("needs a quantile between 0 and 1, found 1.5"), "{error}");
    let plan = Plan::check(&source("[objective]\nloss = { quantile = 0.9 }\n")).unwrap();
    assert!(plan.describe().contains("E[ pinball loss (quantile 0.9) ]"));
    let again = Plan::check(&ProblemSource::new("again", plan.spec().to_toml())).unwrap();
    assert_eq!(again.spec(), plan.spec());
}

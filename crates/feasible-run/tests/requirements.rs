//! Rates, groups and counterfactuals, checked against counting by hand.
#![allow(clippy::unwrap_used)]

use crate::common;

use feasible_problem::Plan;
use feasible_run::{FitOptions, fit};

use common::plan;

fn names(plan: &Plan) -> Vec<&str> {
    plan.train().requirements().iter().map(|r| r.name()).collect()
}

#[test]
fn fairness_becomes_two_one_sided_requirements_for_each_group_and_rate() {
    let directory = tempfile::tempdir().unwrap();
    let text = "[[requirement]]\nname = \"odds\"\nfairness = \"equalised-odds\"\ngroups = \"gender\"\n\
                within = 0.05\n";
    let plan = plan(directory.path(), text, "epochs = 1\n");
    assert_eq!(
        names(&plan),
        [
            "odds: recall: Female (not above)",
            "odds: recall: Female (not below)",
            "odds: recall: Male (not above)",
            "odds: recall: Male (not below)",
            "odds: false positive rate: Female (not above)",
            "odds: false positive rate: Female (not below)",
            "odds: false positive rate: Male (not above)",
            "odds: false positive rate: Male (not below)",
        ]
    );
}

#[test]
fn several_changes_become_several_requirements() {
    let directory = tempfile::tempdir().unwrap();
    let text = "[[requirement]]\nname = \"inv\"\nloss = \"kl\"\nat_most = 1e-3\ncounterfactual = [\n\
                { swap = { gender = [\"Male\", \"Female\"] } }, { pairs = \"degree\" } ]\n";
    let plan = plan(directory.path(), text, "epochs = 1\n");
    assert_eq!(
        names(&plan),
        [
            "inv: Male ↔ Female",
            "inv: bachelor ↔ master",
            "inv: bachelor ↔ none",
            "inv: master ↔ none"
        ]
    );
}

#[test]
fn rates_are_those_one_counts() {
    let directory = tempfile::tempdir().unwrap();
    let requirement =
        |name: &str, rest: &str| format!("[[requirement]]\nname = \"{name}\"\n{rest}\n\n");
    let text = [
        requirement("error", "rate = \"error\"\nat_most = 1.0"),
        requirement("accuracy", "rate = \"accuracy\"\nat_least = 0.0"),
        requirement("selected", "rate = \"selection\"\nat_most = 1.0"),
        requirement("tpr", "rate = \"tpr\"\nat_least = 0.0"),
        requirement("fpr", "rate = \"fpr\"\nat_most = 1.0"),
        requirement("fnr", "rate = \"fnr\"\nat_most = 1.0"),
        requirement("specificity", "rate = \"specificity\"\nat_least = 0.0"),
        requirement("recall", "rate = \"recall\"\nat_least = 0.0"),
        requirement("sensitivity", "rate = \"sensitivity\"\nat_least = 0.0"),
        requirement("fall-out", "rate = \"fall-out\"\nat_most = 1.0"),
        requirement("positive", "rate = \"positive-rate\"\nat_most = 1.0"),
        requirement("gap", "rate = \"selection\"\nwhere = \"gender == 'Male'\"\nagainst = \"gender == 'Female'\"\nat_most = 1.0"),
    ]
    .concat();
    let plan = plan(directory.path(), &text, "epochs = 30\nrate = 0.05\n");
    let fit = fit(&plan, &FitOptions::default(), &|_| {}).unwrap();
    let test = fit.runs()[0].summary.as_ref().unwrap().test.clone().unwrap();
    let c = test.confusion.unwrap();
    let [tn, fp, fn_, tp] = [c[0][0], c[0][1], c[1][0], c[1][1]].map(|x| x as f64);
    let n = tn + fp + fn_ + tp;
    assert!(tp > 0.0 && tn > 0.0, "a model that learned something");
    let value = |name: &str| {
        test.requirements.iter().find(|r| r.name == name).and_then(|r| r.value).unwrap()
    };
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    close(value("error"), (fp + fn_) / n);
    close(value("accuracy"), (tp + tn) / n);
    close(value("selected"), (fp + tp) / n);
    close(value("tpr"), tp / (tp + fn_));
    close(value("fpr"), fp / (fp + tn));
    close(value("fnr"), fn_ / (tp + fn_));
    close(value("specificity"), tn / (fp + tn));
    for (synonym, of) in
        [("recall", "tpr"), ("sensitivity", "tpr"), ("fall-out", "fpr"), ("positive", "selected")]
    {
        assert_eq!(value(synonym), value(of), "{synonym}");
    }
    close(test.accuracy.unwrap(), (tp + tn) / n);
    let described = plan.describe();
    for part in ["E[ right prediction ] ≥ 0\n", "false negative rate of 'high' ≤ 1\n"] {
        assert!(described.contains(part), "{described}");
    }
    assert!(value("gap") > 0.1, "men are selected more often in these data");
}

#[test]
fn a_rate_requirement_is_met_after_training() {
    let directory = tempfile::tempdir().unwrap();
    let text = "[[requirement]]\nname = \"parity\"\nfairness = \"demographic-parity\"\n\
                groups = \"gender\"\nwithin = 0.05\n";
    let training = "epochs = 150\nrate = 0.02\nkeep = \"best\"\n";
    let source = common::problem(directory.path(), text, training)
        .with_overrides(&["data.split={ test = 0.2, seed = 3 }".into()]);
    let plan = Plan::check(&source).unwrap();
    let fit = fit(&plan, &FitOptions::default(), &|_| {}).unwrap();
    let summary = fit.runs()[0].summary.as_ref().unwrap();
    assert!(summary.train.met, "{}", fit.to_text());
    assert!(summary.train.accuracy > Some(0.6), "{}", fit.to_text());
}

#[test]
fn contradictions_are_said() {
    let directory = tempfile::tempdir().unwrap();
    for (keys, expected) in [
        (
            "loss = \"kl\"\nrate = \"error\"\nat_most = 1",
            "give only one of loss, rate and fairness",
        ),
        ("fairness = \"equal-opportunity\"\nwithin = 0.1", "name their column"),
        ("rate = \"tpr\"\nkind = \"pointwise\"\nat_most = 1", "is an average"),
        ("rate = \"tpr\"\nat_most = 1\nat_least = 0", "give only one of at_most"),
        ("rate = \"tpr\"\nall_but = 0.1\nat_most = 1", "only pointwise requirements"),
        ("loss = \"kl\"\nat_most = 1", "give it a counterfactual"),
        ("rate = \"error\"\ngroups = \"age\"\nat_most = 1", "groups are categories"),
        ("at_most = 1", "requires nothing yet"),
    ] {
        let text = format!("[[requirement]]\nname = \"r\"\n{keys}\n");
        let source = common::problem(directory.path(), &text, "epochs = 1\n");
        let error = common::refused(directory.path(), &source);
        assert!(error.contains(expected), "{keys}:\n{error}");
        assert!(error.starts_with("problem.toml:1"), "{error}");
    }
}

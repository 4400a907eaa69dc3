//! Certificates of runs, and clauses in words.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::common;

use feasible::certificate::Verdict;
use feasible_problem::{Plan, ProblemSource};
use feasible_run::{FitOptions, fit};

fn fitted(problem: &str) -> feasible_run::Summary {
    let plan = Plan::check(&ProblemSource::new("p.toml", problem)).unwrap();
    let fit = fit(&plan, &FitOptions::default(), &|_| {}).unwrap();
    fit.runs()[0].summary.clone().unwrap()
}

#[test]
fn a_tolerance_of_the_training_does_not_enter_the_certificate() {
    let problem = r#"
        [data]
        source = "compas"
        [model]
        kind = "linear"
        [[requirement]]
        name = "each"
        loss = "cross-entropy"
        kind = "pointwise"
        at_most = 0.4
        [training]
        epochs = 2
        tolerance = 100.0
    "#;
    let summary = fitted(problem);
    assert_eq!(summary.test.as_ref().unwrap().requirements[0].violated, Some(0.0));
    let certificate = summary.certificate.unwrap();
    let finding = &certificate.certificate.findings[0];
    assert!(finding.estimate.unwrap() > 0.3, "{finding:?}");
    assert_eq!(finding.verdict, Verdict::Violated);
    let text = certificate.to_text();
    assert!(text.contains("of its limit (`tolerance`)"), "{text}");
}

#[test]
fn groups_differences_and_accuracies_are_certified_in_the_users_words() {
    let problem = r#"
        [data]
        source = "compas"
        [model]
        kind = "linear"
        [[requirement]]
        name = "parity"
        rate = "selection"
        where = "sex == 'Female'"
        against = "sex == 'Male'"
        at_least = -0.9
        [[requirement]]
        name = "equal"
        fairness = "demographic-parity"
        groups = "sex"
        within = 0.6
        [[requirement]]
        name = "right"
        rate = "accuracy"
        at_least = 0.5
        [[requirement]]
        name = "hopeless"
        rate = "accuracy"
        at_least = 0.99
        [training]
        epochs = 5
    "#;
    let certificate = fitted(problem).certificate.unwrap();
    let find = |name: &str| {
        certificate.certificate.findings.iter().find(|f| f.name.starts_with(name)).unwrap()
    };
    let parity = find("parity");
    assert_eq!(
        (parity.verdict, parity.method.as_str()),
        (Verdict::Certified, "exact unconditional")
    );
    assert_eq!(
        parity.subject,
        "the selection rate of '1' where sex == 'Female' minus that where sex == 'Male'"
    );
    assert!(parity.bound.unwrap() < parity.estimate.unwrap());
    let equal = find("equal");
    assert_eq!((equal.verdict, equal.method.as_str()), (Verdict::Certified, "betting"));
    // Two groups, however common they are; everyone changes with them.
    let mix = |f: &feasible::certificate::Finding| f.still_true_if.as_ref().unwrap().any_group_mix;
    assert!(mix(parity) && !mix(equal));
    let right = find("right");
    assert_eq!((right.verdict, right.subject.as_str()), (Verdict::Certified, "the accuracy"));
    assert!(right.bound.unwrap() > 0.5 && right.bound < right.estimate);
    assert_eq!(find("hopeless").verdict, Verdict::Violated);
    let text = certificate.to_text();
    assert!(text.contains("jointly (Holm)"), "{text}");
    assert!(text.contains("hopeless: the accuracy is less than 99 %"), "{text}");
    // Made for people and for programs alike.
    let json = serde_json::to_string(&certificate).unwrap();
    let again: feasible_run::Certification = serde_json::from_str(&json).unwrap();
    assert_eq!(again, certificate);
}

/// A training on people, judged by the rows of `test`.
fn judged_by(test: &str, requirements: &str) -> feasible_run::Summary {
    let directory = tempfile::tempdir().unwrap();
    common::write(directory.path(), "train.csv", &common::people(300));
    common::write(directory.path(), "test.csv", &format!("age,gender,degree,city,income\n{test}"));
    let text = format!(
        "[data]\ntrain = \"train.csv\"\ntest = \"test.csv\"\ntarget = \"income\"\npositive = \"high\"\n\
         [model]\nkind = \"linear\"\n[training]\nepochs = 30\n{requirements}"
    );
    let path = common::write(directory.path(), "problem.toml", &text);
    let source = ProblemSource::open(path.to_str().unwrap()).unwrap();
    let fit = fit(&Plan::check(&source).unwrap(), &FitOptions::default(), &|_| {}).unwrap();
    fit.runs()[0].summary.clone().unwrap()
}

fn required(name: &str, rest: &str) -> String {
    format!("[[requirement]]\nname = \"{name}\"\n{rest}\n")
}

#[test]
fn without_a_row_a_claim_is_on_the_side_of_its_limit_that_it_has_with_rows() {
    let requirements = [
        required("recall", "rate = \"recall\"\nat_least = 0.8"),
        required(
            "gap",
            "rate = \"selection\"\nwhere = \"gender == 'Female'\"\nagainst = \"gender == 'Male'\"\nat_least = -0.9",
        ),
        required("women", "rate = \"accuracy\"\nwhere = \"gender == 'Female'\"\nat_least = 0.1"),
        required(
            "each",
            "loss = \"kl\"\nkind = \"pointwise\"\nwhere = \"gender == 'Female'\"\nat_most = 0.5\ncounterfactual = { swap = { gender = [\"Male\", \"Female\"] } }",
        ),
    ];
    let claims = |test| {
        let certificate = judged_by(test, &requirements.concat()).certificate.unwrap();
        let findings = certificate.certificate.findings.into_iter();
        findings.map(|f| (f.name, f.sense, f.limit, f.rows == 0)).collect::<Vec<_>>()
    };
    let none = claims("30,Male,none,A,low\n40,Male,master,B,low\n");
    let some = claims("30,Male,none,A,low\n40,Female,master,B,high\n");
    for (none, some) in none.iter().zip(&some) {
        assert_eq!((&none.0, none.1, none.2), (&some.0, some.1, some.2));
        assert!(none.3 && !some.3, "{none:?}, {some:?}");
    }
}

#[test]
fn what_no_row_shows_is_not_called_met() {
    let recall = required("recall", "rate = \"recall\"\nat_least = 0.1");
    let others = required("errors", "rate = \"error\"\nat_most = 1.0");
    let rows = "30,Male,none,A,low\n40,Male,master,B,low\n";
    // Training rows show it, test rows do not.
    let some = judged_by(rows, &format!("{recall}{others}"));
    assert!(some.met(), "{}", some.to_text());
    assert_eq!(
        some.verdict(),
        "'recall' is met on the validation rows, and none of the test rows counts for it; every other requirement is met \
         on the test rows."
    );
    assert!(some.to_text().contains("no rows  unknown"), "{}", some.to_text());
    // The test rows alone tell nothing.
    let test = some.test.unwrap();
    assert!(test.met && !test.shows_met());
    assert_eq!(
        test.verdict_on("these rows"),
        "Nothing is known of 'recall': none of these rows counts for it; every other requirement is met on these rows."
    );
    // The validation rows decide where no test row counts, and do not show it.
    let women = "where = \"gender == 'Female' and age < 25\"";
    let precise = required("precise", &format!("rate = \"precision\"\n{women}\nat_least = 0.1"));
    let mut young = judged_by(rows, &format!("{precise}{others}"));
    assert!(!young.met());
    assert_eq!(
        young.verdict(),
        "'precise' is not met on the validation rows, and none of the test rows counts for it; every other requirement \
         is met on the test rows."
    );
    // Nobody at all is predicted as one of these.
    for part in [Some(&mut young.train), young.validation.as_mut()].into_iter().flatten() {
        (part.requirements[0].points, part.requirements[0].met) = (0, true);
    }
    assert!(!young.met());
    assert_eq!(
        young.verdict(),
        "Nothing is known of 'precise': no row counts for it; every other requirement is met on the test rows."
    );
}

//! Certificates of runs: the paper's bounds beside them, and clauses in words.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use feasible::certificate::Verdict;
use feasible_run::{FitOptions, Plan, Source, fit};

fn fitted(problem: &str) -> feasible_run::Summary {
    let plan = Plan::check(&Source::new("p.toml", problem)).unwrap();
    let fit = fit(&plan, &FitOptions::default(), &|_| {}).unwrap();
    fit.runs()[0].summary.clone().unwrap()
}

#[test]
fn theorem_3_speaks_of_algorithm_1_with_bounded_losses() {
    let problem = r#"
        [data]
        source = "compas"
        [model]
        kind = "linear"
        [objective]
        loss = "brier"
        weight_decay = 0.1
        [[requirement]]
        name = "women"
        loss = "brier"
        where = "sex == 'Female'"
        at_most = 0.3
        [training]
        learner = "exact"
        epochs = 3
        dual = { rate = 0.5 }
    "#;
    let certificate = fitted(problem).certificate.unwrap();
    let theory = certificate.theory.as_ref().unwrap();
    assert_eq!(theory.dimension, 24.0);
    // √((1 + log(4 · 3/0.05) + 24 log(2 · 4937))/4937) = 0.2148….
    assert!((theory.zeta - 0.2148).abs() < 1e-3 && !theory.vacuous, "{theory:?}");
    let t = theory.theorem_3.unwrap();
    // S = 0.7², β = 0.01, ε = ζ, and ρ not known: Brier's loss is not convex.
    let above = 0.25 * 0.49 + 0.01 + theory.zeta;
    assert!((t.high - (t.lagrangian + above)).abs() < 1e-12, "{t:?}");
    assert!((t.low - (t.lagrangian - theory.zeta)).abs() < 1e-12 && t.rho.is_none(), "{t:?}");
    let text = certificate.to_text();
    assert!(text.contains("Theorem 3") && text.contains("VC dimension at most 24"), "{text}");
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
    assert_eq!((parity.verdict, parity.method.as_str()), (Verdict::Certified, "Fisher's product"));
    assert_eq!(
        parity.subject,
        "the selection rate where sex == 'Female' minus that where sex == 'Male'"
    );
    assert!(parity.bound.unwrap() < parity.estimate.unwrap());
    let equal = find("equal");
    assert_eq!((equal.verdict, equal.method.as_str()), (Verdict::Certified, "Fisher's product"));
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

//! A requirement with an adversary is trained against a cheap attack and judged by a stronger one, which is named.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::path::Path;

use feasible::Outcome;
use feasible_problem::{Plan, ProblemSource};
use feasible_run::{Fit, FitOptions, Interrupt, Memory, SavedModel, Storage, files};
use feasible_run::{fit, fit_in};

use common::{people, refused, write};

/// A network that hardly moves from where it starts, under an attack that hardly is one.
fn problem(directory: &Path, requirement: &str, more: &str) -> ProblemSource {
    write(directory, "people.csv", &people(200));
    let text = format!(
        "[data]\nfile = \"people.csv\"\ntarget = \"income\"\npositive = \"high\"\nstandardise = true\n\
         split = {{ validation = 0.2, test = 0.3 }}\n\n[model]\nhidden = [16]\nactivation = \"tanh\"\n\n\
         [[requirement]]\nname = \"robust\"\n{requirement}\n\
         adversary = {{ epsilon = 2.0, steps = 1, step = 0.001 }}\n\n\
         [training]\nepochs = 1\nrate = 1e-9\nmargins = \"stated\"\n\n{more}\n"
    );
    let path = write(directory, "problem.toml", &text);
    ProblemSource::open(path.to_str().unwrap()).unwrap()
}

fn fitted(source: &ProblemSource) -> Fit {
    fit(&Plan::check(source).unwrap(), &FitOptions::default(), &|_| {}).unwrap()
}

#[test]
fn what_the_cheap_attack_leaves_feasible_the_verdict_may_not() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let with = |limit: f64| problem(d, &format!("loss = \"cross-entropy\"\nat_most = {limit}"), "");
    let plan = Plan::check(&with(9.0)).unwrap();
    let start = feasible::Model::initial(plan.model(), 0);
    let cheap = |problem: &feasible::Problem| {
        9.0 + problem.measure(plan.model(), &start).unwrap().violations[0].measured[0]
    };
    let run = fitted(&with(9.0));
    let summary = run.runs()[0].summary.as_ref().unwrap();
    let judged = |part: &feasible_run::Evaluation| part.requirements[0].value.unwrap();
    let (trained, verdict) = (cheap(plan.train()), judged(&summary.train));
    assert!(verdict > trained + 0.02, "{trained} {verdict}");
    assert_eq!(summary.outcome, Outcome::Feasible);

    let validated = cheap(plan.validation().unwrap());
    let least = judged(&summary.train).min(judged(summary.validation.as_ref().unwrap()));
    let limit = 0.5 * (least + trained.max(validated));
    let run = fitted(&with(limit));
    let summary = run.runs()[0].summary.as_ref().unwrap();
    assert!(!summary.train.met && !run.met());
    assert_eq!(
        (&summary.outcome, &run.runs()[0].outcome),
        (&Outcome::MaxEpochs, &Outcome::MaxEpochs)
    );
    let text = run.to_text();
    assert!(text.contains("'robust' is judged under attack: ‖δ‖∞ ≤ 2, by 50 steps"), "{text}");
    assert!(!text.contains("feasible on the training rows"), "{text}");
}

#[test]
fn certificates_audits_and_descriptions_name_the_attack_that_judges() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let requirement = "rate = \"error\"\nat_most = 0.9";
    for (more, said) in [
        ("", "by 50 steps of 0.1 ε, the worst of 2 runs"),
        (
            "[evaluation]\nattack = { steps = 7, step = \"ε/4\", restarts = 3 }",
            "by 7 steps of 0.25 ε, the worst of 3 runs",
        ),
    ] {
        let plan = Plan::check(&problem(d, requirement, more)).unwrap();
        assert!(plan.describe().contains(said), "{}", plan.describe());
        let files = Memory::new();
        let run = fit_in(&plan, &files, &Interrupt::new(), &|_| {}).unwrap();
        let summary = run.summary.unwrap();
        let certificate = summary.certificate.as_ref().unwrap().to_text();
        assert!(certificate.contains(said), "{certificate}");
        // The saved model is judged the same.
        let bytes = files.read(files::MODEL).unwrap();
        let model = SavedModel::from_bytes("model", &bytes).unwrap();
        let table = feasible_data::Table::from_bytes(
            "people.csv",
            people(200).as_bytes(),
            &feasible_data::Format::default(),
        );
        let audit = model.audit(&table.unwrap(), None).unwrap();
        let standing = &audit.evaluation.requirements[0];
        assert!(standing.attack.as_ref().unwrap().contains(said));
        // Every row is in one part, so the errors of the parts are those of the table.
        let errors = |part: &feasible_run::Evaluation| {
            part.requirements[0].value.unwrap() * part.rows as f64
        };
        let parts: f64 = summary.parts().iter().map(|(_, part)| errors(part)).sum();
        assert!((parts - errors(&audit.evaluation)).abs() <= 2.0, "{parts}");
        // And a problem file with all defaults filled in says the same again.
        let text = plan.spec().to_toml();
        assert_eq!(
            Plan::check(&ProblemSource::new("again", text.clone())).unwrap().spec().to_toml(),
            text
        );
    }
}

#[test]
fn no_verdict_goes_by_a_weaker_attack_than_training() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let requirement = "rate = \"error\"\nat_most = 0.9";
    for (more, change, said) in [
        (
            "attack = { steps = 3 }",
            "requirement.robust.adversary.steps=5",
            "evaluation.attack.steps: 3 is fewer than the 5",
        ),
        (
            "attack = { restarts = 1 }",
            "requirement.robust.adversary.restarts=4",
            "evaluation.attack.restarts",
        ),
        ("attack = { steps = 0 }", "training.epochs=1", "evaluation.attack.steps"),
        ("attack = { steps = 4000000000 }", "training.epochs=1", "evaluation.attack.steps"),
        ("attack = { step = 0.0 }", "training.epochs=1", "evaluation.attack.step"),
        ("", "requirement.robust.adversary.draw=batch", "adversary.draw: has no effect"),
    ] {
        let source = problem(d, requirement, &format!("[evaluation]\n{more}"));
        let error = refused(d, &source.with_overrides(&[change.to_string()]));
        assert!(error.contains(said), "{more}: {error}");
    }
    let source = problem(d, requirement, "");
    let many = source.with_overrides(&["requirement.robust.adversary.steps=80".to_string()]);
    assert!(Plan::check(&many).unwrap().describe().contains("by 80 steps"));
}

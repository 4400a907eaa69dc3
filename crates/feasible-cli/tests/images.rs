//! Images through the program: a problem file, its model, an attack, and the chapter that shows them.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use support::Scratch;

/// The problem file of the chapter on robust learning.
fn problem() -> String {
    let path = format!("{}/../../docs/robust.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.split("```toml\n").nth(1).unwrap().split_once("```").unwrap().0.to_string()
}

#[test]
fn the_chapter_s_problem_is_trained_audited_predicted_and_attacked() {
    let scratch = Scratch::new();
    scratch.write("robust.toml", &problem());
    let described = scratch.expect(0, &["check", "robust.toml"]).out;
    assert!(described.contains("at x + δ, ‖δ‖∞ ≤ 0.04"), "{described}");
    assert!(described.contains("4,000 train, 1,000 validation, 1,000 test"), "{described}");
    let quick = ["--set", "training.epochs=1", "--set", "data.per_class.train=20"];
    let few = ["--set", "data.per_class.validation=2", "--set", "data.per_class.test=3"];
    let judged = ["--set", "evaluation.attack={ steps = 5, restarts = 1 }"];
    let fit = ["fit", "robust.toml", "-o", "run", "-q"];
    let ran = scratch.run(&[&fit[..], &quick[..], &few, &judged].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);

    let curve = scratch.expect(
        0,
        &["attack", "run", "--epsilons", "0,0.1", "--steps", "3", "--step", "1/2", "-q"],
    );
    assert!(curve.out.contains("3 steps of ε/2, worst of 10 restarts"), "{}", curve.out);
    let csv = scratch.read("run/attack.csv");
    let fields = |line: usize| -> Vec<f64> {
        csv.lines().nth(line).unwrap().split(',').map(|x| x.parse().unwrap()).collect()
    };
    let (clean, far) = (fields(1), fields(2));
    assert_eq!((clean[0], clean[2], far[0]), (0.0, 30.0, 0.1));
    assert!(far[1] <= clean[1] && clean[4] < clean[3] && clean[3] < clean[5], "{csv}");
    assert!(scratch.read("run/attack.svg").starts_with("<svg"));
    let again = scratch.expect(
        0,
        &[
            "attack",
            "run",
            "run",
            "--epsilons",
            "0.1,0",
            "--steps",
            "3",
            "--step",
            "0.5",
            "--threads",
            "1",
            "--json",
            "-q",
        ],
    );
    let json: serde_json::Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(json["points"][1]["correct"].as_f64(), Some(far[1]));

    let audit = scratch.run(&["audit", "run", "run", "--json"]);
    let audit: serde_json::Value = serde_json::from_str(&audit.out).unwrap();
    assert_eq!(audit["evaluation"]["rows"], 30);
    let predicted = scratch.expect(0, &["predict", "run", "run"]).out;
    assert_eq!(predicted.lines().count(), 31);
    scratch.expect(0, &["report", "run"]);
    // What was attacked stands on the page.
    let page = scratch.read("run/report.html");
    assert!(page.contains("Under attack") && page.contains("Accuracy under attack"), "{page}");
}

#[test]
fn what_cannot_be_attacked_or_reproduced_is_said() {
    let scratch = Scratch::new();
    for (arguments, message) in [
        (&["attack", "nowhere"][..], "nowhere"),
        (&["reproduce", "adult", "--budget", "small"][..], "goes with fashion-mnist and cifar-10"),
        (&["reproduce", "fashion-mnist", "--seeds", "2"][..], "one seed"),
        (&["reproduce", "fashion-mnist", "--budget", "paper"][..], "fashion-mnist was not found"),
        (&["reproduce", "cifar-10"][..], "cifar-10 was not found"),
        (&["reproduce", "cifar-10", "--budget", "paper"][..], "cifar-10-binary.tar.gz"),
        (&["reproduce", "cifar-10", "--no-report"][..], "so that they can be continued"),
        (&["fit", "cifar10-nominal"][..], "cifar-10 was not found"),
    ] {
        let ran = scratch.run(arguments);
        assert!(matches!(ran.code, Some(2 | 3)), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(message), "{arguments:?}: {}", ran.err);
    }
    // A table's standardised numbers can be attacked, in standard deviations.
    scratch.expect(0, &["fit", "problem.toml", "-o", "people", "-q"]);
    let few = ["--epsilons", "0,0.5", "--steps", "3", "--restarts", "1"];
    let curve = scratch.expect(0, &[&["attack", "people", "people.csv"], &few[..]].concat());
    assert!(curve.out.contains("on 400 samples of people.csv"), "{}", curve.out);
    scratch.expect(2, &["attack", "people"]);
    let plain = ["--set", "data.standardise=false", "-o", "plain", "-q"];
    scratch.expect(0, &[&["fit", "problem.toml"], &plain[..]].concat());
    let refused = scratch.expect(2, &["attack", "plain", "people.csv"]);
    assert!(refused.err.contains("standardise"), "{}", refused.err);
}

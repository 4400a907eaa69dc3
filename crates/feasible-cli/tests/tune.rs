//! `feasible tune`: from a problem file to the run of the best settings, which is a run as any other.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use support::{IMPOSSIBLE, PROBLEM, Scratch, assert_same_run, files_of_run, numbered};

const OWN: &str = r#"
[tune]
trials = 5
"training.rate" = { from = 1e-3, to = 1e-1, log = true }

[tune.model]
hidden = [[4], [16]]
"#;

#[test]
fn the_directory_is_the_run_of_the_best_settings_with_the_search_on_its_page() {
    let scratch = Scratch::new();
    scratch.write("numbered.csv", &numbered(400, 0));
    let problem = support::SHORT.replace("epochs = 3", "epochs = 20");
    scratch.write("tune.toml", &format!("{problem}{OWN}"));
    let ran = scratch.expect(0, &["tune", "tune.toml", "-o", "tuned", "--threads", "2"]);
    for said in [
        "5 trials, compared on the",
        "validation rows",
        "settings",
        "Chosen: ",
        "accuracy",
        "Certificate on",
    ] {
        assert!(ran.out.contains(said), "{said}: {}", ran.out);
    }
    assert!(ran.err.contains("Report: tuned/report.html"), "{}", ran.err);
    let page = scratch.read("tuned/report.html");
    for said in [
        "How its settings were chosen",
        "dropped after round 1",
        "</span>chosen</span>",
        "training.rate",
    ] {
        assert!(page.contains(said), "{said}");
    }
    // What is done with a run can be done with it.
    scratch.write("new.csv", &numbered(2000, 1000));
    for command in ["predict", "audit", "certify", "monitor", "attack"] {
        let mut arguments = vec![command, "tuned", "new.csv", "-q"];
        if command == "attack" {
            arguments.extend(["--epsilons", "0.1", "--steps", "2", "--restarts", "1"]);
        }
        let ran = scratch.run(&arguments);
        assert!(matches!(ran.code, Some(0 | 1)), "{command}: {}", ran.err);
    }
    scratch.expect(0, &["resume", "tuned", "-q"]);
    scratch.expect(0, &["report", "tuned", "-q"]);
    let page_again = scratch.read("tuned/report.html");
    assert!(page_again.contains("How its settings were chosen"));
    // A fit of its problem file is the same, but for what the file is called.
    let problem = scratch.read("tuned/problem.toml");
    assert!(!problem.contains("[tune"), "{problem}");
    scratch.expect(0, &["fit", "tuned/problem.toml", "-o", "fitted", "-q"]);
    for file in ["problem.toml", "metrics.jsonl", "multipliers.csv", "rows.json"] {
        let same =
            scratch.read(&format!("tuned/{file}")) == scratch.read(&format!("fitted/{file}"));
        assert!(same, "{file}");
    }
    // Called again, it prints the same, and trains nothing.
    let again = scratch.expect(0, &["tune", "tune.toml", "-o", "tuned", "--threads", "1"]);
    assert_eq!(again.out, ran.out);
    assert!(!again.err.contains("epoch"), "{}", again.err);
}

#[test]
fn the_choice_is_the_same_bytes_on_any_number_of_threads() {
    let scratch = Scratch::new();
    let tune = |name, threads| {
        scratch.expect(
            0,
            &["tune", "problem.toml", "--trials", "9", "-q", "-o", name, "--threads", threads],
        )
    };
    tune("one", "1");
    tune("four", "4");
    assert_same_run(&scratch.path("one"), &scratch.path("four"), "threads");
    assert!(files_of_run(&scratch.path("one")).iter().any(|(name, _)| name == "tune.json"));
}

#[test]
fn json_has_the_search_and_the_run_and_the_exit_code_is_that_of_a_fit() {
    let scratch = Scratch::new();
    let json = scratch.expect(0, &["tune", "problem.toml", "--trials", "3", "--json", "-q"]).json();
    assert_eq!(json["directory"], "runs/problem-tuned");
    assert_eq!(json["search"]["trials"].as_array().map(Vec::len), Some(3));
    assert_eq!(json["search"]["trials"][0]["settings"], serde_json::json!({}));
    assert_eq!(
        (&json["met"], &json["runs"][0]["summary"]["test"]["met"]),
        (&true.into(), &true.into())
    );
    scratch.write("impossible.toml", &format!("{PROBLEM}{IMPOSSIBLE}"));
    let tune = ["tune", "impossible.toml", "--trials", "2", "--json", "-q", "--no-report"];
    let json = scratch.expect(1, &tune).json();
    assert_eq!(json["met"], false);
    assert!(!scratch.path("runs/impossible-tuned/report.html").exists());
}

#[test]
fn what_cannot_be_searched_is_said_with_its_place() {
    let scratch = Scratch::new();
    let lines = PROBLEM.lines().count();
    for (tune, said) in [
        ("trials = 0", "tune.trials: 0 is not a number of trials"),
        ("\"training.rat\" = [1.0]", "did you mean \"training.rate\"?"),
        ("\"data.drop\" = [[\"age\"]]", "all trials have the same rows and columns"),
        ("\"requirement.gender.at_most\" = [0.1]", "all trials have the same requirements"),
        ("\"training.rate\" = 0.1", "tune.training.rate: 0.1 is one value: give a list"),
        ("\"training.rate\" = [\"fast\"]", "the text \"fast\" is not allowed here: give a number"),
        ("\"model.centres\" = [10]", "has no effect: it is for kind = \"kernel\""),
        ("\"training.rate\" = { from = 1.0, to = 0.1 }", "from = 1 is not below to = 0.1"),
        ("\"requirement.gendre.start\" = [1]", "did you mean 'gender'?"),
        ("\"training.rate\" = [0.1, -1.0]", "rate"),
    ] {
        scratch.write("wrong.toml", &format!("{PROBLEM}\n[tune]\n{tune}\n"));
        for command in ["tune", "check"] {
            // That a rate is positive, only a training notices.
            if command == "check" && tune.contains("-1.0") {
                continue;
            }
            let error = scratch.refuse(&[command, "wrong.toml"]);
            assert!(error.contains(said), "{tune}: {error}");
            assert!(
                error.contains(&format!("wrong.toml:{}:", lines + 3)) || tune.contains("-1.0"),
                "{tune}: {error}"
            );
        }
    }
    scratch.write("none.toml", &PROBLEM.replace("test = 0.25,", "validation = 0, test = 0.25,"));
    let error = scratch.refuse(&["tune", "none.toml"]);
    assert!(error.contains("none.toml:7:") && error.contains("there are none"), "{error}");
    assert!(!scratch.path("runs").exists(), "nothing was written");
    scratch.write("good.toml", &format!("{PROBLEM}{OWN}"));
    let said = scratch.expect(0, &["check", "good.toml"]).out;
    assert!(
        said.contains("5 trials: model.hidden one of [4], [16]; training.rate 0.001 to 0.1 (log)"),
        "{said}"
    );
    scratch.expect(0, &["fit", "good.toml", "-q"]);
}

#[test]
fn a_directory_of_something_else_is_refused_and_force_replaces_what_is_ours() {
    let scratch = Scratch::new();
    let tune = ["tune", "problem.toml", "--trials", "3", "-q", "-o", "tuned"];
    scratch.expect(0, &tune);
    let before = files_of_run(&scratch.path("tuned"));
    let other = [&tune[..], &["--seed", "9"]].concat();
    let error = scratch.refuse(&other);
    assert!(error.contains("a search of other settings") && error.contains("--force"), "{error}");
    assert!(files_of_run(&scratch.path("tuned")) == before);
    let error = scratch.refuse(&["fit", "problem.toml", "-o", "tuned"]);
    assert!(error.contains("is not empty"), "{error}");
    scratch.expect(0, &[&other[..], &["--force"]].concat());
    // A fit may take its place, and it that of a fit.
    scratch.expect(0, &["fit", "problem.toml", "-q", "-o", "tuned", "--force"]);
    assert!(!scratch.path("tuned/trial-0").exists() && !scratch.path("tuned/tune.json").exists());
    let error = scratch.refuse(&tune);
    assert!(error.contains("is not empty"), "{error}");
    scratch.expect(0, &[&tune[..], &["--force"]].concat());
    assert!(files_of_run(&scratch.path("tuned")) == before);
    scratch.write("tuned/notes.txt", "mine");
    let error = scratch.refuse(&[&other[..], &["--force"]].concat());
    assert!(error.contains("notes.txt was not written by a run"), "{error}");
    assert_eq!(scratch.read("tuned/notes.txt"), "mine");
}

#[test]
fn embedded_problems_and_tables_with_units_can_be_tuned() {
    let scratch = Scratch::new();
    let quick = ["--trials", "2", "--set", "training.epochs=2", "-q"];
    let ran = scratch.run(&[&["tune", "compas"], &quick[..]].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
    assert!(scratch.path("runs/compas-tuned/model.safetensors").exists());
    scratch.write("numbered.csv", &numbered(400, 0));
    let linear = support::SHORT.replace("hidden = [4]", "kind = \"linear\"");
    let kernel = support::SHORT.replace("hidden = [4]", "kind = \"kernel\"");
    for (name, problem) in [("linear", linear), ("kernel", kernel)] {
        scratch.write("other.toml", &problem);
        let tune = ["tune", "other.toml", "--trials", "4", "-q", "--json", "-o", name];
        let ran = scratch.run(&tune);
        assert!(matches!(ran.code, Some(0 | 1)), "{name}: {}", ran.err);
        let key = if name == "kernel" { "model.gamma" } else { "objective.weight_decay" };
        let found = &ran.json()["search"]["trials"][1]["settings"][key];
        assert!(found.is_number(), "{name}: {found}");
    }
}

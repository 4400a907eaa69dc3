//! Results on standard output, the rest on standard error; JSON, colours, verbosity, precedence.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use std::process::Stdio;

use support::{IMPOSSIBLE, PROBLEM, Ran, Scratch};

#[test]
fn every_command_that_reports_prints_json_when_asked() {
    let scratch = Scratch::new();
    let fit = scratch.expect(0, &["fit", "problem.toml", "-o", "run", "--json"]).json();
    assert_eq!((&fit["met"], &fit["interrupted"]), (&true.into(), &false.into()));
    assert_eq!(fit["directory"], "run");
    assert_eq!(fit["runs"][0]["summary"]["test"]["met"], true);
    let resumed = scratch.expect(0, &["resume", "run", "--json"]).json();
    assert_eq!(resumed, fit);
    let predictions = scratch.expect(0, &["predict", "run", "people.csv", "--json"]).json();
    assert_eq!(predictions["rows"].as_array().map(Vec::len), Some(400));
    let export = scratch.expect(0, &["export", "run", "--json"]).json();
    assert_eq!((&export["file"], &export["opset"]), (&"run/model.onnx".into(), &19.into()));
    assert_eq!(export["inputs"][0]["shape"], serde_json::json!([null, 1]));
    let audit = scratch.expect(0, &["audit", "run", "people.csv", "--json"]).json();
    assert_eq!((&audit["met"], &audit["evaluation"]["rows"]), (&true.into(), &400.into()));
    let check = scratch.expect(0, &["check", "problem.toml", "--json"]).json();
    assert_eq!((&check["rows"]["train"], &check["rows"]["validation"]), (&240.into(), &60.into()));
    assert_eq!(check["resolved"]["training"]["epochs"], 20);
    let init = scratch.expect(0, &["init", "people.csv", "--json"]).json();
    assert_eq!(init["file"], "people.toml");
    let list = scratch.expect(0, &["data", "list", "--json"]).json();
    assert_eq!(
        (&list["sets"][0]["name"], &list["sets"][0]["rows"]),
        (&"adult".into(), &48_842.into())
    );
    let show = scratch.expect(0, &["data", "show", "compas", "--json"]).json();
    assert_eq!(show["columns"][0]["name"], "sex");
    let export = scratch.expect(0, &["data", "export", "compas", "out", "--json"]).json();
    assert_eq!(export["files"][0], "out/compas.csv");
    let quick = ["--seeds", "1", "--set", "training.epochs=1", "--json"];
    let mut compas = vec!["reproduce", "compas"];
    compas.extend(quick);
    let compas = scratch.expect(0, &compas).json();
    assert_eq!(compas["rows"].as_array().map(Vec::len), Some(13));
    let pages = scratch.expect(0, &["man", "-o", "pages", "--json"]).json();
    assert!(pages["files"].as_array().is_some_and(|files| files.len() > 10));
}

#[test]
fn json_of_a_run_that_misses_a_requirement_says_so() {
    let scratch = Scratch::new();
    scratch.write("problem.toml", &format!("{PROBLEM}{IMPOSSIBLE}"));
    let fit = scratch.expect(1, &["fit", "problem.toml", "-o", "run", "--json"]).json();
    assert_eq!(fit["met"], false);
    let audit = scratch.expect(1, &["audit", "run", "people.csv", "--json"]).json();
    assert_eq!(audit["met"], false);
}

#[test]
fn progress_is_plain_lines_on_standard_error_and_not_too_many() {
    let scratch = Scratch::new();
    let ran = scratch.expect(0, &["fit", "problem.toml", "-o", "a"]);
    assert!(ran.err.starts_with("epoch 1/20, ") && ran.err.contains("objective 0."), "{}", ran.err);
    assert!(ran.err.contains("worst violation") && ran.err.contains("(gender)"), "{}", ran.err);
    assert!(ran.err.lines().count() < 20, "{}", ran.err);
    assert!(!ran.err.contains(['\r', '\u{1b}']), "{:?}", ran.err);
    assert!(!ran.out.contains("epoch 1/20"), "{}", ran.out);
}

#[test]
fn quiet_says_nothing_and_verbose_says_every_epoch() {
    let scratch = Scratch::new();
    let quiet = scratch.expect(0, &["fit", "problem.toml", "-o", "a", "-q"]);
    assert_eq!(quiet.err, "");
    assert!(quiet.out.contains("accuracy"));
    let verbose = scratch.expect(0, &["fit", "problem.toml", "-o", "b", "-v"]);
    for epoch in 1..=20 {
        assert!(verbose.err.contains(&format!("epoch {epoch}/20, ")), "{}", verbose.err);
    }
    assert!(verbose.err.contains("saved after epoch 20"), "{}", verbose.err);
    assert_eq!(verbose.out, quiet.out);
}

#[test]
fn colours_are_for_terminals_and_for_those_who_do_not_mind() {
    let scratch = Scratch::new();
    let error = |variables: &[(&str, &str)]| {
        let mut command = scratch.command(&["fit", "adlt"]);
        Ran::of(command.envs(variables.iter().copied()).output().unwrap()).err
    };
    assert!(!error(&[]).contains('\u{1b}'));
    assert!(error(&[("CLICOLOR_FORCE", "1")]).contains('\u{1b}'));
    assert!(!error(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).contains('\u{1b}'));
}

#[test]
fn flags_win_over_the_environment_and_the_environment_over_the_file() {
    let scratch = Scratch::new();
    let file = PROBLEM.replace("epochs = 20", "epochs = 1\nseed = 1\nthreads = 1");
    scratch.write("problem.toml", &file);
    let resolved = |name: &str, more: &[&str], variables: &[(&str, &str)]| {
        let mut arguments = vec!["fit", "problem.toml", "-o", name];
        arguments.extend(more);
        let mut command = scratch.command(&arguments);
        let ran = Ran::of(command.envs(variables.iter().copied()).output().unwrap());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let problem = scratch.read(&format!("{name}/problem.toml"));
        let of = |key: &str| {
            let start = format!("{key} = ");
            let line = problem.lines().skip_while(|line| *line != "[training]");
            line.filter_map(|line| line.strip_prefix(&start)).next().unwrap().to_string()
        };
        (of("seed"), of("threads"))
    };
    let environment = [("FEASIBLE_SEED", "2"), ("FEASIBLE_THREADS", "2")];
    let is = |seed: &str, threads: &str| (seed.to_string(), threads.to_string());
    assert_eq!(resolved("a", &[], &[]), is("1", "1"));
    assert_eq!(resolved("b", &[], &environment), is("2", "2"));
    assert_eq!(resolved("c", &["--seed", "3", "--threads", "3"], &environment), is("3", "3"));
    let set = ["--set", "training.seed=4", "--set", "training.threads=4"];
    assert_eq!(resolved("d", &set, &environment), is("4", "4"));
    let mut command = scratch.command(&["fit", "problem.toml"]);
    let ran = Ran::of(command.env("FEASIBLE_THREADS", "none").output().unwrap());
    assert_eq!(ran.code, Some(2), "{}", ran.err);
}

#[test]
fn the_environment_forces_an_instruction_level_that_the_processor_has() {
    let scratch = Scratch::new();
    let fit = |level: &str, out: &str| {
        let mut command = scratch.command(&["fit", "problem.toml", "-o", out, "--no-report"]);
        Ran::of(command.env("FEASIBLE_SIMD", level).output().unwrap())
    };
    // The portable level is everywhere, and the fastest is what an empty variable stands for.
    for (level, out) in [("portable", "a"), ("portable", "b"), ("", "c")] {
        let ran = fit(level, out);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    let model =
        |out: &str| std::fs::read(scratch.path(&format!("{out}/model.safetensors"))).unwrap();
    assert!(model("a") == model("b"), "one level gives the same bytes");
    if feasible_problem::Level::available().len() > 1 {
        assert!(model("a") != model("c"), "the variable has no effect");
    }
    let ran = fit("sse9", "d");
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(
        ran.err.contains("FEASIBLE_SIMD is \"sse9\"") && ran.err.contains("portable"),
        "{}",
        ran.err
    );
    assert!(!scratch.path("d").exists());
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let scratch = Scratch::new();
    scratch.expect(0, &["fit", "problem.toml", "-o", "run"]);
    for arguments in [
        &["data", "show", "adult"][..],
        &["predict", "run", "people.csv"],
        &["completions", "bash"],
        &["check", "problem.toml"],
        &["fit", "problem.toml", "-o", "again", "-q"],
    ] {
        let mut child = scratch
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn a_closed_standard_error_is_no_failure() {
    let scratch = Scratch::new();
    let mut command = scratch.command(&["fit", "problem.toml", "-o", "run", "-v"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.contains("accuracy"));
}

#[test]
fn a_panic_is_reported_in_a_few_lines_and_ends_with_3() {
    let scratch = Scratch::new();
    let mut command = scratch.command(&["data", "list"]);
    let ran = Ran::of(command.env("FEASIBLE_PANIC", "1").output().unwrap());
    // Only builds for development can be asked to panic.
    if cfg!(debug_assertions) {
        assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""));
        assert!(ran.err.contains("Please report it"), "{}", ran.err);
        assert!(ran.err.lines().count() <= 4, "{}", ran.err);
    }
}

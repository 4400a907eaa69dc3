//! Ctrl-C saves, says how to go on, and ends with 130 in about a second.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::{Ran, Scratch, assert_same_run};

/// Long enough to be interrupted, short enough to be finished; no checkpoint in between.
const LONG: [&str; 4] =
    ["--set", "training.epochs=3000", "--set", "training.checkpoint={ seconds = 1000 }"];

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Starts a command and waits for its first line of progress.
fn begin(scratch: &Scratch, arguments: &[&str]) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut command = scratch.command(arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut progress = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    progress.read_line(&mut line).unwrap();
    assert!(line.contains("epoch"), "{line}");
    (child, progress)
}

/// What became of a command that was begun.
fn end(child: Child, mut progress: BufReader<std::process::ChildStderr>) -> Ran {
    let mut rest = String::new();
    progress.read_to_string(&mut rest).unwrap();
    let mut ran = Ran::of(child.wait_with_output().unwrap());
    ran.err = rest;
    ran
}

#[test]
fn an_interrupted_run_says_how_to_go_on_and_ends_in_the_same_bytes() {
    for name in ["-INT", "-TERM"] {
        let scratch = Scratch::new();
        scratch.expect(0, &[&["fit", "problem.toml", "-o", "whole", "-q"], &LONG[..]].concat());
        let (child, progress) =
            begin(&scratch, &[&["fit", "problem.toml", "-o", "run"], &LONG[..]].concat());
        let sent = Instant::now();
        signal(&child, name);
        let ran = end(child, progress);
        assert!(sent.elapsed() < Duration::from_secs(2), "{:?}", sent.elapsed());
        assert_eq!((ran.code, ran.out.as_str()), (Some(130), ""), "{}", ran.err);
        assert!(ran.err.contains("`feasible resume run` continues from there"), "{}", ran.err);
        let done = scratch.read("run/metrics.jsonl").lines().count();
        assert!(done < 3000 && scratch.path("run/checkpoint.bin").is_file());
        assert!(!scratch.path("run/model.safetensors").exists());
        let resumed = scratch.expect(0, &["resume", "run"]);
        assert!(resumed.err.contains("resuming after epoch"), "{}", resumed.err);
        assert_same_run(&scratch.path("run"), &scratch.path("whole"), name);
    }
}

#[test]
fn several_seeds_are_interrupted_and_resumed_together() {
    let scratch = Scratch::new();
    let fit = ["fit", "problem.toml", "--seeds", "3", "--threads", "2", "-o"];
    scratch.expect(0, &[&fit[..], &["whole", "-q"], &LONG[..]].concat());
    let (child, progress) = begin(&scratch, &[&fit[..], &["run"], &LONG[..]].concat());
    signal(&child, "-INT");
    let ran = end(child, progress);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    scratch.expect(0, &["resume", "run"]);
    assert_same_run(&scratch.path("run"), &scratch.path("whole"), "three seeds");
}

#[test]
fn json_of_an_interrupted_run_says_so() {
    let scratch = Scratch::new();
    let fit = [&["fit", "problem.toml", "-o", "run", "--json"], &LONG[..]].concat();
    let (child, progress) = begin(&scratch, &fit);
    signal(&child, "-INT");
    let ran = end(child, progress);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert_eq!(ran.json()["interrupted"], true);
}

#[test]
fn a_second_interrupt_quits_at_once() {
    let scratch = Scratch::new();
    let fit = ["fit", "problem.toml", "-o", "run", "--set", "training.epochs=1000000"];
    let (child, progress) = begin(&scratch, &fit);
    signal(&child, "-INT");
    signal(&child, "-INT");
    assert_eq!(end(child, progress).code, Some(130));
    // However it ended, the run can be resumed; two interrupts later it still can.
    let (child, progress) = begin(&scratch, &["resume", "run"]);
    signal(&child, "-INT");
    assert_eq!(end(child, progress).code, Some(130));
}

#[test]
fn an_interrupted_reproduction_ends_with_130() {
    let scratch = Scratch::new();
    let long = ["reproduce", "compas", "--seeds", "1", "--set", "training.epochs=1000000"];
    let (child, progress) = begin(&scratch, &long);
    signal(&child, "-INT");
    let ran = end(child, progress);
    assert_eq!((ran.code, ran.out.as_str()), (Some(130), ""), "{}", ran.err);
    assert!(ran.err.contains("-o runs/reproduce-compas` continues"), "{}", ran.err);
}

#[test]
fn an_interrupted_sweep_keeps_what_is_done_and_goes_on() {
    let scratch = Scratch::new();
    let sweep = |epochs: &'static str| {
        let sweep = ["sweep", "problem.toml", "--requirement", "gender", "--limits", "0.1,0.5"];
        [&sweep[..], &["--seeds", "1", "--threads", "1", "-o", "sweep", "--epochs", epochs]]
            .concat()
    };
    let (child, progress) = begin(&scratch, &sweep("1000000"));
    signal(&child, "-INT");
    let ran = end(child, progress);
    assert_eq!((ran.code, ran.out.as_str()), (Some(130), ""), "{}", ran.err);
    assert!(ran.err.contains("with -o sweep continues"), "{}", ran.err);
    // Other settings are another sweep.
    let error = scratch.refuse(&sweep("2"));
    assert!(error.contains("a sweep of other settings"), "{error}");
    scratch.expect(0, &[&sweep("2")[..], &["--force"]].concat());
    let again = scratch.expect(0, &sweep("2"));
    assert!(!again.err.contains("epoch"), "nothing is trained twice: {}", again.err);
}

#[test]
fn an_interrupted_search_keeps_what_is_trained_and_goes_on_to_the_same_bytes() {
    let scratch = Scratch::new();
    let tune = |name: &'static str| {
        let tune = ["tune", "problem.toml", "--trials", "3", "--threads", "2", "-o", name];
        let few = ["--set", "training.epochs=1000", "--set", "tune.training.rate=[0.001, 0.01]"];
        [&tune[..], &few[..]].concat()
    };
    scratch.expect(0, &[&tune("whole")[..], &["-q"]].concat());
    let (child, progress) = begin(&scratch, &tune("run"));
    signal(&child, "-INT");
    let ran = end(child, progress);
    assert_eq!((ran.code, ran.out.as_str()), (Some(130), ""), "{}", ran.err);
    assert!(ran.err.contains("with -o run continues"), "{}", ran.err);
    let error = scratch.refuse(&["resume", "run"]);
    assert!(error.contains("holds a search that is not complete"), "{error}");
    let error = scratch.refuse(&["predict", "run", "people.csv"]);
    assert!(error.contains("holds a search that is not complete"), "{error}");
    scratch.expect(0, &tune("run"));
    assert_same_run(&scratch.path("run"), &scratch.path("whole"), "a search");
}

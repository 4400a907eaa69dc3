//! Links, pipes and devices where files are expected: nothing outside a run directory is touched, nothing is
//! waited for, and the message names the file.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{Ran, Scratch, assert_same_run, files_of_run};

const VICTIM: &str = "what is not ours\n";

/// Runs it, and not for ever: a pipe that nobody writes to must not be waited for.
fn run(scratch: &Scratch, arguments: &[&str]) -> Ran {
    let mut command = scratch.command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{arguments:?} waits");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ran::of(child.wait_with_output().unwrap())
}

fn refused(scratch: &Scratch, arguments: &[&str], words: &[&str]) {
    let ran = run(scratch, arguments);
    assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.err);
    assert!(ran.err.starts_with("error: "), "{}", ran.err);
    for word in words {
        assert!(ran.err.contains(word), "{arguments:?}: no '{word}' in: {}", ran.err);
    }
}

fn fifo(scratch: &Scratch, name: &str) {
    assert!(Command::new("mkfifo").arg(scratch.path(name)).status().unwrap().success());
}

/// A run that ended, and a copy of it.
fn prepare() -> Scratch {
    let scratch = Scratch::new();
    scratch.expect(0, &["fit", "problem.toml", "-o", "run", "-q"]);
    scratch.write("victim", VICTIM);
    scratch
}

/// A fresh copy of the run, under the name `copy`.
fn copy(scratch: &Scratch) {
    let _ = std::fs::remove_dir_all(scratch.path("copy"));
    std::fs::create_dir(scratch.path("copy")).unwrap();
    for entry in std::fs::read_dir(scratch.path("run")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), scratch.path("copy").join(entry.file_name())).unwrap();
    }
}

const READ_BY_RESUME: [&str; 5] =
    ["problem.toml", "run.json", "checkpoint.bin", "metrics.jsonl", "timings.jsonl"];

#[test]
fn resume_follows_no_link_and_waits_for_no_pipe() {
    let scratch = prepare();
    for name in READ_BY_RESUME.into_iter().chain([".lock"]) {
        let file = format!("copy/{name}");
        copy(&scratch);
        // The link leads to what the file was, so that only the link can be the reason.
        let before = std::fs::read(scratch.path(&file)).unwrap();
        std::fs::rename(scratch.path(&file), scratch.path("moved")).unwrap();
        symlink("../moved", scratch.path(&file)).unwrap();
        refused(&scratch, &["resume", "copy", "-q"], &[name, "symbolic link"]);
        assert!(std::fs::read(scratch.path("moved")).unwrap() == before, "{name}");
        std::fs::remove_file(scratch.path(&file)).unwrap();
        fifo(&scratch, &file);
        refused(&scratch, &["resume", "copy", "-q"], &[name, "pipe"]);
        std::fs::remove_file(scratch.path(&file)).unwrap();
        symlink("/dev/null", scratch.path(&file)).unwrap();
        refused(&scratch, &["resume", "copy", "-q"], &[name, "symbolic link"]);
    }
    // A lock that leads nowhere is not made elsewhere.
    copy(&scratch);
    std::fs::remove_file(scratch.path("copy/.lock")).unwrap();
    symlink("../made", scratch.path("copy/.lock")).unwrap();
    refused(&scratch, &["resume", "copy", "-q"], &[".lock", "symbolic link"]);
    refused(&scratch, &["fit", "problem.toml", "-o", "copy", "--force"], &["symbolic link"]);
    assert!(!scratch.path("made").exists());
}

#[test]
fn what_a_run_writes_goes_through_no_link() {
    let scratch = prepare();
    let written = ["model.safetensors", "multipliers.csv", "summary.json", "report.html"];
    for name in written.into_iter().chain(["model-card.md", ".feasible-scratch-report.html"]) {
        copy(&scratch);
        let file = scratch.path("copy").join(name);
        let _ = std::fs::remove_file(&file);
        symlink("../victim", &file).unwrap();
        for command in [&["resume", "copy", "-q"][..], &["report", "copy", "-q"]] {
            let ran = run(&scratch, command);
            assert!(matches!(ran.code, Some(0 | 2)), "{command:?}: {}", ran.err);
            assert_eq!(scratch.read("victim"), VICTIM, "{command:?} wrote through {name}");
        }
    }
    copy(&scratch);
    for name in ["attack.json", "attack.csv", "attack.svg", "sensitivity.json", "monitor.jsonl"] {
        symlink("../victim", scratch.path("copy").join(name)).unwrap();
    }
    scratch.write("new.csv", &support::people(1200)[support::people(400).len() - 1..]);
    let table = format!("age,gender,city,income{}", scratch.read("new.csv"));
    scratch.write("new.csv", &table);
    let attack = ["attack", "copy", "people.csv", "--epsilons", "0.1", "--steps", "2"];
    for command in
        [&attack[..], &["report", "copy", "--check-sensitivity"], &["monitor", "copy", "new.csv"]]
    {
        let ran = run(&scratch, command);
        assert!(matches!(ran.code, Some(0 | 2)), "{command:?}: {}", ran.err);
        assert_eq!(scratch.read("victim"), VICTIM, "{command:?}");
    }
    // A file that the user names is written to where its link leads.
    symlink("victim", scratch.path("page.html")).unwrap();
    scratch.expect(0, &["report", "run", "-o", "page.html", "-q"]);
    assert!(scratch.read("victim").contains("<svg"));
    assert!(scratch.path("page.html").is_symlink());
}

#[test]
fn force_removes_nothing_behind_a_link() {
    let scratch = prepare();
    let other = files_of_run(&scratch.path("run"));
    let seeds = ["fit", "problem.toml", "--seeds", "2", "-o", "several", "-q", "--force"];
    scratch.expect(0, &seeds);
    for inner in ["several/seed-0", "several/seed-7"] {
        let _ = std::fs::remove_dir_all(scratch.path(inner));
        symlink("../run", scratch.path(inner)).unwrap();
        if inner.ends_with('0') {
            refused(&scratch, &["resume", "several", "-q"], &["seed-0", "symbolic link"]);
        }
        let ran = run(&scratch, &seeds);
        assert!(matches!(ran.code, Some(0 | 2)), "{}", ran.err);
        assert!(files_of_run(&scratch.path("run")) == other, "{inner}");
        let _ = std::fs::remove_file(scratch.path(inner));
        scratch.expect(0, &seeds);
    }
    let tune = ["tune", "problem.toml", "--trials", "3", "-o", "tuned", "-q"];
    scratch.expect(0, &tune);
    std::fs::remove_dir_all(scratch.path("tuned/trial-1")).unwrap();
    symlink("../run", scratch.path("tuned/trial-1")).unwrap();
    let ran = run(&scratch, &[&tune[..], &["--seed", "1", "--force"]].concat());
    assert!(matches!(ran.code, Some(0 | 2)), "{}", ran.err);
    assert!(files_of_run(&scratch.path("run")) == other, "{}", ran.err);
    let sweep = ["sweep", "problem.toml", "--requirement", "gender", "--limits", "0.1,0.5"];
    let sweep = [&sweep[..], &["-o", "sweep", "-q", "--force"]].concat();
    scratch.expect(0, &sweep);
    std::fs::remove_dir_all(scratch.path("sweep/limit-0.1")).unwrap();
    std::fs::create_dir(scratch.path("other")).unwrap();
    std::fs::rename(scratch.path("run"), scratch.path("other/seed-0")).unwrap();
    symlink("../other", scratch.path("sweep/limit-0.1")).unwrap();
    for change in ["training.epochs=20", "training.epochs=21"] {
        let ran = run(&scratch, &[&sweep[..], &["--set", change]].concat());
        assert!(matches!(ran.code, Some(0 | 2)), "{}", ran.err);
        assert!(files_of_run(&scratch.path("other/seed-0")) == other, "{change}: {}", ran.err);
    }
}

#[test]
fn pipes_devices_and_directories_are_no_tables_models_or_problems() {
    let scratch = prepare();
    fifo(&scratch, "pipe.csv");
    std::fs::create_dir(scratch.path("folder.csv")).unwrap();
    for (name, word) in [("pipe.csv", "pipe"), ("/dev/zero", "device"), ("folder.csv", "directory")]
    {
        for command in ["predict", "audit", "certify", "attack", "monitor"] {
            refused(&scratch, &[command, "run", name], &[name, word]);
        }
        refused(&scratch, &["init", name], &[name, word]);
        scratch.write("p.toml", &scratch.read("problem.toml").replace("people.csv", name));
        refused(&scratch, &["check", "p.toml"], &[name, word]);
        refused(&scratch, &["fit", "p.toml", "-o", "none"], &[name, word]);
        assert!(!scratch.path("none").exists());
    }
    for (name, word) in [("pipe.csv", "pipe"), ("/dev/zero", "device")] {
        refused(&scratch, &["predict", name, "people.csv"], &[name, word]);
        refused(&scratch, &["export", name], &[name, word]);
        refused(&scratch, &["check", name], &[name, word]);
        refused(&scratch, &["fit", name, "-o", "none"], &[name, word]);
    }
    // Links to tables are the user's own business, and so is standard input by any of its names.
    symlink("people.csv", scratch.path("link.csv")).unwrap();
    scratch.expect(0, &["predict", "run", "link.csv", "-q"]);
    let input = std::fs::File::open(scratch.path("people.csv")).unwrap();
    let mut command = scratch.command(&["predict", "run", "-", "-q"]);
    assert_eq!(command.stdin(input).output().unwrap().status.code(), Some(0));
}

#[test]
fn metrics_that_are_not_those_of_the_checkpoint_are_refused() {
    let scratch = prepare();
    let metrics = scratch.read("run/metrics.jsonl");
    let path = scratch.path("copy/metrics.jsonl");
    let lines: Vec<&str> = metrics.lines().collect();
    let last = lines.len() - 1;
    let swapped = [&lines[..last - 1], &[lines[last], lines[last - 1]]].concat().join("\n") + "\n";
    let damaged = [
        ("nothing", String::new()),
        ("cut", metrics[..metrics.len() - 1].to_string()),
        ("as long, all zero", "\0".repeat(metrics.len())),
        ("one digit", metrics.replacen("\"epoch\":1,", "\"epoch\":2,", 1)),
        ("two lines exchanged", swapped),
    ];
    for (what, text) in damaged {
        copy(&scratch);
        std::fs::remove_file(scratch.path("copy/summary.json")).unwrap();
        let before = files_of_run(&scratch.path("copy"));
        std::fs::write(&path, &text).unwrap();
        refused(&scratch, &["resume", "copy", "-q"], &["metrics.jsonl", "damaged"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{what}");
        // And nothing was changed: the file restored, the run ends as it did.
        std::fs::write(&path, &metrics).unwrap();
        assert!(files_of_run(&scratch.path("copy")) == before, "{what}");
        scratch.expect(0, &["resume", "copy", "-q"]);
        assert_same_run(&scratch.path("copy"), &scratch.path("run"), what);
    }
    // What a kill leaves after them is cut off.
    copy(&scratch);
    std::fs::write(&path, metrics.clone() + "{\"epoch\":21,\"obj").unwrap();
    scratch.expect(0, &["resume", "copy", "-q"]);
    assert_same_run(&scratch.path("copy"), &scratch.path("run"), "half a line more");
}

#[test]
fn half_a_line_of_clock_times_does_not_spoil_the_page() {
    let scratch = prepare();
    copy(&scratch);
    let path = scratch.path("copy/timings.jsonl");
    let timings = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, timings + "{\"epoch\":21,\"pri").unwrap();
    std::fs::remove_file(scratch.path("copy/report.html")).unwrap();
    scratch.expect(0, &["resume", "copy", "-q"]);
    assert!(scratch.path("copy/report.html").exists());
    scratch.expect(0, &["report", "copy", "-q"]);
}

#[test]
fn outputs_go_through_no_link_that_the_user_did_not_name_and_wait_for_no_pipe() {
    let scratch = prepare();
    let sweep = "sweep problem.toml --requirement gender --limits 0.1,0.5 -o m -q";
    let sweep: Vec<&str> = sweep.split(' ').chain(["--set", "training.epochs=1"]).collect();
    scratch.expect(0, &sweep);
    // A directory of pictures that leads elsewhere.
    std::fs::create_dir(scratch.path("theirs")).unwrap();
    std::fs::rename(scratch.path("m/figures"), scratch.path("old")).unwrap();
    symlink("../theirs", scratch.path("m/figures")).unwrap();
    refused(&scratch, &sweep, &["figures", "symbolic link"]);
    refused(&scratch, &["report", "m", "--figures", "m/figures"], &["figures", "symbolic link"]);
    assert_eq!(std::fs::read_dir(scratch.path("theirs")).unwrap().count(), 0);
    // Default outputs where there is no run.
    std::fs::create_dir(scratch.path("loose")).unwrap();
    std::fs::copy(scratch.path("run/model.safetensors"), scratch.path("loose/model.safetensors"))
        .unwrap();
    std::fs::create_dir(scratch.path("run/figures")).unwrap();
    scratch.write("new.csv", &support::numbered(300, 1000));
    let attack = ["attack", "loose", "new.csv", "--epsilons", "0.1", "--steps", "2"];
    let figures = ["report", "run", "--figures", "run/figures", "-q"];
    for (command, name) in [
        (&["export", "loose"][..], "loose/model.onnx"),
        (&["export", "loose/model.safetensors"], "loose/model.onnx"),
        (&attack, "loose/attack.json"),
        (&attack, "loose/attack.csv"),
        (&attack, "loose/attack.svg"),
        (&figures, "run/figures/objective.svg"),
        (&figures, "run/figures/gap.svg"),
        (&["report", "run", "run"], "comparison.html"),
        (&["init", "people.csv", "--force"], "people.toml"),
    ] {
        symlink(scratch.path("victim"), scratch.path(name)).unwrap();
        refused(&scratch, command, &[name, "symbolic link"]);
        assert_eq!(scratch.read("victim"), VICTIM, "{command:?} wrote through {name}");
        std::fs::remove_file(scratch.path(name)).unwrap();
        fifo(&scratch, name);
        refused(&scratch, command, &[name, "pipe"]);
        std::fs::remove_file(scratch.path(name)).unwrap();
    }
    // One that the user names is written to, if somebody reads it.
    fifo(&scratch, "pipe");
    refused(&scratch, &["export", "run", "-o", "pipe"], &["pipe", "nobody reads"]);
    let path = scratch.path("pipe");
    let reader = std::thread::spawn(move || std::fs::read(path).unwrap().len());
    while run(&scratch, &["export", "run", "-o", "pipe"]).code == Some(2) {}
    assert!(reader.join().unwrap() > 100);
}

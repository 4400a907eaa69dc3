//! Killed at any moment and resumed, a run ends in the same bytes as one left alone.
//!
//! `FEASIBLE_KILLS=5000 cargo test --release -p feasible-cli --test kill` kills it as often as
//! you like; `FEASIBLE_KILL_SEED` chooses other moments, `FEASIBLE_KILL_DIR` another directory
//! than one in memory. (What a killed process has written stays written, on any file system: only
//! the waiting differs. That it also reaches the disk before it is relied on is tested where the
//! files are written.)
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use support::{Scratch, assert_same_run, random};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Where nothing has to wait for a disk that others are using.
fn place() -> PathBuf {
    let memory = Path::new("/dev/shm");
    match std::env::var_os("FEASIBLE_KILL_DIR") {
        Some(directory) => directory.into(),
        None if memory.is_dir() => memory.into(),
        None => std::env::temp_dir(),
    }
}

fn start(scratch: &Scratch, arguments: &[&str]) -> Child {
    let mut command = scratch.command(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills after a random part of `longest`; whether it was still running.
fn kill(mut child: Child, longest: Duration, moments: &mut u64) -> bool {
    std::thread::sleep(longest.mul_f64(random(moments) as f64 / (1u64 << 31) as f64));
    let running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    running
}

/// Whether a training, or one of several, has a checkpoint but no model yet.
fn is_midway(run: &Path) -> bool {
    let inner = (0..3).map(|seed| run.join(format!("seed-{seed}")));
    let mut runs = std::iter::once(run.to_path_buf()).chain(inner);
    runs.any(|run| run.join("checkpoint.bin").exists() && !run.join("summary.json").exists())
}

#[test]
fn a_run_that_was_killed_ends_in_the_same_bytes() {
    let scratch = Scratch::under(&place());
    let kills = number("FEASIBLE_KILLS", 80);
    let mut moments = number("FEASIBLE_KILL_SEED", 1);
    let variants: [(&str, &[&str]); 2] =
        [("one", &[]), ("several", &["--seeds", "3", "--threads", "2"])];
    let mut runs = Vec::new();
    for (name, more) in variants {
        let killed = format!("{name}-killed");
        let arguments = |directory| {
            let set = ["--set", "training.epochs=600", "-q"];
            [&["fit", "problem.toml", "-o", directory], &set[..], more].concat()
        };
        let begin = Instant::now();
        scratch.expect(0, &arguments(name));
        let took = begin.elapsed();
        let again: Vec<String> = [&arguments(&killed)[..], &["--force"]]
            .concat()
            .into_iter()
            .map(String::from)
            .collect();
        runs.push((name, killed, took, again));
    }
    let (mut done, mut midway, mut finished) = (0, 0, 0);
    while done < kills {
        let (name, killed, took, fit) = &runs[finished % 2];
        let fit: Vec<&str> = fit.iter().map(String::as_str).collect();
        // From the start, then again and again from where it was killed.
        let mut running = kill(start(&scratch, &fit), *took, &mut moments);
        loop {
            done += u64::from(running);
            let begun = scratch.path(killed).join("problem.toml").exists();
            midway += u64::from(running && is_midway(&scratch.path(killed)));
            let finish = done >= kills || random(&mut moments).is_multiple_of(6);
            if !begun {
                // Killed before there was anything to resume.
                let refused = scratch.run(&["resume", killed]);
                assert_eq!(refused.code, Some(2), "{}", refused.err);
                running = kill(start(&scratch, &fit), *took, &mut moments);
            } else if finish {
                break;
            } else {
                running = kill(start(&scratch, &["resume", killed, "-q"]), *took, &mut moments);
            }
        }
        scratch.expect(0, &["resume", killed, "-q"]);
        let context = format!("{name}, after {done} kills");
        assert_same_run(&scratch.path(killed), &scratch.path(name), &context);
        std::fs::remove_dir_all(scratch.path(killed)).unwrap();
        finished += 1;
    }
    assert!(finished >= 2, "only {finished} runs were finished");
    // Otherwise the moments are chosen badly and the test shows little.
    assert!(4 * midway >= kills, "only {midway} of {kills} kills hit a training");
}

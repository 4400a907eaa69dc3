//! Killed at any moment and resumed, a run ends in the same bytes as one left alone.
//!
//! `FEASIBLE_DEPTH=300 cargo test --release -p feasible-cli --test endings kill::` kills it as often as
//! you like; `FEASIBLE_KILL_SEED` chooses other moments, `FEASIBLE_KILL_DIR` another directory
//! than one in memory. (What a killed process has written stays written, on any file system: only
//! the waiting differs. That it also reaches the disk before it is relied on is tested where the
//! files are written.)
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::depth::depth;
use crate::support;

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use support::{SHORT, Scratch, assert_same_run, copy_tree, numbered, random, tree};

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

/// A training, and how it goes when nobody kills it.
struct Fit {
    /// The directory of the run that was left alone.
    name: &'static str,
    /// Of the one that is killed.
    killed: String,
    /// The arguments that begin it.
    begin: Vec<String>,
    code: i32,
    took: Duration,
}

impl Fit {
    fn left_alone(scratch: &Scratch, name: &'static str, arguments: &[&str]) -> Self {
        let begin = Instant::now();
        let ran = scratch.run(&[&["fit", "-q", "-o", name], arguments].concat());
        let took = begin.elapsed();
        assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
        let killed = format!("{name}-killed");
        let begin = [&["fit", "-q", "--force", "-o", &killed], arguments].concat();
        let begin = begin.into_iter().map(String::from).collect();
        Self { name, killed, begin, code: ran.code.unwrap_or(0), took }
    }
}

/// Kills the trainings in turn, again and again, until each ends: at least this often in all, and until a quarter of the kills hit
/// a training under way. How many do depends on what else the machine does.
fn kill_and_resume(scratch: &Scratch, fits: &[Fit], kills: u64) {
    let mut moments = number("FEASIBLE_KILL_SEED", 1);
    let (mut done, mut midway, mut finished) = (0, 0, 0);
    while done < kills || 4 * midway < kills {
        assert!(done < 20 * kills, "only {midway} of {done} kills hit a training");
        let Fit { name, killed, begin, code, took } = &fits[finished % fits.len()];
        let begin: Vec<&str> = begin.iter().map(String::as_str).collect();
        // From the start, then again and again from where it was killed.
        let mut running = kill(start(scratch, &begin), *took, &mut moments);
        loop {
            done += u64::from(running);
            let begun = scratch.path(killed).join("problem.toml").exists();
            midway += u64::from(running && is_midway(&scratch.path(killed)));
            let finish = done >= kills || random(&mut moments).is_multiple_of(6);
            if !begun {
                // Killed before there was anything to resume.
                let refused = scratch.run(&["resume", killed]);
                assert_eq!(refused.code, Some(2), "{}", refused.err);
                running = kill(start(scratch, &begin), *took, &mut moments);
            } else if finish {
                break;
            } else {
                running = kill(start(scratch, &["resume", killed, "-q"]), *took, &mut moments);
            }
        }
        scratch.expect(*code, &["resume", killed, "-q"]);
        let context = format!("{name}, after {done} kills");
        assert_same_run(&scratch.path(killed), &scratch.path(name), &context);
        std::fs::remove_dir_all(scratch.path(killed)).unwrap();
        finished += 1;
    }
    assert!(finished >= fits.len(), "only {finished} runs were finished");
}

/// Most of the time is training: what comes after it is done again by every `resume`.
const LONG: [&str; 5] =
    ["problem.toml", "--set", "training.epochs=800", "--set", "model.hidden=[64]"];

#[test]
fn a_run_that_was_killed_ends_in_the_same_bytes() {
    let scratch = Scratch::under(&place());
    // It is killed while it trains its baseline, too.
    let fit = Fit::left_alone(&scratch, "one", &LONG);
    kill_and_resume(&scratch, &[fit], 8 * depth());
}

#[test]
fn runs_of_several_seeds_that_were_killed_end_in_the_same_bytes() {
    let scratch = Scratch::under(&place());
    let several = [&LONG[..], &["--seeds", "3", "--threads", "2", "--no-baseline"]].concat();
    let fit = Fit::left_alone(&scratch, "several", &several);
    kill_and_resume(&scratch, &[fit], 4 * depth());
}

/// A few images of the embedded sample; BatchNorm, whose statistics are state, and an adversary, whose
/// random starts are.
const IMAGES: &str = r#"
[data]
source = "fashion-mnist-sample"
per_class = { train = 2, validation = 1, test = 1 }

[model]
kind = "resnet18"
width = 2

[[requirement]]
name = "robust"
loss = "cross-entropy"
at_most = 0.5
adversary = { epsilon = { beta = [3, 8], scale = 0.25 }, steps = 2, step = "ε/2" }

[training]
epochs = 5
batch_size = 10
checkpoint = { epochs = 1 }

[evaluation]
attack = { steps = 3, restarts = 1 }
"#;

#[test]
fn a_training_under_attack_that_was_killed_ends_in_the_same_bytes() {
    let scratch = Scratch::under(&place());
    scratch.write("images.toml", IMAGES);
    let fit = Fit::left_alone(&scratch, "images", &["images.toml", "--threads", "2"]);
    // The adversary has a say: its requirement's multiplier is not 0.
    let multipliers = scratch.read("images/multipliers.csv");
    let last = multipliers.lines().last().and_then(|line| line.rsplit(',').next()).unwrap();
    assert!(last.parse::<f64>().unwrap() > 0.0, "{multipliers}");
    kill_and_resume(&scratch, &[fit], 2 * depth());
}

/// Commands on a finished run that write files or take their time, and where the files are.
const OTHERS: [&str; 9] = [
    "certify run new.csv",
    "report run",
    "report run --check-sensitivity --threads 2",
    "attack run new.csv --restarts 2 --steps 20",
    "monitor run new.csv newer.csv",
    "audit run new.csv",
    "sweep short.toml --requirement gender --limits 0.1,0.5 --epochs 100 --seeds 2 --threads 2 -o sweep",
    "tune short.toml --trials 9 --threads 2 --set training.epochs=60 -o tuned",
    "reproduce compas --seeds 1 --threads 2 --set training.epochs=3 -o paper",
];

#[test]
fn commands_that_were_killed_lose_nothing_and_end_the_same_when_called_again() {
    let scratch = Scratch::under(&place());
    std::fs::create_dir(scratch.path("base")).unwrap();
    scratch.write("base/short.toml", SHORT);
    scratch.write("base/numbered.csv", &numbered(200, 0));
    scratch.write("base/new.csv", &numbered(2000, 1000));
    scratch.write("base/newer.csv", &numbered(2000, 10_000));
    let within = |arguments: &[&str], directory: &str| {
        let mut command = scratch.command(arguments);
        command.current_dir(scratch.path(directory));
        command
    };
    let fit = within(&["fit", "short.toml", "-o", "run", "-q"], "base").output().unwrap();
    assert_eq!(fit.status.code(), Some(0));
    let fresh = || {
        let _ = std::fs::remove_dir_all(scratch.path("work"));
        copy_tree(&scratch.path("base"), &scratch.path("work"));
    };
    let kills = depth();
    let mut moments = number("FEASIBLE_KILL_SEED", 1);
    let (mut hits, mut ends) = (0, 0);
    for line in OTHERS {
        let arguments: Vec<&str> = line.split(' ').chain(["-q"]).collect();
        fresh();
        let begin = Instant::now();
        let whole = within(&arguments, "work").output().unwrap();
        let took = begin.elapsed();
        let err = String::from_utf8_lossy(&whole.stderr).into_owned();
        assert!(matches!(whole.status.code(), Some(0 | 1)), "{line}: {err}");
        let expected = tree(&scratch.path("work"));
        let (mut done, mut since) = (0, 0);
        fresh();
        for at in 0..kills {
            let mut command = within(&arguments, "work");
            let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            done += u64::from(kill(child, took, &mut moments));
            since += 1;
            if at + 1 < kills && !random(&mut moments).is_multiple_of(3) {
                continue;
            }
            let context = format!("{line}, after {since} kills");
            let again = within(&arguments, "work").output().unwrap();
            let err = String::from_utf8_lossy(&again.stderr).into_owned();
            assert_eq!(again.status.code(), whole.status.code(), "{context}: {err}");
            // A table that counted before a kill is shown as one that counts already.
            if !line.starts_with("monitor") {
                assert!(again.stdout == whole.stdout, "{context}: other results");
            }
            let found = tree(&scratch.path("work"));
            let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
                files.iter().map(|(name, _)| name.clone()).collect()
            };
            assert_eq!(names(&found), names(&expected), "{context}");
            for ((name, found), (_, expected)) in found.iter().zip(&expected) {
                assert!(found == expected, "{context}: {name} differs");
            }
            ends += 1;
            since = 0;
            fresh();
        }
        println!("{line}: {done} of {kills} kills hit it");
        hits += done;
    }
    println!("{hits} kills of {} commands, {ends} ends compared", OTHERS.len());
    // Otherwise the moments are chosen badly and the test shows little.
    assert!(2 * hits >= kills * OTHERS.len() as u64, "only {hits} kills hit a command");
}

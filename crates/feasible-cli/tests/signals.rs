//! Ctrl-C, SIGTERM, SIGHUP, SIGXCPU and SIGXFSZ end the program within a second at every moment of every command, with 130, and
//! nothing is lost or half-written.
//!
//! `FEASIBLE_DEPTH=100 cargo test --release -p feasible-cli --test endings signals:: -- --nocapture` signals every command that
//! often and prints how long each took to end; `FEASIBLE_KILL_SEED` chooses other moments.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may stop, and says what it did not try"
)]

use crate::depth::depth;
use crate::support;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use support::{Scratch, assert_same_run, people, random};

/// What a busy machine may take; a second is the aim.
const LONGEST: Duration = Duration::from_secs(3);
const SIGNALS: [&str; 5] = ["-INT", "-TERM", "-HUP", "-XFSZ", "-XCPU"];

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Where nothing has to wait for a disk that others are using.
fn place() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.into() } else { std::env::temp_dir() }
}

fn signal(child: &Child, name: &str) {
    // That it has ended meanwhile is no failure.
    let mut kill = Command::new("kill");
    kill.args([name, &child.id().to_string()]).stderr(Stdio::null()).status().unwrap();
}

/// Waits for the end, and not for ever.
fn end(mut child: Child, context: &str) -> (ExitStatus, String, Duration) {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            let took = begin.elapsed();
            let mut err = String::new();
            if let Some(stream) = &mut child.stderr {
                stream.read_to_string(&mut err).unwrap();
            }
            return (status, err, took);
        }
        if begin.elapsed() > LONGEST {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{context}: still running {LONGEST:?} after the signal");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What must be so after a command was interrupted.
enum After {
    /// `resume` of this run ends in the bytes of that one.
    Resumed(&'static str, &'static str),
    /// The same command again leaves the bytes of this file in that one.
    Again(&'static str, &'static str),
    /// The same command again ends as before.
    Ends,
}

const CERTIFIED: &str = "certify = 0.9\n";

fn prepare(scratch: &Scratch) {
    let problem = scratch.read("problem.toml");
    let exact = problem.replace("epochs = 20", "epochs = 20\nlearner = \"exact\"");
    let exact = exact.replace("hidden = [8]", "kind = \"linear\"");
    scratch.write("exact.toml", &exact);
    let certified =
        problem.replace("kind = \"pointwise\"\n", "kind = \"pointwise\"\nall_but = 0.1\n");
    scratch.write("certified.toml", &(CERTIFIED.to_string() + &certified));
    let ladder = "\n[certify]\nconfidence = 0.9\nladder = [1.0, 0.0]\n";
    scratch.write("ladder.toml", &(certified + ladder));
    scratch.write("many.csv", &people(20_000));
    scratch.expect(0, &["fit", "problem.toml", "-o", "run", "-q"]);
    scratch.expect(0, &["predict", "run", "many.csv", "-o", "whole.csv", "-q"]);
    scratch.expect(0, &["export", "run", "-o", "whole.onnx", "-q"]);
    scratch.expect(0, &["init", "many.csv", "--target", "income", "-o", "whole.toml", "-q"]);
    scratch.expect(0, &["data", "export", "compas", "whole", "-q"]);
}

/// Every command that takes any time, and what must be so after it.
fn commands() -> Vec<(Vec<&'static str>, After)> {
    let fit = |rest: &[&'static str]| [&["fit", "--force"], rest].concat();
    let long = ["--set", "training.epochs=100"];
    vec![
        (
            fit(&[&["problem.toml", "-o", "mlp"], &long[..]].concat()),
            After::Resumed("mlp", "mlp-whole"),
        ),
        (fit(&["exact.toml", "-o", "exact"]), After::Resumed("exact", "exact-whole")),
        (fit(&["certified.toml", "-o", "cert"]), After::Resumed("cert", "cert-whole")),
        (fit(&["ladder.toml", "-o", "ladder"]), After::Resumed("ladder", "ladder-whole")),
        (
            fit(&[&["problem.toml", "--seeds", "3", "-o", "seeds"], &long[..]].concat()),
            After::Resumed("seeds", "seeds-whole"),
        ),
        (
            vec![
                "sweep",
                "problem.toml",
                "--requirement",
                "gender",
                "--limits",
                "0.1,0.5",
                "-o",
                "sweep",
            ],
            After::Ends,
        ),
        (
            vec![
                "tune",
                "problem.toml",
                "--trials",
                "9",
                "--set",
                "training.epochs=100",
                "-o",
                "tuned",
            ],
            After::Ends,
        ),
        (vec!["report", "run"], After::Ends),
        (vec!["report", "run", "--check-sensitivity"], After::Ends),
        (vec!["audit", "run", "many.csv"], After::Ends),
        (vec!["certify", "run", "many.csv"], After::Ends),
        (vec!["predict", "run", "many.csv", "-o", "out.csv"], After::Again("out.csv", "whole.csv")),
        (vec!["export", "run", "-o", "out.onnx"], After::Again("out.onnx", "whole.onnx")),
        (vec!["attack", "run", "people.csv", "-o", "attacked"], After::Ends),
        (vec!["check", "problem.toml"], After::Ends),
        (
            vec!["init", "many.csv", "--target", "income", "-o", "out.toml", "--force"],
            After::Again("out.toml", "whole.toml"),
        ),
        (
            vec!["data", "export", "compas", "out", "--force"],
            After::Again("out/compas.csv", "whole/compas.csv"),
        ),
        (vec!["bound", "--limit", "0.01"], After::Ends),
        (
            vec![
                "reproduce",
                "compas",
                "--seeds",
                "1",
                "--no-report",
                "--set",
                "training.epochs=5",
            ],
            After::Ends,
        ),
    ]
}

#[test]
fn every_command_ends_soon_after_a_signal_at_any_moment() {
    let scratch = Scratch::under(&place());
    prepare(&scratch);
    let times = 2 * depth();
    let mut moments = number("FEASIBLE_KILL_SEED", 1);
    let mut taken: Vec<(Duration, String)> = Vec::new();
    let (mut interrupted, mut all) = (0, 0);
    for (number, (arguments, after)) in commands().into_iter().enumerate() {
        let whole: Vec<&str> = match after {
            After::Resumed(run, whole) => {
                arguments.iter().map(|&word| if word == run { whole } else { word }).collect()
            }
            _ => arguments.clone(),
        };
        let begin = Instant::now();
        let code = scratch.run(&whole).code;
        let mut within = begin.elapsed();
        assert!(matches!(code, Some(0 | 1)), "{arguments:?}: {code:?}");
        for at in 0..times {
            let mut command = scratch.command(&arguments);
            let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            std::thread::sleep(within.mul_f64(random(&mut moments) as f64 / (1u64 << 31) as f64));
            let name = SIGNALS[(number + at as usize) % SIGNALS.len()];
            signal(&child, name);
            let (status, err, took) = end(child, &format!("{arguments:?}"));
            all += 1;
            taken.push((took, arguments[..2].join(" ")));
            match status.code() {
                Some(130) => interrupted += 1,
                // It was done before the signal came, or in the time it was given: a write that fails at the limit
                // of file sizes is reported first, and a short command ends before.
                // On a machine that is less busy than at first, it ends sooner: the next signal comes sooner, too.
                ended if ended == code => within = within.mul_f64(0.7),
                // The signal came before `main`.
                None if err.is_empty() => {}
                ended => panic!("{arguments:?} ended with {ended:?}: {err}"),
            }
            if let After::Resumed(run, whole) = after {
                let begun = scratch.path(run).join("problem.toml").exists();
                let offered = err.contains("feasible resume");
                assert!(!offered || begun, "{arguments:?} cannot be resumed: {err}");
                if begun {
                    let resumed = scratch.run(&["resume", run, "-q"]);
                    assert_eq!(resumed.code, code, "{arguments:?}: {}", resumed.err);
                    assert_same_run(&scratch.path(run), &scratch.path(whole), run);
                }
            }
        }
        if !matches!(after, After::Resumed(..)) {
            let again = scratch.run(&arguments);
            assert_eq!(again.code, code, "{arguments:?}: {}", again.err);
        }
        if let After::Again(file, whole) = after {
            // The problem file's own name is in none of these.
            let bytes = |name: &str| std::fs::read(scratch.path(name)).unwrap();
            assert!(bytes(file) == bytes(whole), "{file} differs from {whole}");
        }
    }
    taken.sort();
    let quantile = |share: f64| &taken[((taken.len() - 1) as f64 * share) as usize];
    let (slowest, of) = quantile(1.0);
    println!(
        "{all} signals, {interrupted} to a command under way: it ended after {:?} (median), {:?} (9 of 10), at most \
         {slowest:?} ({of})",
        quantile(0.5).0,
        quantile(0.9).0
    );
    // Otherwise the moments are chosen badly and the test shows little.
    assert!(4 * interrupted >= all, "only {interrupted} of {all} signals hit a command");
}

/// Waits until a file is there.
fn wait_for(path: &Path) {
    let begin = Instant::now();
    while !path.exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "no {}", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_batch_that_takes_long_is_not_waited_for() {
    let scratch = Scratch::under(&place());
    let patient = "\n[[requirement]]\nname = \"attacked\"\nloss = \"cross-entropy\"\nat_most = 0.9\n\
                   adversary = { epsilon = 0.1, steps = 10000, restarts = 20 }\n";
    scratch.write("problem.toml", &(scratch.read("problem.toml") + patient));
    let mut command = scratch.command(&["fit", "problem.toml", "-o", "run"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&scratch.path("run/problem.toml"));
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "-TERM");
    let (status, err, _) = end(child, "a long batch");
    assert_eq!(status.code(), Some(130), "{err}");
    assert!(err.contains("`feasible resume run`"), "{err}");
    assert!(!scratch.path("run/model.safetensors").exists());
}

#[test]
fn a_terminal_that_takes_no_more_text_does_not_keep_it_alive() {
    let scratch = Scratch::under(&place());
    let fit = [
        "fit",
        "problem.toml",
        "-o",
        "run",
        "-v",
        "--no-baseline",
        "--set",
        "training.epochs=1000000",
    ];
    let mut command = scratch.command(&fit);
    // Nobody reads what it says, so that it waits for someone who does, and there is little room.
    let (unread, mut pipe) = std::io::pipe().unwrap();
    pipe.write_all(&[b'.'; 60_000]).unwrap();
    let child = command.stdout(Stdio::null()).stderr(pipe).spawn().unwrap();
    drop(command);
    let metrics = scratch.path("run/metrics.jsonl");
    wait_for(&metrics);
    let length = || std::fs::metadata(&metrics).unwrap().len();
    let mut before = 0;
    while before != length() || before == 0 {
        before = length();
        std::thread::sleep(Duration::from_millis(200));
    }
    signal(&child, "-TERM");
    let (status, _, _) = end(child, "a full pipe");
    assert_eq!(status.code(), Some(130));
    drop(unread);
    // The run is sound all the same.
    let finished = scratch.run(&["resume", "run", "--finish", "-q"]);
    assert!(matches!(finished.code, Some(0 | 1)), "{}", finished.err);
}

#[test]
fn waiting_for_standard_input_ends_with_a_signal() {
    let scratch = Scratch::under(&place());
    scratch.expect(0, &["fit", "problem.toml", "-o", "run", "-q", "--no-report"]);
    for command in ["predict", "audit", "certify"] {
        let mut command = scratch.command(&[command, "run", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let open = child.stdin.take();
        std::thread::sleep(Duration::from_millis(300));
        signal(&child, "-TERM");
        let (status, err, _) = end(child, "standard input");
        assert_eq!(status.code(), Some(130), "{err}");
        assert!(err.contains("interrupted") && !err.contains("resume"), "{err}");
        drop(open);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_hangup_that_nohup_ignores_does_not_end_it() {
    let scratch = Scratch::under(&place());
    let mut command = Command::new("nohup");
    let fit = ["fit", "problem.toml", "-o", "run", "-q", "--set", "training.epochs=1000000"];
    let inner = scratch.command(&fit);
    command.arg(inner.get_program()).args(inner.get_args()).current_dir(scratch.path(""));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&scratch.path("run/metrics.jsonl"));
    signal(&child, "-HUP");
    std::thread::sleep(Duration::from_millis(1200));
    assert!(child.try_wait().unwrap().is_none(), "the hangup ended it");
    signal(&child, "-TERM");
    let (status, err, _) = end(child, "nohup");
    assert_eq!(status.code(), Some(130), "{err}");
    assert!(err.contains("feasible resume run"), "{err}");
}

/// The program with files of at most so many bytes; `None`, with a word, where that cannot be asked for.
#[cfg(target_os = "linux")]
fn limited(scratch: &Scratch, bytes: u64, arguments: &[&str]) -> Option<support::Ran> {
    let inner = scratch.command(arguments);
    let mut command = Command::new("prlimit");
    command.arg(format!("--fsize={bytes}")).arg(inner.get_program()).args(inner.get_args());
    match command.current_dir(scratch.path("")).output() {
        Ok(output) => Some(support::Ran::of(output)),
        Err(_) => {
            println!("not tried: prlimit is not installed");
            None
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn at_the_limit_of_file_sizes_a_run_says_which_file_and_can_be_resumed() {
    let scratch = Scratch::under(&place());
    scratch.expect(0, &["fit", "problem.toml", "-o", "whole", "-q"]);
    let files = support::files_of_run(&scratch.path("whole"));
    // A baseline that cannot be written is told, and the run is complete without it.
    let own = files.iter().filter(|(name, _)| !name.starts_with("baseline"));
    let longest = own.map(|(_, bytes)| bytes.len() as u64).max().unwrap();
    let mut moments = number("FEASIBLE_KILL_SEED", 1);
    let times = (2 * depth()).max(6);
    let mut failed = 0;
    for at in 0..times {
        let bytes = if at == 0 { 0 } else { random(&mut moments) % longest };
        let fit = ["fit", "problem.toml", "-o", "run", "-q", "--force"];
        let Some(ran) = limited(&scratch, bytes, &fit) else { return };
        assert_eq!(ran.code, Some(3), "{bytes} bytes: {}", ran.err);
        assert!(ran.err.contains("ile too large") && ran.err.contains("run/"), "{}", ran.err);
        failed += 1;
        match scratch.path("run/problem.toml").exists() {
            true => scratch.expect(0, &["resume", "run", "-q"]),
            false => scratch.expect(0, &fit),
        };
        assert_same_run(&scratch.path("run"), &scratch.path("whole"), &format!("{bytes} bytes"));
    }
    println!("{failed} limits of file sizes");
}

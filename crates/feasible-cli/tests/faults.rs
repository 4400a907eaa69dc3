//! The disk fails: at any operation of any command, when it is full, when it cannot be written to, when two programs
//! want the same directory. The message names the file, nothing that was good is lost, and the next call ends
//! in the same bytes as if nothing had happened.
//!
//! `FEASIBLE_DEPTH=2 cargo test -p feasible-cli --test endings faults:: -- --nocapture` has every operation of every command fail
//! in turn, and prints how many there are; by default a few of each kind do.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may stop, and says what it did not try"
)]

use crate::depth::depth;
use crate::support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{Ran, SHORT, Scratch, assert_same_run, copy_tree, numbered, random, tree};

/// Where nothing has to wait for a disk that others are using.
fn place() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.into() } else { std::env::temp_dir() }
}

const OPERATIONS: [&str; 10] =
    ["read", "create", "write", "sync", "rename", "append", "truncate", "lock", "list", "remove"];

/// What is done after a command that failed, so that all is as if it had not.
enum Cure {
    /// The same command.
    Again,
    /// `resume` where the run has begun, and otherwise the same command with `--force`.
    Resume(&'static str),
    /// These, by whether the run of the second name is complete.
    Finish(&'static str),
}

fn commands() -> Vec<(Vec<&'static str>, Cure)> {
    let words = |text: &'static str| text.split(' ').collect::<Vec<_>>();
    vec![
        (words("fit short.toml -o new -q"), Cure::Resume("new")),
        (words("fit short.toml -o done -q --force"), Cure::Resume("done")),
        (words("fit short.toml -o new -q --seeds 2 --threads 1"), Cure::Resume("new")),
        (words("fit short.toml -o seeds -q --seeds 2 --threads 1 --force"), Cure::Resume("seeds")),
        (words("fit ladder.toml -o new -q"), Cure::Resume("new")),
        (words("resume half -q"), Cure::Again),
        (words("resume half -q --finish"), Cure::Finish("half")),
        (words("resume seeds -q"), Cure::Again),
        (
            words("sweep short.toml --requirement gender --limits 0.1,0.5 --threads 1 -o sweep -q"),
            Cure::Again,
        ),
        (words("tune short.toml --trials 3 --threads 1 -o tuned -q"), Cure::Again),
        (words("report done -q --figures figures"), Cure::Again),
        (words("report done -q --check-sensitivity --threads 1"), Cure::Again),
        (words("report done seeds -q -o both.html"), Cure::Again),
        (words("certify done new.csv -q"), Cure::Again),
        (words("monitor done new.csv newer.csv -q"), Cure::Again),
        (words("audit done new.csv -q"), Cure::Again),
        (words("predict done new.csv -q -o out.csv"), Cure::Again),
        (words("export done -q"), Cure::Again),
        (words("export done/model.safetensors -q -o out.onnx"), Cure::Again),
        (words("attack done new.csv -q --epsilons 0.1 --steps 2 --restarts 1"), Cure::Again),
        (words("check short.toml -q"), Cure::Again),
        (words("init new.csv --target income -q --force -o init.toml"), Cure::Again),
        (words("data export compas out -q --force"), Cure::Again),
        (
            words("reproduce compas --seeds 1 --threads 1 --set training.epochs=1 -o paper -q"),
            Cure::Again,
        ),
    ]
}

/// Tables, problems, and runs at every stage, under `base`; made under `work`, whose path is in them.
fn prepare(scratch: &Scratch) {
    let base = |name: &str| format!("work/{name}");
    std::fs::create_dir(scratch.path("work")).unwrap();
    scratch.write(&base("short.toml"), SHORT);
    let ladder = "certify = { confidence = 0.9, ladder = [1.0, 0.0] }\n";
    scratch.write(&base("ladder.toml"), &format!("{ladder}{SHORT}"));
    scratch.write(&base("numbered.csv"), &numbered(200, 0));
    scratch.write(&base("new.csv"), &numbered(300, 1000));
    scratch.write(&base("newer.csv"), &numbered(300, 2000));
    let fit =
        |rest: &[&str]| within(scratch, "work", &[&["fit", "short.toml", "-q"], rest].concat());
    assert_eq!(fit(&["-o", "done"]).code, Some(0));
    assert_eq!(fit(&["-o", "seeds", "--seeds", "2", "--threads", "1"]).code, Some(0));
    // Ended by a full disk in its third epoch.
    let mut half = command(scratch, "work", &["fit", "short.toml", "-q", "-o", "half"]);
    let ran = Ran::of(half.env("FEASIBLE_FAULT", "append:5").output().unwrap());
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(scratch.path("work/half/checkpoint.bin").exists());
    std::fs::rename(scratch.path("work"), scratch.path("base")).unwrap();
}

fn command(scratch: &Scratch, directory: &str, arguments: &[&str]) -> Command {
    let mut command = scratch.command(arguments);
    command.current_dir(scratch.path(directory)).stdin(Stdio::null());
    command
}

fn within(scratch: &Scratch, directory: &str, arguments: &[&str]) -> Ran {
    Ran::of(command(scratch, directory, arguments).output().unwrap())
}

/// What a command must leave behind.
struct Expected {
    code: Option<i32>,
    files: Vec<(String, Vec<u8>)>,
    /// Pages too.
    names: Vec<PathBuf>,
}

/// The names of all files under a directory.
fn names(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { names(&path) } else { vec![path] }).collect()
}

fn fresh(scratch: &Scratch) {
    let _ = std::fs::remove_dir_all(scratch.path("work"));
    copy_tree(&scratch.path("base"), &scratch.path("work"));
}

/// The cure for a command that failed.
fn cure(scratch: &Scratch, arguments: &[&str], cure: &Cure) -> Ran {
    let done = |run: &str| scratch.path("work").join(run).join("summary.json").exists();
    match cure {
        Cure::Again => within(scratch, "work", arguments),
        Cure::Finish(run) if done(run) => within(scratch, "work", &["resume", run, "-q"]),
        Cure::Finish(_) => within(scratch, "work", arguments),
        Cure::Resume(run) => {
            let begun = scratch.path("work").join(run).join("problem.toml").exists();
            match begun {
                true => within(scratch, "work", &["resume", run, "-q"]),
                false if arguments.contains(&"--force") => within(scratch, "work", arguments),
                false => within(scratch, "work", &[arguments, &["--force"][..]].concat()),
            }
        }
    }
}

/// What differs, by name.
fn difference(found: &[(String, Vec<u8>)], expected: &[(String, Vec<u8>)]) -> Vec<String> {
    let (found, expected): (BTreeMap<_, _>, BTreeMap<_, _>) =
        (found.iter().cloned().collect(), expected.iter().cloned().collect());
    let names = found.keys().chain(expected.keys());
    let mut names: Vec<String> =
        names.filter(|name| found.get(*name) != expected.get(*name)).cloned().collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn whichever_operation_of_a_command_fails_nothing_is_lost() {
    if !cfg!(debug_assertions) {
        println!("not tried: faults are only injected into builds with debug assertions");
        return;
    }
    let scratch = Scratch::under(&place());
    prepare(&scratch);
    let all = depth() > 1;
    let mut moments = 1;
    let mut tried: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (arguments, how) in commands() {
        fresh(&scratch);
        let ran = within(&scratch, "work", &arguments);
        assert!(matches!(ran.code, Some(0 | 1)), "{arguments:?}: {}", ran.err);
        let work = scratch.path("work");
        let expected = Expected { code: ran.code, files: tree(&work), names: names(&work) };
        for operation in OPERATIONS {
            let some = 1 + random(&mut moments) % 5;
            if !all && !random(&mut moments).is_multiple_of(6) {
                continue;
            }
            let calls = if all { 1..=100_000 } else { some..=some };
            for call in calls {
                fresh(&scratch);
                let mut command = command(&scratch, "work", &arguments);
                command.env("FEASIBLE_FAULT", format!("{operation}:{call}"));
                let ran = Ran::of(command.output().unwrap());
                let context = format!("{arguments:?}, {operation} {call}: {}", ran.err);
                if !ran.err.contains("FEASIBLE_FAULT has") {
                    assert_eq!(ran.code, expected.code, "{context}");
                    break;
                }
                let counts = tried.entry(operation).or_default();
                counts.0 += 1;
                match ran.code {
                    Some(3) => {
                        let error = ran.err.lines().find(|line| line.starts_with("error: "));
                        assert!(error.is_some_and(|line| line.contains(operation)), "{context}");
                    }
                    // A leftover that stays, but nothing is missing.
                    code => {
                        counts.1 += 1;
                        assert_eq!(code, expected.code, "{context}");
                        let found = tree(&work);
                        let there = |file: &(String, Vec<u8>)| found.contains(file);
                        let lacking = expected.files.iter().find(|file| !there(file));
                        assert!(lacking.is_none(), "{context}: no {:?}", lacking.map(|f| &f.0));
                        let absent = expected.names.iter().find(|name| !name.exists());
                        assert_eq!(absent, None, "{context}");
                    }
                }
                let cured = cure(&scratch, &arguments, &how);
                assert_eq!(cured.code, expected.code, "{context}\nthen: {}", cured.err);
                let differs = difference(&tree(&scratch.path("work")), &expected.files);
                assert!(differs.is_empty(), "{context}\ndiffers: {differs:?}");
            }
        }
    }
    let (fired, harmless) =
        tried.values().fold((0, 0), |(a, b), (fired, harmless)| (a + fired, b + harmless));
    println!("{fired} faults in {} commands, {harmless} without consequence:", commands().len());
    tried.iter().for_each(|(operation, (fired, _))| println!("  {operation}: {fired}"));
    let least = if all { 1000 } else { 10 };
    assert!(fired >= least, "only {fired} faults were hit");
}

#[test]
fn whichever_file_of_a_fit_or_a_report_cannot_be_written_the_exit_status_is_3() {
    if !cfg!(debug_assertions) {
        return;
    }
    let scratch = Scratch::under(&place());
    scratch.write("short.toml", &SHORT.replace("epochs = 3", "epochs = 1"));
    scratch.write("numbered.csv", &numbered(200, 0));
    scratch.expect(0, &["fit", "short.toml", "-q", "-o", "done"]);
    let mut named = String::new();
    for (command, files) in [
        (
            "fit short.toml -q --force --baseline -o run",
            &["baseline.json", "report.html", "model-card.md"][..],
        ),
        ("report done -q --figures figures", &["report.html", "model-card.md", "figures"]),
    ] {
        for call in 1.. {
            let mut failing = scratch.command(&command.split(' ').collect::<Vec<_>>());
            let failing = failing.env("FEASIBLE_FAULT", format!("write:{call}"));
            let ran = Ran::of(failing.output().unwrap());
            if !ran.err.contains("FEASIBLE_FAULT has") {
                assert_eq!(ran.code, Some(0), "{command}: {}", ran.err);
                break;
            }
            assert_eq!(ran.code, Some(3), "{command}, write {call}: {}", ran.err);
            named += &ran.err;
            named += &ran.out;
        }
        for file in files {
            assert!(named.contains(file), "{command}: nothing is said of {file}:\n{named}");
        }
    }
}

fn wait_for(what: &str, mut so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "waited for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(id: u32, name: &str) {
    assert!(Command::new("kill").args([name, &id.to_string()]).status().unwrap().success());
}

/// Stops all threads of a process, if it has not ended. The signal only asks: a thread may be in the middle of a write, and a
/// directory read before every thread has stopped changes by itself.
fn stop(id: u32) -> bool {
    signal(id, "-STOP");
    if !Path::new("/proc/self/task").exists() {
        std::thread::sleep(Duration::from_millis(500));
        return true;
    }
    let states = || -> Option<Vec<String>> {
        let tasks = std::fs::read_dir(format!("/proc/{id}/task")).ok()?;
        let status = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("stat"));
        // The state follows the name, which is in parentheses and may hold spaces.
        let state = |stat: String| stat.rsplit(") ").next().unwrap_or("").chars().take(1).collect();
        tasks.map(|task| status(task.ok()?).ok().map(state)).collect()
    };
    let mut ended = false;
    wait_for("the first program to stop", || match states() {
        Some(states) if states.iter().any(|state| state == "Z" || state == "X") => {
            ended = true;
            true
        }
        Some(states) => !states.is_empty() && states.iter().all(|state| state == "T"),
        None => false,
    });
    !ended
}

#[test]
fn of_two_programs_on_one_directory_the_second_is_refused_and_takes_nothing_away() {
    let scratch = Scratch::under(&place());
    let seeds = [
        "--seeds",
        "2",
        "--threads",
        "1",
        "-q",
        "--set",
        "training.epochs=1000",
        "--set",
        "training.patience=0",
    ];
    let fit = |name: &'static str| [&["fit", "problem.toml", "-o", name], &seeds[..]].concat();
    scratch.expect(0, &fit("whole"));
    let mut first = scratch.command(&fit("several"));
    let mut first = first.stdout(Stdio::null()).spawn().unwrap();
    wait_for("the first seed", || scratch.path("several/seed-0/summary.json").exists());
    let running = stop(first.id()) && first.try_wait().unwrap().is_none();
    let before = tree(&scratch.path("several"));
    let sweep = ["sweep", "problem.toml", "--requirement", "gender", "--limits", "0.5"];
    for second in [
        [&fit("several")[..], &["--force"]].concat(),
        vec!["fit", "problem.toml", "-o", "several", "--force"],
        vec!["fit", "problem.toml", "-o", "several"],
        vec!["resume", "several"],
        vec!["resume", "several", "--finish"],
        [&sweep[..], &["-o", "several", "--force"]].concat(),
    ] {
        let error = scratch.refuse(&second);
        assert!(error.contains("in use by another process"), "{second:?}: {error}");
        assert!(tree(&scratch.path("several")) == before, "{second:?}");
    }
    signal(first.id(), "-CONT");
    // Nothing inside is in use, but the directory is.
    let sweep = [&sweep[..], &["-q", "-o", "sweep"]].concat();
    scratch.expect(0, &sweep);
    let tune = ["tune", "problem.toml", "--trials", "2", "-q", "-o", "tuned"];
    scratch.expect(0, &tune);
    for (name, second) in [
        ("tuned", tune.to_vec()),
        ("tuned", [&tune[..], &["--seed", "3", "--force"]].concat()),
        ("tuned", vec!["resume", "tuned"]),
        ("whole", [&fit("whole")[..], &["--force"]].concat()),
        ("sweep", [&sweep[..], &["--epochs", "3", "--force"]].concat()),
        ("sweep", sweep.clone()),
    ] {
        let held = feasible_run::Directory::open(&scratch.path(name)).unwrap();
        let before = tree(&scratch.path(name));
        let error = scratch.refuse(&second);
        assert!(error.contains("in use by another process"), "{second:?}: {error}");
        assert!(tree(&scratch.path(name)) == before, "{second:?}");
        drop(held);
    }
    assert!(running, "the first program ended too early to show anything");
    assert_eq!(first.wait().unwrap().code(), Some(0));
    assert_same_run(&scratch.path("several"), &scratch.path("whole"), "two programs");
}

#[test]
fn programs_that_write_the_same_page_at_the_same_time_all_succeed() {
    let scratch = Scratch::under(&place());
    scratch.expect(0, &["fit", "problem.toml", "-o", "run", "-q"]);
    let start = |arguments: &[&str]| {
        let mut command = scratch.command(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for _ in 0..3 {
        let mut programs: Vec<_> = (0..3).map(|_| start(&["report", "run", "-q"])).collect();
        programs.extend((0..2).map(|_| start(&["predict", "run", "people.csv", "-o", "out.csv"])));
        // Sweeps up what was left over, and only that.
        let ran = scratch.run(&["resume", "run", "-q"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        for program in programs {
            let ran = Ran::of(program.wait_with_output().unwrap());
            assert_eq!(ran.code, Some(0), "{}", ran.err);
        }
    }
    for directory in ["", "run"] {
        let names = std::fs::read_dir(scratch.path(directory)).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert!(!names.iter().any(|n| n.to_string_lossy().starts_with(".scratch")), "{names:?}");
    }
}

#[test]
fn files_from_the_future_make_no_difference() {
    let scratch = Scratch::under(&place());
    prepare(&scratch);
    let resume = ["resume", "half", "-q"];
    fresh(&scratch);
    assert_eq!(within(&scratch, "work", &resume).code, Some(0));
    let expected = tree(&scratch.path("work"));
    fresh(&scratch);
    // As after a clock that jumped back by some years: everything there is was written later than now.
    let later = std::time::SystemTime::now() + Duration::from_secs(5 * 365 * 86_400);
    for directory in ["work", "work/half", "work/done"] {
        for entry in std::fs::read_dir(scratch.path(directory)).unwrap() {
            let file = std::fs::File::open(entry.unwrap().path()).unwrap();
            file.set_modified(later).unwrap();
        }
    }
    assert_eq!(within(&scratch, "work", &resume).code, Some(0));
    assert!(difference(&tree(&scratch.path("work")), &expected).is_empty());
    let ran = within(&scratch, "work", &["report", "done", "-q"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

/// Runs a script as its own root in file systems of its own, `$1` being the program; `None`, with a word, where
/// the system does not allow it.
fn apart(scratch: &Scratch, script: &str) -> Option<Ran> {
    let mut probe = Command::new("unshare");
    let probe = probe.args(["-rm", "sh", "-c", "mount -t tmpfs none /mnt"]).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        println!("not tried: no file systems can be mounted here");
        return None;
    }
    let program = scratch.command(&[]).get_program().to_owned();
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", script, "sh"]).arg(program).current_dir(scratch.path(""));
    Some(Ran::of(command.output().unwrap()))
}

#[test]
fn a_full_file_system_loses_nothing() {
    let scratch = Scratch::under(&place());
    std::fs::create_dir(scratch.path("base")).unwrap();
    scratch.write("short.toml", SHORT);
    scratch.write("numbered.csv", &numbered(200, 0));
    scratch.expect(0, &["fit", "short.toml", "-o", "whole", "-q"]);
    std::fs::create_dir(scratch.path("disk")).unwrap();
    // Pages of a file system in memory are 4 kB: from none that are free to more than the run takes.
    let mut failed = 0;
    for free in [0, 1, 2, 3, 5, 7, 9, 11, 13, 16, 20, 26, 32, 48] {
        let script = format!(
            "mount -t tmpfs -o size=1m none disk && head -c {} /dev/zero > disk/filler || exit 99\n\
             \"$1\" fit short.toml -o disk/run -q; code=$?\n\
             rm disk/filler\n\
             case $code in 3) if [ -e disk/run/problem.toml ]; then \"$1\" resume disk/run -q || exit 98\n\
             else \"$1\" fit short.toml -o disk/run -q --force || exit 97; fi;;\n\
             0) [ -e disk/run/model-card.md ] || {{ echo no page; \"$1\" report disk/run -q || exit 96; }}\n\
             grep -q '\"cost\"' disk/run/summary.json || \"$1\" resume disk/run -q || exit 95;; esac\n\
             cp -r disk/run out-{free} && exit $code",
            (1 << 20) - free * 4096
        );
        let Some(ran) = apart(&scratch, &script) else { return };
        match ran.code {
            Some(3) => {
                failed += 1;
                assert!(ran.err.contains("o space left on device"), "{}", ran.err);
            }
            code => {
                assert_eq!(code, Some(0), "{free} pages: {}", ran.err);
                // A page that could not be written takes nothing away from the training, but is not passed over.
                let told = ran.err.contains("the report was not written");
                assert_eq!(ran.out.contains("no page\n"), told, "{free} pages: {}", ran.err);
            }
        }
        let found = scratch.path(&format!("out-{free}"));
        assert_same_run(&found, &scratch.path("whole"), &format!("{free} pages"));
    }
    println!("14 sizes of a full file system, {failed} of them too small");
    assert!(failed > 5, "{failed}");
}

#[test]
fn a_run_on_a_read_only_file_system_can_be_used_and_what_would_write_says_so() {
    let scratch = Scratch::under(&place());
    scratch.write("short.toml", SHORT);
    scratch.write("numbered.csv", &numbered(200, 0));
    scratch.write("new.csv", &numbered(300, 1000));
    scratch.expect(0, &["fit", "short.toml", "-o", "run", "-q"]);
    std::fs::create_dir(scratch.path("disk")).unwrap();
    let before = tree(&scratch.path("run"));
    let check = |arguments: &str, code: i32, words: &[&str]| {
        let script = format!(
            "mount --bind run disk && mount -o remount,ro,bind disk || exit 99\n\"$1\" {arguments}"
        );
        let Some(ran) = apart(&scratch, &script) else { return };
        assert_eq!(ran.code, Some(code), "{arguments}: {}", ran.err);
        words.iter().for_each(|word| assert!(ran.err.contains(word), "{arguments}: {}", ran.err));
        assert!(tree(&scratch.path("run")) == before, "{arguments}");
    };
    check("predict disk new.csv -q", 0, &[]);
    check("audit disk new.csv -q", 0, &[]);
    check("certify disk new.csv -q", 0, &[]);
    check("report disk -o page.html -q", 0, &[]);
    check("attack disk new.csv --epsilons 0.1 --steps 2 -o attacked -q", 0, &[]);
    for writes in [
        "report disk -q",
        "report disk --check-sensitivity -q",
        "attack disk new.csv --epsilons 0.1 --steps 2 -q",
        "resume disk -q",
        "monitor disk new.csv -q",
        "fit short.toml -o disk --force -q",
        "fit short.toml -o disk/inner -q",
    ] {
        check(writes, 2, &["error: ", "disk", "Read-only file system"]);
    }
}

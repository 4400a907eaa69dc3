//! The real program in a scratch directory.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A scratch directory with `people.csv` and `problem.toml` in it.
pub struct Scratch {
    directory: TempDir,
}

/// What the program did.
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

pub const PROBLEM: &str = r#"title = "People"

[data]
file = "people.csv"
target = "income"
positive = "high"
split = { test = 0.25, seed = 0 }

[model]
hidden = [8]

[[requirement]]
name = "gender"
loss = "kl"
kind = "pointwise"
at_most = 0.5
counterfactual = { swap = { gender = ["Male", "Female"] } }

[training]
epochs = 20
checkpoint = { epochs = 1 }
"#;

/// A requirement that cannot be met: the labels are noisy.
pub const IMPOSSIBLE: &str = r#"
[[requirement]]
name = "perfect"
rate = "accuracy"
at_least = 1.0
"#;

impl Scratch {
    pub fn new() -> Self {
        Self::under(&std::env::temp_dir())
    }

    /// In a directory of this one.
    pub fn under(directory: &Path) -> Self {
        Self::filled(tempfile::tempdir_in(directory).unwrap())
    }

    /// In a directory of this name, which is made.
    pub fn at(path: &Path) -> Self {
        let (name, parent) = (path.file_name().unwrap(), path.parent().unwrap());
        Self::filled(
            tempfile::Builder::new().prefix(name).rand_bytes(0).tempdir_in(parent).unwrap(),
        )
    }

    fn filled(directory: TempDir) -> Self {
        let scratch = Self { directory };
        scratch.write("people.csv", &people(400));
        scratch.write("problem.toml", PROBLEM);
        scratch
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The program with the scratch directory as the current one and a clean environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("feasible"));
        command.current_dir(self.directory.path()).args(arguments).env("COLUMNS", "1000");
        for name in ["FEASIBLE_THREADS", "FEASIBLE_SEED", "FEASIBLE_DATA", "FEASIBLE_PANIC"] {
            command.env_remove(name);
        }
        command.env_remove("FEASIBLE_MEMORY");
        command.env_remove("FEASIBLE_SIMD");
        command.env_remove("FEASIBLE_FAULT");
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "RUST_BACKTRACE"] {
            command.env_remove(name);
        }
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().unwrap())
    }

    /// Runs it and insists on an exit code.
    pub fn expect(&self, code: i32, arguments: &[&str]) -> Ran {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}\n{}\n{}", ran.out, ran.err);
        ran
    }

    /// Runs it, insists on 2, nothing on standard output and one error, or with `--json` the other way round; returns
    /// the error.
    pub fn refuse(&self, arguments: &[&str]) -> String {
        let ran = self.expect(2, arguments);
        if arguments.contains(&"--json") {
            assert_eq!(ran.err, "", "{arguments:?}");
            return format!("error: {}", ran.json()["error"]["message"].as_str().unwrap());
        }
        assert_eq!(ran.out, "", "{arguments:?}");
        assert!(ran.err.starts_with("error: "), "{}", ran.err);
        ran.err
    }
}

impl Ran {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}", self.out))
    }
}

/// The next of a stream of numbers (Knuth's MMIX generator, its high bits).
pub fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// People whose income goes with age, gender and luck.
pub fn people(rows: usize) -> String {
    let mut state = 7;
    let mut text = String::from("age,gender,city,income\n");
    for _ in 0..rows {
        let age = 18 + random(&mut state) % 60;
        let gender = ["Male", "Female"][(random(&mut state) % 2) as usize];
        let city = ["Lyon", "Turin", "Bergen"][(random(&mut state) % 3) as usize];
        let score = age + if gender == "Male" { 10 } else { 0 } + random(&mut state) % 40;
        let income = if score > 72 { "high" } else { "low" };
        text += &format!("{age},{gender},{city},{income}\n");
    }
    text
}

/// People with a number of their own, from the `first` one on: rows that no other table has.
pub fn numbered(rows: usize, first: usize) -> String {
    let all = people(first + rows);
    let mut lines = all.lines();
    let mut text = format!("id,{}\n", lines.next().unwrap());
    for (id, line) in lines.enumerate().skip(first) {
        text += &format!("p{id},{line}\n");
    }
    text
}

/// A problem on [`numbered`] people that is trained in no time.
pub const SHORT: &str = r#"[data]
file = "numbered.csv"
target = "income"
positive = "high"
drop = ["id"]
split = { test = 0.25, seed = 0 }

[model]
hidden = [4]

[[requirement]]
name = "gender"
loss = "kl"
kind = "pointwise"
at_most = 0.5
all_but = 0.1
counterfactual = { swap = { gender = ["Male", "Female"] } }

[training]
epochs = 3
checkpoint = { epochs = 1 }
"#;

/// Every file under a directory with its bytes, by name; but locks, clock times and pages that show them.
pub fn tree(path: &Path) -> Vec<(String, Vec<u8>)> {
    if path.is_dir() { files_of_run(path) } else { Vec::new() }
}

/// Copies a directory with all that is in it, locks aside.
pub fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let inner = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &inner);
        } else if entry.file_name() != ".lock" {
            std::fs::copy(entry.path(), inner).unwrap();
        }
    }
}

/// Every file of a run but the clock times and the page that shows them, by name; subdirectories
/// too.
pub fn files_of_run(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            let inner = files_of_run(&entry.path());
            files.extend(inner.into_iter().map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else if ![".lock", "timings.jsonl", "report.html"].contains(&name.as_str()) {
            files.push((name, std::fs::read(entry.path()).unwrap()));
        }
    }
    files.sort();
    files
}

/// Insists that two runs are the same bytes.
pub fn assert_same_run(found: &Path, expected: &Path, context: &str) {
    let (found, expected) = (files_of_run(found), files_of_run(expected));
    let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
        files.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(&found), names(&expected), "{context}");
    for ((name, found), (_, expected)) in found.iter().zip(&expected) {
        assert!(found == expected, "{context}: {name} differs");
    }
    for needed in ["model.safetensors", "multipliers.csv", "metrics.jsonl", "summary.json"] {
        assert!(found.iter().any(|(name, _)| name.ends_with(needed)), "{context}: no {needed}");
    }
}

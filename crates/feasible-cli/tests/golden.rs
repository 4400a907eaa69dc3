//! Golden bits: the SHA-256 of every file of small runs of each kind is the one in `golden.txt`. Whoever changes what a run
//! computes or stores sees which files change, and says why in the commit that writes them again (`UPDATE_GOLDEN=1`).
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use std::fmt::Write;

use crate::support;

use sha2::{Digest, Sha256};
use support::{IMPOSSIBLE, PROBLEM, Ran, SHORT, Scratch, files_of_run, numbered};

/// Several numbers at once, by their squared errors.
const VECTOR: &str = r#"
[data]
file = "numbers.csv"
target = ["u", "v"]
split = { test = 0.25, seed = 0 }

[model]
hidden = [4]

[objective]
loss = "squared"

[[requirement]]
name = "low"
loss = "squared"
at_most = 2.0
where = "a < 0.5"

[training]
epochs = 5
"#;

/// A convolutional network and its adversary.
const IMAGES: &str = r#"
[data]
source = "fashion-mnist-sample"
per_class = { train = 4, validation = 1, test = 2 }

[model]
kind = "cnn"

[[requirement]]
name = "robust"
loss = "cross-entropy"
at_most = 1.0
adversary = { epsilon = 0.1, steps = 2 }

[training]
epochs = 2
batch_size = 20

[evaluation]
attack = { steps = 2, restarts = 1 }
"#;

/// A fifth of the people, by whom the rows of a ladder are certified.
const LADDER: &str = r#"certify = { reserve = 0.4, ladder = [1.5, 0.0] }

[data]
file = "people.csv"
target = "income"
positive = "high"
split = { test = 0.2, seed = 0 }

[model]
kind = "linear"

[[requirement]]
name = "old"
rate = "error"
where = "age > 50"
at_most = 0.45

[training]
epochs = 5
"#;

/// Trials of a search.
const SPACE: &str = r#"
[tune]
trials = 3
"training.rate" = { from = 1e-3, to = 1e-1, log = true }
"#;

/// The runs: a name, which is a directory, and the commands that fill it.
const RUNS: [(&str, &[&str]); 18] = [
    ("adult", &["fit adult -o adult --set training.epochs=1"]),
    ("compas", &["fit compas -o compas --set training.epochs=2"]),
    ("network", &["fit problem.toml -o network"]),
    ("default", &["fit default.toml -o default --set training.epochs=10"]),
    ("folds", &["fit free.toml -o folds --set training.epochs=10"]),
    ("vector", &["fit vector.toml -o vector"]),
    (
        "linear",
        &["fit short.toml -o linear --set model.hidden=[] --set training.learner=\"exact\""],
    ),
    ("kernel", &["fit kernel.toml -o kernel"]),
    ("images", &["fit images.toml -o images"]),
    ("seeds", &["fit problem.toml -o seeds --seeds 2 --set training.epochs=3"]),
    (
        "sweep",
        &["sweep short.toml --requirement gender --limits 0.1..1 --points 2 --seeds 1 -o sweep"],
    ),
    ("tune", &["tune tune.toml -o tune"]),
    ("ladder", &["fit ladder.toml -o ladder"]),
    ("shards", &["fit short.toml -o shards --set training.shards=true"]),
    ("disk", &["fit short.toml -o disk --set data.store=\"disk\" --cache cache"]),
    ("impossible", &["fit impossible.toml -o impossible"]),
    ("resumed", &["stopped fit problem.toml -o resumed", "resume resumed"]),
    (
        "judged",
        &[
            "fit short.toml -o judged",
            "certify judged new.csv --json > judged/certificate.json",
            "audit judged new.csv --json > judged/audit.json",
            "predict judged new.csv -o judged/predictions.csv",
            "export judged -o judged/model.onnx",
            "monitor judged new.csv --at 2026-01",
        ],
    ),
];

/// Run directories name their table by its whole path, which is the same on every machine: `/tmp/feasible-golden/…`. One test at a time.
fn prepared() -> std::io::Result<(Scratch, std::fs::File)> {
    let place = std::path::Path::new("/tmp/feasible-golden");
    std::fs::create_dir_all(place)?;
    let lock = std::fs::File::create(place.join("lock"))?;
    lock.lock()?;
    let _ = std::fs::remove_dir_all(place.join("scratch"));
    let scratch = Scratch::at(&place.join("scratch"));
    scratch.write("numbered.csv", &numbered(400, 0));
    scratch.write("new.csv", &numbered(500, 1000));
    scratch.write("short.toml", SHORT);
    scratch.write("default.toml", &SHORT.replace("[model]\nhidden = [4]\n", ""));
    let (data, _) = SHORT.split_once("[model]").unwrap();
    scratch.write("free.toml", data);
    scratch.write("vector.toml", VECTOR);
    scratch.write("images.toml", IMAGES);
    scratch.write("ladder.toml", LADDER);
    scratch.write("tune.toml", &format!("{SHORT}{SPACE}"));
    scratch.write("impossible.toml", &format!("{PROBLEM}{IMPOSSIBLE}"));
    let kernel = SHORT.replace("hidden = [4]", "kind = \"kernel\"");
    scratch.write("kernel.toml", &kernel.replace("epochs = 3\n", "learner = \"exact\"\n"));
    let mut numbers = String::from("a,b,u,v\n");
    let mut state = 5;
    for _ in 0..200 {
        let mut uniform = || support::random(&mut state) as f64 / f64::from(1u32 << 31);
        let (a, b) = (uniform(), uniform());
        writeln!(numbers, "{a},{b},{},{}", a - b, a * b + 0.1 * uniform()).unwrap();
    }
    scratch.write("numbers.csv", &numbers);
    Ok((scratch, lock))
}

/// Runs a line of [`RUNS`]: `> FILE` at its end is for the standard output, and `stopped` before it has the fourth line of
/// the metrics fail.
fn run(scratch: &Scratch, line: &str) {
    let (line, output) = match line.split_once(" > ") {
        Some((line, output)) => (line, Some(output)),
        None => (line, None),
    };
    let (line, expected) = match line.strip_prefix("stopped ") {
        Some(line) => (line, &[Some(3)][..]),
        None => (line, &[Some(0), Some(1)][..]),
    };
    let words: Vec<&str> = line.split(' ').collect();
    let mut command = scratch.command(&words);
    command.arg("-q").env("FEASIBLE_SIMD", "portable");
    if expected == [Some(3)] {
        command.env("FEASIBLE_FAULT", "append:7");
    }
    let ran = Ran::of(command.output().unwrap());
    assert!(expected.contains(&ran.code), "{line}: {:?}\n{}\n{}", ran.code, ran.out, ran.err);
    if let Some(output) = output {
        scratch.write(output, &ran.out);
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// How the mathematical library of this machine rounds: another library computes other last digits.
fn rounding_of_the_library() -> String {
    let points = (1..2000).map(|n| f64::from(n) * 0.0173);
    let values =
        points.flat_map(|x| [x.exp(), (-x).exp(), x.ln(), x.sin(), x.ln_1p(), x.powf(0.3)]);
    let bytes: Vec<u8> = values.flat_map(f64::to_le_bytes).collect();
    hexadecimal(&bytes)
}

#[test]
fn the_files_of_a_run_of_each_kind_are_the_bytes_they_were() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden.txt");
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    let library = format!("library {}", rounding_of_the_library());
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    if !update && golden.lines().next() != Some(&library) {
        println!(
            "not compared: the mathematical library rounds otherwise than where golden.txt was written"
        );
        return;
    }
    if !cfg!(debug_assertions) {
        println!(
            "not compared: a run is stopped by a fault, which only builds with debug assertions have"
        );
        return;
    }
    let (scratch, _lock) = match prepared() {
        Ok(prepared) => prepared,
        Err(error) => {
            return println!("not compared: /tmp/feasible-golden cannot be used: {error}");
        }
    };
    let mut found = format!("{library}\n");
    for (name, lines) in RUNS {
        lines.iter().for_each(|line| run(&scratch, line));
        for (file, bytes) in files_of_run(&scratch.path(name)) {
            writeln!(found, "{name}/{file} {}", hexadecimal(&bytes)).unwrap();
        }
    }
    if update {
        std::fs::write(path, found).unwrap();
        return;
    }
    let differs: Vec<&str> = found.lines().filter(|line| !golden.contains(line)).collect();
    let missing = golden.lines().filter(|line| {
        let (file, _) = line.split_once(' ').unwrap();
        !found.lines().any(|line| line.starts_with(&format!("{file} ")))
    });
    let missing: Vec<&str> = missing.collect();
    assert!(
        differs.is_empty() && missing.is_empty(),
        "other bytes: {differs:#?}\nno longer there: {missing:#?}\nIf that is meant, UPDATE_GOLDEN=1 writes golden.txt again; the commit says why."
    );
}

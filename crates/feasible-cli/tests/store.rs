//! Rows on disk: the same results as in memory, to the last bit; what is wrong with the disk is said.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use std::fmt::Write;

use support::{Ran, Scratch, random};

/// Long enough that most lists of a training are large: 33,000 rows of 4 bytes.
const ROWS: usize = 60_000;

const STORED: &str = r#"
[data]
file = "visits/*.csv"
target = "again"
positive = "yes"
missing = "impute"
split = { test = 0.2, seed = 0 }

[model]
hidden = [4]

[[requirement]]
name = "gender"
loss = "kl"
kind = "pointwise"
at_most = 0.5
counterfactual = { swap = { gender = ["Male", "Female"] } }

[[requirement]]
name = "Rome"
rate = "recall"
at_least = 0.2
where = "city = 'Rome'"

[report]
groups = ["city"]

[training]
epochs = 2
checkpoint = { epochs = 1 }
shuffle = "blocks"
"#;

/// Numbers, categories, dates and missing cells, in two files.
fn visits() -> Scratch {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("visits")).unwrap();
    let mut state = 3;
    for part in ["a", "b"] {
        let mut text = String::from("age,weight,gender,city,day,note,again\n");
        for row in 0..ROWS / 2 {
            let age = 18 + random(&mut state) % 60;
            let weight = match random(&mut state) % 20 {
                0 => String::new(),
                _ => format!(
                    "{}.{:07}",
                    40 + random(&mut state) % 60,
                    random(&mut state) % 9_999_999
                ),
            };
            let gender = ["Male", "Female"][(random(&mut state) % 2) as usize];
            let city = ["Rome", "Oslo", "", "Bern"][(random(&mut state) % 4) as usize];
            let day = format!(
                "2024-{:02}-{:02}",
                1 + random(&mut state) % 12,
                1 + random(&mut state) % 28
            );
            let note = if row == 7 { "\"two\nlines\"" } else { "none" };
            let again = if age + random(&mut state) % 40 > 60 { "yes" } else { "no" };
            writeln!(text, "{age},{weight},{gender},{city},{day},{note},{again}").unwrap();
        }
        scratch.write(&format!("visits/{part}.csv"), &text);
    }
    scratch.write("visits.toml", STORED);
    scratch
}

fn fit(scratch: &Scratch, name: &str, store: &str) -> Ran {
    let store = format!("data.store=\"{store}\"");
    let ran = scratch.run(&["fit", "visits.toml", "-o", name, "--cache", "cache", "--set", &store]);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
    ran
}

/// What a training comes to.
const RESULTS: [&str; 5] =
    ["model.safetensors", "metrics.jsonl", "multipliers.csv", "groups.json", "fingerprints.bin"];

fn assert_same_results(scratch: &Scratch, a: &str, b: &str) {
    for name in RESULTS {
        let read = |run: &str| std::fs::read(scratch.path(run).join(name)).unwrap();
        assert!(read(a) == read(b), "{name} of {a} and {b}");
    }
}

/// The file of the cache.
fn cached(scratch: &Scratch) -> std::path::PathBuf {
    let entries = std::fs::read_dir(scratch.path("cache")).unwrap();
    let files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

#[test]
fn a_training_on_disk_ends_in_the_bits_of_one_in_memory_and_its_table_is_known_again() {
    let scratch = visits();
    fit(&scratch, "memory", "memory");
    assert!(!scratch.path("cache").exists());
    let ran = fit(&scratch, "disk", "disk");
    assert!(!ran.err.contains("anew"), "{}", ran.err);
    assert_same_results(&scratch, "memory", "disk");
    let written = std::fs::metadata(cached(&scratch)).unwrap().modified().unwrap();
    // From the cache.
    let ran = fit(&scratch, "again", "disk");
    assert!(!ran.err.contains("anew"), "{}", ran.err);
    assert_same_results(&scratch, "memory", "again");
    assert_eq!(std::fs::metadata(cached(&scratch)).unwrap().modified().unwrap(), written);
    // Damaged, cut short, and of a table that has changed since.
    let bytes = std::fs::read(cached(&scratch)).unwrap();
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 1;
    for wrong in [&damaged[..], &bytes[..bytes.len() / 3]] {
        std::fs::write(cached(&scratch), wrong).unwrap();
        let ran = fit(&scratch, "rebuilt", "disk");
        assert!(ran.err.contains("was damaged (") && ran.err.contains("made anew"), "{}", ran.err);
        assert_same_results(&scratch, "memory", "rebuilt");
        assert!(std::fs::read(cached(&scratch)).unwrap() == bytes);
        std::fs::remove_dir_all(scratch.path("rebuilt")).unwrap();
    }
    let text = scratch.read("visits/a.csv").replacen("Male", "Female", 1);
    scratch.write("visits/a.csv", &text);
    let ran = fit(&scratch, "changed", "disk");
    assert!(ran.err.contains("was of another state of the table"), "{}", ran.err);
    fit(&scratch, "changed-memory", "memory");
    assert_same_results(&scratch, "changed-memory", "changed");
}

#[test]
fn a_full_disk_is_said_and_a_run_goes_on_where_it_was() {
    let scratch = visits();
    let arguments = "fit visits.toml -q -o run --cache cache --set data.store=\"disk\"";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let with_fault = |fault: &str| {
        Ran::of(scratch.command(&arguments).env("FEASIBLE_FAULT", fault).output().unwrap())
    };
    // While the table is written to the cache: the first file that is written.
    for fault in ["write:1", "sync:1", "rename:1"] {
        let ran = with_fault(fault);
        assert_eq!(ran.code, Some(3), "{fault}: {}", ran.err);
        assert!(ran.err.contains("cannot write") && ran.err.contains("visits"), "{}", ran.err);
        let left = std::fs::read_dir(scratch.path("cache")).unwrap().count();
        assert_eq!(left, 0, "{fault}");
    }
    // While lists are made.
    for fault in ["scratch:1", "scratch:9", "scratch:40"] {
        let ran = with_fault(fault);
        assert_eq!(ran.code, Some(3), "{fault}: {}", ran.err);
        assert!(
            ran.err.contains("the disk is full: ") && ran.err.contains("--cache"),
            "{}",
            ran.err
        );
    }
    // In the second epoch.
    let ran = with_fault("append:3");
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(scratch.path("run/checkpoint.bin").exists());
    let ran = scratch.run(&["resume", "run", "-q"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
    fit(&scratch, "whole", "disk");
    assert_same_results(&scratch, "whole", "run");
}

#[test]
fn killed_after_its_first_checkpoint_a_run_ends_in_the_bits_of_one_left_alone() {
    let scratch = visits();
    let longer = ["--set", "training.epochs=6", "--set", "data.store=\"disk\"", "-q"];
    let ran = scratch.run(&[&["fit", "visits.toml", "-o", "alone"][..], &longer].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
    let mut child = scratch
        .command(&[&["fit", "visits.toml", "-o", "killed"][..], &longer].concat())
        .spawn()
        .unwrap();
    while !scratch.path("killed/checkpoint.bin").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended without a checkpoint");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!scratch.path("killed/summary.json").exists(), "it was not killed midway");
    let ran = scratch.run(&["resume", "killed", "-q"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
    assert_same_results(&scratch, "alone", "killed");
}

#[test]
fn a_table_that_does_not_fit_is_kept_on_disk_and_check_says_so() {
    let scratch = visits();
    let text = STORED.replace("shuffle = \"blocks\"\n", "");
    scratch.write("visits.toml", &text);
    // The files have 3 MB.
    let mut long = String::new();
    let body = scratch.read("visits/b.csv");
    let (header, rows) = body.split_once('\n').unwrap();
    writeln!(long, "{header}").unwrap();
    (0..24).for_each(|_| long.push_str(rows));
    scratch.write("visits/b.csv", &long);
    let fits = scratch.expect(0, &["check", "visits.toml"]);
    assert!(!fits.out.contains("on disk"), "{}", fits.out);
    let ran = scratch.expect(0, &["check", "visits.toml", "--memory", "40MB"]);
    assert!(
        ran.out.contains("the rows are kept on disk, as in memory they would take about"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("  on disk, about    "), "{}", ran.out);
    let resolved = scratch.expect(0, &["check", "visits.toml", "--memory", "40MB", "--resolved"]);
    assert!(resolved.out.contains("store = \"disk\""), "{}", resolved.out);
    assert!(resolved.out.contains("shuffle = \"blocks\""), "{}", resolved.out);
}

#[test]
fn wrong_values_are_refused_with_what_is_allowed() {
    let scratch = Scratch::new();
    let refused = |set: &[&str]| {
        let sets = set.iter().flat_map(|set| ["--set", set]);
        let arguments: Vec<&str> = ["check", "problem.toml"].into_iter().chain(sets).collect();
        scratch.refuse(&arguments)
    };
    let error = refused(&["data.store=\"tape\""]);
    assert!(error.contains("unknown value 'tape'") && error.contains("memory, disk"), "{error}");
    let error = refused(&["training.shuffle=\"cards\""]);
    assert!(error.contains("unknown value 'cards'") && error.contains("rows, blocks"), "{error}");
    let error = refused(&["data.cache=\"here\""]);
    assert!(error.contains("data.cache") && error.contains("--cache DIR"), "{error}");
    let disk = ["--set", "data.store=\"disk\"", "--cache", "people.csv"];
    let error = scratch.refuse(&[&["check", "problem.toml"][..], &disk].concat());
    assert!(error.contains("people.csv"), "{error}");
    let error = refused(&["training.learner=\"exact\"", "training.shuffle=\"rows\""]);
    assert!(error.contains("training.shuffle") && error.contains("has no effect"), "{error}");
}

/// The names of all that is in the scratch directory.
fn everything(scratch: &Scratch) -> Vec<String> {
    let names = std::fs::read_dir(scratch.path("")).unwrap();
    let mut names: Vec<_> =
        names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn nothing_is_kept_on_disk_that_the_user_named_no_place_for() {
    let scratch = visits();
    let before = everything(&scratch);
    let on_disk = ["--set", "data.store=\"disk\""];
    scratch.expect(0, &[&["check", "visits.toml"][..], &on_disk].concat());
    assert_eq!(everything(&scratch), before);
    let ran = scratch.run(&[&["fit", "visits.toml", "-q", "-o", "run"][..], &on_disk].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
    let mut with_run = before.clone();
    with_run.push("run".into());
    with_run.sort();
    assert_eq!(everything(&scratch), with_run);
    let tables = std::fs::read_dir(scratch.path("run")).unwrap().filter(|entry| {
        entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "table")
    });
    assert_eq!(tables.count(), 0);
}

#[test]
fn of_the_files_in_the_cache_only_those_of_this_program_are_removed_or_replaced() {
    let scratch = visits();
    fit(&scratch, "one", "disk");
    let bytes = std::fs::read(cached(&scratch)).unwrap();
    let file = cached(&scratch);
    for (name, content) in [(".table-mine", &b"mine"[..]), (".table-left", &bytes[..100])] {
        std::fs::write(scratch.path("cache").join(name), content).unwrap();
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(100_000);
        let opened = std::fs::File::options().write(true).open(scratch.path("cache").join(name));
        opened.unwrap().set_modified(old).unwrap();
    }
    std::fs::write(&file, "mine").unwrap();
    let arguments = ["fit", "visits.toml", "-o", "two", "--cache", "cache", "-q"];
    let error = scratch.refuse(&[&arguments[..], &["--set", "data.store=\"disk\""]].concat());
    assert!(error.contains("did not write it"), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    assert!(scratch.path("cache/.table-mine").exists());
    assert!(!scratch.path("cache/.table-left").exists());
}

#[test]
fn a_table_that_lies_in_a_run_directory_is_never_taken_for_the_one_of_the_run() {
    let scratch = Scratch::new();
    scratch.write("table.toml", &support::SHORT.replace("numbered.csv", "table.csv"));
    scratch.write("table.csv", &support::numbered(200, 0));
    let disk = |words: &str| -> Vec<String> {
        format!("{words} -q --no-report --set data.store=\"disk\"")
            .split(' ')
            .map(Into::into)
            .collect()
    };
    let run = |words: &str| {
        let words = disk(words);
        scratch.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    assert_eq!(run("fit table.toml -o whole").code, Some(0));
    assert_eq!(run("fit table.toml -o other --cache cache").code, Some(0));
    // As whoever hands on a run could have made it: under the right name, with the rows of another table.
    let name = cached(&scratch).file_name().unwrap().to_os_string();
    scratch.write("table.csv", &support::numbered(200, 1000));
    assert_eq!(run("fit table.toml -o foreign --cache cache").code, Some(0));
    scratch.write("table.csv", &support::numbered(200, 0));
    std::fs::copy(cached(&scratch), scratch.path("whole").join(&name)).unwrap();
    let ran = run("fit table.toml -o whole --force --cache whole");
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("whole is a run directory"), "{}", ran.err);
    // Where the user named it, the rows that it was made of decide.
    let ran = run("fit table.toml -o again --cache cache");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let model = |run: &str| std::fs::read(scratch.path(run).join("model.safetensors")).unwrap();
    assert!(model("again") == model("whole") && model("again") == model("other"));
    assert!(model("foreign") != model("whole"));
}

/// A fit on `table.csv`, whose place `new.csv` takes at a certain opening of a file.
fn fit_while_replaced(scratch: &Scratch, opening: usize, more: &[&str]) -> Ran {
    let arguments =
        [&["fit", "table.toml", "-o", "run", "--force", "-q", "--no-report"], more].concat();
    let mut command = scratch.command(&arguments);
    if opening > 0 {
        command.env("FEASIBLE_FAULT", format!("read:{opening}:new.csv:table.csv"));
    }
    Ran::of(command.output().unwrap())
}

#[test]
fn a_table_that_is_replaced_while_a_fit_starts_gives_its_own_hash_or_a_refusal() {
    let scratch = Scratch::new();
    let text = support::SHORT.replace("numbered.csv", "table.csv");
    scratch.write("table.toml", &text);
    let tables = [support::numbered(200, 0), support::numbered(200, 1000)];
    let disk = ["--set", "data.store=\"disk\"", "--cache", "cache"];
    let results = |scratch: &Scratch| {
        let run: serde_json::Value = serde_json::from_str(&scratch.read("run/run.json")).unwrap();
        let model = std::fs::read(scratch.path("run/model.safetensors")).unwrap();
        (run["tables"][0]["sha256"].as_str().unwrap().to_string(), model)
    };
    let (mut first, mut second, mut refused) = (0, 0, 0);
    for more in [&[][..], &disk] {
        let mut known = Vec::new();
        for table in &tables {
            scratch.write("table.csv", table);
            fit_while_replaced(&scratch, 0, more);
            known.push(results(&scratch));
        }
        for opening in 1..=12 {
            scratch.write("table.csv", &tables[0]);
            scratch.write("new.csv", &tables[1]);
            let ran = fit_while_replaced(&scratch, opening, more);
            if ran.code == Some(2) {
                assert!(ran.err.contains("changed while it was read"), "{opening}: {}", ran.err);
                refused += 1;
            } else {
                let found = results(&scratch);
                assert!(known.contains(&found), "{opening} {more:?}: trained on another table");
                first += usize::from(found == known[0]);
                second += usize::from(found == known[1]);
            }
            // And on the table that is back where it was, the next one trains that.
            scratch.write("table.csv", &tables[0]);
            fit_while_replaced(&scratch, 0, more);
            assert!(results(&scratch) == known[0], "{opening} {more:?}: from a stale cache");
        }
    }
    assert!(first > 0 && second > 0 && refused > 0, "{first} {second} {refused}");
}

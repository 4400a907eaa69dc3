//! A table that nobody prepared: what is said instead of an error, what is decided, what `init` proposes.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use std::fmt::Write;

use support::{Scratch, random};

#[test]
fn a_table_in_place_of_a_problem_file_is_answered_with_the_command_to_run() {
    let scratch = Scratch::new();
    for command in ["fit", "check"] {
        let error = scratch.refuse(&[command, "people.csv"]);
        assert_eq!(
            error,
            "error: people.csv: this is a table, not a problem file: `feasible init people.csv` writes one for it, \
             people.toml, and `feasible fit people.toml` trains that\n"
        );
    }
    // A shell takes the command as it is shown.
    std::fs::copy(scratch.path("people.csv"), scratch.path("some people.csv")).unwrap();
    let error = scratch.refuse(&["fit", "some people.csv"]);
    assert!(error.contains("`feasible init 'some people.csv'`"), "{error}");
    scratch.expect(0, &["init", "people.csv", "-q"]);
    let error = scratch.refuse(&["fit", "people.csv"]);
    assert!(error.contains("`feasible fit people.toml` trains the problem file"), "{error}");
    // What a file is does not depend on its name alone.
    std::fs::write(scratch.path("people"), b"PAR1....").unwrap();
    assert!(scratch.refuse(&["fit", "people"]).contains("this is a table"));
}

/// A table of people as they come: an identifier, names, dates, codes, sparse and empty columns.
fn odd_people(rows: usize, hired: impl Fn(u64) -> String) -> String {
    let mut state = 11;
    let mut draw = |n: u64| random(&mut state) % n;
    let mut csv = String::from("id,name,sex,race,age,zip,joined,sparse,empty,hired\n");
    for row in 0..rows {
        let sparse = if draw(10) < 6 { String::new() } else { draw(100).to_string() };
        let (sex, race) = (draw(2) + 1, ["A", "B", "C"][draw(3) as usize]);
        let (age, zip, year, day) = (20 + draw(50), 10_000 + draw(9), 2010 + draw(9), 1 + draw(28));
        writeln!(
            csv,
            "{row},P{row},{sex},{race},{age},{zip},{year}-03-{day:02},{sparse},,{}",
            hired(age + draw(20))
        )
        .unwrap();
    }
    csv
}

fn yes_or_no(score: u64) -> String {
    String::from(if score.is_multiple_of(3) { "yes" } else { "no" })
}

#[test]
fn what_is_decided_is_said_once_by_check_by_fit_and_in_the_summary() {
    let scratch = Scratch::new();
    let labels = |score: u64| (score % 3).to_string();
    scratch.write("odd.csv", &odd_people(400, labels));
    scratch.write(
        "odd.toml",
        "[data]\nfile = \"odd.csv\"\ntarget = \"hired\"\ndrop = [\"empty\"]\nmissing = \"impute\"\n\
         [training]\nepochs = 2\n",
    );
    let notes = [
        "target 'hired': its 3 whole numbers (0, 1, 2) are taken for classes",
        "column 'id': left out: its name suggests a row number",
        "column 'name': left out, because its text differs in nearly every row (320 of 320",
        "column 'zip': its numbers are used as numbers, although its name suggests codes",
        "column 'joined': dates become days since 1970-01-01 and cycles",
    ];
    let check = scratch.expect(0, &["check", "odd.toml"]).out;
    let fit = scratch.expect(0, &["fit", "odd.toml", "-o", "run"]).err;
    let summary: serde_json::Value =
        serde_json::from_str(&scratch.read("run/summary.json")).unwrap();
    let listed = scratch.expect(0, &["check", "odd.toml", "--json"]).json();
    assert_eq!(summary["notes"].as_array().unwrap().len(), notes.len(), "{}", summary["notes"]);
    assert_eq!(listed["notes"], summary["notes"]);
    for (at, note) in notes.iter().enumerate() {
        assert_eq!(check.matches(note).count(), 1, "{note}\n{check}");
        assert_eq!(fit.matches(note).count(), 1, "{note}\n{fit}");
        assert!(summary["notes"][at].as_str().unwrap().starts_with(note), "{}", summary["notes"]);
    }
    // New rows may lack what was left out, and a cell that is no date is named.
    let new = "sex,race,age,zip,joined,sparse\n1,A,30,10001,2019-01-01,\n2,B,40,10002,someday,3\n";
    scratch.write("new.csv", new);
    let error = scratch.refuse(&["predict", "run", "new.csv"]);
    assert!(error.contains("new.csv, line 3, column 'joined': 'someday' is not a date"), "{error}");
    scratch.write("new.csv", &new.replace("someday", "2030-12-31"));
    assert_eq!(scratch.expect(0, &["predict", "run", "new.csv"]).out.lines().count(), 3);
}

#[test]
fn a_numeric_label_can_be_the_positive_one() {
    let scratch = Scratch::new();
    let labels = |score: u64| (1 + 2 * u64::from(score > 55)).to_string();
    scratch.write("odd.csv", &odd_people(200, labels));
    let file = "[data]\nfile = \"odd.csv\"\ntarget = \"hired\"\ndrop = [\"empty\"]\nmissing = \"impute\"\n";
    scratch.write("odd.toml", file);
    let check = |set: &str| scratch.expect(0, &["check", "odd.toml", "--set", set]).out;
    assert!(check("data.positive=3").contains("y = hired in {1, 3}"));
    assert!(check("data.positive=1").contains("y = hired in {3, 1}"));
    scratch.write("odd.toml", &format!("{file}positive = 1\n"));
    assert!(scratch.expect(0, &["check", "odd.toml"]).out.contains("y = hired in {3, 1}"));
    let error = scratch.refuse(&["check", "odd.toml", "--set", "data.positive=2"]);
    assert!(
        error.contains("--set data.positive=2") && error.contains("no category '2'"),
        "{error}"
    );
    let error = scratch.refuse(&["check", "odd.toml", "--set", "data.positive=[2]"]);
    assert!(error.contains("a category: text, or a number"), "{error}");
}

/// The file with every requirement that it proposes.
fn required(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix("# ") {
        Some(bare) if bare.starts_with('[') || bare.contains(" = ") => {
            if bare.starts_with("drop") || bare.starts_with("target") {
                line.into()
            } else {
                bare.to_string()
            }
        }
        _ => line.to_string(),
    };
    text.lines().map(|given| line(given) + "\n").collect()
}

#[test]
fn init_says_what_it_leaves_out_and_proposes_requirements_that_can_be_met() {
    let scratch = Scratch::new();
    scratch.write("odd.csv", &odd_people(600, yes_or_no));
    scratch.expect(0, &["init", "odd.csv"]);
    let text = scratch.read("odd.toml");
    for part in [
        "drop = [\"id\", \"name\", \"empty\"]\n",
        "#   id: by its name and its numbers (600 of 600 are different) it names rows",
        "#   name: text that differs in nearly every row (600 of 600)",
        "#   empty: every cell is empty",
        "categorical = [\"sex\", \"zip\"]   # whole numbers that look like codes",
        "missing = \"category\"   # an input of its own; or \"impute\"",
        "#   sparse: ",
        " % missing\n",
        "stratify = \"hired\"",
        "positive = \"yes\"",
        "# counterfactual = { swap = { \"sex\" = [\"",
        "# counterfactual = { pairs = \"race\" }",
        "# where = \"`age` >= 40\"",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("zip does not matter"), "{text}");
    scratch.write("all.toml", &required(&text));
    let check = scratch.expect(0, &["check", "odd.toml"]).out;
    assert!(check.contains("subject to        nothing"), "{check}");
    let check = scratch.expect(0, &["check", "all.toml", "-v"]).out;
    for name in ["sex does not matter", "race: groups alike", "age: groups alike"] {
        assert!(check.contains(name), "{name}\n{check}\n{}", required(&text));
    }
    // For more classes and for numbers, other requirements are proposed, and they can be made as well.
    for target in ["race", "age", "sparse"] {
        scratch.expect(0, &["init", "odd.csv", "--target", target, "--force"]);
        scratch.expect(0, &["check", "odd.toml"]);
        scratch.write("all.toml", &required(&scratch.read("odd.toml")));
        scratch.expect(0, &["check", "all.toml"]);
    }
}

#[test]
fn init_finds_out_how_a_file_is_written() {
    let scratch = Scratch::new();
    let rows = |row: &dyn Fn(usize) -> String| -> String { (0..60).map(row).collect() };
    for (name, text, format) in [
        (
            "na.csv",
            format!(
                "a,b,y\n{}",
                rows(&|i| {
                    let a = if i % 9 == 4 { "NA".to_string() } else { i.to_string() };
                    format!("{a},{},{}\n", i * 2, i % 2)
                })
            ),
            "format = { missing = [\"\", \"NA\"] }",
        ),
        (
            "nan.csv",
            format!(
                "a,b,y\n{}",
                rows(&|i| {
                    let a = if i % 9 == 4 { "nan".to_string() } else { i.to_string() };
                    format!("{a},{},{}\n", i * 2, i % 2)
                })
            ),
            "format = { missing = [\"\", \"nan\"] }",
        ),
        (
            "comma.csv",
            format!("a;b;y\n{}", rows(&|i| format!("{},5;{i};{}\n", i % 7, i % 2))),
            "format = { decimal = \",\" }",
        ),
        (
            "thousandths.csv",
            format!(
                "a;b;y\n{}",
                rows(&|i| format!("{},{};{i};{}\n", i % 7, (123 + 97 * i) % 1000, i % 2))
            ),
            "format = { decimal = \",\" }",
        ),
        (
            "twice.csv",
            format!("a,a,y\n{}", rows(&|i| format!("{i},{},{}\n", i % 5, i % 2))),
            "format = { duplicates = \"number\" }",
        ),
        (
            "bare.csv",
            rows(&|i| format!("{i}.5,{},{}\n", i % 5, i % 2)),
            "format = { header = false }",
        ),
        ("plain.csv", format!("a,b,y\n{}", rows(&|i| format!("{i},NA,{}\n", i % 2))), ""),
    ] {
        scratch.write(name, &text);
        scratch.expect(0, &["init", name, "-o", "read.toml", "--force"]);
        let written = scratch.read("read.toml");
        match format {
            "" => assert!(!written.contains("format ="), "{written}"),
            format => assert!(written.contains(format), "{name}: {written}"),
        }
        scratch
            .expect(0, &["fit", "read.toml", "-o", "run", "--force", "--set", "training.epochs=2"]);
    }
}

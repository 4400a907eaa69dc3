//! Tables that come after training: each key of `[data]` prepares and selects their rows as it did those of the training.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use std::collections::BTreeSet;

use serde_json::Value;
use support::{Scratch, random};

/// Keys of tables, each with what is put into `[data]`; then those that have no effect on later tables.
const CASES: &[(&str, &str)] = &[
    ("target", ""),
    ("positive", "positive = \"bad\"\ntarget_group = { bad = [\"fair\", \"poor\"] }"),
    ("target_group", "target_group = { fine = [\"fair\", \"good\"] }"),
    ("task", "task = \"classify\""),
    ("weight", "weight = \"w\""),
    ("rows", "rows = \"age > 40 and city != 'Oslo'\""),
    ("columns", "columns = [\"size\", \"age\"]"),
    ("drop", "drop = [\"city\"]"),
    ("categorical", "categorical = [\"code\"]"),
    ("rare", "rare = 40"),
    ("standardise", "standardise = [\"age\"]"),
    ("piecewise", "piecewise = [\"age\"]"),
    ("missing", "missing = \"category\""),
    ("missing_in", "missing_in = { size = \"category\", city = \"impute\" }"),
    ("unseen", "unseen = \"other\"\nrows = \"city != 'Rome' or age > 60\""),
    ("max_categories", "max_categories = 2"),
    ("dates", "dates = [\"joined\"]"),
    ("group", "group = { city = { south = [\"Rome\", \"Bari\"] } }"),
    ("categories", "categories = { city = [\"Rome\", \"Oslo\", \"Bari\", \"Riga\"] }"),
    ("bin", "bin = { age = { quantiles = 4 } }"),
    ("format", "format = { missing = [\"\", \"Riga\"] }"),
    ("limits", "limits = { columns = 9 }"),
    ("store", "store = \"disk\""),
    ("train", ""),
    ("validation", "validation = \"validation.csv\""),
    ("test", ""),
];

/// What cannot be given beside `train` and `test`: tests of their own.
const APART: [&str; 7] =
    ["file", "split", "split_by", "source", "directory", "folder", "per_class"];

fn people(rows: usize, seed: u64) -> String {
    let mut state = seed;
    let mut text = String::from("age,size,city,joined,code,w,outcome\n");
    for _ in 0..rows {
        let mut draw = |most: u64| random(&mut state) % most;
        let (age, city) = (18 + draw(60), ["Rome", "Oslo", "Bari", "Riga"][draw(4) as usize]);
        let size = if draw(9) == 0 { String::new() } else { format!("{}.5", draw(30)) };
        let joined = format!("20{:02}-0{}-1{}", 10 + draw(10), 1 + draw(9), draw(10));
        let score = age + draw(40) + if city == "Oslo" { 20 } else { 0 };
        let outcome = ["poor", "fair", "good"][(score / 40).min(2) as usize];
        text += &format!("{age},{size},{city},{joined},{},{},{outcome}\n", draw(5), 1 + draw(3));
    }
    text
}

fn scratch(keys: &str) -> Scratch {
    let scratch = Scratch::new();
    for (name, rows, seed) in [("train", 500, 1), ("validation", 100, 2), ("test", 300, 3)] {
        scratch.write(&format!("{name}.csv"), &people(rows, seed));
    }
    // The same rows in a file that the run has not read.
    let later: String = scratch.read("test.csv").lines().map(|l| format!("{l},x\n")).collect();
    scratch.write("later.csv", &later);
    let missing = if keys.lines().any(|line| line.starts_with("missing")) {
        ""
    } else {
        "missing = \"impute\"\n"
    };
    scratch.write(
        "p.toml",
        &format!(
            "[data]\n{keys}\n{missing}target = \"outcome\"\n[model]\nkind = \"linear\"\n[training]\nepochs = 3\n\
             [[requirement]]\nname = \"older\"\nrate = \"error\"\nwhere = \"age > 50\"\nat_most = 0.99\n"
        ),
    );
    scratch.expect(0, &["fit", "p.toml", "-q", "-o", "run"]);
    scratch
}

/// What a run and an audit say of the same rows.
fn said(evaluation: &Value) -> [Value; 5] {
    let older = &evaluation["requirements"][0];
    ["rows", "objective", "accuracy"]
        .map(|key| evaluation[key].clone())
        .into_iter()
        .chain([older["value"].clone(), older["points"].clone()])
        .collect::<Vec<_>>()
        .try_into()
        .unwrap()
}

#[test]
fn every_key_treats_a_table_that_comes_later_as_the_run_treated_its_test_rows() {
    for (key, lines) in CASES {
        let scratch = scratch(&format!("train = \"train.csv\"\ntest = \"test.csv\"\n{lines}"));
        let summary: Value = serde_json::from_str(&scratch.read("run/summary.json")).unwrap();
        let audit = scratch.expect(0, &["audit", "run", "later.csv", "--json"]).json();
        assert_eq!(said(&audit["evaluation"]), said(&summary["test"]), "{key}");
    }
}

#[test]
fn a_column_that_is_dropped_may_be_lacking_and_weights_are_not_needed_to_predict() {
    let scratch =
        scratch("train = \"train.csv\"\ntest = \"test.csv\"\ndrop = [\"city\"]\nweight = \"w\"");
    let few: String =
        scratch.read("test.csv").lines().map(|line| cells(line, &[0, 1, 3, 4])).collect();
    scratch.write("few.csv", &few);
    let rows = scratch.expect(0, &["predict", "run", "few.csv"]).out.lines().count();
    assert_eq!(rows, 301);
}

fn cells(line: &str, which: &[usize]) -> String {
    let cells: Vec<&str> = line.split(',').collect();
    which.iter().map(|&at| cells[at]).collect::<Vec<_>>().join(",") + "\n"
}

#[test]
fn every_row_of_a_later_table_counts_however_the_first_was_split() {
    for split in [
        "split = { train = 0.5, validation = 0.1, test = 0.2 }",
        "split_by = { column = \"city\", train = [\"Rome\", \"Bari\"], test = [\"Oslo\"] }\nunseen = \"other\"",
    ] {
        let scratch = scratch(&format!("file = \"train.csv\"\n{split}"));
        let audit = scratch.expect(0, &["audit", "run", "later.csv", "--json"]).json();
        assert_eq!(audit["evaluation"]["rows"], 300, "{split}");
    }
    // Of an embedded set, too, but for the rows that it selects.
    let scratch = Scratch::new();
    let limits = ["--set", "training.epochs=1", "--set", "data.split.test=0.5"];
    let fit = ["fit", "compas-unconstrained", "-q", "-o", "run"];
    scratch.run(&[&fit[..], &limits[..]].concat());
    scratch.expect(0, &["data", "export", "compas", "sets"]);
    let audit = scratch.run(&["audit", "run", "sets/compas.csv", "--json"]).json();
    assert_eq!(audit["evaluation"]["rows"], 6172);
    assert_eq!(audit["selected"]["of"], 7214);
}

#[test]
fn files_without_a_header_have_the_names_of_the_problem_file() {
    let scratch = scratch("file = \"train.csv\"");
    let body = |name: &str| scratch.read(name).split_once('\n').unwrap().1.to_string();
    scratch.write("train.csv", &body("train.csv"));
    scratch.write("test.csv", &body("test.csv"));
    let names = "format = { header = false, names = [\"age\", \"size\", \"city\", \"joined\", \"code\", \"w\", \"outcome\"] }\n";
    let problem = scratch.read("p.toml").replace("target =", &format!("{names}target ="));
    scratch.write("p.toml", &problem);
    scratch.expect(0, &["fit", "p.toml", "-q", "-o", "other"]);
    let audit = scratch.expect(0, &["audit", "other", "test.csv", "--json"]).json();
    assert_eq!(audit["evaluation"]["rows"], 300);
}

#[test]
fn rows_that_the_model_is_not_for_are_left_out_of_judgements_and_counted_in_predictions() {
    let scratch = scratch("train = \"train.csv\"\ntest = \"test.csv\"\nrows = \"age > 40\"");
    scratch.write("new.csv", &people(400, 9));
    let age = |line: &&str| line.split(',').next().unwrap().parse::<u32>().is_ok_and(|a| a > 40);
    let older = scratch.read("new.csv").lines().skip(1).filter(age).count();
    let sentence =
        format!("Only {older} of the 400 rows count: the model is for rows where age > 40");
    let certified = scratch.expect(0, &["certify", "run", "new.csv"]).out;
    assert!(certified.contains(&format!("the {older} rows of new.csv")), "{certified}");
    assert!(certified.contains(&sentence), "{certified}");
    let audited = scratch.expect(0, &["audit", "run", "new.csv"]).out;
    assert!(audited.contains(&sentence), "{audited}");
    let ran = scratch.expect(0, &["monitor", "run", "new.csv"]);
    assert!(ran.out.contains(&format!("1 table monitored, {older} rows")), "{}", ran.out);
    assert!(ran.err.contains(&sentence), "{}", ran.err);
    let attack = ["attack", "run", "new.csv", "--epsilons", "0.1", "--json", "-o", "a"];
    let ran = scratch.expect(0, &attack).json();
    assert_eq!(ran["points"][0]["total"], older);
    assert_eq!(ran["selected"]["of"], 400);
    let ran = scratch.expect(0, &["predict", "run", "new.csv"]);
    assert_eq!(ran.out.lines().count(), 401);
    let outside = format!("{} of the 400 rows are not rows that the model is for", 400 - older);
    assert!(ran.err.contains(&outside), "{}", ran.err);
    let ran = scratch.expect(0, &["predict", "run", "new.csv", "--json"]).json();
    assert_eq!(ran["selected"]["rows"], older);
    let ran = scratch.expect(0, &["export", "run"]);
    assert!(ran.err.contains("keep those where age > 40"), "{}", ran.err);
    // None of them, and a table that does not tell.
    let young: Vec<String> = scratch.read("new.csv").lines().map(String::from).collect();
    let young: Vec<&str> = young.iter().map(String::as_str).filter(|line| !age(line)).collect();
    scratch.write("young.csv", &(young.join("\n") + "\n"));
    let error = scratch.refuse(&["certify", "run", "young.csv"]);
    assert!(error.contains("and none of the") && error.contains("age > 40"), "{error}");
}

#[test]
fn a_table_without_the_column_that_selects_rows_is_refused_with_its_name() {
    let scratch =
        scratch("train = \"train.csv\"\ntest = \"test.csv\"\nrows = \"w < 3\"\ndrop = [\"w\"]");
    let few: String = people(200, 9).lines().map(|line| cells(line, &[0, 1, 2, 3, 4, 6])).collect();
    scratch.write("few.csv", &few);
    for command in ["certify", "audit", "monitor"] {
        let error = scratch.refuse(&[command, "run", "few.csv"]);
        let said = "few.csv: it has no column 'w', and the model is for rows where w < 3";
        assert!(error.contains(said), "{error}");
    }
    let ran = scratch.expect(0, &["predict", "run", "few.csv"]);
    assert_eq!(ran.out.lines().count(), 201);
    assert!(ran.err.contains("Every row is predicted") && ran.err.contains("'w'"), "{}", ran.err);
}

#[test]
fn rows_without_a_label_are_left_out_where_labels_are_needed_and_watched_where_they_are_not() {
    let scratch = scratch(
        "train = \"train.csv\"\ntest = \"test.csv\"\nrows = \"not (outcome is missing)\"\n\
         target_group = { fine = [\"fair\", \"good\"] }\npositive = \"fine\"",
    );
    let problem = scratch.read("p.toml").replace("rate = \"error\"", "rate = \"selection\"");
    scratch.write("p.toml", &problem);
    scratch.expect(0, &["fit", "p.toml", "-q", "-o", "other"]);
    let unlabelled: String =
        people(200, 9).lines().map(|line| cells(line, &[0, 1, 2, 3, 4, 5])).collect();
    scratch.write("unlabelled.csv", &unlabelled);
    let ran = scratch.expect(0, &["monitor", "other", "unlabelled.csv"]);
    assert!(ran.out.contains("1 table monitored, 200 rows"), "{}", ran.out);
    let half = |(at, line): (usize, &str)| match at % 2 {
        0 => format!("{line}\n"),
        _ => format!("{},\n", line.rsplit_once(',').unwrap().0),
    };
    scratch.write("half.csv", &people(200, 8).lines().enumerate().map(half).collect::<String>());
    let audit = scratch.expect(0, &["audit", "other", "half.csv", "--json"]).json();
    assert_eq!(audit["evaluation"]["rows"], 100);
}

#[test]
fn the_documentation_has_every_key_of_data_in_the_table_of_later_tables() {
    let schema: Value = serde_json::from_str(&Scratch::new().expect(0, &["schema"]).out).unwrap();
    let keys: BTreeSet<String> =
        schema["$defs"]["DataSpec"]["properties"].as_object().unwrap().keys().cloned().collect();
    let book =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/program.md"))
            .unwrap();
    let table = book.split("| keys | tables that come later |").nth(1).unwrap();
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let listed: BTreeSet<String> = lines
        .flat_map(|line| line.split('|').nth(1).unwrap().split(','))
        .map(|key| key.trim().trim_matches('`').to_string())
        .collect();
    assert_eq!(listed, keys);
    let tested = CASES.iter().map(|(key, _)| *key).chain(APART).chain(["augment"]);
    assert_eq!(tested.map(String::from).collect::<BTreeSet<_>>(), keys);
}

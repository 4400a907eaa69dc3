//! Monitoring by the real program: what counts, what is refused, what a kill does, and how it ends.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use std::time::Duration;

use support::{Scratch, people, random};

/// People with a number of their own; with `wrong`, incomes are the wrong way round.
fn numbered(rows: usize, first: usize, wrong: bool) -> String {
    let all = people(first + rows);
    let mut lines = all.lines();
    let mut text = format!("id,{}\n", lines.next().unwrap());
    for (id, line) in lines.enumerate().skip(first) {
        let (rest, income) = line.rsplit_once(',').unwrap();
        let income = match (income, wrong) {
            ("high", true) => "low",
            ("low", true) => "high",
            (income, _) => income,
        };
        text += &format!("p{id},{rest},{income}\n");
    }
    text
}

/// The same without the last column, the target.
fn unlabelled(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.rsplit_once(',').unwrap().0)).collect()
}

const PROBLEM: &str = r#"
[data]
train = "train.csv"
target = "income"
positive = "high"
drop = ["id"]

[model]
kind = "linear"

[[requirement]]
name = "error"
rate = "error"
at_most = 0.4

[[requirement]]
name = "gender"
loss = "kl"
kind = "pointwise"
at_most = 2.0
counterfactual = { swap = { gender = ["Male", "Female"] } }

[[requirement]]
name = "women"
rate = "selection"
where = "gender == 'Female'"
within = 0.3

[training]
epochs = 20
"#;

/// A trained model, and a table for each of some months.
fn in_use(months: usize) -> Scratch {
    let scratch = Scratch::new();
    scratch.write("train.csv", &numbered(600, 0, false));
    scratch.write("problem.toml", PROBLEM);
    let ran = scratch.run(&["fit", "problem.toml", "-q", "-o", "run"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
    for month in 0..months {
        scratch.write(&format!("m{month}.csv"), &numbered(400, 600 + 400 * month, false));
    }
    scratch
}

fn verdicts(json: &serde_json::Value) -> Vec<&str> {
    let all = json["requirements"].as_array().unwrap();
    all.iter().map(|one| one["verdict"].as_str().unwrap()).collect()
}

#[test]
fn a_requirement_with_a_shift_is_certified_only_where_it_holds_after_the_shift() {
    let scratch = in_use(3);
    let tables = ["m0.csv", "m1.csv", "m2.csv"];
    for (shift, verdict) in [("1.1", "CERTIFIED"), ("2.9", "OPEN")] {
        let at = format!("at_most = 0.4\nshift = {shift}\nmargin = 0.0");
        scratch.write("shifted.toml", &PROBLEM.replace("at_most = 0.4", &at));
        scratch.run(&["fit", "shifted.toml", "-q", "--force", "-o", "shifted"]);
        let monitor = [&["monitor", "shifted"][..], &tables].concat();
        let text = scratch.expect(0, &monitor).out;
        let shown = scratch.expect(0, &["monitor", "shifted", "--json"]).json();
        let error = &shown["requirements"][0];
        let number = |key: &str| error[key].as_f64().unwrap();
        // As it is written it holds.
        assert!(number("upper") <= 0.4, "{error}");
        assert_eq!(error["verdict"], verdict, "{error}");
        assert_eq!(error["looks"][2]["verdict"], verdict, "{error}");
        let carried = (number("shift") * number("upper")).min(1.0);
        assert!((number("bound_at_shift") - carried).abs() < 1e-12, "{error}");
        let wherever = format!("wherever no kind of row is more than {shift} times as common");
        assert!(text.replace('\n', " ").contains(&wherever), "{text}");
    }
}

#[test]
fn a_model_is_watched_month_by_month_and_a_table_counts_once() {
    let scratch = in_use(4);
    let error = scratch.refuse(&["monitor", "run"]);
    assert!(error.contains("run is not monitored yet"), "{error}");
    let first = scratch.expect(0, &["monitor", "run", "m0.csv", "--at", "2026-01"]).out;
    assert!(first.contains("1 table monitored, 400 rows"), "{first}");
    scratch.expect(1, &["monitor", "run", "--require", "certified"]);
    let json =
        scratch.expect(0, &["monitor", "run", "m1.csv", "m2.csv", "m3.csv", "--json"]).json();
    assert_eq!(verdicts(&json)[0], "CERTIFIED", "{json:#}");
    // Sixteen hundred rows without a violation are enough for "all but 1 %" too.
    assert_eq!(verdicts(&json), ["CERTIFIED"; 4], "{json:#}");
    assert_eq!(json["tables"][0]["label"], "2026-01");
    assert_eq!(json["tables"][3]["label"], "m3");
    assert_eq!(json["requirements"][0]["looks"].as_array().unwrap().len(), 4);
    scratch.expect(0, &["monitor", "run", "--require", "certified"]);
    let text = scratch.expect(0, &["monitor", "run"]).out;
    assert!(text.contains("error: the error rate is at most "), "{text}");
    assert!(text.contains("on average over the 4 tables so far."), "{text}");
    assert!(text.contains("With probability at least 95 %, every CERTIFIED and DRIFTED"), "{text}");
    // Again, in another order, from a pipe: nothing changes.
    let ledger = scratch.read("run/monitor.jsonl");
    let (head, rows) = numbered(400, 600, false)
        .split_once('\n')
        .map(|(h, r)| (h.to_string(), r.to_string()))
        .unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.reverse();
    scratch.write("again.csv", &format!("{head}\n{}\n", rows.join("\n")));
    let ran = scratch.expect(0, &["monitor", "run", "again.csv", "m3.csv"]);
    assert_eq!(ran.out, text);
    assert!(ran.err.contains("again.csv is counted already, as '2026-01'"), "{}", ran.err);
    assert_eq!(scratch.read("run/monitor.jsonl"), ledger);
    assert!(ledger.len() < 120_000, "{}", ledger.len());
    // The page has it.
    scratch.expect(0, &["report", "run", "-q"]);
    let page = scratch.read("run/report.html");
    assert!(page.contains("<h2 id=\"monitor\">In use</h2>") && page.contains("2026-01"));
    assert!(page.contains("average so far, with bounds"));
}

#[test]
fn a_drift_is_proven_named_and_stays() {
    let scratch = in_use(2);
    scratch.expect(0, &["monitor", "run", "m0.csv", "m1.csv"]);
    for month in 2..4 {
        scratch.write(&format!("m{month}.csv"), &numbered(400, 600 + 400 * month, true));
    }
    let ran = scratch.expect(1, &["monitor", "run", "m2.csv", "m3.csv", "--at", "<u>x,2026-04"]);
    assert!(ran.out.contains("DRIFTED"), "{}", ran.out);
    assert!(ran.out.contains("was on average more than 40 %"), "{}", ran.out);
    scratch.write("m4.csv", &numbered(400, 2200, false));
    let json = scratch.expect(1, &["monitor", "run", "m4.csv", "--json"]).json();
    assert_eq!(json["requirements"][0]["verdict"], "DRIFTED");
    assert_eq!(json["requirements"][0]["drift"][0], "<u>x");
    assert_eq!((&json["drifted"], &json["certified"]), (&true.into(), &false.into()));
    // What has nothing to do with incomes has not drifted.
    assert_ne!(verdicts(&json)[1], "DRIFTED");
    scratch.expect(0, &["report", "run", "-q"]);
    let page = scratch.read("run/report.html");
    assert!(!page.contains("<u>") && page.contains("&lt;u&gt;x"));
}

#[test]
fn rows_of_the_training_and_rows_counted_before_are_refused_and_change_nothing() {
    let scratch = in_use(3);
    let refused = |table: &str, text: &str, expected: &str| {
        scratch.write(table, text);
        let before = std::fs::read(scratch.path("run/monitor.jsonl")).ok();
        let error = scratch.refuse(&["monitor", "run", "m1.csv", table]);
        assert!(error.contains(expected), "{error}");
        assert_eq!(std::fs::read(scratch.path("run/monitor.jsonl")).ok(), before);
    };
    refused("copy.csv", &numbered(600, 0, false), "the run itself has read it");
    refused("part.csv", &numbered(300, 100, false), "used in training");
    refused("part.csv", &unlabelled(&numbered(300, 100, false)), "used in training");
    scratch.expect(0, &["monitor", "run", "m0.csv"]);
    // Half of an earlier table and new rows.
    refused("half.csv", &numbered(400, 800, false), "are in 'm0' too, which was counted already");
    refused(
        "twice.csv",
        &{
            let text = numbered(300, 3000, false);
            let rows = text.split_once('\n').unwrap().1.to_string();
            text.clone() + &rows
        },
        "every row occurs in it 2 times",
    );
    refused("empty.csv", "id,age,gender,city,income\n", "row");
    refused("other.csv", "id,age\n1,2\n", "has no column");
    for (arguments, expected) in [
        (&["--confidence", "0.9"][..], "--confidence 0.9: the first table has fixed it at 0.95"),
        (&["--all-but", "0.1"], "--all-but 0.1: the first table has fixed it at 0.01"),
        (&["--at", "a,b"], "--at has 2 labels for 1 tables"),
    ] {
        let error = scratch.refuse(&[&["monitor", "run", "m2.csv"][..], arguments].concat());
        assert!(error.contains(expected), "{error}");
    }
    let error = scratch.refuse(&["monitor", "nowhere", "m2.csv"]);
    assert!(error.contains("nowhere"), "{error}");
    scratch.expect(0, &["monitor", "run", "m2.csv", "--confidence", "0.95"]);
    // A ledger that somebody has corrected.
    let ledger = scratch.read("run/monitor.jsonl");
    scratch.write("run/monitor.jsonl", &ledger.replacen("\"rows\":400", "\"rows\":401", 1));
    for arguments in [&["monitor", "run"][..], &["monitor", "run", "m2.csv"]] {
        let error = scratch.refuse(arguments);
        assert!(error.contains("monitor.jsonl is damaged: line 2"), "{error}");
    }
}

#[test]
fn labels_that_come_late_count_when_they_come_and_rows_still_once() {
    let scratch = in_use(2);
    scratch.write("early.csv", &unlabelled(&scratch.read("m0.csv")));
    let json =
        scratch.expect(0, &["monitor", "run", "early.csv", "--at", "january", "--json"]).json();
    let rows = |json: &serde_json::Value| -> Vec<u64> {
        let all = json["requirements"].as_array().unwrap();
        all.iter().map(|one| one["rows"].as_u64().unwrap()).collect()
    };
    let early = rows(&json);
    assert_eq!(early[..2], [0, 400]);
    let ran = scratch.expect(0, &["monitor", "run", "m0.csv", "--json"]);
    assert!(ran.err.contains("m0.csv brings the labels of 'january'"), "{}", ran.err);
    let late = rows(&ran.json());
    assert_eq!((late[0], &late[1..]), (400, &early[1..]));
    assert!(scratch.expect(0, &["monitor", "run"]).out.contains("1 table monitored, 400 rows"));
    for table in ["m0.csv", "early.csv"] {
        let ran = scratch.expect(0, &["monitor", "run", table, "--json"]);
        assert_eq!(rows(&ran.json()), late);
    }
}

/// What every kill and every cut must end in.
fn undisturbed(scratch: &Scratch) -> String {
    scratch.expect(0, &["monitor", "run", "m0.csv", "m1.csv"]);
    let ledger = scratch.read("run/monitor.jsonl");
    std::fs::remove_file(scratch.path("run/monitor.jsonl")).unwrap();
    ledger
}

#[test]
fn killed_at_any_moment_or_cut_at_any_byte_the_next_call_ends_the_same() {
    let scratch = in_use(2);
    let whole = undisturbed(&scratch);
    let both = ["monitor", "run", "m0.csv", "m1.csv"];
    let lines: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at).collect();
    let mut cuts = vec![0, 1, 1000, whole.len() / 2, whole.len() - 1];
    cuts.extend(lines.iter().take(2).flat_map(|at| [*at, at + 1, at + 2]));
    for cut in cuts {
        scratch.write("run/monitor.jsonl", &whole[..cut]);
        scratch.expect(0, &both);
        assert!(scratch.read("run/monitor.jsonl") == whole, "cut at {cut}");
    }
    let mut state = 5;
    for _ in 0..8 {
        let _ = std::fs::remove_file(scratch.path("run/monitor.jsonl"));
        let mut child = scratch.command(&both).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(random(&mut state) % 60));
        let _ = child.kill();
        child.wait().unwrap();
        scratch.expect(0, &both);
        assert!(scratch.read("run/monitor.jsonl") == whole);
    }
}

#[test]
fn two_programs_at_once_count_a_table_once() {
    let scratch = in_use(2);
    let whole = undisturbed(&scratch);
    for _ in 0..3 {
        let _ = std::fs::remove_file(scratch.path("run/monitor.jsonl"));
        let both = ["monitor", "run", "m0.csv", "m1.csv", "-q"];
        let start = || scratch.command(&both).stdout(std::process::Stdio::null()).spawn().unwrap();
        let codes = [start(), start(), start()].map(|mut child| child.wait().unwrap().code());
        // Who comes while another is at work is told so.
        assert!(codes.contains(&Some(0)), "{codes:?}");
        assert!(codes.iter().all(|code| matches!(code, Some(0 | 2))), "{codes:?}");
        assert!(scratch.read("run/monitor.jsonl") == whole);
    }
}

const KINDS: &str = r#"
[[requirement]]
name = "accuracy"
rate = "accuracy"
at_least = 0.6

[[requirement]]
name = "mean"
loss = "brier"
at_most = 0.26

[[requirement]]
name = "mean of a group"
loss = "brier"
where = "gender == 'Female'"
against = "everyone"
at_most = 0.3

[[requirement]]
name = "overlapping groups"
rate = "error"
where = "age > 30"
against = "gender == 'Female'"
at_most = 0.35

[[requirement]]
name = "groups apart"
rate = "selection"
where = "city == 'Lyon'"
against = "city == 'Turin'"
at_most = 0.3

[[requirement]]
name = "nobody"
rate = "error"
where = "city == 'Oslo'"
at_most = 0.9

[[requirement]]
name = "no bound"
loss = "cross-entropy"
at_most = 5.0

[training]
"#;

#[test]
fn every_kind_of_requirement_is_watched_and_what_cannot_be_says_so() {
    let scratch = in_use(4);
    scratch.write("problem.toml", &PROBLEM.replace("[training]", KINDS));
    // A city that no later table has.
    let oslo = "x1,30,Male,Oslo,low\nx2,50,Female,Oslo,high\n";
    scratch.write("train.csv", &(numbered(600, 0, false) + oslo));
    let fit = scratch.run(&["fit", "problem.toml", "-q", "-o", "kinds"]);
    assert!(matches!(fit.code, Some(0 | 1)), "{}", fit.err);
    let json = scratch
        .expect(0, &["monitor", "kinds", "m0.csv", "m1.csv", "m2.csv", "m3.csv", "--json"])
        .json();
    let expected = [&["CERTIFIED"; 9][..], &["OPEN"; 2]].concat();
    assert_eq!(verdicts(&json), expected, "{json:#}");
    let text = scratch.expect(0, &["monitor", "kinds"]).out;
    assert!(text.contains("accuracy: the accuracy is at least "), "{text}");
    assert!(text.contains("nobody: it applies to no row of any table yet."), "{text}");
    assert!(text.contains("no bound: not monitored, as its loss has no bound"), "{text}");
    // Incomes the wrong way round: what is measured by them drifts, the rest does not.
    for month in 4..7 {
        scratch.write(&format!("m{month}.csv"), &numbered(400, 600 + 400 * month, true));
    }
    let json =
        scratch.expect(1, &["monitor", "kinds", "m4.csv", "m5.csv", "m6.csv", "--json"]).json();
    let all = json["requirements"].as_array().unwrap();
    let drifted = all.iter().filter(|one| one["verdict"] == "DRIFTED").map(|one| &one["name"]);
    assert_eq!(drifted.collect::<Vec<_>>(), ["error", "accuracy", "mean"], "{json:#}");
}

#[test]
fn what_was_not_met_when_training_ended_has_not_drifted() {
    let scratch = Scratch::new();
    scratch.write("train.csv", &numbered(600, 0, false));
    scratch.write("problem.toml", &PROBLEM.replace("at_most = 0.4", "at_most = 0.05"));
    scratch.expect(1, &["fit", "problem.toml", "-q", "-o", "run"]);
    scratch.write("fresh.csv", &numbered(1500, 600, false));
    let ran = scratch.expect(1, &["monitor", "run", "fresh.csv"]);
    assert!(ran.out.starts_with("'error' has been violated since training.\n"), "{}", ran.out);
    assert!(ran.out.contains("; it was not met when training ended either."), "{}", ran.out);
    assert!(!ran.out.contains("has drifted") && ran.out.contains("  VIOLATED\n"), "{}", ran.out);
    let json = scratch.expect(1, &["monitor", "run", "--json"]).json();
    assert_eq!(json["requirements"][0]["verdict"], "VIOLATED");
    assert_eq!((&json["drifted"], &json["violated"]), (&false.into(), &true.into()));
    scratch.expect(0, &["report", "run", "-q"]);
    assert!(scratch.read("run/report.html").contains("violated since training"));
}

//! Input that would have the program destroy its own input, play with the terminal or a spreadsheet, or never end.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use std::fmt::Write as _;
use std::io::Write;
use std::process::Stdio;

use support::{PROBLEM, Ran, Scratch};

/// A run that takes no time.
fn trained() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("problem.toml", &PROBLEM.replace("epochs = 20", "epochs = 2"));
    scratch.expect(0, &["fit", "problem.toml", "-o", "run", "-q", "--no-report"]);
    scratch
}

/// Everything in the scratch directory, by path.
fn everything(scratch: &Scratch) -> Vec<(String, Vec<u8>)> {
    support::files_of_run(&scratch.path("."))
}

#[test]
fn an_output_that_is_an_input_is_refused_for_every_command_and_spelling() {
    let scratch = trained();
    std::fs::hard_link(scratch.path("people.csv"), scratch.path("hard.csv")).unwrap();
    std::os::unix::fs::symlink("people.csv", scratch.path("soft.csv")).unwrap();
    std::os::unix::fs::symlink("run", scratch.path("link")).unwrap();
    std::fs::create_dir(scratch.path("curve")).unwrap();
    std::fs::copy(scratch.path("people.csv"), scratch.path("curve/attack.csv")).unwrap();
    let own = PROBLEM.replace("people.csv", "inside/multipliers.csv");
    std::fs::create_dir(scratch.path("inside")).unwrap();
    std::fs::copy(scratch.path("people.csv"), scratch.path("inside/multipliers.csv")).unwrap();
    scratch.write("own.toml", &own);
    let before = everything(&scratch);
    for arguments in [
        &["predict", "run", "people.csv", "-o", "people.csv"][..],
        &["predict", "run", "people.csv", "-o", "./run/../people.csv"],
        &["predict", "run", "people.csv", "-o", "hard.csv"],
        &["predict", "run", "people.csv", "-o", "soft.csv"],
        &["predict", "run", "soft.csv", "-o", "hard.csv", "--json"],
        &["predict", "run", "people.csv", "-o", "run/model.safetensors"],
        &["predict", "run", "people.csv", "-o", "link/problem.toml"],
        &["predict", "run/model.safetensors", "people.csv", "-o", "link/model.safetensors"],
        &["export", "run", "-o", "run/model.safetensors"],
        &["export", "run", "-o", "link/summary.json"],
        &["export", "run/model.safetensors", "-o", "link/model.safetensors"],
        &["init", "people.csv", "-o", "people.csv", "--force"],
        &["init", "people.csv", "-o", "hard.csv", "--force"],
        &["report", "run", "-o", "run/summary.json"],
        &["report", "run", "-o", "people.csv"],
        &["report", "link", "-o", "hard.csv"],
        &["report", "run", "-o", "run/model-card.md"],
        &["report", "run", "--figures", "new", "-o", "new/objective.svg"],
        &["attack", "run", "curve/attack.csv", "-o", "curve", "--restarts", "1", "--steps", "1"],
        &["fit", "own.toml", "-o", "inside", "--force"],
        &["fit", "run/problem.toml", "-o", "run", "--force"],
        &["fit", "run/problem.toml", "-o", "link", "--force"],
        &["sweep", "own.toml", "--requirement", "gender", "--limits", "0.1..0.2", "-o", "inside"],
        &["tune", "own.toml", "-o", "inside", "--force"],
        &["tune", "run/problem.toml", "-o", "run", "--force"],
        &["monitor", "run", "run/monitor.jsonl"],
    ] {
        if arguments[0] == "monitor" {
            scratch.write("run/monitor.jsonl", "");
        }
        let error = scratch.refuse(arguments);
        if arguments[0] == "monitor" {
            std::fs::remove_file(scratch.path("run/monitor.jsonl")).unwrap();
        }
        let says = ["would destroy it", "and inside the output", "to the same file"];
        assert!(says.iter().any(|says| error.contains(says)), "{arguments:?}: {error}");
        assert!(everything(&scratch) == before, "{arguments:?} changed a file");
    }
    // Behind standard input and output, too.
    let open = |append| {
        let mut options = std::fs::OpenOptions::new();
        options.read(true).append(append).open(scratch.path("people.csv")).unwrap()
    };
    let mut command = scratch.command(&["predict", "run", "-", "-o", "people.csv"]);
    let ran = Ran::of(command.stdin(open(false)).output().unwrap());
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("would destroy it"), "{}", ran.err);
    for command in ["predict", "audit", "certify"] {
        let mut command = scratch.command(&[command, "run", "hard.csv"]);
        let ran = Ran::of(command.stdout(open(true)).output().unwrap());
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(
            ran.err.contains("standard output is hard.csv, the table that is read"),
            "{}",
            ran.err
        );
    }
    assert!(everything(&scratch) == before);
    // What is not an input is written.
    scratch.expect(0, &["predict", "run", "people.csv", "-o", "run/predictions.csv"]);
    scratch.expect(0, &["predict", "run", "people.csv", "-o", "run/predictions.csv"]);
    scratch.expect(0, &["report", "run", "--figures", "run/figures"]);
    scratch.expect(0, &["report", "run", "-o", "page.html"]);
}

#[test]
fn nothing_is_written_into_a_folder_of_images_that_is_read() {
    let scratch = Scratch::new();
    for (class, shade) in [("a", 0), ("b", 255)] {
        std::fs::create_dir_all(scratch.path(&format!("images/{class}"))).unwrap();
        for n in 0..4 {
            let file = scratch.path(&format!("images/{class}/{n}.png"));
            let mut encoder = png::Encoder::new(std::fs::File::create(file).unwrap(), 4, 4);
            encoder.set_color(png::ColorType::Grayscale);
            let mut writer = encoder.write_header().unwrap();
            writer.write_image_data(&[shade; 16]).unwrap();
        }
    }
    scratch.write(
        "images.toml",
        "[data]\nfolder = \"images\"\nsplit = { test = 0.25, seed = 0 }\n[training]\nepochs = 1\n",
    );
    let run = ["fit", "images.toml", "-q", "--no-report", "-o"];
    scratch.expect(0, &[&run[..], &["run"]].concat());
    let before = support::files_of_run(&scratch.path("images"));
    for arguments in [
        &[&run[..], &["images"]].concat()[..],
        &[&run[..], &["images/c"]].concat()[..],
        &[&run[..], &["images/a/deep/run"]].concat()[..],
        &["predict", "run", "images", "-o", "images/new.csv"],
        &["predict", "run", "images", "-o", "images/c/new.png"],
        &["attack", "run", "images", "-o", "images/a", "--steps", "1", "--restarts", "1"],
        &["attack", "run", "-o", "images/c", "--steps", "1", "--restarts", "1"],
    ] {
        let error = scratch.refuse(arguments);
        assert!(error.contains("is inside"), "{arguments:?}: {error}");
        assert!(support::files_of_run(&scratch.path("images")) == before, "{arguments:?}");
        assert!(!scratch.path("images/c").exists(), "{arguments:?}");
    }
    // Pixels beyond the limit.
    let limited = ["--read-limit", "image_bytes=100"];
    let error = scratch.refuse(&[&["predict", "run", "images"][..], &limited].concat());
    assert!(error.contains("--read-limit image_bytes=N"), "{error}");
    let limited = ["--set", "data.limits.image_bytes=100"];
    let error = scratch.refuse(&[&["check", "images.toml"][..], &limited].concat());
    assert!(error.contains("more than the 100 bytes allowed"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_that_is_full_is_a_failure_and_one_that_closes_is_not() {
    let scratch = trained();
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["help"],
        &["fit", "--help"],
        &["-h"],
        &["predict", "run", "people.csv"],
        &["predict", "run", "people.csv", "--json"],
        &["audit", "run", "people.csv"],
        &["check", "problem.toml"],
        &["check", "problem.toml", "--resolved"],
        &["init", "people.csv", "-o", "-"],
        &["report", "run"],
        &["resume", "run", "--no-report"],
        &["data"],
        &["data", "show", "compas"],
        &["bound", "--limit", "0.1"],
        &["completions", "bash"],
        &["man"],
        &["schema"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = Ran::of(scratch.command(arguments).stdout(full).output().unwrap());
        assert_eq!(ran.code, Some(3), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains("error: cannot write the result: "), "{arguments:?}: {}", ran.err);
        assert!(!ran.err.contains("bug"), "{arguments:?}: {}", ran.err);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = Ran::of(scratch.command(arguments).stdout(writer).output().unwrap());
        assert!(matches!(ran.code, Some(0 | 1)), "{arguments:?}: {:?} {}", ran.code, ran.err);
        assert!(!ran.err.contains("error"), "{arguments:?}: {}", ran.err);
    }
}

/// Characters that must reach nobody as they are.
fn is_harmful(c: char) -> bool {
    c != '\n' && feasible_data::is_hidden(c)
}

#[test]
fn names_with_control_characters_and_overrides_are_written_out_wherever_people_read_them() {
    let scratch = Scratch::new();
    let evil = "x\u{1b}[2J\u{7}\u{202e}\u{2066}\u{200b}\u{9b}1m";
    // A category, a column, a requirement, a title and a file.
    let people = support::people(200)
        .replace("gender", &format!("gen{evil}der"))
        .replace("Turin", &format!("\"Tu{evil}\n\trin\""))
        .replace("high", &format!("hi{evil}gh"));
    let file = format!("peo{evil}ple.csv");
    scratch.write(&file, &people);
    let quoted = |text: &str| {
        let text: String = text.chars().map(|c| format!("\\U{:08X}", u32::from(c))).collect();
        format!("\"{text}\"")
    };
    let problem = format!(
        "title = {}\n[data]\nfile = {}\ntarget = \"income\"\npositive = {}\nsplit = {{ test = 0.25 }}\n\
         [model]\nhidden = [4]\n[[requirement]]\nname = {}\nrate = \"accuracy\"\ngroups = \"city\"\nat_least = 0.1\n\
         [[requirement]]\nname = \"swap\"\nloss = \"kl\"\nat_most = 0.5\n\
         counterfactual = {{ pairs = \"city\" }}\n[training]\nepochs = 2\n",
        quoted(&format!("ti{evil}\ntle")),
        quoted(&file),
        quoted(&format!("hi{evil}gh")),
        quoted(&format!("na{evil}\n\tme")),
    );
    scratch.write("evil.toml", &problem);
    let clean = |what: &str, text: &str| {
        if let Some(c) = text.chars().find(|&c| is_harmful(c)) {
            panic!("{what} holds {c:?}: {text}");
        }
    };
    for arguments in [
        &["check", "evil.toml"][..],
        &["fit", "evil.toml", "-o", "run", "-v"],
        &["audit", "run", file.as_str()],
        &["audit", "run", file.as_str(), "--json"],
        &["certify", "run"],
        &["monitor", "run", file.as_str()],
        &["report", "run", "--figures", "figures"],
        &["init", file.as_str(), "-o", "-"],
        &["init", file.as_str(), "-o", "started.toml"],
        &["check", "started.toml"],
        &["check", "evil.toml", "--set", &format!("data.target=in{evil}come")],
        &["check", "evil.toml", "--set", &format!("data.rows=city == 'Tu{evil}ri'")],
        &["predict", "run", &format!("no{evil}where.csv")],
        &["fit", &format!("--no{evil}thing")],
        &["data", "show", &format!("ad{evil}ult")],
    ] {
        let ran = scratch.run(arguments);
        assert!(matches!(ran.code, Some(0..=2)), "{arguments:?}: {:?} {}", ran.code, ran.err);
        clean(&format!("{arguments:?}, standard output"), &ran.out);
        clean(&format!("{arguments:?}, standard error"), &ran.err);
    }
    let mut shown = 0;
    for (name, bytes) in support::files_of_run(&scratch.path("."))
        .into_iter()
        .chain([("page".into(), std::fs::read(scratch.path("run/report.html")).unwrap())])
    {
        if ["page", "run/model-card.md"].contains(&name.as_str()) || name.ends_with(".svg") {
            let text = String::from_utf8(bytes).unwrap();
            clean(&name, &text);
            shown += usize::from(text.contains(r"\u{202e}"));
        }
    }
    assert!(shown >= 3, "written out, not left out: {shown}");
    // A name takes one line of a table.
    let ran = scratch.run(&["audit", "run", &file]);
    assert!(ran.out.contains(r"\u{200b}\u{9b}1m\n\tme: Tu"), "{}", ran.out);
    // What programs read is exact.
    let json = scratch.run(&["predict", "run", &file, "--json"]).json();
    let classes = json["classes"].as_array().unwrap();
    assert!(classes.contains(&format!("hi{evil}gh").into()), "{classes:?}");
    let csv = scratch.run(&["predict", "run", &file]).out;
    assert!(csv.starts_with("row,class,") && csv.contains(&format!("p(hi{evil}gh)")), "{csv}");
}

#[test]
fn classes_that_a_spreadsheet_would_run_are_quoted_unless_they_are_to_be_kept() {
    let scratch = Scratch::new();
    let formula = "=HYPERLINK(\"\"https://example.org\"\")";
    let people =
        support::people(200).replace("high", &format!("\"{formula}\"")).replace("low", "-1");
    scratch.write("people.csv", &people);
    let problem = PROBLEM
        .replace("positive = \"high\"\n", "")
        // Both classes are predicted.
        .replace("epochs = 20", "epochs = 100\nrate = 0.05");
    scratch.write("problem.toml", &problem);
    scratch.expect(0, &["fit", "problem.toml", "-o", "run", "-q", "--no-report"]);
    let classes = |arguments: &[&str]| -> Vec<String> {
        let ran = scratch.expect(0, &[&["predict", "run", "people.csv"][..], arguments].concat());
        let rows =
            ran.out.lines().skip(1).map(|line| line.split(",0.").next().unwrap().to_string());
        let mut classes: Vec<_> = rows.map(|row| row.split_once(',').unwrap().1.into()).collect();
        classes.sort();
        classes.dedup();
        classes
    };
    assert_eq!(classes(&[]), [&format!("\"'{formula}\""), "-1"]);
    assert_eq!(classes(&["--formulas", "keep"]), [&format!("\"{formula}\""), "-1"]);
}

#[test]
fn groups_and_where_take_any_name_and_category() {
    let scratch = Scratch::new();
    for (column, categories) in [
        ("ci`ty", ["a`b", "``", "c"]),
        ("ci'ty \"x\"", ["it's", "''", "\"\""]),
        ("c\\i ty) or (", ["a\\b", "\\", "' or age > 0 or city == '"]),
        ("in", ["not", "and", "missing"]),
        ("encoded", ["encoded(x)", "", "\u{202e}x"]),
    ] {
        let cell = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut people = support::people(300).replace("city", &cell(column));
        for (city, category) in ["Lyon", "Turin", "Bergen"].into_iter().zip(categories) {
            people = people.replace(city, &cell(category));
        }
        scratch.write("people.csv", &people);
        let name = serde_json::Value::from(column).to_string();
        let mut problem = PROBLEM.replace("[model]", "missing = \"category\"\n[model]");
        write!(
            problem,
            "\n[[requirement]]\nname = \"by\"\nrate = \"accuracy\"\ngroups = {name}\nat_least = 0.1\n\
             where = \"age > 20 or age <= 20\"\n"
        )
        .unwrap();
        scratch.write("problem.toml", &problem);
        let check = scratch.expect(0, &["check", "problem.toml", "--json"]).json();
        assert_eq!(check["requirements"].as_array().unwrap().len(), 4, "{check}");
        // All rows of a group are its own, whatever it is called.
        let text = scratch.expect(0, &["check", "problem.toml"]).out;
        let points: usize = text
            .lines()
            .filter(|line| line.contains("'by: ") && line.ends_with(" points"))
            .map(|line| line.rsplit(' ').nth(1).unwrap().parse::<usize>().unwrap())
            .sum();
        let trained = check["rows"]["train"].as_u64().unwrap() as usize;
        assert_eq!(points, trained, "{text}");
    }
}

#[test]
fn files_that_never_end_are_refused_by_a_limit_that_can_be_raised() {
    let scratch = trained();
    let set = |value: &str| format!("data.format.skip_lines={value}");
    let error = scratch.refuse(&["check", "problem.toml", "--set", &set("9223372036854775807")]);
    assert!(error.contains("people.csv has only 401"), "{error}");
    let error = scratch.refuse(&["check", "problem.toml", "--set", "data.limits.rows=399"]);
    assert!(error.contains("more than the 399 rows allowed"), "{error}");
    let error = scratch.refuse(&["check", "problem.toml", "--set", "data.format.limits.rows=399"]);
    assert!(error.contains("[data.limits]"), "{error}");
    let ran = scratch.expect(0, &["check", "problem.toml", "--set", "data.limits.rows=400"]);
    assert!(ran.out.contains("limits on files   rows = 400"), "{}", ran.out);
    let ran = scratch.expect(0, &["check", "problem.toml"]);
    assert!(ran.out.contains("[data.limits] raises them"), "{}", ran.out);
    for (command, limit) in
        [("predict", "rows=399"), ("audit", "cells=3"), ("certify", "columns=3")]
    {
        let error = scratch.refuse(&[command, "run", "people.csv", "--read-limit", limit]);
        let key = limit.split('=').next().unwrap();
        assert!(error.contains(&format!("--read-limit {key}=N")), "{error}");
    }
    scratch.expect(0, &["predict", "run", "people.csv", "--read-limit", "rows=4e2"]);
    let error = scratch.expect(2, &["predict", "run", "people.csv", "--read-limit", "row=1"]).err;
    assert!(error.contains("no limit is named 'row': did you mean rows?"), "{error}");
    // Standard input that goes on.
    let mut child = scratch
        .command(&["predict", "run", "-", "--read-limit", "stdin_bytes=1000000"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let wrote = stdin.write_all(&vec![b'\n'; 16 << 20]);
    assert!(wrote.is_err(), "it reads no further");
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("--read-limit stdin_bytes=N"), "{}", ran.err);
}

#[test]
fn problem_files_that_nobody_wrote_are_refused() {
    let scratch = Scratch::new();
    scratch.write("large.toml", &"# nothing\n".repeat(1_700_000));
    let error = scratch.refuse(&["check", "large.toml"]);
    assert!(error.contains("more than 16000000 bytes"), "{error}");
    for (open, close) in [("[", "]"), ("{a=", "}")] {
        let text = format!("x = {}{}\n", open.repeat(100_000), close.repeat(100_000));
        scratch.write("deep.toml", &text);
        scratch.refuse(&["check", "deep.toml"]);
    }
    scratch.write("deep.toml", &format!("{}a = 1\n", "a.".repeat(100_000)));
    scratch.refuse(&["check", "deep.toml"]);
    let deep = format!("data.rows={}age > 1", "(".repeat(100_000));
    let error = scratch.refuse(&["check", "problem.toml", "--set", &deep]);
    assert!(error.contains("nested more than 64 deep"), "{error}");
    let long = format!("{}=1", vec!["a"; 20_000].join("."));
    scratch.refuse(&["check", "problem.toml", "--set", &long]);
}

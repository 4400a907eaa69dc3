//! Output fits the width it has, verdicts have colours where they are wanted, and long lists are short unless asked for.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use support::{PROBLEM, Ran, Scratch, people};

/// Requirements with long names, some of which cannot be met.
const MANY: &str = r#"
[[requirement]]
name = "few errors among people who are older than sixty years"
rate = "error"
where = "age > 60"
at_most = 0.001

[[requirement]]
name = "recall"
rate = "recall"
at_least = 0.1

[[requirement]]
name = "odds"
fairness = "equalised-odds"
groups = "city"
within = 0.9
"#;

fn at(scratch: &Scratch, width: usize, arguments: &[&str]) -> Ran {
    let mut command = scratch.command(arguments);
    Ran::of(command.env("COLUMNS", width.to_string()).output().unwrap())
}

/// Every line fits, but for words that are wider than the page.
fn insist(width: usize, arguments: &[&str], out: &str) {
    for line in out.lines() {
        let long = line.chars().count() > width;
        let one_word = line.split_whitespace().count() == 1;
        assert!(!long || one_word, "{width}, {arguments:?}: {line}\n{out}");
    }
}

/// The words of a text, however it is laid out.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text.split_whitespace().map(String::from).collect();
    words.sort();
    words
}

#[test]
fn every_result_fits_60_80_and_120_columns_and_no_word_is_broken() {
    let scratch = Scratch::new();
    scratch.write("many.toml", &format!("{PROBLEM}{MANY}"));
    scratch.expect(1, &["fit", "many.toml", "-o", "run", "-q"]);
    let commands: [&[&str]; 12] = [
        &["resume", "run"],
        &["resume", "run", "-v"],
        &["audit", "run", "people.csv"],
        &["certify", "run"],
        &["check", "many.toml"],
        &["check", "many.toml", "-v"],
        &["bound", "many.toml", "--limit", "0.02"],
        &["data", "list"],
        &["data", "show", "adult"],
        &["data", "show", "fashion-mnist"],
        &["export", "run"],
        &[
            "sweep",
            "many.toml",
            "--requirement",
            "recall",
            "--limits",
            "0.1,0.2",
            "--seeds",
            "1",
            "-o",
            "swept",
        ],
    ];
    for arguments in commands {
        let mut whole: Option<Vec<String>> = None;
        for width in [60, 80, 120, 1000] {
            let ran = at(&scratch, width, arguments);
            assert!(ran.code <= Some(1), "{arguments:?} {}", ran.err);
            insist(width, arguments, &ran.out);
            // What is left out are whole columns: no word is new, and none is cut.
            let known = words(&ran.out);
            match &whole {
                None => whole = Some(known),
                Some(narrow) => {
                    let new: Vec<_> = narrow.iter().filter(|w| !known.contains(w)).collect();
                    assert!(new.is_empty() || width < 1000, "{arguments:?}: {new:?}");
                }
            }
        }
    }
}

#[test]
fn without_a_terminal_the_width_is_100() {
    let scratch = Scratch::new();
    let mut command = scratch.command(&["data", "show", "adult"]);
    let ran = Ran::of(command.env_remove("COLUMNS").output().unwrap());
    insist(100, &["data", "show"], &ran.out);
    assert!(ran.out.lines().any(|line| line.chars().count() > 80), "{}", ran.out);
}

#[test]
fn verdicts_have_colours_only_where_they_are_wanted() {
    let scratch = Scratch::new();
    scratch.write("many.toml", &format!("{PROBLEM}{MANY}"));
    scratch.expect(1, &["fit", "many.toml", "-o", "run", "-q"]);
    let out = |more: &[&str], variables: &[(&str, &str)]| {
        let arguments = [&["resume", "run", "--no-report", "-v"], more].concat();
        let mut command = scratch.command(&arguments);
        Ran::of(command.envs(variables.iter().copied()).output().unwrap()).out
    };
    let plain = out(&[], &[]);
    assert!(!plain.contains('\u{1b}'));
    assert_eq!(out(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]), plain);
    let colored = out(&["--color", "always"], &[("NO_COLOR", "1")]);
    assert!(colored.starts_with("\u{1b}[1m\u{1b}[31m'few errors among"), "{colored}");
    assert!(colored.contains("\u{1b}[1m\u{1b}[31mNOT MET\u{1b}[0m"), "{colored}");
    assert!(colored.contains("\u{1b}[32mmet\u{1b}[0m"), "{colored}");
    // Nothing but colours is different, and nothing else is coloured.
    let stripped = ["\u{1b}[1m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[0m"]
        .iter()
        .fold(colored.clone(), |text, code| text.replace(code, ""));
    assert_eq!(stripped, plain);
    assert!(!out(&["--color", "always", "--json"], &[]).contains('\u{1b}'));
    assert!(!scratch.read("run/summary.json").contains('\u{1b}'));
    assert!(!scratch.read("run/model-card.md").contains('\u{1b}'));
}

#[test]
fn of_many_requirements_the_failures_are_printed_and_all_with_v() {
    let scratch = Scratch::new();
    let mut file = format!("{PROBLEM}{MANY}");
    for at in 0..30 {
        file += &format!(
            "\n[[requirement]]\nname = \"easy {at}\"\nrate = \"accuracy\"\nat_least = 0.{at:03}\n"
        );
    }
    scratch.write("many.toml", &file);
    let short = scratch.expect(1, &["fit", "many.toml", "-o", "run", "-q"]).out;
    assert!(
        short
            .contains("requirements are met on all rows (train, validation, test); -v lists them."),
        "{short}"
    );
    assert!(short.contains("NOT MET") && !short.contains("easy 17"), "{short}");
    let whole = scratch.expect(1, &["resume", "run", "-v"]).out;
    assert!(whole.contains("easy 17") && whole.contains("easy 29"), "{whole}");
    assert!(2 * short.len() < whole.len());
}

#[test]
fn check_on_two_thousand_categories_is_short_and_whole_with_v() {
    let scratch = Scratch::new();
    let mut lines = people(4000).lines().map(String::from).collect::<Vec<_>>();
    for (at, line) in lines.iter_mut().enumerate() {
        *line = if at == 0 { format!("town,{line}") } else { format!("town {},{line}", at % 2000) };
    }
    scratch.write("people.csv", &(lines.join("\n") + "\n"));
    let file = PROBLEM.replace("target =", "max_categories = 3000\nunseen = \"other\"\ntarget =");
    let easy =
        |at| format!("\n[[requirement]]\nname = \"{at}\"\nrate = \"accuracy\"\nat_least = 0.1\n");
    let easy: String = (0..30).map(easy).collect();
    scratch.write("problem.toml", &format!("{file}{easy}"));
    let short = scratch.expect(0, &["check", "problem.toml"]).out;
    assert!(short.len() < 6_000, "{} bytes", short.len());
    assert!(
        short.contains("more; -v lists them") && short.contains("more requirements; -v lists them"),
        "{short}"
    );
    let whole = scratch.expect(0, &["check", "problem.toml", "-v"]).out;
    assert!(whole.len() > 30_000 && whole.contains("town = town 1987"), "{} bytes", whole.len());
}

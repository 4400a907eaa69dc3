//! What the chapter on the program shows can be done as it is shown.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod support;

use support::Scratch;

/// The blocks of a language in the chapter.
fn blocks(language: &str) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/program.md");
    let text = std::fs::read_to_string(path).unwrap();
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1).map(|rest| rest.split_once("```").unwrap().0);
    blocks.map(String::from).collect()
}

#[test]
fn the_quick_start_runs() {
    let scratch = Scratch::new();
    let start = &blocks("sh")[0];
    for line in start.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[0], "feasible");
        scratch.expect(0, &words[1..]);
    }
    assert_eq!(scratch.read("predictions.csv").lines().count(), 16_282);
}

#[test]
fn every_problem_and_requirement_can_be_trained() {
    let scratch = Scratch::new();
    let blocks = blocks("toml");
    let (problem, requirements) = blocks.split_first().unwrap();
    scratch.write("problem.toml", problem);
    let quick = ["--set", "training.epochs=2", "-q"];
    scratch.expect(0, &["check", "problem.toml"]);
    let ran = scratch.run(&[&["fit", "problem.toml"], &quick[..]].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
    assert!(requirements.len() >= 7);
    for requirement in requirements {
        scratch.write("more.toml", &format!("{problem}\n{requirement}"));
        scratch.expect(0, &["check", "more.toml"]);
        let ran = scratch.run(&[&["fit", "more.toml"], &quick[..]].concat());
        assert!(matches!(ran.code, Some(0 | 1)), "{requirement}\n{}", ran.err);
        // What was saved can be audited.
        let audit = scratch.run(&["audit", "runs/more", "people.csv"]);
        assert!(matches!(audit.code, Some(0 | 1)), "{requirement}\n{}", audit.err);
        std::fs::remove_dir_all(scratch.path("runs/more")).unwrap();
    }
}

#[test]
fn every_command_is_mentioned() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/program.md");
    let text = std::fs::read_to_string(path).unwrap();
    let scratch = Scratch::new();
    let help = scratch.expect(0, &["-h"]).out;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    for line in commands.take_while(|line| line.starts_with("  ")) {
        let name = line.split_whitespace().next().unwrap();
        assert!(name == "help" || text.contains(&format!("`{name}")), "{name}");
    }
}

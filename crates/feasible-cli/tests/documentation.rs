//! What the README and the chapter on the program show can be done as it is shown. (`book` runs the other pages.)
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::depth::depth;
use crate::support;

use support::Scratch;

/// The blocks of a language in the chapter.
fn blocks(language: &str) -> Vec<String> {
    blocks_of("docs/program.md", language)
}

/// The blocks of a language in a file of the repository.
fn blocks_of(file: &str, language: &str) -> Vec<String> {
    let path = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1).map(|rest| rest.split_once("```").unwrap().0);
    blocks.map(String::from).collect()
}

#[test]
fn the_problem_file_of_the_readme_meets_its_requirements() {
    let scratch = Scratch::new();
    scratch.expect(0, &["data", "export", "adult", "."]);
    std::fs::rename(scratch.path("adult-train.csv"), scratch.path("people.csv")).unwrap();
    scratch.write("problem.toml", &blocks_of("README.md", "toml")[0]);
    // With all its epochs in `./check all`.
    let quick: &[&str] = if depth() > 1 { &[] } else { &["--set", "training.epochs=8"] };
    scratch.expect(0, &[&["fit", "problem.toml", "-q"], quick].concat());
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
fn the_limits_of_the_chapter_are_the_defaults() {
    let scratch = Scratch::new();
    let blocks = blocks("toml");
    let limits = blocks.iter().find(|block| block.starts_with("[data.limits]")).unwrap();
    assert_eq!(limits.lines().count(), 1 + feasible_data::Limits::KEYS.len());
    scratch.write("more.toml", &format!("{}\n{limits}", blocks[0]));
    let said = scratch.expect(0, &["check", "more.toml"]).out;
    assert!(said.contains("limits on files   the defaults"), "{said}");
}

#[test]
fn the_space_of_the_chapter_on_tuning_can_be_searched() {
    let scratch = Scratch::new();
    let space = &blocks_of("docs/tune.md", "toml")[0];
    scratch.write("tune.toml", &format!("{}\n{space}", support::PROBLEM));
    let said = scratch.expect(0, &["check", "tune.toml"]).out;
    assert!(said.contains("20 trials: model.hidden one of [64], [128, 128]"), "{said}");
    let tune = ["tune", "tune.toml", "--trials", "3", "--set", "training.epochs=2", "-q"];
    let ran = scratch.run(&tune);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
}

#[test]
fn every_command_is_mentioned() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/program.md");
    let text = std::fs::read_to_string(path).unwrap();
    let scratch = Scratch::new();
    let help = scratch.expect(0, &["-h"]).out;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let begins = |line: &&str| !line[2..].starts_with(' ');
    for line in commands.take_while(|line| line.starts_with("  ")).filter(begins) {
        let name = line.split_whitespace().next().unwrap();
        assert!(name == "help" || text.contains(&format!("`{name}")), "{name}");
    }
}

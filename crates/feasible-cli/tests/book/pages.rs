//! The commands of the README, the quick start, the tutorials and the how-to pages, run as they are printed.
//!
//! Blocks of `sh` run in order, in one scratch directory for each list of pages. A comment before a block marks it:
//! `file: NAME` saves the block under this name, `slow` runs it only with `--ignored`, `not run: REASON` leaves it
//! out. A block of `text` after one of `sh` is what that printed, up to the digits of numbers.
#![cfg(unix)]

use std::process::Command;

use super::markdown::{Block, blocks};
use super::support::Scratch;
use super::{markdown_files, read, repository, updating};

/// Numbers become #: their last digits are the processor's.
fn shape(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let mut shape = String::new();
        let mut rest = line.chars().peekable();
        while let Some(c) = rest.next() {
            if !c.is_ascii_digit() {
                shape.push(c);
                continue;
            }
            let mut exponent = false;
            while let Some(&next) = rest.peek() {
                let goes_on = next.is_ascii_digit()
                    || matches!(next, '.' | ',' | 'e')
                    || (exponent && matches!(next, '-' | '+'));
                if !goes_on {
                    break;
                }
                exponent = next == 'e';
                rest.next();
            }
            shape.push('#');
        }
        shape.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).filter(|line| !line.is_empty()).collect()
}

/// Runs a block in the scratch directory, with the program on the path; returns what it printed.
fn run(scratch: &Scratch, page: &str, commands: &str) -> String {
    let program = assert_cmd::cargo::cargo_bin!("feasible");
    let directory = program.parent().unwrap().to_str().unwrap();
    let path = format!("{directory}:{}", std::env::var("PATH").unwrap());
    // The program from its sources is the program of this test.
    let commands = commands.replace("cargo run --release -- ", "feasible ");
    let mut shell = Command::new("sh");
    shell.args(["-eu", "-c", &commands]).current_dir(scratch.path("."));
    shell.env("PATH", path).env("COLUMNS", "100").env("NO_COLOR", "1").env_remove("FEASIBLE_SEED");
    let output = shell.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{page}:\n{commands}\n{printed}\n{said}");
    printed
}

/// Runs the blocks of pages one after the other; returns how many commands that were.
fn run_pages(pages: &[String], slow: bool) -> usize {
    let scratch = Scratch::new();
    for name in ["loans.awk", "screening.awk"] {
        std::fs::copy(repository("docs/tutorials").join(name), scratch.path(name)).unwrap();
    }
    let mut commands = 0;
    for page in pages {
        let mut text = read(page);
        let mut at = 0;
        let mut printed = None;
        while let Some((number, block)) = blocks(&text).into_iter().enumerate().nth(at) {
            at = number + 1;
            let code = text[block.range.clone()].to_string();
            let Block { language, mark, range } = block;
            let mark = mark.unwrap_or_default();
            if let Some(name) = mark.strip_prefix("file: ") {
                scratch.write(name, &code);
            } else if language == "sh" {
                let left_out = mark.starts_with("not run: ") || (mark == "slow" && !slow);
                if !left_out {
                    printed = Some(run(&scratch, page, &code));
                    commands += 1;
                }
            } else if language == "text"
                && let Some(printed) = printed.take()
            {
                if updating() {
                    text.replace_range(range, &printed);
                    std::fs::write(repository(page), &text).unwrap();
                } else {
                    let advice = "UPDATE_BOOK=1 writes it again";
                    assert_eq!(shape(&printed), shape(&code), "{page}: {advice}");
                }
            }
        }
    }
    commands
}

fn how_to() -> Vec<String> {
    let first = ["docs/tutorials/lending.md", "docs/tutorials/pipeline.md"].map(String::from);
    first.into_iter().chain(markdown_files("docs/how-to")).collect()
}

#[test]
fn the_commands_of_the_readme_run() {
    assert!(run_pages(&["README.md".to_string()], false) >= 1);
}

#[test]
fn the_quick_start_runs() {
    assert!(run_pages(&["docs/quick-start.md".to_string()], false) >= 4);
}

#[test]
fn the_tutorial_on_medicine_runs() {
    assert!(run_pages(&["docs/tutorials/recall.md".to_string()], false) >= 3);
}

#[test]
fn the_tutorials_on_lending_and_the_how_to_pages_run() {
    assert!(run_pages(&how_to(), false) >= 20);
}

#[test]
#[ignore = "trains networks on images: some minutes"]
fn the_tutorial_on_images_and_the_slow_commands_run() {
    assert!(run_pages(&["docs/tutorials/robust.md".to_string()], true) >= 3);
    assert!(run_pages(&how_to(), true) >= 20);
}

#[test]
fn every_tutorial_is_run() {
    let mut run = how_to();
    run.extend(["docs/tutorials/recall.md", "docs/tutorials/robust.md"].map(String::from));
    for page in markdown_files("docs/tutorials") {
        assert!(run.contains(&page), "{page} is in no test");
    }
}

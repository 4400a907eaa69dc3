//! The reference pages are written from the program: its help texts, its schema, its files.

use super::problem_keys::problem_page;
use super::run_files::run_files_page;
use super::support::Scratch;
use super::{read, repository, updating};

/// Compares a page with what it should be, or writes it.
fn same(page: &str, expected: &str) {
    if updating() {
        std::fs::write(repository(page), expected).unwrap();
    }
    let advice =
        "run `UPDATE_BOOK=1 cargo test -p feasible-cli --test book reference` and commit it";
    let differing = || {
        let text = read(page);
        let pairs = text.lines().zip(expected.lines());
        pairs
            .filter(|(old, new)| old != new)
            .take(5)
            .map(|(o, n)| format!("- {o}\n+ {n}\n"))
            .collect::<String>()
    };
    assert!(read(page) == expected, "{page} is stale: {advice}\n{}", differing());
}

/// The names of the commands that a help text lists.
fn commands_of(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.map(|line| line.split_whitespace().next().unwrap().to_string());
    names.filter(|name| name != "help").collect()
}

/// The section of a command, and those of its commands.
fn sections(scratch: &Scratch, path: &[String], page: &mut String) {
    let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
    arguments.push("--help");
    let help = scratch.expect(0, &arguments).out;
    let name = [&["feasible".to_string()], path].concat().join(" ");
    let (about, usage) = help.split_once("\nUsage:").unwrap_or_else(|| panic!("{help}"));
    let about = about.replace('<', "&lt;");
    *page +=
        &format!("\n## {name}\n\n{}\n\n```text\nUsage:{}\n```\n", about.trim(), usage.trim_end());
    for command in commands_of(&help) {
        sections(scratch, &[path, &[command]].concat(), page);
    }
}

#[test]
fn the_page_on_commands_is_what_help_prints() {
    let mut page = String::from(
        "<!-- Written by `UPDATE_BOOK=1 cargo test -p feasible-cli --test book`: do not edit. -->\n\n# Commands\n\n\
         Every command, flag and environment variable, as `feasible COMMAND --help` prints them. [The program](../program.md)\n\
         explains how they fit together, and what the exit codes mean.\n",
    );
    sections(&Scratch::new(), &[], &mut page);
    same("docs/reference/commands.md", &page);
}

#[test]
fn the_page_on_problem_files_is_the_schema() {
    let schema = Scratch::new().expect(0, &["schema"]).json();
    same("docs/reference/problem-file.md", &problem_page(&schema));
}

#[test]
fn the_page_on_the_files_of_a_run_lists_every_field_with_its_meaning() {
    let page = "docs/reference/run-files.md";
    let new = run_files_page(&read(page));
    same(page, &new);
    let unknown: Vec<&str> = new.lines().filter(|line| line.ends_with("| ? |")).collect();
    assert!(unknown.is_empty(), "write what these mean in {page}:\n{}", unknown.join("\n"));
}

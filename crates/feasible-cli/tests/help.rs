//! Help texts: as they were read and found good.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use support::Scratch;

const COMMANDS: [&[&str]; 24] = [
    &[],
    &["fit"],
    &["resume"],
    &["predict"],
    &["export"],
    &["audit"],
    &["attack"],
    &["certify"],
    &["monitor"],
    &["bound"],
    &["sweep"],
    &["tune"],
    &["report"],
    &["check"],
    &["init"],
    &["data"],
    &["data", "list"],
    &["data", "show"],
    &["data", "export"],
    &["data", "fetch"],
    &["reproduce"],
    &["completions"],
    &["man"],
    &["schema"],
];

#[test]
fn every_help_text_is_as_reviewed() {
    let scratch = Scratch::new();
    for command in COMMANDS {
        let mut arguments = command.to_vec();
        arguments.push("--help");
        let help = scratch.expect(0, &arguments);
        assert_eq!(help.err, "");
        let mut name = vec!["help"];
        name.extend(command);
        insta::assert_snapshot!(name.join("-"), help.out);
    }
}

#[test]
fn every_help_text_ends_with_an_example_and_fits_the_terminal() {
    let scratch = Scratch::new();
    for command in COMMANDS {
        for flag in ["-h", "--help"] {
            let mut arguments = command.to_vec();
            arguments.push(flag);
            let help = scratch.expect(0, &arguments).out;
            let (_, example) = help.rsplit_once("Example:\n").unwrap_or_else(|| panic!("{help}"));
            assert!(example.lines().all(|line| line.starts_with("  feasible ")), "{example}");
            let wide = help.lines().find(|line| line.chars().count() > 80);
            assert_eq!(wide, None, "{command:?}");
        }
    }
}

#[test]
fn the_version_is_printed() {
    let ran = Scratch::new().expect(0, &["--version"]);
    assert_eq!(ran.out, format!("feasible {}\n", env!("CARGO_PKG_VERSION")));
}

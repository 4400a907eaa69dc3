//! The program as its users meet it, command by command.
//!
//! One program, since each is linked by itself: `cargo test -p feasible-cli --test suite attack::` runs one file of it.
//! Tests that need a process to themselves are programs of their own; `Cargo.toml` names them.

#![allow(clippy::unwrap_used, reason = "a test may stop")]

#[path = "../../feasible/tests/common/depth.rs"]
mod depth;
mod support;

mod attack;
mod certify;
mod commands;
mod conventions;
mod documentation;
mod first_table;
mod folder;
mod foreign;
mod golden;
mod help;
mod hostile_input;
mod images;
mod job_array;
mod json;
mod links;
mod mistakes;
mod monitor;
mod new_tables;
mod outputs;
mod ranks;
mod report;
mod sizes;
mod store;
mod tune;
mod width;
mod wrong_values;

/// Cargo looks for no tests by itself in a crate that has a suite.
#[test]
fn no_file_of_tests_is_forgotten() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let mut suites = 0;
    for one in std::fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path()) {
        let manifest = read(one.join("Cargo.toml"));
        let programs = manifest.lines().filter_map(|line| line.strip_prefix("name = \""));
        let programs = programs.map(|name| format!("tests/{}.rs", name.trim_end_matches('"')));
        let named: String = programs.map(|program| read(one.join(program))).collect();
        if named.is_empty() {
            continue;
        }
        suites += 1;
        for file in std::fs::read_dir(one.join("tests")).unwrap().map(|entry| entry.unwrap().path())
        {
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            let is_program =
                file.join("main.rs").is_file() || file.extension().is_some_and(|e| e == "rs");
            let is_known = named.lines().any(|line| line == format!("mod {name};"))
                || manifest.lines().any(|line| line == format!("name = \"{name}\""));
            assert!(
                !is_program || is_known,
                "{}: name it in suite.rs or in Cargo.toml",
                file.display()
            );
        }
    }
    assert!(suites > 0);
}

//! `feasible completions`, `man` and `schema`: the program described for shells, readers and editors.

use std::path::PathBuf;

use clap::CommandFactory;
use serde::Serialize;

use crate::arguments::{Arguments, CompletionsArguments, ManArguments, SchemaArguments, SchemaOf};
use crate::exit::{Exit, Failure, Result};
use crate::terminal::Terminal;

/// Prints a completion script.
pub fn completions(arguments: &CompletionsArguments, terminal: &Terminal) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "feasible", &mut script);
    terminal.print(&script)?;
    Ok(Exit::Met)
}

/// Prints the manual page, or writes all of them.
pub fn man(arguments: &ManArguments, terminal: &Terminal) -> Result<Exit> {
    #[derive(Serialize)]
    struct Written {
        files: Vec<PathBuf>,
    }
    let Some(directory) = &arguments.output else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Arguments::command()).render(&mut page)?;
        terminal.print(&page)?;
        return Ok(Exit::Met);
    };
    let failed = |error: std::io::Error| Failure::file("write", directory, &error);
    std::fs::create_dir_all(directory).map_err(failed)?;
    clap_mangen::generate_to(Arguments::command(), directory).map_err(failed)?;
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("feasible") && name.ends_with(".1") {
            files.push(path);
        }
    }
    files.sort_unstable();
    let written = Written { files };
    terminal.result(&written, |_| {
        written.files.iter().map(|file| format!("{}\n", file.display())).collect()
    })?;
    Ok(Exit::Met)
}

/// What `--json` prints; a test makes it from `docs/json.md`.
const OUTPUT_SCHEMA: &str = include_str!("../../output.schema.json");

/// Prints a schema.
pub fn schema(arguments: &SchemaArguments, terminal: &Terminal) -> Result<Exit> {
    match arguments.of {
        SchemaOf::Problem => terminal.print(feasible_problem::problem_schema().as_bytes())?,
        SchemaOf::Output => terminal.print(OUTPUT_SCHEMA.as_bytes())?,
    }
    Ok(Exit::Met)
}

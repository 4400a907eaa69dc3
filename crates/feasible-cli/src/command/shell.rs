//! `feasible completions`, `man` and `schema`: the program described for shells, readers and editors.

use std::path::PathBuf;

use clap::CommandFactory;
use feasible_run::output::{make_named_directory, write_over};
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
    let directory = &make_named_directory(directory).map_err(failed)?;
    let mut program = Arguments::command().disable_help_subcommand(true);
    program.build();
    let mut files = Vec::new();
    for command in with_subcommands(&program) {
        let page = clap_mangen::Man::new(command.clone());
        let path = directory.join(page.get_filename());
        let mut text = Vec::new();
        page.render(&mut text)?;
        write_over(&path, &|out| out.write_all(&text)).map_err(failed)?;
        files.push(path);
    }
    files.sort_unstable();
    let written = Written { files };
    terminal.result(&written, |_| {
        written.files.iter().map(|file| format!("{}\n", file.display())).collect()
    })?;
    Ok(Exit::Met)
}

/// A command, and all below it that are shown.
fn with_subcommands(command: &clap::Command) -> Vec<&clap::Command> {
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set());
    std::iter::once(command).chain(shown.flat_map(with_subcommands)).collect()
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

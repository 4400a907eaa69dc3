//! `feasible init`.

use std::path::Path;

use feasible_data::{Format, Table};
use feasible_problem::{problems, read_for_starter, starter, starter_name};
use feasible_run::output::{write_over, write_whole};
use feasible_run::storage::Content;
use serde::Serialize;

use super::table;
use crate::arguments::InitArguments;
use crate::exit::{Exit, Failure, Result};
use crate::outputs::{Inputs, refuse_standard_output};
use crate::terminal::Terminal;

/// What `--json` prints.
#[derive(Serialize)]
struct InitReport<'a> {
    /// The problem file that was written.
    file: &'a Path,
}

/// Writes a first problem file.
pub fn init(arguments: &InitArguments, terminal: &Terminal) -> Result<Exit> {
    let path = &arguments.table;
    let output = arguments.output.clone().unwrap_or_else(|| starter_name(path));
    if output != Path::new("-") {
        Inputs::new().file(path, "the table that is read").refuse(&output)?;
    }
    let embedded = problems().iter().find(|problem| path == Path::new(problem.name));
    let text = match embedded.filter(|_| !path.exists()) {
        Some(problem) => problem.text.to_string(),
        None => {
            let (table, format) = learned(path, arguments)?;
            let named = named_from(&output, path);
            starter(&table, &format, &named, arguments.target.as_deref())?
        }
    };
    if output == Path::new("-") {
        terminal.print(text.as_bytes())?;
        return Ok(Exit::Met);
    }
    if output.symlink_metadata().is_ok() && !arguments.force {
        return Err(Failure::input(format!(
            "{} exists: give another name with --output, or --force to replace it",
            output.display()
        )));
    }
    let content: Content<'_> = &|out| out.write_all(text.as_bytes());
    let written = match arguments.output {
        Some(_) => write_whole(&output, content),
        None => write_over(&output, content),
    };
    written.map_err(|error| Failure::file("write", &output, &error))?;
    let shown = output.display();
    let next = format!(
        "wrote {shown}: edit it, then `feasible check {shown}` and `feasible fit {shown}`\n"
    );
    terminal.result(&InitReport { file: &output }, |_| next)?;
    Ok(Exit::Met)
}

/// The table, and how it is written.
fn learned(path: &Path, arguments: &InitArguments) -> Result<(Table, Format)> {
    // Standard input cannot be read twice.
    if path == Path::new("-") {
        let format = Format::default();
        return Ok((table(path, &format, &arguments.limits)?, format));
    }
    refuse_standard_output(path)?;
    let (table, mut format) = read_for_starter(|format| {
        let mut format = format.clone();
        arguments.limits.raise(&mut format.limits);
        Ok(Table::read(path, &format)?)
    })?;
    format.limits = Format::default().limits;
    Ok((table, format))
}

/// The table as the problem file names it: files are meant from where the problem file is.
fn named_from(output: &Path, table: &Path) -> String {
    let here = output.parent().is_none_or(|parent| parent == Path::new(""));
    let path =
        if here { table.to_path_buf() } else { std::path::absolute(table).unwrap_or_default() };
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_file_is_named_after_its_table() {
        assert_eq!(starter_name(Path::new("data/people.csv.gz")), Path::new("people.toml"));
        assert_eq!(starter_name(Path::new("people")), Path::new("people.toml"));
    }

    #[test]
    fn a_table_is_named_from_where_the_problem_file_is() {
        assert_eq!(named_from(Path::new("p.toml"), Path::new("data/t.csv")), "data/t.csv");
        assert!(Path::new(&named_from(Path::new("a/p.toml"), Path::new("t.csv"))).is_absolute());
    }
}

//! `feasible init`.

use std::path::{Path, PathBuf};

use feasible_data::Format;
use feasible_problem::{problems, starter};
use feasible_run::write_whole;
use serde::Serialize;

use super::table;
use crate::arguments::InitArguments;
use crate::exit::{Exit, Failure, Result};
use crate::outputs::Inputs;
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
    let output = arguments.output.clone().unwrap_or_else(|| beside(path));
    if output != Path::new("-") {
        Inputs::new().file(path, "the table that is read").refuse(&output)?;
    }
    let embedded = problems().iter().find(|problem| path == Path::new(problem.name));
    let text = match embedded.filter(|_| !path.exists()) {
        Some(problem) => problem.text.to_string(),
        None => {
            let table = table(path, &Format::default(), &arguments.limits)?;
            starter(&table, &named_from(&output, path), arguments.target.as_deref())?
        }
    };
    if output == Path::new("-") {
        terminal.print(text.as_bytes())?;
        return Ok(Exit::Met);
    }
    if output.exists() && !arguments.force {
        return Err(Failure::input(format!(
            "{} exists: give another name with --output, or --force to replace it",
            output.display()
        )));
    }
    let written = write_whole(&output, &|out| out.write_all(text.as_bytes()));
    written.map_err(|error| Failure::file("write", &output, &error))?;
    let shown = output.display();
    let next = format!("wrote {shown}: edit it, then `feasible check {shown}`\n");
    terminal.result(&InitReport { file: &output }, || next)?;
    Ok(Exit::Met)
}

/// `people.toml` in the current directory, for `data/people.csv.gz`.
fn beside(table: &Path) -> PathBuf {
    let name = table.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let known = [".gz", ".zst", ".csv", ".tsv", ".txt", ".parquet"];
    let stem = known.iter().fold(name.as_str(), |stem, end| stem.strip_suffix(end).unwrap_or(stem));
    PathBuf::from(format!("{stem}.toml"))
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
        assert_eq!(beside(Path::new("data/people.csv.gz")), Path::new("people.toml"));
        assert_eq!(beside(Path::new("people")), Path::new("people.toml"));
    }

    #[test]
    fn a_table_is_named_from_where_the_problem_file_is() {
        assert_eq!(named_from(Path::new("p.toml"), Path::new("data/t.csv")), "data/t.csv");
        assert!(Path::new(&named_from(Path::new("a/p.toml"), Path::new("t.csv"))).is_absolute());
    }
}

//! `feasible report`.

use std::path::PathBuf;

use feasible_report::hard::Among;
use feasible_report::{Options, Report};
use feasible_run::files;
use serde::Serialize;

use crate::arguments::ReportArguments;
use crate::exit::{Exit, Failure, Result};
use crate::terminal::Terminal;

/// What `--json` prints.
#[derive(Serialize)]
struct Written {
    page: PathBuf,
    figures: Vec<PathBuf>,
    /// Whether every requirement is met on the rows the model is judged by.
    met: bool,
}

/// Puts a run on one page.
pub fn report(arguments: &ReportArguments, terminal: &Terminal) -> Result<Exit> {
    let directory = &arguments.directory;
    if !directory.is_dir() {
        let shown = directory.display();
        return Err(Failure::input(format!("{shown} is not a run directory: there is none")));
    }
    let among = if arguments.of == "all" { Among::All } else { Among::Positive };
    let options = Options { top: arguments.top, among, ..Options::default() };
    let report = Report::with(directory, &options)?;
    let page = arguments.output.clone().unwrap_or_else(|| directory.join(files::REPORT));
    report.write(&page)?;
    let figures = match &arguments.figures {
        Some(directory) => report.write_figures(directory)?,
        None => Vec::new(),
    };
    let written = Written { page, figures, met: report.met() };
    let lines = |written: &Written| {
        let files = std::iter::once(&written.page).chain(&written.figures);
        files.map(|file| format!("{}\n", file.display())).collect::<String>()
    };
    terminal.result(&written, || lines(&written))?;
    Ok(Exit::Met)
}

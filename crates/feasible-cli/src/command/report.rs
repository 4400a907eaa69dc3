//! `feasible report`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use feasible_problem::text::Page;
use feasible_report::hard::Among;
use feasible_report::{Options, Report};
use feasible_run::output::make_named_directory;
use feasible_run::sweep::{self, SWEEP};
use feasible_run::{GroupTables, Prices, RunDirectory, check_prices, files};
use serde::Serialize;

use super::fit::workers;
use crate::arguments::ReportArguments;
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;
use crate::outputs::{Inputs, refuse_foreign, refuse_twice};
use crate::progress::Progress;
use crate::terminal::{Terminal, command_line};

/// What `--json` prints.
#[derive(Serialize)]
struct Written {
    page: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    card: Option<PathBuf>,
    figures: Vec<PathBuf>,
    /// Whether every requirement is met on the rows the model is judged by.
    met: bool,
    /// Prices, predicted and observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    sensitivity: Option<Prices>,
}

/// Puts a run on one page, or several side by side.
pub fn report(arguments: &ReportArguments, terminal: &Terminal) -> Result<Exit> {
    if let Some(missing) = arguments.directories.iter().find(|directory| !directory.is_dir()) {
        let shown = missing.display();
        return Err(Failure::input(format!("{shown} does not exist")));
    }
    let several = arguments.directories.len() > 1
        || arguments.directories.iter().any(|directory| directory.join(files::SEEDS).is_file());
    if several && !arguments.groups.is_empty() {
        return Err(Failure::input("--groups works on one run: name one run directory"));
    }
    // What was trained in parts is joined first.
    for directory in &arguments.directories {
        feasible_run::join(directory, workers(arguments.threads))?;
    }
    let (report, page, sensitivity) = match arguments.directories.as_slice() {
        [directory] if directory.join(SWEEP).is_file() => {
            let report = Report::of_sweep(&sweep::join(directory)?, &command_line())?;
            (report, directory.join(files::REPORT), None)
        }
        [directory] if directory.join(files::SEEDS).is_file() && !arguments.check_sensitivity => {
            (Report::compare(&arguments.directories)?, directory.join(files::REPORT), None)
        }
        [directory] => {
            let (report, sensitivity) = one(directory, arguments, terminal)?;
            (report, directory.join(files::REPORT), sensitivity)
        }
        several if arguments.check_sensitivity => {
            let n = several.len();
            return Err(Failure::input(format!(
                "--check-sensitivity works on one run, but {n} directories are given"
            )));
        }
        several => (Report::compare(several)?, PathBuf::from("comparison.html"), None),
    };
    let page = arguments.output.clone().unwrap_or(page);
    let card = report.card().map(|_| page.with_file_name(files::MODEL_CARD));
    let named = arguments.figures.iter().flat_map(|directory| report.figure_files(directory));
    let own: Vec<PathBuf> = card.clone().into_iter().chain(named).collect();
    let outputs: Vec<PathBuf> = std::iter::once(page.clone()).chain(own.clone()).collect();
    refuse_twice(&outputs)?;
    let reads = |inputs: Inputs, run: &PathBuf| inputs.run(run).data_of_run(run);
    let inputs = arguments.directories.iter().fold(Inputs::new(), reads);
    outputs.iter().try_for_each(|output| inputs.refuse(output))?;
    own.iter().try_for_each(|output| refuse_foreign(output))?;
    let figures = match &arguments.figures {
        Some(directory) => {
            let made = make_named_directory(directory);
            let made = made.map_err(|error| Failure::file("make", directory, &error))?;
            report.write_figures(&made)?
        }
        None => Vec::new(),
    };
    match arguments.output {
        Some(_) => report.write(&page)?,
        None => report.write_own(&page)?,
    }
    let written = Written { page, card, figures, met: report.met(), sensitivity };
    let lines = |written: &Written, page: &Page| {
        let files = std::iter::once(&written.page).chain(&written.card).chain(&written.figures);
        let files = files.map(|file| format!("{}\n", file.display())).collect::<String>();
        match &written.sensitivity {
            Some(prices) => format!("{}\n{files}", prices.text_on(page)),
            None => files,
        }
    };
    terminal.result(&written, |page| lines(&written, page))?;
    Ok(Exit::Met)
}

/// The report of one run, prices verified if that was asked for.
fn one(
    directory: &Path,
    arguments: &ReportArguments,
    terminal: &Terminal,
) -> Result<(Report, Option<Prices>)> {
    let among = if arguments.of == "all" { Among::All } else { Among::Positive };
    let options = Options { top: arguments.top, among, ..Options::default() };
    // Whatever is wrong with the run is said before anything is solved.
    let made = || match arguments.groups.as_slice() {
        [] => Ok(Report::with(directory, &options)?),
        columns => {
            let groups = GroupTables::with_columns(&RunDirectory::new(directory), columns)?;
            Ok::<_, Failure>(Report::with_groups(directory, &options, groups)?)
        }
    };
    let report = made()?;
    if !arguments.check_sensitivity {
        return Ok((report, None));
    }
    let solves = feasible_report::Run::open(directory)?.summary.train.requirements.len();
    let progress = Arc::new(Progress::new(1 + 2 * solves, terminal));
    let lost = "interrupted: prices cannot be resumed";
    let interrupt = interrupt::listen(&progress, move || lost.into());
    let workers = workers(arguments.threads);
    let prices = check_prices(directory, arguments.delta, workers, &interrupt, &|event| {
        progress.observe(event);
    });
    progress.clear();
    let prices = prices.map_err(|error| match interrupt.is_raised() {
        true => Failure::interrupted(lost),
        false => error.into(),
    })?;
    Ok((made()?, Some(prices)))
}

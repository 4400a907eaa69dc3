//! `feasible monitor`.

use std::path::Path;

use feasible_problem::spec::CertifySpec;
use feasible_run::files;
use feasible_run::monitor::{Counted, Monitor, MonitorReport};

use super::{model, table};
use crate::arguments::{MonitorArguments, Watch};
use crate::exit::{Exit, Failure, Result};
use crate::outputs::Inputs;
use crate::terminal::Terminal;

/// Adds tables to the ledger of a run, and shows what it proves.
pub fn monitor(arguments: &MonitorArguments, terminal: &Terminal) -> Result<Exit> {
    let (run, tables) = (&arguments.run, &arguments.tables);
    // For its message about directories without a model.
    model(run)?;
    if !run.is_dir() {
        return Err(Failure::input(format!(
            "{}: give the run directory, where the ledger is kept",
            run.display()
        )));
    }
    if !arguments.at.is_empty() && arguments.at.len() != tables.len() {
        return Err(Failure::input(format!(
            "--at has {} labels for {} tables: give one for each, separated by commas",
            arguments.at.len(),
            tables.len()
        )));
    }
    if !tables.is_empty() {
        let settings = CertifySpec {
            confidence: arguments.confidence,
            all_but: arguments.all_but,
            ..CertifySpec::default()
        };
        let mut monitor = Monitor::open(run, &settings, arguments.unseen.map(Into::into))?;
        let format = monitor.format();
        for (at, path) in tables.iter().enumerate() {
            let file = (path != Path::new("-")).then_some(path.as_path());
            let stem = file.and_then(Path::file_stem).map(|stem| stem.to_string_lossy());
            let own = stem.unwrap_or("standard input".into()).into_owned();
            let label = arguments.at.get(at).unwrap_or(&own);
            Inputs::new().file(path, "the table that is read").refuse(&run.join(files::MONITOR))?;
            let read = table(path, &format, &arguments.limits)?;
            let shown = read.name().to_string();
            let selected = monitor.selection(&read)?;
            match monitor.add(&read, file, label)? {
                Counted::New => {
                    if let Some(sentence) = selected.and_then(|selected| selected.sentence()) {
                        terminal.note(&format!("{shown}: {sentence}"));
                    }
                }
                Counted::Already(label) => {
                    terminal.note(&format!("{shown} is counted already, as '{label}'"));
                }
                Counted::Labels(label) => {
                    terminal.note(&format!("{shown} brings the labels of '{label}'"));
                }
            }
        }
        // On disk before anything is said.
        monitor.commit()?;
    }
    let Some(standing) = MonitorReport::of(run)? else {
        return Err(Failure::input(format!(
            "{} is not monitored yet: give it a table of rows that came after training",
            run.display()
        )));
    };
    terminal.result(&standing, |page| standing.text_on(page))?;
    Ok(Exit::met(match arguments.require {
        Watch::NotDrifted => !standing.drifted && !standing.violated,
        Watch::Certified => standing.certified,
    }))
}

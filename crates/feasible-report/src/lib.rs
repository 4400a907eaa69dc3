//! A run of Feasible on one page.
//!
//! [`Report::of`] reads a finished run directory and makes one self-contained HTML page: the
//! verdict first, then what it cost, what made it hard, how training went, and how to reproduce
//! it. Nothing on the page is loaded from anywhere; it works offline, on a phone, printed, and
//! without a mouse. The figures are there as SVG and PNG files too.
//!
//! ```no_run
//! let report = feasible_report::Report::of("runs/adult".as_ref())?;
//! report.write("runs/adult/report.html".as_ref())?;
//! # Ok::<(), feasible_report::Error>(())
//! ```

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod attacked;
mod card;
mod certain;
pub mod chart;
mod compare;
mod cost;
mod data;
pub mod error;
pub mod figures;
mod format;
mod glossary;
mod groups;
pub mod hard;
mod judged;
pub mod layout;
mod monitor;
mod page;
mod requirements;
pub mod robust;
mod run;
mod sweep;
mod tune;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use error::{Error, Result};
use feasible_problem::Plan;
use feasible_problem::data::Data;
use feasible_run::output::{make_directory, refuse_foreign, write_own, write_whole};
use feasible_run::storage::Content;
use feasible_run::{Frontier, GroupTables, Judgement, files};
pub use figures::Figure;
pub use hard::Options;
pub use run::Run;

/// A report of a run. See the [crate](self).
#[derive(Clone, Debug)]
pub struct Report {
    html: String,
    figures: Vec<Figure>,
    met: bool,
    card: Option<String>,
}

impl Report {
    /// The report of the run in a directory.
    ///
    /// # Errors
    /// A directory that is not a run, a run cut short, one of a newer format, damaged files.
    pub fn of(directory: &Path) -> Result<Self> {
        Self::with(directory, &Options::default())
    }

    /// As [`Report::of`], with a choice of who counts as hard.
    ///
    /// # Errors
    /// As [`Report::of`].
    pub fn with(directory: &Path, options: &Options) -> Result<Self> {
        Self::new(&Run::open(directory)?, None, options)
    }

    /// As [`Report::with`], with other groups than the run's own.
    ///
    /// # Errors
    /// As [`Report::of`].
    pub fn with_groups(directory: &Path, options: &Options, groups: GroupTables) -> Result<Self> {
        let run = Run { groups: Some(groups), ..Run::open(directory)? };
        Self::new(&run, None, options)
    }

    /// As [`Report::with`], of a run whose plan is at hand, so that its data need not be read
    /// again.
    ///
    /// # Errors
    /// As [`Report::of`].
    pub fn of_plan(directory: &Path, plan: &Plan) -> Result<Self> {
        Self::of_data(directory, plan.shared_data())
    }

    /// As [`Report::of_plan`], of a plan of which only the data are still needed
    /// ([`Plan::into_training_data`]).
    ///
    /// # Errors
    /// As [`Report::of`].
    pub fn of_data(directory: &Path, data: Arc<Data>) -> Result<Self> {
        Self::new(&Run::open(directory)?, Some(data), &Options::default())
    }

    fn new(run: &Run, data: Option<Arc<Data>>, options: &Options) -> Result<Self> {
        let who = hard::who(run, data, options)?;
        let hard = figures::multipliers(run);
        let groups = figures::prevalence(&who);
        let training = figures::training(run);
        let attacked = robust::of(run);
        let monitored = monitor::figures(run);
        let searched = tune::figures(run);
        let figures = [&hard[..], &groups, &training, &attacked, &monitored, &searched];
        let html = page::render(run, options, &who, figures)?;
        let met = run.summary.met();
        let card = Some(card::card(run, options, &who));
        let figures = [&figures.concat()[..], &groups::figures(run)].concat();
        Ok(Self { html, figures, met, card })
    }

    /// The report of a sweep; `command` is how it was made.
    ///
    /// # Errors
    /// A page that cannot be laid out: our bug.
    pub fn of_sweep(frontier: &Frontier, command: &str) -> Result<Self> {
        let (html, figures) = sweep::render(frontier, command)?;
        let met = frontier.points.iter().all(|point| point.at_last().met);
        Ok(Self { html, figures, met, card: None })
    }

    /// The report of a predictor that was trained elsewhere.
    ///
    /// # Errors
    /// A page that cannot be laid out: our bug.
    pub fn of_judgement(title: &str, judged: &Judgement) -> Result<Self> {
        let html = judged::render(title, judged)?;
        Ok(Self { html, figures: Vec::new(), met: judged.evaluation.shows_met(), card: None })
    }

    /// Runs side by side; the directory of several seeds stands for all of them.
    ///
    /// # Errors
    /// As [`Report::of`], and more runs than fit beside each other.
    pub fn compare(directories: &[PathBuf]) -> Result<Self> {
        let runs = compare::open(directories)?;
        let (html, figures) = compare::render(&runs)?;
        let met = runs.iter().all(|run| run.summary.met());
        Ok(Self { html, figures, met, card: None })
    }

    /// A page of one's own, laid out by [`layout::page`], and its figures.
    pub fn of_page(html: String, figures: Vec<Figure>) -> Self {
        Self { html, figures, met: true, card: None }
    }

    /// The page.
    pub fn html(&self) -> &str {
        &self.html
    }

    /// The figures.
    pub fn figures(&self) -> &[Figure] {
        &self.figures
    }

    /// The model card in Markdown, of a report on one run.
    pub fn card(&self) -> Option<&str> {
        self.card.as_deref()
    }

    /// Whether every requirement is met on the rows the model is judged by.
    pub fn met(&self) -> bool {
        self.met
    }

    /// Writes the page to a file that the user named, and the model card, if there is one, beside it.
    ///
    /// # Errors
    /// A model card beside it that this program did not write; what the system says.
    pub fn write(&self, file: &Path) -> Result<()> {
        let card = file.with_file_name(files::MODEL_CARD);
        if self.card.is_some() {
            refuse_foreign(&card).map_err(failed("write", &card))?;
        }
        let content: Content<'_> = &|out| out.write_all(self.html.as_bytes());
        write_whole(file, content).map_err(failed("write", file))?;
        self.card.as_ref().map_or(Ok(()), |text| write(&card, text))
    }

    /// As [`Report::write`], where the program named the file.
    ///
    /// # Errors
    /// A file there that this program did not write; what the system says.
    pub fn write_own(&self, file: &Path) -> Result<()> {
        refuse_foreign(file).map_err(failed("write", file))?;
        self.write(file)
    }

    /// The files that [`Report::write_figures`] writes.
    pub fn figure_files(&self, directory: &Path) -> Vec<PathBuf> {
        self.figures.iter().map(|figure| directory.join(format!("{}.svg", figure.name))).collect()
    }

    /// Writes every figure as an SVG file into a directory, which is made if need be;
    /// gives the files.
    ///
    /// # Errors
    /// A directory that is a link, files there that this program did not write; what the system says.
    pub fn write_figures(&self, directory: &Path) -> Result<Vec<PathBuf>> {
        make_directory(directory).map_err(failed("make", directory))?;
        let files = self.figure_files(directory);
        for file in &files {
            refuse_foreign(file).map_err(failed("write", file))?;
        }
        for (figure, file) in self.figures.iter().zip(&files) {
            write(file, figure.svg())?;
        }
        Ok(files)
    }
}

/// Writes a file that the program named, whole or not at all.
fn write(file: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    let content: Content<'_> = &|out| out.write_all(bytes.as_ref());
    write_own(file, content).map_err(failed("write", file))
}

fn failed(operation: &'static str, file: &Path) -> impl Fn(std::io::Error) -> Error {
    let file = file.to_path_buf();
    move |source| Error::Io { operation, file: file.clone(), source }
}

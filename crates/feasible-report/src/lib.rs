//! A run of Feasible on one page.
//!
//! [`Report::of`] reads a finished run directory and makes one self-contained HTML page: the
//! verdict first, then what it cost, what made it hard, how training went, and how to reproduce
//! it. Nothing on the page is loaded from anywhere; it works offline, on a phone, printed, and
//! without a mouse. The figures are there as SVG files too.
//!
//! ```no_run
//! let report = feasible_report::Report::of("runs/adult".as_ref())?;
//! report.write("runs/adult/report.html".as_ref())?;
//! # Ok::<(), feasible_report::Error>(())
//! ```

pub mod chart;
pub mod error;
pub mod figures;
pub mod hard;
mod multipliers;
mod page;
pub mod robust;
mod run;
mod words;

use std::path::{Path, PathBuf};

pub use error::{Error, Result};
pub use figures::Figure;
pub use hard::Options;
pub use multipliers::{Multiplied, Point};
pub use run::{Epoch, EpochRequirement, EpochValidation, Run};

/// A report of a run. See the [crate](self).
#[derive(Clone, Debug)]
pub struct Report {
    html: String,
    figures: Vec<Figure>,
    met: bool,
}

impl Report {
    /// The report of the run in a directory.
    ///
    /// # Errors
    /// A directory that is no run, a run cut short, one of a newer format, damaged files.
    pub fn of(directory: &Path) -> Result<Self> {
        Self::with(directory, &Options::default())
    }

    /// As [`Report::of`], with a choice of who counts as hard.
    ///
    /// # Errors
    /// As [`Report::of`].
    pub fn with(directory: &Path, options: &Options) -> Result<Self> {
        let run = Run::open(directory)?;
        let who = page::who(&run, options);
        let hard = figures::multipliers(&run);
        let groups = figures::prevalence(&who);
        let training = figures::training(&run);
        let html = page::render(&run, options, &who, [&hard, &groups, &training])?;
        let met = run.summary.met();
        Ok(Self { html, figures: [hard, groups, training].concat(), met })
    }

    /// The page.
    pub fn html(&self) -> &str {
        &self.html
    }

    /// The figures.
    pub fn figures(&self) -> &[Figure] {
        &self.figures
    }

    /// Whether every requirement is met on the rows the model is judged by.
    pub fn met(&self) -> bool {
        self.met
    }

    /// Writes the page to a file.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, file: &Path) -> Result<()> {
        write(file, &self.html)
    }

    /// Writes every figure as an SVG file into a directory, which is made if need be; gives the
    /// files.
    ///
    /// # Errors
    /// What the system says.
    pub fn write_figures(&self, directory: &Path) -> Result<Vec<PathBuf>> {
        std::fs::create_dir_all(directory).map_err(|source| Error::Io {
            operation: "make",
            file: directory.to_path_buf(),
            source,
        })?;
        let mut files = Vec::new();
        for figure in &self.figures {
            let file = directory.join(format!("{}.svg", figure.name));
            write(&file, &figure.svg)?;
            files.push(file);
        }
        Ok(files)
    }
}

fn write(file: &Path, text: &str) -> Result<()> {
    std::fs::write(file, text).map_err(|source| Error::Io {
        operation: "write",
        file: file.to_path_buf(),
        source,
    })
}

//! Directories that no report can be made of, and what to do.

use std::path::PathBuf;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A directory that is no run.
    #[error("{} is not a run directory: it has no {missing}", .directory.display())]
    NotARun {
        /// The directory.
        directory: PathBuf,
        /// The file it lacks.
        missing: &'static str,
    },
    /// A run that has not ended.
    #[error(
        "{0} holds a run that was cut short{done}: `feasible resume {0}` continues it",
        .directory.display()
    )]
    Unfinished {
        /// The directory.
        directory: PathBuf,
        /// How far it got.
        done: String,
    },
    /// A run of a version of the program with another format.
    #[error(
        "{} is a run of feasible {version} in format {format}; this program reads format {known}: \
         use that version, or train again with this one", .directory.display()
    )]
    OtherFormat {
        /// The directory.
        directory: PathBuf,
        /// The program that wrote it.
        version: String,
        /// Its format.
        format: u64,
        /// The one that this program reads.
        known: u64,
    },
    /// A directory of several seeds.
    #[error(
        "{} holds the runs of {seeds} seeds: name one of its seed-… directories",
        .directory.display()
    )]
    Seeds {
        /// The directory.
        directory: PathBuf,
        /// How many.
        seeds: usize,
    },
    /// More runs than fit beside each other.
    #[error("{runs} runs are too many to compare: name at most {most}")]
    TooMany {
        /// How many.
        runs: usize,
        /// The most.
        most: usize,
    },
    /// A file of a run that does not say what it should.
    #[error("{}{} is damaged: {reason}", .file.display(), .line.map_or(String::new(), |n| format!(", line {n},")))]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The line, from 1, where there are lines.
        line: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// A file that cannot be read or written.
    #[error("cannot {operation} {}: {source}", .file.display())]
    Io {
        /// `read` or `write`.
        operation: &'static str,
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// What the run itself says.
    #[error(transparent)]
    Run(#[from] feasible_run::Error),
    /// The page could not be laid out: our bug.
    #[error("the page could not be laid out: {reason}")]
    Layout {
        /// What the template says.
        reason: String,
    },
}

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<minijinja::Error> for Error {
    fn from(error: minijinja::Error) -> Self {
        Self::Layout { reason: error.to_string() }
    }
}

//! Directories that no report can be made of, and what to do.

use std::path::PathBuf;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
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

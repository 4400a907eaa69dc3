//! What went wrong: which file, line and key, what is allowed, and what to do.
//!
//! How a training ended is never an error; see [`feasible::Outcome`].

use std::path::PathBuf;

use feasible_data::visible;

use crate::checkpoint::CheckpointError;
use crate::files::FORMAT;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A problem file, its data, or a question about them that cannot be used.
    #[error(transparent)]
    Problem(#[from] feasible_problem::Error),
    /// A file of a run that cannot be read or written.
    #[error("cannot {operation} {}: {source}", visible(.path))]
    Storage {
        /// `read`, `write`, `append to`, ….
        operation: &'static str,
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A checkpoint that cannot be used.
    #[error("{path}: {reason}")]
    Checkpoint {
        /// The file.
        path: String,
        /// Why.
        #[source]
        reason: CheckpointError,
    },
    /// A directory that already holds something.
    #[error(
        "{} is not empty: give another directory, resume the run in it, or force it to be replaced",
        .directory.display()
    )]
    NotEmpty {
        /// The directory.
        directory: PathBuf,
    },
    /// A directory that is to be replaced, with a file in it that no run wrote.
    #[error(
        "{} was not written by a run of feasible, so nothing is replaced: move it away, or give another directory",
        visible(&.file.display().to_string())
    )]
    Foreign {
        /// The file, or the directory.
        file: PathBuf,
    },
    /// A directory another process works in.
    #[error("{} is in use by another process: wait for it or stop it", .directory.display())]
    InUse {
        /// The directory.
        directory: PathBuf,
    },
    /// A directory that is no run.
    #[error("{location} is not a run directory: it has no {missing}")]
    NotARun {
        /// The directory.
        location: String,
        /// The file it lacks.
        missing: &'static str,
    },
    /// A run of a version of the program with another format.
    #[error(
        "{} is a run of feasible {version} in format {format}; this program reads format {FORMAT}: \
         use that version, or train again with this one", .directory.display()
    )]
    OtherFormat {
        /// The directory.
        directory: PathBuf,
        /// The program that wrote it.
        version: String,
        /// Its format.
        format: u64,
    },
    /// A run that cannot end yet.
    #[error(
        "{location}: no epoch of this run has been saved yet, so there is no model to finish with"
    )]
    NotTrained {
        /// The directory.
        location: String,
    },
    /// A directory with several runs where one is asked for.
    #[error("{location} holds several runs: give the directory of one of them")]
    SeveralRuns {
        /// The directory.
        location: String,
    },
    /// A file of a run that does not say what it should.
    #[error("{path} is damaged: {reason}")]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The data are not those the run was started with.
    #[error(
        "{table} has changed since the run was started (SHA-256 {found:.12}…, then \
         {expected:.12}…): restore it, or start a new run"
    )]
    DataChanged {
        /// The table.
        table: String,
        /// Its hash when the run was started.
        expected: String,
        /// Its hash now.
        found: String,
    },
    /// A file that is no model of ours, or a damaged one.
    #[error("{path} is not a model that can be used: {reason}")]
    Model {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
}

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<feasible::Error> for Error {
    fn from(error: feasible::Error) -> Self {
        Self::Problem(error.into())
    }
}

impl From<feasible_data::Error> for Error {
    fn from(error: feasible_data::Error) -> Self {
        Self::Problem(error.into())
    }
}

impl Error {
    /// A question that makes no sense for this model or plan.
    pub fn unfit(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Problem(feasible_problem::Error::unfit(what, reason))
    }

    /// What the system said, if it said something.
    pub fn system(&self) -> Option<&std::io::Error> {
        match self {
            Self::Problem(error) => error.system(),
            Self::Storage { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Whether the user's input is at fault (exit code 2) rather than the machine or the program.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Problem(error) => error.is_input(),
            other => !matches!(other, Self::Storage { .. }),
        }
    }
}

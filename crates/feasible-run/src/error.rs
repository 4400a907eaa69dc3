//! What went wrong: which file, line and key, what is allowed, and what to do.
//!
//! How a training ended is never an error; see [`feasible::Outcome`].

use std::fmt;
use std::path::PathBuf;

use crate::checkpoint::CheckpointError;

/// Where in a problem file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The problem file, as the caller named it.
    pub file: String,
    /// Line and column, from 1; `None` for a key that the file does not have.
    pub at: Option<(usize, usize)>,
    /// The key: `requirement[0].at_most`.
    pub key: String,
    /// The override that set the key, if one did: `training.epochs=many`.
    pub set_by: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.set_by, self.at) {
            (Some(text), _) => write!(f, "--set {text}")?,
            (None, Some((line, column))) => write!(f, "{}:{line}:{column}", self.file)?,
            (None, None) => write!(f, "{}", self.file)?,
        }
        if !self.key.is_empty() && self.key != "." {
            write!(f, ": {}", self.key)?;
        }
        Ok(())
    }
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A problem file that cannot be used.
    #[error("{place}: {message}")]
    Problem {
        /// Where.
        place: Place,
        /// What is wrong, what is allowed, and the nearest name.
        message: String,
    },
    /// An override (`--set key=value`) that cannot be applied.
    #[error("--set {text}: {reason}")]
    Override {
        /// The override as given.
        text: String,
        /// Why, and what to do.
        reason: String,
    },
    /// No problem of this name, and no such file.
    #[error("no problem file '{name}'{hint}")]
    UnknownProblem {
        /// What was asked for.
        name: String,
        /// The nearest embedded name, or all of them.
        hint: String,
    },
    /// Data that cannot be used.
    #[error(transparent)]
    Data(#[from] feasible_data::Error),
    /// The core refused a setting.
    #[error(transparent)]
    Core(#[from] feasible::Error),
    /// A file of a run that cannot be read or written.
    #[error("cannot {operation} {path}: {source}")]
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
    /// A run that cannot end yet.
    #[error("{location}: no epoch of this run was saved yet, so there is no model to end with")]
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
    /// Memory that the system does not give.
    #[error(
        "{what}: the system does not give the {} of memory that this takes: end other programs, raise a limit on \
         this one (`ulimit -v`), or make the problem smaller", crate::text::bytes(*.needed)
    )]
    Memory {
        /// What needs it.
        what: String,
        /// Bytes.
        needed: usize,
    },
    /// A question that makes no sense for this model or plan.
    #[error("{what}: {reason}")]
    Unfit {
        /// What was asked.
        what: String,
        /// Why it cannot be answered, and what to do.
        reason: String,
    },
}

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn unfit(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Unfit { what: what.into(), reason: reason.into() }
    }

    /// Whether the user's input is at fault (exit code 2) rather than the machine or the program.
    pub fn is_input(&self) -> bool {
        !matches!(self, Self::Storage { .. } | Self::Memory { .. })
    }
}

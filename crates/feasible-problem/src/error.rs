//! What went wrong: which file, line and key, what is allowed, and what to do.

use std::fmt;

use feasible_data::visible;

/// Where in a problem file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPlace {
    /// The problem file, as the caller named it.
    pub file: String,
    /// Line and column, from 1; `None` for a key that the file does not have.
    pub at: Option<(usize, usize)>,
    /// The key: `requirement[0].at_most`.
    pub key: String,
    /// The override that set the key, if one did: `training.epochs=many`.
    pub set_by: Option<String>,
}

impl fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.set_by, self.at) {
            (Some(text), _) => write!(f, "--set {}", visible(text))?,
            (None, Some((line, column))) => write!(f, "{}:{line}:{column}", visible(&self.file))?,
            (None, None) => write!(f, "{}", visible(&self.file))?,
        }
        if !self.key.is_empty() && self.key != "." {
            write!(f, ": {}", visible(&self.key))?;
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
        place: KeyPlace,
        /// What is wrong, what is allowed, and the nearest name.
        message: String,
    },
    /// An override (`--set key=value`) that cannot be applied.
    #[error("--set {}: {reason}", visible(.text))]
    Override {
        /// The override as given.
        text: String,
        /// Why, and what to do.
        reason: String,
    },
    /// No problem of this name, and no such file.
    #[error("no problem file '{}'{hint}", visible(.name))]
    UnknownProblem {
        /// What was asked for.
        name: String,
        /// The nearest embedded name, or all of them.
        hint: String,
    },
    /// A requirement that does not fit the rows it speaks of.
    #[error("{error} (`{key}` of requirement '{}')", visible(.name))]
    Requirement {
        /// The number of its `[[requirement]]`, from 0.
        index: usize,
        /// Its name.
        name: String,
        /// The key at fault: `where`, `against`, `counterfactual` or `adversary`.
        key: &'static str,
        /// What is wrong.
        error: Box<Error>,
    },
    /// Data that cannot be used.
    #[error(transparent)]
    Data(#[from] feasible_data::Error),
    /// The core refused a setting.
    #[error(transparent)]
    Core(#[from] feasible::Error),
    /// A file that cannot be read.
    #[error("cannot {operation} {}: {source}", visible(.path))]
    Storage {
        /// `read`, ….
        operation: &'static str,
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Memory that the system does not give.
    #[error(
        "{what}: the system refused the {} of memory that this takes: close other programs, raise a limit on \
         this one (`ulimit -v`), or make the problem smaller", crate::text::bytes(*.needed)
    )]
    Memory {
        /// What needs it.
        what: String,
        /// Bytes.
        needed: usize,
    },
    /// A question that makes no sense for this model or plan.
    #[error("{}: {reason}", visible(.what))]
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
    /// [`Error::Unfit`].
    pub fn unfit(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Unfit { what: what.into(), reason: reason.into() }
    }

    /// What the system said, if it said something.
    pub fn system(&self) -> Option<&std::io::Error> {
        match self {
            Self::Storage { source, .. } | Self::Data(feasible_data::Error::Io { source, .. }) => {
                Some(source)
            }
            Self::Requirement { error, .. } => error.system(),
            _ => None,
        }
    }

    /// Whether the user's input is at fault (exit code 2) rather than the machine or the program.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Requirement { error, .. } => error.is_input(),
            other => !matches!(other, Self::Storage { .. } | Self::Memory { .. }),
        }
    }
}

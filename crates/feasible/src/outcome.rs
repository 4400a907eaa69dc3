//! How a training ended: a value, not an error.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a training ended.
///
/// ```
/// use feasible::Outcome;
/// let advice = |outcome: &Outcome| match outcome {
///     Outcome::Converged | Outcome::Feasible | Outcome::Unconstrained => "use it",
///     Outcome::MaxEpochs => "train longer",
///     Outcome::Stalled => "relax a limit, or be more patient",
///     Outcome::Infeasible { proven: true, .. } => "relax a limit",
///     Outcome::Infeasible { .. } => "relax a limit, or use a richer model",
///     Outcome::Diverged { .. } => "lower the rates",
///     Outcome::Interrupted => "resume it",
///     _ => "read how it ended",
/// };
/// let diverged = Outcome::Diverged { what: "the objective".into(), epoch: 3 };
/// assert_eq!(advice(&diverged), "lower the rates");
/// assert!(diverged.to_string().contains("epoch 3"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ended")]
#[non_exhaustive]
pub enum Outcome {
    /// An optimality criterion (duality gap, KKT residual) was reached.
    Converged,
    /// Training ended, by feasibility, patience or epochs, with every requirement met.
    Feasible,
    /// Training ended, and no requirements were stated.
    Unconstrained,
    /// Training stopped after its last epoch, with a requirement not met.
    MaxEpochs,
    /// Nothing improved for as long as the user's patience, and a requirement is not met.
    Stalled,
    /// No nearby parameters meet the requirements together: their total violation is at a
    /// minimum that is not zero.
    Infeasible {
        /// The requirement with the largest remaining violation.
        requirement: String,
        /// Its violation where the total violation is smallest.
        violation: f64,
        /// Whether that is a proof that no parameters at all meet them, as it is for convex problems;
        /// otherwise none were found.
        #[serde(default)]
        proven: bool,
    },
    /// A number became infinite or NaN; the last finite parameters are returned.
    Diverged {
        /// What was not finite.
        what: String,
        /// In which epoch, from 1.
        epoch: u64,
    },
    /// Stopped from outside; can be resumed.
    Interrupted,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Converged => write!(f, "converged"),
            Self::Feasible => write!(f, "feasible: every requirement is met"),
            Self::Unconstrained => write!(f, "trained: no requirements were stated"),
            Self::MaxEpochs => write!(f, "stopped at the last epoch, a requirement is not met"),
            Self::Stalled => write!(f, "no more progress, a requirement is not met"),
            Self::Infeasible { requirement, violation, proven } => {
                let verdict = if *proven { "infeasible" } else { "no feasible model found" };
                write!(
                    f,
                    "{verdict}: '{requirement}' stays violated by {violation:.3e} where all \
                     requirements together are violated least; relax a limit or use a richer model"
                )
            }
            Self::Diverged { what, epoch } => {
                write!(f, "diverged: {what} was not finite in epoch {epoch}; lower the rates")
            }
            Self::Interrupted => write!(f, "interrupted"),
        }
    }
}

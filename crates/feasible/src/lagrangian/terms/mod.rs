//! The half of the Lagrangian on this side of the outputs: outputs and multipliers in, values and output gradients
//! ("seeds") out.
//!
//! Losses are functions of a model's outputs, so nothing here knows a model. Who has the outputs of some rows, of
//! a network, of trees, of a program in another language, gets from here what the Lagrangian's terms are there and
//! which way the outputs have to move. The other half, which drives a [`Model`](crate::Model) over the rows, is
//! [`pass`](super::pass).

use crate::multiplier::Multipliers;
use crate::problem::Problem;

mod distinct;
mod entries;
mod found;
mod kinds;
mod rows;
mod violations;
mod weight;

pub(super) use distinct::Shared;
pub(super) use found::{Found, PointViolation, SeenKinds, TermSums};
pub(super) use weight::Weight;

use entries::Entries;
use kinds::Kinds;

/// Whether the objective is part of the Lagrangian, or only the requirements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Everything,
    RequirementsOnly,
}

/// What is to be computed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ask<'m> {
    /// Losses only.
    Values,
    /// The gradient at these multipliers.
    Gradient(&'m Multipliers),
    /// The gradient, and the violations on the way.
    GradientAndValues(&'m Multipliers),
}

impl<'m> Ask<'m> {
    pub(super) fn multipliers(&self) -> Option<&'m Multipliers> {
        match self {
            Self::Values => None,
            Self::Gradient(m) | Self::GradientAndValues(m) => Some(m),
        }
    }

    pub(super) fn wants_values(&self) -> bool {
        !matches!(self, Self::Gradient(_))
    }
}

/// The terms of a problem, by source.
pub(super) struct Terms {
    pub(super) problem: Problem,
    /// Per source, the number of its first term.
    first: Vec<usize>,
    pub(super) scope: Scope,
}

impl Terms {
    pub(super) fn new(problem: Problem) -> Self {
        let sources = problem.sources().iter();
        let first = sources
            .scan(0, |next, s| Some(std::mem::replace(next, *next + s.terms.len())))
            .collect();
        Self { problem, first, scope: Scope::Everything }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.problem.sources().iter().map(|s| s.terms.len()).sum()
    }
}

/// The rows that terms are evaluated on, and what for.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) source: usize,
    pub(super) rows: &'a [u32],
    /// How many rows of the source each of them stands for.
    pub(super) scale: f64,
    pub(super) ask: Ask<'a>,
}

/// A model's outputs, and their gradients.
pub(super) struct Outputs<'o, T> {
    /// Numbers per output.
    pub(super) width: usize,
    pub(super) outputs: &'o [T],
    /// As many, to be added to; of any length if no gradient is asked for.
    pub(super) seeds: &'o mut [T],
}

/// What has been found, and memory that is reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Work<T> {
    pub(super) found: Found,
    positions: Vec<u32>,
    members: Vec<u32>,
    weights: Vec<T>,
    values: Vec<T>,
    measured: Vec<T>,
    pub(super) kinds: Kinds<T>,
    entries: Entries<T>,
    by_at: Vec<T>,
    by_against: Vec<T>,
}

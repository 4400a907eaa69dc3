//! What a point weighs in the gradient of the Lagrangian.

use crate::lagrangian::terms::{Scope, Terms};
use crate::multiplier::Multipliers;
use crate::requirement::Kind;
use crate::source::{Owner, Source, SourceTerm};

/// The factor on each point's loss gradient in the Lagrangian.
pub(in crate::lagrangian) enum Weight<'m> {
    /// The same for all points: of the objective, or of an average requirement.
    Uniform(f64),
    /// Each point its own: of a pointwise requirement.
    PerPoint { factor: f64, multipliers: &'m [f64] },
    /// That of the row's sample: of a weighted objective.
    PerRow { factor: f64, weights: &'m [f64] },
}

impl<'m> Weight<'m> {
    /// Of the points of a term, each of which stands for `scale` points of its population.
    pub(in crate::lagrangian) fn of(
        term: &SourceTerm,
        source: &'m Source,
        terms: &Terms,
        multipliers: &'m Multipliers,
        scale: f64,
    ) -> Self {
        let factor = scale * term.coefficient / term.points;
        match term.owner {
            Owner::Objective if terms.scope == Scope::RequirementsOnly => Self::Uniform(0.0),
            Owner::Objective => match source.weights_of(term) {
                Some(weights) => Self::PerRow { factor, weights },
                None => Self::Uniform(factor),
            },
            Owner::Requirement(i) => match terms.problem.requirements()[i].kind() {
                Kind::Average => Self::Uniform(factor * multipliers.of(i)[0]),
                Kind::Pointwise => Self::PerPoint { factor, multipliers: multipliers.of(i) },
            },
        }
    }

    /// Of a point of a row of the data set.
    #[inline(always)]
    pub(in crate::lagrangian) fn at(&self, point: usize, row: u32) -> f64 {
        match self {
            Self::Uniform(weight) => *weight,
            Self::PerPoint { factor, multipliers } => factor * multipliers[point],
            Self::PerRow { factor, weights } => factor * weights[row as usize],
        }
    }

    /// Whether every point has the same weight, and one that counts.
    pub(super) fn is_uniform(&self) -> bool {
        matches!(self, Self::Uniform(w) if *w != 0.0)
    }

    /// Whether no point weighs anything.
    pub(in crate::lagrangian) fn is_zero(&self) -> bool {
        matches!(self, Self::Uniform(0.0))
    }
}

//! Where losses without an upper bound are clipped, so that held-out rows can prove something about them.
//!
//! B must not depend on the rows that certify. It is the largest loss of the rows that the training has used, those of
//! validation included, but at least 5 and at most 20 times the limit: a clipped loss whose mean could not reach the limit would
//! prove nothing, and one extreme row shall not make every bound useless. Where no such rows are at hand (outputs of another model,
//! losses under attack), B is 20 times the limit.

use std::collections::BTreeMap;

use feasible::{Kind, Model, View};
use feasible_problem::clause::Clause;

use crate::error::Result;
use crate::subject::Answers;

/// B is between these multiples of the limit.
const MULTIPLES: (f64, f64) = (5.0, 20.0);

/// B of each requirement on the mean of a loss without an upper bound, by the rows that were trained and selected on.
pub(crate) fn clips(used: &[&Answers<'_>]) -> Result<BTreeMap<String, f64>> {
    let mut clips = BTreeMap::new();
    for answers in used {
        for (clause, largest) in answers.largest_losses()? {
            let clip = clips.entry(clause.name.clone()).or_insert(0.0);
            *clip = within(clause, largest).max(*clip);
        }
    }
    clips.retain(|_, clip| *clip > 0.0 && clip.is_finite());
    Ok(clips)
}

fn within(clause: &Clause, largest: f64) -> f64 {
    match multiples(clause) {
        Some((least, most)) => largest.clamp(least, most),
        None => largest,
    }
}

/// The least and the largest B; `None` of a difference, whose limit says nothing about the size of a loss.
fn multiples(clause: &Clause) -> Option<(f64, f64)> {
    let limit = clause.bound.limit();
    let (least, most) = MULTIPLES;
    (clause.against.is_none() && limit > 0.0).then_some((least * limit, most * limit))
}

impl Answers<'_> {
    /// B of each requirement of the problem.
    pub(crate) fn clips(&self) -> Vec<Option<f64>> {
        let stated = self.subject.clauses.iter().zip(&self.points).filter(|(_, p)| p.is_some());
        let clip = |(clause, _): (&Clause, _)| {
            let known = self.subject.clips.get(&clause.name).copied();
            known.or(multiples(clause).map(|(_, most)| most))
        };
        stated.map(clip).collect()
    }

    /// The largest loss of a row, of each requirement on the mean of a loss without an upper bound.
    fn largest_losses(&self) -> Result<Vec<(&Clause, f64)>> {
        let stated = self.subject.clauses.iter().zip(&self.points).filter(|(_, p)| p.is_some());
        let width = self.model.output_width();
        let mut found = Vec::new();
        for ((clause, _), requirement) in stated.zip(self.problem.requirements()) {
            if requirement.kind() == Kind::Pointwise {
                continue;
            }
            for term in requirement.terms() {
                let (population, measure) = (term.population(), term.measure());
                // An attack on every row once more would take as long as training.
                let attacked = matches!(population.view(), View::Adaptive(_));
                if attacked || measure.properties(width).bound.is_some() {
                    continue;
                }
                let losses = population.losses(measure, &self.model, self.subject.theta)?;
                let largest =
                    losses.into_iter().filter(|loss| loss.is_finite()).fold(0.0, f64::max);
                found.push((clause, largest));
            }
        }
        Ok(found)
    }
}

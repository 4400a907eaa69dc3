//! Two requirements that exclude each other: one asks for more of a quantity than the other allows, on the same training rows.
//!
//! Complements are one quantity: an error rate and an accuracy, a recall and a miss rate.

use feasible::{Loss, Problem, Requirement};

use crate::clause::{Bound, Clause};
use crate::error::Result;
use crate::rate::Among;
use crate::spec::{LimitKey, ProblemSource, RequirementKind, RequirementSpec};
use crate::text::{grouped, short};

/// Limits are this much apart at least.
const APART: f64 = 1e-9;

/// What a clause limits, complements taken to one side.
struct Limited<'c> {
    clause: &'c Clause,
    loss: String,
    bound: Bound,
    requirement: &'c Requirement,
}

impl<'c> Limited<'c> {
    fn new(clause: &'c Clause, requirement: &'c Requirement, classes: usize) -> Self {
        let mut loss = clause.measure.as_ref().unwrap_or(&clause.loss).clone();
        let mut bound = clause.bound;
        let one = if clause.against.is_some() { 0.0 } else { 1.0 };
        let turned = |bound| match bound {
            Bound::AtMost(c) => Bound::AtLeast(one - c),
            Bound::AtLeast(c) => Bound::AtMost(one - c),
        };
        if let (Loss::Error, Some(Among::Class(class))) = (&loss, clause.class) {
            (loss, bound) = (Loss::Selected { class }, turned(bound));
        }
        match loss {
            Loss::Selected { class: 0 } if classes == 2 => {
                (loss, bound) = (Loss::Selected { class: 1 }, turned(bound));
            }
            // Its limit is part of the loss.
            Loss::FalseDiscovery { class, .. } => loss = Loss::FalseDiscovery { class, rate: 0.0 },
            _ => {}
        }
        Self { clause, loss: format!("{loss:?}"), bound, requirement }
    }

    fn is_same_quantity(&self, other: &Self) -> bool {
        let (here, there) = (self.clause, other.clause);
        here.kind == there.kind
            && self.loss == other.loss
            && here.change == there.change
            && here.adversary == there.adversary
            && here.against.is_some() == there.against.is_some()
    }

    fn excludes(&self, other: &Self) -> bool {
        let apart = match (self.bound, other.bound) {
            (Bound::AtLeast(low), Bound::AtMost(high))
            | (Bound::AtMost(high), Bound::AtLeast(low)) => low - high > APART,
            _ => false,
        };
        // Rows that may violate the one can meet the other.
        let every = self.clause.kind == RequirementKind::Average
            || self.clause.all_but + other.clause.all_but < 1.0;
        apart
            && every
            && self.is_same_quantity(other)
            && same_rows(self.requirement, other.requirement)
    }

    /// `'few' (selection rate of 'yes' ≤ 0.1)`.
    fn in_words(&self) -> String {
        let Clause { name, rate, bound, complement_of, .. } = self.clause;
        let loss = self.clause.measure.as_ref().unwrap_or(&self.clause.loss);
        let what = rate.clone().unwrap_or_else(|| loss.to_string());
        let at_most = matches!(bound, Bound::AtMost(_)) != complement_of.is_some();
        let limit = complement_of.map_or(bound.limit(), |one| one - bound.limit());
        format!("'{name}' ({what} {} {})", if at_most { "≤" } else { "≥" }, short(limit))
    }
}

fn same_rows(here: &Requirement, there: &Requirement) -> bool {
    let (here, there) = (here.terms(), there.terms());
    here.len() == there.len()
        && here.iter().zip(there).all(|(a, b)| {
            let (a, b) = (a.population(), b.population());
            a.len() == b.len() && a.rows().eq(b.rows())
        })
}

/// Refuses two requirements that no model meets together on the training rows.
pub(crate) fn check(
    source: &ProblemSource,
    specs: &[RequirementSpec],
    clauses: &[Clause],
    train: &Problem,
    classes: usize,
) -> Result<()> {
    let limited: Vec<Limited<'_>> = clauses
        .iter()
        .zip(train.requirements())
        .map(|(clause, requirement)| Limited::new(clause, requirement, classes))
        .collect();
    for (at, later) in limited.iter().enumerate() {
        let Some(earlier) = limited[..at].iter().find(|earlier| earlier.excludes(later)) else {
            continue;
        };
        let from = later.clause.from;
        let key = specs.get(from).and_then(LimitKey::of).map_or("name", LimitKey::name);
        let rows = grouped(later.requirement.terms()[0].population().len());
        let message = format!(
            "{} and {} are about the same {rows} training rows, and no model meets both. Change one of the limits",
            later.in_words(),
            earlier.in_words()
        );
        return Err(source.at(&format!("requirement[{from}].{key}"), message));
    }
    Ok(())
}

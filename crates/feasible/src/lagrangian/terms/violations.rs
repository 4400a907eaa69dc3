//! From what a pass has found to objective and violations.

use crate::dedup::Dedup;
use crate::lagrangian::terms::{Found, Terms};
use crate::measurement::{Measurement, Totals, Violations};
use crate::requirement::Kind;
use crate::source::Owner;

/// A weighted sum of averages, by both losses.
#[derive(Clone, Copy, Debug)]
pub(in crate::lagrangian) struct Total {
    primal: f64,
    pub(in crate::lagrangian) measured: f64,
}

impl Total {
    /// What a pass that saw nothing knows.
    const UNKNOWN: Self = Self { primal: f64::NAN, measured: f64::NAN };
}

impl Terms {
    /// Objective and violations. `dedup` has the rows that repeat, by source.
    pub(in crate::lagrangian) fn measurement<'d>(
        &self,
        found: &Found,
        penalty: f64,
        dedup: impl Fn(usize) -> Option<&'d Dedup>,
    ) -> Measurement {
        let problem = &self.problem;
        let total = self.total(found, Owner::Objective).unwrap_or(Total::UNKNOWN);
        let surrogate = problem.objective().measure.as_ref().map(|_| total.primal);
        let mut violations: Vec<Violations> = problem
            .requirements()
            .iter()
            .enumerate()
            .map(|(i, requirement)| {
                let differs = requirement.terms()[0].measure.is_some();
                let (margin, elsewhere) = (requirement.margin, problem.elsewhere(i).clone());
                match requirement.kind() {
                    Kind::Average => {
                        let violation = self.average_violation(found, i).unwrap_or(Total::UNKNOWN);
                        let surrogate = differs.then(|| vec![violation.primal]);
                        Violations {
                            measured: vec![violation.measured],
                            surrogate,
                            margin,
                            elsewhere,
                            totals: Totals::default(),
                        }
                    }
                    Kind::Pointwise => {
                        let empty = vec![f64::NAN; requirement.multipliers()];
                        Violations {
                            surrogate: differs.then(|| empty.clone()),
                            measured: empty,
                            margin,
                            elsewhere,
                            totals: Totals::default(),
                        }
                    }
                }
            })
            .collect();
        for seen in &found.seen {
            let of = &mut violations[seen.requirement as usize];
            of.measured[seen.point as usize] = seen.measured;
            if let Some(surrogate) = &mut of.surrogate {
                surrogate[seen.point as usize] = seen.primal;
            }
        }
        deal_out(found, &mut violations, dedup);
        Measurement { objective: total.measured, surrogate, penalty, violations }
    }

    /// Σ aₜ Ê over 𝔇ₜ of ℓₜ over the terms of one owner, by the means over the points of the
    /// pass; `None` if a population had no point in it.
    fn total(&self, found: &Found, owner: Owner) -> Option<Total> {
        let mut total = Total { primal: 0.0, measured: 0.0 };
        let terms = self.problem.sources().iter().flat_map(|source| &source.terms);
        for (term, sums) in terms.zip(&found.sums) {
            if term.owner == owner {
                if sums.points == 0.0 {
                    return None;
                }
                let factor = term.coefficient / sums.points;
                total.primal += factor * sums.primal;
                total.measured += factor * sums.measured;
            }
        }
        Some(total)
    }

    /// The violation of an average requirement; `None` if a population had no point in the pass.
    pub(in crate::lagrangian) fn average_violation(
        &self,
        found: &Found,
        i: usize,
    ) -> Option<Total> {
        let requirement = &self.problem.requirements()[i];
        let limit = requirement.sense().sign() * requirement.limit().of(0);
        let total = self.total(found, Owner::Requirement(i))?;
        Some(Total { primal: total.primal - limit, measured: total.measured - limit })
    }
}

/// Gives every row the violations of its kind.
fn deal_out<'d>(
    found: &Found,
    violations: &mut [Violations],
    dedup: impl Fn(usize) -> Option<&'d Dedup>,
) {
    for seen in &found.seen_kinds {
        let Some(dedup) = dedup(seen.source) else { continue };
        let (rows, kinds) = (&dedup.rows[seen.rows.clone()], &dedup.kinds[seen.rows.clone()]);
        let deal = |from: usize, to: &mut [f64]| {
            for (&row, &kind) in rows.iter().zip(kinds) {
                to[row as usize] = found.of_kinds[from + (kind - seen.first_kind) as usize];
            }
        };
        let of = &mut violations[seen.requirement];
        deal(seen.measured, &mut of.measured[seen.point..]);
        if let (Some(primal), Some(surrogate)) = (seen.primal, &mut of.surrogate) {
            deal(primal, &mut surrogate[seen.point..]);
        }
    }
}

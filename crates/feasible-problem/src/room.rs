//! How much stricter a requirement is trained so that the reserve will certify it.
//!
//! | requirement | margin |
//! | --- | --- |
//! | a rate, or the mean of a loss in [0, B] | c − r, r the rate that passes nine times in ten ([`attainable_rate`]) |
//! | a difference of rates | √(½ log(1/δ)) √(1/n₁ + 1/n₂), but at most nine tenths of the limit |
//! | a precision | as a rate, of as many rows as the class has |
//! | pointwise | none: ε is what may be violated. The reserve must be able to certify ε |

use std::sync::Arc;

use feasible::certificate::{Delta, Design, attainable_rate};
use feasible::requirement::Term;
use feasible::{Kind, Loss, Model, Requirement, Samples};
use feasible_data::UnknownCategories;

use crate::blame::at_clause;
use crate::clause::{Bound, Clause};
use crate::data::Data;
use crate::error::{Error, Result};
use crate::held_out::fingerprints::units;
use crate::network::Network;
use crate::rate::share_of;
use crate::sampled_table::SampledTable;
use crate::spec::{CertifySpec, ProblemSource};

/// How often a model at the trained limit should pass.
const POWER: f64 = 0.9;
/// The largest share of the limit that is given up.
const MOST: f64 = 0.9;

/// The margin for a requirement on the reserve, at δ, times `room`; never so much that no model is left.
/// `per_row` is the number of units per row; without units it is 1.
///
/// # Errors
/// A reserve that could not certify any model; a loss without a bound.
pub fn margin(
    requirement: &Requirement,
    bound: Bound,
    width: usize,
    design: &Design,
    delta: Delta,
    room: f64,
    per_row: f64,
) -> Result<f64> {
    let terms = requirement.terms();
    let rows = |term: &Term| (term.population().len() as f64 * per_row).round().max(1.0);
    if requirement.kind() == Kind::Pointwise {
        let allowed = requirement.allowed_share();
        let share = if allowed > 0.0 { allowed } else { design.all_but };
        attainable_rate(rows(&terms[0]) as u64, share, delta, POWER)?;
        return Ok(0.0);
    }
    if let [one, other] = terms {
        let sizes = [one, other].map(|term| 1.0 / rows(term));
        let width = (-0.5 * delta.ln()).sqrt() * (sizes[0] + sizes[1]).sqrt();
        return Ok((room * width).min(MOST * bound.limit().abs()));
    }
    let loss = terms[0].measure();
    let b = loss.properties(width).bound.ok_or_else(|| {
        let reason = format!(
            "{loss} has no upper bound, so no number of rows certifies its mean. Give the requirement a `bound`, state it \
             as a rate, or leave out `certify`: test rows then prove what they can, of this and of every other requirement"
        );
        Error::unfit(requirement.name(), reason)
    })?;
    // "At least c" is "B minus it is at most B − c".
    let limit = match bound {
        Bound::AtMost(c) => c / b,
        Bound::AtLeast(c) => 1.0 - c / b,
    };
    // Only rows of which the class is predicted count: about as many as are of it.
    let share = match loss {
        Loss::FalseDiscovery { class, .. } => share_of(*class, terms[0].population()),
        _ => 1.0,
    };
    let rows = (rows(&terms[0]) * share).round().max(1.0) as u64;
    let margin = limit - attainable_rate(rows, limit, delta, POWER)?;
    Ok(b * (room * margin).min(MOST * limit))
}

/// What to do about a reserve that is too small.
pub(crate) fn too_few(name: &str, error: Error) -> String {
    format!(
        "'{name}': of the reserve, {error}. Keep more back (`reserve`), ask for less (`confidence`, \
         `all_but`, the limit), or give the loss a smaller `bound`"
    )
}

/// Tightens the clauses so that the reserve will certify what is trained.
pub(crate) fn leave_room(
    source: &ProblemSource,
    certify: &CertifySpec,
    data: &Data,
    reserve: &Arc<Samples>,
    model: &Network,
    clauses: &mut [Clause],
) -> Result<()> {
    let design = certify.design().map_err(|error| source.at("certify", error.to_string()))?;
    let rooms = certify.ladder.iter().flatten().copied().chain(certify.room);
    // The rungs of a ladder are plans of their own; this one only has to be possible.
    let room = rooms.fold(0.0, f64::max);
    let each = design.delta.among(clauses.len());
    // Units count, not rows.
    let per_row = match &certify.unit {
        Some(unit) => {
            let units = units(&data.table, &data.reserve_rows, unit)?;
            let last = units.iter().max().map_or(0, |last| *last as usize + 1);
            last as f64 / units.len().max(1) as f64
        }
        None => 1.0,
    };
    let mut sampled = SampledTable::new(
        &data.table,
        &data.reserve_rows,
        reserve,
        &data.encoder,
        UnknownCategories::MatchNothing,
    );
    for clause in clauses {
        let requirement = clause.on(&mut sampled).map_err(|error| at_clause(source, error))?;
        let requirement = requirement.ok_or_else(|| {
            let message =
                format!("'{}' applies to none of the reserved rows: reserve more", clause.name);
            source.at("certify.reserve", message)
        })?;
        // What the shift takes of the limit, the certificate needs beyond it.
        let stricter = if clause.shift > 1.0 { clause.margin } else { 0.0 };
        let bound = match clause.bound {
            Bound::AtMost(c) => Bound::AtMost(c - stricter),
            Bound::AtLeast(c) => Bound::AtLeast(c + stricter),
        };
        let at = |delta| {
            let width = model.output_width();
            margin(&requirement, bound, width, &design, delta, room, per_row)
        };
        // Room for a certificate of its own; at the least, for one together with the others.
        let margin = at(each).or_else(|_| at(design.delta)).map_err(|error| match error {
            Error::Core(feasible::Error::TooFewRows { .. }) => {
                source.at("certify", too_few(&clause.name, error))
            }
            Error::Unfit { reason, .. } => {
                source.at(&format!("requirement[{}]", clause.from), reason)
            }
            Error::Core(core) => {
                source.at(&format!("requirement[{}]", clause.from), core.to_string())
            }
            other => other,
        })?;
        clause.room = margin + stricter;
    }
    Ok(())
}

//! How much stricter a requirement is trained so that the reserve will certify it.
//!
//! | requirement | margin |
//! | --- | --- |
//! | a rate, or the mean of a loss in [0, B] | c − r, r the rate that passes nine times in ten ([`attainable_rate`]) |
//! | a difference of rates | √(½ log(1/δ)) √(1/n₁ + 1/n₂), but at most nine tenths of the limit |
//! | pointwise | none: ε is what may be violated. The reserve must be able to certify ε |

use feasible::certificate::{Delta, Design, attainable_rate};
use feasible::requirement::Term;
use feasible::{Kind, Requirement};

use crate::clause::Bound;
use crate::error::{Error, Result};

/// How often a model at the trained limit should pass.
const POWER: f64 = 0.9;
/// The largest share of the limit that is given up.
const MOST: f64 = 0.9;

/// The margin for a requirement on the reserve, at δ, times `room`; never so much that no model is left.
/// So many units (`per_row`) there are for each row; without units it is 1.
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
    let b = loss.properties(width).bound.ok_or_else(|| feasible::Error::NoBound {
        requirement: requirement.name().into(),
        loss: loss.to_string(),
    })?;
    // "At least c" is "B minus it is at most B − c".
    let limit = match bound {
        Bound::AtMost(c) => c / b,
        Bound::AtLeast(c) => 1.0 - c / b,
    };
    let margin = limit - attainable_rate(rows(&terms[0]) as u64, limit, delta, POWER)?;
    Ok(b * (room * margin).min(MOST * limit))
}

/// What to do about a reserve that is too small.
pub(crate) fn too_few(name: &str, error: Error) -> String {
    format!(
        "'{name}': of the reserve, {error}. Keep more back (`reserve`), ask for less (`confidence`, \
         `all_but`, the limit), or give the loss a smaller `bound`"
    )
}

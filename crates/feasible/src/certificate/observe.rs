//! From a problem on held-out rows, a model and its θ to claims about the population.
//!
//! | requirement | number of the population | evidence |
//! | --- | --- | --- |
//! | pointwise, ℓ ≤ c | P(ℓ > c), at most ε | Clopper-Pearson |
//! | average of an indicator (error, selection, flip) | the rate | Clopper-Pearson |
//! | average of another loss in [0, B] | E\[ℓ\] | as the design says, betting by default |
//! | difference of two rates | the difference | [`Difference`] |
//! | any other sum of averages | Σ a E\[ℓ\] | each term at an equal part of δ |
//!
//! The unit is the row, not the point: if a row is asked about under several ρ, it violates a pointwise
//! requirement if any of them does, and contributes its mean to an average. Rates of a subset are
//! conditional on how many rows are in it.

use std::sync::Arc;

use super::Delta;
use super::claim::Claim;
use super::count::Count;
use super::difference::Difference;
use super::evidence::Evidence;
use super::family::{Certificate, Simultaneous};
use super::units;
use super::values::{Method, Values};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::model::Model;
use crate::point_losses::losses;
use crate::population::Population;
use crate::problem::Problem;
use crate::requirement::{Kind, Limit, Requirement, Sense, Term};

/// All that is decided before the held-out rows are looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// The probability of a wrong certificate that is accepted.
    pub delta: Delta,
    /// How requirements share it.
    pub simultaneous: Simultaneous,
    /// ε: the share of the population that may violate a pointwise requirement which allows none. "None"
    /// cannot be certified from any number of rows.
    pub all_but: f64,
    /// The bound for averages of losses that are not indicators.
    pub method: Method,
    /// The seed of the order in which rows are bet on.
    pub order: u64,
}

impl Design {
    /// At δ: Holm, all but 1 %, betting.
    pub fn new(delta: Delta) -> Self {
        let (simultaneous, method) = (Simultaneous::Holm, Method::Betting);
        Self { delta, simultaneous, all_but: 0.01, method, order: 0 }
    }

    /// Judges the requirements of a problem whose populations are held-out rows.
    ///
    /// # Errors
    /// A model that does not fit; an average of a loss without a bound.
    pub fn certify<M: Model>(
        &self,
        problem: &Problem,
        model: &M,
        theta: &[M::Real],
    ) -> Result<Certificate> {
        let claims = self.claims(problem, model, theta)?;
        Ok(Certificate::new(&claims, self.delta, self.simultaneous))
    }

    /// The claims that the requirements make, with the evidence for them.
    ///
    /// # Errors
    /// As [`Design::certify`].
    pub fn claims<M: Model>(
        &self,
        problem: &Problem,
        model: &M,
        theta: &[M::Real],
    ) -> Result<Vec<Claim>> {
        self.claims_of(problem, model, theta, None)
    }

    /// The claims; rows with the same number in `units` count as one.
    pub(super) fn claims_of<M: Model>(
        &self,
        problem: &Problem,
        model: &M,
        theta: &[M::Real],
        units: Option<&[u32]>,
    ) -> Result<Vec<Claim>> {
        let requirements = problem.requirements().iter();
        let terms = requirements.flat_map(|r| r.terms().iter().map(|term| (r.who(), term.clone())));
        let losses = losses(&terms.collect::<Vec<_>>(), model, theta)?;
        let mut losses = losses.iter().map(Vec::as_slice);
        let mut claims = Vec::new();
        for requirement in problem.requirements() {
            let terms = requirement.terms().iter();
            let terms = terms.zip(losses.by_ref()).map(|(term, losses)| ObservedTerm {
                term,
                losses,
                units,
            });
            let terms: Vec<ObservedTerm<'_>> = terms.collect();
            claims.push(self.claim(requirement, &terms, model.output_width())?);
        }
        Ok(claims)
    }

    fn claim(
        &self,
        requirement: &Requirement,
        terms: &[ObservedTerm<'_>],
        width: usize,
    ) -> Result<Claim> {
        let (sense, limit) = (requirement.sense(), requirement.limit());
        let shown = match limit {
            Limit::Common(c) => c.to_string(),
            Limit::PerPoint(_) => "its limit".into(),
        };
        let name = requirement.name().to_string();
        if requirement.kind() == Kind::Pointwise {
            let seen = &terms[0];
            let units = seen.units;
            let violation = |point: usize, loss: f64| sense.sign() * (loss - limit.of(point));
            // The limit as written, whatever the training tolerates; NaN, as outputs that are not numbers give,
            // violates.
            let over = |violation: f64| violation.is_nan() || violation > 0.0;
            let violates = |row: usize| seen.points(row).any(|(p, l)| over(violation(p, l)));
            let count = match units {
                Some(units) => units::any(seen.population(), units, violates)?,
                None => Count::of((0..seen.rows()).map(violates))?,
            };
            let side = if sense == Sense::AtMost { "exceeds" } else { "is below" };
            let allowed = requirement.allowed_share();
            return Ok(Claim {
                name,
                subject: format!("the probability that the {} {side} {shown}", seen.measure()),
                sense: Sense::AtMost,
                limit: if allowed > 0.0 { allowed } else { self.all_but },
                evidence: Some(Evidence::Share(count)),
            });
        }
        let Limit::Common(limit) = *limit else {
            let reason = "is not one number".into();
            return Err(Error::Limit { requirement: name, value: f64::NAN, sample: None, reason });
        };
        let evidence = match terms {
            [one] if one.term.coefficient() == 1.0 => self.average(&name, one, width)?,
            [one, other] if is_difference(one, other) => {
                Evidence::Difference(difference(one, other)?)
            }
            _ => {
                let term = |seen: &ObservedTerm<'_>| {
                    Ok((seen.term.coefficient(), self.average(&name, seen, width)?))
                };
                Evidence::Sum(terms.iter().map(term).collect::<Result<_>>()?)
            }
        };
        let subject = match terms {
            [one] => one.number(),
            [one, other] if !one.has_measure_of(other) => {
                let (a, b) = (one.number(), other.number());
                match (one.term.coefficient(), other.term.coefficient()) {
                    (1.0, -1.0) => format!("{a} minus {b}"),
                    (x, y) => format!("{x} times {a} plus {y} times {b}"),
                }
            }
            [one, _] if one.is_indicator() => {
                format!("the difference of the {}s", rate_name(one.measure()))
            }
            [one, rest @ ..] if rest.iter().all(|other| one.has_measure_of(other)) => {
                format!("the difference of the expected {}", one.measure())
            }
            [_, ..] => "the weighted sum of expected losses".into(),
            [] => String::new(),
        };
        Ok(Claim { name, subject, sense, limit, evidence: Some(evidence) })
    }

    fn average(&self, name: &str, seen: &ObservedTerm<'_>, width: usize) -> Result<Evidence> {
        if seen.is_indicator() && seen.units.is_none() {
            return Ok(Evidence::Share(seen.count()?));
        }
        let measure = seen.measure();
        let bound = measure.properties(width).bound.ok_or_else(|| Error::NoBound {
            requirement: name.into(),
            loss: measure.to_string(),
        })?;
        // NaN, as outputs that are not numbers give, counts as an indicator, and is an error otherwise.
        let loss = |loss: f64| if seen.is_indicator() && loss.is_nan() { bound } else { loss };
        let mean = |row: usize| {
            let sum: f64 = seen.points(row).map(|(_, point)| loss(point)).sum();
            sum / seen.term.population().transformations() as f64
        };
        let values = match seen.units {
            Some(units) => units::means(seen.population(), units, mean),
            None => (0..seen.rows()).map(mean).collect(),
        };
        let values = Values::new(values, bound)?;
        Ok(Evidence::Mean { values: values.shuffled(self.order), method: self.method })
    }
}

/// A term and the losses of its points.
struct ObservedTerm<'a> {
    term: &'a Term,
    losses: &'a [f64],
    units: Option<&'a [u32]>,
}

impl ObservedTerm<'_> {
    fn population(&self) -> &Population {
        self.term.population()
    }

    fn measure(&self) -> &Loss {
        self.term.measure()
    }

    fn rows(&self) -> usize {
        self.population().len()
    }

    /// The points of a row and their losses; points are ordered by ρ, then by row.
    fn points(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let rows = self.rows();
        (row..self.losses.len()).step_by(rows).map(|point| (point, self.losses[point]))
    }

    /// Whether both are measured by the same loss.
    fn has_measure_of(&self, other: &Self) -> bool {
        self.measure().is_same(other.measure())
    }

    /// The number of the population that it estimates.
    fn number(&self) -> String {
        match self.is_indicator() {
            true => format!("the {}", rate_name(self.measure())),
            false => format!("the expected {}", self.measure()),
        }
    }

    /// Whether a row's loss can only be 0 or 1.
    fn is_indicator(&self) -> bool {
        let counts = matches!(self.measure(), Loss::Error | Loss::Selected { .. } | Loss::Flip);
        counts && self.losses.len() == self.rows()
    }

    fn count(&self) -> Result<Count> {
        // NaN, as outputs that are not numbers give, counts.
        Count::of(self.losses.iter().map(|loss| loss.is_nan() || *loss > 0.5))
    }
}

fn rate_name(loss: &Loss) -> &'static str {
    match loss {
        Loss::Error => "error rate",
        Loss::Selected { .. } => "selection rate",
        Loss::Flip => "flip rate",
        _ => "rate",
    }
}

fn is_difference(one: &ObservedTerm<'_>, other: &ObservedTerm<'_>) -> bool {
    // A unit may have rows of both.
    let rates = one.units.is_none() && one.is_indicator() && other.is_indicator();
    rates
        && one.has_measure_of(other)
        && one.term.coefficient() == 1.0
        && other.term.coefficient() == -1.0
}

/// How the rows of two rates lie to each other, and what was counted.
fn difference(one: &ObservedTerm<'_>, other: &ObservedTerm<'_>) -> Result<Difference> {
    let (a, b) = (one.count()?, other.count()?);
    if !Arc::ptr_eq(one.population().samples(), other.population().samples()) {
        return Ok(Difference::Any { a, b });
    }
    // Both ascend.
    let mut there = other.population().rows().zip(other.losses).peekable();
    let (mut common, mut equal) = (0, true);
    for (row, loss) in one.population().rows().zip(one.losses) {
        while there.next_if(|(at, _)| *at < row).is_some() {}
        if let Some((_, same)) = there.next_if(|(at, _)| *at == row) {
            common += 1;
            equal &= loss == same;
        }
    }
    if common == 0 {
        return Ok(Difference::Apart { a, b });
    }
    if common == a.rows() && equal {
        let others = b.rows() - a.rows();
        let rest = if others == 0 { None } else { Some(Count::new(b.hits() - a.hits(), others)?) };
        return Ok(Difference::Within { part: a, rest });
    }
    Ok(Difference::Any { a, b })
}

//! Units: several rows of one person, household or visit count as one.
//!
//! Rows of one unit may depend on each other in any way; units are independent draws from a population of
//! units. Each unit gives one number, and the bounds for independent rows hold for independent units:
//!
//! | requirement | number of a unit | number of the population |
//! | --- | --- | --- |
//! | pointwise | 1 if any of its rows violates | the share of units with a row that violates |
//! | average | the mean over its rows, in [0, B] | E\[mean\]: every unit weighs the same |
//! | sum or difference | such a mean for each term | each term at an equal part of δ |
//!
//! Of a subset, only units with rows in it count, and only those rows of them. An average is that of a row
//! drawn at random from a unit drawn at random. That of a row drawn from all rows lets large units weigh
//! more; no number of units bounds it unless the size of a unit is bounded, so it is not offered. Both
//! are the same where units are of one size, or where size and loss are independent.

use std::collections::BTreeMap;

use super::claim::Claim;
use super::count::Count;
use super::observe::Design;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::population::Population;
use crate::problem::Problem;

impl Design {
    /// As [`Design::claims`], where row r of the samples belongs to the unit `units[r]`.
    ///
    /// # Errors
    /// As [`Design::certify`]; a number of units that is not the number of rows.
    pub fn claims_by_unit<M: Model>(
        &self,
        problem: &Problem,
        model: &M,
        theta: &[M::Real],
        units: &[u32],
    ) -> Result<Vec<Claim>> {
        self.claims_clipped(problem, model, theta, Some(units), &[])
    }
}

/// Every row has a unit.
pub(super) fn check(problem: &Problem, units: &[u32]) -> Result<()> {
    for term in problem.requirements().iter().flat_map(|requirement| requirement.terms()) {
        let rows = term.population().samples().len();
        if rows != units.len() {
            let (what, expected) = ("units".into(), format!("one for each of {rows} rows"));
            return Err(Error::Shape { what, expected, found: units.len() });
        }
    }
    Ok(())
}

/// The mean over the rows of each unit, in the order of units; `value` gives that of the i-th member.
pub(super) fn means(
    population: &Population,
    units: &[u32],
    value: impl Fn(usize) -> f64,
) -> Vec<f64> {
    let mut sums = BTreeMap::<u32, (f64, f64)>::new();
    for (member, row) in population.rows().enumerate() {
        let (sum, rows) = sums.entry(units[row as usize]).or_default();
        *sum += value(member);
        *rows += 1.0;
    }
    sums.into_values().map(|(sum, rows)| sum / rows).collect()
}

/// Units of which any row counts.
pub(super) fn any(
    population: &Population,
    units: &[u32],
    counts: impl Fn(usize) -> bool,
) -> Result<Count> {
    let share = means(population, units, |member| f64::from(u8::from(counts(member))));
    Count::of(share.into_iter().map(|share| share > 0.0))
}

//! The dual variables: μ ≥ 0 per average requirement, λ(n) ≥ 0 per point of a pointwise one.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::sums::{sum, sum_of};

/// All multipliers of a problem, in the order of its requirements: one entry for an average
/// requirement, one per point for a pointwise one.
///
/// Multipliers carry the scale of the Lagrangian they multiply: the pointwise term is
/// (1/N) Σ λ(n) (ℓ(n) − c), so λ has the size of a μ, whatever N is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Multipliers(Vec<Vec<f64>>);

impl Multipliers {
    /// Each requirement's start value (1 unless the problem sets another).
    pub fn start(problem: &Problem) -> Self {
        Self(problem.requirements().iter().map(|r| vec![r.start; r.multipliers()]).collect())
    }

    /// Given ones, per requirement.
    ///
    /// # Errors
    /// Lengths that do not fit the problem, or a multiplier that is negative or not finite.
    pub fn new(problem: &Problem, values: Vec<Vec<f64>>) -> Result<Self> {
        let multipliers = Self(values);
        multipliers.check(problem)?;
        Ok(multipliers)
    }

    /// # Errors
    /// As [`Multipliers::new`].
    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        if !self.fits(problem) {
            let lengths = problem.requirements().iter().map(|r| r.multipliers().to_string());
            return Err(Error::Shape {
                what: "multipliers".into(),
                expected: format!("lists of {} entries", lengths.collect::<Vec<_>>().join(", ")),
                found: self.0.len(),
            });
        }
        match self.0.iter().flatten().find(|m| !(m.is_finite() && **m >= 0.0)) {
            Some(&m) => Error::unless(false, "multiplier", m, "at least 0 and finite"),
            None => Ok(()),
        }
    }

    /// Those of the points on this worker, of those of a whole problem.
    ///
    /// # Errors
    /// Lengths that do not fit the problem.
    pub(crate) fn own(self, problem: &Problem) -> Result<Self> {
        let found = self.0.len();
        let lists = self.0.into_iter().enumerate().map(|(i, list)| match problem.elsewhere_of(i) {
            Some(elsewhere) => elsewhere.own(list),
            None => Some(list),
        });
        lists.collect::<Option<_>>().map(Self).ok_or_else(|| Error::Shape {
            what: "multipliers".into(),
            expected: "as many as the requirements have points".into(),
            found,
        })
    }

    /// Those of all workers, who call this at the same time, of those of the points here, where rows are divided over them.
    pub(crate) fn whole(self, problem: &Problem) -> Self {
        let lists =
            self.0.into_iter().enumerate().map(|(i, list)| {
                problem.elsewhere(i).everyone(vec![list]).pop().unwrap_or_default()
            });
        Self(lists.collect())
    }

    pub(crate) fn list_mut(&mut self, requirement: usize) -> &mut Vec<f64> {
        &mut self.0[requirement]
    }

    /// All equal.
    pub(crate) fn constant(problem: &Problem, value: f64) -> Self {
        Self(problem.requirements().iter().map(|r| vec![value; r.multipliers()]).collect())
    }

    /// Those of requirement `requirement`.
    ///
    /// # Panics
    /// If the problem they are of has fewer requirements.
    pub fn of(&self, requirement: usize) -> &[f64] {
        &self.0[requirement]
    }

    pub(crate) fn of_mut(&mut self, requirement: usize) -> &mut [f64] {
        &mut self.0[requirement]
    }

    /// Per requirement.
    pub fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.0.iter().map(Vec::as_slice)
    }

    /// Whether all are finite.
    pub fn is_finite(&self) -> bool {
        self.iter().all(|m| sum_of(m, |m| m * 0.0) == 0.0)
    }

    /// The share of a requirement's multipliers that are exactly 0: by complementary slackness,
    /// points whose requirement costs nothing.
    pub fn share_at_zero(&self, requirement: usize) -> f64 {
        let of = self.of(requirement);
        of.iter().filter(|&&m| m == 0.0).count() as f64 / of.len() as f64
    }

    /// ‖μ‖₁ + Σⱼ ‖λⱼ‖ in L₁, that is with the pointwise averages' 1/N: the size that enters
    /// the paper's approximation error ε₀.
    pub fn norm(&self) -> f64 {
        self.iter().map(|m| sum(m) / m.len() as f64).sum()
    }

    pub(crate) fn fits(&self, problem: &Problem) -> bool {
        let lengths = problem.requirements().iter().map(|r| r.multipliers());
        self.0.iter().map(Vec::len).eq(lengths)
    }
}

//! What a requirement costs: the price its multiplier predicts, and the one that solving again shows.
//!
//! Let P(c) be the lowest objective under a requirement ℓ ≤ c. Where a multiplier μ belongs to a
//! minimum, relaxing the limit by a little lowers the objective at the rate μ,
//!
//! $$ \frac{dP}{dc} = -\mu, \qquad P(c \pm \delta) = P(c) \mp \mu \delta + O(\delta^2) , $$
//!
//! with the mean of λ in the place of μ where every point has its own. [`solve_from`] solves the
//! problem at c + δ and at c − δ, starting from the solution at c, and the half difference of the
//! two objectives, in which the term of order δ² cancels, is what is observed. Where no feasible θ was found on one side, its objective
//! is not one of P: then the difference between the other side and the limit itself is observed.
//!
//! A first-order learner ends near a minimum, not in it. Solving once more at the same limit from
//! the same start shows how far objectives move without any change of limit: a price below that is
//! not resolved.
//!
//! ```
//! use feasible::price::{Price, solve_from};
//! # use feasible::{Inputs, Learner, Loss, Population, Problem, Requirement, Samples, Targets};
//! # use feasible_nn::Linear;
//! # let of = |x: &[f32], y: &[f32]| -> feasible::Result<Population> {
//! #     let samples = Samples::new(Inputs::dense(x.to_vec(), 1)?, Targets::Values(y.to_vec()))?;
//! #     Ok(Population::new(samples))
//! # };
//! // ½(u − 1)² + ½ v² subject to (u + 1)² ≤ c: P(c) = ½(√c − 2)², so P(1) = ½ and P'(1) = −½.
//! let near = Requirement::average("near −1", &of(&[1.0], &[-1.0])?, Loss::Squared).at_most(1.0);
//! let problem = Problem::minimise(&of(&[1.0, -1.0], &[1.0, 0.0])?, Loss::Squared);
//! let problem = problem.subject_to(near).check()?;
//! let (learner, model) = (Learner::exact(), Linear::new(1, 1)?.double());
//! let solution = learner.solve(&problem, &model)?;
//! let again = |by: f64| -> feasible::Result<Option<f64>> {
//!     let problem = problem.relaxed(0, by)?;
//!     let start = (&solution.theta[..], &solution.multipliers);
//!     let solved = solve_from(&learner, &problem, &model, start, |_| true)?;
//!     Ok(solved.is_feasible().then(|| solved.objective()))
//! };
//! let price = Price {
//!     requirement: "near −1".into(),
//!     multiplier: Some(solution.multipliers.of(0)[0]),
//!     delta: 0.1,
//!     relaxed: again(0.1)?,
//!     stricter: again(-0.1)?,
//! };
//! assert!((price.predicted().unwrap() + 0.05).abs() < 1e-6);
//! assert!((price.observed(None).unwrap() + 0.05).abs() < 2e-4); // δ³/6 · P'''(1) is 6e-5
//! // With one side and P(1) = ½, the term of order δ² remains.
//! let price = Price { stricter: None, ..price };
//! assert!((price.observed(Some(0.5)).unwrap() + 0.05).abs() < 3e-3);
//! assert_eq!(price.observed(None), None);
//! # Ok::<(), feasible::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::learner::{EpochReport, Learner};
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::problem::Problem;
use crate::requirement::{Limit, Requirement};
use crate::solution::Solution;

/// The price of a requirement, predicted and observed. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// The requirement.
    pub requirement: String,
    /// μ, or the mean of λ, where it is a price to first order.
    pub multiplier: Option<f64>,
    /// By how much the limit was moved, either way.
    pub delta: f64,
    /// The objective with the limit relaxed by δ; `None` if no feasible θ was found.
    pub relaxed: Option<f64>,
    /// The objective with the limit stricter by δ; `None` if no feasible θ was found.
    pub stricter: Option<f64>,
}

impl Price {
    /// What relaxing the limit by δ should change in the objective: −μ δ.
    pub fn predicted(&self) -> Option<f64> {
        // Not −0.
        Some(0.0 - self.multiplier? * self.delta)
    }

    /// What it does change: half of P(c + δ) − P(c − δ), or the difference between the one side that is known and P(c), the
    /// objective `at_limit`.
    pub fn observed(&self, at_limit: Option<f64>) -> Option<f64> {
        match (self.relaxed, self.stricter) {
            (Some(relaxed), Some(stricter)) => Some(0.5 * (relaxed - stricter)),
            (Some(relaxed), None) => Some(relaxed - at_limit?),
            (None, Some(stricter)) => Some(at_limit? - stricter),
            (None, None) => None,
        }
    }
}

impl Requirement {
    /// The same requirement with its limit relaxed by this much; stricter, if it is negative, and then perhaps
    /// stricter than any model can be: a price is asked for on both sides.
    #[must_use]
    pub fn relaxed(mut self, by: f64) -> Self {
        let by = self.sense.sign() * by;
        self.moved = true;
        match &mut self.limit {
            Limit::Common(c) => *c += by,
            Limit::PerPoint(limits) => limits.iter_mut().for_each(|c| *c += by),
        }
        self
    }
}

impl Problem {
    /// The same problem with the limit of one requirement relaxed by this much; stricter, if it
    /// is negative.
    ///
    /// # Errors
    /// A number that no requirement has, or a limit that is not finite.
    pub fn relaxed(&self, requirement: usize, by: f64) -> Result<Problem> {
        let mut requirements = self.requirements().to_vec();
        let found = requirements.len();
        let Some(one) = requirements.get_mut(requirement) else {
            return Err(Error::Shape {
                what: format!("requirement number {requirement}"),
                expected: "below the number of requirements".into(),
                found,
            });
        };
        *one = one.clone().relaxed(by);
        self.with_requirements(requirements)
    }
}

/// Solves a problem starting from parameters and multipliers found elsewhere. `go_on` sees every
/// epoch; training stops when it returns false.
///
/// # Errors
/// As [`Learner::solve`], and a start that does not fit.
pub fn solve_from<M: Model>(
    learner: &Learner<M::Real>,
    problem: &Problem,
    model: M,
    (theta, multipliers): (&[M::Real], &Multipliers),
    mut go_on: impl FnMut(&EpochReport) -> bool,
) -> Result<Solution<M::Real>> {
    let mut training = learner.begin(problem, model)?;
    training.warm_start(theta, multipliers)?;
    while let Some(report) = training.advance() {
        if !go_on(&report) {
            training.stop();
            break;
        }
    }
    Ok(training.finish())
}

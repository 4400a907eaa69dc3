//! Multipliers of requirements on rates.
//!
//! A rate has no gradient, so θ follows a smooth surrogate of it. No limit of the surrogate stands for the rate: a model that is surer of the same
//! predictions has a smaller smoothed error and the same error rate, and to ask for less and less of the one is to ask for a model that is sure of what is wrong. So nothing is required of the
//! surrogate s̃. It only gives the direction: θ(μ) minimises
//!
//! $$ f(\theta) + \sum_i \mu_i \tilde s_i(\theta) , $$
//!
//! and each μ is moved by the measured rate to the smallest value at which it is met: upwards in doubled steps while it is violated, down again in
//! halved steps while there is room, and back by a whole step where that was too far, so that requirements that influence each other end where all are met.

use crate::learner::proxy::{Bracket, Brackets};
use crate::learner::sizes::Sizes;
use crate::measurement::Measurement;
use crate::multiplier::Multipliers;
use crate::problem::Problem;
use crate::requirement::{Kind, Requirement};

/// Room below this share of the requirement's size is none.
const ROOM: f64 = 1e-3;
/// Steps below this share of the multiplier are not taken.
const SMALLEST: f64 = 2e-3;
/// How often a multiplier that has been raised is lowered again.
const TURNS: u32 = 16;
/// The largest multiplier, in sizes of the objective: a surrogate changes by 1 at most, and nothing but the rate counts then.
const LARGEST: f64 = 100.0;

/// Whether the average of a loss without a gradient is required.
pub(crate) fn is_rate(requirement: &Requirement) -> bool {
    requirement.kind() == Kind::Average
        && requirement.terms.iter().any(|term| !term.measure().is_differentiable())
}

impl Bracket {
    /// The multiplier of a rate after μ, at which the violation is so large, beside a requirement of this size. The first step is `first`, and `most` the largest multiplier.
    /// Of a rate, the bracket has the last step, whether the rate was violated then, and how often the multiplier was lowered after it had been raised.
    pub fn next_multiplier(
        &mut self,
        mu: f64,
        violation: f64,
        size: f64,
        first: f64,
        most: f64,
    ) -> f64 {
        let violated = violation > 0.0;
        if !violated && (violation > -ROOM * size || mu == 0.0) {
            return mu;
        }
        // Requirements that influence each other could take turns for ever.
        if !violated && (self.opened >= TURNS || 0.5 * self.step < SMALLEST * mu) {
            return mu;
        }
        if self.step == 0.0 {
            self.step = first.max(0.5 * mu);
        } else if violated == self.above {
            self.step *= if violated { 2.0 } else { 1.25 };
        } else if !violated {
            (self.step, self.opened) = (0.5 * self.step, self.opened + 1);
        }
        self.above = violated;
        if violated {
            return (mu + self.step).min(most).max(mu);
        }
        self.step = self.step.min(mu);
        mu - self.step
    }
}

impl Brackets {
    /// Moves the multipliers of all rates; whether any moved.
    pub(crate) fn move_rates(
        &mut self,
        problem: &Problem,
        measurement: &Measurement,
        multipliers: &mut Multipliers,
        sizes: &Sizes,
    ) -> bool {
        let mut moved = false;
        for (i, requirement) in problem.requirements().iter().enumerate() {
            if !is_rate(requirement) {
                continue;
            }
            let violations = &measurement.violations[i];
            let violation = violations.worst() + violations.margin;
            let (size, balance) = (sizes.requirements[i], sizes.balance());
            let first = (sizes.penalties[i] * violation.abs()).min(balance);
            for (bracket, mu) in self.of_mut(i).iter_mut().zip(multipliers.of_mut(i)) {
                let most = LARGEST * balance;
                let next = bracket.next_multiplier(*mu, violation, size, first, most);
                moved |= next != *mu;
                *mu = next;
            }
        }
        moved
    }
}

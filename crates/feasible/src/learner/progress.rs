//! Which of two iterates is better, and how long ago things last improved.

use serde::{Deserialize, Serialize};

use crate::measurement::Measurement;
use crate::problem::Problem;
use crate::requirement::Kind;

/// The merit of an iterate: feasible before infeasible; among feasible ones the lower
/// objective, among infeasible ones the lower excess.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Merit {
    /// Whether every requirement is met.
    pub feasible: bool,
    /// The objective if feasible, otherwise the excess.
    pub value: f64,
}

impl Merit {
    /// The merit of a measured iterate.
    pub fn new(problem: &Problem, measurement: &Measurement, tolerance: f64) -> Self {
        let feasible = measurement.is_feasible(problem, tolerance);
        let value =
            if feasible { measurement.value() } else { excess(problem, measurement, tolerance) };
        Self { feasible, value }
    }

    /// Whether this one is better by more than a share `margin` of the other's value.
    pub fn beats(&self, other: &Self, margin: f64) -> bool {
        match (self.feasible, other.feasible) {
            (true, false) => true,
            (false, true) => false,
            _ => self.value < other.value - margin * other.value.abs(),
        }
    }
}

/// How far an iterate is from feasible, requirements with different units added up: the share
/// of violating points beyond what is allowed, and average slacks relative to their level.
fn excess(problem: &Problem, measurement: &Measurement, tolerance: f64) -> f64 {
    let rows = problem.requirements().iter().zip(&measurement.slacks);
    rows.map(|(requirement, slacks)| match requirement.kind() {
        Kind::Average => {
            slacks.worst().max(0.0) / requirement.level().of(0).abs().max(f64::MIN_POSITIVE.sqrt())
        }
        Kind::Pointwise => (slacks.violated(tolerance) - requirement.all_but).max(0.0),
    })
    .sum()
}

/// What a training remembers of its progress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The best merit so far, and after how many epochs.
    pub best: Option<(Merit, u64)>,
    /// The least total violation so far.
    pub least_violation: Option<f64>,
    /// Epochs since it last fell by a hundredth.
    pub stuck: u64,
    /// How often infeasibility was looked for.
    pub checks: u32,
}

impl Progress {
    /// Notes an iterate; true if it is the best so far.
    pub(crate) fn note(&mut self, merit: Merit, epoch: u64) -> bool {
        let better = self.best.is_none_or(|(best, _)| merit.beats(&best, 0.0));
        if better {
            self.best = Some((merit, epoch));
        }
        better
    }

    /// Notes the total violation; true if it has not moved for `window` epochs (twice as long
    /// after each time that nothing came of it).
    pub(crate) fn is_stuck(&mut self, violation: f64, window: u64) -> bool {
        let fell = self.least_violation.is_none_or(|least| violation < 0.99 * least);
        if fell || violation == 0.0 {
            self.least_violation = Some(violation);
            self.stuck = 0;
            return false;
        }
        self.stuck += 1;
        if self.stuck < window << self.checks.min(20) {
            return false;
        }
        self.stuck = 0;
        self.checks += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feasible_beats_cheap_and_among_feasible_ones_the_cheaper_wins() {
        let merit = |feasible, value| Merit { feasible, value };
        assert!(merit(true, 9.0).beats(&merit(false, 0.1), 0.0));
        assert!(!merit(false, 0.1).beats(&merit(true, 9.0), 0.0));
        assert!(merit(true, 1.0).beats(&merit(true, 2.0), 0.0));
        assert!(!merit(true, 1.99).beats(&merit(true, 2.0), 0.1));
    }

    #[test]
    fn being_stuck_is_noticed_after_the_window_and_later_after_twice_the_window() {
        let mut progress = Progress::default();
        assert!(!progress.is_stuck(1.0, 3));
        let stuck: Vec<bool> = (0..9).map(|_| progress.is_stuck(1.0, 3)).collect();
        assert_eq!(stuck, [false, false, true, false, false, false, false, false, true]);
    }
}

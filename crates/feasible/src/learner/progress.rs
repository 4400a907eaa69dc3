//! Which of two iterates is better, and how long ago things last improved.
//!
//! Limits on validation rows may be stricter than those that count, by a room r̄ for what chance adds on rows to come. Iterates that leave all of it are feasible. Of
//! others, those that meet the limits that count come first, in the order of
//!
//! $$ f + 0.1\, |f| \max_i r_i / \bar r_i , $$
//!
//! f being the objective on validation rows and r the part of the room that is missing: all of the room is worth a tenth of the objective. By the room
//! alone, a model could be ruined for a little of it.

use serde::{Deserialize, Serialize};

use crate::learner::proxy::Brackets;
use crate::learner::trim::LeftOut;
use crate::measurement::Measurement;
use crate::problem::Problem;
use crate::requirement::Kind;

/// The merit of an iterate: feasible before infeasible; among feasible ones the lower
/// objective, among infeasible ones the lower excess.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Merit {
    /// Whether every requirement is met.
    pub feasible: bool,
    /// The objective if feasible, otherwise the excess; where room is asked for ([`Learner::rooms`](crate::Learner::rooms)), a number in the same order.
    pub value: f64,
}

impl Merit {
    /// The merit of a measured iterate.
    pub fn new(problem: &Problem, measurement: &Measurement, tolerance: f64) -> Self {
        Self::within(problem, measurement, &vec![tolerance; measurement.violations.len()])
    }

    /// The same with a tolerance for each requirement.
    pub(crate) fn within(problem: &Problem, measurement: &Measurement, tolerances: &[f64]) -> Self {
        let feasible = measurement.is_feasible_within(problem, tolerances);
        let value =
            if feasible { measurement.value() } else { excess(problem, measurement, tolerances) };
        Self { feasible, value }
    }

    /// The merit on a sample that θ is not fitted to: weight decay is not part of it.
    pub(crate) fn held_out(
        problem: &Problem,
        measurement: &Measurement,
        tolerances: &[f64],
    ) -> Self {
        let merit = Self::within(problem, measurement, tolerances);
        let value = if merit.feasible { measurement.objective } else { merit.value };
        Self { value, ..merit }
    }

    /// The merit of an iterate that is not feasible: whether it is so only for want of `rooms` on a sample that θ is not fitted to decides, and what it costs.
    #[doc(hidden)]
    pub fn wanting(
        self,
        problem: &Problem,
        measurement: &Measurement,
        tolerances: &[f64],
        rooms: &[f64],
    ) -> Self {
        let each = measurement.violations.iter().zip(tolerances).zip(rooms);
        let mut missing = 0.0_f64;
        for (requirement, ((violations, &tolerance), &room)) in
            problem.requirements().iter().zip(each)
        {
            let met = match requirement.kind() {
                Kind::Average => violations.worst() <= tolerance + room,
                Kind::Pointwise => violations.violated(tolerance) <= requirement.all_but,
            };
            if !met {
                return Self { feasible: false, value: 1.0 + self.value };
            }
            if requirement.kind() == Kind::Average && room > 0.0 {
                missing = missing.max(violations.worst() / room);
            }
        }
        let cost = measurement.objective + ROOM * missing.min(1.0) * measurement.objective.abs();
        // In the order of the costs, and below 1, where the others begin.
        Self { feasible: false, value: cost.asinh() / 1000.0 }
    }

    /// Where rates cannot be met, ever more of the objective could be given up for ever less of what they are violated by. So an objective as large as that of no model
    /// at all is worth four limits, if it is not feasible.
    pub(crate) fn at_a_price(self, objective: f64, of_no_model: f64) -> Self {
        let price = if self.feasible { 0.0 } else { LIMITS * objective / of_no_model };
        Self { value: self.value + price, ..self }
    }

    /// The merit of an iterate that must meet the requirements on two samples, this one being that of the sample
    /// whose objective counts.
    pub(crate) fn and(self, other: Self) -> Self {
        let feasible = self.feasible && other.feasible;
        let excess = |merit: Self| if merit.feasible { 0.0 } else { merit.value };
        Self { feasible, value: if feasible { self.value } else { excess(self) + excess(other) } }
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
/// of violating points beyond what is allowed, and average violations relative to their limit.
fn excess(problem: &Problem, measurement: &Measurement, tolerances: &[f64]) -> f64 {
    let rows = problem.requirements().iter().zip(&measurement.violations).zip(tolerances);
    rows.map(|((requirement, violations), &tolerance)| match requirement.kind() {
        Kind::Average => {
            violations.worst().max(0.0)
                / requirement.limit().of(0).abs().max(f64::MIN_POSITIVE.sqrt())
        }
        Kind::Pointwise => (violations.violated(tolerance) - requirement.all_but).max(0.0),
    })
    .sum()
}

/// What the objective of no model is worth, in limits.
const LIMITS: f64 = 4.0;

/// What all of the room on validation rows is worth, as a share of the objective.
const ROOM: f64 = 0.1;

/// The share of the objective on validation rows up to which two iterates are as good as each other: the later one
/// is then kept, whose multipliers have had longer to settle.
const TIE: f64 = 0.01;

/// What a training remembers of its progress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The best merit so far, and after how many epochs.
    pub best: Option<(Merit, u64)>,
    /// The least total violation so far.
    pub least_total_violation: Option<f64>,
    /// Epochs since it last fell by a hundredth.
    pub stuck: u64,
    /// How often infeasibility was looked for.
    pub checks: u32,
    /// The least violation each requirement had, the worst of its points, and after how many epochs.
    #[serde(default)]
    pub least_violations: Vec<(f64, u64)>,
    /// What the exact learner remembers.
    #[serde(default)]
    pub(crate) settling: Settling,
    /// How much stricter than stated each average requirement is trained, as learned from validation rows.
    #[serde(default)]
    pub margins: Vec<f64>,
}

/// How far the exact learner has settled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settling {
    /// The least relative KKT residual.
    pub residual: Option<f64>,
    /// What it was when it last halved, and after how many steps that was.
    pub halved: Option<(f64, u64)>,
    /// What the penalty of each requirement has been multiplied with.
    pub factors: Vec<f64>,
    /// How far each requirement has been from complementary, at least.
    pub unsettled: Vec<f64>,
    /// How often penalties were lowered because θ could not be found; they are not raised after that.
    pub lowered: u32,
    /// Steps since the offsets of the surrogates last moved.
    pub since_offsets: u32,
    /// Where the limits of surrogates stand.
    pub brackets: Option<Brackets>,
    /// The points that requirements leave out, because a share may violate them.
    pub left_out: LeftOut,
    /// How often others were left out in their place.
    #[serde(default)]
    pub exchanges: u32,
}

impl Settling {
    /// Notes a residual.
    pub(crate) fn note(&mut self, residual: f64, epoch: u64) {
        self.residual = Some(self.residual.map_or(residual, |least| least.min(residual)));
        if self.halved.is_none_or(|(before, _)| residual <= 0.5 * before) {
            self.halved = Some((residual, epoch));
        }
    }

    /// Steps since the residual last halved.
    pub(crate) fn idle(&self, epoch: u64) -> u64 {
        self.halved.map_or(0, |(_, at)| epoch.saturating_sub(at))
    }
}

impl Progress {
    /// Whether it is the progress of a training of this problem, with counters that can still count.
    pub(crate) fn fits(&self, problem: &Problem) -> bool {
        let Settling { factors, unsettled, lowered, since_offsets, brackets, left_out, .. } =
            &self.settling;
        let most = problem.requirements().len();
        let counters = [self.checks, *lowered, *since_offsets, self.settling.exchanges];
        self.stuck < 1 << 60
            && counters.into_iter().all(|counter| counter < 1 << 31)
            && [self.least_violations.len(), factors.len(), unsettled.len()]
                .into_iter()
                .all(|n| n <= most)
            && self.margins.len() <= most
            && self.margins.iter().all(|margin| *margin >= 0.0 && margin.is_finite())
            && left_out.fits(problem)
            && brackets.as_ref().is_none_or(|brackets| brackets.fits(problem))
    }

    /// Notes the least violation of every requirement.
    pub(crate) fn note_violations(&mut self, measurement: &Measurement, epoch: u64) {
        self.least_violations.resize(measurement.violations.len(), (f64::INFINITY, 0));
        for (least, violations) in self.least_violations.iter_mut().zip(&measurement.violations) {
            let worst = violations.worst();
            if worst < least.0 {
                *least = (worst, epoch);
            }
        }
    }

    /// The margin that has been learned for a requirement.
    pub(crate) fn margin(&self, requirement: usize) -> f64 {
        self.margins.get(requirement).copied().unwrap_or(0.0)
    }

    /// Notes an iterate; true if it is the best so far.
    pub(crate) fn note(&mut self, merit: Merit, epoch: u64) -> bool {
        let better = self.best.is_none_or(|(best, _)| merit.beats(&best, 0.0));
        if better {
            self.best = Some((merit, epoch));
        }
        better
    }

    /// Whether a feasible iterate is as good as the best one, but for differences that validation rows cannot tell.
    pub(crate) fn is_as_good(&self, merit: Merit) -> bool {
        let as_good = |best: Merit| merit.value <= best.value + TIE * best.value.abs();
        merit.feasible && self.best.is_some_and(|(best, _)| best.feasible && as_good(best))
    }

    /// Notes the total violation; true if it has not moved for `window` epochs (twice as long
    /// after each search that found nothing).
    #[doc(hidden)]
    pub fn is_stuck(&mut self, violation: f64, window: u64) -> bool {
        let fell = self.least_total_violation.is_none_or(|least| violation < 0.99 * least);
        if fell || violation == 0.0 {
            self.least_total_violation = Some(violation);
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

//! How large things are in a problem, so that nothing is compared with a number from outside.
//!
//! A loss may be of the order of 1e-6 or of 1e6. The exact learner looks once, before it starts, at the
//! minimiser of the objective alone, and takes from there
//!
//! - the size F of the objective;
//! - the size S of each requirement: its limit, or, where that is 0, what its violation changes by along its
//!   gradient for as much of the objective as F;
//! - the penalty each requirement starts with: the violation's slope along its gradient, squared, times the
//!   penalty is the objective's curvature there (which is 1 in the coordinates of the [metric](super::metric));
//! - for requirements that are measured by another loss, how far the measured violation is from the surrogate's.
//!
//! All of it is a function of problem, model and seed: a resumed training finds the same.

use std::sync::atomic::AtomicBool;

use crate::lagrangian::{Lagrangian, Scope};
use crate::learner::augmented::Augmented;
use crate::learner::lbfgs::{Limits, Minimum, minimise};
use crate::learner::metric::{Metric, norm};
use crate::learner::rates::is_rate;
use crate::measurement::{Measurement, Violations};
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::problem::Problem;
use crate::real::Real;
use crate::reduce::Elsewhere;
use crate::requirement::{Limit, Requirement};
use crate::sums::Compensated;

/// Below this share of what the objective was at the start it is rounding.
const ROUNDING: f64 = 1e-12;

/// See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    pub(crate) metric: Metric,
    /// F.
    pub(crate) objective: f64,
    /// The objective at the start.
    first: f64,
    /// S, per requirement.
    pub(crate) requirements: Vec<f64>,
    /// What each violation changes by for as much of the objective as F.
    changes: Vec<f64>,
    /// The penalty that balances objective and requirement, per requirement.
    pub(crate) penalties: Vec<f64>,
    /// The surrogate's violation minus the measured one, for requirements that have both.
    pub(crate) offsets: Vec<Vec<f64>>,
    /// ‖z‖ of the objective's minimiser.
    pub(crate) reach: f64,
    /// The relative gradient that is rounding: outputs are sums whose terms cancel where inputs are nearly
    /// dependent.
    pub(crate) rounding: f64,
}

impl Sizes {
    /// Of the requirements alone, by their limits: enough for phase one. `None` if interrupted.
    pub(crate) fn of_limits<M: Model>(
        lagrangian: &mut Lagrangian<M>,
        seed: u64,
        interrupt: &AtomicBool,
    ) -> Option<Self> {
        let (problem, start) = (&lagrangian.problem().clone(), lagrangian.model().initial(seed));
        let metric = Metric::new(lagrangian, &start, interrupt)?;
        let measurement = lagrangian.measure(&start);
        let size = |(requirement, violations): (&Requirement, &Violations)| {
            let (limit, violation) =
                (mean_limit(requirement, &violations.elsewhere), violations.worst().abs());
            [limit, violation, 1.0].into_iter().find(|s| *s > 0.0 && s.is_finite()).unwrap_or(1.0)
        };
        let requirements: Vec<f64> =
            problem.requirements().iter().zip(&measurement.violations).map(size).collect();
        let penalties = requirements.iter().map(|s| (s * s).recip()).collect();
        Some(Self {
            metric,
            objective: 1.0,
            first: 1.0,
            changes: vec![0.0; requirements.len()],
            requirements,
            penalties,
            offsets: Vec::new(),
            reach: 0.0,
            rounding: 0.0,
        })
    }

    /// `None` if interrupted.
    pub(crate) fn new<M: Model>(
        lagrangian: &mut Lagrangian<M>,
        seed: u64,
        interrupt: &AtomicBool,
    ) -> Option<Self> {
        let (problem, start) = (&lagrangian.problem().clone(), lagrangian.model().initial(seed));
        let metric = Metric::new(lagrangian, &start, interrupt)?;
        let first = lagrangian.measure(&start).minimised().abs();
        let none = Multipliers::constant(problem, 0.0);
        let offsets = vec![Vec::new(); problem.requirements().len()];
        let mut z: Vec<f64> = start.iter().map(|t| t.to_f64()).collect();
        metric.coordinates(&mut z);
        let done = |at: &Minimum, _: &[f64], _: &[f64]| {
            at.decrement <= 1e-8 * at.value.abs().max(ROUNDING * first)
                || problem.interrupted(interrupt)
        };
        let limits = Limits { iterations: 200, done: &done, target: f64::NEG_INFINITY };
        let mut objective = Augmented {
            lagrangian,
            metric: &metric,
            multipliers: &none,
            penalties: None,
            offsets: &offsets,
            rounding: 0.0,
        };
        let (least, _) = minimise(&mut objective, &mut z, limits);
        if problem.interrupted(interrupt) {
            return None;
        }
        let largest = least.value.abs().max(ROUNDING * first);
        let size = if largest > 0.0 && largest.is_finite() { largest } else { 1.0 };
        let mut exact = z.clone();
        metric.to_theta(&mut exact);
        let theta = parameters::<M>(&metric, &z);
        let measurement = lagrangian.measure(&theta);
        let mut sizes = Self {
            objective: size,
            first,
            requirements: Vec::new(),
            changes: Vec::new(),
            penalties: Vec::new(),
            offsets: problem
                .requirements()
                .iter()
                .zip(&measurement.violations)
                .map(offset)
                .collect(),
            reach: norm(&z),
            rounding: metric.rounding::<M::Real>(&exact, &z),
            metric,
        };
        for (i, requirement) in problem.requirements().iter().enumerate() {
            let slope = sizes.slope(lagrangian, &z, &measurement, i);
            let limit = mean_limit(requirement, problem.elsewhere(i));
            let change = slope.map_or(0.0, |slope| slope * (2.0 * size).sqrt());
            let own = if limit > 0.0 { limit.max(1e-6 * change) } else { change };
            let own = if own > 0.0 && own.is_finite() { own } else { 1.0 };
            sizes.requirements.push(own);
            sizes.changes.push(if change.is_finite() { change } else { 0.0 });
            let penalty = slope.map_or(f64::NAN, |slope| (slope * slope).recip());
            let usual = first.max(size) / (own * own);
            sizes.penalties.push(if penalty > 0.0 && penalty.is_finite() {
                penalty
            } else {
                usual
            });
        }
        Some(sizes)
    }

    /// The root mean square change of a requirement's violations per length in z, along the direction in
    /// which what is violated falls fastest.
    fn slope<M: Model>(
        &self,
        lagrangian: &mut Lagrangian<M>,
        z: &[f64],
        measurement: &Measurement,
        i: usize,
    ) -> Option<f64> {
        let problem = &lagrangian.problem().clone();
        let violations = &measurement.violations[i];
        let violated = violations.elsewhere.any(violations.primal().any(|s| s > 0.0));
        let mut weights = Multipliers::constant(problem, 0.0);
        for (weight, s) in weights.of_mut(i).iter_mut().zip(violations.primal()) {
            *weight = if violated { s.max(0.0) } else { 1.0 };
        }
        lagrangian.set_scope(Scope::RequirementsOnly);
        let theta = parameters::<M>(&self.metric, z);
        let gradient = lagrangian.full_gradient(&theta, &weights);
        let mut direction: Vec<f64> = gradient.iter().map(|g| g.to_f64()).collect();
        lagrangian.set_scope(Scope::Everything);
        self.metric.gradient_by_z(&mut direction);
        let length = norm(&direction);
        if !(length > 0.0 && length.is_finite()) {
            return None;
        }
        let step = 1e-4 * (2.0 * self.objective).sqrt();
        let moved: Vec<f64> =
            z.iter().zip(&direction).map(|(z, d)| z - step / length * d).collect();
        let there = lagrangian.measure(&parameters::<M>(&self.metric, &moved));
        let (from, to) = (violations.followed(), there.violations[i].followed());
        let mean = violations.elsewhere.mean(from.len(), |range| {
            let pairs = from[range.clone()].iter().zip(&to[range]);
            Compensated::of(pairs.map(|(a, b)| (a - b) * (a - b)))
        });
        let slope = mean.sqrt() / step;
        (slope > 0.0 && slope.is_finite()).then_some(slope)
    }

    /// Multipliers that start where the problem says, 1 unless told, start no higher than objective and
    /// requirement balance: from 1 to a price of 1e-12 is a long way. Those of rates start at 0.
    pub(crate) fn temper(&self, problem: &Problem, multipliers: &mut Multipliers) {
        // Also where those of other workers are.
        if problem.workers().any(*multipliers != Multipliers::start(problem)) {
            return;
        }
        for (i, size) in self.requirements.iter().enumerate() {
            let most = self.balance() / size;
            let most = if is_rate(&problem.requirements()[i]) { 0.0 } else { most };
            multipliers.of_mut(i).iter_mut().for_each(|m| *m = m.min(most));
        }
    }

    /// A multiplier at which a change of 1 counts as much as the whole objective.
    pub(crate) fn balance(&self) -> f64 {
        self.first.max(self.objective)
    }

    /// What rounding leaves of a requirement's violation; no more than 1e-6 of its size.
    pub(crate) fn violation_rounding(&self, i: usize) -> f64 {
        (self.rounding * self.changes[i]).min(1e-6 * self.requirements[i])
    }

    /// How large the objective is at a measured θ.
    pub(crate) fn of_objective(&self, measurement: &Measurement) -> f64 {
        measurement.minimised().abs().max(self.objective)
    }
}

/// θ of z.
pub(crate) fn parameters<M: Model>(metric: &Metric, z: &[f64]) -> Vec<M::Real> {
    let mut theta = z.to_vec();
    metric.to_theta(&mut theta);
    theta.iter().map(|&t| M::Real::from_f64(t)).collect()
}

/// The mean of |c|.
pub(crate) fn mean_limit(requirement: &Requirement, elsewhere: &Elsewhere) -> f64 {
    match requirement.limit() {
        Limit::Common(c) => c.abs(),
        Limit::PerPoint(c) => {
            elsewhere.mean(c.len(), |range| Compensated::of(c[range].iter().map(|c| c.abs())))
        }
    }
}

/// By how much the surrogate's violations exceed the measured ones; nothing if there is no surrogate, and 0 if it is one of a rate.
fn offset((requirement, violations): (&Requirement, &Violations)) -> Vec<f64> {
    if is_rate(requirement) {
        return vec![0.0; requirement.multipliers()];
    }
    let pairs = |s: &Vec<f64>| s.iter().zip(&violations.measured).map(|(s, m)| s - m).collect();
    violations.surrogate.as_ref().map(pairs).unwrap_or_default()
}

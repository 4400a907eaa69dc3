//! Phase one: can the requirements be met at all?
//!
//! Minimises the total violation, each violation beside the size S of its requirement,
//!
//! $$ V(\theta) = \sum_i \tfrac12 \big[s_i(\theta)/S_i\big]_+^2
//!    + \sum_j \frac{1}{N_j} \sum_n \tfrac12 \big[s_{j,n}(\theta)/S_j\big]_+^2 . $$
//!
//! Where V is stationary and not zero, w = \[s\]₊/S² proves infeasibility of a convex problem: the
//! sum Σ w s is convex, its gradient there is ∇V = 0, so Σ w s ≥ 2V > 0 everywhere, while a
//! feasible θ would make it ≤ 0. With a gradient that is only small, Σ w s ≥ 2V − ‖∇V‖ r within
//! a distance r: a feasible θ is at least 2V/‖∇V‖ away. A verdict asks that none is within a
//! thousand sizes of the θ the search began at, in outputs (see [`Metric`](super::metric)).
//! For networks the statement is local, and worded so.
//!
//! Only requirements as they are stated count: without their margins; none that a share of the points
//! may violate, whose violation by everyone proves nothing; and none that is measured by another loss.

use crate::lagrangian::{Lagrangian, Scope};
use crate::learner::augmented::Augmented;
use crate::learner::lbfgs::{Limits, Minimum, Smooth, minimise};
use crate::learner::metric::norm;
use crate::learner::sizes::{Sizes, parameters};
use crate::measurement::{Measurement, Violations};
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::outcome::Outcome;
use crate::population::View;
use crate::real::Real;
use crate::requirement::Requirement;

/// How far from the start, in sizes of θ, a feasible point must be for a verdict.
const FAR: f64 = 1000.0;

/// How hard to look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) iterations: usize,
    /// Give up (undecided) once V has fallen to this share of where it started.
    pub(crate) hopeful: f64,
}

/// V of a measured θ, in the units of the losses.
pub(crate) fn total_violation(measurement: &Measurement) -> f64 {
    measurement.violations.iter().map(Violations::half_mean_square).sum()
}

/// Whether the loss that has a gradient says whether the requirement is met.
pub(crate) fn is_plain(requirement: &Requirement) -> bool {
    requirement.all_but == 0.0 && is_followed(requirement)
}

/// Whether it is measured by the loss θ follows.
pub(crate) fn is_followed(requirement: &Requirement) -> bool {
    requirement.terms.iter().all(|term| term.measure.is_none())
}

/// Whether it is convex in the outputs, of views that stand still.
fn is_convex(requirement: &Requirement, width: usize) -> bool {
    let sign = requirement.sense.sign();
    requirement.terms.iter().all(|term| {
        sign * term.coefficient >= 0.0
            && term.measure().properties(width).convex
            && !matches!(term.population.view(), View::Adaptive(_))
    })
}

/// Looks for a θ that meets the requirements for which `counts` holds, from `theta`; `Some` if there is
/// none near. `tolerances` are one for each requirement.
pub(crate) fn infeasibility<M: Model>(
    lagrangian: &mut Lagrangian<M>,
    sizes: &Sizes,
    theta: &[M::Real],
    tolerances: &[f64],
    effort: Effort,
    counts: impl Fn(&Requirement) -> bool,
) -> Option<Outcome> {
    let (problem, metric) = (&lagrangian.problem().clone(), &sizes.metric);
    let requirements = problem.requirements();
    if !requirements.iter().any(&counts) {
        return None;
    }
    let offset = |r: &Requirement| if counts(r) { r.margin } else { f64::INFINITY };
    let offsets: Vec<Vec<f64>> =
        requirements.iter().map(|r| vec![offset(r); r.multipliers()]).collect();
    let zero = Multipliers::constant(problem, 0.0);
    let penalties: Vec<f64> = sizes.requirements.iter().map(|s| (s * s).recip()).collect();
    let mut z: Vec<f64> = theta.iter().map(|t| t.to_f64()).collect();
    metric.coordinates(&mut z);
    let start = z.clone();
    let radius = FAR * (1.0 + norm(&z) + sizes.reach);
    // No θ within the radius is feasible, with something to spare.
    let reach = |at: &Minimum, z: &[f64]| {
        let moved: Vec<f64> = z.iter().zip(&start).map(|(a, b)| a - b).collect();
        at.gradient_norm * (radius + norm(&moved))
    };
    let done = |at: &Minimum, z: &[f64], _: &[f64]| {
        reach(at, z) <= 0.5 * at.value && at.decrement <= 1e-4 * at.value
    };
    lagrangian.set_scope(Scope::RequirementsOnly);
    let mut violation = Augmented {
        lagrangian,
        metric,
        multipliers: &zero,
        penalties: Some(&penalties),
        offsets: &offsets,
        rounding: 0.0,
    };
    let first = violation.evaluate(&z, &mut vec![0.0; start.len()]);
    // A violation within the tolerance is none; what is far below one is not looked at any closer.
    let least = (tolerances.iter().zip(&sizes.requirements))
        .map(|(tolerance, size)| tolerance / size)
        .fold(f64::INFINITY, f64::min);
    let target = (effort.hopeful * first).max(1e-6 * least * least);
    let limits = Limits { iterations: effort.iterations, done: &done, target };
    let (minimum, _) = minimise(&mut violation, &mut z, limits);
    lagrangian.set_scope(Scope::Everything);
    let measurement = lagrangian.measure(&parameters::<M>(metric, &z));
    let remaining = |i: usize| {
        let of = measurement.violations[i].followed().iter().copied();
        if counts(&requirements[i]) {
            let here = of.fold(f64::NEG_INFINITY, f64::max);
            measurement.violations[i].elsewhere.largest(here)
        } else {
            f64::NEG_INFINITY
        }
    };
    let worst =
        (0..requirements.len()).fold(0, |a, b| if remaining(b) > remaining(a) { b } else { a });
    let violated = (0..requirements.len()).any(|i| remaining(i) > tolerances[i]);
    let decided = violated && reach(&minimum, &z) <= 2.0 * minimum.value;
    let linear = lagrangian.model().is_linear();
    let width = lagrangian.model().output_width();
    let convex = |r: &Requirement| is_convex(r, width);
    decided.then(|| Outcome::Infeasible {
        requirement: requirements[worst].name().into(),
        violation: remaining(worst),
        proven: linear && requirements.iter().filter(|r| counts(r)).all(convex),
    })
}

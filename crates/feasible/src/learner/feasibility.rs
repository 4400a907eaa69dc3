//! Phase one: can the requirements be met at all?
//!
//! Minimises the total violation
//!
//! $$ V(\theta) = \sum_i \tfrac12 [s_i(\theta)]_+^2
//!    + \sum_j \frac{1}{N_j} \sum_n \tfrac12 [s_{j,n}(\theta)]_+^2 . $$
//!
//! Where V is stationary and not zero, w = \[s\]₊ certifies infeasibility of a convex problem: the
//! sum Σ w s is convex, its gradient there is ∇V = 0, so Σ w s ≥ 2V > 0 everywhere, while a
//! feasible θ would make it ≤ 0. With a gradient that is only small, V cannot vanish within a
//! distance V/‖∇V‖; a verdict asks for a distance of a thousand times the size of θ. For
//! networks the statement is local.

use crate::lagrangian::{Lagrangian, Scope};
use crate::learner::augmented::Augmented;
use crate::learner::lbfgs::{Limits, minimise};
use crate::measurement::Measurement;
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::outcome::Outcome;
use crate::real::Real;

/// How far away, in sizes of θ, a feasible point must be for a verdict of infeasibility.
const FAR: f64 = 1000.0;

/// How hard to look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) iterations: usize,
    /// Give up (undecided) once V has fallen to this share of where it started.
    pub(crate) hopeful: f64,
}

/// V of a measured θ.
pub(crate) fn total_violation(measurement: &Measurement) -> f64 {
    let of = |slacks: &[f64]| {
        let squares = slacks.iter().map(|s| s.max(0.0) * s.max(0.0));
        0.5 * squares.sum::<f64>() / slacks.len() as f64
    };
    measurement.slacks.iter().map(|slacks| of(slacks.primal())).sum()
}

/// Looks for a θ that meets the requirements, from `theta`; `Some` if there is none near.
pub(crate) fn infeasibility<M: Model>(
    lagrangian: &mut Lagrangian<'_, M>,
    theta: &[M::Real],
    tolerance: f64,
    effort: Effort,
) -> Option<Outcome> {
    let problem = lagrangian.problem();
    let zero = Multipliers::constant(problem, 0.0);
    let mut x: Vec<f64> = theta.iter().map(|t| t.to_f64()).collect();
    let start = total_violation(&lagrangian.measure(theta));
    lagrangian.set_scope(Scope::RequirementsOnly);
    let mut violation = Augmented::new(lagrangian, &zero, Some(1.0));
    let far = |size: f64, norm: f64, value: f64| FAR * (1.0 + size) * norm <= value;
    // The size of θ changes little on the way; the verdict below uses where it ended.
    let size = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let done =
        |norm: f64, decrement: f64| far(size, norm, 0.1 * start) && decrement <= 1e-9 * start;
    let target = (effort.hopeful * start).max(0.5 * tolerance * tolerance * f64::EPSILON);
    let limits = Limits { iterations: effort.iterations, done: &done, target };
    let minimum = minimise(&mut violation, &mut x, limits);
    lagrangian.set_scope(Scope::Everything);
    let size = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let end: Vec<M::Real> = x.iter().map(|&x| M::Real::from_f64(x)).collect();
    let measurement = lagrangian.measure(&end);
    let (worst, slack) = measurement
        .slacks
        .iter()
        .map(|s| s.primal().iter().copied().fold(f64::NEG_INFINITY, f64::max))
        .enumerate()
        .fold((0, f64::NEG_INFINITY), |a, b| if b.1 > a.1 { b } else { a });
    let decided = slack > tolerance && far(size, minimum.gradient_norm, minimum.value);
    decided.then(|| Outcome::Infeasible {
        requirement: problem.requirements()[worst].name().into(),
        slack,
    })
}

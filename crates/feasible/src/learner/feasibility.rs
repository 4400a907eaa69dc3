//! Phase one: can the requirements be met at all?
//!
//! Minimises the total violation
//!
//! $$ V(\theta) = \sum_i \tfrac12 [s_i(\theta)]_+^2
//!    + \sum_j \frac{1}{N_j} \sum_n \tfrac12 [s_{j,n}(\theta)]_+^2 . $$
//!
//! Where V is stationary and not zero, w = \[s\]₊ certifies infeasibility of a convex problem: the
//! sum Σ w s is convex, its gradient there is ∇V = 0, so Σ w s ≥ 2V > 0 everywhere, while a
//! feasible θ would make it ≤ 0. With a gradient that is only small, Σ w s ≥ 2V − ‖∇V‖ r within
//! a distance r: a feasible θ is at least 2V/‖∇V‖ away. A verdict asks that none is within a
//! thousand sizes of the θ the search began at. For networks the statement is local.

use crate::lagrangian::{Lagrangian, Scope};
use crate::learner::augmented::Augmented;
use crate::learner::lbfgs::{Limits, minimise};
use crate::measurement::{Measurement, Slacks};
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::outcome::Outcome;
use crate::real::Real;
use crate::total::sum_of;

/// How far from the start, in sizes of θ, a feasible point must be for a verdict.
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
    let of = |slacks: &Slacks| {
        let square = |s: f64| (s + slacks.margin).max(0.0) * (s + slacks.margin).max(0.0);
        0.5 * sum_of(slacks.followed(), square) / slacks.measured.len() as f64
    };
    measurement.slacks.iter().map(of).sum()
}

/// Looks for a θ that meets the requirements, from `theta`; `Some` if there is none near.
pub(crate) fn infeasibility<M: Model>(
    lagrangian: &mut Lagrangian<'_, M>,
    theta: &[M::Real],
    tolerance: f64,
    effort: Effort,
) -> Option<Outcome> {
    let problem = lagrangian.problem();
    // What is out of reach within a margin may be feasible as stated.
    if problem.requirements().iter().any(|r| r.margin > 0.0) {
        return None;
    }
    let zero = Multipliers::constant(problem, 0.0);
    let mut x: Vec<f64> = theta.iter().map(|t| t.to_f64()).collect();
    let start = total_violation(&lagrangian.measure(theta));
    lagrangian.set_scope(Scope::RequirementsOnly);
    let mut violation = Augmented::new(lagrangian, &zero, Some(1.0));
    let radius = FAR * (1.0 + norm(&x));
    let done =
        |norm: f64, decrement: f64| norm * radius <= 0.1 * start && decrement <= 1e-9 * start;
    let target = (effort.hopeful * start).max(0.5 * tolerance * tolerance * f64::EPSILON);
    let limits = Limits { iterations: effort.iterations, done: &done, target };
    let minimum = minimise(&mut violation, &mut x, limits);
    lagrangian.set_scope(Scope::Everything);
    let moved: Vec<f64> = x.iter().zip(theta).map(|(x, t)| x - t.to_f64()).collect();
    let end: Vec<M::Real> = x.iter().map(|&x| M::Real::from_f64(x)).collect();
    let measurement = lagrangian.measure(&end);
    let (worst, slack) = measurement
        .slacks
        .iter()
        .map(|s| s.primal().fold(f64::NEG_INFINITY, f64::max))
        .enumerate()
        .fold((0, f64::NEG_INFINITY), |a, b| if b.1 > a.1 { b } else { a });
    let reach = minimum.gradient_norm * (radius + norm(&moved));
    let decided = slack > tolerance && reach <= 2.0 * minimum.value;
    decided.then(|| Outcome::Infeasible {
        requirement: problem.requirements()[worst].name().into(),
        slack,
    })
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

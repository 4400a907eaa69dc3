//! Which points to leave out, where a requirement allows a share of them to violate it (`all_but`) and not all
//! can meet it.
//!
//! The points furthest from the limit are not always the right ones: with two outliers of high leverage among ten
//! points, the eight others are furthest where everybody's violation is least. As for least trimmed squares, which
//! is the same question, concentration steps are taken from several starts (Rousseeuw and Van Driessen 2006,
//! FAST-LTS): minimise the violation of the points that are kept, keep the points that are nearest to the limit
//! now, and so on. The violation of the kept points never grows. Starts are where the search stands, θ = 0, and
//! the θ that suit a few random points. The first without a violation is taken, else the one with the least.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::lagrangian::{Lagrangian, Scope};
use crate::learner::augmented::{Augmented, shifted};
use crate::learner::feasibility::is_followed;
use crate::learner::lbfgs::{Limits, Minimum, minimise};
use crate::learner::sizes::{Sizes, parameters};
use crate::measurement::Measurement;
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::problem::Problem;

use crate::real::Real;
use crate::stream::{Purpose, Stream};

/// Starts from a few random points.
const STARTS: u64 = 24;
/// Concentration steps from each start.
const STEPS: usize = 10;
/// Iterations of L-BFGS in one step.
const ITERATIONS: usize = 100;
/// A violation below this, beside the size of its requirement, is none.
const NONE: f64 = 1e-9;

/// The points that requirements leave out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeftOut {
    /// None: all are asked to meet their requirements.
    #[default]
    Nobody,
    /// Those that are furthest from the limit at each step.
    Furthest,
    /// These, per requirement.
    Chosen(Vec<Vec<usize>>),
}

impl LeftOut {
    /// Puts the offsets of the points that are left out at +∞.
    pub(crate) fn apply(
        &self,
        problem: &Problem,
        measurement: &Measurement,
        offsets: &mut [Vec<f64>],
    ) {
        for (i, requirement) in problem.requirements().iter().enumerate() {
            let points = match self {
                Self::Nobody => continue,
                Self::Furthest => furthest(measurement, i, requirement.all_but, &offsets[i]),
                Self::Chosen(points) => points[i].clone(),
            };
            if !points.is_empty() {
                offsets[i].resize(requirement.multipliers(), 0.0);
            }
            for n in points {
                offsets[i][n] = f64::INFINITY;
            }
        }
    }
}

/// The points with the largest violations, up to a share of all.
fn furthest(measurement: &Measurement, i: usize, share: f64, offsets: &[f64]) -> Vec<usize> {
    let slacks: Vec<f64> = shifted(&measurement.slacks[i], offsets).collect();
    let count = (share * slacks.len() as f64 + 1e-9).floor() as usize;
    let mut order: Vec<usize> = (0..slacks.len()).filter(|&n| slacks[n] > 0.0).collect();
    order.sort_by(|&a, &b| slacks[b].total_cmp(&slacks[a]).then(a.cmp(&b)));
    order.truncate(count);
    order
}

/// θ and the points to leave out there. `None` if interrupted.
pub(crate) fn trim<M: Model>(
    lagrangian: &mut Lagrangian<M>,
    sizes: &Sizes,
    theta: &[M::Real],
    seed: u64,
    interrupt: &AtomicBool,
) -> Option<(Vec<M::Real>, LeftOut)> {
    let problem = &lagrangian.problem().clone();
    let metric = &sizes.metric;
    let mut here: Vec<f64> = theta.iter().map(|t| t.to_f64()).collect();
    metric.coordinates(&mut here);
    let zero = vec![0.0; here.len()];
    let mut best: Option<(f64, Vec<f64>, LeftOut)> = None;
    lagrangian.set_scope(Scope::RequirementsOnly);
    for start in 0..STARTS + 2 {
        let mut z = if start == 0 { here.clone() } else { zero.clone() };
        if start == 1 && !lagrangian.model().is_linear() {
            continue;
        }
        if start > 1 {
            let few = few_points(problem, here.len() + 1, seed, start);
            least_violation(lagrangian, sizes, &mut z, &few, interrupt);
        }
        let (mut left_out, mut violation) = (LeftOut::Nobody, f64::INFINITY);
        for _ in 0..STEPS {
            let measurement = lagrangian.measure(&parameters::<M>(metric, &z));
            let mut offsets = unfollowed_ignored(problem);
            LeftOut::Furthest.apply(problem, &measurement, &mut offsets);
            let chosen = chosen(problem, &offsets);
            if chosen == left_out {
                break;
            }
            left_out = chosen;
            violation = least_violation(lagrangian, sizes, &mut z, &offsets, interrupt);
            if violation <= NONE * NONE {
                break;
            }
        }
        if interrupt.load(Ordering::Relaxed) {
            lagrangian.set_scope(Scope::Everything);
            return None;
        }
        if best.as_ref().is_none_or(|(least, ..)| violation < *least) {
            best = Some((violation, z, left_out));
        }
        if violation <= NONE * NONE {
            break;
        }
    }
    lagrangian.set_scope(Scope::Everything);
    best.map(|(_, z, left_out)| (parameters::<M>(metric, &z), left_out))
}

/// No offset for requirements that θ follows, +∞ for those that are measured by another loss.
fn unfollowed_ignored(problem: &Problem) -> Vec<Vec<f64>> {
    let offset = |followed: bool| if followed { 0.0 } else { f64::INFINITY };
    let requirements = problem.requirements().iter();
    requirements.map(|r| vec![offset(is_followed(r)); r.multipliers()]).collect()
}

/// The points at +∞ of the requirements that may leave some out.
fn chosen(problem: &Problem, offsets: &[Vec<f64>]) -> LeftOut {
    let of = |(i, offsets): (usize, &Vec<f64>)| {
        let requirement = &problem.requirements()[i];
        let may = requirement.all_but > 0.0 && is_followed(requirement);
        (0..offsets.len()).filter(|&n| may && offsets[n].is_infinite()).collect()
    };
    LeftOut::Chosen(offsets.iter().enumerate().map(of).collect())
}

/// Offsets at which all but `count` random points of the requirements with `all_but` are left out.
fn few_points(problem: &Problem, count: usize, seed: u64, start: u64) -> Vec<Vec<f64>> {
    let mut random = Stream::new(seed, Purpose::Shuffle, start, 0);
    let mut offsets = unfollowed_ignored(problem);
    for (requirement, offsets) in problem.requirements().iter().zip(&mut offsets) {
        if requirement.all_but > 0.0 && is_followed(requirement) {
            let rows = offsets.len();
            offsets.fill(f64::INFINITY);
            for _ in 0..count.min(rows) {
                offsets[((random.uniform() * rows as f64) as usize).min(rows - 1)] = 0.0;
            }
        }
    }
    offsets
}

/// Minimises the total violation beyond the offsets, from z; returns it.
fn least_violation<M: Model>(
    lagrangian: &mut Lagrangian<M>,
    sizes: &Sizes,
    z: &mut [f64],
    offsets: &[Vec<f64>],
    interrupt: &AtomicBool,
) -> f64 {
    let multipliers = Multipliers::constant(lagrangian.problem(), 0.0);
    let penalties: Vec<f64> = sizes.requirements.iter().map(|s| (s * s).recip()).collect();
    let done = |at: &Minimum, _: &[f64], _: &[f64]| {
        at.decrement <= 1e-6 * at.value || interrupt.load(Ordering::Relaxed)
    };
    let limits = Limits { iterations: ITERATIONS, done: &done, target: NONE * NONE };
    let mut violation = Augmented {
        lagrangian,
        metric: &sizes.metric,
        multipliers: &multipliers,
        penalties: Some(&penalties),
        offsets,
        rounding: 0.0,
    };
    minimise(&mut violation, z, limits).0.value
}

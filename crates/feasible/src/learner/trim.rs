//! Which points to leave out, where a requirement allows a share of them to violate it (`all_but`).
//!
//! The search begins without these requirements. If they are met at what is best then, nothing is better. If not,
//! the points that are furthest from the limit there are left out, up to the share, and the best without them is
//! found. Those of them that meet the limit now need not be left out: in their place go the points that
//! cost most, as their multipliers say, until none is left. That only improves the result; it is not claimed to be the
//! best choice of all, which is a combinatorial question.
//!
//! If the other points cannot meet the requirement, the choice was wrong. The points furthest from the limit are not always the right ones: with two outliers of high leverage among ten
//! points, the eight others are furthest where everybody's violation is least. As for least trimmed squares, which
//! is the same question, concentration steps are taken from several starts (Rousseeuw and Van Driessen 2006,
//! FAST-LTS): minimise the violation of the points that are kept, keep the points that are nearest to the limit
//! now, and so on. The violation of the kept points never grows. Starts are where the search stands, θ = 0, and
//! the θ that suit a few random points. The first without a violation is taken, else the one with the least.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::lagrangian::{Lagrangian, Scope};
use crate::learner::augmented::{Augmented, shifted};
use crate::learner::feasibility::is_followed;
use crate::learner::lbfgs::{Limits, Minimum, minimise};
use crate::learner::sizes::{Sizes, parameters};
use crate::measurement::{Measurement, Violations, allowed};
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::problem::Problem;
use crate::real::Real;
use crate::requirement::Requirement;
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
    /// None: no requirement allows any.
    #[default]
    Nobody,
    /// All points of the requirements that allow a share: what is best without these requirements.
    Everybody,
    /// These, per requirement: the furthest from the limit at that best, and what was exchanged for them since.
    Chosen(Vec<Vec<usize>>),
    /// These, per requirement: what concentration steps found, and what was exchanged for them since.
    Trimmed(Vec<Vec<usize>>),
}

impl LeftOut {
    /// Where a search begins.
    pub(crate) fn first(problem: &Problem) -> Self {
        if problem.may_leave_out() { Self::Everybody } else { Self::Nobody }
    }

    /// Whether it is of these requirements.
    pub(crate) fn fits(&self, problem: &Problem) -> bool {
        let (Self::Chosen(points) | Self::Trimmed(points)) = self else { return true };
        let requirements = problem.requirements();
        let fits = |(i, points): (usize, &Vec<usize>)| {
            let most = problem.points(i);
            points.iter().all(|&n| requirements[i].all_but > 0.0 && (n as f64) < most)
        };
        points.len() == requirements.len() && points.iter().enumerate().all(fits)
    }

    /// Puts the offsets of the points that are left out at +∞.
    pub(crate) fn apply(&self, problem: &Problem, offsets: &mut [Vec<f64>]) {
        for (i, requirement) in problem.requirements().iter().enumerate() {
            let is_left_out: &dyn Fn(usize) -> bool = match self {
                Self::Nobody => continue,
                Self::Everybody if requirement.all_but == 0.0 => continue,
                Self::Everybody => &|_| true,
                Self::Chosen(points) | Self::Trimmed(points) if points[i].is_empty() => continue,
                Self::Chosen(points) | Self::Trimmed(points) => {
                    &|n| points[i].binary_search(&problem.elsewhere(i).number(n)).is_ok()
                }
            };
            offsets[i].resize(requirement.multipliers(), 0.0);
            for (n, offset) in offsets[i].iter_mut().enumerate() {
                if is_left_out(n) {
                    *offset = f64::INFINITY;
                }
            }
        }
    }

    /// The points furthest from their limits, beyond these offsets.
    pub(crate) fn furthest(
        problem: &Problem,
        measurement: &Measurement,
        offsets: &[Vec<f64>],
    ) -> Self {
        let of = |(i, r): (usize, &Requirement)| furthest(measurement, i, r.all_but, &offsets[i]);
        Self::Chosen(problem.requirements().iter().enumerate().map(of).collect())
    }

    /// Where some points that are left out meet their limit all the same, others can be left out instead: those that
    /// cost most, by their multipliers. `None` if nothing is gained. The best without the new ones is no worse
    /// than the best without the old ones.
    pub(crate) fn exchanged(
        &self,
        problem: &Problem,
        measurement: &Measurement,
        multipliers: &Multipliers,
        offsets: &[Vec<f64>],
    ) -> Option<Self> {
        let (Self::Chosen(points) | Self::Trimmed(points)) = self else { return None };
        let mut gained = false;
        let mut of = |(i, requirement): (usize, &Requirement)| {
            let violations = &measurement.violations[i];
            let beyond: Vec<f64> = shifted(violations, &offsets[i]).collect();
            let (beyond, m) = match requirement.all_but > 0.0 {
                true => everyone(violations, beyond, multipliers.of(i)),
                false => (beyond, multipliers.of(i).to_vec()),
            };
            let mut next: Vec<usize> =
                points[i].iter().copied().filter(|&n| beyond[n] > 0.0).collect();
            let free = allowed(requirement.all_but, m.len() as f64).saturating_sub(next.len());
            let left_out = |n: usize| points[i].binary_search(&n).is_ok();
            let mut costly: Vec<usize> =
                (0..m.len()).filter(|&n| m[n] > 0.0 && !left_out(n)).collect();
            costly.sort_by(|&a, &b| m[b].total_cmp(&m[a]).then(a.cmp(&b)));
            costly.truncate(free);
            gained |= !costly.is_empty();
            next.append(&mut costly);
            next.sort_unstable();
            next
        };
        let next = problem.requirements().iter().enumerate().map(&mut of).collect();
        match self {
            _ if !gained => None,
            Self::Trimmed(_) => Some(Self::Trimmed(next)),
            _ => Some(Self::Chosen(next)),
        }
    }
}

/// Two lists of the points of a requirement, of those here. Points are chosen among those of all workers.
fn everyone(violations: &Violations, a: Vec<f64>, b: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut lists = violations.elsewhere.everyone(vec![a, b.to_vec()]).into_iter();
    (lists.next().unwrap_or_default(), lists.next().unwrap_or_default())
}

/// The points with the largest violations, up to a share of all.
fn furthest(measurement: &Measurement, i: usize, share: f64, offsets: &[f64]) -> Vec<usize> {
    if share == 0.0 {
        return Vec::new();
    }
    let violations = &measurement.violations[i];
    let (violations, _) = everyone(violations, shifted(violations, offsets).collect(), &[]);
    let count = allowed(share, violations.len() as f64);
    let mut order: Vec<usize> = (0..violations.len()).filter(|&n| violations[n] > 0.0).collect();
    order.sort_by(|&a, &b| violations[b].total_cmp(&violations[a]).then(a.cmp(&b)));
    order.truncate(count);
    order.sort_unstable();
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
            let chosen = LeftOut::furthest(problem, &measurement, &offsets);
            chosen.apply(problem, &mut offsets);
            if chosen == left_out {
                break;
            }
            left_out = chosen;
            violation = least_violation(lagrangian, sizes, &mut z, &offsets, interrupt);
            if violation <= NONE * NONE {
                break;
            }
        }
        if problem.interrupted(interrupt) {
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
    best.map(|(_, z, left_out)| {
        let left_out = match left_out {
            LeftOut::Chosen(points) => LeftOut::Trimmed(points),
            other => other,
        };
        (parameters::<M>(metric, &z), left_out)
    })
}

/// No offset for requirements that θ follows, +∞ for those that are measured by another loss.
fn unfollowed_ignored(problem: &Problem) -> Vec<Vec<f64>> {
    let offset = |followed: bool| if followed { 0.0 } else { f64::INFINITY };
    let requirements = problem.requirements().iter();
    requirements.map(|r| vec![offset(is_followed(r)); r.multipliers()]).collect()
}

/// Offsets at which all but `count` random points of the requirements with `all_but` are left out.
fn few_points(problem: &Problem, count: usize, seed: u64, start: u64) -> Vec<Vec<f64>> {
    let mut random = Stream::new(seed, Purpose::Shuffle, start, 0);
    let mut offsets = unfollowed_ignored(problem);
    for (i, (requirement, offsets)) in problem.requirements().iter().zip(&mut offsets).enumerate() {
        if requirement.all_but > 0.0 && is_followed(requirement) {
            let rows = problem.points(i) as usize;
            let mut draw = || ((random.uniform() * rows as f64) as usize).min(rows - 1);
            let few: HashSet<usize> = (0..count.min(rows)).map(|_| draw()).collect();
            for (n, offset) in offsets.iter_mut().enumerate() {
                let is_drawn = few.contains(&problem.elsewhere(i).number(n));
                *offset = if is_drawn { 0.0 } else { f64::INFINITY };
            }
        }
    }
    offsets
}

/// Whether no θ near meets the requirements for all points but those that are left out, beyond their margins.
pub(crate) fn is_hopeless<M: Model>(
    lagrangian: &mut Lagrangian<M>,
    sizes: &Sizes,
    theta: &[M::Real],
    left_out: &LeftOut,
    interrupt: &AtomicBool,
) -> bool {
    let problem = lagrangian.problem();
    let mut offsets = unfollowed_ignored(problem);
    left_out.apply(problem, &mut offsets);
    let mut z: Vec<f64> = theta.iter().map(|t| t.to_f64()).collect();
    sizes.metric.coordinates(&mut z);
    lagrangian.set_scope(Scope::RequirementsOnly);
    let violation = least_violation(lagrangian, sizes, &mut z, &offsets, interrupt);
    lagrangian.set_scope(Scope::Everything);
    violation > NONE * NONE
}

/// Minimises the total violation beyond the offsets, from z; returns it.
fn least_violation<M: Model>(
    lagrangian: &mut Lagrangian<M>,
    sizes: &Sizes,
    z: &mut [f64],
    offsets: &[Vec<f64>],
    interrupt: &AtomicBool,
) -> f64 {
    let problem = &lagrangian.problem().clone();
    let multipliers = Multipliers::constant(problem, 0.0);
    let penalties: Vec<f64> = sizes.requirements.iter().map(|s| (s * s).recip()).collect();
    let done = |at: &Minimum, _: &[f64], _: &[f64]| {
        at.decrement <= 1e-6 * at.value || problem.interrupted(interrupt)
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

//! What a model achieves: the objective, and every slack.

use serde::{Deserialize, Serialize};

use crate::multiplier::Multipliers;
use crate::problem::Problem;
use crate::requirement::{Kind, Level, Requirement, Sense};
use crate::sums::{largest, sum, sum_of, sum_of_pairs};

/// The objective and the slacks of a θ on a problem's populations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The average loss of the objective's population, by the loss it is measured with, without the
    /// weight decay.
    pub objective: f64,
    /// By the loss that is minimised, where that is another one.
    #[serde(default)]
    pub surrogate: Option<f64>,
    /// α/2 ‖θ‖².
    pub penalty: f64,
    /// Per requirement.
    pub slacks: Vec<Slacks>,
}

/// The slacks s = ℓ − c of one requirement (c − ℓ for "at least"): positive is violated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slacks {
    /// One, or one per point, by the loss the requirement is measured with.
    pub measured: Vec<f64>,
    /// By the loss the primal follows, where that is another one.
    pub surrogate: Option<Vec<f64>>,
    /// How much stricter the level is in training: added to a slack there.
    pub margin: f64,
}

impl Slacks {
    /// The slacks whose gradient the Lagrangian has, margin included.
    pub fn primal(&self) -> impl Iterator<Item = f64> + '_ {
        self.followed().iter().map(|s| s + self.margin)
    }

    /// The same without the margin.
    pub(crate) fn followed(&self) -> &[f64] {
        self.surrogate.as_ref().unwrap_or(&self.measured)
    }

    /// The largest slack: positive if anything is violated.
    pub fn worst(&self) -> f64 {
        largest(&self.measured)
    }

    /// The largest slack if the points with the largest ones, up to this share, do not count; NaN if one is.
    pub(crate) fn worst_but(&self, share: f64) -> f64 {
        if self.measured.iter().any(|s| s.is_nan()) {
            return f64::NAN;
        }
        if share == 0.0 {
            return self.worst();
        }
        let mut slacks = self.measured.clone();
        let but = allowed(share, slacks.len()).min(slacks.len() - 1);
        *slacks.select_nth_unstable_by(but, |a, b| b.total_cmp(a)).1
    }

    /// The share of points whose slack exceeds `tolerance`.
    pub fn violated(&self, tolerance: f64) -> f64 {
        let above = self.measured.iter().filter(|&&s| above(s, tolerance)).count();
        above as f64 / self.measured.len() as f64
    }
}

/// How many of `points` a share allows to violate a requirement.
pub(crate) fn allowed(share: f64, points: usize) -> usize {
    (share * points as f64 + 1e-9).floor() as usize
}

/// NaN counts as above.
fn above(slack: f64, tolerance: f64) -> bool {
    slack.is_nan() || slack > tolerance
}

impl Measurement {
    /// Objective plus penalty, by the loss the objective is measured with.
    pub fn value(&self) -> f64 {
        self.objective + self.penalty
    }

    /// Objective plus penalty, by the loss whose gradient the Lagrangian has: what is minimised.
    pub fn minimised(&self) -> f64 {
        self.surrogate.unwrap_or(self.objective) + self.penalty
    }

    /// The Lagrangian at these slacks, all by the losses whose gradient it has,
    /// $$ \hat L = \hat F_0 + \sum_i \mu_i s_i + \sum_j \frac{1}{N_j} \sum_n \lambda_{j,n} s_{j,n} . $$
    pub fn lagrangian(&self, multipliers: &Multipliers) -> f64 {
        let pairs = self.slacks.iter().zip(multipliers.iter());
        let of =
            |(slacks, m): (&Slacks, &[f64])| weighted(slacks.followed(), slacks.margin, m, |s| s);
        self.minimised() + pairs.map(of).sum::<f64>()
    }

    /// The largest slack of all requirements, −∞ if there are none.
    pub fn worst_slack(&self) -> f64 {
        self.slacks.iter().map(Slacks::worst).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Whether every requirement is met within `tolerance` (but for the share of points that a
    /// pointwise one allows).
    pub fn is_feasible(&self, problem: &Problem, tolerance: f64) -> bool {
        problem.requirements().iter().zip(&self.slacks).all(|(r, s)| is_met(r, s, tolerance))
    }

    /// The same with a tolerance for each requirement.
    pub(crate) fn is_feasible_within(&self, problem: &Problem, tolerances: &[f64]) -> bool {
        let rows = problem.requirements().iter().zip(&self.slacks).zip(tolerances);
        rows.into_iter().all(|((r, s), &tolerance)| is_met(r, s, tolerance))
    }

    /// Whether all numbers are finite.
    pub fn is_finite(&self) -> bool {
        // A sum of finite numbers times 0 is 0, of others NaN: no branch for each of a million.
        let finite = |values: &[f64]| sum_of(values, |x| x * 0.0) == 0.0;
        let all = |s: &Slacks| finite(&s.measured) && s.surrogate.iter().all(|s| finite(s));
        self.value().is_finite() && self.minimised().is_finite() && self.slacks.iter().all(all)
    }

    /// One line per requirement.
    pub fn standings(
        &self,
        problem: &Problem,
        multipliers: &Multipliers,
        tolerance: f64,
    ) -> Vec<Standing> {
        self.standings_within(problem, multipliers, &vec![tolerance; self.slacks.len()])
    }

    /// The same with a tolerance for each requirement.
    pub fn standings_within(
        &self,
        problem: &Problem,
        multipliers: &Multipliers,
        tolerances: &[f64],
    ) -> Vec<Standing> {
        let rows = problem.requirements().iter().zip(&self.slacks).enumerate();
        rows.map(|(i, (requirement, slacks))| {
            let (of, tolerance) = (multipliers.of(i), tolerances[i]);
            Standing {
                name: requirement.name().into(),
                kind: requirement.kind(),
                sense: requirement.sense(),
                level: mean_level(requirement),
                value: mean_value(requirement, slacks),
                worst_slack: slacks.worst(),
                violated: slacks.violated(tolerance),
                met: is_met(requirement, slacks, tolerance),
                multiplier: sum(of) / of.len() as f64,
                largest_multiplier: largest(of).max(0.0),
                multipliers_at_zero: multipliers.share_at_zero(i),
            }
        })
        .collect()
    }
}

/// How one requirement stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Its name.
    pub name: String,
    /// Average or pointwise.
    pub kind: Kind,
    /// "At most" or "at least".
    pub sense: Sense,
    /// Its level; the mean of the levels if they are per point.
    pub level: f64,
    /// The mean of its loss.
    pub value: f64,
    /// The largest slack.
    pub worst_slack: f64,
    /// The share of points over the level.
    pub violated: f64,
    /// Whether it is met.
    pub met: bool,
    /// μ, or the mean of λ.
    pub multiplier: f64,
    /// The largest λ.
    pub largest_multiplier: f64,
    /// The share of multipliers that are 0.
    pub multipliers_at_zero: f64,
}

/// The mean of multipliers times f(slack + margin).
pub(crate) fn weighted(
    slacks: &[f64],
    margin: f64,
    multipliers: &[f64],
    f: impl Fn(f64) -> f64,
) -> f64 {
    let term = |s: f64, m: f64| m * f(s + margin);
    sum_of_pairs(slacks, multipliers, term) / multipliers.len() as f64
}

fn is_met(requirement: &Requirement, slacks: &Slacks, tolerance: f64) -> bool {
    slacks.violated(tolerance) <= requirement.all_but
}

fn mean_level(requirement: &Requirement) -> f64 {
    match requirement.level() {
        Level::Common(c) => *c,
        Level::PerPoint(c) => sum(c) / c.len() as f64,
    }
}

fn mean_value(requirement: &Requirement, slacks: &Slacks) -> f64 {
    let mean = sum(&slacks.measured) / slacks.measured.len() as f64;
    requirement.sense().sign() * mean + mean_level(requirement)
}

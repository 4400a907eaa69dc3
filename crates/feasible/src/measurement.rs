//! What a model achieves: the objective, and every violation.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::multiplier::Multipliers;
use crate::problem::Problem;
use crate::reduce::Elsewhere;
use crate::requirement::{Kind, Limit, Requirement, Sense};
use crate::sums::{largest, sum, sum_of, sum_of_pairs};

/// The objective and the violations of a θ on a problem's populations.
///
/// ```
/// use feasible::measurement::Violations;
/// use feasible::optimality::{Gap, Kkt, Optimality};
/// use feasible::requirement::Sense;
/// use feasible::{Inputs, Loss, Measurement, Multipliers, Population, Problem, Requirement, Samples, Standing, Targets};
/// use feasible_nn::Linear;
/// let x = Inputs::dense(vec![0.0, 1.0], 1)?;
/// let everyone = Population::new(Samples::new(x, Targets::Values(vec![0.0, 1.0]))?);
/// let model = Linear::new(1, 1)?.double();
/// let problem = Problem::minimise(&everyone, Loss::Squared)
///     .subject_to(Requirement::pointwise("each", &everyone, Loss::Squared).at_most(0.5))
///     .check()?;
/// // f(x) = 0: wrong by 0 and by 1.
/// let theta = [0.0, 0.0];
/// let measured: Measurement = problem.measure(&model, &theta)?;
/// assert!(measured.is_finite());
/// assert_eq!((measured.value(), measured.minimised(), measured.worst_violation()), (0.5, 0.5, 0.5));
/// let Violations { measured: each, margin, .. } = &measured.violations[0];
/// assert_eq!((&each[..], *margin), (&[-0.5, 0.5][..], 0.0));
/// assert_eq!(measured.violations[0].primal().collect::<Vec<_>>(), [-0.5, 0.5]);
/// let multipliers = Multipliers::new(&problem, vec![vec![0.0, 2.0]])?;
/// assert!(multipliers.is_finite());
/// let standings: Vec<Standing> = measured.standings_within(&problem, &multipliers, &[0.6]);
/// assert!(standings[0].met && standings[0].violated == 0.0 && standings[0].sense == Sense::AtMost);
///
/// // L = 0.5 + (0 · −0.5 + 2 · 0.5)/2, and how far the pair is from a saddle point.
/// let Optimality { lagrangian, gap, kkt, .. } = problem.optimality(&model, &theta, &multipliers)?;
/// assert_eq!((lagrangian, gap.absolute), (1.0, -0.5));
/// assert_eq!(gap, Gap::new(&measured, &multipliers, 0.0));
/// let Kkt { violation, .. } = kkt;
/// assert!(violation > 0.0 && kkt.residual() >= violation);
/// # Ok::<(), feasible::Error>(())
/// ```
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
    pub violations: Vec<Violations>,
}

/// The violations s = ℓ − c of one requirement (c − ℓ for "at least"): positive is violated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Violations {
    /// One, or one per point, by the loss the requirement is measured with.
    pub measured: Vec<f64>,
    /// By the loss the primal follows, where that is another one.
    pub surrogate: Option<Vec<f64>>,
    /// How much stricter the limit is in training: added to a violation there.
    pub margin: f64,
    /// The points of other workers.
    #[serde(skip)]
    pub(crate) elsewhere: Elsewhere,
}

impl Violations {
    /// The violations whose gradient the Lagrangian has, margin included.
    pub fn primal(&self) -> impl Iterator<Item = f64> + '_ {
        self.followed().iter().map(|s| s + self.margin)
    }

    /// The same without the margin.
    pub(crate) fn followed(&self) -> &[f64] {
        self.surrogate.as_ref().unwrap_or(&self.measured)
    }

    /// The largest violation: positive if anything is violated.
    pub fn worst(&self) -> f64 {
        self.elsewhere.largest(largest(&self.measured))
    }

    /// The largest violation if the points with the largest ones, up to this share, do not count; NaN if one is.
    pub(crate) fn worst_but(&self, share: f64) -> f64 {
        if self.elsewhere.any(self.measured.iter().any(|s| s.is_nan())) {
            return f64::NAN;
        }
        if share == 0.0 {
            return self.worst();
        }
        let count = self.elsewhere.count(self.measured.len());
        self.elsewhere.largest_but(&self.measured, allowed(share, count))
    }

    /// The share of points whose violation exceeds `tolerance`.
    pub fn violated(&self, tolerance: f64) -> f64 {
        let above = |&&s: &&f64| above(s, tolerance);
        let count = |range: Range<usize>| self.measured[range].iter().filter(above).count() as f64;
        self.elsewhere.mean(self.measured.len(), count)
    }
}

impl Violations {
    /// The mean of multipliers times f(violation + margin), of some of the violations.
    pub(crate) fn weighted(
        &self,
        violations: &[f64],
        multipliers: &[f64],
        f: impl Fn(f64) -> f64,
    ) -> f64 {
        let term = |s: f64, m: f64| m * f(s + self.margin);
        self.elsewhere.mean(multipliers.len(), |range| {
            sum_of_pairs(&violations[range.clone()], &multipliers[range], term)
        })
    }

    /// With the points of all workers, who call this at the same time, where rows are divided over them.
    fn whole(self) -> Self {
        let Self { measured, surrogate, margin, elsewhere } = self;
        let lists = std::iter::once(measured).chain(surrogate).collect();
        let mut lists = elsewhere.everyone(lists).into_iter();
        let (measured, surrogate) = (lists.next().unwrap_or_default(), lists.next());
        Self { measured, surrogate, margin, elsewhere: elsewhere.after_everyone() }
    }
}

/// How many of `points` a share allows to violate a requirement.
pub(crate) fn allowed(share: f64, points: f64) -> usize {
    (share * points + 1e-9).floor() as usize
}

/// NaN counts as above.
fn above(violation: f64, tolerance: f64) -> bool {
    violation.is_nan() || violation > tolerance
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

    /// The Lagrangian at these violations, all by the losses whose gradient it has,
    /// $$ \hat L = \hat F_0 + \sum_i \mu_i s_i + \sum_j \frac{1}{N_j} \sum_n \lambda_{j,n} s_{j,n} . $$
    pub fn lagrangian(&self, multipliers: &Multipliers) -> f64 {
        let pairs = self.violations.iter().zip(multipliers.iter());
        let of = |(violations, m): (&Violations, &[f64])| {
            violations.weighted(violations.followed(), m, |s| s)
        };
        self.minimised() + pairs.map(of).sum::<f64>()
    }

    /// The largest violation of all requirements, −∞ if there are none.
    pub fn worst_violation(&self) -> f64 {
        self.violations.iter().map(Violations::worst).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Whether every requirement is met within `tolerance` (except for the share of points that a
    /// pointwise one allows).
    pub fn is_feasible(&self, problem: &Problem, tolerance: f64) -> bool {
        problem.requirements().iter().zip(&self.violations).all(|(r, s)| is_met(r, s, tolerance))
    }

    /// The same with a tolerance for each requirement.
    pub(crate) fn is_feasible_within(&self, problem: &Problem, tolerances: &[f64]) -> bool {
        let rows = problem.requirements().iter().zip(&self.violations).zip(tolerances);
        rows.into_iter().all(|((r, s), &tolerance)| is_met(r, s, tolerance))
    }

    /// Whether all numbers are finite.
    pub fn is_finite(&self) -> bool {
        // A sum of finite numbers times 0 is 0, of others NaN: no branch for each of a million.
        let finite = |values: &[f64]| sum_of(values, |x| x * 0.0) == 0.0;
        let all = |s: &Violations| {
            let here = finite(&s.measured) && s.surrogate.iter().all(|s| finite(s));
            !s.elsewhere.any(!here)
        };
        self.value().is_finite() && self.minimised().is_finite() && self.violations.iter().all(all)
    }

    /// With the points of all workers, who call this at the same time, where rows are divided over them.
    pub(crate) fn whole(self) -> Self {
        let violations = self.violations.into_iter().map(Violations::whole).collect();
        Self { violations, ..self }
    }

    /// One line per requirement.
    pub fn standings(
        &self,
        problem: &Problem,
        multipliers: &Multipliers,
        tolerance: f64,
    ) -> Vec<Standing> {
        self.standings_within(problem, multipliers, &vec![tolerance; self.violations.len()])
    }

    /// The same with a tolerance for each requirement.
    pub fn standings_within(
        &self,
        problem: &Problem,
        multipliers: &Multipliers,
        tolerances: &[f64],
    ) -> Vec<Standing> {
        self.standings_of(problem, multipliers, tolerances, |i| &self.violations[i].elsewhere)
    }

    /// The same with the multipliers of another problem: those of training rows, beside the violations of validation rows.
    pub(crate) fn standings_beside(
        &self,
        problem: &Problem,
        (trained, multipliers): (&Problem, &Multipliers),
        tolerances: &[f64],
    ) -> Vec<Standing> {
        self.standings_of(problem, multipliers, tolerances, |i| trained.elsewhere(i))
    }

    /// `owners` says where the multipliers of a requirement are.
    fn standings_of<'m>(
        &self,
        problem: &Problem,
        multipliers: &Multipliers,
        tolerances: &[f64],
        owners: impl Fn(usize) -> &'m Elsewhere,
    ) -> Vec<Standing> {
        let rows = problem.requirements().iter().zip(&self.violations).enumerate();
        rows.map(|(i, (requirement, violations))| {
            let (of, tolerance) = (multipliers.of(i), tolerances[i]);
            let (elsewhere, owners) = (&violations.elsewhere, owners(i));
            let [total, at_zero] = owners.sums(of.len(), |range| {
                let of = &of[range];
                [sum(of), of.iter().filter(|&&m| m == 0.0).count() as f64]
            });
            let count = owners.count(of.len());
            Standing {
                name: requirement.name().into(),
                kind: requirement.kind(),
                sense: requirement.sense(),
                limit: mean_limit(requirement, elsewhere),
                value: mean_value(requirement, violations),
                worst_violation: violations.worst(),
                violated: violations.violated(tolerance),
                met: is_met(requirement, violations, tolerance),
                multiplier: total / count,
                largest_multiplier: owners.largest(largest(of)).max(0.0),
                multipliers_at_zero: at_zero / count,
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
    /// Its limit; the mean of the limits if they are per point.
    pub limit: f64,
    /// The mean of its loss.
    pub value: f64,
    /// The largest violation.
    pub worst_violation: f64,
    /// The share of points over the limit.
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

fn is_met(requirement: &Requirement, violations: &Violations, tolerance: f64) -> bool {
    violations.violated(tolerance) <= requirement.all_but
}

fn mean_limit(requirement: &Requirement, elsewhere: &Elsewhere) -> f64 {
    match requirement.limit() {
        Limit::Common(c) => *c,
        Limit::PerPoint(c) => elsewhere.mean(c.len(), |range| sum(&c[range])),
    }
}

fn mean_value(requirement: &Requirement, violations: &Violations) -> f64 {
    let Violations { measured, elsewhere, .. } = violations;
    let mean = elsewhere.mean(measured.len(), |range| sum(&measured[range]));
    requirement.sense().sign() * mean + mean_limit(requirement, elsewhere)
}

//! What a model achieves: the objective, and every violation.

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
    /// What is known of them.
    #[serde(skip)]
    pub(crate) totals: Totals,
}

/// What is made of the points of all workers, once it has been asked for with one message.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals(Option<PointTotals>);

#[derive(Clone, Copy, Debug)]
struct PointTotals {
    /// Σ of the measured violations.
    measured: f64,
    /// Σ of the squares of what is violated by the loss the primal follows, margin included.
    squares: f64,
    /// How many are above the tolerance.
    above: f64,
    tolerance: f64,
    worst: f64,
    finite: bool,
}

/// They follow from the violations.
impl PartialEq for Totals {
    fn eq(&self, _: &Self) -> bool {
        true
    }
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
        if let Some(totals) = self.totals.0 {
            return totals.worst;
        }
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
        let count = self.elsewhere.count(self.measured.len());
        if let Some(totals) = self.totals.0.filter(|totals| totals.tolerance == tolerance) {
            return totals.above / count;
        }
        let above = |range| count_above(&self.measured[range], tolerance);
        self.elsewhere.sum(self.measured.len(), above) / count
    }
}

impl Violations {
    /// Half the mean square of what is violated, by the loss the primal follows, margin included.
    pub(crate) fn half_mean_square(&self) -> f64 {
        let count = self.elsewhere.count(self.measured.len());
        let of = |range| sum_of(&self.followed()[range], |s| square(s + self.margin));
        let known = self.totals.0.map(|totals| totals.squares);
        0.5 * (known.unwrap_or_else(|| self.elsewhere.sum(self.measured.len(), of)) / count)
    }

    /// The mean of the measured violations.
    fn mean(&self) -> f64 {
        let known = self.totals.0.map(|totals| totals.measured);
        let sum = || self.elsewhere.sum(self.measured.len(), |range| sum(&self.measured[range]));
        known.unwrap_or_else(sum) / self.elsewhere.count(self.measured.len())
    }

    fn is_finite_here(&self) -> bool {
        // A sum of finite numbers times 0 is 0, of others NaN: no branch for each of a million.
        let finite = |values: &[f64]| sum_of(values, |x| x * 0.0) == 0.0;
        finite(&self.measured) && self.surrogate.iter().all(|s| finite(s))
    }

    /// With the points of all workers, who call this at the same time, where rows are divided over them.
    fn whole(self) -> Self {
        let Self { measured, surrogate, margin, elsewhere, .. } = self;
        let lists = std::iter::once(measured).chain(surrogate).collect();
        let mut lists = elsewhere.everyone(lists).into_iter();
        let (measured, surrogate) = (lists.next().unwrap_or_default(), lists.next());
        let (elsewhere, totals) = (elsewhere.after_everyone(), Totals::default());
        Self { measured, surrogate, margin, elsewhere, totals }
    }
}

/// How many of `points` a share allows to violate a requirement.
pub(crate) fn allowed(share: f64, points: f64) -> usize {
    (share * points + 1e-9).floor() as usize
}

/// How many are above a tolerance.
fn count_above(violations: &[f64], tolerance: f64) -> f64 {
    violations.iter().filter(|&&s| above(s, tolerance)).count() as f64
}

/// [s]₊².
fn square(s: f64) -> f64 {
    s.max(0.0) * s.max(0.0)
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
        let means = self.weighted(multipliers, Violations::followed, |s| s);
        self.minimised() + means.iter().sum::<f64>()
    }

    /// Per requirement, the mean of multipliers times f(violation + margin), of some of its violations.
    pub(crate) fn weighted(
        &self,
        multipliers: &Multipliers,
        some: impl Fn(&Violations) -> &[f64],
        f: impl Fn(f64) -> f64,
    ) -> Vec<f64> {
        let lists: Vec<(&Violations, &[f64])> =
            self.violations.iter().zip(multipliers.iter()).collect();
        let each: Vec<_> = lists.iter().map(|(of, m)| (&of.elsewhere, m.len())).collect();
        let sums = Elsewhere::sums_of_each(&each, |i, range| {
            let (of, m) = lists[i];
            let term = |s: f64, m: f64| m * f(s + of.margin);
            [sum_of_pairs(&some(of)[range.clone()], &m[range], term)]
        });
        let pairs = sums.iter().zip(each);
        pairs.map(|(sum, (elsewhere, here))| sum[0] / elsewhere.count(here)).collect()
    }

    /// Asks at once for what is made of the points of all workers; later questions need no message.
    pub(crate) fn sum_up(&mut self, tolerances: &[f64]) {
        let each: Vec<_> =
            self.violations.iter().map(|of| (&of.elsewhere, of.measured.len())).collect();
        let sums = Elsewhere::sums_of_each(&each, |i, range| {
            let of = &self.violations[i];
            let (measured, followed) = (&of.measured[range.clone()], &of.followed()[range]);
            let squares = sum_of(followed, |s| square(s + of.margin));
            [sum(measured), squares, count_above(measured, tolerances[i])]
        });
        let here = |of: &Violations| [largest(&of.measured), f64::from(!of.is_finite_here())];
        let here: Vec<[f64; 2]> = self.violations.iter().map(here).collect();
        let both = self.violations.iter().zip(&here);
        let both: Vec<_> = both.flat_map(|(of, here)| here.map(|x| (&of.elsewhere, x))).collect();
        let largest = Elsewhere::largest_of_each(&both);
        let each =
            self.violations.iter_mut().zip(sums).zip(largest.chunks_exact(2)).zip(tolerances);
        for (((of, [measured, squares, above]), largest), &tolerance) in each {
            let (worst, finite) = (largest[0], largest[1] == 0.0);
            of.totals.0 = Some(PointTotals { measured, squares, above, tolerance, worst, finite });
        }
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
        let all = |of: &Violations| match of.totals.0 {
            Some(totals) => totals.finite,
            None => !of.elsewhere.any(!of.is_finite_here()),
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
        let each: Vec<_> =
            (0..self.violations.len()).map(|i| (owners(i), multipliers.of(i).len())).collect();
        let sums = Elsewhere::sums_of_each(&each, |i, range| {
            let of = &multipliers.of(i)[range];
            [sum(of), of.iter().filter(|&&m| m == 0.0).count() as f64]
        });
        let most = each.iter().enumerate().map(|(i, each)| (each.0, largest(multipliers.of(i))));
        let most = Elsewhere::largest_of_each(&most.collect::<Vec<_>>());
        rows.map(|(i, (requirement, violations))| {
            let (tolerance, elsewhere) = (tolerances[i], &violations.elsewhere);
            let ([total, at_zero], count) = (sums[i], each[i].0.count(each[i].1));
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
                largest_multiplier: most[i].max(0.0),
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
    requirement.sense().sign() * violations.mean() + mean_limit(requirement, &violations.elsewhere)
}

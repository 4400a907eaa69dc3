//! `Exact`: Algorithm 1 of the paper. Minimise the Lagrangian over θ to a measured tolerance ρ,
//! then one dual step.
//!
//! Two kinds of dual step:
//!
//! - **ascent** (`Learner::ascent`), Algorithm 1 to the letter: μ ← \[μ + η s\]₊ and
//!   λ ← \[λ + (η/N) s\]₊ after each minimisation of the Lagrangian. Theorem 3 bounds the
//!   number of steps to a neighbourhood whose size is proportional to η.
//! - **proximal** (the default), the same step on the augmented Lagrangian (method of
//!   multipliers), with a penalty r that takes the place of η and grows while the violation
//!   shrinks slowly. Same saddle points; it converges to them instead of to a neighbourhood, and
//!   needs no strong convexity.
//!
//! The inner minimisation is L-BFGS on the full populations, in the coordinates of the
//! `metric`: smooth losses, and views that do not depend on the model. Penalties, residuals and
//! tolerances are relative to the `sizes` of the problem, so that a loss of 1e6 is solved like one of 1.
//!
//! The pair (θ, μ, λ) with the least KKT residual is kept and returned. Penalties are not raised any more
//! once the minimisation over θ fails to reach its tolerance, and lowered a little; when the residual has not
//! halved for a while, nothing improves and the learner stops.
//!
//! A requirement that is measured by another loss is met by moving the limit of its surrogate: see
//! `proxy`. Which points are left out where a requirement allows a share to violate it: see `trim`.

use crate::dual::Dual;
use crate::error::{Error, Result};
use crate::learner::augmented::{Augmented, Offsets, shifted, stepped};
use crate::learner::feasibility::{Effort, infeasibility, is_plain};
use crate::learner::lbfgs::{Limits, Minimum, minimise};
use crate::learner::progress::Settling;
use crate::learner::proxy::Brackets;
use crate::learner::rates::is_rate;
use crate::learner::report::{InnerTolerance, Phase};
use crate::learner::sizes::{Sizes, parameters};
use crate::learner::strategy::{EpochOutcome, Residual, StepContext, move_all_duals};
use crate::learner::trim::{LeftOut, is_hopeless, trim};
use crate::measurement::{Measurement, Violations};
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::outcome::Outcome;
use crate::problem::Problem;
use crate::real::Real;
use crate::requirement::Requirement;
use crate::sums::Compensated;

/// Where the penalty of the augmented Lagrangian starts, unless told.
const FIRST_PENALTY: f64 = 10.0;
const LARGEST_FACTOR: f64 = 1e15;
/// How often penalties are lowered where θ cannot be found.
const LOWERED: u32 = 5;
/// The inner minimisation aims at this share of the residual to stop at.
const INNER: f64 = 0.2;
/// Steps without half the residual after which nothing improves.
const IDLE: u64 = 16;
/// The same once the residual is small enough.
const IDLE_AT_THE_END: u64 = 3;
/// A pair with a residual below this, beside the limits that surrogates have at present, belongs together.
const SETTLED: f64 = 1e-4;
/// Steps after which, beside surrogates, the requirements that some points may violate are added.
const LOOSE: u64 = 12;
/// How closely θ is minimised beside a rate with a multiplier, which moves in jumps.
const BY_RATES: f64 = 1e-9;
/// How often other points are left out than before.
const EXCHANGES: u32 = 20;
/// The largest number of steps between two moves of surrogates' limits.
const PATIENT: u32 = 12;

/// The strategy of Algorithm 1. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exact {
    /// η of the paper's ascent; proximal if `None`.
    pub(crate) rate: Option<f64>,
    /// Where the penalty r starts, in those that balance objective and requirement.
    pub(crate) penalty: f64,
    /// Largest inner tolerance ρ, beside the size of the objective.
    pub(crate) rho: f64,
    /// Largest number of inner iterations.
    pub(crate) iterations: usize,
}

impl Default for Exact {
    fn default() -> Self {
        Self { rate: None, penalty: FIRST_PENALTY, rho: 1e-10, iterations: 1000 }
    }
}

/// What a minimisation over θ reached.
struct Inner {
    rho: InnerTolerance,
    /// ‖∇_z L̂‖.
    gradient_norm: f64,
}

impl Exact {
    /// Minimises over θ. `None` if interrupted on the way: θ is then where it was, and the
    /// minimisation starts again when the training is resumed.
    fn minimise<M: Model>(
        &self,
        context: &mut StepContext<'_, M>,
        sizes: &Sizes,
        penalties: Option<&[f64]>,
        offsets: &Offsets,
    ) -> Option<Inner> {
        let problem = &context.lagrangian.problem().clone();
        let (alpha, metric) = (problem.decay(), &sizes.metric);
        let proven = alpha > 0.0 && problem.is_convex(&**context.lagrangian.model());
        let rho = |at: &Minimum, gradient: &[f64]| {
            if !proven {
                return at.decrement;
            }
            let norm = metric.norm_by_theta(gradient);
            norm * norm / (2.0 * alpha)
        };
        let limit = context.rules.kkt.unwrap_or(f64::INFINITY);
        let interrupt = context.interrupt;
        let by_rates = self.rate.is_none() && has_rates(problem, &context.state.multipliers);
        let done = |at: &Minimum, _: &[f64], gradient: &[f64]| {
            if by_rates && at.decrement <= BY_RATES * sizes.objective {
                return true;
            }
            let small = rho(at, gradient) <= self.rho * sizes.objective
                && at.gradient_norm <= INNER * limit * (2.0 * sizes.objective).sqrt()
                && (limit.is_infinite() || metric.norm_by_theta(gradient) <= 0.5 * limit);
            // Below this a gradient is rounding.
            let exhausted = at.gradient_norm <= 1e-15 * (2.0 * sizes.objective).sqrt();
            small || exhausted || problem.interrupted(interrupt)
        };
        let mut z: Vec<f64> = context.state.theta.iter().map(|t| t.to_f64()).collect();
        metric.coordinates(&mut z);
        let limits = Limits { iterations: self.iterations, done: &done, target: f64::NEG_INFINITY };
        let mut function = Augmented {
            lagrangian: context.lagrangian,
            metric,
            multipliers: &context.state.multipliers,
            penalties,
            offsets,
            rounding: 0.0,
        };
        let (minimum, gradient) = minimise(&mut function, &mut z, limits);
        if context.is_interrupted() {
            return None;
        }
        context.state.theta = parameters::<M>(metric, &z);
        let rho = InnerTolerance { value: rho(&minimum, &gradient), proven };
        Some(Inner { rho, gradient_norm: minimum.gradient_norm })
    }

    /// Where the violations of the augmented Lagrangian are counted from.
    fn offsets<M: Model>(&self, context: &mut StepContext<'_, M>, sizes: &Sizes) -> Vec<Vec<f64>> {
        let problem = &context.lagrangian.problem().clone();
        if self.rate.is_some() {
            return vec![Vec::new(); problem.requirements().len()];
        }
        let settling = &mut context.state.progress.settling;
        let brackets = settling.brackets.get_or_insert_with(|| Brackets::new(sizes));
        let mut offsets = brackets.offsets();
        settling.left_out.apply(problem, &mut offsets);
        for (i, offsets) in offsets.iter().enumerate() {
            for (m, offset) in context.state.multipliers.of_mut(i).iter_mut().zip(offsets) {
                *m = if offset.is_finite() { *m } else { 0.0 };
            }
        }
        offsets
    }

    /// A dual step on the augmented Lagrangian, and what the next one is taken with.
    fn step<M: Model>(
        context: &mut StepContext<'_, M>,
        sizes: &Sizes,
        penalties: &[f64],
        offsets: &Offsets,
        measurement: &Measurement,
        stationarity: f64,
    ) {
        let problem = context.lagrangian.problem().clone();
        let state = &mut *context.state;
        let limit = context.rules.kkt.unwrap_or(0.0);
        let after = unsettled(measurement, &state.multipliers, penalties, offsets, sizes);
        let worst = after.iter().copied().fold(0.0, f64::max);
        // θ minimises the plain Lagrangian at the new multipliers.
        state.multipliers = stepped(&state.multipliers, penalties, offsets, measurement);
        let settling = &mut state.progress.settling;
        settling.unsettled.resize(after.len(), f64::MAX);
        let found = stationarity <= limit.max(sizes.rounding).max(0.01 * worst);
        if !found && settling.lowered < LOWERED {
            // Too stiff, or all that rounding leaves.
            settling.lowered += 1;
            settling.factors.iter_mut().for_each(|factor| *factor *= 0.1);
        }
        let rows = settling.factors.iter_mut().zip(&mut settling.unsettled).zip(&after);
        for ((factor, before), &after) in rows {
            if found && after > 0.25 * *before && after > 0.1 * limit {
                let slow = if after > 0.5 * *before { 10.0 } else { 4.0 };
                let raise = if settling.lowered == 0 { slow } else { 2.0 };
                *factor = (raise * *factor).min(LARGEST_FACTOR);
            }
            *before = before.min(after);
        }
        let Some(brackets) = &mut settling.brackets else { return };
        settling.since_offsets += 1;
        let settled = worst <= 0.01 * brackets.step(&problem, sizes).max(1e-8);
        if (settled || settling.since_offsets >= PATIENT)
            && brackets.note(&problem, measurement, &state.multipliers, sizes)
        {
            settling.since_offsets = 0;
            settling.unsettled.fill(f64::MAX);
        }
    }

    /// Moves the multipliers of rates for the next minimisation.
    fn move_rates<M: Model>(
        context: &mut StepContext<'_, M>,
        sizes: &Sizes,
        measurement: &Measurement,
    ) {
        let problem = &context.lagrangian.problem().clone();
        let state = &mut *context.state;
        let settling = &mut state.progress.settling;
        let Some(brackets) = &mut settling.brackets else { return };
        if brackets.move_rates(problem, measurement, &mut state.multipliers, sizes) {
            settling.since_offsets = 0;
            settling.unsettled.fill(f64::MAX);
        }
    }

    /// Looks after 4, 8, 16, … steps that have not led to feasibility, and at the end.
    fn look<M: Model>(context: &mut StepContext<'_, M>, sizes: &Sizes) -> Option<Outcome> {
        let effort = Effort { iterations: 2000, hopeful: 0.0 };
        let (theta, tolerances) = (&context.state.theta, context.tolerances);
        infeasibility(context.lagrangian, sizes, theta, tolerances, effort, is_plain)
    }

    /// Leaves out other points than those so far, if that may help; whether it did.
    fn leave_out<M: Model>(context: &mut StepContext<'_, M>, sizes: &Sizes, at: &Here<'_>) -> bool {
        let problem = &context.lagrangian.problem().clone();
        let Settling { left_out, brackets, exchanges, .. } = &context.state.progress.settling;
        let (before, exchanges) = (left_out.clone(), *exchanges);
        // Beyond the limits of the surrogates, whoever is left out.
        let offsets = brackets.as_ref().map_or_else(Vec::new, Brackets::offsets);
        let left_out = match &before {
            LeftOut::Everybody if at.ended && !at.feasible => {
                Some(LeftOut::furthest(problem, at.measurement, &offsets))
            }
            LeftOut::Chosen(_) if !at.feasible => {
                let theta = context.state.theta.clone();
                let mut hopeless =
                    || is_hopeless(context.lagrangian, sizes, &theta, &before, context.interrupt);
                if at.ended || hopeless() {
                    let seed = context.state.seed;
                    let found = trim(context.lagrangian, sizes, &theta, seed, context.interrupt);
                    found.map(|(theta, left_out)| {
                        context.state.theta = theta;
                        context.state.multipliers = Multipliers::start(problem);
                        sizes.temper(problem, &mut context.state.multipliers);
                        left_out
                    })
                } else {
                    None
                }
            }
            LeftOut::Chosen(_) | LeftOut::Trimmed(_)
                if at.ended && at.feasible && exchanges < EXCHANGES =>
            {
                before.exchanged(problem, at.measurement, &context.state.multipliers, &offsets)
            }
            _ => None,
        };
        let Some(left_out) = left_out else { return false };
        let brackets = context.state.progress.settling.brackets.take();
        let exchanges = exchanges + 1;
        context.state.progress.settling =
            Settling { left_out, brackets, exchanges, ..Settling::default() };
        true
    }
}

/// Where a step has led.
struct Here<'m> {
    measurement: &'m Measurement,
    feasible: bool,
    /// Whether the residual is small enough, or does not improve any more.
    ended: bool,
}

impl Exact {
    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        let positive = |name, x: f64| Error::unless(x > 0.0 && x.is_finite(), name, x, "positive");
        positive("dual rate", self.rate.unwrap_or(1.0))?;
        positive("penalty", self.penalty)?;
        positive("rho", self.rho)?;
        Error::unless(self.iterations > 0, "inner iterations", 0.0, "at least 1")?;
        let elsewhere = !problem.workers().is_alone() && problem.shards().is_none();
        if problem.may_leave_out() && elsewhere {
            return Err(Error::Setting {
                setting: "share of points that may violate a requirement (`all_but`)".into(),
                value: problem.requirements().iter().map(|r| r.all_but).fold(0.0, f64::max),
                allowed: "0 for the exact learner on several workers: which points to leave out is chosen among \
                          all of them; use a first-order learner"
                    .into(),
            });
        }
        if problem.has_adaptive_views() {
            return Err(Error::Setting {
                setting: "populations whose view depends on the model".into(),
                value: 1.0,
                allowed: "none for the exact learner: its inner problem must stand still".into(),
            });
        }
        Ok(())
    }

    pub(crate) fn duals(&self, problem: &Problem) -> Vec<Dual> {
        let dual = Dual::algorithm1(self.rate.unwrap_or(1.0));
        vec![dual; problem.requirements().len()]
    }

    pub(crate) fn epoch<M: Model>(&self, mut context: StepContext<'_, M>) -> Option<EpochOutcome> {
        if context.is_interrupted() {
            return None;
        }
        let problem = &context.lagrangian.problem().clone();
        (context.observer)(Phase::Primal);
        let sizes = match context.sizes.take() {
            Some(sizes) => sizes,
            None => Sizes::new(context.lagrangian, context.state.seed, context.interrupt)?,
        };
        if context.state.epoch == 0 && self.rate.is_none() {
            sizes.temper(problem, &mut context.state.multipliers);
            context.state.progress.settling.left_out = LeftOut::first(problem);
        }
        let offsets = self.offsets(&mut context, &sizes);
        let penalties: Option<Vec<f64>> = match self.rate {
            Some(_) => None,
            None => {
                let factors = &mut context.state.progress.settling.factors;
                factors.resize(sizes.penalties.len(), 1.0);
                let pairs = sizes.penalties.iter().zip(factors).zip(problem.requirements());
                let penalty = context.state.penalty;
                let of = |((r, factor), requirement): ((&f64, &mut f64), &Requirement)| {
                    if is_rate(requirement) { 0.0 } else { penalty * r * *factor }
                };
                Some(pairs.map(of).collect())
            }
        };
        let inner = self.minimise(&mut context, &sizes, penalties.as_deref(), &offsets)?;
        (context.observer)(Phase::Dual);
        let mut measurement = context.lagrangian.measure(&context.state.theta);
        measurement.sum_up(context.tolerances);
        let steps = context.state.epoch + 1;
        let mut against = None;
        let mut residual = f64::INFINITY;
        let mut infeasible = None;
        let (mut idle, mut settled) = (false, false);
        if measurement.is_finite() {
            let stationarity =
                inner.gradient_norm / (2.0 * sizes.of_objective(&measurement)).sqrt();
            match &penalties {
                Some(r) => {
                    Self::step(&mut context, &sizes, r, &offsets, &measurement, stationarity);
                    against = Some(context.state.multipliers.clone());
                    Self::move_rates(&mut context, &sizes, &measurement);
                }
                None => {
                    against = Some(context.state.multipliers.clone());
                    let duals = self.duals(problem);
                    move_all_duals(problem, &duals, context.state, 0.0, &measurement);
                }
            }
            let pair = against.as_ref().unwrap_or(&context.state.multipliers);
            let limit = context.rules.kkt.unwrap_or(f64::MIN_POSITIVE);
            // What rounding leaves is not asked for.
            let gradient = stationarity / (sizes.rounding / limit).max(1.0);
            let measured = |_: usize, violations: &Violations| {
                violations.measured.iter().map(|s| s + violations.margin).collect()
            };
            residual =
                relative(&measurement, pair, &offsets, &sizes, limit, measured).max(gradient);
            // Nothing is required of the surrogates of rates.
            let moved =
                |i: usize, violations: &Violations| match is_rate(&problem.requirements()[i]) {
                    true => vec![0.0; violations.measured.len()],
                    false => shifted(violations, &offsets[i]).collect(),
                };
            let beside = relative(&measurement, pair, &offsets, &sizes, limit, moved);
            settled = beside.max(gradient) <= SETTLED.max(limit);
            let settling = &mut context.state.progress.settling;
            settling.note(residual, steps);
            let (least, waited) =
                (settling.residual.unwrap_or(f64::INFINITY), settling.idle(steps));
            // Residuals of rates stay where they are while limits of surrogates move.
            let unmoved = u64::from(settling.since_offsets);
            let waited = if problem.has_surrogates() { waited.min(unmoved) } else { waited };
            let by_rates = has_rates(problem, pair);
            idle = context.rules.kkt.is_some()
                && self.rate.is_none()
                && (waited >= IDLE
                    || (waited >= IDLE_AT_THE_END && (least <= limit || (by_rates && settled))));
            let feasible = measurement.is_feasible_within(problem, context.tolerances);
            let moment = idle || (steps >= 4 && steps.is_power_of_two());
            if context.rules.look_for_infeasibility && moment && !feasible {
                infeasible = Self::look(&mut context, &sizes);
            }
            let mut ended = idle || residual <= limit;
            // While limits of surrogates move, nothing ends; which points to leave out can be told before.
            if problem.has_surrogates()
                && context.state.progress.settling.left_out == LeftOut::Everybody
            {
                ended |= steps >= 2 * LOOSE || (steps >= LOOSE && settled);
            }
            if infeasible.is_none() && (moment || ended) {
                let here = Here { measurement: &measurement, feasible, ended };
                idle &= !Self::leave_out(&mut context, &sizes, &here);
            }
        }
        (context.observer)(Phase::Judging);
        *context.sizes = Some(sizes);
        Some(EpochOutcome {
            measurement,
            against,
            rho: Some(inner.rho),
            residual: Some(Residual { value: residual, settled, idle }),
            infeasible,
        })
    }
}

/// Whether a rate has a multiplier.
fn has_rates(problem: &Problem, multipliers: &Multipliers) -> bool {
    let mut each = problem.requirements().iter().zip(multipliers.iter());
    each.any(|(requirement, m)| is_rate(requirement) && m.iter().any(|&m| m > 0.0))
}

/// How far violations and multipliers of each requirement are from complementary: max |max(s, −m/r)|,
/// beside its size.
fn unsettled(
    measurement: &Measurement,
    multipliers: &Multipliers,
    penalties: &[f64],
    offsets: &Offsets,
    sizes: &Sizes,
) -> Vec<f64> {
    let of = |(i, m): (usize, &[f64])| {
        let violations = shifted(&measurement.violations[i], &offsets[i]);
        if penalties[i] == 0.0 {
            return 0.0;
        }
        let worst = m.iter().zip(violations).map(|(m, s)| s.max(-m / penalties[i]).abs());
        measurement.violations[i].elsewhere.largest(worst.fold(0.0, f64::max))
            / sizes.requirements[i]
    };
    multipliers.iter().enumerate().map(of).collect()
}

/// Violation and complementarity of a pair, beside the sizes of requirements and objective, or beside what
/// rounding leaves of violations if that is more than `limit`. What is left out counts for nothing.
fn relative(
    measurement: &Measurement,
    multipliers: &Multipliers,
    offsets: &Offsets,
    sizes: &Sizes,
    limit: f64,
    violations: impl Fn(usize, &Violations) -> Vec<f64>,
) -> f64 {
    let objective = sizes.of_objective(measurement);
    let mut residual = 0.0f64;
    for (i, (of, m)) in measurement.violations.iter().zip(multipliers.iter()).enumerate() {
        let (size, rounding) = (sizes.requirements[i], sizes.violation_rounding(i));
        let counts = |n: &usize| offsets[i].get(*n).is_none_or(|offset| offset.is_finite());
        let violations = violations(i, of);
        let worst = (0..m.len()).filter(counts).map(|n| violations[n]);
        let violation = of.elsewhere.largest(worst.fold(0.0, f64::max)) / size;
        residual = residual.max(violation / (rounding / (size * limit)).max(1.0));
        let term = |n: usize| if m[n] == 0.0 { 0.0 } else { m[n] * violations[n].abs() };
        let [product, total] = of.elsewhere.sums(m.len(), |range| {
            let products = Compensated::of(range.clone().map(term));
            [products, Compensated::of(m[range].iter().copied())]
        });
        let count = of.elsewhere.count(m.len());
        let (product, mean) = (product / (count * objective), total / count);
        residual = residual.max(product / (mean * rounding / (objective * limit)).max(1.0));
    }
    residual
}

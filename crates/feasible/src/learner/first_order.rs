//! `Alternating` and `Simultaneous`: a first-order optimiser on θ, and a dual step once an
//! epoch or with every batch.
//!
//! An epoch walks the objective's data set once, in batches of nearly equal size. Requirements on
//! the same data set share these batches; every other data set is dealt out alongside, in
//! batches at least as large, wrapping around where it is smaller; a batch never holds more rows than its data
//! set, so one that is smaller than a batch is taken whole every time. The gradient of a batch is
//! an unbiased estimate of the Lagrangian's: each term is scaled by (rows of its data set)/(rows
//! in the batch).
//!
//! - alternating: after every `period` epochs one dual step on the violations of the whole populations
//!   (the paper's experiments);
//! - simultaneous: a dual step with every `period` batches on the violations the batch showed; only
//!   multipliers of samples seen in it move.

use std::sync::Arc;

use crate::dual::Dual;
use crate::error::{Error, Result};
use crate::lagrangian::Selection;
use crate::learner::feasibility::{Effort, infeasibility, is_plain, total_violation};
use crate::learner::order::Shuffle;
use crate::learner::report::Phase;
use crate::learner::sizes::Sizes;
use crate::learner::state::State;
use crate::learner::strategy::{EpochOutcome, StepContext, move_all_duals};
use crate::model::Model;
use crate::optimiser::Optimiser;
use crate::problem::Problem;
use crate::real::Real;
use crate::source::Source;
use crate::stream::{Purpose, Stream};

/// Epochs without less violation before infeasibility is looked for.
const STUCK: u64 = 100;

/// When the multipliers move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cadence {
    /// After every n-th epoch, on the violations of the whole populations.
    Epochs(u64),
    /// With every n-th batch, on the violations seen in the batch.
    Batches(u64),
}

/// A first-order primal-dual strategy. See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct FirstOrder<R> {
    pub(crate) optimiser: Arc<dyn Optimiser<R>>,
    pub(crate) batch_size: usize,
    pub(crate) cadence: Cadence,
    pub(crate) dual: Dual,
    pub(crate) dual_for: Vec<(String, Dual)>,
    /// Rows of each data set that an epoch is measured on, where the multipliers need no more.
    pub(crate) measure_on: Option<usize>,
    pub(crate) shuffle: Shuffle,
}

impl<R: Real> FirstOrder<R> {
    pub(crate) fn new(optimiser: impl Optimiser<R> + 'static, cadence: Cadence) -> Self {
        let optimiser = Arc::new(optimiser);
        let (dual, dual_for) = (Dual::adam(0.01), Vec::new());
        let shuffle = Shuffle::Rows;
        Self { optimiser, batch_size: 128, cadence, dual, dual_for, measure_on: None, shuffle }
    }

    /// Batches in an epoch.
    fn steps(&self, problem: &Problem) -> u64 {
        (problem.sources()[0].rows_everywhere / self.batch_size as f64).ceil() as u64
    }
}

/// Dual steps on the violations of a batch, as (requirement, multiplier, violation).
fn move_duals<T>(
    problem: &Problem,
    duals: &[Dual],
    state: &mut State<T>,
    epoch: f64,
    violations: &[(usize, usize, f64)],
) {
    for run in violations.chunk_by(|a, b| a.0 == b.0) {
        let i = run[0].0;
        let margin = state.progress.margin(i);
        let seen = run.iter().map(|&(_, n, violation)| (n, violation + margin));
        let (multipliers, dual) = (state.multipliers.of_mut(i), &mut state.duals[i]);
        duals[i].step(epoch, problem.points(i), multipliers, dual, seen);
    }
}

impl<R: Real> FirstOrder<R> {
    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        self.optimiser.check()?;
        self.dual.check()?;
        Error::unless(self.batch_size > 0, "batch size", 0.0, "at least 1")?;
        let (Cadence::Epochs(period) | Cadence::Batches(period)) = self.cadence;
        Error::unless(period > 0, "dual period", 0.0, "at least 1")?;
        Error::unless(self.measure_on != Some(0), "measure_on", 0.0, "at least 1 row")?;
        for (name, dual) in &self.dual_for {
            dual.check()?;
            if !problem.requirements().iter().any(|r| r.name() == name) {
                let names: Vec<&str> = problem.requirements().iter().map(|r| r.name()).collect();
                return Err(Error::UnknownRequirement {
                    name: name.clone(),
                    known: names.join(", "),
                });
            }
        }
        Ok(())
    }

    pub(crate) fn duals(&self, problem: &Problem) -> Vec<Dual> {
        let of = |name: &str| {
            let own = self.dual_for.iter().rev().find(|(n, _)| n == name);
            own.map_or(self.dual, |(_, dual)| *dual)
        };
        problem.requirements().iter().map(|r| of(r.name())).collect()
    }

    pub(crate) fn epoch<M: Model<Real = R>>(
        &self,
        context: StepContext<'_, M>,
    ) -> Option<EpochOutcome> {
        let problem = &context.lagrangian.problem().clone();
        let sources = problem.sources();
        let duals = self.duals(problem);
        let steps = self.steps(problem);
        let trainable = context.lagrangian.model().trainable_count();
        (context.observer)(Phase::Primal);
        context.orders.resize_with(sources.len(), Vec::new);
        for (s, (source, order)) in sources.iter().zip(context.orders.iter_mut()).enumerate() {
            // The share of a batch that is here, and at least a row of each.
            let share = source.rows.len() as f64 / source.rows_everywhere;
            let batch = (self.batch_size as f64 * share).ceil().min(source.rows.len() as f64);
            deal(source, order, batch as usize, steps as usize, context.state, s, self.shuffle);
        }
        let mut violations = Vec::new();
        let mut selections = Vec::with_capacity(sources.len());
        while context.state.batch < steps {
            if context.is_interrupted() {
                return None;
            }
            let batch = context.state.batch;
            let done = context.state.epoch as f64 + batch as f64 / steps as f64;
            selections.clear();
            for (source, order) in sources.iter().zip(context.orders.iter()) {
                let cut = |b: u64| (b as usize) * order.len() / steps as usize;
                let rows = &order[cut(batch)..cut(batch + 1)];
                let scale = source.rows.len() as f64 / rows.len() as f64;
                selections.push(Selection { rows, scale, whole: false });
            }
            let moves_duals = match self.cadence {
                Cadence::Epochs(_) => false,
                Cadence::Batches(period) => {
                    let before = u128::from(context.state.epoch) * u128::from(steps);
                    (before + u128::from(batch) + 1).is_multiple_of(u128::from(period))
                }
            };
            let state = &mut *context.state;
            let gradient = if moves_duals {
                context.lagrangian.gradient_and_violations(
                    &state.theta,
                    &selections,
                    &state.multipliers,
                    &mut violations,
                )
            } else {
                context.lagrangian.gradient(&state.theta, &selections, &state.multipliers)
            };
            let (theta, gradient) = (&mut state.theta[..trainable], &gradient[..trainable]);
            self.optimiser.step(done, &mut state.optimiser, theta, gradient);
            context.lagrangian.absorb(&mut state.theta);
            if moves_duals {
                move_duals(problem, &duals, state, done, &violations);
            }
            context.state.batch += 1;
        }
        (context.observer)(Phase::Dual);
        let mut measurement = match (self.cadence, self.measure_on) {
            (Cadence::Batches(_), Some(rows)) => {
                context.lagrangian.measure_on(&context.state.theta, rows)
            }
            _ => context.lagrangian.measure(&context.state.theta),
        };
        measurement.sum_up(context.tolerances);
        let mut against = None;
        if let Cadence::Epochs(period) = self.cadence
            && (context.state.epoch + 1).is_multiple_of(period)
            && measurement.is_finite()
        {
            against = Some(context.state.multipliers.clone());
            let epoch = context.state.epoch as f64;
            move_all_duals(problem, &duals, context.state, epoch, &measurement);
        }
        (context.observer)(Phase::Judging);
        context.state.batch = 0;
        let violation = total_violation(&measurement);
        let stuck = context.rules.look_for_infeasibility
            && context.state.progress.is_stuck(violation, STUCK);
        let infeasible = stuck
            .then(|| {
                let effort = Effort { iterations: 200, hopeful: 0.5 };
                let (theta, seed) = (&context.state.theta, context.state.seed);
                let sizes = Sizes::of_limits(context.lagrangian, seed, context.interrupt)?;
                infeasibility(
                    context.lagrangian,
                    &sizes,
                    theta,
                    context.tolerances,
                    effort,
                    is_plain,
                )
            })
            .flatten();
        Some(EpochOutcome { measurement, against, rho: None, residual: None, infeasible })
    }
}

/// The rows of a source in the order of this epoch: shuffles of all its rows, one after the
/// other, until there are enough for all batches (or as many as it has, if that is more).
fn deal<T>(
    source: &Source,
    order: &mut Vec<u32>,
    batch: usize,
    steps: usize,
    state: &State<T>,
    number: usize,
    shuffle: Shuffle,
) {
    order.clear();
    let rows = source.rows.len();
    // The objective's source is walked once; others fill batches of the full size.
    let length = rows.max(if number == 0 { steps } else { batch * steps });
    let mut pass = 0;
    while order.len() < length {
        let start = order.len();
        order.extend_from_slice(&source.rows);
        let minor = (number as u64) << 32 | pass;
        let mut stream = Stream::new(state.seed, Purpose::Shuffle, state.epoch, minor);
        shuffle.apply(&mut stream, &mut order[start..]);
        pass += 1;
    }
    order.truncate(length);
}

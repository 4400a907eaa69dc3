//! Learners: what to minimise over θ, when to move the multipliers, and when to stop.
//!
//! | learner | θ | multipliers |
//! | --- | --- | --- |
//! | [`Learner::exact`] | minimises the Lagrangian to a measured ρ | then one step (Algorithm 1) |
//! | [`Learner::alternating`] | one epoch of a first-order optimiser | then one step |
//! | [`Learner::simultaneous`] | one batch | a step with every batch |
//!
//! [`Learner`] is one type for all three: a learner can be chosen at run time, kept in a list and given any
//! [`Optimiser`]. These three move a flat θ by the gradient of the Lagrangian. A learner that has no θ and needs
//! the output gradients only (boosted trees fit each new tree to them) is not a variant of `Learner`: it lives beside it,
//! in a separate crate, takes them from an [`OutputLagrangian`](crate::OutputLagrangian), and shares what is free of θ
//! here: [`Problem`], [`Multipliers`](crate::Multipliers),
//! [`Dual`] with its [`DualState`](crate::dual::DualState), [`Outcome`](crate::Outcome).
//!
//! Settings, with their defaults:
//!
//! | setting | default | purpose |
//! | --- | --- | --- |
//! | `epochs` | 100 | epochs, or outer iterations of `exact` |
//! | `seed` | 0 | start and shuffles |
//! | `threads` | 1 | changes nothing but the time |
//! | `tolerance` | 0 (`exact`: 1e-6 of the limit) | violation up to which a requirement counts as met |
//! | `batch_size` | 128 | rows per batch |
//! | `dual`, `dual_for` | Adam, rate 0.01 | dual optimiser, for all or one requirement |
//! | `dual_period` | 1 | epochs or batches between dual steps |
//! | `shuffle` | rows | the order of an epoch: any, or one that reads neighbouring rows at about the same time |
//! | `measure_on` | everyone | rows a simultaneous learner's epoch is measured on |
//! | `stop_when_feasible` | off | end at the first feasible iterate |
//! | `stop_at_gap` | off | end at a relative duality gap, if feasible |
//! | `stop_at_kkt` | off (`exact`: 1e-8) | end at a KKT residual (at least 64 ε of the model's scalar); `exact`: relative to the scale of the problem |
//! | `patience` | off | epochs without a better iterate after which training ends |
//! | `keep_last`, `keep_best`, `keep_best_on` | last (`exact`: smallest KKT residual) | which iterate is returned |
//! | `learn_margins` | off | stricter limits in training where validation rows show that a requirement generalises badly |
//! | `rooms` | 0 | by how much the limits on validation rows are stricter than those that count |
//! | `look_for_infeasibility` | on | name a problem that cannot be solved |

use std::ops::ControlFlow;

use crate::dual::Dual;
use crate::erased::Erased;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::optimiser::Optimiser;
use crate::problem::Problem;
use crate::real::Real;
use crate::solution::Solution;
use exact::Exact;
use first_order::FirstOrder;
use strategy::Strategy;
use tolerance::Tolerance;

mod augmented;
pub mod exact;
mod feasibility;
pub mod first_order;
pub(crate) mod lbfgs;
pub mod margin;
pub(crate) mod metric;
pub mod order;
mod progress;
pub(crate) mod proxy;
pub(crate) mod rates;
mod report;
mod shortfall;
mod sizes;
mod state;
mod strategy;
mod tolerance;
mod training;
mod trim;

pub use first_order::Cadence;
pub use order::Shuffle;
pub use progress::{Merit, Progress};
pub use report::{EpochReport, InnerTolerance, Phase, ValidationReport};
pub use shortfall::{Remedy, Shortfall};
pub use state::{Best, State};
pub use training::Training;

/// A learner: how θ moves, and when to stop. See the [module](self).
///
/// `R` is the scalar of the models it trains, which is inferred where it is given one.
#[derive(Clone, Debug)]
pub struct Learner<R = f32> {
    strategy: Strategy<R>,
    /// A setting that this kind of learner does not have.
    misplaced: Option<(&'static str, f64)>,
    epochs: u64,
    seed: u64,
    threads: usize,
    tolerance: Tolerance,
    stop: Stop,
    keep: Keep,
    /// The largest margin of each requirement, where margins are learned.
    margins: Option<Vec<f64>>,
    /// By how much the limits on validation rows are stricter than those that count, for each requirement; none for 0.
    rooms: Vec<f64>,
    look_for_infeasibility: bool,
}

/// When to stop before the epochs are over.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Stop {
    feasible: bool,
    gap: Option<f64>,
    kkt: Option<f64>,
    patience: Option<u64>,
}

/// Which iterate is returned.
#[derive(Clone, Debug, Default)]
enum Keep {
    #[default]
    Last,
    /// The best feasible one on the training populations.
    Best,
    /// The best feasible one on validation populations.
    BestOn(Problem),
}

impl<R: Real> Learner<R> {
    fn new(strategy: Strategy<R>) -> Self {
        Self {
            strategy,
            misplaced: None,
            epochs: 100,
            seed: 0,
            threads: 1,
            tolerance: Tolerance::Absolute(0.0),
            stop: Stop::default(),
            keep: Keep::Last,
            margins: None,
            rooms: Vec::new(),
            look_for_infeasibility: true,
        }
    }

    /// Epochs, or outer iterations of the exact learner.
    pub fn epochs(mut self, epochs: u64) -> Self {
        self.epochs = epochs;
        self
    }

    /// Seeds the start and the shuffles.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Number of threads; results do not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// The violation up to which a requirement counts as met, in the units of its loss.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = Tolerance::Absolute(tolerance);
        self
    }

    /// The same as a share of each limit (of the violation at the start, where the limit is 0).
    pub fn relative_tolerance(mut self, share: f64) -> Self {
        self.tolerance = Tolerance::Relative(share);
        self
    }

    /// Ends at the first iterate that meets every requirement (on the validation populations,
    /// if there are any).
    pub fn stop_when_feasible(mut self) -> Self {
        self.stop.feasible = true;
        self
    }

    /// Ends when the iterate is feasible and the relative duality gap at most this.
    pub fn stop_at_gap(mut self, gap: f64) -> Self {
        self.stop.gap = Some(gap);
        self
    }

    /// Ends when the KKT residual is at most this, or at most 64 ε of the model's scalar, below
    /// which it is rounding. Costs a full gradient per epoch. The exact learner measures it relative to the scale of
    /// objective and limits as well, and stops by that where the absolute residual cannot get as low.
    pub fn stop_at_kkt(mut self, residual: f64) -> Self {
        self.stop.kkt = Some(residual);
        self
    }

    /// Runs all epochs: no early stop of any kind.
    pub fn never_stop_early(mut self) -> Self {
        self.stop = Stop::default();
        self
    }

    /// Ends after this many epochs without a better iterate.
    pub fn patience(mut self, epochs: u64) -> Self {
        self.stop.patience = Some(epochs);
        self
    }

    /// Returns the last iterate (the default); the exact learner the one with the smallest KKT residual.
    pub fn keep_last(mut self) -> Self {
        self.keep = Keep::Last;
        self
    }

    /// Returns the best feasible iterate on the training populations.
    pub fn keep_best(mut self) -> Self {
        self.keep = Keep::Best;
        self
    }

    /// Returns the best feasible iterate on validation populations: the same objective and
    /// requirements, other samples.
    pub fn keep_best_on(mut self, validation: Problem) -> Self {
        self.keep = Keep::BestOn(validation);
        self
    }

    /// Trains average requirements against limits that are stricter by as much as the validation rows of
    /// [`keep_best_on`](Learner::keep_best_on) exceed the training rows, but by at most `most`, one number for each
    /// requirement; see [`margin`]. Has no effect without validation rows, or for the exact learner. The best
    /// iterate is then one that is feasible on both.
    ///
    /// ```
    /// use feasible::{Inputs, Learner, Loss, Population, Problem, Requirement, Samples, Targets};
    /// use feasible_nn::{Linear, Sgd};
    /// let x = Inputs::dense(vec![0.0, 1.0], 1)?;
    /// let everyone = Population::new(Samples::new(x, Targets::Values(vec![0.0, 1.0]))?);
    /// let mean = Requirement::average("mean", &everyone, Loss::Squared).at_most(0.1);
    /// let problem = Problem::minimise(&everyone, Loss::Squared).subject_to(mean).check()?;
    /// let learner = Learner::alternating(Sgd::new(0.1)).epochs(50).keep_best_on(problem.clone());
    /// let model = Linear::new(1, 1)?;
    /// assert!(learner.clone().learn_margins(vec![0.05]).solve(&problem, &model).is_ok());
    /// // One number for each requirement.
    /// assert!(learner.learn_margins(vec![]).begin(&problem, &model).is_err());
    /// # Ok::<(), feasible::Error>(())
    /// ```
    pub fn learn_margins(mut self, most: Vec<f64>) -> Self {
        self.margins = Some(most);
        self
    }

    /// The limits of the problem of [`keep_best_on`](Learner::keep_best_on) are stricter by this than those that count, one number for each requirement: room
    /// for what chance adds on rows to come. Where no iterate leaves all of it, one that meets the limits that count is not given up for a little more room at any
    /// price: of those, the objective and the room that is left are weighed against each other, all of the room being worth a tenth of the objective. Has an effect only where margins
    /// are learned.
    ///
    /// ```
    /// use feasible::{Inputs, Learner, Loss, Population, Problem, Requirement, Samples, Targets};
    /// use feasible_nn::{Linear, Sgd};
    /// let x = Inputs::dense(vec![0.0, 1.0], 1)?;
    /// let everyone = Population::new(Samples::new(x, Targets::Values(vec![0.0, 1.0]))?);
    /// let problem = |limit: f64| {
    ///     let mean = Requirement::average("mean", &everyone, Loss::Squared).at_most(limit);
    ///     Problem::minimise(&everyone, Loss::Squared).subject_to(mean).check()
    /// };
    /// let learner = Learner::alternating(Sgd::new(0.1)).epochs(50).learn_margins(vec![0.05]);
    /// let learner = learner.keep_best_on(problem(0.08)?).rooms(vec![0.02]);
    /// assert!(learner.solve(&problem(0.1)?, &Linear::new(1, 1)?).is_ok());
    /// # Ok::<(), feasible::Error>(())
    /// ```
    pub fn rooms(mut self, rooms: Vec<f64>) -> Self {
        self.rooms = rooms;
        self
    }

    /// Whether to look, when nothing improves, for proof that nothing can; on by default.
    pub fn look_for_infeasibility(mut self, look: bool) -> Self {
        self.look_for_infeasibility = look;
        self
    }

    fn check(&self, problem: &Problem) -> Result<()> {
        let not_negative = |name, x: f64| {
            Error::unless(x >= 0.0 && x.is_finite(), name, x, "at least 0 and finite")
        };
        not_negative("tolerance", self.tolerance.value())?;
        not_negative("stop_at_gap", self.stop.gap.unwrap_or(0.0))?;
        not_negative("stop_at_kkt", self.stop.kkt.unwrap_or(0.0))?;
        if let Some(most) = &self.margins {
            let (found, expected) = (most.len(), problem.requirements().len());
            if found != expected {
                let (what, expected) = ("learn_margins".into(), expected.to_string());
                return Err(Error::Shape { what, expected, found });
            }
            most.iter().try_for_each(|&most| not_negative("learn_margins", most))?;
        }
        if !self.rooms.is_empty() {
            let (found, expected) = (self.rooms.len(), problem.requirements().len());
            if found != expected {
                let (what, expected) = ("rooms".into(), expected.to_string());
                return Err(Error::Shape { what, expected, found });
            }
            self.rooms.iter().try_for_each(|&room| not_negative("rooms", room))?;
        }
        if let Some((setting, value)) = self.misplaced {
            let allowed = match &self.strategy {
                Strategy::FirstOrder(_) => "a setting of the exact learner only",
                Strategy::Exact(_) => "a setting of alternating and simultaneous learners only",
            };
            Error::unless(false, setting, value, allowed)?;
        }
        self.strategy.check(problem)
    }

    /// Solves `problem` with `model`.
    ///
    /// # Errors
    /// Settings outside their range; a model that does not fit. How training ended is not an
    /// error: see [`Solution::outcome`].
    pub fn solve<M: Model<Real = R>>(&self, problem: &Problem, model: M) -> Result<Solution<R>> {
        self.solve_observed(problem, model, |_| ControlFlow::Continue(()))
    }

    /// Solves `problem` with `model`; `observer` sees every epoch and may stop the training.
    ///
    /// # Errors
    /// As [`Learner::solve`].
    pub fn solve_observed<M: Model<Real = R>>(
        &self,
        problem: &Problem,
        model: M,
        mut observer: impl FnMut(&EpochReport) -> ControlFlow<()>,
    ) -> Result<Solution<R>> {
        let mut training = self.begin(problem, model)?;
        while let Some(report) = training.advance() {
            if observer(&report).is_break() {
                training.stop();
                break;
            }
        }
        Ok(training.finish())
    }

    /// Starts a training that the caller advances. It owns what it needs: with a model passed by value it can be kept
    /// and sent to another thread; with a reference, for as long as that lives.
    ///
    /// # Errors
    /// As [`Learner::solve`].
    pub fn begin<'m>(
        &self,
        problem: &Problem,
        model: impl Model<Real = R> + 'm,
    ) -> Result<Training<'m, R>> {
        R::begin(self.clone(), problem, Erased::new(model), None)
    }

    /// Resumes from a saved state.
    ///
    /// # Errors
    /// As [`Learner::solve`]; and a state of another problem, model or learner.
    pub fn resume<'m>(
        &self,
        problem: &Problem,
        model: impl Model<Real = R> + 'm,
        state: State<R>,
    ) -> Result<Training<'m, R>> {
        let state = state.own(problem)?;
        R::begin(self.clone(), problem, Erased::new(model), Some(state))
    }

    /// As [`Learner::resume`], on a worker that has a [share](Problem::share) of a problem, from
    /// [its part](crate::problem::ProblemShare::of_state) of the state.
    ///
    /// # Errors
    /// As [`Learner::resume`].
    pub fn resume_share<'m>(
        &self,
        problem: &Problem,
        model: impl Model<Real = R> + 'm,
        state: State<R>,
    ) -> Result<Training<'m, R>> {
        R::begin(self.clone(), problem, Erased::new(model), Some(state))
    }
}

/// Learners with a first-order optimiser, and their settings. On an exact learner these are refused when it
/// begins.
impl<R: Real> Learner<R> {
    /// A primal epoch, then a dual step on the violations of the whole populations: what the
    /// paper's experiments do.
    pub fn alternating(optimiser: impl Optimiser<R> + 'static) -> Self {
        Self::new(Strategy::FirstOrder(FirstOrder::new(optimiser, Cadence::Epochs(1))))
    }

    /// A dual step with every batch, for the multipliers of what the batch showed.
    pub fn simultaneous(optimiser: impl Optimiser<R> + 'static) -> Self {
        Self::new(Strategy::FirstOrder(FirstOrder::new(optimiser, Cadence::Batches(1))))
    }

    fn first_order(
        mut self,
        setting: &'static str,
        value: f64,
        set: impl FnOnce(&mut FirstOrder<R>),
    ) -> Self {
        match &mut self.strategy {
            Strategy::FirstOrder(strategy) => set(strategy),
            Strategy::Exact(_) => self.misplaced = Some((setting, value)),
        }
        self
    }

    /// Rows per batch.
    pub fn batch_size(self, rows: usize) -> Self {
        self.first_order("batch_size", rows as f64, |s| s.batch_size = rows)
    }

    /// Measures an epoch of the simultaneous learner on at most `rows` rows of each data set, the same
    /// ones every time, instead of on everyone: for populations whose views cost more to measure than
    /// to train on, adversaries for instance. The multipliers do not depend on it; the solution is measured
    /// on everyone.
    pub fn measure_on(self, rows: usize) -> Self {
        self.first_order("measure_on", rows as f64, |s| s.measure_on = Some(rows))
    }

    /// How the rows of an epoch are put in order; all rows by default.
    ///
    /// ```
    /// use feasible::Learner;
    /// use feasible::learner::Shuffle;
    /// let learner = Learner::<f32>::alternating(feasible_nn::Adam::new(0.01)).shuffle(Shuffle::Blocks);
    /// ```
    pub fn shuffle(self, shuffle: Shuffle) -> Self {
        self.first_order("shuffle", 0.0, |s| s.shuffle = shuffle)
    }

    /// The dual optimiser of all requirements.
    pub fn dual(self, dual: Dual) -> Self {
        self.first_order("dual", dual.rate(), |s| s.dual = dual)
    }

    /// Another dual optimiser for one requirement.
    pub fn dual_for(self, requirement: impl Into<String>, dual: Dual) -> Self {
        self.first_order("dual_for", dual.rate(), |s| s.dual_for.push((requirement.into(), dual)))
    }

    /// When the multipliers move; `None` for the exact learner, whose multipliers move whenever θ is found.
    ///
    /// ```
    /// use feasible::Learner;
    /// use feasible::learner::first_order::Cadence;
    /// let learner = Learner::<f32>::simultaneous(feasible_nn::Sgd::new(0.1)).dual_period(4);
    /// assert_eq!(learner.cadence(), Some(Cadence::Batches(4)));
    /// ```
    pub fn cadence(&self) -> Option<Cadence> {
        match &self.strategy {
            Strategy::FirstOrder(strategy) => Some(strategy.cadence),
            Strategy::Exact(_) => None,
        }
    }

    /// Epochs (alternating) or batches (simultaneous) between dual steps.
    pub fn dual_period(self, period: u64) -> Self {
        self.first_order("dual_period", period as f64, |s| {
            s.cadence = match s.cadence {
                Cadence::Epochs(_) => Cadence::Epochs(period),
                Cadence::Batches(_) => Cadence::Batches(period),
            }
        })
    }
}

/// The exact learner and its settings. On another learner these are refused when it begins.
impl<R: Real> Learner<R> {
    /// Algorithm 1: minimise the Lagrangian, then one dual step. See the [module](exact).
    pub fn exact() -> Self {
        let tolerance = Tolerance::Relative(1e-6);
        Self { tolerance, ..Self::new(Strategy::Exact(Exact::default())) }.stop_at_kkt(1e-8)
    }

    fn of_exact(mut self, setting: &'static str, value: f64, set: impl FnOnce(&mut Exact)) -> Self {
        match &mut self.strategy {
            Strategy::Exact(strategy) => set(strategy),
            Strategy::FirstOrder(_) => self.misplaced = Some((setting, value)),
        }
        self
    }

    /// The paper's dual ascent at rate η (η/N for pointwise requirements) instead of the
    /// proximal steps.
    pub fn ascent(self, rate: f64) -> Self {
        self.of_exact("ascent", rate, |s| s.rate = Some(rate))
    }

    /// Where the penalty of the proximal steps starts, 1 being the one that balances the curvature of the
    /// objective; 10 by default.
    pub fn penalty(self, penalty: f64) -> Self {
        self.of_exact("penalty", penalty, |s| s.penalty = penalty)
    }

    /// The largest inner tolerance ρ, relative to the objective; 1e-10 by default.
    pub fn rho(self, rho: f64) -> Self {
        self.of_exact("rho", rho, |s| s.rho = rho)
    }

    /// The largest number of inner iterations; 1000 by default.
    pub fn inner_iterations(self, iterations: usize) -> Self {
        self.of_exact("inner_iterations", iterations as f64, |s| s.iterations = iterations)
    }
}

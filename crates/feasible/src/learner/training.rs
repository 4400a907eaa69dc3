//! A training in progress: epoch by epoch, with its state in the open.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::denormals::FlushDenormals;
use crate::dual::DualState;
use crate::erased::Erased;
use crate::error::Result;
use crate::lagrangian::Lagrangian;
use crate::learner::margin;
use crate::learner::progress::Merit;
use crate::learner::rates::is_rate;
use crate::learner::report::{EpochReport, Phase, ValidationReport};
use crate::learner::shortfall::shortfalls;
use crate::learner::sizes::Sizes;
use crate::learner::state::{Best, State};
use crate::learner::strategy::{EpochOutcome, Residual, Rules, StepContext};
use crate::learner::{Keep, Learner};
use crate::measurement::Measurement;
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::optimality::{Gap, Kkt};
use crate::optimiser::OptimiserState;
use crate::outcome::Outcome;
use crate::problem::Problem;
use crate::real::Real;
use crate::reduce::Workers;
use crate::requirement::Requirement;
use crate::solution::Solution;

/// A training in progress. [`Learner::solve`] runs one to its end; a caller that saves
/// checkpoints advances it step by step:
///
/// ```
/// # use feasible::{Inputs, Learner, Loss, Population, Problem, Samples, Targets};
/// # use feasible_nn::{Linear, Sgd};
/// # let x = Inputs::new(vec![0.5, 0.25, -0.5, 0.125], 1)?;
/// # let everyone = Population::new(Samples::new(x, Targets::Classes(vec![1, 1, 0, 0]))?);
/// # let problem = Problem::minimise(&everyone, Loss::Logistic).check()?;
/// # let model = Linear::new(1, 1)?;
/// let learner = Learner::alternating(Sgd::new(0.1)).epochs(5);
/// let mut training = learner.begin(&problem, &model)?;
/// while let Some(report) = training.advance() {
///     let checkpoint = training.state().clone(); // serialise it; `learner.resume` takes it
///     assert_eq!(checkpoint.epoch, report.epoch);
/// }
/// let solution = training.finish();
/// # Ok::<(), feasible::Error>(())
/// ```
#[allow(missing_debug_implementations)]
pub struct Training<'m, R: Real> {
    learner: Learner<R>,
    lagrangian: Lagrangian<Erased<'m, R>>,
    validation: Option<Lagrangian<Erased<'m, R>>>,
    state: State<R>,
    /// The last θ and multipliers known to be finite.
    sound: (Vec<R>, Multipliers),
    orders: Vec<Vec<u32>>,
    interrupt: Arc<AtomicBool>,
    /// The KKT residual to stop at, no smaller than rounding.
    kkt_limit: Option<f64>,
    /// The violation up to which each requirement counts as met.
    tolerances: Vec<f64>,
    /// What the exact learner found out before its first step.
    sizes: Option<Sizes>,
}

impl<'m, R: Real> Training<'m, R> {
    pub(crate) fn new(
        learner: Learner<R>,
        problem: &Problem,
        model: Erased<'m, R>,
        state: Option<State<R>>,
    ) -> Result<Self> {
        learner.check(problem)?;
        let model = Arc::new(model);
        let mut lagrangian =
            Lagrangian::new(problem, model.clone(), learner.threads, learner.seed)?.sharing();
        let validation = match &learner.keep {
            Keep::BestOn(validation) => {
                validation.check_same_shape(problem)?;
                let validation =
                    Lagrangian::new(validation, model.clone(), learner.threads, learner.seed)?;
                Some(validation.sharing())
            }
            Keep::Last | Keep::Best => None,
        };
        let state = match state {
            Some(state) => {
                state.check(problem, &*model, &learner.strategy)?;
                state
            }
            None => State {
                seed: learner.seed,
                epoch: 0,
                batch: 0,
                theta: model.initial(learner.seed),
                optimiser: OptimiserState::new(
                    learner.strategy.optimiser_slots(),
                    model.trainable_count(),
                ),
                multipliers: Multipliers::start(problem),
                duals: DualState::all(problem, &learner.strategy.duals(problem)),
                penalty: learner.strategy.first_penalty(),
                best: None,
                progress: Default::default(),
                outcome: None,
            },
        };
        let sound = (state.theta.clone(), state.multipliers.clone());
        let rounding = 64.0 * R::EPSILON.to_f64();
        let tolerances = learner.tolerance.of_each(&mut lagrangian, state.seed);
        Ok(Self {
            kkt_limit: learner.stop.kkt.map(|limit| limit.max(rounding)),
            learner,
            lagrangian,
            validation,
            state,
            sound,
            orders: Vec::new(),
            interrupt: Arc::default(),
            tolerances,
            sizes: None,
        })
    }

    /// The state, to be saved. Between calls of [`Training::advance`] it is always sound.
    ///
    /// Where rows are divided over workers ([`Problem::divided_over`]), it has the multipliers of the rows of this worker; what
    /// is saved then is [`Training::whole_state`].
    pub fn state(&self) -> &State<R> {
        &self.state
    }

    /// The state, to be saved, whether or not rows are divided over workers. All workers call this at the same time; it is the
    /// first that gets the state, and the others get `None`.
    pub fn whole_state(&self) -> Option<Cow<'_, State<R>>> {
        let problem = self.lagrangian.problem();
        match problem.shards() {
            None => Some(Cow::Borrowed(&self.state)),
            Some(_) => self.state.clone().whole(problem).map(Cow::Owned),
        }
    }

    /// Starts from a θ and multipliers found elsewhere instead of the usual ones.
    ///
    /// # Errors
    /// Lengths that do not fit, or numbers that are not finite.
    pub fn warm_start(&mut self, theta: &[R], multipliers: &Multipliers) -> Result<()> {
        let multipliers = multipliers.clone().own(self.lagrangian.problem())?;
        let state = State { theta: theta.to_vec(), multipliers, ..self.state.clone() };
        let (problem, model) = (self.lagrangian.problem(), self.lagrangian.model());
        state.check(problem, &**model, &self.learner.strategy)?;
        self.sound = (state.theta.clone(), state.multipliers.clone());
        self.state = state;
        Ok(())
    }

    /// A flag that stops the training soon after it is set, at a batch boundary.
    pub fn interrupter(&self) -> Arc<AtomicBool> {
        self.interrupt.clone()
    }

    /// One epoch; `None` once the training has ended or was interrupted.
    pub fn advance(&mut self) -> Option<EpochReport> {
        self.advance_observed(&mut |_| {})
    }

    /// As [`Training::advance`]; `observer` is told when each phase of the epoch begins.
    pub fn advance_observed(&mut self, observer: &mut dyn FnMut(Phase)) -> Option<EpochReport> {
        R::advance(self, observer)
    }

    pub(crate) fn advance_here(&mut self, observer: &mut dyn FnMut(Phase)) -> Option<EpochReport> {
        match self.state.outcome {
            None => {}
            Some(Outcome::Interrupted) => self.state.outcome = None,
            Some(_) => return None,
        }
        self.lagrangian.set_epoch(self.state.epoch);
        if self.state.epoch >= self.learner.epochs {
            self.state.outcome = Some(self.at_the_end(Outcome::MaxEpochs));
            return None;
        }
        let _flush = FlushDenormals::new();
        let learner = &self.learner;
        let context = StepContext {
            lagrangian: &mut self.lagrangian,
            state: &mut self.state,
            orders: &mut self.orders,
            interrupt: &self.interrupt,
            rules: Rules {
                kkt: self.kkt_limit,
                look_for_infeasibility: learner.look_for_infeasibility,
            },
            tolerances: &self.tolerances,
            sizes: &mut self.sizes,
            observer,
        };
        let Some(moved) = learner.strategy.epoch(context) else {
            self.state.outcome = Some(Outcome::Interrupted);
            return None;
        };
        self.state.epoch += 1;
        if let Some(what) = self.not_finite(&moved.measurement) {
            let epoch = self.state.epoch;
            (self.state.theta, self.state.multipliers) = self.sound.clone();
            self.state.outcome = Some(Outcome::Diverged { what: what.into(), epoch });
            return None;
        }
        self.sound.0.copy_from_slice(&self.state.theta);
        self.sound.1.clone_from(&self.state.multipliers);
        Some(self.conclude(moved))
    }

    fn workers(&self) -> &Workers {
        self.lagrangian.problem().workers()
    }

    fn not_finite(&self, measurement: &Measurement) -> Option<&'static str> {
        if !self.state.theta.iter().all(|t| t.is_finite()) {
            Some("a parameter")
        } else if !measurement.is_finite() {
            Some("a loss")
        } else if self.workers().any(!self.state.multipliers.is_finite()) {
            Some("a multiplier")
        } else {
            None
        }
    }

    /// Keeps the best iterate, applies the stopping rules and reports.
    fn conclude(&mut self, moved: EpochOutcome) -> EpochReport {
        let EpochOutcome { measurement, against, rho, residual, infeasible } = moved;
        let (learner, problem) = (&self.learner, &self.lagrangian.problem().clone());
        let (epoch, tolerances) = (self.state.epoch, &self.tolerances);
        let judged = self.validation.as_mut().map(|validation| {
            let mut measurement = validation.measure(&self.state.theta);
            measurement.sum_up(tolerances);
            (validation.problem().clone(), measurement)
        });
        let mut trained = Merit::within(problem, &measurement, tolerances);
        if let Some(sizes) =
            self.sizes.as_ref().filter(|_| problem.requirements().iter().any(is_rate))
        {
            trained = trained.at_a_price(measurement.value(), sizes.balance());
        }
        let merit = match &judged {
            Some((problem, measurement)) => {
                let judged = Merit::held_out(problem, measurement, tolerances);
                // Few validation rows may meet by chance what the many training rows do not.
                match learner.margins.is_some() {
                    true => {
                        let merit = judged.and(trained);
                        let rooms = &learner.rooms;
                        let short = !merit.feasible && trained.feasible && !rooms.is_empty();
                        let order = || merit.wanting(problem, measurement, tolerances, rooms);
                        match (merit.feasible, short) {
                            (true, _) => merit,
                            (false, true) => order(),
                            (false, false) => Merit { value: 1.0 + merit.value, ..merit },
                        }
                    }
                    false => judged,
                }
            }
            None => trained,
        };
        if let (Some(most), Some((_, judged))) = (&learner.margins, &judged) {
            let before = &self.state.progress.margins;
            self.state.progress.margins =
                margin::learned(before, problem, most, &measurement, judged);
        }
        let best = self.state.progress.note(merit, epoch);
        self.state.progress.note_violations(&measurement, epoch);
        let pair = against.as_ref().unwrap_or(&self.state.multipliers);
        let kkt = self
            .kkt_limit
            .is_some()
            .then(|| Kkt::new(&mut self.lagrangian, &self.state.theta, &measurement, pair));
        let gap = Gap::new(&measurement, pair, rho.map_or(0.0, |r| r.value));
        let lagrangian = measurement.lagrangian(pair);
        let feasible = measurement.is_feasible_within(problem, tolerances);
        let this = |residual: Option<Residual>| Best {
            epoch,
            theta: self.state.theta.clone(),
            multipliers: pair.clone(),
            feasible: merit.feasible,
            residual: residual.map(|r| r.value),
            settled: residual.is_some_and(|r| r.settled),
            value: merit.value,
        };
        // The exact learner's last pair need not be its best one.
        let keep = match (&learner.keep, residual) {
            (Keep::Last, None) => false,
            (Keep::Last, Some(residual)) => {
                // Limits of surrogates, and the points that are left out, change on the way: of two pairs that
                // belong together the one with the lower objective is better, and of two that meet less than
                // all the one that is nearer to it.
                let changes = problem.has_surrogates() || problem.may_leave_out();
                let order = |feasible: bool, settled: bool, value: f64, residual: f64| match changes
                {
                    false => (!feasible, false, residual),
                    true if feasible => (false, !settled, value),
                    true => (true, false, value),
                };
                let of = |best: &Best<R>| {
                    let before = best.residual.unwrap_or(f64::INFINITY);
                    order(merit.feasible, residual.settled, merit.value, residual.value)
                        < order(best.feasible, best.settled, best.value, before)
                };
                self.state.best.as_ref().is_none_or(of)
            }
            (Keep::BestOn(_), _) if learner.margins.is_some() => {
                best || self.state.progress.is_as_good(merit)
            }
            (Keep::Best | Keep::BestOn(_), _) => best,
        };
        if keep {
            // A first-order learner keeps the multipliers that the next epoch starts with.
            let mut kept = this(residual);
            if residual.is_none() {
                kept.multipliers = self.state.multipliers.clone();
            }
            self.state.best = Some(kept);
        }
        let stop = &learner.stop;
        let last = self.state.progress.best.map_or(0, |(_, epoch)| epoch);
        let out_of_patience = stop.patience.is_some_and(|n| epoch.saturating_sub(last) >= n);
        let at_gap = stop.gap.is_some_and(|limit| feasible && gap.relative <= limit);
        let small = |residual: f64| self.kkt_limit.is_some_and(|limit| residual <= limit);
        let absolute = kkt.is_some_and(|kkt| small(kkt.residual()));
        let idle = residual.is_some_and(|r| r.idle);
        // Multipliers of points that may violate their requirement are those of a stricter problem, and those of rates of their surrogates.
        let stated =
            |pair: &Multipliers| !is_stricter(problem, pair) && !is_by_surrogate(problem, pair);
        let (reached, settled) = match residual {
            None => (at_gap || absolute, false),
            Some(r) => {
                // Beside the sizes of the problem, and as far as it goes in plain numbers.
                let now = feasible && stated(pair) && small(r.value);
                let kept = self.state.best.as_ref();
                let kept = kept.filter(|kept| kept.feasible && stated(&kept.multipliers));
                let before = kept.and_then(|kept| kept.residual).is_some_and(small);
                // What rounding allows is not the end as long as it improves: small multipliers need it.
                let asked = learner.stop.kkt.is_some_and(|limit| r.value <= limit);
                (at_gap || (now && absolute && (asked || idle)), idle && before)
            }
        };
        let converged = reached && stated(pair);
        let met_before = feasible || self.state.best.as_ref().is_some_and(|best| best.feasible);
        if converged {
            // The pair that converged is what is returned.
            self.state.best = Some(this(residual));
            self.state.outcome = Some(Outcome::Converged);
        } else if settled {
            self.state.outcome = Some(Outcome::Converged);
        } else if reached && residual.is_none() {
            self.state.best = Some(this(None));
            self.state.outcome = Some(self.at_the_end(Outcome::Stalled));
        } else if infeasible.is_some() && !met_before {
            self.state.outcome = infeasible;
        } else if stop.feasible && merit.feasible {
            if matches!(learner.keep, Keep::Last) {
                self.state.best = None;
            }
            self.state.outcome = Some(Outcome::Feasible);
        } else if out_of_patience || idle {
            self.state.outcome = Some(self.at_the_end(Outcome::Stalled));
        }
        EpochReport {
            epoch: self.state.epoch,
            objective: measurement.objective,
            penalty: measurement.penalty,
            lagrangian,
            gap,
            rho,
            kkt,
            requirements: measurement.standings_within(
                problem,
                &self.state.multipliers,
                &self.tolerances,
            ),
            validation: judged.map(|(problem, measurement)| ValidationReport {
                objective: measurement.objective,
                requirements: measurement.standings_beside(
                    &problem,
                    (self.lagrangian.problem(), &self.state.multipliers),
                    &self.tolerances,
                ),
            }),
            best,
        }
    }

    /// `Feasible` if what will be returned is, else `otherwise`.
    fn at_the_end(&mut self, otherwise: Outcome) -> Outcome {
        let feasible = match &self.state.best {
            Some(best) => best.feasible,
            None => {
                let measurement = self.lagrangian.measure(&self.state.theta);
                measurement.is_feasible_within(self.lagrangian.problem(), &self.tolerances)
            }
        };
        if feasible { Outcome::Feasible } else { otherwise }
    }

    /// Ends the training where it stands, as if it had no more epochs.
    pub fn end_here(&mut self) {
        if matches!(self.state.outcome, None | Some(Outcome::Interrupted)) {
            self.lagrangian.set_epoch(self.state.epoch);
            self.state.outcome = Some(self.at_the_end(Outcome::MaxEpochs));
        }
    }

    /// Marks the training as stopped from outside; it can be resumed.
    pub fn stop(&mut self) {
        if self.state.outcome.is_none() {
            self.state.outcome = Some(Outcome::Interrupted);
        }
    }

    /// The result: one model, its multipliers, violations and residuals. Where rows are spread or divided over workers, all of
    /// them call this at the same time.
    pub fn finish(self) -> Solution<R> {
        R::finish(self)
    }

    pub(crate) fn finish_here(mut self) -> Solution<R> {
        let State { epoch, theta, multipliers, best, outcome, progress, .. } = self.state;
        // Whether this process trained the last epoch or only found it done, adversaries draw the same.
        self.lagrangian.set_epoch(epoch);
        let (kept_epoch, theta, multipliers) = match best {
            Some(best) => (best.epoch, best.theta, best.multipliers),
            None => (epoch, theta, multipliers),
        };
        let mut measurement = self.lagrangian.measure(&theta);
        measurement.sum_up(&self.tolerances);
        let kkt = Kkt::new(&mut self.lagrangian, &theta, &measurement, &multipliers);
        let gap = Gap::new(&measurement, &multipliers, 0.0);
        let problem = self.lagrangian.problem();
        let requirements = measurement.standings_within(problem, &multipliers, &self.tolerances);
        let shortfalls = shortfalls(&requirements, &progress, epoch);
        let (multipliers, measurement) = (multipliers.whole(problem), measurement.whole());
        Solution {
            theta,
            multipliers,
            measurement,
            requirements,
            gap,
            kkt,
            outcome: outcome.unwrap_or(Outcome::Interrupted),
            shortfalls,
            epochs: epoch,
            kept_epoch,
        }
    }
}

/// Whether a rate has a multiplier. The pair is then one of a problem whose surrogate has its limit where the rate happens to meet its own;
/// whether another θ meets the rate at a lower objective is not known.
fn is_by_surrogate(problem: &Problem, multipliers: &Multipliers) -> bool {
    let is_rate =
        |r: &Requirement| r.terms().iter().any(|term| !term.measure().is_differentiable());
    let mut requirements = problem.requirements().iter().zip(multipliers.iter());
    let here = requirements.any(|(r, m)| is_rate(r) && m.iter().any(|&m| m > 0.0));
    problem.workers().any(here)
}

/// Whether a point that may violate its requirement has a multiplier all the same. The pair is then one of a problem
/// that is stricter than the one stated.
fn is_stricter(problem: &Problem, multipliers: &Multipliers) -> bool {
    let mut requirements = problem.requirements().iter().zip(multipliers.iter());
    let here = requirements.any(|(r, m)| r.all_but > 0.0 && m.iter().any(|&m| m > 0.0));
    problem.workers().any(here)
}

//! All that is needed to resume a training, as one value.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::dual::DualState;
use crate::error::{Error, Result};
use crate::learner::progress::Progress;
use crate::learner::strategy::Strategy;
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::optimiser::OptimiserState;
use crate::outcome::Outcome;
use crate::problem::Problem;
use crate::real::Real;
use crate::reduce::Elsewhere;
use crate::requirement::Kind;

/// The state between two steps of a training. Saved and resumed, a training ends in the same
/// bits as one left alone: shuffles are a function of seed and epoch, and need no state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "T: Serialize", deserialize = "T: DeserializeOwned"))]
pub struct State<T> {
    /// The seed of start and shuffles.
    pub seed: u64,
    /// Epochs done.
    pub epoch: u64,
    /// Batches done of the next epoch.
    pub batch: u64,
    /// θ.
    pub theta: Vec<T>,
    /// What the primal optimiser remembers.
    pub optimiser: OptimiserState<T>,
    /// μ and λ.
    pub multipliers: Multipliers,
    /// What the dual optimisers remember, per requirement.
    pub duals: Vec<DualState>,
    /// The penalty of the augmented Lagrangian, where there is one.
    pub penalty: f64,
    /// The kept iterate, if the best one is to be returned.
    pub best: Option<Best<T>>,
    /// How long ago things last improved.
    pub progress: Progress,
    /// How it ended, once it has.
    pub outcome: Option<Outcome>,
}

/// More steps than any training takes, so that counting them does not overflow.
const MOST_STEPS: u64 = 1 << 60;

/// The best iterate so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "T: Serialize", deserialize = "T: DeserializeOwned"))]
pub struct Best<T> {
    /// After how many epochs.
    pub epoch: u64,
    /// θ.
    pub theta: Vec<T>,
    /// The multipliers of that moment.
    pub multipliers: Multipliers,
    /// Whether it met every requirement.
    pub feasible: bool,
    /// Its KKT residual beside the sizes of the problem, where the learner measures it.
    #[serde(default)]
    pub residual: Option<f64>,
    /// Whether the learner had found the multipliers that belong to it, where it can tell.
    #[serde(default)]
    pub settled: bool,
    /// Its objective, weight decay included, if it is feasible, else how far it is from that.
    #[serde(default)]
    pub value: f64,
}

/// Between a state of a whole problem and the part of it on one worker: what is remembered of single points.
impl<T: Clone> State<T> {
    /// The part of this worker, of the state of a whole problem.
    ///
    /// # Errors
    /// A state of another problem.
    pub(crate) fn own(self, problem: &Problem) -> Result<Self> {
        let points = self.points(problem);
        self.own_points(points.into_iter())
    }

    /// The part of a worker that has these points of some requirements, of the state of a whole problem.
    ///
    /// # Errors
    /// A state of another problem.
    pub(crate) fn own_points(
        mut self,
        points: impl Iterator<Item = (usize, Elsewhere)>,
    ) -> Result<Self> {
        let known = self.multipliers.iter().count().min(self.duals.len());
        for (i, elsewhere) in points.filter(|(i, _)| *i < known) {
            let own = self.take(i).into_iter().map(|list| elsewhere.own(list));
            let own = own.collect::<Option<Vec<_>>>().ok_or_else(|| Error::State {
                reason: "its multipliers were made for other requirements or samples".into(),
            })?;
            self.put(i, own);
        }
        Ok(self)
    }

    /// The state of the whole problem, of those of all workers, who call this at the same time; `None` on all but the first.
    pub(crate) fn whole(mut self, problem: &Problem) -> Option<Self> {
        for (i, elsewhere) in self.points(problem) {
            let lists = elsewhere.at_first(self.take(i));
            if problem.workers().is_first() {
                self.put(i, lists);
            }
        }
        problem.workers().is_first().then_some(self)
    }

    /// The requirements whose points are divided over workers, of those that it has multipliers of.
    fn points(&self, problem: &Problem) -> Vec<(usize, Elsewhere)> {
        if problem.shards().is_none() {
            return Vec::new();
        }
        let known = self.multipliers.iter().count().min(self.duals.len());
        let pointwise = |i: &usize| problem.requirements()[*i].kind() == Kind::Pointwise;
        let requirements = (0..problem.requirements().len().min(known)).filter(pointwise);
        requirements.map(|i| (i, problem.elsewhere(i).clone())).collect()
    }

    /// Takes what is remembered of the points of a requirement, list by list.
    fn take(&mut self, i: usize) -> Vec<Vec<f64>> {
        let mut lists = vec![std::mem::take(self.multipliers.list_mut(i))];
        if let Some(best) = self.best.as_mut().filter(|best| i < best.multipliers.iter().count()) {
            lists.push(std::mem::take(best.multipliers.list_mut(i)));
        }
        lists.extend(self.duals[i].lists());
        if let Some(brackets) = &self.progress.settling.brackets {
            lists.extend(brackets.lists(i));
        }
        lists
    }

    /// Puts such lists back.
    fn put(&mut self, i: usize, lists: Vec<Vec<f64>>) {
        let mut lists = lists.into_iter();
        let mut next = || lists.next().unwrap_or_default();
        *self.multipliers.list_mut(i) = next();
        if let Some(best) = self.best.as_mut().filter(|best| i < best.multipliers.iter().count()) {
            *best.multipliers.list_mut(i) = next();
        }
        self.duals[i] = DualState::of_lists([next(), next(), next()]);
        if let Some(brackets) = &mut self.progress.settling.brackets {
            brackets.set_lists(i, &lists.collect::<Vec<_>>());
        }
    }
}

impl<T: Real> State<T> {
    /// # Errors
    /// A state of another problem, model or learner, or one with numbers that are not finite.
    pub(crate) fn check<M: Model<Real = T>>(
        &self,
        problem: &Problem,
        model: &M,
        strategy: &Strategy<T>,
    ) -> Result<()> {
        let state = |reason: String| Err(Error::State { reason });
        check_pair(&self.theta, &self.multipliers, problem, model)?;
        if let Some(best) = &self.best {
            check_pair(&best.theta, &best.multipliers, problem, model)?;
        }
        let (found, expected) = (self.optimiser.slots.len(), strategy.optimiser_slots());
        if found != expected {
            return state(format!(
                "its optimiser remembers {found} vectors, that of this learner {expected}: resume \
                 with the optimiser it was saved with"
            ));
        }
        let trainable = model.trainable_count();
        if self.optimiser.slots.iter().any(|slot| slot.len() != trainable) {
            return state("its optimiser was made for another model".into());
        }
        let duals = strategy.duals(problem);
        if self.duals.len() != duals.len() {
            return state("its dual optimisers were made for other requirements".into());
        }
        let remembered = self.duals.iter().zip(&duals).zip(self.multipliers.iter());
        for (requirement, ((own, dual), multipliers)) in
            problem.requirements().iter().zip(remembered)
        {
            if !own.fits(dual, multipliers.len()) {
                return state(format!(
                    "the multipliers of {} were moved by another dual method: resume with the one \
                     it was saved with",
                    requirement.who()
                ));
            }
        }
        // A training that diverged ended with such numbers; no other can be resumed from them.
        let ended = !matches!(self.outcome, None | Some(Outcome::Interrupted));
        let remembers_nan = self.optimiser.slots.iter().flatten().any(|x| x.to_f64().is_nan())
            || self.duals.iter().any(DualState::has_nan);
        if remembers_nan && !ended {
            return state("its optimisers remember numbers that are no numbers".into());
        }
        let best = self.best.as_ref().map_or(0, |best| best.epoch);
        if best > self.epoch || self.optimiser.step > MOST_STEPS {
            return state(format!(
                "it is at epoch {}, with its best epoch {best} and {} steps done",
                self.epoch, self.optimiser.step
            ));
        }
        if !self.progress.fits(problem) {
            return state("what it remembers of its progress was of other requirements".into());
        }
        let penalised = strategy.first_penalty() > 0.0;
        if !(self.penalty >= 0.0 && self.penalty.is_finite() && (self.penalty > 0.0) == penalised) {
            return state(format!(
                "its penalty is {}: resume with the learner it was saved with",
                self.penalty
            ));
        }
        Ok(())
    }
}

/// Whether a θ and multipliers are of this problem and model, and finite.
fn check_pair<M: Model>(
    theta: &[M::Real],
    multipliers: &Multipliers,
    problem: &Problem,
    model: &M,
) -> Result<()> {
    let state = |reason: String| Err(Error::State { reason });
    let p = model.parameter_count();
    if theta.len() != p {
        return state(format!("it has {} parameters, the model {p}", theta.len()));
    }
    if let Some(n) = theta.iter().position(|t| !t.is_finite()) {
        return state(format!("parameter {n} is {}: give finite numbers", theta[n].to_f64()));
    }
    if !multipliers.fits(problem) {
        return state("its multipliers were made for other requirements or samples".into());
    }
    multipliers.check(problem)
}

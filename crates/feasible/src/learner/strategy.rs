//! The one thing learners differ in: how θ and the multipliers move in an epoch.

use std::sync::atomic::AtomicBool;

use crate::dual::Dual;
use crate::error::Result;
use crate::lagrangian::Lagrangian;
use crate::learner::exact::Exact;
use crate::learner::first_order::FirstOrder;
use crate::learner::report::{InnerTolerance, Phase};
use crate::learner::sizes::Sizes;
use crate::learner::state::State;
use crate::measurement::Measurement;
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::outcome::Outcome;
use crate::problem::Problem;
use crate::real::Real;

/// How a learner moves. Another way to move θ is another variant here; a learner without a θ (see the
/// [module](crate::learner)) is none of these.
#[derive(Clone, Debug)]
pub(crate) enum Strategy<R> {
    FirstOrder(FirstOrder<R>),
    Exact(Exact),
}

impl<R: Real> Strategy<R> {
    /// # Errors
    /// A setting outside its range, or a requirement it names that does not exist.
    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        match self {
            Self::FirstOrder(strategy) => strategy.check(problem),
            Self::Exact(strategy) => strategy.check(problem),
        }
    }

    /// The dual optimiser of each requirement.
    pub(crate) fn duals(&self, problem: &Problem) -> Vec<Dual> {
        match self {
            Self::FirstOrder(strategy) => strategy.duals(problem),
            Self::Exact(strategy) => strategy.duals(problem),
        }
    }

    /// How many vectors the primal optimiser remembers.
    pub(crate) fn optimiser_slots(&self) -> usize {
        match self {
            Self::FirstOrder(strategy) => strategy.optimiser.slots(),
            Self::Exact(_) => 0,
        }
    }

    /// Where the penalty of the augmented Lagrangian starts; 0 if there is none.
    pub(crate) fn first_penalty(&self) -> f64 {
        match self {
            Self::FirstOrder(_) => 0.0,
            Self::Exact(strategy) => strategy.penalty,
        }
    }

    /// One epoch: moves θ, measures, moves the multipliers. `None` if interrupted on the way,
    /// in which case the state is where it stopped and training can continue from there.
    pub(crate) fn epoch<M: Model<Real = R>>(
        &self,
        context: StepContext<'_, M>,
    ) -> Option<EpochOutcome> {
        match self {
            Self::FirstOrder(strategy) => strategy.epoch(context),
            Self::Exact(strategy) => strategy.epoch(context),
        }
    }
}

/// What a strategy works with.
pub(crate) struct StepContext<'d, M: Model> {
    pub(crate) lagrangian: &'d mut Lagrangian<M>,
    pub(crate) state: &'d mut State<M::Real>,
    pub(crate) orders: &'d mut Vec<Vec<u32>>,
    pub(crate) interrupt: &'d AtomicBool,
    pub(crate) rules: Rules,
    /// The violation up to which each requirement counts as met.
    pub(crate) tolerances: &'d [f64],
    /// What the exact learner found out before its first step.
    pub(crate) sizes: &'d mut Option<Sizes>,
    /// Is told what comes next.
    pub(crate) observer: &'d mut dyn FnMut(Phase),
}

/// What of the learner's settings a strategy needs to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) kkt: Option<f64>,
    pub(crate) look_for_infeasibility: bool,
}

impl<M: Model> StepContext<'_, M> {
    pub(crate) fn is_interrupted(&self) -> bool {
        self.lagrangian.problem().interrupted(self.interrupt)
    }
}

/// The result of an epoch.
#[derive(Clone, Debug)]
pub(crate) struct EpochOutcome {
    /// θ, measured on the whole populations.
    pub(crate) measurement: Measurement,
    /// The multipliers θ was trained against, if the state's have moved on since.
    pub(crate) against: Option<Multipliers>,
    pub(crate) rho: Option<InnerTolerance>,
    pub(crate) residual: Option<Residual>,
    pub(crate) infeasible: Option<Outcome>,
}

/// The KKT residual of a pair, beside the sizes of the problem.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Residual {
    pub(crate) value: f64,
    /// Whether nothing improves any more.
    pub(crate) idle: bool,
    /// Whether the multipliers are those of θ: of the limits that surrogates have at present, and of the points that
    /// are not left out.
    pub(crate) settled: bool,
}

/// A dual step of every requirement on the violations of its whole population.
pub(crate) fn move_all_duals<T>(
    problem: &Problem,
    duals: &[Dual],
    state: &mut State<T>,
    epoch: f64,
    measurement: &Measurement,
) {
    for (i, violations) in measurement.violations.iter().enumerate() {
        let (multipliers, dual) = (state.multipliers.of_mut(i), &mut state.duals[i]);
        let (measured, margin) =
            (&violations.measured, violations.margin + state.progress.margin(i));
        duals[i].step_all(epoch, problem.points(i), multipliers, dual, measured, margin);
    }
}

//! The one thing learners differ in: how θ and the multipliers move in an epoch.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::dual::Dual;
use crate::error::Result;
use crate::lagrangian::Lagrangian;
use crate::learner::report::Rho;
use crate::learner::sizes::Sizes;
use crate::learner::state::State;
use crate::measurement::Measurement;
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::outcome::Outcome;
use crate::problem::Problem;

/// How a learner moves; implemented by [`FirstOrder`](crate::FirstOrder) and
/// [`Exact`](crate::Exact).
pub trait Strategy<M: Model>: Send + Sync {
    /// # Errors
    /// A setting outside its range, or a requirement it names that does not exist.
    fn check(&self, problem: &Problem) -> Result<()>;

    /// The dual optimiser of each requirement.
    fn duals(&self, problem: &Problem) -> Vec<Dual>;

    /// How many vectors the primal optimiser remembers.
    fn optimiser_slots(&self) -> usize;

    /// Where the penalty of the augmented Lagrangian starts; 0 if there is none.
    fn first_penalty(&self) -> f64 {
        0.0
    }

    /// One epoch: moves θ, measures, moves the multipliers. `None` if interrupted on the way,
    /// in which case the state is where it stopped and can go on from there.
    #[doc(hidden)]
    fn epoch(&self, at: Desk<'_, '_, M>) -> Option<Moved>;
}

/// What a strategy works with.
#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub struct Desk<'d, 'a, M: Model> {
    pub(crate) lagrangian: &'d mut Lagrangian<'a, M>,
    pub(crate) state: &'d mut State<M::Real>,
    pub(crate) orders: &'d mut Vec<Vec<u32>>,
    pub(crate) interrupt: &'d AtomicBool,
    pub(crate) rules: Rules,
    /// The slack up to which each requirement counts as met.
    pub(crate) tolerances: &'d [f64],
    /// What the exact learner found out before its first step.
    pub(crate) sizes: &'d mut Option<Sizes>,
}

/// What of the learner's settings a strategy needs to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) kkt: Option<f64>,
    pub(crate) look_for_infeasibility: bool,
}

impl<M: Model> Desk<'_, '_, M> {
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }
}

/// What came of an epoch.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Moved {
    /// θ, measured on the whole populations.
    pub(crate) measurement: Measurement,
    /// The multipliers θ was trained against, if the state's have moved on since.
    pub(crate) against: Option<Multipliers>,
    pub(crate) rho: Option<Rho>,
    pub(crate) residual: Option<Residual>,
    pub(crate) infeasible: Option<Outcome>,
    pub(crate) primal_time: Duration,
    pub(crate) dual_time: Duration,
}

/// The KKT residual of a pair, beside the sizes of the problem.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Residual {
    pub(crate) value: f64,
    /// Whether nothing improves any more.
    pub(crate) idle: bool,
    /// Whether a small residual is that of the problem as stated.
    pub(crate) optimal: bool,
}

/// A dual step of every requirement on the slacks of its whole population.
pub(crate) fn move_all_duals<T>(
    problem: &Problem,
    duals: &[Dual],
    state: &mut State<T>,
    epoch: f64,
    measurement: &Measurement,
) {
    for (i, slacks) in measurement.slacks.iter().enumerate() {
        let kind = problem.requirements()[i].kind();
        let (multipliers, dual) = (state.multipliers.of_mut(i), &mut state.duals[i]);
        duals[i].step_all(epoch, kind, multipliers, dual, &slacks.measured, slacks.margin);
    }
}

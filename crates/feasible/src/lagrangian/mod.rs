//! The empirical Lagrangian of the paper, evaluated and differentiated in one pass:
//!
//! $$ \hat L(\theta, \mu, \lambda) = \frac{1}{N_0} \sum_n \ell_0
//!    + \sum_i \mu_i \Big[ \frac{1}{N_i} \sum_n \ell_i - c_i \Big]
//!    + \sum_j \frac{1}{N_j} \sum_n \lambda_{j,n} \big( \ell_j - c_j \big) . $$
//!
//! It has two halves, which meet at the model's outputs: `pass` drives a model over the rows, `terms` makes values
//! and output gradients of the outputs.

use std::sync::Arc;

use crate::dedup::Dedup;
use crate::error::{Error, Result};
use crate::measurement::Measurement;
use crate::model::{Mode, Model};
use crate::multiplier::Multipliers;
use crate::problem::Problem;
use crate::real::Real;
use crate::requirement::Kind;
use crate::source::Source;
use crate::stream::{Purpose, Stream};

mod outputs;
pub(crate) mod pass;
mod terms;

use pass::Passes;
use terms::{Ask, Terms};

pub use outputs::OutputLagrangian;
pub(crate) use pass::Selection;
pub(crate) use terms::Scope;

/// Evaluates the Lagrangian of a problem for a model, on a number of threads.
pub struct Lagrangian<M: Model> {
    terms: Terms,
    passes: Passes<M>,
}

impl<M: Model> Lagrangian<M> {
    /// Of this problem and this model.
    ///
    /// # Errors
    /// A model that does not fit the problem, or threads that cannot be started.
    pub fn new(problem: &Problem, model: Arc<M>, threads: usize, seed: u64) -> Result<Self> {
        problem.check_model(&*model)?;
        if model.couples_rows() && problem.shards().is_some_and(|shards| !shards.are_grouped()) {
            return Err(Error::Setting {
                setting: "workers on which a model with BatchNorm shares groups of shards".into(),
                value: problem.workers().reduce().workers() as f64,
                allowed: "none: divide the problem for this model (Problem::divided_for)".into(),
            });
        }
        let spread = !problem.workers().is_alone() && problem.shards().is_none();
        if spread && model.trainable_count() < model.parameter_count() {
            return Err(Error::Setting {
                setting: "parameters that are statistics of a batch (BatchNorm)".into(),
                value: (model.parameter_count() - model.trainable_count()) as f64,
                allowed: "0 on several workers, each of which would have its own".into(),
            });
        }
        let passes = Passes::new(problem, model, threads, seed)?;
        Ok(Self { terms: Terms::new(problem.clone()), passes })
    }

    /// Looks for rows that are alike, whose work later passes do once. Pays for many passes; the sums
    /// of these differ from others in the order of their terms.
    pub fn sharing(mut self) -> Self {
        self.passes.deduplicate(&self.terms.problem);
        self
    }

    /// What is known of the rows of a source that are alike.
    pub fn dedup(&self, source: usize) -> Option<&Dedup> {
        self.passes.dedup(source)
    }

    pub(crate) fn problem(&self) -> &Problem {
        &self.terms.problem
    }

    pub(crate) fn model(&self) -> &Arc<M> {
        &self.passes.model
    }

    /// The epoch in which adaptive views are evaluated.
    pub(crate) fn set_epoch(&mut self, epoch: u64) {
        self.passes.place.epoch = epoch;
    }

    pub(crate) fn scope(&self) -> Scope {
        self.terms.scope
    }

    /// What later gradients are gradients of.
    pub(crate) fn set_scope(&mut self, scope: Scope) {
        self.terms.scope = scope;
    }

    /// One pass over `selections`, one per source.
    fn pass(&mut self, theta: &[M::Real], selections: &[Selection<'_>], ask: Ask<'_>, mode: Mode) {
        self.passes.run(&self.terms, theta, selections, ask, mode);
    }

    /// The gradient of the Lagrangian estimated on `selections`, weight decay included, as a step
    /// of training needs it.
    pub fn gradient(
        &mut self,
        theta: &[M::Real],
        selections: &[Selection<'_>],
        multipliers: &Multipliers,
    ) -> &[M::Real] {
        self.pass(theta, selections, Ask::Gradient(multipliers), Mode::Training);
        self.decayed(theta)
    }

    /// Folds the batch statistics of the last training step into θ.
    pub(crate) fn absorb(&mut self, theta: &mut [M::Real]) {
        self.passes.absorb(self.terms.problem.shards(), theta);
    }

    /// As [`Lagrangian::gradient`], and lists the violations of what the batch showed as
    /// (requirement, multiplier, violation with margin): for average requirements the batch's
    /// estimate, for pointwise ones each point seen.
    pub fn gradient_and_violations(
        &mut self,
        theta: &[M::Real],
        selections: &[Selection<'_>],
        multipliers: &Multipliers,
        violations: &mut Vec<(usize, usize, f64)>,
    ) -> &[M::Real] {
        self.pass(theta, selections, Ask::GradientAndValues(multipliers), Mode::Training);
        violations.clear();
        for (i, requirement) in self.terms.problem.requirements().iter().enumerate() {
            if requirement.kind() == Kind::Average
                && let Some(violation) = self.terms.average_violation(self.passes.found(), i)
            {
                violations.push((i, 0, violation.measured + requirement.margin));
            }
        }
        let seen = &self.passes.found().seen;
        let requirements = self.terms.problem.requirements();
        violations.extend(seen.iter().map(|s| {
            let i = s.requirement as usize;
            (i, s.point as usize, s.measured + requirements[i].margin)
        }));
        self.decayed(theta)
    }

    fn decayed(&mut self, theta: &[M::Real]) -> &[M::Real] {
        let alpha = M::Real::from_f64(self.terms.problem.decay());
        let trainable = &theta[..self.passes.model.trainable_count()];
        let gradient = self.passes.gradient();
        if alpha != M::Real::ZERO && self.terms.scope == Scope::Everything {
            for (g, &t) in gradient.iter_mut().zip(trainable) {
                *g += alpha * t;
            }
        }
        gradient
    }

    /// Objective and violations on the whole populations.
    pub fn measure(&mut self, theta: &[M::Real]) -> Measurement {
        let problem = self.terms.problem.clone();
        self.pass(theta, &everything(&problem), Ask::Values, Mode::Evaluation);
        self.measurement(theta)
    }

    /// As [`Lagrangian::measure`], estimated on at most `rows` rows of each data set, always the same ones.
    /// On all of them if a requirement is on every single sample, or if the rows say nothing of one.
    pub(crate) fn measure_on(&mut self, theta: &[M::Real], rows: usize) -> Measurement {
        let problem = &self.terms.problem;
        if problem.requirements().iter().all(|r| r.kind() == Kind::Average) {
            let draw = |(number, source): (usize, &Source)| {
                let mut order = source.rows.clone();
                let seed = self.passes.place.seed;
                Stream::new(seed, Purpose::Shuffle, u64::MAX, number as u64).shuffle(&mut order);
                let share = order.len() as f64 / source.rows_everywhere;
                order.truncate((rows as f64 * share).ceil() as usize);
                order
            };
            let drawn: Vec<Vec<u32>> = problem.sources().iter().enumerate().map(draw).collect();
            let some = drawn.iter().map(|rows| Selection { rows, scale: 1.0, whole: false });
            let selections: Vec<Selection<'_>> = some.collect();
            self.pass(theta, &selections, Ask::Values, Mode::Evaluation);
            let measurement = self.measurement(theta);
            if measurement.is_finite() {
                return measurement;
            }
        }
        self.measure(theta)
    }

    /// The full-batch gradient at `multipliers`.
    pub fn full_gradient(&mut self, theta: &[M::Real], multipliers: &Multipliers) -> &[M::Real] {
        let problem = self.terms.problem.clone();
        self.pass(theta, &everything(&problem), Ask::Gradient(multipliers), Mode::Evaluation);
        self.decayed(theta)
    }

    fn measurement(&self, theta: &[M::Real]) -> Measurement {
        let trainable = &theta[..self.passes.model.trainable_count()];
        let square: f64 = trainable.iter().map(|t| t.to_f64() * t.to_f64()).sum();
        let penalty = 0.5 * self.terms.problem.decay() * square;
        self.terms.measurement(self.passes.found(), penalty, |source| self.passes.dedup(source))
    }
}

/// Every row of every source.
fn everything(problem: &Problem) -> Vec<Selection<'_>> {
    let sources = problem.sources().iter();
    sources.map(|s| Selection { rows: &s.rows, scale: 1.0, whole: true }).collect()
}

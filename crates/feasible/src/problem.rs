//! The problem (P-CSL) of the paper, with its empirical populations:
//!
//! $$ \begin{aligned}
//! \underset{\theta}{\text{minimise}} \quad
//!     & \mathbb{E}_{\mathfrak{D}_0}\big[\ell_0(f_\theta(x), y)\big]
//!       + \tfrac{\alpha}{2}\lVert\theta\rVert^2 \\\\
//! \text{subject to} \quad
//!     & \mathbb{E}_{\mathfrak{D}_i}\big[\ell_i(f_\theta(x), y)\big] \le c_i \\\\
//!     & \ell_j(f_\theta(x_n), y_n) \le c_j \quad \text{for all } n
//! \end{aligned} $$
//!
//! A [`ProblemDraft`] is what the user writes; [`ProblemDraft::check`] turns it into a [`Problem`], and only
//! that one can be solved.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::erased::{Engine, Erased};
use crate::error::{Error, Result};
use crate::lagrangian::Lagrangian;
use crate::loss::Loss;
use crate::measurement::Measurement;
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::optimality::{Gap, Kkt, Optimality};
use crate::population::Population;
use crate::real::Real;
use crate::reduce::{Elsewhere, Reduce, Shards, Workers};
use crate::requirement::{Kind, Requirement, Term};
use crate::source::{Source, SourceView};

mod divided;
mod share;

pub use share::ProblemShare;

/// An objective and requirements, not yet checked.
#[derive(Clone, Debug)]
pub struct ProblemDraft {
    objective: Term,
    weight_decay: f64,
    requirements: Vec<Requirement>,
}

impl ProblemDraft {
    /// Adds a requirement.
    pub fn subject_to(mut self, requirement: Requirement) -> Self {
        self.requirements.push(requirement);
        self
    }

    /// Adds α/2 ‖θ‖² to the objective, for all parameters; 0 by default.
    pub fn weight_decay(mut self, alpha: f64) -> Self {
        self.weight_decay = alpha;
        self
    }

    /// Judges the objective by another loss than the one that is minimised, for instance by the error rate,
    /// when the best iterate is chosen.
    pub fn measured_by(mut self, loss: Loss) -> Self {
        self.objective.measure = Some(loss);
        self
    }

    /// Checks everything that can be checked before a model is known.
    ///
    /// # Errors
    /// An empty population, a limit that is not a number or that every model or none meets, a name used twice, a loss that needs
    /// two views where there is one, a loss without gradient, a negative weight decay.
    pub fn check(self) -> Result<Problem> {
        self.objective.check("the objective")?;
        let decay_ok = self.weight_decay >= 0.0 && self.weight_decay.is_finite();
        Error::unless(decay_ok, "weight decay", self.weight_decay, "at least 0 and finite")?;
        let mut names = HashSet::new();
        for requirement in &self.requirements {
            if !names.insert(requirement.name()) {
                return Err(Error::DuplicateName { name: requirement.name().into() });
            }
            requirement.check()?;
        }
        Ok(self.build())
    }

    /// The problem, of parts that are known to be sound.
    pub(crate) fn build(self) -> Problem {
        let Self { objective, weight_decay, requirements } = self;
        let sources = Source::of(&objective, &requirements);
        let elsewhere = vec![Elsewhere::default(); requirements.len()];
        let workers = Workers::default();
        let contents = Contents {
            objective,
            weight_decay,
            requirements,
            sources,
            workers,
            elsewhere,
            shards: None,
        };
        Problem(Arc::new(contents))
    }
}

/// A checked problem. Cheap to clone: contents are shared.
#[derive(Clone, Debug)]
pub struct Problem(Arc<Contents>);

#[derive(Clone, Debug)]
struct Contents {
    objective: Term,
    weight_decay: f64,
    requirements: Vec<Requirement>,
    sources: Vec<Source>,
    workers: Workers,
    /// Per requirement.
    elsewhere: Vec<Elsewhere>,
    /// If the rows are divided over workers.
    shards: Option<Shards>,
}

impl Problem {
    /// Starts with the objective: the average of `loss` over `population`, by the weights of its samples if they have
    /// some ([`Samples::weighted`](crate::Samples::weighted)).
    pub fn minimise(population: &Population, loss: Loss) -> ProblemDraft {
        let weighted = population.samples().weights().is_some();
        let objective = Term { weighted, ..Term::new(population, loss) };
        ProblemDraft { objective, weight_decay: 0.0, requirements: Vec::new() }
    }

    /// The objective.
    pub fn objective(&self) -> &Term {
        &self.0.objective
    }

    /// α of the penalty α/2 ‖θ‖².
    pub fn decay(&self) -> f64 {
        self.0.weight_decay
    }

    /// The same problem with another α.
    ///
    /// ```
    /// use feasible::{Inputs, Loss, Population, Problem, Samples, Targets};
    /// let samples = Samples::new(Inputs::new(vec![0.5, 0.2], 1)?, Targets::Values(vec![1.0, 2.0]))?;
    /// let problem = Problem::minimise(&Population::new(samples), Loss::Squared).check()?;
    /// assert_eq!(problem.with_decay(0.1)?.decay(), 0.1);
    /// # Ok::<(), feasible::Error>(())
    /// ```
    ///
    /// # Errors
    /// A negative weight decay, or one that is not finite; a problem that is divided over workers.
    pub fn with_decay(&self, alpha: f64) -> Result<Problem> {
        self.changed(alpha, self.0.requirements.clone())
    }

    /// The requirements, in the order they were added.
    pub fn requirements(&self) -> &[Requirement] {
        &self.0.requirements
    }

    /// The same problem with other requirements (another limit, one more, none at all).
    ///
    /// # Errors
    /// As [`ProblemDraft::check`]; a problem that is divided over workers, each of which would need its part of them.
    pub fn with_requirements(&self, requirements: Vec<Requirement>) -> Result<Problem> {
        self.changed(self.0.weight_decay, requirements)
    }

    fn changed(&self, weight_decay: f64, requirements: Vec<Requirement>) -> Result<Problem> {
        let whole = self.shards().is_none();
        Error::unless(whole, "workers that a problem is divided over", 1.0, "none yet")?;
        let objective = self.0.objective.clone();
        ProblemDraft { objective, weight_decay, requirements }.check()?.spread_as(self)
    }

    /// Spread over the workers of another problem, on the same rows.
    pub(crate) fn spread_as(self, other: &Problem) -> Result<Self> {
        if other.shards().is_some() {
            return Ok(self.divided_as(other));
        }
        match other.workers() {
            workers if workers.is_alone() => Ok(self),
            workers => self.spread_over(workers.reduce().clone()),
        }
    }

    /// The problem whose rows are those of this problem and of the same problem on other workers, which call this at the
    /// same time. Multipliers and violations of single points are those of the rows here; all else is the same on
    /// every worker.
    ///
    /// # Errors
    /// Workers whose problems have other terms or requirements than this one.
    pub fn spread_over(&self, reduce: Arc<dyn Reduce>) -> Result<Self> {
        let mut contents = (*self.0).clone();
        let terms = contents.sources.iter().map(|source| source.terms.len()).sum::<usize>();
        let shape = [contents.requirements.len(), contents.sources.len(), terms];
        let mut most = shape.map(|n| [n as f64, -(n as f64)]).concat();
        reduce.largest(&mut most);
        if most.chunks_exact(2).any(|both| both[0] != -both[1]) {
            return Err(Error::Shape {
                what: "requirements, data sets and terms of a problem that is spread over workers"
                    .into(),
                expected: "as many as on every other worker".into(),
                found: shape[0],
            });
        }
        contents.workers = Workers::new(reduce);
        for source in &mut contents.sources {
            source.rows_everywhere = contents.workers.sum(source.rows.len() as f64);
            for term in &mut source.terms {
                term.points = contents.workers.sum(term.mass * term.slots.len() as f64);
            }
        }
        for (requirement, elsewhere) in contents.requirements.iter().zip(&mut contents.elsewhere) {
            if requirement.kind() == Kind::Pointwise {
                *elsewhere = Elsewhere::new(&contents.workers, requirement.multipliers());
            }
        }
        Ok(Self(Arc::new(contents)))
    }

    /// The shards, if the rows are divided over workers.
    pub(crate) fn shards(&self) -> Option<&Shards> {
        self.0.shards.as_ref()
    }

    /// Whether this worker or any other is to stop.
    pub(crate) fn interrupted(&self, interrupt: &AtomicBool) -> bool {
        match self.shards() {
            Some(shards) => shards.interrupted(interrupt),
            None => self.workers().interrupted(interrupt),
        }
    }

    /// The workers that the rows are spread over.
    pub(crate) fn workers(&self) -> &Workers {
        &self.0.workers
    }

    /// The points of a requirement on other workers.
    pub(crate) fn elsewhere(&self, requirement: usize) -> &Elsewhere {
        &self.0.elsewhere[requirement]
    }

    /// The same, if there is such a requirement.
    pub(crate) fn elsewhere_of(&self, requirement: usize) -> Option<&Elsewhere> {
        self.0.elsewhere.get(requirement)
    }

    /// N of a requirement whose points have multipliers, those of all workers; 1 of an average.
    pub(crate) fn points(&self, requirement: usize) -> f64 {
        self.elsewhere(requirement).count(self.0.requirements[requirement].multipliers())
    }

    /// Objective and violations of a given θ: an audit of a model on this problem's populations.
    ///
    /// # Errors
    /// A model that does not fit, or a θ of another length.
    pub fn measure<M: Model>(&self, model: &M, theta: &[M::Real]) -> Result<Measurement> {
        check_theta(model, theta)?;
        M::Real::measure(self, Erased::new(model), theta)
    }

    pub(crate) fn measure_here<R: Real>(
        &self,
        model: Erased<'_, R>,
        theta: &[R],
    ) -> Result<Measurement> {
        Ok(Lagrangian::new(self, Arc::new(model), 1, 0)?.measure(theta).whole())
    }

    /// The Lagrangian of any (θ, μ, λ), its gradient in θ, the duality gap and the KKT residuals.
    ///
    /// # Errors
    /// As [`Problem::measure`]; multipliers of another problem.
    pub fn optimality<M: Model>(
        &self,
        model: &M,
        theta: &[M::Real],
        multipliers: &Multipliers,
    ) -> Result<Optimality<M::Real>> {
        let multipliers = &multipliers.clone().own(self)?;
        multipliers.check(self)?;
        check_theta(model, theta)?;
        M::Real::optimality(self, Erased::new(model), theta, multipliers)
    }

    pub(crate) fn optimality_here<R: Real>(
        &self,
        model: Erased<'_, R>,
        theta: &[R],
        multipliers: &Multipliers,
    ) -> Result<Optimality<R>> {
        let mut lagrangian = Lagrangian::new(self, Arc::new(model), 1, 0)?;
        let measurement = lagrangian.measure(theta);
        let kkt = Kkt::new(&mut lagrangian, theta, &measurement, multipliers);
        Ok(Optimality {
            lagrangian: measurement.lagrangian(multipliers),
            gradient: lagrangian.full_gradient(theta, multipliers).to_vec(),
            gap: Gap::new(&measurement, multipliers, 0.0),
            kkt,
        })
    }

    /// Each data set with the terms that live on it.
    pub(crate) fn sources(&self) -> &[Source] {
        &self.0.sources
    }

    /// Whether the problem is convex in θ for this model: outputs linear in θ, and every loss
    /// convex in them, with the sign it enters with.
    pub fn is_convex<M: Model + ?Sized>(&self, model: &M) -> bool {
        let width = model.output_width();
        let convex = |sign: f64, term: &Term| {
            sign * term.coefficient >= 0.0 && term.loss.properties(width).convex
        };
        let requirement = |r: &Requirement| r.terms.iter().all(|term| convex(r.sense.sign(), term));
        model.is_linear()
            && convex(1.0, &self.0.objective)
            && self.0.requirements.iter().all(requirement)
    }

    /// Whether a requirement allows a share of its points to violate it.
    pub(crate) fn may_leave_out(&self) -> bool {
        self.requirements().iter().any(|r| r.all_but > 0.0)
    }

    /// Whether any requirement is measured by another loss than the one θ follows.
    pub(crate) fn has_surrogates(&self) -> bool {
        self.0.requirements.iter().flat_map(|r| &r.terms).any(|term| term.measure.is_some())
    }

    /// Whether any population's view depends on the model.
    pub fn has_adaptive_views(&self) -> bool {
        let adaptive = |v: &SourceView| matches!(v, SourceView::Adaptive(_));
        self.0.sources.iter().any(|source| source.views.iter().any(adaptive))
    }

    /// Checks that this problem has the objective and requirements of `other`, by name, so that
    /// an iterate of one can be judged on the other.
    ///
    /// # Errors
    /// Requirements that differ.
    pub(crate) fn check_same_shape(&self, other: &Problem) -> Result<()> {
        let names = |p: &Problem| {
            p.requirements().iter().map(|r| format!("'{}'", r.name)).collect::<Vec<_>>()
        };
        if names(self) == names(other) {
            Ok(())
        } else {
            Err(Error::Shape {
                what: "requirements of the validation problem".into(),
                expected: format!("those of the training problem: {}", names(other).join(", ")),
                found: self.0.requirements.len(),
            })
        }
    }

    /// Checks that a model fits: input columns of every population, and every loss against the
    /// outputs and the targets.
    ///
    /// # Errors
    /// The first misfit, with the requirement's name.
    pub fn check_model<M: Model + ?Sized>(&self, model: &M) -> Result<()> {
        self.0.objective.check_model("the objective", model)?;
        for requirement in &self.0.requirements {
            for term in &requirement.terms {
                term.check_model(&requirement.who(), model)?;
            }
        }
        self.check_outputs(model.output_width())
    }

    /// Checks that losses and limits fit this number of outputs.
    pub(crate) fn check_outputs(&self, width: usize) -> Result<()> {
        self.0.objective.check_outputs("the objective", width)?;
        for requirement in &self.0.requirements {
            for term in &requirement.terms {
                term.check_outputs(&requirement.who(), width)?;
            }
            requirement.check_limit(Some(width))?;
        }
        Ok(())
    }
}

/// Whether θ is one of this model.
pub(crate) fn check_theta<M: Model>(model: &M, theta: &[M::Real]) -> Result<()> {
    if theta.len() == model.parameter_count() {
        return Ok(());
    }
    Err(Error::Shape {
        what: "theta".into(),
        expected: format!("the model's {} parameters", model.parameter_count()),
        found: theta.len(),
    })
}

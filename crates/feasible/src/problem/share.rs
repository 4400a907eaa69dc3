//! A worker's share of a problem, as a value that can be sent to it.
//!
//! One worker has the whole problem and makes the shares of the others; these need nothing else. A share is what is left of a
//! problem that was [divided](Problem::divided_for) when all other rows were [dropped](Problem::of_own_rows): inputs,
//! targets, counterfactuals and members of the worker's rows, and the shard of every row of the whole problem, a byte each.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::adaptive::Adaptive;
use crate::error::{Error, Result};
use crate::learner::State;
use crate::loss::Loss;
use crate::model::Model;
use crate::population::{Population, View};
use crate::problem::{Contents, Problem};
use crate::reduce::{Elsewhere, PointShards, Reduce, Shards, Workers};
use crate::requirement::{Kind, Limit, Requirement, Sense, Term};
use crate::samples::Samples;
use crate::shift::Shift;
use crate::source::{Source, SourceView};

/// A worker's share of a problem. See [`Problem::share`].
#[derive(Debug, Serialize, Deserialize)]
pub struct ProblemShare {
    worker: usize,
    workers: usize,
    together: usize,
    weight_decay: f64,
    /// The rows of the worker, per source.
    samples: Vec<Arc<Samples>>,
    shifts: Vec<Arc<Shift>>,
    /// What views that depend on the model are made again of.
    adaptive: Vec<String>,
    objective: TermShare,
    requirements: Vec<RequirementShare>,
    sources: Vec<SourceShare>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SourceShare {
    /// The shard of every row, in the order of ids.
    shard: Vec<u8>,
    /// What its terms weigh in the whole problem.
    points: Vec<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct TermShare {
    coefficient: f64,
    /// Which samples.
    samples: usize,
    /// Rows of these; `None` for all.
    members: Option<Vec<u32>>,
    view: ViewShare,
    loss: Loss,
    measure: Option<Loss>,
    weighted: bool,
}

#[derive(Debug, Serialize, Deserialize)]
enum ViewShare {
    Identity,
    /// By their number.
    Counterfactual(Vec<usize>),
    Adaptive(usize),
}

#[derive(Debug, Serialize, Deserialize)]
struct RequirementShare {
    name: String,
    kind: Kind,
    terms: Vec<TermShare>,
    sense: Sense,
    limit: Limit,
    start: f64,
    all_but: f64,
    margin: f64,
    moved: bool,
    /// If each point has a multiplier.
    points: Option<PointShards>,
}

/// A worker that is not here, whose share is made.
#[derive(Debug)]
struct Other {
    worker: usize,
    workers: usize,
}

impl Reduce for Other {
    fn workers(&self) -> usize {
        self.workers
    }

    fn worker(&self) -> usize {
        self.worker
    }

    fn send(&self, _: usize, _: &[u8]) {}

    fn receive(&self, _: usize) -> Vec<u8> {
        Vec::new()
    }
}

impl Problem {
    /// The share of one of some workers in this problem, as [`Problem::divided_for`] divides it for a model, to be sent there.
    /// The one who has the problem takes [their own](Problem::own_share). `text_of` is told the views that depend on the model, and
    /// tells what they can be made again of.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use feasible::problem::ProblemShare;
    /// use feasible::reduce::Alone;
    /// use feasible::{Inputs, Learner, Loss, Population, Problem, Samples, Targets};
    /// use feasible_nn::{Adam, Linear};
    ///
    /// let x = Inputs::new((0..100).map(|n| n as f32 / 100.0).collect(), 1)?;
    /// let y = Targets::Values((0..100).map(|n| (n % 7) as f32).collect());
    /// let everyone = Population::new(Samples::new(x, y)?);
    /// let problem = Problem::minimise(&everyone, Loss::Squared).check()?;
    /// let (model, learner) = (Linear::new(1, 1)?, Learner::alternating(Adam::new(0.1)).epochs(3));
    /// let begun = learner.begin(&problem, &model)?.state().clone();
    ///
    /// // Of one worker, for once: with several, the share is serialised, and sent.
    /// let share: ProblemShare = problem.share(&model, 0, 1, |_| None)?;
    /// assert!(share.workers() == 1 && share.bytes() > 0);
    /// let state = share.of_state(begun)?;
    /// let same = share.problem(Arc::new(Alone), |_| None)?;
    /// let mut training = learner.resume_share(&same, &model, state)?;
    /// while training.advance().is_some() {}
    /// let own = problem.own_share(&model, Arc::new(Alone))?;
    /// assert_eq!(training.finish(), learner.solve(&own, &model)?);
    /// let whole = problem.divided_for(&model, Arc::new(Alone))?;
    /// assert_eq!(learner.solve(&whole, &model)?, learner.solve(&own, &model)?);
    /// # Ok::<(), feasible::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Problem::divided_for`]; a view of which there is no text.
    pub fn share<M: Model>(
        &self,
        model: &M,
        worker: usize,
        workers: usize,
        text_of: impl Fn(&dyn Adaptive) -> Option<String>,
    ) -> Result<ProblemShare> {
        let other = Arc::new(Other { worker, workers });
        self.own_share(model, other)?.of_own_rows().to_share(text_of)
    }

    /// This problem divided over workers, of which only this one has it; the others get a [share](Problem::share).
    ///
    /// # Errors
    /// As [`Problem::divided_for`].
    pub fn own_share<M: Model>(&self, model: &M, reduce: Arc<dyn Reduce>) -> Result<Self> {
        self.divided(reduce, Self::together(model), false)
    }

    /// The share that this problem is, of which nothing but the worker's rows is left.
    fn to_share(&self, text_of: impl Fn(&dyn Adaptive) -> Option<String>) -> Result<ProblemShare> {
        let Some(shards) = self.shards() else {
            return Err(Error::Setting {
                setting: "workers that a problem is divided over".into(),
                value: 0.0,
                allowed: "at least 1".into(),
            });
        };
        let mut views = Views::default();
        for view in self.sources().iter().flat_map(|source| &source.views) {
            match view {
                SourceView::Shift(shift) => views.shifts.push(shift.clone()),
                SourceView::Adaptive(view) => views.adaptive.push(view.clone()),
            }
        }
        let term = |term: &Term| views.term(term, self.sources());
        let requirement = |(i, of): (usize, &Requirement)| RequirementShare {
            name: of.name.clone(),
            kind: of.kind,
            terms: of.terms.iter().map(term).collect(),
            sense: of.sense,
            limit: of.limit.clone(),
            start: of.start,
            all_but: of.all_but,
            margin: of.margin,
            moved: of.moved,
            points: self.elsewhere(i).shards().cloned(),
        };
        let source = |(number, source): (usize, &Source)| SourceShare {
            shard: shards.source(number).shard.clone(),
            points: source.terms.iter().map(|term| term.points).collect(),
        };
        let text = |view: &Arc<dyn Adaptive>| {
            text_of(&**view).ok_or_else(|| Error::Setting {
                setting: "views that depend on the model and cannot be sent to a worker".into(),
                value: 1.0,
                allowed: "none in a problem that is dealt out to workers".into(),
            })
        };
        Ok(ProblemShare {
            worker: shards.reduce().worker(),
            workers: shards.reduce().workers(),
            together: shards.together(),
            weight_decay: self.decay(),
            samples: self.sources().iter().map(|source| source.samples.clone()).collect(),
            objective: term(self.objective()),
            requirements: self.requirements().iter().enumerate().map(requirement).collect(),
            sources: self.sources().iter().enumerate().map(source).collect(),
            adaptive: views.adaptive.iter().map(text).collect::<Result<_>>()?,
            shifts: views.shifts,
        })
    }
}

/// The views of a problem that are shared by its terms.
#[derive(Default)]
struct Views {
    shifts: Vec<Arc<Shift>>,
    adaptive: Vec<Arc<dyn Adaptive>>,
}

impl Views {
    fn term(&self, term: &Term, sources: &[Source]) -> TermShare {
        let population = &term.population;
        let is = |source: &Source| Arc::ptr_eq(&source.samples, population.samples());
        let shift = |of: &Arc<Shift>| self.shifts.iter().position(|shift| Arc::ptr_eq(shift, of));
        let view = match population.view() {
            View::Identity => ViewShare::Identity,
            View::Counterfactual(shifts) => {
                ViewShare::Counterfactual(shifts.iter().filter_map(shift).collect())
            }
            View::Adaptive(of) => {
                let at = self.adaptive.iter().position(|view| Arc::ptr_eq(view, of));
                ViewShare::Adaptive(at.unwrap_or(usize::MAX))
            }
        };
        TermShare {
            coefficient: term.coefficient,
            samples: sources.iter().position(is).unwrap_or(usize::MAX),
            members: (!population.is_everyone()).then(|| population.rows().collect()),
            view,
            loss: term.loss.clone(),
            measure: term.measure.clone(),
            weighted: term.weighted,
        }
    }

    fn population(&self, of: &TermShare, samples: &[Arc<Samples>]) -> Option<Population> {
        let samples = samples.get(of.samples)?;
        let rows = samples.len() as u32;
        let members = of.members.clone().unwrap_or_else(|| (0..rows).collect());
        let view = match &of.view {
            ViewShare::Identity => View::Identity,
            ViewShare::Counterfactual(numbers) => {
                let shifts = numbers.iter().map(|&number| self.shifts.get(number).cloned());
                let shifts = shifts.collect::<Option<Vec<_>>>()?;
                let width = samples.inputs().width() as u32;
                let fits = |shift: &Arc<Shift>| {
                    shift.rows() == samples.len() && shift.last_column() < Some(width)
                };
                View::Counterfactual(Some(shifts).filter(|all| all.iter().all(fits))?)
            }
            ViewShare::Adaptive(number) => View::Adaptive(self.adaptive.get(*number)?.clone()),
        };
        let fit = members.iter().all(|&row| row < rows);
        fit.then(|| Population::on(samples, members, view))
    }

    fn problem_term(&self, of: TermShare, samples: &[Arc<Samples>]) -> Option<Term> {
        let population = self.population(&of, samples)?;
        let TermShare { coefficient, loss, measure, weighted, .. } = of;
        Some(Term { coefficient, population, loss, measure, weighted })
    }
}

impl ProblemShare {
    /// The part of a state of the whole problem that belongs to this share, for [`Learner::resume_share`](crate::Learner::resume_share).
    ///
    /// # Errors
    /// A state of another problem.
    pub fn of_state<T: Clone>(&self, whole: State<T>) -> Result<State<T>> {
        let points = self.requirements.iter().map(|of| {
            let in_shards =
                |of: &PointShards| Elsewhere::in_shards(&Workers::default(), of.clone());
            of.points.as_ref().map(in_shards)
        });
        whole.own_points(points.enumerate().filter_map(|(i, of)| Some((i, of?))))
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// About how many bytes it takes: its rows, and what is known of all others.
    pub fn bytes(&self) -> u64 {
        let samples: usize = self.samples.iter().map(|samples| samples.bytes()).sum();
        let shifts: usize = self.shifts.iter().map(|shift| shift.bytes()).sum();
        let rows: usize = self.sources.iter().map(|source| source.shard.len()).sum();
        (samples + shifts + 13 * rows) as u64
    }

    /// The problem, on the worker that the share is of. `adaptive` makes views that depend on the model again, of their text.
    ///
    /// # Errors
    /// A share of another worker, or one that is damaged.
    pub fn problem(
        self,
        reduce: Arc<dyn Reduce>,
        adaptive: impl Fn(&str) -> Option<Arc<dyn Adaptive>>,
    ) -> Result<Problem> {
        let damaged = || Error::Shape {
            what: "the share of a worker in a problem".into(),
            expected: "one that was made for this worker".into(),
            found: self.worker,
        };
        if (self.worker, self.workers) != (reduce.worker(), reduce.workers()) {
            return Err(damaged());
        }
        let damaged = damaged();
        self.assemble(reduce, adaptive).ok_or(damaged)
    }

    fn assemble(
        self,
        reduce: Arc<dyn Reduce>,
        adaptive: impl Fn(&str) -> Option<Arc<dyn Adaptive>>,
    ) -> Option<Problem> {
        let adaptive = self.adaptive.iter().map(|text| adaptive(text)).collect::<Option<_>>()?;
        let (views, samples) = (Views { shifts: self.shifts, adaptive }, &self.samples);
        let objective = views.problem_term(self.objective, samples)?;
        let (workers, mut requirements, mut elsewhere) =
            (Workers::new(reduce.clone()), Vec::new(), Vec::new());
        for of in self.requirements {
            let terms = of.terms.into_iter().map(|term| views.problem_term(term, samples));
            let RequirementShare { name, kind, sense, limit, .. } = of;
            let (start, all_but, margin, moved) = (of.start, of.all_but, of.margin, of.moved);
            let terms = terms.collect::<Option<Vec<_>>>().filter(|terms| !terms.is_empty())?;
            elsewhere.push(match of.points {
                Some(points) => Elsewhere::in_shards(&workers, points),
                None => Elsewhere::default(),
            });
            requirements.push(Requirement {
                name,
                kind,
                terms,
                sense,
                limit,
                start,
                all_but,
                margin,
                moved,
            });
        }
        let mut sources = Source::of(&objective, &requirements);
        let shards = self.sources.iter().map(|source| source.shard.clone()).collect();
        let shards = Shards::of_shares(reduce, self.together, shards);
        for (source, share) in sources.iter_mut().zip(&self.sources) {
            source.rows = (0..share.shard.len() as u32).collect();
            source.rows_everywhere = share.shard.len() as f64;
            for (term, &points) in source.terms.iter_mut().zip(&share.points) {
                term.points = points;
            }
        }
        let fits = |(number, source): (usize, &Source)| {
            shards.source(number).own.len() == source.samples.len()
        };
        let sound = sources.len() == self.sources.len() && sources.iter().enumerate().all(fits);
        sound.then(|| {
            Problem(Arc::new(Contents {
                objective,
                weight_decay: self.weight_decay,
                requirements,
                sources,
                workers,
                elsewhere,
                shards: Some(shards),
            }))
        })
    }
}

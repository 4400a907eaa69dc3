//! A problem whose rows are divided over workers.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::model::Model;
use crate::population::{Population, View};
use crate::problem::{Contents, Problem};
use crate::reduce::{Elsewhere, GROUP, PointShards, Reduce, Shards, Workers};
use crate::requirement::{Kind, Limit, Requirement, Term};
use crate::samples::Samples;
use crate::shift::Shift;
use crate::source::{NOT_A_MEMBER, Source};

impl Problem {
    /// The same problem, with its rows divided over workers, all of which have the whole problem and call this at the same
    /// time. Everything that a learner finds is the same on every worker, to the last bit, and the same for any number
    /// of workers, one included; a training can be continued on another number of workers.
    ///
    /// Rows belong to one of 64 shards by a hash of their id; see [`SHARDS`](crate::reduce::SHARDS). A worker evaluates the
    /// rows of its shards, and λ of a row is known to it alone. A pass over rows sends the gradient once up and once down a
    /// tree of the workers, and sums of losses per shard. Violations and multipliers of single points travel when a training
    /// ends ([`Training::finish`](crate::Training::finish)), when its state is saved
    /// ([`Training::whole_state`](crate::Training::whole_state)), and where the exact learner chooses the points that a
    /// requirement may leave out.
    ///
    /// The requirements of such a problem are those of the points of this worker.
    ///
    /// # Errors
    /// More than 64 workers, workers whose problems differ, a problem that is spread or divided over workers already.
    pub fn divided_over(&self, reduce: Arc<dyn Reduce>) -> Result<Self> {
        self.divided(reduce, 1, true)
    }

    /// As [`Problem::divided_over`], for a model: if it [couples the rows](crate::Model::couples_rows) of a batch, rows
    /// are divided by groups of 8 shards, of which a worker has some, so that there are at most 8 workers. A training step
    /// shows such a model each group as a batch of its own, and the statistics that it keeps are the means over groups.
    ///
    /// # Errors
    /// As [`Problem::divided_over`]; more than 8 workers, if rows are divided by groups.
    pub fn divided_for<M: Model>(&self, model: &M, reduce: Arc<dyn Reduce>) -> Result<Self> {
        self.divided(reduce, Self::together(model), true)
    }

    /// How many neighbouring shards a model needs on one worker.
    pub(super) fn together<M: Model>(model: &M) -> usize {
        if model.couples_rows() { GROUP } else { 1 }
    }

    /// `everywhere` is whether all workers have this problem and call this at the same time.
    pub(super) fn divided(
        &self,
        reduce: Arc<dyn Reduce>,
        together: usize,
        everywhere: bool,
    ) -> Result<Self> {
        let whole = self.workers().is_alone() && self.shards().is_none();
        Error::unless(whole, "workers that have other rows", 2.0, "none")?;
        let shards = Shards::new(reduce.clone(), self.sources(), together)?;
        if everywhere {
            shards.check_same(self.sources())?;
        }
        let workers = Workers::new(reduce);
        let own = |term: &Term| Own::of(term, self.sources(), &shards);
        let objective = own(self.objective()).term;
        let (mut requirements, mut elsewhere) = (Vec::new(), Vec::new());
        for requirement in self.requirements() {
            let parts: Vec<Own> = requirement.terms().iter().map(own).collect();
            elsewhere.push(match requirement.kind() {
                Kind::Average => Elsewhere::default(),
                Kind::Pointwise => Elsewhere::in_shards(&workers, parts[0].points(requirement)),
            });
            let limit = match (requirement.limit(), elsewhere.last()) {
                (Limit::PerPoint(all), Some(points)) => {
                    Limit::PerPoint(points.own(all.clone()).unwrap_or_default())
                }
                (limit, _) => limit.clone(),
            };
            let terms = parts.into_iter().map(|part| part.term).collect();
            requirements.push(Requirement { terms, limit, ..requirement.clone() });
        }
        let contents = Contents {
            sources: Source::of(&objective, &requirements),
            objective,
            requirements,
            elsewhere,
            workers,
            shards: Some(shards),
            ..(*self.0).clone()
        };
        Ok(Self(Arc::new(contents)).with_rows_of(self))
    }

    /// The same divided problem with a copy of the rows of this worker and no others, so that the whole problem can be dropped.
    /// Of other rows it keeps the place in the order of ids, their shard, and that they are not here: 9 bytes a row.
    #[must_use]
    pub fn of_own_rows(&self) -> Self {
        let Some(shards) = self.shards() else { return self.clone() };
        let mut kept = Kept::default();
        for (number, source) in self.sources().iter().enumerate() {
            kept.take(&source.samples, &shards.source(number).own);
        }
        let objective = kept.term(self.objective());
        let requirements: Vec<Requirement> =
            self.requirements().iter().map(|r| kept.requirement(r)).collect();
        let contents = Contents {
            sources: Source::of(&objective, &requirements),
            objective,
            requirements,
            shards: Some(shards.of_own_rows()),
            ..(*self.0).clone()
        };
        Self(Arc::new(contents)).with_rows_of(self)
    }

    /// Of terms on the populations of a divided problem, in their order, on the same workers.
    pub(super) fn divided_as(self, other: &Problem) -> Self {
        let mut contents = (*self.0).clone();
        contents.workers = other.workers().clone();
        contents.shards = other.shards().cloned();
        Self(Arc::new(contents)).with_rows_of(other)
    }

    /// Every worker deals out all rows, of which it has some, by their places in the order of their ids. What the terms weigh
    /// is what they weigh in the whole problem.
    fn with_rows_of(self, whole: &Problem) -> Self {
        let mut contents = (*self.0).clone();
        for (source, whole) in contents.sources.iter_mut().zip(whole.sources()) {
            source.rows = (0..whole.rows.len() as u32).collect();
            source.rows_everywhere = whole.rows_everywhere;
            for (term, whole) in source.terms.iter_mut().zip(&whole.terms) {
                term.points = whole.points;
            }
        }
        Self(Arc::new(contents))
    }
}

/// The part of a term that is on this worker: its members by shard, then by id.
struct Own {
    term: Term,
    /// Where the members of each shard here begin, and the last ends.
    cuts: Vec<usize>,
    /// Which member of the whole population each one is.
    numbers: Vec<u32>,
    members: usize,
}

impl Own {
    fn of(term: &Term, sources: &[Source], shards: &Shards) -> Self {
        let population = &term.population;
        let samples = population.samples();
        let source = sources.iter().position(|s| Arc::ptr_eq(&s.samples, samples)).unwrap_or(0);
        let rows = shards.source(source);
        let number_of_row: Option<Vec<u32>> = (!population.is_everyone()).then(|| {
            let mut numbers = vec![NOT_A_MEMBER; samples.len()];
            for (number, row) in population.rows().enumerate() {
                numbers[row as usize] = number as u32;
            }
            numbers
        });
        let number = |row: u32| number_of_row.as_ref().map_or(row, |of| of[row as usize]);
        let (mut own, mut numbers, mut cuts) = (Vec::new(), Vec::new(), vec![0]);
        for shard in shards.own() {
            for &row in &rows.own[rows.starts[shard]..rows.starts[shard + 1]] {
                if number(row) != NOT_A_MEMBER {
                    own.push(row);
                    numbers.push(number(row));
                }
            }
            cuts.push(own.len());
        }
        let term = Term { population: population.of_rows(own), ..term.clone() };
        Self { term, cuts, numbers, members: population.len() }
    }

    /// The points of a pointwise requirement.
    fn points(&self, requirement: &Requirement) -> PointShards {
        PointShards {
            cuts: self.cuts.clone(),
            numbers: self.numbers.clone(),
            members: self.members,
            transformations: requirement.terms()[0].population().transformations(),
        }
    }
}

/// Data sets, of which some rows are kept.
#[derive(Default)]
struct Kept {
    sets: Vec<KeptSamples>,
    /// Counterfactuals as they were, and of the rows that are kept.
    shifts: Vec<[Arc<Shift>; 2]>,
}

struct KeptSamples {
    of: Arc<Samples>,
    rows: Vec<u32>,
    kept: Arc<Samples>,
}

impl Kept {
    /// Keeps these rows of a data set.
    fn take(&mut self, samples: &Arc<Samples>, rows: &[u32]) {
        let (of, kept) = (samples.clone(), Arc::new(samples.chosen(rows)));
        self.sets.push(KeptSamples { of, rows: rows.to_vec(), kept });
    }

    fn requirement(&mut self, requirement: &Requirement) -> Requirement {
        let terms = requirement.terms().iter().map(|term| self.term(term)).collect();
        Requirement { terms, ..requirement.clone() }
    }

    fn term(&mut self, term: &Term) -> Term {
        let population = &term.population;
        let is = |set: &&KeptSamples| Arc::ptr_eq(&set.of, population.samples());
        let Some(set) = self.sets.iter().find(is) else { return term.clone() };
        // Members come in the order of the rows that are kept.
        let mut members = population.rows().peekable();
        let is_member = |(_, row): &(usize, &u32)| members.next_if_eq(*row).is_some();
        let rows = set.rows.iter().enumerate().filter(is_member).map(|(at, _)| at as u32).collect();
        let view = match population.view() {
            View::Counterfactual(shifts) => {
                let of = |shift| kept_shift(&mut self.shifts, shift, &set.rows);
                View::Counterfactual(shifts.iter().map(of).collect())
            }
            view => view.clone(),
        };
        Term { population: Population::on(&set.kept, rows, view), ..term.clone() }
    }
}

/// A counterfactual of some rows; of one that several terms share, the same for all of them.
fn kept_shift(shifts: &mut Vec<[Arc<Shift>; 2]>, shift: &Arc<Shift>, rows: &[u32]) -> Arc<Shift> {
    if let Some([_, kept]) = shifts.iter().find(|[of, _]| Arc::ptr_eq(of, shift)) {
        return kept.clone();
    }
    let kept = Arc::new(shift.chosen(rows));
    shifts.push([shift.clone(), kept.clone()]);
    kept
}

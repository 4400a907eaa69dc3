//! A problem whose rows are divided over workers.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::problem::{Contents, Problem};
use crate::reduce::{Elsewhere, PointShards, Reduce, Shards, Workers};
use crate::requirement::{Kind, Limit, Requirement, Term};
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
        let whole = self.workers().is_alone() && self.shards().is_none();
        Error::unless(whole, "workers that have other rows", 2.0, "none")?;
        let shards = Shards::new(reduce.clone(), self.sources())?;
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

//! The empirical Lagrangian of the paper, evaluated and differentiated in one pass:
//!
//! $$ \hat L(\theta, \mu, \lambda) = \frac{1}{N_0} \sum_n \ell_0
//!    + \sum_i \mu_i \Big[ \frac{1}{N_i} \sum_n \ell_i - c_i \Big]
//!    + \sum_j \frac{1}{N_j} \sum_n \lambda_{j,n} \big( \ell_j - c_j \big) . $$
//!
//! A pass walks the selected rows of every source in chunks of fixed size: model forward for
//! all views, losses to values and seeds, model backward once. Chunks are dealt to a fixed
//! number of lanes and lanes are added up in order, so the bits of the result depend on the rows
//! alone and not on how many threads worked.

use std::sync::Arc;

use rayon::prelude::*;

use crate::adaptive::Place;
use crate::alike::Alike;
use crate::error::Result;
use crate::flush::{FlushDenormals, flushing_pool};
use crate::measurement::{Measurement, Slacks};
use crate::model::{Mode, Model, Pass};
use crate::multiplier::Multipliers;
use crate::problem::Problem;
use crate::real::Real;
use crate::requirement::Kind;
use crate::source::{Owner, Source, SourceTerm, SourceView};
use crate::stream::{Purpose, Stream};

mod chunk;
mod distinct;
mod entries;
mod kinds;
mod lane;
mod narrow;
mod still;

use chunk::Ground;
use distinct::Shared;
use lane::{Lane, SeenKinds, TermSums};
use narrow::Narrow;
use still::Still;

#[cfg(test)]
mod tests;

/// Lanes a pass is dealt to: the most threads that can work on one pass.
const LANES: usize = 16;
/// Output rows (rows × views) per chunk, about: enough for the kernels, small for the cache.
const CHUNK_OUTPUT_ROWS: usize = 512;
/// Rows per chunk, outside a training step, of a model that spreads them over threads itself.
const CHUNK_WHOLE_ROWS: usize = 128;

/// Rows per chunk where distinct inputs are shared.
const POOLED_ROWS: usize = 4096;

/// Rows per chunk elsewhere.
fn rows_per_chunk(views: usize) -> usize {
    (CHUNK_OUTPUT_ROWS / views).max(32)
}

/// The rows of one source that a pass takes, and the factor that makes their sum an estimate
/// of the sum over all rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selection<'s> {
    pub(crate) rows: &'s [u32],
    pub(crate) scale: f64,
    /// Whether these are all rows of the source.
    pub(crate) whole: bool,
}

/// What a pass is to compute.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ask<'m> {
    /// Losses only.
    Values,
    /// The gradient at these multipliers.
    Gradient(&'m Multipliers),
    /// The gradient, and the slacks on the way.
    GradientAndValues(&'m Multipliers),
}

impl<'m> Ask<'m> {
    fn multipliers(&self) -> Option<&'m Multipliers> {
        match self {
            Self::Values => None,
            Self::Gradient(m) | Self::GradientAndValues(m) => Some(m),
        }
    }

    fn wants_values(&self) -> bool {
        !matches!(self, Self::Gradient(_))
    }
}

/// A chunk of a pass.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    source: usize,
    start: usize,
    end: usize,
    /// Whether anything is asked about the views.
    views: bool,
}

/// Evaluates the Lagrangian of a problem for a model, on a number of threads.
pub(crate) struct Lagrangian<M: Model> {
    ground: Ground<M>,
    lanes: Vec<Lane<M>>,
    chunks: Vec<Chunk>,
    /// Per source.
    still: Vec<Still>,
    narrow: Vec<Narrow>,
    pool: Option<rayon::ThreadPool>,
    /// Where adaptive views are asked for.
    pub(crate) place: Place,
}

/// Whether the objective is part of the Lagrangian, or only the requirements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Everything,
    RequirementsOnly,
}

impl<M: Model> Lagrangian<M> {
    /// # Errors
    /// A model that does not fit the problem, or threads that cannot be started.
    pub(crate) fn new(problem: &Problem, model: Arc<M>, threads: usize, seed: u64) -> Result<Self> {
        problem.check_model(&*model)?;
        let pool = flushing_pool(threads)?;
        let sources = problem.sources();
        let first_term = sources
            .iter()
            .scan(0, |next, s| Some(std::mem::replace(next, *next + s.terms.len())))
            .collect();
        let alike = sources.iter().map(|_| None).collect();
        let scope = Scope::Everything;
        let ground = Ground { model, problem: problem.clone(), first_term, alike, scope };
        let place = Place { seed, epoch: 0 };
        let still = vec![Still::default(); sources.len()];
        let narrow = vec![Narrow::default(); sources.len()];
        let (lanes, chunks) = (Vec::new(), Vec::new());
        Ok(Self { ground, lanes, chunks, still, narrow, pool, place })
    }

    /// Looks for rows that are alike, whose work later passes do once. Pays for many passes; the sums
    /// of these differ from others in the order of their terms.
    pub(crate) fn sharing(mut self) -> Self {
        // Statistics of a batch count every row of it.
        if self.ground.model.needs_whole_batch() {
            return self;
        }
        let Ground { alike, problem, .. } = &mut self.ground;
        for (source, alike) in problem.sources().iter().zip(alike) {
            let shifts = source.views.iter().map(SourceView::shift).collect::<Option<Vec<_>>>();
            // A term lines up the outputs once, for its loss and its measure.
            let lines_up = |term: &SourceTerm| {
                let measure = term.measure.as_ref().unwrap_or(&term.loss);
                measure.compares_views() == term.loss.compares_views()
            };
            if let Some(shifts) = shifts
                && source.terms.iter().all(lines_up)
            {
                let size = rows_per_chunk(1 + shifts.len());
                *alike = Alike::of(&source.samples, &source.rows, &shifts, size);
            }
        }
        self
    }

    pub(crate) fn problem(&self) -> &Problem {
        &self.ground.problem
    }

    pub(crate) fn model(&self) -> &Arc<M> {
        &self.ground.model
    }

    pub(crate) fn scope(&self) -> Scope {
        self.ground.scope
    }

    /// What later gradients are gradients of.
    pub(crate) fn set_scope(&mut self, scope: Scope) {
        self.ground.scope = scope;
    }

    /// One pass over `selections`, one per source.
    fn pass(&mut self, theta: &[M::Real], selections: &[Selection<'_>], ask: Ask<'_>, mode: Mode) {
        let _flush = FlushDenormals::new();
        let whole = self.ground.model.needs_whole_batch();
        self.chunks.clear();
        for (source, selection) in selections.iter().enumerate() {
            if let Some(pool) = self.ground.pooled(source).and_then(|alike| alike.pool.as_ref()) {
                self.narrow[source].fit(&self.ground, source, pool, ask);
            }
            if selection.whole
                && let Some(alike) = &self.ground.alike[source]
            {
                self.still[source].count = 0;
                let cuts = alike.cuts.windows(2);
                let chunk =
                    |cut: &[usize]| Chunk { source, start: cut[0], end: cut[1], views: true };
                self.chunks.extend(cuts.map(chunk));
                continue;
            }
            let views = 1 + self.ground.problem.sources()[source].views.len();
            let rows = selection.rows.len();
            let size = match (whole, mode) {
                (false, _) if self.ground.pooled(source).is_some() => POOLED_ROWS,
                (false, _) => rows_per_chunk(views),
                (true, Mode::Evaluation) => CHUNK_WHOLE_ROWS,
                (true, Mode::Training) => rows.max(1),
            };
            let still = &mut self.still[source];
            still.count = 0;
            // The statistics of a batch are of all its rows together.
            if !whole && self.ground.pooled(source).is_none() {
                still.set_apart(&self.ground, source, selection.rows, selection.scale, ask);
            }
            let count = still.count;
            for (start, end, views) in [(0, count, false), (count, rows, true)] {
                for start in (start..end).step_by(size) {
                    let end = (start + size).min(end);
                    self.chunks.push(Chunk { source, start, end, views });
                }
            }
        }
        let size = |chunk: &Chunk| {
            let views = self.ground.problem.sources()[chunk.source].views.len();
            (chunk.end - chunk.start) * if chunk.views { 1 + views } else { 1 }
        };
        let little = self.chunks.iter().map(size).sum::<usize>() <= CHUNK_OUTPUT_ROWS;
        let active = if whole || little { 1 } else { self.chunks.len().clamp(1, LANES) };
        let (parameters, terms) = (self.ground.model.parameter_count(), self.ground.terms());
        while self.lanes.len() < active {
            self.lanes.push(Lane::new(parameters, terms));
        }
        let (ground, chunks, place) = (&self.ground, &self.chunks, self.place);
        let (still, narrow) = (&self.still, &self.narrow);
        let work = |(number, lane): (usize, &mut Lane<M>)| {
            lane.sums.fill(TermSums::default());
            lane.seen.clear();
            lane.seen_kinds.clear();
            lane.of_kinds.clear();
            lane.pass = Pass { mode, outputs_only: ask.multipliers().is_none(), repeats: false };
            if ask.multipliers().is_some() {
                lane.gradient.fill(M::Real::ZERO);
            }
            let share = |n: usize| n * chunks.len() / active;
            let mut source = None;
            for chunk in &chunks[share(number)..share(number + 1)] {
                let Selection { rows, scale, whole } = selections[chunk.source];
                lane.pass.repeats = source == Some(chunk.source);
                source = Some(chunk.source);
                let alike = match &ground.alike[chunk.source] {
                    Some(alike) if whole => Some(alike),
                    _ => ground.pooled(chunk.source),
                };
                let range = chunk.start..chunk.end;
                match alike {
                    Some(alike) => {
                        let source = chunk.source;
                        let (pool, version) = match narrow[source].pool() {
                            Some((pool, version)) => (Some(pool), version),
                            None => (alike.pool.as_ref(), 0),
                        };
                        let sorted = whole.then(|| range.clone());
                        let shared = Shared { alike, pool, version, sorted };
                        let rows = if whole { &alike.rows[range] } else { &rows[range] };
                        ground.distinct_chunk(lane, theta, source, shared, rows, scale, ask);
                    }
                    None => {
                        let Still { rows: sorted, count, .. } = &still[chunk.source];
                        let rows = if *count > 0 { &sorted[range] } else { &rows[range] };
                        ground.chunk(lane, theta, chunk, rows, scale, ask, place);
                    }
                }
            }
        };
        let lanes = &mut self.lanes[..active];
        match &self.pool {
            Some(pool) if active > 1 || whole => {
                pool.install(|| lanes.par_iter_mut().enumerate().for_each(work));
            }
            _ => lanes.iter_mut().enumerate().for_each(work),
        }
        self.reduce(active, ask);
    }

    /// Adds the lanes up, in order, into the first one. This is the one place where work done
    /// apart comes together.
    fn reduce(&mut self, active: usize, ask: Ask<'_>) {
        let (first, others) = self.lanes[..active].split_at_mut(1);
        let first = &mut first[0];
        for lane in others {
            for (total, part) in first.sums.iter_mut().zip(&lane.sums) {
                total.primal += part.primal;
                total.measured += part.measured;
                total.points += part.points;
            }
            if ask.multipliers().is_some() {
                for (total, part) in first.gradient.iter_mut().zip(&*lane.gradient) {
                    *total += *part;
                }
            }
            first.seen.append(&mut lane.seen);
            let before = first.of_kinds.len();
            first.of_kinds.append(&mut lane.of_kinds);
            first.seen_kinds.extend(lane.seen_kinds.drain(..).map(|seen| SeenKinds {
                measured: seen.measured + before,
                primal: seen.primal.map(|at| at + before),
                ..seen
            }));
        }
    }

    /// The gradient of the Lagrangian estimated on `selections`, weight decay included, as a step
    /// of training needs it.
    pub(crate) fn gradient(
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
        for lane in &mut self.lanes {
            self.ground.model.absorb(theta, &mut lane.tape);
        }
    }

    /// As [`Lagrangian::gradient`], and lists the slacks of what the batch showed as
    /// (requirement, multiplier, slack with margin): for average requirements the batch's
    /// estimate, for pointwise ones each point seen.
    pub(crate) fn gradient_and_slacks(
        &mut self,
        theta: &[M::Real],
        selections: &[Selection<'_>],
        multipliers: &Multipliers,
        slacks: &mut Vec<(usize, usize, f64)>,
    ) -> &[M::Real] {
        self.pass(theta, selections, Ask::GradientAndValues(multipliers), Mode::Training);
        slacks.clear();
        for (i, requirement) in self.ground.problem.requirements().iter().enumerate() {
            if requirement.kind() == Kind::Average
                && let Some(slack) = self.average_slack(i)
            {
                slacks.push((i, 0, slack.measured + requirement.margin));
            }
        }
        let seen = &self.lanes[0].seen;
        let requirements = self.ground.problem.requirements();
        slacks.extend(seen.iter().map(|s| {
            let i = s.requirement as usize;
            (i, s.point as usize, s.measured + requirements[i].margin)
        }));
        self.decayed(theta)
    }

    fn decayed(&mut self, theta: &[M::Real]) -> &[M::Real] {
        let alpha = M::Real::from_f64(self.ground.problem.decay());
        let trainable = &theta[..self.ground.model.trainable_count()];
        let gradient = &mut self.lanes[0].gradient;
        if alpha != M::Real::ZERO && self.ground.scope == Scope::Everything {
            for (g, &t) in gradient.iter_mut().zip(trainable) {
                *g += alpha * t;
            }
        }
        gradient
    }

    /// Objective and slacks on the whole populations.
    pub(crate) fn measure(&mut self, theta: &[M::Real]) -> Measurement {
        let problem = self.ground.problem.clone();
        self.pass(theta, &everything(&problem), Ask::Values, Mode::Evaluation);
        self.measurement(theta)
    }

    /// As [`Lagrangian::measure`], estimated on at most `rows` rows of each data set, always the same ones.
    /// On all of them if a requirement is on every single sample, or if the rows say nothing of one.
    pub(crate) fn survey(&mut self, theta: &[M::Real], rows: usize) -> Measurement {
        let problem = &self.ground.problem;
        if problem.requirements().iter().all(|r| r.kind() == Kind::Average) {
            let draw = |(number, source): (usize, &Source)| {
                let mut order = source.rows.clone();
                let seed = self.place.seed;
                Stream::new(seed, Purpose::Shuffle, u64::MAX, number as u64).shuffle(&mut order);
                order.truncate(rows);
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
    pub(crate) fn full_gradient(
        &mut self,
        theta: &[M::Real],
        multipliers: &Multipliers,
    ) -> &[M::Real] {
        let problem = self.ground.problem.clone();
        self.pass(theta, &everything(&problem), Ask::Gradient(multipliers), Mode::Evaluation);
        self.decayed(theta)
    }

    fn measurement(&self, theta: &[M::Real]) -> Measurement {
        let problem = &self.ground.problem;
        let total = self.total(Owner::Objective).unwrap_or(Total::UNKNOWN);
        let surrogate = problem.objective().measure.as_ref().map(|_| total.primal);
        let trainable = &theta[..self.ground.model.trainable_count()];
        let square: f64 = trainable.iter().map(|t| t.to_f64() * t.to_f64()).sum();
        let mut slacks: Vec<Slacks> = problem
            .requirements()
            .iter()
            .enumerate()
            .map(|(i, requirement)| {
                let differs = requirement.terms()[0].measure.is_some();
                let margin = requirement.margin;
                match requirement.kind() {
                    Kind::Average => {
                        let slack = self.average_slack(i).unwrap_or(Total::UNKNOWN);
                        let surrogate = differs.then(|| vec![slack.primal]);
                        Slacks { measured: vec![slack.measured], surrogate, margin }
                    }
                    Kind::Pointwise => {
                        let empty = vec![f64::NAN; requirement.multipliers()];
                        Slacks {
                            surrogate: differs.then(|| empty.clone()),
                            measured: empty,
                            margin,
                        }
                    }
                }
            })
            .collect();
        for seen in &self.lanes[0].seen {
            let of = &mut slacks[seen.requirement as usize];
            of.measured[seen.point as usize] = seen.measured;
            if let Some(surrogate) = &mut of.surrogate {
                surrogate[seen.point as usize] = seen.primal;
            }
        }
        self.deal_out(&mut slacks);
        let penalty = 0.5 * problem.decay() * square;
        Measurement { objective: total.measured, surrogate, penalty, slacks }
    }

    /// Gives every row the slacks of its kind.
    fn deal_out(&self, slacks: &mut [Slacks]) {
        let Lane { seen_kinds, of_kinds, .. } = &self.lanes[0];
        for seen in seen_kinds {
            let Some(alike) = &self.ground.alike[seen.source] else { continue };
            let (rows, kinds) = (&alike.rows[seen.rows.clone()], &alike.kinds[seen.rows.clone()]);
            let deal = |from: usize, to: &mut [f64]| {
                for (&row, &kind) in rows.iter().zip(kinds) {
                    to[row as usize] = of_kinds[from + (kind - seen.first_kind) as usize];
                }
            };
            let of = &mut slacks[seen.requirement];
            deal(seen.measured, &mut of.measured[seen.point..]);
            if let (Some(primal), Some(surrogate)) = (seen.primal, &mut of.surrogate) {
                deal(primal, &mut surrogate[seen.point..]);
            }
        }
    }

    /// Σ aₜ Ê over 𝔇ₜ of ℓₜ over the terms of one owner, by the means over the points of the
    /// pass; `None` if a population had no point in it.
    fn total(&self, owner: Owner) -> Option<Total> {
        let mut total = Total { primal: 0.0, measured: 0.0 };
        let terms = self.ground.problem.sources().iter().flat_map(|source| &source.terms);
        for (term, sums) in terms.zip(&self.lanes[0].sums) {
            if term.owner == owner {
                if sums.points == 0 {
                    return None;
                }
                let factor = term.coefficient / sums.points as f64;
                total.primal += factor * sums.primal;
                total.measured += factor * sums.measured;
            }
        }
        Some(total)
    }

    fn average_slack(&self, i: usize) -> Option<Total> {
        let requirement = &self.ground.problem.requirements()[i];
        let level = requirement.sense().sign() * requirement.level().of(0);
        let total = self.total(Owner::Requirement(i))?;
        Some(Total { primal: total.primal - level, measured: total.measured - level })
    }
}

/// Every row of every source.
fn everything(problem: &Problem) -> Vec<Selection<'_>> {
    let sources = problem.sources().iter();
    sources.map(|s| Selection { rows: &s.rows, scale: 1.0, whole: true }).collect()
}

/// A weighted sum of averages, by both losses.
#[derive(Clone, Copy, Debug)]
struct Total {
    primal: f64,
    measured: f64,
}

impl Total {
    /// What a pass that saw nothing knows.
    const UNKNOWN: Self = Self { primal: f64::NAN, measured: f64::NAN };
}

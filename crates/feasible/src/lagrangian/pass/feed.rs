//! How the rows of a source come to the model: as they are, or, where they repeat, each kind once.
//!
//! This is the one place that knows of both. A pass asks a feed to cut its rows into chunks, and then, from any
//! number of threads, to take chunks through model and terms.

use std::ops::Range;

use crate::adaptive::{BatchProbe, TrainingPlace};
use crate::dedup::Dedup;
use crate::lagrangian::pass::active_views::ActiveViews;
use crate::lagrangian::pass::inactive_rows::InactiveRows;
use crate::lagrangian::pass::lane::Lane;
use crate::lagrangian::pass::{CHUNK_WHOLE_ROWS, Chunk, Selection, rows_per_chunk};
use crate::lagrangian::terms::{Ask, At, Shared, Terms};
use crate::model::{Batch, Mode, Model, ViewShift};
use crate::source::{Source, SourceTerm, SourceView};

/// Rows per chunk where distinct inputs are shared.
const POOLED_ROWS: usize = 4096;

/// The rows of one source on their way to the model.
#[derive(Default)]
pub(super) struct Feed {
    source: usize,
    /// The rows that are alike, if that was asked for and there are any.
    dedup: Option<Dedup>,
    inactive: InactiveRows,
    active: ActiveViews,
}

/// What a pass does with the chunks of a feed.
pub(super) struct Job<'j, M: Model> {
    pub(super) model: &'j M,
    pub(super) theta: &'j [M::Real],
    pub(super) terms: &'j Terms,
    pub(super) ask: Ask<'j>,
    pub(super) place: TrainingPlace,
}

impl Feed {
    pub(super) fn new(source: usize) -> Self {
        Self { source, ..Self::default() }
    }

    /// Looks for rows that are alike.
    pub(super) fn deduplicate(&mut self, source: &Source) {
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
            self.dedup = Dedup::of(&source.samples, &source.rows, &shifts, size);
        }
    }

    pub(super) fn dedup(&self) -> Option<&Dedup> {
        self.dedup.as_ref()
    }

    /// The kinds, if this selection is worked on kind by kind: all rows, or any of a source whose kinds share inputs.
    fn repeated(&self, selection: &Selection<'_>) -> Option<&Dedup> {
        self.dedup.as_ref().filter(|dedup| selection.whole || dedup.pool.is_some())
    }

    /// Cuts the rows of a pass into chunks.
    pub(super) fn cut<M: Model>(
        &mut self,
        model: &M,
        terms: &Terms,
        selection: &Selection<'_>,
        ask: Ask<'_>,
        mode: Mode,
        chunks: &mut Vec<Chunk>,
    ) {
        let source = self.source;
        self.inactive.count = 0;
        if let Some(pool) = self.dedup.as_ref().and_then(|dedup| dedup.pool.as_ref()) {
            self.active.fit(terms, source, pool, ask);
        }
        if let Some(dedup) = self.dedup.as_ref().filter(|_| selection.whole) {
            let chunk = |cut: &[usize]| Chunk { source, start: cut[0], end: cut[1], views: true };
            chunks.extend(dedup.cuts.windows(2).map(chunk));
            return;
        }
        let views = 1 + terms.problem.sources()[source].views.len();
        let rows = selection.rows.len();
        let (whole, repeated) = (model.needs_whole_batch(), self.repeated(selection).is_some());
        let size = match (whole, mode) {
            (false, _) if repeated => POOLED_ROWS,
            (false, _) => rows_per_chunk(views),
            (true, Mode::Evaluation) => CHUNK_WHOLE_ROWS,
            (true, Mode::Training) => rows.max(1),
        };
        // The statistics of a batch are of all its rows together.
        if !whole && !repeated {
            self.inactive.set_apart(terms, source, selection.rows, selection.scale, ask);
        }
        let count = self.inactive.count;
        for (start, end, views) in [(0, count, false), (count, rows, true)] {
            for start in (start..end).step_by(size) {
                chunks.push(Chunk { source, start, end: (start + size).min(end), views });
            }
        }
    }

    /// Cuts those rows of a pass that are of one shard into chunks, and puts those first that need no views.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn cut_shard<M: Model>(
        &mut self,
        model: &M,
        terms: &Terms,
        rows: &mut [u32],
        range: Range<usize>,
        scale: f64,
        ask: Ask<'_>,
        chunks: &mut Vec<Chunk>,
    ) {
        let source = self.source;
        let size = match model.needs_whole_batch() {
            true => CHUNK_WHOLE_ROWS,
            false => rows_per_chunk(1 + terms.problem.sources()[source].views.len()),
        };
        self.inactive.set_apart(terms, source, &rows[range.clone()], scale, ask);
        let count = std::mem::take(&mut self.inactive.count);
        if count > 0 {
            rows[range.clone()].copy_from_slice(&self.inactive.rows);
        }
        let middle = range.start + count;
        for (start, end, views) in [(range.start, middle, false), (middle, range.end, true)] {
            for start in (start..end).step_by(size) {
                chunks.push(Chunk { source, start, end: (start + size).min(end), views });
            }
        }
    }

    /// Takes one of the chunks through model and terms.
    pub(super) fn run<M: Model>(
        &self,
        lane: &mut Lane<M>,
        chunk: &Chunk,
        selection: &Selection<'_>,
        job: &Job<'_, M>,
    ) {
        match self.repeated(selection) {
            Some(dedup) => self.run_kinds(lane, dedup, chunk, selection, job),
            None => self.run_rows(lane, chunk, selection, job),
        }
    }

    /// Rows as they are.
    fn run_rows<M: Model>(
        &self,
        lane: &mut Lane<M>,
        chunk: &Chunk,
        selection: &Selection<'_>,
        job: &Job<'_, M>,
    ) {
        let of = &job.terms.problem.sources()[self.source];
        let range = chunk.start..chunk.end;
        let apart = self.inactive.count > 0;
        let rows = if apart { &self.inactive.rows[range] } else { &selection.rows[range] };
        // Dense views are taken out of the lane so that the batch can borrow them.
        let mut adaptive = std::mem::take(&mut lane.adaptive);
        let views: &[SourceView] = if chunk.views { &of.views } else { &[] };
        if views.iter().any(|view| view.shift().is_none()) {
            move_inputs(lane, &mut adaptive, of, rows, job);
        }
        let views = ViewShifts::new(views, |v| &adaptive[v]);
        let batch = Batch { inputs: of.samples.inputs(), rows, shifts: views.as_slice() };
        let at = At { source: self.source, rows, scale: selection.scale, ask: job.ask };
        lane.run(job.model, job.theta, &batch, |work, outputs| {
            job.terms.on_rows(work, at, chunk.views, outputs)
        });
        lane.adaptive = adaptive;
    }

    /// Rows that repeat: one of each kind, or the distinct inputs that they show.
    fn run_kinds<M: Model>(
        &self,
        lane: &mut Lane<M>,
        dedup: &Dedup,
        chunk: &Chunk,
        selection: &Selection<'_>,
        job: &Job<'_, M>,
    ) {
        let of = &job.terms.problem.sources()[self.source];
        let (pool, version) = match self.active.pool() {
            Some((pool, version)) => (Some(pool), version),
            None => (dedup.pool.as_ref(), 0),
        };
        let range = chunk.start..chunk.end;
        let sorted = selection.whole.then(|| range.clone());
        let rows = if selection.whole { &dedup.rows[range] } else { &selection.rows[range] };
        let mut asked = std::mem::take(&mut lane.asked);
        let kinds = &mut lane.work.kinds;
        match &sorted {
            Some(part) => kinds.collect_sorted(dedup, part.clone()),
            None => kinds.collect(dedup, rows),
        }
        kinds.ask(dedup, pool, &mut asked);
        let views;
        let batch = match pool {
            Some(pool) => Batch { inputs: &pool.inputs, rows: &asked, shifts: &[] },
            None => {
                views = ViewShifts::new(&of.views, |_| &[]);
                Batch { inputs: of.samples.inputs(), rows: &asked, shifts: views.as_slice() }
            }
        };
        let shared = Shared { dedup, pool, version, sorted };
        let at = At { source: self.source, rows, scale: selection.scale, ask: job.ask };
        lane.run(job.model, job.theta, &batch, |work, outputs| {
            job.terms.on_kinds(work, at, &shared, &asked, outputs)
        });
        lane.asked = asked;
    }
}

/// Asks the model-dependent views of a source how they move these rows.
fn move_inputs<M: Model>(
    lane: &mut Lane<M>,
    adaptive: &mut Vec<Vec<f32>>,
    of: &Source,
    rows: &[u32],
    job: &Job<'_, M>,
) {
    adaptive.resize_with(of.views.len(), Vec::new);
    for (view, shift) in of.views.iter().zip(adaptive) {
        if let SourceView::Adaptive(view) = view {
            shift.clear();
            shift.resize(rows.len() * of.samples.inputs().width(), 0.0);
            let (samples, scratch) = (&*of.samples, &mut lane.probe);
            let (model, theta) = (job.model, job.theta);
            let mut probe = BatchProbe { model, theta, samples, rows, scratch };
            view.shift(&mut probe, job.place, shift);
        }
    }
}

/// How the views of a source move x, as a batch is told: without an allocation, unless there are many.
struct ViewShifts<'s> {
    few: [ViewShift<'s>; FEW],
    many: Vec<ViewShift<'s>>,
    count: usize,
}

/// The most views that need no allocation.
const FEW: usize = 16;

impl<'s> ViewShifts<'s> {
    /// `dense` has what was computed for this batch, by the number of the view.
    fn new(views: &'s [SourceView], dense: impl Fn(usize) -> &'s [f32]) -> Self {
        let shift = |v: usize| match &views[v] {
            SourceView::Shift(shift) => ViewShift::Sparse(shift),
            SourceView::Adaptive(_) => ViewShift::Dense(dense(v)),
        };
        let (count, nothing) = (views.len(), ViewShift::Dense(&[]));
        let few = std::array::from_fn(|v| if v < count { shift(v) } else { nothing });
        let many = if count > FEW { (0..count).map(shift).collect() } else { Vec::new() };
        Self { few, many, count }
    }

    fn as_slice(&self) -> &[ViewShift<'s>] {
        if self.count > FEW { &self.many } else { &self.few[..self.count] }
    }
}

//! One chunk of a pass: forward for all views, losses to values and seeds, backward once.

use std::sync::Arc;

use crate::adaptive::{BatchProbe, Place};
use crate::alike::Alike;
use crate::lagrangian::lane::Lane;
use crate::lagrangian::{Ask, Chunk, Scope};
use crate::loss::{Loss, Rows};
use crate::model::{Batch, Model, ViewShift};
use crate::multiplier::Multipliers;
use crate::problem::Problem;
use crate::real::Real;
use crate::requirement::Kind;
use crate::source::{Owner, Source, SourceTerm, SourceView};

/// What all lanes read.
pub(super) struct Ground<M: Model> {
    pub(super) model: Arc<M>,
    pub(super) problem: Problem,
    /// Per source, the number of its first term.
    pub(super) first_term: Vec<usize>,
    /// Per source, its rows that are alike, if that was asked for and there are any.
    pub(super) alike: Vec<Option<Alike>>,
    pub(super) scope: Scope,
}

impl<M: Model> Ground<M> {
    /// The kinds of a source that is worked on by distinct inputs in every pass.
    pub(super) fn pooled(&self, source: usize) -> Option<&Alike> {
        self.alike[source].as_ref().filter(|alike| alike.pool.is_some())
    }

    pub(super) fn terms(&self) -> usize {
        self.problem.sources().iter().map(|s| s.terms.len()).sum()
    }

    /// Forward, losses and (if asked) backward for some rows of one source.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn chunk(
        &self,
        lane: &mut Lane<M>,
        theta: &[M::Real],
        chunk: &Chunk,
        rows: &[u32],
        scale: f64,
        ask: Ask<'_>,
        place: Place,
    ) {
        let source = chunk.source;
        let of = &self.problem.sources()[source];
        // Dense views are taken out of the lane so that the batch can borrow them.
        let mut adaptive = std::mem::take(&mut lane.adaptive);
        let views: &[SourceView] = if chunk.views { &of.views } else { &[] };
        if views.iter().any(|view| view.shift().is_none()) {
            self.move_inputs(lane, &mut adaptive, theta, of, rows, place);
        }
        let views = ViewShifts::new(views, |v| &adaptive[v]);
        let batch = Batch { inputs: of.samples.inputs(), rows, shifts: views.as_slice() };
        self.forward(lane, theta, &batch);
        if ask.multipliers().is_some() {
            lane.seeds.clear();
            lane.seeds.resize(lane.outputs.len(), M::Real::ZERO);
        }
        let first = self.first_term[source];
        let mut wanted = false;
        for (t, term) in of.terms.iter().enumerate() {
            wanted |= self.term(lane, of, term, first + t, rows, chunk.views, scale, ask);
        }
        if wanted {
            let Lane { tape, seeds, gradient, .. } = lane;
            self.model.backward(theta, &batch, tape, seeds, gradient);
        }
        lane.adaptive = adaptive;
    }

    /// The model's outputs, into the lane.
    pub(super) fn forward(&self, lane: &mut Lane<M>, theta: &[M::Real], batch: &Batch<'_>) {
        let Lane { tape, pass, outputs, .. } = lane;
        outputs.resize(batch.output_rows() * self.model.output_width(), M::Real::ZERO);
        self.model.forward(theta, batch, *pass, tape, outputs);
    }

    /// Asks the model-dependent views of a source how they move these rows.
    pub(super) fn move_inputs(
        &self,
        lane: &mut Lane<M>,
        adaptive: &mut Vec<Vec<f32>>,
        theta: &[M::Real],
        of: &Source,
        rows: &[u32],
        place: Place,
    ) {
        adaptive.resize_with(of.views.len(), Vec::new);
        for (view, shift) in of.views.iter().zip(adaptive) {
            if let SourceView::Adaptive(view) = view {
                shift.clear();
                shift.resize(rows.len() * of.samples.inputs().width(), 0.0);
                let (model, samples, scratch) = (&*self.model, &*of.samples, &mut lane.probe);
                let mut probe = BatchProbe { model, theta, samples, rows, scratch };
                view.shift(&mut probe, place, shift);
            }
        }
    }

    /// One term on one chunk; true if it put anything into the seeds.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn term(
        &self,
        lane: &mut Lane<M>,
        of: &Source,
        term: &SourceTerm,
        number: usize,
        rows: &[u32],
        views: bool,
        scale: f64,
        ask: Ask<'_>,
    ) -> bool {
        let factor = scale * term.coefficient / term.points() as f64;
        let weigh = ask.multipliers().map(|m| Weigh::of(term.owner, self, m, factor));
        let wants_values = ask.wants_values();
        if !wants_values && weigh.as_ref().is_none_or(Weigh::is_zero) {
            return false;
        }
        // The rows of a chunk without views are no members of what is about views, or weigh nothing.
        if !views && term.slots.iter().all(|&slot| slot > 0) {
            return false;
        }
        lane.select_members(term, rows);
        if lane.positions.is_empty() {
            return false;
        }
        let mut wanted = false;
        for (q, &slot) in term.slots.iter().enumerate() {
            if !views && slot > 0 {
                continue;
            }
            let point = |member: u32| q * term.members + member as usize;
            let values = if wants_values { lane.positions.len() } else { 0 };
            lane.values.resize(values, M::Real::ZERO);
            let moves = match &weigh {
                Some(weigh) => {
                    lane.weights.clear();
                    let weights =
                        lane.members.iter().map(|&m| M::Real::from_f64(weigh.at(point(m))));
                    lane.weights.extend(weights);
                    weigh.is_uniform() || lane.weights.iter().any(|&w| w != M::Real::ZERO)
                }
                None => false,
            };
            if !moves && !wants_values {
                continue;
            }
            self.losses(lane, of, term, slot, rows, moves, wants_values);
            wanted |= moves;
            if wants_values {
                lane.record(&self.problem, term, number, point);
            }
        }
        wanted
    }

    /// Values of a term on one view, with seeds if `moves`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn losses(
        &self,
        lane: &mut Lane<M>,
        of: &Source,
        term: &SourceTerm,
        slot: usize,
        samples: &[u32],
        moves: bool,
        wants_values: bool,
    ) {
        let width = self.model.output_width();
        let len = samples.len() * width;
        let Lane { outputs, seeds, positions, weights, values, measured, .. } = lane;
        let targets = of.samples.targets();
        let view = &outputs[slot * len..(slot + 1) * len];
        let base = &outputs[..len];
        let rows = |loss: &Loss| {
            let (at, against) =
                if loss.compares_views() { (base, view) } else { (view, &view[..0]) };
            Rows { width, at, against, targets, samples, positions }
        };
        if moves {
            if term.loss.compares_views() {
                let (at, rest) = seeds.split_at_mut(len);
                let against = &mut rest[(slot - 1) * len..slot * len];
                term.loss.seeds(rows(&term.loss), weights, values, at, against);
            } else {
                let at = &mut seeds[slot * len..(slot + 1) * len];
                term.loss.seeds(rows(&term.loss), weights, values, at, &mut []);
            }
        } else {
            term.loss.values(rows(&term.loss), values);
        }
        if let (true, Some(measure)) = (wants_values, &term.measure) {
            measured.resize(positions.len(), M::Real::ZERO);
            measure.values(rows(measure), measured);
        }
    }
}

/// How the views of a source move x, as a batch is told: without an allocation, unless there are many.
pub(super) struct ViewShifts<'s> {
    few: [ViewShift<'s>; FEW],
    many: Vec<ViewShift<'s>>,
    count: usize,
}

/// The most views that need no allocation.
const FEW: usize = 16;

impl<'s> ViewShifts<'s> {
    /// `dense` has what was computed for this batch, by the number of the view.
    pub(super) fn new(views: &'s [SourceView], dense: impl Fn(usize) -> &'s [f32]) -> Self {
        let shift = |v: usize| match &views[v] {
            SourceView::Shift(shift) => ViewShift::Sparse(shift),
            SourceView::Adaptive(_) => ViewShift::Dense(dense(v)),
        };
        let (count, nothing) = (views.len(), ViewShift::Dense(&[]));
        let few = std::array::from_fn(|v| if v < count { shift(v) } else { nothing });
        let many = if count > FEW { (0..count).map(shift).collect() } else { Vec::new() };
        Self { few, many, count }
    }

    pub(super) fn as_slice(&self) -> &[ViewShift<'s>] {
        if self.count > FEW { &self.many } else { &self.few[..self.count] }
    }
}

/// The factor on each point's loss gradient in the Lagrangian.
pub(super) enum Weigh<'m> {
    Uniform(f64),
    PerPoint { factor: f64, multipliers: &'m [f64] },
}

impl<'m> Weigh<'m> {
    pub(super) fn of<M: Model>(
        owner: Owner,
        ground: &Ground<M>,
        multipliers: &'m Multipliers,
        factor: f64,
    ) -> Self {
        match owner {
            Owner::Objective if ground.scope == Scope::RequirementsOnly => Self::Uniform(0.0),
            Owner::Objective => Self::Uniform(factor),
            Owner::Requirement(i) => match ground.problem.requirements()[i].kind() {
                Kind::Average => Self::Uniform(factor * multipliers.of(i)[0]),
                Kind::Pointwise => Self::PerPoint { factor, multipliers: multipliers.of(i) },
            },
        }
    }

    #[inline(always)]
    pub(super) fn at(&self, point: usize) -> f64 {
        match self {
            Self::Uniform(weight) => *weight,
            Self::PerPoint { factor, multipliers } => factor * multipliers[point],
        }
    }

    pub(super) fn is_uniform(&self) -> bool {
        matches!(self, Self::Uniform(w) if *w != 0.0)
    }

    pub(super) fn is_zero(&self) -> bool {
        matches!(self, Self::Uniform(0.0))
    }
}

//! The working memory of one lane of a pass.

use crate::adaptive::ProbeScratch;
use crate::aligned::AlignedVec;
use crate::lagrangian::terms::{Outputs, Work};
use crate::model::{Batch, Model, Pass};
use crate::real::Real;

/// The working memory of one lane, and what it has found.
pub(in crate::lagrangian) struct Lane<M: Model> {
    pub(in crate::lagrangian) tape: M::Tape,
    /// How the next forward pass is made.
    pub(super) pass: Pass,
    pub(super) probe: ProbeScratch<M>,
    pub(super) adaptive: Vec<Vec<f32>>,
    /// The rows the model is asked about, where that is not every row.
    pub(super) asked: Vec<u32>,
    pub(in crate::lagrangian) work: Work<M::Real>,
    pub(in crate::lagrangian) gradient: AlignedVec<M::Real>,
    outputs: Vec<M::Real>,
    seeds: Vec<M::Real>,
}

impl<M: Model> Lane<M> {
    pub(super) fn new(parameters: usize) -> Self {
        let mut gradient = AlignedVec::new();
        gradient.place(parameters);
        Self {
            tape: M::Tape::default(),
            pass: Pass::default(),
            probe: ProbeScratch::default(),
            adaptive: Vec::new(),
            asked: Vec::new(),
            work: Work::default(),
            gradient,
            outputs: Vec::new(),
            seeds: Vec::new(),
        }
    }

    /// Forward, the terms on the outputs, and backward if they put anything into the seeds.
    pub(super) fn run(
        &mut self,
        model: &M,
        theta: &[M::Real],
        batch: &Batch<'_>,
        terms: impl FnOnce(&mut Work<M::Real>, Outputs<'_, M::Real>) -> bool,
    ) {
        let Self { tape, pass, outputs, seeds, work, gradient, .. } = self;
        let width = model.output_width();
        outputs.resize(batch.output_rows() * width, M::Real::ZERO);
        model.forward(theta, batch, *pass, tape, outputs);
        if !pass.outputs_only {
            seeds.clear();
            seeds.resize(outputs.len(), M::Real::ZERO);
        }
        if terms(work, Outputs { width, outputs, seeds }) {
            model.backward(theta, batch, tape, seeds, gradient);
        }
    }
}

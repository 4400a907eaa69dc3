//! Views that depend on the model: where an adversary looks at f_θ to choose its δ.
//!
//! An [`Adaptive`] view is asked, for every batch and the current θ, how to move the inputs.
//! It sees the model through a [`Probe`]: outputs at moved inputs and their gradients with
//! respect to the inputs, never parameters. The moved inputs are then constants of the
//! Lagrangian: its gradient does not run through the choice of δ (Danskin's theorem is the
//! reason this is right for a worst-case δ).

use std::fmt::Debug;

use crate::inputs::Inputs;
use crate::model::{Batch, Model, Tape, ViewShift};
use crate::real::Real;
use crate::samples::Samples;

/// A view x + δ(x, y, f_θ).
pub trait Adaptive: Debug + Send + Sync {
    /// Writes δ for each row of the batch into `shift`, rows × d, which starts at zero.
    ///
    /// Random choices must come from `place` and the sample's id alone (see
    /// [`Stream`](crate::Stream)), so that they do not depend on how samples are batched.
    fn shift(&self, probe: &mut dyn Probe, place: Place, shift: &mut [f32]);
}

/// Where in a training a view is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The seed of the training.
    pub seed: u64,
    /// Epochs done.
    pub epoch: u64,
}

/// A batch of samples and the model at its current θ, as an [`Adaptive`] view may see them.
pub trait Probe {
    /// The data set.
    fn samples(&self) -> &Samples;

    /// The rows of the data set in this batch.
    fn rows(&self) -> &[u32];

    /// The model's outputs per sample.
    fn output_width(&self) -> usize;

    /// f_θ(x + shift) for the whole batch, rows × k.
    fn outputs(&mut self, shift: &[f32]) -> &[f32];

    /// ∂⟨seeds, f_θ(x + shift)⟩/∂x at the shift of the last [`Probe::outputs`], rows × d.
    fn input_gradient(&mut self, seeds: &[f32], gradient: &mut [f32]);
}

/// The probe of a model on one batch.
pub(crate) struct BatchProbe<'a, M: Model> {
    pub(crate) model: &'a M,
    pub(crate) theta: &'a [M::Real],
    pub(crate) samples: &'a Samples,
    pub(crate) rows: &'a [u32],
    pub(crate) scratch: &'a mut ProbeScratch<M::Real>,
}

/// Memory of a probe, reused from batch to batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProbeScratch<T> {
    tape: Tape<T>,
    shift: Vec<f32>,
    outputs: Vec<f32>,
    seeds: Vec<T>,
    gradient: Vec<T>,
}

impl<M: Model> BatchProbe<'_, M> {
    /// Length of one view's outputs.
    fn view_len(&self) -> usize {
        self.rows.len() * self.model.output_width()
    }

    fn inputs(&self) -> &Inputs {
        self.samples.inputs()
    }
}

impl<M: Model> Probe for BatchProbe<'_, M> {
    fn samples(&self) -> &Samples {
        self.samples
    }

    fn rows(&self) -> &[u32] {
        self.rows
    }

    fn output_width(&self) -> usize {
        self.model.output_width()
    }

    fn outputs(&mut self, shift: &[f32]) -> &[f32] {
        let len = self.view_len();
        self.scratch.shift.clear();
        self.scratch.shift.extend_from_slice(shift);
        let shifts = [ViewShift::Dense(&self.scratch.shift)];
        let batch = Batch { inputs: self.samples.inputs(), rows: self.rows, shifts: &shifts };
        self.model.forward(self.theta, &batch, &mut self.scratch.tape);
        self.scratch.outputs.clear();
        let moved = &self.scratch.tape.outputs[len..2 * len];
        self.scratch.outputs.extend(moved.iter().map(|z| z.to_f32()));
        &self.scratch.outputs
    }

    fn input_gradient(&mut self, seeds: &[f32], gradient: &mut [f32]) {
        let (len, d) = (self.view_len(), self.inputs().width());
        let ProbeScratch { tape, shift, seeds: own, gradient: all, .. } = &mut *self.scratch;
        own.clear();
        own.resize(len, M::Real::ZERO);
        own.extend(seeds.iter().map(|&s| M::Real::from_f32(s)));
        let shifts = [ViewShift::Dense(shift)];
        let batch = Batch { inputs: self.samples.inputs(), rows: self.rows, shifts: &shifts };
        let half = self.rows.len() * d;
        all.resize(2 * half, M::Real::ZERO);
        self.model.input_gradient(self.theta, &batch, tape, own, all);
        for (out, g) in gradient.iter_mut().zip(&all[half..]) {
            *out = g.to_f32();
        }
    }
}

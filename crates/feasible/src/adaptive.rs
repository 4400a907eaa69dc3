//! Views that depend on the model: where an adversary looks at f_θ to choose its δ.
//!
//! For every batch and the current θ, an [`Adaptive`] view decides how to move the inputs.
//! It sees the model through a [`Probe`]: outputs at moved inputs and their gradients with
//! respect to the inputs, never parameters. The moved inputs are then constants of the
//! Lagrangian: its gradient does not run through the choice of δ (Danskin's theorem is the
//! reason this is right for a worst-case δ).
//!
//! ```
//! use std::sync::Arc;
//! use feasible::adaptive::{Adaptive, Probe, TrainingPlace};
//! use feasible::{Inputs, Loss, Population, Problem, Samples, Targets, View};
//! use feasible_nn::Linear;
//!
//! /// Moves every input a step of 0.1 towards where the first output grows.
//! #[derive(Debug)]
//! struct Uphill;
//!
//! impl Adaptive for Uphill {
//!     fn shift(&self, probe: &mut dyn Probe, _: TrainingPlace, shift: &mut [f32]) {
//!         let seeds = vec![1.0; probe.rows().len() * probe.output_width()];
//!         // All positions of the batch, as `probe.outputs` would take them.
//!         let positions: Vec<u32> = (0..probe.rows().len() as u32).collect();
//!         probe.outputs_at(&positions, shift);
//!         let mut gradient = vec![0.0; shift.len()];
//!         probe.input_gradient(&seeds, &mut gradient);
//!         for (to, g) in shift.iter_mut().zip(&gradient) {
//!             *to = 0.1 * g.signum();
//!         }
//!     }
//! }
//!
//! let x = Inputs::dense(vec![1.0, 2.0], 1)?;
//! let samples = Samples::new(x, Targets::Values(vec![1.0, 2.0]))?;
//! let moved = Population::new(samples).through(Arc::new(Uphill));
//! assert!(matches!(moved.view(), View::Adaptive(_)));
//! // f(x) = x is right for every row, and 0.1 too large for every moved one.
//! let problem = Problem::minimise(&moved, Loss::Squared).check()?;
//! let objective = problem.measure(&Linear::new(1, 1)?, &[1.0, 0.0])?.objective;
//! assert!((objective - 0.01).abs() < 1e-6, "{objective}");
//! # Ok::<(), feasible::Error>(())
//! ```

use std::any::Any;
use std::fmt::Debug;

use crate::inputs::Inputs;
use crate::model::{Batch, Model, Pass};
use crate::real::Real;
use crate::samples::Samples;

/// A view x + δ(x, y, f_θ).
pub trait Adaptive: Any + Debug + Send + Sync {
    /// Writes δ for each row of the batch into `shift`, rows × d, which starts at zero.
    ///
    /// Random choices must come from `place` and the sample's id alone (see
    /// [`Stream`](crate::Stream)), so that they do not depend on how samples are batched.
    fn shift(&self, probe: &mut dyn Probe, place: TrainingPlace, shift: &mut [f32]);
}

/// Where in training a view is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainingPlace {
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

    /// f_θ(x + shift) for the whole batch, rows × k, in evaluation mode.
    fn outputs(&mut self, shift: &[f32]) -> &[f32];

    /// The same for some positions of the batch only; `shift` is positions × d.
    fn outputs_at(&mut self, positions: &[u32], shift: &[f32]) -> &[f32];

    /// ∂⟨seeds, f_θ(x + shift)⟩/∂x at the rows and the shift of the last [`Probe::outputs`] or
    /// [`Probe::outputs_at`], rows × d.
    fn input_gradient(&mut self, seeds: &[f32], gradient: &mut [f32]);
}

/// The probe of a model on one batch.
pub(crate) struct BatchProbe<'a, M: Model> {
    pub(crate) model: &'a M,
    pub(crate) theta: &'a [M::Real],
    pub(crate) samples: &'a Samples,
    pub(crate) rows: &'a [u32],
    pub(crate) scratch: &'a mut ProbeScratch<M>,
}

/// Memory of a probe, reused from batch to batch.
pub(crate) struct ProbeScratch<M: Model> {
    tape: M::Tape,
    answer: Vec<M::Real>,
    /// x + shift, as a separate data set: the model sees nothing else.
    moved: Inputs,
    /// 0, 1, 2, …: all rows of `moved`.
    rows: Vec<u32>,
    outputs: Vec<f32>,
    seeds: Vec<M::Real>,
    gradient: Vec<M::Real>,
}

impl<M: Model> Default for ProbeScratch<M> {
    fn default() -> Self {
        Self {
            tape: M::Tape::default(),
            answer: Vec::new(),
            moved: Inputs::default(),
            rows: Vec::new(),
            outputs: Vec::new(),
            seeds: Vec::new(),
            gradient: Vec::new(),
        }
    }
}

impl<M: Model> BatchProbe<'_, M> {
    /// The model's outputs at `count` rows of the data set, moved by `shift`.
    fn ask(&mut self, count: usize, row: impl Fn(usize) -> u32, shift: &[f32]) -> &[f32] {
        let inputs = self.samples.inputs();
        let d = inputs.width();
        assert_eq!(shift.len(), count * d);
        let ProbeScratch { tape, answer, moved, rows, outputs, .. } = &mut *self.scratch;
        moved.rewrite(count, d, |r, x| {
            inputs.write_row(row(r) as usize, x);
            for (x, delta) in x.iter_mut().zip(&shift[r * d..(r + 1) * d]) {
                *x += delta;
            }
        });
        rows.clear();
        rows.extend(0..count as u32);
        let batch = Batch { inputs: moved, rows, shifts: &[] };
        answer.resize(batch.output_rows() * self.model.output_width(), M::Real::ZERO);
        self.model.forward(self.theta, &batch, Pass::default(), tape, answer);
        outputs.clear();
        outputs.extend(answer.iter().map(|z| z.to_f32()));
        outputs
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
        let rows = self.rows;
        self.ask(rows.len(), |r| rows[r], shift)
    }

    fn outputs_at(&mut self, positions: &[u32], shift: &[f32]) -> &[f32] {
        let rows = self.rows;
        self.ask(positions.len(), |r| rows[positions[r] as usize], shift)
    }

    fn input_gradient(&mut self, seeds: &[f32], gradient: &mut [f32]) {
        let ProbeScratch { tape, moved, rows, seeds: own, gradient: all, .. } = &mut *self.scratch;
        assert_eq!(gradient.len(), rows.len() * moved.width());
        own.clear();
        own.extend(seeds.iter().map(|&s| M::Real::from_f32(s)));
        all.resize(gradient.len(), M::Real::ZERO);
        let batch = Batch { inputs: moved, rows, shifts: &[] };
        self.model.input_gradient(self.theta, &batch, tape, own, all);
        for (out, g) in gradient.iter_mut().zip(&*all) {
            *out = g.to_f32();
        }
    }
}

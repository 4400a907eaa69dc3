//! What the Lagrangian asks of a model, and nothing more.
//!
//! The losses act on outputs, so a model f_θ is two maps: θ and a batch to outputs, and a
//! matrix of output gradients ("seeds") back to θ: the vector-Jacobian product
//!
//! $$ \nabla_\theta \sum_{v,r} \langle s_{vr}, f_\theta(x_{vr}) \rangle . $$
//!
//! θ is one flat slice, as θ ∈ ℝᵖ in the paper, so optimisers, checkpoints and certificates
//! need to know nothing of layers.
//!
//! A [`Batch`] asks for several *views* of the same rows at once: the rows as they are, and
//! the rows moved by [`Shift`]s (counterfactuals, perturbations). A model may share work
//! between them; a counterfactual that changes one column costs a dense network one
//! weight row per sample instead of a second product with the whole first layer.

use crate::inputs::Inputs;
use crate::real::Real;
use crate::shift::Shift;

/// A parametrisation f_θ: ℝᵈ → ℝᵏ with its derivatives.
pub trait Model: Send + Sync {
    /// The scalar it computes in.
    type Real: Real;

    /// d, the number of input columns.
    fn input_width(&self) -> usize;

    /// k, the number of outputs per sample.
    fn output_width(&self) -> usize;

    /// p, the length of θ.
    fn parameter_count(&self) -> usize;

    /// How many of the p entries, from the first on, an optimiser may move. What follows them is
    /// state that [`Model::absorb`] keeps: running statistics, whose gradient is 0.
    fn trainable_count(&self) -> usize {
        self.parameter_count()
    }

    /// Whether a training step must show it the minibatch in one piece: because statistics of the
    /// batch couple its rows (BatchNorm), or because it spreads the rows over threads by itself.
    /// Others are given chunks of the minibatch, on several threads at once.
    fn needs_whole_batch(&self) -> bool {
        false
    }

    /// Whether the outputs are linear (affine) in θ: then convex losses make convex problems.
    fn is_linear(&self) -> bool {
        false
    }

    /// A starting θ; the same seed gives the same bits.
    fn initial(&self, seed: u64) -> Vec<Self::Real>;

    /// Computes f_θ for every view of the batch into [`Tape::outputs`] and keeps on the tape
    /// what [`Model::backward`] and [`Model::input_gradient`] need. A model whose outputs depend on
    /// [`Tape::mode`] appends in training what [`Model::absorb`] needs to [`Tape::statistics`],
    /// view by view: each view is a batch of its own.
    fn forward(&self, theta: &[Self::Real], batch: &Batch<'_>, tape: &mut Tape<Self::Real>);

    /// Adds the vector-Jacobian product of `seeds` (laid out as the outputs) to `gradient`,
    /// which has p entries. Follows a [`Model::forward`] with the same θ, batch and tape.
    fn backward(
        &self,
        theta: &[Self::Real],
        batch: &Batch<'_>,
        tape: &mut Tape<Self::Real>,
        seeds: &[Self::Real],
        gradient: &mut [Self::Real],
    );

    /// Writes ∂⟨seeds, outputs⟩/∂x for every view and row into `gradient`, laid out as
    /// views × rows × d. Follows a [`Model::forward`] with the same θ, batch and tape.
    fn input_gradient(
        &self,
        theta: &[Self::Real],
        batch: &Batch<'_>,
        tape: &mut Tape<Self::Real>,
        seeds: &[Self::Real],
        gradient: &mut [Self::Real],
    );

    /// Folds the [`Tape::statistics`] of a training step into the entries of θ after
    /// [`Model::trainable_count`].
    fn absorb(&self, theta: &mut [Self::Real], tape: &Tape<Self::Real>) {
        let _ = (theta, tape);
    }
}

/// What a forward pass is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// A step of training: a batch is normalised by its own statistics.
    Training,
    /// Everything else (measuring, predicting, an adversary's look): by the running statistics
    /// in θ, so that the outputs of a row do not depend on the rows beside it.
    #[default]
    Evaluation,
}

/// Some rows of a data set, asked for through several views.
///
/// View 0 is x itself; view v ≥ 1 is x moved by `shifts[v - 1]`.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The data set.
    pub inputs: &'a Inputs,
    /// The rows of it that this batch takes, in this order.
    pub rows: &'a [u32],
    /// How the further views move x.
    pub shifts: &'a [ViewShift<'a>],
}

impl Batch<'_> {
    /// Number of views, x itself included.
    pub fn views(&self) -> usize {
        1 + self.shifts.len()
    }

    /// Number of output rows: views × rows.
    pub fn output_rows(&self) -> usize {
        self.views() * self.rows.len()
    }

    /// Writes the input of view `view` for batch position `position` in full.
    pub fn write_input(&self, view: usize, position: usize, out: &mut [f32]) {
        let row = self.rows[position] as usize;
        self.inputs.write_row(row, out);
        match view.checked_sub(1).map(|v| self.shifts[v]) {
            None => {}
            Some(ViewShift::Sparse(shift)) => {
                for (c, delta) in shift.row(row) {
                    out[c as usize] += delta;
                }
            }
            Some(ViewShift::Dense(deltas)) => {
                let d = self.inputs.width();
                for (x, delta) in out.iter_mut().zip(&deltas[position * d..(position + 1) * d]) {
                    *x += delta;
                }
            }
        }
    }
}

/// How a view moves x.
#[derive(Clone, Copy, Debug)]
pub enum ViewShift<'a> {
    /// By a few columns per row, known before training: a counterfactual ρ(x) − x for
    /// every row of the data set, indexed by row.
    Sparse(&'a Shift),
    /// By any column, computed for this batch: rows × d entries in the order of
    /// [`Batch::rows`] (an adversarial δ).
    Dense(&'a [f32]),
}

/// The memory of one forward pass, reused from step to step so that a step allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Tape<T> {
    /// views × rows × k: view v of batch position r starts at (v · rows + r) · k.
    pub outputs: Vec<T>,
    /// Whatever the model keeps between forward and backward (activations), by slots of
    /// its own choosing.
    pub slots: Vec<Vec<T>>,
    /// What the next forward pass is for; the backward passes after it go by the same.
    pub mode: Mode,
    /// Whether no backward pass will follow the next forward pass: it need not keep anything.
    pub outputs_only: bool,
    /// Whether θ and the inputs are those of the forward pass before the next one, so that what the model
    /// derived from them may be used again.
    pub again: bool,
    /// What the model notes for itself about what it derived; 0 is nothing.
    pub note: u32,
    /// The batch statistics of the forward passes in training since this was last cleared, in
    /// order.
    pub statistics: Vec<T>,
}

impl<T: Real> Tape<T> {
    /// An empty tape, for evaluation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes `outputs` `len` long, keeping its memory.
    pub fn resize_outputs(&mut self, len: usize) {
        self.outputs.resize(len, T::ZERO);
    }

    /// Makes slot `slot` `len` long, keeping its memory.
    pub fn resize_slot(&mut self, slot: usize, len: usize) {
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, Vec::new);
        }
        self.slots[slot].resize(len, T::ZERO);
    }
}

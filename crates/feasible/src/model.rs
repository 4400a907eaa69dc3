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

    /// What it keeps between a forward pass and the backward passes that follow: activations, a graph, a handle, or
    /// nothing. It is reused from step to step, so that a step need not allocate.
    type Tape: Default + Send;

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

    /// Computes f_θ for every view of the batch into `outputs` (views × rows × k: view v of batch position r starts at
    /// (v · rows + r) · k), and keeps on the tape what [`Model::backward`] and [`Model::input_gradient`] need. A
    /// model whose outputs depend on [`Pass::mode`] also keeps in training what [`Model::absorb`] needs, view by
    /// view: each view is a batch of its own.
    fn forward(
        &self,
        theta: &[Self::Real],
        batch: &Batch<'_>,
        pass: Pass,
        tape: &mut Self::Tape,
        outputs: &mut [Self::Real],
    );

    /// Adds the vector-Jacobian product of `seeds` (laid out as the outputs) to `gradient`,
    /// which has p entries. Follows a [`Model::forward`] with the same θ, batch and tape.
    fn backward(
        &self,
        theta: &[Self::Real],
        batch: &Batch<'_>,
        tape: &mut Self::Tape,
        seeds: &[Self::Real],
        gradient: &mut [Self::Real],
    );

    /// Whether there is a [`Model::input_gradient`]. Without one, populations whose views depend on the model
    /// (an adversary's) are refused.
    fn has_input_gradient(&self) -> bool {
        false
    }

    /// Writes ∂⟨seeds, outputs⟩/∂x for every view and row into `gradient`, laid out as
    /// views × rows × d. Follows a [`Model::forward`] with the same θ, batch and tape.
    ///
    /// # Panics
    /// By default: it is only asked for if [`Model::has_input_gradient`].
    fn input_gradient(
        &self,
        theta: &[Self::Real],
        batch: &Batch<'_>,
        tape: &mut Self::Tape,
        seeds: &[Self::Real],
        gradient: &mut [Self::Real],
    ) {
        let _ = (theta, batch, tape, seeds, gradient);
        panic!("this model has no gradient with respect to its inputs");
    }

    /// Folds the statistics that training steps have left on the tape since the last call into the entries of θ
    /// after [`Model::trainable_count`].
    fn absorb(&self, theta: &mut [Self::Real], tape: &mut Self::Tape) {
        let _ = (theta, tape);
    }

    /// The outputs of a batch, for evaluation: [`Model::forward`] with memory of its own.
    fn outputs(&self, theta: &[Self::Real], batch: &Batch<'_>) -> Vec<Self::Real> {
        let mut outputs = vec![Self::Real::ZERO; batch.output_rows() * self.output_width()];
        let pass = Pass { outputs_only: true, ..Pass::default() };
        self.forward(theta, batch, pass, &mut Self::Tape::default(), &mut outputs);
        outputs
    }
}

/// How a forward pass is made. The default, for evaluation and with everything kept, is always right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// What it is for.
    pub mode: Mode,
    /// Whether no backward pass will follow, so that nothing need be kept.
    pub outputs_only: bool,
    /// Whether θ and the inputs are those of the forward pass that the tape has seen last, so that what the model
    /// derived from them may be used again.
    pub repeats: bool,
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

macro_rules! delegate {
    ($($pointer:ty),*) => {$(
        impl<M: Model> Model for $pointer {
            type Real = M::Real;
            type Tape = M::Tape;

            fn input_width(&self) -> usize {
                (**self).input_width()
            }

            fn output_width(&self) -> usize {
                (**self).output_width()
            }

            fn parameter_count(&self) -> usize {
                (**self).parameter_count()
            }

            fn trainable_count(&self) -> usize {
                (**self).trainable_count()
            }

            fn needs_whole_batch(&self) -> bool {
                (**self).needs_whole_batch()
            }

            fn is_linear(&self) -> bool {
                (**self).is_linear()
            }

            fn initial(&self, seed: u64) -> Vec<M::Real> {
                (**self).initial(seed)
            }

            fn forward(
                &self,
                theta: &[M::Real],
                batch: &Batch<'_>,
                pass: Pass,
                tape: &mut M::Tape,
                outputs: &mut [M::Real],
            ) {
                (**self).forward(theta, batch, pass, tape, outputs);
            }

            fn backward(
                &self,
                theta: &[M::Real],
                batch: &Batch<'_>,
                tape: &mut M::Tape,
                seeds: &[M::Real],
                gradient: &mut [M::Real],
            ) {
                (**self).backward(theta, batch, tape, seeds, gradient);
            }

            fn has_input_gradient(&self) -> bool {
                (**self).has_input_gradient()
            }

            fn input_gradient(
                &self,
                theta: &[M::Real],
                batch: &Batch<'_>,
                tape: &mut M::Tape,
                seeds: &[M::Real],
                gradient: &mut [M::Real],
            ) {
                (**self).input_gradient(theta, batch, tape, seeds, gradient);
            }

            fn absorb(&self, theta: &mut [M::Real], tape: &mut M::Tape) {
                (**self).absorb(theta, tape);
            }
        }
    )*};
}

delegate!(&M, Box<M>, std::sync::Arc<M>);

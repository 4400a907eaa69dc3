//! What the Lagrangian needs from a model, and nothing more.
//!
//! The losses act on outputs, so a model f_θ is two maps: θ and a batch to outputs, and a
//! matrix of output gradients ("seeds") back to θ: the vector-Jacobian product
//!
//! $$ \nabla_\theta \sum_{v,r} \langle s_{vr}, f_\theta(x_{vr}) \rangle . $$
//!
//! θ is one flat slice, as θ ∈ ℝᵖ in the paper, so optimisers, checkpoints and certificates
//! need to know nothing of layers.
//!
//! A [`Batch`] requests several *views* of the same rows at once: the rows themselves, and
//! the rows moved by [`Shift`]s (counterfactuals, perturbations). A model may share work
//! between them; a counterfactual that changes one column costs a dense network one
//! weight row per sample instead of a second product with the whole first layer.
//!
//! ```
//! use feasible::model::{Batch, Mode, Model, Pass};
//! use feasible::{Inputs, check};
//!
//! /// f(x) = θ₀ x. θ₁ is not a parameter but a statistic: the mean of the inputs of the last training step.
//! struct Slope;
//!
//! impl Model for Slope {
//!     type Real = f64;
//!     type Tape = (Vec<f32>, Option<f64>);
//!
//!     fn input_width(&self) -> usize {
//!         1
//!     }
//!     fn output_width(&self) -> usize {
//!         1
//!     }
//!     fn parameter_count(&self) -> usize {
//!         2
//!     }
//!     fn trainable_count(&self) -> usize {
//!         1
//!     }
//!     // The mean is that of a whole batch, which is therefore not split up.
//!     fn needs_whole_batch(&self) -> bool {
//!         true
//!     }
//!     fn is_linear(&self) -> bool {
//!         true
//!     }
//!     fn has_input_gradient(&self) -> bool {
//!         false
//!     }
//!     fn initial(&self, _seed: u64) -> Vec<f64> {
//!         vec![0.0, 0.0]
//!     }
//!     fn forward(
//!         &self,
//!         theta: &[f64],
//!         batch: &Batch<'_>,
//!         pass: Pass,
//!         (x, mean): &mut Self::Tape,
//!         outputs: &mut [f64],
//!     ) {
//!         let rows = batch.rows.len();
//!         x.resize(batch.output_rows(), 0.0);
//!         for at in 0..batch.output_rows() {
//!             batch.write_input(at / rows, at % rows, &mut x[at..=at]);
//!             outputs[at] = theta[0] * f64::from(x[at]);
//!         }
//!         if pass.mode == Mode::Training {
//!             *mean = Some(f64::from(x[..rows].iter().sum::<f32>()) / rows as f64);
//!         }
//!     }
//!     fn backward(
//!         &self,
//!         _theta: &[f64],
//!         _batch: &Batch<'_>,
//!         (x, _): &mut Self::Tape,
//!         seeds: &[f64],
//!         gradient: &mut [f64],
//!     ) {
//!         gradient[0] += x.iter().zip(seeds).map(|(x, s)| f64::from(*x) * s).sum::<f64>();
//!     }
//!     fn absorb(&self, theta: &mut [f64], (_, mean): &mut Self::Tape) {
//!         theta[1] = mean.take().unwrap_or(theta[1]);
//!     }
//! }
//!
//! let inputs = Inputs::dense(vec![1.0, 3.0], 1)?;
//! assert!(Slope.couples_rows());
//! assert!(check::model_gradient(&Slope, &[0.5, 0.0], &inputs)?.relative_error() < 1e-6);
//! let batch = Batch { inputs: &inputs, rows: &[0, 1], shifts: &[] };
//! assert_eq!(Slope.outputs(&[2.0, 0.0], &batch), [2.0, 6.0]);
//! let (mut theta, mut tape, mut outputs) = ([2.0, 0.0], Default::default(), [0.0; 2]);
//! let pass = Pass { mode: Mode::Training, ..Pass::default() };
//! Slope.forward(&theta, &batch, pass, &mut tape, &mut outputs);
//! Slope.absorb(&mut theta, &mut tape);
//! assert_eq!(theta, [2.0, 2.0]);
//! # Ok::<(), feasible::Error>(())
//! ```

use crate::inputs::Inputs;
use crate::real::Real;
use crate::shift::Shift;

/// A parametrisation f_θ: ℝᵈ → ℝᵏ with its derivatives.
pub trait Model: Send + Sync {
    /// The scalar it computes in.
    type Real: Real;

    /// What it keeps between a forward pass and the backward passes that follow: activations, a graph, a handle, or
    /// nothing. It is reused from step to step, so that a step need not allocate.
    type Tape: Default + Send + 'static;

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

    /// Whether, in a training step, the outputs of a row depend on the rows beside it (BatchNorm). Default: of every
    /// model that needs the whole batch.
    fn couples_rows(&self) -> bool {
        self.needs_whole_batch()
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
    /// view: each view is a separate batch.
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
    /// Default: unsupported; it is called only if [`Model::has_input_gradient`].
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

    /// The outputs of a batch, for evaluation: [`Model::forward`] with its own memory.
    fn outputs(&self, theta: &[Self::Real], batch: &Batch<'_>) -> Vec<Self::Real> {
        let mut outputs = vec![Self::Real::ZERO; batch.output_rows() * self.output_width()];
        let pass = Pass { outputs_only: true, ..Pass::default() };
        self.forward(theta, batch, pass, &mut Self::Tape::default(), &mut outputs);
        outputs
    }
}

/// Makes every output of a row NaN if one of them is no finite number: whatever a loss looks at, it is NaN then. Weights that are
/// finite may overflow.
///
/// ```
/// use feasible::model::void_rows;
/// let mut outputs = [1.0_f32, 2.0, f32::INFINITY, 0.0];
/// void_rows(&mut outputs, 2);
/// assert!(outputs[..2] == [1.0, 2.0] && outputs[2..].iter().all(|output| output.is_nan()));
/// ```
pub fn void_rows<T: Real>(outputs: &mut [T], width: usize) {
    for row in outputs.chunks_exact_mut(width.max(1)) {
        if !row.iter().all(|output| output.is_finite()) {
            row.fill(T::from_f64(f64::NAN));
        }
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

/// Some rows of a data set, seen through several views.
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

/// All methods of a [`Model`] that stands in front of another one, [`Model::forward`] aside.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use feasible::{Batch, Model, Pass};
///
/// /// Counts the rows that go through a model.
/// struct Counted<M> {
///     model: M,
///     rows: AtomicUsize,
/// }
///
/// impl<M: Model> Model for Counted<M> {
///     type Real = M::Real;
///     type Tape = M::Tape;
///
///     fn forward(
///         &self,
///         theta: &[M::Real],
///         batch: &Batch<'_>,
///         pass: Pass,
///         tape: &mut M::Tape,
///         outputs: &mut [M::Real],
///     ) {
///         self.rows.fetch_add(batch.output_rows(), Ordering::Relaxed);
///         self.model.forward(theta, batch, pass, tape, outputs);
///     }
///
///     feasible::delegate_model!(|this| this.model);
/// }
/// ```
#[macro_export]
macro_rules! delegate_model {
    (|$this:ident| $model:expr) => {
        fn input_width(&self) -> usize {
            let $this = self;
            $crate::Model::input_width(&$model)
        }

        fn output_width(&self) -> usize {
            let $this = self;
            $crate::Model::output_width(&$model)
        }

        fn parameter_count(&self) -> usize {
            let $this = self;
            $crate::Model::parameter_count(&$model)
        }

        fn trainable_count(&self) -> usize {
            let $this = self;
            $crate::Model::trainable_count(&$model)
        }

        fn needs_whole_batch(&self) -> bool {
            let $this = self;
            $crate::Model::needs_whole_batch(&$model)
        }

        fn couples_rows(&self) -> bool {
            let $this = self;
            $crate::Model::couples_rows(&$model)
        }

        fn is_linear(&self) -> bool {
            let $this = self;
            $crate::Model::is_linear(&$model)
        }

        fn initial(&self, seed: u64) -> Vec<Self::Real> {
            let $this = self;
            $crate::Model::initial(&$model, seed)
        }

        fn backward(
            &self,
            theta: &[Self::Real],
            batch: &$crate::Batch<'_>,
            tape: &mut Self::Tape,
            seeds: &[Self::Real],
            gradient: &mut [Self::Real],
        ) {
            let $this = self;
            $crate::Model::backward(&$model, theta, batch, tape, seeds, gradient);
        }

        fn has_input_gradient(&self) -> bool {
            let $this = self;
            $crate::Model::has_input_gradient(&$model)
        }

        fn input_gradient(
            &self,
            theta: &[Self::Real],
            batch: &$crate::Batch<'_>,
            tape: &mut Self::Tape,
            seeds: &[Self::Real],
            gradient: &mut [Self::Real],
        ) {
            let $this = self;
            $crate::Model::input_gradient(&$model, theta, batch, tape, seeds, gradient);
        }

        fn absorb(&self, theta: &mut [Self::Real], tape: &mut Self::Tape) {
            let $this = self;
            $crate::Model::absorb(&$model, theta, tape);
        }
    };
}

macro_rules! pointers {
    ($($pointer:ty),*) => {$(
        impl<M: Model> Model for $pointer {
            type Real = M::Real;
            type Tape = M::Tape;

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

            delegate_model!(|this| **this);
        }
    )*};
}

pointers!(&M, Box<M>, std::sync::Arc<M>);

//! Models written for one row at a time.
//!
//! A [`Model`] computes batches, through several views, so that fast ones can share work. Where that does not
//! matter, a [`RowModel`] defines what to do with one x, and [`ByRow`] turns it into a model:
//!
//! ```
//! use feasible::row_model::{ByRow, RowModel, RowTape};
//! use feasible::{Batch, Inputs, Learner, Loss, Model, Pass, Population, Problem, Samples};
//! use feasible::{Targets, check};
//!
//! /// f(x) = a e^(bx).
//! struct Growth;
//!
//! impl RowModel for Growth {
//!     fn input_width(&self) -> usize {
//!         1
//!     }
//!     fn output_width(&self) -> usize {
//!         1
//!     }
//!     fn initial(&self, _seed: u64) -> Vec<f64> {
//!         vec![1.0, 0.0]
//!     }
//!     fn forward(&self, theta: &[f64], x: &[f64], outputs: &mut [f64]) {
//!         outputs[0] = theta[0] * (theta[1] * x[0]).exp();
//!     }
//!     fn backward(&self, theta: &[f64], x: &[f64], seeds: &[f64], gradient: &mut [f64]) {
//!         let e = (theta[1] * x[0]).exp();
//!         gradient[0] += seeds[0] * e;
//!         gradient[1] += seeds[0] * theta[0] * x[0] * e;
//!     }
//! }
//!
//! let inputs = Inputs::new(vec![0.0, 0.5, 1.0, 1.5], 1)?;
//! // Is the gradient right?
//! let found = check::model_gradient(&ByRow::new(Growth), &[1.5, -0.3], &inputs)?;
//! assert!(found.relative_error() < 1e-6, "{found:?}");
//!
//! // What it keeps from the forward to the backward pass, reused from batch to batch.
//! let (batch, mut tape) = (Batch { inputs: &inputs, rows: &[1], shifts: &[] }, RowTape::default());
//! let mut outputs = [0.0];
//! ByRow::new(Growth).forward(&[2.0, 0.0], &batch, Pass::default(), &mut tape, &mut outputs);
//! assert_eq!(outputs, [2.0]);
//!
//! let y = Targets::Values(vec![2.0, 1.213, 0.736, 0.446]); // 2e^(−x), rounded
//! let everyone = Population::new(Samples::new(inputs, y)?);
//! let problem = Problem::minimise(&everyone, Loss::Squared).check()?;
//! let solution = Learner::exact().solve(&problem, ByRow::new(Growth))?;
//! assert!((solution.theta[0] - 2.0).abs() < 1e-2 && (solution.theta[1] + 1.0).abs() < 1e-2);
//! # Ok::<(), feasible::Error>(())
//! ```

use crate::model::{Batch, Model, Pass};

/// A parametrisation f_θ: ℝᵈ → ℝᵏ, for one x, in `f64`.
pub trait RowModel: Send + Sync {
    /// d, the number of input columns.
    fn input_width(&self) -> usize;

    /// k, the number of outputs.
    fn output_width(&self) -> usize;

    /// A starting θ; its length is that of every θ.
    fn initial(&self, seed: u64) -> Vec<f64>;

    /// Whether the outputs are linear (affine) in θ: then convex losses make convex problems.
    fn is_linear(&self) -> bool {
        false
    }

    /// Writes f_θ(x).
    fn forward(&self, theta: &[f64], x: &[f64], outputs: &mut [f64]);

    /// Adds ∂⟨seeds, f_θ(x)⟩/∂θ to `gradient`.
    fn backward(&self, theta: &[f64], x: &[f64], seeds: &[f64], gradient: &mut [f64]);
}

/// The [`Model`] of a [`RowModel`]. See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct ByRow<F> {
    model: F,
    parameters: usize,
}

impl<F: RowModel> ByRow<F> {
    /// The model that calls `model` for every row.
    pub fn new(model: F) -> Self {
        let parameters = model.initial(0).len();
        Self { model, parameters }
    }
}

/// Memory for one row.
#[derive(Clone, Debug, Default)]
pub struct RowTape {
    x: Vec<f64>,
    stored: Vec<f32>,
}

impl RowTape {
    /// Calls `f` with the number of each output row and its x.
    fn each(&mut self, batch: &Batch<'_>, mut f: impl FnMut(usize, &[f64])) {
        self.stored.resize(batch.inputs.width(), 0.0);
        for view in 0..batch.views() {
            for position in 0..batch.rows.len() {
                batch.write_input(view, position, &mut self.stored);
                self.x.clear();
                self.x.extend(self.stored.iter().map(|&x| f64::from(x)));
                f(view * batch.rows.len() + position, &self.x);
            }
        }
    }
}

impl<F: RowModel> Model for ByRow<F> {
    type Real = f64;
    type Tape = RowTape;

    fn input_width(&self) -> usize {
        self.model.input_width()
    }

    fn output_width(&self) -> usize {
        self.model.output_width()
    }

    fn parameter_count(&self) -> usize {
        self.parameters
    }

    fn is_linear(&self) -> bool {
        self.model.is_linear()
    }

    fn initial(&self, seed: u64) -> Vec<f64> {
        self.model.initial(seed)
    }

    fn forward(
        &self,
        theta: &[f64],
        batch: &Batch<'_>,
        _: Pass,
        tape: &mut RowTape,
        outputs: &mut [f64],
    ) {
        let k = self.model.output_width();
        tape.each(batch, |row, x| {
            self.model.forward(theta, x, &mut outputs[row * k..(row + 1) * k])
        });
    }

    fn backward(
        &self,
        theta: &[f64],
        batch: &Batch<'_>,
        tape: &mut RowTape,
        seeds: &[f64],
        gradient: &mut [f64],
    ) {
        let k = self.model.output_width();
        tape.each(batch, |row, x| {
            self.model.backward(theta, x, &seeds[row * k..(row + 1) * k], gradient);
        });
    }
}

//! Gradients of one's own, held against finite differences.
//!
//! ```
//! use feasible::{Loss, Target, check};
//! let found = check::loss_gradient(&Loss::CrossEntropy, &[0.3, -0.2, 1.0], &[], Target::Class(2));
//! assert!(found.relative_error() < 1e-6, "{found:?}");
//! ```
//!
//! Differences are of fourth order with steps of 2⁻¹⁰, in `f64`: their own error is about 1e-12 times a fifth
//! derivative, and rounding 1e-13 times the value. Where a kink (of a hinge, of a ReLU) is within two steps they are
//! wrong, not the gradient.
//!
//! [`RowModel`](crate::row_model) shows a model checked.
//! A batch with its views, with seeds and a step of one's own:
//!
//! ```
//! use feasible::check::{GradientCheck, batch_gradient};
//! use feasible::{Batch, FlushDenormals, Inputs};
//! use feasible_nn::{Activation, Mlp};
//! // Learners hold such a guard; who calls a model directly may.
//! let _flush = FlushDenormals::new();
//! let inputs = Inputs::dense(vec![0.5, -0.25], 1)?;
//! let batch = Batch { inputs: &inputs, rows: &[1, 0], shifts: &[] };
//! let model = Mlp::new(&[1, 2, 1], Activation::Sigmoid)?.double();
//! let theta = [0.3, -0.2, 0.1, 0.4, 0.7, -0.5, 0.2];
//! let found: GradientCheck = batch_gradient(&model, &theta, &batch, &[1.0, -0.5], 1e-3)?;
//! assert!(found.relative_error() < 1e-6, "{found:?}");
//! # Ok::<(), feasible::Error>(())
//! ```

use crate::error::{Error, Result};
use crate::inputs::Inputs;
use crate::loss::{Loss, LossRows};
use crate::model::{Batch, Model, Pass};
use crate::problem::check_theta;
use crate::samples::Target;
use crate::stream::{Purpose, Stream};

/// The step of the differences.
const STEP: f64 = 1.0 / 1024.0;

/// A gradient and the differences it should equal.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientCheck {
    /// The gradient, as the model or the loss computes it.
    pub gradient: Vec<f64>,
    /// The same by differences of values.
    pub differences: Vec<f64>,
}

impl GradientCheck {
    /// The largest difference of an entry, beside the largest entry (0.1 if all are smaller); infinite if one is not a
    /// number.
    pub fn relative_error(&self) -> f64 {
        let size = self.differences.iter().map(|d| d.abs()).fold(0.1, f64::max);
        let error = |(a, b): (&f64, &f64)| {
            let error = (a - b).abs();
            if error.is_nan() { f64::INFINITY } else { error }
        };
        self.gradient.iter().zip(&self.differences).map(error).fold(0.0, f64::max) / size
    }
}

/// Differences of a function of `x`, by each entry.
fn differences(x: &[f64], step: f64, mut value: impl FnMut(&[f64]) -> f64) -> Vec<f64> {
    let mut moved = x.to_vec();
    let mut slope = |i: usize| {
        let mut at = |by: f64| {
            moved[i] = x[i] + by;
            let value = value(&moved);
            moved[i] = x[i];
            value
        };
        let (near, far) = (at(step) - at(-step), at(2.0 * step) - at(-2.0 * step));
        (8.0 * near - far) / (12.0 * step)
    };
    (0..x.len()).map(&mut slope).collect()
}

/// Checks [`Model::backward`] at θ on all rows of `inputs`, for random seeds.
///
/// # Errors
/// Inputs or a θ of another length than the model's.
pub fn model_gradient<M: Model<Real = f64>>(
    model: &M,
    theta: &[f64],
    inputs: &Inputs,
) -> Result<GradientCheck> {
    let (rows, data) = ((0..inputs.rows() as u32).collect::<Vec<_>>(), inputs.width());
    if data != model.input_width() {
        let population = "the inputs of the check".into();
        return Err(Error::InputWidth { model: model.input_width(), data, population });
    }
    let batch = Batch { inputs, rows: &rows, shifts: &[] };
    let mut random = Stream::new(0, Purpose::View, 0, 0);
    let seeds: Vec<f64> = (0..batch.output_rows() * model.output_width())
        .map(|_| 2.0 * random.uniform() - 1.0)
        .collect();
    batch_gradient(model, theta, &batch, &seeds, STEP)
}

/// As [`model_gradient`], of any batch with its views, for given seeds and with a given step.
///
/// # Errors
/// A θ or seeds of another length than the model's and its outputs'.
pub fn batch_gradient<M: Model<Real = f64>>(
    model: &M,
    theta: &[f64],
    batch: &Batch<'_>,
    seeds: &[f64],
    step: f64,
) -> Result<GradientCheck> {
    check_theta(model, theta)?;
    let expected = batch.output_rows() * model.output_width();
    if seeds.len() != expected {
        return Err(Error::Shape {
            what: "seeds".into(),
            expected: format!("one for each of the {expected} outputs"),
            found: seeds.len(),
        });
    }
    let (mut tape, mut outputs) = (M::Tape::default(), vec![0.0; expected]);
    model.forward(theta, batch, Pass::default(), &mut tape, &mut outputs);
    // The product is *added*.
    let mut gradient = vec![0.25; theta.len()];
    model.backward(theta, batch, &mut tape, seeds, &mut gradient);
    gradient.iter_mut().for_each(|g| *g -= 0.25);
    let value = |theta: &[f64]| {
        model.outputs(theta, batch).iter().zip(seeds).map(|(f, s)| f * s).sum::<f64>()
    };
    // State after the trainable entries has no gradient.
    let trainable = model.trainable_count();
    let mut differences = differences(&theta[..trainable], step, |moved| {
        value(&[moved, &theta[trainable..]].concat())
    });
    differences.resize(theta.len(), 0.0);
    Ok(GradientCheck { gradient, differences })
}

/// Checks the gradient of a loss at one row of outputs, and at those of its other view if the loss compares two
/// (`against` is empty otherwise): first by `at`, then by `against`.
///
/// # Panics
/// If outputs or target do not fit the loss.
pub fn loss_gradient(
    loss: &Loss,
    at: &[f64],
    against: &[f64],
    target: Target<'_>,
) -> GradientCheck {
    loss_gradient_by(loss, at, against, target, STEP)
}

#[doc(hidden)]
pub fn loss_gradient_by(
    loss: &Loss,
    at: &[f64],
    against: &[f64],
    target: Target<'_>,
    step: f64,
) -> GradientCheck {
    let targets = target.alone();
    let width = at.len();
    let row = |x: &[f64], f: &mut dyn FnMut(LossRows<'_, f64>)| {
        let (at, against) = x.split_at(width);
        f(LossRows { width, at, against, targets: &targets, samples: &[0], positions: &[0] });
    };
    let x = [at, against].concat();
    let mut gradient = vec![0.0; x.len()];
    let (by_at, by_against) = gradient.split_at_mut(width);
    row(&x, &mut |row| loss.seeds(row, &[1.0], &mut [], by_at, by_against));
    let value = |x: &[f64]| {
        let mut value = [0.0];
        row(x, &mut |row| loss.values(row, &mut value));
        value[0]
    };
    GradientCheck { gradient, differences: differences(&x, step, value) }
}

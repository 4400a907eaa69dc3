//! f_θ(x) = Wᵀx + b: linear, logistic and softmax regression, by the loss put on it.
//!
//! θ is W (d × k, one row per input column), then b (k). Losses that are convex in the outputs
//! are convex in θ, so every start leads to the same minimum; it is θ = 0, whatever the seed.

use std::marker::PhantomData;

use feasible::{Batch, Model, Pass, Result};

use crate::first_layer::{FirstLayer, FirstScratch};
use crate::kernel::Kernels;
use crate::layout::{Tensor, consecutive};
use crate::shape::{positive, product};
use crate::simd::Level;

/// What a [`Linear`] model keeps of a forward pass.
pub type LinearTape<T> = FirstScratch<T>;

/// A linear model; see the [module](self).
///
/// ```
/// use feasible::Model;
/// use feasible_nn::Linear;
/// let model = Linear::new(3, 2)?;
/// assert_eq!(model.parameter_count(), 3 * 2 + 2);
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Linear<T = f32> {
    layer: FirstLayer,
    level: Level,
    real: PhantomData<T>,
}

impl Linear {
    /// From `inputs` columns to `outputs` numbers, computed in `f32`.
    ///
    /// # Errors
    /// A width of 0, or more than 2³¹ parameters.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self> {
        positive("linear model inputs", inputs)?;
        positive("linear model outputs", outputs)?;
        product("linear model parameters", &[inputs.saturating_add(1), outputs])?;
        let layer = FirstLayer { d: inputs, h: outputs };
        Ok(Self { layer, level: Level::best(), real: PhantomData })
    }

    /// The same model computed in `f64`.
    pub fn double(&self) -> Linear<f64> {
        Linear { layer: self.layer, level: self.level, real: PhantomData }
    }
}

impl<T: Kernels> Linear<T> {
    /// Computes with these instructions instead of the best ones.
    pub fn with_level(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// `weight` (d × k) and `bias` (k).
    pub fn layout(&self) -> Vec<Tensor> {
        let FirstLayer { d, h } = self.layer;
        consecutive([("weight".into(), vec![d, h]), ("bias".into(), vec![h])])
    }

    fn split<'a>(&self, theta: &'a [T]) -> (&'a [T], &'a [T]) {
        assert_eq!(theta.len(), self.parameter_count());
        theta.split_at(self.layer.d * self.layer.h)
    }
}

impl<T: Kernels> Model for Linear<T> {
    type Real = T;
    type Tape = FirstScratch<T>;

    fn input_width(&self) -> usize {
        self.layer.d
    }

    fn output_width(&self) -> usize {
        self.layer.h
    }

    fn parameter_count(&self) -> usize {
        (self.layer.d + 1) * self.layer.h
    }

    fn is_linear(&self) -> bool {
        true
    }

    fn initial(&self, _seed: u64) -> Vec<T> {
        vec![T::ZERO; self.parameter_count()]
    }

    fn forward(
        &self,
        theta: &[T],
        batch: &Batch<'_>,
        _: Pass,
        tape: &mut FirstScratch<T>,
        outputs: &mut [T],
    ) {
        let (weights, bias) = self.split(theta);
        self.layer.forward(self.level, weights, bias, batch, None, tape, outputs, &mut []);
    }

    fn backward(
        &self,
        _theta: &[T],
        batch: &Batch<'_>,
        tape: &mut FirstScratch<T>,
        seeds: &[T],
        gradient: &mut [T],
    ) {
        assert_eq!(gradient.len(), self.parameter_count());
        let (weights, bias) = gradient.split_at_mut(self.layer.d * self.layer.h);
        let mut delta = std::mem::take(&mut tape.delta);
        delta.place(seeds.len()).copy_from_slice(seeds);
        self.layer.backward(self.level, batch, tape, &mut delta, weights, bias);
        tape.delta = delta;
    }

    fn has_input_gradient(&self) -> bool {
        true
    }

    fn input_gradient(
        &self,
        theta: &[T],
        _batch: &Batch<'_>,
        tape: &mut FirstScratch<T>,
        seeds: &[T],
        gradient: &mut [T],
    ) {
        let (weights, _) = self.split(theta);
        self.layer.input_gradient(self.level, weights, seeds, tape, gradient);
    }
}

//! f_θ(x) = Wᵀx + b: linear, logistic and softmax regression, by the loss put on it.
//!
//! θ is W (d × k, one row per input column), then b (k). Losses that are convex in the outputs
//! are convex in θ, so every start leads to the same minimum; it is θ = 0, whatever the seed.

use std::marker::PhantomData;

use feasible::{Batch, Model, Result, Tape};

use crate::first_layer::{FirstLayer, FirstScratch};
use crate::kernel::Kernels;
use crate::layout::{Tensor, consecutive};
use crate::shape::{positive, product};
use crate::simd::Level;

/// An affine model; see the [module](self).
///
/// ```
/// use feasible::Model;
/// use feasible_nn::Affine;
/// let model = Affine::new(3, 2)?;
/// assert_eq!(model.parameter_count(), 3 * 2 + 2);
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Affine<T = f32> {
    layer: FirstLayer,
    level: Level,
    real: PhantomData<T>,
}

impl Affine {
    /// From `inputs` columns to `outputs` numbers, computed in `f32`.
    ///
    /// # Errors
    /// A width of 0, or more than 2³¹ parameters.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self> {
        positive("affine model inputs", inputs)?;
        positive("affine model outputs", outputs)?;
        product("affine model parameters", &[inputs.saturating_add(1), outputs])?;
        let layer = FirstLayer { d: inputs, h: outputs };
        Ok(Self { layer, level: Level::best(), real: PhantomData })
    }

    /// The same model computed in `f64`.
    pub fn double(&self) -> Affine<f64> {
        Affine { layer: self.layer, level: self.level, real: PhantomData }
    }
}

impl<T: Kernels> Affine<T> {
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

const X: usize = 0;
const ANY: usize = 1;
const DELTA: usize = 2;

fn scratch<T: Kernels>(tape: &mut Tape<T>) -> FirstScratch<T> {
    tape.resize_slot(DELTA, 0);
    FirstScratch {
        x: std::mem::take(&mut tape.slots[X]),
        any: std::mem::take(&mut tape.slots[ANY]),
    }
}

fn put_back<T: Kernels>(scratch: FirstScratch<T>, tape: &mut Tape<T>) {
    tape.slots[X] = scratch.x;
    tape.slots[ANY] = scratch.any;
}

impl<T: Kernels> Model for Affine<T> {
    type Real = T;

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

    fn forward(&self, theta: &[T], batch: &Batch<'_>, tape: &mut Tape<T>) {
        let (weights, bias) = self.split(theta);
        tape.resize_outputs(batch.output_rows() * self.layer.h);
        let mut scratch = scratch(tape);
        let (level, outputs) = (self.level, &mut tape.outputs);
        self.layer.forward(level, weights, bias, batch, None, &mut scratch, outputs, &mut []);
        put_back(scratch, tape);
    }

    fn backward(
        &self,
        _theta: &[T],
        batch: &Batch<'_>,
        tape: &mut Tape<T>,
        seeds: &[T],
        gradient: &mut [T],
    ) {
        assert_eq!(gradient.len(), self.parameter_count());
        let (weights, bias) = gradient.split_at_mut(self.layer.d * self.layer.h);
        let mut scratch = scratch(tape);
        let delta = &mut tape.slots[DELTA];
        delta.extend_from_slice(seeds);
        self.layer.backward(self.level, batch, &mut scratch, delta, weights, bias);
        put_back(scratch, tape);
    }

    fn input_gradient(
        &self,
        theta: &[T],
        _batch: &Batch<'_>,
        tape: &mut Tape<T>,
        seeds: &[T],
        gradient: &mut [T],
    ) {
        let (weights, _) = self.split(theta);
        let mut scratch = scratch(tape);
        self.layer.input_gradient(self.level, weights, seeds, &mut scratch, gradient);
        put_back(scratch, tape);
    }
}

//! The multilayer perceptron
//! $f_\theta(x) = W_L\,\varphi(\cdots \varphi(W_1^\top x + b_1)\cdots) + b_L$.
//!
//! θ is, layer by layer, the weights and then the bias. The first layer's weights are d × h₁,
//! one row per *input*, so that an indicator adds a row; those of every later layer are
//! hₗ × hₗ₋₁, one row per *output* (as PyTorch keeps them), so that a narrow output layer is a few
//! dot products. [`Mlp::layout`] says it in numbers.
//!
//! Views and rows of a batch are rows alike after the first layer, which shares its work
//! between the views.

use std::marker::PhantomData;

use feasible::aligned::AlignedVec;
use feasible::{Batch, Error, Model, Pass, Result};

use crate::activation::Activation;
use crate::first_layer::{DENSE_BY_ROW, FirstLayer, FirstScratch};
use crate::initial;
use crate::kernel::{
    Hidden, Kernels, Left, Shallow, ShallowGradient, ShallowMemory, Start, Table, is_even,
    scratch_len, table_len,
};
use crate::layout::{Tensor, consecutive};
use crate::shape::{positive, product};
use crate::simd::Level;

/// A multilayer perceptron; see the [module](self).
///
/// ```
/// use feasible::Model;
/// use feasible_nn::{Activation, Mlp};
/// let model = Mlp::new(&[61, 64, 2], Activation::Sigmoid)?;
/// assert_eq!(model.parameter_count(), 61 * 64 + 64 + 64 * 2 + 2);
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mlp<T = f32> {
    widths: Vec<usize>,
    activation: Activation,
    layout: Vec<Tensor>,
    level: Level,
    real: PhantomData<T>,
}

impl Mlp {
    /// `widths` are d, h₁, …, k; two of them are a single linear layer. Computed in `f32`.
    ///
    /// # Errors
    /// Fewer than two widths, a width of 0, or more than 2³¹ parameters.
    pub fn new(widths: &[usize], activation: Activation) -> Result<Self> {
        if widths.len() < 2 {
            return Err(Error::Shape {
                what: "widths of a multilayer perceptron".into(),
                expected: "at least two: the inputs' and the outputs'".into(),
                found: widths.len(),
            });
        }
        for (l, &width) in widths.iter().enumerate() {
            positive(&format!("width {l} of a multilayer perceptron"), width)?;
        }
        let mut parameters = 0;
        for pair in widths.windows(2) {
            let what = "parameters of a multilayer perceptron";
            parameters += product(what, &[pair[0].saturating_add(1), pair[1]])?;
            product(what, &[parameters])?;
        }
        let layout = consecutive(widths.windows(2).enumerate().flat_map(|(l, w)| {
            let shape = if l == 0 { vec![w[0], w[1]] } else { vec![w[1], w[0]] };
            let name = |what| format!("layer{}.{what}", l + 1);
            [(name("weight"), shape), (name("bias"), vec![w[1]])]
        }));
        let level = Level::best();
        Ok(Self { widths: widths.to_vec(), activation, layout, level, real: PhantomData })
    }

    /// The same network computed in `f64`; its [`Model::initial`] has the same numbers before
    /// rounding.
    pub fn double(&self) -> Mlp<f64> {
        let Self { widths, activation, layout, level, .. } = self.clone();
        Mlp { widths, activation, layout, level, real: PhantomData }
    }
}

/// What an [`Mlp`] keeps of a forward pass.
#[derive(Debug, Default)]
pub struct MlpTape<T> {
    first: FirstScratch<T>,
    /// Per layer: the activations, and where φ keeps them its slopes.
    hidden: Vec<[AlignedVec<T>; 2]>,
    /// Per layer, its weights transposed.
    transposed: Vec<AlignedVec<T>>,
    /// What is derived from θ for shallow networks, and memory of their kernels.
    table: AlignedVec<T>,
    scratch: AlignedVec<T>,
    derived: Derived,
    /// What is pulled back, to this layer and the next.
    delta: AlignedVec<T>,
    next: AlignedVec<T>,
    /// Weights at a cache line.
    weights: AlignedVec<T>,
}

/// What was derived from θ in the last forward pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Derived {
    #[default]
    Nothing,
    Table(Table),
    Transposed,
}

impl<T: Kernels> Mlp<T> {
    /// Computes with these instructions instead of the best ones.
    pub fn with_level(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// d, h₁, …, k.
    pub fn widths(&self) -> &[usize] {
        &self.widths
    }

    /// φ.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// `layer1.weight` (d × h₁), `layer1.bias`, `layer2.weight` (h₂ × h₁), `layer2.bias`, ….
    pub fn layout(&self) -> Vec<Tensor> {
        self.layout.clone()
    }

    fn first(&self) -> FirstLayer {
        FirstLayer { d: self.widths[0], h: self.widths[1] }
    }

    fn layers(&self) -> usize {
        self.widths.len() - 1
    }

    fn weights<'a>(&self, theta: &'a [T], layer: usize) -> (&'a [T], &'a [T]) {
        let [w, b] = [&self.layout[2 * layer], &self.layout[2 * layer + 1]];
        (&theta[w.range()], &theta[b.range()])
    }

    fn weights_mut<'a>(&self, theta: &'a mut [T], layer: usize) -> (&'a mut [T], &'a mut [T]) {
        let [w, b] = [&self.layout[2 * layer], &self.layout[2 * layer + 1]];
        theta[w.offset..b.range().end].split_at_mut(w.len())
    }

    /// Whether there are kernels for this network, and the batch is such that they pay.
    fn is_shallow(&self, batch: &Batch<'_>) -> bool {
        self.layers() == 2
            && self.output_width() <= T::SHALLOW_OUTPUTS
            && batch.inputs.dense_columns().len() <= DENSE_BY_ROW
            && 4 * batch.output_rows() >= self.widths[0]
            && is_even(batch)
    }

    fn shallow<'a>(&self, theta: &'a [T]) -> Shallow<'a, T> {
        let (first, bias) = self.weights(theta, 0);
        let (head, head_bias) = self.weights(theta, 1);
        Shallow { activation: self.activation, first, bias, head, head_bias }
    }

    /// The forward pass of a network with one hidden layer and few outputs.
    fn shallow_forward(
        &self,
        theta: &[T],
        batch: &Batch<'_>,
        pass: Pass,
        tape: &mut MlpTape<T>,
        outputs: &mut [T],
    ) {
        let (d, h, k) = (self.widths[0], self.widths[1], self.widths[2]);
        let hidden = if pass.outputs_only { 0 } else { batch.output_rows() * h };
        let mut holds = match tape.derived {
            Derived::Table(table) if pass.repeats => table,
            _ => Table::Unknown,
        };
        grow(&mut tape.hidden, 1);
        let [a, slope] = &mut tape.hidden[0];
        let table = tape.table.place(table_len(d, h, k));
        let scratch = tape.scratch.place(scratch_len(batch, h, k));
        let memory = ShallowMemory { table, holds: &mut holds, scratch };
        let keeps_slope = self.activation.keeps_slope();
        let (a, slope) = (a.place(hidden), slope.place(if keeps_slope { hidden } else { 0 }));
        T::shallow_forward(self.level, batch, self.shallow(theta), memory, a, slope, outputs);
        tape.derived = Derived::Table(holds);
    }

    /// Its backward pass.
    fn shallow_backward(
        &self,
        theta: &[T],
        batch: &Batch<'_>,
        tape: &MlpTape<T>,
        seeds: &[T],
        gradient: &mut [T],
    ) {
        let (first, output) = gradient.split_at_mut(self.layout[2].offset);
        let (head, head_bias) = output.split_at_mut(self.layout[2].len());
        T::column_sums(self.level, seeds, head_bias);
        let [a, slope] = &tape.hidden[0];
        let hidden = Hidden { a, slope };
        let to = ShallowGradient { first, head };
        T::shallow_backward(self.level, batch, self.shallow(theta), hidden, seeds, to);
    }

    /// Pulls the seeds back to the first layer's pre-activations, adding the gradients of the
    /// later layers on the way if they are asked for. The result is in `tape.delta`.
    fn pull_back(
        &self,
        theta: &[T],
        tape: &mut MlpTape<T>,
        seeds: &[T],
        mut gradient: Option<&mut [T]>,
    ) {
        let k = self.output_width();
        let rows = seeds.len() / k;
        let MlpTape { hidden, delta, next, weights: aligned, .. } = tape;
        if self.layers() == 1 {
            delta.place(seeds.len()).copy_from_slice(seeds);
        }
        for l in (1..self.layers()).rev() {
            let (n, inner) = (self.widths[l + 1], self.widths[l]);
            let dz = if l + 1 == self.layers() { seeds } else { &delta[..] };
            let [a, slope] = &hidden[l - 1];
            if let Some(gradient) = gradient.as_deref_mut() {
                let (weights, bias) = self.weights_mut(gradient, l);
                T::column_sums(self.level, dz, bias);
                let left = Left::new(dz, rows, n).transpose();
                T::product(self.level, left, a, inner, Start::Current, weights);
            }
            // At a cache line: a product is a tenth faster for it.
            let (weights, _) = self.weights(theta, l);
            let aligned = aligned.place(weights.len());
            aligned.copy_from_slice(weights);
            let da = next.place(rows * inner);
            let left = Left::new(dz, rows, n);
            T::product(self.level, left, aligned, inner, Start::Zero, da);
            T::activate_back(self.level, self.activation, a, slope, da);
            std::mem::swap(delta, next);
        }
    }
}

/// Makes a list at least so long.
fn grow<V: Default>(list: &mut Vec<V>, len: usize) {
    if list.len() < len {
        list.resize_with(len, V::default);
    }
}

impl<T: Kernels> Model for Mlp<T> {
    type Real = T;
    type Tape = MlpTape<T>;

    fn input_width(&self) -> usize {
        self.widths[0]
    }

    fn output_width(&self) -> usize {
        self.widths[self.layers()]
    }

    fn parameter_count(&self) -> usize {
        self.layout.iter().map(Tensor::len).sum()
    }

    /// Uniform on ±1/√(fan-in). Not 0, which is a saddle: there all hidden units are equal and no
    /// gradient tells them apart.
    fn initial(&self, seed: u64) -> Vec<T> {
        let mut theta = vec![T::ZERO; self.parameter_count()];
        for (t, tensor) in self.layout.iter().enumerate() {
            let fan_in = self.widths[t / 2];
            initial::uniform(seed, t as u64, fan_in, &mut theta[tensor.range()]);
        }
        theta
    }

    fn forward(
        &self,
        theta: &[T],
        batch: &Batch<'_>,
        pass: Pass,
        tape: &mut MlpTape<T>,
        outputs: &mut [T],
    ) {
        assert_eq!(theta.len(), self.parameter_count());
        assert_eq!(batch.inputs.width(), self.widths[0]);
        if self.is_shallow(batch) {
            self.shallow_forward(theta, batch, pass, tape, outputs);
            return;
        }
        let rows = batch.output_rows();
        let (layers, level) = (self.layers(), self.level);
        let again = pass.repeats && tape.derived == Derived::Transposed;
        tape.derived = Derived::Transposed;
        let MlpTape { first: scratch, hidden, transposed, .. } = tape;
        grow(hidden, layers);
        grow(transposed, layers);
        for l in 0..layers {
            let (weights, bias) = self.weights(theta, l);
            let (inner, width, last) = (self.widths[l], self.widths[l + 1], l + 1 == layers);
            let activation = (!last).then_some(self.activation);
            let keeps_slope = activation.is_some_and(Activation::keeps_slope);
            let (before, here) = hidden.split_at_mut(l);
            let [a, slope] = &mut here[0];
            let z = if last { &mut *outputs } else { a.place(rows * width) };
            let slope = slope.place(if keeps_slope { z.len() } else { 0 });
            if l == 0 {
                let first = self.first();
                first.forward(level, weights, bias, batch, activation, scratch, z, slope);
            } else {
                let (a, to) = (&before[l - 1][0], &mut transposed[l]);
                if !again {
                    to.clear();
                }
                T::product_with_rows(level, a, weights, inner, width, Some(bias), to, z);
                if let Some(activation) = activation {
                    T::activate(level, activation, z, slope);
                }
            }
        }
    }

    fn backward(
        &self,
        theta: &[T],
        batch: &Batch<'_>,
        tape: &mut MlpTape<T>,
        seeds: &[T],
        gradient: &mut [T],
    ) {
        assert_eq!(gradient.len(), self.parameter_count());
        assert_eq!(seeds.len(), batch.output_rows() * self.output_width());
        if self.is_shallow(batch) {
            self.shallow_backward(theta, batch, tape, seeds, gradient);
            return;
        }
        self.pull_back(theta, tape, seeds, Some(gradient));
        let (weights, bias) = self.weights_mut(gradient, 0);
        let MlpTape { first: scratch, delta, .. } = tape;
        self.first().backward(self.level, batch, scratch, delta, weights, bias);
    }

    fn has_input_gradient(&self) -> bool {
        true
    }

    fn input_gradient(
        &self,
        theta: &[T],
        batch: &Batch<'_>,
        tape: &mut MlpTape<T>,
        seeds: &[T],
        gradient: &mut [T],
    ) {
        assert_eq!(seeds.len(), batch.output_rows() * self.output_width());
        assert_eq!(gradient.len(), batch.output_rows() * self.input_width());
        self.pull_back(theta, tape, seeds, None);
        let (weights, _) = self.weights(theta, 0);
        let MlpTape { first: scratch, delta, .. } = tape;
        self.first().input_gradient(self.level, weights, delta, scratch, gradient);
    }
}

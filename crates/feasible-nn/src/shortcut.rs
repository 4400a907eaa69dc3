//! A multilayer perceptron beside a linear model: $f_\theta(x) = g_{\theta'}(x) + V^\top x$.
//!
//! θ is that of the perceptron g, then V (d × k, one row per input column). V starts at 0. A weighted mean of a perceptron
//! and a linear model is such a model ([`Shortcut::mixture`]).

use feasible::aligned::AlignedVec;
use feasible::{Batch, Error, Model, Pass, Result};

use crate::first_layer::{FirstLayer, FirstScratch};
use crate::kernel::Kernels;
use crate::layout::Tensor;
use crate::mlp::{Mlp, MlpTape};
use crate::shape::product;
use crate::simd::Level;

/// A multilayer perceptron with a linear shortcut from the inputs to the outputs; see the [module](self).
///
/// ```
/// use feasible::Model;
/// use feasible_nn::{Activation, Mlp, Shortcut};
/// let model = Shortcut::new(Mlp::new(&[61, 64, 2], Activation::Sigmoid)?)?;
/// assert_eq!(model.parameter_count(), model.perceptron().parameter_count() + 61 * 2);
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Shortcut<T = f32> {
    perceptron: Mlp<T>,
    level: Level,
}

/// What a [`Shortcut`] keeps of a forward pass.
#[derive(Debug, Default)]
pub struct ShortcutTape<T> {
    perceptron: MlpTape<T>,
    linear: FirstScratch<T>,
    /// Outputs, seeds or gradients of the linear part.
    part: AlignedVec<T>,
    /// The bias that the linear part does not have, and its gradient.
    bias: Vec<T>,
}

impl Shortcut {
    /// This perceptron with a shortcut.
    ///
    /// # Errors
    /// More than 2³¹ parameters.
    pub fn new(perceptron: Mlp) -> Result<Self> {
        let (d, k) = (perceptron.input_width(), perceptron.output_width());
        let what = "parameters of a shortcut";
        let own = product(what, &[d, k])?;
        product(what, &[own.saturating_add(perceptron.parameter_count())])?;
        Ok(Self { perceptron, level: Level::best() })
    }

    /// w times the perceptron of θ plus 1 − w times a linear model on the same inputs, with its parameters ([`Linear`](crate::Linear)).
    ///
    /// ```
    /// use feasible::{Batch, Inputs, Model};
    /// use feasible_nn::{Activation, Linear, Mlp, Shortcut};
    /// let (network, linear) = (Mlp::new(&[2, 4, 1], Activation::Tanh)?, Linear::new(2, 1)?);
    /// let (of_network, of_linear) = (network.initial(1), [0.5, -0.25, 2.0]);
    /// let (mixture, theta) = Shortcut::mixture(network.clone(), &of_network, &of_linear, 0.25)?;
    /// let x = Inputs::new(vec![0.5, -1.0], 2)?;
    /// let batch = Batch { inputs: &x, rows: &[0], shifts: &[] };
    /// let (a, b) = (network.outputs(&of_network, &batch)[0], linear.outputs(&of_linear, &batch)[0]);
    /// assert!((mixture.outputs(&theta, &batch)[0] - (0.25 * a + 0.75 * b)).abs() < 1e-6);
    /// # Ok::<(), feasible::Error>(())
    /// ```
    ///
    /// # Errors
    /// Parameters of other models.
    pub fn mixture(
        network: Mlp,
        of_network: &[f32],
        of_linear: &[f32],
        w: f32,
    ) -> Result<(Self, Vec<f32>)> {
        let shortcut = Self::new(network)?;
        let FirstLayer { d, h: k } = shortcut.linear();
        let network = &shortcut.perceptron;
        for (what, expected, found) in [
            ("parameters of a network", network.parameter_count(), of_network.len()),
            ("parameters of a linear model", (d + 1) * k, of_linear.len()),
        ] {
            if expected != found {
                return Err(Error::Shape {
                    what: what.into(),
                    expected: expected.to_string(),
                    found,
                });
            }
        }
        let mut theta = of_network.to_vec();
        // The outputs are linear in the last layer alone.
        let layout = network.layout();
        for last in layout.iter().rev().take(2) {
            theta[last.range()].iter_mut().for_each(|x| *x *= w);
        }
        let (weights, bias) = of_linear.split_at(d * k);
        let own = theta.len() - k;
        for (to, b) in theta[own..].iter_mut().zip(bias) {
            *to += (1.0 - w) * b;
        }
        theta.extend(weights.iter().map(|v| (1.0 - w) * v));
        Ok((shortcut, theta))
    }

    /// The same model computed in `f64`.
    pub fn double(&self) -> Shortcut<f64> {
        Shortcut { perceptron: self.perceptron.double(), level: self.level }
    }
}

impl<T: Kernels> Shortcut<T> {
    /// Computes with these instructions instead of the best ones.
    pub fn with_level(self, level: Level) -> Self {
        Self { perceptron: self.perceptron.with_level(level), level }
    }

    /// g.
    pub fn perceptron(&self) -> &Mlp<T> {
        &self.perceptron
    }

    /// The tensors of the perceptron, then `shortcut.weight` (d × k).
    pub fn layout(&self) -> Vec<Tensor> {
        let mut layout = self.perceptron.layout();
        let FirstLayer { d, h } = self.linear();
        let offset = self.perceptron.parameter_count();
        layout.push(Tensor { name: "shortcut.weight".into(), shape: vec![d, h], offset });
        layout
    }

    fn linear(&self) -> FirstLayer {
        FirstLayer { d: self.input_width(), h: self.output_width() }
    }

    fn split<'a>(&self, theta: &'a [T]) -> (&'a [T], &'a [T]) {
        assert_eq!(theta.len(), self.parameter_count());
        theta.split_at(self.perceptron.parameter_count())
    }
}

fn add<T: Kernels>(to: &mut [T], part: &[T]) {
    for (to, &part) in to.iter_mut().zip(part) {
        *to += part;
    }
}

impl<T: Kernels> Model for Shortcut<T> {
    type Real = T;
    type Tape = ShortcutTape<T>;

    fn input_width(&self) -> usize {
        self.perceptron.input_width()
    }

    fn output_width(&self) -> usize {
        self.perceptron.output_width()
    }

    fn parameter_count(&self) -> usize {
        let FirstLayer { d, h } = self.linear();
        self.perceptron.parameter_count() + d * h
    }

    fn initial(&self, seed: u64) -> Vec<T> {
        let mut theta = self.perceptron.initial(seed);
        theta.resize(self.parameter_count(), T::ZERO);
        theta
    }

    fn forward(
        &self,
        theta: &[T],
        batch: &Batch<'_>,
        pass: Pass,
        tape: &mut ShortcutTape<T>,
        outputs: &mut [T],
    ) {
        let (own, weights) = self.split(theta);
        self.perceptron.forward(own, batch, pass, &mut tape.perceptron, outputs);
        let ShortcutTape { linear, part, bias, .. } = tape;
        bias.clear();
        bias.resize(self.output_width(), T::ZERO);
        let z = part.place(outputs.len());
        self.linear().forward(self.level, weights, bias, batch, None, linear, z, &mut []);
        add(outputs, z);
    }

    fn backward(
        &self,
        theta: &[T],
        batch: &Batch<'_>,
        tape: &mut ShortcutTape<T>,
        seeds: &[T],
        gradient: &mut [T],
    ) {
        assert_eq!(gradient.len(), self.parameter_count());
        let (own, _) = self.split(theta);
        let (to, weights) = gradient.split_at_mut(self.perceptron.parameter_count());
        self.perceptron.backward(own, batch, &mut tape.perceptron, seeds, to);
        let ShortcutTape { linear, part, bias, .. } = tape;
        let dz = part.place(seeds.len());
        dz.copy_from_slice(seeds);
        self.linear().backward(self.level, batch, linear, dz, weights, bias);
    }

    fn has_input_gradient(&self) -> bool {
        true
    }

    fn input_gradient(
        &self,
        theta: &[T],
        batch: &Batch<'_>,
        tape: &mut ShortcutTape<T>,
        seeds: &[T],
        gradient: &mut [T],
    ) {
        let (own, weights) = self.split(theta);
        self.perceptron.input_gradient(own, batch, &mut tape.perceptron, seeds, gradient);
        let ShortcutTape { linear, part, .. } = tape;
        let dx = part.place(gradient.len());
        self.linear().input_gradient(self.level, weights, seeds, linear, dx);
        add(gradient, dx);
    }
}

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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use feasible::{Inputs, ViewShift};

    use super::*;
    use crate::{Activation, Linear};

    /// Outputs and gradients of a shortcut are those of its parts, for views of any kind.
    #[test]
    fn it_is_the_sum_of_a_network_and_a_linear_model() {
        for (d, hidden) in [(5, vec![7]), (60, vec![6, 4])] {
            let k = 2;
            let widths: Vec<usize> = [vec![d], hidden, vec![k]].concat();
            let network = Mlp::new(&widths, Activation::Sigmoid).unwrap();
            let linear = Linear::new(d, k).unwrap();
            let model = Shortcut::new(network.clone()).unwrap();
            let mut theta = model.initial(3);
            let own = network.parameter_count();
            assert!(theta[own..].iter().all(|&v| v == 0.0));
            for (at, v) in theta[own..].iter_mut().enumerate() {
                *v = (at as f32 * 0.7).cos();
            }
            let of_linear = [&theta[own..], &[0.0; 2]].concat();
            let x = (0..9 * d).map(|i| (i as f32 * 0.37).sin()).collect();
            let (x, rows) = (Inputs::dense(x, d).unwrap(), (0..9).collect::<Vec<u32>>());
            let delta: Vec<f32> = (0..9 * d).map(|i| 0.1 * (i as f32).cos()).collect();
            let shifts = [ViewShift::Dense(&delta)];
            let batch = Batch { inputs: &x, rows: &rows, shifts: &shifts };
            let n = batch.output_rows() * k;
            let seeds: Vec<f32> = (0..n).map(|i| (i as f32 * 1.3).sin()).collect();
            fn pass<M: Model<Real = f32>>(
                model: &M,
                theta: &[f32],
                batch: &Batch<'_>,
                seeds: &[f32],
            ) -> [Vec<f32>; 3] {
                let mut tape = M::Tape::default();
                let mut outputs = vec![0.0; seeds.len()];
                model.forward(theta, batch, Pass::default(), &mut tape, &mut outputs);
                let mut gradient = vec![0.0; theta.len()];
                model.backward(theta, batch, &mut tape, seeds, &mut gradient);
                let mut by_input = vec![0.0; batch.output_rows() * model.input_width()];
                model.input_gradient(theta, batch, &mut tape, seeds, &mut by_input);
                [outputs, gradient, by_input]
            }
            let found = pass(&model, &theta, &batch, &seeds);
            let a = pass(&network, &theta[..own], &batch, &seeds);
            let b = pass(&linear, &of_linear, &batch, &seeds);
            let sum = |i: usize| a[i].iter().zip(&b[i]).map(|(a, b)| a + b).collect::<Vec<f32>>();
            let gradient = [&a[1][..], &b[1][..d * k]].concat();
            for (what, found, expected) in [
                ("outputs", &found[0], sum(0)),
                ("gradient", &found[1], gradient),
                ("input gradient", &found[2], sum(2)),
            ] {
                assert_eq!(found.len(), expected.len());
                for (x, y) in found.iter().zip(&expected) {
                    // The same sums in the same order but for the last addition.
                    assert!((x - y).abs() <= 1e-5 * (1.0 + y.abs()), "{what}, {d}: {x} {y}");
                }
            }
        }
    }

    #[test]
    fn parameters_of_other_models_are_refused() {
        let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
        let theta = network.initial(0);
        assert!(Shortcut::mixture(network.clone(), &theta[1..], &[0.0; 3], 0.5).is_err());
        assert!(Shortcut::mixture(network, &theta, &[0.0; 4], 0.5).is_err());
    }
}

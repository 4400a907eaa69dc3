//! The mean of networks with one hidden layer is a network with one hidden layer:
//! $\frac1K\sum_m \big(V_m\,\varphi(W_m^\top x + b_m) + c_m\big)$ has the hidden units of all of them, output
//! weights $V_m/K$ and the mean of the $c_m$.

use feasible::{Error, Result};

use crate::mlp::Mlp;

impl Mlp {
    /// The network whose outputs are the means of the outputs of networks of this shape, and its θ.
    ///
    /// ```
    /// use feasible::{Batch, Inputs, Model};
    /// use feasible_nn::{Activation, Mlp};
    /// let model = Mlp::new(&[2, 4, 1], Activation::Tanh)?;
    /// let (one, other) = (model.initial(1), model.initial(2));
    /// let (mean, theta) = model.average(&[&one, &other])?;
    /// assert_eq!(mean.widths(), [2, 8, 1]);
    /// let x = Inputs::new(vec![0.5, -1.0], 2)?;
    /// let batch = Batch { inputs: &x, rows: &[0], shifts: &[] };
    /// let [a, b] = [&one, &other].map(|theta| model.outputs(theta, &batch)[0]);
    /// assert!((mean.outputs(&theta, &batch)[0] - (a + b) / 2.0).abs() < 1e-6);
    /// # Ok::<(), feasible::Error>(())
    /// ```
    ///
    /// # Errors
    /// No network; another number of parameters, or of hidden layers than one.
    pub fn average(&self, thetas: &[&[f32]]) -> Result<(Mlp, Vec<f32>)> {
        let shape = |what: &str, expected: String, found| {
            Err(Error::Shape { what: what.into(), expected, found })
        };
        let &[d, h, k] = self.widths() else {
            let found = self.widths().len().saturating_sub(2);
            return shape("hidden layers of networks that are averaged", "one".into(), found);
        };
        if thetas.is_empty() {
            return shape("networks that are averaged", "one at least".into(), 0);
        }
        let count = self.layout().iter().map(crate::Tensor::len).sum::<usize>();
        if let Some(other) = thetas.iter().find(|theta| theta.len() != count) {
            return shape("parameters of an averaged network", count.to_string(), other.len());
        }
        let mean = Mlp::new(&[d, h * thetas.len(), k], self.activation())?;
        let scale = 1.0 / thetas.len() as f32;
        let mut theta = Vec::with_capacity(mean.layout().iter().map(crate::Tensor::len).sum());
        let mut side_by_side = |tensor: usize, rows: usize, scale: f32| {
            let range = self.layout()[tensor].range();
            let width = range.len() / rows;
            for row in 0..rows {
                for of in thetas {
                    let part = &of[range.clone()][row * width..][..width];
                    theta.extend(part.iter().map(|x| scale * x));
                }
            }
        };
        side_by_side(0, d, 1.0);
        side_by_side(1, 1, 1.0);
        side_by_side(2, k, scale);
        let bias = self.layout()[3].range();
        theta.extend(bias.map(|at| scale * thetas.iter().map(|of| of[at]).sum::<f32>()));
        Ok((mean, theta))
    }
}

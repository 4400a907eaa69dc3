//! The finite kernel class of the paper,
//! $f_\theta(x) = \sum_m \theta_m\, \kappa(x, z_m) + b$ with given centres $z_m$.
//!
//! θ is the coefficients (k × M, one row per output), then b (k). f is linear in θ: losses that
//! are convex in the outputs are convex in θ, and the start is θ = 0 whatever the seed.
//!
//! The products ⟨x, z_m⟩ are a first layer whose weights are the centres, so indicators and
//! counterfactual views cost what they cost there, and
//! $\lVert x - z\rVert^2 = \lVert x\rVert^2 + \lVert z\rVert^2 - 2\langle x, z\rangle$. In `f32` that
//! difference loses digits when ‖x‖² is large beside the distance: scale inputs to order 1, or
//! compute in `f64` ([`KernelExpansion::double`]).

use feasible::{Batch, Error, Inputs, Model, Pass, Result, ViewShift};
use serde::{Deserialize, Serialize};

use crate::first_layer::{FirstLayer, FirstScratch};
use crate::kernel::{Kernels, Left, Start};
use crate::layout::{Tensor, consecutive};
use crate::shape::{positive, product};
use crate::simd::Level;

/// κ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// exp(−γ‖x − z‖²).
    Rbf {
        /// γ > 0.
        gamma: f64,
    },
    /// (⟨x, z⟩ + c)^degree.
    Polynomial {
        /// c ≥ 0.
        offset: f64,
        /// From 1 to 32.
        degree: u32,
    },
}

impl Kernel {
    /// # Errors
    /// A setting outside its range.
    pub fn check(&self) -> Result<()> {
        match *self {
            Self::Rbf { gamma } => {
                Error::unless(gamma > 0.0 && gamma.is_finite(), "gamma", gamma, "positive")
            }
            Self::Polynomial { offset, degree } => {
                let allowed = offset >= 0.0 && offset.is_finite();
                Error::unless(allowed, "polynomial offset", offset, "a number ≥ 0")?;
                let degree_allowed = (1..=32).contains(&degree);
                Error::unless(degree_allowed, "degree", f64::from(degree), "from 1 to 32")
            }
        }
    }
}

/// A kernel expansion; see the [module](self).
///
/// ```
/// use feasible::{Inputs, Model};
/// use feasible_nn::{Kernel, KernelExpansion};
/// let centres = Inputs::dense(vec![0.0, 0.5, 1.0, -1.0], 2)?;
/// let model = KernelExpansion::new(&centres, Kernel::Rbf { gamma: 0.5 }, 1)?;
/// assert_eq!(model.parameter_count(), 2 + 1);
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelExpansion<T = f32> {
    kernel: Kernel,
    outputs: usize,
    first: FirstLayer,
    /// M × d.
    centres: Vec<T>,
    /// d × M: the centres as weights of a first layer.
    transposed: Vec<T>,
    /// ‖z_m‖².
    norms: Vec<T>,
    /// M zeros: the first layer's bias.
    zeros: Vec<T>,
    level: Level,
}

impl KernelExpansion {
    /// With one centre per row of `centres` and `outputs` numbers out, computed in `f32`.
    ///
    /// # Errors
    /// No centre, no output, more than 2³¹ parameters, or a setting of the kernel outside its range.
    pub fn new(centres: &Inputs, kernel: Kernel, outputs: usize) -> Result<Self> {
        kernel.check()?;
        positive("kernel expansion outputs", outputs)?;
        positive("kernel expansion centres", centres.rows())?;
        product("kernel expansion parameters", &[centres.rows() + 1, outputs])?;
        let rows: Vec<f32> = (0..centres.rows()).flat_map(|m| centres.row(m)).collect();
        Ok(Self::build(rows, centres.width(), kernel, outputs, Level::best()))
    }

    /// The same model computed in `f64`.
    pub fn double(&self) -> KernelExpansion<f64> {
        let centres = self.centres.iter().map(|&x| f64::from(x)).collect();
        KernelExpansion::build(centres, self.first.d, self.kernel, self.outputs, self.level)
    }
}

/// What a [`KernelExpansion`] keeps of a forward pass.
#[derive(Debug, Default)]
pub struct KernelTape<T> {
    first: FirstScratch<T>,
    /// κ for every row and centre.
    kappa: Vec<T>,
    /// ⟨x, z⟩ + c, of which a polynomial κ is a power.
    base: Vec<T>,
    /// What is pulled back to κ.
    delta: Vec<T>,
    /// One row x.
    row: Vec<T>,
}

impl<T: Kernels> KernelExpansion<T> {
    fn build(centres: Vec<T>, d: usize, kernel: Kernel, outputs: usize, level: Level) -> Self {
        let m = centres.len() / d;
        let mut transposed = vec![T::ZERO; centres.len()];
        for (i, z) in centres.chunks_exact(d).enumerate() {
            for (c, &z) in z.iter().enumerate() {
                transposed[c * m + i] = z;
            }
        }
        let norms = centres.chunks_exact(d).map(square).collect();
        let first = FirstLayer { d, h: m };
        let zeros = vec![T::ZERO; m];
        Self { kernel, outputs, first, centres, transposed, norms, zeros, level }
    }

    /// Computes with these instructions instead of the best ones.
    pub fn with_level(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// M, the number of centres.
    pub fn centres(&self) -> usize {
        self.first.h
    }

    /// κ.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// `weight` (k × M) and `bias` (k).
    pub fn layout(&self) -> Vec<Tensor> {
        let (k, m) = (self.outputs, self.centres());
        consecutive([("weight".into(), vec![k, m]), ("bias".into(), vec![k])])
    }

    /// ⟨x, z⟩ to κ, in place.
    fn apply(&self, batch: &Batch<'_>, row: &mut [T], base: &mut Vec<T>, kappa: &mut [T]) {
        let m = self.centres();
        match self.kernel {
            Kernel::Rbf { gamma } => {
                let (gamma, two) = (T::from_f64(gamma), T::from_f64(2.0));
                for (i, products) in kappa.chunks_exact_mut(m).enumerate() {
                    let rows = batch.rows.len();
                    write_input(batch, i / rows, i % rows, row);
                    let norm = square(row);
                    for (p, &z) in products.iter_mut().zip(&self.norms) {
                        // Rounding must not make a distance negative.
                        let distance = (norm + z - two * *p).max(T::ZERO);
                        *p = -gamma * distance;
                    }
                }
                T::exponentials(self.level, kappa);
            }
            Kernel::Polynomial { offset, degree } => {
                base.clear();
                base.extend(kappa.iter().map(|&p| p + T::from_f64(offset)));
                for (k, &u) in kappa.iter_mut().zip(&*base) {
                    *k = power(u, degree);
                }
            }
        }
    }
}

/// ‖x‖².
fn square<T: Kernels>(x: &[T]) -> T {
    x.iter().map(|&x| x * x).sum()
}

/// uⁿ.
fn power<T: Kernels>(u: T, n: u32) -> T {
    (0..n).fold(T::ONE, |product, _| product * u)
}

/// [`Batch::write_input`] in the model's scalar.
fn write_input<T: Kernels>(batch: &Batch<'_>, view: usize, position: usize, out: &mut [T]) {
    let row = batch.rows[position] as usize;
    out.fill(T::ZERO);
    for (&c, &x) in batch.inputs.dense_columns().iter().zip(batch.inputs.dense_row(row)) {
        out[c as usize] = T::from_f32(x);
    }
    for &c in batch.inputs.hot(row) {
        out[c as usize] = T::ONE;
    }
    match view.checked_sub(1).map(|v| batch.shifts[v]) {
        None => {}
        Some(ViewShift::Sparse(shift)) => {
            for (c, delta) in shift.row(row) {
                out[c as usize] += T::from_f32(delta);
            }
        }
        Some(ViewShift::Dense(deltas)) => {
            for (x, &delta) in out.iter_mut().zip(&deltas[position * batch.inputs.width()..]) {
                *x += T::from_f32(delta);
            }
        }
    }
}

impl<T: Kernels> Model for KernelExpansion<T> {
    type Real = T;
    type Tape = KernelTape<T>;

    fn input_width(&self) -> usize {
        self.first.d
    }

    fn output_width(&self) -> usize {
        self.outputs
    }

    fn parameter_count(&self) -> usize {
        self.outputs * (self.centres() + 1)
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
        tape: &mut KernelTape<T>,
        outputs: &mut [T],
    ) {
        assert_eq!(theta.len(), self.parameter_count());
        let (rows, m, k) = (batch.output_rows(), self.centres(), self.outputs);
        let KernelTape { first, kappa, base, row, .. } = tape;
        row.resize(self.first.d, T::ZERO);
        kappa.resize(rows * m, T::ZERO);
        let (weights, zeros) = (&self.transposed, &self.zeros);
        let level = self.level;
        self.first.forward(level, weights, zeros, batch, None, first, kappa, &mut []);
        self.apply(batch, row, base, kappa);
        let (weights, bias) = theta.split_at(k * m);
        let transposed = &mut first.transposed;
        transposed.clear();
        T::product_with_rows(level, kappa, weights, m, k, Some(bias), transposed, outputs);
    }

    fn backward(
        &self,
        _theta: &[T],
        batch: &Batch<'_>,
        tape: &mut KernelTape<T>,
        seeds: &[T],
        gradient: &mut [T],
    ) {
        assert_eq!(gradient.len(), self.parameter_count());
        let (rows, m, k) = (batch.output_rows(), self.centres(), self.outputs);
        let (weights, bias) = gradient.split_at_mut(k * m);
        T::column_sums(self.level, seeds, bias);
        let seeds = Left::new(seeds, rows, k).transpose();
        T::product(self.level, seeds, &tape.kappa, m, Start::Current, weights);
    }

    fn has_input_gradient(&self) -> bool {
        true
    }

    /// RBF: ∂κ/∂x = −2γκ(x − z); polynomial: ∂κ/∂x = degree (⟨x, z⟩ + c)^(degree − 1) z.
    fn input_gradient(
        &self,
        theta: &[T],
        batch: &Batch<'_>,
        tape: &mut KernelTape<T>,
        seeds: &[T],
        gradient: &mut [T],
    ) {
        let (rows, m, d, k) = (batch.output_rows(), self.centres(), self.first.d, self.outputs);
        let KernelTape { kappa, base, delta, row, .. } = tape;
        delta.resize(rows * m, T::ZERO);
        let seeds = Left::new(seeds, rows, k);
        T::product(self.level, seeds, &theta[..k * m], m, Start::Zero, delta);
        match self.kernel {
            Kernel::Rbf { gamma } => {
                for (g, &kappa) in delta.iter_mut().zip(&*kappa) {
                    *g *= T::from_f64(2.0 * gamma) * kappa;
                }
            }
            Kernel::Polynomial { degree, .. } => {
                for (g, &u) in delta.iter_mut().zip(&*base) {
                    *g *= T::from_f64(f64::from(degree)) * power(u, degree - 1);
                }
            }
        }
        let left = Left::new(delta, rows, m);
        T::product(self.level, left, &self.centres, d, Start::Zero, gradient);
        if let Kernel::Rbf { .. } = self.kernel {
            let positions = batch.rows.len();
            let each = gradient.chunks_exact_mut(d).zip(delta.chunks_exact(m)).enumerate();
            for (i, (gradient, delta)) in each {
                let total: T = delta.iter().copied().sum();
                write_input(batch, i / positions, i % positions, row);
                for (g, &x) in gradient.iter_mut().zip(&*row) {
                    *g -= total * x;
                }
            }
        }
    }
}

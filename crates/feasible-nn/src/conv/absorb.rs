//! BatchNorm's numbers: coefficients of a batch, and the running statistics.

use feasible::Real;

use crate::conv::graph::{Convolution, Norm};
use crate::conv::{ConvNet, EPSILON, MOMENTUM};
use crate::kernel::Kernels;
use crate::kernel::conv::BLOCK;
use crate::kernel::conv::planes::{Channels, Pull};

/// Adds up sums per image, `[image][block][2][16]`, in order: Σ₀ and Σ₁ of a channel.
pub(crate) fn add_up<T: Real>(
    sums: &[T],
    images: usize,
    blocks: usize,
    channel: usize,
) -> [f64; 2] {
    let (block, lane) = (channel / BLOCK, channel % BLOCK);
    let mut total = [0.0; 2];
    for image in 0..images {
        let at = (image * blocks + block) * 2 * BLOCK + lane;
        total[0] += sums[at].to_f64();
        total[1] += sums[at + BLOCK].to_f64();
    }
    total
}

/// The mean and the biased variance of n numbers, from their moments about a pivot.
fn mean_and_variance(moments: [f64; 2], pivot: f64, n: f64) -> (f64, f64) {
    let offset = moments[0] / n;
    (pivot + offset, (moments[1] / n - offset * offset).max(0.0))
}

impl<T: Kernels> ConvNet<T> {
    /// Turns the moments of a batch about the running means into the coefficients of the
    /// normalisation, and records mean and unbiased variance.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn settle(
        &self,
        convolution: &Convolution,
        norm: Norm,
        theta: &[T],
        images: usize,
        sums: &[T],
        coefficients: &mut [T],
        record: &mut [T],
    ) {
        let to = convolution.plan.to;
        let n = (images * to.height * to.width) as f64;
        let unbiased = if n > 1.0 { n / (n - 1.0) } else { 1.0 };
        for c in 0..to.channels {
            let pivot = theta[norm.mean + c].to_f64();
            let moments = add_up(sums, images, to.blocks(), c);
            let (mean, variance) = mean_and_variance(moments, pivot, n);
            let inverse = 1.0 / (variance + EPSILON).sqrt();
            let scale = theta[norm.gamma + c].to_f64() * inverse;
            let shift = theta[norm.beta + c].to_f64() - mean * scale;
            for (k, x) in [scale, shift, mean, inverse].into_iter().enumerate() {
                coefficients[k * self.channels + convolution.channel + c] = T::from_f64(x);
            }
            record[norm.record + c] = T::from_f64(mean);
            record[norm.record + to.channels + c] = T::from_f64(variance * unbiased);
        }
    }

    /// The gradient through a normalisation by batch statistics, for one block. With S = Σ g and
    /// D = Σ g (z − μ) over the n numbers of a channel, and i = 1/√(σ² + ε):
    ///
    /// dz = γ i (g − S/n − (z − μ) i² D/n).
    pub(crate) fn pull(
        &self,
        convolution: &Convolution,
        block: usize,
        images: usize,
        coefficients: &[T],
        totals: &[T],
    ) -> Pull<T> {
        let to = convolution.plan.to;
        let n = (images * to.height * to.width) as f64;
        let at = convolution.channel + block * BLOCK;
        let number = |k: usize, i: usize| coefficients[k * self.channels + at + i].to_f64();
        let total = |k: usize, i: usize| totals[k * self.channels + at + i].to_f64();
        let of = |f: &dyn Fn(usize) -> f64| -> Channels<T> {
            std::array::from_fn(|i| T::from_f64(f(i)))
        };
        Pull {
            gradient: of(&|i| number(0, i)),
            deviation: of(&|i| -number(0, i) * number(3, i).powi(2) * total(1, i) / n),
            mean: of(&|i| number(2, i)),
            constant: of(&|i| -number(0, i) * total(0, i) / n),
        }
    }

    /// Moves the running statistics by the records of a training step, in order.
    pub(crate) fn absorb_statistics(&self, theta: &mut [T], records: &[T]) {
        if self.statistics == 0 {
            return;
        }
        let running = &mut theta[self.trainable..];
        for record in records.chunks_exact(self.statistics) {
            for (r, b) in running.iter_mut().zip(record) {
                *r = T::from_f64((1.0 - MOMENTUM) * r.to_f64() + MOMENTUM * b.to_f64());
            }
        }
    }
}

//! The whole backward pass of a network with one hidden layer and one or two outputs, row by row.
//!
//! For each row and view: $\mathrm{d}a = \sum_j s_j U_j$ through the output weights U (k × h),
//! $\mathrm{d}z = \mathrm{d}a\,\varphi'(z)$, then as in [`super::scatter`]; and
//! $\mathrm{d}U_j \mathrel{+}= s_j a$. Nothing between the seeds and the gradient goes to memory,
//! which takes a third off the time: the activations of a small network fill the first cache.

#![allow(unsafe_code)]

use feasible::{Batch, ViewShift};

use super::activation::{RELU, SIGMOID, SILU, TANH, slope_of};
use super::scatter::add;
use crate::activation::Activation;
use crate::simd::{Lanes, dispatch};

/// What the forward pass left, and what came back.
#[derive(Clone, Copy, Debug)]
pub struct Tail<'a, T> {
    /// φ.
    pub activation: Activation,
    /// a = φ(z): views × rows × h.
    pub a: &'a [T],
    /// φ'(z) where it was kept, else empty.
    pub slope: &'a [T],
    /// U: k × h.
    pub weights: &'a [T],
    /// s: views × rows × k.
    pub seeds: &'a [T],
}

/// The gradients to add to.
#[derive(Debug)]
pub struct TailGradient<'a, T> {
    /// The first layer's: d × h.
    pub first: &'a mut [T],
    /// Its bias: h.
    pub bias: &'a mut [T],
    /// U's: k × h.
    pub weights: &'a mut [T],
}

dispatch!(backward => backward_lanes(
    batch: &Batch<'_>, tail: Tail<'_, f32>, gradient: TailGradient<'_, f32>,
));

#[inline(always)]
fn backward_lanes<L: Lanes>(
    batch: &Batch<'_>,
    tail: Tail<'_, f32>,
    gradient: TailGradient<'_, f32>,
) {
    let h = gradient.bias.len();
    let k = tail.weights.len() / h;
    let rows = batch.output_rows();
    assert!(tail.a.len() == rows * h && tail.seeds.len() == rows * k);
    assert!(tail.weights.len() == k * h && gradient.weights.len() == k * h);
    assert!(tail.activation != Activation::Silu || tail.slope.len() == rows * h);
    match k {
        1 => activations::<L, 1>(batch, tail, gradient),
        2 => activations::<L, 2>(batch, tail, gradient),
        _ => panic!("one or two outputs"),
    }
}

#[inline(always)]
fn activations<L: Lanes, const K: usize>(
    batch: &Batch<'_>,
    tail: Tail<'_, f32>,
    gradient: TailGradient<'_, f32>,
) {
    match tail.activation {
        Activation::Sigmoid => blocks::<L, K, SIGMOID>(batch, tail, gradient),
        Activation::Tanh => blocks::<L, K, TANH>(batch, tail, gradient),
        Activation::Relu => blocks::<L, K, RELU>(batch, tail, gradient),
        Activation::Silu => blocks::<L, K, SILU>(batch, tail, gradient),
    }
}

#[inline(always)]
fn blocks<L: Lanes, const K: usize, const F: u8>(
    batch: &Batch<'_>,
    tail: Tail<'_, f32>,
    mut gradient: TailGradient<'_, f32>,
) {
    let h = gradient.bias.len();
    let mut j = 0;
    while j + 4 * L::N <= h {
        block::<L, K, F, 4, true>(batch, tail, &mut gradient, j, 0);
        j += 4 * L::N;
    }
    while j + L::N <= h {
        block::<L, K, F, 1, true>(batch, tail, &mut gradient, j, 0);
        j += L::N;
    }
    if j < h {
        block::<L, K, F, 1, false>(batch, tail, &mut gradient, j, h - j);
    }
}

/// Hidden units j..: V vectors, or if not FULL the `n` that are left.
#[inline(always)]
fn block<L: Lanes, const K: usize, const F: u8, const V: usize, const FULL: bool>(
    batch: &Batch<'_>,
    tail: Tail<'_, f32>,
    gradient: &mut TailGradient<'_, f32>,
    j: usize,
    n: usize,
) {
    let (h, rows) = (gradient.bias.len(), batch.rows.len());
    assert!(j + if FULL { V * L::N } else { n } <= h);
    let mut total = [L::splat(0.0); V];
    let mut outer = [[L::splat(0.0); V]; K];
    // SAFETY: the bias, the K rows of U and its gradient and the views × rows rows of a (and for
    // SiLU of the slopes) have h entries, and the seeds K a row (checked by `backward_lanes`); j..
    // are V vectors of them, or n entries, as asserted above.
    unsafe {
        for (r, &row) in batch.rows.iter().enumerate() {
            let row = row as usize;
            let mut sum = [L::splat(0.0); V];
            for view in 0..batch.views() {
                let at = view * rows + r;
                let mut seeds = [L::splat(0.0); K];
                for o in 0..K {
                    seeds[o] = L::splat(*tail.seeds.get_unchecked(at * K + o));
                }
                let mut d = [L::splat(0.0); V];
                for v in 0..V {
                    let unit = j + v * L::N;
                    let a = L::load_if::<FULL>(tail.a.as_ptr().add(at * h + unit), n);
                    for o in 0..K {
                        let u = L::load_if::<FULL>(tail.weights.as_ptr().add(o * h + unit), n);
                        d[v] = if o == 0 { seeds[o].mul(u) } else { seeds[o].fma(u, d[v]) };
                        outer[o][v] = seeds[o].fma(a, outer[o][v]);
                    }
                    let known = if F == SILU {
                        L::load_if::<FULL>(tail.slope.as_ptr().add(at * h + unit), n)
                    } else {
                        a
                    };
                    d[v] = slope_of::<L, F>(known, d[v]);
                    sum[v] = sum[v].add(d[v]);
                }
                if view > 0
                    && let ViewShift::Sparse(shift) = batch.shifts[view - 1]
                {
                    for (c, delta) in shift.row(row) {
                        add::<L, V, FULL>(gradient.first, h, c, j, n, L::splat(delta), d);
                    }
                }
            }
            for v in 0..V {
                total[v] = total[v].add(sum[v]);
            }
            for &c in batch.inputs.hot(row) {
                add::<L, V, FULL>(gradient.first, h, c, j, n, L::splat(1.0), sum);
            }
            let columns = batch.inputs.dense_columns();
            for (&c, &x) in columns.iter().zip(batch.inputs.dense_row(row)) {
                add::<L, V, FULL>(gradient.first, h, c, j, n, L::splat(x), sum);
            }
        }
        for v in 0..V {
            let unit = j + v * L::N;
            let to = gradient.bias.as_mut_ptr().add(unit);
            L::load_if::<FULL>(to, n).add(total[v]).store_if::<FULL>(to, n);
            for o in 0..K {
                let to = gradient.weights.as_mut_ptr().add(o * h + unit);
                L::load_if::<FULL>(to, n).add(outer[o][v]).store_if::<FULL>(to, n);
            }
        }
    }
}

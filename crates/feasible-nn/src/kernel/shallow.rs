//! A network with one hidden layer and one or two outputs, forward and backward, row by row.
//!
//! For batches whose lists of hot and of changed columns are even ([`Inputs::even_hot`]): they are
//! filled up with column d, a row of zeros behind the weights, so that no branch depends on the data.
//!
//! Forward, for each row: $z = b + \sum_{c\ \mathrm{hot}} W_c + \sum_{c\ \mathrm{dense}} x_c W_c$ in
//! registers, $z_v = z + \sum_c \Delta_c W_c$ for each counterfactual view, $a = \varphi(z)$, and the
//! outputs $U a + u$ while a is still in the first cache.
//!
//! Backward, for each row and view: $\mathrm{d}a = \sum_j s_j U_j$,
//! $\mathrm{d}z = \mathrm{d}a\,\varphi'(z)$, then as in [`super::scatter`]; and
//! $\mathrm{d}U_j \mathrel{+}= s_j a$. Nothing between the seeds and the gradient goes to memory.

#![allow(unsafe_code)]

use feasible::{Batch, Inputs, Shift, ViewShift};

use super::activation::{RELU, SIGMOID, SILU, TANH, finish, slope_of};
use super::rows::dots_lanes;
use super::scatter::add;
use crate::activation::Activation;
use crate::simd::{Lanes, dispatch};

/// The parameters.
#[derive(Clone, Copy, Debug)]
pub struct Shallow<'a, T> {
    /// φ.
    pub activation: Activation,
    /// W, and the row of zeros: (d + 1) × h.
    pub first: &'a [T],
    /// b: h.
    pub bias: &'a [T],
    /// U: k × h.
    pub head: &'a [T],
    /// u: k.
    pub head_bias: &'a [T],
}

/// What the forward pass leaves for the backward pass.
#[derive(Clone, Copy, Debug)]
pub struct Hidden<'a, T> {
    /// a = φ(z): views × rows × h.
    pub a: &'a [T],
    /// φ'(z) where it was kept, else empty.
    pub slope: &'a [T],
}

/// The gradients to add to; that of u is a sum of columns of the seeds.
#[derive(Debug)]
pub struct ShallowGradient<'a, T> {
    /// W's, and a row that is written but means nothing: (d + 1) × h.
    pub first: &'a mut [T],
    /// b's: h.
    pub bias: &'a mut [T],
    /// U's: k × h.
    pub head: &'a mut [T],
}

/// Rows whose outputs are computed together: enough for whole vectors of outputs.
const BLOCK: usize = 16;

dispatch!(forward => forward_lanes(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    a: &mut [f32],
    slope: &mut [f32],
    outputs: &mut [f32],
));

#[inline(always)]
fn forward_lanes<L: Lanes>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    a: &mut [f32],
    slope: &mut [f32],
    outputs: &mut [f32],
) {
    let (h, k) = (net.bias.len(), net.head_bias.len());
    let (all, rows) = (batch.output_rows(), batch.rows.len());
    assert!(is_even(batch) && net.first.len() == (batch.inputs.width() + 1) * h);
    assert!(a.len() == all * h && outputs.len() == all * k && net.head.len() == k * h);
    assert!(net.activation != Activation::Silu || slope.len() == a.len());
    let mut start = 0;
    while start < rows {
        let end = (start + BLOCK).min(rows);
        match net.activation {
            Activation::Sigmoid => gather::<L, SIGMOID>(batch, start, end, net, a, slope),
            Activation::Tanh => gather::<L, TANH>(batch, start, end, net, a, slope),
            Activation::Relu => gather::<L, RELU>(batch, start, end, net, a, slope),
            Activation::Silu => gather::<L, SILU>(batch, start, end, net, a, slope),
        }
        for view in 0..batch.views() {
            let (from, to) = (view * rows + start, view * rows + end);
            let (a, outputs) = (&a[from * h..to * h], &mut outputs[from * k..to * k]);
            dots_lanes::<L>(a, net.head, h, k, Some(net.head_bias), outputs);
        }
        start = end;
    }
}

#[inline(always)]
fn gather<L: Lanes, const F: u8>(
    batch: &Batch<'_>,
    start: usize,
    end: usize,
    net: Shallow<'_, f32>,
    a: &mut [f32],
    slope: &mut [f32],
) {
    let h = net.bias.len();
    for r in start..end {
        let mut j = 0;
        while j + 4 * L::N <= h {
            gather_block::<L, F, 4, true>(batch, r, j, 0, net, a, slope);
            j += 4 * L::N;
        }
        while j + L::N <= h {
            gather_block::<L, F, 1, true>(batch, r, j, 0, net, a, slope);
            j += L::N;
        }
        if j < h {
            gather_block::<L, F, 1, false>(batch, r, j, h - j, net, a, slope);
        }
    }
}

/// Entries j.. of every view of row r: V vectors, or if not FULL the `n` entries that are left.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn gather_block<L: Lanes, const F: u8, const V: usize, const FULL: bool>(
    batch: &Batch<'_>,
    r: usize,
    j: usize,
    n: usize,
    net: Shallow<'_, f32>,
    a: &mut [f32],
    slope: &mut [f32],
) {
    let (h, rows, row) = (net.bias.len(), batch.rows.len(), batch.rows[r] as usize);
    debug_assert!(j + if FULL { V * L::N } else { n } <= h);
    let mut sum = [L::splat(0.0); V];
    // SAFETY: the bias, every row of the weights and every row of a (and for SiLU of the slopes)
    // have h entries (checked by `forward_lanes`), of which j.. are V vectors, or n entries (checked
    // by `gather`). `weights_at` checks that the row of the weights exists.
    unsafe {
        for v in 0..V {
            sum[v] = L::load_if::<FULL>(net.bias.as_ptr().add(j + v * L::N), n);
        }
        for &c in even_hot(batch.inputs, row) {
            let w = weights_at(net.first, c, h).as_ptr().add(j);
            for v in 0..V {
                sum[v] = sum[v].add(L::load_if::<FULL>(w.add(v * L::N), n));
            }
        }
        for (&c, &x) in batch.inputs.dense_columns().iter().zip(batch.inputs.dense_row(row)) {
            let w = weights_at(net.first, c, h).as_ptr().add(j);
            let x = L::splat(x);
            for v in 0..V {
                sum[v] = x.fma(L::load_if::<FULL>(w.add(v * L::N), n), sum[v]);
            }
        }
        let at = r * h + j;
        let (z, kept) = (a.as_mut_ptr().add(at), slope.as_mut_ptr().wrapping_add(at));
        finish::<L, F, V, FULL>(sum, z, kept, n);
        for (view, shift) in batch.shifts.iter().enumerate() {
            let ViewShift::Sparse(shift) = shift else { continue };
            let mut moved = sum;
            let (columns, deltas) = even_row(shift, row);
            for (&c, &delta) in columns.iter().zip(deltas) {
                let w = weights_at(net.first, c, h).as_ptr().add(j);
                let delta = L::splat(delta);
                for v in 0..V {
                    moved[v] = delta.fma(L::load_if::<FULL>(w.add(v * L::N), n), moved[v]);
                }
            }
            let at = ((view + 1) * rows + r) * h + j;
            let (z, kept) = (a.as_mut_ptr().add(at), slope.as_mut_ptr().wrapping_add(at));
            finish::<L, F, V, FULL>(moved, z, kept, n);
        }
    }
}

/// Row c of the weights.
#[inline(always)]
fn weights_at(weights: &[f32], c: u32, h: usize) -> &[f32] {
    &weights[c as usize * h..][..h]
}

/// Whether the kernels can work on this batch.
pub fn is_even(batch: &Batch<'_>) -> bool {
    let even = |shift: &ViewShift<'_>| matches!(shift, ViewShift::Sparse(shift) if shift.is_even());
    batch.inputs.is_even() && batch.shifts.iter().all(even)
}

#[inline(always)]
fn even_hot(inputs: &Inputs, row: usize) -> &[u32] {
    inputs.even_hot(row).unwrap_or_default()
}

#[inline(always)]
fn even_row(shift: &Shift, row: usize) -> (&[u32], &[f32]) {
    shift.even_row(row).unwrap_or_default()
}

dispatch!(backward => backward_lanes(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    hidden: Hidden<'_, f32>,
    seeds: &[f32],
    gradient: ShallowGradient<'_, f32>,
));

#[inline(always)]
fn backward_lanes<L: Lanes>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    hidden: Hidden<'_, f32>,
    seeds: &[f32],
    gradient: ShallowGradient<'_, f32>,
) {
    let (h, k, all) = (net.bias.len(), net.head_bias.len(), batch.output_rows());
    assert!(is_even(batch) && gradient.first.len() == (batch.inputs.width() + 1) * h);
    assert!(gradient.bias.len() == h);
    assert!(hidden.a.len() == all * h && seeds.len() == all * k);
    assert!(net.head.len() == k * h && gradient.head.len() == k * h);
    assert!(net.activation != Activation::Silu || hidden.slope.len() == all * h);
    match k {
        1 => activations::<L, 1>(batch, net, hidden, seeds, gradient),
        2 => activations::<L, 2>(batch, net, hidden, seeds, gradient),
        _ => panic!("one or two outputs"),
    }
}

#[inline(always)]
fn activations<L: Lanes, const K: usize>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    hidden: Hidden<'_, f32>,
    seeds: &[f32],
    gradient: ShallowGradient<'_, f32>,
) {
    match net.activation {
        Activation::Sigmoid => {
            blocks::<L, K, SIGMOID>(batch, net, hidden, seeds, gradient);
        }
        Activation::Tanh => blocks::<L, K, TANH>(batch, net, hidden, seeds, gradient),
        Activation::Relu => blocks::<L, K, RELU>(batch, net, hidden, seeds, gradient),
        Activation::Silu => blocks::<L, K, SILU>(batch, net, hidden, seeds, gradient),
    }
}

#[inline(always)]
fn blocks<L: Lanes, const K: usize, const F: u8>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    hidden: Hidden<'_, f32>,
    seeds: &[f32],
    mut gradient: ShallowGradient<'_, f32>,
) {
    let h = net.bias.len();
    let mut j = 0;
    while j + 4 * L::N <= h {
        block::<L, K, F, 4, true>(batch, net, hidden, seeds, &mut gradient, j, 0);
        j += 4 * L::N;
    }
    while j + L::N <= h {
        block::<L, K, F, 1, true>(batch, net, hidden, seeds, &mut gradient, j, 0);
        j += L::N;
    }
    if j < h {
        block::<L, K, F, 1, false>(batch, net, hidden, seeds, &mut gradient, j, h - j);
    }
}

/// Hidden units j..: V vectors, or if not FULL the `n` that are left.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn block<L: Lanes, const K: usize, const F: u8, const V: usize, const FULL: bool>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    hidden: Hidden<'_, f32>,
    seeds: &[f32],
    gradient: &mut ShallowGradient<'_, f32>,
    j: usize,
    n: usize,
) {
    let (h, rows) = (net.bias.len(), batch.rows.len());
    assert!(j + if FULL { V * L::N } else { n } <= h);
    let mut total = [L::splat(0.0); V];
    let mut outer = [[L::splat(0.0); V]; K];
    // SAFETY: the bias, the K rows of U and its gradient, the rows of W's gradient and the
    // views × rows rows of a (and for SiLU of the slopes) have h entries, and the seeds K a row (checked by
    // `backward_lanes`); j.. are V vectors of them, or n entries, as asserted above.
    unsafe {
        let mut head = [[L::splat(0.0); V]; K];
        for o in 0..K {
            for v in 0..V {
                head[o][v] = L::load_if::<FULL>(net.head.as_ptr().add(o * h + j + v * L::N), n);
            }
        }
        for (r, &row) in batch.rows.iter().enumerate() {
            let row = row as usize;
            let mut sum = [L::splat(0.0); V];
            for view in 0..batch.views() {
                let at = view * rows + r;
                let mut s = [L::splat(0.0); K];
                for o in 0..K {
                    s[o] = L::splat(*seeds.get_unchecked(at * K + o));
                }
                let mut d = [L::splat(0.0); V];
                for v in 0..V {
                    let unit = at * h + j + v * L::N;
                    let a = L::load_if::<FULL>(hidden.a.as_ptr().add(unit), n);
                    for o in 0..K {
                        d[v] = if o == 0 { s[o].mul(head[o][v]) } else { s[o].fma(head[o][v], d[v]) };
                        outer[o][v] = s[o].fma(a, outer[o][v]);
                    }
                    let known = if F == SILU {
                        L::load_if::<FULL>(hidden.slope.as_ptr().add(unit), n)
                    } else {
                        a
                    };
                    d[v] = slope_of::<L, F>(known, d[v]);
                    sum[v] = if view == 0 { d[v] } else { sum[v].add(d[v]) };
                }
                if view > 0
                    && let ViewShift::Sparse(shift) = batch.shifts[view - 1]
                {
                    let (columns, deltas) = even_row(shift, row);
                    for (&c, &delta) in columns.iter().zip(deltas) {
                        add::<L, V, FULL>(gradient.first, h, c, j, n, L::splat(delta), d);
                    }
                }
            }
            for v in 0..V {
                total[v] = total[v].add(sum[v]);
            }
            for &c in even_hot(batch.inputs, row) {
                let to = gradient.first[c as usize * h..][..h].as_mut_ptr().add(j);
                for v in 0..V {
                    let to = to.add(v * L::N);
                    L::load_if::<FULL>(to, n).add(sum[v]).store_if::<FULL>(to, n);
                }
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
                let to = gradient.head.as_mut_ptr().add(o * h + unit);
                L::load_if::<FULL>(to, n).add(outer[o][v]).store_if::<FULL>(to, n);
            }
        }
    }
}

//! A network with one hidden layer and one or two outputs, forward and backward, row by row.
//!
//! For batches whose lists of hot and of changed columns are even ([`Inputs::even_hot`]): they are
//! filled up with column d, a row of zeros behind the weights, so that no branch depends on the data.
//!
//! Forward, for each row: $z = b + \sum_{c\ \mathrm{hot}} W_c + \sum_{c\ \mathrm{dense}} x_c W_c$ in
//! registers, $z_v = z + \sum_c \Delta_c W_c$ for each counterfactual view, $a = \varphi(z)$, and the
//! outputs $U a + u$ while a is still in registers.
//!
//! Backward, for each row and view: $\mathrm{d}a = \sum_j s_j U_j$,
//! $\mathrm{d}z = \mathrm{d}a\,\varphi'(z)$, then as in [`super::scatter`]; and
//! $\mathrm{d}U_j \mathrel{+}= s_j a$. Nothing between the seeds and the gradient goes to memory.

#![allow(unsafe_code)]

use feasible::{Batch, Inputs, Shift, ViewShift};

use super::activation::{RELU, SIGMOID, SILU, TANH, finish, slope_of};
use super::scatter::add;
use crate::activation::Activation;
use crate::simd::{Lanes, MAX_LANES, dispatch, sums};

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

/// Rows whose outputs are added up together: enough for whole vectors of outputs.
const BLOCK: usize = 16;

dispatch!(forward => forward_lanes(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    a: &mut [f32],
    slope: &mut [f32],
    outputs: &mut [f32],
    partial: &mut [f32],
));

#[inline(always)]
fn forward_lanes<L: Lanes>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    a: &mut [f32],
    slope: &mut [f32],
    outputs: &mut [f32],
    partial: &mut [f32],
) {
    let (h, k) = (net.bias.len(), net.head_bias.len());
    let all = batch.output_rows();
    assert!(is_even(batch) && net.first.len() == (batch.inputs.width() + 1) * h);
    assert!(a.len() == all * h && outputs.len() == all * k && net.head.len() == k * h);
    assert!(net.activation != Activation::Silu || slope.len() == a.len());
    assert!(partial.len() >= partial_sums(batch.views(), k));
    match (k, net.activation) {
        (1, Activation::Sigmoid) => rows::<L, 1, SIGMOID>(batch, net, a, slope, outputs, partial),
        (1, Activation::Tanh) => rows::<L, 1, TANH>(batch, net, a, slope, outputs, partial),
        (1, Activation::Relu) => rows::<L, 1, RELU>(batch, net, a, slope, outputs, partial),
        (1, Activation::Silu) => rows::<L, 1, SILU>(batch, net, a, slope, outputs, partial),
        (2, Activation::Sigmoid) => rows::<L, 2, SIGMOID>(batch, net, a, slope, outputs, partial),
        (2, Activation::Tanh) => rows::<L, 2, TANH>(batch, net, a, slope, outputs, partial),
        (2, Activation::Relu) => rows::<L, 2, RELU>(batch, net, a, slope, outputs, partial),
        (2, Activation::Silu) => rows::<L, 2, SILU>(batch, net, a, slope, outputs, partial),
        _ => panic!("one or two outputs"),
    }
}

/// Numbers the forward pass needs for sums that are not added up yet.
pub fn partial_sums(views: usize, k: usize) -> usize {
    views * BLOCK * k * MAX_LANES
}

#[inline(always)]
fn rows<L: Lanes, const K: usize, const F: u8>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    a: &mut [f32],
    slope: &mut [f32],
    outputs: &mut [f32],
    partial: &mut [f32],
) {
    let (h, rows) = (net.bias.len(), batch.rows.len());
    let mut start = 0;
    while start < rows {
        let end = (start + BLOCK).min(rows);
        for r in start..end {
            let at = r - start;
            let mut j = 0;
            while j + 4 * L::N <= h {
                gather::<L, K, F, 4, true>(batch, r, j, 0, net, a, slope, partial, at);
                j += 4 * L::N;
            }
            while j + L::N <= h {
                gather::<L, K, F, 1, true>(batch, r, j, 0, net, a, slope, partial, at);
                j += L::N;
            }
            if j < h {
                gather::<L, K, F, 1, false>(batch, r, j, h - j, net, a, slope, partial, at);
            }
        }
        for view in 0..batch.views() {
            let outputs = &mut outputs[(view * rows + start) * K..(view * rows + end) * K];
            add_up::<L>(&partial[view * BLOCK * K * L::N..], outputs);
        }
        start = end;
    }
}

/// outputs[i] = the sum of the lanes of vector i.
#[inline(always)]
fn add_up<L: Lanes>(vectors: &[f32], outputs: &mut [f32]) {
    assert!(vectors.len() >= outputs.len() * L::N);
    let mut at = 0;
    while at < outputs.len() {
        let count = (outputs.len() - at).min(L::N);
        let mut sum = [L::splat(0.0); MAX_LANES];
        // SAFETY: there are `outputs.len()` vectors and as many outputs, of which `count` from `at`.
        unsafe {
            for i in 0..L::N {
                if i < count {
                    sum[i] = L::load(vectors.as_ptr().add((at + i) * L::N));
                }
            }
            sums(sum).store_part(outputs.as_mut_ptr().add(at), count);
        }
        at += count;
    }
}

/// Entries j.. of every view of row r: V vectors, or if not FULL the `n` entries that are left.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn gather<L: Lanes, const K: usize, const F: u8, const V: usize, const FULL: bool>(
    batch: &Batch<'_>,
    r: usize,
    j: usize,
    n: usize,
    net: Shallow<'_, f32>,
    a: &mut [f32],
    slope: &mut [f32],
    partial: &mut [f32],
    place: usize,
) {
    let (h, rows, row) = (net.bias.len(), batch.rows.len(), batch.rows[r] as usize);
    debug_assert!(j + if FULL { V * L::N } else { n } <= h);
    let mut sum = [L::splat(0.0); V];
    // SAFETY: the bias, every row of the weights, of U and of a (and for SiLU of the slopes) have h
    // entries (checked by `forward_lanes`), of which j.. are V vectors, or n entries (checked by
    // `rows`). `weights_at` checks that the row of the weights exists.
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
        let active = finish::<L, F, V, FULL>(sum, z, kept, n);
        output::<L, K, V, FULL>(active, net, j, n, &mut partial[place * K * L::N..][..K * L::N]);
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
            let active = finish::<L, F, V, FULL>(moved, z, kept, n);
            let place = (view + 1) * BLOCK + place;
            output::<L, K, V, FULL>(
                active,
                net,
                j,
                n,
                &mut partial[place * K * L::N..][..K * L::N],
            );
        }
    }
}

/// Adds U_o a over the hidden units j.. to the vector of output o; the first of them starts it with
/// u_o.
///
/// # Safety
/// The K rows of U have h entries, of which j.. are V vectors, or n entries if not FULL.
#[inline(always)]
unsafe fn output<L: Lanes, const K: usize, const V: usize, const FULL: bool>(
    a: [L; V],
    net: Shallow<'_, f32>,
    j: usize,
    n: usize,
    partial: &mut [f32],
) {
    let h = net.bias.len();
    assert!(partial.len() == K * L::N && net.head_bias.len() == K);
    for o in 0..K {
        let to = partial[o * L::N..].as_mut_ptr();
        // SAFETY: `partial` has K vectors, the bias K numbers; U by the caller's promise.
        unsafe {
            let mut sum =
                if j == 0 { L::load_part(&raw const net.head_bias[o], 1) } else { L::load(to) };
            for v in 0..V {
                let u = L::load_if::<FULL>(net.head.as_ptr().add(o * h + j + v * L::N), n);
                sum = a[v].fma(u, sum);
            }
            sum.store(to);
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
                        d[v] =
                            if o == 0 { s[o].mul(head[o][v]) } else { s[o].fma(head[o][v], d[v]) };
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

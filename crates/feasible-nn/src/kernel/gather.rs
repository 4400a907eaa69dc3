//! The first layer on rows that are mostly indicators, for x and its counterfactuals at once.
//!
//! $z_r = b + \sum_{c\ \mathrm{hot}} W_c + \sum_{c\ \mathrm{dense}} x_{rc} W_c$, where $W_c$ is row
//! c of the input-major weights: a row that is switched on is added, a zero costs nothing. A
//! counterfactual view adds a few rows more, $z_{vr} = z_r + \sum_c \Delta_{rc} W_c$, while $z_r$ is
//! still in registers; and so is the activation taken, if one is asked for.

use feasible::{Batch, Shift, ViewShift};

use super::activation::{IDENTITY, RELU, SIGMOID, SILU, TANH, finish};
use crate::activation::Activation;
use crate::simd::{Lanes, dispatch, vectors, whole};

/// A first layer's parameters: W (d × h) and b (h).
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a, T> {
    /// One row of h numbers per input column.
    pub weights: &'a [T],
    /// h numbers.
    pub bias: &'a [T],
}

dispatch!(gather => gather_lanes(
    batch: &Batch<'_>,
    dense: bool,
    layer: Weights<'_, f32>,
    activation: Option<Activation>,
    z: &mut [f32],
    slope: &mut [f32],
));

#[inline(always)]
fn gather_lanes<L: Lanes>(
    batch: &Batch<'_>,
    dense: bool,
    layer: Weights<'_, f32>,
    activation: Option<Activation>,
    z: &mut [f32],
    slope: &mut [f32],
) {
    let len = batch.output_rows() * layer.bias.len();
    assert!(z.len() == len && (activation != Some(Activation::Silu) || slope.len() == len));
    match activation {
        None => gather_rows::<L, IDENTITY>(batch, dense, layer, z, slope),
        Some(Activation::Sigmoid) => gather_rows::<L, SIGMOID>(batch, dense, layer, z, slope),
        Some(Activation::Tanh) => gather_rows::<L, TANH>(batch, dense, layer, z, slope),
        Some(Activation::Relu) => gather_rows::<L, RELU>(batch, dense, layer, z, slope),
        Some(Activation::Silu) => gather_rows::<L, SILU>(batch, dense, layer, z, slope),
    }
}

#[inline(always)]
fn gather_rows<L: Lanes, const F: u8>(
    batch: &Batch<'_>,
    dense: bool,
    layer: Weights<'_, f32>,
    z: &mut [f32],
    slope: &mut [f32],
) {
    let h = layer.bias.len();
    for r in 0..batch.rows.len() {
        let mut j = 0;
        while j + 4 * L::N <= h {
            gather_block::<L, F, 4, true>(batch, dense, layer, r, j, 4 * L::N, z, slope);
            j += 4 * L::N;
        }
        while j + L::N <= h {
            gather_block::<L, F, 1, true>(batch, dense, layer, r, j, L::N, z, slope);
            j += L::N;
        }
        if j < h {
            gather_block::<L, F, 1, false>(batch, dense, layer, r, j, h - j, z, slope);
        }
    }
}

/// `len` entries from j on of every view of batch position r: V vectors, or less than one if not FULL.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn gather_block<L: Lanes, const F: u8, const V: usize, const FULL: bool>(
    batch: &Batch<'_>,
    dense: bool,
    layer: Weights<'_, f32>,
    r: usize,
    j: usize,
    len: usize,
    z: &mut [f32],
    slope: &mut [f32],
) {
    let Weights { weights, bias } = layer;
    let (h, rows, row) = (bias.len(), batch.rows.len(), batch.rows[r] as usize);
    // Once, so that in the loops only rows of the weights are checked.
    assert!(j <= h && len <= h - j);
    let mut sum = vectors::<L, V, FULL>(&bias[j..][..len]);
    for &c in batch.inputs.hot(row) {
        let w = vectors::<L, V, FULL>(&weights[c as usize * h..][..h][j..][..len]);
        for v in 0..V {
            sum[v] = sum[v].add(w[v]);
        }
    }
    if dense {
        for (&c, &x) in batch.inputs.dense_columns().iter().zip(batch.inputs.dense_row(row)) {
            let w = vectors::<L, V, FULL>(&weights[c as usize * h..][..h][j..][..len]);
            let x = L::splat(x);
            for v in 0..V {
                sum[v] = x.fma(w[v], sum[v]);
            }
        }
    }
    finish_at::<L, F, V, FULL>(sum, r * h + j, len, z, slope);
    for (view, kind) in batch.shifts.iter().enumerate() {
        let ViewShift::Sparse(shift) = kind else { continue };
        let mut moved = sum;
        for (c, delta) in shift.row(row) {
            let w = vectors::<L, V, FULL>(&weights[c as usize * h..][..h][j..][..len]);
            let delta = L::splat(delta);
            for v in 0..V {
                moved[v] = delta.fma(w[v], moved[v]);
            }
        }
        let at = ((view + 1) * rows + r) * h + j;
        finish_at::<L, F, V, FULL>(moved, at, len, z, slope);
    }
}

/// [`finish`] at a place of z and, for SiLU, of the slopes.
#[inline(always)]
fn finish_at<L: Lanes, const F: u8, const V: usize, const FULL: bool>(
    x: [L; V],
    at: usize,
    len: usize,
    z: &mut [f32],
    slope: &mut [f32],
) {
    let slope = if F == SILU { &mut slope[at..][..len] } else { &mut [] };
    finish::<L, F, V, FULL>(x, &mut z[at..][..len], slope);
}

dispatch!(shift => shift_lanes(
    rows: &[u32], shift: &Shift, h: usize, weights: &[f32], z: &[f32], moved: &mut [f32],
));

#[inline(always)]
fn shift_lanes<L: Lanes>(
    rows: &[u32],
    shift: &Shift,
    h: usize,
    weights: &[f32],
    z: &[f32],
    moved: &mut [f32],
) {
    moved.copy_from_slice(z);
    for (&row, moved) in rows.iter().zip(moved.chunks_exact_mut(h)) {
        for (c, delta) in shift.row(row as usize) {
            axpy::<L>(delta, &weights[c as usize * h..][..h], moved);
        }
    }
}

/// y += a·x.
#[inline(always)]
pub(super) fn axpy<L: Lanes>(a: f32, x: &[f32], y: &mut [f32]) {
    assert_eq!(x.len(), y.len());
    let a = L::splat(a);
    let vectors = whole(y.len(), L::N);
    let ((x, x_rest), (y, y_rest)) = (x.split_at(vectors), y.split_at_mut(vectors));
    for (x, y) in x.chunks_exact(L::N).zip(y.chunks_exact_mut(L::N)) {
        a.fma(L::of(x), L::of(y)).put(y);
    }
    if !y_rest.is_empty() {
        a.fma(L::of_part(x_rest), L::of_part(y_rest)).put_part(y_rest);
    }
}

/// The plain loops.
pub(super) mod plain {
    use feasible::{Batch, Real, Shift, ViewShift};

    use super::super::activation::plain::activate;
    use super::Weights;
    use crate::activation::Activation;

    pub fn gather<T: Real>(
        batch: &Batch<'_>,
        dense: bool,
        layer: Weights<'_, T>,
        activation: Option<Activation>,
        z: &mut [T],
        slope: &mut [T],
    ) {
        let Weights { weights, bias } = layer;
        let (h, rows) = (bias.len(), batch.rows.len());
        let (first, moved) = z.split_at_mut(rows * h);
        for (&row, z) in batch.rows.iter().zip(first.chunks_exact_mut(h)) {
            z.copy_from_slice(bias);
            for &c in batch.inputs.hot(row as usize) {
                axpy(T::ONE, &weights[c as usize * h..][..h], z);
            }
            if dense {
                let columns = batch.inputs.dense_columns();
                for (&c, &x) in columns.iter().zip(batch.inputs.dense_row(row as usize)) {
                    axpy(T::from_f32(x), &weights[c as usize * h..][..h], z);
                }
            }
        }
        for (view, kind) in batch.shifts.iter().enumerate() {
            if let ViewShift::Sparse(moves) = kind {
                let moved = &mut moved[view * rows * h..][..rows * h];
                shift(batch.rows, moves, h, weights, first, moved);
            }
        }
        if let Some(activation) = activation {
            activate(activation, z, slope);
        }
    }

    pub fn shift<T: Real>(
        rows: &[u32],
        shift: &Shift,
        h: usize,
        weights: &[T],
        z: &[T],
        moved: &mut [T],
    ) {
        moved.copy_from_slice(z);
        for (&row, moved) in rows.iter().zip(moved.chunks_exact_mut(h)) {
            for (c, delta) in shift.row(row as usize) {
                axpy(T::from_f32(delta), &weights[c as usize * h..][..h], moved);
            }
        }
    }

    pub fn axpy<T: Real>(a: T, x: &[T], y: &mut [T]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y += a * x;
        }
    }
}

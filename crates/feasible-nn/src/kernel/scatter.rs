//! The first layer's gradient on rows that are mostly indicators.
//!
//! With $s_r = \sum_v \mathrm{d}z_{vr}$ the sum over the views, $\mathrm{d}W_c \mathrel{+}= s_r$ for
//! every hot column c of row r, $\mathrm{d}W_c \mathrel{+}= x_{rc} s_r$ for every dense one,
//! $\mathrm{d}b \mathrel{+}= s_r$, and for each counterfactual view
//! $\mathrm{d}W_c \mathrel{+}= \Delta_{rc}\,\mathrm{d}z_{vr}$ on the few columns it changes.

use feasible::{Batch, ViewShift};

use crate::simd::{Lanes, dispatch, put_vectors, vectors};

dispatch!(scatter => scatter_lanes(
    batch: &Batch<'_>, dense: bool, dz: &mut [f32], weights: &mut [f32], bias: &mut [f32],
));

#[inline(always)]
fn scatter_lanes<L: Lanes>(
    batch: &Batch<'_>,
    dense: bool,
    dz: &mut [f32],
    weights: &mut [f32],
    bias: &mut [f32],
) {
    let h = bias.len();
    assert_eq!(dz.len(), batch.output_rows() * h);
    let mut j = 0;
    while j + 4 * L::N <= h {
        scatter_block::<L, 4, true>(batch, dense, j, 4 * L::N, dz, weights, bias);
        j += 4 * L::N;
    }
    while j + L::N <= h {
        scatter_block::<L, 1, true>(batch, dense, j, L::N, dz, weights, bias);
        j += L::N;
    }
    if j < h {
        scatter_block::<L, 1, false>(batch, dense, j, h - j, dz, weights, bias);
    }
}

/// `len` entries from j on of every row: V vectors, or less than one if not FULL. The bias stays in registers, and
/// the part of the gradient that is written stays in the cache.
#[inline(always)]
fn scatter_block<L: Lanes, const V: usize, const FULL: bool>(
    batch: &Batch<'_>,
    dense: bool,
    j: usize,
    len: usize,
    dz: &mut [f32],
    weights: &mut [f32],
    bias: &mut [f32],
) {
    let (h, rows) = (bias.len(), batch.rows.len());
    // Once, so that in the loops only rows of the weights are checked.
    assert!(j <= h && len <= h - j);
    let one = L::splat(1.0);
    let mut total = [L::splat(0.0); V];
    for (r, &row) in batch.rows.iter().enumerate() {
        let row = row as usize;
        let mut sum = vectors::<L, V, FULL>(&dz[r * h + j..][..len]);
        for (view, kind) in batch.shifts.iter().enumerate() {
            let d = vectors::<L, V, FULL>(&dz[((view + 1) * rows + r) * h + j..][..len]);
            for v in 0..V {
                sum[v] = sum[v].add(d[v]);
            }
            if let ViewShift::Sparse(shift) = kind {
                for (c, delta) in shift.row(row) {
                    add::<L, V, FULL>(L::splat(delta), d, weights, h, c, j, len);
                }
            }
        }
        for v in 0..V {
            total[v] = total[v].add(sum[v]);
        }
        if !dense {
            put_vectors::<L, V, FULL>(sum, &mut dz[r * h + j..][..len]);
        }
        for &c in batch.inputs.hot(row) {
            add::<L, V, FULL>(one, sum, weights, h, c, j, len);
        }
        if dense {
            let columns = batch.inputs.dense_columns();
            for (&c, &x) in columns.iter().zip(batch.inputs.dense_row(row)) {
                add::<L, V, FULL>(L::splat(x), sum, weights, h, c, j, len);
            }
        }
    }
    add::<L, V, FULL>(one, total, bias, h, 0, j, len);
}

/// Adds a·s to `len` entries from j on of row c, one of h numbers.
#[inline(always)]
pub(super) fn add<L: Lanes, const V: usize, const FULL: bool>(
    a: L,
    s: [L; V],
    weights: &mut [f32],
    h: usize,
    c: u32,
    j: usize,
    len: usize,
) {
    let to = &mut weights[c as usize * h..][..h][j..][..len];
    // Vector by vector: callers have no registers to spare.
    for v in 0..V {
        let to = &mut to[v * L::N..];
        a.fma(s[v], L::of_if::<FULL>(to)).put_if::<FULL>(to);
    }
}

/// The plain loops.
pub(super) mod plain {
    use feasible::{Batch, Real, ViewShift};

    use super::super::gather::plain::axpy;

    pub fn scatter<T: Real>(
        batch: &Batch<'_>,
        dense: bool,
        dz: &mut [T],
        weights: &mut [T],
        bias: &mut [T],
    ) {
        let (h, rows) = (bias.len(), batch.rows.len());
        let (sums, moved) = dz.split_at_mut(rows * h);
        for (r, (&row, s)) in batch.rows.iter().zip(sums.chunks_exact_mut(h)).enumerate() {
            for (v, kind) in batch.shifts.iter().enumerate() {
                let dz = &moved[(v * rows + r) * h..][..h];
                axpy(T::ONE, dz, s);
                if let ViewShift::Sparse(shift) = kind {
                    for (c, delta) in shift.row(row as usize) {
                        axpy(T::from_f32(delta), dz, &mut weights[c as usize * h..][..h]);
                    }
                }
            }
            axpy(T::ONE, s, bias);
            for &c in batch.inputs.hot(row as usize) {
                axpy(T::ONE, s, &mut weights[c as usize * h..][..h]);
            }
            if dense {
                let columns = batch.inputs.dense_columns();
                for (&c, &x) in columns.iter().zip(batch.inputs.dense_row(row as usize)) {
                    axpy(T::from_f32(x), s, &mut weights[c as usize * h..][..h]);
                }
            }
        }
    }
}

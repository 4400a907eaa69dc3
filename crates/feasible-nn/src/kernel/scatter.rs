//! The first layer's gradient on rows that are mostly indicators.
//!
//! With $s_r = \sum_v \mathrm{d}z_{vr}$ the sum over the views, $\mathrm{d}W_c \mathrel{+}= s_r$ for
//! every hot column c of row r, $\mathrm{d}W_c \mathrel{+}= x_{rc} s_r$ for every dense one,
//! $\mathrm{d}b \mathrel{+}= s_r$, and for each counterfactual view
//! $\mathrm{d}W_c \mathrel{+}= \Delta_{rc}\,\mathrm{d}z_{vr}$ on the few columns it changes.

#![allow(unsafe_code)]

use feasible::{Batch, ViewShift};

use crate::simd::{Lanes, dispatch};

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
        scatter_block::<L, 4, true>(batch, dense, j, 0, dz, weights, bias);
        j += 4 * L::N;
    }
    while j + L::N <= h {
        scatter_block::<L, 1, true>(batch, dense, j, 0, dz, weights, bias);
        j += L::N;
    }
    if j < h {
        scatter_block::<L, 1, false>(batch, dense, j, h - j, dz, weights, bias);
    }
}

/// Entries j.. of every row: V vectors, or if not FULL the `n` entries that are left. The bias
/// stays in registers, and the part of the gradient that is written stays in the cache.
#[inline(always)]
fn scatter_block<L: Lanes, const V: usize, const FULL: bool>(
    batch: &Batch<'_>,
    dense: bool,
    j: usize,
    n: usize,
    dz: &mut [f32],
    weights: &mut [f32],
    bias: &mut [f32],
) {
    let (h, rows) = (bias.len(), batch.rows.len());
    assert!(j + if FULL { V * L::N } else { n } <= h);
    let mut total = [L::splat(0.0); V];
    // SAFETY: the bias, every row of the weights and every row of dz (its length is checked by
    // `scatter_lanes`) have h entries, of which j.. are V vectors, or n entries, as asserted
    // above. Slicing checks that the row of the weights exists.
    unsafe {
        for (r, &row) in batch.rows.iter().enumerate() {
            let row = row as usize;
            let first = dz.as_mut_ptr().add(r * h + j);
            let mut sum = [L::splat(0.0); V];
            for v in 0..V {
                sum[v] = L::load_if::<FULL>(first.add(v * L::N), n);
            }
            for (view, kind) in batch.shifts.iter().enumerate() {
                let from = dz.as_ptr().add(((view + 1) * rows + r) * h + j);
                let mut d = [L::splat(0.0); V];
                for v in 0..V {
                    d[v] = L::load_if::<FULL>(from.add(v * L::N), n);
                    sum[v] = sum[v].add(d[v]);
                }
                if let ViewShift::Sparse(shift) = kind {
                    for (c, delta) in shift.row(row) {
                        add::<L, V, FULL>(weights, h, c, j, n, L::splat(delta), d);
                    }
                }
            }
            for v in 0..V {
                total[v] = total[v].add(sum[v]);
                if !dense {
                    sum[v].store_if::<FULL>(first.add(v * L::N), n);
                }
            }
            for &c in batch.inputs.hot(row) {
                add::<L, V, FULL>(weights, h, c, j, n, L::splat(1.0), sum);
            }
            if dense {
                let columns = batch.inputs.dense_columns();
                for (&c, &x) in columns.iter().zip(batch.inputs.dense_row(row)) {
                    add::<L, V, FULL>(weights, h, c, j, n, L::splat(x), sum);
                }
            }
        }
        for v in 0..V {
            let to = bias.as_mut_ptr().add(j + v * L::N);
            L::load_if::<FULL>(to, n).add(total[v]).store_if::<FULL>(to, n);
        }
    }
}

/// Adds a·s to entries j.. of row c.
///
/// # Safety
/// A row has h entries, of which j.. are V vectors, or n entries if not FULL.
#[inline(always)]
pub(super) unsafe fn add<L: Lanes, const V: usize, const FULL: bool>(
    weights: &mut [f32],
    h: usize,
    c: u32,
    j: usize,
    n: usize,
    a: L,
    s: [L; V],
) {
    let w = weights[c as usize * h..][..h].as_mut_ptr();
    for v in 0..V {
        // SAFETY: the caller's promise; slicing has checked that the row exists.
        unsafe {
            let to = w.add(j + v * L::N);
            a.fma(s[v], L::load_if::<FULL>(to, n)).store_if::<FULL>(to, n);
        }
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

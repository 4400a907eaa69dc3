//! The first layer's gradient on rows that are mostly indicators.
//!
//! With $s_r = \sum_v \mathrm{d}z_{vr}$ the sum over the views, $\mathrm{d}W_c \mathrel{+}= s_r$ for
//! every hot column c of row r, $\mathrm{d}W_c \mathrel{+}= x_{rc} s_r$ for every dense one,
//! $\mathrm{d}b \mathrel{+}= s_r$, and for each counterfactual view
//! $\mathrm{d}W_c \mathrel{+}= \Delta_{rc}\,\mathrm{d}z_{vr}$ on the few columns it changes.

#![allow(unsafe_code)]

use feasible::{Batch, ViewShift};

use super::gather::axpy;
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
    let (h, rows) = (bias.len(), batch.rows.len());
    let columns = if dense { batch.inputs.dense_columns() } else { &[] };
    let (sums, moved) = dz.split_at_mut(rows * h);
    assert_eq!(moved.len(), batch.shifts.len() * rows * h);
    for (r, (&row, s)) in batch.rows.iter().zip(sums.chunks_exact_mut(h)).enumerate() {
        for (v, kind) in batch.shifts.iter().enumerate() {
            let dz = &moved[(v * rows + r) * h..][..h];
            axpy::<L>(1.0, dz, s);
            if let ViewShift::Sparse(shift) = kind {
                for (c, delta) in shift.row(row as usize) {
                    axpy::<L>(delta, dz, &mut weights[c as usize * h..][..h]);
                }
            }
        }
        let hot = batch.inputs.hot(row as usize);
        let x = if dense { batch.inputs.dense_row(row as usize) } else { &[] };
        let mut j = 0;
        while j + 4 * L::N <= h {
            add_to_rows::<L, 4, true>(weights, j, 0, hot, columns, x, s, bias);
            j += 4 * L::N;
        }
        while j + L::N <= h {
            add_to_rows::<L, 1, true>(weights, j, 0, hot, columns, x, s, bias);
            j += L::N;
        }
        if j < h {
            add_to_rows::<L, 1, false>(weights, j, h - j, hot, columns, x, s, bias);
        }
    }
}

/// Adds entries j.. of s to those of the bias and of every row that is on.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn add_to_rows<L: Lanes, const V: usize, const FULL: bool>(
    weights: &mut [f32],
    j: usize,
    n: usize,
    hot: &[u32],
    columns: &[u32],
    x: &[f32],
    s: &[f32],
    bias: &mut [f32],
) {
    let h = bias.len();
    assert!(s.len() == h && j + if FULL { V * L::N } else { n } <= h);
    let (from, b) = (s.as_ptr(), bias.as_mut_ptr());
    let mut s = [L::splat(0.0); V];
    // SAFETY: s, the bias and every row of the weights have h entries, of which j.. are V
    // vectors, or n entries, as asserted above. Slicing checks that the row exists.
    unsafe {
        for v in 0..V {
            s[v] = L::load_if::<FULL>(from.add(j + v * L::N), n);
            let p = b.add(j + v * L::N);
            L::load_if::<FULL>(p, n).add(s[v]).store_if::<FULL>(p, n);
        }
        for &c in hot {
            let w = weights[c as usize * h..][..h].as_mut_ptr();
            for v in 0..V {
                let p = w.add(j + v * L::N);
                L::load_if::<FULL>(p, n).add(s[v]).store_if::<FULL>(p, n);
            }
        }
        for (&c, &x) in columns.iter().zip(x) {
            let w = weights[c as usize * h..][..h].as_mut_ptr();
            let x = L::splat(x);
            for v in 0..V {
                let p = w.add(j + v * L::N);
                x.fma(s[v], L::load_if::<FULL>(p, n)).store_if::<FULL>(p, n);
            }
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

//! The first layer on rows that are mostly indicators.
//!
//! $z_r = b + \sum_{c\ \mathrm{hot}} W_c + \sum_{c\ \mathrm{dense}} x_{rc} W_c$, where $W_c$ is row
//! c of the input-major weights: a row that is switched on is added, a zero costs nothing. A
//! counterfactual view adds a few rows more: $z_{vr} = z_r + \sum_c \Delta_{rc} W_c$.

#![allow(unsafe_code)]

use feasible::{Batch, Shift};

use crate::simd::{Lanes, dispatch};

dispatch!(gather => gather_lanes(
    batch: &Batch<'_>, dense: bool, weights: &[f32], bias: &[f32], z: &mut [f32],
));

#[inline(always)]
fn gather_lanes<L: Lanes>(
    batch: &Batch<'_>,
    dense: bool,
    weights: &[f32],
    bias: &[f32],
    z: &mut [f32],
) {
    let h = bias.len();
    let columns = if dense { batch.inputs.dense_columns() } else { &[] };
    for (&row, z) in batch.rows.iter().zip(z.chunks_exact_mut(h)) {
        let hot = batch.inputs.hot(row as usize);
        let x = if dense { batch.inputs.dense_row(row as usize) } else { &[] };
        z.copy_from_slice(bias);
        let mut j = 0;
        while j + 4 * L::N <= h {
            add_rows::<L, 4, true>(weights, h, j, 0, hot, columns, x, z);
            j += 4 * L::N;
        }
        while j + L::N <= h {
            add_rows::<L, 1, true>(weights, h, j, 0, hot, columns, x, z);
            j += L::N;
        }
        if j < h {
            add_rows::<L, 1, false>(weights, h, j, h - j, hot, columns, x, z);
        }
    }
}

/// Entries j.. of z plus those of the rows that are on: V vectors, or if not FULL the `n` entries
/// that are left.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn add_rows<L: Lanes, const V: usize, const FULL: bool>(
    weights: &[f32],
    h: usize,
    j: usize,
    n: usize,
    hot: &[u32],
    columns: &[u32],
    x: &[f32],
    z: &mut [f32],
) {
    assert!(z.len() == h && j + if FULL { V * L::N } else { n } <= h);
    let z = z.as_mut_ptr();
    let mut sum = [L::splat(0.0); V];
    // SAFETY: z and every row of the weights have h entries, of which j.. are V vectors, or n
    // entries, as asserted above. Slicing checks that the row exists.
    unsafe {
        for v in 0..V {
            sum[v] = L::load_if::<FULL>(z.add(j + v * L::N), n);
        }
        for &c in hot {
            let w = weights[c as usize * h..][..h].as_ptr();
            for v in 0..V {
                sum[v] = sum[v].add(L::load_if::<FULL>(w.add(j + v * L::N), n));
            }
        }
        for (&c, &x) in columns.iter().zip(x) {
            let w = weights[c as usize * h..][..h].as_ptr();
            let x = L::splat(x);
            for v in 0..V {
                sum[v] = x.fma(L::load_if::<FULL>(w.add(j + v * L::N), n), sum[v]);
            }
        }
        for v in 0..V {
            sum[v].store_if::<FULL>(z.add(j + v * L::N), n);
        }
    }
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
    for ((&row, z), moved) in rows.iter().zip(z.chunks_exact(h)).zip(moved.chunks_exact_mut(h)) {
        moved.copy_from_slice(z);
        for (c, delta) in shift.row(row as usize) {
            let w = &weights[c as usize * h..][..h];
            axpy::<L>(delta, w, moved);
        }
    }
}

/// y += a·x.
#[inline(always)]
pub(super) fn axpy<L: Lanes>(a: f32, x: &[f32], y: &mut [f32]) {
    let h = y.len();
    assert_eq!(x.len(), h);
    let (a, x, y) = (L::splat(a), x.as_ptr(), y.as_mut_ptr());
    let mut j = 0;
    // SAFETY: x and y have h entries, and j.. never passes h.
    unsafe {
        while j + L::N <= h {
            a.fma(L::load(x.add(j)), L::load(y.add(j))).store(y.add(j));
            j += L::N;
        }
        if j < h {
            let n = h - j;
            a.fma(L::load_part(x.add(j), n), L::load_part(y.add(j), n)).store_part(y.add(j), n);
        }
    }
}

/// The plain loops.
pub(super) mod plain {
    use feasible::{Batch, Real, Shift};

    pub fn gather<T: Real>(batch: &Batch<'_>, dense: bool, weights: &[T], bias: &[T], z: &mut [T]) {
        let h = bias.len();
        for (&row, z) in batch.rows.iter().zip(z.chunks_exact_mut(h)) {
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

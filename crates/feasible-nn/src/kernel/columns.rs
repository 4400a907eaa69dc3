//! Column sums $\mathrm{out}_j \mathrel{+}= \sum_i a_{ij}$: the gradient of a bias.

#![allow(unsafe_code)]

use crate::simd::{Lanes, MAX_LANES, dispatch};

dispatch!(column_sums => column_sums_lanes(a: &[f32], out: &mut [f32]));

#[inline(always)]
fn column_sums_lanes<L: Lanes>(a: &[f32], out: &mut [f32]) {
    let n = out.len();
    if n == 0 {
        return;
    }
    assert!(a.len().is_multiple_of(n));
    if n < L::N {
        narrow::<L>(a, out);
        return;
    }
    let mut j = 0;
    while j + 4 * L::N <= n {
        block::<L, 4, true>(a, out, j, 0);
        j += 4 * L::N;
    }
    while j + L::N <= n {
        block::<L, 1, true>(a, out, j, 0);
        j += L::N;
    }
    if j < n {
        block::<L, 1, false>(a, out, j, n - j);
    }
}

/// Columns j.. in registers, down all rows.
#[inline(always)]
fn block<L: Lanes, const V: usize, const FULL: bool>(
    a: &[f32],
    out: &mut [f32],
    j: usize,
    part: usize,
) {
    let n = out.len();
    assert!(j + if FULL { V * L::N } else { part } <= n);
    let mut sum = [L::splat(0.0); V];
    // SAFETY: `out` and every row have n entries, of which j.. are those summed.
    unsafe {
        for row in a.chunks_exact(n) {
            for v in 0..V {
                sum[v] = sum[v].add(L::load_if::<FULL>(row.as_ptr().add(j + v * L::N), part));
            }
        }
        for v in 0..V {
            let to = out.as_mut_ptr().add(j + v * L::N);
            L::load_if::<FULL>(to, part).add(sum[v]).store_if::<FULL>(to, part);
        }
    }
}

/// Fewer columns than lanes: n vectors hold N whole rows, so adding n vectors at a time keeps
/// every lane in its column.
#[inline(always)]
fn narrow<L: Lanes>(a: &[f32], out: &mut [f32]) {
    let n = out.len();
    let mut sum = [L::splat(0.0); MAX_LANES];
    let period = n * L::N;
    let chunks = a.chunks_exact(period);
    let rest = chunks.remainder();
    for chunk in chunks {
        for v in 0..n {
            // SAFETY: the chunk is n vectors.
            sum[v] = sum[v].add(unsafe { L::load(chunk.as_ptr().add(v * L::N)) });
        }
    }
    let mut lanes = [0.0; MAX_LANES];
    for v in 0..n {
        // SAFETY: `lanes` holds MAX_LANES ≥ N numbers.
        unsafe { sum[v].store(lanes.as_mut_ptr()) };
        for (i, x) in lanes.iter().enumerate().take(L::N) {
            out[(v * L::N + i) % n] += x;
        }
    }
    for (i, x) in rest.iter().enumerate() {
        out[i % n] += x;
    }
}

/// The plain loop.
pub(super) mod plain {
    use feasible::Real;

    use super::super::gather::plain::axpy;

    pub fn column_sums<T: Real>(a: &[T], out: &mut [T]) {
        if out.is_empty() {
            return;
        }
        for row in a.chunks_exact(out.len()) {
            axpy(T::ONE, row, out);
        }
    }
}

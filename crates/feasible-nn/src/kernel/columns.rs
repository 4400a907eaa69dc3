//! Column sums $\mathrm{out}_j \mathrel{+}= \sum_i a_{ij}$: the gradient of a bias.

use crate::simd::{Lanes, MAX_LANES, dispatch, put_vectors, vectors};

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
        block::<L, 4, true>(a, out, j, 4 * L::N);
        j += 4 * L::N;
    }
    while j + L::N <= n {
        block::<L, 1, true>(a, out, j, L::N);
        j += L::N;
    }
    if j < n {
        block::<L, 1, false>(a, out, j, n - j);
    }
}

/// `len` columns from j on in registers, down all rows: V vectors, or less than one if not FULL.
#[inline(always)]
fn block<L: Lanes, const V: usize, const FULL: bool>(
    a: &[f32],
    out: &mut [f32],
    j: usize,
    len: usize,
) {
    let mut sum = [L::splat(0.0); V];
    for row in a.chunks_exact(out.len()) {
        let row = vectors::<L, V, FULL>(&row[j..][..len]);
        for v in 0..V {
            sum[v] = sum[v].add(row[v]);
        }
    }
    let to = &mut out[j..][..len];
    let before = vectors::<L, V, FULL>(to);
    for v in 0..V {
        sum[v] = before[v].add(sum[v]);
    }
    put_vectors::<L, V, FULL>(sum, to);
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
        for (sum, x) in sum.iter_mut().zip(chunk.chunks_exact(L::N)) {
            *sum = sum.add(L::of(x));
        }
    }
    let mut lanes = [0.0; MAX_LANES];
    for v in 0..n {
        sum[v].put(&mut lanes);
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

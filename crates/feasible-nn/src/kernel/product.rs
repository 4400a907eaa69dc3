//! Matrix products: $C = A B$, $C = A B + b$ and $C \mathrel{+}= A B$, with A read by any strides.
//!
//! With strides (k, 1) A is itself, with (1, m) the transpose of a k × m matrix: the two forms
//! that a layer's backward pass needs. B and C are in row order. A tile of rows × vectors
//! of C stays in registers while the product runs down k, so each number loaded is used many
//! times; tiles shrink at the edges. No memory is allocated.

#![allow(unsafe_code)]

use std::ops::Range;

use crate::simd::{Lanes, dispatch};

/// A left factor: `rows` × `inner`, entry (i, p) at `i * strides.0 + p * strides.1`.
#[derive(Clone, Copy, Debug)]
pub struct Left<'a, T> {
    data: &'a [T],
    rows: usize,
    inner: usize,
    strides: (usize, usize),
}

impl<'a, T> Left<'a, T> {
    /// A matrix of `inner` columns in row order.
    pub fn new(data: &'a [T], rows: usize, inner: usize) -> Self {
        assert_eq!(data.len(), rows * inner);
        Self { data, rows, inner, strides: (inner, 1) }
    }

    /// Aᵀ.
    pub fn transpose(self) -> Self {
        let (row, step) = self.strides;
        Self { rows: self.inner, inner: self.rows, strides: (step, row), ..self }
    }

    /// Some columns of a matrix in row order.
    pub fn columns(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.inner && self.strides.1 == 1);
        let data = self.data.get(range.start..).unwrap_or(&[]);
        Self { data, inner: range.len(), ..self }
    }
}

/// What the product is added to.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a, T> {
    /// Nothing: C = AB.
    Zero,
    /// A row of n numbers: C = AB + b.
    Bias(&'a [T]),
    /// What is there: C += AB.
    Current,
}

dispatch!(product => product_lanes(
    a: Left<'_, f32>, b: &[f32], n: usize, start: Start<'_, f32>, c: &mut [f32],
));

#[inline(always)]
fn product_lanes<L: Lanes>(
    a: Left<'_, f32>,
    b: &[f32],
    n: usize,
    start: Start<'_, f32>,
    c: &mut [f32],
) {
    assert!(b.len() == a.inner * n && c.len() == a.rows * n);
    if let Start::Bias(bias) = start {
        assert_eq!(bias.len(), n);
    }
    match L::TILE {
        (6, 4) => panels::<L, 6, 4>(a, b, n, start, c),
        (6, 2) => panels::<L, 6, 2>(a, b, n, start, c),
        _ => panels::<L, 2, 2>(a, b, n, start, c),
    }
}

#[inline(always)]
fn panels<L: Lanes, const R: usize, const V: usize>(
    a: Left<'_, f32>,
    b: &[f32],
    n: usize,
    start: Start<'_, f32>,
    c: &mut [f32],
) {
    let mut j = 0;
    // SAFETY: `product_lanes` has checked the lengths of b, c and the bias, and the constructors
    // of Left that of a; panels cover columns j..n and nothing beyond.
    unsafe {
        while j + V * L::N <= n {
            panel::<L, R, V, true>(a, b, n, start, c, j, 0);
            j += V * L::N;
        }
        if V > 2 && j + 2 * L::N <= n {
            panel::<L, R, 2, true>(a, b, n, start, c, j, 0);
            j += 2 * L::N;
        }
        if j + L::N <= n {
            panel::<L, R, 1, true>(a, b, n, start, c, j, 0);
            j += L::N;
        }
        if j < n {
            panel::<L, R, 1, false>(a, b, n, start, c, j, n - j);
        }
    }
}

/// V vectors of columns from j on (or the `part` last columns), all rows.
///
/// # Safety
/// Those columns exist, and a, b, c and the bias have the lengths `product_lanes` checks.
#[inline(always)]
unsafe fn panel<L: Lanes, const R: usize, const V: usize, const FULL: bool>(
    a: Left<'_, f32>,
    b: &[f32],
    n: usize,
    start: Start<'_, f32>,
    c: &mut [f32],
    j: usize,
    part: usize,
) {
    let mut i = 0;
    // SAFETY: rows i.. of each tile exist; the rest is the caller's promise.
    unsafe {
        while i + R <= a.rows {
            tile::<L, R, V, FULL>(a, b, n, start, c, i, j, part);
            i += R;
        }
        if R > 4 && i + 4 <= a.rows {
            tile::<L, 4, V, FULL>(a, b, n, start, c, i, j, part);
            i += 4;
        }
        if R > 2 && i + 2 <= a.rows {
            tile::<L, 2, V, FULL>(a, b, n, start, c, i, j, part);
            i += 2;
        }
        if i < a.rows {
            tile::<L, 1, V, FULL>(a, b, n, start, c, i, j, part);
        }
    }
}

/// # Safety
/// As [`panel`], and rows i..i + R exist.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn tile<L: Lanes, const R: usize, const V: usize, const FULL: bool>(
    a: Left<'_, f32>,
    b: &[f32],
    n: usize,
    start: Start<'_, f32>,
    c: &mut [f32],
    i: usize,
    j: usize,
    part: usize,
) {
    let (row, step) = a.strides;
    let mut sum = [[L::splat(0.0); V]; R];
    // SAFETY: a's entry (i + R − 1, inner − 1) and columns j.. of b's and c's rows exist.
    unsafe {
        // Nothing is there if `inner` is 0, and past the end after the last round; `add` must stay
        // inside even where nothing is read.
        let mut a_at = a.data.as_ptr().wrapping_add(i * row);
        let mut b_at = b.as_ptr().wrapping_add(j);
        for _ in 0..a.inner {
            let mut right = [L::splat(0.0); V];
            for v in 0..V {
                right[v] = L::load_if::<FULL>(b_at.add(v * L::N), part);
            }
            for r in 0..R {
                let left = L::splat(*a_at.add(r * row));
                for v in 0..V {
                    sum[r][v] = left.fma(right[v], sum[r][v]);
                }
            }
            a_at = a_at.wrapping_add(step);
            b_at = b_at.wrapping_add(n);
        }
        for r in 0..R {
            let to = c.as_mut_ptr().add((i + r) * n + j);
            for v in 0..V {
                let to = to.add(v * L::N);
                let total = match start {
                    Start::Zero => sum[r][v],
                    Start::Bias(bias) => {
                        sum[r][v].add(L::load_if::<FULL>(bias.as_ptr().add(j + v * L::N), part))
                    }
                    Start::Current => sum[r][v].add(L::load_if::<FULL>(to, part)),
                };
                total.store_if::<FULL>(to, part);
            }
        }
    }
}

/// The plain loops.
pub(super) mod plain {
    use feasible::Real;

    use super::super::gather::plain::axpy;
    use super::{Left, Start};

    pub fn product<T: Real>(a: Left<'_, T>, b: &[T], n: usize, start: Start<'_, T>, c: &mut [T]) {
        assert!(b.len() == a.inner * n && c.len() == a.rows * n);
        if n == 0 {
            return;
        }
        for (i, c) in c.chunks_exact_mut(n).enumerate() {
            match start {
                Start::Zero => c.fill(T::ZERO),
                Start::Bias(bias) => c.copy_from_slice(bias),
                Start::Current => {}
            }
            for (p, b) in b.chunks_exact(n).enumerate() {
                axpy(a.data[i * a.strides.0 + p * a.strides.1], b, c);
            }
        }
    }
}

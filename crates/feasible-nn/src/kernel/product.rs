//! Matrix products: $C = A B$, $C = A B + b$ and $C \mathrel{+}= A B$, with A read by any strides.
//!
//! With strides (k, 1) A is itself, with (1, m) the transpose of a k × m matrix: the two forms
//! that a layer's backward pass needs. B and C are in row order. A tile of rows × vectors
//! of C stays in registers while the product runs down k, so each number loaded is used many
//! times; tiles shrink at the edges. No memory is allocated.

#![allow(unsafe_code)]

use std::ops::Range;

use crate::simd::{Lanes, dispatch, put_vectors, vectors};

/// A left factor: `rows` × `inner`, entry (i, p) at `i * strides.0 + p * strides.1`.
///
/// Every entry lies in `data`: the functions that make one see to it, and `down` and `along` rely on it.
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
        assert_eq!(Some(data.len()), rows.checked_mul(inner));
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

impl Left<'_, f32> {
    /// Entries (i, p), (i + 1, p), … in all lanes of R vectors.
    #[inline(always)]
    fn down<L: Lanes, const R: usize>(&self, i: usize, p: usize) -> [L; R] {
        assert!(R <= self.rows && i <= self.rows - R && p < self.inner);
        let (row, step) = self.strides;
        let mut all = [L::splat(0.0); R];
        // SAFETY: (i, p) to (i + R − 1, p) are entries, as asserted, and every entry lies in `data`. By pointer, not by
        // index, because the compiler then keeps one address for the R of them.
        unsafe {
            let at = self.data.as_ptr().add(i * row + p * step);
            for r in 0..R {
                all[r] = L::splat(*at.add(r * row));
            }
        }
        all
    }

    /// Entries (i, p), (i, p + 1), …: `len` of a row of a matrix in row order.
    #[inline(always)]
    pub(super) fn along(&self, i: usize, p: usize, len: usize) -> &[f32] {
        assert!(i < self.rows && p <= self.inner && len <= self.inner - p && self.strides.1 == 1);
        let at = i * self.strides.0 + p;
        // SAFETY: (i, p) to (i, p + len − 1) are entries one behind the other, as asserted, and every entry lies in
        // `data`.
        unsafe { self.data.get_unchecked(at..at + len) }
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
    let b = Left::new(b, a.inner, n);
    assert!(Some(c.len()) == a.rows.checked_mul(n));
    if let Start::Bias(bias) = start {
        assert_eq!(bias.len(), n);
    }
    match L::TILE {
        (6, 4) => panels::<L, 6, 4>(a, b, start, c),
        (6, 2) => panels::<L, 6, 2>(a, b, start, c),
        _ => panels::<L, 2, 2>(a, b, start, c),
    }
}

#[inline(always)]
fn panels<L: Lanes, const R: usize, const V: usize>(
    a: Left<'_, f32>,
    b: Left<'_, f32>,
    start: Start<'_, f32>,
    c: &mut [f32],
) {
    let n = b.inner;
    let mut j = 0;
    while j + V * L::N <= n {
        panel::<L, R, V, true>(a, b, start, c, j, V * L::N);
        j += V * L::N;
    }
    if V > 2 && j + 2 * L::N <= n {
        panel::<L, R, 2, true>(a, b, start, c, j, 2 * L::N);
        j += 2 * L::N;
    }
    if j + L::N <= n {
        panel::<L, R, 1, true>(a, b, start, c, j, L::N);
        j += L::N;
    }
    if j < n {
        panel::<L, R, 1, false>(a, b, start, c, j, n - j);
    }
}

/// `len` columns from j on, V vectors or less than one if not FULL, all rows.
#[inline(always)]
fn panel<L: Lanes, const R: usize, const V: usize, const FULL: bool>(
    a: Left<'_, f32>,
    b: Left<'_, f32>,
    start: Start<'_, f32>,
    c: &mut [f32],
    j: usize,
    len: usize,
) {
    let mut i = 0;
    while i + R <= a.rows {
        tile::<L, R, V, FULL>(a, b, start, c, i, j, len);
        i += R;
    }
    if R > 4 && i + 4 <= a.rows {
        tile::<L, 4, V, FULL>(a, b, start, c, i, j, len);
        i += 4;
    }
    if R > 2 && i + 2 <= a.rows {
        tile::<L, 2, V, FULL>(a, b, start, c, i, j, len);
        i += 2;
    }
    if i < a.rows {
        tile::<L, 1, V, FULL>(a, b, start, c, i, j, len);
    }
}

/// The same columns of rows i..i + R.
#[inline(always)]
fn tile<L: Lanes, const R: usize, const V: usize, const FULL: bool>(
    a: Left<'_, f32>,
    b: Left<'_, f32>,
    start: Start<'_, f32>,
    c: &mut [f32],
    i: usize,
    j: usize,
    len: usize,
) {
    let n = b.inner;
    // What `down` and `along` check, before the loop: inside it nothing is left of their checks.
    assert!(R <= a.rows && i <= a.rows - R && a.inner <= b.rows && j <= n && len <= n - j);
    let mut sum = [[L::splat(0.0); V]; R];
    for p in 0..a.inner {
        let right = vectors::<L, V, FULL>(b.along(p, j, len));
        let left = a.down::<L, R>(i, p);
        for r in 0..R {
            for v in 0..V {
                sum[r][v] = left[r].fma(right[v], sum[r][v]);
            }
        }
    }
    if let Start::Bias(bias) = start {
        let bias = vectors::<L, V, FULL>(&bias[j..][..len]);
        for r in 0..R {
            for v in 0..V {
                sum[r][v] = sum[r][v].add(bias[v]);
            }
        }
    }
    let rows = &mut c[i * n..];
    match start {
        Start::Current => write::<L, R, V, FULL, true>(sum, rows, n, j, len),
        Start::Zero | Start::Bias(_) => write::<L, R, V, FULL, false>(sum, rows, n, j, len),
    }
}

/// Writes a tile to the same columns of the first R of some rows of n numbers, adding it to what is there if ADD.
#[inline(always)]
fn write<L: Lanes, const R: usize, const V: usize, const FULL: bool, const ADD: bool>(
    mut tile: [[L; V]; R],
    mut rows: &mut [f32],
    n: usize,
    j: usize,
    len: usize,
) {
    for r in 0..R {
        let (row, below) = rows.split_at_mut(n);
        let to = &mut row[j..][..len];
        if ADD {
            let before = vectors::<L, V, FULL>(to);
            for v in 0..V {
                tile[r][v] = tile[r][v].add(before[v]);
            }
        }
        put_vectors::<L, V, FULL>(tile[r], to);
        rows = below;
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

//! Products with rows: $C = A B^\top + b$, a layer whose weights are kept output by output.
//!
//! A narrow layer (the outputs) is a dot product per number, sixteen of them summed at once. A
//! wide one is transposed first, which costs a few percent of the product, and multiplied as
//! usual.
#![allow(missing_docs, reason = "public for the tests of this crate alone")]

use crate::simd::{Lanes, MAX_LANES, dispatch, sums, transposed, whole};

dispatch!(pub dots => dots_lanes(
    a: &[f32], b: &[f32], inner: usize, n: usize, bias: Option<&[f32]>, c: &mut [f32],
));

/// C = ABᵀ + b by dot products; A has `inner` columns, B is n × `inner`.
#[inline(always)]
fn dots_lanes<L: Lanes>(
    a: &[f32],
    b: &[f32],
    inner: usize,
    n: usize,
    bias: Option<&[f32]>,
    c: &mut [f32],
) {
    if n == 0 {
        return;
    }
    let rows = c.len() / n;
    assert!(a.len() == rows * inner && b.len() == n * inner && c.len() == rows * n);
    let (mut i, mut j) = (0, 0);
    let (c, rest) = c.split_at_mut(whole(c.len(), L::N));
    // N dot products, whose lanes are added up together.
    for c in c.chunks_exact_mut(L::N) {
        let mut sum = [L::splat(0.0); MAX_LANES];
        for o in 0..L::N {
            sum[o] = dot::<L>(a, b, inner, i, j, bias);
            j += 1;
            if j == n {
                (i, j) = (i + 1, 0);
            }
        }
        sums(sum).put(c);
    }
    if !rest.is_empty() {
        let mut sum = [L::splat(0.0); MAX_LANES];
        for o in 0..rest.len() {
            sum[o] = dot::<L>(a, b, inner, i, j, bias);
            j += 1;
            if j == n {
                (i, j) = (i + 1, 0);
            }
        }
        sums(sum).put_part(rest);
    }
}

/// A vector whose lanes sum to ⟨aᵢ, bⱼ⟩ + biasⱼ.
#[inline(always)]
fn dot<L: Lanes>(
    a: &[f32],
    b: &[f32],
    inner: usize,
    i: usize,
    j: usize,
    bias: Option<&[f32]>,
) -> L {
    let (x, w) = (&a[i * inner..][..inner], &b[j * inner..][..inner]);
    let mut sum = match bias {
        Some(bias) => L::of_part(&bias[j..=j]),
        None => L::splat(0.0),
    };
    let vectors = whole(inner, L::N);
    let ((x, x_rest), (w, w_rest)) = (x.split_at(vectors), w.split_at(vectors));
    for (x, w) in x.chunks_exact(L::N).zip(w.chunks_exact(L::N)) {
        sum = L::of(x).fma(L::of(w), sum);
    }
    if !x_rest.is_empty() {
        sum = L::of_part(x_rest).fma(L::of_part(w_rest), sum);
    }
    sum
}

dispatch!(pub transpose => transpose_lanes(a: &[f32], rows: usize, columns: usize, out: &mut [f32]));

/// `out` (columns × rows) = Aᵀ.
#[inline(always)]
fn transpose_lanes<L: Lanes>(a: &[f32], rows: usize, columns: usize, out: &mut [f32]) {
    assert!(a.len() == rows * columns && out.len() == a.len());
    let mut i = 0;
    while i < rows {
        let high = (rows - i).min(L::N);
        let mut j = 0;
        while j < columns {
            let wide = (columns - j).min(L::N);
            let mut block = [L::splat(0.0); MAX_LANES];
            if rows - i >= L::N && columns - j >= L::N {
                let mut from = &a[i * columns..];
                for r in 0..L::N {
                    let (row, below) = from.split_at(columns);
                    (block[r], from) = (L::of(&row[j..]), below);
                }
                let block = transposed(block);
                let mut to = &mut out[j * rows..];
                for r in 0..L::N {
                    let (row, below) = to.split_at_mut(rows);
                    block[r].put(&mut row[i..]);
                    to = below;
                }
            } else {
                for r in 0..high {
                    for c in 0..wide {
                        out[(j + c) * rows + i + r] = a[(i + r) * columns + j + c];
                    }
                }
            }
            j += wide;
        }
        i += high;
    }
}

/// The plain loops.
pub(super) mod plain {
    use feasible::Real;

    pub fn dots<T: Real>(
        a: &[T],
        b: &[T],
        inner: usize,
        n: usize,
        bias: Option<&[T]>,
        c: &mut [T],
    ) {
        if n == 0 {
            return;
        }
        for (i, c) in c.chunks_exact_mut(n).enumerate() {
            for (j, c) in c.iter_mut().enumerate() {
                let (x, w) = (&a[i * inner..][..inner], &b[j * inner..][..inner]);
                let dot: T = x.iter().zip(w).map(|(&x, &w)| x * w).sum();
                *c = dot + bias.map_or(T::ZERO, |bias| bias[j]);
            }
        }
    }
}

//! Products with rows: $C = A B^\top + b$, a layer whose weights are kept output by output.
//!
//! A narrow layer (the outputs) is a dot product per number, sixteen of them summed at once. A
//! wide one is transposed first, which costs a few percent of the product, and multiplied as
//! usual.

#![allow(unsafe_code)]

use crate::simd::{Lanes, MAX_LANES, dispatch, sums, transposed};

dispatch!(dots => dots_lanes(
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
    let (mut i, mut j, mut at) = (0, 0, 0);
    while at + L::N <= c.len() {
        let mut sum = [L::splat(0.0); MAX_LANES];
        for o in 0..L::N {
            sum[o] = dot::<L>(a, b, inner, i, j, bias);
            j += 1;
            if j == n {
                (i, j) = (i + 1, 0);
            }
        }
        // SAFETY: c holds N numbers from `at` on.
        unsafe { sums(sum).store(c.as_mut_ptr().add(at)) };
        at += L::N;
    }
    if at < c.len() {
        let mut sum = [L::splat(0.0); MAX_LANES];
        let left = c.len() - at;
        for o in 0..left {
            sum[o] = dot::<L>(a, b, inner, i, j, bias);
            j += 1;
            if j == n {
                (i, j) = (i + 1, 0);
            }
        }
        // SAFETY: c holds `left` numbers from `at` on.
        unsafe { sums(sum).store_part(c.as_mut_ptr().add(at), left) };
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
    let (x, w) = (a[i * inner..][..inner].as_ptr(), b[j * inner..][..inner].as_ptr());
    let mut sum = match bias {
        // SAFETY: one number, which indexing has checked.
        Some(bias) => unsafe { L::load_part(&raw const bias[j], 1) },
        None => L::splat(0.0),
    };
    let mut p = 0;
    // SAFETY: x and w have `inner` entries, and p.. never passes that.
    unsafe {
        while p + L::N <= inner {
            sum = L::load(x.add(p)).fma(L::load(w.add(p)), sum);
            p += L::N;
        }
        if p < inner {
            let left = inner - p;
            sum = L::load_part(x.add(p), left).fma(L::load_part(w.add(p), left), sum);
        }
    }
    sum
}

dispatch!(transpose => transpose_lanes(a: &[f32], rows: usize, columns: usize, out: &mut [f32]));

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
            // SAFETY: the block of high × wide entries at (i, j) lies inside A, and its transpose
            // inside `out`.
            unsafe {
                if high == L::N && wide == L::N {
                    for r in 0..L::N {
                        block[r] = L::load(a.as_ptr().add((i + r) * columns + j));
                    }
                    let block = transposed(block);
                    for r in 0..L::N {
                        block[r].store(out.as_mut_ptr().add((j + r) * rows + i));
                    }
                } else {
                    for r in 0..high {
                        for c in 0..wide {
                            *out.get_unchecked_mut((j + c) * rows + i + r) =
                                *a.get_unchecked((i + r) * columns + j + c);
                        }
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

    #[cfg(test)]
    pub fn transpose<T: Real>(a: &[T], rows: usize, columns: usize, out: &mut [T]) {
        for i in 0..rows {
            for j in 0..columns {
                out[j * rows + i] = a[i * columns + j];
            }
        }
    }
}

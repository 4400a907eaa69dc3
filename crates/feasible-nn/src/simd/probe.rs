//! Functions of vectors on slices, through which the tests reach them at any level.

use super::{Lanes, MAX_LANES, dispatch, exp, sigmoid, sums, tanh, transposed};

/// f applied to every entry of x, in place, whole vectors and a tail.
fn each<L: Lanes>(x: &mut [f32], which: u8) {
    for x in x.chunks_mut(L::N) {
        let v = L::of_part(x);
        let y = match which {
            0 => exp(v),
            1 => sigmoid(v),
            2 => tanh(v),
            3 => L::splat(1.0).max(v).recip(),
            6 => v.sqrt(),
            4 => v.nearest_power(L::splat(1.0)).0,
            _ => v.nearest_power(L::splat(1.0)).1,
        };
        y.put_part(x);
    }
}
dispatch!(pub each_at => each(x: &mut [f32], which: u8));

/// The N × N block at the start of x, transposed in place, and what it was before summed row by row.
fn transpose<L: Lanes>(x: &mut [f32; 256], sum: &mut [f32; 16], n: &mut usize) {
    *n = L::N;
    let mut v = [L::splat(0.0); MAX_LANES];
    for (v, row) in v.iter_mut().zip(x.chunks_exact(L::N)) {
        *v = L::of(row);
    }
    sums(v).put(sum);
    for (v, row) in transposed(v).into_iter().zip(x.chunks_exact_mut(L::N)).take(L::N) {
        v.put(row);
    }
}
dispatch!(pub transpose_at => transpose(x: &mut [f32; 256], sum: &mut [f32; 16], n: &mut usize));

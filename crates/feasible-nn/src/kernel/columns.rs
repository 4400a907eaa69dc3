//! Column sums $\mathrm{out}_j \mathrel{+}= \sum_i a_{ij}$: the gradient of a bias.

use super::gather::axpy;
use crate::simd::{Lanes, dispatch};

dispatch!(column_sums => column_sums_lanes(a: &[f32], out: &mut [f32]));

#[inline(always)]
fn column_sums_lanes<L: Lanes>(a: &[f32], out: &mut [f32]) {
    if out.is_empty() {
        return;
    }
    for row in a.chunks_exact(out.len()) {
        axpy::<L>(1.0, row, out);
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

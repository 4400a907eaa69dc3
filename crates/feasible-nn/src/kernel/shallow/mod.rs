//! A network with one hidden layer and one or two outputs, forward and backward, row by row.
//!
//! For batches whose lists of hot and of changed columns are even ([`Inputs::even_hot`]): they are
//! filled up with column d, a row behind the weights, so that no branch depends on the data.
//!
//! Forward, for each row: $z = b + \sum_{c\ \mathrm{hot}} W_c + \sum_{c\ \mathrm{dense}} x_c W_c$ in
//! registers, $z_v = z + \sum_c \Delta_c W_c$ for each counterfactual view, $a = \varphi(z)$, and the
//! outputs $U a + u$ while the a of a few rows are still in the first-level cache.
//!
//! Where φ is the sigmoid, sums may become products of exponentials: see [`table`].
//!
//! Backward, for each row and view: $\mathrm{d}a = \sum_j s_j U_j$,
//! $\mathrm{d}z = \mathrm{d}a\,\varphi'(z)$, then as in [`super::scatter`]; and
//! $\mathrm{d}U_j \mathrel{+}= s_j a$. Nothing between the seeds and the gradient goes to memory.

mod backward;
mod forward;
mod rows;
mod table;

use feasible::{Batch, Inputs, Shift, ViewShift};

use crate::activation::Activation;

pub(super) use backward::backward;
pub(super) use forward::forward;
pub use forward::{ShallowMemory, scratch_len};
pub use table::{Table, table_len};

/// The parameters.
#[derive(Clone, Copy, Debug)]
pub struct Shallow<'a, T> {
    /// φ.
    pub activation: Activation,
    /// W: d × h.
    pub first: &'a [T],
    /// b: h.
    pub bias: &'a [T],
    /// U: k × h.
    pub head: &'a [T],
    /// u: k.
    pub head_bias: &'a [T],
}

/// What the forward pass leaves for the backward pass.
#[derive(Clone, Copy, Debug)]
pub struct Hidden<'a, T> {
    /// a = φ(z): views × rows × h.
    pub a: &'a [T],
    /// φ'(z) where it was kept, else empty.
    pub slope: &'a [T],
}

/// The gradients to add to; that of u is a sum of columns of the seeds.
#[derive(Debug)]
pub struct ShallowGradient<'a, T> {
    /// W's and, after it, b's: (d + 1) × h.
    pub first: &'a mut [T],
    /// U's: k × h.
    pub head: &'a mut [T],
}

/// Whether the kernels can work on this batch.
pub fn is_even(batch: &Batch<'_>) -> bool {
    let width = batch.inputs.width();
    let fits = |shift: &Shift| shift.last_column().is_none_or(|c| (c as usize) < width);
    let even = |shift: &ViewShift<'_>| matches!(shift, ViewShift::Sparse(shift) if shift.is_even() && fits(shift));
    batch.inputs.is_even() && batch.shifts.iter().all(even)
}

#[inline(always)]
fn even_hot(inputs: &Inputs, row: usize) -> &[u32] {
    inputs.even_hot(row).unwrap_or_default()
}

#[inline(always)]
fn even_row(shift: &Shift, row: usize) -> (&[u32], &[f32]) {
    shift.even_row(row).unwrap_or_default()
}

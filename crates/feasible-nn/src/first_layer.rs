//! The first affine map z = Wᵀx + b of a model, for every view of a batch at once.
//!
//! The weights are d × h, one row per input column, so that an indicator adds a row. View 0 is
//! computed once; a counterfactual view is view 0 plus a few rows, an adversarial one view 0 plus
//! a product δW.

use std::ops::Range;

use feasible::aligned::AlignedVec;
use feasible::{Batch, ViewShift};

use crate::activation::Activation;
use crate::kernel::{Kernels, Left, Start, Weights};
use crate::simd::Level;

/// Up to this many dense columns are added row by row like the indicators; more become a
/// matrix product.
pub(crate) const DENSE_BY_ROW: usize = 48;

/// d inputs, h outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstLayer {
    pub d: usize,
    pub h: usize,
}

/// Memory the layer keeps between its passes and reuses.
#[derive(Debug, Default)]
pub struct FirstScratch<T> {
    /// The dense columns of the batch's rows, when they are multiplied as a matrix; made by the
    /// forward pass.
    pub(crate) x: AlignedVec<T>,
    /// Weights at a cache line, and their gradient.
    pub(crate) any: AlignedVec<T>,
    /// Transposed weights.
    pub(crate) transposed: AlignedVec<T>,
    /// δ in the model's scalar.
    pub(crate) shift: Vec<T>,
    /// Seeds that are used up.
    pub(crate) delta: AlignedVec<T>,
}

impl FirstLayer {
    fn check(self, batch: &Batch<'_>) {
        assert_eq!(batch.inputs.width(), self.d, "the model takes another number of columns");
        for shift in batch.shifts {
            if let ViewShift::Dense(delta) = shift {
                assert_eq!(delta.len(), batch.rows.len() * self.d, "δ is rows × columns");
            }
        }
    }

    /// Whether the weights' rows are used often enough, on average once for each view of a sample,
    /// to be worth copying to whole cache lines.
    pub fn rows_are_used_often(self, batch: &Batch<'_>) -> bool {
        batch.output_rows() >= self.d
    }

    /// φ(z) for every view, views × rows × h; z itself without an activation. The slope is as
    /// long, or empty if φ does not keep it.
    #[allow(clippy::too_many_arguments)]
    pub fn forward<T: Kernels>(
        self,
        level: Level,
        weights: &[T],
        bias: &[T],
        batch: &Batch<'_>,
        activation: Option<Activation>,
        scratch: &mut FirstScratch<T>,
        z: &mut [T],
        slope: &mut [T],
    ) {
        self.check(batch);
        if in_one_pass(batch) {
            let mut layer = Weights { weights, bias };
            if self.rows_are_used_often(batch) {
                let aligned = scratch.any.place(weights.len());
                aligned.copy_from_slice(weights);
                layer.weights = aligned;
            }
            T::gather(level, batch, true, layer, activation, z, slope);
        } else {
            self.forward_in_parts(level, Weights { weights, bias }, batch, scratch, z);
            if let Some(activation) = activation {
                T::activate(level, activation, z, slope);
            }
        }
    }

    /// z for every view when a part of it is a matrix product.
    fn forward_in_parts<T: Kernels>(
        self,
        level: Level,
        layer: Weights<'_, T>,
        batch: &Batch<'_>,
        scratch: &mut FirstScratch<T>,
        z: &mut [T],
    ) {
        let (h, rows, weights) = (self.h, batch.rows.len(), layer.weights);
        let by_row = by_row(batch);
        let (z, moved) = z.split_at_mut(rows * h);
        T::gather(level, &Batch { shifts: &[], ..*batch }, by_row, layer, None, z, &mut []);
        if !by_row {
            let columns = batch.inputs.dense_columns();
            let dense = scratch.x.place(rows * columns.len());
            for (&row, x) in batch.rows.iter().zip(dense.chunks_exact_mut(columns.len())) {
                for (x, &from) in x.iter_mut().zip(batch.inputs.dense_row(row as usize)) {
                    *x = T::from_f32(from);
                }
            }
            for (at, first) in runs(columns) {
                let x = Left::new(dense, rows, columns.len()).columns(at.clone());
                let weights = &weights[first * h..][..at.len() * h];
                T::product(level, x, weights, h, Start::Current, z);
            }
        }
        for (v, shift) in batch.shifts.iter().enumerate() {
            let moved = &mut moved[v * rows * h..][..rows * h];
            match shift {
                ViewShift::Sparse(shift) => {
                    T::shift(level, batch.rows, shift, h, weights, z, moved);
                }
                ViewShift::Dense(delta) => {
                    moved.copy_from_slice(z);
                    let delta = Left::new(T::from_data(delta, &mut scratch.shift), rows, self.d);
                    T::product(level, delta, weights, h, Start::Current, moved);
                }
            }
        }
    }

    /// Adds the gradients of weights and bias; `dz` (views × rows × h) is used up.
    pub fn backward<T: Kernels>(
        self,
        level: Level,
        batch: &Batch<'_>,
        scratch: &mut FirstScratch<T>,
        dz: &mut [T],
        weights: &mut [T],
        bias: &mut [T],
    ) {
        let (h, rows) = (self.h, batch.rows.len());
        for (v, shift) in batch.shifts.iter().enumerate() {
            if let ViewShift::Dense(delta) = shift {
                let dz = &dz[(v + 1) * rows * h..][..rows * h];
                let delta = Left::new(T::from_data(delta, &mut scratch.shift), rows, self.d);
                T::product(level, delta.transpose(), dz, h, Start::Current, weights);
            }
        }
        let by_row = by_row(batch);
        if self.rows_are_used_often(batch) {
            let aligned = scratch.any.place(weights.len());
            aligned.fill(T::ZERO);
            T::scatter(level, batch, by_row, dz, aligned, bias);
            T::column_sums(level, aligned, weights);
        } else {
            T::scatter(level, batch, by_row, dz, weights, bias);
        }
        if !by_row {
            let sums = &dz[..rows * h];
            let columns = batch.inputs.dense_columns();
            for (at, first) in runs(columns) {
                let x = Left::new(&scratch.x, rows, columns.len()).columns(at.clone());
                let weights = &mut weights[first * h..][..at.len() * h];
                T::product(level, x.transpose(), sums, h, Start::Current, weights);
            }
        }
    }

    /// dx = W dz for every view and row: views × rows × d.
    pub fn input_gradient<T: Kernels>(
        self,
        level: Level,
        weights: &[T],
        dz: &[T],
        scratch: &mut FirstScratch<T>,
        dx: &mut [T],
    ) {
        let transposed = &mut scratch.transposed;
        transposed.clear();
        T::product_with_rows(level, dz, weights, self.h, self.d, None, transposed, dx);
    }
}

/// Whether every view is a sum of rows of the weights, and no part of it a matrix product.
fn in_one_pass(batch: &Batch<'_>) -> bool {
    by_row(batch) && batch.shifts.iter().all(|s| matches!(s, ViewShift::Sparse(_)))
}

fn by_row(batch: &Batch<'_>) -> bool {
    batch.inputs.dense_columns().len() <= DENSE_BY_ROW
}

/// Stretches of consecutive columns: their places in the list, and the first column.
pub fn runs(columns: &[u32]) -> impl Iterator<Item = (Range<usize>, usize)> + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        let first = *columns.get(start)?;
        let len = (1..).find(|&i| columns.get(start + i) != Some(&(first + i as u32)))?;
        start += len;
        Some((start - len..start, first as usize))
    })
}

//! From the loss of one row to the losses of many.
//!
//! A loss is written once, as a [`RowLoss`]: value and gradient at the outputs of one sample. A
//! [`RowPass`] carries it over the rows, so that the loss is chosen once a call, outside the loop, and
//! the row function is compiled into the loop for two outputs and for any number.

use super::LossRows;
use super::contrast::{OfContrasts, by_blocks};
use crate::real::Real;
use crate::samples::{Target, Targets};

/// What a loss sees of one sample.
#[derive(Clone, Copy)]
pub(super) struct Row<'a, T> {
    pub at: &'a [T],
    /// Empty unless the loss compares views.
    pub against: &'a [T],
    pub target: Target<'a>,
}

impl<T: Real> Row<'_, T> {
    /// The class to be predicted.
    #[inline(always)]
    pub fn class(&self) -> usize {
        match self.target {
            Target::Class(class) => class as usize,
            _ => unreachable!("Loss::check lets only class targets pass"),
        }
    }

    /// The number to be predicted.
    #[inline(always)]
    pub fn number(&self) -> T {
        match self.target {
            Target::Value(y) => T::from_f32(y),
            _ => unreachable!("Loss::check lets only numeric targets pass"),
        }
    }

    /// The numbers to be predicted.
    #[inline(always)]
    pub fn numbers(&self) -> &[f32] {
        match self.target {
            Target::Vector(y) => y,
            _ => unreachable!("Loss::check lets only vectors as targets pass"),
        }
    }
}

/// A loss at one row of outputs.
pub(super) trait RowLoss<T: Real> {
    /// Whether the loss compares two views.
    #[inline(always)]
    fn pair(&self) -> bool {
        false
    }

    /// ℓ.
    fn value(&self, row: Row<'_, T>) -> T;

    /// ℓ; adds weight · ∇ℓ to the seeds.
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], against: &mut [T]) -> T;
}

/// Something done with a loss at every row.
pub(super) trait RowPass<T: Real> {
    /// Whether several numbers are predicted.
    fn is_of_vectors(&self) -> bool;

    fn over<L: RowLoss<T>>(self, loss: &L);

    /// The same for one or two outputs, of which the loss sees the contrast.
    fn over_contrasts<L: OfContrasts<T>>(self, loss: &L);
}

/// Fills `values[i]` with the loss at `positions[i]`.
pub struct RowValues<'a, T> {
    /// The rows.
    pub rows: LossRows<'a, T>,
    /// One for each position.
    pub values: &'a mut [T],
}

/// As [`RowValues`], and adds the weighted gradients to the seeds.
pub struct RowSeeds<'a, T> {
    /// The rows.
    pub rows: LossRows<'a, T>,
    /// One for each position.
    pub weights: &'a [T],
    /// Empty if only the gradients are wanted.
    pub values: &'a mut [T],
    /// The seeds by both views.
    pub at: &'a mut [T],
    /// See `at`.
    pub against: &'a mut [T],
}

impl<T: Real> RowPass<T> for RowValues<'_, T> {
    fn is_of_vectors(&self) -> bool {
        matches!(self.rows.targets, Targets::Vectors(_))
    }

    fn over<L: RowLoss<T>>(self, loss: &L) {
        match self.rows.width {
            2 => self.run(loss, 2),
            width => self.run(loss, width),
        }
    }

    fn over_contrasts<L: OfContrasts<T>>(self, loss: &L) {
        by_blocks(self, loss);
    }
}

impl<T: Real> RowValues<'_, T> {
    #[inline(always)]
    fn run<L: RowLoss<T>>(self, loss: &L, width: usize) {
        for (&position, value) in self.rows.positions.iter().zip(self.values) {
            *value = loss.value(self.rows.row(position as usize, width, loss.pair()));
        }
    }
}

impl<T: Real> RowPass<T> for RowSeeds<'_, T> {
    fn is_of_vectors(&self) -> bool {
        matches!(self.rows.targets, Targets::Vectors(_))
    }

    fn over<L: RowLoss<T>>(self, loss: &L) {
        match self.rows.width {
            2 => self.run(loss, 2),
            width => self.run(loss, width),
        }
    }

    fn over_contrasts<L: OfContrasts<T>>(self, loss: &L) {
        by_blocks(self, loss);
    }
}

impl<T: Real> RowSeeds<'_, T> {
    #[inline(always)]
    fn run<L: RowLoss<T>>(self, loss: &L, width: usize) {
        let mut values = self.values.iter_mut();
        for (&position, &weight) in self.rows.positions.iter().zip(self.weights) {
            let position = position as usize;
            let row = self.rows.row(position, width, loss.pair());
            let start = position * width;
            let at = &mut self.at[start..start + width];
            let against = match loss.pair() {
                true => &mut self.against[start..start + width],
                false => &mut [],
            };
            let value = loss.seed(row, weight, at, against);
            if let Some(to) = values.next() {
                *to = value;
            }
        }
    }
}

impl<'a, T: Real> LossRows<'a, T> {
    #[inline(always)]
    fn row(&self, position: usize, width: usize, pair: bool) -> Row<'a, T> {
        let start = position * width;
        Row {
            at: &self.at[start..start + width],
            against: if pair { &self.against[start..start + width] } else { &[] },
            target: self.targets.get(self.samples[position] as usize),
        }
    }
}

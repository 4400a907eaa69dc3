//! Indicators, whose averages are rates. Their gradient is 0 wherever it exists, so they serve as the
//! loss of a dual step, beside a smooth one for the primal. NaN outputs give NaN.

use super::row::{Row, RowLoss};
use super::softmax::Logits;
use crate::real::Real;

/// 1[arg max f ≠ y].
pub(super) struct Error;

/// 1[arg max f = c].
pub(super) struct Selected {
    pub class: usize,
}

/// 1[y ≠ c] where arg max f = c, r elsewhere.
pub(super) struct FalseDiscovery<T> {
    pub class: usize,
    pub rate: T,
}

/// 1[arg max f(x) ≠ arg max f(ρ(x))].
pub(super) struct Flip;

#[inline(always)]
fn indicator<T: Real>(event: Option<bool>) -> T {
    match event {
        Some(true) => T::ONE,
        Some(false) => T::ZERO,
        None => T::from_f64(f64::NAN),
    }
}

impl<T: Real> RowLoss<T> for Error {
    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        indicator(Logits(row.at).arg_max().map(|predicted| predicted != row.class()))
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, _: T, _: &mut [T], _: &mut [T]) -> T {
        self.value(row)
    }
}

impl<T: Real> RowLoss<T> for Selected {
    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        indicator(Logits(row.at).arg_max().map(|predicted| predicted == self.class))
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, _: T, _: &mut [T], _: &mut [T]) -> T {
        self.value(row)
    }
}

impl<T: Real> RowLoss<T> for FalseDiscovery<T> {
    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        match Logits(row.at).arg_max() {
            Some(predicted) if predicted != self.class => self.rate,
            predicted => indicator(predicted.map(|_| row.class() != self.class)),
        }
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, _: T, _: &mut [T], _: &mut [T]) -> T {
        self.value(row)
    }
}

impl<T: Real> RowLoss<T> for Flip {
    #[inline(always)]
    fn pair(&self) -> bool {
        true
    }

    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        let (here, there) = (Logits(row.at).arg_max(), Logits(row.against).arg_max());
        indicator(here.zip(there).map(|(here, there)| here != there))
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, _: T, _: &mut [T], _: &mut [T]) -> T {
        self.value(row)
    }
}

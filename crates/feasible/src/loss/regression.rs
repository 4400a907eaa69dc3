//! Losses of one output against a number, through the residual r = f − y.

use super::row::{Row, RowLoss};
use crate::real::Real;

/// r².
pub(super) struct Squared;

impl<T: Real> RowLoss<T> for Squared {
    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        let r = row.at[0] - row.number();
        r * r
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], _: &mut [T]) -> T {
        let r = row.at[0] - row.number();
        at[0] += weight * (r + r);
        r * r
    }
}

/// |r|; at r = 0 the subgradient is 0.
pub(super) struct Absolute;

impl<T: Real> RowLoss<T> for Absolute {
    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        (row.at[0] - row.number()).abs()
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], _: &mut [T]) -> T {
        let r = row.at[0] - row.number();
        if r > T::ZERO {
            at[0] += weight;
        } else if r < T::ZERO {
            at[0] -= weight;
        }
        r.abs()
    }
}

/// ½r² up to |r| = δ, then the tangent δ|r| − ½δ².
pub(super) struct Huber<T> {
    pub delta: T,
}

impl<T: Real> Huber<T> {
    #[inline(always)]
    fn at(&self, r: T) -> (T, T) {
        let half = T::from_f64(0.5);
        let size = r.abs();
        if size <= self.delta {
            (half * r * r, r)
        } else {
            let slope = if r > T::ZERO { self.delta } else { -self.delta };
            (self.delta * (size - half * self.delta), slope)
        }
    }
}

impl<T: Real> RowLoss<T> for Huber<T> {
    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        self.at(row.at[0] - row.number()).0
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], _: &mut [T]) -> T {
        let (value, slope) = self.at(row.at[0] - row.number());
        at[0] += weight * slope;
        value
    }
}

//! Losses of one output against a number, through the residual r = f − y.

use super::row::{Row, RowLoss};
use crate::real::Real;

/// A loss of one number, as one among several.
pub(super) trait OfNumber<T: Real> {
    /// Value and slope by f, of (f − y) · `per_unit`.
    fn of(&self, f: T, y: T, per_unit: T) -> (T, T);
}

macro_rules! of_residuals {
    ($loss:ty, $self:ident, $r:ident => $value_and_slope:expr) => {
        impl<T: Real> OfNumber<T> for $loss {
            #[inline(always)]
            fn of(&$self, f: T, y: T, per_unit: T) -> (T, T) {
                let $r = (f - y) * per_unit;
                let (value, slope) = $value_and_slope;
                (value, slope * per_unit)
            }
        }
    };
}

of_residuals!(Squared, self, r => (r * r, r + r));
of_residuals!(Absolute, self, r => (r.abs(), sign(r)));
of_residuals!(Huber<T>, self, r => self.at(r));
of_residuals!(Quantile<T>, self, r => self.at(r));

impl<T: Real> OfNumber<T> for Poisson {
    #[inline(always)]
    fn of(&self, f: T, y: T, _: T) -> (T, T) {
        Self::at(f, y)
    }
}

/// 1, −1, or 0 at 0.
#[inline(always)]
fn sign<T: Real>(r: T) -> T {
    if r > T::ZERO {
        T::ONE
    } else if r < T::ZERO {
        -T::ONE
    } else {
        T::ZERO
    }
}

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

/// τ(−r) for r < 0, (1 − τ)r for r > 0; at r = 0 the subgradient is 0.
pub(super) struct Quantile<T> {
    pub tau: T,
}

impl<T: Real> Quantile<T> {
    /// Value and slope.
    #[inline(always)]
    fn at(&self, r: T) -> (T, T) {
        if r > T::ZERO {
            ((T::ONE - self.tau) * r, T::ONE - self.tau)
        } else if r < T::ZERO {
            (-self.tau * r, -self.tau)
        } else {
            // 0, or NaN.
            (r, T::ZERO)
        }
    }
}

impl<T: Real> RowLoss<T> for Quantile<T> {
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

/// e^f − y f − y + y log y, which is y (e^d − 1 − d) with d = f − log y.
pub(super) struct Poisson;

impl Poisson {
    /// Value and slope. Where e^f is near y the digits are those of d.
    #[inline(always)]
    fn at<T: Real>(f: T, y: T) -> (T, T) {
        if y > T::ZERO {
            let d = f - y.ln();
            if d.abs() < T::ONE {
                let slope = d.exp_m1();
                // Rounding may leave it below 0, where it is 0 to all digits.
                return (y * (slope - d).max(T::ZERO), y * slope);
            }
            let mean = f.exp();
            // Beyond all numbers, and y d may be so too.
            if !mean.is_finite() {
                return (mean, mean);
            }
            return (mean - y * (T::ONE + d), mean - y);
        }
        (f.exp(), f.exp())
    }
}

impl<T: Real> RowLoss<T> for Poisson {
    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        Self::at(row.at[0], row.number()).0
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], _: &mut [T]) -> T {
        let (value, slope) = Self::at(row.at[0], row.number());
        at[0] += weight * slope;
        value
    }
}

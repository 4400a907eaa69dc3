//! Losses of logits against a class.

use super::row::{Row, RowLoss};
use super::softmax::{LogSoftmax, Logits, add};
use crate::real::Real;

/// −log p_y.
pub(super) struct CrossEntropy;

impl<T: Real> RowLoss<T> for CrossEntropy {
    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        -LogSoftmax::new(Logits(row.at)).log(row.class())
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], _: &mut [T]) -> T {
        let (p, y) = (LogSoftmax::new(Logits(row.at)), row.class());
        for j in 0..p.classes() {
            add(at, j, weight * if j == y { p.minus_one(j) } else { p.probability(j) });
        }
        -p.log(y)
    }
}

/// ±x: plus for class 1, minus for class 0. Takes z_1 − z_0 to the margin z_y − z_other, and a
/// derivative by the one to a derivative by the other.
#[inline(always)]
fn margin<T: Real>(x: T, y: usize) -> T {
    if y == 1 { x } else { -x }
}

/// max(0, 1 − m) with m = ±z, and its square.
pub(super) struct Hinge {
    pub squared: bool,
}

impl Hinge {
    /// Value and derivative by the margin.
    #[inline(always)]
    fn at<T: Real>(&self, m: T) -> (T, T) {
        let shortfall = T::ONE - m;
        if shortfall <= T::ZERO {
            (T::ZERO, T::ZERO)
        } else if self.squared {
            (shortfall * shortfall, -(shortfall + shortfall))
        } else {
            (shortfall, -T::ONE)
        }
    }
}

impl<T: Real> RowLoss<T> for Hinge {
    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        self.at(margin(row.at[0], row.class())).0
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], _: &mut [T]) -> T {
        let (value, slope) = self.at(margin(row.at[0], row.class()));
        at[0] += margin(weight * slope, row.class());
        value
    }
}

/// ½ Σ (p_j − 1[j = y])².
pub(super) struct Brier;

impl<T: Real> RowLoss<T> for Brier {
    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        let p = LogSoftmax::new(Logits(row.at));
        let squares: T =
            (0..p.classes()).map(|j| residual(&p, j, row.class())).map(|r| r * r).sum();
        T::from_f64(0.5) * squares
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], _: &mut [T]) -> T {
        let p = LogSoftmax::new(Logits(row.at));
        let y = row.class();
        let (mut mean, mut squares) = (T::ZERO, T::ZERO);
        for j in 0..p.classes() {
            let r = residual(&p, j, y);
            mean += p.probability(j) * r;
            squares += r * r;
        }
        for j in 0..p.classes() {
            add(at, j, weight * p.probability(j) * (residual(&p, j, y) - mean));
        }
        T::from_f64(0.5) * squares
    }
}

/// p_j − 1[j = y].
#[inline(always)]
fn residual<T: Real>(p: &LogSoftmax<'_, T>, j: usize, y: usize) -> T {
    if j == y { p.minus_one(j) } else { p.probability(j) }
}

/// 1 − p_y.
pub(super) struct SmoothedError;

impl<T: Real> RowLoss<T> for SmoothedError {
    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        -LogSoftmax::new(Logits(row.at)).minus_one(row.class())
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], _: &mut [T]) -> T {
        let p = LogSoftmax::new(Logits(row.at));
        add_probability(&p, row.class(), -weight, at);
        -p.minus_one(row.class())
    }
}

/// p_c.
pub(super) struct Probability {
    pub class: usize,
}

impl<T: Real> RowLoss<T> for Probability {
    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        LogSoftmax::new(Logits(row.at)).probability(self.class)
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], _: &mut [T]) -> T {
        let p = LogSoftmax::new(Logits(row.at));
        add_probability(&p, self.class, weight, at);
        p.probability(self.class)
    }
}

/// r + p_c (1[y ≠ c] − r).
pub(super) struct SmoothedFalseDiscovery<T> {
    pub class: usize,
    pub rate: T,
}

impl<T: Real> SmoothedFalseDiscovery<T> {
    /// The factor of p_c.
    #[inline(always)]
    fn factor(&self, y: usize) -> T {
        if y == self.class { -self.rate } else { T::ONE - self.rate }
    }
}

impl<T: Real> RowLoss<T> for SmoothedFalseDiscovery<T> {
    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        let p = LogSoftmax::new(Logits(row.at));
        self.rate + self.factor(row.class()) * p.probability(self.class)
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], _: &mut [T]) -> T {
        let p = LogSoftmax::new(Logits(row.at));
        let factor = self.factor(row.class());
        add_probability(&p, self.class, weight * factor, at);
        self.rate + factor * p.probability(self.class)
    }
}

/// Adds weight · ∇p_c, where ∂p_c/∂z_j = p_c (1[j = c] − p_j).
#[inline(always)]
fn add_probability<T: Real>(p: &LogSoftmax<'_, T>, class: usize, weight: T, at: &mut [T]) {
    let scale = weight * p.probability(class);
    for j in 0..p.classes() {
        add(at, j, -scale * residual(p, j, class));
    }
}

//! Elementary functions on small ranges, as series.
//!
//! In the row loops of cross-entropy and KL with two classes the library's `exp_m1` and `ln_1p` cost
//! more than everything else together. On the ranges that occur there a few terms reach full
//! accuracy, without branches. Each is cut where the next term is below the rounding of the type.

use crate::real::Real;

/// The number of terms for this type.
#[inline(always)]
fn terms<T: Real>(single: usize, double: usize) -> usize {
    if T::EPSILON.to_f64() > 1e-10 { single } else { double }
}

/// e^x − 1 for |x| ≤ 1/2: x Σ x^n / (n + 1)!.
#[inline(always)]
pub(super) fn exp_m1<T: Real>(x: T) -> T {
    let mut sum = T::ZERO;
    for n in (0..terms::<T>(8, 15)).rev() {
        sum = T::from_f64(RECIPROCAL_FACTORIALS[n + 1]) + x * sum;
    }
    x * sum
}

/// e^{−x} − 1 + x for |x| ≤ 1/2: x² Σ (−x)^n / (n + 2)!. Not negative, and 0 only at 0.
#[inline(always)]
pub(super) fn exp_m1_plus<T: Real>(x: T) -> T {
    let mut sum = T::ZERO;
    for n in (0..terms::<T>(8, 14)).rev() {
        sum = T::from_f64(RECIPROCAL_FACTORIALS[n + 2]) - x * sum;
    }
    x * x * sum
}

/// log(1 + x) for −0.4 ≤ x ≤ 1: 2 Σ t^{2n+1} / (2n + 1) with t = x/(2 + x), |t| ≤ 1/3.
#[inline(always)]
pub(super) fn ln_1p<T: Real>(x: T) -> T {
    let t = x / (T::ONE + T::ONE + x);
    let square = t * t;
    let mut sum = T::ZERO;
    for n in (0..terms::<T>(8, 17)).rev() {
        sum = T::from_f64(2.0 / (2 * n + 1) as f64) + square * sum;
    }
    t * sum
}

/// 1/n!.
const RECIPROCAL_FACTORIALS: [f64; 17] = {
    let mut table = [1.0; 17];
    let mut n = 1;
    while n < 17 {
        table[n] = table[n - 1] / n as f64;
        n += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_agree_with_the_library_to_a_few_roundings() {
        let close = |ours: f64, exact: f64, epsilon: f64| {
            assert!((ours - exact).abs() <= 4.0 * epsilon * exact.abs(), "{ours} against {exact}");
        };
        for i in -1000..=1000 {
            let x = f64::from(i) / 2000.0;
            close(exp_m1(x), x.exp_m1(), f64::EPSILON);
            close(exp_m1(x as f32).into(), f64::from(x as f32).exp_m1(), f32::EPSILON.into());
            // The library's form cancels: only its absolute accuracy can be compared.
            assert!(
                (exp_m1_plus(x) - (x + (-x).exp_m1())).abs() <= f64::EPSILON * (x.abs() + 1e-3)
            );
            close(
                exp_m1_plus(x as f32).into(),
                exp_m1_plus(f64::from(x as f32)),
                f32::EPSILON.into(),
            );
            let x = 0.3 + 1.4 * x;
            close(ln_1p(x), x.ln_1p(), f64::EPSILON);
            close(ln_1p(x as f32).into(), f64::from(x as f32).ln_1p(), f32::EPSILON.into());
        }
    }
}

//! Elementary functions on small ranges, as series.
//!
//! In the row loops of cross-entropy and KL with two classes the library's `exp_m1` and `ln_1p` cost
//! more than everything else together. On the ranges that occur there a few terms reach full
//! accuracy, without branches: the first term left out is below the rounding of the type.

use crate::real::Real;

/// Σ c_n x^n over the first 8 coefficients in `f32`, all 16 in `f64`: by blocks of four, because the
/// time of these loops is that of the longest chain of dependent operations.
#[inline(always)]
fn polynomial<T: Real>(c: &[f64; 16], x: T) -> T {
    let blocks = if T::EPSILON.to_f64() > 1e-10 { 2 } else { 4 };
    let square = x * x;
    let fourth = square * square;
    let mut sum = T::ZERO;
    for n in (0..blocks).rev() {
        let c = |i: usize| T::from_f64(c[4 * n + i]);
        sum = ((c(0) + c(1) * x) + (c(2) + c(3) * x) * square) + fourth * sum;
    }
    sum
}

/// e^x − 1 for |x| ≤ 1/2: x Σ x^n / (n + 1)!.
#[inline(always)]
pub fn exp_m1<T: Real>(x: T) -> T {
    x * polynomial(&const { reciprocal_factorials(1) }, x)
}

/// e^{−x} − 1 + x for |x| ≤ 1/2: x² Σ (−x)^n / (n + 2)!. Not negative, and 0 only at 0.
#[inline(always)]
pub fn exp_m1_plus<T: Real>(x: T) -> T {
    (x * x) * polynomial(&const { reciprocal_factorials(2) }, -x)
}

/// log(1 + x) for −0.4 ≤ x ≤ 1: 2 Σ t^{2n+1} / (2n + 1) with t = x/(2 + x), |t| ≤ 1/3.
#[inline(always)]
pub fn ln_1p<T: Real>(x: T) -> T {
    let t = x / (T::ONE + T::ONE + x);
    t * polynomial(&const { twice_odd_reciprocals() }, t * t)
}

/// e^x for x ≤ 0: 2ⁿ e^r with |r| ≤ ln2/2. In `f32` 0 below −87, where numbers stop being
/// normal.
#[inline(always)]
pub(super) fn exp_of_negative<T: Real>(x: T) -> T {
    T::exp_of_negative(x)
}

/// The same in `f32`, without a branch or a call.
#[inline(always)]
pub fn exp_of_negative_f32(x: f32) -> f32 {
    // The sum has no fraction bits, and n + 127 in its last ones; NaN stays NaN.
    const ROUNDER: f32 = 12_583_039.0;
    // ln 2 in two parts, the first of 12 bits so that n times it is exact.
    const LN2: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);
    let vanishes = x < -87.0;
    let x = if vanishes { -87.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUNDER;
    let n = shifted - ROUNDER;
    let r = (x - n * LN2.0) - n * LN2.1;
    // 1 + r (1 + r/2 + …): half of the exponentials' error is that of the last sum.
    let e = 1.0 + exp_m1(r);
    let y = e * f32::from_bits(shifted.to_bits() << 23);
    if vanishes { 0.0 } else { y }
}

/// 1/(n + start)!.
const fn reciprocal_factorials(start: usize) -> [f64; 16] {
    let (mut table, mut n, mut factorial) = ([0.0; 16], 0, 1.0);
    while n < start + 16 {
        if n > 0 {
            factorial *= n as f64;
        }
        if n >= start {
            table[n - start] = 1.0 / factorial;
        }
        n += 1;
    }
    table
}

/// 2/(2n + 1).
const fn twice_odd_reciprocals() -> [f64; 16] {
    let (mut table, mut n) = ([0.0; 16], 0);
    while n < 16 {
        table[n] = 2.0 / (2 * n + 1) as f64;
        n += 1;
    }
    table
}

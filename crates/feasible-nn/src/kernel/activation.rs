//! a = φ(z) in place, and dz = da · φ'(z) in place.

#![allow(unsafe_code)]

use crate::activation::Activation;
use crate::simd::{Lanes, dispatch, exp, sigmoid, tanh};

// Activations as parameters of a function.
pub(super) const SIGMOID: u8 = 0;
pub(super) const TANH: u8 = 1;
pub(super) const RELU: u8 = 2;
pub(super) const SILU: u8 = 3;
pub(super) const EXP: u8 = 4;
pub(super) const IDENTITY: u8 = 5;

dispatch!(activate => activate_lanes(
    activation: Activation, z: &mut [f32], slope: &mut [f32],
));

#[inline(always)]
fn activate_lanes<L: Lanes>(activation: Activation, z: &mut [f32], slope: &mut [f32]) {
    match activation {
        Activation::Sigmoid => each::<L, SIGMOID>(z, slope),
        Activation::Tanh => each::<L, TANH>(z, slope),
        Activation::Relu => each::<L, RELU>(z, slope),
        Activation::Silu => each::<L, SILU>(z, slope),
    }
}

dispatch!(exponentials => exp_each(z: &mut [f32]));

#[inline(always)]
fn exp_each<L: Lanes>(z: &mut [f32]) {
    each::<L, EXP>(z, &mut []);
}

#[inline(always)]
fn each<L: Lanes, const F: u8>(z: &mut [f32], slope: &mut [f32]) {
    let len = z.len();
    assert!(F != SILU || slope.len() == len);
    let (z, slope) = (z.as_mut_ptr(), slope.as_mut_ptr());
    let mut j = 0;
    // SAFETY: z, and for SiLU the slopes, have `len` entries, and j.. never passes that.
    unsafe {
        while j + 2 * L::N <= len {
            let x = [L::load(z.add(j)), L::load(z.add(j + L::N))];
            finish::<L, F, 2, true>(x, z.add(j), slope.wrapping_add(j), 0);
            j += 2 * L::N;
        }
        while j < len {
            let n = (len - j).min(L::N);
            let x = [L::load_part(z.add(j), n)];
            finish::<L, F, 1, false>(x, z.add(j), slope.wrapping_add(j), n);
            j += n;
        }
    }
}

/// Stores φ of V vectors to `to`, and for SiLU φ' to `slope`; or of n entries if not FULL. Gives φ
/// back; beyond the n entries it means nothing.
///
/// # Safety
/// `to`, and for SiLU `slope`, can be written for that many numbers.
#[inline(always)]
pub(super) unsafe fn finish<L: Lanes, const F: u8, const V: usize, const FULL: bool>(
    x: [L; V],
    to: *mut f32,
    slope: *mut f32,
    n: usize,
) -> [L; V] {
    let mut all = x;
    for v in 0..V {
        let (a, d) = value_and_slope::<L, F>(x[v]);
        // SAFETY: the caller's promise.
        unsafe {
            if F == SILU {
                d.store_if::<FULL>(slope.wrapping_add(v * L::N), n);
            }
            a.store_if::<FULL>(to.add(v * L::N), n);
        }
        all[v] = a;
    }
    all
}

/// φ(x), and what [`slope_of`] knows its slope from: φ(x) again, or for SiLU φ'(x).
#[inline(always)]
pub(super) fn value_and_slope<L: Lanes, const F: u8>(x: L) -> (L, L) {
    let a = match F {
        IDENTITY => x,
        SIGMOID => sigmoid(x),
        TANH => tanh(x),
        RELU => L::splat(0.0).max(x),
        EXP => exp(x),
        _ => {
            let s = sigmoid(x);
            let a = x.mul(s);
            // σ + a (1 − σ)
            return (a, a.fma(L::splat(1.0).sub(s), s));
        }
    };
    (a, a)
}

dispatch!(activate_back => back_lanes(
    activation: Activation, a: &[f32], slope: &[f32], da: &mut [f32],
));

#[inline(always)]
fn back_lanes<L: Lanes>(activation: Activation, a: &[f32], slope: &[f32], da: &mut [f32]) {
    if L::PLAIN {
        return plain::activate_back(activation, a, slope, da);
    }
    match activation {
        Activation::Sigmoid => back::<L, SIGMOID>(a, da),
        Activation::Tanh => back::<L, TANH>(a, da),
        Activation::Relu => back::<L, RELU>(a, da),
        Activation::Silu => back::<L, SILU>(slope, da),
    }
}

#[inline(always)]
fn back<L: Lanes, const F: u8>(a: &[f32], da: &mut [f32]) {
    let len = da.len();
    assert_eq!(a.len(), len);
    let (a, da) = (a.as_ptr(), da.as_mut_ptr());
    let mut j = 0;
    // SAFETY: both have `len` entries, and j.. never passes that.
    unsafe {
        while j + L::N <= len {
            back_one::<L, F, true>(a.add(j), da.add(j), 0);
            j += L::N;
        }
        if j < len {
            back_one::<L, F, false>(a.add(j), da.add(j), len - j);
        }
    }
}

/// d · φ', where φ' is known from a = φ(z), or for SiLU from φ' itself.
#[inline(always)]
pub(super) fn slope_of<L: Lanes, const F: u8>(known: L, d: L) -> L {
    match F {
        SIGMOID => d.mul(known.mul(L::splat(1.0).sub(known))),
        TANH => d.mul(L::splat(1.0).sub(known.mul(known))),
        RELU => known.where_positive(d),
        _ => d.mul(known),
    }
}

/// # Safety
/// a can be read, da read and written, for a vector, or n numbers if not FULL.
#[inline(always)]
unsafe fn back_one<L: Lanes, const F: u8, const FULL: bool>(a: *const f32, da: *mut f32, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let (a, d) = (L::load_if::<FULL>(a, n), L::load_if::<FULL>(da, n));
        let dz = slope_of::<L, F>(a, d);
        dz.store_if::<FULL>(da, n);
    }
}

/// The plain loops.
pub(super) mod plain {
    use feasible::Real;

    use crate::activation::Activation;

    fn sigmoid<T: Real>(z: T) -> T {
        T::ONE / (T::ONE + (-z).exp())
    }

    /// φ(z).
    pub fn value<T: Real>(activation: Activation, z: T) -> T {
        match activation {
            Activation::Sigmoid => sigmoid(z),
            Activation::Tanh => z.tanh(),
            // A NaN stays one: it is how divergence is noticed.
            Activation::Relu => {
                if T::ZERO > z {
                    T::ZERO
                } else {
                    z
                }
            }
            Activation::Silu => z * sigmoid(z),
        }
    }

    /// φ'(z).
    pub fn slope<T: Real>(activation: Activation, z: T) -> T {
        let a = value(activation, z);
        match activation {
            Activation::Sigmoid => slope_of_sigmoid(a),
            Activation::Tanh => slope_of_tanh(a),
            Activation::Relu => slope_of_relu(a),
            Activation::Silu => {
                let s = sigmoid(z);
                s * (T::ONE + z * (T::ONE - s))
            }
        }
    }

    // From a = φ(z), where that is enough.

    fn slope_of_sigmoid<T: Real>(a: T) -> T {
        a * (T::ONE - a)
    }

    fn slope_of_tanh<T: Real>(a: T) -> T {
        T::ONE - a * a
    }

    fn slope_of_relu<T: Real>(a: T) -> T {
        if a > T::ZERO { T::ONE } else { T::ZERO }
    }

    pub fn activate<T: Real>(activation: Activation, z: &mut [T], slopes: &mut [T]) {
        for (i, z) in z.iter_mut().enumerate() {
            if activation == Activation::Silu {
                slopes[i] = slope(activation, *z);
            }
            *z = value(activation, *z);
        }
    }

    pub fn activate_back<T: Real>(activation: Activation, a: &[T], slopes: &[T], da: &mut [T]) {
        match activation {
            Activation::Sigmoid => times(da, a, slope_of_sigmoid),
            Activation::Tanh => times(da, a, slope_of_tanh),
            Activation::Relu => times(da, a, slope_of_relu),
            Activation::Silu => times(da, slopes, |slope| slope),
        }
    }

    #[inline(always)]
    fn times<T: Real>(da: &mut [T], of: &[T], slope: impl Fn(T) -> T) {
        assert_eq!(da.len(), of.len());
        for (d, &x) in da.iter_mut().zip(of) {
            *d *= slope(x);
        }
    }

    pub fn exponentials<T: Real>(z: &mut [T]) {
        for z in z {
            *z = z.exp();
        }
    }
}

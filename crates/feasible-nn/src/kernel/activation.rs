//! a = φ(z) in place, and dz = da · φ'(z) in place.

use crate::activation::Activation;
use crate::simd::{Lanes, dispatch, exp, sigmoid, tanh, vectors, whole};

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

/// Two vectors at a time, whose long chains of operations overlap, then what is left.
#[inline(always)]
fn each<L: Lanes, const F: u8>(z: &mut [f32], slope: &mut [f32]) {
    let pairs = whole(z.len(), 2 * L::N);
    let (z, z_rest) = z.split_at_mut(pairs);
    // Only SiLU has slopes; a loop of its own keeps them out of the others.
    if F == SILU {
        let (slope, slope_rest) = slope.split_at_mut(pairs);
        assert_eq!(z_rest.len(), slope_rest.len());
        for (z, slope) in z.chunks_exact_mut(2 * L::N).zip(slope.chunks_exact_mut(2 * L::N)) {
            finish::<L, F, 2, true>(vectors::<L, 2, true>(z), z, slope);
        }
        for (z, slope) in z_rest.chunks_mut(L::N).zip(slope_rest.chunks_mut(L::N)) {
            finish::<L, F, 1, false>([L::of_part(z)], z, slope);
        }
    } else {
        for z in z.chunks_exact_mut(2 * L::N) {
            finish::<L, F, 2, true>(vectors::<L, 2, true>(z), z, &mut []);
        }
        for z in z_rest.chunks_mut(L::N) {
            finish::<L, F, 1, false>([L::of_part(z)], z, &mut []);
        }
    }
}

/// Writes φ of V vectors to `to`, and for SiLU φ' to `slope`; or of what those hold if not FULL.
#[inline(always)]
pub(super) fn finish<L: Lanes, const F: u8, const V: usize, const FULL: bool>(
    x: [L; V],
    to: &mut [f32],
    slope: &mut [f32],
) {
    for v in 0..V {
        let (value, derivative) = value_and_slope::<L, F>(x[v]);
        if F == SILU {
            derivative.put_if::<FULL>(&mut slope[v * L::N..]);
        }
        value.put_if::<FULL>(&mut to[v * L::N..]);
    }
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
    assert_eq!(a.len(), da.len());
    let vectors = whole(da.len(), L::N);
    let ((a, a_rest), (da, da_rest)) = (a.split_at(vectors), da.split_at_mut(vectors));
    for (a, da) in a.chunks_exact(L::N).zip(da.chunks_exact_mut(L::N)) {
        slope_of::<L, F>(L::of(a), L::of(da)).put(da);
    }
    slope_of::<L, F>(L::of_part(a_rest), L::of_part(da_rest)).put_part(da_rest);
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

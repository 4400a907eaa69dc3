//! e^x, and the two functions made of it.
//!
//! $x = n \ln 2 + r$ with an integer n and |r| ≤ ln2/2, so $e^x = 2^n e^r$, and
//! $e^r - 1 = r + r^2 q(r)$ with the polynomial q of degree 4 that interpolates at the Chebyshev
//! nodes of that interval; it leaves a relative error of 1.1·10⁻⁸ in $e^r$, below the rounding of
//! `f32`. Two parts of ln 2 keep r exact.
//!
//! Bounds, tested over the whole range at every level: [`exp`] within 4·10⁻⁷ relative, [`tanh`]
//! within 5·10⁻⁷ relative; [`sigmoid`] within 4·10⁻⁷ relative above −2, and below, where it is small,
//! within 1.5·10⁻⁶ (8·10⁻⁶ on a CPU without FMA). NaN gives NaN.

use std::f32::consts::LOG2_E;

use super::Lanes;

/// ln 2 to 12 bits, so that n times it is exact, and the rest.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;

/// q of the module doc.
const Q: [f32; 5] = [0.5, 0.166_665_76, 0.041_666_556, 0.008_363_203, 0.001_392_621_3];

/// $2^t \approx 1 + c_1 t + \cdots + c_5 t^5$ for |t| ≤ 1/2, of least relative error: 9.2·10⁻⁸.
#[expect(clippy::approx_constant, reason = "the best first coefficient is near ln 2, not ln 2")]
const TWO_TO: [f32; 5] = [0.693_147, 0.240_222_42, 0.055_507_336, 0.009_671_513, 0.001_326_472_7];

/// 2ⁿ and e^r − 1.
#[inline(always)]
fn reduce<L: Lanes>(x: L) -> (L, L) {
    let (minus_n, power) = x.nearest_power(L::splat(LOG2_E));
    let r = minus_n.fma(L::splat(LN2_HIGH), x);
    let r = minus_n.fma(L::splat(LN2_LOW), r);
    let mut q = L::splat(Q[4]).fma(r, L::splat(Q[3]));
    q = q.fma(r, L::splat(Q[2]));
    q = q.fma(r, L::splat(Q[1]));
    q = q.fma(r, L::splat(Q[0]));
    (power, r.mul(r).fma(q, r))
}

/// e^x; beyond [−87, 88] the value at the end of that range, so that the result is always a
/// normal number.
#[inline(always)]
pub(crate) fn exp<L: Lanes>(x: L) -> L {
    let x = L::splat(88.0).min(L::splat(-87.0).max(x));
    let (power, e) = reduce(x);
    power.fma(e, power)
}

/// 1 / (1 + e⁻ˣ); below −86 the value at −86 (4.5·10⁻³⁸).
///
/// e⁻ˣ as $2^n 2^t$ with $n + t = -x \log_2 e$: one rounding of the product, by FMA where the CPU has
/// it, and of log₂e, which is all that is lost for large |x|, where it matters least.
#[inline(always)]
pub(crate) fn sigmoid<L: Lanes>(x: L) -> L {
    let (power, e) = two_to_minus(x);
    e.fma(power, L::splat(1.0)).recip()
}

/// e⁻ˣ; beyond [−86, 87] the value at the end of that range.
#[inline(always)]
pub(crate) fn exp_of_minus<L: Lanes>(x: L) -> L {
    let (power, e) = two_to_minus(x);
    e.mul(power)
}

/// 1 / (1 + e) for an e of at least 0, which may have become infinite.
#[inline(always)]
pub(crate) fn sigmoid_of<L: Lanes>(e: L) -> L {
    L::splat(1e38).min(e.add(L::splat(1.0))).recip()
}

/// $e^{-x / 2^k}$ for |x| / 2ᵏ ≤ 86.
#[inline(always)]
pub(crate) fn exp_of_minus_halved<L: Lanes>(x: L, k: u32) -> L {
    let (power, e) = two_to(x, L::splat(-LOG2_E / (1u32 << k) as f32));
    e.mul(power)
}

/// 2ⁿ and 2ᵗ, whose product is e⁻ˣ.
#[inline(always)]
fn two_to_minus<L: Lanes>(x: L) -> (L, L) {
    let x = L::splat(87.0).min(L::splat(-86.0).max(x));
    two_to(x, L::splat(-LOG2_E))
}

/// 2ⁿ and 2ᵗ, whose product is 2^{x · factor}.
#[inline(always)]
fn two_to<L: Lanes>(x: L, factor: L) -> (L, L) {
    let (minus_n, power) = x.nearest_power(factor);
    let t = x.fma(factor, minus_n);
    let mut e = L::splat(TWO_TO[4]).fma(t, L::splat(TWO_TO[3]));
    e = e.fma(t, L::splat(TWO_TO[2]));
    e = e.fma(t, L::splat(TWO_TO[1]));
    e = e.fma(t, L::splat(TWO_TO[0]));
    (power, e.fma(t, L::splat(1.0)))
}

/// t / (t + 2) with t = e^{2x} − 1, which keeps its digits near 0.
#[inline(always)]
pub(crate) fn tanh<L: Lanes>(x: L) -> L {
    // Beyond ±9.1 tanh rounds to ±1; e²⁰ keeps everything finite.
    let x = L::splat(10.0).min(L::splat(-10.0).max(x));
    let (power, e) = reduce(x.add(x));
    let t = power.fma(e, power.sub(L::splat(1.0)));
    t.mul(t.add(L::splat(2.0)).recip())
}

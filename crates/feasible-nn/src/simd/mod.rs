//! Vectors of `f32`, one trait for every instruction set.
//!
//! A kernel is written once, generic over [`Lanes`], and compiled three times: for AVX-512F,
//! for AVX2 with FMA, and for any machine. [`Level`] says which of them this CPU can run;
//! the `dispatch!` macro builds the three entry points of a kernel and picks one.
//!
//! All of it must be inlined into the entry point, because only there the compiler may use
//! the instructions: every function on the way is `#[inline(always)]` and takes no closure.
#![allow(missing_docs, reason = "public for the tests of this crate alone")]
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod exp;
mod level;
mod portable;
pub(crate) mod probe;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
pub(crate) use exp::{exp, exp_of_minus, exp_of_minus_halved, sigmoid, sigmoid_of, tanh};
#[cfg(target_arch = "x86_64")]
pub(crate) use level::InstructionSet;
pub use level::{Level, named};
pub(crate) use portable::Portable;

/// The most lanes any vector has.
pub(crate) const MAX_LANES: usize = 16;

/// Bytes of a cache line.
const LINE: usize = 64;

/// 1.5 · 2²³ + 127: numbers of this size have no fraction bits.
pub(crate) const ROUNDER: f32 = 12_583_039.0;

/// A vector of [`Lanes::N`] numbers.
///
/// Values of the x86 types are made only inside entry points built by `dispatch!`, which run
/// only on a CPU that has the instructions; that is why the arithmetic is safe to call.
pub(crate) trait Lanes: Copy {
    /// How many numbers: a power of two, at most [`MAX_LANES`].
    const N: usize;
    /// Rows and vectors of the register tile of a matrix product: as large as the registers
    /// allow. See `kernel::product`.
    const TILE: (usize, usize);
    /// Whether the compiler makes the vectors. Of a short loop over them it may then make a bad one, where it makes a
    /// good one of the plain loop: five times the time in `activate_back`.
    const PLAIN: bool = false;

    /// x in every lane.
    fn splat(x: f32) -> Self;
    /// # Safety
    /// `p` is readable for N numbers.
    unsafe fn load(p: *const f32) -> Self;
    /// # Safety
    /// `p` is writable for N numbers.
    unsafe fn store(self, p: *mut f32);
    /// The first n ≤ N numbers, 0 in the lanes after.
    ///
    /// # Safety
    /// `p` is readable for n numbers.
    unsafe fn load_part(p: *const f32, n: usize) -> Self;
    /// Stores the first n ≤ N lanes.
    ///
    /// # Safety
    /// `p` is writable for n numbers.
    unsafe fn store_part(self, p: *mut f32, n: usize);

    /// Asks for the cache line at `p` to be fetched into the second-level cache; any address will do.
    #[inline(always)]
    fn fetch(p: *const f32) {
        let _ = p;
    }

    /// self + other.
    fn add(self, other: Self) -> Self;
    /// self − other.
    fn sub(self, other: Self) -> Self;
    /// self · other.
    fn mul(self, other: Self) -> Self;
    /// self / other.
    fn div(self, other: Self) -> Self;
    /// self · a + b, rounded once where the CPU can.
    fn fma(self, a: Self, b: Self) -> Self;
    /// The larger of the two; `other` if one is NaN, so that `bound.max(x)` passes NaN on.
    fn max(self, other: Self) -> Self;
    /// The smaller of the two; `other` if one is NaN.
    fn min(self, other: Self) -> Self;
    /// Square root within 2 units in the last place; 0 below 2⁻¹²⁶.
    fn sqrt(self) -> Self;
    /// 1 / self within 2 units in the last place, for self in [2⁻¹²⁵, 2¹²⁵].
    fn recip(self) -> Self;
    /// −n and 2ⁿ for the integer n nearest to self · factor, n in [−126, 127]. Adding
    /// [`ROUNDER`] rounds and leaves n + 127 in the low bits, the exponent of 2ⁿ.
    fn nearest_power(self, factor: Self) -> (Self, Self);
    /// `value` where self > 0, else 0.
    fn where_positive(self, value: Self) -> Self;
    /// (a₀ b₀ a₁ b₁ …, … a₋₂ b₋₂ a₋₁ b₋₁): the two halves of the interleaving.
    fn zip(self, other: Self) -> (Self, Self);

    /// The first N numbers of `from`.
    ///
    /// # Panics
    /// If there are fewer. Of a slice whose length the compiler knows, as in loops over `chunks_exact`, nothing is
    /// left of the check; so for all methods on slices.
    #[inline(always)]
    fn of(from: &[f32]) -> Self {
        assert!(from.len() >= Self::N);
        // SAFETY: N numbers can be read, as asserted.
        unsafe { Self::load(from.as_ptr()) }
    }

    /// The numbers of `from`, at most N, and 0 in the lanes after.
    #[inline(always)]
    fn of_part(from: &[f32]) -> Self {
        assert!(from.len() <= Self::N);
        // SAFETY: that many can be read, and they are at most N, as asserted.
        unsafe { Self::load_part(from.as_ptr(), from.len()) }
    }

    /// Writes the first N numbers of `to`.
    #[inline(always)]
    fn put(self, to: &mut [f32]) {
        assert!(to.len() >= Self::N);
        // SAFETY: N numbers can be written, as asserted.
        unsafe { self.store(to.as_mut_ptr()) }
    }

    /// Writes `to`, at most N numbers, with the first lanes.
    #[inline(always)]
    fn put_part(self, to: &mut [f32]) {
        assert!(to.len() <= Self::N);
        // SAFETY: that many can be written, and they are at most N, as asserted.
        unsafe { self.store_part(to.as_mut_ptr(), to.len()) }
    }

    /// [`Lanes::of`] if FULL, else [`Lanes::of_part`].
    #[inline(always)]
    fn of_if<const FULL: bool>(from: &[f32]) -> Self {
        if FULL { Self::of(from) } else { Self::of_part(from) }
    }

    /// [`Lanes::put`] if FULL, else [`Lanes::put_part`].
    #[inline(always)]
    fn put_if<const FULL: bool>(self, to: &mut [f32]) {
        if FULL { self.put(to) } else { self.put_part(to) }
    }

    /// [`Lanes::load`] if FULL, else [`Lanes::load_part`].
    ///
    /// # Safety
    /// As theirs.
    #[inline(always)]
    unsafe fn load_if<const FULL: bool>(p: *const f32, n: usize) -> Self {
        // SAFETY: the caller's promise is the one the chosen method asks for.
        unsafe { if FULL { Self::load(p) } else { Self::load_part(p, n) } }
    }

    /// [`Lanes::store`] if FULL, else [`Lanes::store_part`].
    ///
    /// # Safety
    /// As theirs.
    #[inline(always)]
    unsafe fn store_if<const FULL: bool>(self, p: *mut f32, n: usize) {
        // SAFETY: the caller's promise is the one the chosen method asks for.
        unsafe { if FULL { self.store(p) } else { self.store_part(p, n) } }
    }
}

/// A slice as V vectors; or if not FULL as one, of which the slice may be less.
#[inline(always)]
pub(crate) fn vectors<L: Lanes, const V: usize, const FULL: bool>(from: &[f32]) -> [L; V] {
    assert!(if FULL { from.len() == V * L::N } else { V == 1 });
    let mut all = [L::splat(0.0); V];
    for v in 0..V {
        all[v] = L::of_if::<FULL>(&from[v * L::N..]);
    }
    all
}

/// The way back: writes all of the slice.
#[inline(always)]
pub(crate) fn put_vectors<L: Lanes, const V: usize, const FULL: bool>(all: [L; V], to: &mut [f32]) {
    assert!(if FULL { to.len() == V * L::N } else { V == 1 });
    for v in 0..V {
        all[v].put_if::<FULL>(&mut to[v * L::N..]);
    }
}

/// How many of `len` numbers make whole groups of `group`: loops take these group by group, then the rest.
#[inline(always)]
pub(crate) fn whole(len: usize, group: usize) -> usize {
    len - len % group
}

/// Asks for the cache lines of `slice` to be fetched into the first-level cache.
#[inline(always)]
pub(crate) fn fetch_near<T>(slice: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let (start, bytes) = (slice.as_ptr().cast::<i8>(), size_of_val(slice));
        let mut at = 0;
        while at < bytes + LINE - 1 {
            // SAFETY: a prefetch reads nothing, any address will do; x86-64 has the instruction.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(at.min(bytes))) };
            at += LINE;
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slice;
}

/// Lane i of the result is the sum of the lanes of `v[i]`, for i < N; N − 1 interleavings.
#[inline(always)]
pub(crate) fn sums<L: Lanes>(mut v: [L; MAX_LANES]) -> L {
    let mut half = L::N / 2;
    while half > 0 {
        for i in 0..half {
            let (low, high) = v[i].zip(v[i + half]);
            v[i] = low.add(high);
        }
        half /= 2;
    }
    v[0]
}

/// Transposes the N × N block whose rows are `v[..N]`: log₂N rounds of interleaving row i with
/// row i + N/2, each of which rotates the bits of an element's address by one.
#[inline(always)]
pub(crate) fn transposed<L: Lanes>(mut v: [L; MAX_LANES]) -> [L; MAX_LANES] {
    let mut round = 1;
    while round < L::N {
        let from = v;
        for i in 0..L::N / 2 {
            (v[2 * i], v[2 * i + 1]) = from[i].zip(from[i + L::N / 2]);
        }
        round *= 2;
    }
    v
}

/// `dispatch!(name => generic(argument: Type, …))` defines `name(level, argument, …)`, which
/// runs `generic::<L>` compiled for the instructions of `level`. It is `pub(crate)` unless another visibility stands before the name.
macro_rules! dispatch {
    ($name:ident => $($rest:tt)*) => {
        $crate::simd::dispatch!(pub(crate) $name => $($rest)*);
    };
    ($vis:vis $name:ident => $generic:ident($($arg:ident: $ty:ty),* $(,)?)) => {
        #[allow(unsafe_code, clippy::too_many_arguments)]
        $vis fn $name(level: $crate::simd::Level, $($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f")]
                fn avx512($($arg: $ty),*) {
                    $generic::<$crate::simd::Avx512>($($arg),*);
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $ty),*) {
                    $generic::<$crate::simd::Avx2>($($arg),*);
                }
                match level.kind() {
                    // SAFETY: a level of this kind exists only where the CPU has the feature.
                    $crate::simd::InstructionSet::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::simd::InstructionSet::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::simd::InstructionSet::Portable => {}
                }
            }
            let _ = level;
            $generic::<$crate::simd::Portable>($($arg),*);
        }
    };
}
pub(crate) use dispatch;

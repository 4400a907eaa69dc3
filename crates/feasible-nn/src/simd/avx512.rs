//! Sixteen lanes: AVX-512F.
//!
//! Every block below is safe for one reason, said once here: values of this type are made only
//! inside functions compiled with `avx512f` and run on a CPU that has it (see [`Lanes`]).

use std::arch::x86_64::*;

use super::{Lanes, ROUNDER};

#[derive(Clone, Copy)]
pub(crate) struct Avx512(__m512);

#[inline(always)]
fn mask(n: usize) -> __mmask16 {
    debug_assert!(n <= 16);
    ((1u32 << n) - 1) as __mmask16
}

/// Methods that are one instruction.
macro_rules! lanewise {
    ($($name:ident($($other:ident),*) $instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name(self $(, $other: Self)*) -> Self {
            // SAFETY: the CPU has AVX-512F (module doc).
            Self(unsafe { $instruction(self.0 $(, $other.0)*) })
        }
    )*};
}

impl Lanes for Avx512 {
    const N: usize = 16;
    const TILE: (usize, usize) = (6, 4);

    #[inline(always)]
    fn splat(x: f32) -> Self {
        // SAFETY: the CPU has AVX-512F (module doc).
        Self(unsafe { _mm512_set1_ps(x) })
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        // SAFETY: AVX-512F, and the caller's promise about p.
        Self(unsafe { _mm512_loadu_ps(p) })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        // SAFETY: AVX-512F, and the caller's promise about p.
        unsafe { _mm512_storeu_ps(p, self.0) }
    }
    #[inline(always)]
    unsafe fn load_part(p: *const f32, n: usize) -> Self {
        // SAFETY: AVX-512F; lanes that are masked out are not read.
        Self(unsafe { _mm512_maskz_loadu_ps(mask(n), p) })
    }
    #[inline(always)]
    unsafe fn store_part(self, p: *mut f32, n: usize) {
        // SAFETY: AVX-512F; lanes that are masked out are not written.
        unsafe { _mm512_mask_storeu_ps(p, mask(n), self.0) }
    }
    #[inline(always)]
    fn fetch(p: *const f32) {
        // SAFETY: a hint, which reads nothing and faults nowhere; SSE is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
    }
    lanewise! {
        add(other) _mm512_add_ps;
        sub(other) _mm512_sub_ps;
        mul(other) _mm512_mul_ps;
        div(other) _mm512_div_ps;
        fma(a, b) _mm512_fmadd_ps;
        max(other) _mm512_max_ps;
        min(other) _mm512_min_ps;
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        // 14 bits of 1/√x from the table, and one Newton step y + y(1 − xy²)/2 times x: a third of
        // the time of a square root. 1/√x of a number below 2⁻¹²⁶ is not used.
        // SAFETY: the CPU has AVX-512F (module doc).
        unsafe {
            let normal =
                _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(self.0, _mm512_set1_ps(f32::MIN_POSITIVE));
            let y = _mm512_maskz_rsqrt14_ps(normal, self.0);
            let root = _mm512_mul_ps(self.0, y);
            let half = _mm512_mul_ps(y, _mm512_set1_ps(0.5));
            let error = _mm512_fnmadd_ps(root, root, self.0);
            Self(_mm512_fmadd_ps(error, half, root))
        }
    }
    #[inline(always)]
    fn recip(self) -> Self {
        // 14 bits from the table, doubled by one Newton step y + y(1 − xy): a third of the time
        // of a division.
        // SAFETY: the CPU has AVX-512F (module doc).
        unsafe {
            let y = _mm512_rcp14_ps(self.0);
            let error = _mm512_fnmadd_ps(self.0, y, _mm512_set1_ps(1.0));
            Self(_mm512_fmadd_ps(y, error, y))
        }
    }
    #[inline(always)]
    fn nearest_power(self, factor: Self) -> (Self, Self) {
        let rounder = Self::splat(ROUNDER);
        let t = self.fma(factor, rounder);
        // SAFETY: the CPU has AVX-512F (module doc).
        let power =
            unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<23>(_mm512_castps_si512(t.0))) };
        (rounder.sub(t), Self(power))
    }
    #[inline(always)]
    fn where_positive(self, value: Self) -> Self {
        // SAFETY: the CPU has AVX-512F (module doc).
        unsafe {
            let positive = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(self.0, _mm512_setzero_ps());
            Self(_mm512_maskz_mov_ps(positive, value.0))
        }
    }
    #[inline(always)]
    fn zip(self, other: Self) -> (Self, Self) {
        // SAFETY: the CPU has AVX-512F (module doc).
        unsafe {
            let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            let high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
            (
                Self(_mm512_permutex2var_ps(self.0, low, other.0)),
                Self(_mm512_permutex2var_ps(self.0, high, other.0)),
            )
        }
    }
}

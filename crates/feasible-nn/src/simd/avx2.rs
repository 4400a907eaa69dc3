//! Eight lanes: AVX2 with FMA.
//!
//! Every block below is safe for one reason, said once here: values of this type are made only
//! inside functions compiled with `avx2` and `fma` and run on a CPU that has both (see
//! [`Lanes`]).

use std::arch::x86_64::*;

use super::{Lanes, ROUNDER};

#[derive(Clone, Copy)]
pub(crate) struct Avx2(__m256);

/// Ones in the first n of eight lanes: a window into eight ones followed by eight zeros.
#[inline(always)]
fn mask(n: usize) -> __m256i {
    const WINDOW: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    debug_assert!(n <= 8);
    // SAFETY: AVX2; the eight numbers from 8 − n on lie inside the window because n ≤ 8.
    unsafe { _mm256_loadu_si256(WINDOW.as_ptr().add(8 - n).cast()) }
}

/// Methods that are one instruction.
macro_rules! lanewise {
    ($($name:ident($($other:ident),*) $instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name(self $(, $other: Self)*) -> Self {
            // SAFETY: the CPU has AVX2 and FMA (module doc).
            Self(unsafe { $instruction(self.0 $(, $other.0)*) })
        }
    )*};
}

impl Lanes for Avx2 {
    const N: usize = 8;
    const TILE: (usize, usize) = (6, 2);

    #[inline(always)]
    fn splat(x: f32) -> Self {
        // SAFETY: the CPU has AVX2 (module doc).
        Self(unsafe { _mm256_set1_ps(x) })
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        // SAFETY: AVX2, and the caller's promise about p.
        Self(unsafe { _mm256_loadu_ps(p) })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        // SAFETY: AVX2, and the caller's promise about p.
        unsafe { _mm256_storeu_ps(p, self.0) }
    }
    #[inline(always)]
    unsafe fn load_part(p: *const f32, n: usize) -> Self {
        // SAFETY: AVX2; lanes that are masked out are not read.
        Self(unsafe { _mm256_maskload_ps(p, mask(n)) })
    }
    #[inline(always)]
    unsafe fn store_part(self, p: *mut f32, n: usize) {
        // SAFETY: AVX2; lanes that are masked out are not written.
        unsafe { _mm256_maskstore_ps(p, mask(n), self.0) }
    }
    #[inline(always)]
    fn fetch(p: *const f32) {
        // SAFETY: a hint, which reads nothing and faults nowhere; SSE is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
    }
    lanewise! {
        add(other) _mm256_add_ps;
        sub(other) _mm256_sub_ps;
        mul(other) _mm256_mul_ps;
        div(other) _mm256_div_ps;
        fma(a, b) _mm256_fmadd_ps;
        max(other) _mm256_max_ps;
        min(other) _mm256_min_ps;
        sqrt() _mm256_sqrt_ps;
    }
    #[inline(always)]
    fn recip(self) -> Self {
        Self::splat(1.0).div(self)
    }
    #[inline(always)]
    fn nearest_power(self, factor: Self) -> (Self, Self) {
        let rounder = Self::splat(ROUNDER);
        let t = self.fma(factor, rounder);
        // SAFETY: the CPU has AVX2 (module doc).
        let power =
            unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_castps_si256(t.0))) };
        (rounder.sub(t), Self(power))
    }
    #[inline(always)]
    fn where_positive(self, value: Self) -> Self {
        // SAFETY: the CPU has AVX2 (module doc).
        unsafe {
            let positive = _mm256_cmp_ps::<_CMP_GT_OQ>(self.0, _mm256_setzero_ps());
            Self(_mm256_and_ps(positive, value.0))
        }
    }
    #[inline(always)]
    fn zip(self, other: Self) -> (Self, Self) {
        // SAFETY: the CPU has AVX2 (module doc).
        unsafe {
            let even = _mm256_unpacklo_ps(self.0, other.0);
            let odd = _mm256_unpackhi_ps(self.0, other.0);
            (
                Self(_mm256_permute2f128_ps::<0x20>(even, odd)),
                Self(_mm256_permute2f128_ps::<0x31>(even, odd)),
            )
        }
    }
}

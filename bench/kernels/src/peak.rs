//! The most multiplications and additions the core does in a second, at each level: the yardstick.
//!
//! Twelve chains $x \leftarrow x\,a + b$ that do not wait for each other, in registers, nothing loaded
//! and nothing stored. The portable level has no fused instruction, so its chains multiply and add.

#![allow(unsafe_code)]

use std::hint::black_box;
use std::time::Instant;

use feasible_nn::Level;

/// Chains: latency (4 or 5) times instructions a cycle (2), and some.
const CHAINS: usize = 12;
/// Steps of each chain in one timing.
const STEPS: usize = 20_000;

/// GFLOP/s: the fastest of many timings, an FMA counted as two.
pub fn gflops(level: Level) -> f64 {
    let (lanes, run): (usize, fn()) = match level.name() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a level of this name exists only where the CPU has the feature.
        "avx512" => (16, || unsafe { x86::avx512() }),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        "avx2" => (8, || unsafe { x86::avx2() }),
        _ => (4, portable),
    };
    let seconds = (0..400)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    (2 * lanes * CHAINS * STEPS) as f64 / seconds / 1e9
}

/// Four numbers a chain: what every machine's vectors hold.
fn portable() {
    let (a, b) = (black_box([0.999_f32; 4]), black_box([1e-3_f32; 4]));
    let mut x = black_box([[1.0_f32; 4]; CHAINS]);
    for _ in 0..STEPS {
        for chain in &mut x {
            for i in 0..4 {
                chain[i] = chain[i] * a[i] + b[i];
            }
        }
    }
    black_box(x);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_set1_ps, _mm512_fmadd_ps, _mm512_set1_ps};
    use std::hint::black_box;

    use super::{CHAINS, STEPS};

    #[target_feature(enable = "avx512f")]
    pub fn avx512() {
        let (a, b) = (_mm512_set1_ps(black_box(0.999)), _mm512_set1_ps(black_box(1e-3)));
        let mut x = [_mm512_set1_ps(black_box(1.0)); CHAINS];
        for _ in 0..STEPS {
            for chain in &mut x {
                *chain = _mm512_fmadd_ps(*chain, a, b);
            }
        }
        black_box(x);
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn avx2() {
        let (a, b) = (_mm256_set1_ps(black_box(0.999)), _mm256_set1_ps(black_box(1e-3)));
        let mut x = [_mm256_set1_ps(black_box(1.0)); CHAINS];
        for _ in 0..STEPS {
            for chain in &mut x {
                *chain = _mm256_fmadd_ps(*chain, a, b);
            }
        }
        black_box(x);
    }
}

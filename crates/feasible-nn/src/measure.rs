//! Rates of the machine and of single layers, for whoever tunes them.

#![allow(unsafe_code)]

use std::time::Instant;

use crate::conv::ConvNet;
pub use crate::conv::measure::LayerTimes;
use crate::simd::{Lanes, Level, dispatch};

/// Accumulators in flight: enough for two units of latency four, within the registers of any level.
const CHAINS: usize = 12;
const ROUNDS: usize = 1 << 18;

/// f32 multiply-adds of this core in GFLOP/s, measured once (about two milliseconds).
pub fn fma_rate(level: Level) -> f64 {
    let mut sink = [0.0f32; 16];
    let mut lanes = 0;
    let start = Instant::now();
    multiply_add(level, &mut sink, &mut lanes);
    let seconds = start.elapsed().as_secs_f64();
    std::hint::black_box(sink);
    2.0 * (CHAINS * ROUNDS * lanes) as f64 / seconds / 1e9
}

dispatch!(multiply_add => multiply_add_lanes(sink: &mut [f32; 16], lanes: &mut usize));

#[inline(always)]
fn multiply_add_lanes<L: Lanes>(sink: &mut [f32; 16], lanes: &mut usize) {
    *lanes = L::N;
    let factor = L::splat(std::hint::black_box(0.999_9));
    let mut sums = [L::splat(1.0); CHAINS];
    for _ in 0..ROUNDS {
        for sum in &mut sums {
            *sum = factor.fma(*sum, factor);
        }
    }
    let mut total = L::splat(0.0);
    for sum in sums {
        total = total.add(sum);
    }
    // SAFETY: the sink holds 16 numbers, at least N.
    unsafe { total.store(sink.as_mut_ptr()) };
}

/// The convolutions of a network, to be timed one by one.
pub fn layers(model: &ConvNet) -> Vec<LayerTimes<'_>> {
    crate::conv::measure::layers(model)
}

//! Seeded starting points.
//!
//! Uniform on ±1/√(fan-in), weights and biases alike, as PyTorch's `Linear` starts. Each tensor
//! draws from its own ChaCha stream, numbered by its place, so a start depends on nothing but the
//! seed and the shapes: the same on every machine, and in `f64` the same numbers before rounding.

use feasible::Real;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Fills `out` with numbers uniform on ±1/√`fan_in`, from stream `stream` of `seed`.
pub fn uniform<T: Real>(seed: u64, stream: u64, fan_in: usize, out: &mut [T]) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    let bound = 1.0 / (fan_in as f64).sqrt();
    for x in out {
        // The middles of 2²⁴ equal parts of (−1, 1): symmetric, and never 0.
        let unit = (f64::from(random.next_u32() >> 8) + 0.5) / f64::from(1u32 << 23) - 1.0;
        *x = T::from_f64(bound * unit);
    }
}

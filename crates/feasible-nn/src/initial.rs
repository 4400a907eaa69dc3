//! Seeded starting points.
//!
//! Uniform on ±1/√(fan-in), weights and biases alike, as PyTorch's `Linear` starts. Each tensor
//! draws from its own ChaCha stream, numbered by its place, so a start depends on nothing but the
//! seed and the shapes: the same on every machine, and in `f64` the same numbers before rounding.

use feasible::Real;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Fills `out` with numbers uniform on ±1/√`fan_in`, from stream `stream` of `seed`.
pub(crate) fn uniform<T: Real>(seed: u64, stream: u64, fan_in: usize, out: &mut [T]) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    let bound = 1.0 / (fan_in as f64).sqrt();
    for x in out {
        // The middles of 2²⁴ equal parts of (−1, 1): symmetric, and never 0.
        let unit = (f64::from(random.next_u32() >> 8) + 0.5) / f64::from(1u32 << 23) - 1.0;
        *x = T::from_f64(bound * unit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_the_same_bits_everywhere() {
        let mut x = [0.0f64; 3];
        uniform(7, 1, 4, &mut x);
        // Written down once: a change of these is a change of everyone's results.
        let found = x.map(|x| (x * f64::from(1u32 << 25)) as i64);
        assert_eq!(found, PINNED);
        let mut rounded = [0.0f32; 3];
        uniform(7, 1, 4, &mut rounded);
        assert_eq!(rounded, x.map(|x| x as f32));
    }

    const PINNED: [i64; 3] = [5_353_301, 16_512_431, -13_175_651];

    #[test]
    fn a_start_fills_its_range_evenly() {
        let mut x = vec![0.0f64; 40_000];
        uniform(0, 0, 25, &mut x);
        let n = x.len() as f64;
        let mean = x.iter().sum::<f64>() / n;
        let square = x.iter().map(|x| x * x).sum::<f64>() / n;
        assert!(x.iter().all(|x| x.abs() < 0.2 && *x != 0.0));
        // Five standard errors: 0.2/√3/200 = 5.8e-4 for the mean; variance 0.04/3.
        assert!(mean.abs() < 2.9e-3, "{mean}");
        assert!((square - 0.04 / 3.0).abs() < 3e-4, "{square}");
    }

    #[test]
    fn streams_and_seeds_differ() {
        let draw = |seed, stream| {
            let mut x = [0.0f32; 8];
            uniform(seed, stream, 1, &mut x);
            x
        };
        assert_ne!(draw(1, 0), draw(1, 1));
        assert_ne!(draw(1, 0), draw(2, 0));
    }
}

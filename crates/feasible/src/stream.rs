//! Random numbers as a function of where they are used, never of when.
//!
//! Every draw comes from a ChaCha stream keyed by the seed, a purpose and two counters (epoch,
//! population, sample, …), so that results do not depend on threads, batch composition or on
//! where a run was interrupted.
//!
//! ```
//! use feasible::{Purpose, Stream};
//! let mut order: Vec<u32> = (0..5).collect();
//! Stream::new(1, Purpose::Shuffle, 0, 0).shuffle(&mut order);
//! // The same place, the same numbers; another purpose, others.
//! let bits = |purpose| Stream::new(1, purpose, 0, 0).bits();
//! assert_eq!(bits(Purpose::Initial), bits(Purpose::Initial));
//! assert_ne!(bits(Purpose::Initial), bits(Purpose::View));
//! assert_ne!(bits(Purpose::Search), bits(Purpose::Folds));
//! order.sort();
//! assert_eq!(order, [0, 1, 2, 3, 4]);
//! ```

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What random numbers are for; keeps streams of one seed apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A starting θ.
    Initial = 1,
    /// The order of an epoch.
    Shuffle = 2,
    /// Views that depend on the model.
    View = 3,
    /// Settings of a search.
    Search = 4,
    /// Rows that are dealt out to folds.
    Folds = 5,
}

/// A source of random numbers at one place.
#[derive(Clone, Debug)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of `seed` for `purpose` at the counters `major` and `minor`.
    pub fn new(seed: u64, purpose: Purpose, major: u64, minor: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&(purpose as u64).to_le_bytes());
        key[16..24].copy_from_slice(&major.to_le_bytes());
        key[24..].copy_from_slice(&minor.to_le_bytes());
        Self(ChaCha8Rng::from_seed(key))
    }

    /// Uniform on the 64-bit integers.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform on [0, 1), 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform on 0, 1, …, n − 1 (to within n/2³²).
    pub fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(n)) >> 32) as u32
    }

    /// Puts `items` into a uniformly random order (Fisher and Yates).
    pub fn shuffle(&mut self, items: &mut [u32]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u32 + 1) as usize);
        }
    }
}

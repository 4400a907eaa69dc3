//! Random data from the crate's counter-based streams.

use feasible::{Purpose, Stream};

/// A source of data of one problem.
pub struct Random(Stream);

impl Random {
    /// The stream of problem `number` of a kind.
    pub fn new(kind: u64, number: u64) -> Self {
        Self(Stream::new(2020, Purpose::View, kind, number))
    }

    /// Uniform on [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.uniform()
    }

    /// Uniform on low, …, high.
    pub fn count(&mut self, low: usize, high: usize) -> usize {
        low + self.0.below((high - low + 1) as u32) as usize
    }

    /// True with probability ½.
    pub fn coin(&mut self) -> bool {
        self.0.below(2) == 1
    }

    /// Standard normal (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.0.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.0.uniform()).cos()
    }

    /// Standard normal, rounded to a multiple of 1/256: sums and differences of a few such
    /// numbers are exact in `f32`, so the crate and the oracle see the same data.
    pub fn datum(&mut self) -> f64 {
        grid(self.normal())
    }

    /// Standard normal vector.
    pub fn normals(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.normal()).collect()
    }
}

/// The nearest multiple of 1/256.
pub fn grid(x: f64) -> f64 {
    (x * 256.0).round() / 256.0
}

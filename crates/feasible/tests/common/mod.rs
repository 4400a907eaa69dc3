//! Small data sets that several tests share.
#![allow(dead_code, clippy::unwrap_used)]

use feasible::{Inputs, Population, Purpose, Samples, Stream, Targets};

pub mod depth;
pub mod workers;

/// A table of `rows` people: column 0 a 0/1 group, 1 to 3 one-hot of a second variable, 4 and 5
/// numbers. The class depends on all of them, the group included.
pub fn people(rows: usize, seed: u64) -> Population {
    let mut stream = Stream::new(seed, Purpose::View, 99, 0);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let group = (stream.uniform() < 0.5) as u32 as f32;
        let category = stream.below(3) as usize;
        let a = normal(&mut stream);
        let b = normal(&mut stream);
        let mut row = [group, 0.0, 0.0, 0.0, a, b];
        row[1 + category] = 1.0;
        let score =
            1.5 * f64::from(group) + f64::from(a) - 0.5 * f64::from(b) + category as f64 - 1.5;
        y.push((stream.uniform() < 1.0 / (1.0 + (-score).exp())) as u32);
        x.extend(row);
    }
    let inputs = Inputs::new(x, 6).unwrap();
    Population::new(Samples::new(inputs, Targets::Classes(y)).unwrap())
}

/// A number near a standard normal one, on a grid of 2⁻⁸ so that finite differences of inputs
/// are exact in f32.
fn normal(stream: &mut Stream) -> f32 {
    let sum: f64 = (0..12).map(|_| stream.uniform()).sum::<f64>() - 6.0;
    ((sum * 256.0).round() / 256.0) as f32
}

/// Bits, to compare exactly.
pub fn bits(theta: &[f32]) -> Vec<u32> {
    theta.iter().map(|t| t.to_bits()).collect()
}

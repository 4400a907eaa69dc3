//! Random batches whose numbers are multiples of 2⁻⁸, so that x ± a power of two is exact.

#![allow(dead_code)] // each test program uses a part of it

use feasible::{Batch, Inputs, Mode, Model, Pass, Real, Shift, ShiftBuilder, ViewShift};

/// SplitMix64: enough for test data, and the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// A multiple of 2⁻⁸ in [−2, 2).
    pub fn grid(&mut self) -> f32 {
        (self.below(1024) as f32 - 512.0) / 256.0
    }

    /// Uniform on [−1, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

pub struct Case {
    pub width: usize,
    /// The matrix in full, sample by sample.
    pub values: Vec<f32>,
    pub inputs: Inputs,
    /// Positions of the batch, some sample twice.
    pub rows: Vec<u32>,
    /// Two counterfactuals: one column, and up to three.
    pub shifts: [Shift; 2],
    pub delta: Vec<f32>,
}

/// Which views a batch asks for.
pub const KINDS: [&str; 5] = ["", "s", "d", "st", "tds"];

impl Case {
    /// `dense` columns of numbers, the others indicators; a batch of `rows` positions.
    pub fn new(random: &mut Random, width: usize, dense: usize, rows: usize) -> Self {
        let samples = rows.max(1) + 2;
        // Dense columns are spread over the width, in several runs.
        let mut is_dense = vec![false; width];
        while is_dense.iter().filter(|&&x| x).count() < dense.min(width) {
            is_dense[random.below(width)] = true;
        }
        let mut values = Vec::new();
        for _ in 0..samples {
            for c in 0..width {
                let indicator = if random.below(3) == 0 { 1.0 } else { 0.0 };
                values.push(if is_dense[c] { random.grid() } else { indicator });
            }
        }
        let inputs = Inputs::new(values.clone(), width).unwrap();
        let mut shifts = [1usize, 3].map(|most| {
            let mut builder = ShiftBuilder::new(samples);
            for _ in 0..samples {
                // Some rows are left as they are.
                let count = random.below(most + 1).min(width);
                let start = random.below(width - count + 1);
                let changes: Vec<_> =
                    (start..start + count).map(|c| (c as u32, random.grid())).collect();
                builder.push(&changes).unwrap();
            }
            builder.finish()
        });
        shifts.reverse();
        let rows: Vec<u32> = (0..rows).map(|_| random.below(samples) as u32).collect();
        let delta = (0..rows.len() * width).map(|_| random.grid() / 4.0).collect();
        Self { width, values, inputs, rows, shifts, delta }
    }

    /// s and t are the sparse shifts, d the dense one.
    pub fn views(&self, kind: &str) -> Vec<ViewShift<'_>> {
        let view = |c| match c {
            's' => ViewShift::Sparse(&self.shifts[0]),
            't' => ViewShift::Sparse(&self.shifts[1]),
            _ => ViewShift::Dense(&self.delta),
        };
        kind.chars().map(view).collect()
    }
}

/// f_θ for every view.
pub fn outputs<M: Model>(model: &M, theta: &[M::Real], batch: &Batch<'_>) -> Vec<M::Real> {
    forward(model, theta, batch, Mode::Evaluation, &mut M::Tape::default())
}

/// The same on a tape that backward passes go back along.
pub fn forward<M: Model>(
    model: &M,
    theta: &[M::Real],
    batch: &Batch<'_>,
    mode: Mode,
    tape: &mut M::Tape,
) -> Vec<M::Real> {
    let mut outputs = vec![M::Real::ZERO; batch.output_rows() * model.output_width()];
    model.forward(theta, batch, Pass { mode, ..Pass::default() }, tape, &mut outputs);
    outputs
}

/// ⟨seeds, f_θ⟩.
pub fn value<M: Model<Real = f64>>(
    model: &M,
    theta: &[f64],
    batch: &Batch<'_>,
    seeds: &[f64],
) -> f64 {
    outputs(model, theta, batch).iter().zip(seeds).map(|(f, s)| f * s).sum()
}

/// θ, random.
pub fn parameters(random: &mut Random, count: usize, scale: f64) -> Vec<f64> {
    (0..count).map(|_| scale * random.unit()).collect()
}

/// The largest |a − b| over the largest |b| (at least `floor`).
pub fn relative_error<A: Real, B: Real>(a: &[A], b: &[B], floor: f64) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = b.iter().map(|b| b.to_f64().abs()).fold(floor, f64::max);
    let error = |(a, b): (&A, &B)| {
        let e = (a.to_f64() - b.to_f64()).abs();
        if e.is_nan() { f64::INFINITY } else { e }
    };
    a.iter().zip(b).map(error).fold(0.0, f64::max) / size
}

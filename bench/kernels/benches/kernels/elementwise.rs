//! Kernels that do a little to every number: activations, steps of optimisers, sums of columns.
//!
//! Values stay what earlier calls made of them: at every level the time does not depend on them,
//! denormals being flushed.

use std::hint::black_box;

use feasible_bench::aligned::Aligned;
use feasible_bench::tables::numbers;
use feasible_nn::kernel::{AdamStep, Kernels, SgdStep};
use feasible_nn::{Activation, Level};

use crate::table::{Measured, Work};

/// 128 rows of 64: 32 KiB, inside the first cache.
const LEN: usize = 128 * 64;
/// Parameters of the networks 61-64-2 and 256-256-256-256-10.
const PARAMETERS: [usize; 2] = [4098, 199_946];

fn line(seed: u64) -> Aligned {
    numbers(LEN, seed).into()
}

pub fn measure(measured: &mut Measured, level: Level) {
    let activations = [
        ("sigmoid", Activation::Sigmoid, 8),
        ("tanh", Activation::Tanh, 8),
        ("relu", Activation::Relu, 8),
        // Its slope is written too.
        ("silu", Activation::Silu, 12),
    ];
    for (name, activation, bytes) in activations {
        let (mut z, mut slope) = (line(0), line(1));
        let work = Work::Bytes(bytes * LEN);
        measured.time(&format!("activate {name}, 8,192"), Some(level), work, || {
            f32::activate(level, activation, black_box(&mut z), black_box(&mut slope));
        });
    }
    // What sigmoid gives: in (0, 1).
    let a: Vec<f32> = line(0).iter().map(|x| 0.5 + 0.5 * x).collect();
    let (a, slope, mut da) = (Aligned::from(a), line(1), line(2));
    measured.time("activate_back sigmoid, 8,192", Some(level), Work::Bytes(12 * LEN), || {
        f32::activate_back(level, Activation::Sigmoid, &a, &slope, black_box(&mut da));
    });
    let mut z = line(0);
    measured.time("exponentials, 8,192", Some(level), Work::Bytes(8 * LEN), || {
        f32::exponentials(level, black_box(&mut z));
    });
    optimisers(measured, level);
    let (a, mut sums) = (numbers(128 * 256, 0), vec![0.0; 256]);
    measured.time("column_sums 128×256", Some(level), Work::Bytes(4 * 128 * 256), || {
        f32::column_sums(level, &a, black_box(&mut sums));
    });
}

fn optimisers(measured: &mut Measured, level: Level) {
    let adam = AdamStep {
        rate: 1e-3,
        betas: (0.9, 0.999),
        root: 1.0,
        epsilon: 1e-8,
        decay: 0.0, scale: 1.0,
        keep: 1.0,
    };
    let sgd = SgdStep { rate: 1e-6, momentum: 0.9, nesterov: false, decay: 0.0 };
    for len in PARAMETERS {
        let (mut theta, gradient) = (numbers(len, 0), numbers(len, 1));
        let (mut m, mut v) = (vec![0.0; len], vec![0.0; len]);
        // θ, m and v are read and written, g is read.
        measured.time(&format!("adam, {len}"), Some(level), Work::Bytes(28 * len), || {
            f32::adam(level, adam, black_box(&mut theta), &gradient, &mut m, &mut v);
        });
        measured.time(
            &format!("sgd with momentum, {len}"),
            Some(level),
            Work::Bytes(20 * len),
            || {
                f32::sgd(level, sgd, black_box(&mut theta), &gradient, &mut m);
            },
        );
    }
}

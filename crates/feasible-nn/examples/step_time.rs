//! Microseconds per training step, and GFLOP/s of the products.
//!
//! `cargo run --release -p feasible-nn --example step_time [level]`
//!
//! Prints the fastest of many repetitions of: the Adult network (61 → 64 sigmoid → 2, batch 128, nine
//! indicators a row, one counterfactual view) forward, backward and Adam; and a perceptron of
//! three layers of 256 on 256 dense columns.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use feasible::{
    Batch, Inputs, InputsBuilder, Model, Optimiser, OptimiserState, Pass, ShiftBuilder, ViewShift,
};
use feasible_nn::kernel::{Kernels, Left, Start};
use feasible_nn::{Activation, Adam, Level, Mlp};

/// The fastest of many timings of `f`, each of `count` calls, in µs per call: what the code
/// takes when nothing else runs, which a median on a shared machine is not.
fn time(count: usize, mut f: impl FnMut()) -> f64 {
    let mut timings: Vec<f64> = (0..101)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..count {
                f();
            }
            start.elapsed().as_secs_f64() * 1e6 / count as f64
        })
        .collect();
    timings.sort_by(f64::total_cmp);
    timings[0]
}

/// Nine indicators a row: one of each variable of the Adult table.
fn adult(samples: usize) -> Inputs {
    let levels = [9, 9, 4, 15, 4, 1, 12, 6, 1];
    let mut builder = InputsBuilder::new(61, vec![], samples).expect("61 columns");
    let mut state = 1u64;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (state >> 33) % n
    };
    for _ in 0..samples {
        let mut first = 0;
        let mut hot = Vec::new();
        for n in levels {
            // Skewed, as real tables are: half of the rows have the first level.
            let level = if n == 1 { below(2) * 2 } else { below(2) * below(n) };
            if level < n || n > 1 {
                hot.push((first + level) as u32);
            }
            first += n;
        }
        builder.push(&[], &hot).expect("columns inside");
    }
    builder.finish()
}

fn steps(name: &str, model: &Mlp, inputs: &Inputs, shifts: &[ViewShift<'_>], batch: usize) {
    let samples = inputs.rows();
    let order: Vec<u32> = (0..samples as u32).map(|i| i * 7919 % samples as u32).collect();
    let mut theta = model.initial(0);
    let mut gradient = vec![0.0; theta.len()];
    let (mut tape, pass) = (Default::default(), Pass::default());
    let adam = Adam::new(0.001);
    let mut state = OptimiserState::new(2, theta.len());
    let outputs = (1 + shifts.len()) * batch * model.output_width();
    let mut answer = vec![0.0; outputs];
    let seeds: Vec<f32> = (0..outputs).map(|i| ((i % 7) as f32 - 3.0) * 1e-2).collect();
    let mut at = 0;
    let mut next = || {
        at = (at + batch) % (samples - batch);
        Batch { inputs, rows: &order[at..at + batch], shifts }
    };
    let count = if model.parameter_count() > 10_000 { 2 } else { 40 };
    let forward = time(count, || {
        model.forward(&theta, &next(), pass, &mut tape, &mut answer);
    });
    let fixed = next();
    model.forward(&theta, &fixed, pass, &mut tape, &mut answer);
    let backward = time(count, || {
        model.backward(&theta, &fixed, &mut tape, &seeds, &mut gradient);
    });
    let step = time(count, || adam.step(0.0, &mut state, &mut theta, &gradient));
    let whole = time(count, || {
        let batch = next();
        model.forward(&theta, &batch, pass, &mut tape, &mut answer);
        gradient.fill(0.0);
        model.backward(&theta, &batch, &mut tape, &seeds, &mut gradient);
        adam.step(0.0, &mut state, &mut theta, &gradient);
    });
    black_box(&theta);
    println!(
        "{name}: {whole:7.2} µs a step (forward {forward:.2}, backward {backward:.2}, Adam {step:.2})"
    );
    // Products with W: one forward, two backward, except the first layer's second one.
    let w = model.widths();
    let products: usize =
        w.windows(2).enumerate().map(|(l, w)| w[0] * w[1] * if l == 0 { 2 } else { 3 }).sum();
    let flop = 2.0 * (products * (1 + shifts.len()) * batch) as f64;
    println!(
        "{:>width$}  as dense products {:.1} GFLOP/s",
        "",
        flop / whole / 1e3,
        width = name.len()
    );
}

fn main() {
    let wanted = std::env::args().nth(1);
    for level in Level::available() {
        if wanted.as_ref().is_some_and(|w| w != level.name()) {
            continue;
        }
        println!("{}", level.name());
        let inputs = adult(32_561);
        let mut flip = ShiftBuilder::new(inputs.rows());
        for r in 0..inputs.rows() {
            let male = inputs.hot(r).contains(&41);
            flip.push(&[(41, if male { -1.0 } else { 1.0 })]).expect("finite");
        }
        let flip = flip.finish();
        let model = Mlp::new(&[61, 64, 2], Activation::Sigmoid).expect("widths").with_level(level);
        steps("  Adult 61-64-2, 2 views", &model, &inputs, &[ViewShift::Sparse(&flip)], 128);

        let values: Vec<f32> =
            (0..4096 * 256).map(|i| ((i * 37) % 101) as f32 / 50.0 - 1.0).collect();
        let inputs = Inputs::dense(values, 256).expect("finite");
        let deep = Mlp::new(&[256, 256, 256, 256, 10], Activation::Relu).expect("widths");
        steps("  256-256-256-256-10", &deep.with_level(level), &inputs, &[], 128);

        for m in [128, 256] {
            let a: Vec<f32> = (0..m * 256).map(|i| (i % 13) as f32 - 6.0).collect();
            let b: Vec<f32> = (0..256 * 256).map(|i| (i % 17) as f32 - 8.0).collect();
            let mut c = vec![0.0; m * 256];
            let us = time(5, || {
                f32::product(level, Left::new(&a, m, 256), &b, 256, Start::Zero, &mut c);
            });
            let mut d = vec![0.0; 256 * 256];
            let transposed = time(5, || {
                f32::product(
                    level,
                    Left::new(&a, m, 256).transpose(),
                    &c,
                    256,
                    Start::Zero,
                    &mut d,
                );
            });
            let mut scratch = feasible::aligned::AlignedVec::new();
            let rows = time(5, || {
                scratch.clear();
                f32::product_with_rows(level, &a, &b, 256, 256, None, &mut scratch, &mut c);
            });
            black_box((&c, &d));
            let rate = |us: f64| 2.0 * (m * 256 * 256) as f64 / us / 1e3;
            println!(
                "  product {m}×256×256: AB {:.0}, AᵀB {:.0}, ABᵀ {:.0} GFLOP/s",
                rate(us),
                rate(transposed),
                rate(rows)
            );
        }
    }
}

//! The first layer on indicators, and networks forward and backward.
//!
//! Operations are those of the formulas: one for every number added, two for every number
//! multiplied and added; activations are not counted.

use std::hint::black_box;

use feasible::{Batch, Error, Inputs, Model, Pass, Shift, ViewShift, rho};
use feasible_bench::aligned::Aligned;
use feasible_bench::tables::{ADULT, GENDER, numbers};
use feasible_nn::kernel::{Kernels, Weights};
use feasible_nn::{Activation, Level, Mlp};

use crate::table::{Measured, Work};

/// Rows of a batch.
const ROWS: usize = 128;
/// Rows of the table: so many batches that none is remembered by the branch predictor.
const TABLE: usize = 64 * ROWS;
/// Hidden units.
const H: usize = 64;

pub fn measure(measured: &mut Measured, level: Level) -> Result<(), Error> {
    let inputs = ADULT.inputs(TABLE)?;
    let flip = Shift::new(&inputs, rho::flip(GENDER))?;
    let shifts = [ViewShift::Sparse(&flip)];
    let rows: Vec<u32> = (0..TABLE as u32).collect();
    let batch = |i: usize| {
        let start = i % 64 * ROWS;
        Batch { inputs: &inputs, rows: &rows[start..start + ROWS], shifts: &shifts }
    };
    // On average, as batches differ.
    let hot = (0..TABLE).map(|r| inputs.hot(r).len()).sum::<usize>() / 64;
    let changed = (0..TABLE).map(|r| flip.row(r).count()).sum::<usize>() / 64;
    let added = H * (hot + 2 * changed);

    let mut number = 0;
    let mut next = || {
        number += 1;
        batch(number)
    };
    let weights = Aligned::from(numbers(ADULT.width() * H, 0));
    let bias = numbers(H, 1);
    let layer = Weights { weights: &weights, bias: &bias };
    let mut z = Aligned::from(vec![0.0; 2 * ROWS * H]);
    for (name, activation) in [("", None), (" and sigmoid", Some(Activation::Sigmoid))] {
        let name = format!("gather{name}, 128 rows, 2 views, 61-64");
        measured.time(&name, Some(level), Work::Flop(added), || {
            f32::gather(level, &next(), true, layer, activation, black_box(&mut z), &mut []);
        });
    }
    let mut gradient = Aligned::from(vec![0.0; ADULT.width() * H]);
    let mut bias = vec![0.0; H];
    // Also the sum of the views, and of the rows for the bias.
    let scattered = Work::Flop(added + 2 * ROWS * H);
    measured.time("scatter, 128 rows, 2 views, 61-64", Some(level), scattered, || {
        f32::scatter(level, &next(), true, &mut z, black_box(&mut gradient), &mut bias);
    });

    let shallow = Mlp::new(&[ADULT.width(), H, 2], Activation::Sigmoid)?.with_level(level);
    let head = 2 * 2 * ROWS * H * 2;
    // Backward: da and dU, da·φ', then as the scatter.
    let flop = [added + head, added + 2 * ROWS * H + 2 * head + 2 * ROWS * H];
    network(measured, "61-64-2, 128 rows, 2 views", level, &shallow, batch, flop);

    let deep = Mlp::new(&[256, 256, 256, 256, 10], Activation::Relu)?.with_level(level);
    let inputs = Inputs::dense(numbers(ROWS * 256, 2), 256)?;
    let batch = |_| Batch { inputs: &inputs, rows: &rows[..ROWS], shifts: &[] };
    let products = 2 * ROWS * (3 * 256 * 256 + 256 * 10);
    // Backward: two products a layer, but one for the first.
    let flop = [products, 2 * products - 2 * ROWS * 256 * 256];
    network(measured, "256-256-256-256-10, 128 rows", level, &deep, batch, flop);
    Ok(())
}

fn network<'a>(
    measured: &mut Measured,
    name: &str,
    level: Level,
    model: &Mlp,
    batch: impl Fn(usize) -> Batch<'a>,
    [forward, backward]: [usize; 2],
) {
    let theta = model.initial(0);
    let (mut tape, mut outputs) = (Default::default(), Vec::new());
    let mut i = 0;
    measured.time(&format!("forward {name}"), Some(level), Work::Flop(forward), || {
        i += 1;
        let batch = batch(i);
        outputs.resize(batch.output_rows() * model.output_width(), 0.0);
        model.forward(&theta, &batch, Pass::default(), &mut tape, black_box(&mut outputs));
    });
    let mut gradient = vec![0.0; theta.len()];
    let batch = batch(0);
    outputs.resize(batch.output_rows() * model.output_width(), 0.0);
    model.forward(&theta, &batch, Pass::default(), &mut tape, &mut outputs);
    let seeds = numbers(outputs.len(), 3);
    measured.time(&format!("backward {name}"), Some(level), Work::Flop(backward), || {
        model.backward(&theta, &batch, &mut tape, &seeds, black_box(&mut gradient));
    });
}

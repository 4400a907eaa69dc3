//! How fast the 3×3 convolutions of ResNet18 are, beside the core's FMA peak.
//!
//! `cargo run --release --manifest-path bench/kernels/Cargo.toml --bin conv_layers -- [width] [batch]` (16 and 128 unless
//! given). A network with five equal layers is timed against one with a single one: a quarter of the difference is a
//! layer as it is in use, packing and ReLU included. Minima of several runs: other work on the machine makes a run
//! slower, never faster.

use std::time::Instant;

use feasible::{Batch, FlushDenormals, Inputs, Model, Pass, Purpose, Stream};
use feasible_bench::peak;
use feasible_nn::conv::{Builder, ConvNet, ConvShape, Layer, Window};
use feasible_nn::{Activation, Level};

const RUNS: usize = 20;
const MORE: usize = 4;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let arguments: Vec<usize> =
        std::env::args().skip(1).map(|argument| argument.parse()).collect::<Result<_, _>>()?;
    let argument = |i: usize, otherwise: usize| arguments.get(i).copied().unwrap_or(otherwise);
    let (width, batch) = (argument(0, 16), argument(1, 128));
    let _flush = FlushDenormals::new();
    let peak = peak::gflops(Level::best());
    println!("{}: {peak:.0} GFLOP/s of f32 FMA on one core; {batch} images", Level::best().name());
    println!("{:<16} {:>24} {:>24} {:>24}", "", "forward", "to inputs", "to weights");
    for (stage, side) in [28, 14, 7, 4].into_iter().enumerate() {
        let channels = width << stage;
        let one = times(&network(channels, side, 1)?, batch)?;
        let many = times(&network(channels, side, 1 + MORE)?, batch)?;
        let flop = (2 * 9 * channels * channels * side * side * batch) as f64;
        print!("{channels:>4}→{channels:<4} {side:>2}×{side:<2}");
        for (one, many) in one.into_iter().zip(many) {
            let seconds = (many - one) / MORE as f64;
            let rate = flop / seconds / 1e9;
            print!(" {:>8.0} µs {rate:>5.0} {:>4.0} %", 1e6 * seconds, 100.0 * rate / peak);
        }
        println!();
    }
    Ok(())
}

/// A first layer that makes the channels, and `layers` 3×3 convolutions that keep them.
fn network(channels: usize, side: usize, layers: usize) -> Result<ConvNet, Error> {
    let mut net = Builder::new(ConvShape::new(1, side, side))?;
    let mut value = net.image();
    for at in 0..=layers {
        let layer = Layer::new(format!("layer{at}"), channels, Window::new(3).padding(1));
        value = net.layer(value, layer.activation(Activation::Relu))?;
    }
    let value = net.global_average(value)?;
    let outputs = net.linear(value, "head", 2)?;
    Ok(net.finish(outputs)?)
}

/// Seconds of a forward pass, and of what the gradients to the inputs, and then to the weights, add to it.
fn times(model: &ConvNet, batch: usize) -> Result<[f64; 3], Error> {
    let mut random = Stream::new(1, Purpose::View, 0, 0);
    let d = model.input_width();
    let inputs = Inputs::dense((0..batch * d).map(|_| random.uniform() as f32).collect(), d)?;
    let rows: Vec<u32> = (0..batch as u32).collect();
    let of = Batch { inputs: &inputs, rows: &rows, shifts: &[] };
    let (theta, seeds) = (model.initial(1), vec![0.1; batch * 2]);
    let (mut tape, mut outputs) = (Default::default(), vec![0.0; batch * 2]);
    let (mut by_input, mut by_theta) = (vec![0.0; batch * d], vec![0.0; theta.len()]);
    let mut best = [f64::INFINITY; 3];
    for _ in 0..RUNS {
        let start = Instant::now();
        model.forward(&theta, &of, Pass::default(), &mut tape, &mut outputs);
        let forward = start.elapsed().as_secs_f64();
        model.input_gradient(&theta, &of, &mut tape, &seeds, &mut by_input);
        let inputs = start.elapsed().as_secs_f64() - forward;
        model.forward(&theta, &of, Pass::default(), &mut tape, &mut outputs);
        let start = Instant::now();
        model.backward(&theta, &of, &mut tape, &seeds, &mut by_theta);
        let whole = start.elapsed().as_secs_f64();
        for (best, time) in best.iter_mut().zip([forward, inputs, whole]) {
            *best = best.min(time);
        }
    }
    let [forward, inputs, whole] = best;
    Ok([forward, inputs, whole - inputs])
}

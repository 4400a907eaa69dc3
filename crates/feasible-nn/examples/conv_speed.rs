//! How fast convolutions and whole steps are, beside the core's FMA peak.
//!
//! `cargo run --release -p feasible-nn --example conv_speed -- [width] [batch] [threads]`
//! (16, 128 and 1 unless given). Prints per layer of ResNet18 on 28×28 images the time of forward, backward to
//! the inputs and backward to the weights, in GFLOP/s and as a share of the measured peak; then a
//! forward pass, a training step (forward, backward) and a step of an attack. Minima of several
//! runs: other work on the machine makes a run slower, never faster.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::time::Instant;

use feasible::{Batch, FlushDenormals, Inputs, Mode, Model, Pass, Purpose, Stream};
use feasible_nn::conv::{ConvNet, ConvShape};
use feasible_nn::{Level, measure};

/// The shortest of several runs, in seconds.
fn shortest(mut runs: usize, mut f: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    while runs > 0 {
        let start = Instant::now();
        f();
        best = best.min(start.elapsed().as_secs_f64());
        runs -= 1;
    }
    best
}

fn main() {
    let arguments: Vec<usize> =
        std::env::args().skip(1).map(|a| a.parse().expect("a number")).collect();
    let argument = |i: usize, otherwise: usize| arguments.get(i).copied().unwrap_or(otherwise);
    let (width, batch, threads) = (argument(0, 16), argument(1, 128), argument(2, 1));
    let _flush = FlushDenormals::new();
    let peak = (0..20).map(|_| measure::fma_rate(Level::best())).fold(0.0, f64::max);
    println!("{}: {peak:.0} GFLOP/s of f32 FMA on one core", Level::best().name());

    let model = ConvNet::resnet18(ConvShape::new(1, 28, 28), 10, width).unwrap();
    println!("\nResNet18, width {width}, {batch} images, per layer, one thread:");
    println!("{:<24} {:>26} {:>26} {:>26}", "", "forward", "to inputs", "to weights");
    for layer in measure::layers(&model) {
        let seconds = layer.times(batch, 30);
        let rate = |s: f64| 2.0 * (layer.multiplications() * batch) as f64 / s / 1e9;
        print!("{:<24}", layer.name());
        for s in seconds {
            print!(" {:>9.0} µs {:>5.0} {:>5.0} %", 1e6 * s, rate(s), 100.0 * rate(s) / peak);
        }
        println!();
    }

    let mut random = Stream::new(1, Purpose::View, 0, 0);
    let d = model.input_width();
    let pixels = (0..batch * d).map(|_| random.uniform() as f32).collect();
    let inputs = Inputs::dense(pixels, d).unwrap();
    let rows: Vec<u32> = (0..batch as u32).collect();
    let of = Batch { inputs: &inputs, rows: &rows, shifts: &[] };
    let theta = model.initial(1);
    let seeds: Vec<f32> = (0..batch * 10).map(|_| random.uniform() as f32 - 0.5).collect();
    let pool = rayon_pool(threads);
    let run = |runs: usize, f: &mut (dyn FnMut() + Send)| match &pool {
        None => shortest(runs, f),
        Some(pool) => pool.install(|| shortest(runs, f)),
    };
    let flops = 2.0 * (model.multiplications() * batch) as f64;
    let show = |what: &str, s: f64, passes: f64| {
        let rate = passes * flops / s / 1e9;
        let share = 100.0 * rate / peak / threads as f64;
        println!("{what:<24} {:>8.2} ms {rate:>6.0} GFLOP/s {share:>4.0} %", 1e3 * s);
    };
    println!("\nwhole passes, {threads} thread(s):");
    let mut tape = Default::default();
    let (pass, mut outputs) = (Pass::default(), vec![0.0; batch * 10]);
    let forward = run(12, &mut || model.forward(&theta, &of, pass, &mut tape, &mut outputs));
    show("forward (evaluation)", forward, 1.0);
    let mut gradient = vec![0.0; batch * d];
    let step = run(12, &mut || {
        model.forward(&theta, &of, pass, &mut tape, &mut outputs);
        model.input_gradient(&theta, &of, &mut tape, &seeds, &mut gradient);
    });
    show("step of an attack", step, 2.0);
    let mut gradient = vec![0.0; theta.len()];
    let pass = Pass { mode: Mode::Training, ..pass };
    let mut running = theta.clone();
    let train = run(12, &mut || {
        model.forward(&theta, &of, pass, &mut tape, &mut outputs);
        model.backward(&theta, &of, &mut tape, &seeds, &mut gradient);
        model.absorb(&mut running, &mut tape);
    });
    show("training step", train, 3.0);
    let steps = 59_000.0 / batch as f64;
    println!("nominal epoch of 59,000 images: {:.0} s", steps * train);
    let adversarial = 5.0 * step + 2.0 * train;
    println!(
        "adversarial epoch (5 steps, clean and adversarial training): {:.0} s",
        steps * adversarial
    );
    if let Ok(status) = std::fs::read_to_string("/proc/self/status")
        && let Some(line) = status.lines().find(|l| l.starts_with("VmHWM"))
    {
        println!("most memory: {}", line.trim_start_matches("VmHWM:").trim());
    }
}

fn rayon_pool(threads: usize) -> Option<rayon::ThreadPool> {
    let flushing = |_| std::mem::forget(FlushDenormals::new());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).start_handler(flushing);
    (threads > 1).then(|| pool.build().unwrap())
}

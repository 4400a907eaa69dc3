//! Steps of ResNet18 on 28×28 images: forward, a step of an attack, a training step, an adversarial step.
//!
//! `cargo run --release --manifest-path bench/kernels/Cargo.toml --bin conv_steps -- [width] [batch] [threads] [rounds]`
//! (16, 128, 1 and 12 unless given) prints every time it took, as JSON. An adversarial step is what it says: five
//! steps of projected gradient on the cross-entropy (forward, gradient to the inputs, sign, projection),
//! then a training step on the clean and on the adversarial batch. `bench/conv` runs it and its
//! counterpart in PyTorch, `bench/peers/conv_step.py`, in turn.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::time::Instant;

use feasible::{Batch, FlushDenormals, Inputs, Mode, Model, Pass, Purpose, Stream};
use feasible_bench::peak;
use feasible_nn::Level;
use feasible_nn::conv::{ConvNet, ConvShape, ConvTape};

const EPSILON: f32 = 0.1;
const STEPS: usize = 5;
const CLASSES: usize = 10;

/// A network, a batch and memory for its steps.
struct Bench {
    model: ConvNet,
    theta: Vec<f32>,
    pixels: Vec<f32>,
    rows: Vec<u32>,
    tape: ConvTape<f32>,
    outputs: Vec<f32>,
    seeds: Vec<f32>,
    to_inputs: Vec<f32>,
    to_parameters: Vec<f32>,
}

impl Bench {
    fn inputs(&self, pixels: &[f32]) -> Inputs {
        Inputs::dense(pixels.to_vec(), self.model.input_width()).unwrap()
    }

    fn forward(&mut self, inputs: &Inputs, mode: Mode) {
        let batch = Batch { inputs, rows: &self.rows, shifts: &[] };
        let Self { model, theta, tape, outputs, .. } = self;
        model.forward(theta, &batch, Pass { mode, ..Pass::default() }, tape, outputs);
        // What a training does with the statistics of a batch.
        model.absorb(theta, tape);
    }

    /// The gradient of the mean cross-entropy with respect to the outputs: (softmax − one-hot)/n.
    fn seed(&mut self) {
        let n = self.rows.len() as f32;
        let outputs = self.outputs.chunks_exact(CLASSES);
        for (row, (z, seed)) in outputs.zip(self.seeds.chunks_exact_mut(CLASSES)).enumerate() {
            let largest = z.iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b));
            let total: f32 = z.iter().map(|z| (z - largest).exp()).sum();
            for (class, (z, seed)) in z.iter().zip(seed).enumerate() {
                let label = f32::from(u8::from(class == row % CLASSES));
                *seed = ((z - largest).exp() / total - label) / n;
            }
        }
    }

    fn attack(&mut self, inputs: &Inputs) {
        self.forward(inputs, Mode::Evaluation);
        self.seed();
        let batch = Batch { inputs, rows: &self.rows, shifts: &[] };
        let Self { model, theta, tape, seeds, to_inputs, .. } = self;
        model.input_gradient(theta, &batch, tape, seeds, to_inputs);
    }

    fn train(&mut self, inputs: &Inputs) {
        self.forward(inputs, Mode::Training);
        self.seed();
        let batch = Batch { inputs, rows: &self.rows, shifts: &[] };
        let Self { model, theta, tape, seeds, to_parameters, .. } = self;
        model.backward(theta, &batch, tape, seeds, to_parameters);
    }

    fn adversarial(&mut self, clean: &Inputs) {
        let mut at = self.pixels.clone();
        for _ in 0..STEPS {
            let inputs = self.inputs(&at);
            self.attack(&inputs);
            let step = 2.0 * EPSILON / STEPS as f32;
            for ((x, g), x0) in at.iter_mut().zip(&self.to_inputs).zip(&self.pixels) {
                let sign = if *g == 0.0 { 0.0 } else { g.signum() };
                *x = (*x + step * sign).clamp((x0 - EPSILON).max(0.0), (x0 + EPSILON).min(1.0));
            }
        }
        let inputs = self.inputs(&at);
        self.to_parameters.fill(0.0);
        self.train(clean);
        self.train(&inputs);
    }
}

/// Seconds all threads have been on a core; waiting for one does not count. 0 where Linux does not say.
fn cpu() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |task: std::fs::DirEntry| -> Option<f64> {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    1e-9 * tasks.filter_map(of).sum::<f64>()
}

fn main() {
    let arguments: Vec<usize> =
        std::env::args().skip(1).map(|a| a.parse().expect("a number")).collect();
    let argument = |i: usize, otherwise: usize| arguments.get(i).copied().unwrap_or(otherwise);
    let (width, batch, threads) = (argument(0, 16), argument(1, 128), argument(2, 1));
    let rounds = argument(3, 12);
    let _flush = FlushDenormals::new();
    let peak = peak::gflops(Level::best());
    let model = ConvNet::resnet18(ConvShape::new(1, 28, 28), CLASSES, width).unwrap();
    let mut random = Stream::new(1, Purpose::View, 0, 0);
    let numbers = batch * model.input_width();
    let theta = model.initial(1);
    let mut bench = Bench {
        pixels: (0..numbers).map(|_| random.uniform() as f32).collect(),
        rows: (0..batch as u32).collect(),
        tape: ConvTape::default(),
        outputs: vec![0.0; batch * CLASSES],
        seeds: vec![0.0; batch * CLASSES],
        to_inputs: vec![0.0; numbers],
        to_parameters: vec![0.0; theta.len()],
        theta,
        model,
    };
    let multiplications = bench.model.multiplications() * batch;
    let clean = bench.inputs(&bench.pixels);
    let names = ["forward", "attack", "train", "adversarial"];
    let mut times = [const { (Vec::<f64>::new(), Vec::<f64>::new()) }; 4];
    let mut all = || {
        for round in 0..=rounds {
            for (which, (times, cpus)) in times.iter_mut().enumerate() {
                let (start, before) = (Instant::now(), cpu());
                match which {
                    0 => bench.forward(&clean, Mode::Evaluation),
                    1 => bench.attack(&clean),
                    2 => bench.train(&clean),
                    _ => bench.adversarial(&clean),
                }
                // The first round is not counted: memory grows.
                if round > 0 {
                    times.push(start.elapsed().as_secs_f64());
                    cpus.push(cpu() - before);
                }
            }
        }
    };
    if threads > 1 {
        let flushing = |_| std::mem::forget(FlushDenormals::new());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).start_handler(flushing);
        pool.build().unwrap().install(all);
    } else {
        all();
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or_default();
    let kilobytes: f64 =
        line.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(f64::NAN);
    let list = |which: usize| {
        let each = names.iter().zip(&times).map(|(name, (seconds, cpu))| {
            let numbers = if which == 0 { seconds } else { cpu };
            format!("\"{name}\": {numbers:?}")
        });
        each.collect::<Vec<_>>().join(", ")
    };
    println!(
        "{{\"seconds\": {{{}}}, \"cpu\": {{{}}}, \"memory, MB\": {}, \"multiplications\": {multiplications}, \"peak GFLOP/s\": {peak:.1}}}",
        list(0),
        list(1),
        kilobytes / 1024.0,
    );
}

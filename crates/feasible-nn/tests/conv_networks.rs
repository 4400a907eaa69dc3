//! Whole convolutional networks: beside PyTorch, at every level, on any number of threads.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use crate::case::{Random, forward, relative_error};
use feasible::{Batch, Error, Inputs, Mode, Model, ViewShift};
use feasible_nn::conv::{Builder, ConvNet, ConvShape, ConvTape, Layer, Pooling, Window, resnet18};
use feasible_nn::{Activation, Level};
use serde_json::Value;

/// What a network gives for a batch.
#[derive(Debug, PartialEq)]
struct Results<T> {
    outputs: Vec<T>,
    gradient: Vec<T>,
    input: Vec<T>,
    theta: Vec<T>,
}

fn results<M: Model>(
    model: &M,
    theta: &[M::Real],
    batch: &Batch<'_>,
    mode: Mode,
    seeds: &[M::Real],
) -> Results<M::Real> {
    let mut tape = M::Tape::default();
    let outputs = forward(model, theta, batch, mode, &mut tape);
    let mut gradient = vec![M::Real::default(); theta.len()];
    model.backward(theta, batch, &mut tape, seeds, &mut gradient);
    let mut input = vec![M::Real::default(); batch.output_rows() * model.input_width()];
    model.input_gradient(theta, batch, &mut tape, seeds, &mut input);
    let mut after = theta.to_vec();
    model.absorb(&mut after, &mut tape);
    Results { outputs, gradient, input, theta: after }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// `fixtures/conv.json` holds small networks with all their tensors, one batch, and what PyTorch 2.7 computed
/// in double precision; `fixtures/conv.py` made it. Numbers there are rounded to 12 digits of their
/// largest; ours are computed in another order: 1e-9 of the largest is met with room.
#[test]
fn networks_agree_with_pytorch() {
    let fixture: Value = serde_json::from_str(include_str!("fixtures/conv.json")).unwrap();
    for case in fixture.as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let shape: Vec<usize> = numbers(&case["shape"]).iter().map(|&x| x as usize).collect();
        let image = ConvShape::new(shape[0], shape[1], shape[2]);
        let net = Builder::new(image).unwrap();
        let net = net.normalise(&vec![0.25; shape[0]], &vec![0.5; shape[0]]).unwrap();
        let model = match name {
            "resnet18" => resnet18(net, 3, 2).unwrap(),
            "plain" => plain_network(net),
            "silu" => silu_network(net),
            other => panic!("{other}"),
        }
        .double();
        let tensors: HashMap<String, Vec<f64>> = case["tensors"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, values)| (name.clone(), numbers(values)))
            .collect();
        let mut theta = vec![f64::NAN; model.parameter_count()];
        for tensor in model.layout() {
            theta[tensor.range()].copy_from_slice(&tensors[&tensor.name]);
        }
        assert_eq!(model.layout().len(), tensors.len());
        let x: Vec<f32> = numbers(&case["x"]).iter().map(|&x| x as f32).collect();
        let inputs = Inputs::dense(x, image.len()).unwrap();
        let rows: Vec<u32> = (0..inputs.rows() as u32).collect();
        let batch = Batch { inputs: &inputs, rows: &rows, shifts: &[] };
        let seeds = numbers(&case["seeds"]);
        for (mode, key) in [(Mode::Evaluation, "eval"), (Mode::Training, "train")] {
            let found = results(&model, &theta, &batch, mode, &seeds);
            let expected = &case[key];
            let check = |what: &str, found: &[f64], expected: &[f64]| {
                let error = relative_error(found, expected, 1e-3);
                assert!(error < 1e-9, "{name} {key} {what}: off by {error:e}");
            };
            check("outputs", &found.outputs, &numbers(&expected["outputs"]));
            check("input gradient", &found.input, &numbers(&expected["input"]));
            for tensor in model.layout() {
                if tensor.offset < model.trainable_count() {
                    let gradient = numbers(&expected["gradient"][&tensor.name]);
                    check(&tensor.name, &found.gradient[tensor.range()], &gradient);
                } else if mode == Mode::Training {
                    let after = numbers(&expected["after"][&tensor.name]);
                    check(&tensor.name, &found.theta[tensor.range()], &after);
                } else {
                    assert_eq!(found.theta[tensor.range()], theta[tensor.range()]);
                }
            }
        }
    }
}

/// Average pooling with a border, SiLU, strides and a window that is not square.
fn silu_network(mut net: Builder) -> ConvNet {
    let first = Window { size: (3, 2), stride: 2, padding: 1 };
    let x = net.image();
    let x = net.layer(x, Layer::new("conv1", 5, first).norm("bn1").activation(Activation::Silu));
    let three = Window::new(3).padding(1);
    let x = net.pool(x.unwrap(), Pooling::Average, three.stride(2)).unwrap();
    let y = net.layer(
        x,
        Layer::new("conv2", 5, three).norm("bn2").shortcut(x).activation(Activation::Silu),
    );
    let y = net.pool(y.unwrap(), Pooling::Max, three).unwrap();
    let y = net.global_average(y).unwrap();
    let y = net.linear(y, "fc", 3).unwrap();
    net.finish(y).unwrap()
}

/// Biases, maxima, and a hidden layer on all pixels.
fn plain_network(mut net: Builder) -> ConvNet {
    use Activation::Relu;
    let three = Window::new(3).padding(1);
    let x = net.image();
    let x = net.layer(x, Layer::new("conv1", 4, three).activation(Relu)).unwrap();
    let x = net.pool(x, Pooling::Max, Window::new(2).stride(2)).unwrap();
    let x = net.layer(x, Layer::new("conv2", 6, three).activation(Relu)).unwrap();
    let x = net.dense(x, "fc1", 7, Some(Relu)).unwrap();
    let x = net.linear(x, "fc2", 3).unwrap();
    net.finish(x).unwrap()
}

struct Sample {
    inputs: Inputs,
    rows: Vec<u32>,
    delta: Vec<f32>,
    seeds: Vec<f32>,
}

fn sample(model: &ConvNet, images: usize) -> Sample {
    let random = &mut Random(3);
    let d = model.input_width();
    let values = (0..images * d).map(|_| random.below(256) as f32 / 255.0).collect();
    let delta = (0..images * d).map(|_| random.grid() / 40.0).collect();
    let seeds = (0..2 * images * model.output_width()).map(|_| random.unit() as f32).collect();
    Sample {
        inputs: Inputs::dense(values, d).unwrap(),
        rows: (0..images as u32).collect(),
        delta,
        seeds,
    }
}

/// Wide enough for every tile: one and two blocks, 28, 14, 7 and 4 pixels a row.
#[test]
fn every_level_is_the_network_in_double_precision() {
    let networks = [
        ConvNet::resnet18(ConvShape::new(1, 28, 28), 10, 16).unwrap(),
        ConvNet::small_cnn(ConvShape::new(3, 20, 20), 10).unwrap(),
    ];
    for model in networks {
        let of = sample(&model, 3);
        let shifts = [ViewShift::Dense(&of.delta)];
        let batch = Batch { inputs: &of.inputs, rows: &of.rows, shifts: &shifts };
        let theta = model.initial(1);
        let double = model.double();
        let (wide, seeds): (Vec<f64>, Vec<f64>) = (
            theta.iter().map(|&t| f64::from(t)).collect(),
            of.seeds.iter().map(|&s| f64::from(s)).collect(),
        );
        for mode in [Mode::Evaluation, Mode::Training] {
            let exact = results(&double, &wide, &batch, mode, &seeds);
            for level in Level::available() {
                let found =
                    results(&model.clone().with_level(level), &theta, &batch, mode, &of.seeds);
                let check = |what: &str, found: &[f32], exact: &[f64], limit: f64| {
                    let error = relative_error(found, exact, 0.1);
                    assert!(error < limit, "{} {mode:?} {what}: {error:e}", level.name());
                };
                // Twenty layers, sums of up to 1,152 terms, each layer adding a few units of 6e-8 and
                // normalisations by the statistics of few pixels multiplying them: 1e-4 of the largest.
                check("outputs", &found.outputs, &exact.outputs, 1e-4);
                check("statistics", &found.theta, &exact.theta, 1e-4);
                // A ReLU whose input is 0 within rounding may fall on the other side: then a whole
                // pixel's gradient is missing, among some thousand. Most must be near, none far.
                let near = |found: &[f32], exact: &[f64]| {
                    let size = exact.iter().fold(0.0f64, |m, x| m.max(x.abs()));
                    let off = |(f, e): &(&f32, &f64)| (f64::from(**f) - **e).abs() > 1e-3 * size;
                    found.iter().zip(exact).filter(off).count() as f64 / found.len() as f64
                };
                check("gradient", &found.gradient, &exact.gradient, 2e-2);
                check("input gradient", &found.input, &exact.input, 2e-1);
                assert!(near(&found.gradient, &exact.gradient) < 0.01, "{}", level.name());
                assert!(near(&found.input, &exact.input) < 0.05, "{}", level.name());
            }
        }
    }
}

/// Every way a value after an activation is read: by a convolution with and without a stride, as a
/// shortcut, by poolings.
fn curved_network(activation: Activation) -> ConvNet {
    let mut net = Builder::new(ConvShape::new(3, 14, 14)).unwrap();
    let three = Window::new(3).padding(1);
    let layer = |name: &str, window| {
        Layer::new(name, 20, window).norm(format!("{name}.bn")).activation(activation)
    };
    let x = net.layer(net.image(), layer("conv1", three)).unwrap();
    let y = net.layer(x, layer("conv2", three).shortcut(x)).unwrap();
    let y = net.pool(y, Pooling::Average, three).unwrap();
    let y = net.layer(y, Layer::new("conv3", 20, three).activation(activation)).unwrap();
    let y = net.layer(y, layer("conv4", three.stride(2))).unwrap();
    let y = net.global_average(y).unwrap();
    let y = net.linear(y, "fc", 3).unwrap();
    net.finish(y).unwrap()
}

/// No kinks here, so gradients are as near as outputs: five layers, each adding a few units of 6e-8, and
/// a σ within 8e-6 of itself at worst.
#[test]
fn networks_with_other_activations_are_those_in_double_precision_at_every_level() {
    for activation in [Activation::Silu, Activation::Sigmoid, Activation::Tanh] {
        let model = curved_network(activation);
        let of = sample(&model, 5);
        let shifts = [ViewShift::Dense(&of.delta)];
        let batch = Batch { inputs: &of.inputs, rows: &of.rows, shifts: &shifts };
        let theta = model.initial(1);
        let wide: Vec<f64> = theta.iter().map(|&t| f64::from(t)).collect();
        let seeds: Vec<f64> = of.seeds.iter().map(|&s| f64::from(s)).collect();
        for mode in [Mode::Evaluation, Mode::Training] {
            let exact = results(&model.double(), &wide, &batch, mode, &seeds);
            for level in Level::available() {
                let model = model.clone().with_level(level);
                let found = results(&model, &theta, &batch, mode, &of.seeds);
                for (what, found, exact) in [
                    ("outputs", &found.outputs, &exact.outputs),
                    ("statistics", &found.theta, &exact.theta),
                    ("gradient", &found.gradient, &exact.gradient),
                    ("input gradient", &found.input, &exact.input),
                ] {
                    let error = relative_error(found, exact, 0.1);
                    let level = level.name();
                    assert!(error < 2e-4, "{activation:?} {level} {mode:?} {what}: {error:e}");
                }
            }
        }
    }
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    for model in [
        ConvNet::resnet18(ConvShape::new(1, 14, 14), 10, 16).unwrap(),
        curved_network(Activation::Silu),
    ] {
        bits_do_not_depend_on_threads(&model);
    }
}

fn bits_do_not_depend_on_threads(model: &ConvNet) {
    let theta = model.initial(1);
    let of = sample(model, 37);
    let shifts = [ViewShift::Dense(&of.delta)];
    let batch = Batch { inputs: &of.inputs, rows: &of.rows, shifts: &shifts };
    for mode in [Mode::Evaluation, Mode::Training] {
        let alone = results(model, &theta, &batch, mode, &of.seeds);
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let pooled = pool.install(|| results(model, &theta, &batch, mode, &of.seeds));
            assert_eq!(alone, pooled, "{threads} threads, {mode:?}");
        }
    }
}

/// In evaluation large images are taken a few at a time through the first nodes. 45 are more than a few for
/// the first two networks (7 or 14 for each thread), and not a whole number of times; each alone must come to the same bits.
#[test]
fn images_in_evaluation_do_not_depend_on_their_batch() {
    let shape = ConvShape::new(1, 28, 28);
    let nets = [
        ConvNet::resnet18(shape, 10, 16).unwrap(),
        ConvNet::small_cnn(shape, 10).unwrap(),
        silu_network(Builder::new(ConvShape::new(3, 32, 32)).unwrap()),
    ];
    for model in &nets {
        let images = 45;
        let theta = model.initial(1);
        let of = sample(model, images);
        let (k, d) = (model.output_width(), model.input_width());
        let together = |tape: &mut ConvTape<f32>, rows: &[u32], seeds: &[f32]| {
            let batch = Batch { inputs: &of.inputs, rows, shifts: &[] };
            let mut gradient = vec![0.0; rows.len() * d];
            let outputs = forward(&model, &theta, &batch, Mode::Evaluation, tape);
            model.input_gradient(&theta, &batch, tape, seeds, &mut gradient);
            (outputs, gradient)
        };
        let seeds = &of.seeds[..images * k];
        let (mut outputs, mut gradient) = (Vec::new(), Vec::new());
        let mut tape = ConvTape::default();
        for (row, seed) in of.rows[..images].chunks(1).zip(seeds.chunks(k)) {
            let (y, g) = together(&mut tape, row, seed);
            outputs.extend(y);
            gradient.extend(g);
        }
        assert!(gradient.chunks(d).all(|g| g.iter().any(|&g| g != 0.0)));
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            // Twice on one tape: what the first pass leaves in the buffers must not matter.
            let mut tape = ConvTape::default();
            for _ in 0..2 {
                let found = pool.install(|| together(&mut tape, &of.rows[..images], seeds));
                assert!(found.0 == outputs, "outputs, {threads} threads");
                assert!(found.1 == gradient, "gradients to the inputs, {threads} threads");
            }
        }
    }
}

#[test]
fn a_tape_that_was_used_for_other_things_gives_the_same_bits() {
    let model = ConvNet::resnet18(ConvShape::new(1, 9, 9), 4, 8).unwrap();
    let theta = model.initial(1);
    let other: Vec<f32> = model.initial(2);
    let of = sample(&model, 12);
    let batch = Batch { inputs: &of.inputs, rows: &of.rows, shifts: &[] };
    let few = Batch { inputs: &of.inputs, rows: &of.rows[..5], shifts: &[] };
    let seeds = &of.seeds[..12 * 4];
    let fresh = |theta: &[f32], mode| {
        let mut tape = ConvTape::default();
        let outputs = forward(&model, theta, &batch, mode, &mut tape);
        let mut input = vec![0.0; 12 * 81];
        model.input_gradient(theta, &batch, &mut tape, seeds, &mut input);
        (outputs, input)
    };
    let mut tape = ConvTape::default();
    for (theta, mode) in [
        (&theta, Mode::Evaluation),
        (&other, Mode::Evaluation),
        (&theta, Mode::Training),
        (&theta, Mode::Evaluation),
        (&theta, Mode::Evaluation),
    ] {
        forward(&model, theta, &few, mode, &mut tape);
        let found = forward(&model, theta, &batch, mode, &mut tape);
        let mut input = vec![f32::NAN; 12 * 81];
        model.input_gradient(theta, &batch, &mut tape, seeds, &mut input);
        let (outputs, expected) = fresh(theta, mode);
        assert_eq!(found, outputs);
        assert_eq!(input, expected);
    }
}

#[test]
fn the_networks_have_their_known_sizes_and_names() {
    let quarter = ConvNet::resnet18(ConvShape::new(1, 28, 28), 10, 16).unwrap();
    assert_eq!(quarter.trainable_count(), 701_178);
    let standard = ConvNet::resnet18(ConvShape::new(3, 32, 32), 10, 64).unwrap();
    assert_eq!(standard.trainable_count(), 11_173_962);
    let small = ConvNet::small_cnn(ConvShape::new(1, 28, 28), 10).unwrap();
    assert_eq!(small.trainable_count(), 216_170);
    assert_eq!(small.parameter_count(), 216_170);
    let names: Vec<String> = quarter.layout().into_iter().map(|t| t.name).collect();
    for name in ["conv1.weight", "bn1.running_var", "layer2.0.downsample.1.weight", "fc.bias"] {
        assert!(names.iter().any(|n| n == name), "{name}");
    }
    let theta = quarter.initial(1);
    for tensor in quarter.layout() {
        let part = &theta[tensor.range()];
        let all = |x: f32| part.iter().all(|&t| t == x);
        if tensor.name.contains("bn") || tensor.name.contains("downsample.1") {
            let one = tensor.name.ends_with("weight") || tensor.name.ends_with("var");
            assert!(all(if one { 1.0 } else { 0.0 }), "{}", tensor.name);
        } else if tensor.shape.len() == 4 {
            let fan_in: usize = tensor.shape[1..].iter().product();
            let square = part.iter().map(|&w| f64::from(w).powi(2)).sum::<f64>();
            let ratio = square / part.len() as f64 * fan_in as f64 / 2.0;
            // A mean of n squares of uniform numbers errs by 0.9/√n; n is at least 144.
            assert!((ratio - 1.0).abs() < 5.0 * 0.9 / (part.len() as f64).sqrt(), "{ratio}");
        }
    }
}

#[test]
fn networks_that_cannot_be_are_refused() {
    let shape = ConvShape::new(1, 8, 8);
    assert!(matches!(Builder::new(ConvShape::new(0, 8, 8)), Err(Error::Setting { .. })));
    let net = || Builder::new(shape).unwrap();
    assert!(matches!(net().normalise(&[0.0, 1.0], &[1.0]), Err(Error::Shape { .. })));
    assert!(matches!(net().normalise(&[0.0], &[0.0]), Err(Error::Setting { .. })));
    let mut n = net();
    let image = n.image();
    assert!(n.layer(image, Layer::new("a", 4, Window::new(9))).is_err());
    assert!(n.layer(image, Layer::new("a", 0, Window::new(3))).is_err());
    assert!(n.layer(image, Layer::new("a", 4, Window::new(3).stride(0))).is_err());
    assert!(n.layer(image, Layer::new("a", 4, Window::new(3).padding(3))).is_err());
    assert!(n.pool(image, Pooling::Max, Window::new(2)).is_err());
    let a = n.layer(image, Layer::new("a", 4, Window::new(3))).unwrap();
    assert!(n.layer(image, Layer::new("b", 4, Window::new(3))).is_err());
    assert!(n.layer(a, Layer::new("b", 5, Window::new(1)).shortcut(a)).is_err());
    assert!(n.clone().finish(a).is_err());
    let twice = n.linear(a, "a", 3).unwrap();
    assert!(matches!(n.clone().finish(twice), Err(Error::DuplicateName { .. })));
    assert!(ConvNet::small_cnn(ConvShape::new(1, 3, 3), 10).is_err());
}

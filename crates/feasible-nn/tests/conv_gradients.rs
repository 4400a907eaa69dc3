//! Convolutional networks against central differences in `f64`, in training and in evaluation.
//!
//! A central difference with step h = 2⁻¹⁵ errs by h² f'''/6 + rounding/h, both below 1e-8 for values
//! of the size met here, so 2e-6 of the largest entry is met exactly when the derivative is right.
//! Inputs and θ are such that no ReLU or maximum changes sides within h: the seeds are fixed.

#![allow(clippy::unwrap_used)]

use crate::case::{Random, parameters, relative_error};
use feasible::{Batch, Inputs, Mode, Model, ViewShift};
use feasible_nn::Activation;
use feasible_nn::conv::{Builder, ConvNet, ConvShape, Layer, Pooling, Window, resnet18, small_cnn};

const H: f32 = 1.0 / 32768.0;

fn outputs<M: Model>(model: &M, theta: &[M::Real], batch: &Batch<'_>, mode: Mode) -> Vec<M::Real> {
    crate::case::forward(model, theta, batch, mode, &mut M::Tape::default())
}

/// A start with every kind of parameter away from 0 and 1.
fn start(model: &ConvNet<f64>, random: &mut Random) -> Vec<f64> {
    let mut theta = model.initial(7);
    for tensor in model.layout() {
        for t in &mut theta[tensor.range()] {
            *t += match tensor.name.ends_with("running_var") {
                true => 0.4 * (1.0 + random.unit()),
                false => 0.1 * random.unit(),
            };
        }
    }
    theta
}

fn check(net: &ConvNet, images: usize, every: usize) {
    let model = net.double();
    let random = &mut Random(11);
    let theta = start(&model, random);
    let d = model.input_width();
    let values: Vec<f32> = (0..images * d).map(|_| random.below(256) as f32 / 256.0).collect();
    let delta: Vec<f32> = (0..images * d).map(|_| random.grid() / 32.0).collect();
    let rows: Vec<u32> = (0..images as u32).rev().collect();
    let shifts = [ViewShift::Dense(&delta)];
    let inputs = Inputs::dense(values.clone(), d).unwrap();
    for mode in [Mode::Evaluation, Mode::Training] {
        let batch = Batch { inputs: &inputs, rows: &rows, shifts: &shifts };
        let seeds = parameters(random, batch.output_rows() * model.output_width(), 1.0);
        let value = |theta: &[f64], batch: &Batch<'_>| -> f64 {
            outputs(&model, theta, batch, mode).iter().zip(&seeds).map(|(f, s)| f * s).sum()
        };
        let mut tape = Default::default();
        crate::case::forward(&model, &theta, &batch, mode, &mut tape);
        // The product is *added*.
        let mut gradient = vec![0.25; theta.len()];
        model.backward(&theta, &batch, &mut tape, &seeds, &mut gradient);
        let mut input = vec![f64::NAN; batch.output_rows() * d];
        model.input_gradient(&theta, &batch, &mut tape, &seeds, &mut input);
        assert!(gradient[model.trainable_count()..].iter().all(|&g| g == 0.25));

        let h = f64::from(H);
        let some: Vec<usize> = (0..model.trainable_count()).step_by(every).collect();
        let difference = |&i: &usize| {
            let at = |x: f64| {
                let mut theta = theta.clone();
                theta[i] = x;
                value(&theta, &batch)
            };
            0.25 + (at(theta[i] + h) - at(theta[i] - h)) / (2.0 * h)
        };
        let differences: Vec<f64> = some.iter().map(difference).collect();
        let own: Vec<f64> = some.iter().map(|&i| gradient[i]).collect();
        let error = relative_error(&own, &differences, 0.1);
        assert!(error < 2e-6, "{mode:?}: parameters off by {error:e}");

        // A pixel of the clean view moves both views.
        let pixels: Vec<usize> = (0..images * d).step_by(every.min(29)).collect();
        let difference = |&at: &usize| {
            let moved = |h: f32| {
                let mut values = values.clone();
                values[at] += h;
                let inputs = Inputs::dense(values, d).unwrap();
                value(&theta, &Batch { inputs: &inputs, ..batch })
            };
            (moved(H) - moved(-H)) / (2.0 * h)
        };
        let differences: Vec<f64> = pixels.iter().map(difference).collect();
        let both = |&at: &usize| {
            let position = images - 1 - at / d;
            input[position * d + at % d] + input[(images + position) * d + at % d]
        };
        let own: Vec<f64> = pixels.iter().map(both).collect();
        let error = relative_error(&own, &differences, 0.1);
        assert!(error < 2e-6, "{mode:?}: inputs off by {error:e}");
    }
}

fn one_layer(
    shape: ConvShape,
    window: Window,
    channels: usize,
    more: impl Fn(Layer) -> Layer,
) -> ConvNet {
    let mut net = Builder::new(shape).unwrap();
    let first = Layer::new("a", 18, Window::new(2)).activation(Activation::Tanh);
    let x = net.layer(net.image(), first).unwrap();
    let x = net.layer(x, more(Layer::new("b", channels, window))).unwrap();
    let x = net.linear(x, "fc", 3).unwrap();
    net.finish(x).unwrap()
}

#[test]
fn a_convolution_of_any_window_stride_and_padding_has_its_gradient() {
    let shape = ConvShape::new(2, 9, 8);
    let windows = [
        Window::new(1),
        Window::new(3).padding(1),
        Window::new(3).padding(1).stride(2),
        Window::new(1).stride(2),
        Window::new(2).stride(3),
        Window { size: (4, 3), stride: 2, padding: 2 },
        Window { size: (5, 2), stride: 1, padding: 1 },
    ];
    for window in windows {
        check(&one_layer(shape, window, 5, |l| l), 2, 23);
    }
}

#[test]
fn a_first_layer_of_any_stride_has_its_gradient() {
    for window in [Window::new(3).padding(1).stride(2), Window::new(4).stride(3).padding(2)] {
        let mut net = Builder::new(ConvShape::new(3, 7, 8)).unwrap();
        net = net.normalise(&[0.3, 0.4, 0.5], &[0.5, 0.7, 2.0]).unwrap();
        let x = net.layer(net.image(), Layer::new("a", 17, window).norm("n")).unwrap();
        let x = net.linear(x, "fc", 2).unwrap();
        check(&net.finish(x).unwrap(), 3, 2);
    }
}

#[test]
fn every_activation_has_its_gradient_with_and_without_normalisation() {
    use Activation::{Relu, Sigmoid, Silu, Tanh};
    let window = Window::new(3).padding(1);
    for activation in [Relu, Silu, Sigmoid, Tanh] {
        check(&one_layer(ConvShape::new(1, 6, 5), window, 4, |l| l.activation(activation)), 2, 11);
        let normed = |l: Layer| l.norm("n").activation(activation);
        check(&one_layer(ConvShape::new(1, 6, 5), window, 4, normed), 3, 11);
    }
}

#[test]
fn poolings_have_their_gradient() {
    for pooling in [Pooling::Max, Pooling::Average] {
        for window in [Window::new(2).stride(2), Window::new(3).stride(2).padding(1)] {
            let mut net = Builder::new(ConvShape::new(1, 8, 7)).unwrap();
            let layer = Layer::new("a", 5, Window::new(3).padding(1)).norm("n");
            let x = net.layer(net.image(), layer.activation(Activation::Silu)).unwrap();
            let x = net.pool(x, pooling, window).unwrap();
            let x = net.layer(x, Layer::new("b", 4, Window::new(2))).unwrap();
            let x = net.global_average(x).unwrap();
            let x = net.linear(x, "fc", 2).unwrap();
            check(&net.finish(x).unwrap(), 2, 3);
        }
    }
}

/// Shortcuts of every kind: from a lazily normalised layer, from a smooth one, from a value
/// read twice, into and out of each other.
#[test]
fn shortcuts_have_their_gradient() {
    use Activation::{Relu, Silu};
    let three = Window::new(3).padding(1);
    for (inner, outer) in [(Relu, Relu), (Silu, Relu), (Relu, Silu), (Silu, Silu)] {
        for normed in [true, false] {
            let norm = |l: Layer, name: &str| if normed { l.norm(name) } else { l };
            let mut net = Builder::new(ConvShape::new(1, 5, 6)).unwrap();
            let a = net.image();
            let a = net.layer(a, norm(Layer::new("a", 6, three).activation(inner), "na")).unwrap();
            let b = Layer::new("b", 6, three).shortcut(a).activation(outer);
            let b = net.layer(a, norm(b, "nb")).unwrap();
            let c = Layer::new("c", 6, three).activation(inner);
            let c = net.layer(b, norm(c, "nc")).unwrap();
            let d = Layer::new("d", 6, Window::new(1)).shortcut(b).activation(outer);
            let d = net.layer(c, norm(d, "nd")).unwrap();
            let e = Layer::new("e", 6, Window::new(1)).shortcut(c);
            let e = net.layer(d, norm(e, "ne")).unwrap();
            let x = net.linear(e, "fc", 2).unwrap();
            check(&net.finish(x).unwrap(), 2, 19);
        }
    }
}

#[test]
fn the_ready_made_networks_have_their_gradient() {
    let resnet = |image| {
        let net = Builder::new(image).unwrap();
        resnet18(net.normalise(&[0.3], &[0.4]).unwrap(), 3, 2).unwrap()
    };
    check(&resnet(ConvShape::new(1, 9, 8)), 3, 83);
    check(&small_cnn(Builder::new(ConvShape::new(1, 8, 8)).unwrap(), 3).unwrap(), 2, 3989);
}

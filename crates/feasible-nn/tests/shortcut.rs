//! A perceptron beside a linear model is the sum of both.

use feasible::{Batch, Inputs, Model, Pass, ViewShift};
use feasible_nn::{Activation, Linear, Mlp, Shortcut};

/// Outputs and gradients of a shortcut are those of its parts, for views of any kind.
#[test]
fn it_is_the_sum_of_a_network_and_a_linear_model() {
    for (d, hidden) in [(5, vec![7]), (60, vec![6, 4])] {
        let k = 2;
        let widths: Vec<usize> = [vec![d], hidden, vec![k]].concat();
        let network = Mlp::new(&widths, Activation::Sigmoid).unwrap();
        let linear = Linear::new(d, k).unwrap();
        let model = Shortcut::new(network.clone()).unwrap();
        let mut theta = model.initial(3);
        let own = network.parameter_count();
        assert!(theta[own..].iter().all(|&v| v == 0.0));
        for (at, v) in theta[own..].iter_mut().enumerate() {
            *v = (at as f32 * 0.7).cos();
        }
        let of_linear = [&theta[own..], &[0.0; 2]].concat();
        let x = (0..9 * d).map(|i| (i as f32 * 0.37).sin()).collect();
        let (x, rows) = (Inputs::dense(x, d).unwrap(), (0..9).collect::<Vec<u32>>());
        let delta: Vec<f32> = (0..9 * d).map(|i| 0.1 * (i as f32).cos()).collect();
        let shifts = [ViewShift::Dense(&delta)];
        let batch = Batch { inputs: &x, rows: &rows, shifts: &shifts };
        let n = batch.output_rows() * k;
        let seeds: Vec<f32> = (0..n).map(|i| (i as f32 * 1.3).sin()).collect();
        fn pass<M: Model<Real = f32>>(
            model: &M,
            theta: &[f32],
            batch: &Batch<'_>,
            seeds: &[f32],
        ) -> [Vec<f32>; 3] {
            let mut tape = M::Tape::default();
            let mut outputs = vec![0.0; seeds.len()];
            model.forward(theta, batch, Pass::default(), &mut tape, &mut outputs);
            let mut gradient = vec![0.0; theta.len()];
            model.backward(theta, batch, &mut tape, seeds, &mut gradient);
            let mut by_input = vec![0.0; batch.output_rows() * model.input_width()];
            model.input_gradient(theta, batch, &mut tape, seeds, &mut by_input);
            [outputs, gradient, by_input]
        }
        let found = pass(&model, &theta, &batch, &seeds);
        let a = pass(&network, &theta[..own], &batch, &seeds);
        let b = pass(&linear, &of_linear, &batch, &seeds);
        let sum = |i: usize| a[i].iter().zip(&b[i]).map(|(a, b)| a + b).collect::<Vec<f32>>();
        let gradient = [&a[1][..], &b[1][..d * k]].concat();
        for (what, found, expected) in [
            ("outputs", &found[0], sum(0)),
            ("gradient", &found[1], gradient),
            ("input gradient", &found[2], sum(2)),
        ] {
            assert_eq!(found.len(), expected.len());
            for (x, y) in found.iter().zip(&expected) {
                // The same sums in the same order but for the last addition.
                assert!((x - y).abs() <= 1e-5 * (1.0 + y.abs()), "{what}, {d}: {x} {y}");
            }
        }
    }
}

#[test]
fn parameters_of_other_models_are_refused() {
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    let theta = network.initial(0);
    assert!(Shortcut::mixture(network.clone(), &theta[1..], &[0.0; 3], 0.5).is_err());
    assert!(Shortcut::mixture(network, &theta, &[0.0; 4], 0.5).is_err());
}

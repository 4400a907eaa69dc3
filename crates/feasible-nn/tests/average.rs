//! The mean of networks as a network.

use feasible::{Batch, Inputs, Model};
use feasible_nn::{Activation, Mlp};

#[test]
fn the_mean_of_networks_has_the_mean_of_their_outputs() {
    for activation in [Activation::Sigmoid, Activation::Relu, Activation::Silu] {
        let model = Mlp::new(&[5, 7, 3], activation).unwrap();
        let members: Vec<Vec<f32>> = (0..4).map(|seed| model.initial(seed)).collect();
        let thetas: Vec<&[f32]> = members.iter().map(Vec::as_slice).collect();
        let (mean, theta) = model.average(&thetas).unwrap();
        assert_eq!(theta.len(), mean.parameter_count());
        let x = (0..50).map(|i| (i as f32 * 0.37).sin()).collect();
        let (x, rows) = (Inputs::new(x, 5).unwrap(), (0..10).collect::<Vec<u32>>());
        let batch = Batch { inputs: &x, rows: &rows, shifts: &[] };
        let outputs: Vec<_> = thetas.iter().map(|of| model.outputs(of, &batch)).collect();
        for (at, found) in mean.outputs(&theta, &batch).into_iter().enumerate() {
            let expected = outputs.iter().map(|of| of[at]).sum::<f32>() / 4.0;
            // Sums of a few dozen numbers of size 1 in single precision.
            assert!((found - expected).abs() < 1e-5, "{activation:?}: {found} {expected}");
        }
    }
}

#[test]
fn what_has_no_mean_is_refused() {
    let deep = Mlp::new(&[2, 3, 3, 1], Activation::Tanh).unwrap();
    let theta = deep.initial(0);
    let said = deep.average(&[&theta]).unwrap_err().to_string();
    assert!(said.contains("hidden layers"), "{said}");
    let model = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    assert!(model.average(&[]).is_err());
    assert!(model.average(&[&model.initial(0)[1..]]).is_err());
}

//! The `f32` models at every SIMD level against the same models in `f64`, and views against the
//! inputs they stand for.

#![allow(clippy::unwrap_used)] // outside #[test] functions too: a failure here is the test's

use crate::case::{Case, KINDS, Random, forward, outputs, parameters, relative_error};
use feasible::{Batch, Inputs, InputsBuilder, Mode, Model};
use feasible_nn::{Activation, Kernel, KernelExpansion, Level, Linear, Mlp};
use proptest::prelude::*;

/// Outputs and both gradients.
fn all<M: Model>(
    model: &M,
    theta: &[M::Real],
    batch: &Batch<'_>,
    seeds: &[M::Real],
) -> [Vec<M::Real>; 3] {
    use feasible::Real;
    let mut tape = M::Tape::default();
    let outputs = forward(model, theta, batch, Mode::Evaluation, &mut tape);
    let mut parameters = vec![M::Real::ZERO; theta.len()];
    model.backward(theta, batch, &mut tape, seeds, &mut parameters);
    let mut inputs = vec![M::Real::ZERO; batch.output_rows() * batch.inputs.width()];
    model.input_gradient(theta, batch, &mut tape, seeds, &mut inputs);
    [outputs, parameters, inputs]
}

fn compare<S: Model<Real = f32>, D: Model<Real = f64>>(
    single: &S,
    double: &D,
    case: &Case,
    random: &mut Random,
    what: &str,
) {
    compare_at_size(0.5, single, double, case, random, what);
}

fn compare_at_size<S: Model<Real = f32>, D: Model<Real = f64>>(
    size: f64,
    single: &S,
    double: &D,
    case: &Case,
    random: &mut Random,
    what: &str,
) {
    let theta: Vec<f32> =
        parameters(random, single.parameter_count(), size).iter().map(|&x| x as f32).collect();
    for kind in KINDS {
        let views = case.views(kind);
        let batch = Batch { inputs: &case.inputs, rows: &case.rows, shifts: &views };
        let seeds: Vec<f32> = parameters(random, batch.output_rows() * single.output_width(), 1.0)
            .iter()
            .map(|&x| x as f32)
            .collect();
        let found = all(single, &theta, &batch, &seeds);
        let wide = |x: &[f32]| -> Vec<f64> { x.iter().map(|&x| f64::from(x)).collect() };
        let expected = all(double, &wide(&theta), &batch, &wide(&seeds));
        for (name, (a, b)) in
            ["outputs", "parameters", "inputs"].iter().zip(found.iter().zip(&expected))
        {
            // Sums of up to some hundred terms of order 1, over up to three layers, each rounded
            // to 6e-8 relative: 1e-4 of the largest entry leaves a factor of ten. Pre-activations that are
            // larger lose as much more; and where units are saturated, gradients are products of
            // two weights and of a slope that is known to 6e-8 only, however small it is.
            let error = relative_error(a, b, 1e-3 * (2.0 * size).powi(2));
            assert!(
                error < 1e-4 * (size / 10.0).max(1.0),
                "{what}, views '{kind}', {name}: off by {error:e}"
            );
        }
    }
}

fn activation() -> impl Strategy<Value = Activation> {
    prop_oneof![
        Just(Activation::Sigmoid),
        Just(Activation::Tanh),
        Just(Activation::Relu),
        Just(Activation::Silu),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    #[test]
    fn an_affine_model_in_f32_agrees_with_f64_at_every_level(
        seed: u64, d in 1usize..70, dense in 0usize..40, k in 1usize..40, rows in 0usize..40,
    ) {
        for level in Level::available() {
            let random = &mut Random(seed);
            let case = Case::new(random, d, dense, rows);
            let model = Linear::new(d, k).unwrap();
            let double = model.double();
            compare(&model.with_level(level), &double, &case, random, level.name());
        }
    }

    #[test]
    fn a_perceptron_in_f32_agrees_with_f64_at_every_level(
        seed: u64, d in 1usize..70, dense in 0usize..40,
        hidden in prop::collection::vec(1usize..80, 0..3), k in 1usize..20, rows in 0usize..40,
        activation in activation(),
    ) {
        let widths: Vec<usize> = [d].into_iter().chain(hidden).chain([k]).collect();
        for level in Level::available() {
            let random = &mut Random(seed);
            let case = Case::new(random, d, dense, rows);
            let model = Mlp::new(&widths, activation).unwrap();
            let double = model.double();
            compare(&model.with_level(level), &double, &case, random, level.name());
        }
    }

    #[test]
    fn a_perceptron_with_one_or_two_outputs_agrees_with_f64_at_every_level(
        seed: u64, d in 1usize..70, dense in 0usize..14, hidden in 1usize..150, k in 1usize..3,
        rows in 0usize..40, activation in activation(),
    ) {
        for level in Level::available() {
            let random = &mut Random(seed);
            let case = Case::new(random, d, dense, rows);
            let model = Mlp::new(&[d, hidden, k], activation).unwrap();
            let double = model.double();
            compare(&model.with_level(level), &double, &case, random, level.name());
        }
    }

    #[test]
    fn a_perceptron_with_large_weights_agrees_with_f64_at_every_level(
        seed: u64, d in 1usize..70, hot_only: bool, hidden in 1usize..70, rows in 0usize..40,
        size in 1.0f64..200.0,
    ) {
        for level in Level::available() {
            let random = &mut Random(seed);
            let case = Case::new(random, d, if hot_only { 0 } else { 3 }, rows);
            let model = Mlp::new(&[d, hidden, 2], Activation::Sigmoid).unwrap();
            let double = model.double();
            compare_at_size(size, &model.with_level(level), &double, &case, random, level.name());
        }
    }

    #[test]
    fn a_kernel_expansion_in_f32_agrees_with_f64_at_every_level(
        seed: u64, d in 1usize..40, dense in 0usize..40, centres in 1usize..40, k in 1usize..4,
        rows in 0usize..20, rbf: bool,
    ) {
        let kernel = if rbf {
            Kernel::Rbf { gamma: 0.05 }
        } else {
            Kernel::Polynomial { offset: 1.0, degree: 2 }
        };
        for level in Level::available() {
            let random = &mut Random(seed);
            let case = Case::new(random, d, dense, rows);
            let z = Inputs::dense((0..centres * d).map(|_| random.grid()).collect(), d).unwrap();
            let model = KernelExpansion::new(&z, kernel, k).unwrap();
            let double = model.double();
            compare(&model.with_level(level), &double, &case, random, level.name());
        }
    }

    #[test]
    fn a_view_is_the_model_on_the_moved_inputs(
        seed: u64, d in 1usize..30, dense in 0usize..30, hidden in 1usize..20, rows in 1usize..10,
    ) {
        let random = &mut Random(seed);
        let case = Case::new(random, d, dense, rows);
        let model = Mlp::new(&[d, hidden, 3], Activation::Tanh).unwrap().double();
        let theta = parameters(random, model.parameter_count(), 0.7);
        let views = case.views("tds");
        let batch = Batch { inputs: &case.inputs, rows: &case.rows, shifts: &views };
        let together = outputs(&model, &theta, &batch);
        let mut moved = vec![0.0; batch.output_rows() * d];
        for (i, x) in moved.chunks_exact_mut(d).enumerate() {
            // Exact: multiples of 2⁻¹⁰ of moderate size.
            batch.write_input(i / rows, i % rows, x);
        }
        let inputs = Inputs::dense(moved, d).unwrap();
        let every: Vec<u32> = (0..inputs.rows() as u32).collect();
        let apart = outputs(&model, &theta, &Batch { inputs: &inputs, rows: &every, shifts: &[] });
        prop_assert!(relative_error(&together, &apart, 1.0) < 1e-13);
    }
}

#[test]
fn a_tape_is_reused_without_leaking_between_batches() {
    let random = &mut Random(3);
    let model = Mlp::new(&[20, 33, 17, 2], Activation::Silu).unwrap();
    let theta = model.initial(1);
    let (large, small) = (Case::new(random, 20, 15, 40), Case::new(random, 20, 3, 7));
    let mut tape = Default::default();
    let mut run = |case: &Case, kind: &str| {
        let views = case.views(kind);
        let batch = Batch { inputs: &case.inputs, rows: &case.rows, shifts: &views };
        let found = forward(&model, &theta, &batch, Mode::Evaluation, &mut tape);
        let seeds = vec![0.5; found.len()];
        let mut gradient = vec![0.0; theta.len()];
        model.backward(&theta, &batch, &mut tape, &seeds, &mut gradient);
        assert_eq!(outputs(&model, &theta, &batch), found);
        gradient
    };
    let first = run(&large, "tds");
    run(&small, "s");
    run(&small, "");
    assert_eq!(first, run(&large, "tds"));
}

#[test]
fn zero_is_a_saddle_of_a_sigmoid_network_and_its_start_is_not_zero() {
    let random = &mut Random(5);
    let case = Case::new(random, 6, 2, 12);
    let model = Mlp::new(&[6, 4, 2], Activation::Sigmoid).unwrap();
    let batch = Batch { inputs: &case.inputs, rows: &case.rows, shifts: &[] };
    let gradient_at = |theta: &[f32]| {
        let mut tape = Default::default();
        forward(&model, theta, &batch, Mode::Evaluation, &mut tape);
        let seeds: Vec<f32> = (0..24).map(|i| if i % 3 == 0 { 1.0 } else { -0.3 }).collect();
        let mut gradient = vec![0.0; theta.len()];
        model.backward(theta, &batch, &mut tape, &seeds, &mut gradient);
        gradient
    };
    let hidden = 0..6 * 4 + 4;
    let zero = vec![0.0; model.parameter_count()];
    assert!(gradient_at(&zero)[hidden.clone()].iter().all(|&g| g == 0.0));
    let start = model.initial(0);
    assert!(start.iter().all(|&x| x != 0.0));
    assert!(gradient_at(&start)[hidden].iter().any(|&g| g.abs() > 1e-3));
    assert_eq!(start, model.initial(0));
    assert_ne!(start, model.initial(1));
    let double = model.double().initial(0);
    assert_eq!(start, double.iter().map(|&x| x as f32).collect::<Vec<_>>());
}

#[test]
fn extreme_inputs_and_weights_give_finite_outputs_and_gradients() {
    for activation in [Activation::Sigmoid, Activation::Tanh, Activation::Silu, Activation::Relu] {
        for level in Level::available() {
            let model = Mlp::new(&[3, 19, 2], activation).unwrap().with_level(level);
            let tiny = f32::from_bits(1);
            let values = vec![1e18, -1e18, 0.5, tiny, -tiny, 1e-38, 0.0, 0.25, -1e10];
            let inputs = Inputs::dense(values, 3).unwrap();
            let theta: Vec<f32> = model.initial(2).iter().map(|x| x * 30.0).collect();
            let batch = Batch { inputs: &inputs, rows: &[0, 1, 2], shifts: &[] };
            let [f, gradient, dx] = all(&model, &theta, &batch, &[1.0; 6]);
            for x in f.iter().chain(&gradient).chain(&dx) {
                assert!(x.is_finite(), "{activation:?} {}", level.name());
            }
        }
    }
}

/// Nine categories of five levels: e⁻ᶻ is a product of ten exponentials, halved and squared up to four times.
#[test]
fn sigmoids_of_indicators_keep_their_digits_whatever_the_size_of_the_weights() {
    let (groups, levels, hidden, rows) = (9, 5, 40, 64);
    let random = &mut Random(7);
    let mut builder = InputsBuilder::new(groups * levels, vec![], rows).unwrap();
    for _ in 0..rows {
        let hot: Vec<u32> =
            (0..groups).map(|g| (g * levels + random.below(levels)) as u32).collect();
        builder.push(&[], &hot).unwrap();
    }
    let inputs = builder.finish();
    let every: Vec<u32> = (0..rows as u32).collect();
    let batch = Batch { inputs: &inputs, rows: &every, shifts: &[] };
    let model = Mlp::new(&[groups * levels, hidden, 1], Activation::Sigmoid).unwrap();
    for size in [0.01, 0.5, 5.0, 20.0, 70.0] {
        let mut theta = parameters(random, model.parameter_count(), size);
        // Outputs are sums of up to 40 sigmoids.
        for u in &mut theta[(groups * levels + 1) * hidden..] {
            *u = 1.0;
        }
        let single: Vec<f32> = theta.iter().map(|&t| t as f32).collect();
        let rounded: Vec<f64> = single.iter().map(|&t| f64::from(t)).collect();
        let expected = outputs(&model.double(), &rounded, &batch);
        for level in Level::available() {
            let found = outputs(&model.clone().with_level(level), &single, &batch);
            // 21 roundings of 6e-8 in e⁻ᶻ, times s ≤ max(1, size/4); a fourth of it in σ; the sum of 40 adds 40 more.
            let bound =
                40.0 * (21.0 * 6e-8 * (size / 4.0).max(1.0) / 4.0 + 1e-7) + 40.0 * 6e-8 * 40.0;
            for (a, b) in found.iter().zip(&expected) {
                let error = (f64::from(*a) - b).abs();
                assert!(error < bound, "{}, weights of {size}: {a} for {b}", level.name());
            }
        }
    }
}

/// Rows of a table that caches do not hold are fetched ahead if they come in no order; that changes nothing.
#[test]
fn rows_of_a_large_table_have_the_same_outputs_in_any_order() {
    let (rows, dense, hot) = (60_000_u32, 7, 6);
    let mut random = Random(5);
    let columns: Vec<u32> = (0..dense).collect();
    let mut inputs = InputsBuilder::new(dense as usize + 4 * hot, columns, rows as usize).unwrap();
    for row in 0..rows as usize {
        let x: Vec<f32> = (0..dense).map(|c| (row as f32 * 0.1 + c as f32).sin()).collect();
        let hot: Vec<u32> =
            (0..hot).map(|g| (dense as usize + 4 * g + (row + g) % 4) as u32).collect();
        inputs.push(&x, &hot).unwrap();
    }
    let inputs: Inputs = inputs.finish();
    let ordered: Vec<u32> = (0..50).map(|i| i * 797).collect();
    let mixed: Vec<u32> = (0..50).map(|i| ordered[i * 37 % 50]).collect();
    for level in Level::available() {
        for activation in [Activation::Sigmoid, Activation::Tanh, Activation::Silu] {
            let model =
                Mlp::<f32>::new(&[inputs.width(), 21, 2], activation).unwrap().with_level(level);
            let theta: Vec<f32> = parameters(&mut random, model.parameter_count(), 0.5)
                .iter()
                .map(|&x| x as f32)
                .collect();
            let of = |rows: &[u32]| {
                outputs(&model, &theta, &Batch { inputs: &inputs, rows, shifts: &[] })
            };
            let (a, b) = (of(&ordered), of(&mixed));
            for i in 0..50 {
                assert_eq!(
                    b[2 * i..2 * i + 2],
                    a[2 * (i * 37 % 50)..][..2],
                    "{} {activation:?}",
                    level.name()
                );
            }
        }
    }
}

#[test]
fn a_parameter_that_is_not_a_number_shows_in_the_outputs() {
    for activation in [Activation::Sigmoid, Activation::Tanh, Activation::Silu, Activation::Relu] {
        for level in Level::available() {
            let model = Mlp::new(&[2, 5, 2], activation).unwrap().with_level(level);
            let mut theta = model.initial(2);
            theta[3] = f32::NAN;
            let inputs = Inputs::dense(vec![1.0, 1.0], 2).unwrap();
            let f = outputs(&model, &theta, &Batch { inputs: &inputs, rows: &[0], shifts: &[] });
            assert!(f.iter().all(|f| f.is_nan()), "{activation:?} {}", level.name());
        }
    }
}

#[test]
fn wrong_shapes_are_errors_that_name_what_is_wrong() {
    let message = |e: feasible::Error| e.to_string();
    assert!(message(Linear::new(0, 1).unwrap_err()).contains("inputs"));
    assert!(message(Linear::new(1, 0).unwrap_err()).contains("outputs"));
    assert!(message(Mlp::new(&[3], Activation::Relu).unwrap_err()).contains("two"));
    let z = Inputs::dense(vec![0.0, 1.0], 2).unwrap();
    let none = Inputs::dense(vec![], 2).unwrap();
    let expansion = |z, kernel, k| message(KernelExpansion::new(z, kernel, k).unwrap_err());
    assert!(expansion(&z, Kernel::Rbf { gamma: -1.0 }, 1).contains("gamma"));
    assert!(expansion(&z, Kernel::Polynomial { offset: 0.0, degree: 0 }, 1).contains("degree"));
    assert!(expansion(&z, Kernel::Polynomial { offset: -1.0, degree: 2 }, 1).contains("offset"));
    assert!(expansion(&z, Kernel::Rbf { gamma: 1.0 }, 0).contains("outputs"));
    assert!(expansion(&none, Kernel::Rbf { gamma: 1.0 }, 1).contains("centres"));
    assert!(message(Mlp::new(&[3, 0, 1], Activation::Relu).unwrap_err()).contains("width 1"));
}

#[test]
fn the_layout_covers_theta_without_gaps() {
    let model = Mlp::new(&[5, 7, 3, 2], Activation::Relu).unwrap();
    let mut end = 0;
    for tensor in model.layout() {
        assert_eq!(tensor.offset, end);
        end = tensor.range().end;
    }
    assert_eq!(end, model.parameter_count());
    assert_eq!(model.layout()[0].shape, [5, 7]);
    assert_eq!(model.layout()[2].shape, [3, 7]);
    assert_eq!(model.layout()[2].name, "layer2.weight");
}

#[test]
fn an_rbf_expansion_is_one_at_its_own_centre_and_known_elsewhere() {
    let z = Inputs::dense(vec![1.0, -0.5], 2).unwrap();
    let model = KernelExpansion::new(&z, Kernel::Rbf { gamma: 0.5 }, 1).unwrap().double();
    let x = Inputs::dense(vec![1.0, -0.5, 0.0, 0.5], 2).unwrap();
    let f = outputs(&model, &[2.0, 0.25], &Batch { inputs: &x, rows: &[0, 1], shifts: &[] });
    assert!((f[0] - 2.25).abs() < 1e-15);
    assert!((f[1] - (2.0 * (-1.0f64).exp() + 0.25)).abs() < 1e-15);
}

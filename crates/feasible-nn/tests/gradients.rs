//! Every model, through every kind of view, against central differences in `f64`.
//!
//! A central difference with step h errs by h²f'''/6 + rounding/h. With h = 2⁻¹⁵ and values
//! of order 1 to 100 both are below 1e-9, so 1e-6 of the largest entry is met with room
//! exactly when the derivative is right.

#![allow(clippy::unwrap_used)] // outside #[test] functions too: a failure here is the test's

use crate::case::{Case, KINDS, Random, parameters, relative_error};
use feasible::check::batch_gradient;
use feasible::{Batch, Inputs, Mode, Model};
use feasible_nn::{Activation, Kernel, KernelExpansion, Linear, Mlp};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const H: f32 = 1.0 / 32768.0;

fn check<M: Model<Real = f64>>(model: &M, case: &Case, random: &mut Random, scale: f64) {
    let theta = parameters(random, model.parameter_count(), scale);
    for kind in KINDS {
        let views = case.views(kind);
        let batch = Batch { inputs: &case.inputs, rows: &case.rows, shifts: &views };
        let seeds = parameters(random, batch.output_rows() * model.output_width(), 1.0);
        check_parameters(model, &theta, &batch, &seeds, kind);
        check_inputs(model, &theta, case, &batch, &seeds, kind);
    }
}

fn check_parameters<M: Model<Real = f64>>(
    model: &M,
    theta: &[f64],
    batch: &Batch<'_>,
    seeds: &[f64],
    kind: &str,
) {
    let found = batch_gradient(model, theta, batch, seeds, f64::from(H)).unwrap();
    let error = found.relative_error();
    assert!(error < 1e-6, "views '{kind}': parameters off by {error:e}");
}

fn check_inputs<M: Model<Real = f64>>(
    model: &M,
    theta: &[f64],
    case: &Case,
    batch: &Batch<'_>,
    seeds: &[f64],
    kind: &str,
) {
    let (d, k, rows) = (case.width, model.output_width(), batch.rows.len());
    let mut tape = M::Tape::default();
    crate::case::forward(model, theta, batch, Mode::Evaluation, &mut tape);
    let mut gradient = vec![f64::NAN; batch.output_rows() * d];
    model.input_gradient(theta, batch, &mut tape, seeds, &mut gradient);
    let mut differences = vec![0.0; gradient.len()];
    // One sample and column at a time; what moves is seen at every position that holds it.
    for (position, &row) in batch.rows.iter().enumerate() {
        for c in 0..d {
            let moved = |h: f32| {
                let mut values = case.values.clone();
                values[row as usize * d + c] += h;
                let inputs = Inputs::new(values, d).unwrap();
                crate::case::outputs(model, theta, &Batch { inputs: &inputs, ..*batch })
            };
            let (up, down) = (moved(H), moved(-H));
            for v in 0..batch.views() {
                let at = v * rows + position;
                let change: f64 =
                    (at * k..(at + 1) * k).map(|o| seeds[o] * (up[o] - down[o])).sum();
                differences[at * d + c] = change / (2.0 * f64::from(H));
            }
        }
    }
    let error = relative_error(&gradient, &differences, 0.1);
    assert!(error < 1e-6, "views '{kind}': inputs off by {error:e}");
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
    // A fixed seed, because a difference quotient across the kink of ReLU is wrong, and a test
    // that fails once in a thousand runs is no test.
    #![proptest_config(ProptestConfig {
        cases: 40, rng_seed: RngSeed::Fixed(20), failure_persistence: None, ..Default::default()
    })]

    #[test]
    fn a_linear_model_has_the_gradient_of_its_outputs(
        seed: u64, d in 1usize..20, dense in 0usize..20, k in 1usize..4, rows in 0usize..6,
    ) {
        let random = &mut Random(seed);
        let case = Case::new(random, d, dense, rows);
        check(&Linear::new(d, k).unwrap().double(), &case, random, 1.0);
    }

    #[test]
    fn a_perceptron_has_the_gradient_of_its_outputs(
        seed: u64, d in 1usize..18, dense in 0usize..18, hidden in prop::collection::vec(1usize..8, 0..4),
        k in 1usize..4, rows in 0usize..5, activation in activation(),
    ) {
        let random = &mut Random(seed);
        let case = Case::new(random, d, dense, rows);
        let widths: Vec<usize> = [d].into_iter().chain(hidden).chain([k]).collect();
        check(&Mlp::new(&widths, activation).unwrap().double(), &case, random, 0.8);
    }

    #[test]
    fn a_kernel_expansion_has_the_gradient_of_its_outputs(
        seed: u64, d in 1usize..16, dense in 0usize..16, centres in 1usize..8, k in 1usize..4,
        rows in 0usize..5, kernel in kernel(),
    ) {
        let random = &mut Random(seed);
        let case = Case::new(random, d, dense, rows);
        let centres = Inputs::dense((0..centres * d).map(|_| random.grid()).collect(), d).unwrap();
        let model = KernelExpansion::new(&centres, kernel, k).unwrap();
        check(&model.double(), &case, random, 1.0);
    }
}

fn kernel() -> impl Strategy<Value = Kernel> {
    prop_oneof![
        (0.01f64..0.3).prop_map(|gamma| Kernel::Rbf { gamma }),
        (0.0f64..2.0, 1u32..4).prop_map(|(offset, degree)| Kernel::Polynomial { offset, degree }),
    ]
}

//! The Lagrangian's value and gradient, for every kind of term at once.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::common::people;
use feasible::{
    Adaptive, Kind, Loss, Multipliers, OutputLagrangian, Population, Probe, Problem, Purpose,
    Requirement, Shift, Stream, TrainingPlace, rho,
};
use feasible_nn::{Activation, Mlp};

/// Average, pointwise, subset, "at least", differences of groups, own data set, one and several
/// counterfactuals, surrogates, per-point limits, weight decay.
fn everything(people: &Population, others: &Population) -> Problem {
    let group = people.filter(|s| s.inputs()[0] == 1.0);
    let rest = people.filter(|s| s.inputs()[0] == 0.0);
    let flipped = people.counterfactual(rho::flip(0)).unwrap();
    let inputs = people.samples().inputs();
    let swaps =
        [(1, 2), (1, 3)].map(|(a, b)| Arc::new(Shift::new(inputs, rho::swap(a, b)).unwrap()));
    let swapped = group.counterfactuals(swaps.to_vec()).unwrap();
    let limits = (0..people.len()).map(|n| 0.1 + n as f64 * 1e-3).collect();
    let floors = (0..people.len()).map(|n| 0.1 / (1.0 + n as f64)).collect();
    Problem::minimise(people, Loss::CrossEntropy)
        .weight_decay(0.01)
        .subject_to(Requirement::average("ace", &flipped, Loss::Kl).at_most(0.01))
        .subject_to(
            Requirement::pointwise("each", &flipped, Loss::SymmetricKl).at_most_each(limits),
        )
        .subject_to(Requirement::pointwise("swaps", &swapped, Loss::SquaredDistance).at_most(0.02))
        .subject_to(Requirement::average("others", others, Loss::Brier).at_most(0.3))
        .subject_to(
            Requirement::average("parity", &group, Loss::Probability { class: 1 })
                .minus(&rest)
                .measured_by(Loss::Selected { class: 1 })
                .at_most(0.05),
        )
        .subject_to(
            Requirement::average("floor", &group, Loss::Probability { class: 1 }).at_least(0.4),
        )
        .subject_to(Requirement::pointwise("low", &rest, Loss::SmoothedError).at_least(0.1))
        .subject_to(
            Requirement::pointwise("low each", people, Loss::SmoothedError).at_least_each(floors),
        )
        .subject_to(
            Requirement::average("two losses", &group, Loss::Probability { class: 1 })
                .measured_by(Loss::Selected { class: 1 })
                .minus_loss(&rest, Loss::Brier)
                .plus_loss(0.5, others, Loss::CrossEntropy)
                .at_most(0.1),
        )
        .check()
        .unwrap()
}

fn multipliers(problem: &Problem) -> Multipliers {
    let of = |i: usize, n: usize| 0.3 + 0.1 * ((i * 7 + n * 3) % 11) as f64;
    let rows = problem.requirements().iter().enumerate();
    let values = rows.map(|(i, r)| (0..r.multipliers()).map(|n| of(i, n)).collect()).collect();
    Multipliers::new(problem, values).unwrap()
}

#[test]
fn violations_are_the_losses_of_populations_less_their_limits() {
    let problem = everything(&people(700, 1), &people(25, 2));
    let model = Mlp::new(&[6, 5, 2], Activation::Tanh).unwrap().double();
    let theta = feasible::Model::initial(&model, 3);
    let measured = problem.measure(&model, &theta).unwrap();
    for (requirement, violations) in problem.requirements().iter().zip(&measured.violations) {
        let sign = requirement.sense().sign();
        let losses = requirement.terms().iter().map(|term| {
            let losses = term.population().losses(term.measure(), &model, &theta).unwrap();
            assert_eq!(losses.len(), term.population().points());
            losses
        });
        let losses: Vec<Vec<f64>> = losses.collect();
        let found: Vec<f64> = match requirement.kind() {
            Kind::Pointwise => {
                let limit = requirement.limit();
                losses[0].iter().enumerate().map(|(n, l)| sign * (l - limit.of(n))).collect()
            }
            Kind::Average => {
                let mean = |l: &Vec<f64>| l.iter().sum::<f64>() / l.len() as f64;
                let terms = requirement.terms().iter().zip(&losses);
                let value: f64 = terms.map(|(term, l)| term.coefficient() * mean(l)).sum();
                vec![sign * (value - requirement.limit().of(0))]
            }
        };
        assert_eq!(found.len(), violations.measured.len());
        for (a, b) in found.iter().zip(&violations.measured) {
            assert!((a - b).abs() < 1e-12, "{}: {a} {b}", requirement.name());
        }
    }
    let width = people(3, 1).losses(&Loss::Kl, &model, &theta).unwrap_err().to_string();
    assert!(width.contains("counterfactual"), "{width}");
    let short = people(3, 1).losses(&Loss::Brier, &model, &theta[1..]).unwrap_err().to_string();
    assert!(short.contains("theta"), "{short}");
}

#[test]
fn its_gradient_agrees_with_finite_differences_to_a_millionth() {
    let problem = everything(&people(40, 1), &people(25, 2));
    let multipliers = multipliers(&problem);
    let model = Mlp::new(&[6, 5, 2], Activation::Tanh).unwrap().double();
    let theta = feasible::Model::initial(&model, 3);
    let value = |theta: &[f64]| problem.measure(&model, theta).unwrap().lagrangian(&multipliers);
    let gradient = problem.optimality(&model, &theta, &multipliers).unwrap().gradient;
    // Central differences: truncation h²f'''/6 and rounding 1e-16/h are both near 1e-10 here.
    let h = 1e-5;
    let size = gradient.iter().fold(0.0f64, |a, g| a.max(g.abs()));
    for p in 0..theta.len() {
        let at = |step: f64| {
            let mut moved = theta.clone();
            moved[p] += step;
            value(&moved)
        };
        let numeric = (at(h) - at(-h)) / (2.0 * h);
        assert!((numeric - gradient[p]).abs() <= 1e-6 * size, "{p}: {numeric} {}", gradient[p]);
    }
}

#[test]
fn at_the_outputs_it_is_the_same_function_without_a_model() {
    let problem = everything(&people(40, 1), &people(25, 2));
    let multipliers = multipliers(&problem);
    let mut lagrangian = OutputLagrangian::<f64>::new(&problem, 2).unwrap();
    assert_eq!(lagrangian.data_sets(), 2);
    let mut random = Stream::new(4, Purpose::View, 0, 0);
    let outputs: Vec<Vec<f64>> = (0..2)
        .map(|d| {
            let (rows, views) = (lagrangian.rows(d).len(), lagrangian.views(d));
            assert_eq!(views, [4, 1][d], "x, flipped and two swaps");
            assert_eq!(
                lagrangian.inputs(d, lagrangian.rows(d)).unwrap().len(),
                rows * views * 6,
                "an input for each output"
            );
            (0..2 * rows * views).map(|_| 2.0 * random.uniform() - 1.0).collect()
        })
        .collect();
    let h = 1e-6;
    for d in 0..2 {
        let rows = lagrangian.rows(d).to_vec();
        let mut seeds = vec![0.0; outputs[d].len()];
        lagrangian.gradient(d, &rows, &outputs[d], &multipliers, &mut seeds).unwrap();
        let size = seeds.iter().fold(0.0f64, |a, s| a.max(s.abs()));
        for o in 0..outputs[d].len() {
            let mut at = |step: f64| {
                let mut moved = outputs.clone();
                moved[d][o] += step;
                lagrangian.measure(&moved).unwrap().lagrangian(&multipliers)
            };
            let numeric = (at(h) - at(-h)) / (2.0 * h);
            assert!((numeric - seeds[o]).abs() <= 1e-6 * size, "{d} {o}: {numeric} {}", seeds[o]);
        }
        // The mean of the estimates on two halves is the whole.
        let (half, views) = (rows.len() / 2, lagrangian.views(d));
        for (part, range) in [(0, 0..half), (1, half..2 * half)] {
            let some =
                |v: usize| 2 * (v * rows.len() + range.start)..2 * (v * rows.len() + range.end);
            let of: Vec<f64> = (0..views).flat_map(|v| outputs[d][some(v)].to_vec()).collect();
            let mut estimate = vec![0.0; of.len()];
            let result =
                lagrangian.gradient(d, &rows[range.clone()], &of, &multipliers, &mut estimate);
            result.unwrap();
            let scale = rows.len() as f64 / half as f64;
            for v in 0..views {
                for (o, at) in some(v).enumerate() {
                    let found = estimate[v * 2 * half + o];
                    assert!((found - scale * seeds[at]).abs() <= 1e-12, "{d} {part} {v} {o}");
                }
            }
        }
    }
    let error = lagrangian.measure(&outputs[..1]).unwrap_err().to_string();
    assert!(error.contains("one list for each of 2 data sets"), "{error}");
    let mut seeds = vec![0.0; 4];
    let error = lagrangian.gradient(1, &[0, 99], &[0.0; 4], &multipliers, &mut seeds).unwrap_err();
    assert!(error.to_string().contains("99"), "{error}");
    let error = lagrangian.gradient(1, &[0, 1], &[0.0; 3], &multipliers, &mut seeds).unwrap_err();
    assert!(error.to_string().contains("1 views × 2 rows × 2 numbers"), "{error}");
}

#[test]
fn the_pointwise_term_is_the_mean_of_lambda_times_violation() {
    // Trap: a sum over samples, or a mean of a batch, would differ by the factor N.
    let people = people(40, 1);
    let flipped = people.counterfactual(rho::flip(0)).unwrap();
    let problem = Problem::minimise(&people, Loss::CrossEntropy)
        .subject_to(Requirement::pointwise("each", &flipped, Loss::Kl).at_most(0.01))
        .check()
        .unwrap();
    let model = Mlp::new(&[6, 5, 2], Activation::Tanh).unwrap().double();
    let theta = feasible::Model::initial(&model, 3);
    let lambda: Vec<f64> = (0..40).map(|n| n as f64).collect();
    let multipliers = Multipliers::new(&problem, vec![lambda.clone()]).unwrap();
    let measured = problem.measure(&model, &theta).unwrap();
    let violations = &measured.violations[0].measured;
    let by_hand: f64 =
        measured.objective + violations.iter().zip(&lambda).map(|(s, l)| l * s).sum::<f64>() / 40.0;
    assert!((measured.lagrangian(&multipliers) - by_hand).abs() < 1e-12);
}

#[test]
fn equal_lambda_makes_a_pointwise_requirement_an_average_one() {
    let people = people(30, 5);
    let flipped = people.counterfactual(rho::flip(0)).unwrap();
    let of = |r: Requirement| {
        Problem::minimise(&people, Loss::CrossEntropy).subject_to(r.at_most(0.01)).check().unwrap()
    };
    let average = of(Requirement::average("r", &flipped, Loss::Kl));
    let pointwise = of(Requirement::pointwise("r", &flipped, Loss::Kl));
    let model = Mlp::new(&[6, 4, 2], Activation::Sigmoid).unwrap().double();
    let theta = feasible::Model::initial(&model, 1);
    let gradient = |problem: &Problem, m: Vec<f64>| {
        let multipliers = Multipliers::new(problem, vec![m]).unwrap();
        problem.optimality(&model, &theta, &multipliers).unwrap().gradient
    };
    let (a, p) = (gradient(&average, vec![2.5]), gradient(&pointwise, vec![2.5; 30]));
    for (a, p) in a.iter().zip(&p) {
        assert!((a - p).abs() < 1e-14, "{a} {p}");
    }
}

/// One step of gradient ascent on the cross-entropy, of a given length per coordinate: enough of an
/// adversary to see whether the hook works.
#[derive(Debug)]
struct OneStep(f32);

impl Adaptive for OneStep {
    fn shift(&self, probe: &mut dyn Probe, _: TrainingPlace, shift: &mut [f32]) {
        let k = probe.output_width();
        let outputs = probe.outputs(shift).to_vec();
        let rows = probe.rows().to_vec();
        let mut seeds = vec![0.0; outputs.len()];
        for (r, row) in rows.iter().enumerate() {
            let z = &outputs[r * k..(r + 1) * k];
            let max = z.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let total: f32 = z.iter().map(|z| (z - max).exp()).sum();
            for c in 0..k {
                seeds[r * k + c] = (z[c] - max).exp() / total;
            }
            if let feasible::Target::Class(y) = probe.samples().targets().get(*row as usize) {
                seeds[r * k + y as usize] -= 1.0;
            }
        }
        let mut gradient = vec![0.0; shift.len()];
        probe.input_gradient(&seeds, &mut gradient);
        for (s, g) in shift.iter_mut().zip(&gradient) {
            *s = self.0 * g.signum();
        }
    }
}

#[test]
fn a_view_that_sees_the_model_raises_the_loss_it_attacks() {
    let people = people(60, 7);
    let attacked = |epsilon| people.through(Arc::new(OneStep(epsilon)));
    let model = Mlp::new(&[6, 8, 2], Activation::Tanh).unwrap();
    let theta = feasible::Model::initial(&model, 2);
    let loss = |population: &Population| {
        let problem = Problem::minimise(population, Loss::CrossEntropy).check().unwrap();
        problem.measure(&model, &theta).unwrap().objective
    };
    let clean = loss(&people);
    assert!((loss(&attacked(0.0)) - clean).abs() < 1e-7, "ε = 0 is the identity");
    assert!(loss(&attacked(0.1)) > clean + 0.01);
    assert!(loss(&attacked(0.3)) > loss(&attacked(0.1)));
}

//! What an epoch is measured on, and by which loss the objective is judged.
#![allow(clippy::unwrap_used)]

use feasible::{
    Dual, Inputs, Learner, Loss, Population, Problem, Requirement, Samples, Solution, Targets,
};
use feasible_nn::{Linear, Sgd};

/// 64 samples of one number; class 1 above 0, every eighth label wrong.
fn everyone() -> Population {
    let x: Vec<f32> = (0..64).map(|i| (i as f32 - 31.5) / 16.0).collect();
    let y = (0..64).map(|i| u32::from(i >= 32) ^ u32::from(i % 8 == 0)).collect();
    Population::new(Samples::new(Inputs::dense(x, 1).unwrap(), Targets::Classes(y)).unwrap())
}

fn problem(everyone: &Population) -> Problem {
    let requirement = Requirement::average("loss", everyone, Loss::CrossEntropy).at_most(0.3);
    Problem::minimise(everyone, Loss::CrossEntropy).subject_to(requirement).check().unwrap()
}

fn solve(measure_on: Option<usize>) -> (Solution<f32>, Vec<f64>) {
    let everyone = everyone();
    let (problem, model) = (problem(&everyone), Linear::new(1, 2).unwrap());
    let learner = Learner::simultaneous(Sgd::new(0.5)).dual(Dual::ascent(0.1)).batch_size(16);
    let mut learner = learner.epochs(4).seed(3);
    if let Some(rows) = measure_on {
        learner = learner.measure_on(rows);
    }
    let mut objectives = Vec::new();
    let solution = learner.solve_observed(&problem, &model, |report| {
        objectives.push(report.objective);
        std::ops::ControlFlow::Continue(())
    });
    (solution.unwrap(), objectives)
}

#[test]
fn a_monitoring_sample_changes_what_is_reported_and_nothing_that_is_learned() {
    let (whole, reported) = solve(None);
    let (sampled, estimated) = solve(Some(16));
    assert_eq!(whole.theta, sampled.theta);
    assert_eq!(whole.multipliers, sampled.multipliers);
    // The solution is measured on everyone.
    assert_eq!(whole.measurement, sampled.measurement);
    assert_ne!(reported, estimated);
    // Estimates on a quarter: within five deviations of a mean of 16 losses whose spread is below 1.
    for (all, some) in reported.iter().zip(&estimated) {
        assert!((all - some).abs() < 5.0 / 4.0, "{all} {some}");
    }
    // A sample of as many rows as there are gives a measurement of everyone, in another order of sums.
    let (_, all) = solve(Some(64));
    assert!(all.iter().zip(&reported).all(|(a, b)| (a - b).abs() < 1e-6), "{all:?} {reported:?}");
}

#[test]
fn a_monitoring_sample_of_no_rows_is_refused() {
    let everyone = everyone();
    let learner = Learner::simultaneous(Sgd::new(0.5)).measure_on(0);
    let error = learner.solve(&problem(&everyone), &Linear::new(1, 2).unwrap()).unwrap_err();
    assert!(error.to_string().contains("measure_on"), "{error}");
}

#[test]
fn an_objective_is_judged_by_the_loss_it_is_measured_by() {
    let everyone = everyone();
    let judged = Problem::minimise(&everyone, Loss::CrossEntropy).measured_by(Loss::Error);
    let judged = judged.check().unwrap();
    let model = Linear::new(1, 2).unwrap();
    // Weights (−1, 1) without offsets: class 1 above 0, wrong exactly where the label is, 8 of 64 times.
    let theta = [-1.0, 1.0, 0.0, 0.0];
    assert_eq!(judged.measure(&model, &theta).unwrap().objective, 0.125);
    let gradient = |problem: &Problem| {
        let start = feasible::Multipliers::start(problem);
        problem.optimality(&model, &theta, &start).unwrap().gradient
    };
    let plain = Problem::minimise(&everyone, Loss::CrossEntropy).check().unwrap();
    assert_eq!(gradient(&judged), gradient(&plain), "θ follows the loss that is minimised");
}

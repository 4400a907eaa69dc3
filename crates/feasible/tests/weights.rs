//! A sample of weight w counts as w samples in the objective, and once in requirements.
#![allow(clippy::unwrap_used)]

use crate::common::people;
use feasible::{
    Inputs, Learner, Loss, Model, Multipliers, Outcome, Population, Problem, Requirement, Samples,
    Target, Targets,
};
use feasible_nn::Linear;

/// Rows of some people, as often as `times` says.
fn repeated(people: &Population, times: &[usize]) -> Population {
    let samples = people.samples();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for (row, &times) in times.iter().enumerate() {
        for _ in 0..times {
            x.extend(samples.inputs().row(row));
            let Target::Class(class) = samples.targets().get(row) else { unreachable!() };
            y.push(class);
        }
    }
    let inputs = Inputs::new(x, samples.inputs().width()).unwrap();
    Population::new(Samples::new(inputs, Targets::Classes(y)).unwrap())
}

fn weighted(people: &Population, weights: Vec<f64>) -> Population {
    Population::new(Samples::clone(people.samples()).weighted(weights).unwrap())
}

/// The objective on some people, the requirement on others.
fn problem(objective: &Population, others: &Population) -> Problem {
    Problem::minimise(objective, Loss::CrossEntropy)
        .weight_decay(0.01)
        .subject_to(Requirement::average("others", others, Loss::CrossEntropy).at_most(0.6))
        .check()
        .unwrap()
}

#[test]
fn integer_weights_are_repeated_rows_to_the_exact_learner() {
    let (all, others) = (people(60, 3), people(40, 4));
    let times: Vec<usize> = (0..60).map(|row| 1 + row % 3).collect();
    let by_weight = weighted(&all, times.iter().map(|&n| n as f64).collect());
    let by_rows = repeated(&all, &times);
    // Rows that repeat, each with another weight: every kind of row is worked on once.
    let four_times = repeated(&by_rows, &vec![4; by_rows.len()]);
    let uneven = (0..four_times.len()).map(|row| [0.1, 0.2, 0.3, 0.4][row % 4]).collect();
    let uneven = weighted(&four_times, uneven);

    let model = Linear::new(6, 2).unwrap().double();
    let theta: Vec<f64> = Model::initial(&model, 7);
    let solve = |objective: &Population| {
        let problem = problem(objective, &others);
        let multipliers = Multipliers::start(&problem);
        let optimality = problem.optimality(&model, &theta, &multipliers).unwrap();
        let solution = Learner::exact().solve(&problem, &model).unwrap();
        assert_eq!(solution.outcome, Outcome::Converged, "{solution:?}");
        (optimality, solution)
    };
    let (gradient, solution) = solve(&by_rows);
    for other in [&by_weight, &uneven] {
        let (found, solved) = solve(other);
        // Sums of the same numbers in another order.
        assert!((found.lagrangian - gradient.lagrangian).abs() < 1e-12);
        for (a, b) in found.gradient.iter().zip(&gradient.gradient) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
        assert!((solved.objective() - solution.objective()).abs() < 1e-7);
        for (a, b) in solved.theta.iter().zip(&solution.theta) {
            // The learner stops at a tolerance, and decay makes the minimum a single point.
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
        let (a, b) = (solved.multipliers.of(0)[0], solution.multipliers.of(0)[0]);
        assert!((a - b).abs() < 1e-4, "{a} {b}");
    }
    // And the weights matter.
    let (_, plain) = solve(&all);
    assert!((plain.theta[0] - solution.theta[0]).abs() > 1e-3);
}

#[test]
fn requirements_count_every_row_once() {
    let all = people(80, 5);
    let heavy = weighted(&all, (0..80).map(|row| 1.0 + f64::from(row)).collect());
    let model = Linear::new(6, 2).unwrap().double();
    // Not where a linear model starts, at 0: all losses are the same there.
    let theta: Vec<f64> = (0..model.parameter_count()).map(|i| (i as f64).sin()).collect();
    let measure = |people: &Population| {
        let women = people.filter(|s| s.inputs()[0] == 1.0);
        let problem = Problem::minimise(people, Loss::CrossEntropy)
            .subject_to(Requirement::average("all", people, Loss::Brier).at_most(0.2))
            .subject_to(Requirement::average("some", &women, Loss::Brier).at_most(0.2));
        problem.check().unwrap().measure(&model, &theta).unwrap()
    };
    let (plain, weighted) = (measure(&all), measure(&heavy));
    assert!((plain.objective - weighted.objective).abs() > 1e-6);
    for (a, b) in plain.violations.iter().zip(&weighted.violations) {
        assert_eq!(a.measured, b.measured);
    }
    let losses = all.losses(&Loss::CrossEntropy, &model, &theta).unwrap();
    let (mut sum, mut mass) = (0.0, 0.0);
    for (row, loss) in losses.iter().enumerate() {
        sum += (1.0 + row as f64) * loss;
        mass += 1.0 + row as f64;
    }
    assert!((weighted.objective - sum / mass).abs() < 1e-12);
}

#[test]
fn a_weight_that_is_not_positive_is_refused_with_its_row() {
    let samples = Samples::clone(people(4, 1).samples());
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = samples.clone().weighted(vec![1.0, 1.0, weight, 1.0]).unwrap_err().to_string();
        assert!(error.contains("weight of row 2") && error.contains("positive"), "{error}");
    }
    let error = samples.weighted(vec![1.0; 3]).unwrap_err().to_string();
    assert!(error.contains("one for each of the 4 samples"), "{error}");
}

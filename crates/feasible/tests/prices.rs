//! Prices: what multipliers predict against what solving again shows, where the answer is known.
#![allow(clippy::unwrap_used)]

use feasible::price::{Price, solve_from};
use feasible::{
    Inputs, Learner, Loss, Outcome, Population, Problem, Requirement, Samples, Solution, Targets,
};
use feasible_nn::Linear;

fn population(x: &[f32], y: &[f32]) -> Population {
    let inputs = Inputs::dense(x.to_vec(), 1).unwrap();
    Population::new(Samples::new(inputs, Targets::Values(y.to_vec())).unwrap())
}

/// ½(u − 1)² + ½ v² with u = f(1), v = f(−1), subject to (u + 1)² ≤ 1, which costs
/// P(c) = ½(√c − 2)², and to v² ≤ 4, which costs nothing: v = 0 is best anyway.
fn problem() -> Problem {
    Problem::minimise(&population(&[1.0, -1.0], &[1.0, 0.0]), Loss::Squared)
        .subject_to(
            Requirement::average("dear", &population(&[1.0], &[-1.0]), Loss::Squared).at_most(1.0),
        )
        .subject_to(
            Requirement::average("free", &population(&[-1.0], &[0.0]), Loss::Squared).at_most(4.0),
        )
        .check()
        .unwrap()
}

fn price(problem: &Problem, solution: &Solution<f64>, at: usize, delta: f64) -> Price {
    let (learner, model) = (Learner::exact(), Linear::new(1, 1).unwrap().double());
    let again = |by: f64| {
        let moved = problem.relaxed(at, by).unwrap();
        let start = (&solution.theta[..], &solution.multipliers);
        let solved = solve_from(&learner, &moved, &model, start, |_| true).unwrap();
        assert_eq!(solved.outcome, Outcome::Converged);
        Some(solved.objective())
    };
    let of = solution.multipliers.of(at);
    Price {
        requirement: problem.requirements()[at].name().into(),
        multiplier: Some(of.iter().sum::<f64>() / of.len() as f64),
        delta,
        relaxed: again(delta),
        stricter: again(-delta),
    }
}

fn solved(problem: &Problem) -> Solution<f64> {
    let model = Linear::new(1, 1).unwrap().double();
    Learner::exact().solve(problem, &model).unwrap()
}

#[test]
fn the_price_of_a_binding_requirement_is_its_multiplier() {
    let (problem, exact) = (problem(), |c: f64| 0.5 * (c.sqrt() - 2.0).powi(2));
    let solution = solved(&problem);
    for delta in [0.2, 0.1, 0.05] {
        let found = price(&problem, &solution, 0, delta);
        // The learner stops at KKT residuals of 1e-8; objectives are flat around the minimum.
        assert!((found.relaxed.unwrap() - exact(1.0 + delta)).abs() < 1e-7, "{found:?}");
        assert!((found.stricter.unwrap() - exact(1.0 - delta)).abs() < 1e-7, "{found:?}");
        assert!((found.predicted().unwrap() + 0.5 * delta).abs() < 1e-6, "{found:?}");
        // The next term is δ³/6 · P''' with P''' = −¾ c^(−5/2), at most 1.4 for c ≥ 0.8.
        let truncation = delta.powi(3) / 6.0 * 1.4 + 1e-6;
        assert!(
            (found.observed(None).unwrap() - found.predicted().unwrap()).abs() < truncation,
            "{found:?}"
        );
    }
}

#[test]
fn a_requirement_that_others_imply_costs_nothing() {
    let problem = problem();
    let solution = solved(&problem);
    let found = price(&problem, &solution, 1, 0.4);
    assert_eq!(found.requirement, "free");
    assert_eq!((found.multiplier, found.predicted()), (Some(0.0), Some(0.0)));
    assert!(found.observed(None).unwrap().abs() < 1e-7, "{found:?}");
}

#[test]
fn pointwise_prices_are_the_means_of_lambda() {
    // Every f(x)² ≤ c at x = 1 and x = −1, targets 3 and −1. With f = u at 1 and v at −1 the
    // objective is ½(u − 3)² + ½(v + 1)²; at c = 4, u = 2 and v = −1: P(c) = ½(√c − 3)²,
    // P'(4) = −½(3 − 2)/2 = −¼. λ is 2 · ¼ for the first point and 0 for the second.
    let both = population(&[1.0, -1.0], &[3.0, -1.0]);
    let zero = population(&[1.0, -1.0], &[0.0, 0.0]);
    let problem = Problem::minimise(&both, Loss::Squared)
        .subject_to(Requirement::pointwise("small", &zero, Loss::Squared).at_most(4.0))
        .check()
        .unwrap();
    let solution = solved(&problem);
    let of = solution.multipliers.of(0);
    assert!((of[0] - 0.5).abs() < 1e-5 && of[1] == 0.0, "{of:?}");
    let found = price(&problem, &solution, 0, 0.1);
    assert!((found.predicted().unwrap() + 0.025).abs() < 1e-6, "{found:?}");
    // P(c) = ½c − 3√c + 4½, P''' = −9/8 c^(−5/2): 0.035 at 4, so δ³/6 of it is 6e-6.
    assert!((found.observed(None).unwrap() - found.predicted().unwrap()).abs() < 2e-5, "{found:?}");
}

#[test]
fn at_least_relaxes_downwards() {
    let women = population(&[1.0], &[-1.0]);
    let floor = Requirement::average("floor", &women, Loss::Squared).at_least(0.5).relaxed(0.1);
    assert!((floor.limit().of(0) - 0.4).abs() < 1e-12);
    let each = Requirement::pointwise("each", &women, Loss::Squared).at_most_each(vec![0.5]);
    assert!((each.relaxed(-0.1).limit().of(0) - 0.4).abs() < 1e-12);
    let error = problem().relaxed(7, 0.1).unwrap_err();
    assert!(error.to_string().contains("requirement number 7"), "{error}");
}

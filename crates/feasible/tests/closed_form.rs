//! A problem solved by hand, in `docs/closed-form.md`.
//!
//! Two groups at x = ±1 with targets 1 and 0, an affine f with u = f(1), v = f(−1):
//!
//!     minimise ½(u − 1)² + ½ v²   subject to   (u + 1)² ≤ 1.
//!
//! The constraint says −2 ≤ u ≤ 0, so u* = v* = 0 and P* = ½. Stationarity in u,
//! (u − 1) + 2μ(u + 1) = 0, gives μ* = ½. The dual function d(μ) = 4μ/(1 + 2μ) − μ is maximal
//! there with d(½) = ½: no gap.
#![allow(clippy::unwrap_used)]

use feasible::{
    Inputs, Learner, Loss, Outcome, Population, Problem, Requirement, Samples, Targets,
};
use feasible_nn::Linear;

fn population(x: &[f32], y: &[f32]) -> Population {
    let inputs = Inputs::dense(x.to_vec(), 1).unwrap();
    Population::new(Samples::new(inputs, Targets::Values(y.to_vec())).unwrap())
}

fn problem() -> Problem {
    with_limit(1.0)
}

fn with_limit(limit: f64) -> Problem {
    Problem::minimise(&population(&[1.0, -1.0], &[1.0, 0.0]), Loss::Squared)
        .subject_to(
            Requirement::average("near −1 at x = 1", &population(&[1.0], &[-1.0]), Loss::Squared)
                .at_most(limit),
        )
        .check()
        .unwrap()
}

#[test]
fn primal_dual_and_multiplier_are_those_found_by_hand() {
    let model = Linear::new(1, 1).unwrap().double();
    let solution = Learner::exact().solve(&problem(), &model).unwrap();
    assert_eq!(solution.outcome, Outcome::Converged, "{solution:?}");
    let (w, b) = (solution.theta[0], solution.theta[1]);
    assert!(w.abs() < 1e-6 && b.abs() < 1e-6, "{:?}", solution.theta);
    assert!((solution.objective() - 0.5).abs() < 1e-6);
    assert!((solution.multipliers.of(0)[0] - 0.5).abs() < 1e-6, "{:?}", solution.multipliers);
    assert!(solution.gap.relative < 1e-6);
}

#[test]
fn the_papers_dual_ascent_finds_the_same_pair() {
    let model = Linear::new(1, 1).unwrap().double();
    let learner = Learner::exact().ascent(0.2).epochs(500);
    let solution = learner.solve(&problem(), &model).unwrap();
    assert_eq!(solution.outcome, Outcome::Converged, "{solution:?}");
    assert!((solution.multipliers.of(0)[0] - 0.5).abs() < 1e-6);
    assert!((solution.objective() - 0.5).abs() < 1e-6);
}

#[test]
fn the_multiplier_is_the_price_of_the_limit() {
    // P(c) = ½(√c − 2)², so the slope at 1 is −½ = −μ*. Central differences of re-solved problems.
    let model = Linear::new(1, 1).unwrap().double();
    let optimum = |limit| Learner::exact().solve(&with_limit(limit), &model).unwrap().objective();
    let slope = (optimum(1.01) - optimum(0.99)) / 0.02;
    // Truncation: h²/6 times a third derivative of order 1 is 2e-5.
    assert!((slope + 0.5).abs() < 1e-4, "{slope}");
}

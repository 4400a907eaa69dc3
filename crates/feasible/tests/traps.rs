//! Mistakes that are easy to make in constrained learning, each with the test that catches it.
//! (Those about single losses and dual steps have theirs beside the code: cross-entropy fed with
//! probabilities, KL that underflows, Adam that forgets the violation.)
#![allow(clippy::unwrap_used)]

use crate::common::people;
use feasible::{Dual, Learner, Loss, Model, Multipliers, Population, Problem, Requirement, rho};
use feasible_nn::{Activation, Adam, Mlp};

fn invariance(people: &Population, limit: f64) -> Problem {
    let flipped = people.counterfactual(rho::flip(0)).unwrap();
    Problem::minimise(people, Loss::CrossEntropy)
        .subject_to(Requirement::pointwise("group", &flipped, Loss::Kl).at_most(limit))
        .check()
        .unwrap()
}

/// (accuracy, share of predictions that flip with the group)
fn audit(people: &Population, model: &Mlp, theta: &[f32]) -> (f64, f64) {
    let flipped = people.counterfactual(rho::flip(0)).unwrap();
    let error = Requirement::average("error", people, Loss::SmoothedError).measured_by(Loss::Error);
    let flip = Requirement::average("flip", &flipped, Loss::TotalVariation { smoothing: 1e-3 })
        .measured_by(Loss::Flip);
    let problem = Problem::minimise(people, Loss::CrossEntropy)
        .subject_to(error.at_most(1.0))
        .subject_to(flip.at_most(0.0));
    let measured = problem.check().unwrap().measure(model, theta).unwrap();
    (-measured.violations[0].measured[0], measured.violations[1].measured[0])
}

#[test]
fn a_fair_model_is_still_an_accurate_one() {
    // Trap: a network collapsed to the majority class flips no prediction either.
    let people = people(3000, 21);
    let model = Mlp::new(&[6, 16, 2], Activation::Sigmoid).unwrap();
    let learner = Learner::alternating(Adam::new(0.02)).epochs(120).dual(Dual::adam(0.5)).seed(2);
    let plain = Problem::minimise(&people, Loss::CrossEntropy).check().unwrap();
    let before = learner.solve(&plain, &model).unwrap();
    let after = learner.solve(&invariance(&people, 1e-4), &model).unwrap();
    let (accuracy, flips) = audit(&people, &model, &before.theta);
    assert!(accuracy > 0.74 && flips > 0.2, "{accuracy} {flips}");
    let (accuracy, flips) = audit(&people, &model, &after.theta);
    // KL ≤ 1e-4 lets probabilities differ by √(1e-4/2) = 0.7 %: only predictions within that
    // of ½ can flip, a percent or two of these people.
    assert!(accuracy > 0.70 && flips < 0.02, "{accuracy} {flips}");
}

#[test]
fn the_gradient_of_a_batch_has_the_scale_of_the_whole_lagrangian() {
    // Trap: λ(ℓ − c) summed where the loss is averaged, or the other way round. One full batch
    // of plain gradient descent must be the full gradient, to rounding.
    let people = people(200, 4);
    let problem = invariance(&people, 1e-3);
    let model = Mlp::new(&[6, 4, 2], Activation::Tanh).unwrap();
    let theta = model.initial(9);
    let rate = 0.5;
    let learner =
        Learner::alternating(feasible_nn::Sgd::new(rate)).batch_size(200).epochs(1).seed(9);
    let stepped = learner.solve(&problem, &model).unwrap();
    let multipliers = Multipliers::start(&problem);
    let gradient = problem.optimality(&model, &theta, &multipliers).unwrap().gradient;
    for p in 0..theta.len() {
        let expected = f64::from(theta[p]) - rate * f64::from(gradient[p]);
        assert!((f64::from(stepped.theta[p]) - expected).abs() < 1e-6);
    }
}

#[test]
fn a_dual_rate_bounds_how_far_adam_can_carry_a_multiplier() {
    // Trap: 1e-3 once an epoch leaves μ within about 0.1 of its start after 100 epochs, however
    // violated the requirement is.
    let people = people(200, 4);
    let problem = {
        let hopeless = Requirement::average("zero loss", &people, Loss::CrossEntropy).at_most(1e-9);
        Problem::minimise(&people, Loss::CrossEntropy).subject_to(hopeless).check().unwrap()
    };
    let model = Mlp::new(&[6, 4, 2], Activation::Tanh).unwrap();
    let mu = |learner: Learner| {
        let learner = learner.epochs(100).dual(Dual::adam(1e-3)).look_for_infeasibility(false);
        learner.solve(&problem, &model).unwrap().multipliers.of(0)[0]
    };
    let per_epoch = mu(Learner::alternating(Adam::new(0.01)));
    assert!(per_epoch > 1.09 && per_epoch < 1.11, "{per_epoch}");
    let per_batch = mu(Learner::simultaneous(Adam::new(0.01)).batch_size(20));
    assert!(per_batch > 1.9, "{per_batch}");
}

#[test]
fn networks_do_not_start_at_zero_where_a_sigmoid_network_has_a_saddle() {
    let people = people(300, 4);
    let problem = Problem::minimise(&people, Loss::CrossEntropy).check().unwrap();
    let model = Mlp::new(&[6, 8, 2], Activation::Sigmoid).unwrap();
    let none = Multipliers::new(&problem, vec![]).unwrap();
    // At θ = 0 all hidden units are the same and their gradients vanish: no first layer moves.
    let zero = vec![0.0; model.parameter_count()];
    let stuck = problem.optimality(&model, &zero, &none).unwrap().gradient;
    assert!(stuck[..6 * 8].iter().all(|&g| g == 0.0));
    let free = problem.optimality(&model, &model.initial(0), &none).unwrap().gradient;
    assert!(free[..6 * 8].iter().any(|&g| g.abs() > 1e-4));
}

//! How trainings end, and which iterate is returned.
#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use crate::common::people;
use feasible::learner::Remedy;
use feasible::{
    Dual, Inputs, Learner, Loss, Outcome, Population, Problem, Requirement, Samples, Targets, rho,
};
use feasible_nn::{Activation, Adam, Linear, Mlp, Sgd};

fn invariance(people: &Population, limit: f64) -> Problem {
    let flipped = people.counterfactual(rho::flip(0)).unwrap();
    Problem::minimise(people, Loss::CrossEntropy)
        .subject_to(Requirement::average("group", &flipped, Loss::Kl).at_most(limit))
        .check()
        .unwrap()
}

/// The same x with targets −1 and 1: nobody is within a squared error of 0.5 of both.
fn contradiction() -> Problem {
    let at = |y: f32| {
        let inputs = Inputs::dense(vec![0.5, 1.5, 2.5], 1).unwrap();
        Population::new(Samples::new(inputs, Targets::Values(vec![y; 3])).unwrap())
    };
    let (low, high) = (at(-1.0), at(1.0));
    Problem::minimise(&low, Loss::Squared)
        .subject_to(Requirement::average("low", &low, Loss::Squared).at_most(0.4))
        .subject_to(Requirement::average("high", &high, Loss::Squared).at_most(0.5))
        .check()
        .unwrap()
}

#[test]
fn a_contradiction_ends_as_infeasible_with_the_requirement_named() {
    let model = Linear::new(1, 1).unwrap();
    let exact = Learner::exact().solve(&contradiction(), &model.double()).unwrap();
    let alternating = Learner::alternating(Adam::new(0.01)).epochs(1000).dual(Dual::ascent(0.1));
    let alternating = alternating.solve(&contradiction(), &model.double()).unwrap();
    for (outcome, epochs, limit) in
        [(exact.outcome, exact.epochs, 20), (alternating.outcome, alternating.epochs, 400)]
    {
        let Outcome::Infeasible { requirement, violation, proven: true } = outcome else {
            panic!("ended as {outcome:?} after {epochs}");
        };
        // Least total violation, each beside its limit: the stricter limit weighs more, so that the other keeps more
        // of u with (u+1)² − 0.4 and (1−u)² − 0.5 both positive.
        assert_eq!(requirement, "high");
        assert!(violation > 0.4, "{violation}");
        assert!(epochs <= limit, "looped for {epochs}");
    }
}

#[test]
fn a_network_that_was_not_found_is_not_called_infeasible() {
    let model = Mlp::new(&[1, 3, 1], Activation::Tanh).unwrap().double();
    let solution = Learner::exact().solve(&contradiction(), &model).unwrap();
    let text = solution.outcome.to_string();
    assert!(matches!(solution.outcome, Outcome::Infeasible { proven: false, .. }), "{text}");
    assert!(text.starts_with("no feasible model found: "), "{text}");
    let old = r#"{"ended":"infeasible","requirement":"low","violation":0.5}"#;
    let old: Outcome = serde_json::from_str(old).unwrap();
    assert!(matches!(old, Outcome::Infeasible { proven: false, .. }));
}

#[test]
fn a_training_that_falls_short_says_what_was_reached_and_what_would_help() {
    let people = people(400, 9);
    let class = |y: u32| people.filter(move |s| s.target == feasible::Target::Class(y));
    let rate = |name: &str, population: &Population| {
        Requirement::average(name, population, Loss::Probability { class: 1 })
            .measured_by(Loss::Selected { class: 1 })
    };
    let problem = Problem::minimise(&people, Loss::CrossEntropy)
        .subject_to(rate("recall", &class(1)).at_least(0.99))
        .subject_to(rate("false positives", &class(0)).at_most(0.01))
        .check()
        .unwrap();
    let learner = Learner::alternating(Adam::new(0.02)).epochs(150).dual(Dual::adam(0.02));
    let mut least = [f64::INFINITY; 2];
    let solution = learner
        .solve_observed(&problem, &Linear::new(6, 2).unwrap(), |report| {
            for (least, standing) in least.iter_mut().zip(&report.requirements) {
                *least = least.min(standing.worst_violation);
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(solution.outcome, Outcome::MaxEpochs);
    let unmet = solution.requirements.iter().filter(|r| !r.met).count();
    assert!(unmet > 0 && solution.shortfalls.len() == unmet, "{:?}", solution.shortfalls);
    for shortfall in &solution.shortfalls {
        let i = usize::from(shortfall.requirement == "false positives");
        assert_eq!(shortfall.least_violation, least[i]);
        assert_eq!(shortfall.value, solution.requirements[i].value);
        let remedy = shortfall.remedy;
        let expected = if least[i] <= 0.0 { Remedy::RelaxTogether } else { Remedy::RelaxOrEnrich };
        assert!(remedy == expected || remedy == Remedy::MoreEpochs, "{shortfall:?}");
    }
    let easy = Problem::minimise(&people, Loss::CrossEntropy).check().unwrap();
    let met = learner.epochs(3).solve(&easy, &Linear::new(6, 2).unwrap()).unwrap();
    assert!(met.shortfalls.is_empty());
}

#[test]
fn a_hard_but_feasible_problem_is_not_called_infeasible() {
    let problem = invariance(&people(500, 2), 1e-6);
    let model = Mlp::new(&[6, 8, 2], Activation::Sigmoid).unwrap();
    // A dual rate so low that nothing improves for long.
    let learner = Learner::alternating(Adam::new(1e-5)).epochs(250).dual(Dual::ascent(1e-9));
    let solution = learner.solve(&problem, &model).unwrap();
    assert_eq!(solution.outcome, Outcome::MaxEpochs);
}

#[test]
fn divergence_is_named_and_the_last_finite_parameters_are_returned() {
    let x = Inputs::dense(vec![1.0, -2.0, 3.0, 5.0], 1).unwrap();
    let everyone = Population::new(Samples::new(x, Targets::Values(vec![1.0; 4])).unwrap());
    let problem = Problem::minimise(&everyone, Loss::Squared).check().unwrap();
    let learner = Learner::alternating(Sgd::new(10.0)).batch_size(1).epochs(1000);
    let solution = learner.solve(&problem, &Linear::new(1, 1).unwrap()).unwrap();
    assert!(matches!(solution.outcome, Outcome::Diverged { .. }), "{:?}", solution.outcome);
    assert!(solution.epochs < 1000);
    assert!(solution.theta.iter().all(|t| t.is_finite()));
}

#[test]
fn stopping_when_feasible_stops_at_the_first_feasible_epoch() {
    let problem = invariance(&people(500, 2), 1e-5);
    let model = Mlp::new(&[6, 8, 2], Activation::Sigmoid).unwrap();
    let learner = Learner::alternating(Adam::new(0.05)).epochs(500).dual(Dual::adam(0.5));
    let learner = learner.stop_when_feasible();
    let mut feasible = Vec::new();
    let solution = learner
        .solve_observed(&problem, &model, |report| {
            feasible.push(report.requirements[0].met);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(solution.outcome, Outcome::Feasible);
    assert!(solution.is_feasible() && solution.epochs < 500);
    assert!(feasible.len() > 1, "it was feasible from the start: choose a lower limit");
    assert!(feasible.iter().rev().skip(1).all(|f| !f) && feasible.last() == Some(&true));
}

#[test]
fn a_small_gap_ends_a_convex_problem_as_converged() {
    let problem = invariance(&people(200, 2), 0.05);
    let model = Linear::new(6, 2).unwrap().double();
    let learner = Learner::exact().never_stop_early().stop_at_gap(1e-3);
    let solution = learner.solve(&problem, &model).unwrap();
    assert_eq!(solution.outcome, Outcome::Converged);
    assert!(solution.gap.relative <= 1e-3 && solution.is_feasible());
}

#[test]
fn patience_ends_a_training_that_no_longer_improves() {
    let problem = invariance(&people(300, 2), 10.0);
    let model = Linear::new(6, 2).unwrap();
    let learner = Learner::alternating(Adam::new(0.5)).epochs(5000).patience(20);
    let solution = learner.solve(&problem, &model).unwrap();
    assert_eq!(solution.outcome, Outcome::Feasible);
    assert!(solution.epochs < 5000, "{}", solution.epochs);
}

#[test]
fn an_observer_can_stop_a_training() {
    let problem = invariance(&people(100, 2), 0.1);
    let learner = Learner::alternating(Adam::new(0.01)).epochs(50);
    let stop_at_7 = |report: &feasible::EpochReport| {
        if report.epoch == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let solution =
        learner.solve_observed(&problem, &Linear::new(6, 2).unwrap(), stop_at_7).unwrap();
    assert_eq!((solution.outcome, solution.epochs), (Outcome::Interrupted, 7));
}

#[test]
fn the_best_feasible_iterate_on_validation_is_returned_if_asked_for() {
    let (training, validation) =
        (invariance(&people(300, 2), 2e-3), invariance(&people(300, 3), 2e-3));
    let model = Mlp::new(&[6, 16, 2], Activation::Sigmoid).unwrap();
    // Rates that keep it moving in and out of the feasible region.
    let learner = Learner::alternating(Adam::new(0.3)).epochs(60).dual(Dual::adam(0.3)).seed(5);
    let last = learner.solve(&training, &model).unwrap();
    let learner = learner.keep_best_on(validation.clone());
    let mut best: Option<(f64, u64)> = None;
    let solution = learner
        .solve_observed(&training, &model, |report| {
            let validation = report.validation.as_ref().unwrap();
            if validation.requirements[0].met && best.is_none_or(|(b, _)| validation.objective < b)
            {
                best = Some((validation.objective, report.epoch));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    let (objective, epoch) = best.expect("no feasible epoch: choose other rates");
    assert_eq!(solution.kept_epoch, epoch);
    assert_ne!(solution.theta, last.theta, "the last one happened to be the best");
    let measured = validation.measure(&model, &solution.theta).unwrap();
    assert_eq!(measured.objective, objective);
    assert!(measured.is_feasible(&validation, 0.0));
    assert_eq!(solution.outcome, Outcome::Feasible);
}

#[test]
fn without_requirements_the_result_is_plain_empirical_risk_minimisation() {
    let people = people(200, 8);
    let plain = Problem::minimise(&people, Loss::CrossEntropy).check().unwrap();
    let violation =
        Requirement::average("loose", &people, Loss::CrossEntropy).at_most(100.0).start(0.0);
    let loose = plain.with_requirements(vec![violation]).unwrap();
    let model = Mlp::new(&[6, 8, 2], Activation::Tanh).unwrap();
    let learner = Learner::alternating(Adam::new(0.05)).epochs(20).seed(3);
    let (a, b) = (learner.solve(&plain, &model).unwrap(), learner.solve(&loose, &model).unwrap());
    assert_eq!(a.theta, b.theta, "an inactive requirement at μ = 0 changes nothing");
    assert_eq!(a.outcome, Outcome::Feasible);
}

#[test]
fn a_rate_is_constrained_through_its_surrogate_and_measured_as_it_is() {
    let people = people(2000, 6);
    let group = people.filter(|s| s.inputs()[0] == 1.0);
    let rest = people.filter(|s| s.inputs()[0] == 0.0);
    let parity = |a: &Population, b: &Population, name: &str| {
        Requirement::average(name, a, Loss::Probability { class: 1 })
            .minus(b)
            .measured_by(Loss::Selected { class: 1 })
            .at_most(0.05)
    };
    let plain = Problem::minimise(&people, Loss::CrossEntropy).check().unwrap();
    let both = vec![parity(&group, &rest, "more"), parity(&rest, &group, "less")];
    let fair = plain.with_requirements(both).unwrap();
    let model = Linear::new(6, 2).unwrap();
    let learner = Learner::alternating(Adam::new(0.02)).epochs(150).dual(Dual::adam(0.05));
    let learner = learner.keep_best();
    let unconstrained = learner.solve(&plain, &model).unwrap();
    let difference = fair.measure(&model, &unconstrained.theta).unwrap().worst_violation();
    assert!(difference > 0.2, "nothing to constrain: {difference}");
    let solution = learner.solve(&fair, &model).unwrap();
    assert_eq!(solution.outcome, Outcome::Feasible);
    assert!(solution.measurement.worst_violation() <= 0.0);
    // Accuracy beside feasibility: a constant prediction would be fair too.
    let accuracy = accuracy(&people, &model, &solution.theta);
    assert!(accuracy > 0.68, "{accuracy}");
}

fn accuracy(people: &Population, model: &Linear, theta: &[f32]) -> f64 {
    let error = Requirement::average("error", people, Loss::SmoothedError).measured_by(Loss::Error);
    let audit = Problem::minimise(people, Loss::CrossEntropy).subject_to(error.at_most(1.0));
    let audit = audit.check().unwrap();
    -audit.measure(model, theta).unwrap().violations[0].measured[0]
}

#[test]
fn a_margin_trains_like_a_stricter_limit_and_is_judged_by_the_stated_one() {
    let people = people(300, 8);
    let flipped = people.counterfactual(rho::flip(0)).unwrap();
    let of = |limit: f64, margin: f64| {
        let each = Requirement::pointwise("each", &flipped, Loss::Kl).at_most(limit);
        let mean = Requirement::average("mean", &people, Loss::CrossEntropy).at_most(limit + 0.5);
        Problem::minimise(&people, Loss::CrossEntropy)
            .subject_to(each.margin(margin))
            .subject_to(mean.margin(margin))
            .check()
            .unwrap()
    };
    let (strict, margin) = (of(0.25, 0.0), of(0.5, 0.25));
    let model = Mlp::new(&[6, 8, 2], Activation::Tanh).unwrap();
    let optimiser = Adam::new(0.05);
    for learner in [Learner::alternating(optimiser), Learner::simultaneous(optimiser)] {
        let learner = learner.epochs(20).dual(Dual::ascent(0.5));
        let a = learner.solve(&strict, &model).unwrap();
        let b = learner.solve(&margin, &model).unwrap();
        assert_eq!((&a.theta, &a.multipliers), (&b.theta, &b.multipliers));
        assert_eq!((a.kkt, a.gap), (b.kkt, b.gap));
        for (a, b) in a.measurement.violations.iter().zip(&b.measurement.violations) {
            // The limits differ by 0.25, which is exact in binary.
            assert!(a.measured.iter().zip(&b.measured).all(|(a, b)| (a - b - 0.25).abs() < 1e-15));
        }
    }
}

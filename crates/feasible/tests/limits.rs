//! A limit that every model meets, or none, is a slip of the pen and is refused with what was meant.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::common::people;
use feasible::loss::{CustomLoss, Properties};
use feasible::{Learner, Loss, Problem, Requirement, Target, rho};
use feasible_nn::{Adam, Linear};

/// The error of a requirement, if it is refused.
fn refused(requirement: Requirement) -> Option<String> {
    let problem = Problem::minimise(&people(20, 1), Loss::CrossEntropy).subject_to(requirement);
    let problem = match problem.check() {
        Ok(problem) => problem,
        Err(error) => return Some(error.to_string()),
    };
    problem.check_model(&Linear::new(6, 2).unwrap()).err().map(|error| error.to_string())
}

fn rate(name: &str) -> Requirement {
    Requirement::average(name, &people(20, 1), Loss::SmoothedError).measured_by(Loss::Error)
}

/// The difference of the error rates of two groups.
fn difference() -> Requirement {
    let people = people(20, 1);
    let group = people.filter(|s| s.inputs()[0] == 1.0);
    Requirement::average("gap", &group, Loss::SmoothedError).minus(&people).measured_by(Loss::Error)
}

#[test]
fn a_rate_above_one_or_below_zero_says_what_was_meant() {
    let error = refused(rate("older").at_most(15.0)).unwrap();
    assert!(error.contains("'older'") && error.contains("15"), "{error}");
    assert!(error.contains("every model") && error.contains("did you mean 0.15?"), "{error}");
    let error = refused(rate("older").at_least(95.5)).unwrap();
    assert!(error.contains("no model") && error.contains("did you mean 0.955?"), "{error}");
    let error = refused(rate("older").at_most(-0.1)).unwrap();
    assert!(error.contains("no model") && error.contains("never below 0"), "{error}");
    assert!(!error.contains("did you mean"), "{error}");
    assert!(refused(rate("older").at_least(-0.1)).unwrap().contains("every model"));
    // 1500 % is nothing that a slip explains.
    assert!(!refused(rate("older").at_most(1500.0)).unwrap().contains("did you mean"));
    for c in [0.0, 1e-9, 0.5, 1.0] {
        assert_eq!(refused(rate("older").at_most(c)), None);
        assert_eq!(refused(rate("older").at_least(c)), None);
    }
}

#[test]
fn a_difference_of_rates_lies_between_minus_one_and_one() {
    for c in [-1.0, -0.5, 0.0, 0.5, 1.0] {
        assert_eq!(refused(difference().at_most(c)), None);
        assert_eq!(refused(difference().at_least(c)), None);
    }
    assert!(refused(difference().at_most(5.0)).unwrap().contains("did you mean 0.05?"));
    assert!(refused(difference().at_least(-5.0)).unwrap().contains("did you mean -0.05?"));
    assert!(refused(difference().at_most(-1.5)).unwrap().contains("no model"));
    // Twice a rate goes to 2.
    let people = people(20, 1);
    let twice = || rate("twice").plus(1.0, &people);
    assert_eq!(refused(twice().at_most(1.9)), None);
    assert!(refused(twice().at_most(2.1)).unwrap().contains("never above 2"));
}

#[test]
fn a_loss_that_is_never_negative_has_no_negative_limit() {
    let people = people(20, 1);
    let flipped = people.counterfactual(rho::flip(0)).unwrap();
    for loss in [Loss::CrossEntropy, Loss::Brier] {
        let average = |c: f64| Requirement::average("a", &people, loss.clone()).at_most(c);
        assert!(refused(average(-1e-6)).unwrap().contains("never below 0"));
        assert_eq!(refused(average(0.0)), None);
    }
    let each = |c: f64| Requirement::pointwise("p", &flipped, Loss::Kl).at_most(c);
    assert!(refused(each(-1e-3)).unwrap().contains("KL divergence is never below 0"));
    assert_eq!(refused(each(15.0)), None);
    let bounded = Loss::CrossEntropy.bounded(3.0).unwrap();
    let floor = |c: f64| Requirement::average("b", &people, bounded.clone()).at_least(c);
    assert!(refused(floor(3.5)).unwrap().contains("never above 3"));
    assert_eq!(refused(floor(2.5)), None);
}

#[test]
fn a_limit_out_of_all_proportion_is_refused() {
    let people = people(20, 1);
    let of = |c: f64| Requirement::average("huge", &people, Loss::CrossEntropy).at_most(c);
    for c in [1e308, f64::MAX, 1e31] {
        assert!(refused(of(c)).unwrap().contains("out of all proportion"));
    }
    // Squared errors of large numbers are large.
    assert_eq!(refused(of(1e18)), None);
}

#[test]
fn a_limit_for_each_sample_names_the_sample() {
    let people = people(20, 1);
    let mut limits = vec![0.5; 20];
    limits[7] = -0.5;
    let each = Requirement::pointwise("each", &people, Loss::CrossEntropy).at_most_each(limits);
    assert!(refused(each).unwrap().contains("-0.5 of sample 7"));
}

#[test]
fn a_margin_that_leaves_nothing_to_train_for_is_refused() {
    assert_eq!(refused(rate("r").at_most(0.2).margin(0.2)), None);
    let error = refused(rate("r").at_most(0.2).margin(0.3)).unwrap();
    assert!(error.contains("'r'") && error.contains("margin = 0.3"), "{error}");
    assert!(refused(rate("r").at_least(0.9).margin(0.2)).unwrap().contains("margin"));
}

#[test]
fn shares_in_per_cent_say_what_was_meant() {
    let people = people(20, 1);
    let each = Requirement::pointwise("each", &people, Loss::CrossEntropy).at_most(0.5);
    assert!(refused(each.all_but(5.0)).unwrap().contains("did you mean 0.05?"));
}

/// A loss of the user's own, with a bound or without.
#[derive(Debug)]
struct Own(Option<f64>);

impl CustomLoss for Own {
    fn name(&self) -> String {
        "own loss".into()
    }

    fn value(&self, at: &[f64], _: &[f64], _: Target<'_>) -> f64 {
        at[0]
    }

    fn gradient(&self, _: &[f64], _: &[f64], _: Target<'_>, by_at: &mut [f64], _: &mut [f64]) {
        by_at[0] = 1.0;
    }

    fn properties(&self, _: usize) -> Properties {
        Properties { bound: self.0, ..Properties::default() }
    }
}

#[test]
fn a_loss_of_the_users_own_is_taken_at_its_word() {
    let people = people(20, 1);
    let of = |bound| Requirement::average("own", &people, Loss::Custom(Arc::new(Own(bound))));
    assert_eq!(refused(of(None).at_most(-3.0)), None);
    assert!(refused(of(Some(2.0)).at_most(-3.0)).unwrap().contains("own loss is never below 0"));
    assert!(refused(of(Some(2.0)).at_most(3.0)).unwrap().contains("never above 2"));
}

#[test]
fn a_limit_at_the_edge_is_taken_at_its_word_and_known_to_be_always_met() {
    for (requirement, always) in [
        (rate("r").at_most(1.0), true),
        (rate("r").at_least(0.0), true),
        (rate("r").at_most(0.0), false),
        (rate("r").at_least(1.0), false),
        (rate("r").at_most(0.999), false),
        (difference().at_most(1.0), true),
        (difference().at_least(0.0), false),
    ] {
        assert_eq!(requirement.is_always_met(2), always, "{requirement:?}");
        assert_eq!(refused(requirement), None);
    }
}

#[test]
fn prices_may_be_asked_for_on_both_sides_of_the_edge() {
    let problem = Problem::minimise(&people(20, 1), Loss::CrossEntropy);
    let problem = problem.subject_to(rate("r").at_most(0.95)).check().unwrap();
    let model = Linear::new(6, 2).unwrap();
    for by in [0.1, -0.1, -1.0] {
        let moved = problem.relaxed(0, by).unwrap();
        assert!(Learner::alternating(Adam::new(0.1)).epochs(1).solve(&moved, &model).is_ok());
    }
}

//! Input that cannot be used is refused before any training, with a name and a number.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use common::people;
use feasible::{
    Dual, Error, Inputs, Learner, Loss, Population, Problem, Requirement, Samples, Schedule, Shift,
    Targets, rho,
};
use feasible_nn::{Activation, Adam, Affine, Mlp, Sgd};

fn message<T>(result: Result<T, Error>) -> String {
    result.err().expect("an error").to_string()
}

fn problem_error(requirement: Requirement) -> String {
    let people = people(20, 1);
    message(Problem::minimise(&people, Loss::CrossEntropy).subject_to(requirement).check())
}

#[test]
fn a_level_that_is_no_number_names_the_requirement_and_the_value() {
    let people = people(20, 1);
    let of = || Requirement::average("recall", &people, Loss::CrossEntropy);
    for (requirement, value) in [
        (of().at_most(f64::NAN), "NaN"),
        (of().at_least(f64::INFINITY), "inf"),
        (of(), "NaN"), // no level given at all
    ] {
        let error = problem_error(requirement);
        assert!(error.contains("'recall'") && error.contains(value), "{error}");
    }
    let mut levels = vec![0.1; 20];
    levels[7] = f64::NAN;
    let each = Requirement::pointwise("each", &people, Loss::CrossEntropy).at_most_each(levels);
    let error = problem_error(each);
    assert!(error.contains("'each'") && error.contains("sample 7"), "{error}");
}

#[test]
fn levels_must_be_as_many_as_points() {
    let people = people(20, 1);
    let each = Requirement::pointwise("each", &people, Loss::CrossEntropy);
    let error = problem_error(each.at_most_each(vec![0.1; 19]));
    assert!(error.contains("'each'") && error.contains("20") && error.contains("19"), "{error}");
    let average = Requirement::average("mean", &people, Loss::CrossEntropy);
    assert!(problem_error(average.at_most_each(vec![0.1; 20])).contains("single level"));
}

#[test]
fn an_empty_population_names_whose_it_is() {
    let nobody = people(20, 1).filter(|_| false);
    let requirement = Requirement::average("nobody", &nobody, Loss::CrossEntropy).at_most(0.1);
    assert!(problem_error(requirement).contains("'nobody'"));
    let error = message(Problem::minimise(&nobody, Loss::CrossEntropy).check());
    assert!(error.contains("the objective"), "{error}");
}

#[test]
fn a_mask_of_the_wrong_length_says_both_lengths() {
    let error = message(people(20, 1).subset(&[true; 3]));
    assert!(error.contains("20") && error.contains('3'), "{error}");
}

#[test]
fn a_loss_that_does_not_fit_the_outputs_names_the_requirement_before_training() {
    let people = people(20, 1);
    let requirement = Requirement::average("calm", &people, Loss::Logistic).at_most(0.1);
    let problem = Problem::minimise(&people, Loss::CrossEntropy).subject_to(requirement);
    let problem = problem.check().unwrap();
    let learner = Learner::alternating(Adam::new(0.1));
    let error = message(learner.solve(&problem, &Affine::new(6, 2).unwrap()));
    assert!(error.contains("'calm'") && error.contains("logistic"), "{error}");
}

#[test]
fn targets_that_do_not_fit_the_loss_are_refused() {
    let inputs = || Inputs::dense(vec![0.5, 1.5, 2.5], 1).unwrap();
    let numbers = Samples::new(inputs(), Targets::Values(vec![0.0, 1.0, 2.0])).unwrap();
    let classes = Samples::new(inputs(), Targets::Classes(vec![0, 1, 7])).unwrap();
    let learner = Learner::alternating(Adam::new(0.1));
    let model = Affine::new(1, 2).unwrap();
    for samples in [numbers, classes] {
        let problem = Problem::minimise(&Population::new(samples), Loss::CrossEntropy);
        let error = message(learner.solve(&problem.check().unwrap(), &model));
        assert!(error.starts_with("the objective: cross-entropy"), "{error}");
    }
}

#[test]
fn data_that_are_not_finite_say_where() {
    let error = message(Inputs::new(vec![0.0, 1.0, f32::NAN, 3.0], 2));
    assert!(error.contains("row 1") && error.contains("column 0"), "{error}");
    let inputs = Inputs::dense(vec![0.5, 1.5], 1).unwrap();
    let error = message(Samples::new(inputs, Targets::Values(vec![0.0, f32::INFINITY])));
    assert!(error.contains("row 1") && error.contains("inf"), "{error}");
    let people = people(20, 1);
    let error = message(people.counterfactual(rho::set(4, f32::NAN)));
    assert!(error.contains("column 4"), "{error}");
}

#[test]
fn lengths_that_do_not_fit_together_are_refused() {
    assert!(message(Inputs::new(vec![0.0; 5], 2)).contains('5'));
    assert!(message(Inputs::new(vec![], 0)).contains("width 0"));
    let inputs = || Inputs::dense(vec![0.5, 1.5], 1).unwrap();
    let error = message(Samples::new(inputs(), Targets::Classes(vec![0])));
    assert!(error.contains("targets") && error.contains('2'), "{error}");
    let error = message(Samples::with_ids(inputs(), Targets::Classes(vec![0, 1]), vec![4, 4]));
    assert!(error.contains("id 4"), "{error}");
}

#[test]
fn a_model_of_another_width_is_refused() {
    let problem = Problem::minimise(&people(20, 1), Loss::CrossEntropy).check().unwrap();
    let learner = Learner::alternating(Adam::new(0.1));
    let error = message(learner.solve(&problem, &Affine::new(5, 2).unwrap()));
    assert!(error.contains("5 input columns") && error.contains('6'), "{error}");
}

#[test]
fn two_requirements_of_one_name_are_refused() {
    let people = people(20, 1);
    let of = || Requirement::average("twice", &people, Loss::CrossEntropy).at_most(0.5);
    let draft = Problem::minimise(&people, Loss::CrossEntropy).subject_to(of()).subject_to(of());
    assert!(message(draft.check()).contains("'twice'"));
}

#[test]
fn a_loss_between_views_needs_a_second_view() {
    let people = people(20, 1);
    let error = problem_error(Requirement::average("same", &people, Loss::Kl).at_most(0.1));
    assert!(error.contains("'same'") && error.contains("counterfactual"), "{error}");
}

#[test]
fn a_loss_without_gradient_must_have_a_surrogate() {
    let people = people(20, 1);
    let error = problem_error(Requirement::average("rate", &people, Loss::Error).at_most(0.1));
    assert!(error.contains("'rate'") && error.contains("measured_by"), "{error}");
}

#[test]
fn counterfactuals_outside_the_columns_are_refused() {
    let (people, others) = (people(20, 1), people(10, 1));
    assert!(message(people.counterfactual(rho::flip(6))).contains("below 6"));
    assert!(message(people.counterfactual(rho::flip(0).and(rho::swap(1, 9)))).contains('9'));
    assert!(message(people.counterfactuals(vec![])).contains("at least 1"));
    let shift = Shift::new(others.samples().inputs(), rho::flip(0)).unwrap();
    assert!(message(people.counterfactuals(vec![Arc::new(shift)])).contains("20"));
}

#[test]
fn settings_outside_their_range_are_named() {
    let people = people(20, 1);
    let flipped = people.counterfactual(rho::flip(0)).unwrap();
    let problem = Problem::minimise(&people, Loss::CrossEntropy)
        .subject_to(Requirement::average("ace", &flipped, Loss::Kl).at_most(0.1))
        .check()
        .unwrap();
    let model = Mlp::new(&[6, 4, 2], Activation::Relu).unwrap();
    let solve =
        |learner: Learner<feasible::FirstOrder<Adam>>| message(learner.solve(&problem, &model));
    let learner = || Learner::alternating(Adam::new(0.1));
    assert!(solve(learner().batch_size(0)).contains("batch size"));
    assert!(solve(learner().dual_period(0)).contains("dual period"));
    assert!(solve(learner().tolerance(-1.0)).contains("tolerance"));
    assert!(solve(learner().dual(Dual::adam(-1.0))).contains("dual rate"));
    assert!(solve(learner().dual_for("acee", Dual::adam(1.0))).contains("'acee'"));
    assert!(solve(Learner::alternating(Adam::new(f64::NAN))).contains("NaN"));
    let schedule = Schedule::Step { factor: 2.0, every: 5.0 };
    assert!(solve(learner().dual(Dual::adam(0.1).schedule(schedule))).contains("factor"));
    assert!(message(Learner::alternating(Sgd::new(-1.0)).solve(&problem, &model)).contains("-1"));
    assert!(message(Learner::exact().rho(0.0).solve(&problem, &model)).contains("rho"));
    let draft = Problem::minimise(&people, Loss::CrossEntropy).weight_decay(-0.1);
    assert!(message(draft.check()).contains("weight decay"));
    let start = Requirement::average("s", &flipped, Loss::Kl).at_most(0.1).start(-1.0);
    assert!(problem_error(start).contains("start"));
}

#[test]
fn a_validation_problem_with_other_requirements_is_refused() {
    let people = people(20, 1);
    let plain = Problem::minimise(&people, Loss::CrossEntropy).check().unwrap();
    let requirement = Requirement::average("r", &people, Loss::CrossEntropy).at_most(0.5);
    let constrained = plain.with_requirements(vec![requirement]).unwrap();
    let learner = Learner::alternating(Adam::new(0.1)).keep_best_on(plain);
    let error = message(learner.solve(&constrained, &Affine::new(6, 2).unwrap()));
    assert!(error.contains("'r'"), "{error}");
}

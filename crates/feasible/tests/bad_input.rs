//! Input that cannot be used is refused before any training, with a name and a number.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::common::people;
use feasible::adversary::{Attack, Budget, Norm, robustness};
use feasible::certificate::Delta;
use feasible::sensitivity::{Among, Group, Hardest, prevalence};
use feasible::theory::{dimension, rows_for};
use feasible::{
    Dual, Error, Inputs, InputsBuilder, Learner, Loss, Multipliers, Population, Problem,
    Requirement, Samples, Schedule, Shift, ShiftBuilder, State, Targets, rho,
};
use feasible_nn::conv::{Builder, ConvNet, ConvShape, Layer, Pooling, Window};
use feasible_nn::{Activation, Adam, Kernel, KernelExpansion, Linear, Mlp, Sgd};

fn message<T>(result: Result<T, Error>) -> String {
    result.err().expect("an error").to_string()
}

fn problem_error(requirement: Requirement) -> String {
    let people = people(20, 1);
    message(Problem::minimise(&people, Loss::CrossEntropy).subject_to(requirement).check())
}

#[test]
fn a_limit_that_is_no_number_names_the_requirement_and_the_value() {
    let people = people(20, 1);
    let of = || Requirement::average("recall", &people, Loss::CrossEntropy);
    for (requirement, value) in [
        (of().at_most(f64::NAN), "NaN"),
        (of().at_least(f64::INFINITY), "inf"),
        (of(), "NaN"), // no limit given at all
    ] {
        let error = problem_error(requirement);
        assert!(error.contains("'recall'") && error.contains(value), "{error}");
    }
    let mut limits = vec![0.1; 20];
    limits[7] = f64::NAN;
    let each = Requirement::pointwise("each", &people, Loss::CrossEntropy).at_most_each(limits);
    let error = problem_error(each);
    assert!(error.contains("'each'") && error.contains("sample 7"), "{error}");
}

#[test]
fn limits_must_be_as_many_as_points() {
    let people = people(20, 1);
    let each = Requirement::pointwise("each", &people, Loss::CrossEntropy);
    let error = problem_error(each.at_most_each(vec![0.1; 19]));
    assert!(error.contains("'each'") && error.contains("20") && error.contains("19"), "{error}");
    let average = Requirement::average("mean", &people, Loss::CrossEntropy);
    assert!(problem_error(average.at_most_each(vec![0.1; 20])).contains("single limit"));
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
    let error = message(learner.solve(&problem, &Linear::new(6, 2).unwrap()));
    assert!(error.contains("'calm'") && error.contains("logistic"), "{error}");
}

#[test]
fn targets_that_do_not_fit_the_loss_are_refused() {
    let inputs = || Inputs::dense(vec![0.5, 1.5, 2.5], 1).unwrap();
    let numbers = Samples::new(inputs(), Targets::Values(vec![0.0, 1.0, 2.0])).unwrap();
    let classes = Samples::new(inputs(), Targets::Classes(vec![0, 1, 7])).unwrap();
    let learner = Learner::alternating(Adam::new(0.1));
    let model = Linear::new(1, 2).unwrap();
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
    let error = message(learner.solve(&problem, &Linear::new(5, 2).unwrap()));
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
    let solve = |learner: Learner| message(learner.solve(&problem, &model));
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
    let error = solve(Learner::exact().batch_size(64));
    assert!(error.contains("batch_size") && error.contains("alternating"), "{error}");
    let error = solve(learner().inner_iterations(7));
    assert!(error.contains("inner_iterations") && error.contains("exact"), "{error}");
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
    let error = message(learner.solve(&constrained, &Linear::new(6, 2).unwrap()));
    assert!(error.contains("'r'"), "{error}");
}

/// Cross-entropy subject to one average and one pointwise requirement.
fn constrained(rows: usize) -> Problem {
    let people = people(rows, 1);
    let flipped = people.counterfactual(rho::flip(0)).unwrap();
    Problem::minimise(&people, Loss::CrossEntropy)
        .subject_to(Requirement::average("loss", &people, Loss::CrossEntropy).at_most(0.5))
        .subject_to(Requirement::pointwise("each", &flipped, Loss::Kl).at_most(0.1))
        .check()
        .unwrap()
}

fn state_of(learner: &Learner, problem: &Problem) -> State<f32> {
    let model = Linear::new(6, 2).unwrap();
    let mut training = learner.begin(problem, &model).unwrap();
    training.advance();
    training.state().clone()
}

#[test]
fn a_state_of_another_optimiser_dual_method_or_learner_is_refused() {
    let (problem, model) = (constrained(20), Linear::new(6, 2).unwrap());
    let adam = Learner::alternating(Adam::new(0.1)).epochs(3);
    let momentum = Learner::alternating(Sgd::new(0.1).momentum(0.9)).epochs(3);
    let plain = Learner::alternating(Sgd::new(0.1)).epochs(3);
    let state = state_of(&adam, &problem);
    assert!(adam.resume(&problem, &model, state.clone()).is_ok());
    assert!(message(momentum.resume(&problem, &model, state.clone())).contains("2 vectors"));
    let error = message(adam.resume(&problem, &model, state_of(&momentum, &problem)));
    assert!(error.contains("1 vectors") && error.contains("2:"), "{error}");
    for (from, to) in [
        (Dual::adam(0.1), Dual::ascent(0.1)),
        (Dual::ascent(0.1), Dual::adam(0.1)),
        (Dual::ascent(0.1), Dual::nu_pi(0.1, 1.0, 0.0)),
        (Dual::nu_pi(0.1, 1.0, 0.0), Dual::adam(0.1)),
    ] {
        let state = state_of(&plain.clone().dual(from), &problem);
        let error = message(plain.clone().dual(to).resume(&problem, &model, state));
        assert!(error.contains("'loss'") && error.contains("dual method"), "{error}");
    }
    let own = plain.clone().dual(Dual::ascent(0.1)).dual_for("each", Dual::adam(0.1));
    let state = state_of(&plain.clone().dual(Dual::ascent(0.1)), &problem);
    assert!(message(own.resume(&problem, &model, state.clone())).contains("'each'"));
    // No optimiser and no dual memory on either side, but one has a penalty.
    assert!(message(Learner::exact().resume(&problem, &model, state)).contains("penalty"));
    let exact = state_of(&Learner::exact().epochs(1).inner_iterations(2), &problem);
    let ascent = plain.dual(Dual::ascent(0.1));
    assert!(message(ascent.resume(&problem, &model, exact)).contains("penalty"));
}

#[test]
fn a_damaged_state_is_refused_before_it_is_used() {
    let (problem, model) = (constrained(20), Linear::new(6, 2).unwrap());
    let learner = Learner::alternating(Adam::new(0.1)).epochs(3).keep_best();
    let state = state_of(&learner, &problem);
    let refused = |damage: fn(&mut State<f32>)| {
        let mut state = state.clone();
        damage(&mut state);
        message(learner.resume(&problem, &model, state))
    };
    assert!(refused(|s| s.theta[3] = f32::NAN).contains("parameter 3 is NaN"));
    assert!(refused(|s| s.best.as_mut().unwrap().theta.truncate(2)).contains("2 parameters"));
    assert!(refused(|s| s.best.as_mut().unwrap().theta[0] = f32::INFINITY).contains("inf"));
    assert!(refused(|s| s.duals.truncate(1)).contains("dual"));
    assert!(refused(|s| s.optimiser.slots[1].truncate(1)).contains("optimiser"));
    assert!(refused(|s| s.penalty = f64::NAN).contains("penalty"));
    // Epochs beyond any learner's are simply over.
    let late = State { epoch: u64::MAX, ..state.clone() };
    let simultaneous = Learner::simultaneous(Adam::new(0.1)).epochs(u64::MAX);
    assert!(simultaneous.resume(&problem, &model, late).unwrap().advance().is_none());
    let late = State { epoch: u64::MAX - 1, ..state };
    assert!(simultaneous.resume(&problem, &model, late).unwrap().advance().is_some());
}

#[test]
fn a_start_that_is_no_number_or_of_another_problem_is_refused() {
    let (problem, other, model) = (constrained(20), constrained(30), Linear::new(6, 2).unwrap());
    let learner = Learner::alternating(Adam::new(0.1));
    let mut training = learner.begin(&problem, &model).unwrap();
    let (own, theta) = (Multipliers::start(&problem), vec![0.0; 14]);
    let nan = [&theta[..13], &[f32::NAN]].concat();
    assert!(message(training.warm_start(&nan, &own)).contains("parameter 13 is NaN"));
    assert!(message(training.warm_start(&theta[..5], &own)).contains("5 parameters"));
    let foreign = Multipliers::start(&other);
    assert!(message(training.warm_start(&theta, &foreign)).contains("multipliers"));
    // JSON knows no NaN, but a state may be read from elsewhere.
    let negative: Multipliers =
        serde_json::from_str(&serde_json::to_string(&own).unwrap().replacen("1.0", "-1.0", 1))
            .unwrap();
    assert!(message(training.warm_start(&theta, &negative)).contains("multiplier = -1"));
    assert!(training.warm_start(&theta, &own).is_ok());
}

#[test]
fn optimality_is_asked_of_the_problems_own_multipliers() {
    let (problem, model) = (constrained(20), Linear::new(6, 2).unwrap());
    let theta = vec![0.0; 14];
    let plain = Problem::minimise(&people(20, 1), Loss::CrossEntropy).check().unwrap();
    for other in [&constrained(30), &plain] {
        let error = message(problem.optimality(&model, &theta, &Multipliers::start(other)));
        assert!(error.contains("multipliers") && error.contains("1, 20"), "{error}");
    }
    assert!(problem.optimality(&model, &theta, &Multipliers::start(&problem)).is_ok());
}

#[test]
fn a_batch_is_at_most_the_rows_there_are() {
    // A requirement on a data set of its own, smaller than the objective's and than a batch.
    let (many, few) = (people(60, 1), people(7, 2));
    let problem = Problem::minimise(&many, Loss::CrossEntropy)
        .subject_to(Requirement::average("few", &few, Loss::CrossEntropy).at_most(0.3))
        .subject_to(Requirement::pointwise("each", &few, Loss::CrossEntropy).at_most(0.9))
        .check()
        .unwrap();
    let model = Linear::new(6, 2).unwrap();
    for make in [Learner::alternating, Learner::simultaneous] {
        let solve = |rows: usize| {
            let learner = make(Sgd::new(0.1)).batch_size(rows).epochs(5).dual(Dual::ascent(0.1));
            learner.solve(&problem, &model).unwrap()
        };
        // "Full batch", however it is written, is the same.
        let full = solve(60);
        for rows in [61, 1 << 20, usize::MAX / 2, usize::MAX] {
            let found = solve(rows);
            assert_eq!((&found.theta, &found.multipliers), (&full.theta, &full.multipliers));
        }
    }
}

#[test]
fn threads_beyond_any_machine_are_refused() {
    let (problem, model) = (constrained(20), Linear::new(6, 2).unwrap());
    for threads in [1025, 1_000_000, usize::MAX] {
        let learner = Learner::alternating(Adam::new(0.1)).threads(threads);
        let error = message(learner.solve(&problem, &model));
        assert!(error.contains("threads") && error.contains("at most 1024"), "{error}");
    }
}

#[test]
fn a_patience_without_end_never_ends_a_training() {
    let (problem, model) = (constrained(20), Linear::new(6, 2).unwrap());
    let learner = Learner::alternating(Adam::new(0.1)).epochs(8).patience(u64::MAX);
    assert_eq!(learner.solve(&problem, &model).unwrap().epochs, 8);
}

#[test]
fn models_beyond_memory_are_refused_and_not_allocated() {
    let half = usize::MAX / 2;
    for (inputs, outputs) in
        [(half, 3), (usize::MAX, 1), (1, usize::MAX), (1 << 40, 1), (1 << 16, 1 << 16)]
    {
        assert!(message(Linear::new(inputs, outputs)).contains("parameters"));
        let widths = [inputs, outputs, 2];
        assert!(message(Mlp::new(&widths, Activation::Relu)).contains("parameters"));
    }
    // Each layer alone would do.
    let wide = [1 << 15, 1 << 15, 1 << 15, 1 << 15];
    assert!(message(Mlp::new(&wide, Activation::Relu)).contains("parameters"));
    let centres = Inputs::dense(vec![0.0, 0.5, 1.0, -1.0], 2).unwrap();
    let rbf = Kernel::Rbf { gamma: 0.5 };
    assert!(message(KernelExpansion::new(&centres, rbf, usize::MAX)).contains("parameters"));
    for gamma in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = message(KernelExpansion::new(&centres, Kernel::Rbf { gamma }, 1));
        assert!(error.contains("gamma"), "{error}");
    }
    assert!(dimension::piecewise_linear(&[usize::MAX, usize::MAX, 1]).is_finite());
}

#[test]
fn convolutions_beyond_memory_are_refused_and_not_allocated() {
    for size in [0, 1 << 40, usize::MAX] {
        assert!(Builder::new(ConvShape::new(size, 4, 4)).is_err());
        assert!(Builder::new(ConvShape::new(1, size, 4)).is_err());
        assert!(Builder::new(ConvShape::new(1, 4, size)).is_err());
        assert!(ConvNet::small_cnn(ConvShape::new(1, 8, 8), size).is_err());
        assert!(ConvNet::resnet18(ConvShape::new(1, 8, 8), 10, size).is_err());
        let builder = || Builder::new(ConvShape::new(1, 8, 8)).unwrap();
        let layer = |channels, window| {
            let mut net = builder();
            let image = net.image();
            net.layer(image, Layer::new("conv", channels, window)).map(drop)
        };
        let three = Window::new(3);
        assert!(layer(size, three).is_err());
        assert!(layer(4, Window::new(size)).is_err());
        assert!(layer(4, Window::new(size).padding(size)).is_err());
        assert!(layer(4, three.stride(size)).is_err());
        assert!(size == 0 || layer(4, three.padding(size)).is_err());
        let mut net = builder();
        let image = net.image();
        let value = net.layer(image, Layer::new("conv", 4, three)).unwrap();
        assert!(net.pool(value, Pooling::Max, Window::new(size)).is_err());
        assert!(net.linear(value, "fc", size).is_err());
    }
}

#[test]
fn inputs_beyond_memory_are_refused_and_hints_are_hints() {
    for width in [0, usize::MAX, 1 << 40] {
        assert!(Inputs::new(vec![], width).is_err());
        assert!(Inputs::dense(vec![], width).is_err());
        assert!(InputsBuilder::new(width, vec![], 1).is_err());
    }
    let mut builder = InputsBuilder::new(3, vec![1], usize::MAX).unwrap();
    builder.push(&[0.5], &[0]).unwrap();
    assert_eq!(builder.finish().rows(), 1);
    let mut shift = ShiftBuilder::new(usize::MAX);
    shift.push(&[(0, 1.0)]).unwrap();
    assert_eq!(shift.finish().rows(), 1);
}

#[test]
fn the_rows_of_a_tiny_limit_are_infinitely_many_and_not_counted() {
    let delta = Delta::confidence(0.95).unwrap();
    for epsilon in [1e-160, 5e-324, 0.0, -1.0, f64::NAN] {
        assert_eq!(rows_for(epsilon, 10.0, 1, delta), f64::INFINITY);
    }
    for dimension in [f64::INFINITY, f64::NAN] {
        assert_eq!(rows_for(0.1, dimension, 1, delta), f64::INFINITY);
    }
    assert!(rows_for(1e-150, 10.0, 1, delta).is_finite());
    assert_eq!(rows_for(f64::INFINITY, 10.0, 1, delta), 1.0);
}

#[test]
fn an_attack_without_bounds_is_refused() {
    let refused = |attack: Attack| message(attack.check());
    let usual = || Attack::pgd(Norm::Linf, Budget::fixed(0.1));
    for steps in [0, u32::MAX] {
        assert!(refused(Attack { steps, ..usual() }).contains("steps"));
        assert!(refused(Attack { restarts: steps, ..usual() }).contains("restarts"));
    }
    for step in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::MAX] {
        assert!(refused(Attack { step, ..usual() }).contains("step of the attack"));
    }
    for epsilon in [-0.1, 8.0, f64::NAN, f64::INFINITY] {
        assert!(refused(Attack::pgd(Norm::Linf, Budget::fixed(epsilon))).contains("epsilon"));
    }
    assert!(refused(Attack::pgd(Norm::Linf, Budget::fixed(8.0))).contains("did you mean 0.08?"));
    assert!(refused(Attack::pgd(Norm::L2, Budget::fixed(f64::MAX))).contains("1e30"));
    let model = Linear::new(6, 2).unwrap();
    let mut go_on = |_: usize, _: usize| true;
    let curve = robustness(&model, &[0.0; 3], &people(20, 1), &usual(), &[0.1], 0, 1, &mut go_on);
    assert!(message(curve).contains("14 parameters"));
}

#[test]
fn a_population_larger_than_memory_can_be_spoken_of() {
    let hardest = Hardest::of(&[0.0, 2.0, 1.0], 0.5, Among::Positive).unwrap();
    let found = prevalence(usize::MAX, &hardest, &[Group::new("one", [1])], 0.95).unwrap();
    assert_eq!(found[0].among_hardest, 1);
    for share in [0.0, -1.0, 1.5, f64::NAN, f64::INFINITY] {
        assert!(message(Hardest::of(&[1.0], share, Among::All)).contains("share"));
    }
}

#[test]
fn numbers_that_are_none_are_refused_by_every_dual_setting_and_schedule() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for dual in [Dual::ascent(bad), Dual::adam(bad), Dual::algorithm1(bad)] {
            assert!(message(dual.check()).contains("dual rate"));
        }
        let every = Schedule::Step { factor: 0.5, every: bad };
        assert!(message(Dual::adam(0.1).schedule(every).check()).contains("period"));
        let over = Schedule::Cosine { over: bad, floor: 0.0 };
        assert!(message(Dual::adam(0.1).schedule(over).check()).contains("length"));
    }
    for bad in [-1.0, 1.0, f64::NAN, f64::INFINITY] {
        assert!(message(Dual::adam_with(0.1, bad, 0.9).check()).contains("beta1"));
        assert!(message(Dual::adam_with(0.1, 0.9, bad).check()).contains("beta2"));
        assert!(message(Dual::nu_pi(0.1, 1.0, bad).check()).contains("nu"));
    }
}

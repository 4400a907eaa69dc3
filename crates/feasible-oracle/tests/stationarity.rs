//! Multipliers that are found from the gradients, against Clarabel's, on 41 random convex problems.
//!
//!     cargo test -p feasible-oracle --test suite stationarity:: -- --nocapture
#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use feasible::{Dual, Kind, Learner, Schedule};
use feasible_nn::Adam;
use feasible_oracle::{Family, Instance, Regression, Verdict};

/// The settings of the recipe `feasible` for a few dozen rows and average requirements.
fn default_learner() -> Learner<f64> {
    let schedule = Schedule::Cosine { over: 400.0, floor: 0.0 };
    Learner::simultaneous(Adam::new(0.003).schedule(schedule))
        .batch_size(8)
        .epochs(400)
        .dual(Dual::adam_with(0.01, 0.9, 0.9))
}

/// How many multipliers were compared, and how many problems have any.
#[derive(Default)]
struct Compared {
    positive: usize,
    zero: usize,
    unknown: usize,
    problems: usize,
}

#[allow(clippy::print_stdout)] // What --nocapture is for.
fn compare(name: &str, learner: &Learner<f64>) -> Compared {
    let kinds = [Regression::Number, Regression::Binary, Regression::Softmax];
    let each = kinds.iter().flat_map(|&kind| {
        let of = |family, count| (0..count).map(move |number| (kind, family, number));
        of(Family::Average, 9).chain(of(Family::Inactive, 3)).chain(of(Family::Mixed, 2))
    });
    let mut compared = Compared::default();
    for (kind, family, number) in each.take(41) {
        let id = format!("{name}, {kind:?}, {family:?} {number}");
        let Instance { problem, program, machine } =
            feasible_oracle::instance(kind, false, family, number);
        let verdict = feasible_oracle::solve(&program);
        let Verdict::Solved { theta, multipliers } = verdict else { panic!("{id}: {verdict:?}") };
        let solution = machine.solve(learner, &problem, |_| ControlFlow::Continue(()));
        let found = machine.stationarity(&problem, &solution);
        println!("{id}: residual {:.1e}, {:?}", found.residual, found.multipliers);
        if !program.multipliers_are_unique(&theta, &multipliers) {
            continue;
        }
        let mut any = false;
        for (i, requirement) in problem.requirements().iter().enumerate() {
            if requirement.kind() == Kind::Pointwise {
                assert_eq!(found.multipliers[i], None, "{id}");
                continue;
            }
            let truth = multipliers[i][0];
            match found.multipliers[i] {
                None => compared.unknown += 1,
                // Clarabel's zeros are positive by its tolerance.
                Some(0.0) => {
                    assert!(truth < 1e-4, "{id}: 0 is not {truth}");
                    compared.zero += 1;
                }
                Some(mu) => {
                    assert!((mu - truth).abs() <= 0.02 * truth, "{id}: {mu} is not {truth}");
                    compared.positive += 1;
                }
            }
            any |= found.multipliers[i].is_some();
        }
        compared.problems += usize::from(any);
    }
    let Compared { positive, zero, unknown, problems } = compared;
    println!(
        "{name}: {positive} positive, {zero} zero, {unknown} unknown; known in {problems} of 41"
    );
    compared
}

#[test]
fn multipliers_at_a_solution_are_those_of_the_conic_solver() {
    let Compared { positive, zero, unknown, .. } = compare("exact", &Learner::exact());
    assert!(positive >= 20 && zero >= 10 && unknown <= 1, "{positive}, {zero}, {unknown}");
}

#[test]
fn multipliers_of_the_default_learner_are_right_or_not_given() {
    let Compared { positive, zero, unknown, .. } = compare("default", &default_learner());
    assert!(positive >= 4 && zero >= 8 && unknown > 0, "{positive}, {zero}, {unknown}");
}

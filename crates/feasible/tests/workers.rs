//! A problem whose rows are spread over several workers is solved as if all rows were in one place.
//!
//! The workers are threads with rows of their own, which send each other what is to be added up.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use crate::common::people;
use crate::common::workers::workers;
use feasible::{
    Dual, Learner, Loss, Model, Outcome, Population, Problem, Reduce, Requirement, Solution,
};
use feasible_nn::{Activation, Adam, Linear, Mlp};

/// Whether a row is one of worker `number` of `count`: shares of different sizes, in no order.
fn is_of(row: usize, number: usize, count: usize) -> bool {
    let share = 1 + ((row * 2_654_435_761) >> 7) % (count * (count + 1) / 2);
    let up_to = |n: usize| n * (n + 1) / 2;
    share > up_to(number) && share <= up_to(number + 1)
}

/// Solves the problem that `state` makes of some people, alone and on several workers.
fn solve<M: Model<Real = f64>>(
    learner: &Learner<f64>,
    model: &M,
    count: usize,
    state: impl Fn(&Population) -> Problem + Sync,
) -> (Solution<f64>, Vec<Solution<f64>>) {
    let people = people(300, 5);
    let alone = learner.solve(&state(&people), model).unwrap();
    let (people, state) = (&people, &state);
    let spread = thread::scope(|scope| {
        let start = |(number, reduce): (usize, Arc<dyn Reduce>)| {
            scope.spawn(move || {
                let own: Vec<bool> =
                    (0..people.len()).map(|row| is_of(row, number, count)).collect();
                let problem = state(&people.subset(&own).unwrap()).spread_over(reduce).unwrap();
                learner.solve(&problem, model).unwrap()
            })
        };
        let threads: Vec<_> = workers(count).into_iter().enumerate().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    (alone, spread)
}

/// Everything that is not of single rows has the same bits on every worker.
fn assert_agree(spread: &[Solution<f64>]) {
    for other in spread {
        let one = &spread[0];
        assert_eq!(one.theta, other.theta);
        assert_eq!(one.outcome, other.outcome);
        assert_eq!(one.requirements, other.requirements);
        assert_eq!((one.kkt, one.gap, one.epochs), (other.kkt, other.gap, other.epochs));
        assert_eq!(one.measurement.objective, other.measurement.objective);
    }
    // Also what is asked of the measurement later, by all workers, is of the points of all.
    let worst = thread::scope(|scope| {
        let ask = |s: &'_ Solution<f64>| {
            let measurement = s.measurement.clone();
            scope.spawn(move || measurement.worst_violation())
        };
        let threads: Vec<_> = spread.iter().map(ask).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<f64>>()
    });
    assert!(worst.iter().all(|w| *w == worst[0]), "{worst:?}");
}

/// An average of a group, every single loss, and a rate with a surrogate.
fn three_requirements(of: &Population) -> Problem {
    let group = of.filter(|s| s.inputs()[0] == 0.0);
    let rate = Requirement::average("rate", &group, Loss::CrossEntropy);
    Problem::minimise(of, Loss::CrossEntropy)
        .weight_decay(1e-3)
        .subject_to(Requirement::average("group", &group, Loss::CrossEntropy).at_most(0.54))
        .subject_to(Requirement::pointwise("each", of, Loss::CrossEntropy).at_most(2.62))
        .subject_to(rate.measured_by(Loss::Error).at_most(0.4))
        .check()
        .unwrap()
}

/// Multipliers of single rows, of all workers together, by size.
fn sorted(solutions: &[Solution<f64>], requirement: usize) -> Vec<f64> {
    let of = |s: &Solution<f64>| s.multipliers.of(requirement).to_vec();
    let mut all: Vec<f64> = solutions.iter().flat_map(of).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn assert_close(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() <= tolerance * b.abs().max(1e-3), "{what}: {a} is not {b}");
}

#[test]
fn the_exact_learner_finds_the_same_saddle_point_on_any_number_of_workers() {
    let model = Linear::new(6, 2).unwrap().double();
    let without_rate = |of: &Population| {
        let problem = three_requirements(of);
        let two = problem.requirements()[..2].to_vec();
        problem.with_requirements(two).unwrap()
    };
    for count in [2, 3] {
        let (alone, spread) = solve(&Learner::exact(), &model, count, without_rate);
        assert_agree(&spread);
        assert_eq!(alone.outcome, Outcome::Converged);
        assert_eq!(spread[0].outcome, Outcome::Converged);
        // Both are at the solution to a KKT residual of 1e-6 or less.
        assert_close(spread[0].objective(), alone.objective(), 1e-6, "objective");
        assert_close(spread[0].multipliers.of(0)[0], alone.multipliers.of(0)[0], 1e-3, "μ");
        let (here, there) = (sorted(&spread, 1), sorted(&[alone], 1));
        assert!(there.iter().any(|&m| m > 0.1), "no λ binds: {there:?}");
        assert_eq!(here.len(), there.len());
        for (a, b) in here.iter().zip(&there) {
            assert_close(*a, *b, 1e-2, "λ");
        }
    }
}

#[test]
fn full_batches_take_the_same_steps_on_any_number_of_workers() {
    let learner = Learner::alternating(Adam::new(0.02))
        .epochs(60)
        .batch_size(usize::MAX)
        .dual(Dual::ascent(0.5))
        .seed(3);
    let linear = Linear::new(6, 2).unwrap().double();
    let network = Mlp::new(&[6, 8, 2], Activation::Tanh).unwrap().double();
    let check = |(alone, spread): (Solution<f64>, Vec<Solution<f64>>)| {
        assert_agree(&spread);
        // Sums in another order; sixty steps of Adam multiply that a little.
        for (a, b) in spread[0].theta.iter().zip(&alone.theta) {
            assert!((a - b).abs() < 1e-8, "{a} is not {b}");
        }
        for (a, b) in spread[0].requirements.iter().zip(&alone.requirements) {
            assert_close(a.value, b.value, 1e-7, &a.name);
            assert_close(a.multiplier, b.multiplier, 1e-7, &a.name);
            assert_close(a.largest_multiplier, b.largest_multiplier, 1e-7, &a.name);
            assert_eq!((a.violated, a.met), (b.violated, b.met), "{}", a.name);
            assert_eq!(a.multipliers_at_zero, b.multipliers_at_zero, "{}", a.name);
        }
        let (a, b) = (&spread[0], &alone);
        assert_close(a.kkt.residual(), b.kkt.residual(), 1e-6, "KKT residual");
        assert_close(a.gap.absolute, b.gap.absolute, 1e-6, "gap");
    };
    for count in [2, 3] {
        check(solve(&learner, &linear, count, three_requirements));
        check(solve(&learner, &network, count, three_requirements));
    }
}

#[test]
fn small_batches_lead_every_worker_to_one_model_that_is_as_good() {
    let learner = Learner::simultaneous(Adam::new(0.01))
        .epochs(150)
        .batch_size(32)
        .dual(Dual::ascent(0.01))
        .seed(3);
    let model = Linear::new(6, 2).unwrap().double();
    let only_group = |of: &Population| {
        let problem = three_requirements(of);
        let one = problem.requirements()[..1].to_vec();
        problem.with_requirements(one).unwrap()
    };
    let (alone, spread) = solve(&learner, &model, 3, only_group);
    assert_agree(&spread);
    // Other batches, so another path to about the same place.
    assert_close(spread[0].objective(), alone.objective(), 0.02, "objective");
    assert_close(spread[0].requirements[0].value, alone.requirements[0].value, 0.02, "group");
}

#[test]
fn a_share_that_may_violate_is_a_share_of_all_workers_points() {
    let learner = Learner::alternating(Adam::new(0.02)).epochs(20).batch_size(usize::MAX);
    let model = Linear::new(6, 2).unwrap().double();
    let nearly_all = |of: &Population| {
        let near = Requirement::pointwise("near", of, Loss::CrossEntropy).at_most(1.0);
        Problem::minimise(of, Loss::CrossEntropy).subject_to(near.all_but(0.13)).check().unwrap()
    };
    let (alone, spread) = solve(&learner, &model, 3, nearly_all);
    assert_agree(&spread);
    assert!(alone.requirements[0].violated > 0.0);
    assert_close(spread[0].kkt.violation, alone.kkt.violation, 1e-7, "worst but 13 %");
    assert_eq!(spread[0].requirements[0].met, alone.requirements[0].met);
    let error = thread::scope(|scope| {
        let run = |reduce: Arc<dyn Reduce>| {
            scope.spawn(move || {
                let problem = nearly_all(&people(40, 1)).spread_over(reduce).unwrap();
                Learner::exact().solve(&problem, Linear::new(6, 2).unwrap().double()).unwrap_err()
            })
        };
        let threads: Vec<_> = workers(2).into_iter().map(run).collect();
        threads.into_iter().map(|t| t.join().unwrap().to_string()).next().unwrap()
    });
    assert!(error.contains("all_but") && error.contains("several workers"), "{error}");
}

#[test]
fn what_cannot_be_met_is_infeasible_on_every_worker() {
    let impossible = |of: &Population| {
        let group = of.filter(|s| s.inputs()[0] == 0.0);
        let low = Requirement::average("low", &group, Loss::CrossEntropy).at_most(0.05);
        Problem::minimise(of, Loss::CrossEntropy).subject_to(low).check().unwrap()
    };
    let model = Linear::new(6, 2).unwrap().double();
    let (alone, spread) = solve(&Learner::exact(), &model, 2, impossible);
    assert_agree(&spread);
    assert!(matches!(alone.outcome, Outcome::Infeasible { proven: true, .. }), "{}", alone.outcome);
    assert!(matches!(spread[0].outcome, Outcome::Infeasible { proven: true, .. }));
}

#[test]
fn a_worker_that_is_interrupted_stops_all_at_the_same_step() {
    let learner = Learner::alternating(Adam::new(0.02)).epochs(1000).batch_size(16);
    let learner = &learner;
    let batches: Vec<(u64, u64)> = thread::scope(|scope| {
        let run = |(number, reduce): (usize, Arc<dyn Reduce>)| {
            scope.spawn(move || {
                let problem = three_requirements(&people(100, number as u64));
                let problem = problem.spread_over(reduce).unwrap();
                let model = Linear::new(6, 2).unwrap().double();
                let mut training = learner.begin(&problem, model).unwrap();
                for _ in 0..3 {
                    training.advance().unwrap();
                }
                if number == 1 {
                    training.interrupter().store(true, Ordering::Relaxed);
                }
                assert!(training.advance().is_none());
                (training.state().epoch, training.state().batch)
            })
        };
        let threads: Vec<_> = workers(3).into_iter().enumerate().map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(batches.iter().all(|at| *at == batches[0]), "{batches:?}");
}

#[test]
fn problems_that_differ_between_workers_are_refused() {
    let errors: Vec<String> = thread::scope(|scope| {
        let run = |(number, reduce): (usize, Arc<dyn Reduce>)| {
            scope.spawn(move || {
                let problem = three_requirements(&people(50, 1));
                let some = problem.requirements()[number..].to_vec();
                let problem = problem.with_requirements(some).unwrap();
                problem.spread_over(reduce).unwrap_err().to_string()
            })
        };
        let threads: Vec<_> = workers(2).into_iter().enumerate().map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(errors.iter().all(|error| error.contains("every other worker")), "{errors:?}");
}

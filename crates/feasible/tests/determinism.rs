//! Same seed, same bits: for any number of threads, after any interruption, in any row order.
#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::{bits, people};
use feasible::learner::Cadence;
use feasible::{
    Batch, Dual, Inputs, Learner, Loss, Model, Optimiser, OptimiserState, Outcome, Pass,
    Population, Problem, Requirement, Samples, Solution, State, Targets, rho,
};
use feasible_nn::{Activation, Adam, Mlp};

fn problem(people: &Population) -> Problem {
    let flipped = people.counterfactual(rho::flip(0)).unwrap();
    let group = people.filter(|s| s.inputs()[0] == 1.0);
    Problem::minimise(people, Loss::CrossEntropy)
        .subject_to(Requirement::pointwise("each", &flipped, Loss::Kl).at_most(1e-3))
        .subject_to(Requirement::average("group", &group, Loss::CrossEntropy).at_most(0.4))
        .check()
        .unwrap()
}

fn model() -> Mlp {
    Mlp::new(&[6, 16, 2], Activation::Sigmoid).unwrap()
}

/// Both first-order learners, with batches of many chunks.
fn learners() -> [Learner; 2] {
    [Learner::alternating(Adam::new(0.05)), Learner::simultaneous(Adam::new(0.05))]
        .map(|l| l.batch_size(1200).epochs(6).seed(11).dual(Dual::adam(0.05)))
}

fn same(a: &Solution<f32>, b: &Solution<f32>) {
    assert_eq!(bits(&a.theta), bits(&b.theta));
    assert_eq!(a.multipliers, b.multipliers);
    assert_eq!(a.measurement, b.measurement);
    assert_eq!(a.kkt, b.kkt);
}

#[test]
fn one_two_three_and_eight_threads_give_the_same_bits() {
    let problem = problem(&people(5000, 1));
    for learner in learners() {
        let one = learner.clone().threads(1).solve(&problem, &model()).unwrap();
        for threads in [2, 3, 8] {
            same(&one, &learner.clone().threads(threads).solve(&problem, &model()).unwrap());
        }
        let other = learner.seed(12).solve(&problem, &model()).unwrap();
        assert_ne!(bits(&one.theta), bits(&other.theta), "the seed matters");
    }
}

#[test]
fn the_exact_learner_gives_the_same_bits_on_any_number_of_threads() {
    let problem = problem(&people(3000, 1));
    let learner = Learner::exact().epochs(2).inner_iterations(10);
    let one = learner.clone().solve(&problem, &model()).unwrap();
    same(&one, &learner.threads(3).solve(&problem, &model()).unwrap());
}

/// Through JSON and back: what a checkpoint on disk does.
fn saved(state: &State<f32>) -> State<f32> {
    serde_json::from_str(&serde_json::to_string(state).unwrap()).unwrap()
}

#[test]
fn ten_epochs_equal_four_a_restored_state_and_six_more() {
    let problem = problem(&people(700, 3));
    for learner in learners() {
        let learner = learner.batch_size(64).epochs(10).keep_best();
        let whole = learner.solve(&problem, &model()).unwrap();
        let model = model();
        let mut first = learner.begin(&problem, &model).unwrap();
        for _ in 0..4 {
            first.advance().unwrap();
        }
        let mut second = learner.resume(&problem, &model, saved(first.state())).unwrap();
        while second.advance().is_some() {}
        same(&whole, &second.finish());
    }
}

/// Adam that pulls the interrupt flag after every `every` steps.
#[derive(Debug)]
struct Interrupting {
    adam: Adam,
    every: u64,
    flag: Arc<Mutex<Arc<AtomicBool>>>,
}

impl Optimiser<f32> for Interrupting {
    fn slots(&self) -> usize {
        Optimiser::<f32>::slots(&self.adam)
    }

    fn check(&self) -> feasible::Result<()> {
        Optimiser::<f32>::check(&self.adam)
    }

    fn step(&self, epoch: f64, state: &mut OptimiserState<f32>, theta: &mut [f32], g: &[f32]) {
        self.adam.step(epoch, state, theta, g);
        if state.step.is_multiple_of(self.every) {
            self.flag.lock().unwrap().store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn interruptions_inside_epochs_change_nothing() {
    let problem = problem(&people(700, 3));
    for plain in learners() {
        let whole = plain.clone().batch_size(8).epochs(4).solve(&problem, &model()).unwrap();
        let flag = Arc::new(Mutex::new(Arc::default()));
        let adam = Interrupting { adam: Adam::new(0.05), every: 29, flag: flag.clone() };
        let learner = match plain.cadence().unwrap() {
            Cadence::Batches(_) => Learner::simultaneous(adam),
            Cadence::Epochs(_) => Learner::alternating(adam),
        };
        let learner = learner.batch_size(8).epochs(4).seed(11).dual(Dual::adam(0.05));
        let model = model();
        let mut training = learner.begin(&problem, &model).unwrap();
        let (mut stops, mut inside) = (0, 0);
        loop {
            *flag.lock().unwrap() = training.interrupter();
            if training.advance().is_none() {
                if training.state().outcome != Some(Outcome::Interrupted) {
                    break;
                }
                stops += 1;
                inside += u32::from(training.state().batch > 0);
                training = learner.resume(&problem, &model, saved(training.state())).unwrap();
            }
        }
        // 88 batches an epoch, 352 in all: twelve multiples of 29.
        assert_eq!((stops, inside), (12, 12));
        same(&whole, &training.finish());
    }
}

/// A network that pulls the interrupt flag with every so many forward passes.
struct Pulling {
    network: Mlp,
    every: u64,
    passes: AtomicU64,
    flag: Mutex<Arc<AtomicBool>>,
}

impl Model for Pulling {
    type Real = f32;
    type Tape = <Mlp as Model>::Tape;

    fn input_width(&self) -> usize {
        self.network.input_width()
    }

    fn output_width(&self) -> usize {
        self.network.output_width()
    }

    fn parameter_count(&self) -> usize {
        self.network.parameter_count()
    }

    fn initial(&self, seed: u64) -> Vec<f32> {
        self.network.initial(seed)
    }

    fn forward(
        &self,
        theta: &[f32],
        batch: &Batch<'_>,
        pass: Pass,
        tape: &mut Self::Tape,
        outputs: &mut [f32],
    ) {
        if (self.passes.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(self.every) {
            self.flag.lock().unwrap().store(true, Ordering::Relaxed);
        }
        self.network.forward(theta, batch, pass, tape, outputs);
    }

    fn backward(
        &self,
        theta: &[f32],
        batch: &Batch<'_>,
        tape: &mut Self::Tape,
        seeds: &[f32],
        gradient: &mut [f32],
    ) {
        self.network.backward(theta, batch, tape, seeds, gradient);
    }
}

#[test]
fn interruptions_inside_a_minimisation_of_the_exact_learner_change_nothing() {
    let problem = problem(&people(300, 3));
    let learner = Learner::exact().epochs(4).inner_iterations(40).look_for_infeasibility(false);
    let whole = learner.solve(&problem, &model()).unwrap();
    // More passes than it takes to find the sizes of the problem, which a resumed training finds again.
    let pulling = Pulling {
        network: model(),
        every: 1500,
        passes: AtomicU64::new(0),
        flag: Mutex::default(),
    };
    let mut training = learner.begin(&problem, &pulling).unwrap();
    let mut stops = 0;
    loop {
        *pulling.flag.lock().unwrap() = training.interrupter();
        if training.advance().is_none() {
            if training.state().outcome != Some(Outcome::Interrupted) {
                break;
            }
            stops += 1;
            training = learner.resume(&problem, &pulling, saved(training.state())).unwrap();
        }
    }
    assert!(stops > 0, "no interruption happened");
    same(&whole, &training.finish());
}

#[test]
fn a_training_is_owned_and_can_be_stepped_on_another_thread() {
    fn owned<T: Send + 'static>(value: T) -> T {
        value
    }
    let problem = problem(&people(300, 3));
    let exact = Learner::exact().epochs(2).inner_iterations(20);
    for learner in learners().into_iter().chain([exact]) {
        let learner = learner.keep_best_on(problem.clone());
        let here = learner.solve(&problem, &model()).unwrap();
        // Learner, problem and model are gone when the training moves.
        let mut training = {
            let (learner, problem, model) = (learner.clone(), problem.clone(), model());
            owned(learner.begin(&problem, model).unwrap())
        };
        training.advance().unwrap();
        let moved = std::thread::spawn(move || {
            training.advance();
            training
        });
        let mut training = moved.join().unwrap();
        while training.advance().is_some() {}
        same(&here, &training.finish());
    }
}

#[test]
fn a_state_of_another_problem_is_refused() {
    let (a, b) = (problem(&people(100, 1)), problem(&people(120, 1)));
    let learner = &learners()[0];
    let (model, larger) = (model(), Mlp::new(&[6, 17, 2], Activation::Sigmoid).unwrap());
    let state = learner.begin(&a, &model).unwrap().state().clone();
    let error = learner.resume(&b, &model, state.clone()).err().unwrap().to_string();
    assert!(error.contains("other requirements or samples"), "{error}");
    let error = learner.resume(&a, &larger, state).err().unwrap().to_string();
    assert!(error.contains("parameters"), "{error}");
}

/// The same people in another order, ids moved along.
fn permuted(people: &Population, order: &[usize]) -> Population {
    let samples = people.samples();
    let x = order.iter().flat_map(|&r| samples.inputs().row(r)).collect();
    let Targets::Classes(y) = samples.targets() else { unreachable!() };
    let y = order.iter().map(|&r| y[r]).collect();
    let ids = order.iter().map(|&r| samples.ids()[r]).collect();
    Population::new(
        Samples::with_ids(Inputs::new(x, 6).unwrap(), Targets::Classes(y), ids).unwrap(),
    )
}

fn permuting(learner: &Learner) {
    let people = people(300, 9);
    let order: Vec<usize> = (0..300).map(|n| n * 77 % 300).collect();
    let a = learner.solve(&problem(&people), &model()).unwrap();
    let b = learner.solve(&problem(&permuted(&people, &order)), &model()).unwrap();
    assert_eq!(bits(&a.theta), bits(&b.theta));
    assert_eq!(a.multipliers.of(1), b.multipliers.of(1));
    for (at, &from) in order.iter().enumerate() {
        assert_eq!(a.multipliers.of(0)[from], b.multipliers.of(0)[at]);
        let violation = |s: &Solution<f32>, n: usize| s.measurement.violations[0].measured[n];
        assert_eq!(violation(&a, from), violation(&b, at));
    }
}

#[test]
fn permuting_the_samples_permutes_lambda_and_changes_nothing_else() {
    for learner in learners() {
        permuting(&learner.batch_size(32));
    }
    permuting(&Learner::exact().epochs(2).inner_iterations(20));
}

#[test]
fn observing_changes_nothing_and_multipliers_are_never_negative() {
    let problem = problem(&people(400, 4));
    for learner in learners() {
        let quiet = learner.solve(&problem, &model()).unwrap();
        let mut epochs = 0;
        let watched = learner.solve_observed(&problem, &model(), |report| {
            epochs += 1;
            assert_eq!(report.epoch, epochs);
            assert!(report.requirements.iter().all(|r| r.multiplier >= 0.0));
            ControlFlow::Continue(())
        });
        let watched = watched.unwrap();
        assert_eq!(epochs, 6);
        same(&quiet, &watched);
        assert!(watched.multipliers.iter().flatten().all(|&m| m >= 0.0));
    }
}

//! A problem whose work is divided over workers has the same solution, to the last bit, on any number of them.
//!
//! Solutions are compared as text: numbers are printed with all their digits, −0 and NaN apart.
#![allow(clippy::unwrap_used)]

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::common::depth::depth;
use crate::common::people;
use crate::common::workers::workers;
use feasible::adversary::{Adversary, Attack, Budget, Norm};
use feasible::learner::State;
use feasible::model::{Batch, Mode, Pass};
use feasible::problem::ProblemShare;
use feasible::reduce::Alone;
use feasible::{
    Adaptive, Dual, Learner, Loss, Model, Outcome, Population, Problem, Reduce, Requirement,
    Solution, rho,
};
use feasible_nn::conv::{ConvNet, ConvShape};
use feasible_nn::{Activation, Adam, Kernel, KernelExpansion, Linear, Mlp, Sgd};

/// Runs the same on so many workers; what each has found.
fn on_workers<T: Send>(count: usize, run: impl Fn(Arc<dyn Reduce>) -> T + Sync) -> Vec<T> {
    let run = &run;
    thread::scope(|scope| {
        let start = |reduce| scope.spawn(move || run(reduce));
        let threads: Vec<_> = workers(count).into_iter().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// The part of a worker. The first works on the whole problem's rows where they are, the second on a copy of its own, the
/// others on a share that was sent to them.
fn own_part<M: Model>(problem: &Problem, model: &M, reduce: Arc<dyn Reduce>) -> Problem {
    let worker = reduce.worker();
    let sent = sent(problem, model, worker, reduce.workers());
    let divided = problem.divided_for(model, reduce.clone()).unwrap();
    match worker {
        0 => divided,
        1 => divided.of_own_rows(),
        _ => {
            let attack = |text: &str| {
                let attack: Attack = serde_json::from_str(text).unwrap();
                Some(Arc::new(attack.check().unwrap()) as Arc<dyn Adaptive>)
            };
            sent.problem(reduce, attack).unwrap()
        }
    }
}

/// The share of a worker, as it arrives there.
fn sent<M: Model>(problem: &Problem, model: &M, worker: usize, workers: usize) -> ProblemShare {
    let text_of = |view: &dyn Adaptive| {
        let adversary = (view as &dyn Any).downcast_ref::<Adversary>()?;
        serde_json::to_string(adversary.attack()).ok()
    };
    let share = problem.share(model, worker, workers, text_of).unwrap();
    postcard::from_bytes(&postcard::to_allocvec(&share).unwrap()).unwrap()
}

/// Solves a problem alone, and on 2, 3, 4 and 8 workers with one thread and with two: all solutions are the same.
fn solve<M: Model + Clone + Send + Sync>(
    learner: &Learner<M::Real>,
    model: &M,
    problem: &Problem,
) -> Solution<M::Real>
where
    M::Real: Send,
{
    let on = |reduce: Arc<dyn Reduce>, threads: usize| {
        let problem = own_part(problem, model, reduce);
        learner.clone().threads(threads).solve(&problem, model.clone()).unwrap()
    };
    let alone = on(Arc::new(Alone), 1);
    let expected = format!("{alone:?}");
    assert_eq!(format!("{:?}", on(Arc::new(Alone), 2)), expected, "two threads");
    let divisions = [(3, 2), (8, 1), (2, 1), (3, 1), (4, 2)];
    for (count, threads) in divisions.into_iter().take(if depth() > 1 { 5 } else { 3 }) {
        for (worker, found) in on_workers(count, |reduce| on(reduce, threads)).iter().enumerate() {
            let which = format!("worker {worker} of {count}, threads: {threads}");
            assert!(format!("{found:?}") == expected, "{which}: {found:#?}\nis not {alone:#?}");
        }
    }
    alone
}

/// An average of a group, every single loss, a rate with a surrogate, and every single change under a counterfactual.
fn four_requirements(of: &Population) -> Problem {
    let group = of.filter(|s| s.inputs()[0] == 0.0);
    let rate = Requirement::average("rate", &group, Loss::CrossEntropy);
    let changed = of.counterfactual(rho::flip(0)).unwrap();
    Problem::minimise(of, Loss::CrossEntropy)
        .weight_decay(1e-3)
        .subject_to(Requirement::average("group", &group, Loss::CrossEntropy).at_most(0.54))
        .subject_to(Requirement::pointwise("each", of, Loss::CrossEntropy).at_most(2.62))
        .subject_to(rate.measured_by(Loss::Error).at_most(0.4))
        .subject_to(Requirement::pointwise("change", &changed, Loss::Kl).at_most(0.05))
        .check()
        .unwrap()
}

fn linear() -> Linear<f64> {
    Linear::new(6, 2).unwrap().double()
}

fn network() -> Mlp {
    Mlp::new(&[6, 40, 20, 2], Activation::Tanh).unwrap()
}

fn alternating<R: feasible::Real>() -> Learner<R>
where
    Adam: feasible::Optimiser<R>,
{
    Learner::alternating(Adam::new(0.02)).epochs(8).batch_size(48).dual(Dual::adam(0.05)).seed(3)
}

#[test]
fn alternating_steps() {
    let people = people(700, 5);
    let problem = four_requirements(&people);
    let solution = solve(&alternating(), &linear(), &problem);
    assert!(solution.multipliers.of(3).iter().any(|&m| m > 0.0));
    solve(&alternating(), &network(), &problem);
    let kernel = Kernel::Rbf { gamma: 0.5 };
    let centres = people.filter(|s| s.row < 20);
    let centres = feasible::Inputs::new(
        centres.rows().flat_map(|row| people.samples().inputs().row(row as usize)).collect(),
        6,
    )
    .unwrap();
    solve(&alternating(), &KernelExpansion::new(&centres, kernel, 2).unwrap(), &problem);
}

#[test]
fn simultaneous_steps_on_batches_that_leave_shards_empty() {
    let problem = four_requirements(&people(150, 5));
    let learner = Learner::simultaneous(Sgd::new(0.05)).epochs(6).batch_size(7).seed(1);
    solve(&learner.clone().dual(Dual::ascent(0.1)), &network(), &problem);
    let learner = Learner::simultaneous(Adam::new(0.02)).epochs(6).batch_size(7).seed(1);
    let solution = solve(&learner.dual(Dual::adam(0.05)), &linear(), &problem);
    assert!(solution.multipliers.of(1).iter().any(|&m| m > 0.0));
}

#[test]
fn a_requirement_on_a_data_set_of_its_own() {
    let (people, others) = (people(200, 5), people(30, 8));
    let other = Requirement::average("other", &others, Loss::CrossEntropy).at_most(0.3);
    let problem = Problem::minimise(&people, Loss::CrossEntropy).subject_to(other).check().unwrap();
    solve(&alternating(), &network(), &problem);
}

#[test]
fn the_exact_learner() {
    let problem = four_requirements(&people(300, 5));
    let two = problem.requirements()[..2].to_vec();
    let solution = solve(&Learner::exact(), &linear(), &problem.with_requirements(two).unwrap());
    assert_eq!(solution.outcome, Outcome::Converged);
    assert!(solution.multipliers.of(1).iter().any(|&m| m > 0.1), "no λ binds");
    let surrogate = problem.requirements()[2].clone();
    solve(
        &Learner::exact().epochs(30),
        &linear(),
        &problem.with_requirements(vec![surrogate]).unwrap(),
    );
}

#[test]
fn the_exact_learner_leaves_out_a_share_of_the_points() {
    let people = people(200, 5);
    let near = Requirement::pointwise("near", &people, Loss::CrossEntropy).at_most(1.5);
    let problem = Problem::minimise(&people, Loss::CrossEntropy)
        .weight_decay(1e-3)
        .subject_to(near.all_but(0.1))
        .check()
        .unwrap();
    solve(&Learner::exact().epochs(20), &linear(), &problem);
}

#[test]
fn what_cannot_be_met() {
    let people = people(60, 5);
    let low = Requirement::average("low", &people, Loss::CrossEntropy).at_most(0.05);
    let problem = Problem::minimise(&people, Loss::CrossEntropy).subject_to(low).check().unwrap();
    let solution = solve(&Learner::exact(), &linear(), &problem);
    assert!(matches!(solution.outcome, Outcome::Infeasible { .. }), "{}", solution.outcome);
}

#[test]
fn an_adversary() {
    let people = people(200, 5);
    let attack = Attack::pgd(Norm::Linf, Budget::fixed(0.1)).check().unwrap();
    let attacked = people.through(Arc::new(attack));
    let problem = Problem::minimise(&people, Loss::CrossEntropy)
        .subject_to(Requirement::average("robust", &attacked, Loss::CrossEntropy).at_most(0.5))
        .check()
        .unwrap();
    solve(&alternating(), &network(), &problem);
}

#[test]
fn a_validation_problem_and_samples_with_weights() {
    let weights: Vec<f64> = (0..300).map(|n| 0.5 + f64::from(n % 7)).collect();
    let people = people(300, 5);
    let samples = (**people.samples()).clone().weighted(weights).unwrap();
    let problem = four_requirements(&Population::new(samples));
    let validation = four_requirements(&crate::common::people(120, 9));
    solve(&alternating().keep_best_on(validation), &linear(), &problem);
}

/// Trains until an epoch, from a state or from the start.
fn train(
    learner: &Learner<f64>,
    problem: &Problem,
    reduce: Arc<dyn Reduce>,
    from: Option<State<f64>>,
    until: u64,
) -> (Option<State<f64>>, Option<Solution<f64>>) {
    let (worker, workers) = (reduce.worker(), reduce.workers());
    let share = sent(problem, &linear(), worker, workers);
    let problem = own_part(problem, &linear(), reduce);
    let mut training = match from {
        Some(state) if worker > 1 => {
            learner.resume_share(&problem, linear(), share.of_state(state).unwrap()).unwrap()
        }
        Some(state) => learner.resume(&problem, linear(), state).unwrap(),
        None => learner.begin(&problem, linear()).unwrap(),
    };
    while training.state().epoch < until && training.advance().is_some() {}
    let state = training.whole_state().map(Cow::into_owned);
    (state, (until == u64::MAX).then(|| training.finish()))
}

/// Continues a training again and again on another number of workers.
fn continue_on_others(learner: &Learner<f64>, problem: &Problem) {
    let undisturbed = train(learner, problem, Arc::new(Alone), None, u64::MAX);
    let mut state = None;
    for (count, until) in [(2, 2), (8, 3), (1, 5), (3, 7), (4, u64::MAX)] {
        let on = |reduce| train(learner, problem, reduce, state.clone(), until);
        let found = on_workers(count, on);
        for other in &found[1..] {
            assert!(other.0.is_none(), "the first worker saves the state");
            assert_eq!(format!("{:?}", other.1), format!("{:?}", found[0].1));
        }
        if until == u64::MAX {
            assert_eq!(format!("{:?}", found[0]), format!("{undisturbed:?}"));
        }
        state = found.into_iter().next().unwrap().0;
    }
}

#[test]
fn a_training_is_continued_on_another_number_of_workers_to_the_same_bits() {
    let problem = four_requirements(&people(150, 5));
    let simultaneous = Learner::simultaneous(Adam::new(0.02)).epochs(9).batch_size(16).seed(4);
    continue_on_others(&simultaneous, &problem);
    let validation = four_requirements(&people(60, 9));
    continue_on_others(&alternating().epochs(9).keep_best(), &problem);
    let on_workers = alternating().dual(Dual::nu_pi(0.1, 0.5, 0.9));
    continue_on_others(&on_workers.epochs(9), &validation);
}

#[test]
fn the_exact_learner_is_continued_with_what_it_knows_of_every_point() {
    let people = people(150, 5);
    let each = Requirement::pointwise("each", &people, Loss::CrossEntropy);
    let near = Requirement::pointwise("near", &people, Loss::CrossEntropy).at_most(1.5);
    let problem = Problem::minimise(&people, Loss::CrossEntropy)
        .weight_decay(1e-3)
        // Measured by another loss: with brackets for the limit of every point.
        .subject_to(each.measured_by(Loss::Error).all_but(0.4).at_most(0.5))
        .subject_to(near.all_but(0.1))
        .check()
        .unwrap();
    continue_on_others(&Learner::exact().epochs(9), &problem);
}

#[test]
fn a_worker_that_is_interrupted_stops_all_at_the_same_step() {
    let problem = four_requirements(&people(100, 1));
    let learner = Learner::alternating(Adam::new(0.02)).epochs(1000).batch_size(16);
    let stopped = on_workers(3, |reduce| {
        let second = reduce.worker() == 1;
        let problem = problem.divided_over(reduce).unwrap();
        let mut training = learner.begin(&problem, linear()).unwrap();
        for _ in 0..3 {
            training.advance().unwrap();
        }
        if second {
            training.interrupter().store(true, Ordering::Relaxed);
        }
        assert!(training.advance().is_none());
        let State { epoch, batch, theta, .. } = training.state();
        format!("{epoch} {batch} {theta:?}")
    });
    assert!(stopped.iter().all(|state| *state == stopped[0]));
}

#[test]
fn the_batches_are_those_of_the_problem_as_it_is() {
    let problem = four_requirements(&people(300, 5));
    let plain = alternating().solve(&problem, linear()).unwrap();
    let shards = problem.divided_over(Arc::new(Alone)).unwrap();
    let shards = alternating().solve(&shards, linear()).unwrap();
    // Sums in another order; the steps of Adam multiply that a little.
    for (a, b) in shards.theta.iter().zip(&plain.theta) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }
}

#[test]
fn problems_that_differ_between_workers_are_refused() {
    let errors = on_workers(2, |reduce| {
        let problem = four_requirements(&people(50 + reduce.worker(), 1));
        problem.divided_over(reduce).unwrap_err().to_string()
    });
    assert!(errors.iter().all(|error| error.contains("same on every worker")), "{errors:?}");
}

/// Images of 6 × 6 pixels in three classes, with these ids.
fn images(ids: Vec<u64>) -> Population {
    let rows = ids.len();
    let stream = |id: u64| feasible::Stream::new(4, feasible::Purpose::View, 0, id);
    let pixels = ids.iter().flat_map(|&id| {
        let mut stream = stream(id);
        (0..36).map(move |p| {
            let lit = if p / 12 == id % 3 { 0.4 } else { 0.0 };
            (lit + 0.6 * stream.uniform()) as f32
        })
    });
    let pixels = feasible::Inputs::dense(pixels.collect(), 36).unwrap();
    let classes = feasible::Targets::Classes(ids.iter().map(|id| (id % 3) as u32).collect());
    assert_eq!(pixels.rows(), rows);
    Population::new(feasible::Samples::with_ids(pixels, classes, ids).unwrap())
}

/// A limit for every image, and one for images that are attacked.
fn robust(images: &Population) -> Problem {
    let attack = Attack::pgd(Norm::Linf, Budget::fixed(0.05)).check().unwrap();
    let attacked = images.filter(|s| s.row % 2 == 0).through(Arc::new(attack));
    Problem::minimise(images, Loss::CrossEntropy)
        .subject_to(Requirement::pointwise("each", images, Loss::CrossEntropy).at_most(1.1))
        .subject_to(Requirement::pointwise("robust", &attacked, Loss::CrossEntropy).at_most(1.1))
        .check()
        .unwrap()
}

fn resnet() -> ConvNet {
    ConvNet::resnet18(ConvShape::new(1, 6, 6), 3, 4).unwrap()
}

#[test]
fn a_convolutional_network_with_an_adversary() {
    let model = ConvNet::small_cnn(ConvShape::new(1, 6, 6), 3).unwrap();
    let (problem, validation) =
        (robust(&images((0..90).collect())), robust(&images((90..120).collect())));
    let learner = Learner::alternating(Adam::new(0.005)).epochs(3).batch_size(32).seed(3);
    let solution =
        solve(&learner.dual(Dual::adam(0.05)).keep_best_on(validation), &model, &problem);
    assert!(solution.multipliers.of(1).iter().any(|&m| m > 0.0));
}

#[test]
fn batch_normalisation_with_an_adversary() {
    let (problem, validation) =
        (robust(&images((0..90).collect())), robust(&images((90..120).collect())));
    // The last batch leaves groups empty.
    let learner = Learner::alternating(Adam::new(0.005)).epochs(2).batch_size(43).seed(3);
    let learner = learner.dual(Dual::adam(0.05)).keep_best_on(validation);
    solve(&learner, &resnet(), &problem);
    let learner = Learner::simultaneous(Sgd::new(0.05)).epochs(1).batch_size(30).seed(3);
    solve(&learner.dual(Dual::ascent(0.1)), &resnet(), &problem);
}

/// Which of the 8 groups of shards an id belongs to.
fn group_of(id: u64) -> u64 {
    let mut x = id.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) % 64) / 8
}

#[test]
fn groups_of_a_batch_are_normalised_apart_and_their_statistics_averaged() {
    let groups = [2, 5].map(|group| {
        images((0..).filter(|&id| group_of(id) == group).take(20).collect::<Vec<u64>>())
    });
    let ids = groups.iter().flat_map(|images| images.samples().ids()).copied().collect();
    let problem = Problem::minimise(&images(ids), Loss::CrossEntropy).check().unwrap();
    let model = resnet();
    let problem = problem.divided_for(&model, Arc::new(Alone)).unwrap();
    let learner = Learner::alternating(Sgd::new(0.1)).epochs(1).batch_size(40).seed(6);
    let mut training = learner.begin(&problem, &model).unwrap();
    let theta = training.state().theta.clone();
    training.advance().unwrap();
    // By hand: a step along the sum of the gradients of both groups.
    let (p, trainable) = (model.parameter_count(), model.trainable_count());
    let (mut gradient, mut statistics) = (vec![0.0; p], vec![0.0; p - trainable]);
    for images in &groups {
        let rows: Vec<u32> = (0..20).collect();
        let batch = Batch { inputs: images.samples().inputs(), rows: &rows, shifts: &[] };
        let (mut tape, mut outputs) = (Default::default(), vec![0.0; 60]);
        let pass = Pass { mode: Mode::Training, ..Pass::default() };
        model.forward(&theta, &batch, pass, &mut tape, &mut outputs);
        let mut seeds = outputs.clone();
        for (z, id) in seeds.chunks_exact_mut(3).zip(images.samples().ids()) {
            let sum: f32 = z.iter().map(|z| z.exp()).sum();
            z.iter_mut().for_each(|z| *z = z.exp() / sum / 40.0);
            z[(id % 3) as usize] -= 1.0 / 40.0;
        }
        model.backward(&theta, &batch, &mut tape, &seeds, &mut gradient);
        let mut after = theta.clone();
        model.absorb(&mut after, &mut tape);
        statistics.iter_mut().zip(&after[trainable..]).for_each(|(to, x)| *to += x / 2.0);
    }
    let step = theta[..trainable].iter().zip(&gradient).map(|(t, g)| t - 0.1 * g);
    let expected: Vec<f32> = step.chain(statistics).collect();
    // Sums of single precision in another order.
    for (found, expected) in training.state().theta.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{found} {expected}");
    }
    let moved = training.state().theta.iter().zip(&theta).filter(|(a, b)| a != b).count();
    assert!(moved > p / 20, "{moved} of {p}");
}

#[test]
fn groups_that_two_workers_would_share_are_refused() {
    let problem =
        Problem::minimise(&images((0..30).collect()), Loss::CrossEntropy).check().unwrap();
    let learner = Learner::alternating(Adam::new(0.01)).epochs(1);
    let on = |reduce| learner.solve(&problem.divided_over(reduce).unwrap(), resnet()).map(|_| ());
    let errors = on_workers(3, on).into_iter().map(|found| found.unwrap_err().to_string());
    assert!(errors.into_iter().all(|error| error.contains("Problem::divided_for")));
    let errors =
        on_workers(9, |reduce| problem.divided_for(&resnet(), reduce).unwrap_err().to_string());
    assert!(errors.iter().all(|error| error.contains("at most 8 with BatchNorm")), "{errors:?}");
}

#[test]
fn requirements_of_few_points_with_limits_of_their_own_and_several_counterfactuals() {
    let people = people(300, 5);
    let few = people.filter(|s| s.row % 60 == 0);
    let flips = [0, 1]
        .map(|c| Arc::new(feasible::Shift::new(people.samples().inputs(), rho::flip(c)).unwrap()));
    let changed = people.filter(|s| s.row % 3 == 0).counterfactuals(flips.to_vec()).unwrap();
    let limits = |of: &Population| (0..of.points()).map(|n| 0.01 + n as f64 / 5000.0).collect();
    let problem = Problem::minimise(&people, Loss::CrossEntropy)
        .subject_to(Requirement::pointwise("few", &few, Loss::CrossEntropy).at_most(0.6))
        .subject_to(
            Requirement::pointwise("changed", &changed, Loss::Kl).at_most_each(limits(&changed)),
        )
        .check()
        .unwrap();
    let solution = solve(&alternating(), &network(), &problem);
    assert_eq!(solution.multipliers.of(0).len(), 5);
    // In the order of the whole problem: as on rows that are not divided, up to rounding.
    let plain = alternating().solve(&problem, network()).unwrap();
    for requirement in 0..2 {
        let pairs =
            solution.multipliers.of(requirement).iter().zip(plain.multipliers.of(requirement));
        pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-2, "{a} is not {b}"));
    }
    solve(&Learner::exact().epochs(4), &linear(), &problem);
}

/// A worker that counts the bytes it sends.
#[derive(Debug)]
struct Counting(Arc<dyn Reduce>, Arc<Traffic>);

#[derive(Debug, Default)]
struct Traffic {
    bytes: AtomicUsize,
    longest: AtomicUsize,
}

impl Traffic {
    /// What was sent since the last time: bytes, and the longest message.
    fn take(&self) -> (usize, usize) {
        (self.bytes.swap(0, Ordering::Relaxed), self.longest.swap(0, Ordering::Relaxed))
    }
}

impl Reduce for Counting {
    fn workers(&self) -> usize {
        self.0.workers()
    }

    fn worker(&self) -> usize {
        self.0.worker()
    }

    fn send(&self, to: usize, message: &[u8]) {
        self.1.bytes.fetch_add(message.len(), Ordering::Relaxed);
        self.1.longest.fetch_max(message.len(), Ordering::Relaxed);
        self.0.send(to, message);
    }

    fn receive(&self, from: usize) -> Vec<u8> {
        self.0.receive(from)
    }
}

/// The traffic of each worker in an epoch, and then for saving the state.
fn traffic(learner: &Learner<f64>, rows: usize) -> Vec<[(usize, usize); 2]> {
    let problem = four_requirements(&people(rows, 5));
    on_workers(3, |reduce| {
        let traffic = Arc::<Traffic>::default();
        let problem = own_part(&problem, &linear(), Arc::new(Counting(reduce, traffic.clone())));
        let mut training = learner.begin(&problem, linear()).unwrap();
        training.advance().unwrap();
        traffic.take();
        training.advance().unwrap();
        let of_epoch = traffic.take();
        training.whole_state();
        [of_epoch, traffic.take()]
    })
}

#[test]
fn multipliers_and_violations_of_points_do_not_travel_but_for_saving() {
    let alternating = Learner::alternating(Adam::new(0.02)).batch_size(usize::MAX);
    let simultaneous = Learner::simultaneous(Adam::new(0.02)).batch_size(usize::MAX);
    for learner in [alternating, simultaneous] {
        let (few, many) = (traffic(&learner, 1000), traffic(&learner, 4000));
        for (worker, (few, many)) in few.iter().zip(&many).enumerate() {
            assert_eq!(few[0], many[0], "an epoch sends the same, however many points there are");
            // λ of two requirements: 8 bytes a point, of about a third of the rows.
            let least = if worker == 0 { 0 } else { 2 * 8 * 1000 };
            assert!(many[1].0 >= least, "worker {worker} sent {} bytes to save", many[1].0);
        }
    }
    // The exact learner takes as many steps as it needs; no message grows with the points.
    let (few, many) = (traffic(&Learner::exact(), 500), traffic(&Learner::exact(), 2000));
    for (few, many) in few.iter().zip(&many) {
        assert_eq!(few[0].1, many[0].1);
    }
}

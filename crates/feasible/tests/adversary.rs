//! The adversary: in its ball and box, never weaker than where it began, the same for every
//! batching, and without a trace in the model.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use feasible::adversary::{
    Adversary, Aim, Attack, AttackLoss, Bounds, Budget, Draw, Norm, Prior, Select, robustness,
};
use feasible::{
    Adaptive, Batch, Error, Inputs, Learner, Loss, Mode, Model, Pass, Population, Probe, Problem,
    Purpose, Requirement, Samples, Stream, Target, Targets, TrainingPlace, ViewShift,
};
use feasible_nn::conv::{ConvNet, ConvShape};
use feasible_nn::{Activation, Adam, Mlp};

const PLACE: TrainingPlace = TrainingPlace { seed: 3, epoch: 2 };

/// What a learner shows an adversary, written down a second time.
struct Look<'a, M: Model<Real = f32>> {
    model: &'a M,
    theta: &'a [f32],
    samples: &'a Samples,
    rows: &'a [u32],
    asked: Vec<f32>,
    moved: Inputs,
    tape: M::Tape,
    answer: Vec<f32>,
}

impl<'a, M: Model<Real = f32>> Look<'a, M> {
    fn new(model: &'a M, theta: &'a [f32], samples: &'a Samples, rows: &'a [u32]) -> Self {
        let moved = Inputs::dense(vec![0.0], 1).unwrap();
        let (asked, answer, tape) = (Vec::new(), Vec::new(), M::Tape::default());
        Self { model, theta, samples, rows, asked, moved, tape, answer }
    }
}

impl<M: Model<Real = f32>> Probe for Look<'_, M> {
    fn samples(&self) -> &Samples {
        self.samples
    }
    fn rows(&self) -> &[u32] {
        self.rows
    }
    fn output_width(&self) -> usize {
        self.model.output_width()
    }
    fn outputs(&mut self, shift: &[f32]) -> &[f32] {
        let all: Vec<u32> = (0..self.rows.len() as u32).collect();
        self.outputs_at(&all, shift)
    }
    fn outputs_at(&mut self, positions: &[u32], shift: &[f32]) -> &[f32] {
        let d = self.samples.inputs().width();
        self.asked.clear();
        for (i, &p) in positions.iter().enumerate() {
            let x = self.samples.inputs().row(self.rows[p as usize] as usize);
            self.asked.extend(x.iter().zip(&shift[i * d..(i + 1) * d]).map(|(x, s)| x + s));
        }
        self.moved = Inputs::dense(self.asked.clone(), d).unwrap();
        let rows: Vec<u32> = (0..positions.len() as u32).collect();
        let batch = Batch { inputs: &self.moved, rows: &rows, shifts: &[] };
        self.answer.resize(batch.output_rows() * self.model.output_width(), 0.0);
        let Self { model, theta, tape, answer, .. } = self;
        model.forward(theta, &batch, Pass::default(), tape, answer);
        &self.answer
    }
    fn input_gradient(&mut self, seeds: &[f32], gradient: &mut [f32]) {
        let rows: Vec<u32> = (0..self.moved.rows() as u32).collect();
        let batch = Batch { inputs: &self.moved, rows: &rows, shifts: &[] };
        self.model.input_gradient(self.theta, &batch, &mut self.tape, seeds, gradient);
    }
}

fn images(n: usize, side: usize, seed: u64) -> Samples {
    let mut random = Stream::new(seed, Purpose::View, 9, 9);
    let pixel = |random: &mut Stream| (random.uniform() * 1.4 - 0.2).clamp(0.0, 1.0) as f32;
    let values: Vec<f32> = (0..n * side * side).map(|_| pixel(&mut random)).collect();
    let classes = (0..n).map(|_| random.below(3)).collect();
    Samples::new(Inputs::dense(values, side * side).unwrap(), Targets::Classes(classes)).unwrap()
}

fn small_network() -> (ConvNet, Vec<f32>) {
    let model = ConvNet::resnet18(ConvShape::new(1, 6, 6), 3, 4).unwrap();
    let theta = model.initial(5);
    (model, theta)
}

/// One whose answers are spread over the classes.
fn lively_network() -> (Mlp, Vec<f32>) {
    let model = Mlp::new(&[36, 16, 3], Activation::Tanh).unwrap();
    let theta = model.initial(5).into_iter().map(|t| 4.0 * t).collect();
    (model, theta)
}

fn shift<M: Model<Real = f32>>(
    attack: &Adversary,
    model: &M,
    theta: &[f32],
    samples: &Samples,
    rows: &[u32],
) -> Vec<f32> {
    let mut shift = vec![0.0; rows.len() * samples.inputs().width()];
    attack.shift(&mut Look::new(model, theta, samples, rows), PLACE, &mut shift);
    shift
}

/// Cross-entropies at x + shift.
fn losses<M: Model<Real = f32>>(
    model: &M,
    theta: &[f32],
    samples: &Samples,
    rows: &[u32],
    shift: &[f32],
) -> Vec<f64> {
    let mut look = Look::new(model, theta, samples, rows);
    let k = model.output_width();
    let outputs = look.outputs(shift).to_vec();
    let loss = |(z, &row): (&[f32], &u32)| {
        let Target::Class(y) = samples.targets().get(row as usize) else { panic!("a class") };
        let total: f64 = z.iter().map(|&z| f64::from(z).exp()).sum();
        total.ln() - f64::from(z[y as usize])
    };
    outputs.chunks_exact(k).zip(rows).map(loss).collect()
}

fn all(samples: &Samples) -> Vec<u32> {
    (0..samples.len() as u32).collect()
}

#[test]
fn every_point_is_in_the_ball_and_in_the_box() {
    let samples = images(20, 6, 1);
    let (model, theta) = small_network();
    let rows = all(&samples);
    for norm in [Norm::Linf, Norm::L2] {
        let budgets = [Budget::fixed(0.3), Budget::beta(0.9, 2.0, 2.0)];
        for (budget, most) in budgets.into_iter().zip([0.3, 0.9]) {
            for select in [Select::Last, Select::Worst, Select::First] {
                let restarts = if select == Select::Last { 1 } else { 3 };
                let attack = Attack { select, restarts, ..Attack::pgd(norm, budget.clone()) };
                let delta = shift(&attack.check().unwrap(), &model, &theta, &samples, &rows);
                for (&row, delta) in rows.iter().zip(delta.chunks_exact(36)) {
                    // ε is rounded to f32 once.
                    assert!(norm.of(delta) <= most * (1.0 + 6e-8), "{norm:?} {}", norm.of(delta));
                    for (x, d) in samples.inputs().row(row as usize).iter().zip(delta) {
                        assert!((0.0..=1.0).contains(&(x + d)), "{x} {d}");
                    }
                }
                if select != Select::First {
                    assert!(delta.chunks_exact(36).all(|d| norm.of(d) > 0.0));
                }
            }
        }
    }
}

#[test]
fn zero_epsilon_is_the_identity() {
    let samples = images(10, 6, 2);
    let (model, theta) = small_network();
    for norm in [Norm::Linf, Norm::L2] {
        for attack in
            [Attack::fgsm(norm, Budget::fixed(0.0)), Attack::strong(norm, Budget::fixed(0.0))]
        {
            let delta = shift(&attack.check().unwrap(), &model, &theta, &samples, &all(&samples));
            assert!(delta.iter().all(|&d| d == 0.0));
        }
    }
}

#[test]
fn the_worst_of_all_points_is_at_least_as_bad_as_x_the_start_and_the_last() {
    let samples = images(24, 6, 3);
    let (model, theta) = small_network();
    let rows = all(&samples);
    for norm in [Norm::Linf, Norm::L2] {
        let base = Attack { steps: 3, ..Attack::pgd(norm, Budget::fixed(0.1)) };
        let at = |attack: Attack| {
            let delta = shift(&attack.check().unwrap(), &model, &theta, &samples, &rows);
            losses(&model, &theta, &samples, &rows, &delta)
        };
        let clean = losses(&model, &theta, &samples, &rows, &vec![0.0; 24 * 36]);
        let last = at(base.clone());
        // A step of almost no length: the start.
        let start = at(Attack { steps: 1, step: 1e-30, ..base.clone() });
        let worst = at(Attack { select: Select::Worst, ..base.clone() });
        let many = at(Attack { select: Select::Worst, restarts: 4, ..base.clone() });
        let answers = {
            let mut look = Look::new(&model, &theta, &samples, &rows);
            look.outputs(&vec![0.0; 24 * 36]).to_vec()
        };
        let mut checked = 0;
        for r in 0..rows.len() {
            // A fooled point is kept before one with a larger loss; only samples for which no
            // point fools are ordered by the loss alone.
            let z = &answers[r * 3..(r + 1) * 3];
            let Target::Class(y) = samples.targets().get(r) else { panic!("a class") };
            let fooled = z.iter().any(|&other| other > z[y as usize]);
            if fooled {
                continue;
            }
            checked += 1;
            // Losses are computed a second time here, in another order: 1e-5 is rounding.
            let floor = clean[r].max(start[r]).max(last[r]);
            assert!(worst[r] >= floor - 1e-5 || worst[r] > 3f64.ln(), "{norm:?} {r}");
            assert!(many[r] >= worst[r] - 1e-5 || many[r] > 3f64.ln());
        }
        assert!(checked > 3);
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        assert!(mean(&last) > mean(&start) && mean(&start) > mean(&clean) - 0.05);
    }
}

#[test]
fn one_step_in_a_linear_model_is_the_closed_form() {
    // Two logits (0, w·x): the worst δ of the l∞ ball is −ε sign(w) for class 1.
    let model = feasible_nn::Linear::new(3, 1).unwrap();
    let theta = [0.5, -2.0, 0.0, 0.1];
    let x = Inputs::dense(vec![0.5, 0.5, 0.5, 0.05, 0.5, 0.5], 3).unwrap();
    let samples = Samples::new(x, Targets::Classes(vec![1, 0])).unwrap();
    let attack = Attack::fgsm(Norm::Linf, Budget::fixed(0.25)).check().unwrap();
    let delta = shift(&attack, &model, &theta, &samples, &[0, 1]);
    assert_eq!(delta, [-0.25, 0.25, 0.0, 0.25, -0.25, 0.0]);
    let attack = Attack::fgsm(Norm::L2, Budget::fixed(0.25)).check().unwrap();
    let delta = shift(&attack, &model, &theta, &samples, &[0]);
    let size = (0.25f32 + 4.0).sqrt();
    for (d, w) in delta.iter().zip([-0.5, 2.0, 0.0]) {
        assert!((d - 0.25 * w / size).abs() < 1e-7);
    }
}

#[test]
fn a_sample_is_attacked_the_same_in_every_batch() {
    let samples = images(23, 6, 4);
    let (model, theta) = small_network();
    for select in [Select::Last, Select::First] {
        let budget = Budget::beta(0.25, 3.0, 8.0);
        let attack = Attack { select, ..Attack::pgd(Norm::Linf, budget) }.check().unwrap();
        let whole = shift(&attack, &model, &theta, &samples, &all(&samples));
        for rows in [&[4u32, 17, 2][..], &[17], &[22, 21, 20, 19, 18, 17, 16, 4]] {
            let part = shift(&attack, &model, &theta, &samples, rows);
            for (&row, part) in rows.iter().zip(part.chunks_exact(36)) {
                assert_eq!(part, &whole[row as usize * 36..(row as usize + 1) * 36]);
            }
        }
    }
}

#[test]
fn epsilon_per_batch_is_one_number_and_per_sample_many() {
    let samples = images(16, 6, 5);
    let (model, theta) = small_network();
    let sizes = |draw| {
        let budget = Budget::from(Prior::Uniform { low: 0.1, high: 0.2 }).draw(draw);
        // One step from x over the whole radius: the size is ε, up to the box.
        let bounds = Bounds::None;
        let attack = Attack { bounds, ..Attack::fgsm(Norm::Linf, budget) }.check().unwrap();
        let delta = shift(&attack, &model, &theta, &samples, &all(&samples));
        delta.chunks_exact(36).map(|d| Norm::Linf.of(d)).collect::<Vec<_>>()
    };
    let batch = sizes(Draw::Batch);
    assert!(batch.iter().all(|&e| e == batch[0]));
    let each = sizes(Draw::Sample);
    assert!(each.iter().all(|e| (0.1..0.2).contains(e)));
    assert!(each.iter().any(|&e| (e - each[0]).abs() > 0.01));
}

#[test]
fn indicators_and_columns_not_named_stay_as_they_are() {
    let values = vec![0.5, 1.0, -0.3, 0.0, 1.5, 0.0, 0.7, 1.0, -1.0, 1.0, 0.1, 1.0];
    let x = Inputs::new(values, 4).unwrap();
    let samples = Samples::new(x, Targets::Classes(vec![0, 1, 1])).unwrap();
    let model = Mlp::new(&[4, 8, 2], Activation::Tanh).unwrap();
    let theta = model.initial(1);
    let attack = Attack { bounds: Bounds::None, ..Attack::pgd(Norm::Linf, Budget::fixed(0.5)) };
    let delta = shift(&attack.clone().check().unwrap(), &model, &theta, &samples, &[0, 1, 2]);
    for row in delta.chunks_exact(4) {
        assert!(row[0] != 0.0 && row[2] != 0.0 && row[1] == 0.0 && row[3] == 0.0, "{row:?}");
    }
    let named = Attack { columns: Some(vec![2]), ..attack };
    let delta = shift(&named.check().unwrap(), &model, &theta, &samples, &[0, 1, 2]);
    assert!(delta.chunks_exact(4).all(|r| r[0] == 0.0 && r[2] != 0.0));
}

#[test]
fn a_targeted_attack_leads_to_its_class_and_leaves_those_of_it_alone() {
    let samples = images(30, 6, 6);
    let (model, theta) = lively_network();
    let rows = all(&samples);
    for loss in [AttackLoss::CrossEntropy, AttackLoss::Margin] {
        let aim = Aim::Targeted(2);
        let select = Select::Worst;
        let attack = Attack {
            aim,
            loss,
            select,
            steps: 20,
            step: 0.1,
            ..Attack::pgd(Norm::Linf, Budget::fixed(0.5))
        };
        let delta = shift(&attack.check().unwrap(), &model, &theta, &samples, &rows);
        let share = |shift: &[f32]| {
            let mut look = Look::new(&model, &theta, &samples, &rows);
            let z = look.outputs(shift);
            z.chunks_exact(3).filter(|z| z[2] > z[0] && z[2] > z[1]).count()
        };
        assert!(share(&delta) > share(&vec![0.0; delta.len()]), "{loss:?}");
        for (&row, delta) in rows.iter().zip(delta.chunks_exact(36)) {
            if samples.targets().get(row as usize) == Target::Class(2) {
                assert!(delta.iter().all(|&d| d == 0.0));
            }
        }
    }
}

#[test]
fn the_curve_falls_counts_everyone_and_does_not_depend_on_threads() {
    let samples = images(60, 6, 7);
    let (model, theta) = lively_network();
    let population = Population::new(samples);
    let attack = Attack {
        steps: 10,
        step: 0.2,
        restarts: 2,
        ..Attack::strong(Norm::Linf, Budget::fixed(0.0))
    };
    let curve = |epsilons: &[f64], threads| {
        robustness(&model, &theta, &population, &attack, epsilons, 1, threads, &mut |_, _| true)
            .unwrap()
    };
    let points = curve(&[0.3, 0.0, 0.05], 1);
    assert_eq!(points.iter().map(|p| p.epsilon).collect::<Vec<_>>(), [0.3, 0.0, 0.05]);
    assert!(points.iter().all(|p| p.total == 60));
    assert!(points[1].correct >= points[2].correct && points[2].correct > points[0].correct);
    assert_eq!(points, curve(&[0.3, 0.0, 0.05], 3));
    // ε = 0 is the clean accuracy.
    let rows: Vec<u32> = (0..60).collect();
    let mut look = Look::new(&model, &theta, population.samples(), &rows);
    let outputs = look.outputs(&vec![0.0; 60 * 36]).to_vec();
    let right = outputs.chunks_exact(3).enumerate().filter(|(r, z)| {
        let Target::Class(y) = population.samples().targets().get(*r) else { panic!("a class") };
        z.iter().all(|&other| other <= z[y as usize])
    });
    assert_eq!(points[1].correct, right.count());
}

#[test]
fn settings_out_of_range_are_refused() {
    let refused = |attack: Attack, setting: &str| match attack.check() {
        Err(Error::Setting { setting: found, .. }) => assert_eq!(found, setting),
        other => panic!("{setting}: {other:?}"),
    };
    let linf = |budget: Budget| Attack::pgd(Norm::Linf, budget);
    refused(linf(Budget::fixed(-0.1)), "epsilon");
    refused(linf(Budget::fixed(1.5)), "epsilon");
    refused(linf(Budget::fixed(f64::NAN)), "epsilon");
    refused(linf(Budget::beta(0.2, 0.0, 1.0)), "alpha of the Beta prior");
    refused(linf(Budget::beta(0.2, 1.0, -1.0)), "beta of the Beta prior");
    refused(linf(Prior::Uniform { low: 0.3, high: 0.1 }.into()), "high end of the uniform prior");
    let weights = vec![0.0, -1.0];
    let discrete = Prior::Discrete { values: vec![0.1, 0.2], weights };
    refused(linf(discrete.into()), "weight of the discrete prior");
    refused(Attack { steps: 0, ..linf(Budget::fixed(0.1)) }, "steps of the attack");
    refused(Attack { step: 0.0, ..linf(Budget::fixed(0.1)) }, "step of the attack");
    refused(Attack { restarts: 0, ..linf(Budget::fixed(0.1)) }, "restarts of the attack");
    refused(Attack { restarts: 2, ..linf(Budget::fixed(0.1)) }, "restarts of the attack");
    let bounds = Bounds::Within { low: 1.0, high: 0.0 };
    refused(Attack { bounds, ..linf(Budget::fixed(0.1)) }, "high bound of the attack");
    let unequal = Prior::Discrete { values: vec![0.1], weights: vec![] };
    assert!(matches!(linf(unequal.into()).check(), Err(Error::Shape { .. })));
    // Where there is no box, ε may be any size.
    let free = Attack { bounds: Bounds::None, ..linf(Budget::fixed(2.0)) };
    assert!(free.check().is_ok());
    assert!(Attack::pgd(Norm::L2, Budget::fixed(2.0)).check().is_ok());
}

fn robust_problem(epsilon: f64) -> Problem {
    let clean = Population::new(images(40, 6, 8));
    let attack = Attack::pgd(Norm::Linf, Budget::fixed(epsilon)).check().unwrap();
    let attacked = clean.through(Arc::new(attack));
    Problem::minimise(&clean, Loss::CrossEntropy)
        .subject_to(Requirement::average("robust", &attacked, Loss::CrossEntropy).at_most(0.8))
        .check()
        .unwrap()
}

#[test]
fn a_training_step_absorbs_the_clean_and_then_the_attacked_batch_and_nothing_of_the_attack() {
    let problem = robust_problem(0.1);
    let (model, _) = small_network();
    let learner = Learner::alternating(Adam::new(1e-3)).batch_size(40).epochs(1).seed(6);
    let mut training = learner.begin(&problem, &model).unwrap();
    let theta = training.state().theta.clone();
    training.advance().unwrap();
    let after = &training.state().theta;
    // The same by hand: δ at the first θ, in evaluation mode, then one forward pass in training.
    let samples = images(40, 6, 8);
    let rows: Vec<u32> = (0..40).collect();
    let attack = Attack::pgd(Norm::Linf, Budget::fixed(0.1)).check().unwrap();
    let mut delta = vec![0.0; 40 * 36];
    let place = TrainingPlace { seed: 6, epoch: 0 };
    attack.shift(&mut Look::new(&model, &theta, &samples, &rows), place, &mut delta);
    let mut expected = theta.clone();
    let mut tape = Default::default();
    let pass = Pass { mode: Mode::Training, ..Pass::default() };
    let shifts = [ViewShift::Dense(&delta)];
    let batch = Batch { inputs: samples.inputs(), rows: &rows, shifts: &shifts };
    let mut outputs = vec![0.0; batch.output_rows() * model.output_width()];
    model.forward(&theta, &batch, pass, &mut tape, &mut outputs);
    model.absorb(&mut expected, &mut tape);
    let trainable = model.trainable_count();
    assert_ne!(after[..trainable], theta[..trainable]);
    // The batch was shuffled: sums in another order.
    for (a, e) in after[trainable..].iter().zip(&expected[trainable..]) {
        assert!((a - e).abs() < 1e-5 * (1.0 + e.abs()), "{a} {e}");
    }
    assert!(
        after[trainable..].iter().zip(&theta[trainable..]).filter(|(a, t)| a != t).count() > 100
    );
}

#[test]
fn robust_training_gives_the_same_bits_for_any_threads_and_after_an_interruption() {
    let problem = robust_problem(0.1);
    let (model, _) = small_network();
    let learner = |threads| {
        Learner::alternating(Adam::new(1e-3)).batch_size(16).epochs(3).seed(2).threads(threads)
    };
    let solve = |threads| learner(threads).solve(&problem, &model).unwrap().theta;
    let one = solve(1);
    assert_eq!(one, solve(2));
    assert_eq!(one, solve(3));
    let first = learner(2);
    let mut training = first.begin(&problem, &model).unwrap();
    training.advance().unwrap();
    let saved = serde_json::to_string(training.state()).unwrap();
    drop(training);
    let state = serde_json::from_str(&saved).unwrap();
    let mut resumed = first.resume(&problem, &model, state).unwrap();
    while resumed.advance().is_some() {}
    assert_eq!(one, resumed.finish().theta);
}

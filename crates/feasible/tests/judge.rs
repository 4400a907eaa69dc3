//! A verdict under attack goes by the worst point for the requirement, and not by the attack that trained it.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use feasible::adversary::{Attack, Bounds, Budget, Judge, Norm, Prior, Select};
use feasible::requirement::Sense;
use feasible::{
    Inputs, Loss, Model, Population, Problem, Purpose, Requirement, Samples, Stream, Targets,
};
use feasible_nn::{Activation, Linear, Mlp};

const EPSILON: f64 = 0.3;

fn samples(classes: u32) -> Samples {
    let mut random = Stream::new(4, Purpose::View, 1, 1);
    let x = (0..40 * 3).map(|_| 2.0 * random.uniform() as f32 - 1.0).collect();
    let y = (0..40).map(|_| random.below(classes)).collect();
    Samples::new(Inputs::dense(x, 3).unwrap(), Targets::Classes(y)).unwrap()
}

fn attack(steps: u32, restarts: u32, select: Select) -> Attack {
    let usual = Attack::pgd(Norm::Linf, Budget::fixed(EPSILON));
    Attack { steps, step: 0.1, restarts, select, bounds: Bounds::None, ..usual }
}

/// The mean of a loss over the samples as an attack moves them, judged by it or not.
fn mean<M: Model>(
    model: &M,
    theta: &[M::Real],
    samples: &Samples,
    (loss, measure, sense): (Loss, Loss, Sense),
    (attack, judged): (Attack, bool),
) -> f64 {
    let adversary = attack.check().unwrap();
    let judge = Judge::new(&loss, &measure, sense);
    let adversary = if judged { adversary.judging(judge).unwrap() } else { adversary };
    let population = Population::new(samples.clone()).through(Arc::new(adversary));
    let requirement =
        Requirement::average("r", &population, loss).measured_by(measure).at_most(1.0);
    let objective = Population::new(samples.clone());
    let problem = Problem::minimise(&objective, Loss::CrossEntropy).subject_to(requirement);
    let problem = problem.check().unwrap();
    1.0 + problem.measure(model, theta).unwrap().violations[0].measured[0]
}

#[test]
fn in_a_linear_model_the_verdict_is_the_worst_corner_of_the_ball() {
    let (model, samples) = (Linear::new(3, 2).unwrap(), samples(2));
    let theta = [0.7, -0.4, 0.1, 0.9, -0.8, 0.2, 0.3, -0.1];
    // Two logits are a contrast c(x) = w·x + b, which a corner moves by ±ε‖w‖₁.
    let w: Vec<f64> =
        (0..3).map(|i| f64::from(theta[2 * i + 1]) - f64::from(theta[2 * i])).collect();
    let contrast = |row: usize| {
        let x = samples.inputs().row(row);
        x.iter().zip(&w).map(|(x, w)| f64::from(*x) * w).sum::<f64>() - 0.4
    };
    let reach = EPSILON * w.iter().map(|w| w.abs()).sum::<f64>();
    let positive = |row: usize| samples.targets().get(row) == feasible::Target::Class(1);
    let over = |f: &dyn Fn(usize) -> f64| (0..40).map(f).sum::<f64>() / 40.0;
    let sigmoid = |c: f64| 1.0 / (1.0 + (-c).exp());
    let judged =
        |losses| mean(&model, &theta, &samples, losses, (attack(50, 2, Select::Worst), true));

    let margin = |row: usize| if positive(row) { contrast(row) } else { -contrast(row) };
    let worst = over(&|row| (-(margin(row) - reach)).exp().ln_1p());
    let cross_entropy = (Loss::CrossEntropy, Loss::CrossEntropy, Sense::AtMost);
    // All in f32: seven digits.
    assert!((judged(cross_entropy) - worst).abs() < 1e-5, "{worst}");
    let errors = over(&|row| f64::from(u8::from(margin(row) - reach < 0.0)));
    assert_eq!(judged((Loss::SmoothedError, Loss::Error, Sense::AtMost)), errors);
    // A selection rate, whatever the answer: up if it is to be small, down if it is to be large.
    for (sense, side) in [(Sense::AtMost, 1.0), (Sense::AtLeast, -1.0)] {
        let selected = over(&|row| f64::from(u8::from(contrast(row) + side * reach > 0.0)));
        let losses = (Loss::Probability { class: 1 }, Loss::Selected { class: 1 }, sense);
        assert!((judged(losses) - selected).abs() < 1e-12, "{sense:?}");
    }
    // Between x and x + δ the answer is nowhere to be seen.
    let flips = over(&|row| f64::from(u8::from(contrast(row).abs() < reach)));
    let losses = (Loss::TotalVariation { smoothing: 1e-3 }, Loss::Flip, Sense::AtMost);
    assert!((judged(losses) - flips).abs() < 1e-12);
    let kl = |p: f64, q: f64| p * (p / q).ln() + (1.0 - p) * ((1.0 - p) / (1.0 - q)).ln();
    let divergence =
        |row: usize, side: f64| kl(sigmoid(contrast(row)), sigmoid(contrast(row) + side * reach));
    let worst = over(&|row| divergence(row, 1.0).max(divergence(row, -1.0)));
    let found = judged((Loss::Kl, Loss::Kl, Sense::AtMost));
    assert!((found - worst).abs() < 1e-5, "{found} {worst}");
}

#[test]
fn the_verdict_is_never_milder_than_the_attack_of_training() {
    let samples = samples(3);
    let model = Mlp::new(&[3, 16, 3], Activation::Tanh).unwrap();
    let theta: Vec<f32> = model.initial(3).iter().map(|t| 4.0 * t).collect();
    let losses = || (Loss::CrossEntropy, Loss::CrossEntropy, Sense::AtMost);
    let trained = mean(&model, &theta, &samples, losses(), (attack(5, 1, Select::Last), false));
    let worst = mean(&model, &theta, &samples, losses(), (attack(50, 2, Select::Worst), false));
    let judged = mean(&model, &theta, &samples, losses(), (attack(50, 2, Select::Worst), true));
    // A wrong answer first, then the loss, is not the largest loss where there are three classes.
    assert!(judged >= worst && judged > trained + 1e-3, "{trained} {worst} {judged}");
    let more = mean(&model, &theta, &samples, losses(), (attack(50, 4, Select::Worst), true));
    assert!(more >= judged);
}

#[test]
fn an_attack_that_takes_its_last_point_judges_nothing() {
    let judge = Judge::new(&Loss::CrossEntropy, &Loss::CrossEntropy, Sense::AtMost);
    let adversary = attack(5, 1, Select::Last).check().unwrap();
    assert!(adversary.judging(judge).unwrap_err().to_string().contains("Worst"));
}

#[test]
fn a_prior_is_drawn_from_for_each_sample_and_the_verdict_repeats() {
    let samples = samples(2);
    let (model, theta) = (Linear::new(3, 2).unwrap(), [0.7, -0.4, 0.1, 0.9, -0.8, 0.2, 0.3, -0.1]);
    let budget = Budget::from(Prior::Uniform { low: 0.0, high: 0.5 });
    let drawn = Attack { budget, ..attack(20, 2, Select::Worst) };
    let losses = || (Loss::CrossEntropy, Loss::CrossEntropy, Sense::AtMost);
    let once = mean(&model, &theta, &samples, losses(), (drawn.clone(), true));
    assert_eq!(once, mean(&model, &theta, &samples, losses(), (drawn, true)));
    let clean = Attack { budget: Budget::fixed(0.0), ..attack(20, 2, Select::Worst) };
    assert!(once > mean(&model, &theta, &samples, losses(), (clean, true)));
}

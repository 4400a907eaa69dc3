//! Fixed work whose instructions `bench/instructions` counts: one epoch of training at the AVX2 level,
//! which the counter can run and every current x86 machine has.
//!
//! `fixed_work adult | compas | deep`: prints what was done, so that equal counts are counts of equal work.

use feasible::{
    Dual, Error, Learner, Loss, Model, Population, Problem, Requirement, Training, rho,
};
use feasible_bench::tables::{ADULT, COMPAS, GENDER, RACES, SEX, dense};
use feasible_nn::{Activation, Adam, Level, Mlp};

/// Batches in the epoch.
const STEPS: usize = 20;
/// Exit code: the machine has no AVX2.
const NO_AVX2: i32 = 3;

fn main() -> Result<(), Error> {
    // Optimisers take the best level there is, so that must be the one the model gets.
    let level = Level::best();
    if level.name() != "avx2" {
        eprintln!("the best level here is {}, not avx2", level.name());
        std::process::exit(NO_AVX2);
    }
    let which = std::env::args().nth(1).unwrap_or_default();
    match which.as_str() {
        "adult" => adult(level),
        "compas" => compas(level),
        "deep" => deep(level),
        _ => {
            eprintln!("fixed_work adult | compas | deep");
            std::process::exit(2);
        }
    }
}

/// Every person's prediction invariant to gender: batches of 128, multipliers at 1.
fn adult(level: Level) -> Result<(), Error> {
    let everyone = ADULT.population(128 * STEPS)?;
    let other = everyone.counterfactual(rho::flip(GENDER))?;
    let gender = Requirement::pointwise("gender", &other, Loss::Kl).at_most(1e-3).start(1.0);
    let problem = Problem::minimise(&everyone, Loss::CrossEntropy).subject_to(gender).check()?;
    let model = Mlp::new(&[ADULT.width(), 64, 2], Activation::Sigmoid)?.with_level(level);
    train(&problem, &model, 128)
}

/// Thirteen average effects, of sex, of each pair of races, and of both: batches of 256.
fn compas(level: Level) -> Result<(), Error> {
    let everyone = COMPAS.population(256 * STEPS)?;
    let invariant = |name: String, other: Population| {
        Requirement::average(name, &other, Loss::Kl).at_most(1e-5).start(1.0)
    };
    let mut draft = Problem::minimise(&everyone, Loss::CrossEntropy)
        .subject_to(invariant("sex".into(), everyone.counterfactual(rho::flip(SEX))?));
    for (i, &a) in RACES.iter().enumerate() {
        for &b in &RACES[i + 1..] {
            let race = everyone.counterfactual(rho::swap(a, b))?;
            let both = everyone.counterfactual(rho::flip(SEX).and(rho::swap(a, b)))?;
            draft = draft
                .subject_to(invariant(format!("{a} and {b}"), race))
                .subject_to(invariant(format!("sex, {a} and {b}"), both));
        }
    }
    let model = Mlp::new(&[COMPAS.width(), 64, 2], Activation::Sigmoid)?.with_level(level);
    train(&draft.check()?, &model, 256)
}

/// Three layers of 256 on 256 dense columns, two batches of 128, no requirement.
fn deep(level: Level) -> Result<(), Error> {
    let everyone = dense(256, 256, 10)?;
    let problem = Problem::minimise(&everyone, Loss::CrossEntropy).check()?;
    let model = Mlp::new(&[256, 256, 256, 256, 10], Activation::Relu)?.with_level(level);
    train(&problem, &model, 128)
}

fn train(problem: &Problem, model: &Mlp, batch: usize) -> Result<(), Error> {
    let learner = Learner::alternating(Adam::new(0.1)).dual(Dual::adam(0.01));
    let learner = learner.batch_size(batch).epochs(1).seed(0);
    let mut training = learner.begin(problem, model)?;
    let objective = counted_epoch(&mut training);
    println!("{objective:?}");
    Ok(())
}

/// What is counted.
#[inline(never)]
fn counted_epoch<M: Model>(training: &mut Training<M>) -> Option<f64> {
    training.advance().map(|report| report.objective)
}

//! Fair classification on made-up applicants: before, and after requiring that a prediction may
//! not depend on the applicant's group, and that neither group is refused too often by mistake.
//!
//!     cargo run --release --example fair
#![allow(clippy::print_stdout)]

use std::time::Instant;

use feasible::{
    Dual, Inputs, Learner, Loss, Population, Problem, Purpose, Requirement, Samples, Schedule,
    Solution, Stream, Targets, rho,
};
use feasible_nn::{Activation, Adam, Mlp};

const GROUP: usize = 0;
const EPOCHS: u64 = 150;

/// 4,000 applicants: group, three one-hot regions (two of them where the group mostly lives), and
/// two numbers. Past decisions favoured the group.
fn applicants(seed: u64) -> Result<Population, feasible::Error> {
    let mut stream = Stream::new(seed, Purpose::View, 0, 0);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..4000 {
        let group = f64::from(stream.uniform() < 0.5);
        let region = if stream.uniform() < 0.7 * group { 0 } else { 1 + stream.below(2) as usize };
        let mut bell = || (0..12).map(|_| stream.uniform()).sum::<f64>() - 6.0;
        let (skill, noise) = (bell(), bell());
        let score = 1.2 * skill + 1.4 * group + 0.3 * region as f64 - 0.8;
        let mut row = [group as f32, 0.0, 0.0, 0.0, skill as f32, noise as f32];
        row[1 + region] = 1.0;
        x.extend(row);
        y.push(u32::from(stream.uniform() < 1.0 / (1.0 + (-score).exp())));
    }
    Ok(Population::new(Samples::new(Inputs::new(x, 6)?, Targets::Classes(y))?))
}

/// Invariance to the group for every single applicant, and a ceiling on wrong refusals.
fn requirements(people: &Population) -> Result<Vec<Requirement>, feasible::Error> {
    let other_group = people.counterfactual(rho::flip(GROUP))?;
    let deserving = |group: f32| {
        people.filter(move |s| s.target == feasible::Target::Class(1) && s.inputs()[GROUP] == group)
    };
    let refused = |name: &str, group: f32| {
        Requirement::average(name, &deserving(group), Loss::Probability { class: 0 })
            .measured_by(Loss::Selected { class: 0 })
            .at_most(0.3)
    };
    Ok(vec![
        Requirement::pointwise("group does not matter", &other_group, Loss::Kl).at_most(1e-3),
        refused("wrongly refused, group 0", 0.0),
        refused("wrongly refused, group 1", 1.0),
    ])
}

/// What a model achieves on the training requirements and on new applicants.
fn report(
    fair: &Problem,
    audit: &Problem,
    model: &Mlp,
    solution: &Solution<f32>,
) -> Result<(), feasible::Error> {
    println!(
        "  {:<26} {:>12} {:>10} {:>11}",
        "requirement", "worst violation", "violated", "multiplier"
    );
    let measured = fair.measure(model, &solution.theta)?;
    for (i, (requirement, violations)) in
        fair.requirements().iter().zip(&measured.violations).enumerate()
    {
        let standing = solution.requirements.get(i);
        let multiplier = standing.map_or("none".into(), |s| format!("{:.2}", s.multiplier));
        let (worst, violated) = (violations.worst(), 100.0 * violations.violated(0.0));
        println!("  {:<26} {worst:>+12.5} {violated:>8.1} % {multiplier:>11}", requirement.name());
    }
    let rates = audit.measure(model, &solution.theta)?;
    let rate = |i: usize| 100.0 * rates.violations[i].measured[0];
    let (right, changed) = (100.0 - rate(0), rate(1));
    println!(
        "  on new applicants: {right:.1} % right, {changed:.2} % of predictions change with the group\n"
    );
    Ok(())
}

fn main() -> Result<(), feasible::Error> {
    let (train, test) = (applicants(1)?, applicants(2)?);
    let plain = Problem::minimise(&train, Loss::CrossEntropy).check()?;
    let fair = plain.with_requirements(requirements(&train)?)?;

    // Two rates to read off new applicants: the error and the flip rate (limits do not matter here).
    let flipped = test.counterfactual(rho::flip(GROUP))?;
    let smooth = Loss::TotalVariation { smoothing: 1e-3 };
    let audit = Problem::minimise(&test, Loss::CrossEntropy)
        .subject_to(
            Requirement::average("error", &test, Loss::SmoothedError)
                .measured_by(Loss::Error)
                .at_most(0.0),
        )
        .subject_to(
            Requirement::average("flip", &flipped, smooth).measured_by(Loss::Flip).at_most(0.0),
        )
        .check()?;

    let model = Mlp::new(&[6, 16, 2], Activation::Sigmoid)?;
    let decay = Schedule::Cosine { over: EPOCHS as f64, floor: 0.0 };
    let learner = Learner::alternating(Adam::new(0.02).schedule(decay)).epochs(EPOCHS).seed(7);

    let start = Instant::now();
    println!("Before: no requirements");
    report(&fair, &audit, &model, &learner.solve(&plain, &model)?)?;

    let learner = learner
        .dual(Dual::adam(0.1))
        .dual_for("group does not matter", Dual::ascent(1000.0))
        .keep_best();
    let solution = learner.solve(&fair, &model)?;
    println!("After: {}", solution.outcome);
    report(&fair, &audit, &model, &solution)?;

    let lambda = solution.multipliers.of(0);
    let hardest = lambda.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(n, _)| n);
    println!(
        "{:.1} % of the 4,000 multipliers λ are 0: for those applicants invariance was free.",
        100.0 * solution.multipliers.share_at_zero(0)
    );
    println!(
        "The hardest was applicant {hardest}, λ = {:.1}: {:.2?}",
        lambda[hardest],
        train.samples().inputs().row(hardest)
    );
    println!("Both trainings took {:.2} s.", start.elapsed().as_secs_f64());
    Ok(())
}

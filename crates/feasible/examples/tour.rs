//! A tour: every form of a requirement, every setting of a learner, a training by hand, and what comes back.
#![allow(clippy::print_stdout)]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use feasible::learner::{Cadence, Merit, Phase, Remedy};
use feasible::reduce::Alone;
use feasible::{
    Dual, DualMethod, Error, Inputs, Kind, Learner, Loss, Multipliers, Outcome, Population,
    Problem, Purpose, Reduce, Requirement, Samples, Schedule, Solution, Stream, Targets, rho,
};
use feasible_nn::{Activation, Adam, Linear, Mlp, Sgd};

/// People with a group (column 0), a number, and a class that depends on both.
fn people(rows: usize, seed: u64) -> Result<Population, Error> {
    let mut random = Stream::new(seed, Purpose::View, 0, 0);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let (group, number) = (random.below(2) as f32, random.uniform() as f32);
        let p = 0.2 + 0.2 * f64::from(group) + 0.5 * f64::from(number);
        x.extend([group, number]);
        y.push(u32::from(random.uniform() < p));
    }
    Ok(Population::new(Samples::new(Inputs::new(x, 2)?, Targets::Classes(y))?))
}

/// Requirements of every form.
fn requirements(everyone: &Population) -> Result<Vec<Requirement>, Error> {
    let one = everyone.filter(|sample| sample.inputs()[0] == 1.0);
    let zero = everyone.filter(|sample| sample.inputs()[0] == 0.0);
    let other_group = everyone.counterfactual(rho::flip(0))?;
    let set_to_one = everyone.counterfactual(rho::set(0, 1.0))?;
    let loss = Loss::CrossEntropy;
    Ok(vec![
        // An average, judged a little more strictly in training than it is stated.
        Requirement::average("group 1", &one, loss.clone()).at_most(0.6).margin(0.01),
        // A rate: the gradient is that of the surrogate, the verdict that of the rate.
        Requirement::average("error", everyone, loss.clone()).measured_by(Loss::Error).at_most(0.4),
        // Differences of averages, of the same loss or of two.
        Requirement::average("gap", &one, loss.clone()).minus(&zero).at_most(0.2),
        Requirement::average("both", &one, loss.clone()).plus(0.5, &zero).at_most(1.1),
        Requirement::average("two losses", &one, loss.clone())
            .minus_loss(&zero, Loss::SmoothedError)
            .at_most(1.0),
        Requirement::average("three", &one, loss.clone())
            .plus_loss(0.1, &zero, Loss::SmoothedError)
            .at_most(1.0),
        // Every single row; all but a share of them; each with a limit of its own.
        Requirement::pointwise("counterfactual", &other_group, Loss::Kl).at_most(0.05).start(0.5),
        Requirement::pointwise("nearly all", &set_to_one, Loss::Kl).at_most(0.01).all_but(0.7),
        Requirement::pointwise("each", everyone, loss.clone())
            .at_most_each(vec![3.0; everyone.points()]),
        // Floors instead of ceilings.
        Requirement::average("selected", &zero, Loss::Probability { class: 1 }).at_least(0.2),
        Requirement::pointwise("a chance for all", everyone, Loss::Probability { class: 1 })
            .at_least_each(vec![0.05; everyone.points()]),
    ])
}

fn describe(problem: &Problem) {
    for requirement in problem.requirements() {
        let what = match requirement.kind() {
            Kind::Average => "on average".to_string(),
            Kind::Pointwise => format!("all but {} of the rows", requirement.allowed_share()),
        };
        let terms: Vec<String> = requirement
            .terms()
            .iter()
            .map(|term| format!("{:+} {}", term.coefficient(), term.loss()))
            .collect();
        println!("  {}: {} {what}", requirement.name(), terms.join(" "));
    }
}

fn show(solution: &Solution<f64>) {
    let what = match &solution.outcome {
        Outcome::Converged | Outcome::Feasible => "every requirement is met".to_string(),
        Outcome::Infeasible { requirement, proven, .. } => {
            format!("'{requirement}' cannot be met (proven: {proven})")
        }
        other => other.to_string(),
    };
    println!(
        "{what}; objective {:.4}, KKT residual {:.1e}",
        solution.objective(),
        solution.kkt.residual()
    );
    for shortfall in &solution.shortfalls {
        let what = match shortfall.remedy {
            Remedy::MoreEpochs => "train longer",
            Remedy::RelaxTogether => "relax this limit or another",
            Remedy::RelaxOrEnrich => "relax this limit, or take a richer model",
        };
        println!("  {} is not met: {what}", shortfall.requirement);
    }
}

fn main() -> Result<(), Error> {
    let everyone = people(200, 1)?;
    let draft = Problem::minimise(&everyone, Loss::CrossEntropy).weight_decay(1e-3);
    let mut problem = draft.check()?;
    problem = problem.with_requirements(requirements(&everyone)?)?;
    describe(&problem);
    let network = Mlp::new(&[2, 4, 2], Activation::Tanh)?.double();
    problem.check_model(&network)?;
    println!("convex: {}, attacked: {}", problem.is_convex(&network), problem.has_adaptive_views());

    // Dual optimisers.
    let duals = [
        Dual::ascent(0.1),
        Dual::algorithm1(0.1),
        Dual::adam_with(0.05, 0.9, 0.99),
        Dual::nu_pi(0.1, 0.5, 0.9).schedule(Schedule::Constant),
    ];
    let momentum = duals.iter().filter(|dual| matches!(dual.method(), DualMethod::Adam { .. }));
    println!("{} of {} dual optimisers are Adam", momentum.count(), duals.len());

    // First-order learners, with every setting.
    let validation = Problem::minimise(&people(100, 2)?, Loss::CrossEntropy).check()?;
    let validation = validation.with_requirements(requirements(&people(100, 2)?)?)?;
    let learner = Learner::simultaneous(Adam::new(0.02))
        .epochs(30)
        .batch_size(50)
        .dual(duals[0])
        .dual_for("counterfactual", duals[2])
        .dual_period(2)
        .measure_on(1000)
        .threads(2)
        .seed(7)
        .tolerance(1e-3)
        .patience(25)
        .look_for_infeasibility(true)
        .keep_best_on(validation);
    let observed = learner.solve_observed(&problem, &network, |report| match report.epoch {
        20 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })?;
    show(&observed);
    let plain = Learner::<f64>::alternating(Sgd::new(0.1)).dual_period(2).keep_last();
    println!(
        "moves multipliers every other epoch: {}",
        plain.cadence() == Some(Cadence::Epochs(2))
    );

    // The exact learner, for a convex problem.
    let linear = Linear::new(2, 2)?.double();
    let two = problem.requirements()[..2].to_vec();
    let convex = problem.with_requirements(two)?;
    let exact = Learner::exact()
        .relative_tolerance(1e-6)
        .stop_at_kkt(1e-9)
        .stop_at_gap(1e-12)
        .penalty(10.0)
        .inner_iterations(500);
    let solution = exact.solve(&convex, &linear)?;
    show(&solution);
    println!(
        "a multiplier is a price: {:.4}",
        solution.multipliers_of("group 1").unwrap_or(&[])[0]
    );

    // A training by hand: started elsewhere, observed, interrupted, ended.
    let learner = Learner::alternating(Adam::new(0.05)).epochs(50).never_stop_early();
    let mut training = learner.begin(&convex, &linear)?;
    training.warm_start(&solution.theta, &Multipliers::start(&convex))?;
    let mut phases = 0;
    while let Some(report) =
        training.advance_observed(&mut |phase| phases += u32::from(phase == Phase::Primal))
    {
        if report.epoch == 5 {
            training.interrupter().store(true, Ordering::Relaxed);
        }
    }
    println!("{phases} epochs begun, {} done", training.state().epoch);
    training.end_here();
    let by_hand = training.finish();

    // What a θ achieves, and how far a pair is from optimal.
    let measurement = convex.measure(&linear, &by_hand.theta)?;
    let standings = measurement.standings(&convex, &by_hand.multipliers, 0.0);
    let met = standings.iter().filter(|standing| standing.met).count();
    println!(
        "{met} of {} met; feasible: {}",
        standings.len(),
        measurement.is_feasible(&convex, 0.0)
    );
    let (a, b) =
        (Merit::new(&convex, &measurement, 0.0), Merit::new(&convex, &solution.measurement, 1e-6));
    println!("by hand beats exact: {}", a.beats(&b, 0.0));
    let optimality = convex.optimality(&linear, &by_hand.theta, &by_hand.multipliers)?;
    println!("gap {:.1e}, ‖μ‖ {:.3}", optimality.gap.relative, by_hand.multipliers.norm());

    // Rows on several workers; here there is one.
    let workers: Arc<dyn Reduce> = Arc::new(Alone);
    println!("{} worker", workers.workers());
    let spread = exact.solve(&convex.spread_over(workers)?, &linear)?;
    println!("the same: {}", spread.theta == solution.theta);
    Ok(())
}

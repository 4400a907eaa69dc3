//! 360 random convex problems, solved by [`Learner::exact`] and, from the same raw numbers, by
//! Clarabel. `oracle/` says how; nothing of the crate's losses, models or Lagrangian is used there.
//!
//! Six kinds of model (linear and kernel; squared, logistic, softmax objective) times six
//! families of requirements times ten; and beside them problems that are hard in one way each (units,
//! conditioning, degenerate data, linear losses, measures). A summary is printed by
//!
//!     cargo test -p feasible --test suite -- convex_oracle:: --nocapture
#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use crate::depth::depth;
use feasible::{
    Inputs, Learner, Loss, Outcome, Population, Problem, Requirement, Samples, Targets,
};
use feasible_nn::Linear;
use feasible_oracle::{
    Family, Instance, Machine, Program, Random, Raw, Regression, Scope, Shape, Verdict, grid,
};

/// Problems per model and family.
fn each() -> u64 {
    10 * depth()
}

/// Relative error of the objective, and violation.
const CLOSE: f64 = 1e-4;

/// |λ − λ*| ≤ 1e-3 (1 + |λ*|): absolute for multipliers up to 1, where a relative error would
/// ask for many digits of a barely active constraint; relative above, because λ* goes up to 60 here
/// and both solvers know it relative to its size.
const MULTIPLIER: f64 = 1e-3;

/// A pair whose KKT residual is ε has multipliers that are wrong by up to ε N/σ, σ the smallest
/// singular value of the active gradients and N ≤ 60: with σ ≥ 3e-2 (when multipliers count as
/// unique) and gradients of size 0.1 to 1, 1e-8 leaves a margin of ten below `MULTIPLIER`.
fn learner() -> Learner<f64> {
    Learner::exact().stop_at_kkt(1e-8)
}

/// The worst of a family.
#[derive(Default)]
struct Worst {
    objective: f64,
    violation: f64,
    multiplier: f64,
    kkt: f64,
    unique: usize,
    active: usize,
    outer: u64,
}

#[allow(clippy::print_stdout)] // The summary is what --nocapture is for.
fn agrees(name: &str, regression: Regression, kernel: bool) {
    println!(
        "{name:16} family      count  objective  violation  multiplier  unique  active  KKT      \
         outer"
    );
    let mut unique = 0;
    for family in Family::ALL {
        let mut worst = Worst::default();
        for number in 0..each() {
            let id = format!("{name}, {family:?} {number}");
            let instance = feasible_oracle::instance(regression, kernel, family, number);
            match family {
                Family::Infeasible => judge_infeasible(&id, &instance, &mut worst),
                _ => judge(&id, &instance, family, &mut worst),
            }
        }
        unique += worst.unique;
        println!(
            "{name:16} {:10} {:6}    {:.1e}    {:.1e}     {:.1e} {:7} {:7}  {:.1e} {:6.1}",
            format!("{family:?}"),
            each(),
            worst.objective,
            worst.violation,
            worst.multiplier,
            worst.unique,
            worst.active,
            worst.kkt,
            worst.outer as f64 / each() as f64,
        );
        let binding = [Family::Average, Family::Pointwise, Family::Mixed].contains(&family);
        assert!(!binding || worst.active >= 5, "{name}, {family:?}: too few requirements bind");
    }
    assert!(unique as u64 >= 4 * each(), "{name}: multipliers were compared {unique} times only");
}

/// A feasible problem: same objective, same multipliers where they are unique, KKT always.
fn judge(id: &str, instance: &Instance, family: Family, worst: &mut Worst) {
    let Instance { problem, program, machine } = instance;
    let verdict = feasible_oracle::solve(program);
    let Verdict::Solved { theta, multipliers } = verdict else { panic!("{id}: {verdict:?}") };
    let solution = machine.solve(&learner(), problem, |_| ControlFlow::Continue(()));
    assert_eq!(solution.outcome, Outcome::Converged, "{id}");

    let optimum = program.value(&theta);
    let objective = (solution.objective() - optimum).abs() / optimum;
    assert!(objective <= CLOSE, "{id}: objective {} is not {optimum}", solution.objective());
    // The crate's own account of θ, against the second one: both sum at most 60 numbers.
    let again = program.value(&solution.theta);
    assert!((solution.objective() - again).abs() <= 1e-12 * (1.0 + again), "{id}");

    let ours: Vec<Vec<f64>> = solution.multipliers.iter().map(<[f64]>::to_vec).collect();
    let kkt = program.kkt(&solution.theta, &ours);
    assert!(kkt.violation <= CLOSE, "{id}: {kkt:?}");
    // 1e-8 was asked for; sums in another order differ by rounding.
    assert!(kkt.residual() <= 2e-8, "{id}: {kkt:?}");
    assert!(solution.kkt.residual() <= 1e-8, "{id}: {:?}", solution.kkt);
    assert!(ours.iter().flatten().all(|&m| m >= 0.0), "{id}");

    let pairs = || ours.iter().flatten().zip(multipliers.iter().flatten());
    let error = pairs().map(|(m, o)| (m - o).abs() / (1.0 + o)).fold(0.0, f64::max);
    if program.multipliers_are_unique(&theta, &multipliers) {
        assert!(error <= MULTIPLIER, "{id}: multipliers {ours:?} are not {multipliers:?}");
        worst.multiplier = worst.multiplier.max(error);
        worst.unique += 1;
    }
    // Requirements that cost nothing have multipliers 0.
    if family == Family::Inactive {
        assert!(pairs().all(|(m, o)| *m == 0.0 && *o < 1e-6), "{id}: {ours:?}");
    }
    worst.active += usize::from(multipliers.iter().flatten().any(|&m| m > 1e-3));
    worst.objective = worst.objective.max(objective);
    worst.violation = worst.violation.max(kkt.violation);
    worst.kkt = worst.kkt.max(kkt.residual());
    worst.outer += solution.epochs;
}

/// A contradiction: named as such by the learner, and confirmed by Clarabel, for which the least
/// worst violation τ* is positive. The learner's violation is one of the violations at some θ, and
/// the largest there, so it cannot be below τ*.
fn judge_infeasible(id: &str, instance: &Instance, worst: &mut Worst) {
    let Instance { problem, program, machine } = instance;
    let verdict = feasible_oracle::solve(program);
    assert!(!matches!(verdict, Verdict::Solved { .. }), "{id}: {verdict:?}");
    let least = feasible_oracle::least_violation(program);
    assert!(least > 1e-3, "{id}: least violation {least}");
    let solution = machine.solve(&learner(), problem, |_| ControlFlow::Continue(()));
    let Outcome::Infeasible { requirement, violation, proven } = &solution.outcome else {
        panic!("{id}: {}", solution.outcome)
    };
    assert!(*proven, "{id}: a convex contradiction is proven");
    assert!(problem.requirements().iter().any(|r| r.name() == requirement), "{id}");
    assert!(
        *violation >= least - 1e-6,
        "{id}: violation {violation} below the least violation {least}"
    );
    worst.violation = worst.violation.max(*violation);
    worst.outer += solution.epochs;
}

/// The other shapes: the same objective and multipliers, whatever the units.
#[test]
fn problems_of_every_shape_agree_with_the_conic_solver() {
    for shape in Shape::ALL {
        let mut unique = 0;
        for number in 0..each() {
            let id = format!("{shape:?} {number}");
            unique += usize::from(judge_shape(&id, shape, &feasible_oracle::shaped(shape, number)));
        }
        let compared = [Shape::Equalities, Shape::Duplicates, Shape::Wide].contains(&shape);
        assert!(
            compared || unique >= 4,
            "{shape:?}: multipliers were compared {unique} times only"
        );
    }
}

/// Whether multipliers could be compared.
fn judge_shape(id: &str, shape: Shape, shaped: &feasible_oracle::Shaped) -> bool {
    let Instance { problem, program, machine } = &shaped.instance;
    let solution = machine.solve(&Learner::exact(), problem, |_| ControlFlow::Continue(()));
    let mut program = program.clone();
    let mut outcome = Outcome::Converged;
    if shape == Shape::AllBut {
        // The oracle is told which points are left out; whether others had been better, nobody claims.
        let Scope::Pointwise(limits) = &mut program.requirements[0].1 else {
            panic!("{id}: on every point")
        };
        for (limit, &s) in limits.iter_mut().zip(&solution.measurement.violations[0].measured) {
            *limit += if s > 1e-6 { 2.0 * s } else { 0.0 };
        }
        if solution.multipliers.of(0).iter().any(|&m| m > 0.0) {
            outcome = Outcome::Feasible;
        }
    }
    let verdict = feasible_oracle::solve(&program);
    let Verdict::Solved { theta, multipliers } = verdict else { panic!("{id}: {verdict:?}") };
    assert_eq!(solution.outcome, outcome, "{id}: {:?}", solution.kkt);
    let optimum = shaped.objective * program.value(&theta);
    let error = (solution.objective() - optimum).abs() / optimum;
    assert!(error <= 1e-6, "{id}: objective {} is not {optimum}", solution.objective());
    assert!(solution.is_feasible(), "{id}: {:?}", solution.requirements);
    let ours: Vec<Vec<f64>> = (solution.multipliers.iter().zip(&shaped.multipliers))
        .map(|(m, factor)| m.iter().map(|m| m / factor).collect())
        .collect();
    if shape == Shape::Equalities {
        // Only the difference is unique.
        let difference = |m: &[Vec<f64>]| m[0][0] - m[1][0];
        let (a, b) = (difference(&ours), difference(&multipliers));
        assert!((a - b).abs() <= MULTIPLIER * (1.0 + b.abs()), "{id}: {a} is not {b}");
        return true;
    }
    let unique = program.multipliers_are_unique(&theta, &multipliers);
    let mut pairs = ours.iter().flatten().zip(multipliers.iter().flatten());
    let close = pairs.all(|(m, o)| (m - o).abs() <= MULTIPLIER * (1.0 + o));
    assert!(!unique || close, "{id}: multipliers {ours:?} are not {multipliers:?}");
    unique
}

/// Eight overlapping clusters whose five groups each have a limit on their cross-entropy.
fn clusters(rows: usize, number: u64) -> Instance {
    let mut random = Random::new(8, number);
    let centres: Vec<Vec<f64>> = (0..8).map(|_| random.normals(4)).collect();
    let mut base = Raw { x: Vec::new(), y: Vec::new() };
    let mut group = Vec::new();
    for n in 0..rows {
        let (class, of) = (n % 8, random.count(0, 4));
        let spread = 0.6 + 0.2 * of as f64;
        let near = |c: &f64| grid(1.5 * c + spread * random.normal());
        let mut x: Vec<f64> = centres[class].iter().map(near).collect();
        x.extend((0..5).map(|g| f64::from(u8::from(g == of))));
        base.x.push(x);
        base.y.push(class as f64);
        group.push(of);
    }
    let machine = Machine::Linear { inputs: 9, outputs: 8 };
    let (population, decay) = (base.population(Regression::Softmax), 1e-2);
    let of = |g: usize| -> Vec<bool> { group.iter().map(|of| *of == g).collect() };
    let losses = |raw: &Raw| machine.features(&raw.x).loss(&Loss::CrossEntropy, &raw.y);
    let mut program = Program {
        parameters: machine.parameters(),
        decay,
        objective: losses(&base),
        requirements: (0..5).map(|g| (losses(&base.subset(&of(g))), Scope::Average(0.0))).collect(),
    };
    // A θ to which the groups with the largest losses matter most.
    let theta = program.compromise(&[0.0, 0.1, 0.3, 1.0, 3.0].map(|w| vec![w]));
    let mut draft = Problem::minimise(&population, Loss::CrossEntropy).weight_decay(decay);
    for (g, (rows, scope)) in program.requirements.iter_mut().enumerate() {
        let limit = 1.01 * rows.mean(&theta);
        *scope = Scope::Average(limit);
        let people = population.subset(&of(g)).unwrap();
        let requirement = Requirement::average(format!("group {g}"), &people, Loss::CrossEntropy);
        draft = draft.subject_to(requirement.at_most(limit));
    }
    Instance { problem: draft.check().unwrap(), program, machine }
}

#[test]
fn eight_classes_under_limits_on_five_groups_are_solved_as_clarabel_solves_them() {
    let mut worst = Worst::default();
    for number in 0..depth() + 1 {
        let instance = clusters(if depth() > 1 { 1500 } else { 100 }, number);
        judge(&format!("clusters {number}"), &instance, Family::Average, &mut worst);
    }
    assert!(worst.active >= 2, "only {} requirements bind", worst.active);
}

/// θ and μ are those of the problem whose surrogate has its limit where the measured loss meets its own.
#[test]
fn a_requirement_measured_by_another_loss_is_met_as_measured_at_the_least_objective() {
    let mut active = 0;
    for number in 0..2 * each() {
        let Instance { problem, mut program, machine } = feasible_oracle::measured(number);
        let solution = machine.solve(&Learner::exact(), &problem, |_| ControlFlow::Continue(()));
        assert_eq!(solution.outcome, Outcome::Converged, "{number}: {:?}", solution.kkt);
        let (violation, mu) =
            (solution.measurement.violations[0].measured[0], solution.multipliers.of(0)[0]);
        assert!(violation <= 1e-6 && mu * violation.abs() <= 1e-6, "{number}: {violation}, {mu}");
        let rows = program.requirements[0].0.clone();
        let limit = if mu > 0.0 { rows.mean(&solution.theta) } else { f64::MAX.sqrt() };
        match mu > 0.0 {
            true => program.requirements = vec![(rows, Scope::Average(limit))],
            false => program.requirements = Vec::new(),
        }
        let verdict = feasible_oracle::solve(&program);
        let Verdict::Solved { theta, multipliers } = verdict else {
            panic!("{number}: {verdict:?}")
        };
        let optimum = program.value(&theta);
        assert!((solution.objective() - optimum).abs() <= 1e-6 * optimum, "{number}");
        if mu > 0.0 {
            let expected = multipliers[0][0];
            let error = (mu - expected).abs() / (1.0 + expected);
            assert!(error <= MULTIPLIER, "{number}: {mu} is not {expected}");
            active += 1;
        }
    }
    assert!(active >= 10, "only {active} requirements bind");
}

/// Targets −u and u at the same x: nobody is within 0.4 u² and 0.5 u² of both.
#[test]
fn contradictions_are_proven_in_every_unit() {
    for unit in [1e-3f32, 1.0, 1e3] {
        let at = |y: f32| {
            let inputs = Inputs::dense(vec![0.5, 1.5, 2.5], 1).unwrap();
            Population::new(Samples::new(inputs, Targets::Values(vec![y; 3])).unwrap())
        };
        let (low, high, square) = (at(-unit), at(unit), f64::from(unit * unit));
        let problem = Problem::minimise(&low, Loss::Squared)
            .subject_to(Requirement::average("low", &low, Loss::Squared).at_most(0.4 * square))
            .subject_to(Requirement::pointwise("high", &high, Loss::Squared).at_most(0.5 * square))
            .check()
            .unwrap();
        let model = Linear::new(1, 1).unwrap().double();
        let outcome = Learner::exact().solve(&problem, &model).unwrap().outcome;
        assert!(matches!(outcome, Outcome::Infeasible { proven: true, .. }), "{unit}: {outcome}");
        assert!(outcome.to_string().starts_with("infeasible: "), "{outcome}");
    }
}

#[test]
fn ridge_regression_agrees_with_the_conic_solver() {
    agrees("ridge", Regression::Number, false);
}

#[test]
fn logistic_regression_agrees_with_the_conic_solver() {
    agrees("logistic", Regression::Binary, false);
}

#[test]
fn softmax_regression_agrees_with_the_conic_solver() {
    agrees("softmax", Regression::Softmax, false);
}

#[test]
fn kernel_ridge_regression_agrees_with_the_conic_solver() {
    agrees("kernel ridge", Regression::Number, true);
}

#[test]
fn kernel_logistic_regression_agrees_with_the_conic_solver() {
    agrees("kernel logistic", Regression::Binary, true);
}

#[test]
fn kernel_softmax_regression_agrees_with_the_conic_solver() {
    agrees("kernel softmax", Regression::Softmax, true);
}

/// Inputs of size 1e-6 beside a bias of size 1 make gradients that are small everywhere; a verdict must
/// not mistake that for a stationary point.
#[test]
fn inputs_in_small_units_are_not_called_infeasible() {
    for unit in [1.0, 1e-2, 1e-4, 1e-6] {
        let x: Vec<f32> = (0..20).map(|n| unit * (n as f32 / 10.0 - 0.95)).collect();
        let classes = Targets::Classes(x.iter().map(|x| u32::from(*x > 0.0)).collect());
        let inputs = Inputs::dense(x, 1).unwrap();
        let everyone = Population::new(Samples::new(inputs, classes).unwrap());
        let problem = Problem::minimise(&everyone, Loss::Logistic)
            .weight_decay(1e-6)
            .subject_to(Requirement::average("fit", &everyone, Loss::Logistic).at_most(0.1))
            .check()
            .unwrap();
        let model = Linear::new(1, 1).unwrap().double();
        let solution = Learner::exact().epochs(40).solve(&problem, &model).unwrap();
        let verdict = matches!(solution.outcome, Outcome::Infeasible { .. });
        assert!(!verdict, "unit {unit}: {}", solution.outcome);
    }
}

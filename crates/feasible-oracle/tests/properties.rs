//! Properties that hold whatever the data: scaling, no requirements, permutations, λ ≥ 0.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use feasible::loss::{CustomLoss, Properties};
use feasible::{
    Dual, Inputs, Learner, Loss, Model, Outcome, Population, Problem, Requirement, Samples,
    Solution, Target, Targets, rho,
};
use feasible_nn::{Activation, Adam, Linear, Mlp, Sgd};
use feasible_oracle::{Random, Raw, Regression};
use proptest::prelude::*;

/// a (f − y)².
#[derive(Debug)]
struct Scaled(f64);

impl CustomLoss for Scaled {
    fn name(&self) -> String {
        format!("{} times the squared error", self.0)
    }

    fn value(&self, at: &[f64], _: &[f64], target: Target<'_>) -> f64 {
        let Target::Value(y) = target else { return f64::NAN };
        self.0 * (at[0] - f64::from(y)).powi(2)
    }

    fn gradient(
        &self,
        at: &[f64],
        _: &[f64],
        target: Target<'_>,
        by_at: &mut [f64],
        _: &mut [f64],
    ) {
        let Target::Value(y) = target else { return };
        by_at[0] = 2.0 * self.0 * (at[0] - f64::from(y));
    }

    fn properties(&self, _: usize) -> Properties {
        Properties { convex: true, lipschitz: None, bound: None }
    }
}

/// Inputs of three columns and numbers that follow them.
fn numbers(random: &mut Random, count: usize, slope: f64) -> Raw {
    let x: Vec<Vec<f64>> = (0..count).map(|_| (0..3).map(|_| random.datum()).collect()).collect();
    let y =
        x.iter().map(|x| feasible_oracle::grid(slope * x[0] - 0.5 * x[1] + 0.3 * random.normal()));
    let y = y.collect();
    Raw { x, y }
}

/// Ridge regression with a ceiling for others on average and one for each of everyone, the
/// first multiplied by `a` through a coefficient, the second by `b` through its loss.
fn scaled(
    everyone: &Population,
    others: &Population,
    limits: (f64, f64),
    a: f64,
    b: f64,
) -> Problem {
    let average = Requirement::average("others", others, Loss::Squared)
        .plus(a - 1.0, others)
        .at_most(a * limits.0);
    let each = Requirement::pointwise("each", everyone, Loss::Custom(Arc::new(Scaled(b))));
    Problem::minimise(everyone, Loss::Squared)
        .weight_decay(0.05)
        .subject_to(average)
        .subject_to(each.at_most(b * limits.1))
        .check()
        .expect("a well-formed problem")
}

fn solve(problem: &Problem) -> Solution<f64> {
    let model = Linear::new(3, 1).expect("positive widths").double();
    Learner::exact().stop_at_kkt(1e-8).solve(problem, &model).expect("the problem fits the model")
}

/// Solves A x = b by elimination with pivoting.
fn eliminate(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).fold(k, |p, i| if a[i][k].abs() > a[p][k].abs() { i } else { p });
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            for j in k..n {
                a[i][j] -= factor * a[k][j];
            }
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| a[k][j] * b[j]).sum();
        b[k] = (b[k] - known) / a[k][k];
    }
    b
}

/// Rows of (0/1 group, number, number) with a class, stored in the given order, ids moved along.
fn people(seed: u64, order: &[usize]) -> Population {
    let mut random = Random::new(4, seed);
    let rows: Vec<([f32; 3], u32)> = (0..order.len())
        .map(|n| {
            let (a, b) = (random.datum() as f32, random.datum() as f32);
            // The group has a member at least.
            let group = f32::from(u8::from(random.coin() || n == 0));
            let noise = random.normal() as f32;
            ([group, a, b], u32::from(group + a - 0.5 * b + noise > 0.5))
        })
        .collect();
    let x = order.iter().flat_map(|&n| rows[n].0).collect();
    let y = order.iter().map(|&n| rows[n].1).collect();
    let ids = order.iter().map(|&n| 7 * n as u64 + 3).collect();
    let inputs = Inputs::new(x, 3).expect("finite inputs");
    let samples = Samples::with_ids(inputs, Targets::Classes(y), ids).expect("distinct ids");
    Population::new(samples)
}

/// Outputs near those with the group reversed, for each; a ceiling for a group, on average.
fn fair(people: &Population) -> Problem {
    let reversed = people.counterfactual(rho::flip(0)).expect("a column that exists");
    let group = people.filter(|s| s.inputs()[0] == 1.0);
    Problem::minimise(people, Loss::CrossEntropy)
        .weight_decay(0.02)
        .subject_to(Requirement::pointwise("each", &reversed, Loss::SquaredDistance).at_most(0.01))
        .subject_to(Requirement::average("group", &group, Loss::CrossEntropy).at_most(0.6))
        .check()
        .expect("a well-formed problem")
}

/// λ of each id.
fn by_id(problem: &Problem, multipliers: &[f64]) -> Vec<((u64, usize), u64)> {
    let points = problem.requirements()[0].points();
    let mut pairs: Vec<_> =
        points.into_iter().zip(multipliers.iter().map(|m| m.to_bits())).collect();
    pairs.sort_unstable();
    pairs
}

/// Solves the stored and the permuted problem; λ by id, μ and θ must have the same bits.
fn permuting<M: Model>(
    seed: u64,
    order: &[usize],
    learner: &Learner<M::Real>,
    model: &M,
) -> Result<(), TestCaseError>
where
    M::Real: PartialEq,
{
    let stored: Vec<usize> = (0..order.len()).collect();
    let solve = |order: &[usize]| {
        let problem = fair(&people(seed, order));
        let solution = learner.solve(&problem, model).expect("the problem fits the model");
        let lambda = by_id(&problem, solution.multipliers.of(0));
        (solution, lambda)
    };
    let ((a, of_a), (b, of_b)) = (solve(&stored), solve(order));
    prop_assert_eq!(of_a, of_b);
    prop_assert_eq!(a.multipliers.of(1)[0].to_bits(), b.multipliers.of(1)[0].to_bits());
    prop_assert!(a.theta == b.theta, "{:?} is not {:?}", a.theta, b.theta);
    prop_assert_eq!(a.outcome, b.outcome);
    Ok(())
}

/// Advances a training and looks at every multiplier after every epoch.
fn never_negative<M: Model>(
    problem: &Problem,
    learner: &Learner<M::Real>,
    model: &M,
) -> Result<(), TestCaseError> {
    let mut training = learner.begin(problem, model).expect("the problem fits the model");
    while let Some(report) = training.advance() {
        let mut all = training.state().multipliers.iter().flatten();
        prop_assert!(all.all(|&m| m >= 0.0), "epoch {}", report.epoch);
        prop_assert!(report.requirements.iter().all(|r| r.multiplier >= 0.0));
    }
    let solution = training.finish();
    let diverged = matches!(solution.outcome, Outcome::Diverged { .. });
    prop_assert!(!diverged);
    prop_assert!(solution.multipliers.iter().flatten().all(|&m| m >= 0.0));
    Ok(())
}

fn network() -> Mlp {
    Mlp::new(&[3, 5, 2], Activation::Tanh).expect("positive widths")
}

fn softmax() -> Linear<f64> {
    Linear::new(3, 2).expect("positive widths").double()
}

/// An order of 5 to 60 samples.
fn orders() -> impl Strategy<Value = Vec<usize>> {
    (5usize..60).prop_flat_map(|n| Just((0..n).collect::<Vec<_>>()).prop_shuffle())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Both problems have the same Lagrangian at (μ, λ) and (μ/a, λ/b), so the same θ*. KKT
    /// residuals of 1e-8 leave errors of about 1e-6 in θ and multipliers of size up to 30; the
    /// factors, from 0.1 to 10, multiply them.
    #[test]
    fn scaling_a_loss_and_its_limit_by_a_scales_its_multiplier_by_the_inverse(
        seed in 0u64..1_000_000,
        log_a in -1.0f64..1.0,
        log_b in -1.0f64..1.0,
    ) {
        let (a, b) = (10f64.powf(log_a), 10f64.powf(log_b));
        let mut random = Random::new(5, seed);
        let (everyone, others) = (numbers(&mut random, 15, 1.0), numbers(&mut random, 20, 0.4));
        let everyone = everyone.population(Regression::Number);
        let others = others.population(Regression::Number);
        // Below what the unconstrained optimum achieves: both bind.
        let loose = scaled(&everyone, &others, (1e3, 1e3), 1.0, 1.0);
        let free = solve(&loose);
        let limit = |r: usize| free.measurement.violations[r].worst() + 1e3;
        let limits = (0.9 * limit(0), 0.95 * limit(1));
        let plain = solve(&scaled(&everyone, &others, limits, 1.0, 1.0));
        let other = solve(&scaled(&everyone, &others, limits, a, b));
        prop_assume!(plain.outcome == Outcome::Converged);
        prop_assert_eq!(&other.outcome, &Outcome::Converged);
        for (x, y) in plain.theta.iter().zip(&other.theta) {
            prop_assert!((x - y).abs() <= 1e-4, "{:?} {:?}", plain.theta, other.theta);
        }
        for (r, factor) in [(0, a), (1, b)] {
            for (m, n) in plain.multipliers.of(r).iter().zip(other.multipliers.of(r)) {
                prop_assert!((m - factor * n).abs() <= 1e-3 * (1.0 + m), "{m} {n} {factor}");
            }
        }
    }

    /// (2/N XᵀX + α) θ = 2/N Xᵀy. The learner stops at ‖∇‖ ≤ 1e-8, and the Hessian is at least α.
    #[test]
    fn without_requirements_the_result_is_ridge_regression_in_closed_form(
        seed in 0u64..1_000_000,
        count in 2usize..40,
        log_decay in -3.0f64..0.0,
    ) {
        let decay = 10f64.powf(log_decay);
        let raw = numbers(&mut Random::new(6, seed), count, 0.8);
        let (mut a, mut b) = (vec![vec![0.0; 4]; 4], vec![0.0; 4]);
        for (x, y) in raw.x.iter().zip(&raw.y) {
            let x: Vec<f64> = x.iter().copied().chain([1.0]).collect();
            for i in 0..4 {
                b[i] += 2.0 / count as f64 * x[i] * y;
                for j in 0..4 {
                    a[i][j] += 2.0 / count as f64 * x[i] * x[j];
                }
            }
        }
        for i in 0..4 {
            a[i][i] += decay;
        }
        let exact = eliminate(a, b);
        let everyone = raw.population(Regression::Number);
        let problem = Problem::minimise(&everyone, Loss::Squared).weight_decay(decay);
        let solution = solve(&problem.check().expect("a well-formed problem"));
        prop_assert_eq!(&solution.outcome, &Outcome::Converged);
        for (x, y) in solution.theta.iter().zip(&exact) {
            prop_assert!((x - y).abs() <= 2e-8 / decay, "{:?} {exact:?}", solution.theta);
        }
    }

    #[test]
    fn permuting_samples_permutes_lambda_for_the_exact_learner(
        seed in 0u64..1_000_000,
        order in orders(),
    ) {
        permuting(seed, &order, &Learner::exact().epochs(30), &softmax())?;
    }

    #[test]
    fn permuting_samples_permutes_lambda_for_the_alternating_learner(
        seed in 0u64..1_000_000,
        order in orders(),
    ) {
        let learner = Learner::alternating(Adam::new(0.02)).epochs(6).batch_size(16).seed(seed);
        permuting(seed, &order, &learner.dual(Dual::ascent(0.5)), &network())?;
    }

    #[test]
    fn permuting_samples_permutes_lambda_for_the_simultaneous_learner(
        seed in 0u64..1_000_000,
        order in orders(),
    ) {
        let sgd = Sgd::new(0.05).momentum(0.9);
        let learner = Learner::simultaneous(sgd).epochs(6).batch_size(16).seed(seed);
        permuting(seed, &order, &learner, &network())?;
    }

    #[test]
    fn multipliers_are_never_negative(
        seed in 0u64..1_000_000,
        rate in 0.01f64..3.0,
        order in orders(),
    ) {
        let problem = fair(&people(seed, &order));
        never_negative(&problem, &Learner::exact().epochs(20), &softmax())?;
        never_negative(&problem, &Learner::exact().ascent(rate).epochs(20), &softmax())?;
        for dual in [Dual::ascent(rate), Dual::adam(rate), Dual::nu_pi(rate, 2.0 * rate, 0.5)] {
            let alternating = Learner::alternating(Adam::new(0.01)).epochs(8).dual(dual);
            never_negative(&problem, &alternating, &network())?;
            let each = Learner::simultaneous(Adam::new(0.01)).epochs(8).batch_size(8).dual(dual);
            never_negative(&problem, &each, &network())?;
        }
    }
}

//! What the exact learner says is so: verdicts, multipliers and residuals, in every unit.
#![allow(clippy::unwrap_used)]

use crate::common::depth::depth;
use crate::common::people;
use feasible::{
    Dual, Inputs, Learner, Loss, Outcome, Population, Problem, Purpose, Requirement, Samples,
    Stream, Targets,
};
use feasible_nn::{Adam, Linear};

fn numbers(x: Vec<f32>, width: usize, y: Vec<f32>) -> Population {
    Population::new(Samples::new(Inputs::dense(x, width).unwrap(), Targets::Values(y)).unwrap())
}

/// A regression in the units of a medical table: targets around 150, a limit on the squared loss of one
/// group, all of it times `unit`².
fn medical(unit: f64, limit: f64) -> Problem {
    let (rows, width) = (442, 10);
    let mut random = Stream::new(7, Purpose::View, 0, 0);
    let mut normal = || {
        let radius = (-2.0 * (1.0 - random.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * random.uniform()).cos()
    };
    let (mut x, mut y, mut group) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..rows {
        let mut row: Vec<f64> = (0..width).map(|_| 0.05 * normal()).collect();
        row[1] = if n % 2 == 0 { 0.05 } else { -0.045 };
        let signal: f64 = row.iter().enumerate().map(|(c, x)| x * 150.0 * (c as f64 - 4.0)).sum();
        let shift = if row[1] > 0.0 { 60.0 * row[2] / 0.05 } else { 0.0 };
        y.push((unit * (152.0 + signal + shift + 50.0 * normal())) as f32);
        x.extend(row.iter().map(|x| *x as f32));
        group.push(n % 2 == 0);
    }
    let everyone = numbers(x, width, y);
    let women = everyone.subset(&group).unwrap();
    Problem::minimise(&everyone, Loss::Squared)
        .subject_to(
            Requirement::average("women", &women, Loss::Squared).at_most(limit * unit * unit),
        )
        .check()
        .unwrap()
}

#[test]
fn a_multiplier_is_the_price_of_its_limit_in_every_unit() {
    let model = Linear::new(10, 1).unwrap().double();
    let solve = |unit: f64, limit: f64| {
        let solution = Learner::exact().solve(&medical(unit, limit), &model).unwrap();
        assert_eq!(solution.outcome, Outcome::Converged, "unit {unit}: {:?}", solution.kkt);
        solution
    };
    let limit = 2750.0;
    let (less, more) = (solve(1.0, limit - 5.0), solve(1.0, limit + 5.0));
    let price = (less.objective() - more.objective()) / 10.0;
    assert!(price > 0.1, "the limit does not bind: {price}");
    for unit in [1.0, 1e-5, 1e-3, 1e2] {
        let solution = solve(unit, limit);
        let mu = solution.multipliers.of(0)[0];
        // Central differences over 10 of 2750: the next term is below 1e-4 of the price.
        assert!((mu - price).abs() < 1e-3 * price, "unit {unit}: {mu} is not {price}");
        let violation = solution.measurement.violations[0].measured[0] / (unit * unit * limit);
        assert!(violation.abs() < 1e-6, "unit {unit}: {violation}");
        assert!(solution.is_feasible(), "unit {unit}");
    }
}

#[test]
fn small_multipliers_are_prices_in_single_precision_too() {
    let double = Linear::new(10, 1).unwrap().double();
    let free = Learner::exact().solve(&medical(0.01, 1e9), &double).unwrap();
    let women = free.measurement.violations[0].measured[0] + 1e9 * 0.01 * 0.01;
    for share in [0.998, 0.99, 0.97] {
        let problem = medical(0.01, share * women / (0.01 * 0.01));
        let (mu, single) = (
            Learner::exact().solve(&problem, &double).unwrap().multipliers.of(0)[0],
            Learner::exact().solve(&problem, Linear::new(10, 1).unwrap()).unwrap(),
        );
        assert_eq!(single.outcome, Outcome::Converged, "{share}");
        let found = single.multipliers.of(0)[0];
        assert!((found - mu).abs() <= 0.02 * mu, "{share}: {found} is not {mu}");
    }
}

#[test]
fn what_all_but_a_share_must_meet_is_not_called_infeasible() {
    let y = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 10.0];
    let everyone = numbers(vec![1.0; 10], 1, y.to_vec());
    let problem = Problem::minimise(&everyone, Loss::Squared)
        .subject_to(
            Requirement::pointwise("near", &everyone, Loss::Squared).at_most(1.0).all_but(0.2),
        )
        .check()
        .unwrap();
    let model = Linear::new(1, 1).unwrap().double();
    let solution = Learner::exact().solve(&problem, &model).unwrap();
    assert_eq!(solution.outcome, Outcome::Feasible, "{}", solution.outcome);
    assert!(solution.is_feasible(), "{:?}", solution.requirements);
    let f = solution.theta[0] + solution.theta[1];
    // The best that eight of ten allow: as near to the mean of 2 as the eight let it be.
    assert!((f - 1.0).abs() < 1e-5, "{f}");
    let learner = Learner::alternating(Adam::new(0.05)).epochs(600).dual(Dual::ascent(0.1));
    let solution = learner.solve(&problem, &model).unwrap();
    assert!(!matches!(solution.outcome, Outcome::Infeasible { .. }), "{}", solution.outcome);
}

#[test]
fn all_but_a_share_is_met_although_the_outliers_are_nearest_where_all_are_asked() {
    // Two outliers at the end of the line pull it through themselves: where everybody's violation is least, others
    // are furthest from the limit.
    for (outlier, slope) in [(10.0, 0.0), (10.0, 0.5), (-30.0, 2.0), (4.0, -1.0)] {
        let x: Vec<f32> = (0..10).map(|n| 0.1 * n as f32).collect();
        let y = x.iter().enumerate().map(|(n, x)| slope * x + if n < 8 { 0.0 } else { outlier });
        let everyone = numbers(x.clone(), 1, y.collect());
        let problem = Problem::minimise(&everyone, Loss::Squared)
            .subject_to(
                Requirement::pointwise("near", &everyone, Loss::Squared).at_most(1.0).all_but(0.2),
            )
            .check()
            .unwrap();
        let model = Linear::new(1, 1).unwrap().double();
        let solution = Learner::exact().solve(&problem, &model).unwrap();
        assert!(solution.is_feasible(), "{outlier}, {slope}: {}", solution.outcome);
    }
}

/// Classes of two overlapping groups, with an error rate required of some of them if `rate` is given.
fn overlapping(share: f64, limit: f64, rate: Option<f64>) -> (Problem, Problem) {
    let people = people(400, 9);
    let draft = || Problem::minimise(&people, Loss::CrossEntropy).weight_decay(1e-3);
    let mut problem = draft().subject_to(
        Requirement::pointwise("nearly all", &people, Loss::CrossEntropy)
            .at_most(limit)
            .all_but(share),
    );
    if let Some(rate) = rate {
        let group = people.filter(|s| s.inputs()[0] == 1.0);
        let error = Requirement::average("error", &group, Loss::CrossEntropy);
        problem = problem.subject_to(error.measured_by(Loss::Error).at_most(rate));
    }
    (problem.check().unwrap(), draft().check().unwrap())
}

#[test]
fn what_a_share_may_exceed_costs_nothing_where_the_minimum_is_within_that_share() {
    let model = Linear::new(6, 2).unwrap().double();
    let (limit, share) = (1.6, 0.05);
    let (problem, free) = overlapping(share, limit, None);
    let least = Learner::exact().solve(&free, &model).unwrap();
    let there = problem.measure(&model, &least.theta).unwrap();
    let exceed = there.violations[0].violated(0.0);
    assert!(exceed > 0.0 && exceed <= share, "{exceed}");
    let solution = Learner::exact().solve(&problem, &model).unwrap();
    assert_eq!(solution.outcome, Outcome::Converged, "{:?}", solution.kkt);
    assert!(solution.is_feasible());
    let (found, least) = (solution.objective(), least.objective());
    assert!((found - least).abs() <= 1e-8 * least, "{found} is not {least}");
    assert!(solution.multipliers.of(0).iter().all(|&m| m == 0.0), "nothing binds");
    assert!(solution.kkt.residual() < 1e-6, "{:?}", solution.kkt);
}

#[test]
fn a_rate_that_is_met_with_room_has_no_price_beside_what_a_share_may_exceed() {
    let model = Linear::new(6, 2).unwrap().double();
    for (limit, rate) in [(1.6, 0.45), (1.2, 0.45), (1.2, 0.32), (1.2, 0.28), (1.1, 0.27)] {
        let (problem, free) = overlapping(0.05, limit, Some(rate));
        let least = Learner::exact().solve(&free, &model).unwrap().objective();
        let solution = Learner::exact().solve(&problem, &model).unwrap();
        let what = format!("{limit}, {rate}: {} {:?}", solution.outcome, solution.requirements);
        assert!(solution.is_feasible(), "{what}");
        assert!(solution.objective() >= least - 1e-9, "{what}");
        let (room, price) =
            (-solution.measurement.violations[1].measured[0], solution.multipliers.of(1)[0]);
        // A rate moves in steps of one in about two hundred.
        assert!(room < 0.02 || price < 1e-9, "room {room} at the price {price}; {what}");
    }
}

#[test]
fn where_nothing_feasible_is_found_the_iterate_nearest_to_feasible_is_returned() {
    let model = Linear::new(6, 2).unwrap().double();
    let mut tried = 0;
    for (share, limit, rate) in
        [(0.01, 0.9, 0.2), (0.01, 1.0, 0.24), (0.02, 0.8, 0.22), (0.0, 0.9, 0.2)]
    {
        let (problem, _) = overlapping(share, limit, Some(rate));
        let mut training = Learner::exact().epochs(100).begin(&problem, &model).unwrap();
        let mut nearest = 0;
        while let Some(report) = training.advance() {
            nearest = if report.best { report.epoch } else { nearest };
        }
        let solution = training.finish();
        if !solution.is_feasible() {
            tried += 1;
            assert_eq!(
                solution.kept_epoch, nearest,
                "{share}, {limit}, {rate}: {:?}",
                solution.requirements
            );
        }
    }
    assert!(tried >= 2, "{tried}");
}

#[test]
fn all_but_a_share_ends_where_its_own_choice_of_points_is_best_and_near_the_best_choice() {
    let rows = 10;
    let model = Linear::new(1, 1).unwrap().double();
    let (mut best_of_all, mut solved) = (0, 0);
    for seed in 0..30 {
        let mut random = Stream::new(seed, Purpose::View, 0, 0);
        let x: Vec<f32> = (0..rows).map(|_| random.uniform() as f32).collect();
        let y: Vec<f32> = x.iter().map(|x| x + 4.0 * random.uniform().powi(3) as f32).collect();
        let everyone = numbers(x, 1, y);
        let limit = 0.5 + 0.1 * (seed % 5) as f64;
        let objective = || Problem::minimise(&everyone, Loss::Squared).weight_decay(1e-3);
        let near =
            |of: &Population| Requirement::pointwise("near", of, Loss::Squared).at_most(limit);
        let solve = |problem: &Problem| Learner::exact().solve(problem, &model).unwrap();
        let (mut best, mut own) = (f64::INFINITY, f64::INFINITY);
        let stated = objective().subject_to(near(&everyone).all_but(0.2)).check().unwrap();
        let solution = solve(&stated);
        let exceed: Vec<bool> =
            solution.measurement.violations[0].measured.iter().map(|&s| s > 1e-6).collect();
        for a in 0..rows {
            for b in 0..a {
                let kept: Vec<bool> = (0..rows).map(|n| n != a && n != b).collect();
                let problem = objective().subject_to(near(&everyone.subset(&kept).unwrap()));
                let one = solve(&problem.check().unwrap());
                if one.is_feasible() {
                    best = best.min(one.objective());
                    if (0..rows).all(|n| !(kept[n] && exceed[n])) {
                        own = own.min(one.objective());
                    }
                }
            }
        }
        assert_eq!(solution.is_feasible(), best.is_finite(), "{seed}: {}", solution.outcome);
        assert!(!matches!(solution.outcome, Outcome::Infeasible { .. }), "{seed}");
        if !best.is_finite() {
            continue;
        }
        solved += 1;
        let found = solution.objective();
        assert!((found - own).abs() <= 1e-5 * own, "{seed}: {found} is not {own}");
        let is_best = found <= best * (1.0 + 1e-5);
        assert!(is_best || solution.outcome == Outcome::Feasible, "{seed}: {found}, {best}");
        best_of_all += usize::from(is_best);
    }
    println!("{best_of_all} of {solved} are the best choice of all");
    assert!(solved >= 15 && 10 * best_of_all >= 7 * solved, "{best_of_all} of {solved}");
}

#[test]
fn an_objective_measured_by_another_loss_is_minimised_all_the_same() {
    let people = people(400, 3);
    let model = Linear::new(6, 2).unwrap().double();
    let draft = || Problem::minimise(&people, Loss::CrossEntropy).weight_decay(1e-3);
    let (plain, judged) =
        (draft().check().unwrap(), draft().measured_by(Loss::Error).check().unwrap());
    let a = Learner::exact().solve(&plain, &model).unwrap();
    let b = Learner::exact().solve(&judged, &model).unwrap();
    assert_eq!((&a.outcome, &b.outcome), (&Outcome::Converged, &Outcome::Converged));
    let found = plain.measure(&model, &b.theta).unwrap().value();
    assert!((found - a.objective()).abs() < 1e-9, "{found} is not {}", a.objective());
    assert!(b.objective() < 0.5 && b.objective() != found, "an error rate: {}", b.objective());
    assert!(b.gap.absolute.abs() < 1e-8 && b.gap.relative < 1e-8, "{:?}", b.gap);
}

/// Error rates of one group, through the logistic loss.
fn error_rate(limit: f64) -> (Problem, Linear) {
    let people = people(600, 5);
    let group = people.filter(|s| s.inputs()[0] == 1.0);
    let rate = Requirement::average("error", &group, Loss::CrossEntropy).measured_by(Loss::Error);
    let problem = Problem::minimise(&people, Loss::CrossEntropy)
        .weight_decay(1e-3)
        .subject_to(rate.at_most(limit))
        .check()
        .unwrap();
    (problem, Linear::new(6, 2).unwrap())
}

#[test]
fn the_measured_rate_drives_the_multipliers_of_the_exact_learner() {
    let free = Problem::minimise(&people(600, 5), Loss::CrossEntropy).weight_decay(1e-3);
    for limit in [0.45, 0.3, 0.28] {
        let (problem, model) = error_rate(limit);
        let exact = Learner::exact().solve(&problem, &model.double()).unwrap();
        let learner = Learner::alternating(Adam::new(0.02)).epochs(400).dual(Dual::adam(0.02));
        let alternating = learner.keep_best().solve(&problem, &model.double()).unwrap();
        let outcome = &exact.outcome;
        assert!(matches!(outcome, Outcome::Feasible | Outcome::Converged), "{limit}: {outcome}");
        assert!(exact.measurement.violations[0].measured[0] <= 0.0, "{limit}");
        let (ours, theirs) = (exact.objective(), alternating.objective());
        assert!(!alternating.is_feasible() || ours <= theirs + 1e-3, "{limit}: {ours}, {theirs}");
        // Where the rate is met anyway nothing is paid for it.
        let (solved, least) = (free.clone().check().unwrap(), exact.objective());
        let free = Learner::exact().solve(&solved, &model.double()).unwrap();
        if problem.measure(&model.double(), &free.theta).unwrap().worst_violation() <= 0.0 {
            assert!((least - free.objective()).abs() < 1e-6, "{limit}: {least}");
        }
    }
}

#[test]
fn a_rate_that_holds_the_model_back_is_never_called_converged() {
    let rows = people(600, 5).filter(|s| s.inputs()[0] == 1.0).len() as f64;
    let solve = |limit: f64| {
        let (problem, model) = error_rate(limit);
        Learner::exact().solve(&problem, &model.double()).unwrap()
    };
    let free = 0.9 + solve(0.9).measurement.violations[0].measured[0];
    let mut held_back = 0;
    // Limits that a rate can meet exactly, a few rows below what it is without a limit.
    for fewer in [1, 3, 5].into_iter().take(depth().min(3) as usize) {
        let solution = solve(((free * rows).round() - f64::from(fewer)) / rows);
        let holds_back = solution.multipliers.of(0)[0] > 0.0;
        assert!(!(holds_back && solution.outcome == Outcome::Converged), "{fewer} fewer");
        held_back += usize::from(holds_back && solution.is_feasible());
    }
    assert!(held_back > 0, "no rate holds the model back");
}

#[test]
fn residuals_of_what_is_not_a_number_are_not_numbers() {
    let (problem, model) = error_rate(0.3);
    let theta = vec![f64::NAN; 14];
    let multipliers = feasible::Multipliers::start(&problem);
    let optimality = problem.optimality(&model.double(), &theta, &multipliers).unwrap();
    assert!(optimality.kkt.residual().is_nan(), "{:?}", optimality.kkt);
    assert!(optimality.kkt.stationarity.is_nan() && optimality.kkt.violation.is_nan());
}

#[test]
fn a_limit_just_above_the_minimum_is_reached() {
    let people = people(300, 4);
    let model = Linear::new(6, 2).unwrap().double();
    let group = people.filter(|s| s.inputs()[0] == 1.0);
    let alone = Problem::minimise(&group, Loss::CrossEntropy).check().unwrap();
    let least = Learner::exact().solve(&alone, &model).unwrap().objective();
    for above in [1e-2, 1e-4, 1e-6] {
        let problem = Problem::minimise(&people, Loss::CrossEntropy)
            .subject_to(
                Requirement::average("group", &group, Loss::CrossEntropy).at_most(least + above),
            )
            .check()
            .unwrap();
        let solution = Learner::exact().solve(&problem, &model).unwrap();
        assert_eq!(solution.outcome, Outcome::Converged, "{above}: {:?}", solution.kkt);
        assert!(solution.epochs < 40, "{above}: {} steps", solution.epochs);
    }
}

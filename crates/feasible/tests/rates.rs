//! Multipliers of rates under the exact learner.
#![allow(clippy::unwrap_used)]

use feasible::internals::Bracket;
use feasible::{
    Inputs, Learner, Loss, Outcome, Population, Problem, Purpose, Requirement, Samples, Solution,
    Stream, Targets,
};
use feasible_nn::{Adam, Linear};

#[test]
fn the_smallest_multiplier_that_meets_a_rate_is_found_and_one_that_cannot_be_met_ends_at_the_largest()
 {
    // A rate of 300 rows that falls as μ rises, and is met from 0.7 on.
    for (unit, first) in [(1.0, 0.01), (1.0, 50.0), (1e3, 1.0)] {
        let violation = |mu: f64| ((0.7 - mu / unit) * 300.0).ceil() / 300.0;
        let (mut mu, mut step, mut tried) = (0.0, Bracket::default(), 0);
        loop {
            let next = step.next_multiplier(mu, violation(mu), 0.1, first, 1e6);
            if next == mu {
                break;
            }
            (mu, tried) = (next, tried + 1);
        }
        assert!((0.7..0.712).contains(&(mu / unit)) && tried < 60, "{mu} after {tried}");
    }
    let (mut mu, mut step) = (0.0, Bracket::default());
    for _ in 0..30 {
        mu = step.next_multiplier(mu, 0.1, 0.1, 1.0, 200.0);
    }
    assert_eq!(mu, 200.0);
}

/// Eight overlapping clusters and five groups, whose error rates are required.
fn clusters(seed: u64, rows: usize, limit: f64) -> Problem {
    let mut random = Stream::new(seed, Purpose::View, 8, 0);
    let mut normal = || {
        let radius = (-2.0 * (1.0 - random.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * random.uniform()).cos()
    };
    let centres: Vec<f64> = (0..8 * 4).map(|_| 1.5 * normal()).collect();
    let (mut x, mut y, mut group) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..rows {
        let (class, of) = (n % 8, n % 5);
        x.extend((0..4).map(|c| (centres[4 * class + c] + normal()) as f32));
        x.extend((0..5).map(|g| f32::from(u8::from(g == of))));
        y.push(class as u32);
        group.push(of);
    }
    let inputs = Inputs::dense(x, 9).unwrap();
    let people = Population::new(Samples::new(inputs, Targets::Classes(y)).unwrap());
    let mut draft = Problem::minimise(&people, Loss::CrossEntropy).weight_decay(1e-3);
    for g in 0..5 {
        let mask: Vec<bool> = group.iter().map(|of| *of == g).collect();
        let of = people.subset(&mask).unwrap();
        let error = Requirement::average(format!("group {g}"), &of, Loss::SmoothedError);
        draft = draft.subject_to(error.measured_by(Loss::Error).at_most(limit));
    }
    draft.check().unwrap()
}

fn violated(solution: &Solution<f64>) -> f64 {
    let each = solution.measurement.violations.iter();
    each.map(|violations| violations.measured[0].max(0.0)).sum()
}

#[test]
fn rates_of_five_groups_and_eight_classes_cost_no_more_than_a_first_order_learner_pays() {
    let model = Linear::new(9, 8).unwrap().double();
    let mut met = 0;
    for (seed, below) in [(0, 0.02), (1, 0.05), (2, 0.15)] {
        // Limits that are met at a price, and one that is out of reach.
        let free = Learner::exact().solve(&clusters(seed, 400, 0.9), &model).unwrap();
        let worst = free.measurement.violations.iter().map(|v| v.measured[0] + 0.9);
        let limit = worst.fold(0.0, f64::max) - below;
        let problem = clusters(seed, 400, limit);
        let exact = Learner::exact().solve(&problem, &model).unwrap();
        let learner = Learner::alternating(Adam::new(0.03)).epochs(150);
        let other = learner.keep_best().solve(&problem, &model).unwrap();
        let what = format!(
            "{seed}: {} {} in {} epochs, {} {}",
            exact.objective(),
            violated(&exact),
            exact.epochs,
            other.objective(),
            violated(&other)
        );
        assert!(exact.epochs < 100 && exact.outcome != Outcome::Converged, "{what}");
        assert!(exact.objective() <= 1.5 * other.objective(), "{what}");
        assert!(violated(&exact) <= violated(&other), "{what}");
        met += usize::from(exact.is_feasible());
    }
    assert!((1..=2).contains(&met), "{met}");
}

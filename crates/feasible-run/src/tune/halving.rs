//! Successive halving: all trials are trained a little, the better third of them three times as long, and so on.
//!
//! ```text
//! round       1      2     3
//! epochs      1/9    1/3   all
//! trials      27     9     3     and the settings of the file, which stay to the end
//! ```
//!
//! Trials continue from where they were, so that those of the last round are as if nothing had been compared before: whole
//! trainings, of which one is chosen.

use std::cmp::Ordering;

use super::record::RoundResult;

/// One of how many continues; and how many times longer.
const FACTOR: usize = 3;
/// Rounds at most: in less than a ninth of their epochs trainings show little.
const ROUNDS: usize = 3;

/// The share of its epochs that a trial is trained for in each round.
pub(super) fn shares(trials: usize) -> Vec<f64> {
    let mut rounds = 1;
    while rounds < ROUNDS && trials >= FACTOR.pow(rounds as u32) {
        rounds += 1;
    }
    let share = |round: usize| 1.0 / FACTOR.pow((rounds - 1 - round) as u32) as f64;
    (0..rounds).map(share).collect()
}

/// The epoch that a training of so many is at after a round; the last round has no end but its own.
pub(super) fn until(epochs: u64, share: f64) -> u64 {
    if share >= 1.0 { u64::MAX } else { ((epochs as f64 * share).ceil() as u64).max(1) }
}

/// How many trials take part in each round, at most.
pub(super) fn sizes(trials: usize) -> Vec<usize> {
    let mut alive = trials;
    let next = |_| {
        let now = alive;
        // The settings of the file stay, too.
        alive = (alive.div_ceil(FACTOR) + 1).min(alive);
        now
    };
    shares(trials).into_iter().map(next).collect()
}

/// The trials of a round from the best to the worst; of equal ones the first.
pub(super) fn ranked(results: &[(usize, &RoundResult)]) -> Vec<usize> {
    let mut order: Vec<(usize, &RoundResult)> = results.to_vec();
    order.sort_by(|(a, one), (b, other)| compare(one, other).then(a.cmp(b)));
    order.into_iter().map(|(trial, _)| trial).collect()
}

/// The trials that continue, ascending: the better third, and the first of all.
pub(super) fn continued(results: &[(usize, &RoundResult)]) -> Vec<usize> {
    let mut best = ranked(results);
    best.truncate(results.len().div_ceil(FACTOR));
    best.push(0);
    best.sort_unstable();
    best.dedup();
    best
}

/// The trial that is chosen in the last round, of so many beside the settings of the file: the best one that is better than the settings of the file, trial 0, else
/// trial 0. Better is what meets everything with room where they do not; where both do, what is lower by more than chance explains; where neither does, what is
/// that and comes no less near.
pub(super) fn choice(results: &[(usize, &RoundResult)], others: usize) -> usize {
    let Some((_, file)) = results.iter().find(|(n, _)| *n == 0) else { return 0 };
    let is_better = |of: &RoundResult| {
        let is_lower = of.difference.is_some_and(|by| by.is_lower(others));
        match class(of).cmp(&class(file)) {
            Ordering::Less => true,
            Ordering::Equal if class(of) == 0 => is_lower,
            Ordering::Equal => is_lower && violation(of) <= violation(file),
            Ordering::Greater => false,
        }
    };
    let better = results.iter().filter(|(n, of)| *n > 0 && is_better(of));
    let by = |of: &RoundResult| of.difference.map_or(f64::INFINITY, |by| by.mean);
    let order = |(a, one): &(usize, &RoundResult), (b, other): &(usize, &RoundResult)| {
        let first = class(one).cmp(&class(other)).then(by(one).total_cmp(&by(other)));
        first.then(compare(one, other)).then(a.cmp(b))
    };
    better.copied().min_by(|a, b| order(a, b)).map_or(0, |(n, _)| n)
}

/// The largest violation on validation rows.
fn violation(of: &RoundResult) -> f64 {
    of.worst_violation.unwrap_or(f64::INFINITY)
}

/// 0 for met with room, 1 for room missed, 2 for diverged, 3 for nothing.
fn class(of: &RoundResult) -> u8 {
    match of.merit {
        Some(_) if of.diverged() => 2,
        Some(_) if of.with_room => 0,
        Some(_) => 1,
        None => 3,
    }
}

/// By the rules that a training keeps its best iterate by: what is met with room before what is not; among the former the lower
/// objective, steadied, among the others the lower excess. A training that diverged comes last.
fn compare(a: &RoundResult, b: &RoundResult) -> Ordering {
    let merit = |of: &RoundResult| match of.steadied.filter(|_| of.with_room) {
        Some(steadied) => steadied,
        None => of.merit.unwrap_or(f64::INFINITY),
    };
    class(a).cmp(&class(b)).then(merit(a).total_cmp(&merit(b)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop")]
mod tests {
    use super::super::record::PairedDifference;
    use super::*;
    use feasible::Outcome;

    fn result(with_room: bool, merit: f64) -> RoundResult {
        RoundResult { with_room, merit: Some(merit), ..RoundResult::default() }
    }

    #[test]
    fn rounds_follow_from_the_number_of_trials() {
        assert_eq!(shares(1), [1.0]);
        assert_eq!(shares(2), [1.0]);
        assert_eq!(shares(3), [1.0 / 3.0, 1.0]);
        assert_eq!(shares(9), [1.0 / 9.0, 1.0 / 3.0, 1.0]);
        assert_eq!(shares(1000).len(), 3);
        assert_eq!(sizes(27), [27, 10, 5]);
        assert_eq!(sizes(3), [3, 2]);
        assert_eq!(until(78, 1.0 / 9.0), 9);
        assert_eq!(until(2, 1.0 / 9.0), 1);
        assert_eq!(until(78, 1.0), u64::MAX);
    }

    #[test]
    fn trials_with_room_come_first_diverged_ones_last_and_equal_ones_in_order() {
        let diverged = RoundResult {
            outcome: Some(Outcome::Diverged { what: "a loss".into(), epoch: 2 }),
            ..result(true, 0.1)
        };
        let none = RoundResult { merit: None, ..result(false, 0.0) };
        let all = [
            result(false, 0.01),
            result(true, 0.5),
            none,
            diverged,
            result(true, 0.4),
            result(true, 0.5),
        ];
        let all: Vec<(usize, &RoundResult)> = all.iter().enumerate().collect();
        assert_eq!(ranked(&all), [4, 1, 5, 0, 3, 2]);
        // The first stays whatever it came to.
        assert_eq!(continued(&all), [0, 1, 4]);
    }

    #[test]
    fn the_settings_of_the_file_are_kept_unless_another_trial_is_better_beyond_chance() {
        let by = |mean| Some(PairedDifference { mean, standard_error: 0.1 });
        let file = result(true, 0.5);
        let lucky = RoundResult { difference: by(-0.15), ..result(true, 0.35) };
        let better = RoundResult { difference: by(-0.21), ..result(true, 0.4) };
        assert_eq!(choice(&[(0, &file), (3, &lucky)], 1), 0);
        assert_eq!(choice(&[(0, &file), (3, &lucky), (4, &better)], 1), 4);
        // Of many trials one is lower by two standard errors sooner or later.
        assert_eq!(choice(&[(0, &file), (3, &lucky), (4, &better)], 26), 0);
        let much_better = RoundResult { difference: by(-0.33), ..result(true, 0.4) };
        assert_eq!(choice(&[(0, &file), (4, &better), (5, &much_better)], 26), 5);
        let missed = result(false, 0.01);
        assert_eq!(choice(&[(0, &missed), (3, &lucky)], 1), 3);
        assert_eq!(choice(&[(0, &file), (3, &missed)], 1), 0);
        // No less near to it, but only where that is lower beyond chance, too.
        let missed = RoundResult { worst_violation: Some(0.01), ..missed };
        let near = |mean, violation| RoundResult {
            difference: by(mean),
            worst_violation: Some(violation),
            ..result(false, 0.001)
        };
        assert_eq!(choice(&[(0, &missed), (3, &near(-0.01, 0.001))], 1), 0);
        assert_eq!(choice(&[(0, &missed), (3, &near(-0.4, 0.001))], 1), 3);
        assert_eq!(choice(&[(0, &missed), (3, &near(-0.4, 0.02))], 1), 0);
    }

    #[test]
    fn an_objective_that_goes_up_and_down_is_not_taken_at_its_lowest() {
        let steadied =
            |merit, steadied| RoundResult { steadied: Some(steadied), ..result(true, merit) };
        let (noisy, calm) = (steadied(0.1, 0.6), steadied(0.4, 0.41));
        assert_eq!(ranked(&[(0, &noisy), (1, &calm)]), [1, 0]);
    }

    #[test]
    fn a_paired_difference_is_the_mean_over_rows_and_its_standard_error() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [0.0; 4]);
        let by = PairedDifference::of(&a, &b, None).unwrap();
        assert!(
            (by.mean - 2.5).abs() < 1e-12 && (by.standard_error - 5f64.sqrt() / 4.0).abs() < 1e-12
        );
        // A row of weight 2 counts twice in the mean.
        let by = PairedDifference::of(&a, &b, Some(&[2.0, 1.0, 1.0, 1.0])).unwrap();
        assert!((by.mean - 2.2).abs() < 1e-12);
        assert_eq!(PairedDifference::of(&[f64::NAN], &[0.0], None), None);
    }
}

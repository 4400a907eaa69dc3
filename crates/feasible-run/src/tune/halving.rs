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

/// By the rules that a training keeps its best iterate by: feasible before infeasible; among feasible ones the lower objective,
/// among infeasible ones the lower excess. A training that diverged comes last.
fn compare(a: &RoundResult, b: &RoundResult) -> Ordering {
    let class = |of: &RoundResult| match of.merit {
        Some(_) if of.diverged() => 2,
        Some(_) if of.feasible => 0,
        Some(_) => 1,
        None => 3,
    };
    let merit = |of: &RoundResult| of.merit.unwrap_or(f64::INFINITY);
    class(a).cmp(&class(b)).then(merit(a).total_cmp(&merit(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use feasible::Outcome;

    fn result(feasible: bool, merit: f64) -> RoundResult {
        RoundResult { feasible, merit: Some(merit), ..RoundResult::default() }
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
    fn feasible_trials_come_first_diverged_ones_last_and_equal_ones_in_order() {
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
}

//! `tune.json`: what was searched, how every trial did, and which one was chosen. It is complete before a test row is looked
//! at, and no clock time is in it.

use feasible::{Outcome, State};
use feasible_problem::data::TableHash;
use feasible_problem::space::{Space, Trial};
use feasible_problem::text::{Align, Grid, Page, grouped, short};
use serde::{Deserialize, Serialize};

use super::halving;
use crate::metrics::EpochMetrics;

/// `tune.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// The version of this program.
    pub feasible: String,
    /// What the problem is called.
    pub problem: String,
    /// What must be the same for it to be continued.
    pub design: SearchDesign,
    /// Every trial; the first has the settings of the file.
    pub trials: Vec<TrialRecord>,
    /// The number of the trial that was chosen, once all rounds are done.
    pub chosen: Option<usize>,
}

/// What must be the same for a search to be continued, beside the settings of its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchDesign {
    /// SHA-256 of the problem, every default filled in.
    pub problem: String,
    /// Every table that was read.
    pub tables: Vec<TableHash>,
    /// The seed of the search and of every training.
    pub seed: u64,
    /// Rows that trials are compared on.
    pub validation_rows: usize,
    /// What each key may be.
    pub space: Space,
    /// The share of its epochs that a trial is trained for in each round.
    pub rounds: Vec<f64>,
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// What differs from the problem file, by key.
    pub settings: Trial,
    /// Epochs of a whole training.
    pub epochs: u64,
    /// Number of parameters.
    pub parameters: usize,
    /// How it did in each round that it took part in.
    pub rounds: Vec<RoundResult>,
    /// The round, from 1, after which it was dropped.
    pub dropped_after: Option<usize>,
}

/// The best iterate of a trial so far, by the rules that a training keeps it by, on the validation rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundResult {
    /// Epochs done.
    pub epochs: u64,
    /// The epoch of the best iterate.
    pub kept_epoch: Option<u64>,
    /// Whether it meets every requirement, with the room that a training asks of validation rows.
    pub with_room: bool,
    /// What iterates are compared by: the objective if it does, otherwise how far it is from that.
    pub merit: Option<f64>,
    /// The average loss of the objective.
    pub objective: Option<f64>,
    /// Its mean over the epochs around the best one. The best of many epochs that go up and down flatters settings that
    /// do so; this does not.
    pub steadied: Option<f64>,
    /// The objective less that of the settings of the file, after a whole training.
    pub difference: Option<PairedDifference>,
    /// The largest violation of a requirement: positive if violated.
    pub worst_violation: Option<f64>,
    /// How training ended, if it has.
    pub outcome: Option<Outcome>,
}

/// The mean of a difference over the validation rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedDifference {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
}

impl PairedDifference {
    /// Of losses row by row, which count as their weights say; `None` if a loss is not finite.
    pub(super) fn of(losses: &[f64], others: &[f64], weights: Option<&[f64]>) -> Option<Self> {
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        let rows = || losses.iter().zip(others).enumerate().map(|(at, (a, b))| (weight(at), a - b));
        let all: f64 = rows().map(|(w, _)| w).sum();
        let mean = rows().map(|(w, d)| w * d).sum::<f64>() / all;
        let square: f64 = rows().map(|(w, d)| (w * (d - mean)).powi(2)).sum();
        let standard_error = square.sqrt() / all;
        standard_error.is_finite().then_some(Self { mean, standard_error })
    }

    /// Whether it is below 0 by more than chance among these rows explains, for the best of so many trials beside the settings of the file: by z standard errors
    /// with e^(−z²/2) = e^(−2)/trials, two for a single one. Of 26 differences that are nothing but chance, one is lower by two in nearly every second search.
    pub fn is_lower(&self, trials: usize) -> bool {
        let errors = (4.0 + 2.0 * (trials.max(1) as f64).ln()).sqrt();
        self.mean < -errors * self.standard_error
    }
}

/// The share of the epochs, on either side of the best one, that steady the objective.
const AROUND: f64 = 0.05;

impl RoundResult {
    /// Of a training of so many epochs, and its metrics so far.
    pub(super) fn of(state: &State<f32>, epochs: u64, metrics: &[EpochMetrics]) -> Self {
        let finite = |x: f64| Some(x).filter(|x| x.is_finite());
        let best = state.best.as_ref();
        let of = |epoch: u64| metrics.iter().find(|line| line.epoch == epoch);
        let judged = best.and_then(|best| of(best.epoch)?.validation.as_ref());
        let violations = |judged: &crate::metrics::ValidationMetrics| {
            judged.requirements.iter().map(|r| r.worst_violation).reduce(f64::max).and_then(finite)
        };
        Self {
            epochs: state.epoch,
            kept_epoch: best.map(|best| best.epoch),
            with_room: best.is_some_and(|best| best.feasible),
            merit: best.and_then(|best| finite(best.value)),
            objective: judged.and_then(|judged| finite(judged.objective)),
            steadied: best.and_then(|best| finite(steadied(best.epoch, epochs, metrics))),
            difference: None,
            worst_violation: judged.and_then(violations),
            outcome: state.outcome.clone().filter(|outcome| *outcome != Outcome::Interrupted),
        }
    }

    /// Whether training ended with numbers that are not finite.
    pub fn diverged(&self) -> bool {
        matches!(self.outcome, Some(Outcome::Diverged { .. }))
    }

    /// Whether every requirement is met on validation rows with the room that rows to come need: more than `fit` calls
    /// feasible, which is to meet them on the training rows.
    pub fn met(&self) -> &'static str {
        if self.with_room { "met with room" } else { "room missed" }
    }

    /// In words.
    pub(super) fn to_text(&self) -> String {
        let epochs =
            if self.epochs == 1 { "1 epoch".into() } else { format!("{} epochs", self.epochs) };
        let met = self.met();
        match self.objective {
            _ if self.diverged() => format!("diverged after {epochs}"),
            Some(objective) => {
                format!("{epochs}, {met}, validation objective {}", short(objective))
            }
            None => format!("{epochs}, {met}"),
        }
    }
}

/// The mean of the validation objective around an epoch.
fn steadied(kept: u64, epochs: u64, metrics: &[EpochMetrics]) -> f64 {
    let around = ((AROUND * epochs as f64).ceil() as u64).max(1);
    let near = metrics.iter().filter(|line| line.epoch.abs_diff(kept) <= around);
    let objectives = near.filter_map(|line| Some(line.validation.as_ref()?.objective));
    let (sum, n) = objectives.fold((0.0, 0.0), |(sum, n), objective| (sum + objective, n + 1.0));
    sum / n
}

impl TrialRecord {
    /// How it did at last.
    pub fn last(&self) -> Option<&RoundResult> {
        self.rounds.last()
    }

    /// What differs from the problem file: `model.hidden = [128], training.rate = 0.01`.
    pub fn settings_text(&self) -> String {
        let of = |(key, value): (&String, &toml::Value)| format!("{key} = {value}");
        match self.settings.is_empty() {
            true => "as in the problem file".into(),
            false => self.settings.iter().map(of).collect::<Vec<_>>().join(", "),
        }
    }
}

impl Search {
    /// Rounds that are done.
    pub fn rounds_done(&self) -> usize {
        self.trials.first().map_or(0, |first| first.rounds.len())
    }

    /// The share of its epochs that a trial is trained for in the next round; `None` once all are done.
    pub(super) fn share(&self) -> Option<f64> {
        self.design.rounds.get(self.rounds_done()).copied()
    }

    /// The trials that take part in the next round.
    pub(super) fn alive(&self) -> Vec<usize> {
        let in_it = |(n, trial): (usize, &TrialRecord)| trial.dropped_after.is_none().then_some(n);
        self.trials.iter().enumerate().filter_map(in_it).collect()
    }

    /// Takes note of a round, and of who continues.
    pub(super) fn note(&mut self, results: Vec<(usize, RoundResult)>) {
        let round = self.rounds_done() + 1;
        let of: Vec<(usize, &RoundResult)> =
            results.iter().map(|(n, result)| (*n, result)).collect();
        let continued = match round < self.design.rounds.len() {
            true => halving::continued(&of),
            false => {
                self.chosen = Some(halving::choice(&of, self.trials.len() - 1));
                of.iter().map(|(n, _)| *n).collect()
            }
        };
        for (n, result) in results {
            let trial = &mut self.trials[n];
            trial.rounds.push(result);
            if !continued.contains(&n) {
                trial.dropped_after = Some(round);
            }
        }
    }

    /// The trial that was chosen, and its number.
    pub fn chosen(&self) -> Option<(usize, &TrialRecord)> {
        let n = self.chosen?;
        Some((n, self.trials.get(n)?))
    }

    /// The chosen trial, then the others from the best to the worst: those that got further first.
    pub fn ranked(&self) -> Vec<usize> {
        let rounds = |n: &usize| self.trials[*n].rounds.len();
        let all: Vec<(usize, &RoundResult)> = self
            .trials
            .iter()
            .enumerate()
            .filter_map(|(n, trial)| Some((n, trial.last()?)))
            .collect();
        let mut order = halving::ranked(&all);
        order.sort_by_key(|n| (Some(*n) != self.chosen, std::cmp::Reverse(rounds(n))));
        order
    }

    /// What it is that cannot be: a sentence.
    pub(crate) fn check(&self) -> Result<(), String> {
        let rounds = self.design.rounds.len();
        let done = self.rounds_done();
        if rounds == 0 || self.trials.is_empty() || done > rounds {
            return Err("it has no rounds or no trials".into());
        }
        for (n, trial) in self.trials.iter().enumerate() {
            let took_part = trial.dropped_after.unwrap_or(done);
            if trial.rounds.len() != took_part || took_part > done {
                return Err(format!(
                    "trial {n} has results of rounds that it did not take part in"
                ));
            }
        }
        let complete = done == rounds;
        let sound = match self.chosen {
            Some(n) => {
                complete && self.trials.get(n).is_some_and(|trial| trial.dropped_after.is_none())
            }
            None => !complete,
        };
        if sound { Ok(()) } else { Err("its chosen trial is not one of the last round".into()) }
    }

    /// As a table for people: the trials of the last round, the best first.
    pub fn to_text(&self) -> String {
        self.text_on(&Page::default())
    }

    /// The same, laid out for a page.
    pub fn text_on(&self, page: &Page) -> String {
        let Some((n, chosen)) = self.chosen() else { return String::new() };
        let rounds = self.design.rounds.len();
        let rows = grouped(self.design.validation_rows);
        let trials = match self.trials.len() {
            1 => "1 trial".to_string(),
            all => format!("{} trials", grouped(all)),
        };
        let mut text = format!(
            "{}: {trials}, compared on the {rows} validation rows; those trained in full, the chosen first\n\n",
            self.problem
        );
        let mut grid = Grid::new().ranked(&[0, 1, 0, 1, 0, 0]).with_prose();
        grid.row(["trial", "epochs", "objective", "violation", "", "settings"].map(String::from));
        let finalists =
            self.ranked().into_iter().filter(|&n| self.trials[n].rounds.len() == rounds);
        for n in finalists {
            let trial = &self.trials[n];
            let Some(last) = trial.last() else { continue };
            grid.row([
                n.to_string(),
                last.epochs.to_string(),
                last.objective.map_or(String::new(), short),
                last.worst_violation.map_or(String::new(), short),
                last.met().into(),
                trial.settings_text(),
            ]);
        }
        let (left, right) = (Align::Left, Align::Right);
        text += &grid.on(page, &[right, right, right, right, left, left]);
        for round in 1..rounds {
            let dropped = self.trials.iter().filter(|t| t.dropped_after == Some(round)).count();
            let share = (1.0 / self.design.rounds[round - 1]).round();
            let trials = if dropped == 1 { "trial was" } else { "trials were" };
            text += &format!("{dropped} {trials} dropped after 1/{share} of the epochs\n");
        }
        let objective = |trial: &TrialRecord| trial.last().and_then(|last| last.objective);
        if n == 0 {
            let others = match self.alive().len() {
                1 => String::new(),
                _ => {
                    ": no other is better by more than the luck of the best of so many".to_string()
                }
            };
            return text + &format!("\nChosen: the settings of the file{others}\n");
        }
        text += &format!("\nChosen: {}\n", chosen.settings_text());
        let first = self.trials.first().and_then(objective);
        if let (Some(now), Some(before)) = (objective(chosen), first) {
            let (now, before) = (short(now), short(before));
            let by = chosen.last().and_then(|last| last.difference);
            let by = by.map_or(String::new(), |by| {
                format!(": a difference of {} ± {}", short(by.mean), short(by.standard_error))
            });
            text += &format!(
                "Validation objective {now}, with the settings of the file {before}{by}\n"
            );
        }
        text
    }
}

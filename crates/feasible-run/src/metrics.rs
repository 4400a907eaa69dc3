//! What an epoch came to: one line of `metrics.jsonl`, and what observers see.
//!
//! Clock times are kept apart, in `timings.jsonl`: metrics are the same bytes however often a run
//! was interrupted.

use feasible::EpochReport;
use feasible::json::or_nan;
use feasible_nn::Activation;
use feasible_problem::plan::Plan;
use serde::{Deserialize, Serialize};

/// One line of `metrics.jsonl`. What was not finite is `null` there and NaN here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochMetrics {
    /// The network of an average, by the fold that it is trained without, from 1; absent for a single model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<usize>,
    /// Its nonlinearity, where several are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    /// Epochs done.
    pub epoch: u64,
    /// The average loss of the objective on the training rows.
    #[serde(deserialize_with = "or_nan")]
    pub objective: f64,
    /// α/2 ‖θ‖².
    #[serde(deserialize_with = "or_nan")]
    pub penalty: f64,
    /// The Lagrangian.
    #[serde(deserialize_with = "or_nan")]
    pub lagrangian: f64,
    /// The relative duality gap.
    #[serde(deserialize_with = "or_nan")]
    pub gap: f64,
    /// Whether every requirement is met on the training rows.
    pub feasible: bool,
    /// Whether it is the best iterate so far.
    pub best: bool,
    /// Every requirement.
    pub requirements: Vec<RequirementMetrics>,
    /// The same on the validation rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<ValidationMetrics>,
}

/// A requirement after an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequirementMetrics {
    /// Its name.
    pub name: String,
    /// The mean of its loss.
    #[serde(deserialize_with = "or_nan")]
    pub value: f64,
    /// The largest violation: positive if violated.
    #[serde(deserialize_with = "or_nan")]
    pub worst_violation: f64,
    /// The share of points over the limit.
    #[serde(deserialize_with = "or_nan")]
    pub violated: f64,
    /// Whether it is met.
    pub met: bool,
    /// μ or the mean of λ.
    #[serde(deserialize_with = "or_nan")]
    pub multiplier: f64,
    /// The share of multipliers that are 0.
    #[serde(deserialize_with = "or_nan")]
    pub multipliers_at_zero: f64,
}

/// The validation rows after an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidationMetrics {
    /// The average loss of the objective.
    #[serde(deserialize_with = "or_nan")]
    pub objective: f64,
    /// Every requirement.
    pub requirements: Vec<RequirementMetrics>,
}

/// One line of `timings.jsonl`, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochTiming {
    /// Epochs done.
    pub epoch: u64,
    /// Moving θ.
    pub primal: f64,
    /// Measuring violations and moving multipliers.
    pub dual: f64,
    /// Since this process began to train.
    pub elapsed: f64,
    /// What rank 0 had to do with the others, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Traffic>,
}

/// What one rank had to do with the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Messages that it sent.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Seconds of sending and receiving, with those in which it waited for another rank.
    pub waited: f64,
}

impl Traffic {
    /// Since another moment.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            messages: self.messages - before.messages,
            bytes: self.bytes - before.bytes,
            waited: self.waited - before.waited,
        }
    }
}

fn rows(standings: &[feasible::Standing]) -> Vec<RequirementMetrics> {
    let row = |s: &feasible::Standing| RequirementMetrics {
        name: s.name.clone(),
        value: s.value,
        worst_violation: s.worst_violation,
        violated: s.violated,
        met: s.met,
        multiplier: s.multiplier,
        multipliers_at_zero: s.multipliers_at_zero,
    };
    standings.iter().map(row).collect()
}

impl EpochMetrics {
    /// A report of the core.
    pub fn new(report: &EpochReport) -> Self {
        Self {
            fold: None,
            activation: None,
            epoch: report.epoch,
            objective: report.objective,
            penalty: report.penalty,
            lagrangian: report.lagrangian,
            gap: report.gap.relative,
            feasible: report.requirements.iter().all(|r| r.met),
            best: report.best,
            requirements: rows(&report.requirements),
            validation: report.validation.as_ref().map(|v| ValidationMetrics {
                objective: v.objective,
                requirements: rows(&v.requirements),
            }),
        }
    }

    /// The same, named as the network of an average, if the plan's network without this fold is one.
    #[must_use]
    pub(crate) fn of_network(self, plan: &Plan, fold: usize) -> Self {
        if plan.folds() < 2 {
            return self;
        }
        let compared = !plan.other_activations().is_empty();
        let activation = plan.model().activation().filter(|_| compared);
        Self { fold: Some(fold + 1), activation, ..self }
    }

    /// The requirement with the largest violation.
    pub fn worst(&self) -> Option<&RequirementMetrics> {
        self.requirements.iter().max_by(|a, b| a.worst_violation.total_cmp(&b.worst_violation))
    }
}

/// A value as one line of JSON.
pub(crate) fn json_line(value: &impl Serialize) -> Vec<u8> {
    // Structs of numbers, text and lists cannot fail to serialise; NaN becomes null.
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

/// What observers of a fit are told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A training starts, or is resumed.
    Started {
        /// Its seed.
        seed: u64,
        /// Epochs already done.
        epoch: u64,
        /// Epochs in all.
        epochs: u64,
    },
    /// An epoch is done.
    Epoch {
        /// The seed.
        seed: u64,
        /// Epochs in all.
        epochs: u64,
        /// What it came to.
        metrics: Box<EpochMetrics>,
    },
    /// State was saved.
    Checkpoint {
        /// The seed.
        seed: u64,
        /// Epochs done.
        epoch: u64,
    },
    /// The training ended.
    Ended {
        /// The seed.
        seed: u64,
        /// How, in words.
        ended: String,
    },
}

impl Event {
    /// The same of a trial of a search, whose number takes the place of the seed that all trials share.
    #[must_use]
    pub(crate) fn of_trial(mut self, number: u64) -> Self {
        let (Self::Started { seed, .. }
        | Self::Epoch { seed, .. }
        | Self::Checkpoint { seed, .. }
        | Self::Ended { seed, .. }) = &mut self;
        *seed = number;
        self
    }
}

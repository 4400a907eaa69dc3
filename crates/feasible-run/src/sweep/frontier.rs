//! What a sweep finds: for each limit and seed, what the model achieves and what the limit costs.

use std::collections::HashSet;

use feasible::Outcome;
use feasible_problem::spec::RequirementKind;
use feasible_problem::text::{Align, Grid, Page, short};
use serde::{Deserialize, Serialize};

use super::{Key, Starts};
use crate::evaluate::{Evaluation, RequirementResult};
use crate::summary::{Spread, Summary};

/// The trade-off between a limit and everything else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frontier {
    /// What the problem is called.
    pub problem: String,
    /// The requirement whose limit moves.
    pub requirement: String,
    /// `at_most`, `at_least` or `within`.
    pub key: Key,
    /// On average or for every sample.
    pub kind: RequirementKind,
    /// Where each limit starts.
    pub starts: Starts,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The limits, ascending.
    pub limits: Vec<f64>,
    /// The result of each limit and seed: by limit, then by seed.
    pub points: Vec<Point>,
}

/// One limit and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The limit.
    pub limit: f64,
    /// The seed.
    pub seed: u64,
    /// How training ended.
    pub outcome: Outcome,
    /// Epochs done.
    pub epochs: u64,
    /// The multiplier of the requirement: its μ or mean of λ, summed over the constraints it stands for; `None` where one of them is not known.
    pub multiplier: Option<f64>,
    /// On the training rows.
    pub train: Achieved,
    /// On the rows the model is judged by, if those are others.
    pub judged: Option<Achieved>,
}

/// What a model achieves on some rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Achieved {
    /// `train`, `validation` or `test`.
    pub part: String,
    /// The average loss of the objective.
    pub objective: Option<f64>,
    /// The share of right predictions.
    pub accuracy: Option<f64>,
    /// The root mean squared error.
    pub rmse: Option<f64>,
    /// The largest violation of the requirement: positive if it is violated.
    pub worst_violation: Option<f64>,
    /// The share of samples (pointwise) or constraints (average) over the limit.
    pub violated: Option<f64>,
    /// Whether every requirement of the problem is met.
    pub met: bool,
}

impl Achieved {
    fn of(part: &str, evaluation: &Evaluation, swept: &[usize]) -> Self {
        let of = || swept.iter().filter_map(|&at| evaluation.requirements.get(at));
        let most = |value: &dyn Fn(&RequirementResult) -> Option<f64>| {
            of().filter_map(value).reduce(f64::max)
        };
        Self {
            part: part.to_string(),
            objective: Some(evaluation.objective).filter(|x| x.is_finite()),
            accuracy: evaluation.accuracy,
            rmse: evaluation.rmse,
            worst_violation: most(&|s| s.worst_violation),
            violated: Spread::of(of().filter_map(|s| s.violated)).map(|spread| spread.mean),
            met: evaluation.shows_met(),
        }
    }
}

impl Point {
    /// Of a training; `swept` are the numbers of the constraints the requirement stands for.
    pub(super) fn of(summary: &Summary, limit: f64, swept: &[usize]) -> Self {
        let (part, judged) = summary.judged();
        let multiplier = |at: &usize| summary.train.requirements.get(*at)?.multiplier;
        Self {
            limit,
            seed: summary.seed,
            outcome: summary.outcome.clone(),
            epochs: summary.epochs,
            multiplier: swept.iter().map(multiplier).sum(),
            train: Achieved::of("train", &summary.train, swept),
            judged: (part != "train").then(|| Achieved {
                met: summary.shows_met(),
                ..Achieved::of(part, judged, swept)
            }),
        }
    }

    /// On the rows the model is judged by.
    pub fn at_last(&self) -> &Achieved {
        self.judged.as_ref().unwrap_or(&self.train)
    }
}

impl Frontier {
    /// With these points.
    pub(super) fn with(self, mut points: Vec<Point>) -> Self {
        points.sort_by(|a, b| a.limit.total_cmp(&b.limit).then(a.seed.cmp(&b.seed)));
        Self { points, ..self }
    }

    /// Every limit and seed that it is made of.
    pub(super) fn runs(&self) -> Vec<(f64, u64)> {
        let of = |&limit: &f64| self.seeds.iter().map(move |&seed| (limit, seed));
        self.limits.iter().flat_map(of).collect()
    }

    /// The limits and seeds whose points are not there yet.
    pub fn missing(&self) -> Vec<(f64, u64)> {
        let key = |(limit, seed): &(f64, u64)| (limit.to_bits(), *seed);
        let there: HashSet<_> = self.points.iter().map(|p| key(&(p.limit, p.seed))).collect();
        self.runs().into_iter().filter(|run| !there.contains(&key(run))).collect()
    }

    /// The seeds' points at a limit.
    pub fn at(&self, limit: f64) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(move |point| point.limit == limit)
    }

    /// Mean and spread of something over the seeds at a limit.
    pub fn spread(&self, limit: f64, of: impl Fn(&Point) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.at(limit).filter_map(of))
    }

    /// `test`, `validation` or `train`: the rows the models are judged by.
    pub fn part(&self) -> &str {
        self.points.first().map_or("train", |point| point.at_last().part.as_str())
    }

    /// As a table for people: mean ± sd over seeds.
    pub fn to_text(&self) -> String {
        self.text_on(&Page::default())
    }

    /// The same, laid out for a page.
    pub fn text_on(&self, page: &Page) -> String {
        let n = self.seeds.len();
        let seeds = if n == 1 { "1 seed".into() } else { format!("mean ± sd of {n} seeds") };
        let part = self.part().to_string();
        let mut text = format!("{}, limit of '{}', {seeds}\n\n", self.problem, self.requirement);
        let first = self.points.first();
        let numbers = first.is_some_and(|point| point.train.rmse.is_some());
        let over = if self.kind == RequirementKind::Pointwise {
            "over the limit"
        } else {
            "largest violation"
        };
        let mut grid = Grid::new().ranked(&[0, 3, 2, 0, 2, 1, 4, 0]);
        let head = [
            self.key.sign().to_string(),
            "objective".into(),
            format!("{part} objective"),
            if numbers { format!("{part} error") } else { format!("{part} accuracy") },
            format!("{over}, train"),
            format!("{over}, {part}"),
            "multiplier".into(),
            format!("met on {part}"),
        ];
        grid.row(head);
        for &limit in &self.limits {
            let number = |of: &dyn Fn(&Point) -> Option<f64>| {
                self.spread(limit, of).map_or(String::new(), |s| s.as_rounded())
            };
            let percent = |of: &dyn Fn(&Point) -> Option<f64>, digits| {
                self.spread(limit, of).map_or(String::new(), |s| s.as_percent(digits))
            };
            let over = |of: &dyn Fn(&Point) -> &Achieved| match self.kind {
                RequirementKind::Pointwise => percent(&|p| of(p).violated, 2),
                RequirementKind::Average => number(&|p| of(p).worst_violation),
            };
            let met = self.at(limit).filter(|point| point.at_last().met).count();
            grid.row([
                short(limit),
                number(&|p| p.train.objective),
                number(&|p| p.at_last().objective),
                match numbers {
                    true => number(&|p| p.at_last().rmse),
                    false => percent(&|p| p.at_last().accuracy, 2),
                },
                over(&|p| &p.train),
                over(&|p| p.at_last()),
                number(&|p| p.multiplier),
                format!("{met} of {n}"),
            ]);
        }
        text += &grid.on(page, &[Align::Right]);
        text
    }

    /// One line of CSV for each limit, seed and part.
    pub fn to_csv(&self) -> Vec<u8> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        let text = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
        // Writing to memory cannot fail.
        let mut record = |fields: Vec<String>| csv.write_record(fields).is_ok();
        let head = [
            "limit",
            "seed",
            "part",
            "objective",
            "accuracy",
            "rmse",
            "worst_violation",
            "violated",
            "met",
            "multiplier",
            "outcome",
            "epochs",
        ];
        record(head.map(String::from).to_vec());
        for point in &self.points {
            for of in std::iter::once(&point.train).chain(&point.judged) {
                record(vec![
                    point.limit.to_string(),
                    point.seed.to_string(),
                    of.part.clone(),
                    text(of.objective),
                    text(of.accuracy),
                    text(of.rmse),
                    text(of.worst_violation),
                    text(of.violated),
                    of.met.to_string(),
                    text(point.multiplier),
                    point.outcome.to_string(),
                    point.epochs.to_string(),
                ]);
            }
        }
        csv.into_inner().unwrap_or_default()
    }
}

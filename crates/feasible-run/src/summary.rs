//! The results of a training: as JSON for programs, as a table for people.

use std::collections::BTreeMap;

use feasible::certificate::RowsNeeded;
use feasible::stationarity::Stationarity;
use feasible::{Gap, Kkt, Outcome};
use feasible_data::visible;
use feasible_problem::spec::RequirementKind;
use feasible_problem::text::{Align, BAD, GOOD, Grid, Page, grouped, percent, short};
use serde::{Deserialize, Serialize};

use crate::baseline::{Difference, cost_text, seeds_cost_text};
use crate::certify::Certification;
use crate::conclusion::{named, rows_of};
use crate::constant::{Comparison, Constant, Measure};
use crate::decision::Decision;
use crate::doubt::{Doubt, without_validation};
use crate::evaluate::{Evaluation, RequirementResult};
use crate::folds::{CrossValidation, range};
use crate::ladder::{self, Rung};

/// Doubts that are spelt out.
const MOST: usize = 5;

/// The results of a training. No clock time is in it, so that it is the same bytes however often
/// the run was interrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// What the problem is called.
    pub problem: String,
    /// The seed.
    pub seed: u64,
    /// How training ended.
    pub outcome: Outcome,
    /// Epochs done; of networks that are averaged, the most that one took.
    pub epochs: u64,
    /// The epoch the model is from; `None` for an average, whose networks each have their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_epoch: Option<u64>,
    /// Number of parameters.
    pub parameters: usize,
    /// Number of multipliers.
    pub multipliers: usize,
    /// The duality gap on the training rows.
    pub gap: Gap,
    /// KKT residuals on the training rows.
    pub kkt: Kkt,
    /// ‖∇L‖/‖∇F₀‖ on the training rows, at the multipliers that fit best: how far the multipliers of average requirements can be trusted. `None` if it
    /// was not computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stationarity: Option<f64>,
    /// Where the probability of the positive class is cut, if not at 1/2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// On the training rows, with the multipliers.
    pub train: Evaluation,
    /// On the validation rows.
    pub validation: Option<Evaluation>,
    /// On the test rows.
    pub test: Option<Evaluation>,
    /// Of networks that are averaged, on the rows that each did not see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_validation: Option<CrossValidation>,
    /// That the epoch which was kept hangs on one validation row, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close_call: Option<String>,
    /// What was decided about the data without being asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Requirements that are not expected to hold on new rows, going by training and validation rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
    /// Where the losses of requirements are clipped if they have no upper bound, by name: chosen on training and validation
    /// rows, so that other rows can prove something about the clipped loss.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clips: BTreeMap<String, f64>,
    /// What to know and to try about requirements that are not met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<String>,
    /// Whether the problem file asks for a certificate, which then decides whether requirements are met.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub certify: bool,
    /// What held-out rows certify.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Certification>,
    /// The models of a ladder, of which this is the one that was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<Vec<Rung>>,
    /// Why nothing is certified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_certificate: Option<String>,
    /// What the requirements cost, against a model without them; empty if none was trained.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cost: Vec<Difference>,
    /// Why there is no such model, if one was to be trained. No part of the file: it may be trained later.
    #[serde(skip)]
    pub no_baseline: Option<String>,
    /// Whether the machine did not let something beside the run be written.
    #[serde(skip)]
    pub unwritten: bool,
}

impl Summary {
    /// The rows a model is judged by: test rows if there are any, else validation, else training.
    pub fn judged(&self) -> (&'static str, &Evaluation) {
        match (&self.test, &self.validation) {
            (Some(test), _) => ("test", test),
            (None, Some(validation)) => ("validation", validation),
            (None, None) => ("train", &self.train),
        }
    }

    /// The multiplier of a requirement where it is a price to first order: at a θ whose gradients cancel, of a loss that is not the surrogate of a rate.
    pub fn price(&self, requirement: usize) -> Option<f64> {
        let of = self.train.requirements.get(requirement)?;
        let is_stationary = || self.stationarity.is_some_and(|rest| rest <= Stationarity::RESIDUAL);
        let multiplier = match of.kind {
            RequirementKind::Average => of.multiplier?,
            // As training left them.
            RequirementKind::Pointwise => of.multiplier.filter(|_| is_stationary())?,
        };
        (multiplier == 0.0 || !of.smoothed).then_some(multiplier)
    }

    /// Whether every requirement is met on the rows the model is judged by; certified, if the problem file
    /// asks for that. A requirement of which these rows tell nothing is judged by the validation rows, or else by the training
    /// rows; if they tell nothing either, it is not known to be met.
    pub fn met(&self) -> bool {
        match (self.certify, &self.certificate) {
            _ if self.train.requirements.is_empty() => true,
            (false, _) => self.shows_met(),
            (true, certificate) => {
                // Of a ladder, only a model that was taken.
                let taken = self.ladder.as_ref().is_none_or(|l| l.iter().any(|rung| rung.taken));
                taken && certificate.as_ref().is_some_and(Certification::all_certified)
            }
        }
    }

    /// Whether its rows show every requirement met, each by those that decide on it.
    pub(crate) fn shows_met(&self) -> bool {
        let mut all = 0..self.train.requirements.len();
        all.all(|at| self.deciding(at).is_some_and(|(_, deciding)| deciding.met))
    }

    /// The rows that decide on a requirement, and how it stands on them: those that the model is judged by, or the first before them
    /// that tell of it.
    pub(crate) fn deciding(&self, at: usize) -> Option<(&'static str, &RequirementResult)> {
        let parts = self.parts().into_iter().rev();
        let mut standings =
            parts.filter_map(|(part, evaluation)| Some((part, evaluation.requirements.get(at)?)));
        standings.find(|(_, standing)| standing.is_known())
    }

    /// The model beside the best constant prediction and the model without the requirements, on the rows that it is judged by.
    pub fn comparison(&self) -> Option<Comparison> {
        let (part, judged) = self.judged();
        let one = judged.comparison(None)?;
        let name = if one.measure == Measure::Accuracy { "accuracy" } else { "objective" };
        let cost = self.cost.iter().find(|cost| cost.part == part && cost.measure == name);
        Some(Comparison { without: cost.map(|cost| cost.without), ..one })
    }

    /// That the model is worse than the best constant prediction, if it is.
    pub fn worse_than_constant(&self) -> Option<String> {
        let comparison = self.comparison().filter(Comparison::is_worse)?;
        Some(comparison.sentence(&rows_of(self.judged().0)))
    }

    /// Whether a requirement was met when training ended, on the rows that decide on it.
    pub(crate) fn is_met(&self, requirement: &str) -> Option<bool> {
        let at = self.train.requirements.iter().position(|one| one.name == requirement)?;
        self.deciding(at).map(|(_, standing)| standing.met)
    }

    /// Whether all parts are about the same requirements; what is wrong is a sentence.
    pub(crate) fn check(&self) -> Result<(), String> {
        fn names(evaluation: &Evaluation) -> impl Iterator<Item = &str> {
            evaluation.requirements.iter().map(|requirement| requirement.name.as_str())
        }
        if let Some(decision) = &self.decision {
            decision.check()?;
        }
        for (part, evaluation) in self.parts() {
            if !names(evaluation).eq(names(&self.train)) {
                return Err(format!(
                    "the requirements of its {part} rows are not those of its training rows"
                ));
            }
            let table = evaluation.confusion.as_deref().unwrap_or_default();
            if table.iter().any(|row| row.len() != table.len()) {
                return Err(format!("the confusion table of its {part} rows is not square"));
            }
        }
        if let Some((name, clip)) =
            self.clips.iter().find(|(_, clip)| !(**clip > 0.0 && clip.is_finite()))
        {
            return Err(format!(
                "the loss of '{}' is clipped at {clip}, not at a number above 0",
                visible(name)
            ));
        }
        match self.cost.iter().find(|one| !one.is_sound()) {
            Some(one) => Err(format!("its difference of '{}' is not a number", one.measure)),
            None => Ok(()),
        }
    }

    /// The epoch the model is from, of how many; of networks that are averaged, the first and the last such epoch. `None` for linear
    /// models, which are solved.
    pub fn best_epoch(&self) -> Option<String> {
        let networks = self.cross_validation.as_ref().map(|of| &of.networks[..]);
        let kept = match (self.kept_epoch, networks) {
            (Some(kept), _) => kept.to_string(),
            (None, networks) => range(networks?.iter().map(|network| network.kept_epoch))?,
        };
        Some(format!("{kept} of {}", self.epochs))
    }

    /// The parts, by name.
    pub fn parts(&self) -> Vec<(&'static str, &Evaluation)> {
        let mut parts = vec![("train", &self.train)];
        parts.extend(self.validation.as_ref().map(|e| ("validation", e)));
        parts.extend(self.test.as_ref().map(|e| ("test", e)));
        parts
    }

    /// The doubts as sentences, the first few and how many more there are; of requirements that are not met on the training
    /// rows the advice speaks.
    pub fn doubt_lines(&self) -> Vec<String> {
        let missed = |name: &str| self.train.requirements.iter().any(|r| r.name == name && !r.met);
        let all: Vec<&Doubt> = self.doubts.iter().filter(|d| !missed(&d.requirement)).collect();
        if let (None, [_, _, ..]) = (&self.validation, &all[..]) {
            // The same of each: once is enough.
            let names: Vec<&str> = all.iter().map(|doubt| doubt.requirement.as_str()).collect();
            let most =
                all.iter().filter_map(|doubt| doubt.rows_needed).max_by_key(|rows| match rows {
                    RowsNeeded::About(rows) => (0, *rows),
                    RowsNeeded::MoreThan(rows) => (1, *rows),
                    RowsNeeded::Never => (2, 0),
                });
            let what = format!("{} hold", named(&names));
            return vec![without_validation(self.train.rows, &what, most)];
        }
        let mut lines: Vec<String> =
            all.iter().take(MOST).map(|doubt| doubt.text.clone()).collect();
        match all.len().saturating_sub(MOST) {
            0 => {}
            1 => lines.push("1 more requirement is not expected to hold.".into()),
            more => lines.push(format!("{more} more requirements are not expected to hold.")),
        }
        lines
    }

    /// The verdict, what to do about it, and the numbers, for people.
    pub fn to_text(&self) -> String {
        self.text_on(&Page::default())
    }

    /// The same, laid out for a page.
    pub fn text_on(&self, page: &Page) -> String {
        let color = if self.met() { GOOD } else { BAD };
        let verdict = match self.judged().1.requirements.is_empty() {
            true => self.verdict(),
            false => page.paint(color, &self.verdict()),
        };
        let useless = self.worse_than_constant();
        let useless = useless.map_or(String::new(), |text| page.paint(BAD, &text) + "\n");
        let best = self.best_epoch().map_or(String::new(), |best| format!(" (best epoch: {best})"));
        let (problem, seed, headline) = (&self.problem, self.seed, self.headline());
        let mut text = format!("{verdict}\n{useless}{problem}, seed {seed}: {headline}{best}\n");
        if !self.advice.is_empty() {
            text += "\nWhat is not met, and what to try\n";
            self.advice.iter().for_each(|line| text += &format!("- {line}\n"));
        }
        let doubts = self.doubt_lines();
        if !doubts.is_empty() {
            text += "\nWhat not to expect on new rows\n";
            doubts.iter().for_each(|line| text += &format!("- {line}\n"));
        }
        if let Some(close_call) = &self.close_call {
            text += &format!("\n{close_call}\n");
        }
        text += "\n";
        text += &evaluations_text(&self.parts(), page);
        if let Some(folds) = &self.cross_validation {
            text += &format!("\n{}\n", folds.to_text());
        }
        if let Some(decision) = &self.decision {
            text += &format!("\n{}\n", decision.to_text());
        }
        text += &cost_text(self);
        text += &match (&self.certificate, &self.no_certificate) {
            (Some(certificate), _) if !certificate.certificate.findings.is_empty() => {
                format!("\n{}", certificate.text_on(page))
            }
            (None, Some(reason)) if !self.train.requirements.is_empty() => {
                format!("\nNo certificate: {reason}\n")
            }
            _ => String::new(),
        };
        if let Some(rungs) = &self.ladder {
            text += &ladder::to_text(rungs, page);
        }
        text
    }
}

/// The most requirements that are printed one by one where the page is not to have all of them.
pub(crate) const MOST_LISTED: usize = 12;

/// Evaluations side by side; the last one decides.
pub(crate) fn evaluations_text(parts: &[(&'static str, &Evaluation)], page: &Page) -> String {
    let mut text = String::new();
    let mut grid = Grid::new();
    grid.row(std::iter::once("".to_string()).chain(parts.iter().map(|(name, _)| name.to_string())));
    grid.row(cells("rows", parts, |e| grouped(e.rows)));
    let constant = parts.first().and_then(|(_, e)| e.constant.as_ref());
    let of_constant = |first: &Constant| {
        let value = |e: &Evaluation| Some(first.measure.shown(e.constant.as_ref()?.value));
        cells(&format!("  {}", first.label()), parts, |e| value(e).unwrap_or_default())
    };
    if parts.iter().any(|(_, e)| e.accuracy.is_some()) {
        grid.row(cells("accuracy", parts, |e| e.accuracy.map_or("".into(), percent)));
    }
    if let Some(constant) = constant.filter(|c| c.measure == Measure::Accuracy) {
        grid.row(of_constant(constant));
    }
    if parts.iter().any(|(_, e)| e.rmse.is_some()) {
        let name = parts.first().map_or("", |(_, e)| e.rmse_name());
        grid.row(cells(name, parts, |e| e.rmse.map_or("".into(), short)));
    }
    let targets = parts.first().map_or(&[][..], |(_, e)| &e.by_target);
    for (at, of) in targets.iter().enumerate() {
        let label = format!("  of {}", visible(&of.target));
        grid.row(cells(&label, parts, |e| {
            e.by_target.get(at).map_or("".into(), |of| short(of.rmse))
        }));
    }
    grid.row(cells("objective", parts, |e| short(e.objective)));
    if let Some(constant) = constant.filter(|c| c.measure == Measure::Objective) {
        grid.row(of_constant(constant));
    }
    let flip_rates = parts.first().map_or(&[][..], |(_, e)| &e.flip_rates);
    for (at, flip) in flip_rates.iter().enumerate() {
        let label = format!("flip rate, {}", flip.counterfactual);
        grid.row(cells(&label, parts, |e| {
            e.flip_rates.get(at).map_or("".into(), |f| percent(f.share))
        }));
    }
    text += &grid.on(page, &[Align::Left, Align::Right]);
    text + &requirements_text(parts, page)
}

/// Every requirement on every part, those that are not met first; of many, only these.
fn requirements_text(parts: &[(&'static str, &Evaluation)], page: &Page) -> String {
    let Some((_, first)) = parts.first().filter(|(_, e)| !e.requirements.is_empty()) else {
        return String::new();
    };
    let all = first.requirements.len();
    let is_met =
        |at: usize| parts.iter().map(|(_, e)| &e.requirements[at]).all(|r| r.met && r.is_known());
    let (met, missed): (Vec<usize>, Vec<usize>) = (0..all).partition(|&at| is_met(at));
    let listed = match page.whole || all <= MOST_LISTED {
        true => [missed, met.clone()].concat(),
        false => missed,
    };
    let with_multipliers = first.requirements.iter().any(|r| r.training_multiplier.is_some());
    // The rows that decide stay longest, then those that were trained on.
    let mut ranks = vec![0, 0];
    let mut head = vec!["requirement".to_string(), "limit".into()];
    for (at, (name, _)) in parts.iter().enumerate() {
        let rank = if at + 1 == parts.len() { 0 } else { 1 + u8::from(at > 0) };
        ranks.extend([rank; 2]);
        head.extend([name.to_string(), "".into()]);
    }
    let pointwise = |at: &usize| first.requirements[*at].kind == RequirementKind::Pointwise;
    let with_zeros = with_multipliers && listed.iter().any(pointwise);
    if with_multipliers {
        ranks.push(3);
        head.push("multiplier".into());
    }
    if with_zeros {
        ranks.push(4);
        head.push("at 0".into());
    }
    let mut grid = Grid::new().ranked(&ranks);
    grid.row(head);
    for &at in &listed {
        let requirement = &first.requirements[at];
        let mut row = vec![
            requirement.name.clone(),
            format!(
                "{} {}",
                requirement.sense.replace("<=", "≤").replace(">=", "≥"),
                short(requirement.limit)
            ),
        ];
        for (_, evaluation) in parts {
            let s: &RequirementResult = &evaluation.requirements[at];
            row.push(match (s.kind, s.violated, s.value) {
                (RequirementKind::Pointwise, Some(share), _) => format!("{} over", percent(share)),
                (_, _, Some(value)) => short(value),
                (_, _, None) => "no rows".into(),
            });
            row.push(match (s.is_known(), s.met) {
                (false, _) => "unknown".into(),
                (true, true) => "met".into(),
                (true, false) => "NOT MET".into(),
            });
        }
        if with_multipliers {
            row.push(match (requirement.multiplier, requirement.training_multiplier) {
                (Some(multiplier), _) => short(multiplier),
                (None, Some(_)) => "–".into(),
                (None, None) => String::new(),
            });
        }
        if with_zeros {
            let at_zero = requirement.multipliers_at_zero.filter(|_| pointwise(&at));
            row.push(at_zero.map_or("".into(), percent));
        }
        grid.row(row);
    }
    let mut text = String::new();
    if !listed.is_empty() {
        text += "\n";
        text += &grid.on(page, &[Align::Left, Align::Right]);
        let unknown = |at: &usize| {
            let of = &first.requirements[*at];
            of.multiplier.is_none() && of.training_multiplier.is_some()
        };
        if listed.iter().any(unknown) {
            text += "–: the gradients at this model do not determine the multiplier\n";
        }
    }
    if listed.len() < all {
        let names: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
        let more = if listed.is_empty() { "" } else { " others" };
        text += &format!(
            "\nThe {}{more} of {all} requirements are met on all rows ({}); -v lists them.\n",
            met.len(),
            names.join(", ")
        );
    }
    for requirement in listed.iter().map(|&at| &first.requirements[at]) {
        if let Some(attack) = &requirement.attack {
            text += &format!("'{}' is judged under attack: {attack}\n", requirement.name);
        }
    }
    text
}

fn cells(
    label: &str,
    parts: &[(&'static str, &Evaluation)],
    cell: impl Fn(&Evaluation) -> String,
) -> Vec<String> {
    std::iter::once(label.to_string()).chain(parts.iter().map(|(_, e)| cell(e))).collect()
}

/// Mean and standard deviation over seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation, of a sample (n − 1).
    pub sd: f64,
    /// How many.
    pub n: usize,
}

impl Spread {
    /// Of some numbers; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
        let sd = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
        Some(Self { mean, sd, n })
    }

    /// `82.4 ± 0.6 %`.
    pub fn as_percent(&self, digits: usize) -> String {
        let mean = 100.0 * self.mean;
        if self.n == 1 {
            return format!("{mean:.digits$} %");
        }
        format!("{mean:.digits$} ± {:.digits$} %", 100.0 * self.sd)
    }

    /// `0.15 ± 0.13 points`, of differences of shares.
    pub(crate) fn as_points(&self, digits: usize) -> String {
        self.as_percent(digits).replace(" %", " points")
    }

    /// `0.3383 ± 0.0005`: the spread to two digits, the mean to as many places.
    pub fn as_rounded(&self) -> String {
        let size = self.mean.abs().max(self.sd);
        if self.n == 1 || self.sd == 0.0 || !size.is_finite() || !(1e-3..1e6).contains(&size) {
            return self.as_number();
        }
        let places = (1 - self.sd.log10().floor() as i32).clamp(0, 6) as usize;
        format!("{:.places$} ± {:.places$}", self.mean, self.sd)
    }

    /// `0.31 ± 0.02`.
    pub fn as_number(&self) -> String {
        if self.n == 1 {
            short(self.mean)
        } else {
            format!("{} ± {}", short(self.mean), short(self.sd))
        }
    }
}

/// Several seeds of one problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedsSummary {
    /// What the problem is called.
    pub problem: String,
    /// Every run.
    pub runs: Vec<Summary>,
}

impl SeedsSummary {
    /// Whether all runs are of one problem; what is wrong is a sentence.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.runs.iter().try_for_each(Summary::check)?;
        let Some(first) = self.runs.first() else { return Ok(()) };
        let names = |run: &Summary| -> Vec<String> {
            run.train.requirements.iter().map(|requirement| requirement.name.clone()).collect()
        };
        match self.runs.iter().all(|run| names(run) == names(first)) {
            true => Ok(()),
            false => Err("its runs have different requirements".into()),
        }
    }

    /// Whether every run meets every requirement.
    pub fn met(&self) -> bool {
        self.runs.iter().all(Summary::met)
    }

    /// Mean and spread of something over the runs.
    pub fn spread(&self, of: impl Fn(&Summary) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.runs.iter().filter_map(of))
    }

    /// As a table for people: mean ± sd.
    pub fn to_text(&self) -> String {
        self.text_on(&Page::default())
    }

    /// The same, laid out for a page.
    pub fn text_on(&self, page: &Page) -> String {
        let Some(first) = self.runs.first() else { return String::new() };
        let seeds: Vec<String> = self.runs.iter().map(|run| run.seed.to_string()).collect();
        let mut text = format!(
            "{}, {} seeds ({}): mean ± sd\n\n",
            self.problem,
            seeds.len(),
            seeds.join(", ")
        );
        let names: Vec<&str> = first.parts().iter().map(|(name, _)| *name).collect();
        let mut grid = Grid::new();
        grid.row(std::iter::once("").chain(names.iter().copied()).map(String::from));
        let part = |run: &'_ Summary, at: usize| run.parts().get(at).map(|(_, e)| (*e).clone());
        let mut line =
            |label: String, of: &dyn Fn(&Evaluation) -> Option<f64>, share: bool| {
                let mut row = vec![label];
                for at in 0..names.len() {
                    let spread = self.spread(|run| part(run, at).as_ref().and_then(of));
                    row.push(spread.map_or("".into(), |s| {
                        if share { s.as_percent(2) } else { s.as_number() }
                    }));
                }
                grid.row(row);
            };
        if first.train.accuracy.is_some() {
            line("accuracy".into(), &|e| e.accuracy, true);
        }
        if let Some(constant) = &first.train.constant {
            let share = constant.measure == Measure::Accuracy;
            let label = format!("  {}", constant.label());
            line(label, &|e| e.constant.as_ref().map(|c| c.value), share);
        }
        if first.train.rmse.is_some() {
            line(first.train.rmse_name().into(), &|e| e.rmse, false);
        }
        for (at, of) in first.train.by_target.iter().enumerate() {
            let label = format!("  of {}", visible(&of.target));
            line(label, &|e| e.by_target.get(at).map(|of| of.rmse), false);
        }
        line("objective".into(), &|e| Some(e.objective), false);
        for (at, flip) in first.train.flip_rates.iter().enumerate() {
            let label = format!("flip rate, {}", flip.counterfactual);
            line(label, &|e| e.flip_rates.get(at).map(|f| f.share), true);
        }
        for (at, requirement) in first.train.requirements.iter().enumerate() {
            let name = &requirement.name;
            if !page.whole && first.train.requirements.len() > MOST_LISTED && self.all_met(at) {
                continue;
            }
            line(format!("{name}, mean"), &|e| e.requirements[at].value, false);
            line(format!("{name}, violated"), &|e| e.requirements[at].violated, true);
            let met = |e: &Evaluation| {
                let known = Some(&e.requirements[at]).filter(|r| r.is_known());
                known.map(|r| f64::from(u8::from(r.met)))
            };
            line(format!("{name}, met"), &met, true);
        }
        text += &grid.on(page, &[Align::Left, Align::Right]);
        text += &seeds_cost_text(self);
        text
    }

    /// Whether every run meets a requirement on all rows.
    fn all_met(&self, at: usize) -> bool {
        let mut parts = self.runs.iter().flat_map(Summary::parts);
        parts.all(|(_, e)| e.requirements[at].met && e.requirements[at].is_known())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_rounded_to_what_they_know() {
        let shown = |mean, sd| Spread { mean, sd, n: 3 }.as_rounded();
        assert_eq!(shown(0.338_26, 4.79e-4), "0.33826 ± 0.00048");
        assert_eq!(shown(14.913, 2.023), "14.9 ± 2.0");
        assert_eq!(shown(-4.03e-6, 8.4e-7), "-4.03e-6 ± 8.40e-7");
        assert_eq!(shown(0.5, 0.0), "0.5 ± 0");
        assert_eq!(Spread { mean: 0.5, sd: 0.0, n: 1 }.as_rounded(), "0.5");
        assert_eq!(Spread { mean: 0.001_5, sd: 0.001_3, n: 3 }.as_points(2), "0.15 ± 0.13 points");
    }
}

//! The verdict, the requirements with their certificates, and what they cost.

use feasible::certificate::Verdict as Certified;
use feasible_problem::spec::RequirementKind;
use feasible_run::RequirementResult;
use feasible_run::certify::{bound, verdict as certificate_verdict};
use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::chart::{grouped, number};
use crate::figures::common_prefix;
use crate::format::{duration, kind, percent};
use crate::layout::PageVerdict;
use crate::layout::{bounded, name};
use crate::run::Run;

/// Requirements and parts of a page that are listed.
pub(crate) const MOST: usize = 500;

/// A number worth a box.
#[derive(Serialize)]
pub(crate) struct Tile {
    pub(crate) label: &'static str,
    pub(crate) value: String,
    pub(crate) note: String,
}

#[derive(Serialize)]
pub(crate) struct Row {
    name: String,
    kind: &'static str,
    /// The attack it is judged by.
    attack: String,
    limit: String,
    /// The limit in training, if it was stricter.
    trained: String,
    value: String,
    worst: String,
    violated: String,
    met: bool,
    train_met: bool,
    train_value: String,
    multiplier: String,
    at_zero: String,
    /// What held-out rows certify, its class and its bound.
    verdict: String,
    verdict_class: &'static str,
    bound: String,
}

#[derive(Serialize)]
pub(crate) struct Price {
    name: String,
    multiplier: String,
    change: String,
    /// What solving again shows.
    observed: String,
    noise: String,
    resolved: bool,
}

pub(crate) fn verdict(run: &Run) -> PageVerdict {
    let summary = &run.summary;
    let more = format!("How training ended: {}.", name(&summary.headline()));
    let state = match (summary.judged().1.requirements.is_empty(), summary.met()) {
        (true, _) => "none",
        (_, true) => "met",
        (_, false) => "missed",
    };
    PageVerdict { state, sentence: bounded(&summary.verdict(), 300), more }
}

pub(crate) fn tiles(run: &Run) -> Vec<Tile> {
    let summary = &run.summary;
    let (part, judged) = summary.judged();
    let mut tiles = Vec::new();
    let on = || format!("on {} {part} rows", grouped(&judged.rows.to_string()));
    if let Some(accuracy) = judged.accuracy {
        tiles.push(Tile { label: "Accuracy", value: percent(accuracy), note: on() });
    }
    if let Some(rmse) = judged.rmse {
        let note = match judged.by_target.len() {
            0 => on(),
            n => format!("in deviations of {n} targets, {}", on()),
        };
        tiles.push(Tile { label: "Root mean squared error", value: number(rmse), note });
    }
    tiles.push(Tile { label: "Objective", value: number(judged.objective), note: on() });
    if let Some(worst) = judged.flip_rates.iter().max_by(|a, b| a.share.total_cmp(&b.share)) {
        let note = match judged.flip_rates.len() {
            1 => format!("of predictions, {}", name(&worst.counterfactual)),
            n => format!("of predictions, worst of {n} counterfactuals"),
        };
        tiles.push(Tile { label: "Flip rate", value: percent(worst.share), note });
    }
    let seconds: f64 = run.timings.iter().map(|t| t.primal + t.dual).sum();
    if !run.timings.is_empty() {
        let note = format!("best epoch: {} of {}", summary.kept_epoch, summary.epochs);
        tiles.push(Tile { label: "Training", value: duration(seconds), note });
    }
    let note = format!("and {} multipliers", grouped(&summary.multipliers.to_string()));
    let value = grouped(&summary.parameters.to_string());
    tiles.push(Tile { label: "Parameters", value, note });
    tiles
}

pub(crate) fn rows(run: &Run) -> Vec<Row> {
    let (_, judged) = run.summary.judged();
    let train = &run.summary.train.requirements;
    let certificate = run.summary.certificate.as_ref().map(|c| &c.certificate);
    let together = certificate.is_some_and(|certificate| certificate.all_hold());
    let row = |(at, standing): (usize, &RequirementResult)| {
        let trained = train.get(at);
        let multiplier = trained.and_then(|t| t.multiplier);
        let margin = run.margins.get(at).copied().unwrap_or(0.0);
        let stricter = if standing.sense == ">=" { margin } else { -margin };
        // What is not finite was not written.
        let none = if standing.points == 0 { "no rows" } else { "not finite" };
        let or_none = |x: Option<f64>| x.map_or(none.into(), number);
        let finding =
            certificate.and_then(|c| c.findings.get(at)).filter(|f| f.name == standing.name);
        Row {
            name: name(&standing.name),
            kind: kind(standing.kind),
            attack: standing.attack.clone().unwrap_or_default(),
            limit: format!(
                "{} {}",
                standing.sense.replace("<=", "≤").replace(">=", "≥"),
                number(standing.limit)
            ),
            trained: match margin {
                0.0 => String::new(),
                _ => format!("in training {}", number(standing.limit + stricter)),
            },
            value: or_none(standing.value),
            worst: or_none(standing.worst_violation),
            violated: standing.violated.map_or(String::new(), percent),
            met: standing.met,
            train_met: trained.is_none_or(|t| t.met),
            train_value: or_none(trained.and_then(|t| t.value)),
            multiplier: multiplier.map_or(String::new(), number),
            at_zero: trained
                .filter(|t| t.kind == RequirementKind::Pointwise)
                .and_then(|t| t.multipliers_at_zero)
                .map_or(String::new(), percent),
            verdict: certificate.zip(finding).map_or(String::new(), |(certificate, f)| {
                certificate_verdict(certificate, f).to_lowercase()
            }),
            verdict_class: match finding.map(|f| f.verdict) {
                Some(Certified::Certified) => "yes",
                Some(Certified::Met) if together => "yes",
                Some(Certified::Violated) => "no",
                _ => "open",
            },
            bound: finding.and_then(bound).unwrap_or_default(),
        }
    };
    judged.requirements.iter().enumerate().take(MOST).map(row).collect()
}

/// What held-out rows certify.
#[derive(Serialize)]
pub(crate) struct Certain {
    /// Which rows.
    pub(crate) rows: String,
    pub(crate) sentences: Vec<String>,
}

/// What held-out rows certify, in sentences.
pub(crate) fn certified(run: &Run) -> Option<Certain> {
    let certificate = run.summary.certificate.as_ref()?;
    if certificate.certificate.findings.is_empty() {
        return None;
    }
    let text = certificate.statements();
    let sentences = text.lines().take(MOST).map(|line| bounded(line.trim(), 600)).collect();
    Some(Certain { rows: name(&certificate.rows), sentences })
}

impl Row {
    /// As a row of a table in Markdown.
    pub(crate) fn to_markdown(&self, cell: impl Fn(&str) -> String) -> String {
        let certificate = match self.verdict.is_empty() {
            true => String::new(),
            false => format!("{} {}", self.verdict, cell(&self.bound)),
        };
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            cell(&self.name),
            self.kind,
            self.limit,
            self.value,
            self.violated,
            if self.met { "yes" } else { "**no**" },
            certificate.trim(),
            self.multiplier
        )
    }
}

/// The share of a limit by which it is relaxed to give its price.
pub(crate) const RELAXED: f64 = 0.1;

/// The price of each requirement that has one, dearest first: dF₀/dc = −μ, or minus the mean of
/// λ. The limit that training sees moves with the one stated. Where prices were verified, those.
pub(crate) fn prices(run: &Run) -> Vec<Price> {
    if let Some(verified) = &run.prices {
        let mut prices: Vec<&feasible::price::Price> = verified.prices.iter().collect();
        prices.sort_by(|a, b| a.predicted().total_cmp(&b.predicted()));
        let one = |price: &feasible::price::Price| Price {
            name: name(&price.requirement),
            multiplier: number(price.multiplier),
            change: number(price.predicted()),
            observed: number(price.observed()),
            noise: number(verified.noise(price)),
            resolved: verified.is_resolved(price),
        };
        return prices.into_iter().map(one).take(MOST).collect();
    }
    let mut priced: Vec<(f64, Price)> = Vec::new();
    for (at, standing) in run.summary.train.requirements.iter().enumerate() {
        let Some(multiplier) = standing.multiplier.filter(|&m| m > 0.0) else { continue };
        let margin = run.margins.get(at).copied().unwrap_or(0.0);
        let trained = (standing.limit.abs() - margin).max(0.0);
        let change = -RELAXED * trained * multiplier;
        let price = Price {
            name: name(&standing.name),
            multiplier: number(multiplier),
            change: number(change),
            observed: String::new(),
            noise: String::new(),
            resolved: true,
        };
        priced.push((change, price));
    }
    priced.sort_by(|a, b| a.0.total_cmp(&b.0));
    priced.into_iter().map(|(_, price)| price).take(20).collect()
}

/// Average requirements that cost nothing: those that the others imply.
pub(crate) fn free(run: &Run) -> Value {
    let averages: Vec<(&str, f64)> = run
        .multipliers
        .iter()
        .filter(|m| !m.pointwise)
        .filter_map(|m| Some((m.name.as_str(), m.points.first()?.multiplier)))
        .collect();
    let free: Vec<&str> = averages.iter().filter(|(_, m)| *m == 0.0).map(|(n, _)| *n).collect();
    let all: Vec<&str> = averages.iter().map(|(name, _)| *name).collect();
    let prefix = common_prefix(&all);
    let shown: Vec<String> = free.iter().take(12).map(|one| name(&one[prefix..])).collect();
    let more = free.len() - shown.len();
    match (free.len(), averages.len()) {
        (0, _) => context! {},
        (1, 1) => {
            context! { sentence => "Its multiplier is 0: the objective alone would meet it." }
        }
        (n, all) if n == all => context! {
            sentence => "All multipliers are 0: the objective alone would meet the requirements.",
        },
        (n, all) => context! {
            sentence => format!(
                "{n} of {all} have a multiplier of 0: the objective and the other requirements \
                 imply them here, and without them this would still be a solution"
            ),
            names => shown,
            more => (more > 0).then_some(more),
        },
    }
}

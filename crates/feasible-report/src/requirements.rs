//! The verdict, the requirements with what to do about them, and what they cost.

use feasible_problem::spec::RequirementKind;
use feasible_run::RequirementResult;
use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::certain;
use crate::chart::{grouped, number};
use crate::figures::common_prefix;
use crate::format::{counted, duration, kind, limit_met, percent};
use crate::hard::is_settled;
use crate::layout::PageVerdict;
use crate::layout::{bounded, name};
use crate::monitor;
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
    /// The share of rows over the limit, and the largest violation: of a pointwise requirement.
    violated: String,
    worst: String,
    met: bool,
    known: bool,
    train_met: bool,
    train_value: String,
    multiplier: String,
    at_zero: String,
    /// What held-out rows certify, and its class.
    verdict: &'static str,
    verdict_class: &'static str,
    /// What would be met, where it is not.
    next: String,
}

#[derive(Serialize)]
pub(crate) struct Price {
    name: String,
    multiplier: String,
    change: String,
    /// What solving again shows.
    observed: String,
    noise: String,
    remark: &'static str,
}

/// How training ended, without a verdict on the requirements: the page has one, and only one.
pub(crate) fn ended(run: &Run) -> String {
    use feasible::Outcome;
    let summary = &run.summary;
    let epochs = counted(summary.epochs as usize, "epoch");
    match &summary.outcome {
        Outcome::Diverged { .. } | Outcome::Interrupted => {
            let how = name(&summary.outcome.to_string());
            format!("Training {}{how}", if how.starts_with("interr") { "was " } else { "" })
        }
        Outcome::Infeasible { .. } if !summary.train.met => {
            format!("Training ended after {epochs}: {}", name(&summary.outcome.to_string()))
        }
        Outcome::Converged => format!("Training converged after {epochs}"),
        _ => format!("Training took {epochs}"),
    }
}

/// The names of requirements that are not met.
fn missed(of: &[RequirementResult]) -> Vec<&str> {
    of.iter().filter(|r| !r.met).map(|r| r.name.as_str()).collect()
}

/// What a page begins with: whether the requirements are met, and which are not.
pub(crate) fn verdict(run: &Run) -> PageVerdict {
    let summary = &run.summary;
    let (part, judged) = summary.judged();
    let all = &judged.requirements;
    let (here, there) = (missed(all), missed(&summary.train.requirements));
    let rows = if part == "train" { "training" } else { part };
    let mut more = Vec::new();
    // The words of the terminal: there is one verdict.
    let sentence = summary.verdict();
    let state = match (all.len(), summary.met()) {
        (0, _) => "none",
        (_, true) => "met",
        (_, false) => "missed",
    };
    // What has happened since counts more than how it began.
    let (state, sentence) = match monitor::drifted(run) {
        Some(drifted) => {
            more.push(format!("After training: {sentence}"));
            ("missed", drifted)
        }
        None => (state, sentence),
    };
    more.extend(summary.worse_than_constant());
    if summary.certify && !all.is_empty() && !summary.met() {
        more.push(judged.verdict_on(&format!("the {rows} rows")));
    } else if let met = all.iter().filter(|r| r.met && r.is_known()).count()
        && met > 0
        && !here.is_empty()
    {
        let are = if met == 1 { "is" } else { "are" };
        more.push(format!("{met} of {} requirements {are} met.", all.len()));
    }
    // Without a certificate the verdict itself names both.
    if summary.certify && part != "train" && !all.is_empty() && here.is_empty() != there.is_empty()
    {
        more.push(summary.train.verdict_on("the training rows"));
    }
    let best = summary.best_epoch().map_or(String::new(), |best| format!("; best epoch: {best}"));
    more.push(format!("{}{best}.", ended(run).trim_end_matches('.')));
    more.extend(summary.close_call.clone());
    let more = bounded(&more.join(" "), 1_600);
    PageVerdict { state, sentence: bounded(&sentence, 600), more }
}

pub(crate) fn tiles(run: &Run) -> Vec<Tile> {
    let summary = &run.summary;
    let (part, judged) = summary.judged();
    let mut tiles = Vec::new();
    let part = if part == "train" { "training" } else { part };
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
        let note = summary.best_epoch().map_or(String::new(), |best| format!("best epoch: {best}"));
        tiles.push(Tile { label: "Training", value: duration(seconds), note });
    }
    let note = format!("and {}", counted(summary.multipliers, "multiplier"));
    let value = grouped(&summary.parameters.to_string());
    tiles.push(Tile { label: "Parameters", value, note });
    tiles
}

pub(crate) fn rows(run: &Run) -> Vec<Row> {
    let (part, judged) = run.summary.judged();
    let train = &run.summary.train.requirements;
    let certificate = run.summary.certificate.as_ref().map(|c| &c.certificate);
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
        let pointwise = standing.kind == RequirementKind::Pointwise;
        let verdict = certificate.zip(finding).map(|(c, f)| certain::verdict(c, f));
        Row {
            name: name(&standing.name),
            kind: kind(standing.kind),
            attack: standing.attack.clone().unwrap_or_default(),
            limit: limit(standing, standing.limit),
            trained: match margin {
                0.0 => String::new(),
                _ => format!("in training {}", number(standing.limit + stricter)),
            },
            value: or_none(standing.value),
            violated: standing.violated.filter(|_| pointwise).map_or(String::new(), percent),
            worst: standing
                .worst_violation
                .filter(|worst| pointwise && *worst > 0.0)
                .map_or(String::new(), |worst| format!("by up to {}", number(worst))),
            met: standing.met,
            known: standing.is_known(),
            train_met: trained.is_none_or(|t| t.met),
            train_value: or_none(trained.and_then(|t| t.value)),
            multiplier: multiplier.map_or(String::new(), number),
            at_zero: trained
                .filter(|t| t.kind == RequirementKind::Pointwise)
                .and_then(|t| t.multipliers_at_zero)
                .map_or(String::new(), percent),
            verdict: verdict.map_or("", |(word, _)| word),
            verdict_class: verdict.map_or("open", |(_, class)| class),
            next: next_step(standing, trained.filter(|_| part != "train")),
        }
    };
    let rows = judged.requirements.iter().enumerate().map(row);
    let mut rows: Vec<Row> = rows.collect();
    // Failures first; the rest in the order of the problem.
    rows.sort_by_key(|row| match (row.met, row.train_met, row.verdict_class) {
        (false, ..) => 0,
        (_, false, _) => 1,
        _ if !row.known => 1,
        (_, _, "no") => 2,
        (_, _, "open") => 3,
        _ => 4,
    });
    rows.truncate(MOST);
    rows
}

/// `≤ 0.12`.
pub(crate) fn limit(of: &RequirementResult, limit: f64) -> String {
    let sign = if of.sense == ">=" { "≥" } else { "≤" };
    format!("{sign} {}", number(limit))
}

/// Which limit this model meets, where it does not meet the one it has; on the training rows too, if given.
pub(crate) fn next_step(judged: &RequirementResult, train: Option<&RequirementResult>) -> String {
    let parts = || std::iter::once(judged).chain(train);
    if parts().all(|part| part.met) {
        return String::new();
    }
    let up = judged.sense != ">=";
    let pointwise = judged.kind == RequirementKind::Pointwise;
    let reached = parts().filter_map(|s| match s.kind {
        RequirementKind::Average => s.value,
        RequirementKind::Pointwise if up => Some(s.limit + s.worst_violation?),
        RequirementKind::Pointwise => Some(s.limit - s.worst_violation?),
    });
    let reached = reached.reduce(|a, b| if up { a.max(b) } else { a.min(b) });
    let Some(reached) = reached.filter(|x| x.is_finite()) else { return String::new() };
    let mut text = match (judged.met, train.and_then(|train| train.value)) {
        (true, Some(value)) if !pointwise => {
            format!("On the training rows it is {}, which is not met. ", number(value))
        }
        (true, _) => "On the training rows it is not met. ".into(),
        _ => String::new(),
    };
    text += &format!("This model would meet a limit of {}", limit_met(reached, up));
    let share = parts().filter_map(|s| s.violated).fold(0.0, f64::max);
    if pointwise {
        text += " for every row";
        if share < 1.0 {
            text += &format!(", or the limit as it is with all_but = {}", limit_met(share, true));
        }
    }
    text + "."
}

impl Row {
    /// As a row of a table in Markdown.
    pub(crate) fn to_markdown(&self, cell: impl Fn(&str) -> String) -> String {
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            cell(&self.name),
            self.kind,
            self.limit,
            self.value,
            self.violated,
            match (self.known, self.met) {
                (false, _) => "unknown",
                (true, true) => "met",
                (true, false) => "**not met**",
            },
            self.verdict,
            self.multiplier
        )
    }
}

/// The share of a limit by which it is relaxed to give its price.
pub(crate) const RELAXED: f64 = 0.1;

/// The price of each requirement that has one, dearest first: dF₀/dc = −μ, or minus the mean of
/// λ. The limit that training sees moves with the one stated. Where prices were verified, those.
pub(crate) fn prices(run: &Run) -> Vec<Price> {
    let or_none = |x: Option<f64>| x.map_or("–".into(), number);
    if let Some(verified) = &run.prices {
        let mut prices: Vec<&feasible::price::Price> = verified.prices.iter().collect();
        let dearest =
            |p: &feasible::price::Price| p.predicted().or(verified.observed(p)).unwrap_or(0.0);
        prices.sort_by(|a, b| dearest(a).total_cmp(&dearest(b)));
        let one = |price: &feasible::price::Price| Price {
            name: name(&price.requirement),
            multiplier: or_none(price.multiplier),
            change: or_none(price.predicted()),
            observed: or_none(verified.observed(price)),
            noise: verified.noise(price).map_or(String::new(), number),
            remark: verified.remark(price),
        };
        return prices.into_iter().map(one).take(MOST).collect();
    }
    // Multipliers that training has not moved apart are no prices yet.
    let unsettled = |name: &str| {
        run.multipliers.iter().any(|m| m.pointwise && m.name == name && !is_settled(m))
    };
    let mut priced: Vec<(f64, Price)> = Vec::new();
    for (at, standing) in run.summary.train.requirements.iter().enumerate() {
        let price = run.summary.price(at).filter(|&m| m > 0.0 && !unsettled(&standing.name));
        let Some(multiplier) = price else { continue };
        let margin = run.margins.get(at).copied().unwrap_or(0.0);
        let trained = (standing.limit.abs() - margin).max(0.0);
        let change = -RELAXED * trained * multiplier;
        let price = Price {
            name: name(&standing.name),
            multiplier: number(multiplier),
            change: number(change),
            observed: String::new(),
            noise: String::new(),
            remark: "",
        };
        priced.push((change, price));
    }
    priced.sort_by(|a, b| a.0.total_cmp(&b.0));
    priced.into_iter().map(|(_, price)| price).take(20).collect()
}

/// Average requirements with a multiplier of 0, and where re-solving shows that they cost something all the same.
pub(crate) fn free(run: &Run) -> Value {
    let requirements = run.summary.train.requirements.iter();
    let averages: Vec<(&str, Option<f64>)> = requirements
        .filter(|r| r.kind == RequirementKind::Average)
        .map(|r| (r.name.as_str(), r.multiplier))
        .collect();
    let free: Vec<&str> =
        averages.iter().filter(|(_, m)| *m == Some(0.0)).map(|(n, _)| *n).collect();
    if free.is_empty() {
        return context! {};
    }
    let all: Vec<&str> = averages.iter().map(|(name, _)| *name).collect();
    let prefix = common_prefix(&all);
    let short = |names: &[&str]| -> Vec<String> {
        names.iter().take(12).map(|one| name(one.get(prefix..).unwrap_or(one))).collect()
    };
    let subject = match (free.len(), averages.len()) {
        (1, 1) => "Its multiplier is 0: the requirement does".to_string(),
        (n, all) if n == all => format!("All {n} multipliers are 0: the requirements do"),
        (1, all) => format!("1 of {all} multipliers is 0: that requirement does"),
        (n, all) => format!("{n} of {all} multipliers are 0: those requirements do"),
    };
    let costly: Vec<&str> = run.prices.as_ref().map_or(Vec::new(), |verified| {
        let moves = |price: &&feasible::price::Price| {
            let pair = verified.observed(price).zip(verified.noise(price));
            pair.is_some_and(|(observed, noise)| observed.abs() > noise)
                && free.contains(&price.requirement.as_str())
        };
        verified.prices.iter().filter(moves).map(|p| p.requirement.as_str()).collect()
    });
    context! {
        sentence => format!("{subject} not hold this model back"),
        names => if free.len() == averages.len() { Vec::new() } else { short(&free) },
        more => free.len().checked_sub(12).filter(|&more| more > 0),
        costly => short(&costly),
    }
}

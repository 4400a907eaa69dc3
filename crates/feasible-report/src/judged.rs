//! The page of a predictor that was trained elsewhere: its requirements on some rows, and what these certify.

use feasible_run::certify::{bound, verdict};
use feasible_run::{Judgement, RequirementResult};
use minijinja::context;
use serde::Serialize;

use crate::chart::{grouped, number};
use crate::error::Result;
use crate::format::{kind, percent};
use crate::layout::{PageVerdict, bounded, name, page, value};
use crate::requirements::{MOST, Tile};

#[derive(Serialize)]
struct Row {
    name: String,
    kind: &'static str,
    limit: String,
    value: String,
    violated: String,
    met: bool,
    verdict: String,
    bound: String,
}

pub(crate) fn render(title: &str, judged: &Judgement) -> Result<String> {
    let evaluation = &judged.evaluation;
    let certificate = judged.certificate.as_ref();
    let row = |(at, standing): (usize, &RequirementResult)| {
        let finding = certificate.and_then(|c| c.certificate.findings.get(at));
        let sign = if standing.sense == "<=" { "≤" } else { "≥" };
        Row {
            name: name(&standing.name),
            kind: kind(standing.kind),
            limit: format!("{sign} {}", number(standing.limit)),
            value: standing.value.map_or("no rows".into(), number),
            violated: standing.violated.map_or(String::new(), percent),
            met: standing.met,
            verdict: certificate
                .zip(finding)
                .map_or(String::new(), |(c, finding)| verdict(&c.certificate, finding)),
            bound: finding.and_then(bound).unwrap_or_default(),
        }
    };
    let rows: Vec<Row> = evaluation.requirements.iter().take(MOST).enumerate().map(row).collect();
    let sentences = certificate.map_or(String::new(), |c| c.statements());
    let sentences: Vec<String> = sentences.lines().map(|line| bounded(line, 2_000)).collect();
    let content = context! {
        eyebrow => "Feasible audit",
        title => name(title),
        verdict => value(&page_verdict(judged))?,
        tiles => value(&tiles(judged))?,
        rows => value(&rows)?,
        left_out => evaluation.requirements.len().saturating_sub(MOST),
        sentences => value(&sentences)?,
        no_certificate => judged.no_certificate.as_deref().map(|why| bounded(why, 2_000)),
    };
    page(include_str!("judged.html"), content)
}

fn page_verdict(judged: &Judgement) -> PageVerdict {
    let rows = grouped(&judged.evaluation.rows.to_string());
    let certified = judged.certificate.as_ref().is_some_and(|c| c.all_certified());
    let (state, sentence) = match (judged.evaluation.requirements.is_empty(), judged.evaluation.met)
    {
        (true, _) => ("none", "No requirements were stated.".to_string()),
        (_, true) => ("met", format!("Every requirement is met on the {rows} rows.")),
        (_, false) => ("missed", format!("Not every requirement is met on the {rows} rows.")),
    };
    let more = match certified {
        true => "All are certified, if none of the rows was used in training.",
        false => "",
    };
    PageVerdict { state, sentence, more: more.into() }
}

fn tiles(judged: &Judgement) -> Vec<Tile> {
    let evaluation = &judged.evaluation;
    let on = || format!("on {} rows", grouped(&evaluation.rows.to_string()));
    let mut tiles = Vec::new();
    if let Some(accuracy) = evaluation.accuracy {
        tiles.push(Tile { label: "Accuracy", value: percent(accuracy), note: on() });
    }
    if let Some(rmse) = evaluation.rmse {
        tiles.push(Tile { label: "Root mean squared error", value: number(rmse), note: on() });
    }
    if let Some(worst) = evaluation.flip_rates.iter().max_by(|a, b| a.share.total_cmp(&b.share)) {
        let note = format!("of predictions, {}", name(&worst.counterfactual));
        tiles.push(Tile { label: "Flip rate", value: percent(worst.share), note });
    }
    tiles
}

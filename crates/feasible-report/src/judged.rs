//! The page of a predictor that was trained elsewhere: its requirements on some rows, and what these certify.

use feasible_problem::spec::RequirementKind;
use feasible_run::{Judgement, RequirementResult};
use minijinja::context;
use serde::Serialize;

use crate::certain;
use crate::chart::{grouped, number};
use crate::error::Result;
use crate::format::{counted, kind, percent};
use crate::layout::{PageVerdict, bounded, name, page, value};
use crate::requirements::{MOST, Tile, limit, next_step};

#[derive(Serialize)]
struct Row {
    name: String,
    kind: &'static str,
    limit: String,
    value: String,
    violated: String,
    met: bool,
    known: bool,
    next: String,
}

pub(crate) fn render(title: &str, judged: &Judgement) -> Result<String> {
    let evaluation = &judged.evaluation;
    let certificate = judged.certificate.as_ref();
    let row = |standing: &RequirementResult| Row {
        name: name(&standing.name),
        kind: kind(standing.kind),
        limit: limit(standing, standing.limit),
        value: standing.value.map_or("no rows".into(), number),
        violated: standing
            .violated
            .filter(|_| standing.kind == RequirementKind::Pointwise)
            .map_or(String::new(), percent),
        met: standing.met,
        known: standing.is_known(),
        next: next_step(standing, None),
    };
    let mut rows: Vec<Row> = evaluation.requirements.iter().map(row).collect();
    rows.sort_by_key(|row| (row.met, row.known));
    rows.truncate(MOST);
    let certificate = certificate.and_then(certain::of);
    let content = context! {
        eyebrow => "Feasible audit",
        title => name(title),
        verdict => value(&page_verdict(judged))?,
        tiles => value(&tiles(judged))?,
        any_pointwise => rows.iter().any(|row| !row.violated.is_empty()),
        rows => value(&rows)?,
        left_out => evaluation.requirements.len().saturating_sub(MOST),
        certificate => value(&certificate)?,
        no_certificate => judged.no_certificate.as_deref().map(|why| bounded(why, 2_000)),
    };
    page(include_str!("judged.html"), content)
}

fn page_verdict(judged: &Judgement) -> PageVerdict {
    let rows = counted(judged.evaluation.rows, "row");
    let certified = judged.certificate.as_ref().is_some_and(|c| c.all_certified());
    let none = judged.evaluation.requirements.is_empty();
    let state = match (none, judged.evaluation.shows_met()) {
        (true, _) => "none",
        (_, true) => "met",
        (_, false) => "missed",
    };
    let comparison = judged.evaluation.comparison(None).filter(|one| one.is_worse());
    let mut more: Vec<String> =
        comparison.iter().map(|one| one.sentence(&format!("the {rows}"))).collect();
    if certified && !none {
        more.push("All are certified, if none of the rows was used in training.".into());
    }
    let sentence = bounded(&judged.evaluation.verdict_on(&format!("the {rows}")), 600);
    PageVerdict { state, sentence, more: bounded(&more.join(" "), 1_200) }
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

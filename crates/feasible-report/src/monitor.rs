//! The model in use: verdicts over all tables so far, and how they came about.

use feasible::monitor::MonitorVerdict;
use feasible::requirement::Sense;
use feasible_run::monitor::{TableLook, WatchedRequirement, WatchedTable};
use serde::Serialize;

use crate::chart::{Axis, Chart, Mark, Series, grouped};
use crate::figures::Figure;
use crate::layout::{bounded, name};
use crate::requirements::MOST;
use crate::run::Run;

/// Requirements that are drawn.
const DRAWN: usize = 12;

#[derive(Serialize)]
pub(crate) struct Section {
    lead: String,
    rows: Vec<Row>,
    tables: Vec<TableRow>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    verdict: String,
    class: &'static str,
    limit: String,
    last: String,
    average: String,
    bound: String,
    sentence: String,
}

#[derive(Serialize)]
struct TableRow {
    label: String,
    rows: String,
    target: String,
}

/// Which requirements are violated in use, in a sentence; `None` if none is.
pub(crate) fn drifted(run: &Run) -> Option<String> {
    let standing = run.monitored.as_ref()?;
    (standing.drifted || standing.violated).then(|| format!("In use: {}", standing.verdict()))
}

/// What the page says of a model that is monitored.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let standing = run.monitored.as_ref()?;
    let row = |one: &WatchedRequirement| Row {
        name: name(&one.name),
        verdict: one.verdict.to_string().to_lowercase(),
        class: match one.verdict {
            MonitorVerdict::Certified => "yes",
            MonitorVerdict::Drifted | MonitorVerdict::Violated => "no",
            MonitorVerdict::Open => "open",
        },
        limit: format!("{} {}", one.symbol(), one.shown(one.limit)),
        last: one.looks.last().map_or(String::new(), |look| one.shown(look.value)),
        average: one.value.map_or(String::new(), |value| one.shown(value)),
        bound: one
            .bound()
            .map_or(String::new(), |bound| format!("{} {}", one.symbol(), one.shown(bound))),
        sentence: capitalised(&bounded(&one.sentence(), 600)),
    };
    let table = |table: &WatchedTable| TableRow {
        label: name(&table.label),
        rows: grouped(&table.rows.to_string()),
        target: match (table.labels_of, table.labelled) {
            (Some(of), _) => format!("that of table {of}"),
            (None, true) => "yes".into(),
            (None, false) => "not yet".into(),
        },
    };
    Some(Section {
        lead: standing.guarantee(),
        rows: {
            let mut rows: Vec<Row> = standing.requirements.iter().map(row).collect();
            rows.sort_by_key(|row| ["no", "open", "yes"].iter().position(|c| *c == row.class));
            rows.truncate(MOST);
            rows
        },
        tables: standing.tables.iter().take(10 * MOST).map(table).collect(),
    })
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Each requirement over the tables, those that have drifted first.
pub(crate) fn figures(run: &Run) -> Vec<Figure> {
    let all = run.monitored.iter().flat_map(|standing| &standing.requirements);
    let mut all: Vec<&WatchedRequirement> = all.filter(|one| !one.looks.is_empty()).collect();
    all.sort_by_key(|one| !one.verdict.is_violation());
    all.into_iter().take(DRAWN).enumerate().map(|(at, one)| figure(at, one)).collect()
}

fn figure(at: usize, one: &WatchedRequirement) -> Figure {
    let (scale, unit) = match one.is_share() {
        true => (100.0, "%"),
        false => (1.0, "mean"),
    };
    let points = |of: &dyn Fn(&TableLook) -> f64| -> Vec<(f64, f64)> {
        one.looks.iter().map(|look| (look.table as f64, scale * of(look))).collect()
    };
    let band = |of: &dyn Fn(&TableLook) -> (f64, f64)| -> Vec<(f64, f64, f64)> {
        let end = |look: &TableLook| {
            let (low, high) = of(look);
            (look.table as f64, scale * low, scale * high)
        };
        one.looks.iter().map(end).collect()
    };
    let limit = scale * one.limit;
    let (low, high) = match one.sense {
        Sense::AtMost => (f64::NEG_INFINITY, limit),
        Sense::AtLeast => (limit, f64::INFINITY),
    };
    let tables = match one.looks.as_slice() {
        [first, .., last] => format!("table, {} to {}", name(&first.label), name(&last.label)),
        _ => "table".into(),
    };
    let mut chart = Chart::new(&one.name)
        .x(Axis::new(&tables).whole())
        .y(Axis::new(unit).including(&[limit]))
        .note(&format!(
            "Verdict: {}. The band of the average holds at all times at once, that of each table for it alone.",
            one.verdict
        ))
        .shade(low, high, &format!("limit {} {}", one.symbol(), one.shown(one.limit)))
        .series(
            Series::line("average so far, with bounds", points(&|look| look.average))
                .with_band(band(&|look| look.bounds)),
        )
        .series(
            Series::new("each table, with its interval", Mark::Dots, points(&|look| look.value))
                .with_band(band(&|look| look.interval)),
        );
    let first = |verdict| one.looks.iter().find(|look| look.verdict == verdict);
    for verdict in [MonitorVerdict::Certified, MonitorVerdict::Drifted, MonitorVerdict::Violated] {
        if let Some(look) = first(verdict) {
            chart = chart.rule(look.table as f64, &format!("{verdict} {}", name(&look.label)));
        }
    }
    Figure::chart(&format!("monitor-{}", at + 1), chart)
}

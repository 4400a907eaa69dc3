//! What the data look like: rows, missing cells, drift.

use feasible_run::groups::{ColumnSummary, Drift};
use serde::Serialize;

use crate::chart::{grouped, number};
use crate::format::percent;
use crate::layout::name;
use crate::run::Run;

/// What the template is given.
#[derive(Serialize)]
pub(crate) struct DataSection {
    parts: Vec<(String, String)>,
    compared_with: Option<String>,
    /// In one sentence.
    sentence: String,
    /// Columns with missing cells or beyond chance, then the others.
    notable: Vec<DataRow>,
    others: Vec<DataRow>,
    left_out: usize,
}

#[derive(Serialize)]
struct DataRow {
    column: String,
    missing: String,
    values: String,
    distance: String,
    chance: String,
    beyond: bool,
}

pub(crate) fn section(run: &Run) -> Option<DataSection> {
    let data = run.groups.as_ref()?.data.as_ref()?;
    let beyond =
        |column: &&ColumnSummary| column.drift.as_ref().is_some_and(Drift::is_beyond_chance);
    let moved: Vec<&ColumnSummary> = data.columns.iter().filter(beyond).collect();
    let (notable, others): (Vec<&ColumnSummary>, Vec<&ColumnSummary>) = data
        .columns
        .iter()
        .partition(|column| beyond(column) || column.missing.iter().any(|missing| *missing > 0));
    let with = data.compared_with.as_deref();
    let sentence = match (with, &moved[..]) {
        (None, _) => "All rows were trained on: there is nothing to compare them with.".into(),
        (Some(with), []) => {
            format!(
                "No column of the {} rows differs from the training rows beyond chance.",
                name(with)
            )
        }
        (Some(with), [one]) => format!(
            "'{}' differs between the training and the {} rows beyond chance: the model is judged on rows unlike those \
             it learned from.",
            name(&one.column),
            name(with)
        ),
        (Some(with), [one, rest @ ..]) => format!(
            "'{}' and {} more columns differ between the training and the {} rows beyond chance: the model is judged on \
             rows unlike those it learned from.",
            name(&one.column),
            rest.len(),
            name(with)
        ),
    };
    let parts = &data.parts;
    let row = |column: &ColumnSummary| {
        let missing = parts.iter().zip(&column.missing).filter(|(_, missing)| **missing > 0);
        let missing: Vec<String> = missing
            .map(|(part, missing)| {
                let share = percent(*missing as f64 / part.rows.max(1) as f64);
                format!("{} of {}", share, name(&part.part))
            })
            .collect();
        let drift = column.drift.as_ref();
        DataRow {
            column: name(&column.column),
            missing: if missing.is_empty() { "none".into() } else { missing.join(", ") },
            values: drift.map_or(String::new(), values),
            distance: drift.map_or(String::new(), |drift| percent(drift.distance)),
            chance: drift.map_or(String::new(), |drift| percent(drift.chance.min(1.0))),
            beyond: drift.is_some_and(Drift::is_beyond_chance),
        }
    };
    Some(DataSection {
        parts: parts
            .iter()
            .map(|part| (name(&part.part), grouped(&part.rows.to_string())))
            .collect(),
        compared_with: with.map(name),
        sentence,
        notable: notable.into_iter().map(row).collect(),
        others: others.into_iter().map(row).collect(),
        left_out: data.left_out,
    })
}

/// `mean 38.4 → 39.1`, `Private: 69.40 % → 66.10 %`.
fn values(drift: &Drift) -> String {
    match &drift.category {
        Some(category) => {
            format!("{}: {} → {}", name(category), percent(drift.train), percent(drift.compared))
        }
        None => format!("mean {} → {}", number(drift.train), number(drift.compared)),
    }
}

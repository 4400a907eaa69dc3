//! A first problem file for a table: what `feasible init` writes.

use feasible_data::{Cells, Column, Table, is_hidden, visible};

use crate::error::Result;

/// Categories above which a categorical column is taken for an identifier and dropped.
const TOO_MANY_CATEGORIES: usize = 50;

/// A commented problem file for a table; `file` is how it will be named in it, `target` the
/// column to predict (by default the last one).
///
/// # Errors
/// A target that is not a column.
pub fn starter(table: &Table, file: &str, target: Option<&str>) -> Result<String> {
    let columns = table.columns();
    let target = match target {
        Some(name) => table.column(name)?,
        None => &columns[columns.len() - 1],
    };
    let mut text = format!(
        "# A problem file for {} ({} rows, {} columns).\n\
         # `feasible check` says what it means, `feasible fit` trains it.\n\n[data]\n\
         file = {}\ntarget = {}\n",
        visible(file),
        table.rows(),
        columns.len(),
        quoted(file),
        quoted(&target.name),
    );
    if let Cells::Categories(categories) = &target.cells
        && let [_, positive] = &categories.names[..]
    {
        text += &format!("positive = {}   # the category that is class 1\n", quoted(positive));
    }
    let others = || columns.iter().filter(|column| column.name != target.name);
    let identifiers: Vec<String> =
        others().filter(|c| is_identifier(c)).map(|c| quoted(&c.name)).collect();
    if identifiers.is_empty() {
        text += "# drop = [\"id\"]\n";
    } else {
        text +=
            &format!("drop = [{}]   # too many categories to learn from\n", identifiers.join(", "));
    }
    if others().any(|column| column.missing() > 0) {
        text +=
            "missing = \"impute\"   # or \"category\": its own category; \"reject\": an error\n";
    }
    if others().any(|column| matches!(column.cells, Cells::Categories(_))) {
        text +=
            "unseen = \"other\"     # categories the training rows lack; \"error\" refuses them\n";
    }
    text += "split = { validation = 0.1, test = 0.2, seed = 0 }\n\n# The columns:\n";
    for column in others() {
        text += &format!("#   {}\n", glance(column));
    }
    text += "\n[model]\nkind = \"mlp\"          # or \"linear\", \"kernel\"\nhidden = [64]\n\
             activation = \"sigmoid\" # or \"tanh\", \"relu\", \"silu\"\n\n";
    let candidate = others().find_map(|column| match &column.cells {
        Cells::Categories(categories) if categories.names.len() == 2 && !is_identifier(column) => {
            Some((
                column.name.as_str(),
                [categories.names[0].as_str(), categories.names[1].as_str()],
            ))
        }
        _ => None,
    });
    text += "# What must hold. Remove the # to require it.\n";
    let (column, [a, b]) = candidate.unwrap_or(("column", ["one category", "another category"]));
    let name = quoted(column);
    text += &format!(
        "# [[requirement]]       # each prediction is (nearly) the same had {} been different\n\
         # name = {name}\n# loss = \"kl\"\n# kind = \"pointwise\"\n# at_most = 1e-3\n\
         # counterfactual = {{ swap = {{ {name} = [{}, {}] }} }}\n\n\
         # [[requirement]]       # equal true positive rates\n# name = \"opportunity\"\n\
         # fairness = \"equal-opportunity\"\n# groups = {name}\n# within = 0.05\n\n",
        visible(column),
        quoted(a),
        quoted(b),
    );
    text += "[training]\nrecipe = \"feasible\"\nseed = 0\n";
    Ok(text)
}

fn is_identifier(column: &Column) -> bool {
    matches!(&column.cells, Cells::Categories(categories) if categories.names.len() > TOO_MANY_CATEGORIES)
}

fn quoted(text: &str) -> String {
    // A basic string in one line, hidden characters escaped: it may stand in a comment.
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if is_hidden(c) => out += &format!("\\U{:08X}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn glance(column: &Column) -> String {
    let missing = match column.missing() {
        0 => String::new(),
        n => format!(", {n} missing"),
    };
    let name = visible(&column.name);
    match &column.cells {
        Cells::Numbers(values) => {
            let known = || values.iter().filter(|x| !x.is_nan());
            let (low, high) =
                (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
            format!("{name}: numbers from {low} to {high}{missing}")
        }
        Cells::Categories(categories) => {
            let line = |category: &String| -> String {
                visible(&category.chars().take(40).collect::<String>()).into_owned()
            };
            let shown: Vec<String> = categories.names.iter().take(8).map(line).collect();
            let more = if categories.names.len() > 8 { ", …" } else { "" };
            format!(
                "{name}: {} categories: {}{more}{missing}",
                categories.names.len(),
                shown.join(", ")
            )
        }
    }
}

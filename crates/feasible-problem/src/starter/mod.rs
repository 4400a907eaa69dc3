//! A first problem file for a table: what `feasible init` writes.
//!
//! It is meant to be read and edited: what is decided stands in a key with its reason, what only its author can know
//! is proposed in comments. Requirements are proposed, not made: which of them is right is not in the table.

mod column_plan;
mod read;
mod requirements;

use std::path::{Path, PathBuf};

use feasible_data::{
    Cells, Column, Error as DataError, Format, Table, TargetEncoder, TargetSpec, Task, is_date,
    is_hidden, visible,
};

use crate::error::Result;
use crate::held_out::Copies;
use crate::text::grouped;
use column_plan::{ColumnPlan, Columns};
pub use read::read_for_starter;

/// A commented problem file for a table; `file` is how it will be named in it, `format` how it was read
/// ([`read_for_starter`]), `target` the column to predict (by default the last one), or several columns of numbers with commas
/// between them.
///
/// # Errors
/// A target that is not a column.
pub fn starter(table: &Table, format: &Format, file: &str, target: Option<&str>) -> Result<String> {
    let columns = table.columns();
    let targets = match target {
        Some(name) => named(table, name)?,
        None => vec![&columns[columns.len() - 1]],
    };
    let chosen = targets[0];
    let is_known = |&row: &u32| targets.iter().all(|of| of.text(row as usize).is_some());
    let labelled: Vec<u32> = table.all_rows().into_iter().filter(is_known).collect();
    let others: Vec<String> = targets[1..].iter().map(|of| of.name.clone()).collect();
    let spec = TargetSpec::new(&chosen.name).and(&others);
    // What only its author can put right is said, and the file is written.
    let (task, note, mut refused) = match spec.decide(table, &labelled) {
        Ok((task, note)) => (task, note, None),
        Err(error @ (DataError::StrayText { .. } | DataError::SignedNumber { .. })) => {
            (Task::Regress, None, Some(error))
        }
        Err(error) => return Err(error.into()),
    };
    let classes = match task {
        Task::Classify => Some(classes(chosen)),
        Task::Regress => None,
    };
    let mut fitted = None;
    if targets.len() > 1 {
        // Text, or a column named twice, is no several numbers.
        TargetEncoder::fit(table, &labelled, &spec)?;
    } else if refused.is_none() {
        let spec = TargetSpec { task: Some(task), ..spec };
        match TargetEncoder::fit(table, &labelled, &spec) {
            Ok(target) => fitted = Some(target),
            Err(error) => refused = Some(error),
        }
    }
    let mut text = format!(
        "# A problem file for {} ({} rows, {} columns).\n\
         # `feasible check` explains it, `feasible fit` trains it.\n\n[data]\nfile = {}\n",
        visible(file),
        table.rows(),
        columns.len() + table.unread().len(),
        quoted(file),
    );
    text += &of_format(format);
    let why = if target.is_none() { "   # the last column; --target names another" } else { "" };
    let names: Vec<String> = targets.iter().map(|of| quoted(&of.name)).collect();
    text += &match &names[..] {
        [name] => format!("target = {name}{why}\n"),
        names => format!("target = [{}]   # predicted together\n", names.join(", ")),
    };
    if let Some(note) = note {
        text += &format!("# {note}\n");
    }
    if let Some(error) = refused {
        text += &format!("# `feasible fit` refuses it as it is. {}\n", visible(&error.to_string()));
    }
    if let Some([first, second]) = classes.as_deref() {
        text += &positive(first, second, fitted.is_some_and(|of| of.implies_positive()));
    }
    let unlabelled = table.rows() - labelled.len();
    if unlabelled > 0 {
        let missing = |of: &&Column| format!("{} is missing", backticked(&of.name));
        let missing: Vec<String> = targets.iter().map(missing).collect();
        text += &format!(
            "rows = {}   # {unlabelled} rows have no target\n",
            quoted(&format!("not ({})", missing.join(" or ")))
        );
    }
    let is_other = |column: &&Column| targets.iter().all(|of| of.name != column.name);
    let others: Vec<&Column> = columns.iter().filter(is_other).collect();
    let stray = |column: &Column| matches!(table.stray(&column.name), Ok(Some(_)));
    let plan = Columns::of(&others, &stray);
    text += &of_columns(table, &plan);
    let used: Vec<&str> = columns
        .iter()
        .filter(|column| !plan.is_dropped(&column.name))
        .map(|column| column.name.as_str())
        .collect();
    if let Some(copies) = Copies::find(table, &labelled, &used) {
        text += &format!("# {}.\n", copies.sentence(labelled.len(), "rows"));
    }
    let stratify = match &classes {
        Some(_) => format!(", stratify = {}", quoted(&chosen.name)),
        None => String::new(),
    };
    text += &format!("split = {{ test = 0.2, seed = 0{stratify} }}");
    if let Some((rarest, rows)) = classes.iter().flatten().min_by_key(|(_, rows)| *rows)
        && *rows * 10 < labelled.len()
    {
        let shown = visible(rarest);
        text += &format!("   # '{shown}' has {rows} rows: each part gets its share");
    }
    text += "\n\n# The columns:\n";
    for column in &others {
        text += &format!("#   {}\n", glance(column));
        if let (false, Some(error)) = (plan.is_dropped(&column.name), table.stray(&column.name)?) {
            let error = error.to_string();
            text += &format!("#     `feasible fit` refuses it as it is. {}\n", visible(&error));
        }
    }
    for (name, holds) in table.unread() {
        text += &format!("#   {}: {holds}, which cannot be read\n", visible(name));
    }
    let variance = (targets.len() == 1).then(|| variance(chosen));
    text += "\n[model]\nkind = \"auto\"   # a network, mixed with a linear model where that helps; or \"mlp\", \"linear\", \"kernel\"\n\n";
    let kept: Vec<&Column> =
        others.iter().copied().filter(|column| !plan.is_dropped(&column.name)).collect();
    text += &requirements::proposals(&kept, &plan, classes.as_ref().map(Vec::len), variance);
    text += "[training]\nrecipe = \"feasible\"\nseed = 0\n";
    Ok(text)
}

/// The variance of a column of numbers; 1 of one that is none, or never changes.
fn variance(column: &Column) -> f64 {
    let Cells::Numbers(values) = &column.cells else { return 1.0 };
    let known = || values.iter().filter(|x| !x.is_nan());
    let count = known().count() as f64;
    let mean = known().map(|x| x / count).sum::<f64>();
    let variance = known().map(|x| (x - mean).powi(2) / count).sum::<f64>();
    if variance.is_normal() { variance } else { 1.0 }
}

/// The columns of this name, or of these names with commas between them.
fn named<'a>(table: &'a Table, names: &str) -> Result<Vec<&'a Column>> {
    match table.column(names) {
        Err(_) if names.contains(',') => {
            Ok(names.split(',').map(|name| table.column(name.trim())).collect::<Result<_, _>>()?)
        }
        found => Ok(vec![found?]),
    }
}

/// What the problem file of a table is called: `people.toml` in the current directory, for `data/people.csv.gz` and for
/// `people/*.csv`.
pub fn starter_name(table: &Path) -> PathBuf {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let pattern = |name: &String| name.contains(['*', '?']);
    let directory = table.parent().map(name).filter(|name| !name.is_empty());
    let name = match Some(name(table)).filter(|name| !pattern(name)).or(directory) {
        Some(name) => name,
        None => "table".to_string(),
    };
    let known = [".gz", ".zst", ".csv", ".tsv", ".txt", ".parquet"];
    let stem = known.iter().fold(name.as_str(), |stem, end| stem.strip_suffix(end).unwrap_or(stem));
    PathBuf::from(format!("{stem}.toml"))
}

/// The class that rates are about: the one that its name implies, or else the rarer.
fn positive(first: &(String, usize), second: &(String, usize), implied: bool) -> String {
    let (class, why) = match implied {
        true => (&second.0, String::new()),
        false => {
            let rarer = if first.1 < second.1 { first } else { second };
            let rows = format!("{} of {} rows", grouped(rarer.1), grouped(first.1 + second.1));
            let why = if first.1 == second.1 { "" } else { "the rarer one, " };
            (&rarer.0, format!(": {why}{rows}; check that it is the one you mean"))
        }
    };
    format!(
        "positive = {}   # the class that recall, precision and selection are about{why}\n",
        quoted(class)
    )
}

/// The classes of a target, with their rows.
fn classes(target: &Column) -> Vec<(String, usize)> {
    let mut classes: Vec<(String, usize)> = Vec::new();
    let mut of: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    for text in (0..target.len()).filter_map(|row| target.text(row)) {
        *of.entry(text).or_default() += 1;
    }
    // In the order in which they are numbered.
    match &target.cells {
        Cells::Categories(categories) => {
            classes.extend(categories.names.iter().filter_map(|name| of.remove_entry(name)));
        }
        Cells::Numbers(_) => {
            classes.extend(of);
            let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
            classes.sort_by(|a, b| number(&a.0).total_cmp(&number(&b.0)));
        }
    }
    classes
}

/// `format = { … }`, if the file is not written as most are.
fn of_format(format: &Format) -> String {
    let usual = Format::default();
    let mut keys = Vec::new();
    if !format.header {
        keys.push("header = false".to_string());
    }
    if format.missing != usual.missing {
        let marks: Vec<String> = format.missing.iter().map(|mark| quoted(mark)).collect();
        keys.push(format!("missing = [{}]", marks.join(", ")));
    }
    if format.decimal != usual.decimal {
        keys.extend(format.decimal.map(|c| format!("decimal = {}", quoted(&c.to_string()))));
    }
    if format.duplicates != usual.duplicates {
        keys.push("duplicates = \"number\"".to_string());
    }
    match keys.is_empty() {
        true => String::new(),
        false => format!("format = {{ {} }}   # as the cells look\n", keys.join(", ")),
    }
}

/// The keys about columns: which are left out, which are categories, what stands for missing cells.
fn of_columns(table: &Table, plan: &Columns<'_>) -> String {
    let mut text = String::new();
    let mut dropped: Vec<(&str, String)> = Vec::new();
    for (name, holds) in table.unread() {
        dropped.push((name, format!("{holds} cannot be read")));
    }
    for (column, plan) in &plan.each {
        if let ColumnPlan::Drop(why) = plan {
            dropped.push((&column.name, why.clone()));
        }
    }
    let list = |names: &mut dyn Iterator<Item = &str>| -> String {
        names.map(quoted).collect::<Vec<_>>().join(", ")
    };
    if dropped.is_empty() {
        text += "# drop = [\"id\"]       # columns the model must not see\n";
    } else {
        text += &format!("drop = [{}]\n", list(&mut dropped.iter().map(|(name, _)| *name)));
        for (name, why) in &dropped {
            text += &format!("#   {}: {why}\n", visible(name));
        }
    }
    let codes = || plan.named(|plan| matches!(plan, ColumnPlan::Codes));
    if codes().next().is_some() {
        text += &format!(
            "categorical = [{}]   # whole numbers that look like codes, not quantities\n",
            list(&mut codes())
        );
    }
    if plan.any_missing {
        text += "missing = \"category\"   # an input of its own; or \"impute\": median or commonest; \"reject\": an error\n";
    }
    for (column, plan) in &plan.each {
        if let ColumnPlan::Sparse(share) = plan {
            text += &format!("#   {}: {share} % missing\n", visible(&column.name));
        }
    }
    if plan.any_text {
        text += "unseen = \"other\"       # categories the training rows lack; \"error\" refuses them\n";
    }
    text
}

/// A basic string in one line, hidden characters escaped: it may stand in a comment.
fn quoted(text: &str) -> String {
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

/// A column's name in an expression.
fn backticked(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn glance(column: &Column) -> String {
    let missing = match column.missing() {
        0 => String::new(),
        n => format!(", {n} missing"),
    };
    let name = visible(&column.name);
    match &column.cells {
        Cells::Numbers(_) if column.missing() == column.len() => {
            format!("{name}: every cell is empty")
        }
        Cells::Numbers(values) => {
            let known = || values.iter().filter(|x| !x.is_nan());
            let (low, high) =
                (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
            format!("{name}: numbers from {low} to {high}{missing}")
        }
        Cells::Categories(categories)
            if !categories.names.is_empty()
                && categories.names.iter().all(|cell| is_date(cell)) =>
        {
            format!("{name}: {} dates{missing}", categories.names.len())
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

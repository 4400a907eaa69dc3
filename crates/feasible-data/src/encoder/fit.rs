//! Fitting the preprocessing to training rows.

use super::column_view::as_categories;
use super::fit_categories::fit_categories;
use super::fit_number::{fit_bins, fit_number};
use super::{Encoder, Variable};
use crate::column::{Categories, Cells, Column, MISSING};
use crate::error::{Error, Result};
use crate::preprocessing::{Missing, Preprocessing, Standardise};
use crate::table::Table;

impl Encoder {
    /// Fits `spec` to the given training rows. Columns in `apart` (the target, a column that
    /// says which split a row is in) are never inputs.
    ///
    /// # Errors
    /// Columns or categories that do not exist, steps that exclude one another, missing cells that
    /// are not allowed, columns with too many categories.
    pub fn fit(table: &Table, rows: &[u32], spec: &Preprocessing, apart: &[&str]) -> Result<Self> {
        if rows.is_empty() {
            let reason = "there is no row to fit the preprocessing to: check the split";
            return Err(Error::Nothing { what: "training rows".into(), reason: reason.into() });
        }
        check_names(table, spec, apart)?;
        let used = |name: &str| !apart.contains(&name) && !spec.drop.iter().any(|d| d == name);
        let mut variables = Vec::new();
        match &spec.columns {
            Some(columns) => {
                for name in columns.iter().filter(|name| used(name)) {
                    variables.push(fit_column(table, table.column(name)?, rows, spec)?);
                }
            }
            None => {
                for column in table.columns().iter().filter(|column| used(&column.name)) {
                    variables.push(fit_column(table, column, rows, spec)?);
                }
            }
        }
        if variables.is_empty() {
            let reason = "no column is left to learn from: every one is dropped or constant";
            return Err(Error::Nothing { what: "inputs".into(), reason: reason.into() });
        }
        Self::new(variables, spec.unseen)
    }
}

/// Every column a step names must exist, be used, and not be wanted for another step.
fn check_names(table: &Table, spec: &Preprocessing, apart: &[&str]) -> Result<()> {
    let standardised: &[String] = match &spec.standardise {
        Standardise::Only(columns) => columns,
        Standardise::All(_) => &[],
    };
    let steps: [(&str, Vec<&String>); 6] = [
        ("bin", spec.bin.keys().collect()),
        ("group", spec.group.keys().collect()),
        ("categories", spec.categories.keys().collect()),
        ("categorical", spec.categorical.iter().collect()),
        ("standardise", standardised.iter().collect()),
        ("missing_in", spec.missing_in.keys().collect()),
    ];
    for name in spec.drop.iter().chain(spec.columns.iter().flatten()).map(String::as_str) {
        table.column(name)?;
    }
    for name in apart {
        table.column(name)?;
    }
    let mut listed: Vec<&String> = spec.columns.iter().flatten().collect();
    listed.sort_unstable();
    let twice = listed.windows(2).find(|pair| pair[0] == pair[1]);
    for (step, columns) in &steps {
        for &name in columns {
            table.column(name)?;
            let wrong = |reason: String| {
                let (step, column) = ((*step).to_string(), name.clone());
                Err(Error::Preprocessing { step, column, reason })
            };
            if spec.drop.contains(name) || apart.contains(&name.as_str()) {
                return wrong("the column is not used: it is dropped or kept apart".into());
            }
            if spec.columns.as_ref().is_some_and(|columns| !columns.contains(name)) {
                return wrong("the column is not listed in `columns`".into());
            }
            let clash = |other: &&(&str, Vec<&String>)| {
                let numbers = |step: &str| matches!(step, "bin" | "standardise");
                *step != "missing_in"
                    && other.0 != "missing_in"
                    && other.0 != *step
                    && (numbers(step) || numbers(other.0))
                    && other.1.contains(&name)
            };
            if let Some((other, _)) = steps.iter().find(clash) {
                return wrong(format!("it is also named under `{other}`: choose one"));
            }
        }
    }
    match twice {
        Some(pair) => Err(Error::Preprocessing {
            step: "columns".into(),
            column: pair[0].clone(),
            reason: "it is listed twice".into(),
        }),
        None => Ok(()),
    }
}

fn fit_column(
    table: &Table,
    column: &Column,
    rows: &[u32],
    spec: &Preprocessing,
) -> Result<Variable> {
    let name = &column.name;
    let missing = spec.missing_in.get(name).copied().unwrap_or(spec.missing);
    let as_categorical = spec.categorical.contains(name)
        || spec.group.contains_key(name)
        || spec.categories.contains_key(name);
    let absent = rows.iter().find(|&&row| match &column.cells {
        Cells::Numbers(x) => x.get(row as usize).is_nan(),
        Cells::Categories(categories) => categories.codes.get(row as usize) == MISSING,
    });
    if let (Some(&row), Missing::Reject) = (absent, missing) {
        return Err(Error::Missing { place: table.place(row as usize, name) });
    }
    let encoding = match (&column.cells, spec.bin.get(name)) {
        (Cells::Numbers(x), Some(bins)) => fit_bins(name, x, rows, bins, missing)?,
        (Cells::Numbers(x), None) if !as_categorical => {
            let standardise = match &spec.standardise {
                Standardise::All(all) => *all,
                Standardise::Only(columns) => columns.contains(name),
            };
            fit_number(name, x, rows, standardise, missing, absent.is_some())?
        }
        (Cells::Categories(_), Some(_)) => return Err(not_numbers(column, "bin")),
        (Cells::Categories(_), None) if matches!(&spec.standardise, Standardise::Only(c) if c.contains(name)) =>
        {
            return Err(not_numbers(column, "standardise"));
        }
        (cells, None) => {
            let categories = as_categories(cells);
            fit_categories(name, &categories, rows, spec, missing)?
        }
    };
    Ok(Variable { column: name.clone(), encoding })
}

fn not_numbers(column: &Column, step: &str) -> Error {
    let found = match &column.cells {
        Cells::Categories(Categories { mixed: Some(m), .. }) => {
            format!("categorical, because of '{}' on line {}", m.value, m.line)
        }
        _ => "categorical".to_string(),
    };
    let needed = format!("`{step}` needs numbers: correct the cell, or list it under `missing`");
    Error::Kind { column: column.name.clone(), found, needed }
}

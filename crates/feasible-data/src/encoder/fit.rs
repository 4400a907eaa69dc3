//! Fitting the preprocessing to training rows.

use super::column_view::as_categories;
use super::fit_categories::fit_categories;
use super::fit_dates::{days_of, fit_dates};
use super::fit_number::{NumberSteps, fit_bins, fit_number};
use super::identifier::{codes, identifies, numbers_rows};
use super::piecewise::too_many_cells;
use super::{Encoder, Encoding, Variable};
use crate::column::{Categories, Cells, Column, MISSING};
use crate::error::{Error, Result, shown};
use crate::preprocessing::{Dates, Missing, Piecewise, Preprocessing, Standardise};
use crate::table::Table;

impl Encoder {
    /// Fits `spec` to the given training rows. Columns in `apart` (the target, a column that
    /// says which split a row is in) are never inputs.
    ///
    /// # Errors
    /// Columns or categories that do not exist, steps that exclude one another, missing cells that
    /// are not allowed, columns with too many categories.
    pub fn fit(table: &Table, rows: &[u32], spec: &Preprocessing, apart: &[&str]) -> Result<Self> {
        Ok(Self::fit_noted(table, rows, spec, apart)?.0)
    }

    /// As [`Encoder::fit`], with a sentence for every column of which something was decided that `spec` does not
    /// say: left out, taken for dates, or with categories that were pooled.
    ///
    /// # Errors
    /// As [`Encoder::fit`].
    pub fn fit_noted(
        table: &Table,
        rows: &[u32],
        spec: &Preprocessing,
        apart: &[&str],
    ) -> Result<(Self, Vec<String>)> {
        if rows.is_empty() {
            let reason = "there are no rows to fit the preprocessing on: check the split";
            return Err(Error::Nothing { what: "training rows".into(), reason: reason.into() });
        }
        check_names(table, spec, apart)?;
        let used = |name: &str| !apart.contains(&name) && !spec.drop.iter().any(|d| d == name);
        let (mut variables, mut notes) = (Vec::new(), Vec::new());
        let columns: Vec<&Column> = match &spec.columns {
            Some(columns) => {
                let used = columns.iter().filter(|name| used(name));
                used.map(|name| table.column(name)).collect::<Result<_>>()?
            }
            None => table.columns().iter().filter(|column| used(&column.name)).collect(),
        };
        for column in columns {
            let (encoding, note) = fit_column(table, column, rows, spec)?;
            let column = column.name.clone();
            notes.extend(note.map(|note| format!("column '{}': {note}", shown(&column))));
            variables.extend(encoding.map(|encoding| Variable { column, encoding }));
        }
        if variables.is_empty() {
            let reason = "no column is left to learn from: every one is dropped or constant";
            return Err(Error::Nothing { what: "inputs".into(), reason: reason.into() });
        }
        if spec.piecewise == Piecewise::AUTO && too_many_cells(&variables, rows.len()) {
            let spec = Preprocessing { piecewise: Piecewise::All(false), ..spec.clone() };
            return Self::fit_noted(table, rows, &spec, apart);
        }
        Ok((Self::new(variables, spec.unseen)?, notes))
    }
}

/// Every column a step names must exist, be used, and not be wanted for another step.
fn check_names(table: &Table, spec: &Preprocessing, apart: &[&str]) -> Result<()> {
    let standardised: &[String] = match &spec.standardise {
        Standardise::Only(columns) => columns,
        Standardise::All(_) => &[],
    };
    let piecewise: &[String] = match &spec.piecewise {
        Piecewise::Only(columns) => columns,
        Piecewise::All(_) | Piecewise::Rule(_) => &[],
    };
    let dates: &[String] = match &spec.dates {
        Dates::Only(columns) => columns,
        Dates::All(_) => &[],
    };
    let steps: [(&str, Vec<&String>); 8] = [
        ("bin", spec.bin.keys().collect()),
        ("group", spec.group.keys().collect()),
        ("categories", spec.categories.keys().collect()),
        ("categorical", spec.categorical.iter().collect()),
        ("standardise", standardised.iter().collect()),
        ("piecewise", piecewise.iter().collect()),
        ("dates", dates.iter().collect()),
        ("missing_in", spec.missing_in.keys().collect()),
    ];
    for name in spec.drop.iter().filter(|name| !table.is_unread(name)) {
        table.column(name)?;
    }
    for name in spec.columns.iter().flatten() {
        table.column(name)?;
    }
    let unread = || table.unread().iter().filter(|(name, _)| !spec.drop.contains(name));
    if let (None, Some((name, _))) = (&spec.columns, unread().next()) {
        table.column(name)?; // for its error
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
                let numbers =
                    |step: &str| matches!(step, "bin" | "standardise" | "piecewise" | "dates");
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

/// What is said of a column of dates.
const DATED: &str = "dates become days since 1970-01-01 and cycles (weekday, time of year); `dates = false` under \
                     [data] takes them for text, `drop` leaves them out";

fn fit_column(
    table: &Table,
    column: &Column,
    rows: &[u32],
    spec: &Preprocessing,
) -> Result<(Option<Encoding>, Option<String>)> {
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
    let mut note = None;
    let encoding = match (&column.cells, spec.bin.get(name)) {
        (Cells::Numbers(x), Some(bins)) => fit_bins(name, x, rows, bins, missing)?,
        (Cells::Numbers(x), None) if !as_categorical => {
            let named = |columns: &[String]| columns.iter().any(|named| named == name);
            let named = named(spec.columns.as_deref().unwrap_or_default())
                || matches!(&spec.standardise, Standardise::Only(columns) if named(columns))
                || matches!(&spec.piecewise, Piecewise::Only(columns) if named(columns));
            if let (false, Some(why)) = (named, numbers_rows(name, x, rows)) {
                return Ok((None, Some(why)));
            }
            note = if named { None } else { codes(name, x, rows) };
            let steps = number_steps(name, spec);
            fit_number(name, x, rows, steps, missing, absent.is_some())?
        }
        (Cells::Categories(_), Some(_)) => return Err(not_numbers(column, "bin")),
        (Cells::Categories(_), None) if matches!(&spec.standardise, Standardise::Only(c) if c.contains(name)) =>
        {
            return Err(not_numbers(column, "standardise"));
        }
        (Cells::Categories(_), None) if matches!(&spec.piecewise, Piecewise::Only(c) if c.contains(name)) =>
        {
            return Err(not_numbers(column, "piecewise"));
        }
        (cells, None) => {
            let categories = as_categories(cells);
            let asked = matches!(&spec.dates, Dates::Only(columns) if columns.contains(name));
            let dated = match asked || (!as_categorical && spec.dates == Dates::All(true)) {
                true => days_of(table, name, &categories, rows, asked)?,
                false => None,
            };
            if let Some(days) = dated {
                note = (!asked).then(|| DATED.to_string());
                fit_dates(name, &categories, &days, rows, missing, absent.is_some())?
            } else {
                if !as_categorical && let Some(error) = table.stray(name)? {
                    return Err(error);
                }
                let listed = spec.columns.iter().flatten().any(|listed| listed == name);
                if !as_categorical
                    && !listed
                    && let Some(why) = identifies(&categories, rows)
                {
                    return Ok((None, Some(why)));
                }
                let (encoding, pooled) = fit_categories(name, &categories, rows, spec, missing)?;
                note = pooled;
                encoding
            }
        }
    };
    Ok((Some(encoding), note))
}

/// What becomes of a numeric column. A column that is named for one step does not take part in the other.
fn number_steps(name: &str, spec: &Preprocessing) -> NumberSteps {
    let named = |columns: &[String]| columns.iter().any(|column| column == name);
    let standardise = match &spec.standardise {
        Standardise::All(true) => NumberSteps::Standardise,
        Standardise::Only(columns) if named(columns) => return NumberSteps::Standardise,
        Standardise::All(false) | Standardise::Only(_) => NumberSteps::Plain,
    };
    match &spec.piecewise {
        Piecewise::All(true) => NumberSteps::Piecewise,
        Piecewise::Only(columns) if named(columns) => NumberSteps::Piecewise,
        Piecewise::Rule(_) if standardise == NumberSteps::Standardise => NumberSteps::Choose,
        _ => standardise,
    }
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

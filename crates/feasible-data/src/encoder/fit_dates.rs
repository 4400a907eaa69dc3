//! Fitting dates: a number of days, and where the date stands in its day, week and year.
//!
//! A cycle becomes two columns, sin and cos of 2π times the share of the cycle that has passed, so that December is
//! next to January. Only cycles that the training rows move along are kept.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use super::Encoding;
use super::fit_number::{NumberSteps, fit_number};
use crate::column::{Categories, MISSING};
use crate::dates;
use crate::error::{Error, Result};
use crate::numbers::Numbers;
use crate::preprocessing::Missing;
use crate::table::Table;

/// A cycle that dates go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cycle {
    /// The time of day.
    Day,
    /// The day of the week.
    Week,
    /// The day of the year.
    Year,
}

impl Cycle {
    /// All of them, shortest first.
    pub const ALL: [Cycle; 3] = [Cycle::Day, Cycle::Week, Cycle::Year];

    /// What it is called in names of columns: `joined weekday (sin)`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "time of day",
            Self::Week => "weekday",
            Self::Year => "time of year",
        }
    }

    fn share(self, days: f64) -> f64 {
        match self {
            Self::Day => dates::in_day(days),
            Self::Week => dates::in_week(days),
            Self::Year => dates::in_year(days),
        }
    }

    /// Sine and cosine at a date, in days since 1970-01-01.
    pub(crate) fn at(self, days: f64) -> [f32; 2] {
        let (sin, cos) = (TAU * self.share(days)).sin_cos();
        [sin as f32, cos as f32]
    }
}

/// The share of the cells that must be dates for the others to be mistakes.
const MOSTLY: f64 = 0.9;

/// Days since 1970-01-01 of every category, and whether the training rows' cells are dates.
///
/// # Errors
/// A cell that is not a date where nearly all others are, or where dates were asked for.
pub(super) fn days_of(
    table: &Table,
    name: &str,
    source: &Categories,
    rows: &[u32],
    asked: bool,
) -> Result<Option<Vec<Option<f64>>>> {
    // Most columns of text are told by one cell.
    let first = source.names.first().and_then(|name| dates::parse(name));
    let last = source.names.last().and_then(|name| dates::parse(name));
    if first.is_none() && last.is_none() && !asked {
        return Ok(None);
    }
    let days: Vec<Option<f64>> = source.names.iter().map(|name| dates::parse(name)).collect();
    let (mut present, mut dated, mut stray) = (0_usize, 0_usize, None);
    for &row in rows {
        match source.codes.get(row as usize) {
            MISSING => {}
            code => {
                present += 1;
                match days[code as usize] {
                    Some(_) => dated += 1,
                    None => stray = stray.or(Some(row)),
                }
            }
        }
    }
    match stray {
        None if present > 0 => Ok(Some(days)),
        Some(row) if asked || dated as f64 >= MOSTLY * present as f64 => Err(Error::NotADate {
            place: table.place(row as usize, name),
            value: source.get(row as usize).unwrap_or_default().to_string(),
        }),
        _ => Ok(None),
    }
}

pub(super) fn fit_dates(
    name: &str,
    source: &Categories,
    days: &[Option<f64>],
    rows: &[u32],
    missing: Missing,
    absent: bool,
) -> Result<Encoding> {
    let day = |row: &u32| match source.codes.get(*row as usize) {
        MISSING => f64::NAN,
        code => days[code as usize].unwrap_or(f64::NAN),
    };
    let values: Vec<f64> = rows.iter().map(day).collect();
    let all: Vec<u32> = (0..rows.len() as u32).collect();
    let moves = |cycle: &Cycle| {
        let mut shares = values.iter().filter(|x| !x.is_nan()).map(|&x| cycle.share(x));
        let first = shares.next();
        shares.any(|share| Some(share) != first)
    };
    let cycles = Cycle::ALL.into_iter().filter(moves).collect();
    let number = fit_number(
        name,
        &Numbers::from(values.clone()),
        &all,
        NumberSteps::Standardise,
        missing,
        absent,
    )?;
    Ok(match number {
        Encoding::Number { mean, sd, missing, indicator } => {
            Encoding::Dates { mean, sd, missing, indicator, cycles }
        }
        other => other,
    })
}

//! Rows up to rounding: a table that was written with fewer digits, or in single precision, holds the same rows.
//!
//! Every number is replaced by its cell on a grid, fine enough to tell rows apart, coarse enough that rounding seldom
//! moves a number into the next cell. Of a column that spans 10ᵏ between its tenth and its ninetieth percentile, the grid of d digits has
//! the step 10^(k + 1 − d); if its numbers are of size 10ᵐ and are written with few digits, these do not reach that far, and the step is
//! five units of the last of them.
//!
//! | digits compared | meant for | steps are at least |
//! | ---: | --- | --- |
//! | 4 | single precision; 6 digits, after the point or in all; noise | 5 × 10^(m − 5), 5 × 10⁻⁶ |
//! | 2 | 3 digits | 5 × 10^(m − 2), 5 × 10⁻³ |
//!
//! A rounded number changes its cell with a probability of some hundredths at most, so most rows are known again, and the
//! [test](super::overlap) needs few. At 2 digits not more than [`MOST`] columns of numbers are compared, as one changed cell hides a row.
//! One to three such columns hardly tell rows apart; with so few, numbers are compared in 6 and in 3 significant digits, too,
//! rounded as they are when they are written.
//!
//! How a table is written ([`Written`]) says which of these comparisons can know its rows again.

use std::collections::BTreeSet;

use feasible_data::{Cells, Column, Table};
use serde::{Deserialize, Serialize};

use super::hashes::{Rounding, of_rounded_rows};

/// Columns of numbers that are compared at 2 digits.
const MOST: usize = 12;
/// Rows by which the span of a column is estimated.
const SAMPLE: usize = 4096;
/// Digits that are compared, and those that a table is supposed to be written with at least.
const DIGITS: [(u32, i32); 2] = [(4, 6), (2, 3)];
/// Significant digits that are compared where there are few columns of numbers, and how many are few.
const SIGNIFICANT: [u32; 2] = [6, 3];
const FEW: usize = 3;

/// A table is written with fewer digits than the training was if nearly none of its numbers has as many as a fifth of those of the training.
const TRAINED: usize = 80;
const NEW: usize = 99;

/// Rows by their cells on a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rounded {
    /// Digits that are compared.
    pub(crate) digits: u32,
    /// Whether these are significant digits of every number, and no grid.
    pub(crate) is_significant: bool,
    /// The columns and their steps; 0 takes cells as they are.
    pub(crate) steps: Vec<(String, f64)>,
    /// How the numbers of those columns are written; nothing of others.
    pub(crate) written: Vec<Option<Written>>,
    /// Hashes, sorted.
    pub(crate) rows: Vec<u64>,
}

impl Rounded {
    /// The rows used, by the columns needed, at every number of digits; none if there are no numbers that rounding changes.
    pub(crate) fn all(table: &Table, used: &[u32], needed: &[String]) -> Vec<Self> {
        let columns = || needed.iter().filter_map(|name| table.column(name).ok());
        let samples: Vec<Option<Sample>> =
            columns().map(|column| Sample::of(column, used)).collect();
        if samples.iter().flatten().next().is_none() {
            return Vec::new();
        }
        let at = |(digits, places): (u32, i32)| {
            let (mut steps, mut written, mut informative) = (Vec::new(), Vec::new(), 0);
            for (column, sample) in columns().zip(&samples) {
                let step = sample.as_ref().map_or(0.0, |sample| sample.step(digits, places));
                if sample.as_ref().is_some_and(|sample| step < sample.span) {
                    informative += 1;
                    if digits == 2 && informative > MOST {
                        continue;
                    }
                }
                steps.push((column.name.clone(), step));
                written.push(sample.as_ref().map(|sample| sample.written(TRAINED)));
            }
            let grid = Self { digits, is_significant: false, steps, written, rows: Vec::new() };
            (grid, informative)
        };
        let [(fine, _), (coarse, informative)] = DIGITS.map(at);
        let mut all = vec![fine, coarse];
        if informative <= FEW {
            let [six, three] =
                SIGNIFICANT.map(|digits| Self { digits, is_significant: true, ..all[0].clone() });
            all = vec![six, all.remove(0), three, all.remove(0)];
        }
        for rounded in &mut all {
            rounded.rows = rounded.of(table, used, &BTreeSet::new()).unwrap_or_default();
            rounded.rows.sort_unstable();
        }
        all
    }

    /// The hashes of rows of another table, without some of the columns; `None` if it lacks one.
    pub(crate) fn of(
        &self,
        table: &Table,
        rows: &[u32],
        without: &BTreeSet<&str>,
    ) -> Option<Vec<u64>> {
        let others = self.steps.iter().filter(|(name, _)| !without.contains(name.as_str()));
        let columns = others.map(|(name, step)| {
            let rounding = match (*step > 0.0, self.is_significant) {
                (false, _) => Rounding::None,
                (true, true) => Rounding::Significant(self.digits),
                (true, false) => Rounding::Grid(*step),
            };
            (name.as_str(), rounding)
        });
        of_rounded_rows(table, rows, columns)
    }

    /// The share of training rows that are known again if they are written as the rows of this table are: a number that was
    /// written with fewer digits than in the training may have been anywhere around it.
    pub(crate) fn recognised(&self, table: &Table, rows: &[u32]) -> f64 {
        let share = |((name, step), trained): (&(String, f64), &Option<Written>)| {
            let (true, Some(trained)) = (*step > 0.0, trained) else { return 1.0 };
            let sample = table.column(name).ok().and_then(|column| Sample::of(column, rows));
            let Some(sample) = sample else { return 1.0 };
            let written = sample.written(NEW);
            let last = written.last_place(sample.size);
            if last <= trained.last_place(sample.size) {
                return 1.0;
            }
            if self.is_significant {
                let missing = self.digits as i32 - written.digits;
                return 10f64.powi(-missing.max(0));
            }
            if last < *step { 1.0 - 0.25 * last / step } else { 0.75 * step / last }
        };
        self.steps.iter().zip(&self.written).map(share).product()
    }

    pub(crate) fn check(&self, rows: usize) -> Result<(), String> {
        if !self.rows.is_sorted() || self.rows.len() != rows {
            return Err("its rounded rows are not sorted, or not those of the others".into());
        }
        let fits = self.written.len() == self.steps.len();
        match fits && self.steps.iter().all(|(_, step)| step.is_finite() && *step >= 0.0) {
            true => Ok(()),
            false => Err("its steps are no steps".into()),
        }
    }
}

/// Some numbers of a column.
struct Sample {
    /// Between their tenth and their ninetieth percentile, or else of all of them.
    span: f64,
    /// Their sizes, sorted, and the median of those.
    sizes: Vec<f64>,
    size: f64,
}

impl Sample {
    /// `None` of a column that is none of numbers, or in which all are 0.
    fn of(column: &Column, rows: &[u32]) -> Option<Self> {
        let Cells::Numbers(numbers) = &column.cells else { return None };
        let every = rows.len().div_ceil(SAMPLE).max(1);
        let some = rows.iter().step_by(every).map(|&row| numbers.get(row as usize));
        let mut values: Vec<f64> = some.filter(|x| !x.is_nan()).collect();
        values.sort_unstable_by(f64::total_cmp);
        let (first, last) = (*values.first()?, *values.last()?);
        let at = |share: usize| values[(values.len() - 1) * share / 10];
        let (inner, all) = (at(9) - at(1), last - first);
        let mut sizes: Vec<f64> = values.iter().map(|x| x.abs()).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        let size = sizes[sizes.len() / 2].max(f64::MIN_POSITIVE);
        let span = [inner, all, last.abs()].into_iter().find(|span| span.is_normal())?;
        (span.is_finite()).then_some(Self { span, sizes, size })
    }

    /// How this many of a hundred of the numbers are written at most.
    fn written(&self, percent: usize) -> Written {
        let (mut digits, mut decimals) = (Vec::new(), Vec::new());
        for x in &self.sizes {
            let text = format!("{x:e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let written = mantissa.bytes().filter(u8::is_ascii_digit).count() as i32;
            digits.push(written);
            decimals.push((written - 1 - exponent.parse().unwrap_or(0)).max(0));
        }
        let most = |mut of: Vec<i32>| {
            of.sort_unstable();
            of[(of.len() * percent).div_ceil(100).max(1) - 1]
        };
        Written { digits: most(digits), decimals: most(decimals) }
    }

    fn step(&self, digits: u32, places: i32) -> f64 {
        let own = place_of(self.span, digits as i32 - 1);
        let rounded = (5.0 * place_of(self.size, places - 1)).max(5.0 * 10f64.powi(-places));
        own.max(rounded)
    }
}

/// How the numbers of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Written {
    /// Significant digits, and digits after the point.
    digits: i32,
    decimals: i32,
}

impl Written {
    /// The last place in which a number of this size is written.
    fn last_place(self, size: f64) -> f64 {
        place_of(size, self.digits - 1).max(10f64.powi(-self.decimals))
    }
}

/// The power of ten of a number's first digit, or of one some places after it.
fn place_of(x: f64, places: i32) -> f64 {
    10f64.powi((x.log10().floor() as i32).clamp(-290, 290) - places)
}

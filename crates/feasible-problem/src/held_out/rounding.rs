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

use std::collections::BTreeSet;

use feasible_data::{Cells, Column, Table};
use serde::{Deserialize, Serialize};

use super::hashes::of_rounded_rows;

/// Columns of numbers that are compared at 2 digits.
const MOST: usize = 12;
/// Rows by which the span of a column is estimated.
const SAMPLE: usize = 4096;
/// Digits that are compared, and those that a table is supposed to be written with at least.
const DIGITS: [(u32, i32); 2] = [(4, 6), (2, 3)];

/// Rows by their cells on a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rounded {
    /// Digits that are compared.
    pub(crate) digits: u32,
    /// The columns and their steps; 0 takes cells as they are.
    pub(crate) steps: Vec<(String, f64)>,
    /// Hashes, sorted.
    pub(crate) rows: Vec<u64>,
}

impl Rounded {
    /// The rows used, by the columns needed, at every number of digits; none if there are no numbers that rounding changes.
    pub(crate) fn all(table: &Table, used: &[u32], needed: &[String]) -> Vec<Self> {
        let columns = || needed.iter().filter_map(|name| table.column(name).ok());
        let sizes: Vec<Option<Size>> = columns().map(|column| Size::of(column, used)).collect();
        if sizes.iter().flatten().next().is_none() {
            return Vec::new();
        }
        let at = |(digits, written): (u32, i32)| {
            let mut informative = 0;
            let mut steps = Vec::new();
            for (column, size) in columns().zip(&sizes) {
                let step = size.as_ref().map_or(0.0, |size| size.step(digits, written));
                if size.as_ref().is_some_and(|size| step < size.span) {
                    informative += 1;
                    if digits == 2 && informative > MOST {
                        continue;
                    }
                }
                steps.push((column.name.clone(), step));
            }
            let mut rows = of_rounded_rows(table, used, &steps).unwrap_or_default();
            rows.sort_unstable();
            Self { digits, steps, rows }
        };
        DIGITS.into_iter().map(at).collect()
    }

    /// The hashes of rows of another table, without some of the columns; `None` if it lacks one.
    pub(crate) fn of(
        &self,
        table: &Table,
        rows: &[u32],
        without: &BTreeSet<&str>,
    ) -> Option<Vec<u64>> {
        match without.is_empty() {
            true => of_rounded_rows(table, rows, &self.steps),
            false => {
                let others = self.steps.iter().filter(|(name, _)| !without.contains(name.as_str()));
                of_rounded_rows(table, rows, &others.cloned().collect::<Vec<_>>())
            }
        }
    }

    pub(crate) fn check(&self, rows: usize) -> Result<(), String> {
        if !self.rows.is_sorted() || self.rows.len() != rows {
            return Err("its rounded rows are not sorted, or not those of the others".into());
        }
        match self.steps.iter().all(|(_, step)| step.is_finite() && *step >= 0.0) {
            true => Ok(()),
            false => Err("its steps are no steps".into()),
        }
    }
}

/// How large the numbers of a column are.
struct Size {
    /// Between its tenth and its ninetieth percentile, or else of all its values.
    span: f64,
    /// The median of their sizes.
    size: f64,
}

impl Size {
    /// `None` of a column that is none of numbers, or in which all are 0.
    fn of(column: &Column, used: &[u32]) -> Option<Self> {
        let Cells::Numbers(numbers) = &column.cells else { return None };
        let every = used.len().div_ceil(SAMPLE).max(1);
        let some = used.iter().step_by(every).map(|&row| numbers.get(row as usize));
        let mut values: Vec<f64> = some.filter(|x| !x.is_nan()).collect();
        values.sort_unstable_by(f64::total_cmp);
        let (first, last) = (*values.first()?, *values.last()?);
        let at = |share: usize| values[(values.len() - 1) * share / 10];
        let (inner, all) = (at(9) - at(1), last - first);
        let mut sizes: Vec<f64> = values.iter().map(|x| x.abs()).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        let size = sizes[sizes.len() / 2].max(f64::MIN_POSITIVE);
        let span = [inner, all, last.abs()].into_iter().find(|span| span.is_normal())?;
        (span.is_finite()).then_some(Self { span, size })
    }

    fn step(&self, digits: u32, written: i32) -> f64 {
        let digit = |of: f64, places: i32| {
            10f64.powi((of.log10().floor() as i32).clamp(-290, 290) - places)
        };
        let own = digit(self.span, digits as i32 - 1);
        let rounded = (5.0 * digit(self.size, written - 1)).max(5.0 * 10f64.powi(-written));
        own.max(rounded)
    }
}

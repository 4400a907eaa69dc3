//! Rows of a table that are copies of each other: a rare class that was oversampled, a bootstrap sample, a table given twice.
//!
//! A copy on the other side of a split is no new row: a model that has learned it by heart is right about it. So copies stay
//! in one part, and only the first of them is judged by. Equal rows are copies if there are more of them than
//! chance explains, or if every row occurs g times. Columns that number the rows are left out.

use feasible_data::{Cells, Column, Table};

use super::coincidence::{self, is_beyond_chance};
use super::hashes::{mix, of_cells, of_rows, tells_apart};
use super::overlap::{FALSE_ALARM, times};
use crate::text::grouped;

/// The most rows, and the most cells, that are examined for copies; of a larger table a sample is.
const SAMPLE: (usize, usize) = (30_000, 3_000_000);
/// Rows that are looked at first.
const PROBED: usize = 1000;

/// Rows that equal an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// Each of them and the first that it equals, by row.
    of: Vec<(u32, u32)>,
}

impl Copies {
    /// The copies among some rows (ascending) of a table by these columns; `None` if chance explains the rows that are equal.
    pub fn find(table: &Table, rows: &[u32], columns: &[&str]) -> Option<Self> {
        let columns = columns.iter().filter_map(|name| table.column(name).ok());
        let columns: Vec<&Column> = columns.filter(|column| !numbers_rows(column, rows)).collect();
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let hashes = of_rows(table, rows, &names)?;
        let mut sorted = hashes.clone();
        sorted.sort_unstable();
        let repeated = sorted.chunk_by(|a, b| a == b).filter(|group| group.len() > 1);
        if columns.is_empty() || repeated.count() < coincidence::LEAST as usize {
            return None;
        }
        let mut order: Vec<(u64, u32)> = hashes.into_iter().zip(rows.iter().copied()).collect();
        order.sort_unstable();
        let groups = || order.chunk_by(|a, b| a.0 == b.0);
        // Of rows that occur g times or a multiple of it, each g are one draw.
        let of_one = match times(groups().map(|group| group.len() as u64), FALSE_ALARM.ln()) {
            1 if !is_beyond_chance(&sampled(&columns, rows)) => return None,
            1 => usize::MAX,
            times => times,
        };
        let others = |group: &[(u64, u32)]| {
            let first = group[0].1;
            group[1..].iter().map(move |(_, row)| (*row, first)).collect::<Vec<_>>()
        };
        let draws = groups().flat_map(|group| group.chunks(of_one));
        let mut of: Vec<(u32, u32)> = draws.flat_map(others).collect();
        of.sort_unstable();
        Some(Self { of })
    }

    /// The first row that a row equals: itself if it is no copy.
    pub fn first(&self, row: u32) -> u32 {
        match self.of.binary_search_by_key(&row, |(copy, _)| *copy) {
            Ok(at) => self.of[at].1,
            Err(_) => row,
        }
    }

    /// The rows without copies.
    pub fn distinct(&self, rows: &[u32]) -> Vec<u32> {
        rows.iter().copied().filter(|&row| self.first(row) == row).collect()
    }

    /// The copies of some rows (ascending).
    pub(crate) fn copies_of(&self, rows: &[u32]) -> Vec<u32> {
        let is_of = |(_, first): &&(u32, u32)| rows.binary_search(first).is_ok();
        self.of.iter().filter(is_of).map(|(copy, _)| *copy).collect()
    }

    /// How many rows are copies.
    pub fn count(&self) -> usize {
        self.of.len()
    }

    /// With the copies among other rows.
    pub(crate) fn and(mut self, other: Option<Self>) -> Self {
        self.of.extend(other.unwrap_or_default().of);
        self.of.sort_unstable();
        self
    }

    /// What a user should know; `which` rows they are among.
    pub fn sentence(&self, rows: usize, which: &str) -> String {
        format!(
            "{} of the {} {which} equal an earlier row in every column that is used, more than chance explains: copies \
             stay in one part, and each row counts once in validation, test and certificates. To give rows more weight, \
             keep each once and name a column of weights (`weight` under [data])",
            grouped(self.count()),
            grouped(rows)
        )
    }
}

/// Whether a column numbers the rows: whole numbers or text, different in every row.
fn numbers_rows(column: &Column, rows: &[u32]) -> bool {
    // Most columns repeat a value among the first rows.
    let probe = |row: &u32| match &column.cells {
        Cells::Numbers(values) => values.get(*row as usize).to_bits(),
        Cells::Categories(categories) => u64::from(categories.codes.get(*row as usize)),
    };
    let mut probed: Vec<u64> = rows.iter().take(PROBED).map(probe).collect();
    probed.sort_unstable();
    let whole = |row: &u32| match &column.cells {
        Cells::Numbers(values) => values.get(*row as usize).fract() == 0.0,
        Cells::Categories(_) => true,
    };
    probed.windows(2).all(|pair| pair[0] != pair[1])
        && rows.iter().all(whole)
        && tells_apart(column, rows)
}

/// The cells of rows, of some rows where there are many.
fn sampled(columns: &[&Column], rows: &[u32]) -> Vec<coincidence::Cells> {
    let most = SAMPLE.0.min(SAMPLE.1 / columns.len().max(1));
    let n = rows.len() as u64;
    let is_chosen = |row: &&u32| n <= most as u64 || mix(u64::from(**row)) % n < most as u64;
    let chosen: Vec<u32> = rows.iter().filter(is_chosen).copied().collect();
    let cells = |column: &&Column| coincidence::Cells {
        hashes: of_cells(column, &chosen),
        numbers: match &column.cells {
            Cells::Numbers(x) => Some(chosen.iter().map(|&row| x.get(row as usize)).collect()),
            Cells::Categories(_) => None,
        },
    };
    columns.iter().map(cells).collect()
}

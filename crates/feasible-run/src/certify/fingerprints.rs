//! Which rows a run has used, by content, so that they are known again in any other table.
//!
//! A fingerprint is a hash of the cells of a row, whatever the order of columns and the format of the file.
//! Two are kept for every row that was trained or validated on: of all columns, and of those the model and
//! its requirements need. They stay in the run directory and are not handed over with the model: whoever
//! has them could test who was in the data.
//!
//! In tables of few columns different people have equal rows, so that an equal fingerprint is no proof.
//! What is to be expected by chance is known from the rows of the training themselves: a fresh row of the
//! same population equals one of them about as often as each of them equals another. More than that, beyond
//! what is possible once in a million, is refused.

use std::collections::BTreeSet;

use feasible::certificate::{Count, Delta};
use feasible_data::{Cells, Column, Table};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::files::FINGERPRINTS;

/// A surprise of less than this is no chance.
const SURPRISE: f64 = 1e-6;

/// The fingerprints of the rows a run has used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fingerprints {
    version: u32,
    /// All columns of the tables.
    columns: Vec<String>,
    /// Those that the model and its requirements need.
    needed: Vec<String>,
    /// By all columns, sorted.
    whole: Vec<u64>,
    /// By those needed, sorted.
    part: Vec<u64>,
}

/// Rows that equal rows of the training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coincidences {
    /// How many.
    pub rows: usize,
    /// How many are to be expected if none of them was used.
    pub expected: f64,
}

impl Fingerprints {
    /// Of the rows that were used.
    pub fn of(table: &Table, used: &[u32], needed: &BTreeSet<String>) -> Self {
        let columns: Vec<String> = table.columns().iter().map(|c| c.name.clone()).collect();
        let needed: Vec<String> =
            columns.iter().filter(|name| needed.contains(*name)).cloned().collect();
        let sorted = |names: &[String]| {
            let all = of_rows(table, names).unwrap_or_default();
            let mut some: Vec<u64> = used.iter().map(|&row| all[row as usize]).collect();
            some.sort_unstable();
            some
        };
        let (whole, part) = (sorted(&columns), sorted(&needed));
        Self { version: 1, columns, needed, whole, part }
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Numbers and text in memory cannot fail to serialise.
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// From bytes; `path` stands for the file in messages.
    ///
    /// # Errors
    /// Bytes that are not ours.
    pub fn from_bytes(path: &str, bytes: &[u8]) -> Result<Self> {
        let damaged = |reason: String| Error::Damaged { path: path.into(), reason };
        let read: Self = postcard::from_bytes(bytes).map_err(|e| damaged(e.to_string()))?;
        if read.version != 1 {
            return Err(damaged(format!("it has format {}, not 1", read.version)));
        }
        Ok(read)
    }

    /// Compares the rows of a table with those that were used.
    ///
    /// # Errors
    /// More equal rows than chance explains; a table without the columns.
    pub fn compare(&self, table: &Table) -> Result<Coincidences> {
        let (used, rows) = match of_rows(table, &self.columns) {
            Some(rows) => (&self.whole, rows),
            None => {
                let rows = of_rows(table, &self.needed).ok_or_else(|| {
                    Error::unfit(
                        table.name(),
                        "it lacks columns that the model needs, so that its rows cannot be compared \
                         with those trained on",
                    )
                })?;
                (&self.part, rows)
            }
        };
        let equal = rows.iter().filter(|row| used.binary_search(row).is_ok()).count();
        // Leave one out: rows of the training that occur there once more.
        let again: usize = used.chunk_by(|a, b| a == b).map(<[u64]>::len).filter(|&n| n > 1).sum();
        let rate = again as f64 / used.len().max(1) as f64;
        let expected = rate * rows.len() as f64;
        // The rate itself is an estimate: what it may be at most decides.
        let largest = Count::new(again as u64, used.len() as u64)
            .and_then(|count| Ok(count.upper(Delta::new(1e-3)?)));
        let chance = Count::new(equal as u64, rows.len() as u64)
            .and_then(|count| Ok(count.ln_p_at_most(largest?)))
            .unwrap_or(0.0);
        if equal > 0 && (rate == 0.0 || chance < f64::ln(SURPRISE)) {
            let by_chance = if rate == 0.0 {
                "no two rows of the training are equal, so this is no chance".to_string()
            } else {
                format!("chance would explain about {expected:.0}")
            };
            return Err(Error::unfit(
                table.name(),
                format!(
                    "{equal} of its {} rows were used in training the model, or are copies of rows \
                     that were ({by_chance}). A certificate needs rows that were not used to train, \
                     select or calibrate: give a table of others, or keep some back with `certify` \
                     in the problem file and train again",
                    rows.len()
                ),
            ));
        }
        Ok(Coincidences { rows: equal, expected })
    }
}

/// What a run without the file is told.
pub(crate) fn missing(location: &str) -> Error {
    Error::unfit(
        location,
        format!(
            "it has no {FINGERPRINTS}, the record of the rows that were trained on, without which no \
             table can be known to be held out: give the run directory of a training by this version"
        ),
    )
}

/// The fingerprint of every row by these columns; `None` if one is missing.
pub(crate) fn of_rows(table: &Table, names: &[String]) -> Option<Vec<u64>> {
    let mut all = vec![0u64; table.rows()];
    for name in names {
        let column = table.column(name).ok()?;
        add(column, &mut all);
    }
    Some(all)
}

/// Adds the hashes of a column's cells: a sum does not depend on the order of columns.
fn add(column: &Column, all: &mut [u64]) {
    let own = of_text(&column.name);
    let number = |x: f64| mix(own ^ mix((x + 0.0).to_bits()));
    let missing = mix(own ^ 0x6d69_7373_696e_6721);
    match &column.cells {
        Cells::Numbers(values) => {
            for (sum, x) in all.iter_mut().zip(values.iter()) {
                *sum = sum.wrapping_add(if x.is_nan() { missing } else { number(x) });
            }
        }
        Cells::Levels(levels) => {
            // A number is the same cell in a column that some other cell makes categorical.
            let level = |text: &String| match text.parse::<f64>() {
                Ok(x) if x.is_finite() => number(x),
                _ => mix(own ^ of_text(text)),
            };
            let hashes: Vec<u64> = levels.levels.iter().map(level).collect();
            for (sum, code) in all.iter_mut().zip(levels.codes.iter()) {
                *sum = sum.wrapping_add(hashes.get(code as usize).copied().unwrap_or(missing));
            }
        }
    }
}

fn of_text(text: &str) -> u64 {
    text.bytes().fold(0x9e37_79b9_7f4a_7c15, |hash, byte| mix(hash ^ u64::from(byte)))
}

/// The finaliser of SplitMix64: a permutation that spreads every bit.
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn table(rows: std::ops::Range<usize>, levels: usize) -> Table {
        let numbers = rows.clone().map(|i| (i * 7919 % levels) as f64).collect();
        let words: Vec<String> = rows.map(|i| format!("w{}", i % 3)).collect();
        Table::new(
            "t.csv",
            vec![
                Column::numbers("x", numbers),
                Column::levels("y", words.iter().map(|w| Some(w.as_str()))),
            ],
        )
        .unwrap()
    }

    fn used(table: &Table) -> Fingerprints {
        let needed = ["x".to_string(), "y".into()].into();
        Fingerprints::of(table, &table.all_rows(), &needed)
    }

    #[test]
    fn rows_are_known_again_in_any_order_and_column_order() {
        let trained = table(0..300, 100_000);
        let prints = used(&trained);
        let again = Fingerprints::from_bytes("f", &prints.to_bytes()).unwrap();
        assert_eq!(again, prints);
        let mut columns = trained.columns().to_vec();
        columns.reverse();
        let error = prints.compare(&Table::new("copy.csv", columns).unwrap()).unwrap_err();
        assert!(error.to_string().contains("300 of its 300 rows"), "{error}");
        assert_eq!(prints.compare(&table(300..600, 100_000)).unwrap().rows, 0);
        // One old row among new ones.
        let error = prints.compare(&table(299..600, 100_000)).unwrap_err().to_string();
        assert!(error.contains("1 of its 301 rows"), "{error}");
    }

    #[test]
    fn equal_rows_of_different_people_are_let_pass_as_chance() {
        // Twenty values and three words: everything occurs again.
        let prints = used(&table(0..600, 20));
        let coincidences = prints.compare(&table(600..900, 20)).unwrap();
        assert_eq!((coincidences.rows, coincidences.expected), (300, 300.0));
    }

    #[test]
    fn a_table_without_the_columns_is_refused() {
        let other = Table::new("o.csv", vec![Column::numbers("z", vec![1.0])]).unwrap();
        assert!(used(&table(0..10, 5)).compare(&other).is_err());
    }
}

//! Which rows a run has used, by content, so that they are known again in any other table.
//!
//! A fingerprint is a hash of the cells of a row, whatever the order of columns and the format of the file.
//! They stay in the run directory and are not handed over with the model: whoever has them could test who
//! was in the data. For every row that was trained or validated on there are three:
//!
//! | of | a row that is equal in it |
//! | --- | --- |
//! | all columns, if some name the rows | was used: it is refused |
//! | all columns but those that name rows | is counted ([`overlap`](super::overlap)) |
//! | the columns that the model and its requirements use | is counted |
//!
//! A column names rows if neither the model nor a requirement uses it, and no two rows of the training
//! are equal in it, which are at least `NAMED`, nor two of the table. Names change from file to file,
//! which is why rows are compared without them, too.
//!
//! If the problem file has a `unit`, there is a fingerprint of every unit as well: a unit that was trained
//! on is not held out, even if its rows are new.

use std::collections::{BTreeMap, BTreeSet};

use feasible_data::{Cells, Column, Table};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::overlap::{FALSE_ALARM, HeldOut, Pool, Repetition, noticed, times};
use crate::error::{Error, Result};
use crate::text::{about, grouped};

const VERSION: u32 = 3;

/// In fewer rows, a column without equal cells may be chance.
const NAMED: usize = 30;

/// The fingerprints of the rows a run has used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fingerprints {
    version: u32,
    /// All columns of the tables but those that name rows.
    columns: Vec<String>,
    /// Those that name rows.
    names: Vec<String>,
    /// Those that the model and its requirements use.
    needed: Vec<String>,
    /// By all columns, sorted; empty without columns that name rows.
    whole: Vec<u64>,
    /// By all but those that name rows, sorted.
    plain: Vec<u64>,
    /// By those needed, sorted.
    part: Vec<u64>,
    /// The column that says which unit a row belongs to, and the units, sorted.
    unit: Option<(String, Vec<u64>)>,
}

/// Rows of a table, each to be counted once.
#[derive(Clone, Debug, PartialEq)]
pub struct Once {
    /// Their numbers: all, unless the table repeats every row.
    pub rows: Vec<u32>,
    /// How the table repeats its rows, if beyond chance.
    pub repetition: Option<Repetition>,
}

impl Fingerprints {
    /// Of the rows that were used.
    pub fn of(table: &Table, used: &[u32], needed: &BTreeSet<String>) -> Self {
        let names_rows = |column: &Column| {
            let unused = !needed.contains(&column.name);
            unused && used.len() >= NAMED && tells_apart(column, used)
        };
        let (named, others): (Vec<&Column>, Vec<&Column>) =
            table.columns().iter().partition(|column| names_rows(column));
        let names: Vec<String> = named.iter().map(|column| column.name.clone()).collect();
        let columns: Vec<String> = others.iter().map(|column| column.name.clone()).collect();
        let needed: Vec<String> =
            columns.iter().filter(|name| needed.contains(*name)).cloned().collect();
        let sorted = |names: &[String]| {
            let mut some = of_rows(table, used, names).unwrap_or_default();
            some.sort_unstable();
            some
        };
        let all: Vec<String> = columns.iter().chain(&names).cloned().collect();
        let whole = if names.is_empty() { Vec::new() } else { sorted(&all) };
        let (plain, part) = (sorted(&columns), sorted(&needed));
        Self { version: VERSION, columns, names, needed, whole, plain, part, unit: None }
    }

    /// With the units that the rows used belong to.
    ///
    /// # Errors
    /// A column that does not exist, or that has no cell in some row.
    pub fn with_units(mut self, table: &Table, used: &[u32], column: &str) -> Result<Self> {
        let mut units = of_units(table, used, column)?;
        units.sort_unstable();
        units.dedup();
        self.unit = Some((column.to_string(), units));
        Ok(self)
    }

    /// As bytes: the fingerprints in postcard's encoding, which begins with the version, and the SHA-256 of that.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Numbers and text in memory cannot fail to serialise.
        let mut bytes = postcard::to_stdvec(self).unwrap_or_default();
        let digest = Sha256::digest(&bytes);
        bytes.extend_from_slice(&digest);
        bytes
    }

    /// From bytes.
    ///
    /// # Errors
    /// Why bytes are not ours.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let (version, _) = postcard::take_from_bytes::<u32>(bytes).map_err(|e| e.to_string())?;
        if version != VERSION {
            let reason = format!(
                "it has format {version}, not {VERSION}: train again with this version of feasible, \
                 so that rows can be compared"
            );
            return Err(reason);
        }
        let Some((content, digest)) = bytes.split_last_chunk::<32>() else {
            return Err("it is cut short: restore it, or train again".into());
        };
        if Sha256::digest(content)[..] != digest[..] {
            let reason = "its checksum does not match its content: restore it, or train again";
            return Err(reason.into());
        }
        let prints: Self = postcard::from_bytes(content).map_err(|e| e.to_string())?;
        prints.check()?;
        Ok(prints)
    }

    /// Whether lists are sorted, without which rows are not found in them, and fit together.
    fn check(&self) -> Result<(), String> {
        let units = self.unit.as_ref().map_or(&[][..], |(_, units)| units);
        let lists = [&self.whole[..], &self.plain, &self.part, units];
        if !lists.iter().all(|list| list.is_sorted()) {
            return Err("its fingerprints are not sorted".into());
        }
        let rows = self.plain.len();
        let whole = if self.names.is_empty() { 0 } else { rows };
        if self.part.len() != rows || self.whole.len() != whole || units.len() > rows {
            return Err("it has different numbers of fingerprints for the same rows".into());
        }
        Ok(())
    }

    /// Compares the rows of a table with those that were used.
    ///
    /// # Errors
    /// More equal rows than chance explains; a table without the columns.
    pub fn compare(&self, table: &Table) -> Result<HeldOut> {
        self.compare_rows(table, &table.all_rows(), table.name())
    }

    /// Compares some rows of a table; `what` they are called in messages.
    pub fn compare_rows(&self, table: &Table, rows: &[u32], what: &str) -> Result<HeldOut> {
        let n = rows.len();
        let refused = |equal: usize, why: &str| {
            Error::unfit(
                what,
                format!(
                    "{} of its {} rows were used in training the model, or are copies of rows that \
                     were ({why}). A certificate needs rows that were not used to train, select or \
                     calibrate: give a table of others, or keep some back with `certify` in the problem \
                     file and train again",
                    grouped(equal),
                    grouped(n)
                ),
            )
        };
        let all: Vec<String> = self.columns.iter().chain(&self.names).cloned().collect();
        let named =
            |name: &String| table.column(name).is_ok_and(|column| tells_apart(column, rows));
        if !self.names.is_empty()
            && self.names.iter().all(named)
            && let Some(whole) = of_rows(table, rows, &all)
        {
            let equal = whole.iter().filter(|row| self.whole.binary_search(row).is_ok()).count();
            if equal > 0 {
                let names = self.names.join("', '");
                return Err(refused(
                    equal,
                    &format!("'{names}', which identifies rows, is equal too"),
                ));
            }
        }
        let mut found = None;
        let views = self.views(table, rows);
        let limit = (FALSE_ALARM / views.len().max(1) as f64).ln();
        for view in &views {
            let pool = view.pool();
            let (equal, expected) = (pool.equal(), pool.expected());
            if equal > 0 && pool.ln_p_fresh() < limit {
                let why = format!(
                    "in a fresh sample from the same population, about {} rows \
                     would equal one of the training, and coincidences like these come about less \
                     than once in 10,000 tables",
                    about(expected)
                );
                return Err(refused(equal, &why));
            }
            if view.needed {
                let share = if equal > 0 { noticed(view.used, &view.table, limit) } else { None };
                found = Some((equal, expected, share));
            }
        }
        match found {
            None => Err(Error::unfit(
                what,
                "it lacks columns that the model needs, so its rows cannot be compared with the training rows",
            )),
            Some((0, ..)) => Ok(HeldOut::NoOverlap),
            Some((equal, expected, None)) => Ok(HeldOut::CannotTell { equal, expected }),
            Some((equal, expected, Some(noticed))) => {
                Ok(HeldOut::Explained { equal, expected, noticed })
            }
        }
    }

    /// Rows of a table that equal rows that were used, if they are more than chance explains.
    pub fn count_used(&self, table: &Table) -> usize {
        if self.compare(table).is_ok() {
            return 0;
        }
        let all = table.all_rows();
        let whole: Vec<String> = self.columns.iter().chain(&self.names).cloned().collect();
        let known = |row: &&u64| self.whole.binary_search(row).is_ok();
        let named = of_rows(table, &all, &whole);
        let named = named.map_or(0, |rows| rows.iter().filter(known).count());
        match (named, self.views(table, &all).first()) {
            (0, Some(view)) => view.pool().equal(),
            (named, _) => named,
        }
    }

    /// Which of these rows of a table to count: all, unless the table repeats every row.
    pub fn once(&self, table: &Table, rows: &[u32]) -> Once {
        let views = self.views(table, rows);
        for view in &views {
            let Some(repetition) = view.pool().repetition(views.len()) else { continue };
            let mut seen = BTreeMap::<u64, usize>::new();
            let counted = |print: u64| {
                let before = seen.entry(print).or_default();
                *before += 1;
                (*before - 1).is_multiple_of(repetition.times)
            };
            let counted: Vec<bool> = view.table.iter().copied().map(counted).collect();
            let rows = rows.iter().zip(counted).filter(|(_, counted)| *counted);
            let rows = rows.map(|(row, _)| *row).collect();
            return Once { rows, repetition: Some(repetition) };
        }
        Once { rows: rows.to_vec(), repetition: None }
    }

    /// Refuses rows of which some are held out at random if every row occurs several times: copies of
    /// those held out are then among the others.
    pub fn refuse_repeated(&self, table: &Table, rows: &[u32]) -> Result<()> {
        let views = self.views(table, rows);
        let limit = (FALSE_ALARM / views.len().max(1) as f64).ln();
        for mut view in views {
            view.table.sort_unstable();
            let counts = view.table.chunk_by(|a, b| a == b).map(|equal| equal.len() as u64);
            let times = times(counts, limit);
            if times > 1 {
                return Err(Error::unfit(
                    "the held-out rows",
                    format!(
                        "copies of them were trained on: every row of the data occurs {times} times or a \
                         multiple of that. Give every row once, or name the column that says which rows \
                         belong together (`unit` of `certify`)"
                    ),
                ));
            }
        }
        Ok(())
    }

    /// What is compared: all columns but those that name rows, where the table has them and they are not
    /// those needed; and those needed.
    fn views(&self, table: &Table, rows: &[u32]) -> Vec<View<'_>> {
        let mut views = Vec::new();
        for (names, used, needed) in
            [(&self.columns, &self.plain, false), (&self.needed, &self.part, true)]
        {
            if !needed && self.columns == self.needed {
                continue;
            }
            if let Some(table) = of_rows(table, rows, names) {
                views.push(View { used, table, needed });
            }
        }
        views
    }

    /// Refuses units that were trained on. `None` if units of this column are not on record.
    ///
    /// # Errors
    /// Such units; rows without one.
    pub fn compare_units(&self, table: &Table, rows: &[u32], column: &str) -> Result<Option<()>> {
        let Some((_, used)) = self.unit.as_ref().filter(|(known, _)| known == column) else {
            return Ok(None);
        };
        let mut units = of_units(table, rows, column)?;
        units.sort_unstable();
        units.dedup();
        let equal = units.iter().filter(|unit| used.binary_search(unit).is_ok()).count();
        if equal > 0 {
            return Err(Error::unfit(
                table.name(),
                format!(
                    "{} of its {} units by '{column}' were used in training the model, so they are not held out, even if their rows are new: give a table of others",
                    grouped(equal),
                    grouped(units.len())
                ),
            ));
        }
        Ok(Some(()))
    }
}

/// Rows of the training and of a table by some columns.
struct View<'a> {
    /// Sorted.
    used: &'a [u64],
    /// In the order of the table.
    table: Vec<u64>,
    /// Whether the columns are those needed.
    needed: bool,
}

impl View<'_> {
    fn pool(&self) -> Pool {
        let mut table = self.table.clone();
        table.sort_unstable();
        Pool::new(self.used, &table)
    }
}

/// The unit of each of these rows, numbered in the order in which they come.
///
/// # Errors
/// A column that does not exist; a row without a cell in it.
pub fn units(table: &Table, rows: &[u32], column: &str) -> Result<Vec<u32>> {
    let mut known = BTreeMap::<u64, u32>::new();
    let number = |print: u64| {
        let next = known.len() as u32;
        *known.entry(print).or_insert(next)
    };
    Ok(of_units(table, rows, column)?.into_iter().map(number).collect())
}

fn of_units(table: &Table, rows: &[u32], column: &str) -> Result<Vec<u64>> {
    let cells = table.column(column)?;
    if let Some(&row) = rows.iter().find(|&&row| is_missing(cells, row)) {
        let (file, line) = table.origin(row as usize);
        return Err(Error::unfit(
            file,
            format!(
                "row {line} has no '{column}', so its unit is unknown: fill in the cell, or leave out the row"
            ),
        ));
    }
    Ok(of_rows(table, rows, &[column.to_string()]).unwrap_or_default())
}

/// Whether no two of the rows are equal in a column, and none lacks its cell.
fn tells_apart(column: &Column, rows: &[u32]) -> bool {
    let few = matches!(&column.cells, Cells::Categories(categories) if categories.names.len() < rows.len());
    if few || rows.iter().any(|&row| is_missing(column, row)) {
        return false;
    }
    let mut all = vec![0; column.len()];
    add(column, &mut all);
    let mut some: Vec<u64> = rows.iter().map(|&row| all[row as usize]).collect();
    some.sort_unstable();
    some.windows(2).all(|pair| pair[0] != pair[1])
}

fn is_missing(column: &Column, row: u32) -> bool {
    match &column.cells {
        Cells::Numbers(values) => values.get(row as usize).is_nan(),
        Cells::Categories(categories) => categories.get(row as usize).is_none(),
    }
}

/// The fingerprints of some rows by these columns; `None` if one is missing.
pub fn of_rows(table: &Table, rows: &[u32], names: &[String]) -> Option<Vec<u64>> {
    let mut all = vec![0u64; table.rows()];
    for name in names {
        let column = table.column(name).ok()?;
        add(column, &mut all);
    }
    Some(rows.iter().map(|&row| all[row as usize]).collect())
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
        Cells::Categories(categories) => {
            // A number is the same cell in a column that some other cell makes categorical.
            let category = |text: &String| match text.parse::<f64>() {
                Ok(x) if x.is_finite() => number(x),
                _ => mix(own ^ of_text(text)),
            };
            let hashes: Vec<u64> = categories.names.iter().map(category).collect();
            for (sum, code) in all.iter_mut().zip(categories.codes.iter()) {
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

    fn table(rows: std::ops::Range<usize>, categories: usize) -> Table {
        let numbers = rows.clone().map(|i| (i * 7919 % categories) as f64).collect();
        let words: Vec<String> = rows.map(|i| format!("w{}", i % 3)).collect();
        Table::new(
            "t.csv",
            vec![
                Column::numbers("x", numbers),
                Column::categories("y", words.iter().map(|w| Some(w.as_str()))),
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
        let again = Fingerprints::from_bytes(&prints.to_bytes()).unwrap();
        assert_eq!(again, prints);
        let mut columns = trained.columns().to_vec();
        columns.reverse();
        let error = prints.compare(&Table::new("copy.csv", columns).unwrap()).unwrap_err();
        assert!(error.to_string().contains("300 of its 300 rows"), "{error}");
        assert_eq!(prints.compare(&table(300..600, 100_000)).unwrap(), HeldOut::NoOverlap);
        // One equal row among 301 may be chance, and is said; twenty are not.
        let one = prints.compare(&table(299..600, 100_000)).unwrap();
        assert!(matches!(one, HeldOut::Explained { equal: 1, .. }), "{one:?}");
        let error = prints.compare(&table(280..600, 100_000)).unwrap_err().to_string();
        assert!(error.contains("20 of its 320 rows"), "{error}");
    }

    #[test]
    fn what_cannot_be_told_is_said() {
        // Four values at random: everything occurs again.
        let table = |rows: std::ops::Range<u64>| {
            let values = rows.map(|i| (mix(i) % 4) as f64).collect();
            Table::new("t.csv", vec![Column::numbers("x", values)]).unwrap()
        };
        let trained = table(0..600);
        let prints = Fingerprints::of(&trained, &trained.all_rows(), &["x".to_string()].into());
        let found = prints.compare(&table(600..650)).unwrap();
        assert_eq!(found, HeldOut::CannotTell { equal: 50, expected: 50.0 });
    }

    #[test]
    fn a_table_given_four_times_is_counted_once() {
        let prints = used(&table(0..300, 100_000));
        let fresh = table(300..400, 100_000);
        let once = prints.once(&fresh, &fresh.all_rows());
        assert_eq!((once.rows.len(), once.repetition), (100, None));
        let four: Vec<u32> = (0..4).flat_map(|_| fresh.all_rows()).collect();
        let once = prints.once(&fresh, &four);
        let found = once.repetition.unwrap();
        assert_eq!((once.rows.len(), found.rows, found.distinct, found.times), (100, 400, 100, 4));
        // Half of the rows twice.
        let more: Vec<u32> = (0..100).chain(0..50).collect();
        let once = prints.once(&fresh, &more);
        let found = once.repetition.unwrap();
        assert_eq!((once.rows.len(), found.distinct, found.times), (150, 100, 1));
        assert!(found.expected > 130.0, "{found:?}");
    }

    #[test]
    fn rows_drawn_from_a_table_that_repeats_itself_are_refused() {
        let table = table(0..100, 100_000);
        let prints = used(&table);
        let twice: Vec<u32> = (0..2).flat_map(|_| table.all_rows()).collect();
        let error = prints.refuse_repeated(&table, &twice).unwrap_err().to_string();
        assert!(error.contains("every row of the data occurs 2 times"), "{error}");
        prints.refuse_repeated(&table, &twice[..199]).unwrap();
    }

    #[test]
    fn units_that_were_trained_on_are_refused() {
        let trained = table(0..30, 10);
        let prints = used(&trained).with_units(&trained, &trained.all_rows(), "x").unwrap();
        let error = prints.compare_units(&table(0..4, 5), &[0, 1, 2, 3], "x").unwrap_err();
        assert!(error.to_string().contains("4 of its 4 units by 'x' were used"), "{error}");
        assert_eq!(prints.compare_units(&trained, &[0], "y").unwrap(), None);
    }

    #[test]
    fn a_file_of_an_earlier_version_says_so() {
        let mut bytes = used(&table(0..10, 5)).to_bytes();
        bytes[0] = 1;
        let error = Fingerprints::from_bytes(&bytes).unwrap_err();
        assert!(error.contains("it has format 1, not 3: train again"), "{error}");
    }

    #[test]
    fn a_table_without_the_columns_is_refused() {
        let other = Table::new("o.csv", vec![Column::numbers("z", vec![1.0])]).unwrap();
        assert!(used(&table(0..10, 5)).compare(&other).is_err());
    }
}

//! Which rows a run has used, by content, so that they are known again in any other table.
//!
//! A fingerprint is a hash of the cells of a row, whatever the order of columns and the format of the file.
//! They stay in the run directory and are not handed over with the model: whoever has them could test who
//! was in the data. For every row that was trained or validated on there are up to seven:
//!
//! | of | a row that is equal in it |
//! | --- | --- |
//! | all columns, if some name the rows | was used: it is refused |
//! | all columns but those that name rows | is counted ([`overlap`](super::overlap)) |
//! | the columns that the model and its requirements use | is counted |
//! | the same, in fewer digits (`rounding.rs`) | is counted |
//!
//! A column names rows if neither the model nor a requirement uses it, and no two rows of the training
//! are equal in it, which are at least `NAMED`, nor two of the table. Names change from file to file,
//! which is why rows are compared without them, too.
//!
//! If the problem file has a `unit`, there is a fingerprint of every unit as well: a unit that was trained
//! on is not held out, even if its rows are new.

use std::collections::{BTreeMap, BTreeSet};

use feasible_data::{Column, Table};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Copies;
use super::hashes::{is_missing, of_rows, tells_apart};
use super::overlap::{FALSE_ALARM, HeldOut, Pool, Repetition, noticed};
use super::rounding::Rounded;
use crate::error::{Error, Result};
use crate::text::{about, grouped};

const VERSION: u32 = 5;

/// In fewer rows, a column without equal cells may be chance.
const NAMED: usize = 30;

/// A population may change, and have fewer distinct rows. But hardly less than this share of a number that is not small.
const LITTLE: f64 = 0.1;
const FEWEST: f64 = 20.0;

/// A comparison suits a table if it knows at least this share of the training rows again.
const RECOGNISED: f64 = 0.5;
/// Digits that are named where no numbers are compared.
const ALL_DIGITS: u32 = 4;

/// Where so large a share of the training rows equals no other, equal rows are copies.
const NEARLY: f64 = 0.9;

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
    /// By those needed, up to rounding.
    rounded: Vec<Rounded>,
    /// The column that says which unit a row belongs to, and the units, sorted.
    unit: Option<(String, Vec<u64>)>,
}

/// Rows of a table, each to be counted once.
#[derive(Clone, Debug, PartialEq)]
pub struct Once {
    /// Their numbers: all, unless the table repeats rows.
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
        let part = sorted(&needed);
        let plain = if columns == needed { part.clone() } else { sorted(&columns) };
        let rounded = Rounded::all(table, used, &needed);
        Self { version: VERSION, columns, names, needed, whole, plain, part, rounded, unit: None }
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
        self.rounded.iter().try_for_each(|rounded| rounded.check(rows))
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
                    "{} of its {} rows {why}. A certificate needs rows that were drawn independently, and not used to \
                     train, select or calibrate the model: give a table of others, or keep some back with \
                     `certify` in the problem file and train again",
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
                    &format!(
                        "were used in training the model: they equal training rows in every column, \
                         also in '{names}', which identifies rows"
                    ),
                ));
            }
        }
        let views = self.views(table, rows);
        let limit = (FALSE_ALARM / views.len().max(1) as f64).ln();
        if let Some((view, equal)) = beyond_chance(&views, limit) {
            let why = format!(
                "equal training rows{}. In a fresh sample from the same population about {} would, and \
                 coincidences like these come about less than once in 10,000 tables: these rows were used in training the \
                 model, or are copies of such rows, or both tables were laid out by one plan, like a grid or quotas",
                view.in_digits(),
                about(expected(view.used, n))
            );
            return Err(refused(equal, &why));
        }
        self.describe(&views, limit).ok_or_else(|| {
            Error::unfit(
                what,
                "it lacks columns that the model needs, so its rows cannot be compared with the training rows",
            )
        })
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
        if named > 0 { named } else { self.overlap(table, &all).unwrap_or(0) }
    }

    /// How many rows of a table equal one of those used, if chance does not explain them.
    pub(crate) fn overlap(&self, table: &Table, rows: &[u32]) -> Option<usize> {
        let views = self.views(table, rows);
        let limit = (FALSE_ALARM / views.len().max(1) as f64).ln();
        beyond_chance(&views, limit).map(|(_, equal)| equal)
    }

    /// What is known of rows that were drawn at random from the same table as those used: whether some equal one of them.
    pub(crate) fn describe_rows(&self, table: &Table, rows: &[u32]) -> HeldOut {
        if rows.is_empty() {
            return HeldOut::default();
        }
        // They are written as those used are, so the first of the comparisons suits them.
        let view = match self.rounded.first() {
            Some(rounded) => rounded.of(table, rows, &BTreeSet::new()).map(|table| View {
                used: &rounded.rows,
                table,
                needed: true,
                digits: Some(rounded.digits),
                recognised: 1.0,
            }),
            None => self.exact_views(table, rows).pop(),
        };
        let views = usize::from(self.columns != self.needed) + 1 + self.rounded.len();
        let limit = (FALSE_ALARM / views as f64).ln();
        view.and_then(|view| self.describe(&[view], limit)).unwrap_or_default()
    }

    /// By the columns needed, in as many digits as the table is written with; `None` if the table lacks one.
    fn describe(&self, views: &[View<'_>], limit: f64) -> Option<HeldOut> {
        let needed = || views.iter().filter(|view| view.needed);
        let rounded = || needed().filter(|view| view.digits.is_some());
        let best = || rounded().max_by(|a, b| a.recognised.total_cmp(&b.recognised));
        let suited = rounded().find(|view| view.recognised >= RECOGNISED).or_else(best);
        let view = suited.or(needed().next())?;
        let digits = view.digits.unwrap_or(ALL_DIGITS);
        let (equal, expected) = (view.pool().equal(), expected(view.used, view.table.len()));
        let is_suited = view.recognised >= RECOGNISED;
        if equal == 0 && is_suited {
            return Some(HeldOut::NoOverlap { digits });
        }
        let share = noticed(view.used, &view.table, view.recognised, limit);
        Some(match share.filter(|_| is_suited) {
            None => HeldOut::CannotTell { equal, expected, digits },
            Some(noticed) => HeldOut::Explained { equal, expected, noticed, digits },
        })
    }

    /// Which of these rows of a table to count: all, unless they repeat each other.
    ///
    /// # Errors
    /// Rows that repeat each other beyond what those of the training suggest, if chance alone could make them equal: which
    /// of them are draws of their own is not known then.
    pub fn once(&self, table: &Table, rows: &[u32]) -> Result<Once> {
        match self.repetition(table, rows) {
            (once, None) => Ok(once),
            (_, Some(Repetition { rows, distinct, expected, .. })) => Err(Error::unfit(
                table.name(),
                format!(
                    "its rows repeat each other beyond chance: {} of {} are distinct, while the training rows suggest \
                     about {}. A certificate needs independent draws: name the column that tells which rows belong \
                     together (`unit`), or give every case once",
                    grouped(distinct),
                    grouped(rows),
                    about(expected)
                ),
            )),
        }
    }

    /// How many rows of a table are distinct, if they repeat each other more than any change of the population explains;
    /// otherwise all of them.
    pub fn distinct_rows(&self, table: &Table) -> usize {
        let (once, beyond) = self.repetition(table, &table.all_rows());
        let is_small = |found: &Repetition| {
            found.expected >= FEWEST && (found.distinct as f64) < LITTLE * found.expected
        };
        beyond.filter(is_small).map_or(once.rows.len(), |found| found.distinct)
    }

    /// Which rows count, and how rows repeat each other if it is not known which of them count.
    fn repetition(&self, table: &Table, rows: &[u32]) -> (Once, Option<Repetition>) {
        let views = self.exact_views(table, rows);
        let found: Vec<_> =
            views.iter().map(|view| (view, view.pool().repetition(views.len()))).collect();
        let found = || found.iter().filter_map(|(view, found)| Some((view, (*found)?)));
        let counting = |repetition, rows| (Once { rows, repetition: Some(repetition) }, None);
        if let Some((view, repetition)) = found().find(|(_, found)| found.times > 1) {
            return counting(repetition, view.one_in(repetition.times, rows));
        }
        let needed: Vec<&str> = self.needed.iter().map(String::as_str).collect();
        if let Some(copies) = Copies::find(table, rows, &needed) {
            let distinct = copies.distinct(rows);
            let expected = rows.len() as f64;
            let (rows, of) = (rows.len(), distinct.len());
            return counting(Repetition { rows, distinct: of, expected, times: 1 }, distinct);
        }
        if let Some((view, repetition)) = found().find(|(view, _)| alone(view.used) > NEARLY) {
            return counting(repetition, view.one_in(usize::MAX, rows));
        }
        (Once { rows: rows.to_vec(), repetition: None }, found().next().map(|(_, found)| found))
    }

    /// What is compared: all columns but those that name rows, where the table has them and they are not
    /// those needed; those needed; and those up to rounding.
    fn views(&self, table: &Table, rows: &[u32]) -> Vec<View<'_>> {
        let mut views = self.exact_views(table, rows);
        for rounded in &self.rounded {
            if let Some(hashes) = rounded.of(table, rows, &BTreeSet::new()) {
                let recognised = rounded.recognised(table, rows);
                let (used, digits) = (&rounded.rows, Some(rounded.digits));
                views.push(View { used, table: hashes, needed: true, digits, recognised });
            }
        }
        views
    }

    /// Without those up to rounding.
    fn exact_views(&self, table: &Table, rows: &[u32]) -> Vec<View<'_>> {
        let mut views = Vec::new();
        for (names, used, needed) in
            [(&self.columns, &self.plain, false), (&self.needed, &self.part, true)]
        {
            if !needed && self.columns == self.needed {
                continue;
            }
            if let Some(table) = of_rows(table, rows, names) {
                views.push(View { used, table, needed, digits: None, recognised: 1.0 });
            }
        }
        views
    }

    /// The hashes of rows up to rounding, by the columns needed but some.
    ///
    /// ```
    /// use feasible_data::{Column, Table};
    /// use feasible_problem::Fingerprints;
    /// let table = |by: f64| {
    ///     let x = (0..50).map(|i| 0.37 + i as f64 + by).collect();
    ///     Table::new("t", vec![Column::numbers("x", x)])
    /// };
    /// let trained = table(0.0)?;
    /// let prints = Fingerprints::of(&trained, &trained.all_rows(), &["x".to_string()].into());
    /// assert_eq!(prints.rounded_rows(&table(0.0)?, &[]), prints.rounded_rows(&table(1e-9)?, &[]));
    /// # Ok::<(), feasible_data::Error>(())
    /// ```
    pub fn rounded_rows(&self, table: &Table, without: &[&str]) -> Vec<Vec<u64>> {
        let (all, without) = (table.all_rows(), without.iter().copied().collect());
        // The grids are enough to know a row that was noisily written, and a ledger keeps these hashes.
        let grids = self.rounded.iter().filter(|rounded| !rounded.is_significant);
        grids.filter_map(|rounded| rounded.of(table, &all, &without)).collect()
    }

    /// Refuses units whose rows are those of another unit, by the columns that the model and its requirements use.
    ///
    /// # Errors
    /// Such units, if there are more of them than chance explains; rows without one.
    pub fn refuse_copied_units(&self, table: &Table, rows: &[u32], column: &str) -> Result<()> {
        let needed: Vec<&str> = self.needed.iter().map(String::as_str).collect();
        refuse_copied_units(table, rows, column, &needed)
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
    /// In how many digits numbers are compared, if not in all.
    digits: Option<u32>,
    /// The share of training rows that would be known again.
    recognised: f64,
}

impl View<'_> {
    /// Of rows that are equal, the first, and every `times`-th after it.
    fn one_in(&self, times: usize, rows: &[u32]) -> Vec<u32> {
        let mut seen = BTreeMap::<u64, usize>::new();
        let counts = |(_, print): &(&u32, &u64)| {
            let before = seen.entry(**print).or_default();
            *before += 1;
            (*before - 1).is_multiple_of(times)
        };
        rows.iter().zip(&self.table).filter(counts).map(|(row, _)| *row).collect()
    }

    /// How numbers were compared, for the end of a sentence.
    fn in_digits(&self) -> String {
        let first = |digits| format!(", numbers in their first {digits} digits");
        self.digits.map_or(String::new(), first)
    }

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

/// Refuses units whose rows are those of another unit by some columns, judged by the first row of each.
pub(crate) fn refuse_copied_units(
    table: &Table,
    rows: &[u32],
    unit: &str,
    columns: &[&str],
) -> Result<()> {
    let of = units(table, rows, unit)?;
    let mut firsts = Vec::new();
    for (&row, &unit) in rows.iter().zip(&of) {
        if unit as usize == firsts.len() {
            firsts.push(row);
        }
    }
    let columns: Vec<&str> = columns.iter().copied().filter(|column| *column != unit).collect();
    match Copies::find(table, &firsts, &columns) {
        None => Ok(()),
        Some(copies) => Err(Error::unfit(
            table.name(),
            format!(
                "{} of its {} units by '{unit}' have the rows of another unit under a name of their own, more than \
                 chance explains. Copies are not independent draws: give every unit once, or the name of the unit \
                 that it was copied from",
                grouped(copies.count()),
                grouped(firsts.len())
            ),
        )),
    }
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

/// The first view in which more rows are equal than chance explains, and how many.
fn beyond_chance<'v, 'a>(views: &'v [View<'a>], limit: f64) -> Option<(&'v View<'a>, usize)> {
    let beyond = |view: &'v View<'a>| {
        let pool = view.pool();
        let equal = pool.equal();
        (equal > 0 && pool.ln_p_fresh() < limit).then_some((view, equal))
    };
    views.iter().find_map(beyond)
}

/// How many of `n` fresh rows would equal one of these (sorted): as large a share as that of these rows that equal another one.
fn expected(used: &[u64], n: usize) -> f64 {
    n as f64 * (1.0 - alone(used))
}

/// The share of rows (sorted) that equal no other.
fn alone(used: &[u64]) -> f64 {
    let alone = used.chunk_by(|a, b| a == b).filter(|equal| equal.len() == 1).count();
    alone as f64 / used.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn table(rows: std::ops::Range<usize>, categories: usize) -> Table {
        rows_of(rows, categories)
    }

    fn rows_of(rows: impl Iterator<Item = usize> + Clone, categories: usize) -> Table {
        let numbers = rows.clone().map(|i| (i * 7919 % categories) as f64).collect();
        let words: Vec<String> = rows.clone().map(|i| format!("w{}", i % 3)).collect();
        // As if drawn at random: numbers that are spread evenly lie evenly in both tables.
        let drawn = rows.map(|i| (super::super::hashes::mix(i as u64) % 1_000_000) as f64);
        Table::new(
            "t.csv",
            vec![
                Column::numbers("x", numbers),
                Column::categories("y", words.iter().map(|w| Some(w.as_str()))),
                Column::numbers("drawn", drawn.collect()),
            ],
        )
        .unwrap()
    }

    fn used(table: &Table) -> Fingerprints {
        let needed = ["x".to_string(), "y".into(), "drawn".into()].into();
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
        assert_eq!(
            prints.compare(&table(300..600, 100_000)).unwrap(),
            HeldOut::NoOverlap { digits: 6 }
        );
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
            let values = rows.map(|i| (crate::held_out::hashes::mix(i) % 4) as f64).collect();
            Table::new("t.csv", vec![Column::numbers("x", values)]).unwrap()
        };
        let trained = table(0..600);
        let prints = Fingerprints::of(&trained, &trained.all_rows(), &["x".to_string()].into());
        let found = prints.compare(&table(600..650)).unwrap();
        assert_eq!(found, HeldOut::CannotTell { equal: 50, expected: 50.0, digits: 6 });
    }

    #[test]
    fn a_table_given_four_times_is_counted_once() {
        let prints = used(&table(0..300, 100_000));
        let fresh = table(300..400, 100_000);
        let once = prints.once(&fresh, &fresh.all_rows()).unwrap();
        assert_eq!((once.rows.len(), once.repetition), (100, None));
        let four: Vec<u32> = (0..4).flat_map(|_| fresh.all_rows()).collect();
        let once = prints.once(&fresh, &four).unwrap();
        let found = once.repetition.unwrap();
        assert_eq!((once.rows.len(), found.rows, found.distinct, found.times), (100, 400, 100, 4));
        // Half of the rows twice.
        let more = rows_of((300..400).chain(300..350), 100_000);
        let once = prints.once(&more, &more.all_rows()).unwrap();
        let found = once.repetition.unwrap();
        assert_eq!((once.rows.len(), found.rows, found.distinct, found.times), (100, 150, 100, 1));
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
        assert!(error.contains("it has format 1, not 5: train again"), "{error}");
    }

    #[test]
    fn a_table_without_the_columns_is_refused() {
        let other = Table::new("o.csv", vec![Column::numbers("z", vec![1.0])]).unwrap();
        assert!(used(&table(0..10, 5)).compare(&other).is_err());
    }
}

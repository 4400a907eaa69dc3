//! Columns of text that were meant to be numbers: a few cells are none, or all are written with a sign.

use crate::column::{Categories, Cells, MISSING};
use crate::error::{Error, Result};
use crate::table::Table;

/// The share of the cells that must be numbers for the others to be mistakes.
const MOSTLY: f64 = 0.9;
/// The share where the numbers may be codes, which are the same in many rows.
const NEARLY_ALL: f64 = 0.99;
/// Fewer different numbers than this may be codes among words.
const LEAST_NUMBERS: usize = 20;

impl Table {
    /// What is wrong with a column that was taken for text because of a few cells: the first of them, as an error. `None`
    /// where it is text, or may be codes.
    ///
    /// ```
    /// use feasible_data::{Format, Table};
    /// let rows: String = (0..200).map(|row| format!("{row}.5\n")).collect();
    /// let table = Table::from_bytes("t.csv", format!("x\n{rows}abc\n").as_bytes(), &Format::default())?;
    /// let error = table.stray("x")?.unwrap().to_string();
    /// assert!(error.starts_with("t.csv, line 202, column 'x': 'abc' is no number"));
    /// # Ok::<(), feasible_data::Error>(())
    /// ```
    ///
    /// # Errors
    /// An unknown column.
    pub fn stray(&self, name: &str) -> Result<Option<Error>> {
        let Cells::Categories(source) = &self.column(name)?.cells else { return Ok(None) };
        let Some(mixed) = &source.mixed else { return Ok(None) };
        let numbers: Vec<bool> = source.names.iter().map(|name| is_number(name)).collect();
        let present = source.codes.iter().filter(|&code| code != MISSING).count();
        let is = |code: u32| numbers.get(code as usize) == Some(&true);
        let numeric = source.codes.iter().filter(|&code| is(code)).count();
        let mut rows = 0..self.rows();
        let first = rows.find(|&row| source.get(row) == Some(&mixed.value));
        let different = numbers.iter().filter(|number| **number).count();
        let share = numeric as f64 / present.max(1) as f64;
        // Codes are the same in many rows, measurements are not.
        let measured = 2 * different >= present;
        let few = different >= LEAST_NUMBERS
            && share < 1.0
            && (share >= NEARLY_ALL || share >= MOSTLY && measured);
        Ok(first.filter(|_| few).map(|row| Error::StrayText {
            place: self.place(row, name),
            value: source.get(row).unwrap_or_default().to_string(),
        }))
    }

    /// What is wrong with a column whose numbers are all written with a sign (`$1,200`, `28%`), as an error about
    /// the first. `None` where it is text, or the numbers are few.
    ///
    /// # Errors
    /// An unknown column.
    pub fn signed_numbers(&self, name: &str) -> Result<Option<Error>> {
        let Cells::Categories(source) = &self.column(name)?.cells else { return Ok(None) };
        let row = (0..self.rows()).find(|&row| source.get(row).is_some());
        let signs = signs_of(source).filter(|_| source.names.len() >= LEAST_NUMBERS);
        Ok(signs.zip(row).map(|(signs, row)| Error::SignedNumber {
            place: self.place(row, name),
            value: source.get(row).unwrap_or_default().to_string(),
            signs,
        }))
    }
}

/// Whether a cell is a number, with a decimal comma perhaps.
fn is_number(cell: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
    number(cell) || number(&cell.replacen(',', ".", 1))
}

/// What the numbers are written with besides digits, if every category is a number: `'$', ','`.
pub(crate) fn signs_of(source: &Categories) -> Option<String> {
    let mut all = Vec::new();
    for name in &source.names {
        all.extend(signs(name)?.into_iter().filter(|sign| !all.contains(sign)).collect::<Vec<_>>());
    }
    let quoted: Vec<String> = all.iter().map(|sign| format!("'{sign}'")).collect();
    (!quoted.is_empty()).then(|| quoted.join(", "))
}

/// The signs that a number is written with, none if it is none without them.
fn signs(cell: &str) -> Option<Vec<char>> {
    let signs: Vec<char> =
        cell.chars().filter(|c| matches!(c, '$' | '€' | '£' | '¥' | '%' | ',')).collect();
    let bare: String = cell.chars().filter(|c| !signs.contains(c)).collect();
    let bare = bare.trim().replacen("- ", "-", 1);
    bare.parse::<f64>().is_ok_and(f64::is_finite).then_some(signs)
}

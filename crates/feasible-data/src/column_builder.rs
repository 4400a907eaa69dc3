//! A column that finds out, cell by cell, whether it is numeric.
//!
//! A column is numeric if every non-missing cell of the whole file is a number. It starts out
//! numeric and stores numbers only. At the first cell that is not one it either becomes
//! categorical at once (no number was lost so far) or asks to be read again from the start,
//! since the spelling of the numbers it has seen ("007") is gone. So a file is read once, and
//! the few columns that mislead are read twice; the text is never kept.
//!
//! Two things that look like text are held to be mistakes in a numeric column, not categories:
//! NaN and infinities, and numbers with thousands separators. They are reported unless the
//! column has real text as well.

use std::borrow::Cow;

use hashbrown::HashMap;

use crate::codes::Codes;
use crate::column::{Categories, Cells, Column, ColumnKind, MISSING, Mixed};
use crate::error::{CellPlace, Error, Result};
use crate::format::Format;
use crate::numbers::Numbers;

/// A cell that cannot be part of a numeric column, and where it stands.
#[derive(Debug)]
struct Oddity {
    line: u64,
    value: String,
}

#[derive(Debug)]
enum State {
    /// Not to be read.
    Skipped,
    /// Only numbers so far; `declared` ones must stay so.
    Numbers { values: Numbers, seen: usize, declared: bool },
    /// Categories by number of first appearance.
    Categories { known: HashMap<Box<[u8]>, u32>, codes: Codes },
    /// Numbers and then text: to be read again as categories.
    Again,
}

/// Builds a [`Column`]. See the [module](self).
#[derive(Debug)]
pub(crate) struct ColumnBuilder {
    name: String,
    state: State,
    not_finite: Option<Oddity>,
    thousands: Option<Oddity>,
    mixed: Option<Mixed>,
}

impl ColumnBuilder {
    pub(crate) fn new(name: &str, wanted: bool, kind: Option<ColumnKind>) -> Self {
        let state = match kind {
            _ if !wanted => State::Skipped,
            Some(ColumnKind::Categorical) => {
                State::Categories { known: HashMap::new(), codes: Codes::default() }
            }
            _ => State::Numbers { values: Numbers::default(), seen: 0, declared: kind.is_some() },
        };
        let name = name.to_string();
        Self { name, state, not_finite: None, thousands: None, mixed: None }
    }

    /// For the second pass: read only if the first pass asked for it.
    pub(crate) fn again(&mut self) -> Option<Self> {
        if !matches!(self.state, State::Again) {
            return None;
        }
        let mut second = Self::new(&self.name, true, Some(ColumnKind::Categorical));
        second.mixed = self.mixed.take();
        Some(second)
    }

    pub(crate) fn place(&self, file: &str, line: u64) -> CellPlace {
        CellPlace { file: file.to_string(), line, column: self.name.clone() }
    }

    /// Adds the next cell.
    pub(crate) fn push(
        &mut self,
        cell: &[u8],
        format: &Format,
        file: &str,
        line: u64,
    ) -> Result<()> {
        match &mut self.state {
            State::Skipped | State::Again => Ok(()),
            State::Numbers { values, seen, .. } => {
                if format.is_missing(cell) {
                    values.push(f64::NAN);
                    return Ok(());
                }
                if format.thousands.is_none() && format.decimal.is_none() && values.push_short(cell)
                {
                    *seen += 1;
                    return Ok(());
                }
                match number(cell, format.thousands, format.decimal) {
                    Some(number) if number.is_finite() => {
                        values.push(number);
                        *seen += 1;
                        Ok(())
                    }
                    other => self.push_oddity(cell, other.is_some(), format, file, line),
                }
            }
            State::Categories { known, codes } => {
                let cell = match &format.strip_suffix {
                    Some(suffix) => cell.strip_suffix(suffix.as_bytes()).unwrap_or(cell),
                    None => cell,
                };
                if let Some(&code) = known.get(cell) {
                    codes.push(code);
                    return Ok(());
                }
                if format.is_missing(cell) {
                    codes.push(MISSING);
                    return Ok(());
                }
                let code = known.len() as u32;
                codes.push(code);
                known.insert(cell.into(), code);
                readable(cell, || self.place(file, line)).map(|_| ())
            }
        }
    }

    /// A cell of a so far numeric column that is not a finite number.
    fn push_oddity(
        &mut self,
        cell: &[u8],
        not_finite: bool,
        format: &Format,
        file: &str,
        line: u64,
    ) -> Result<()> {
        let value = readable(cell, || self.place(file, line))?;
        let State::Numbers { values, seen, declared } = &mut self.state else { return Ok(()) };
        if *declared {
            let place = self.place(file, line);
            return Err(match (not_finite, is_thousands(cell)) {
                (true, _) => Error::NotFinite { place, value },
                (_, true) => Error::Thousands { place, value },
                _ => Error::NotANumber { place, value },
            });
        }
        if not_finite || is_thousands(cell) {
            values.push(f64::NAN);
            let kept = if not_finite { &mut self.not_finite } else { &mut self.thousands };
            kept.get_or_insert(Oddity { line, value });
            return Ok(());
        }
        if *seen == 0 && self.not_finite.is_none() && self.thousands.is_none() {
            let codes = Codes::missing(values.len());
            self.state = State::Categories { known: HashMap::new(), codes };
            return self.push(cell, format, file, line);
        }
        self.mixed = Some(Mixed { numbers: *seen, line, value });
        self.state = State::Again;
        Ok(())
    }

    /// Adds a missing cell.
    #[cfg(feature = "parquet")]
    pub(crate) fn push_missing(&mut self) {
        match &mut self.state {
            State::Numbers { values, .. } => values.push(f64::NAN),
            State::Categories { codes, .. } => codes.push(MISSING),
            State::Skipped | State::Again => {}
        }
    }

    /// The column; `None` if it was not to be read.
    pub(crate) fn finish(self, file: &str) -> Result<Option<Column>> {
        let cells = match self.state {
            State::Skipped | State::Again => return Ok(None),
            State::Numbers { values, .. } => {
                let oddity = self.not_finite.map(|odd| (true, odd));
                if let Some((not_finite, Oddity { line, value })) =
                    oddity.or(self.thousands.map(|odd| (false, odd)))
                {
                    let place = CellPlace { file: file.to_string(), line, column: self.name };
                    return Err(match not_finite {
                        true => Error::NotFinite { place, value },
                        false => Error::Thousands { place, value },
                    });
                }
                Cells::Numbers(values)
            }
            State::Categories { known, codes } => {
                let mut categories = vec![String::new(); known.len()];
                for (category, code) in known {
                    // Checked to be UTF-8 when it was first seen.
                    categories[code as usize] = String::from_utf8_lossy(&category).into_owned();
                }
                Cells::Categories(Categories {
                    mixed: self.mixed,
                    ..Categories::sorted(categories, codes)
                })
            }
        };
        Ok(Some(Column { name: self.name, cells }))
    }
}

/// The cell as text, or what is wrong with it.
pub(crate) fn readable(cell: &[u8], place: impl Fn() -> CellPlace) -> Result<String> {
    if cell.contains(&0) {
        return Err(Error::Nul { place: place() });
    }
    match std::str::from_utf8(cell) {
        Ok(text) => Ok(text.to_string()),
        Err(_) => {
            let value = String::from_utf8_lossy(cell).into_owned();
            Err(Error::NotUtf8 { place: place(), value })
        }
    }
}

/// The number a cell spells, NaN and infinities included.
fn number(cell: &[u8], thousands: Option<char>, decimal: Option<char>) -> Option<f64> {
    let mut text = Cow::Borrowed(std::str::from_utf8(cell).ok()?);
    if let Some(separator) = thousands.filter(|&separator| text.contains(separator)) {
        text = Cow::Owned(text.replace(separator, ""));
    }
    if let Some(comma) = decimal.filter(|&comma| text.contains(comma)) {
        text = Cow::Owned(text.replacen(comma, ".", 1));
    }
    text.parse().ok()
}

/// Whether a cell looks like `1,234` or `-1,234,567.8`.
fn is_thousands(cell: &[u8]) -> bool {
    let cell = cell.strip_prefix(b"-").unwrap_or(cell);
    let whole = cell.split(|&b| b == b'.').next().unwrap_or(cell);
    let mut groups = whole.split(|&b| b == b',');
    let digits = |group: &[u8]| group.iter().all(u8::is_ascii_digit);
    let first = groups.next().is_some_and(|g| (1..=3).contains(&g.len()) && digits(g));
    let mut rest = 0;
    let all = groups.all(|g| {
        rest += 1;
        g.len() == 3 && digits(g)
    });
    let tail = cell[whole.len()..].strip_prefix(b".").unwrap_or(b"");
    first && all && rest > 0 && digits(tail)
}

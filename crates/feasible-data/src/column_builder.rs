//! A column that finds out, cell by cell, whether it is numeric.
//!
//! A column is numeric if every non-missing cell of the whole file is a number. It starts out
//! numeric and stores numbers only. At the first cell that is not one it either becomes
//! categorical at once (no number was lost so far) or asks to be read again from the start,
//! since the spelling of the numbers it has seen ("007") is gone. So a file is read once, and
//! the few columns that mislead are read twice; the text is never kept.
//!
//! Two things that look like text are held to be mistakes in a numeric column, not categories:
//! NaN and infinities, and numbers with thousands separators or a decimal comma. They are reported unless the
//! column has real text as well.
//!
//! A column may be built in pieces: [`ColumnBuilder::piece`] begins one as the column stands, and [`ColumnBuilder::append`] puts
//! it under the column, if [`Progress`] says that it was begun as the column stands then.

use std::borrow::Cow;

use crate::category_set::CategorySet;
use crate::codes::Codes;
use crate::column::{Categories, Cells, Column, ColumnKind, MISSING, Mixed};
use crate::error::{CellPlace, Error, Result};
use crate::format::Format;
use crate::numbers::Numbers;

/// A cell that cannot be part of a numeric column, and where it stands.
#[derive(Clone, Debug)]
struct Oddity {
    line: u64,
    value: String,
}

#[derive(Debug)]
enum State {
    /// Not to be read.
    Skipped,
    /// Only numbers so far; `declared` ones must stay so. `before`: there are some above this piece.
    Numbers { values: Numbers, seen: usize, declared: bool, before: bool },
    /// Categories by number of first appearance.
    Categories { known: CategorySet, codes: Codes },
    /// Numbers and then text: to be read again as categories.
    Again,
}

/// What is known of a column so far, as far as the meaning of the next cell depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It is not to be read.
    Skipped,
    /// All cells are missing.
    Empty,
    /// There are numbers, or cells that are mistakes among numbers.
    Numbers,
    /// Numbers, as it was declared.
    Declared,
    /// Categories.
    Categories,
    /// It is to be read again as categories.
    Again,
}

/// Builds a [`Column`]. See the [module](self).
#[derive(Debug)]
pub(crate) struct ColumnBuilder {
    name: String,
    state: State,
    not_finite: Option<Oddity>,
    commas: Option<Oddity>,
    mixed: Option<Mixed>,
}

impl ColumnBuilder {
    pub(crate) fn new(name: &str, wanted: bool, kind: Option<ColumnKind>) -> Self {
        let state = match kind {
            _ if !wanted => State::Skipped,
            Some(ColumnKind::Categorical) => {
                State::Categories { known: CategorySet::default(), codes: Codes::default() }
            }
            _ => State::Numbers {
                values: Numbers::default(),
                seen: 0,
                declared: kind.is_some(),
                before: false,
            },
        };
        let name = name.to_string();
        Self { name, state, not_finite: None, commas: None, mixed: None }
    }

    /// For the second pass: read only if the first pass asked for it.
    pub(crate) fn again(&mut self) -> Self {
        let wanted = matches!(self.state, State::Again);
        let mut second = Self::new(&self.name, wanted, Some(ColumnKind::Categorical));
        second.mixed = self.mixed.take();
        second
    }

    /// What is known of the column.
    pub(crate) fn progress(&self) -> Progress {
        match &self.state {
            State::Skipped => Progress::Skipped,
            State::Numbers { declared: true, .. } => Progress::Declared,
            State::Numbers { seen, before, .. } => {
                let odd = self.not_finite.is_some() || self.commas.is_some();
                if *seen > 0 || *before || odd { Progress::Numbers } else { Progress::Empty }
            }
            State::Categories { .. } => Progress::Categories,
            State::Again => Progress::Again,
        }
    }

    /// Begins a piece of so many rows that will stand under this column.
    pub(crate) fn piece(&self, rows: usize) -> Self {
        let state = match &self.state {
            State::Skipped => State::Skipped,
            State::Again => State::Again,
            State::Numbers { declared, .. } => State::Numbers {
                values: Numbers::with_room(rows),
                seen: 0,
                declared: *declared,
                before: self.progress() == Progress::Numbers,
            },
            State::Categories { known, .. } => {
                State::Categories { known: known.like(), codes: Codes::default() }
            }
        };
        Self { name: self.name.clone(), state, not_finite: None, commas: None, mixed: None }
    }

    /// What is known of a column once this piece, begun at `entry`, stands under it. None if the piece was begun for another
    /// kind of column, and its cells must be read again.
    pub(crate) fn progress_after(&self, now: Progress, entry: Progress) -> Option<Progress> {
        match (now, self.progress()) {
            (Progress::Skipped | Progress::Again, _) => Some(now),
            (_, after) if now == entry => Some(after),
            // That there are numbers above does not change what numbers are.
            (Progress::Numbers, Progress::Empty | Progress::Numbers) => Some(Progress::Numbers),
            (Progress::Numbers, Progress::Again) => Some(Progress::Again),
            _ => None,
        }
    }

    /// Puts a piece under the column; see [`ColumnBuilder::progress_after`].
    pub(crate) fn append(&mut self, piece: &Self) {
        let State::Numbers { values, seen, .. } = &mut self.state else {
            return self.append_categories(piece);
        };
        match &piece.state {
            State::Numbers { values: below, seen: more, .. } => {
                values.append(below);
                *seen += more;
                let oddity = |kept: &mut Option<Oddity>, below: &Option<Oddity>| {
                    *kept = kept.take().or_else(|| below.clone());
                };
                oddity(&mut self.not_finite, &piece.not_finite);
                if let Some(below) = &piece.commas {
                    keep_clearest(&mut self.commas, below.line, &below.value);
                }
            }
            State::Again => {
                let above = *seen;
                self.mixed = piece
                    .mixed
                    .clone()
                    .map(|mixed| Mixed { numbers: above + mixed.numbers, ..mixed });
                self.state = State::Again;
            }
            State::Categories { known, .. } => {
                let codes = Codes::missing(values.len());
                self.state = State::Categories { known: known.like(), codes };
                self.append_categories(piece);
            }
            State::Skipped => {}
        }
    }

    fn append_categories(&mut self, piece: &Self) {
        if let State::Categories { known, codes } = &mut self.state
            && let State::Categories { known: more, codes: below } = &piece.state
        {
            codes.append(below, &known.join(more));
        }
    }

    pub(crate) fn place(&self, file: &str, line: u64) -> CellPlace {
        CellPlace { file: file.to_string(), line, column: self.name.clone() }
    }

    /// Adds the next cell.
    #[inline(always)]
    pub(crate) fn push(
        &mut self,
        cell: &[u8],
        format: &Format,
        file: &str,
        line: impl Fn() -> u64,
    ) -> Result<()> {
        match &mut self.state {
            State::Skipped | State::Again => Ok(()),
            State::Numbers { values, seen, .. } => {
                if format.is_missing(cell) {
                    values.push(f64::NAN);
                    return Ok(());
                }
                if format.thousands.is_none() && format.decimal.is_none() && values.push_text(cell)
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
                    other => self.push_oddity(cell, other.is_some(), format, file, line()),
                }
            }
            State::Categories { known, codes } => {
                let cell = match &format.strip_suffix {
                    Some(suffix) => cell.strip_suffix(suffix.as_bytes()).unwrap_or(cell),
                    None => cell,
                };
                let hash = known.hash(cell);
                if let Some(code) = known.find(hash, cell) {
                    codes.push(code);
                    return Ok(());
                }
                if format.is_missing(cell) {
                    codes.push(MISSING);
                    return Ok(());
                }
                codes.push(known.insert(hash, cell));
                check_readable(cell, || self.place(file, line()))
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
        let State::Numbers { values, seen, declared, before } = &mut self.state else {
            return Ok(());
        };
        if *declared {
            let place = self.place(file, line);
            return Err(match (not_finite, has_commas(cell)) {
                (true, _) => Error::NotFinite { place, value },
                (_, true) => commas(place, value),
                _ => Error::NotANumber { place, value },
            });
        }
        if not_finite || has_commas(cell) {
            values.push(f64::NAN);
            if not_finite {
                self.not_finite.get_or_insert(Oddity { line, value });
            } else {
                keep_clearest(&mut self.commas, line, &value);
            }
            return Ok(());
        }
        if *seen == 0 && !*before && self.not_finite.is_none() && self.commas.is_none() {
            let codes = Codes::missing(values.len());
            self.state = State::Categories { known: CategorySet::default(), codes };
            return self.push(cell, format, file, || line);
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

    /// The code of the last row, if the column is categorical.
    #[cfg(feature = "parquet")]
    pub(crate) fn last_code(&self) -> Option<u32> {
        match &self.state {
            State::Categories { codes, .. } => Some(codes.get(codes.len().checked_sub(1)?)),
            _ => None,
        }
    }

    /// Adds a row of a code that another row has.
    #[cfg(feature = "parquet")]
    #[inline(always)]
    pub(crate) fn push_code(&mut self, code: u32) {
        if let State::Categories { codes, .. } = &mut self.state {
            codes.push(code);
        }
    }

    /// The column; `None` if it was not to be read.
    pub(crate) fn finish(self, file: &str) -> Result<Option<Column>> {
        let cells = match self.state {
            State::Skipped | State::Again => return Ok(None),
            State::Numbers { values, .. } => {
                let oddity = self.not_finite.map(|odd| (true, odd));
                if let Some((not_finite, Oddity { line, value })) =
                    oddity.or(self.commas.map(|odd| (false, odd)))
                {
                    let place = CellPlace { file: file.to_string(), line, column: self.name };
                    return Err(match not_finite {
                        true => Error::NotFinite { place, value },
                        false => commas(place, value),
                    });
                }
                Cells::Numbers(values)
            }
            State::Categories { known, codes } => {
                // Checked to be UTF-8 when they were first seen.
                let text = |category: &[u8]| String::from_utf8_lossy(category).into_owned();
                let categories = known.iter().map(text).collect();
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
    check_readable(cell, place)?;
    Ok(String::from_utf8_lossy(cell).into_owned())
}

fn check_readable(cell: &[u8], place: impl Fn() -> CellPlace) -> Result<()> {
    if cell.contains(&0) {
        return Err(Error::Nul { place: place() });
    }
    std::str::from_utf8(cell).map(|_| ()).map_err(|_| {
        let value = String::from_utf8_lossy(cell).into_owned();
        Error::NotUtf8 { place: place(), value }
    })
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

/// Whether a cell looks like `1,234`, `-1,234,567.8` or `12,5`.
fn has_commas(cell: &[u8]) -> bool {
    let cell = cell.strip_prefix(b"-").unwrap_or(cell);
    is_thousands(cell) || is_decimal_comma(cell)
}

/// What to say of a cell with commas.
fn commas(place: CellPlace, value: String) -> Error {
    match may_be_thousands(&value) {
        true => Error::Commas { place, value },
        false => Error::DecimalComma { place, value },
    }
}

/// Keeps the first cell with commas, or the first that can only have a decimal comma.
fn keep_clearest(kept: &mut Option<Oddity>, line: u64, value: &str) {
    if kept.as_ref().is_none_or(|kept| may_be_thousands(&kept.value) && !may_be_thousands(value)) {
        *kept = Some(Oddity { line, value: value.to_string() });
    }
}

fn may_be_thousands(value: &str) -> bool {
    is_thousands(value.trim_start_matches('-').as_bytes())
}

fn is_decimal_comma(cell: &[u8]) -> bool {
    let number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let mut parts = cell.split(|&b| b == b',');
    parts.next().is_some_and(number) && parts.next().is_some_and(number) && parts.next().is_none()
}

fn is_thousands(cell: &[u8]) -> bool {
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

//! A table's column as an encoded variable sees it, row by row.

use std::borrow::Cow;

use hashbrown::HashMap;

use super::{Encoder, Encoding, Variable};
use crate::bins::bin_of;
use crate::column::{Categories, Cells, MISSING};
use crate::dates;
use crate::error::{Error, Result};
use crate::numbers::Numbers;
use crate::preprocessing::{OTHER_CATEGORY, Unseen};
use crate::table::Table;

/// What a cell is to its variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum EncodedCell {
    Number(f64),
    Category(u32),
    Missing,
    /// A category the training rows did not have.
    Unseen,
}

/// The cells of one column, ready to be asked for by row.
pub(crate) enum ColumnView<'t> {
    Numbers(Cow<'t, Numbers>),
    Binned(Cow<'t, Numbers>, &'t [f64]),
    Coded(Cow<'t, Categories>, Vec<EncodedCell>),
}

/// The cells of a column, the table's or the reader's own.
enum Given<'t> {
    Numbers(Cow<'t, Numbers>),
    Categories(Cow<'t, Categories>),
}

impl<'t> ColumnView<'t> {
    pub(crate) fn new(table: &'t Table, variable: &'t Variable) -> Result<Self> {
        let given = match &table.column(&variable.column)?.cells {
            Cells::Numbers(x) => Given::Numbers(Cow::Borrowed(x)),
            Cells::Categories(categories) => Given::Categories(Cow::Borrowed(categories)),
        };
        Self::of(table.name(), given, variable)
    }

    /// Of a column that is taken out of a table of this name, and freed block by block.
    pub(crate) fn owning(table: &str, cells: Cells, variable: &'t Variable) -> Result<Self> {
        let given = match cells {
            Cells::Numbers(x) => Given::Numbers(Cow::Owned(x)),
            Cells::Categories(categories) => Given::Categories(Cow::Owned(categories)),
        };
        Self::of(table, given, variable)
    }

    fn of(table: &str, given: Given<'t>, variable: &'t Variable) -> Result<Self> {
        match (&variable.encoding, given) {
            (Encoding::Dates { .. }, Given::Categories(coded)) => {
                let day = |name: &String| {
                    dates::parse(name).map_or(EncodedCell::Unseen, EncodedCell::Number)
                };
                let to = coded.names.iter().map(day).collect();
                Ok(Self::Coded(coded, to))
            }
            // A column without a cell, or numbers where dates were: said of the first of them.
            (Encoding::Dates { .. }, Given::Numbers(x)) => {
                let coded = Categories::of_numbers(&x);
                let to = vec![EncodedCell::Unseen; coded.names.len()];
                Ok(Self::Coded(Cow::Owned(coded), to))
            }
            (Encoding::Number { .. } | Encoding::Piecewise { .. }, Given::Numbers(x)) => {
                Ok(Self::Numbers(x))
            }
            (Encoding::Bins { edges, .. }, Given::Numbers(x)) => Ok(Self::Binned(x, edges)),
            (Encoding::Categories { categories, groups, .. }, given) => {
                let known: HashMap<&str, u32> = categories
                    .iter()
                    .enumerate()
                    .map(|(at, category)| (category.as_str(), at as u32))
                    .collect();
                let coded = match given {
                    Given::Categories(categories) => categories,
                    Given::Numbers(x) => Cow::Owned(Categories::of_numbers(&x)),
                };
                let seen = |category: &String| {
                    let category = groups.get(category).unwrap_or(category);
                    known
                        .get(category.as_str())
                        .map_or(EncodedCell::Unseen, |&at| EncodedCell::Category(at))
                };
                let to = coded.names.iter().map(seen).collect();
                Ok(Self::Coded(coded, to))
            }
            (_, Given::Categories(categories)) => Err(Error::Kind {
                column: variable.column.clone(),
                found: match &categories.mixed {
                    Some(mixed) => format!(
                        "categorical in {table}, because of '{}' on line {}",
                        mixed.value, mixed.line
                    ),
                    None => format!("categorical in {table}"),
                },
                needed: "numbers are needed: correct it, or declare its kind when reading".into(),
            }),
        }
    }

    #[inline(always)]
    pub(crate) fn at(&self, row: usize) -> EncodedCell {
        match self {
            Self::Numbers(x) => match x.get(row) {
                x if x.is_nan() => EncodedCell::Missing,
                x => EncodedCell::Number(x),
            },
            Self::Binned(x, edges) => match x.get(row) {
                x if x.is_nan() => EncodedCell::Missing,
                x => EncodedCell::Category(bin_of(edges, x)),
            },
            Self::Coded(categories, to) => match categories.codes.get(row) {
                MISSING => EncodedCell::Missing,
                code => to[code as usize],
            },
        }
    }

    /// The category of a row, as the table has it.
    pub(crate) fn category(&self, row: usize) -> Option<&str> {
        match self {
            Self::Coded(categories, _) => categories.get(row),
            Self::Numbers(_) | Self::Binned(..) => None,
        }
    }

    /// Frees a block of a column that it owns.
    pub(crate) fn release(&mut self, block: usize) {
        match self {
            Self::Numbers(Cow::Owned(x)) | Self::Binned(Cow::Owned(x), _) => x.release(block),
            Self::Coded(Cow::Owned(categories), _) => categories.codes.release(block),
            _ => {}
        }
    }
}

/// The cells as categories; numbers are written out.
pub(crate) fn as_categories(cells: &Cells) -> Cow<'_, Categories> {
    match cells {
        Cells::Categories(categories) => Cow::Borrowed(categories),
        Cells::Numbers(values) => Cow::Owned(Categories::of_numbers(values)),
    }
}

impl Variable {
    /// What missing and unseen cells count as, where they are allowed.
    pub(crate) fn stand_ins(&self, unseen: Unseen) -> (Option<EncodedCell>, Option<EncodedCell>) {
        match &self.encoding {
            Encoding::Number { missing, .. }
            | Encoding::Piecewise { missing, .. }
            | Encoding::Dates { missing, .. } => (missing.map(EncodedCell::Number), None),
            Encoding::Categories { categories, usual, missing, .. }
            | Encoding::Bins { categories, usual, missing, .. } => {
                let find = |category: &str| {
                    let at = categories.iter().position(|known| known == category);
                    at.map(|at| EncodedCell::Category(at as u32))
                };
                let pooled = matches!(self.encoding, Encoding::Categories { pooled: true, .. });
                let none_of_them = match categories.len() {
                    2 => find(OTHER_CATEGORY).or(find(usual)),
                    _ => Some(find(OTHER_CATEGORY).unwrap_or(EncodedCell::Unseen)),
                };
                let unseen = match unseen {
                    _ if pooled => find(OTHER_CATEGORY),
                    Unseen::Error => None,
                    Unseen::Other => none_of_them,
                };
                // A missing cell that may be a category is allowed where no training row had one.
                let missing = missing.as_deref().and_then(|m| find(m).or(none_of_them));
                (missing, unseen)
            }
        }
    }
}

impl Encoder {
    /// A column of the table as categories of its variable: grouped, or binned. Cells that the
    /// encoder would refuse are missing.
    ///
    /// # Errors
    /// A column that is not among the inputs, or is a number there.
    pub fn derived(&self, table: &Table, column: &str) -> Result<Categories> {
        let (variable, _) = self.variable(column)?;
        let Some(categories) = variable.categories() else {
            return Err(Error::Kind {
                column: column.to_string(),
                found: variable.is_called().to_string(),
                needed: "its categories were asked for: use the source column".to_string(),
            });
        };
        let view = ColumnView::new(table, variable)?;
        let (missing, unseen) = variable.stand_ins(self.unseen);
        let code = |row| match view.at(row) {
            EncodedCell::Missing => missing,
            EncodedCell::Unseen => unseen,
            seen => Some(seen),
        };
        let codes = (0..table.rows()).map(|row| match code(row) {
            Some(EncodedCell::Category(at)) => at,
            _ => MISSING,
        });
        Ok(Categories { names: categories.to_vec(), codes: codes.collect(), mixed: None })
    }
}

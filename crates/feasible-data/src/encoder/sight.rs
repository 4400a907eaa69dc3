//! A table's column as an encoded variable sees it, row by row.

use std::borrow::Cow;

use hashbrown::HashMap;

use super::{Encoder, Encoding, Variable};
use crate::bins::bin_of;
use crate::column::{Cells, Levels, MISSING};
use crate::error::{Error, Result};
use crate::preprocessing::{OTHER_LEVEL, Unseen};
use crate::table::Table;

/// What a cell is to its variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Seen {
    Number(f64),
    Level(u32),
    Missing,
    /// A level the training rows did not have.
    Unseen,
}

/// The cells of one column, ready to be asked for by row.
pub(crate) enum Sight<'t> {
    Numbers(&'t [f64]),
    Binned(&'t [f64], &'t [f64]),
    Coded(Cow<'t, Levels>, Vec<Seen>),
}

impl<'t> Sight<'t> {
    pub(crate) fn new(table: &'t Table, variable: &'t Variable) -> Result<Self> {
        let column = table.column(&variable.column)?;
        match (&variable.encoding, &column.cells) {
            (Encoding::Number { .. }, Cells::Numbers(x)) => Ok(Self::Numbers(x)),
            (Encoding::Bins { edges, .. }, Cells::Numbers(x)) => Ok(Self::Binned(x, edges)),
            (Encoding::Levels { levels, groups, .. }, cells) => {
                let known: HashMap<&str, u32> = levels
                    .iter()
                    .enumerate()
                    .map(|(at, level)| (level.as_str(), at as u32))
                    .collect();
                let coded = as_levels(cells);
                let seen = |level: &String| {
                    let level = groups.get(level).unwrap_or(level);
                    known.get(level.as_str()).map_or(Seen::Unseen, |&at| Seen::Level(at))
                };
                let to = coded.levels.iter().map(seen).collect();
                Ok(Self::Coded(coded, to))
            }
            (_, Cells::Levels(levels)) => Err(Error::Kind {
                column: column.name.clone(),
                found: match &levels.mixed {
                    Some(mixed) => format!(
                        "categorical in {}, because of '{}' on line {}",
                        table.name(),
                        mixed.value,
                        mixed.line
                    ),
                    None => format!("categorical in {}", table.name()),
                },
                needed: "numbers are needed: correct it, or declare its kind when reading".into(),
            }),
        }
    }

    #[inline(always)]
    pub(crate) fn at(&self, row: usize) -> Seen {
        match self {
            Self::Numbers(x) if x[row].is_nan() => Seen::Missing,
            Self::Numbers(x) => Seen::Number(x[row]),
            Self::Binned(x, _) if x[row].is_nan() => Seen::Missing,
            Self::Binned(x, edges) => Seen::Level(bin_of(edges, x[row])),
            Self::Coded(levels, to) => match levels.codes[row] {
                MISSING => Seen::Missing,
                code => to[code as usize],
            },
        }
    }
}

/// The cells as levels; numbers are written out.
pub(crate) fn as_levels(cells: &Cells) -> Cow<'_, Levels> {
    match cells {
        Cells::Levels(levels) => Cow::Borrowed(levels),
        Cells::Numbers(values) => Cow::Owned(Levels::of_numbers(values)),
    }
}

impl Variable {
    /// What missing and unseen cells count as, where they are allowed.
    pub(crate) fn stand_ins(&self, unseen: Unseen) -> (Option<Seen>, Option<Seen>) {
        match &self.encoding {
            Encoding::Number { missing, .. } => (missing.map(Seen::Number), None),
            Encoding::Levels { levels, usual, missing, .. }
            | Encoding::Bins { levels, usual, missing, .. } => {
                let find = |level: &str| {
                    let at = levels.iter().position(|known| known == level);
                    at.map(|at| Seen::Level(at as u32))
                };
                let unseen = match unseen {
                    Unseen::Error => None,
                    Unseen::Other if levels.len() == 2 => find(OTHER_LEVEL).or(find(usual)),
                    Unseen::Other => Some(find(OTHER_LEVEL).unwrap_or(Seen::Unseen)),
                };
                let missing = missing.as_deref().and_then(|m| find(m).or(unseen));
                (missing, unseen)
            }
        }
    }
}

impl Encoder {
    /// A column of the table as levels of its variable: grouped, or binned. Cells that the
    /// encoder would refuse are missing.
    ///
    /// # Errors
    /// A column that is not among the inputs, or is a number there.
    pub fn derived(&self, table: &Table, column: &str) -> Result<Levels> {
        let (variable, _) = self.variable(column)?;
        let Some(levels) = variable.levels() else {
            return Err(Error::Kind {
                column: column.to_string(),
                found: "a number".to_string(),
                needed: "its levels were asked for: use the source column".to_string(),
            });
        };
        let sight = Sight::new(table, variable)?;
        let (missing, unseen) = variable.stand_ins(self.unseen);
        let code = |row| match sight.at(row) {
            Seen::Missing => missing,
            Seen::Unseen => unseen,
            seen => Some(seen),
        };
        let codes = (0..table.rows()).map(|row| match code(row) {
            Some(Seen::Level(at)) => at,
            _ => MISSING,
        });
        Ok(Levels { levels: levels.to_vec(), codes: codes.collect(), mixed: None })
    }
}

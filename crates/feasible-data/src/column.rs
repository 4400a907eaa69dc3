//! A column of numbers or of levels.

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use crate::codes::Codes;
use crate::numbers::Numbers;

/// The code of a missing cell in [`Levels::codes`].
pub const MISSING: u32 = u32::MAX;

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Numbers.
    Numeric,
    /// One of a set of levels.
    Categorical,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Numeric => "numeric",
            Self::Categorical => "categorical",
        })
    }
}

/// A categorical column: levels in sorted order, and each row's level by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Levels {
    /// The levels that occur, sorted (as numbers if all are numbers).
    pub levels: Vec<String>,
    /// Per row a position in `levels`, or [`MISSING`].
    pub codes: Codes,
    /// When only some cells of the file are text: how many are numbers, and the first that is not.
    pub mixed: Option<Mixed>,
}

/// Why a column with numbers in it was read as categorical.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mixed {
    /// Cells before the first text that are numbers.
    pub numbers: usize,
    /// Line of the first cell that is not a number, from 1.
    pub line: u64,
    /// That cell.
    pub value: String,
}

impl Levels {
    /// The level of a row.
    pub fn get(&self, row: usize) -> Option<&str> {
        self.levels.get(self.codes.get(row) as usize).map(String::as_str)
    }

    /// Puts `levels` (distinct, in any order) into sorted order and renumbers the codes.
    pub(crate) fn sorted(levels: Vec<String>, mut codes: Codes) -> Self {
        let mut order: Vec<usize> = (0..levels.len()).collect();
        let numbers: Option<Vec<f64>> = levels.iter().map(|level| level.parse().ok()).collect();
        match numbers.filter(|numbers| numbers.iter().all(|x| x.is_finite())) {
            Some(x) => {
                order.sort_by(|&a, &b| x[a].total_cmp(&x[b]).then(levels[a].cmp(&levels[b])));
            }
            None => order.sort_by(|&a, &b| levels[a].cmp(&levels[b])),
        }
        let mut place = vec![0; levels.len()];
        for (to, &from) in order.iter().enumerate() {
            place[from] = to as u32;
        }
        codes.renumber(&place);
        let mut old: Vec<Option<String>> = levels.into_iter().map(Some).collect();
        let levels = order.iter().filter_map(|&from| old[from].take()).collect();
        Self { levels, codes, mixed: None }
    }

    /// Each distinct number as a level, written as Rust writes it: `1`, `0.5`.
    pub(crate) fn of_numbers(values: &Numbers) -> Self {
        let mut seen: HashMap<u64, u32> = HashMap::new();
        let mut levels = Vec::new();
        let mut codes = Codes::default();
        for value in values.iter() {
            if value.is_nan() {
                codes.push(MISSING);
                continue;
            }
            let value = value + 0.0; // −0 and 0 are one level
            let code = *seen.entry(value.to_bits()).or_insert_with(|| {
                levels.push(value.to_string());
                levels.len() as u32 - 1
            });
            codes.push(code);
        }
        Self::sorted(levels, codes)
    }
}

/// The cells of a column. Missing cells are equal to one another.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Finite numbers; NaN marks a missing cell (the readers let no other NaN pass).
    Numbers(Numbers),
    /// Levels.
    Levels(Levels),
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its cells.
    pub cells: Cells,
}

impl Column {
    /// A column of numbers; NaN stands for a missing cell.
    pub fn numbers(name: &str, values: Vec<f64>) -> Self {
        Self { name: name.to_string(), cells: Cells::Numbers(values.into()) }
    }

    /// A column of levels; `None` stands for a missing cell.
    pub fn levels<'a>(name: &str, cells: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let mut seen: HashMap<&str, u32> = HashMap::new();
        let mut levels = Vec::new();
        let mut codes = Codes::default();
        for cell in cells {
            codes.push(match cell {
                None => MISSING,
                Some(level) => *seen.entry(level).or_insert_with(|| {
                    levels.push(level.to_string());
                    levels.len() as u32 - 1
                }),
            });
        }
        Self { name: name.to_string(), cells: Cells::Levels(Levels::sorted(levels, codes)) }
    }

    /// Numeric or categorical.
    pub fn kind(&self) -> Kind {
        match self.cells {
            Cells::Numbers(_) => Kind::Numeric,
            Cells::Levels(_) => Kind::Categorical,
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.cells {
            Cells::Numbers(values) => values.len(),
            Cells::Levels(levels) => levels.codes.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of missing cells.
    pub fn missing(&self) -> usize {
        match &self.cells {
            Cells::Numbers(values) => values.iter().filter(|x| x.is_nan()).count(),
            Cells::Levels(levels) => levels.codes.iter().filter(|&c| c == MISSING).count(),
        }
    }

    /// The cell of a row as text; `None` if it is missing.
    pub fn text(&self, row: usize) -> Option<String> {
        match &self.cells {
            Cells::Numbers(x) => Some(x.get(row)).filter(|x| !x.is_nan()).map(|x| x.to_string()),
            Cells::Levels(levels) => levels.get(row).map(String::from),
        }
    }
}

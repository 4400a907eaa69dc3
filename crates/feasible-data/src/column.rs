//! A column of numbers or of categories.

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use crate::codes::Codes;
use crate::numbers::Numbers;

/// The code of a missing cell in [`Categories::codes`].
pub const MISSING: u32 = u32::MAX;

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// Numbers.
    Numeric,
    /// One of a set of categories.
    Categorical,
}

impl std::fmt::Display for ColumnKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Numeric => "numeric",
            Self::Categorical => "categorical",
        })
    }
}

/// A categorical column: categories in sorted order, and each row's category by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Categories {
    /// The categories that occur, sorted (as numbers if all are numbers).
    pub names: Vec<String>,
    /// Per row a position in `names`, or [`MISSING`].
    pub codes: Codes,
    /// When only some cells of the file are text: how many are numbers, and the first that is not.
    pub mixed: Option<Mixed>,
}

/// Why a column with numbers in it was read as categorical.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mixed {
    /// Cells before the first text that are numbers.
    pub numbers: usize,
    /// Line of the first cell that is not a number, from 1.
    pub line: u64,
    /// That cell.
    pub value: String,
}

impl Categories {
    /// The category of a row.
    pub fn get(&self, row: usize) -> Option<&str> {
        self.names.get(self.codes.get(row) as usize).map(String::as_str)
    }

    /// Puts `categories` (distinct, in any order) into sorted order and renumbers the codes.
    pub(crate) fn sorted(categories: Vec<String>, mut codes: Codes) -> Self {
        let mut order: Vec<usize> = (0..categories.len()).collect();
        let numbers: Option<Vec<f64>> =
            categories.iter().map(|category| category.parse().ok()).collect();
        match numbers.filter(|numbers| numbers.iter().all(|x| x.is_finite())) {
            Some(x) => {
                order.sort_by(|&a, &b| {
                    x[a].total_cmp(&x[b]).then(categories[a].cmp(&categories[b]))
                });
            }
            None => order.sort_by(|&a, &b| categories[a].cmp(&categories[b])),
        }
        let mut place = vec![0; categories.len()];
        for (to, &from) in order.iter().enumerate() {
            place[from] = to as u32;
        }
        codes.renumber(&place);
        let mut old: Vec<Option<String>> = categories.into_iter().map(Some).collect();
        let names = order.iter().filter_map(|&from| old[from].take()).collect();
        Self { names, codes, mixed: None }
    }

    /// Each distinct number as a category, written as Rust writes it: `1`, `0.5`.
    pub(crate) fn of_numbers(values: &Numbers) -> Self {
        let mut seen: HashMap<u64, u32> = HashMap::new();
        let mut categories = Vec::new();
        let mut codes = Codes::default();
        for value in values.iter() {
            if value.is_nan() {
                codes.push(MISSING);
                continue;
            }
            let value = value + 0.0; // −0 and 0 are one category
            let code = *seen.entry(value.to_bits()).or_insert_with(|| {
                categories.push(value.to_string());
                categories.len() as u32 - 1
            });
            codes.push(code);
        }
        Self::sorted(categories, codes)
    }
}

/// The cells of a column. Missing cells are equal to one another.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Finite numbers; NaN marks a missing cell (the readers let no other NaN pass).
    Numbers(Numbers),
    /// Categories.
    Categories(Categories),
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

    /// A column of categories; `None` stands for a missing cell.
    pub fn categories<'a>(name: &str, cells: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let mut seen: HashMap<&str, u32> = HashMap::new();
        let mut categories = Vec::new();
        let mut codes = Codes::default();
        for cell in cells {
            codes.push(match cell {
                None => MISSING,
                Some(category) => *seen.entry(category).or_insert_with(|| {
                    categories.push(category.to_string());
                    categories.len() as u32 - 1
                }),
            });
        }
        Self {
            name: name.to_string(),
            cells: Cells::Categories(Categories::sorted(categories, codes)),
        }
    }

    /// A column of categories by number: each row's position in `names`, or [`MISSING`]. Names that no row has are left
    /// out, equal ones are one category.
    ///
    /// ```
    /// use feasible_data::{Column, MISSING};
    /// let names = ["b", "never", "a"].map(String::from);
    /// let coded = Column::coded("letter", &names, &[0, 2, MISSING, 0]);
    /// assert_eq!(coded, Column::categories("letter", [Some("b"), Some("a"), None, Some("b")]));
    /// ```
    pub fn coded(name: &str, names: &[String], codes: &[u32]) -> Self {
        let mut of_name: HashMap<&str, u32> = HashMap::new();
        let mut number = vec![MISSING; names.len()];
        let mut kept: Vec<String> = Vec::new();
        let mut to = Codes::default();
        for &code in codes {
            let Some(known) = number.get_mut(code as usize) else {
                to.push(MISSING);
                continue;
            };
            if *known == MISSING {
                let category = &names[code as usize];
                *known = *of_name.entry(category).or_insert_with(|| {
                    kept.push(category.clone());
                    kept.len() as u32 - 1
                });
            }
            to.push(*known);
        }
        let cells = Cells::Categories(Categories::sorted(kept, to));
        Self { name: name.to_string(), cells }
    }

    /// Numeric or categorical.
    pub fn kind(&self) -> ColumnKind {
        match self.cells {
            Cells::Numbers(_) => ColumnKind::Numeric,
            Cells::Categories(_) => ColumnKind::Categorical,
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.cells {
            Cells::Numbers(values) => values.len(),
            Cells::Categories(categories) => categories.codes.len(),
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
            Cells::Categories(categories) => {
                categories.codes.iter().filter(|&c| c == MISSING).count()
            }
        }
    }

    /// The cell of a row as text; `None` if it is missing.
    pub fn text(&self, row: usize) -> Option<String> {
        match &self.cells {
            Cells::Numbers(x) => Some(x.get(row)).filter(|x| !x.is_nan()).map(|x| x.to_string()),
            Cells::Categories(categories) => categories.get(row).map(String::from),
        }
    }
}

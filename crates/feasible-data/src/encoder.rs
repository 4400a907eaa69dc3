//! From a table's columns to the inputs x of a model, fitted on training rows.
//!
//! A number becomes one dense column. A categorical column with k categories becomes k indicators, one of
//! which is 1; with two categories it becomes a single indicator, 1 for the second in sorted order
//! (`gender = Male`); with one category it tells nothing and becomes no column. Binned numbers are
//! categorical, and their categories are the bins in ascending order. A number with a long tail, or with values that many
//! rows share, may be several dense columns and indicators instead: see [`piecewise`]. Dates become a number of days, and sine
//! and cosine of where they stand in their day, week and year.
//!
//! What was fitted is a value: [`Encoder`] can be saved as readable JSON and applied, as it is,
//! to any table with the same columns. The target and other columns that must not be inputs are
//! named when fitting.
//!
//! ```
//! use feasible_data::{Bins, Encoder, Format, Preprocessing, Table};
//! let csv = b"age,gender,race,income\n41,Male,Black,0\n23,Female,White,1\n30,Female,Other,0\n";
//! let table = Table::from_bytes("people.csv", csv, &Format::default())?;
//! let spec = Preprocessing {
//!     bin: [("age".to_string(), Bins::edges(&[40.0]))].into(),
//!     ..Preprocessing::default()
//! };
//! let encoder = Encoder::fit(&table, &table.all_rows(), &spec, &["income"])?;
//! assert_eq!(
//!     encoder.names(),
//!     ["age > 40", "gender = Male", "race = Black", "race = Other", "race = White"]
//! );
//! let x = encoder.transform(&table, &[0, 1])?;
//! assert_eq!(x.row(0), [1.0, 1.0, 1.0, 0.0, 0.0]);
//! assert_eq!(Encoder::from_json(&encoder.to_json())?, encoder);
//! # Ok::<(), feasible_data::Error>(())
//! ```

mod cell_rules;
mod column_view;
mod fit;
mod fit_categories;
mod fit_dates;
mod fit_number;
mod identifier;
pub mod piecewise;
mod transform;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::bins::interval_labels;
use crate::column::ColumnKind;
use crate::error::{Error, Result};
use crate::nearest::nearest;
use crate::preprocessing::{MISSING_CATEGORY, OTHER_CATEGORY, Unseen};

pub use cell_rules::{CellOutcome, CellRules};
pub(crate) use column_view::{EncodedCell, as_categories};
pub use fit_dates::Cycle;

/// A fitted encoding. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Saved", into = "Saved")]
pub struct Encoder {
    variables: Vec<Variable>,
    unseen: Unseen,
    /// First encoded column of each variable, and the width at the end.
    starts: Vec<u32>,
}

/// A source column and how it is encoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// The source column.
    pub column: String,
    /// How it is encoded.
    pub encoding: Encoding,
}

/// How a column is encoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Encoding {
    /// (x − mean) / sd; a column that was constant in training has sd = 0 and is left out.
    Number {
        /// Subtracted; 0 if not standardised.
        mean: f64,
        /// Divided by; 1 if not standardised.
        sd: f64,
        /// What a missing cell counts as; `None` rejects it.
        missing: Option<f64>,
        /// Whether an indicator column says which cells were missing.
        indicator: bool,
    },
    /// Piecewise linear in x: see [`piecewise`].
    Piecewise {
        /// The ends of the pieces, ascending: one dense column for each piece.
        knots: Vec<f64>,
        /// Values with an indicator of their own, ascending.
        atoms: Vec<f64>,
        /// What a missing cell counts as; `None` rejects it.
        missing: Option<f64>,
        /// Whether an indicator column says which cells were missing.
        indicator: bool,
    },
    /// Indicators of categories.
    Categories {
        /// The categories, in order.
        categories: Vec<String>,
        /// Old category → the category it is grouped into.
        groups: BTreeMap<String, String>,
        /// The most frequent category.
        usual: String,
        /// The category a missing cell counts as; `None` rejects it.
        missing: Option<String>,
        /// Whether categories that are not listed count as `(other)`: there were too many to list.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pooled: bool,
    },
    /// Dates: days since 1970-01-01, scaled as a number, and sine and cosine of cycles.
    Dates {
        /// Subtracted from the days.
        mean: f64,
        /// Divided by; 0 if all training rows have one date, which is left out.
        sd: f64,
        /// The days that a missing cell counts as, its cycles being 0; `None` rejects it.
        missing: Option<f64>,
        /// Whether an indicator column says which cells were missing.
        indicator: bool,
        /// The cycles, in the order of their columns.
        cycles: Vec<Cycle>,
    },
    /// Indicators of intervals.
    Bins {
        /// Between the bins, ascending; bins are closed on the right.
        edges: Vec<f64>,
        /// The bins' names, in order; after them `(missing)` if that is a category.
        categories: Vec<String>,
        /// The most frequent bin.
        usual: String,
        /// The bin a missing cell counts as; `None` rejects it.
        missing: Option<String>,
    },
}

impl Variable {
    /// Number of encoded columns.
    pub fn width(&self) -> usize {
        match &self.encoding {
            Encoding::Number { sd, indicator, .. } => {
                usize::from(*sd != 0.0) + usize::from(*indicator)
            }
            Encoding::Piecewise { knots, atoms, indicator, .. } => {
                knots.len() - 1 + atoms.len() + usize::from(*indicator)
            }
            Encoding::Dates { sd, indicator, cycles, .. } => {
                usize::from(*sd != 0.0) + 2 * cycles.len() + usize::from(*indicator)
            }
            Encoding::Categories { categories, .. } | Encoding::Bins { categories, .. } => {
                match categories.len() {
                    1 => 0,
                    2 => 1,
                    k => k,
                }
            }
        }
    }

    /// How many of the encoded columns are dense; they come first.
    fn dense_width(&self) -> usize {
        match &self.encoding {
            Encoding::Number { sd, .. } => usize::from(*sd != 0.0),
            Encoding::Piecewise { knots, .. } => knots.len() - 1,
            Encoding::Dates { sd, cycles, .. } => usize::from(*sd != 0.0) + 2 * cycles.len(),
            Encoding::Categories { .. } | Encoding::Bins { .. } => 0,
        }
    }

    /// The categories, if the variable has categories.
    pub fn categories(&self) -> Option<&[String]> {
        match &self.encoding {
            Encoding::Number { .. } | Encoding::Piecewise { .. } | Encoding::Dates { .. } => None,
            Encoding::Categories { categories, .. } | Encoding::Bins { categories, .. } => {
                Some(categories)
            }
        }
    }

    /// The position of a category.
    ///
    /// # Errors
    /// A number, a category that was grouped into another, or an unknown one.
    pub fn category(&self, category: &str) -> Result<usize> {
        let column = || self.column.clone();
        let Some(categories) = self.categories() else {
            let needed =
                format!("category '{category}' was asked for: bin it or declare it categorical");
            let found = self.is_called().into();
            return Err(Error::Kind { column: column(), found, needed });
        };
        if let Some(at) = categories.iter().position(|known| known == category) {
            return Ok(at);
        }
        if let Encoding::Categories { groups, .. } = &self.encoding
            && let Some(group) = groups.get(category)
        {
            let (category, group) = (category.to_string(), group.clone());
            return Err(Error::GroupedCategory { column: column(), category, group });
        }
        Err(Error::UnknownCategory {
            column: column(),
            category: category.to_string(),
            nearest: nearest(category, categories.iter().map(String::as_str)),
            known: categories.to_vec(),
        })
    }

    /// What a variable without categories is.
    fn is_called(&self) -> &'static str {
        if matches!(self.encoding, Encoding::Dates { .. }) { "a date" } else { "a number" }
    }

    /// Names of the encoded columns.
    pub fn names(&self) -> Vec<String> {
        let column = &self.column;
        let all: Vec<String> = match &self.encoding {
            Encoding::Number { sd, indicator, .. } => {
                let mut names = Vec::new();
                names.extend((*sd != 0.0).then(|| column.clone()));
                names.extend(indicator.then(|| format!("{column} is missing")));
                return names;
            }
            Encoding::Piecewise { knots, atoms, indicator, .. } => {
                let pieces =
                    knots.windows(2).map(|w| format!("{column} from {} to {}", w[0], w[1]));
                let mut names: Vec<String> = pieces.collect();
                names.extend(atoms.iter().map(|atom| format!("{column} = {atom}")));
                names.extend(indicator.then(|| format!("{column} is missing")));
                return names;
            }
            Encoding::Dates { sd, indicator, cycles, .. } => {
                let mut names = Vec::new();
                names.extend((*sd != 0.0).then(|| column.clone()));
                for cycle in cycles {
                    names
                        .extend(["sin", "cos"].map(|f| format!("{column} {} ({f})", cycle.name())));
                }
                names.extend(indicator.then(|| format!("{column} is missing")));
                return names;
            }
            Encoding::Categories { categories, .. } => {
                categories.iter().map(|category| category_name(column, category)).collect()
            }
            Encoding::Bins { edges, categories, .. } => {
                let intervals = interval_labels(edges);
                let name = |(at, category): (usize, &String)| match category {
                    _ if intervals.get(at) != Some(category) => category_name(column, category),
                    _ if category.starts_with('(') => format!("{column} in {category}"),
                    _ => format!("{column} {category}"),
                };
                categories.iter().enumerate().map(name).collect()
            }
        };
        match self.width() {
            0 => Vec::new(),
            1 => all.into_iter().skip(1).collect(),
            _ => all,
        }
    }
}

fn category_name(column: &str, category: &str) -> String {
    match category {
        MISSING_CATEGORY => format!("{column} is missing"),
        _ => format!("{column} = {category}"),
    }
}

impl Encoder {
    /// The encoder of no column: the inputs are not made of a table but of pixels.
    pub fn of_nothing() -> Self {
        Self { variables: Vec::new(), unseen: Unseen::default(), starts: vec![0] }
    }

    /// Whether it encodes no column.
    pub fn is_of_nothing(&self) -> bool {
        self.variables.is_empty()
    }

    /// The encoded columns that are standardised numbers: those whose unit is a standard deviation.
    pub fn standardised(&self) -> Vec<u32> {
        let each = self.variables.iter().zip(&self.starts);
        each.filter_map(|(variable, &start)| match variable.encoding {
            Encoding::Number { mean, sd, .. } if sd != 0.0 && (mean, sd) != (0.0, 1.0) => {
                Some(start)
            }
            _ => None,
        })
        .collect()
    }

    /// Number of columns a model sees.
    pub fn width(&self) -> usize {
        self.starts.last().map_or(0, |&width| width as usize)
    }

    /// Names of the encoded columns, in order.
    pub fn names(&self) -> Vec<String> {
        self.variables.iter().flat_map(Variable::names).collect()
    }

    /// The variables, in the order of their columns.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The variable made of a source column, and its encoded columns.
    ///
    /// # Errors
    /// A column that is not among the inputs.
    pub fn variable(&self, column: &str) -> Result<(&Variable, Range<u32>)> {
        match self.variables.iter().position(|variable| variable.column == column) {
            Some(at) => Ok((&self.variables[at], self.starts[at]..self.starts[at + 1])),
            None => {
                let known: Vec<String> = self.variables.iter().map(|v| v.column.clone()).collect();
                Err(Error::UnknownColumn {
                    table: "the encoded table".to_string(),
                    column: column.to_string(),
                    nearest: nearest(column, known.iter().map(String::as_str)),
                    known,
                })
            }
        }
    }

    /// The kinds to read a table with so that it fits this encoder
    /// ([`Format::kinds`](crate::Format::kinds)).
    pub fn kinds(&self) -> BTreeMap<String, ColumnKind> {
        let kind = |variable: &Variable| match variable.encoding {
            Encoding::Categories { .. } | Encoding::Dates { .. } => ColumnKind::Categorical,
            Encoding::Number { .. } | Encoding::Piecewise { .. } | Encoding::Bins { .. } => {
                ColumnKind::Numeric
            }
        };
        self.variables.iter().map(|v| (v.column.clone(), kind(v))).collect()
    }

    /// The columns that were constant in the training rows and are left out.
    pub fn constant(&self) -> Vec<&str> {
        let constant = self.variables.iter().filter(|variable| variable.width() == 0);
        constant.map(|variable| variable.column.as_str()).collect()
    }

    /// As readable JSON, exact to the last bit.
    pub fn to_json(&self) -> String {
        // A struct of strings and finite numbers cannot fail to serialise.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// From [`Encoder::to_json`].
    ///
    /// # Errors
    /// Text that is not such an encoder.
    pub fn from_json(json: &str) -> Result<Self> {
        serde_json::from_slice(json.as_bytes())
            .map_err(|error| Error::Saved { reason: error.to_string() })
    }

    /// The same with another policy for categories that training rows do not have.
    #[must_use]
    pub fn with_unseen(self, unseen: Unseen) -> Self {
        Self { unseen, ..self }
    }

    fn new(variables: Vec<Variable>, unseen: Unseen) -> Result<Self> {
        let mut starts = vec![0_u32];
        let mut width = 0;
        for variable in &variables {
            width += variable.width();
            starts.push(width as u32);
        }
        if (width == 0 && !variables.is_empty()) || width > u32::MAX as usize {
            let reason = "no column is left to learn from: every one is dropped or constant";
            return Err(Error::Nothing { what: "inputs".into(), reason: reason.into() });
        }
        Ok(Self { variables, unseen, starts })
    }
}

/// The saved form: what was fitted, without what follows from it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    unseen: Unseen,
    variables: Vec<Variable>,
}

impl From<Encoder> for Saved {
    fn from(encoder: Encoder) -> Self {
        Self { unseen: encoder.unseen, variables: encoder.variables }
    }
}

impl TryFrom<Saved> for Encoder {
    type Error = Error;

    fn try_from(saved: Saved) -> Result<Self> {
        let mut columns = BTreeSet::new();
        for variable in &saved.variables {
            let wrong = |reason: &str| Error::Saved {
                reason: format!("column '{}': {reason}", variable.column),
            };
            if !columns.insert(variable.column.as_str()) {
                return Err(wrong("occurs twice"));
            }
            match &variable.encoding {
                Encoding::Number { mean, sd, missing, .. }
                | Encoding::Dates { mean, sd, missing, .. } => {
                    let cycles = match &variable.encoding {
                        Encoding::Dates { cycles, .. } => &cycles[..],
                        _ => &[],
                    };
                    if !cycles.windows(2).all(|pair| pair[0] < pair[1]) {
                        return Err(wrong("cycles must be named once, the shortest first"));
                    }
                    let numbers = [*mean, *sd, missing.unwrap_or(0.0)];
                    if numbers.iter().any(|x| !x.is_finite()) || *sd < 0.0 {
                        return Err(wrong("mean, sd and missing must be finite and sd ≥ 0"));
                    }
                }
                Encoding::Piecewise { knots, atoms, missing, .. } => {
                    let mut numbers = knots.iter().chain(atoms).chain(missing);
                    if numbers.any(|x| !x.is_finite()) {
                        return Err(wrong("knots, atoms and missing must be finite"));
                    }
                    let ascend = |list: &[f64]| list.windows(2).all(|w| w[0] < w[1]);
                    if knots.len() < 2 || !ascend(knots) || !ascend(atoms) {
                        return Err(wrong("two knots or more must ascend, and so must atoms"));
                    }
                }
                Encoding::Categories { categories, usual, pooled, .. } => {
                    if !categories.contains(usual) {
                        return Err(wrong("`usual` is not one of its categories"));
                    }
                    if *pooled && !categories.iter().any(|category| category == OTHER_CATEGORY) {
                        return Err(wrong("it is pooled and has no category (other)"));
                    }
                }
                Encoding::Bins { edges, categories, usual, .. } => {
                    let bins = edges.len() + 1;
                    let named = categories.len() == bins
                        || (categories.len() == bins + 1 && categories[bins] == MISSING_CATEGORY);
                    if !named || !categories.contains(usual) {
                        return Err(wrong("edges, categories and `usual` do not fit together"));
                    }
                    let finite = edges.iter().all(|edge| edge.is_finite());
                    if !finite || !edges.windows(2).all(|w| w[0] < w[1]) {
                        return Err(wrong("edges must be numbers that ascend"));
                    }
                }
            }
        }
        Self::new(saved.variables, saved.unseen)
    }
}

//! "Had they been …": changes ρ of the encoded rows, named, one or many at a time.
//!
//! ```
//! use feasible_data::{Counterfactual, DataSet, Encoder};
//! let compas = DataSet::compas();
//! let (table, split) = compas.load()?;
//! let inputs = Encoder::fit(&table, &split.train, &compas.preprocessing, &["two_year_recid"])?;
//! # let spec: Vec<Counterfactual> = toml::from_str::<std::collections::BTreeMap<String, _>>(r#"
//! counterfactual = [
//!   { swap = { sex = ["Male", "Female"] } },
//!   { pairs = "race" },
//!   { crosses = ["sex", "race"] },
//! ]
//! # "#).unwrap().remove("counterfactual").unwrap();
//! let mut changes = Vec::new();
//! for counterfactual in &spec {
//!     changes.extend(counterfactual.changes(&inputs)?);
//! }
//! assert_eq!(changes.len(), 13);
//! assert_eq!(changes[1].name(), "African-American ↔ Caucasian");
//! assert_eq!(changes[7].name(), "Male ↔ Female × African-American ↔ Caucasian");
//! # Ok::<(), feasible_data::Error>(())
//! ```
//!
//! | key | meaning |
//! | --- | --- |
//! | `swap = { sex = ["Male", "Female"] }` | exchange two categories, leave other categories alone |
//! | `set = { age = 40, sex = "Male" }` | give every row this number or category |
//! | `pairs = "race"` | one exchange for every pair of the column's categories |
//! | `crosses = ["sex", "race"]` | every pair of the one at once with every pair of the other |
//!
//! `swap` and `set` may name several columns, which change at once, and may stand together.
//! Categories are those of the encoded table: groups by their new name, bins by their label. Of a
//! column with two categories, the category whose indicator is 1 is named first. `(missing)` and `(other)`
//! take no part in generated pairs.

mod shift;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::bins::bin_of;
use crate::dates;
use crate::encoder::piecewise::{atom_of, pieces};
use crate::encoder::{Encoder, Encoding, Variable};
use crate::error::{Error, Result};
use crate::label::Label;
use crate::preprocessing::{MISSING_CATEGORY, OTHER_CATEGORY};

/// Counterfactuals as a user writes them. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Counterfactual {
    /// Column → the two categories to exchange.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "pairs")]
    pub swap: BTreeMap<String, [String; 2]>,
    /// Column → the category or number to give it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, SetTo>,
    /// A column all pairs of whose categories are exchanged in turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<String>,
    /// Columns of which every pair of categories is crossed with every pair of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crosses: Option<Vec<String>>,
}

fn pairs<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, [String; 2]>, D::Error> {
    let read = BTreeMap::<String, [Label; 2]>::deserialize(from)?;
    Ok(read.into_iter().map(|(column, pair)| (column, pair.map(String::from))).collect())
}

/// What a column is set to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SetTo {
    /// A number: the value itself, or the bin it falls into.
    Number(f64),
    /// A category.
    Category(String),
}

/// One change ρ of encoded rows, with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    name: String,
    columns: Vec<String>,
    steps: Vec<Step>,
    /// Columns of the encoded rows it applies to.
    width: usize,
}

/// What happens to the encoded columns of one variable.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// x ↦ 1 − x.
    Flip { column: u32 },
    /// Exchange two indicators.
    Swap { a: u32, b: u32 },
    /// Make `to` (or none) the only indicator of `start..end` that is 1.
    Category { start: u32, end: u32, to: Option<u32> },
    /// Give a dense column a (scaled) value.
    Value { column: u32, to: f32 },
}

/// The change of one column, named.
#[derive(Clone)]
struct ColumnChange {
    column: String,
    name: String,
    steps: Vec<Step>,
}

/// The most changes that one counterfactual stands for.
const MOST: usize = 100_000;

fn wrong<T>(reason: String) -> Result<T> {
    Err(Error::Counterfactual { reason })
}

impl Counterfactual {
    /// The exchange of two categories of a column.
    pub fn swap(column: &str, a: &str, b: &str) -> Self {
        let swap = [(column.to_string(), [a.to_string(), b.to_string()])].into();
        Self { swap, ..Self::default() }
    }

    /// Every pair of a column's categories.
    pub fn pairs(column: &str) -> Self {
        Self { pairs: Some(column.to_string()), ..Self::default() }
    }

    /// Every pair of one column crossed with every pair of the others.
    pub fn crosses(columns: &[&str]) -> Self {
        let columns = columns.iter().map(ToString::to_string).collect();
        Self { crosses: Some(columns), ..Self::default() }
    }

    /// The changes this stands for, in order.
    ///
    /// # Errors
    /// Unknown columns or categories, or keys that do not go together.
    pub fn changes(&self, encoder: &Encoder) -> Result<Vec<Change>> {
        let single = !self.swap.is_empty() || !self.set.is_empty();
        let width = encoder.width();
        match (single, &self.pairs, &self.crosses) {
            (true, None, None) => Ok(vec![Change::of(self.at_once(encoder)?, width)]),
            (false, Some(column), None) => {
                let parts = all_pairs(encoder, column)?;
                Ok(parts.into_iter().map(|part| Change::of(vec![part], width)).collect())
            }
            (false, None, Some(columns)) if columns.len() >= 2 => {
                let mut crossed: Vec<Vec<ColumnChange>> = vec![Vec::new()];
                for (at, column) in columns.iter().enumerate() {
                    if columns[..at].contains(column) {
                        return wrong(format!("column '{column}' is crossed with itself"));
                    }
                    let pairs = all_pairs(encoder, column)?;
                    if crossed.len().saturating_mul(pairs.len()) > MOST {
                        return wrong(format!("more than {MOST} crosses: name fewer columns"));
                    }
                    let with = |parts: Vec<ColumnChange>| {
                        pairs
                            .iter()
                            .map(move |p| [parts.as_slice(), std::slice::from_ref(p)].concat())
                    };
                    crossed = crossed.into_iter().flat_map(with).collect();
                }
                Ok(crossed.into_iter().map(|parts| Change::of(parts, width)).collect())
            }
            (false, None, Some(_)) => wrong("crosses needs two columns or more".into()),
            (false, None, None) => wrong("give swap, set, pairs or crosses".into()),
            _ => wrong("give only one of swap and set, pairs, or crosses".into()),
        }
    }

    /// The parts of `swap` and `set`, in the order of the encoded columns.
    fn at_once(&self, encoder: &Encoder) -> Result<Vec<ColumnChange>> {
        let mut parts = Vec::new();
        for (column, [a, b]) in &self.swap {
            let (variable, range) = encoder.variable(column)?;
            let (a, b) = (variable.category(a)?, variable.category(b)?);
            if a == b {
                return wrong(format!("column '{column}': a category is swapped with itself"));
            }
            parts.push((range.start, swap(variable, range.start, a, b)));
        }
        for (column, to) in &self.set {
            if self.swap.contains_key(column) {
                return wrong(format!("column '{column}' is both swapped and set"));
            }
            let (variable, range) = encoder.variable(column)?;
            parts.push((range.start, set(variable, range, to)?));
        }
        parts.sort_by_key(|&(start, _)| start);
        Ok(parts.into_iter().map(|(_, part)| part).collect())
    }
}

impl Change {
    fn of(parts: Vec<ColumnChange>, width: usize) -> Self {
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        let name = crate::visible(&names.join(" × ")).into_owned();
        let columns = parts.iter().map(|part| part.column.clone()).collect();
        let steps = parts.into_iter().flat_map(|part| part.steps).collect();
        Self { name, columns, steps, width }
    }

    /// Its name: `Male ↔ Female`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The source columns it changes.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }
}

fn swap(variable: &Variable, start: u32, a: usize, b: usize) -> ColumnChange {
    let categories = variable.categories().unwrap_or_default();
    let steps = match categories.len() {
        2 => vec![Step::Flip { column: start }],
        _ => vec![Step::Swap { a: start + a as u32, b: start + b as u32 }],
    };
    let name = format!("{} ↔ {}", categories[a], categories[b]);
    ColumnChange { column: variable.column.clone(), name, steps }
}

/// The exchanges of all pairs of a column's categories, in the categories' order.
fn all_pairs(encoder: &Encoder, column: &str) -> Result<Vec<ColumnChange>> {
    let (variable, range) = encoder.variable(column)?;
    let Some(categories) = variable.categories() else {
        return wrong(format!(
            "column '{column}' is a number or date and has no categories: bin it, or use set"
        ));
    };
    let real = |at: &usize| !matches!(categories[*at].as_str(), MISSING_CATEGORY | OTHER_CATEGORY);
    let real: Vec<usize> = (0..categories.len()).filter(real).collect();
    if real.len() < 2 {
        return wrong(format!(
            "column '{column}' has fewer than two categories: there is nothing to swap"
        ));
    }
    if categories.len() == 2 {
        return Ok(vec![swap(variable, range.start, 1, 0)]);
    }
    if real.len().saturating_mul(real.len() - 1) / 2 > MOST {
        let categories = real.len();
        return wrong(format!(
            "column '{column}' has {categories} categories, which make more than {MOST} pairs: group \
             them, or use swap for the pairs that matter"
        ));
    }
    let mut parts = Vec::new();
    for (at, &a) in real.iter().enumerate() {
        for &b in &real[at + 1..] {
            parts.push(swap(variable, range.start, a, b));
        }
    }
    Ok(parts)
}

fn set(variable: &Variable, range: std::ops::Range<u32>, to: &SetTo) -> Result<ColumnChange> {
    let column = variable.column.clone();
    let (shown, steps) = match (&variable.encoding, to) {
        (Encoding::Number { mean, sd, indicator, .. }, SetTo::Number(x)) => {
            let mut steps = Vec::new();
            if *sd != 0.0 {
                let to = ((x - mean) / sd) as f32;
                if !to.is_finite() {
                    return wrong(format!("column '{column}': {x} is out of range"));
                }
                steps.push(Step::Value { column: range.start, to });
            }
            if *indicator {
                steps.push(Step::Category { start: range.end - 1, end: range.end, to: None });
            }
            (x.to_string(), steps)
        }
        (Encoding::Piecewise { knots, atoms, .. }, SetTo::Number(x)) => {
            if !x.is_finite() {
                return wrong(format!("column '{column}': {x} is out of range"));
            }
            let dense = (range.start..).zip(pieces(knots, *x));
            let mut steps: Vec<Step> =
                dense.map(|(column, to)| Step::Value { column, to }).collect();
            let start = range.start + knots.len() as u32 - 1;
            // The indicator of missing cells is among them, and goes out.
            let to = atom_of(atoms, *x).map(|at| start + at as u32);
            if start < range.end {
                steps.push(Step::Category { start, end: range.end, to });
            }
            (x.to_string(), steps)
        }
        (Encoding::Dates { .. }, SetTo::Number(x)) => {
            return wrong(format!(
                "column '{column}' is a date: set it to one such as 2024-03-31, not to {x}"
            ));
        }
        (Encoding::Dates { mean, sd, indicator, cycles, .. }, SetTo::Category(text)) => {
            let Some(days) = dates::parse(text) else {
                return wrong(format!("column '{column}': '{text}' is not a date like 2024-03-31"));
            };
            let number = (*sd != 0.0).then(|| ((days - mean) / sd) as f32);
            let values = number.into_iter().chain(cycles.iter().flat_map(|cycle| cycle.at(days)));
            let steps = (range.start..).zip(values).map(|(column, to)| Step::Value { column, to });
            let mut steps: Vec<Step> = steps.collect();
            if *indicator {
                steps.push(Step::Category { start: range.end - 1, end: range.end, to: None });
            }
            (text.clone(), steps)
        }
        (_, to) => {
            let category = match (&variable.encoding, to) {
                (_, SetTo::Category(category)) => variable.category(category)?,
                (Encoding::Bins { edges, .. }, SetTo::Number(x)) if x.is_finite() => {
                    bin_of(edges, *x) as usize
                }
                (_, SetTo::Number(x)) => variable.category(&x.to_string())?,
            };
            let to = match range.len() {
                0 => None,
                1 => (category == 1).then_some(range.start),
                _ => Some(range.start + category as u32),
            };
            let categories = variable.categories().unwrap_or_default();
            (
                categories[category].clone(),
                vec![Step::Category { start: range.start, end: range.end, to }],
            )
        }
    };
    Ok(ColumnChange { name: format!("{column} := {shown}"), column, steps })
}

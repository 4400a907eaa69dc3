//! What is done to a table's columns before a model sees them, as a user writes it.
//!
//! The steps are fitted to training rows by [`Encoder::fit`](crate::Encoder::fit). As part of a
//! problem file:
//!
//! ```
//! # let spec: feasible_data::Preprocessing = toml::from_str(r#"
//! drop = ["fnlwgt", "relationship"]
//! missing = "reject"
//!
//! [group.race]
//! Other = ["Other", "Amer-Indian-Eskimo"]
//!
//! [bin]
//! age = { quantiles = 6 }
//! hours-per-week = { edges = [40] }
//! # "#)?;
//! # assert_eq!(spec.bin["age"], feasible_data::Bins::quantiles(6));
//! # Ok::<(), toml::de::Error>(())
//! ```
//!
//! | key | default | meaning |
//! | --- | --- | --- |
//! | `columns` | all | the columns to use, in this order |
//! | `drop` | none | columns not to use |
//! | `categorical` | none | columns that are categories though their cells are numbers, dates or names of rows |
//! | `group` | none | per column: new category = the old categories it stands for |
//! | `categories` | those in the training rows, sorted | per column: its categories, in this order |
//! | `rare` | 0 | categories in fewer training rows than this become `(other)` |
//! | `bin` | none | per column: `{ quantiles = k }` or `{ edges = […], labels = […] }` |
//! | `standardise` | true | subtract mean, divide by standard deviation: all, none or a list |
//! | `piecewise` | false | [piecewise linear](crate::encoder::piecewise) instead: all, none, a list, or `"auto"`: those with a long tail or a value of many rows |
//! | `missing` | `reject` | or `category`: its own category; `impute`: median or most frequent category |
//! | `missing_in` | none | the same for single columns |
//! | `unseen` | `error` | or `other`: what to do with categories that training rows do not have |
//! | `max_categories` | 1000 | of more categories the most frequent are kept, the others become `(other)` |
//! | `dates` | true | columns of dates become numbers and cycles: all, none or a list |
//!
//! Text that is different in nearly every row names the rows and is left out. Columns named under `categorical`,
//! `group`, `categories` or `columns` are categories whatever their cells look like.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The steps from columns to model inputs. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Preprocessing {
    /// The columns to use, in this order. Default all, in the table's order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// Columns not to use.
    pub drop: Vec<String>,
    /// Columns that are categories though their cells are numbers, dates, or different in every row.
    pub categorical: Vec<String>,
    /// Column → new category → the old categories it stands for. Categories not named stay.
    pub group: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    /// Column → its categories after grouping, in order, whether training rows have them or not.
    pub categories: BTreeMap<String, Vec<String>>,
    /// Categories in fewer training rows than this become the category `(other)`. Default 0.
    pub rare: usize,
    /// Numeric columns cut into intervals.
    pub bin: BTreeMap<String, Bins>,
    /// Which numeric columns to scale to mean 0 and standard deviation 1. Default all.
    pub standardise: Standardise,
    /// Which numeric columns to make piecewise linear instead. Default none.
    pub piecewise: Piecewise,
    /// What to do with missing cells. Default reject.
    pub missing: Missing,
    /// The same for single columns.
    pub missing_in: BTreeMap<String, Missing>,
    /// What to do with a category that the training rows do not have. Default error.
    pub unseen: Unseen,
    /// Of a column with more categories the most frequent are kept and the others become `(other)`. Default 1000.
    pub max_categories: usize,
    /// Which columns of dates become numbers and cycles. Default all.
    pub dates: Dates,
}

impl Default for Preprocessing {
    fn default() -> Self {
        Self {
            columns: None,
            drop: Vec::new(),
            categorical: Vec::new(),
            group: BTreeMap::new(),
            categories: BTreeMap::new(),
            rare: 0,
            bin: BTreeMap::new(),
            standardise: Standardise::All(true),
            piecewise: Piecewise::All(false),
            missing: Missing::Reject,
            missing_in: BTreeMap::new(),
            unseen: Unseen::Error,
            max_categories: 1000,
            dates: Dates::All(true),
        }
    }
}

/// How a numeric column is cut: by quantiles of the training rows, or at given edges.
///
/// Intervals are closed on the right: edges 24 and 31 make x ≤ 24, 24 < x ≤ 31 and x > 31.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bins {
    /// Number of bins with about as many training rows each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantiles: Option<usize>,
    /// Edges, ascending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edges: Option<Vec<f64>>,
    /// Names of the bins, one more than edges. By default `<= 24`, `(24, 31]`, `> 31`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
}

impl Bins {
    /// `k` bins by quantiles.
    pub fn quantiles(k: usize) -> Self {
        Self { quantiles: Some(k), ..Self::default() }
    }

    /// Bins between given edges.
    pub fn edges(edges: &[f64]) -> Self {
        Self { edges: Some(edges.to_vec()), ..Self::default() }
    }

    /// The same bins, named.
    #[must_use]
    pub fn labelled(mut self, labels: &[&str]) -> Self {
        self.labels = Some(labels.iter().map(ToString::to_string).collect());
        self
    }
}

/// Which numeric columns to standardise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Standardise {
    /// All that are not binned, or none.
    All(bool),
    /// These.
    Only(Vec<String>),
}

/// Which numeric columns to make piecewise linear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "give true, false, \"auto\" or a list of columns")]
pub enum Piecewise {
    /// All that are not binned, or none.
    All(bool),
    /// Of those that would be standardised, the ones that suit it.
    Rule(PiecewiseRule),
    /// These.
    Only(Vec<String>),
}

impl Piecewise {
    /// `"auto"`.
    pub const AUTO: Self = Self::Rule(PiecewiseRule::Auto);
}

/// How columns that suit it are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PiecewiseRule {
    /// A long tail, or a value of many rows: see [`piecewise`](crate::encoder::piecewise).
    Auto,
}

/// Which columns of dates become numbers and cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Dates {
    /// All whose cells are dates, or none.
    All(bool),
    /// These.
    Only(Vec<String>),
}

/// What to do with missing cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// An error that says where.
    #[default]
    Reject,
    /// A category of its own, `(missing)`; for a number, its mean and an indicator `x is missing`. Where no training row
    /// lacks the cell, new rows that do get the mean, or no category at all, as with [`Unseen::Other`].
    Category,
    /// The median of a number, the most frequent category of a categorical column, in the training rows.
    Impute,
}

/// What to do with a category that the training rows do not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unseen {
    /// An error that says where.
    #[default]
    Error,
    /// The category `(other)` if the column has it (see `rare` and `categories`); otherwise no category at
    /// all, every indicator 0. A column with two categories has one indicator only, so there the more
    /// frequent category is taken.
    Other,
}

/// The category that missing cells become under [`Missing::Category`].
pub const MISSING_CATEGORY: &str = "(missing)";
/// The category that rare categories, and unseen ones, become.
pub const OTHER_CATEGORY: &str = "(other)";

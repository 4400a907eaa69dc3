//! `[data]`: where the samples come from and how they are prepared.
//!
//! | key | default | meaning |
//! | --- | --- | --- |
//! | `source` | none | an embedded data set, whose target, preparation and split are the defaults |
//! | `directory` | none | read the set's original files from here |
//! | `folder` | none | a folder of PNG or JPEG images by class |
//! | `per_class` | 100 for validation of known sets | images of each class: `{ train, validation, test }` |
//! | `augment` | none | training images are mirrored and moved: `{ mirror, pad, seed }` |
//! | `file` | none | one table, split by `split` or `split_by`: a file, a directory of tables, or a pattern (`people/*.parquet`) |
//! | `train`, `validation`, `test` | none | tables that are split by file |
//! | `format` | read from the file | how text tables are written |
//! | `limits` | [see there](feasible_data::limits) | how large files may be |
//! | `store` | `memory`; `disk` where the tables would not fit | where rows are kept while a model is trained |
//! | `target`, `positive`, `target_group`, `task` | | what is predicted; a list of targets is several numbers |
//! | `weight` | none | a column of numbers above 0: what a row weighs in the objective |
//! | `rows` | all | an expression: which rows are used at all |
//! | `split` | 80 % train, 20 % test | fractions and a seed |
//! | `split_by` | none | a column whose categories say which part a row is in |
//! | others | | see [`feasible_data::Preprocessing`] |

use std::collections::BTreeMap;
use std::path::PathBuf;

use feasible_data::image::Augmentation;
use feasible_data::{
    Bins, ByColumn, Dates, Format, ImageSet, Limits, Missing, Piecewise, Preprocessing,
    Standardise, TargetColumns, Task, Unseen,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::labels;
use crate::schema;
use crate::store::Store;

/// `[data]`. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DataSpec {
    /// The name of a data set: `adult`, `compas`, or one of images, `fashion-mnist-sample`,
    /// `fashion-mnist`, `mnist`, `cifar-10`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// A directory with the set's original files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// A folder of PNG or JPEG images by class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Images of each class in every part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_class: Option<PerClassSpec>,
    /// One table: a file, a directory of tables, or a pattern (`people/*.parquet`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// How training images are moved about, anew in every epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::augmentation")]
    pub augment: Option<Augmentation>,
    /// A table to train on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train: Option<PathBuf>,
    /// A table to choose the model by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<PathBuf>,
    /// A table to judge by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<PathBuf>,
    /// The column to predict, or a list of columns of numbers that are predicted together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::target")]
    pub target: Option<TargetColumns>,
    /// The class that recall, precision and other rates are about, of two. They need it, unless the classes are 0 and 1, −1 and 1, false and true, or no and yes.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "labels::one")]
    #[schemars(schema_with = "schema::label")]
    pub positive: Option<String>,
    /// Classes or a number; by default what the column is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::task")]
    pub task: Option<Task>,
    /// A column of numbers above 0: what each row weighs in the objective. It is no input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// An expression: the rows to use at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<String>,
    /// The columns to use, in this order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// Columns not to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop: Option<Vec<String>>,
    /// Columns that are categories though their cells are numbers, dates, or different in every row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub categorical: Option<Vec<String>>,
    /// Categories in fewer training rows than this become `(other)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rare: Option<usize>,
    /// Which numeric columns to scale to mean 0 and standard deviation 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::standardise")]
    pub standardise: Option<Standardise>,
    /// Which numeric columns to make piecewise linear between quantiles instead. Default `auto` for networks: those with a
    /// long tail or a value of many rows; with `kind = "auto"` only if networks of a small table are better with that on rows that they have not seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::piecewise")]
    pub piecewise: Option<Piecewise>,
    /// What to do with missing cells: `reject`, `category` or `impute`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::missing")]
    pub missing: Option<Missing>,
    /// What to do with categories that training rows do not have: `error` or `other`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::unseen")]
    pub unseen: Option<Unseen>,
    /// Of a column with more categories the most frequent are kept and the others become `(other)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_categories: Option<usize>,
    /// Which columns of dates become numbers and cycles: all (true), none (false), or a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::standardise")]
    pub dates: Option<Dates>,
    /// New class → the old categories of the target it stands for.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "labels::lists")]
    #[schemars(schema_with = "schema::lists")]
    pub target_group: Option<BTreeMap<String, Vec<String>>>,
    /// Column → new category → the old categories it stands for.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "labels::groups")]
    #[schemars(schema_with = "schema::groups")]
    pub group: Option<BTreeMap<String, BTreeMap<String, Vec<String>>>>,
    /// Column → its categories, in order.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "labels::lists")]
    #[schemars(schema_with = "schema::lists")]
    pub categories: Option<BTreeMap<String, Vec<String>>>,
    /// Numeric columns cut into intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::bins")]
    pub bin: Option<BTreeMap<String, Bins>>,
    /// What to do with missing cells of single columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::missing_in")]
    pub missing_in: Option<BTreeMap<String, Missing>>,
    /// How text tables are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::format")]
    pub format: Option<Format>,
    /// How large files may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::limits")]
    pub limits: Option<Limits>,
    /// Where rows are kept while a model is trained: `memory`, or `disk` for tables larger than memory. Default `disk` where the
    /// tables would take more memory than is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<Store>,
    /// Fractions of the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitSpec>,
    /// A column that says which part a row is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::by_column")]
    pub split_by: Option<ByColumn>,
}

/// Fractions of the rows of one table; of the training rows where tables are split by file (then
/// only `validation` and the seed apply).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SplitSpec {
    /// Default what the others leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train: Option<f64>,
    /// Default: the recipe `feasible` takes a share of the training rows, 20 % of up to 20,000 and 10 % of more; else 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// Default 0.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<f64>,
    /// Default 0.
    pub seed: u64,
    /// A column whose categories have about the same share in every part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stratify: Option<String>,
}

/// How many images of each class are used, drawn by a seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PerClassSpec {
    /// The largest number to train on. Default all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train: Option<usize>,
    /// Training images kept for validation. Default 100 of known sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<usize>,
    /// The largest number to test on. Default all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<usize>,
    /// Default 0.
    pub seed: u64,
}

impl DataSpec {
    /// Whether it speaks of images.
    pub fn is_images(&self) -> bool {
        let known = |name: &String| ImageSet::all().iter().any(|set| set.name == name);
        self.folder.is_some() || self.source.as_ref().is_some_and(known)
    }

    /// The preprocessing, keys that are not given taken from `default`.
    pub fn preprocessing(&self, default: &Preprocessing) -> Preprocessing {
        let default = default.clone();
        Preprocessing {
            columns: self.columns.clone().or(default.columns),
            drop: self.drop.clone().unwrap_or(default.drop),
            categorical: self.categorical.clone().unwrap_or(default.categorical),
            group: self.group.clone().unwrap_or(default.group),
            categories: self.categories.clone().unwrap_or(default.categories),
            rare: self.rare.unwrap_or(default.rare),
            bin: self.bin.clone().unwrap_or(default.bin),
            standardise: self.standardise.clone().unwrap_or(default.standardise),
            piecewise: self.piecewise.clone().unwrap_or(default.piecewise),
            missing: self.missing.unwrap_or(default.missing),
            missing_in: self.missing_in.clone().unwrap_or(default.missing_in),
            unseen: self.unseen.unwrap_or(default.unseen),
            max_categories: self.max_categories.unwrap_or(default.max_categories),
            dates: self.dates.clone().unwrap_or(default.dates),
        }
    }

    /// Writes a preprocessing into the keys.
    pub(crate) fn set_preprocessing(&mut self, p: &Preprocessing) {
        let p = p.clone();
        self.columns = p.columns;
        self.drop = Some(p.drop);
        self.categorical = Some(p.categorical);
        self.group = Some(p.group);
        self.categories = Some(p.categories);
        self.rare = Some(p.rare);
        self.bin = Some(p.bin);
        self.standardise = Some(p.standardise);
        self.piecewise = Some(p.piecewise);
        self.missing = Some(p.missing);
        self.missing_in = Some(p.missing_in);
        self.unseen = Some(p.unseen);
        self.max_categories = Some(p.max_categories);
        self.dates = Some(p.dates);
    }
}

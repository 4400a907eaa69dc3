//! What is to be predicted: a class or a number, from a column of the table; or several numbers, from as many columns.
//!
//! Two classes are numbered so that the positive category is class 1; without one,
//! and with more classes, categories are numbered in sorted order (as numbers if all are numbers). A
//! numeric column is a number to predict unless it has a positive category, `task = "classify"`, only two
//! values, or labels for values: at most [`MOST_LABELS`] different whole numbers, each in at least
//! [`LEAST_ROWS`] rows. [`TargetSpec::decide`] says which, and why where one may doubt it.
//!
//! ```
//! use feasible::Targets;
//! use feasible_data::{Format, Table, TargetEncoder, TargetSpec};
//! let csv = b"age,income\n41,<=50K\n38,>50K\n";
//! let table = Table::from_bytes("people.csv", csv, &Format::default())?;
//! let spec = TargetSpec::new("income").positive(">50K");
//! let target = TargetEncoder::fit(&table, &[0, 1], &spec)?;
//! assert_eq!(target.classes(), Some(["<=50K".to_string(), ">50K".to_string()].as_slice()));
//! assert_eq!(target.transform(&table, &[1, 0])?, Targets::Classes(vec![1, 0]));
//! # Ok::<(), feasible_data::Error>(())
//! ```
//!
//! Of several numbers each is a [`TargetCoordinate`], with its deviation on the training rows, in which losses of all of them
//! together count it.

use std::collections::BTreeMap;

use feasible::{Targets, Vectors};
use serde::{Deserialize, Serialize};

use crate::codes::Codes;
use crate::column::{Categories, Cells, MISSING};
use crate::encoder::as_categories;
use crate::error::{Error, Result, shown};
use crate::nearest::nearest;
use crate::table::Table;

/// The most different whole numbers that are taken for labels of classes.
pub const MOST_LABELS: usize = 10;
/// The rows in which each of them must occur.
pub const LEAST_ROWS: usize = 5;
/// Up to this many different whole numbers, that they are not taken for labels is worth a note.
const DOUBTFUL: usize = 50;

/// The columns to predict, as a user writes them: `"price"`, or `["x", "y"]`, several numbers together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected the name of a column, or a list of names")]
pub enum TargetColumns {
    /// One.
    One(String),
    /// A list.
    Several(Vec<String>),
}

impl TargetColumns {
    /// Their names.
    pub fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

/// The target as a user writes it. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// The column, or the first of several.
    pub column: String,
    /// The other columns, of numbers as the first, where several are predicted together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// The category that is class 1, where there are two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<String>,
    /// New category → the old categories it stands for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub group: BTreeMap<String, Vec<String>>,
    /// Classes or a number; by default what the column is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Task>,
}

/// What kind of thing is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// One of several classes.
    Classify,
    /// A number.
    Regress,
}

impl TargetSpec {
    /// A column, all else by default.
    pub fn new(column: &str) -> Self {
        let column = column.to_string();
        let others = Vec::new();
        Self { column, others, positive: None, group: BTreeMap::new(), task: None }
    }

    /// Several columns of numbers, predicted together.
    #[must_use]
    pub fn and(mut self, others: &[String]) -> Self {
        self.others.extend_from_slice(others);
        self
    }

    /// The category that is class 1.
    #[must_use]
    pub fn positive(mut self, category: &str) -> Self {
        self.positive = Some(category.to_string());
        self
    }

    /// Whether these rows' targets are classes or numbers; where that was decided by counting whole numbers,
    /// also a sentence that says so and how to choose otherwise.
    ///
    /// ```
    /// use feasible_data::{Column, Table, TargetSpec, Task};
    /// let labels = (0..30).map(|i| f64::from(i % 3)).collect();
    /// let table = Table::new("iris", vec![Column::numbers("species", labels)])?;
    /// let (task, note) = TargetSpec::new("species").decide(&table, &table.all_rows())?;
    /// assert_eq!(task, Task::Classify);
    /// assert_eq!(
    ///     note.unwrap(),
    ///     "target 'species': its 3 whole numbers (0, 1, 2) are taken for classes; task = \"regress\" \
    ///      under [data] predicts a number"
    /// );
    /// # Ok::<(), feasible_data::Error>(())
    /// ```
    ///
    /// # Errors
    /// An unknown column; numbers that were taken for text because of a few cells, or because of how they are written.
    pub fn decide(&self, table: &Table, rows: &[u32]) -> Result<(Task, Option<String>)> {
        let column = table.column(&self.column)?;
        if !self.others.is_empty() {
            return Ok((self.task.unwrap_or(Task::Regress), None));
        }
        if let Some(task) = self.task {
            return Ok((task, None));
        }
        if self.positive.is_some() || !self.group.is_empty() {
            return Ok((Task::Classify, None));
        }
        let Cells::Numbers(values) = &column.cells else {
            return match meant_as_numbers(table, &self.column)? {
                Some(error) => Err(error),
                None => Ok((Task::Classify, None)),
            };
        };
        let mut counts: Vec<(f64, usize)> = Vec::new();
        for x in rows.iter().map(|&row| values.get(row as usize)).filter(|x| !x.is_nan()) {
            match counts.iter_mut().find(|(known, _)| *known == x) {
                Some((_, count)) => *count += 1,
                None => counts.push((x, 1)),
            }
            if counts.len() > DOUBTFUL {
                return Ok((Task::Regress, None));
            }
        }
        if counts.len() <= 2 {
            return Ok((Task::Classify, None));
        }
        if counts.iter().any(|(x, _)| x.fract() != 0.0) {
            return Ok((Task::Regress, None));
        }
        counts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let column = shown(&self.column);
        let count = counts.len();
        let rarest = counts.iter().min_by_key(|(_, count)| *count);
        Ok(match rarest {
            _ if count > MOST_LABELS => {
                let note = format!(
                    "target '{column}': its {count} whole numbers are predicted as a number; \
                     task = \"classify\" under [data] makes them classes"
                );
                (Task::Regress, Some(note))
            }
            Some((x, rows)) if *rows < LEAST_ROWS => {
                let rows = if *rows == 1 { "one row".to_string() } else { format!("{rows} rows") };
                let note = format!(
                    "target '{column}': its {count} whole numbers are predicted as a number, because {x} \
                     is in {rows} only; task = \"classify\" under [data] makes them classes"
                );
                (Task::Regress, Some(note))
            }
            _ => {
                let values: Vec<String> = counts.iter().map(|(x, _)| x.to_string()).collect();
                let note = format!(
                    "target '{column}': its {count} whole numbers ({}) are taken for classes; \
                     task = \"regress\" under [data] predicts a number",
                    values.join(", ")
                );
                (Task::Classify, Some(note))
            }
        })
    }
}

/// A fitted target. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetEncoder {
    column: String,
    /// Class 0, 1, …; `None` for a number.
    classes: Option<Vec<String>>,
    /// Old category → the class it is grouped into.
    #[serde(default)]
    groups: BTreeMap<String, String>,
    /// Where several numbers are predicted, all of them; the first is that of `column`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    coordinates: Vec<TargetCoordinate>,
}

/// One of several numbers that are predicted together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetCoordinate {
    /// The column.
    pub column: String,
    /// Its standard deviation on the training rows; 1 if it never changes.
    pub deviation: f64,
}

/// Mean and standard deviation of some numbers; the deviation is 1 where it is but rounding of the mean.
pub fn moments(values: impl Iterator<Item = f32> + Clone) -> (f64, f64) {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().map(|y| f64::from(y) / count).sum::<f64>();
    let squares = values.map(|y| (f64::from(y) - mean).powi(2) / count).sum::<f64>();
    let deviation = squares.sqrt();
    let varies = deviation > 1e-12 * mean.abs() && deviation.is_normal();
    (mean, if varies { deviation } else { 1.0 })
}

/// Deviations by which numbers can be divided in single precision, and the quotients squared.
const DEVIATIONS: std::ops::RangeInclusive<f64> = 1e-18..=1e18;

impl TargetEncoder {
    /// Fits the target to training rows.
    ///
    /// # Errors
    /// An unknown column or category, a missing target, only one class, or a positive category where
    /// there are more than two classes.
    pub fn fit(table: &Table, rows: &[u32], spec: &TargetSpec) -> Result<Self> {
        let column = table.column(&spec.column)?;
        if rows.is_empty() {
            let reason = "there are no rows to fit the target on: check the split".to_string();
            return Err(Error::Nothing { what: "training rows".into(), reason });
        }
        let wrong = |reason: String| Error::Preprocessing {
            step: "target".into(),
            column: spec.column.clone(),
            reason,
        };
        let (task, _) = spec.decide(table, rows)?;
        if !spec.others.is_empty() {
            return Self::fit_several(table, rows, spec, task);
        }
        let coordinates = Vec::new();
        if task == Task::Regress {
            if spec.positive.is_some() || !spec.group.is_empty() {
                return Err(wrong("a number to predict has no positive category or groups".into()));
            }
            let (column, groups) = (spec.column.clone(), BTreeMap::new());
            let fitted = Self { column, classes: None, groups, coordinates };
            fitted.transform(table, rows)?;
            return match vary(table, &spec.column, rows)? {
                Some(_) => Ok(fitted),
                None => Err(always(table, &spec.column, rows)),
            };
        }
        let source = as_categories(&column.cells);
        let groups = groups(spec, &source)?;
        let mut used = vec![false; source.names.len()];
        for &row in rows {
            match source.codes.get(row as usize) {
                MISSING => {
                    let place = table.place(row as usize, &spec.column);
                    return Err(Error::MissingTarget { place });
                }
                code => used[code as usize] = true,
            }
        }
        let mut names: Vec<String> = Vec::new();
        for (category, _) in source.names.iter().zip(used).filter(|(_, used)| *used) {
            let class = groups.get(category).unwrap_or(category);
            if !names.contains(class) {
                names.push(class.clone());
            }
            if names.len() > 1000 {
                let hint = "a number to predict is task = \"regress\"";
                return Err(wrong(format!("more than 1000 classes: {hint}")));
            }
        }
        let mut classes = Categories::sorted(names, Codes::default()).names;
        if let Some(positive) = &spec.positive {
            let positive = &as_written(positive, &column.cells);
            let class = |name| groups.get(name).unwrap_or(name);
            if !classes.contains(positive)
                && source.names.iter().any(|name| class(name) == positive)
            {
                return Err(Error::NoPositive {
                    column: spec.column.clone(),
                    category: positive.clone(),
                    rows: rows.len(),
                });
            }
            if !classes.contains(positive) {
                return Err(Error::UnknownCategory {
                    column: spec.column.clone(),
                    category: positive.clone(),
                    nearest: nearest(positive, classes.iter().map(String::as_str)),
                    known: classes,
                });
            }
            if classes.len() > 2 {
                let names = classes.join(", ");
                let hint = "group the others into one";
                return Err(wrong(format!(
                    "a positive category, but the classes are {names}: {hint}"
                )));
            }
            classes.sort_by_key(|class| class == positive);
        }
        if let [category] = classes.as_slice() {
            return Err(Error::OneClass {
                column: spec.column.clone(),
                category: category.clone(),
            });
        }
        Ok(Self { column: spec.column.clone(), classes: Some(classes), groups, coordinates })
    }

    /// As [`TargetEncoder::fit`], of several numbers.
    fn fit_several(table: &Table, rows: &[u32], spec: &TargetSpec, task: Task) -> Result<Self> {
        let wrong = |column: &str, reason: String| {
            let (step, column) = ("target".into(), column.to_string());
            Err(Error::Preprocessing { step, column, reason })
        };
        if task == Task::Classify || spec.positive.is_some() || !spec.group.is_empty() {
            let reason = "several columns are predicted, so each is a number: leave out the positive category, groups \
                          and task = \"classify\", or predict one column";
            return wrong(&spec.column, reason.into());
        }
        let mut coordinates: Vec<TargetCoordinate> = Vec::new();
        let mut any_varies = false;
        for column in std::iter::once(&spec.column).chain(&spec.others) {
            if coordinates.iter().any(|known| known.column == *column) {
                return wrong(column, "it is named twice: predict it once".into());
            }
            let values = numbers(table, column, rows)?;
            any_varies |= vary(table, column, rows)?.is_some();
            let (_, deviation) = moments(values.into_iter());
            if !DEVIATIONS.contains(&deviation) {
                let reason = format!(
                    "its standard deviation on the training rows is {deviation:e}: give it in other units"
                );
                return wrong(column, reason);
            }
            coordinates.push(TargetCoordinate { column: column.clone(), deviation });
        }
        if !any_varies {
            return Err(always(table, &spec.column, rows));
        }
        let (column, groups) = (spec.column.clone(), BTreeMap::new());
        Ok(Self { column, classes: None, groups, coordinates })
    }

    /// The classes of a column in an order of their own, that of an image set's labels.
    pub fn of_classes(column: &str, classes: Vec<String>) -> Self {
        let (groups, coordinates) = (BTreeMap::new(), Vec::new());
        Self { column: column.to_string(), classes: Some(classes), groups, coordinates }
    }

    /// The source column; the first of several.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// The source columns: one, or one for each number.
    pub fn columns(&self) -> Vec<&str> {
        match self.coordinates.is_empty() {
            true => vec![&self.column],
            false => self.coordinates.iter().map(|of| of.column.as_str()).collect(),
        }
    }

    /// The numbers that are predicted together; none where one number or a class is predicted.
    pub fn coordinates(&self) -> &[TargetCoordinate] {
        &self.coordinates
    }

    /// Whether the parts of a target that was read fit together; if not, why.
    ///
    /// # Errors
    /// The reason, about "its target".
    pub fn check(&self) -> Result<(), String> {
        let of = &self.coordinates;
        let Some(first) = of.first() else { return Ok(()) };
        let named = |at: usize| of[..at].iter().any(|other| other.column == of[at].column);
        if self.classes.is_some() || of.len() < 2 || first.column != self.column {
            return Err(
                "its target is a class, one number or several, and this is none of them".into()
            );
        }
        if let Some(at) = (0..of.len()).find(|&at| named(at)) {
            return Err(format!("its target has the column '{}' twice", shown(&of[at].column)));
        }
        match of.iter().find(|of| !DEVIATIONS.contains(&of.deviation)) {
            Some(of) => Err(format!(
                "its target '{}' has the deviation {:e}, which no number can be divided by",
                shown(&of.column),
                of.deviation
            )),
            None => Ok(()),
        }
    }

    /// The classes 0, 1, …; `None` if a number is predicted.
    pub fn classes(&self) -> Option<&[String]> {
        self.classes.as_deref()
    }

    /// Whether the second of two classes is the positive one by its name: 1 beside 0 or −1, true beside false, yes
    /// beside no.
    ///
    /// ```
    /// use feasible_data::{Format, Table, TargetEncoder, TargetSpec};
    /// let of = |csv: &[u8]| -> Result<bool, feasible_data::Error> {
    ///     let table = Table::from_bytes("t.csv", csv, &Format::default())?;
    ///     Ok(TargetEncoder::fit(&table, &[0, 1], &TargetSpec::new("y"))?.implies_positive())
    /// };
    /// assert!(of(b"y\n0\n1\n")? && of(b"y\nNo\nYes\n")?);
    /// assert!(!of(b"y\ncase\ncontrol\n")?);
    /// # Ok::<(), feasible_data::Error>(())
    /// ```
    pub fn implies_positive(&self) -> bool {
        let Some([negative, positive]) = self.classes() else { return false };
        match negative.parse::<f64>().ok().zip(positive.parse::<f64>().ok()) {
            Some((low, high)) => high == 1.0 && (low == 0.0 || low == -1.0),
            None => {
                let pair = (negative.to_lowercase(), positive.to_lowercase());
                matches!((&pair.0[..], &pair.1[..]), ("false", "true") | ("no", "yes"))
            }
        }
    }

    /// The categories of the column that stand for classes, groups written out; `None` if a number is predicted.
    pub fn categories(&self) -> Option<Vec<&str>> {
        let classes = self.classes.as_ref()?.iter();
        Some(classes.chain(self.groups.keys()).map(String::as_str).collect())
    }

    /// The targets of rows, in the order given.
    ///
    /// # Errors
    /// A missing target, a class the training rows do not have, or text for a number.
    pub fn transform(&self, table: &Table, rows: &[u32]) -> Result<Targets> {
        if !self.coordinates.is_empty() {
            let columns = self.coordinates.iter().map(|of| numbers(table, &of.column, rows));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let row = |at: usize| columns.iter().map(move |values| values[at]);
            let values = (0..rows.len()).flat_map(row).collect();
            return Ok(Targets::Vectors(Vectors::new(values, columns.len())?));
        }
        let column = table.column(&self.column)?;
        let missing = |row| Error::MissingTarget { place: table.place(row, &self.column) };
        let Some(classes) = &self.classes else {
            return Ok(Targets::Values(numbers(table, &self.column, rows)?));
        };
        let source = as_categories(&column.cells);
        let class = |category: &String| {
            let category = self.groups.get(category).unwrap_or(category);
            classes.iter().position(|class| class == category)
        };
        let to: Vec<Option<usize>> = source.names.iter().map(class).collect();
        let class = |&row: &u32| match source.codes.get(row as usize) {
            MISSING => Err(missing(row as usize)),
            code => match to[code as usize] {
                Some(class) => Ok(class as u32),
                None => Err(Error::UnseenClass {
                    place: table.place(row as usize, &self.column),
                    category: source.names[code as usize].clone(),
                    known: classes.clone(),
                }),
            },
        };
        Ok(Targets::Classes(rows.iter().map(class).collect::<Result<_>>()?))
    }
}

/// What is wrong with a column of text that was meant as one of numbers.
fn meant_as_numbers(table: &Table, name: &str) -> Result<Option<Error>> {
    Ok(match table.stray(name)? {
        None => table.signed_numbers(name)?,
        stray => stray,
    })
}

/// The numbers of a column in some rows.
fn numbers(table: &Table, name: &str, rows: &[u32]) -> Result<Vec<f32>> {
    let values = match &table.column(name)?.cells {
        Cells::Numbers(values) => values,
        Cells::Categories(source) => {
            if let Some(error) = meant_as_numbers(table, name)? {
                return Err(error);
            }
            let found = match &source.mixed {
                Some(of) => format!("categorical, because of '{}' on line {}", of.value, of.line),
                None => "categorical".to_string(),
            };
            return Err(Error::Kind {
                column: name.to_string(),
                found,
                needed: "a number is to be predicted: correct it, or task = \"classify\"".into(),
            });
        }
    };
    let number = |&row: &u32| match values.get(row as usize) {
        x if x.is_nan() => Err(Error::MissingTarget { place: table.place(row as usize, name) }),
        x if !(x as f32).is_finite() => {
            Err(Error::TooLarge { place: table.place(row as usize, name), value: x })
        }
        x => Ok(x as f32),
    };
    rows.iter().map(number).collect()
}

/// The largest share of the standard deviation that rounding numbers to single precision may change them by.
const MOST_ROUNDED: f64 = 1e-3;

/// The standard deviation of a numeric column in the training rows, each of which has a number; `None` where all are the same.
///
/// Targets are kept in single precision. Rows that are evaluated later need no check: where a target is larger than all
/// of the training rows', it is far from what the model predicts, and the difference keeps its leading digits.
///
/// # Errors
/// Numbers so much larger than their spread that rounding them would change a loss.
fn vary(table: &Table, name: &str, rows: &[u32]) -> Result<Option<f64>> {
    let Cells::Numbers(values) = &table.column(name)?.cells else { return Ok(None) };
    let Some(first) = rows.first().map(|&row| values.get(row as usize)) else { return Ok(None) };
    let count = rows.len() as f64;
    // Without what they have in common, which would take digits from the squares.
    let rest = || rows.iter().map(|&row| values.get(row as usize) - first);
    if rest().all(|x| x == 0.0) {
        return Ok(None);
    }
    let mean = rest().map(|x| x / count).sum::<f64>();
    let deviation = rest().map(|x| (x - mean).powi(2) / count).sum::<f64>().sqrt();
    let largest = rows.iter().map(|&row| values.get(row as usize).abs()).fold(0.0, f64::max);
    if largest * 2_f64.powi(-24) <= MOST_ROUNDED * deviation {
        return Ok(Some(deviation));
    }
    Err(Error::RoundedTarget {
        column: name.to_string(),
        largest,
        deviation,
        subtract: near(first + mean, deviation),
    })
}

/// That a numeric column is the same number in all of these rows.
fn always(table: &Table, name: &str, rows: &[u32]) -> Error {
    let row = rows.first().map(|&row| row as usize);
    let category = row.and_then(|row| table.column(name).ok()?.text(row)).unwrap_or_default();
    Error::OneClass { column: name.to_string(), category }
}

/// A number with few digits, no farther from `mean` than a few deviations.
fn near(mean: f64, deviation: f64) -> f64 {
    let power = deviation.log10().floor() as i32 + 1;
    let unit = 10_f64.powi(power.abs());
    let near = match power < 0 {
        true => (mean * unit).round() / unit,
        false => (mean / unit).round() * unit,
    };
    if near.is_finite() { near } else { mean }
}

/// A label as the categories of a numeric column are written: `3` for `3.0`.
fn as_written(label: &str, cells: &Cells) -> String {
    match (cells, label.parse::<f64>()) {
        (Cells::Numbers(_), Ok(x)) => (x + 0.0).to_string(),
        _ => label.to_string(),
    }
}

fn groups(spec: &TargetSpec, source: &Categories) -> Result<BTreeMap<String, String>> {
    let mut groups = BTreeMap::new();
    for (new, olds) in &spec.group {
        for old in olds {
            if !source.names.contains(old) {
                return Err(Error::UnknownCategory {
                    column: spec.column.clone(),
                    category: old.clone(),
                    nearest: nearest(old, source.names.iter().map(String::as_str)),
                    known: source.names.clone(),
                });
            }
            groups.insert(old.clone(), new.clone());
        }
    }
    Ok(groups)
}

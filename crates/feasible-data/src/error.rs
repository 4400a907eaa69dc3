//! Data that cannot be used: which file, line and column, what was found, and what to do.

use std::fmt;

use crate::expression::ExpressionError;
use crate::image::ImageError;
use crate::limits::Exceeded;
use crate::nearest::suggestion;
use crate::visible::visible;

/// Where a cell stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellPlace {
    /// The file, as the caller named it.
    pub file: String,
    /// Line of the file, from 1; in a Parquet file the row, from 1.
    pub line: u64,
    /// Name of the column.
    pub column: String,
}

impl fmt::Display for CellPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = visible(&self.file);
        write!(f, "{file}, line {}, column '{}'", self.line, shown(&self.column))
    }
}

/// A value as an error message can show it: hidden characters written out, 60 characters at most.
pub(crate) fn shown(value: &str) -> String {
    let end = value.char_indices().nth(60).map(|(end, _)| end);
    match end {
        Some(end) => format!("{}…", visible(&value[..end])),
        None => visible(value).into_owned(),
    }
}

/// A number to two digits.
fn about(x: f64) -> String {
    let rounded = format!("{x:.1e}").parse().unwrap_or(x);
    match (1e-3..1e6).contains(&rounded) {
        true => rounded.to_string(),
        false => format!("{rounded:e}"),
    }
}

/// What is wrong with a table, or with what was asked of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened, read or decompressed.
    #[error("{}: {source}", visible(.file))]
    Io {
        /// The file.
        file: String,
        /// What the system or the decoder said.
        source: std::io::Error,
    },
    /// Nothing in the file.
    #[error("{} is empty: it needs a header line and at least one row", visible(.file))]
    Empty {
        /// The file.
        file: String,
    },
    /// A header and no rows.
    #[error(
        "{} has a header but no rows; if its first line is data, set header = false", visible(.file)
    )]
    NoRows {
        /// The file.
        file: String,
    },
    /// One name for two columns.
    #[error(
        "{}: columns {first} and {second} are both named '{}': rename one, or read with \
         duplicates = \"number\" to call the second '{}.1'",
        visible(.file), shown(.column), shown(.column)
    )]
    DuplicateColumn {
        /// The file.
        file: String,
        /// The name.
        column: String,
        /// Position of the first, from 1.
        first: usize,
        /// Position of the second, from 1.
        second: usize,
    },
    /// A row with too few or too many cells.
    #[error(
        "{}, line {line}: {found} cells where the table has {expected} columns{hint}", visible(.file)
    )]
    Ragged {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// Columns of the table.
        expected: usize,
        /// Cells of the row.
        found: usize,
        /// The likely reason.
        hint: String,
    },
    /// A NUL byte.
    #[error(
        "{place}: the cell holds a NUL byte; the file is binary, UTF-16 or damaged: save it as UTF-8"
    )]
    Nul {
        /// Where.
        place: CellPlace,
    },
    /// Bytes that are not UTF-8.
    #[error(
        "{place}: '{}' is not UTF-8; convert the file (for example with iconv -f latin1 -t utf8)", shown(.value)
    )]
    NotUtf8 {
        /// Where.
        place: CellPlace,
        /// The cell, with � where it cannot be read.
        value: String,
    },
    /// A weight that is missing, or not above 0.
    #[error(
        "{place}: the weight is {found}: give every row a number above 0, and leave out rows that should not count \
         (`rows`)"
    )]
    Weight {
        /// Where.
        place: CellPlace,
        /// What stands there.
        found: String,
    },
    /// The weight of a class that is not above 0.
    #[error("class '{}' has the weight {weight}: give a number above 0", shown(.class))]
    ClassWeight {
        /// The class.
        class: String,
        /// What it should weigh.
        weight: f64,
    },
    /// Text in a column that was declared numeric.
    #[error("{place}: '{}' is not a number: correct it, or list it under `missing`", shown(.value))]
    NotANumber {
        /// Where.
        place: CellPlace,
        /// The cell.
        value: String,
    },
    /// Text in a column of dates.
    #[error(
        "{place}: '{}' is not a date like 2024-03-31 or 2024-03-31T12:30, unlike the other cells of the column: correct it, list \
         it under the file's `missing`, or name the column under `drop` or `categorical`", shown(.value)
    )]
    NotADate {
        /// Where.
        place: CellPlace,
        /// The cell.
        value: String,
    },
    /// Text in a column of numbers.
    #[error(
        "{place}: '{}' is no number in a column of numbers: correct it, list it under the file's `missing` ([data.format]), or \
         name the column under `drop` or `categorical` (for the target: task = \"classify\")", shown(.value)
    )]
    StrayText {
        /// Where.
        place: CellPlace,
        /// The cell.
        value: String,
    },
    /// Numbers that are written with signs.
    #[error(
        "{place}: '{}' is a number written with {signs}, so that the column is text: take the signs out of its cells \
         (commas between thousands may stay, with thousands = \",\" under [data.format]), or set task = \"classify\" if each is a class",
        shown(.value)
    )]
    SignedNumber {
        /// Where.
        place: CellPlace,
        /// The cell.
        value: String,
        /// The signs: `'$', ','`.
        signs: String,
    },
    /// NaN, infinity or an overflow in a numeric column.
    #[error(
        "{place}: '{}' is not a finite number: list it under `missing`, or declare the column \
         categorical", shown(.value)
    )]
    NotFinite {
        /// Where.
        place: CellPlace,
        /// The cell.
        value: String,
    },
    /// Numbers that may be written with thousands separators.
    #[error(
        "{place}: '{}' looks like a number with a comma: under [data.format], set decimal = \",\" if decimals follow it, thousands = \",\" if it separates \
         thousands, or declare the column categorical", shown(.value)
    )]
    Commas {
        /// Where.
        place: CellPlace,
        /// The cell.
        value: String,
    },
    /// Numbers written with a decimal comma.
    #[error(
        "{place}: '{}' looks like a number with a decimal comma: set decimal = \",\" under [data.format], or declare the column \
         categorical", shown(.value)
    )]
    DecimalComma {
        /// Where.
        place: CellPlace,
        /// The cell.
        value: String,
    },
    /// A number that no `f32` can hold after scaling.
    #[error("{place}: {value} is beyond the range of the model's inputs: correct, bin or drop it")]
    TooLarge {
        /// Where.
        place: CellPlace,
        /// The number.
        value: f64,
    },
    /// A Parquet file that cannot be read.
    #[error("{}: {reason}", visible(.file))]
    Parquet {
        /// The file.
        file: String,
        /// Why, and what to do.
        reason: String,
    },
    /// More than a limit allows. See [`Limits`](crate::Limits).
    #[error(
        "{place}: {what}. If the file is right, raise the limit `{key}`: under [data.limits] in the problem \
         file, or with --read-limit {key}=N"
    )]
    Limit {
        /// The file, and the cell of it if that is what is too large.
        place: String,
        /// What was found, and what is allowed.
        what: String,
        /// The limit.
        key: &'static str,
    },
    /// A reading option that makes no sense.
    #[error("{option}: {reason}")]
    Option {
        /// The option.
        option: String,
        /// What is wrong, and what is allowed.
        reason: String,
    },
    /// No column of this name.
    #[error(
        "{} has no column '{}'{}",
        visible(.table), shown(.column), suggestion(.nearest, .known)
    )]
    UnknownColumn {
        /// The table.
        table: String,
        /// The name asked for.
        column: String,
        /// The closest name there is.
        nearest: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// A column of a kind that is not read.
    #[error(
        "{}: column '{}' holds {holds}, which cannot be read: leave it out with drop = [\"{}\"], or convert it to numbers or text",
        visible(.table), shown(.column), shown(.column)
    )]
    Unread {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// What its cells are.
        holds: String,
    },
    /// A column that is no longer there.
    #[error(
        "column '{}' of {} was freed once it was encoded: read the table again",
        shown(.column), visible(.table)
    )]
    Taken {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// No category of this name in the column.
    #[error(
        "column '{}' has no category '{}'{}", shown(.column), shown(.category), suggestion(.nearest, .known)
    )]
    UnknownCategory {
        /// The column.
        column: String,
        /// The category asked for.
        category: String,
        /// The closest category there is.
        nearest: Option<String>,
        /// All categories.
        known: Vec<String>,
    },
    /// A category that was merged into another.
    #[error(
        "category '{}' of column '{}' is grouped into '{}': name that category instead",
        shown(.category), shown(.column), shown(.group)
    )]
    GroupedCategory {
        /// The column.
        column: String,
        /// The category asked for.
        category: String,
        /// The category it became.
        group: String,
    },
    /// A column of the wrong kind.
    #[error("column '{}' is {found}, but {needed}", shown(.column))]
    Kind {
        /// The column.
        column: String,
        /// What it is.
        found: String,
        /// What it is needed for, and what to do.
        needed: String,
    },
    /// Two columns that cannot stand under one another.
    #[error("{}: {reason}", visible(.file))]
    Concat {
        /// The later file.
        file: String,
        /// Why, and what to do.
        reason: String,
    },
    /// A missing value where none is allowed.
    #[error(
        "{place}: the value is missing: set missing = \"category\", so that the model sees which cells are missing, or \
         \"impute\", or drop the row or column"
    )]
    Missing {
        /// Where.
        place: CellPlace,
    },
    /// A missing target.
    #[error(
        "{place}: the target is missing: delete the row, or exclude it with `rows` under [data]"
    )]
    MissingTarget {
        /// Where.
        place: CellPlace,
    },
    /// A category that the training rows did not have.
    #[error(
        "{place}: category '{}' does not occur in the training rows: correct it, group it, or set \
         unseen = \"other\"", shown(.category)
    )]
    UnseenCategory {
        /// Where.
        place: CellPlace,
        /// The category.
        category: String,
    },
    /// A class that the training rows did not have.
    #[error(
        "{place}: class '{}' does not occur in the training rows: there are {}", shown(.category),
        .known.iter().take(12).map(|class| shown(class)).collect::<Vec<_>>().join(", ")
    )]
    UnseenClass {
        /// Where.
        place: CellPlace,
        /// The class.
        category: String,
        /// The classes.
        known: Vec<String>,
    },
    /// A positive class that is in rows, but in none to train on.
    #[error(
        "the positive class '{}' of column '{}' does not occur in the {rows} training rows, only in others: \
         stratify the split (stratify = \"{}\"), or choose another seed", shown(.category), shown(.column), shown(.column)
    )]
    NoPositive {
        /// The target.
        column: String,
        /// The positive class.
        category: String,
        /// The number of training rows.
        rows: usize,
    },
    /// A target without anything to learn.
    #[error("target '{}' is always '{}' in the training rows: there is nothing to learn", shown(.column), shown(.category))]
    OneClass {
        /// The target.
        column: String,
        /// Its only class.
        category: String,
    },
    /// Numbers to predict that single precision does not tell apart well.
    #[error(
        "target '{}': its values are about {} and differ by about {} in the training rows, but targets are kept to 7 digits, \
         which would change them by up to {}: subtract a constant from the column, for example {subtract}, and predict the rest",
        shown(.column), about(*.largest), about(*.deviation), about(*.largest * f64::from(f32::EPSILON) / 2.0)
    )]
    RoundedTarget {
        /// The target.
        column: String,
        /// The largest of its numbers, without their signs.
        largest: f64,
        /// Their standard deviation.
        deviation: f64,
        /// A number near their mean.
        subtract: f64,
    },
    /// A categorical column with too many categories to make indicators of.
    #[error("column '{}' has {categories} categories in the training rows, more than max_categories = {max}: drop, group or bin it{hint}", shown(.column))]
    TooManyCategories {
        /// The column.
        column: String,
        /// Its categories.
        categories: usize,
        /// The limit.
        max: usize,
        /// Where the first cell that is no number stands, if most are numbers.
        hint: String,
    },
    /// A preprocessing step that cannot be carried out.
    #[error("{step} of column '{}': {reason}", shown(.column))]
    Preprocessing {
        /// The step.
        step: String,
        /// The column.
        column: String,
        /// Why, and what to do.
        reason: String,
    },
    /// No rows to fit to, or no columns to feed a model.
    #[error("{what}: {reason}")]
    Nothing {
        /// What is empty.
        what: String,
        /// Why, and what to do.
        reason: String,
    },
    /// A split that cannot be made.
    #[error("split: {reason}")]
    Split {
        /// Why, and what to do.
        reason: String,
    },
    /// A counterfactual that makes no sense.
    #[error("counterfactual: {reason}")]
    Counterfactual {
        /// Why, and what to do.
        reason: String,
    },
    /// A `where` expression that cannot be read or does not fit the table.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// A saved encoder that cannot be used.
    #[error("saved preprocessing: {reason}")]
    Saved {
        /// Why.
        reason: String,
    },
    /// No embedded data set of this name.
    #[error("no data set is named '{}'{}", shown(.name), suggestion(.nearest, .known))]
    UnknownDataSet {
        /// The name asked for.
        name: String,
        /// The closest name there is.
        nearest: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// Images that cannot be used.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The core refused what was made.
    #[error(transparent)]
    Core(#[from] feasible::Error),
}

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn io(file: &str) -> impl Fn(std::io::Error) -> Error + '_ {
        move |source| match source.get_ref().and_then(|inner| inner.downcast_ref::<Exceeded>()) {
            Some(exceeded) => exceeded.clone().at(visible(file)),
            None => Error::Io { file: file.to_string(), source },
        }
    }
}

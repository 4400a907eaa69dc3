//! How a text table is written, as options with defaults that fit most files.
//!
//! | option | default | meaning |
//! | --- | --- | --- |
//! | `delimiter` | the commonest of `,` tab `;` in the first line | between cells |
//! | `header` | true | the first line names the columns |
//! | `names` | none | column names, instead of (or in place of) a header |
//! | `trim` | true | spaces around a cell are not part of it |
//! | `comment` | none | lines that begin with this character are skipped |
//! | `skip_lines` | 0 | lines skipped before anything else |
//! | `missing` | `[""]` | cells that mean "missing" (`?` is a category unless listed) |
//! | `thousands` | none | character left out of numbers: `,` reads `1,234` as 1234 |
//! | `decimal` | `.` | character before the decimals of a number: `,` reads `1,5` as 1.5 |
//! | `strip_suffix` | none | taken off the end of text cells |
//! | `duplicates` | `reject` | or `number`: a second `x` is called `x.1` |
//! | `columns` | all | the only columns to read |
//! | `kinds` | inferred | kind of a column: `numeric` or `categorical` |
//! | `limits` | [see there](crate::limits) | how large a file may be |
//!
//! The census bureau's own Adult files, for example, have no header, `", "` between cells, a
//! junk first line that begins with `|`, and labels that end in `.`:
//!
//! ```
//! use feasible_data::{Format, Table};
//! let format = Format {
//!     header: false,
//!     names: vec!["age".into(), "income".into()],
//!     comment: Some('|'),
//!     strip_suffix: Some(".".into()),
//!     ..Format::default()
//! };
//! let test = b"|1x3 Cross validator\n25, <=50K.\n28, >50K.\n\n";
//! let table = Table::from_bytes("adult.test", test, &format)?;
//! assert_eq!(table.rows(), 2);
//! assert_eq!(table.column("income")?.text(1), Some(">50K".to_string()));
//! # Ok::<(), feasible_data::Error>(())
//! ```
//!
//! Blank lines are skipped, everywhere; an empty cell of a table of one column is written `""`. Quotes are
//! double quotes, doubled inside; a quoted cell may hold delimiters and line breaks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::column::ColumnKind;
use crate::error::{Error, Result};
use crate::limits::{Exceeded, Limits};

/// How to read a table. See the [module](self). In Parquet files, which say most of this
/// themselves, only `missing`, `strip_suffix`, `duplicates`, `columns` and `kinds` are used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Format {
    /// Character between cells; by default the commonest of comma, tab and semicolon in the
    /// first line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
    /// Whether the first line names the columns. Default true.
    pub header: bool,
    /// Column names for a file without a header, or to replace its header.
    pub names: Vec<String>,
    /// Whether spaces around cells are dropped. Default true.
    pub trim: bool,
    /// Lines that begin with this are skipped. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<char>,
    /// Lines to skip before anything else. Default 0.
    pub skip_lines: usize,
    /// Cells that count as missing. Default the empty cell only.
    pub missing: Vec<String>,
    /// Left out of numbers. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thousands: Option<char>,
    /// Stands before the decimals of a number. Default the point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decimal: Option<char>,
    /// Taken off the end of text cells. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strip_suffix: Option<String>,
    /// What to do with two columns of one name. Default reject.
    pub duplicates: Duplicates,
    /// The only columns to read. Default all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// Kinds of columns, where they should not be inferred.
    pub kinds: BTreeMap<String, ColumnKind>,
    /// Kinds of columns that a file may lack.
    #[serde(skip)]
    pub kinds_if_there: BTreeMap<String, ColumnKind>,
    /// How large a file may be. In a problem file they have a table of their own, `[data.limits]`.
    #[serde(skip_serializing_if = "Limits::is_default")]
    pub limits: Limits,
}

impl Default for Format {
    fn default() -> Self {
        Self {
            delimiter: None,
            header: true,
            names: Vec::new(),
            trim: true,
            comment: None,
            skip_lines: 0,
            missing: vec![String::new()],
            thousands: None,
            decimal: None,
            strip_suffix: None,
            duplicates: Duplicates::Reject,
            columns: None,
            kinds: BTreeMap::new(),
            kinds_if_there: BTreeMap::new(),
            limits: Limits::default(),
        }
    }
}

/// What to do when two columns have one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Duplicates {
    /// An error.
    #[default]
    Reject,
    /// The second `x` becomes `x.1`, the third `x.2`.
    Number,
}

impl Format {
    /// The option's character as the one byte the reader needs.
    pub(crate) fn byte(option: &str, c: char) -> Result<u8> {
        match u8::try_from(c) {
            Ok(byte) if byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | b'"' | 0) => Ok(byte),
            _ => Err(Error::Option {
                option: option.to_string(),
                reason: format!(
                    "{c:?} cannot be used: give one ASCII character other than a quote or line break"
                ),
            }),
        }
    }

    /// The kind that a column is declared to be of.
    pub(crate) fn kind_of(&self, column: &str) -> Option<ColumnKind> {
        self.kinds.get(column).or_else(|| self.kinds_if_there.get(column)).copied()
    }

    pub(crate) fn is_missing(&self, cell: &[u8]) -> bool {
        self.missing.iter().any(|token| token.as_bytes() == cell)
    }

    /// Names of all columns after duplicates are settled, and which are to be read.
    pub(crate) fn settle(
        &self,
        file: &str,
        names: Vec<String>,
    ) -> Result<(Vec<String>, Vec<bool>)> {
        let mut taken: hashbrown::HashMap<String, usize> = hashbrown::HashMap::new();
        let mut settled: Vec<String> = Vec::with_capacity(names.len());
        // The suffix to try next, so that many columns of one name do not take their square in time.
        let mut next: hashbrown::HashMap<String, usize> = hashbrown::HashMap::new();
        let (width, most) = (names.len() as u64, self.limits.columns);
        if width > most {
            let what = format!("{width} columns, and at most {most} are allowed");
            return Err(Exceeded::new("columns", what).at(crate::visible(file)));
        }
        for (at, name) in names.into_iter().enumerate() {
            let mut unique = name.clone();
            if let Some(&first) = taken.get(&name) {
                if self.duplicates == Duplicates::Reject {
                    let (first, second) = (first + 1, at + 1);
                    return Err(Error::DuplicateColumn {
                        file: file.to_string(),
                        column: name,
                        first,
                        second,
                    });
                }
                let suffix = next.entry(name.clone()).or_insert(1);
                while taken.contains_key(&unique) {
                    unique = format!("{name}.{suffix}");
                    *suffix += 1;
                }
            }
            taken.insert(unique.clone(), at);
            settled.push(unique);
        }
        for name in self.columns.iter().flatten().chain(self.kinds.keys()) {
            if !taken.contains_key(name) {
                return Err(Error::UnknownColumn {
                    table: file.to_string(),
                    column: name.clone(),
                    nearest: crate::nearest(name, settled.iter().map(String::as_str)),
                    known: settled,
                });
            }
        }
        let mut wanted = vec![self.columns.is_none(); settled.len()];
        for name in self.columns.iter().flatten() {
            wanted[taken[name]] = true;
        }
        Ok((settled, wanted))
    }
}

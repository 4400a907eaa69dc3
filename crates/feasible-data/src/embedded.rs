//! The data sets that come with the crate: Adult and COMPAS, with the paper's preprocessing.
//!
//! Where they come from, their licences and what was left out is in `DATA.md`. The values are
//! those of the distributors; [`DataSet::load_from`] reads the distributors' own files instead.

mod adult;
mod compas;

use std::path::Path;

use crate::counterfactual::Counterfactual;
use crate::error::{Error, Result};
use crate::expression::{Expression, UnknownCategories};
use crate::format::Format;
use crate::nearest::named;
use crate::preprocessing::Preprocessing;
use crate::split::{Fractions, Split};
use crate::table::Table;
use crate::target::TargetSpec;

/// A data set and how the paper prepares it.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSet {
    /// What it is called: `adult`.
    pub name: &'static str,
    /// One line about it.
    pub title: &'static str,
    /// Who made it, and where.
    pub source: &'static str,
    /// On what terms.
    pub licence: &'static str,
    /// The files inside the crate: one table, or training and test tables.
    pub parts: &'static [EmbeddedFile],
    /// The target.
    pub target: TargetSpec,
    /// The paper's preprocessing.
    pub preprocessing: Preprocessing,
    /// Which rows are used; all by default.
    pub keep: Option<&'static str>,
    /// How a single table is split; otherwise the parts are training and test rows.
    pub split: Option<Fractions>,
    /// The paper's counterfactuals.
    pub counterfactuals: Vec<Counterfactual>,
    /// The distributor's files and how to read them.
    originals: Vec<(&'static str, Format)>,
}

/// A file inside the crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmbeddedFile {
    /// Its name: `adult-train.csv.zst`.
    pub file: &'static str,
    /// Its bytes, CSV compressed with zstd.
    pub bytes: &'static [u8],
    /// SHA-256 of the bytes, in hexadecimal.
    pub sha256: &'static str,
    /// Rows of its table.
    pub rows: usize,
}

impl DataSet {
    /// All data sets in the crate.
    pub fn all() -> Vec<Self> {
        vec![Self::adult(), Self::compas()]
    }

    /// The data set of this name.
    ///
    /// # Errors
    /// [`Error::UnknownDataSet`], with the nearest name.
    pub fn named(name: &str) -> Result<Self> {
        named(Self::all(), |set| set.name, name)
    }

    /// The parts as tables.
    ///
    /// # Errors
    /// None but for a damaged build.
    pub fn tables(&self) -> Result<Vec<Table>> {
        let format = Format::default();
        self.parts.iter().map(|part| Table::from_bytes(part.file, part.bytes, &format)).collect()
    }

    /// One table of all rows, and which of them are for training and test.
    ///
    /// # Errors
    /// None but for a damaged build.
    pub fn load(&self) -> Result<(Table, Split)> {
        self.arrange(self.tables()?)
    }

    /// The distributor's own files in a directory, as tables like [`DataSet::tables`].
    ///
    /// # Errors
    /// Files that are missing or different.
    pub fn tables_from(&self, directory: &Path) -> Result<Vec<Table>> {
        let read = |(file, format): &(&str, Format)| Table::read(&directory.join(file), format);
        self.originals.iter().map(read).collect()
    }

    /// As [`DataSet::load`], from the distributor's own files in a directory.
    ///
    /// # Errors
    /// Files that are missing or different.
    pub fn load_from(&self, directory: &Path) -> Result<(Table, Split)> {
        self.arrange(self.tables_from(directory)?)
    }

    /// The distributor's files, as [`DataSet::load_from`] looks for them.
    pub fn original_files(&self) -> Vec<&'static str> {
        self.originals.iter().map(|(file, _)| *file).collect()
    }

    fn arrange(&self, tables: Vec<Table>) -> Result<(Table, Split)> {
        let (table, ranges) = Table::concat(self.name, tables)?;
        let keep = |rows: Vec<u32>| match self.keep {
            Some(text) => {
                let expression = Expression::parse(text)?;
                Ok(expression.bind(&table, None, UnknownCategories::Reject)?.select(&rows))
            }
            None => Ok::<_, Error>(rows),
        };
        let split = match &self.split {
            Some(fractions) => Split::stratified(&table, &keep(table.all_rows())?, fractions)?,
            None => {
                let mut parts = Vec::new();
                for range in ranges {
                    parts.push(keep(range.collect())?);
                }
                let test = if parts.len() > 1 { parts.pop().unwrap_or_default() } else { vec![] };
                Split { train: parts.concat(), validation: Vec::new(), test }
            }
        };
        Ok((table, split))
    }
}

/// New categories with the old ones they stand for.
fn group(groups: &[(&str, &[&str])]) -> std::collections::BTreeMap<String, Vec<String>> {
    let strings = |categories: &[&str]| categories.iter().map(ToString::to_string).collect();
    groups.iter().map(|(new, olds)| (new.to_string(), strings(olds))).collect()
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

//! How much a file may ask for: the limits on what is read, in one place.
//!
//! A file of a few kilobytes can stand for gigabytes, and a quote that is never closed makes one cell of all that
//! follows. So reading is limited. The defaults are far beyond what is usual; a file that is larger and right is
//! read once the limit's key is raised, under `[data.limits]` in a problem file or by `--read-limit KEY=N`.
//!
//! | key | default | limits |
//! | --- | --- | --- |
//! | `cell_bytes` | 1,000,000 | a cell, or a name of a column |
//! | `row_bytes` | 64,000,000 | a row of a text table, blank lines and comments before it included |
//! | `columns` | 100,000 | columns of a table |
//! | `rows` | 50,000,000 | rows of a table |
//! | `cells` | 1,000,000,000 | rows times columns that are read; each takes 1 to 8 bytes of memory |
//! | `table_bytes` | 32,000,000,000 | a file, after decompression |
//! | `expansion` | 200 | bytes that a byte of a compressed file may become, once there are 64 MB of them |
//! | `stdin_bytes` | 1,000,000,000 | a table from standard input, which is kept in memory |
//! | `image_bytes` | 4,000,000,000 | the pixels of all images together, which are kept in memory |
//!
//! ```
//! use feasible_data::{Format, Limits, Table};
//! let csv = b"name,age\nsomebody with a long name,41\n";
//! let limits = Limits { cell_bytes: 10, ..Limits::default() };
//! let error = Table::from_bytes("people.csv", csv, &Format { limits, ..Format::default() });
//! assert_eq!(
//!     error.unwrap_err().to_string(),
//!     "people.csv, line 2, column 'name': a cell of 25 bytes, and at most 10 are allowed. If the file is right, raise \
//!      the limit `cell_bytes`: under [data.limits] in the problem file, or with --read-limit cell_bytes=N"
//! );
//! # Ok::<(), feasible_data::Error>(())
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::nearest::nearest;

/// Decompressed bytes from which on [`Limits::expansion`] is held against.
pub(crate) const FREE: u64 = 64_000_000;

/// Limits on what is read. See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of a cell, or of a column's name. Default 1,000,000.
    pub cell_bytes: u64,
    /// Bytes of a row of a text table, blank lines and comments before it included. Default 64,000,000.
    pub row_bytes: u64,
    /// Columns of a table. Default 100,000.
    pub columns: u64,
    /// Rows of a table. Default 50,000,000.
    pub rows: u64,
    /// Rows times the columns that are read. Default 1,000,000,000.
    pub cells: u64,
    /// Bytes of a file after decompression. Default 32,000,000,000.
    pub table_bytes: u64,
    /// Bytes that a byte of a compressed file may become, once there are 64 MB of them. Default 200.
    pub expansion: u64,
    /// Bytes of a table from standard input. Default 1,000,000,000.
    pub stdin_bytes: u64,
    /// Bytes of the pixels of all images together. Default 4,000,000,000.
    pub image_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cell_bytes: 1_000_000,
            row_bytes: 64_000_000,
            columns: 100_000,
            rows: 50_000_000,
            cells: 1_000_000_000,
            table_bytes: 32_000_000_000,
            expansion: 200,
            stdin_bytes: 1_000_000_000,
            image_bytes: 4_000_000_000,
        }
    }
}

impl Limits {
    /// The keys with what they limit, in the order of the [module](self)'s table.
    pub const KEYS: [(&'static str, &'static str); 9] = [
        ("cell_bytes", "Bytes of a cell, or of a column's name. Default 1,000,000."),
        (
            "row_bytes",
            "Bytes of a row of a text table, blank lines and comments before it included. Default 64,000,000.",
        ),
        ("columns", "Columns of a table. Default 100,000."),
        ("rows", "Rows of a table. Default 50,000,000."),
        ("cells", "Rows times the columns that are read. Default 1,000,000,000."),
        ("table_bytes", "Bytes of a file after decompression. Default 32,000,000,000."),
        (
            "expansion",
            "Bytes that a byte of a compressed file may become, once there are 64 MB of them. Default 200.",
        ),
        ("stdin_bytes", "Bytes of a table from standard input. Default 1,000,000,000."),
        ("image_bytes", "Bytes of the pixels of all images together. Default 4,000,000,000."),
    ];

    fn slot(&mut self, key: &str) -> Option<&mut u64> {
        Some(match key {
            "cell_bytes" => &mut self.cell_bytes,
            "row_bytes" => &mut self.row_bytes,
            "columns" => &mut self.columns,
            "rows" => &mut self.rows,
            "cells" => &mut self.cells,
            "table_bytes" => &mut self.table_bytes,
            "expansion" => &mut self.expansion,
            "stdin_bytes" => &mut self.stdin_bytes,
            "image_bytes" => &mut self.image_bytes,
            _ => return None,
        })
    }

    /// Sets the limit of a key.
    ///
    /// # Errors
    /// A key that does not exist, with the nearest.
    pub fn set(&mut self, key: &str, limit: u64) -> Result<(), String> {
        if let Some(slot) = self.slot(key) {
            *slot = limit;
            return Ok(());
        }
        let keys = || Self::KEYS.iter().map(|(key, _)| *key);
        let hint = match nearest(key, keys()) {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => format!("there are {}", keys().collect::<Vec<_>>().join(", ")),
        };
        Err(format!("no limit is named '{}': {hint}", crate::visible(key)))
    }

    /// The limits that are not the default, as `key = limit`.
    pub fn changed(&self) -> Vec<String> {
        let (mut own, mut usual) = (self.clone(), Self::default());
        let mut changed = Vec::new();
        for (key, _) in Self::KEYS {
            if let (Some(own), Some(usual)) = (own.slot(key), usual.slot(key))
                && own != usual
            {
                changed.push(format!("{key} = {own}"));
            }
        }
        changed
    }

    /// A cell of this many bytes.
    pub(crate) fn check_cell(&self, bytes: usize) -> Result<(), Exceeded> {
        let most = self.cell_bytes;
        if bytes as u64 <= most {
            return Ok(());
        }
        let what = format!("a cell of {bytes} bytes, and at most {most} are allowed");
        Err(Exceeded::new("cell_bytes", what))
    }

    /// A table with these numbers of rows and of columns that are read.
    pub(crate) fn check_rows(&self, rows: usize, columns: usize) -> Result<(), Exceeded> {
        let most = self.rows;
        if rows as u64 > most {
            let what = format!("more than the {most} rows allowed");
            return Err(Exceeded::new("rows", what));
        }
        if (rows as u64).saturating_mul(columns as u64) > self.cells {
            let what = format!(
                "{rows} or more rows of {columns} columns, and at most {} cells are allowed",
                self.cells
            );
            return Err(Exceeded::new("cells", what));
        }
        Ok(())
    }

    /// A file of the first number of bytes that unpacks to the second.
    #[cfg(feature = "parquet")]
    pub(crate) fn check_expansion(&self, file: u64, becomes: u64) -> Result<(), Exceeded> {
        if becomes > self.table_bytes {
            let what =
                format!("{becomes} bytes of cells, and at most {} are allowed", self.table_bytes);
            return Err(Exceeded::new("table_bytes", what));
        }
        if becomes > FREE && becomes > self.expansion.saturating_mul(file) {
            let ratio = self.expansion;
            let what =
                format!("{file} bytes decompress to {becomes}, more than {ratio} times as many");
            return Err(Exceeded::new("expansion", what));
        }
        Ok(())
    }

    /// Whether all are the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What a file asks for beyond a limit; it passes through readers as the source of an I/O error.
#[derive(Clone, Debug)]
pub(crate) struct Exceeded {
    pub(crate) key: &'static str,
    /// `a cell of 12 bytes, and at most 10 are allowed`.
    pub(crate) what: String,
}

impl Exceeded {
    pub(crate) fn new(key: &'static str, what: impl Into<String>) -> Self {
        Self { key, what: what.into() }
    }

    /// At a place: a file, or a cell of it.
    pub(crate) fn at(self, place: impl fmt::Display) -> Error {
        Error::Limit { place: place.to_string(), what: self.what, key: self.key }
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Exceeded {}

impl From<Exceeded> for std::io::Error {
    fn from(exceeded: Exceeded) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, exceeded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_slot_and_can_be_set() {
        let mut limits = Limits::default();
        for (at, (key, _)) in Limits::KEYS.iter().enumerate() {
            limits.set(key, 7 + at as u64).unwrap();
        }
        assert_eq!(limits.changed().len(), Limits::KEYS.len());
        let text = toml::to_string(&limits).unwrap();
        assert_eq!(text.lines().map(String::from).collect::<Vec<_>>(), limits.changed());
        let refused = limits.set("cellbytes", 1).unwrap_err();
        assert_eq!(refused, "no limit is named 'cellbytes': did you mean cell_bytes?");
    }
}

//! Reading a table from a file or from memory, whatever it is compressed with.
//!
//! ```
//! use feasible_data::{Format, Table};
//! let dir = std::env::temp_dir().join(format!("feasible-doc-{}", std::process::id()));
//! std::fs::create_dir_all(&dir)?;
//! std::fs::write(dir.join("people.csv"), "age,gender\n41,Male\n38,Female\n")?;
//! let table = Table::read(&dir.join("people.csv"), &Format::default())?;
//! assert_eq!(table.rows(), 2);
//! std::fs::remove_dir_all(&dir)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::Path;

use crate::error::Result;
use crate::format::Format;
use crate::hashed_file::HashedFile;
use crate::many_files::files_of;
use crate::slices::Reading;
use crate::source::{ByteSource, Content};
use crate::table::Table;
use crate::text_file;

impl Table {
    /// Reads CSV, TSV or Parquet, text plain or compressed with gzip or zstd, as the content of
    /// the file says. Text is read as a stream; what is kept is the typed table. A pattern (`people/*.parquet`) or a directory stands for
    /// [several files](crate::many_files), which are put under one another.
    ///
    /// # Errors
    /// What is wrong with the file, with line, column and value; which of several files has other columns.
    pub fn read(path: &Path, format: &Format) -> Result<Table> {
        match files_of(path)?.as_slice() {
            [file] => read(ByteSource::Path(file), format, None),
            _ => Ok(Reading::begin(path, format, None, None)?.finish()?.table),
        }
    }

    /// As [`Table::read`], but only the rows that begin on these lines ([`Table::origin`]), ascending; with the SHA-256 of
    /// the file.
    ///
    /// # Errors
    /// As [`Table::read`].
    pub fn read_lines(path: &Path, format: &Format, lines: &[u64]) -> Result<(Table, String)> {
        let file = HashedFile::new(path);
        let table = read(ByteSource::Hashed(&file), format, Some(lines))?;
        Ok((table, file.sha256()?))
    }

    /// As [`Table::read`], from memory; `name` stands for the file in messages.
    ///
    /// # Errors
    /// As [`Table::read`].
    pub fn from_bytes(name: &str, bytes: &[u8], format: &Format) -> Result<Table> {
        read(ByteSource::Bytes { name, bytes }, format, None)
    }
}

pub(crate) fn read(
    source: ByteSource<'_>,
    format: &Format,
    lines: Option<&[u64]>,
) -> Result<Table> {
    match source.content()? {
        #[cfg(feature = "parquet")]
        Content::Parquet => {
            let table = crate::parquet_file::read(source, format)?;
            match lines {
                Some(lines) => {
                    let row = |&line: &u64| line.saturating_sub(1) as u32;
                    table.chosen(&lines.iter().map(row).collect::<Vec<_>>())
                }
                None => Ok(table),
            }
        }
        #[cfg(not(feature = "parquet"))]
        Content::Parquet => {
            let reason = "a Parquet file, which this build does not read: convert it to CSV";
            Err(crate::Error::Parquet { file: source.name(), reason: reason.to_string() })
        }
        _ => text_file::read(source, format, lines),
    }
}

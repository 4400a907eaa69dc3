//! Where tables come from: files, or memory.

use std::fmt;
use std::path::{Path, PathBuf};

use feasible_data::table_file::{self, Unusable};
use feasible_data::{Cells, Format, Reading, Table, WholeRead, scratch};
use sha2::{Digest, Sha256};

use super::elsewhere::{self, readers};
use super::hash::{TableHash, hexadecimal, sha256, sha256_of_files};
use crate::error::{Error, Result};
use crate::store;

/// Reads the tables that `[data]` names.
pub trait Tables: fmt::Debug + Send + Sync {
    /// The table of a file, or of [several](feasible_data::many_files).
    ///
    /// # Errors
    /// A file that cannot be read, or that is no table.
    fn read(&self, path: &Path, format: &Format) -> Result<TableRead>;

    /// As [`Tables::read`]; the table is written to this directory as it was read, and read from there the next time.
    ///
    /// # Errors
    /// As [`Tables::read`]; a directory that cannot be written to.
    fn read_cached(&self, path: &Path, format: &Format, _directory: &Path) -> Result<TableRead> {
        self.read(path, format)
    }

    /// The name of the only table there is, if it is in memory: it stands for `[data] file`.
    fn in_memory(&self) -> Option<&Path> {
        None
    }
}

/// A table that was read.
#[derive(Clone, Debug)]
pub struct TableRead {
    /// The table.
    pub table: Table,
    /// The SHA-256 of each file.
    pub hashes: Vec<TableHash>,
    /// What a user should know of how it was read: a cache that could not be used, who has read it. A sentence each.
    pub notes: Vec<String>,
}

/// Tables in files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files;

impl Tables for Files {
    fn read(&self, path: &Path, format: &Format) -> Result<TableRead> {
        let scratch = scratch::is_begun().then(store::directory);
        finish(path, Reading::begin(path, format, scratch.as_deref(), readers())?)
    }

    fn read_cached(&self, path: &Path, format: &Format, directory: &Path) -> Result<TableRead> {
        // The file's name says which table it is of, its key what the table depends on.
        let how = serde_json::to_string(format).unwrap_or_default();
        let name = sha256(format!("{}\n{how}", path.display()).as_bytes());
        let key = |hashes: &[TableHash]| {
            let of = (env!("CARGO_PKG_VERSION"), hashes, &how);
            sha256(serde_json::to_string(&of).unwrap_or_default().as_bytes())
        };
        let plain = |path: &Path| {
            let stem =
                path.file_stem().unwrap_or_default().to_string_lossy().replace(['*', '?'], "");
            Some(stem).filter(|stem| !stem.is_empty())
        };
        let stem = plain(path).or_else(|| path.parent().and_then(plain)).unwrap_or_default();
        let file = directory.join(format!("{stem}-{}.table", &name[..12]));
        let shown = file.display().to_string();
        let hashes = sha256_of_files(path)?;
        let word = match table_file::read(&file, &key(&hashes)) {
            Ok(table) => return Ok(TableRead { table, hashes, notes: Vec::new() }),
            Err(Unusable::Absent) => None,
            Err(Unusable::Other) => {
                Some(format!("{shown} was of another state of the table, and is made anew"))
            }
            Err(Unusable::Damaged(what)) => {
                Some(format!("{shown} was damaged ({what}), and is made anew"))
            }
        };
        let reading = Reading::begin(path, format, Some(directory), readers())?;
        let mut read = finish(path, reading)?;
        let failed = |source| Error::Storage { operation: "write", path: shown.clone(), source };
        // Of what was read: that the files are still what was hashed before, nobody knows.
        table_file::write(&file, &read.table, &key(&read.hashes)).map_err(failed)?;
        read.notes.splice(0..0, word);
        Ok(read)
    }
}

/// Ends reading.
fn finish(path: &Path, reading: Reading<'_>) -> Result<TableRead> {
    let WholeRead { table, sha256, counts } = reading.finish()?;
    let hash =
        |(file, sha256): (PathBuf, String)| TableHash { table: file.display().to_string(), sha256 };
    let notes = Vec::from_iter(elsewhere::note(path, counts));
    Ok(TableRead { table, hashes: sha256.into_iter().map(hash).collect(), notes })
}

/// A table in memory.
#[derive(Clone, Debug)]
pub(crate) struct InMemory {
    name: PathBuf,
    table: Table,
}

impl InMemory {
    pub(crate) fn new(table: Table) -> Self {
        Self { name: PathBuf::from(table.name()), table }
    }
}

impl Tables for InMemory {
    fn read(&self, path: &Path, _: &Format) -> Result<TableRead> {
        if !self.table.taken().is_empty() {
            let reason =
                "the table in memory lacks columns that were taken out of it: pass the whole table";
            return Err(Error::unfit(path.display().to_string(), reason));
        }
        let sha256 = hexadecimal(&hash_of_cells(&self.table).finalize());
        let hash = TableHash { table: path.display().to_string(), sha256 };
        Ok(TableRead { table: self.table.clone(), hashes: vec![hash], notes: Vec::new() })
    }

    fn in_memory(&self) -> Option<&Path> {
        Some(&self.name)
    }
}

/// Hashes names and cells, each with its length before it. Not as CSV: writing numbers out takes longer than reading them.
fn hash_of_cells(table: &Table) -> Sha256 {
    let mut hash = Sha256::new();
    let text = |hash: &mut Sha256, text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    hash.update((table.rows() as u64).to_le_bytes());
    let mut bytes: Vec<u8> = Vec::with_capacity(8 * ROWS_AT_ONCE);
    for column in table.columns() {
        text(&mut hash, &column.name);
        text(&mut hash, &column.kind().to_string());
        if let Cells::Categories(categories) = &column.cells {
            hash.update((categories.names.len() as u64).to_le_bytes());
            categories.names.iter().for_each(|name| text(&mut hash, name));
        }
        for from in (0..table.rows()).step_by(ROWS_AT_ONCE) {
            bytes.clear();
            let rows = from..table.rows().min(from + ROWS_AT_ONCE);
            match &column.cells {
                Cells::Numbers(x) => {
                    // A missing cell is NaN, of which there are many.
                    let bits = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
                    rows.for_each(|row| bytes.extend(bits(x.get(row)).to_le_bytes()));
                }
                Cells::Categories(categories) => {
                    rows.for_each(|row| bytes.extend(categories.codes.get(row).to_le_bytes()));
                }
            }
            hash.update(&bytes);
        }
    }
    hash
}

/// Rows whose cells are hashed at once.
const ROWS_AT_ONCE: usize = 8192;

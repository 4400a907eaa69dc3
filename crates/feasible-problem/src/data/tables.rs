//! Where tables come from: files, or memory.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use feasible_data::{Format, Table};
use sha2::{Digest, Sha256};

use super::hash::{hexadecimal, sha256_of_file};
use crate::error::{Error, Result};

/// Reads the tables that `[data]` names.
pub trait Tables: fmt::Debug + Send + Sync {
    /// The table of a file, and the SHA-256 of what it was read from.
    ///
    /// # Errors
    /// A file that cannot be read, or that is no table.
    fn read(&self, path: &Path, format: &Format) -> Result<(Table, String)>;

    /// The name of the only table there is, if it is in memory: it stands for `[data] file`.
    fn in_memory(&self) -> Option<&Path> {
        None
    }
}

/// Tables in files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files;

impl Tables for Files {
    fn read(&self, path: &Path, format: &Format) -> Result<(Table, String)> {
        let sha256 = sha256_of_file(path)?;
        Ok((Table::read(path, format)?, sha256))
    }
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
    fn read(&self, path: &Path, _: &Format) -> Result<(Table, String)> {
        /// Hashes what is written to it.
        struct Hashed(Sha256);
        impl io::Write for Hashed {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.update(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        if !self.table.taken().is_empty() {
            let reason = "the table in memory lacks columns that were taken from it: give it whole";
            return Err(Error::unfit(path.display().to_string(), reason));
        }
        let mut hashed = Hashed(Sha256::new());
        self.table.write_csv(&mut hashed)?;
        Ok((self.table.clone(), hexadecimal(&hashed.0.finalize())))
    }

    fn in_memory(&self) -> Option<&Path> {
        Some(&self.name)
    }
}

//! What was read, by SHA-256.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// A table of a run and the SHA-256 of its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableHash {
    /// The file.
    pub table: String,
    /// In hexadecimal.
    pub sha256: String,
}

/// SHA-256 of bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

pub(super) fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The files that a path stands for ([`feasible_data::many_files`]), each with its SHA-256.
///
/// # Errors
/// What the system says; a pattern that no file fits.
pub fn sha256_of_files(path: &Path) -> Result<Vec<TableHash>> {
    let hash = |file: &PathBuf| {
        Ok(TableHash { table: file.display().to_string(), sha256: sha256_of_file(file)? })
    };
    feasible_data::files_of(path)?.iter().map(hash).collect()
}

/// SHA-256 of a file, in hexadecimal.
///
/// # Errors
/// What the system says.
pub fn sha256_of_file(path: &Path) -> Result<String> {
    let name = || path.display().to_string();
    let failed = |source| Error::Storage { operation: "read", path: name(), source };
    let mut file = feasible_data::disk::open(path).map_err(failed)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match std::io::Read::read(&mut file, &mut buffer).map_err(failed)? {
            0 => break,
            read => hash.update(&buffer[..read]),
        }
    }
    Ok(hexadecimal(&hash.finalize()))
}

//! Which files images came from, so that a run can say what it was trained on.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::known::known;

/// The files that images were read from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// What the images are called: the known set, or the file or directory.
    pub name: String,
    /// Every file, in the order of reading.
    pub files: Vec<FileHash>,
    /// What a reader should know: unknown checksums, files left out.
    pub warnings: Vec<String>,
}

/// A file and its SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHash {
    /// The file; for a folder of images, the folder.
    pub file: String,
    /// SHA-256 of its content after decompression, in hexadecimal. For a folder: of the list of
    /// every image's path and SHA-256.
    pub sha256: String,
    /// The known set it belongs to, if its checksum says so.
    pub known: Option<String>,
}

impl FileHash {
    pub(super) fn new(file: &str, sha256: String) -> Self {
        let known = known(&sha256).map(|(set, _)| set.to_string());
        Self { file: file.to_string(), sha256, known }
    }
}

impl Identity {
    /// Of files whose checksums may or may not be known; unknown ones are warned of.
    pub(super) fn new(name: &str, files: Vec<FileHash>) -> Self {
        let unknown: Vec<&str> =
            files.iter().filter(|f| f.known.is_none()).map(|f| f.file.as_str()).collect();
        let warnings = match unknown.as_slice() {
            [] => Vec::new(),
            [one] => vec![format!("{one} is not a file of a known set: its content is unverified")],
            [one, rest @ ..] => vec![format!(
                "{one} and {} more are not files of a known set: their content is unverified",
                rest.len()
            )],
        };
        Self { name: name.to_string(), files, warnings }
    }

    /// Whether every file is one of a known set.
    pub fn is_known(&self) -> bool {
        self.files.iter().all(|file| file.known.is_some())
    }

    pub(super) fn join(mut self, other: Self) -> Self {
        self.files.extend(other.files);
        self.warnings.extend(other.warnings);
        self
    }
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A reader that hashes what passes through it.
pub(super) struct Hashed<R> {
    source: R,
    digest: Sha256,
    /// Bytes read.
    pub(super) count: u64,
}

impl<R: Read> Hashed<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, digest: Sha256::new(), count: 0 }
    }

    pub(super) fn sha256(self) -> String {
        hex(&self.digest.finalize())
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(out)?;
        self.digest.update(&out[..count]);
        self.count += count as u64;
        Ok(count)
    }
}

//! A file whose bytes are hashed as they are read, so that what was read and its SHA-256 belong together.
//!
//! A table is opened several times: for its first bytes, for its cells, and again for columns that turn out to be text.
//! A pass that comes to the end of the file gives its hash; all other passes must have seen the beginning of the same
//! bytes. If one did not, the file changed while it was read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use crate::disk;
use crate::error::{Error, Result};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct HashedFile {
    path: PathBuf,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// How many bytes a pass has read that did not come to the end, and their hash.
    beginnings: Vec<(u64, Vec<u8>)>,
    /// The hash of the file.
    whole: Option<Vec<u8>>,
    differs: bool,
}

impl Seen {
    fn is(&mut self, whole: Vec<u8>) {
        self.differs |= self.whole.as_ref().is_some_and(|known| *known != whole);
        self.whole = Some(whole);
    }
}

/// The error about a file that changed while it was read.
pub(crate) fn changed(file: &str) -> Error {
    let text = "it changed while it was read: start again once nothing writes to it";
    Error::Io { file: file.into(), source: io::Error::new(io::ErrorKind::InvalidData, text) }
}

/// Hashes all that is read.
pub(crate) fn hash_all(hash: &mut Sha256, from: &mut impl Read) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            read => hash.update(&buffer[..read]),
        }
    }
}

/// In hexadecimal.
pub(crate) fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl HashedFile {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), seen: Mutex::default() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a pass.
    pub(crate) fn open(&self) -> io::Result<HashedPass<'_>> {
        let file = disk::open(&self.path)?;
        Ok(HashedPass { of: self, file, hash: Sha256::new(), at: 0, ended: false })
    }

    /// Has `read` take what it wants from the file in any order, hashed before and after.
    pub(crate) fn at_will<T>(&self, read: impl FnOnce(File) -> Result<T>) -> Result<T> {
        let name = self.path.display().to_string();
        let mut file = disk::open(&self.path).map_err(Error::io(&name))?;
        let note = |file: &mut File| -> io::Result<()> {
            let mut hash = Sha256::new();
            file.seek(SeekFrom::Start(0))?;
            hash_all(&mut hash, file)?;
            self.seen().is(hash.finalize().to_vec());
            Ok(())
        };
        note(&mut file).map_err(Error::io(&name))?;
        let value = read(file.try_clone().map_err(Error::io(&name))?)?;
        note(&mut file).map_err(Error::io(&name))?;
        Ok(value)
    }

    /// The SHA-256 of what was read, in hexadecimal.
    ///
    /// # Errors
    /// A file that changed meanwhile.
    pub(crate) fn sha256(&self) -> Result<String> {
        let name = self.path.display().to_string();
        if self.seen().whole.is_none() {
            // No pass came to the end: this one compares their beginnings.
            let mut pass = self.open().map_err(Error::io(&name))?;
            io::copy(&mut pass, &mut io::sink()).map_err(Error::io(&name))?;
        }
        let seen = self.seen();
        match &seen.whole {
            Some(whole) if !seen.differs => Ok(hexadecimal(whole)),
            _ => Err(changed(&name)),
        }
    }
}

/// One pass over a file, from its beginning.
pub(crate) struct HashedPass<'a> {
    of: &'a HashedFile,
    file: File,
    hash: Sha256,
    at: u64,
    ended: bool,
}

impl Read for HashedPass<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(out)?;
        let mut seen = self.of.seen();
        if count == 0 {
            if !out.is_empty() && !self.ended {
                self.ended = true;
                // A beginning that is longer than the file is none of it.
                seen.differs |= seen.beginnings.iter().any(|(bytes, _)| *bytes > self.at);
                seen.is(self.hash.clone().finalize().to_vec());
            }
            return Ok(0);
        }
        let (mut fed, end) = (0, self.at + count as u64);
        let mut inside: Vec<&(u64, Vec<u8>)> = seen.beginnings.iter().collect();
        inside.retain(|(bytes, _)| (self.at + 1..=end).contains(bytes));
        inside.sort_unstable();
        let mut differs = false;
        for (bytes, digest) in inside {
            let to = (bytes - self.at) as usize;
            self.hash.update(&out[fed..to]);
            fed = to;
            differs |= self.hash.clone().finalize().as_slice() != digest;
        }
        seen.differs |= differs;
        drop(seen);
        self.hash.update(&out[fed..count]);
        self.at = end;
        Ok(count)
    }
}

impl Drop for HashedPass<'_> {
    fn drop(&mut self) {
        if !self.ended && self.at > 0 {
            let beginning = (self.at, self.hash.clone().finalize().to_vec());
            self.of.seen().beginnings.push(beginning);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn scratch(content: &str) -> (tempfile::TempDir, HashedFile) {
        let scratch = tempfile::tempdir().unwrap();
        let file = HashedFile::new(&scratch.path().join("file"));
        std::fs::write(&file.path, content).unwrap();
        (scratch, file)
    }

    fn all(file: &HashedFile) -> String {
        let mut text = String::new();
        file.open().unwrap().read_to_string(&mut text).unwrap();
        text
    }

    fn begin(file: &HashedFile, bytes: usize) {
        file.open().unwrap().read_exact(&mut vec![0; bytes]).unwrap();
    }

    #[test]
    fn the_hash_is_that_of_the_bytes_that_were_read() {
        let (_scratch, file) = scratch("abc");
        begin(&file, 2);
        begin(&file, 3);
        assert_eq!(all(&file), "abc");
        // FIPS 180-2, B.1.
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(file.sha256().unwrap(), known);
        std::fs::write(&file.path, "xyz").unwrap();
        assert_eq!(file.sha256().unwrap(), known);
        // None of its passes came to the end.
        let (_scratch, file) = scratch("abc");
        begin(&file, 1);
        assert_eq!(file.sha256().unwrap(), known);
    }

    #[test]
    fn a_file_that_changes_between_two_passes_is_refused() {
        for (first, second, bytes) in [("abc", "xbc", 1), ("abc", "axc", 2), ("abc", "ab", 3)] {
            let (_scratch, file) = scratch(first);
            begin(&file, bytes);
            std::fs::write(&file.path, second).unwrap();
            all(&file);
            assert!(file.sha256().is_err(), "{first} {second}");
        }
        let (_scratch, file) = scratch("abc");
        all(&file);
        std::fs::write(&file.path, "abd").unwrap();
        all(&file);
        assert!(file.sha256().unwrap_err().to_string().contains("changed while it was read"));
        let (_scratch, file) = scratch("abc");
        let changed =
            file.at_will(|_| std::fs::write(&file.path, "abd").map_err(Error::io("file")));
        assert!(changed.is_ok() && file.sha256().is_err());
    }
}

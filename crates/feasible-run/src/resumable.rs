//! A directory of several trainings that belong together, a sweep or a search: asked for the same again, it is continued.
//!
//! One file says what was asked for. It is written first, so that whenever the program is stopped after that, the same
//! command knows the directory again.

use std::path::Path;

use crate::directory::RunDirectory;
use crate::error::{Error, Result};
use crate::removal::Inner;
use crate::storage::{Directory, Storage, failed, read};

/// What a directory is for.
pub(crate) struct ResumableDirectory<'a> {
    /// What it is, for messages: `a sweep`.
    pub what: &'static str,
    /// The file that says what was asked for.
    pub file: &'static str,
    /// Whether that file says what is asked for now.
    pub is_same: &'a dyn Fn(&[u8]) -> bool,
    /// The names of files that are written to it.
    pub ours: &'a dyn Fn(&str) -> bool,
    /// The directories in it that go with it.
    pub inside: fn(&Path) -> Result<Vec<Inner>>,
    /// The files it begins with, `file` before all others.
    pub first: &'a [(&'a str, &'a dyn Fn() -> Vec<u8>)],
}

impl ResumableDirectory<'_> {
    /// The directory: new, or that of the same design, which is then continued.
    ///
    /// # Errors
    /// One that holds something else, unless that is of the same kind and `force` replaces it.
    pub(crate) fn open(&self, path: &Path, force: bool) -> Result<Directory> {
        let known = RunDirectory::new(path).read(self.file)?;
        let top = match &known {
            Some(bytes) if (self.is_same)(bytes) => Directory::open(path)?,
            Some(_) if !force => {
                let reason = format!(
                    "it holds {} of other settings: give another directory, or --force to replace it",
                    self.what
                );
                return Err(Error::unfit(path.display().to_string(), reason));
            }
            Some(_) => Directory::replace_with(path, self.ours, false, self.inside)?,
            None if force => Directory::replace(path, self.ours)?,
            None => Directory::create(path)?,
        };
        for (name, bytes) in self.first {
            if read(&top, name)?.is_none() {
                top.write(name, &bytes()).map_err(failed("write", &top, name))?;
            }
        }
        Ok(top)
    }
}

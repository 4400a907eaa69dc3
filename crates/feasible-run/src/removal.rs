//! Removing a run to make room for another: all of it is checked, and held, before any of it goes.
//!
//! What goes are regular files that a run is known to have written: those of a run's names, in a directory that says that it
//! is a run's, and pictures that bear the mark of this program. If anything else is there, at any depth, nothing goes.

use std::fs;
use std::path::{Path, PathBuf};

use feasible_data::disk;

use crate::error::{Error, Result};
use crate::files;
use crate::storage::{Directory, LOCK, names, remove_leftovers};

/// A directory inside a run's that goes with it.
pub(crate) struct Inner {
    path: PathBuf,
    /// Whether it is a run, which another process may work in.
    is_run: bool,
    /// Whether a file in it is one that a run wrote.
    is_ours: fn(&Path) -> bool,
    inner: Vec<Inner>,
}

impl Inner {
    /// A run.
    pub(crate) fn run(path: &Path) -> Self {
        let is_ours = |file: &Path| has_name(file, files::is_ours);
        Self { path: path.to_path_buf(), is_run: true, is_ours, inner: Vec::new() }
    }

    /// A directory of runs, and of nothing else.
    pub(crate) fn of_runs(path: &Path, runs: Vec<Self>) -> Self {
        Self { path: path.to_path_buf(), is_run: false, is_ours: |_| false, inner: runs }
    }

    /// A directory of pictures.
    pub(crate) fn of_pictures(path: &Path) -> Self {
        let is_ours = crate::output::has_mark;
        Self { path: path.to_path_buf(), is_run: false, is_ours, inner: Vec::new() }
    }
}

/// Whether a file has one of some names.
pub(crate) fn has_name(file: &Path, is_name: impl Fn(&str) -> bool) -> bool {
    file.file_name().and_then(|name| name.to_str()).is_some_and(is_name)
}

/// A directory all of whose content was found to be a run's. Nobody else works in it.
pub(crate) struct Removal {
    path: PathBuf,
    names: Vec<String>,
    inner: Vec<Removal>,
    /// Held until all is removed.
    _lock: Option<Directory>,
}

impl Removal {
    /// Checks a directory that this process holds, and holds and checks those inside.
    ///
    /// # Errors
    /// [`Error::Foreign`]; [`Error::InUse`].
    pub(crate) fn check(
        path: &Path,
        is_ours: &dyn Fn(&Path) -> bool,
        inner: Vec<Inner>,
    ) -> Result<Self> {
        let names = checked(path, is_ours, &inner)?;
        let held = |one: Inner| {
            // First without the lock: it would be a new file in a directory that is not ours.
            checked(&one.path, &one.is_ours, &one.inner)?;
            let lock = one.is_run.then(|| Directory::open(&one.path)).transpose()?;
            Ok(Self { _lock: lock, ..Self::check(&one.path, &one.is_ours, one.inner)? })
        };
        let inner = inner.into_iter().map(held).collect::<Result<_>>()?;
        Ok(Self { path: path.to_path_buf(), names, inner, _lock: None })
    }

    /// Removes what was found but the directory itself, and files that are `kept`.
    pub(crate) fn carry_out(self, kept: &dyn Fn(&str) -> bool) -> Result<()> {
        let failed = |file: &Path, source| Error::Storage {
            operation: "remove",
            path: file.display().to_string(),
            source,
        };
        for one in self.inner {
            let path = one.path.clone();
            one.carry_out(&|_| false)?;
            remove_leftovers(&path);
            let _ = fs::remove_file(path.join(LOCK));
            fs::remove_dir(&path).map_err(|error| failed(&path, error))?;
        }
        for name in by_removal(self.names).iter().filter(|name| !kept(name)) {
            let file = self.path.join(name);
            let removed = disk::fault("remove").and_then(|()| fs::remove_file(&file));
            removed.map_err(|error| failed(&file, error))?;
        }
        Ok(())
    }
}

/// The names of the files in a directory, which are all ours.
pub(crate) fn checked(
    path: &Path,
    is_ours: &dyn Fn(&Path) -> bool,
    inner: &[Inner],
) -> Result<Vec<String>> {
    let mut names = names(path).map_err(Directory::failed("list", path))?;
    names.retain(|name| inner.iter().all(|one| one.path != path.join(name)));
    let foreign = |name: &&String| {
        let file = path.join(name);
        !(file.symlink_metadata().is_ok_and(|found| found.is_file()) && is_ours(&file))
    };
    match names.iter().find(foreign) {
        Some(name) => Err(Error::Foreign { file: path.join(name) }),
        None => Ok(names),
    }
}

/// Files in the order they are removed: what makes a directory a run comes first, by what it is known to be ours last.
fn by_removal(mut names: Vec<String>) -> Vec<String> {
    let of_a_run = [files::PROBLEM, files::SEEDS, files::TUNE];
    names.sort_by_key(|name| match name.as_str() {
        files::README => 2,
        name => u8::from(!of_a_run.contains(&name)),
    });
    names
}

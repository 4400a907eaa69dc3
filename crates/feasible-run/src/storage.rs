//! Where a run keeps its files: a directory, or memory.
//!
//! Two promises carry the rest: [`Storage::write`] is atomic (a reader sees the old bytes or the
//! new ones, whenever the machine stops), and after [`Storage::sync`] what was appended is on
//! disk.
//!
//! Files of a run are regular files: [`Directory`] follows no link inside it and opens no pipe or device
//! ([`disk`]).

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use feasible_data::disk;

use crate::error::{Error, Result};
use crate::files;
use crate::removal::{Inner, Removal, checked, has_name};

/// What writes the content of a file.
pub type Content<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;

/// Named files.
pub trait Storage: Send + Sync {
    /// What messages call the place.
    fn location(&self) -> String;

    /// The bytes of a file.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::NotFound`] if there is no such file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    /// The first `length` bytes of a file, which need not be held at once.
    ///
    /// # Errors
    /// As [`Storage::read`].
    fn read_first(&self, name: &str, length: u64) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(io::Cursor::new(self.read(name)?).take(length)))
    }

    /// Replaces a file, atomically and durably.
    ///
    /// # Errors
    /// What the system says; the old file is then still there.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// As [`Storage::write`], of bytes that `content` makes while they are written: they need not be held
    /// at once.
    ///
    /// # Errors
    /// As [`Storage::write`].
    fn write_by(&self, name: &str, content: Content<'_>) -> io::Result<()> {
        let mut bytes = Vec::new();
        content(&mut bytes)?;
        self.write(name, &bytes)
    }

    /// Adds to the end of a file.
    ///
    /// # Errors
    /// What the system says; some of the bytes may have been added.
    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Makes sure that what was appended is on disk.
    ///
    /// # Errors
    /// What the system says.
    fn sync(&self, name: &str) -> io::Result<()>;

    /// Cuts a file to its first `length` bytes.
    ///
    /// # Errors
    /// What the system says; a shorter file is [`io::ErrorKind::UnexpectedEof`].
    fn truncate(&self, name: &str, length: u64) -> io::Result<()>;

    /// The names of all files.
    ///
    /// # Errors
    /// What the system says.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Files of this name in the runs that lie beside this one, of the same user; none by default.
    fn beside(&self, _name: &str) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// Reads a file; `None` if there is none.
pub(crate) fn read(storage: &dyn Storage, name: &str) -> Result<Option<Vec<u8>>> {
    match storage.read(name) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", storage, name)(error)),
    }
}

/// Insists that a directory inside a run directory is no link to another.
pub fn no_link(directory: &Path) -> Result<()> {
    disk::no_link(directory).map_err(Directory::failed("use", directory))
}

/// The error of an operation on a file.
pub fn failed<'a>(
    operation: &'static str,
    storage: &'a dyn Storage,
    name: &'a str,
) -> impl Fn(io::Error) -> Error + 'a {
    move |source| {
        let path = Path::new(&storage.location()).join(name).display().to_string();
        Error::Storage { operation, path, source }
    }
}

pub(crate) fn write_to(out: File, content: Content<'_>) -> io::Result<File> {
    let mut out = io::BufWriter::with_capacity(1 << 16, out);
    content(&mut out)?;
    disk::fault("write")?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Writes a scratch file that becomes `file`, with the permissions of the one that it replaces. Links are not followed.
pub(crate) fn replace(file: &Path, content: Content<'_>) -> io::Result<()> {
    let before = fs::symlink_metadata(file).ok().filter(fs::Metadata::is_file);
    let permissions = before.map(|before| before.permissions());
    let replace = |scratch: &Scratch| {
        let out = write_to(scratch.file.try_clone()?, content)?;
        if let Some(permissions) = &permissions {
            out.set_permissions(permissions.clone())?;
        }
        disk::fault("sync")?;
        out.sync_all()?;
        disk::fault("rename")?;
        fs::rename(&scratch.path, file)
    };
    let mut tries = 0;
    loop {
        let scratch = Scratch::beside(file)?;
        match replace(&scratch) {
            Ok(()) => return Ok(()),
            // Taken for a leftover by another program, in the moment before it was locked.
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries < 3 => tries += 1,
            Err(error) => {
                let _ = fs::remove_file(&scratch.path);
                return Err(error);
            }
        }
    }
}

/// A new file that becomes another one. It is locked while it is written to, so that one that is not is left over.
struct Scratch {
    path: PathBuf,
    file: File,
}

impl Scratch {
    fn beside(file: &Path) -> io::Result<Self> {
        disk::fault("create")?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let usual = file.with_file_name(format!("{SCRATCH}{name}"));
        remove_leftover(&usual);
        let own = || file.with_file_name(format!("{SCRATCH}{}-{name}", std::process::id()));
        let new = |path: PathBuf| -> io::Result<Self> {
            // A new file: a link of this name is no way in.
            let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
            Ok(Self { path, file })
        };
        let scratch = match new(usual) {
            // Another program writes the same file.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove_leftover(&own());
                new(own())?
            }
            scratch => scratch?,
        };
        let _ = scratch.file.try_lock();
        Ok(scratch)
    }
}

/// Removes what a program that was killed left of a file, but not what another one is writing.
fn remove_leftover(path: &Path) {
    let in_use = || {
        let file = disk::open_inside(path, OpenOptions::new().write(true)).ok()?;
        Some(matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)))
    };
    if fs::symlink_metadata(path).is_ok() && in_use() != Some(true) {
        let _ = fs::remove_file(path);
    }
}

/// A directory that one process works in at a time.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// Held for as long as the value lives; the system releases it when the process ends,
    /// however it ends.
    _lock: File,
}

pub(crate) const LOCK: &str = ".lock";
const SCRATCH: &str = ".feasible-scratch-";

/// The names of all that is in a directory, ascending, but for the lock and files that are being written.
///
/// # Errors
/// What the system says.
pub fn names(path: &Path) -> io::Result<Vec<String>> {
    disk::fault("list")?;
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != LOCK && !name.starts_with(SCRATCH) {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Removes what processes that were killed while writing left in a directory.
pub(crate) fn remove_leftovers(path: &Path) {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(SCRATCH) {
            remove_leftover(&entry.path());
        }
    }
}

/// Whether a directory has been worked in.
fn is_locked(path: &Path) -> bool {
    path.join(LOCK).symlink_metadata().is_ok()
}

impl Directory {
    /// A new directory, or an empty one.
    ///
    /// # Errors
    /// [`Error::NotEmpty`]; [`Error::InUse`]; a directory that cannot be made.
    pub fn create(path: &Path) -> Result<Self> {
        let not_empty = || Err(Error::NotEmpty { directory: path.to_path_buf() });
        // No lock is left in a directory that is not ours.
        if !is_locked(path) && names(path).is_ok_and(|names| !names.is_empty()) {
            return not_empty();
        }
        let directory = Self::lock(path, true)?;
        match directory.list().map_err(Self::failed("list", path))?.is_empty() {
            true => Ok(directory),
            false => not_empty(),
        }
    }

    /// A directory whose run, if it holds one, is removed. Only files that a run wrote are.
    ///
    /// # Errors
    /// [`Error::Foreign`] if it holds anything else, which is then all still there; [`Error::InUse`].
    pub fn replace(path: &Path, ours: impl Fn(&str) -> bool) -> Result<Self> {
        Self::replace_with(path, ours, false, |_| Ok(Vec::new()))
    }

    /// As [`Directory::replace`], with the directories `inside` that go with the run. A baseline is known by its
    /// fingerprint: the next run may need no other.
    pub(crate) fn replace_with(
        path: &Path,
        ours: impl Fn(&str) -> bool,
        keeps_baseline: bool,
        inside: impl Fn(&Path) -> Result<Vec<Inner>>,
    ) -> Result<Self> {
        let is_ours = |file: &Path| files::is_run(path) && has_name(file, &ours);
        if !is_locked(path) && path.is_dir() {
            checked(path, &is_ours, &inside(path)?)?;
        }
        let directory = Self::lock(path, true)?;
        let removal = Removal::check(path, &is_ours, inside(path)?)?;
        // The README says whose directory it is for as long as anything is in it.
        let kept = [files::BASELINE_MODEL, files::README];
        removal.carry_out(&|name| keeps_baseline && kept.contains(&name))?;
        Ok(directory)
    }

    /// A new directory, or one that exists, with what is in it.
    ///
    /// # Errors
    /// [`Error::InUse`]; a directory that cannot be made or written to.
    pub fn open_or_create(path: &Path) -> Result<Self> {
        Self::lock(path, true)
    }

    /// A directory that exists.
    ///
    /// # Errors
    /// [`Error::InUse`]; a directory that does not exist or cannot be written to.
    pub fn open(path: &Path) -> Result<Self> {
        Self::lock(path, false)
    }

    pub(crate) fn failed(operation: &'static str, path: &Path) -> impl Fn(io::Error) -> Error {
        let path = path.display().to_string();
        move |source| Error::Storage { operation, path: path.clone(), source }
    }

    fn lock(path: &Path, create: bool) -> Result<Self> {
        if create {
            let made = disk::fault("create").and_then(|()| fs::create_dir_all(path));
            made.map_err(Self::failed("create", path))?;
        }
        fs::read_dir(path).map_err(Self::failed("read", path))?;
        let file = path.join(LOCK);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let lock = disk::fault("lock").and_then(|()| disk::open_inside(&file, &mut options));
        let lock = lock.map_err(Self::failed("write to", &file))?;
        match disk::fault("lock").map_err(fs::TryLockError::Error).and_then(|()| lock.try_lock()) {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return Err(Error::InUse { directory: path.to_path_buf() });
            }
            Err(fs::TryLockError::Error(error)) if disk::has_no_locks(&error) => {}
            Err(fs::TryLockError::Error(error)) => return Err(Self::failed("lock", &file)(error)),
        }
        remove_leftovers(path);
        Ok(Self { path: path.to_path_buf(), _lock: lock })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn sync_directory(&self) -> io::Result<()> {
        // A rename is on disk when its directory is. Windows has no such handle, nor the need.
        disk::fault("sync")?;
        if cfg!(unix) { File::open(&self.path)?.sync_all() } else { Ok(()) }
    }

    fn open_file(&self, name: &str, options: &mut OpenOptions) -> io::Result<File> {
        disk::open_inside(&self.path.join(name), options)
    }
}

impl Storage for Directory {
    fn location(&self) -> String {
        self.path.display().to_string()
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        files::read_file(&self.path, name)
    }

    fn read_first(&self, name: &str, length: u64) -> io::Result<Box<dyn Read + '_>> {
        disk::fault("read")?;
        Ok(Box::new(self.open_file(name, OpenOptions::new().read(true))?.take(length)))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.write_by(name, &|file| file.write_all(bytes))
    }

    fn write_by(&self, name: &str, content: Content<'_>) -> io::Result<()> {
        replace(&self.path.join(name), content)?;
        self.sync_directory()
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.open_file(name, OpenOptions::new().create(true).append(true))?;
        if let Err(error) = disk::fault("append") {
            // As a disk does that becomes full.
            file.write_all(&bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        file.write_all(bytes)
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        disk::fault("sync")?;
        match self.open_file(name, OpenOptions::new().read(true)) {
            Ok(file) => file.sync_all(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn truncate(&self, name: &str, length: u64) -> io::Result<()> {
        disk::fault("truncate")?;
        let mut options = OpenOptions::new();
        let file = self.open_file(name, options.create(true).truncate(false).write(true))?;
        if file.metadata()?.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.set_len(length)?;
        file.sync_all()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        names(&self.path)
    }

    fn beside(&self, name: &str) -> Vec<PathBuf> {
        let path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let (Some(parent), Some(own)) = (path.parent(), path.file_name()) else {
            return Vec::new();
        };
        let inside = |directory: &Path| -> Vec<PathBuf> {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            entries.take(MOST_BESIDE).map(|entry| entry.path()).collect()
        };
        // Of several seeds, the same seed of other runs lies a level above.
        let of_seeds = own.to_string_lossy().starts_with(files::SEED);
        let mut beside: Vec<PathBuf> = match parent.parent() {
            Some(above) if of_seeds => inside(above).iter().map(|run| run.join(own)).collect(),
            _ => inside(parent),
        };
        beside.retain(|run| *run != path && is_of_same_user(run, &path));
        beside.sort_unstable();
        beside.into_iter().map(|run| run.join(name)).collect()
    }
}

/// Directories beside a run that are looked at.
const MOST_BESIDE: usize = 1000;

#[cfg(unix)]
fn is_of_same_user(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = |path: &Path| Some(fs::symlink_metadata(path).ok()?.uid());
    owner(a).is_some_and(|user| owner(b) == Some(user))
}

#[cfg(not(unix))]
fn is_of_same_user(_: &Path, _: &Path) -> bool {
    true
}

/// Files in memory, for runs that leave nothing behind.
#[derive(Debug, Default)]
pub struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Memory {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    fn files(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        // A panic elsewhere leaves whole files behind: each change is one call.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Storage for Memory {
    fn location(&self) -> String {
        "memory".into()
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.files().get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.files().insert(name.to_string(), bytes.to_vec());
        Ok(())
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.files().entry(name.to_string()).or_default().extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&self, name: &str, length: u64) -> io::Result<()> {
        let mut files = self.files();
        let file = files.entry(name.to_string()).or_default();
        if (file.len() as u64) < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.truncate(length as usize);
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.files().keys().cloned().collect())
    }
}

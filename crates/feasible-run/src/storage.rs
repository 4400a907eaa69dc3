//! Where a run keeps its files: a directory, or memory.
//!
//! Two promises carry the rest: [`Storage::write`] is atomic (a reader sees the old bytes or the
//! new ones, whenever the machine stops), and after [`Storage::sync`] what was appended is on
//! disk.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::error::{Error, Result};
use crate::files;

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
}

/// Reads a file; `None` if there is none.
pub(crate) fn read(storage: &dyn Storage, name: &str) -> Result<Option<Vec<u8>>> {
    match storage.read(name) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", storage, name)(error)),
    }
}

/// Reads a file of a directory without locking it; `None` if there is none.
pub(crate) fn read_from(directory: &Path, name: &str) -> Result<Option<Vec<u8>>> {
    let path = directory.join(name);
    match fs::read(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => {
            Err(Error::Storage { operation: "read", path: path.display().to_string(), source })
        }
    }
}

/// The error of an operation on a file.
pub(crate) fn failed<'a>(
    operation: &'static str,
    storage: &'a dyn Storage,
    name: &'a str,
) -> impl Fn(io::Error) -> Error + 'a {
    move |source| {
        let path = Path::new(&storage.location()).join(name).display().to_string();
        Error::Storage { operation, path, source }
    }
}

/// Writes a file whole or not at all: whenever the program ends, the old bytes or the new ones are there. Devices
/// and pipes are written to as they are.
///
/// # Errors
/// What the system says; the old file is then still there.
pub fn write_whole(file: &Path, content: Content<'_>) -> io::Result<()> {
    // Where a link leads, not the link, is replaced.
    let file = &fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    let write = |to: &Path| {
        let mut out = io::BufWriter::with_capacity(1 << 16, File::create(to)?);
        content(&mut out)?;
        out.flush()
    };
    let before = fs::metadata(file).ok();
    if before.as_ref().is_some_and(|before| !before.is_file()) {
        return write(file);
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // A run removes what it finds under such a name; elsewhere the next write replaces it.
    let scratch = file.with_file_name(format!("{SCRATCH}{name}"));
    let replaced = write(&scratch)
        .and_then(|()| match before {
            Some(before) => fs::set_permissions(&scratch, before.permissions()),
            None => Ok(()),
        })
        .and_then(|()| fs::rename(&scratch, file));
    if replaced.is_err() {
        let _ = fs::remove_file(&scratch);
    }
    replaced
}

/// A directory that one process works in at a time.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// Held for as long as the value lives; the system lets go of it when the process ends,
    /// however it ends.
    _lock: File,
}

const LOCK: &str = ".lock";
const SCRATCH: &str = ".scratch-";

/// Files in the order they are removed: what makes a directory a run comes first.
fn by_removal(mut names: Vec<String>) -> Vec<String> {
    names.sort_by_key(|name| ![files::PROBLEM, files::SEEDS].contains(&name.as_str()));
    names
}

impl Directory {
    /// A new directory, or an empty one.
    ///
    /// # Errors
    /// [`Error::NotEmpty`]; [`Error::InUse`]; a directory that cannot be made.
    pub fn create(path: &Path) -> Result<Self> {
        let directory = Self::lock(path, true)?;
        let files = directory.list().map_err(Self::failed("list", path))?;
        if files.is_empty() {
            Ok(directory)
        } else {
            Err(Error::NotEmpty { directory: path.to_path_buf() })
        }
    }

    /// A directory whose run, if it holds one, is removed. Only files that a run writes are.
    ///
    /// # Errors
    /// [`Error::NotEmpty`] if it holds anything else; [`Error::InUse`].
    pub fn replace(path: &Path, ours: impl Fn(&str) -> bool) -> Result<Self> {
        let directory = Self::lock(path, true)?;
        let names = directory.list().map_err(Self::failed("list", path))?;
        if !names.iter().all(|name| ours(name)) {
            return Err(Error::NotEmpty { directory: path.to_path_buf() });
        }
        // The problem first: without it nobody takes what is left for a run.
        for name in by_removal(names) {
            fs::remove_file(path.join(&name)).map_err(Self::failed("remove", &path.join(&name)))?;
        }
        Ok(directory)
    }

    /// A directory that exists.
    ///
    /// # Errors
    /// [`Error::InUse`]; a directory that does not exist or cannot be written to.
    pub fn open(path: &Path) -> Result<Self> {
        Self::lock(path, false)
    }

    fn failed(operation: &'static str, path: &Path) -> impl Fn(io::Error) -> Error {
        let path = path.display().to_string();
        move |source| Error::Storage { operation, path: path.clone(), source }
    }

    fn lock(path: &Path, create: bool) -> Result<Self> {
        if create {
            fs::create_dir_all(path).map_err(Self::failed("create", path))?;
        }
        fs::read_dir(path).map_err(Self::failed("read", path))?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(LOCK))
            .map_err(Self::failed("write to", path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return Err(Error::InUse { directory: path.to_path_buf() });
            }
            // A file system without locks.
            Err(fs::TryLockError::Error(_)) => {}
        }
        // Left by a process that was killed while writing.
        for entry in fs::read_dir(path).map_err(Self::failed("read", path))?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(SCRATCH) {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(Self { path: path.to_path_buf(), _lock: lock })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn sync_directory(&self) -> io::Result<()> {
        // A rename is on disk when its directory is. Windows has no such handle, nor the need.
        if cfg!(unix) { File::open(&self.path)?.sync_all() } else { Ok(()) }
    }
}

impl Storage for Directory {
    fn location(&self) -> String {
        self.path.display().to_string()
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.path.join(name))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.write_by(name, &|file| file.write_all(bytes))
    }

    fn write_by(&self, name: &str, content: Content<'_>) -> io::Result<()> {
        let scratch = tempfile::Builder::new().prefix(SCRATCH).tempfile_in(&self.path)?;
        let mut file = io::BufWriter::with_capacity(1 << 16, scratch);
        content(&mut file)?;
        let scratch = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        scratch.as_file().sync_all()?;
        // A scratch file is private; what it becomes is as public as any new file.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(self.path.join(LOCK))?.permissions().mode();
            scratch.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
        }
        scratch.persist(self.path.join(name)).map_err(|error| error.error)?;
        self.sync_directory()
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        OpenOptions::new().create(true).append(true).open(self.path.join(name))?.write_all(bytes)
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        match File::open(self.path.join(name)) {
            Ok(file) => file.sync_all(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn truncate(&self, name: &str, length: u64) -> io::Result<()> {
        let path = self.path.join(name);
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        if file.metadata()?.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.set_len(length)?;
        file.sync_all()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != LOCK && !name.starts_with(SCRATCH) {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }
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

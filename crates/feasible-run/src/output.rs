//! Files that are written outside of a run's [`Storage`](crate::Storage): pages, pictures, tables, exported models.
//!
//! A file that the user named (`-o page.html`) is written where its link leads, and to a pipe or a device as it is. A name
//! that the program chose is taken only where there is nothing, or a regular file that this program wrote: one of a run's
//! names in a run's directory, or one that bears its mark.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use feasible_data::disk::{self, MARK};

use crate::files;
use crate::removal::has_name;
use crate::storage::{Content, replace, write_to};

/// Writes a file that the user named, whole or not at all: whenever the program ends, the old bytes or the new ones are
/// there. Inside a run directory no link is followed.
///
/// # Errors
/// What the system says; the old file is then still there. A pipe that nobody reads.
pub fn write_whole(file: &Path, content: Content<'_>) -> io::Result<()> {
    if files::is_run(parent(file)) {
        regular_or_none(file)?;
        return replace(file, content);
    }
    let file = &fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    if fs::metadata(file).is_ok_and(|before| !before.is_file()) {
        // Who opened a pipe would wait for a reader.
        let _reader = disk::open_to_write(file)?;
        return write_to(OpenOptions::new().write(true).open(file)?, content).map(drop);
    }
    replace(file, content)
}

/// Writes a file that the program named.
///
/// # Errors
/// As [`refuse_foreign`] and [`write_whole`].
pub fn write_own(file: &Path, content: Content<'_>) -> io::Result<()> {
    refuse_foreign(file)?;
    replace(file, content)
}

/// Writes a file that the program named over any regular file: the user said so.
///
/// # Errors
/// A link, a directory, a pipe or a device.
pub fn write_over(file: &Path, content: Content<'_>) -> io::Result<()> {
    regular_or_none(file)?;
    replace(file, content)
}

/// Refuses a name that is taken by anything but a regular file that this program wrote.
///
/// # Errors
/// What is there.
pub fn refuse_foreign(file: &Path) -> io::Result<()> {
    let in_run = || files::is_run(parent(file)) && has_name(file, files::is_ours);
    if !regular_or_none(file)? || in_run() || has_mark(file) {
        return Ok(());
    }
    let text = "it is there already, and feasible did not write it: move it away, or give another place for outputs";
    Err(io::Error::new(io::ErrorKind::AlreadyExists, text))
}

/// A directory that the program named, made if it is not there.
///
/// # Errors
/// A link; what the system says.
pub fn make_directory(directory: &Path) -> io::Result<()> {
    disk::no_link(directory)?;
    fs::create_dir_all(directory)
}

/// A directory that the user named, made if it is not there: where its link leads, unless that is inside a run.
///
/// # Errors
/// As [`make_directory`].
pub fn make_named_directory(directory: &Path) -> io::Result<PathBuf> {
    if files::is_run(parent(directory)) {
        disk::no_link(directory)?;
    }
    fs::create_dir_all(directory)?;
    match disk::no_link(directory) {
        Ok(()) => Ok(directory.to_path_buf()),
        Err(_) => directory.canonicalize(),
    }
}

fn parent(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Whether a regular file has the name.
fn regular_or_none(file: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(file) {
        Ok(found) => disk::regular(found.file_type()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Bytes at either end of a file in which its mark is.
const NEAR: u64 = 4096;

/// Whether a file bears the mark of this program: the words, or the form of those files that have no room for words.
pub(crate) fn has_mark(file: &Path) -> bool {
    let read = || -> io::Result<(Vec<u8>, Vec<u8>)> {
        let mut file = disk::open_inside(file, OpenOptions::new().read(true))?;
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        (&mut file).take(NEAR).read_to_end(&mut head)?;
        let end = file.metadata()?.len();
        file.seek(SeekFrom::Start(end.saturating_sub(NEAR)))?;
        file.take(NEAR).read_to_end(&mut tail)?;
        Ok((head, tail))
    };
    let Ok((head, tail)) = read() else { return false };
    let has = |bytes: &[u8], words: &[u8]| bytes.windows(words.len()).any(|some| some == words);
    let begins = |start: &str| head.starts_with(start.as_bytes());
    has(&head, MARK.as_bytes())
        || has(&tail, MARK.as_bytes())
        // The producer of an ONNX graph, the form of JSON output, the curve of an attack.
        || has(&head, b"\x12\x08feasible")
        || begins(&format!("{{\n  \"format\": {},\n", crate::JSON_FORMAT))
        || begins(crate::attack::CSV_HEAD)
}

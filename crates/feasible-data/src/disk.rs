//! Files as they are opened everywhere: regular ones only, and inside a run directory through no link.
//!
//! A pipe would be waited for, a device read without end, and a link inside a run directory would have a run
//! change what is not its own. All of them are refused with [`io::ErrorKind::InvalidInput`], before a byte is read
//! or written.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use crate::scratch;

/// In every page, card and picture that this program writes: by it they are known again.
pub const MARK: &str = "Made by feasible";

/// Opens a file that the user named, for reading. Links are followed.
///
/// # Errors
/// What the system says; a directory, a pipe, a socket or a device.
pub fn open(path: &Path) -> io::Result<File> {
    fault("read")?;
    let mut options = OpenOptions::new();
    options.read(true);
    // Opening a pipe waits for who writes to it.
    flags(&mut options, false);
    let file = options.open(path).map_err(|error| match fs::metadata(path) {
        Ok(found) => regular(found.file_type()).err().unwrap_or(error),
        Err(_) => error,
    })?;
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens a file inside a run directory. Its last part is no link, whenever it was made.
///
/// # Errors
/// What the system says; a link, a directory, a pipe, a socket or a device.
pub fn open_inside(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    flags(options, true);
    let found = || fs::symlink_metadata(path).map(|found| found.file_type());
    if !cfg!(unix) && found().is_ok_and(|found| found.is_symlink()) {
        return Err(refused("a symbolic link", "replace it with the file itself"));
    }
    let file = options.open(path).map_err(|error| match found() {
        Ok(found) => regular(found).err().unwrap_or(error),
        Err(_) => error,
    })?;
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// Reads a file inside a run directory, up to a limit.
///
/// # Errors
/// As [`open_inside`]; a longer file; a system without that much memory.
pub fn read_inside(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    fault("read")?;
    read_within(open_inside(path, OpenOptions::new().read(true))?, most)
}

/// Reads a file, up to a limit.
///
/// # Errors
/// As [`read_inside`].
pub fn read_within(file: File, most: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    let too_long = || {
        let text = format!("it has more than the {most} bytes allowed for such a file");
        io::Error::new(io::ErrorKind::InvalidData, text)
    };
    let room = usize::try_from(length).ok().filter(|_| length <= most).ok_or_else(too_long)?;
    let mut bytes = Vec::new();
    // One more, by which the end is found.
    if scratch::fallibly(|| bytes.try_reserve_exact(room + 1)).is_err() {
        let text = format!("the system refused the {length} bytes of memory that it takes");
        return Err(io::Error::new(io::ErrorKind::OutOfMemory, text));
    }
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_long()) } else { Ok(bytes) }
}

/// Insists that a directory inside a run directory is no link to another; one that is not there is none.
///
/// # Errors
/// A link.
pub fn no_link(directory: &Path) -> io::Result<()> {
    match fs::symlink_metadata(directory) {
        Ok(found) if found.is_symlink() => {
            Err(refused("a symbolic link", "replace it with the directory itself"))
        }
        _ => Ok(()),
    }
}

/// Whether a lock failed because the file system has none.
pub fn has_no_locks(error: &io::Error) -> bool {
    // A network file system whose lock service is not running.
    #[cfg(unix)]
    if error.raw_os_error() == Some(libc::ENOLCK) {
        return true;
    }
    error.kind() == io::ErrorKind::Unsupported
}

#[cfg(unix)]
fn flags(options: &mut OpenOptions, inside: bool) {
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags(libc::O_NONBLOCK | if inside { libc::O_NOFOLLOW } else { 0 });
}

#[cfg(not(unix))]
fn flags(_: &mut OpenOptions, _: bool) {}

fn refused(what: &str, instead: &str) -> io::Error {
    let text = format!("it is {what}, not a regular file: {instead}");
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// Opens a pipe or a device that the user named, to write to it. A pipe that nobody reads is an error.
///
/// # Errors
/// What the system says.
pub fn open_to_write(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    flags(options.write(true), false);
    options.open(path).map_err(|error| match fs::metadata(path) {
        Ok(found) if is_pipe(found.file_type()) => {
            io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe that nobody reads")
        }
        _ => error,
    })
}

/// Refuses what is no regular file.
///
/// # Errors
/// What it is.
pub fn regular(found: FileType) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let save = "save its content to a file, and give that";
    Err(if found.is_symlink() {
        refused("a symbolic link", "replace it with the file itself")
    } else if found.is_dir() {
        refused("a directory", "give a file")
    } else if is_pipe(found) {
        refused("a pipe", save)
    } else {
        refused("a device or a socket", save)
    })
}

#[cfg(unix)]
fn is_pipe(found: FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&found)
}

#[cfg(not(unix))]
fn is_pipe(_: FileType) -> bool {
    false
}

/// For tests of what happens when the disk fails: in builds with debug assertions, `FEASIBLE_FAULT=sync:3` has the
/// third call for `sync` fail, once, and say so on standard error; `FEASIBLE_FAULT=read:3:new.csv:people.csv` has a file take the
/// place of another there. Otherwise this does nothing.
///
/// # Errors
/// The one that was asked for.
#[inline]
pub fn fault(operation: &str) -> io::Result<()> {
    if cfg!(debug_assertions) { injected(operation) } else { Ok(()) }
}

fn injected(operation: &str) -> io::Result<()> {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    static ASKED: OnceLock<Option<(String, u64, Vec<String>)>> = OnceLock::new();
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let asked = ASKED.get_or_init(|| {
        let text = std::env::var("FEASIBLE_FAULT").ok()?;
        let mut words = text.split(':').map(String::from);
        let (operation, call) = (words.next()?, words.next()?.parse().ok()?);
        Some((operation, call, words.collect()))
    });
    let Some((_, call, place)) = asked.as_ref().filter(|(of, ..)| of == operation) else {
        return Ok(());
    };
    if CALLS.fetch_add(1, Ordering::SeqCst) + 1 != *call {
        return Ok(());
    }
    if let [new, old] = &place[..] {
        return fs::rename(new, old);
    }
    let text = format!("FEASIBLE_FAULT has {operation} {call} fail");
    let _ = io::Write::write_all(&mut io::stderr(), format!("{text}\n").as_bytes());
    Err(io::Error::new(io::ErrorKind::StorageFull, text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_inside_a_run_no_links() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("file");
        fs::write(&file, "text").unwrap();
        assert!(open(&file).is_ok());
        assert_eq!(read_inside(&file, 4).unwrap(), b"text");
        let error = read_inside(&file, 3).unwrap_err();
        assert!(error.to_string().contains("more than the 3 bytes"), "{error}");
        assert!(no_link(scratch.path()).is_ok() && no_link(&scratch.path().join("none")).is_ok());
        let absent = open(&scratch.path().join("none")).unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
        let error = open(scratch.path()).unwrap_err();
        assert!(error.to_string().contains("directory"), "{error}");
        #[cfg(unix)]
        {
            let link = scratch.path().join("link");
            std::os::unix::fs::symlink(&file, &link).unwrap();
            assert!(open(&link).is_ok());
            let appending = open_inside(&link, OpenOptions::new().append(true)).unwrap_err();
            for error in
                [read_inside(&link, 99).unwrap_err(), no_link(&link).unwrap_err(), appending]
            {
                assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
                assert!(error.to_string().contains("symbolic link"), "{error}");
            }
            let error = open(Path::new("/dev/null")).unwrap_err();
            assert!(error.to_string().contains("device"), "{error}");
        }
    }
}

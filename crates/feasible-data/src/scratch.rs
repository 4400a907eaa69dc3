//! Large lists in a file instead of in memory, for trainings larger than memory.
//!
//! A training on many rows holds many lists that are as long as the table: cells, inputs, targets, ids, the parts of the split, the order of an
//! epoch, λ and its moments, violations, predictions. Instead of teaching each of them to live on disk, the program's
//! allocator does: once [`begin`] was called, whatever is at least [`LARGE`] bytes long is placed in a *scratch file* that is mapped into the
//! address space. The kernel writes its pages out and drops them when memory is short, and reads them again when they are touched. Types, loops and
//! results are those of a training in memory, to the last bit.
//!
//! - The file has no name (it is unlinked as soon as it is there), so no other process can open or shorten it, and nothing is left behind however the
//!   process ends.
//! - Its blocks are reserved when a list is made. A full disk is therefore found there, and never in the middle of a
//!   loop (as the signal of a mapped page that cannot be written). The program says so and exits.
//! - What is freed is punched out of the file, so the file holds what is held, and what it gives out next is zero.
//!
//! Only Linux has what this needs (`fallocate`); elsewhere [`begin`] fails, and the allocator is the system's.
//!
//! A program chooses it with
//!
//! ```
//! use feasible_data::scratch::Allocator;
//! fn disk_is_full(_bytes: usize) -> ! {
//!     std::process::exit(3)
//! }
//! fn memory_is_out(_bytes: usize) -> ! {
//!     feasible_data::scratch::end(2, &[b"out of memory\n"], 3)
//! }
//! #[global_allocator]
//! static MEMORY: Allocator = Allocator::new(disk_is_full, memory_is_out);
//!
//! # #[cfg(target_os = "linux")] {
//! use feasible_data::scratch;
//! let before = vec![1_u64; 1 << 20];
//! let directory = tempfile::tempdir()?;
//! scratch::begin(directory.path())?;
//! let mut large = vec![7_u64; 1 << 20];
//! large.extend_from_slice(&before);
//! assert_eq!((large[0], large[(2 << 20) - 1]), (7, 1));
//! assert_eq!(scratch::used(), 16 << 20);
//! drop((large, before));
//! assert_eq!(scratch::used(), 0);
//! # }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A program that is refused memory would be aborted by Rust. This allocator ends it with a sentence instead, unless whoever asks can do without ([`fallibly`]).
//!
//! This file has `unsafe` code: an allocator is unsafe by definition. What it takes care of is in `extents`, which is safe.

#![allow(unsafe_code)]

#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod extents;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What is shorter stays in memory. A block of a column of categories has this size.
pub const LARGE: usize = 1 << 17;

/// Addresses of the scratch file, most of them never used: the largest length all lists together can have.
#[cfg(target_os = "linux")]
const RESERVED: usize = 1 << 40;
#[cfg(not(target_os = "linux"))]
const RESERVED: usize = 0;

/// Where the file is mapped; 0 as long as there is none.
static BASE: AtomicUsize = AtomicUsize::new(0);
/// Whether the program's allocator is ours.
static INSTALLED: AtomicBool = AtomicBool::new(false);

/// The allocator. See the [module](self).
#[derive(Debug)]
pub struct Allocator {
    full: fn(usize) -> !,
    none: fn(usize) -> !,
}

impl Allocator {
    /// An allocator that calls `full` with a number of bytes where the disk has no room for them, and `none` where memory has
    /// none: that must not take any.
    pub const fn new(full: fn(usize) -> !, none: fn(usize) -> !) -> Self {
        Self { full, none }
    }
}

thread_local! {
    /// Whether this thread can do without the memory that it asks for.
    static FALLIBLE: Cell<bool> = const { Cell::new(false) };
}

/// Asks for memory that may be refused: then `reserve` is told so (`try_reserve`), and the program goes on.
pub fn fallibly<T>(reserve: impl FnOnce() -> T) -> T {
    let before = FALLIBLE.replace(true);
    let done = reserve();
    FALLIBLE.set(before);
    done
}

/// Says something on standard output (1) or error (2), and ends the process at once. Takes no memory and no locks.
pub fn end(stream: i32, words: &[&[u8]], code: i32) -> ! {
    #[cfg(unix)]
    {
        for word in words {
            // SAFETY: the pointer and the length are those of a slice.
            let _ = unsafe { libc::write(stream, word.as_ptr().cast(), word.len()) };
        }
        // SAFETY: ends the process, and runs nothing.
        unsafe { libc::_exit(code) }
    }
    #[cfg(not(unix))]
    {
        let _ = (stream, words);
        std::process::exit(code)
    }
}

/// Whether the program can keep large lists in a file.
pub fn is_possible() -> bool {
    if cfg!(not(target_os = "linux")) {
        return false;
    }
    // Asks the allocator, whichever it is.
    drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGE)));
    INSTALLED.load(Ordering::Relaxed)
}

/// Whether large lists are kept in a file.
pub fn is_begun() -> bool {
    BASE.load(Ordering::Relaxed) != 0
}

/// Keeps large lists in a file in this directory from now on, until the process ends. The first directory stays.
///
/// # Errors
/// A program that has another allocator, a system or file system without `fallocate`; what the system says.
pub fn begin(directory: &Path) -> io::Result<()> {
    if !is_possible() {
        let reason =
            "this program cannot keep large lists on disk: use the `feasible` program on Linux";
        return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
    }
    file::begin(directory)
}

/// Bytes that lists hold in the file.
pub fn used() -> usize {
    file::used()
}

/// Bytes that are free for files in a directory, if the system says.
pub fn free_bytes(directory: &Path) -> Option<u64> {
    file::free_bytes(directory)
}

fn is_inside(pointer: *const u8) -> bool {
    let base = BASE.load(Ordering::Relaxed);
    base != 0 && (pointer as usize).wrapping_sub(base) < RESERVED
}

impl Allocator {
    /// Room in the file, if there is a file and the list is one for it.
    fn take(&self, layout: Layout) -> Option<*mut u8> {
        if layout.size() < LARGE {
            return None;
        }
        INSTALLED.store(true, Ordering::Relaxed);
        if !is_begun() || layout.align() > extents::PAGE {
            return None;
        }
        match file::take(layout.size()) {
            Ok(place) => place,
            Err(_) => (self.full)(layout.size()),
        }
    }

    /// What the system gave; ends the program if that is nothing, and it cannot do without.
    fn given(&self, place: *mut u8, bytes: usize) -> *mut u8 {
        if place.is_null() && !FALLIBLE.try_with(Cell::get).unwrap_or(true) {
            (self.none)(bytes)
        }
        place
    }

    /// Whether a list lies in the file: no shorter one does.
    fn holds(pointer: *const u8, layout: Layout) -> bool {
        layout.size() >= LARGE && is_inside(pointer)
    }
}

// SAFETY: what is not in the file is the system allocator's, given and taken back with the layout it was asked for. `file::take` gives pages of the
// mapping that no other list has (see `extents`), readable, writable and zero; they are aligned to pages, and stay mapped until the process ends. Which of both a list is in
// follows from its address. The locks inside `file` allocate less than `LARGE` bytes while they are held, so they are never asked for twice by one thread.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match self.take(layout) {
            Some(place) => place,
            // SAFETY: the caller's promise about the layout is passed on.
            None => self.given(unsafe { System.alloc(layout) }, layout.size()),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match self.take(layout) {
            Some(place) => place,
            // SAFETY: as above.
            None => self.given(unsafe { System.alloc_zeroed(layout) }, layout.size()),
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if Self::holds(pointer, layout) {
            file::give(pointer as usize - BASE.load(Ordering::Relaxed), layout.size());
        } else {
            // SAFETY: it was not taken from the file, so from the system.
            unsafe { System.dealloc(pointer, layout) }
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let here = Self::holds(pointer, layout);
        if here && size >= LARGE {
            let offset = pointer as usize - BASE.load(Ordering::Relaxed);
            match file::resize(offset, layout.size(), size) {
                Ok(true) => return pointer,
                Ok(false) => {}
                Err(_) => (self.full)(size),
            }
        }
        if !here && (size < LARGE || !is_begun()) {
            // SAFETY: it is the system's, and stays so.
            return self.given(unsafe { System.realloc(pointer, layout, size) }, size);
        }
        // SAFETY: the caller promises that `size`, rounded up to the alignment, is no more than `isize::MAX`.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: `size` is not 0, and the two lists do not overlap. Should there be no memory, the old one stays.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(pointer, moved, layout.size().min(size));
                self.dealloc(pointer, layout);
            }
            moved
        }
    }
}

#[cfg(target_os = "linux")]
mod file {
    use std::ffi::CString;
    use std::fs::File;
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::ptr;
    use std::sync::atomic::Ordering;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::extents::{Extents, PAGE};
    use super::{BASE, RESERVED};
    use crate::disk;

    struct ScratchFile {
        file: File,
        extents: Extents,
    }

    static FILE: Mutex<Option<ScratchFile>> = Mutex::new(None);

    fn lock() -> MutexGuard<'static, Option<ScratchFile>> {
        FILE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(directory: &Path) -> io::Result<()> {
        let mut place = lock();
        if place.is_some() {
            return Ok(());
        }
        let file = tempfile::tempfile_in(directory)?;
        file.set_len(RESERVED as u64)?;
        // Whether the file system can reserve and free.
        allocate(&file, 0, PAGE)?;
        free(&file, 0, PAGE)?;
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_NORESERVE);
        // SAFETY: a new mapping at an address of the system's choice overlaps no other. The file is unlinked and open nowhere else, so nobody shortens it.
        let base =
            unsafe { libc::mmap(ptr::null_mut(), RESERVED, access, kind, file.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        *place = Some(ScratchFile { file, extents: Extents::new(RESERVED) });
        BASE.store(base as usize, Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn used() -> usize {
        lock().as_ref().map_or(0, |scratch| scratch.extents.used())
    }

    /// Room for so many bytes; none if all addresses are taken.
    pub(super) fn take(bytes: usize) -> io::Result<Option<*mut u8>> {
        disk::fault("scratch")?;
        let mut place = lock();
        let Some(scratch) = place.as_mut() else { return Ok(None) };
        let Some(offset) = scratch.extents.take(bytes) else { return Ok(None) };
        if let Err(error) = allocate(&scratch.file, offset, bytes) {
            scratch.extents.give(offset, bytes);
            return Err(error);
        }
        Ok(Some((BASE.load(Ordering::Relaxed) + offset) as *mut u8))
    }

    pub(super) fn give(offset: usize, bytes: usize) {
        if let Some(scratch) = lock().as_mut()
            // What cannot be freed is not given out again, as it is not zero.
            && free(&scratch.file, offset, bytes).is_ok()
        {
            scratch.extents.give(offset, bytes);
        }
    }

    /// Whether the list has its new length where it lies.
    pub(super) fn resize(offset: usize, from: usize, to: usize) -> io::Result<bool> {
        let mut place = lock();
        let Some(scratch) = place.as_mut() else { return Ok(false) };
        let (old, new) = (Extents::rounded(from), Extents::rounded(to));
        if new < old {
            if free(&scratch.file, offset + new, old - new).is_ok() {
                scratch.extents.give(offset + new, old - new);
            }
        } else if new > old {
            if !scratch.extents.take_at(offset + old, new - old) {
                return Ok(false);
            }
            if let Err(error) = allocate(&scratch.file, offset + old, new - old) {
                scratch.extents.give(offset + old, new - old);
                return Err(error);
            }
        }
        Ok(true)
    }

    pub(super) fn free_bytes(directory: &Path) -> Option<u64> {
        let path = CString::new(directory.as_os_str().as_bytes()).ok()?;
        let mut found = MaybeUninit::<libc::statvfs>::uninit();
        // SAFETY: the path ends in 0, and the system fills what the pointer leads to.
        let done = unsafe { libc::statvfs(path.as_ptr(), found.as_mut_ptr()) } == 0;
        // SAFETY: it was filled.
        let found = done.then(|| unsafe { found.assume_init() })?;
        found.f_bavail.checked_mul(found.f_frsize)
    }

    fn allocate(file: &File, offset: usize, bytes: usize) -> io::Result<()> {
        fallocate(file, 0, offset, bytes)
    }

    fn free(file: &File, offset: usize, bytes: usize) -> io::Result<()> {
        fallocate(file, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, offset, bytes)
    }

    fn fallocate(file: &File, mode: libc::c_int, offset: usize, bytes: usize) -> io::Result<()> {
        loop {
            let (offset, bytes) = (offset as libc::off_t, Extents::rounded(bytes) as libc::off_t);
            // SAFETY: takes no pointers.
            if unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, bytes) } == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod file {
    use std::io;
    use std::path::Path;

    pub(super) fn begin(_: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn used() -> usize {
        0
    }

    pub(super) fn free_bytes(_: &Path) -> Option<u64> {
        None
    }

    pub(super) fn take(_: usize) -> io::Result<Option<*mut u8>> {
        Ok(None)
    }

    pub(super) fn give(_: usize, _: usize) {}

    pub(super) fn resize(_: usize, _: usize, _: usize) -> io::Result<bool> {
        Ok(false)
    }
}

//! An allocator that ends the process when a case asks for more memory than any file of the corpus can be worth.
//!
//! A file of a few kilobytes from which a program takes gigabytes is a defect, though a large machine may bear it. The
//! process ends, as it does where memory runs out; libFuzzer keeps the input, the test prints its number.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes at most in one piece.
const PIECE: usize = 1 << 29;
/// Bytes at most in use.
const ALL: usize = 3 << 30;

/// The system's allocator with limits.
#[derive(Clone, Copy, Debug)]
pub struct Limited;

static USED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static CASE: std::cell::Cell<(&'static str, u64)> = const { std::cell::Cell::new(("", 0)) };
}

/// What this thread works on, for the message.
pub fn case(target: &'static str, number: u64) {
    CASE.set((target, number));
}

fn take(size: usize) {
    let used = USED.fetch_add(size, Ordering::Relaxed).saturating_add(size);
    if size > PIECE || used > ALL {
        refuse(size, used);
    }
}

#[cold]
#[allow(clippy::print_stderr)] // unbuffered, and numbers are written without allocating
fn refuse(size: usize, used: usize) {
    let (target, number) = CASE.try_with(std::cell::Cell::get).unwrap_or_default();
    eprintln!("{target}, case {number}: {size} bytes in one piece, {used} in all");
    std::process::abort();
}

// SAFETY: passes every call on to the system's allocator unchanged, or ends the process.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's obligations are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size);
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

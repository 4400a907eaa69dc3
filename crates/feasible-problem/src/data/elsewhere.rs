//! Tables that other processes help to read: the ranks of a job.
//!
//! One process puts the table together ([`feasible_data::Reading`]); it has [`Readers`] from [`read_with`]. The others call
//! [`read_slice`] for what they are given.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use feasible_data::{ReadCounts, ReadRequest, Readers, SliceRead, TableSlice};

use crate::memory;
use crate::store;

static READERS: OnceLock<Arc<dyn Readers>> = OnceLock::new();

/// From now on these readers read tables along with this process. Once per process.
pub fn read_with(readers: Arc<dyn Readers>) {
    let _ = READERS.set(readers);
}

/// Who reads along with this process.
pub(super) fn readers() -> Option<&'static dyn Readers> {
    READERS.get().map(|readers| &**readers)
}

/// Reads a part of a table for another process. `None` if it cannot be read here, or takes more memory or disk than there is: then that process reads it.
pub fn read_slice(slice: &TableSlice, request: &ReadRequest) -> Option<SliceRead> {
    let expected = slice.expected_bytes().ok()?;
    match &request.scratch {
        Some(_) => store::begin(expected).ok()?,
        None if memory::too_much(expected).is_some() => return None,
        None => {}
    }
    slice.read(&request.format).ok()
}

/// Who has read a table, if others could have.
pub(super) fn note(path: &Path, counts: ReadCounts) -> Option<String> {
    let ReadCounts { slices, given, elsewhere, differing } = counts;
    if given == 0 {
        return None;
    }
    let mut note = format!(
        "{} was read in {slices} parts, {elsewhere} of them by other ranks",
        path.display()
    );
    let absent = given - elsewhere - differing;
    if absent > 0 {
        note += &format!(
            "; {absent} could not be read there (no such file, or too little memory), and rank 0 read them"
        );
    }
    if differing > 0 {
        note += &format!(
            "; {differing} have other bytes there, and rank 0 read them: check that all machines have the same files"
        );
    }
    Some(note)
}

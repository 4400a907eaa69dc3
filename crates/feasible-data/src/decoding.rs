//! Decoders that others wrote, run so that a panic in them is the damaged file's fault and not ours.
//!
//! Where panics unwind, the panic is caught and becomes the error. A program that does not unwind, or whose
//! panic hook ends it, asks [`damage`] in the hook what to say.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

thread_local! {
    static AT_WORK: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// What to say if this thread panics now: the file it decodes is damaged. None if it decodes none, and a panic
/// is a bug.
pub fn damage() -> Option<String> {
    AT_WORK.try_with(|at_work| at_work.try_borrow().ok()?.clone()).ok()?
}

/// What `decode` gives, or the error `damaged` if it panics.
pub(crate) fn decoding<T>(
    damaged: impl Fn() -> Error,
    decode: impl FnOnce() -> Result<T>,
) -> Result<T> {
    // A thread that waits for others may decode something else meanwhile.
    let outer = AT_WORK.replace(Some(damaged().to_string()));
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    AT_WORK.set(outer);
    decoded.unwrap_or_else(|_| Err(damaged()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damaged() -> Error {
        Error::Saved { reason: "it is damaged".into() }
    }

    #[test]
    fn a_panic_of_a_decoder_is_the_error_of_a_damaged_file() {
        let said = damaged().to_string();
        let ended: Result<()> = decoding(damaged, || {
            assert_eq!(damage(), Some(damaged().to_string()));
            panic!("as decoders do");
        });
        assert_eq!(ended.unwrap_err().to_string(), said);
        assert_eq!(damage(), None, "it is over");
        assert_eq!(decoding(damaged, || Ok(7)).unwrap(), 7);
    }
}

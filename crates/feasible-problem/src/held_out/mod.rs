//! Which rows are held out: those of the training are known again by their [`fingerprints`], re-use and repetition are told
//! from chance by [`overlap`].

mod exchange;
pub mod fingerprints;
mod format;
pub mod overlap;
pub(crate) mod rows;

pub use fingerprints::{Fingerprints, Once};
pub use overlap::{HeldOut, Repetition};

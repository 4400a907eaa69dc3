//! Which rows are held out: those of the training are known again by their [`fingerprints`], up to rounding; [`overlap`] tells re-use
//! and repetition from chance, and [`copies`] finds rows of a table that repeat each other.

pub(crate) mod coincidence;
pub mod copies;
mod exchange;
pub mod fingerprints;
mod format;
pub mod hashes;
pub mod overlap;
pub(crate) mod rounding;
pub(crate) mod rows;

pub use copies::Copies;
pub use fingerprints::{Fingerprints, Once};
pub use overlap::{HeldOut, Repetition};

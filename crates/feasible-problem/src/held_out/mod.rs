//! Which rows are held out: those of the training are known again by their [`fingerprints`], up to [`rounding`]; re-use and repetition
//! are told from chance by [`overlap`], [`copies`] within a table by [`coincidence`].

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

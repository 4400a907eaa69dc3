//! Losses on outputs (being written).
use crate::samples::Targets;

/// Outputs of some samples, as a loss sees them.
///
/// Entry i of a population sits at batch position `positions[i]` and is sample
/// `samples[positions[i]]` of the data set.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, T> {
    /// k, outputs per sample.
    pub width: usize,
    /// Outputs of the view the loss is about; position p starts at p · k.
    pub at: &'a [T],
    /// For losses between two views: outputs of the other view. Empty otherwise.
    pub against: &'a [T],
    /// Targets of the data set.
    pub targets: &'a Targets,
    /// The data-set row of each batch position.
    pub samples: &'a [u32],
    /// The batch positions to evaluate.
    pub positions: &'a [u32],
}

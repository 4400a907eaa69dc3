//! The order of the rows in an epoch.
//!
//! Rows in memory are taken in any order ([`Shuffle::Rows`]). Rows that lie on disk are read fastest where they lie next to one another. So
//! [`Shuffle::Blocks`] first puts blocks of [`BLOCK`] neighbouring rows into a random order, and then shuffles the rows of every [`WINDOW`] of that order.
//! Each row comes up once in an epoch, as always. Batches are drawn from the [`WINDOW`]/[`BLOCK`] = 512 random places of a window: in a
//! table that is sorted by class, whose blocks are of one class each, the share p of a class in a window has a standard deviation of √(p(1 − p)/512), at most 2.2 %.
//! A data set of no more rows than a window is shuffled as a whole.
//!
//! ```
//! use feasible::learner::Shuffle;
//! use feasible::learner::order::{BLOCK, WINDOW};
//! assert_eq!(Shuffle::default(), Shuffle::Rows);
//! assert_eq!(WINDOW / BLOCK, 512);
//! ```

use crate::stream::Stream;

/// Neighbouring rows that are read together: of 20 numbers each, 80 kB.
pub const BLOCK: usize = 1 << 10;
/// Rows that are shuffled together: of 20 numbers each, 42 MB.
pub const WINDOW: usize = 1 << 19;

/// How rows are put in order. See the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shuffle {
    /// All orders are equally likely.
    #[default]
    Rows,
    /// Blocks of rows, then rows within a window.
    Blocks,
}

impl Shuffle {
    /// Puts rows, which lie in storage as they are given, into the order of an epoch.
    #[doc(hidden)]
    pub fn apply(self, stream: &mut Stream, rows: &mut [u32]) {
        if self == Self::Blocks && rows.len() > WINDOW {
            in_blocks(stream, rows, BLOCK, WINDOW);
        } else {
            stream.shuffle(rows);
        }
    }
}

#[doc(hidden)]
pub fn in_blocks(stream: &mut Stream, rows: &mut [u32], block: usize, window: usize) {
    let mut blocks: Vec<u32> = (0..rows.len().div_ceil(block) as u32).collect();
    stream.shuffle(&mut blocks);
    let given = rows.to_vec();
    let mut filled = 0;
    for from in blocks {
        let from = from as usize * block;
        let block = &given[from..given.len().min(from + block)];
        rows[filled..filled + block.len()].copy_from_slice(block);
        filled += block.len();
    }
    rows.chunks_mut(window).for_each(|rows| stream.shuffle(rows));
}

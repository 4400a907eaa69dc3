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
    pub(crate) fn apply(self, stream: &mut Stream, rows: &mut [u32]) {
        if self == Self::Blocks && rows.len() > WINDOW {
            in_blocks(stream, rows, BLOCK, WINDOW);
        } else {
            stream.shuffle(rows);
        }
    }
}

fn in_blocks(stream: &mut Stream, rows: &mut [u32], block: usize, window: usize) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Purpose;

    fn stream(seed: u64) -> Stream {
        Stream::new(seed, Purpose::Shuffle, 0, 0)
    }

    #[test]
    fn every_row_comes_up_once_and_a_window_reads_few_places() {
        for rows in [1, 7, 8, 64, 65, 1000, 1003] {
            let mut order: Vec<u32> = (0..rows).map(|row| 3 * row).collect();
            in_blocks(&mut stream(1), &mut order, 8, 64);
            for window in order.chunks(64) {
                let mut places: Vec<u32> = window.iter().map(|row| row / 3 / 8).collect();
                places.sort_unstable();
                places.dedup();
                // A window may begin and end within a block, and the last block be short.
                assert!(places.len() <= 64 / 8 + 2, "{rows}: {places:?}");
            }
            order.sort_unstable();
            assert!(order.into_iter().eq((0..rows).map(|row| 3 * row)), "{rows}");
        }
    }

    #[test]
    fn a_data_set_of_one_window_is_shuffled_as_ever() {
        let (mut blocks, mut all): (Vec<u32>, Vec<u32>) =
            ((0..5000).collect(), (0..5000).collect());
        Shuffle::Blocks.apply(&mut stream(3), &mut blocks);
        Shuffle::Rows.apply(&mut stream(3), &mut all);
        assert_eq!(blocks, all);
    }

    #[test]
    fn in_a_table_sorted_by_class_every_window_has_nearly_the_shares_of_all() {
        let rows = 3 * WINDOW as u32 + 12_345;
        let mut order: Vec<u32> = (0..rows).collect();
        Shuffle::Blocks.apply(&mut stream(5), &mut order);
        assert_ne!(order[..BLOCK], (0..BLOCK as u32).collect::<Vec<_>>()[..]);
        // The first 30 % are of class 1.
        let ones = |rows_of: &[u32]| {
            rows_of.iter().filter(|&&row| f64::from(row) < 0.3 * f64::from(rows)).count() as f64
                / rows_of.len() as f64
        };
        for window in order.chunks_exact(WINDOW) {
            // Five standard deviations of 512 draws: 0.101.
            assert!((ones(window) - 0.3).abs() < 0.101, "{}", ones(window));
            // Within a window nothing is sorted: five standard deviations of 65,536 draws beside those of the window.
            for part in window.chunks(1 << 16) {
                assert!((ones(part) - ones(window)).abs() < 0.009, "{}", ones(part));
            }
        }
    }
}

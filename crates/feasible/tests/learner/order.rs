//! The order of the rows in an epoch.

use feasible::internals::in_blocks;
use feasible::learner::Shuffle;
use feasible::learner::order::{BLOCK, WINDOW};
use feasible::{Purpose, Stream};

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
    let (mut blocks, mut all): (Vec<u32>, Vec<u32>) = ((0..5000).collect(), (0..5000).collect());
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

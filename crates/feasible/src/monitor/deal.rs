//! Differences of two groups as independent values: the rows of the larger group dealt to those of the smaller.

use crate::stream::{Purpose, Stream};

/// Deals over which capitals are averaged, unless the groups are large.
const DEALS: u64 = 8;
/// Rows that are dealt in all.
const MOST_ROWS: u64 = 1 << 20;

/// The differences of each deal: as many as the smaller group has rows, each with mean E\[a\] − E\[b\],
/// independent of each other. `seed` must not depend on the order of rows in the file.
pub fn deals(a: &[f64], b: &[f64], seed: u64) -> Vec<Vec<f64>> {
    if a.is_empty() || b.is_empty() {
        return Vec::new();
    }
    let count = (MOST_ROWS / (a.len() + b.len()) as u64).clamp(1, DEALS);
    let deal = |number: u64| {
        let shuffled = |values: &[f64], group: u64| -> Vec<f64> {
            let mut order: Vec<u32> = (0..values.len() as u32).collect();
            // No epoch of a training has this number.
            let mut stream = Stream::new(seed, Purpose::Shuffle, u64::MAX - 1, 2 * number + group);
            stream.shuffle(&mut order);
            order.into_iter().map(|at| values[at as usize]).collect()
        };
        let (a, b) = (shuffled(a, 0), shuffled(b, 1));
        let swapped = a.len() > b.len();
        let (few, many) = if swapped { (b, a) } else { (a, b) };
        // Blocks of equal size, but for one row.
        let end = |block: usize| (block as u128 * many.len() as u128 / few.len() as u128) as usize;
        let difference = |(at, one): (usize, &f64)| {
            let block = &many[end(at)..end(at + 1)];
            let mean = block.iter().sum::<f64>() / block.len() as f64;
            if swapped { mean - one } else { one - mean }
        };
        few.iter().enumerate().map(difference).collect()
    };
    (0..count).map(deal).collect()
}

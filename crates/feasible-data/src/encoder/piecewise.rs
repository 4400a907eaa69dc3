//! Numbers as a network can use them: piecewise linear between quantiles, values of many rows apart.
//!
//! A standardised column whose largest value is a hundred standard deviations away is nearly constant for almost all rows,
//! and where one value holds 92 % of them, what tells the others apart is lost in the rest of the range. Between knots
//! t₀ < t₁ < … < t_K, about as many training rows in each piece, x becomes the K columns
//!
//! ```text
//! z_k(x) = clamp((x − t_{k−1}) / (t_k − t_{k−1}), 0, 1),   k = 1 … K
//! ```
//!
//! of which every continuous function that is linear between the knots is a linear combination. They are between 0 and 1 like the
//! indicators of categories, so that the first layer starts as it does for those. Beyond the outer knots, the least and the largest
//! training value, they are constant.
//!
//! A value that at least [`ATOM`] of the training rows share (zeros, mostly) is an *atom*: it gets an indicator of its own, and the knots are
//! those of the other values. A column of at most K + 1 distinct values has them as knots and no atoms, which
//! would tell nothing new.
//!
//! `piecewise = "auto"` takes, in tables of at least [`LEAST_ROWS`] training rows, the columns with a value further than [`FAR`] standard
//! deviations from the mean, and those of more than K + 1 distinct values of which one has a share of at least [`MANY`]; none where
//! that would make more than [`MOST_CELLS`] of the training rows.

use super::{Encoding, Variable};
use crate::quantiles::{atoms, quantile_edges};

/// The most pieces of a column.
pub const PIECES: usize = 16;
/// The share of the training rows that makes a value an atom.
pub const ATOM: f64 = 0.05;

/// A value further from the mean than this many standard deviations makes a column long-tailed.
pub const FAR: f64 = 6.0;
/// The share of the training rows at one value that makes a column one with a value of many rows.
pub const MANY: f64 = 0.1;
/// The training rows that `"auto"` needs: with fewer, sixteen columns in place of one fit noise.
pub const LEAST_ROWS: usize = 1500;
/// Of how many rows that share is estimated.
const SAMPLE: usize = 4096;

/// The most cells of training rows that `"auto"` makes of numbers: 400 MB.
pub const MOST_CELLS: usize = 100_000_000;

/// z_1(x) … z_K(x).
pub(crate) fn pieces(knots: &[f64], x: f64) -> impl Iterator<Item = f32> {
    knots.windows(2).map(move |ends| match (ends[0], ends[1]) {
        (from, _) if x <= from => 0.0,
        (_, to) if x >= to => 1.0,
        // Halved, so that the difference of ±1e308 does not overflow.
        (from, to) => ((x / 2.0 - from / 2.0) / (to / 2.0 - from / 2.0)) as f32,
    })
}

/// Which atom a number is.
pub(crate) fn atom_of(atoms: &[f64], x: f64) -> Option<usize> {
    let at = atoms.partition_point(|&atom| atom < x);
    (atoms.get(at) == Some(&x)).then_some(at)
}

/// Knots and atoms of sorted, finite values that are not all equal.
pub(super) fn knots_and_atoms(sorted: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut values = sorted.to_vec();
    values.dedup();
    let atoms = atoms(sorted, ATOM);
    if values.len() <= PIECES + 1 || values.len() < atoms.len() + 2 {
        return (values, Vec::new());
    }
    let rest: Vec<f64> = sorted.iter().copied().filter(|&x| atom_of(&atoms, x).is_none()).collect();
    let mut knots = vec![rest[0]];
    knots.extend(quantile_edges(&rest, PIECES));
    knots.extend(rest.last());
    knots.dedup();
    (knots, atoms)
}

/// Whether the pieces of these variables would take too much memory.
pub(super) fn too_many_cells(variables: &[Variable], rows: usize) -> bool {
    let pieces = |variable: &Variable| match variable.encoding {
        Encoding::Piecewise { .. } => variable.dense_width(),
        _ => 0,
    };
    variables.iter().map(pieces).sum::<usize>().saturating_mul(rows) > MOST_CELLS
}

/// Whether a standardised column would serve a network badly: it has a long tail, or a value of many rows.
pub(super) fn suits(values: &[f64], mean: f64, sd: f64) -> bool {
    if values.len() < LEAST_ROWS {
        return false;
    }
    values.iter().any(|x| (x - mean).abs() > FAR * sd) || {
        // Some of the rows tell well enough what share one value has; sorting a million takes long.
        let step = values.len().div_ceil(SAMPLE);
        let mut some: Vec<f64> = values.iter().copied().step_by(step).collect();
        some.sort_unstable_by(f64::total_cmp);
        let most = some.chunk_by(|a, b| a == b).map(<[f64]>::len).max().unwrap_or(0);
        let many = most as f64 >= MANY * some.len() as f64;
        some.dedup();
        many && some.len() > PIECES + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_many_long_tails_is_left_as_it_is_where_pieces_would_fill_the_memory() {
        let knots = (0..=PIECES).map(|k| k as f64).collect();
        let encoding =
            Encoding::Piecewise { knots, atoms: vec![], missing: None, indicator: false };
        let variables = vec![Variable { column: "x".into(), encoding }; 50];
        assert!(!too_many_cells(&variables, 100_000));
        assert!(too_many_cells(&variables, 1_000_000));
    }
}

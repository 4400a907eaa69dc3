//! Which rows a table has, so that none is counted twice.
//!
//! Rows are known by a hash of their cells, whatever their order and the format of the file. A table with exactly
//! the rows of an earlier one is that table. For any other, rows that both have are no proof by themselves: different
//! people can have equal rows. But look at what occurs exactly *twice* in the two tables together. If rows are
//! independent draws, the two are in different tables with probability
//!
//! $$ \frac{2ab}{(a + b)^2} \le \frac12 , $$
//!
//! a and b being how many are to be expected in each, whatever the populations are. If s of d such pairs are split, and
//! a binomial(d, ½) is that large once in a million, rows were taken from one table into the other, and it is
//! refused. Twenty rows do that if nothing else occurs twice.
//!
//! Rows are compared by the columns that the model and its requirements need, so that a new number for every row does not
//! hide them, by all columns, which tell people with equal rows apart, and by those needed up to rounding, so that a table that was
//! exported again is known; the target is left out, as it may come
//! later. To stay small a ledger keeps, of every table, those of its distinct rows with the smallest hashes: a random
//! part that is the same part for all tables.

use std::collections::{BTreeMap, BTreeSet};

use feasible::certificate::Count;
use feasible_data::Table;
use feasible_problem::data::sha256;
use feasible_problem::held_out::hashes::of_rows;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Distinct rows that are kept of a table.
const KEPT: usize = 512;
/// Hexadecimal digits of a hash.
const DIGITS: usize = 16;
/// A surprise of less than this is no chance.
const SURPRISE: f64 = 1e-6;

/// What identifies a table.
pub(crate) struct Identity {
    pub(crate) content: String,
    pub(crate) inputs: String,
    /// By all columns but the target, by those needed, and by those up to rounding.
    pub(crate) sketches: Vec<Sketch>,
    /// For what needs a random order that is not the file's.
    pub(crate) seed: u64,
}

/// The distinct rows with the smallest hashes, by how often they occur in the table: hashes one after the other, in
/// hexadecimal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sketch {
    once: String,
    twice: String,
    more: String,
}

impl Identity {
    /// Of a table; rows are compared by the columns `needed`, the target left out, and by hashes that are the same up to rounding.
    pub(crate) fn of(
        table: &Table,
        needed: &BTreeSet<String>,
        targets: &[&str],
        rounded: Vec<Vec<u64>>,
    ) -> Result<Self> {
        let all: Vec<String> = table.columns().iter().map(|column| column.name.clone()).collect();
        let other = |name: &&String| !targets.contains(&name.as_str());
        let others: Vec<String> = all.iter().filter(other).cloned().collect();
        let needed: Vec<String> = needed.iter().filter(other).cloned().collect();
        let rows = |names: &[String]| {
            let mut rows = of_rows(table, &table.all_rows(), names).ok_or_else(|| {
                Error::unfit(
                    table.name(),
                    "it lacks columns that the model or its requirements need",
                )
            })?;
            rows.sort_unstable();
            Ok::<_, Error>(rows)
        };
        let digest = |rows: &[u64]| {
            sha256(&rows.iter().flat_map(|row| row.to_le_bytes()).collect::<Vec<u8>>())
        };
        let content = digest(&rows(&all)?);
        let seed = u64::from_str_radix(&content[..DIGITS], 16).unwrap_or(0);
        let (others, needed) = (rows(&others)?, rows(&needed)?);
        repeated(table, &others)?;
        let mut sketches = vec![Sketch::of(&others), Sketch::of(&needed)];
        for mut rows in rounded {
            rows.sort_unstable();
            sketches.push(Sketch::of(&rows));
        }
        Ok(Self { content, inputs: digest(&others), sketches, seed })
    }
}

/// Refuses a table whose every row occurs twice, or as often as any other number divides.
fn repeated(table: &Table, sorted: &[u64]) -> Result<()> {
    let mut sizes = sorted.chunk_by(|a, b| a == b).map(<[u64]>::len);
    let divisor = sizes.clone().fold(0, |a, b| {
        let (mut a, mut b) = (a, b);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    });
    if divisor > 1 && sizes.by_ref().count() >= 20 {
        return Err(Error::unfit(
            table.name(),
            format!(
                "every row occurs in it {divisor} times or a multiple of that: give each row once"
            ),
        ));
    }
    Ok(())
}

impl Sketch {
    fn of(sorted: &[u64]) -> Self {
        let mut sketch = Self::default();
        for same in sorted.chunk_by(|a, b| a == b).take(KEPT) {
            let list = match same.len() {
                1 => &mut sketch.once,
                2 => &mut sketch.twice,
                _ => &mut sketch.more,
            };
            *list += &format!("{:016x}", same[0]);
        }
        sketch
    }

    /// How often each row occurs, up to 3; and the hash up to which all are known.
    fn rows(&self) -> (BTreeMap<u64, u8>, u64) {
        let mut rows = BTreeMap::new();
        for (list, times) in [(&self.once, 1), (&self.twice, 2), (&self.more, 3)] {
            for digits in list.as_bytes().chunks(DIGITS) {
                let digits = std::str::from_utf8(digits).unwrap_or_default();
                if let Ok(hash) = u64::from_str_radix(digits, 16) {
                    rows.insert(hash, times);
                }
            }
        }
        let last = rows.last_key_value().map_or(u64::MAX, |(hash, _)| *hash);
        let known = if rows.len() < KEPT { u64::MAX } else { last };
        (rows, known)
    }

    /// Rows that two tables have in common beyond chance, of those that were compared; `None` if there are none.
    pub(crate) fn shared(&self, other: &Self) -> Option<(u64, u64)> {
        let ((here, one), (there, two)) = (self.rows(), other.rows());
        let known = one.min(two);
        let times = |rows: &BTreeMap<u64, u8>, hash: &u64| rows.get(hash).copied().unwrap_or(0);
        let both: BTreeSet<&u64> =
            here.keys().chain(there.keys()).filter(|h| **h <= known).collect();
        let (mut pairs, mut split) = (0, 0);
        for hash in both {
            match (times(&here, hash), times(&there, hash)) {
                (1, 1) => (pairs, split) = (pairs + 1, split + 1),
                (2, 0) | (0, 2) => pairs += 1,
                _ => {}
            }
        }
        let count = Count::new(split, pairs).ok()?;
        let compared = here.range(..=known).count() as u64;
        (count.ln_p_at_most(0.5) < SURPRISE.ln()).then_some((split, compared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed(x: u64) -> u64 {
        let z = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn sketch(rows: impl Iterator<Item = u64>) -> Sketch {
        let mut rows: Vec<u64> = rows.map(|row| mixed(row + 1)).collect();
        rows.sort_unstable();
        Sketch::of(&rows)
    }

    #[test]
    fn tables_that_share_rows_are_known_and_others_are_not_however_large() {
        for (rows, common) in [(100, 25), (1_000, 100), (50_000, 5_000)] {
            let first = sketch(0..rows);
            let second = sketch(rows - common..2 * rows - common);
            assert!(first.shared(&second).is_some(), "{rows}");
            assert_eq!(first.shared(&sketch(rows..2 * rows)), None, "{rows}");
        }
        // A table within a longer one.
        assert!(sketch(0..300).shared(&sketch(0..3_000)).is_some());
    }

    #[test]
    fn fresh_draws_with_repetition_are_not_taken_for_the_same_rows() {
        // Populations of few, some and many distinct rows; one in a million would be refused.
        let mut state = 1u64;
        for kinds in [2, 10, 100, 1_000, 10_000, 1_000_000] {
            for _ in 0..200 {
                let mut draw = |rows: usize| {
                    let mut next = || {
                        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                        mixed(state) % kinds
                    };
                    sketch((0..rows).map(|_| next()).collect::<Vec<_>>().into_iter())
                };
                let (first, second) = (draw(500), draw(300));
                assert_eq!(first.shared(&second), None, "{kinds}");
            }
        }
    }
}

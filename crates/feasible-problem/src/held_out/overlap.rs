//! Are rows of a table equal to rows of the training more often than chance explains? And to each other?
//!
//! Different people have equal rows where columns are few, so that an equal row is no proof of re-use. If
//! the table was drawn from the population that was trained on, independently, then which rows of the pool
//! of both are the table's is chance (`exchange`). A copy lies evenly: one row here, one
//! there. The statistic is
//!
//! $$ S = \sum_v \frac{b_v (k_v - b_v)}{k_v} $$
//!
//! over distinct rows v that occur k_v times in the pool and b_v times in the table, up to constants the χ²
//! of homogeneity, and re-use makes it larger than chance does. It is summed apart over rows with k_v ≤ 2,
//! where a copied rare row shows, and over those with k_v ≥ 3, each given how many of them are the table's; the
//! smaller of the two p-values, doubled, is refused below [`FALSE_ALARM`]. Another population makes S
//! smaller as a rule, not larger.
//!
//! Within the table, the number of distinct rows is compared with what the training's own repetition lets
//! expect, in the same way. And a table that was given g times has every row a multiple of g times: a count
//! of Poisson's that is above 0 is a multiple of g with probability at most 1/g if g ≤ 4, and ¼ beyond, so
//! that C distinct rows do this with probability at most e√n min(g, 4)⁻ᶜ, whatever the population (e√n for
//! n being given).

use serde::{Deserialize, Serialize};

use super::exchange::{Score, Spectrum, ln_p};

/// How often a table that was drawn afresh is refused, at most; and how often its rows are said to repeat.
pub const FALSE_ALARM: f64 = 1e-4;

/// Shares of re-used rows that are tried to find out which would have been noticed.
const SHARES: [f64; 7] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0];

/// Re-use counts as noticed if its p-value is smaller than it need be by this factor: then another draw of
/// the same share would be noticed, too, some nineteen times in twenty.
const CLEARLY: f64 = 1e-4;

/// Fewer distinct rows than this share of those expected are worth a warning.
const FEW: f64 = 0.95;

/// How it is known that rows were not used in training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "known", rename_all = "kebab-case")]
pub enum HeldOut {
    /// The run itself set them apart.
    #[default]
    ByRecord,
    /// Whoever gives them says so: of a predictor that was trained elsewhere there is no record.
    Stated,
    /// No row equals one of the training in what the model and its requirements use.
    NoOverlap {
        /// Digits in which numbers were compared.
        #[serde(default = "most_digits")]
        digits: u32,
    },
    /// Some do, no more than chance explains.
    Explained {
        /// How many.
        equal: usize,
        /// How many of a fresh sample would.
        expected: f64,
        /// The smallest share of re-used rows that would have been refused.
        noticed: f64,
        /// Digits in which numbers were compared.
        #[serde(default = "most_digits")]
        digits: u32,
    },
    /// If all had been used, the comparison would not have shown it.
    CannotTell {
        /// How many rows equal one of the training.
        equal: usize,
        /// How many of a fresh sample would.
        expected: f64,
        /// Digits in which numbers were compared.
        #[serde(default = "most_digits")]
        digits: u32,
    },
}

fn most_digits() -> u32 {
    4
}

/// Rows of a table that are equal to each other more often than chance explains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repetition {
    /// Rows.
    pub rows: usize,
    /// Distinct ones.
    pub distinct: usize,
    /// Distinct ones to be expected; those there are if every row is repeated.
    pub expected: f64,
    /// Every distinct row occurs this often, or a multiple of it; 1 if they do not, and every distinct row counts once.
    pub times: usize,
}

/// Distinct rows of the training and of a table together.
pub(crate) struct Pool {
    /// How often each occurs in the training and in the table.
    cells: Vec<(u64, u64)>,
    trained: u64,
    table: u64,
}

impl Pool {
    /// Both by their fingerprints, sorted.
    pub(crate) fn new(trained: &[u64], table: &[u64]) -> Self {
        let mut cells = Vec::new();
        let (mut one, mut other) = (trained.chunk_by(|a, b| a == b), table.chunk_by(|a, b| a == b));
        let (mut a, mut b) = (one.next(), other.next());
        loop {
            let (first, second) = (a.map(|a| a[0]), b.map(|b| b[0]));
            let least = match (first, second) {
                (Some(x), Some(y)) => x.min(y),
                (Some(x), None) | (None, Some(x)) => x,
                (None, None) => break,
            };
            let mut cell = (0, 0);
            if first == Some(least) {
                cell.0 = a.map_or(0, |a| a.len() as u64);
                a = one.next();
            }
            if second == Some(least) {
                cell.1 = b.map_or(0, |b| b.len() as u64);
                b = other.next();
            }
            cells.push(cell);
        }
        Self { cells, trained: trained.len() as u64, table: table.len() as u64 }
    }

    /// Rows of the table that equal one of the training.
    pub(crate) fn equal(&self) -> usize {
        self.cells.iter().filter(|(a, _)| *a > 0).map(|(_, b)| *b as usize).sum()
    }

    /// The probability that k rows of the pool are all among `part` of its rows.
    fn all_of(&self, part: u64, k: u64) -> f64 {
        let all = self.trained + self.table;
        let mut chance = 1.0;
        for i in 0..k.min(part + 1) {
            chance *= part.saturating_sub(i) as f64 / (all - i) as f64;
            if chance < 1e-12 {
                return 0.0;
            }
        }
        chance
    }

    /// log of the p-value of "the table was drawn afresh".
    pub(crate) fn ln_p_fresh(&self) -> f64 {
        let group = |common: bool| {
            let cells = || self.cells.iter().filter(move |(a, b)| (a + b > 2) == common);
            let score = cells().map(|&(a, b)| Score::Even.of(a + b, b)).sum();
            let table = cells().map(|(_, b)| b).sum();
            ln_p(&spectrum(cells()), table, Score::Even, score)
        };
        (group(false).min(group(true)) + 2f64.ln()).min(0.0)
    }

    /// Whether the rows of the table are equal to each other beyond chance; `tests` share the risk.
    pub(crate) fn repetition(&self, tests: usize) -> Option<Repetition> {
        let counts = || self.cells.iter().map(|(_, b)| *b).filter(|b| *b > 0);
        let (rows, distinct) = (self.table as usize, counts().count());
        let limit = (FALSE_ALARM / tests.max(1) as f64).ln();
        let times = times(counts(), limit);
        if times > 1 {
            return Some(Repetition { rows, distinct, expected: distinct as f64, times });
        }
        let pool = spectrum(self.cells.iter());
        let present = |k: u64| 1.0 - self.all_of(self.trained, k);
        let expected: f64 = pool.iter().map(|&(k, cells)| cells as f64 * present(k)).sum();
        if distinct as f64 > FEW * expected {
            return None;
        }
        let absent = (self.cells.len() - distinct) as f64;
        let beyond = ln_p(&pool, self.table, Score::Absent, absent) < limit;
        beyond.then_some(Repetition { rows, distinct, expected, times: 1 })
    }
}

/// The g > 1 of which every count is a multiple, if chance does this with a probability below e^`limit`;
/// otherwise 1.
pub(crate) fn times(counts: impl Iterator<Item = u64>, limit: f64) -> usize {
    let (mut common, mut distinct, mut rows) = (0, 0.0, 0.0);
    for count in counts {
        common = gcd(common, count);
        distinct += 1.0;
        rows += count as f64;
    }
    let chance = 1.0 + 0.5 * f64::ln(rows) - distinct * (common.min(4) as f64).ln();
    if common > 1 && chance < limit { common as usize } else { 1 }
}

/// The smallest of some shares of re-used rows that would clearly be refused at `limit`, if this share of them is `recognised`. The rows
/// are drawn with a fixed seed from the fingerprints of the training, the others are those of the table.
pub(crate) fn noticed(trained: &[u64], table: &[u64], recognised: f64, limit: f64) -> Option<f64> {
    let refused = |share: f64| {
        let old = (share * recognised * table.len() as f64).ceil() as usize;
        let mut rows: Vec<u64> = Vec::with_capacity(table.len());
        while rows.len() < old {
            rows.extend(drawn(trained, (old - rows.len()).min(trained.len())));
        }
        rows.extend(drawn(table, table.len() - old));
        rows.sort_unstable();
        Pool::new(trained, &rows).ln_p_fresh() < limit + CLEARLY.ln()
    };
    if trained.is_empty() || !refused(1.0) {
        return None;
    }
    // A larger share is noticed more easily.
    let (mut missed, mut found) = (0, SHARES.len() - 1);
    while missed < found {
        let middle = (missed + found) / 2;
        if refused(SHARES[middle]) { found = middle } else { missed = middle + 1 }
    }
    Some(SHARES[found])
}

/// Some of the values, drawn by a fixed seed.
fn drawn(from: &[u64], some: usize) -> Vec<u64> {
    let mut values = from.to_vec();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for i in 0..some {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let left = (values.len() - i) as u64;
        values.swap(i, i + ((state >> 33) % left) as usize);
    }
    values.truncate(some);
    values
}

fn spectrum<'a>(cells: impl Iterator<Item = &'a (u64, u64)>) -> Spectrum {
    let mut sizes: Vec<u64> = cells.map(|(a, b)| a + b).collect();
    sizes.sort_unstable();
    sizes.chunk_by(|a, b| a == b).map(|equal| (equal[0], equal.len() as u64)).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

//! Are rows of one table equal to each other more often than chance explains?
//!
//! A table of a few categories has equal rows by chance, and nothing is wrong with them. A copy agrees with its row in
//! *every* column, while chance makes rows that differ in one column as well. Of the distinct rows, let T be those that
//! occur more than once, C_k the pairs that are equal in column k, H_k those that differ in k only, and H_kl those that
//! differ in k and l only. Two bounds on what chance makes of T are compared with it, and both must be exceeded:
//!
//! - **Near misses.** If columns agree independently, T ≈ H_k H_l / H_kl for all k and l, and the largest counts. Where no
//!   two columns give such an estimate, H_k times the odds that k agrees, which are at most 1, and for a number those
//!   of C_k.
//! - **Ties.** Rows that are equal are equal in any columns S, so T is at most the pairs that tie in S by chance: those
//!   that do and are not equal, or Π C_k over k in S if columns were independent, whichever are more. A smooth quantity has about
//!   as many pairs on neighbouring digits as on the same digit, so C_k of numbers counts the larger of the two. A column that another one
//!   determines ties as often as that one, and adds nothing to it.
//!
//! Rows are copies if T exceeds [`FACTOR`] times either, and [`LEAST`] more. `examples/copies.rs` simulates how often that is
//! wrong, and how often copies are found.

/// Copies beyond this multiple of what chance explains are no chance.
const FACTOR: f64 = 5.0;
/// Fewer rows that occur more than once are left alone.
pub(crate) const LEAST: f64 = 5.0;
/// By how much more often columns agree where others do.
const ASSOCIATION: f64 = 3.0;
/// By how much more often a number agrees where all others do, at most.
const ODDS: f64 = 100.0;
/// Pairs that an estimate needs: of those that differ in one column, and of those that differ in two.
const PAIRS: (f64, f64) = (5.0, 20.0);
/// Columns for which pairs that differ in two are counted, and columns that may tie together.
const COLUMNS: (usize, usize) = (8, 8);

/// How many columns, those with the fewest ties, are tried together; and how many rows show whether one column determines another.
const FINEST: usize = 24;
const COMPARED: usize = 4096;

/// A column: a hash of each cell; the numbers, if it is numeric.
pub(crate) struct Cells {
    pub(crate) hashes: Vec<u64>,
    pub(crate) numbers: Option<Vec<f64>>,
}

/// Whether the rows of these columns repeat each other beyond chance.
pub(crate) fn is_beyond_chance(columns: &[Cells]) -> bool {
    let rows = columns.first().map_or(0, |column| column.hashes.len());
    let sum = |row: usize| columns.iter().fold(0_u64, |sum, c| sum.wrapping_add(c.hashes[row]));
    let mut order: Vec<(u64, u32)> = (0..rows).map(|row| (sum(row), row as u32)).collect();
    order.sort_unstable();
    let groups = || order.chunk_by(|a, b| a.0 == b.0);
    let repeated = groups().filter(|group| group.len() > 1).count() as f64;
    if repeated < LEAST {
        return false;
    }
    let chosen: Vec<u32> = groups().map(|group| group[0].1).collect();
    let distinct = Distinct {
        sums: groups().map(|group| group[0].0).collect(),
        columns: columns.iter().map(|column| column.chosen(&chosen)).collect(),
    };
    let beyond = |chance: f64| repeated > FACTOR * chance + LEAST;
    let ties: Vec<f64> = distinct.columns.iter().map(Cells::ties).collect();
    beyond(distinct.near_misses(&ties)) && distinct.joint_ties(&ties, &beyond)
}

/// The distinct rows of a table.
struct Distinct {
    sums: Vec<u64>,
    columns: Vec<Cells>,
}

impl Distinct {
    /// All pairs of rows.
    fn all(&self) -> f64 {
        pairs([self.sums.len()].into_iter()).max(1.0)
    }

    /// Pairs that are equal by these hashes.
    fn equal(mut hashes: Vec<u64>) -> f64 {
        hashes.sort_unstable();
        pairs(hashes.chunk_by(|a, b| a == b).map(<[u64]>::len))
    }

    /// Pairs that are equal in all columns but these.
    fn but(&self, these: &[usize]) -> f64 {
        let hash = |(row, sum): (usize, &u64)| {
            these.iter().fold(*sum, |sum, &k| sum.wrapping_sub(self.columns[k].hashes[row]))
        };
        Self::equal(self.sums.iter().enumerate().map(hash).collect())
    }

    /// How many rows chance repeats, by pairs that are nearly equal.
    fn near_misses(&self, ties: &[f64]) -> f64 {
        let one: Vec<f64> = (0..self.columns.len()).map(|k| self.but(&[k])).collect();
        let mut order: Vec<usize> = (0..one.len()).filter(|&k| one[k] >= PAIRS.0).collect();
        order.sort_by(|&a, &b| one[b].total_cmp(&one[a]).then(a.cmp(&b)));
        order.truncate(COLUMNS.0);
        let mut estimate = None::<f64>;
        for (at, &k) in order.iter().enumerate() {
            for &l in &order[at + 1..] {
                let two = self.but(&[k, l]) - one[k] - one[l];
                let chance = one[k] * one[l] / two.max(1.0);
                if two >= PAIRS.1 || chance > one[k].min(one[l]) {
                    estimate = Some(estimate.map_or(chance, |known| known.max(chance)));
                }
            }
        }
        if let Some(estimate) = estimate {
            return estimate;
        }
        let all = self.all();
        let chance = |k: usize| {
            let ties = ties[k] + 1.0;
            match self.columns[k].numbers {
                Some(_) => one[k].min(ties).min(ODDS * one[k] * ties / all),
                None => one[k],
            }
        };
        (0..one.len()).map(chance).fold(0.0, f64::max)
    }

    /// Whether there are columns that tie together so rarely that chance does not explain the rows that are equal.
    fn joint_ties(&self, ties: &[f64], beyond: &dyn Fn(f64) -> bool) -> bool {
        let all = self.all();
        let mut order: Vec<usize> = (0..ties.len()).collect();
        order.sort_by(|&a, &b| ties[a].total_cmp(&ties[b]).then(a.cmp(&b)));
        order.truncate(FINEST);
        let mut together: Vec<usize> = Vec::new();
        let (mut share, mut sums) = (1.0, vec![0_u64; self.sums.len()]);
        for &k in &order {
            if together.iter().any(|&l| self.determines(l, k) || self.determines(k, l)) {
                continue;
            }
            let of = |l: usize| if l != k && self.determines(l, k) { ties[l] } else { ties[k] };
            let own = (0..ties.len()).map(of).fold(0.0, f64::max);
            let more = if together.is_empty() { 1.0 } else { ASSOCIATION };
            share *= (more * own / all).min(1.0);
            let column = &self.columns[k].hashes;
            sums.iter_mut().zip(column).for_each(|(sum, hash)| *sum = sum.wrapping_add(*hash));
            if beyond((share * all).max(Self::equal(sums.clone()))) {
                return true;
            }
            together.push(k);
            if together.len() == COLUMNS.1 {
                break;
            }
        }
        false
    }

    /// Whether rows that are equal in one column are equal in another, as a rule.
    fn determines(&self, one: usize, other: usize) -> bool {
        let (from, to) = (&self.columns[one].hashes, &self.columns[other].hashes);
        // Rows are in the order of their hashes, so that neighbours are pairs at random.
        let mut order: Vec<(u64, u32)> = from.iter().copied().zip(0..).take(COMPARED).collect();
        order.sort_unstable();
        let tied = || order.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        let equal = |pair: &&[(u64, u32)]| to[pair[0].1 as usize] == to[pair[1].1 as usize];
        tied().filter(equal).count() as f64 >= 0.9 * tied().count() as f64
    }
}

fn pairs(sizes: impl Iterator<Item = usize>) -> f64 {
    sizes.map(|size| size as f64 * (size as f64 - 1.0) / 2.0).sum()
}

impl Cells {
    fn chosen(&self, rows: &[u32]) -> Self {
        let hashes = rows.iter().map(|&row| self.hashes[row as usize]).collect();
        let numbers = self.numbers.as_ref();
        let numbers = numbers.map(|x| rows.iter().map(|&row| x[row as usize]).collect());
        Self { hashes, numbers }
    }

    /// Pairs of rows with equal cells; of numbers, with values as close as the closest of them, if those are more.
    fn ties(&self) -> f64 {
        let equal = Distinct::equal(self.hashes.clone());
        let Some(numbers) = &self.numbers else { return equal };
        let mut values: Vec<f64> = numbers.iter().copied().filter(|x| !x.is_nan()).collect();
        values.sort_unstable_by(f64::total_cmp);
        let groups: Vec<&[f64]> = values.chunk_by(|a, b| a == b).collect();
        let mut gaps: Vec<f64> = groups.windows(2).map(|pair| pair[1][0] - pair[0][0]).collect();
        if gaps.is_empty() {
            return equal;
        }
        let at = gaps.len() / 1000;
        let (_, step, _) = gaps.select_nth_unstable_by(at, f64::total_cmp);
        let step = *step * (1.0 + 1e-6);
        let close = groups.windows(2).filter(|pair| pair[1][0] - pair[0][0] <= step);
        let close: f64 = close.map(|pair| (pair[0].len() * pair[1].len()) as f64).sum();
        equal.max(close)
    }
}

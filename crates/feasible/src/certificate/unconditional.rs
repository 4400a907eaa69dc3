//! An exact unconditional bound on the difference of two rates whose rows are apart (Buehler 1957).
//!
//! Outcomes are pairs (i, j): i hits of n_a rows, j of n_b. They are put in an order that is fixed by
//! n_a, n_b and δ alone, by Newcombe's (1998) approximate upper bound on p_a − p_b with Wilson's limits u and l,
//!
//! $$ T(i, j) = \hat a - \hat b + \sqrt{(u(i) - \hat a)^2 + (\hat b - l(j))^2} , \qquad
//!    R = \{(i, j) : T(i, j) \le T(k_a, k_b)\} , $$
//!
//! and the bound is the largest difference at which an outcome as far down as the one that was seen has
//! probability δ:
//!
//! $$ U = \sup\{p_a - p_b : \Pr_{p_a, p_b}[R] \ge \delta\} . $$
//!
//! It is valid whatever the order: U is below the true difference only for outcomes whose R has probability
//! below δ; the R are nested, so all of these outcomes lie in the largest such R, whose probability is below
//! δ. A good order only makes it narrow. Taking R larger than it is keeps U valid.
//!
//! T grows with i and falls with j: Wilson's limits grow with the rate, and the root takes back at most the
//! whole of what â − b̂ gains. So Pr\[R\] falls in p_a and grows in p_b, and the supremum over the
//! unknown rate is bounded between the points of a grid, not only on it. With x_k = k/K and d = s/K,
//!
//! $$ \sup_{p_b} \Pr_{p_b + d,\, p_b}[R] \;\le\; \bar p(s) = \max_k \Pr_{x_{k + s},\, x_{k+1}}[R] , $$
//!
//! since p_b in [x_k, x_{k+1}] is at most x_{k+1}, and p_a = p_b + d at least x_k + d. p̄ falls with s; it is the
//! p-value of "p_a − p_b ≥ d", and the bound is the first s/K with p̄(s) < δ. The grid widens the bound by less
//! than 2/K.

use super::binomial::probabilities;
use super::count::Count;
use super::delta::Delta;

/// What is left out of a sum of probabilities, and rounding, relative to the sum.
pub(super) const ROUNDING: f64 = 1e-9;
/// No p-value is called smaller: beyond it, what windows leave out might count.
pub(super) const LEAST: f64 = 1e-20;

/// Whether groups of these sizes are small enough to search every rate: two of 350 rows are, and 300 beside 400.
pub(crate) fn is_small(rows_a: u64, rows_b: u64) -> bool {
    let (a, b) = (rows_a as f64, rows_b as f64);
    // The grid has about √(harmonic size) points; at each of them √n outcomes of either group matter.
    (a * b / (a + b)).sqrt() * (a.sqrt() + b.sqrt()) <= 500.0
}

/// Pr\[R\] on a grid of the two rates.
pub(crate) struct Unconditional {
    /// K.
    points: i64,
    /// Of each x_k: Pr\[bin(n_a, x_k) = i\], from the first i that matters.
    first: Vec<(usize, Vec<f64>)>,
    /// Of each x_k and i: Pr\[(i, J) ∈ R\], J ~ bin(n_b, x_k); 1 before the first i that is listed, 0 after the last.
    second: Vec<(usize, Vec<f64>)>,
    /// Whether the outcome that a difference of 1 gives for certain is in R.
    all: bool,
}

impl Unconditional {
    /// For the outcome `a`, `b`, with the order that suits a bound at `design`.
    pub(crate) fn new(a: Count, b: Count, design: Delta) -> Self {
        // p_a − p_b = (1 − p_b) − (1 − p_a): the group with fewer rows can always be the first.
        let (a, b) = if a.rows() <= b.rows() { (a, b) } else { (b.complement(), a.complement()) };
        let (rows_a, rows_b) = (a.rows(), b.rows());
        let harmonic = 1.0 / (1.0 / rows_a as f64 + 1.0 / rows_b as f64);
        let points = 1000 + (128.0 * harmonic.sqrt()) as i64;
        let mut region = Region::new(a, b, design);
        let from = region.staircase(0, rows_a as usize + 1);
        let grid = || (0..=points).map(|k| k as f64 / points as f64);
        let first = grid().map(|x| probabilities(rows_a, x)).collect();
        let second = grid().map(|x| tails(from, rows_b, x)).collect();
        Self { points, first, second, all: from[rows_a as usize] == 0 }
    }

    /// The probabilities that p̄(s) is the largest of.
    fn corners(&self, s: i64) -> impl Iterator<Item = f64> + '_ {
        let ks = (-s).max(0)..(self.points - s).min(self.points);
        let at =
            move |k: i64| product(&self.first[(k + s) as usize], &self.second[(k + 1) as usize]);
        // No pair of rates differs by more than 1, and only one by as much.
        let all = (s == self.points && self.all).then_some(1.0);
        ks.map(at).chain(all).map(|p| (p * (1.0 + ROUNDING)).clamp(LEAST, 1.0))
    }

    /// log of the p-value of "the difference is at least `d`".
    pub(crate) fn ln_p(&self, d: f64) -> f64 {
        if d <= -1.0 {
            return 0.0;
        }
        let s = (d.min(2.0) * self.points as f64).floor() as i64;
        self.corners(s).fold(0.0, f64::max).ln()
    }

    /// The upper bound at 1 − δ.
    pub(crate) fn upper(&self, delta: Delta) -> f64 {
        let (mut low, mut high) = (-self.points, self.points);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let possible = self.corners(middle).any(|p| p >= delta.value());
            if possible { low = middle } else { high = middle }
        }
        high as f64 / self.points as f64
    }
}

/// R: the outcomes as far down in the order as the one that was seen.
pub(super) struct Region {
    rows: [u64; 2],
    z: f64,
    /// T of the outcome that was seen.
    seen: f64,
    /// The staircase from the i that it was last asked for.
    start: u64,
    from: Vec<u64>,
}

impl Region {
    /// For the outcome `a`, `b`, with the order that suits a bound at `design`.
    pub(super) fn new(a: Count, b: Count, design: Delta) -> Self {
        let (rows, z) = ([a.rows(), b.rows()], design.normal_quantile());
        // Equal but for rounding is equal: R becomes larger, if anything.
        let seen = order(rows, z, a.hits(), b.hits()) + 1e-12;
        Self { rows, z, seen, start: 0, from: Vec::new() }
    }

    /// For each of `count` i from `start` on, the smallest j with (i, j) in R; n_b + 1 if there is none.
    pub(super) fn staircase(&mut self, start: u64, count: usize) -> &[u64] {
        let end = start + count as u64;
        if start > self.start + self.from.len() as u64 || end < self.start || self.from.is_empty() {
            (self.start, self.from) = (start, Vec::new());
        }
        if start < self.start {
            let before: Vec<u64> = (start..self.start).map(|i| self.first(i)).collect();
            self.from.splice(0..0, before);
            self.start = start;
        }
        for i in self.start + self.from.len() as u64..end {
            self.from.push(self.first(i));
        }
        // A staircase also where rounding would have made it none.
        for at in (0..self.from.len().saturating_sub(1)).rev() {
            self.from[at] = self.from[at].min(self.from[at + 1]);
        }
        &self.from[(start - self.start) as usize..(end - self.start) as usize]
    }

    fn first(&self, i: u64) -> u64 {
        let (mut low, mut high) = (0, self.rows[1] + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if order(self.rows, self.z, i, middle) <= self.seen {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

/// T(i, j).
fn order([rows_a, rows_b]: [u64; 2], z: f64, i: u64, j: u64) -> f64 {
    let limit = |hits: u64, rows: u64, side: f64| {
        let (n, rate) = (rows as f64, hits as f64 / rows as f64);
        let spread = (z * z / (4.0 * n * n) + rate * (1.0 - rate) / n).sqrt();
        (rate + z * z / (2.0 * n) + side * z * spread) / (1.0 + z * z / n)
    };
    let (p, q) = (i as f64 / rows_a as f64, j as f64 / rows_b as f64);
    p - q + f64::hypot(limit(i, rows_a, 1.0) - p, q - limit(j, rows_b, -1.0))
}

/// Pr\[J ≥ from(i)\] of J ~ bin(n, x) for the i where it is neither 0 nor 1.
pub(super) fn tails(from: &[u64], n: u64, x: f64) -> (usize, Vec<f64>) {
    let (start, probabilities) = probabilities(n, x);
    let start = start as u64;
    // Suffix sums, from the far end so that small ones keep their digits.
    let mut sums = probabilities;
    for j in (0..sums.len().saturating_sub(1)).rev() {
        sums[j] += sums[j + 1];
    }
    let certain = from.partition_point(|j| *j <= start);
    let possible = from.partition_point(|j| *j < start + sums.len() as u64);
    let tail = |j: &u64| sums[(*j - start) as usize].min(1.0);
    (certain, from[certain..possible].iter().map(tail).collect())
}

/// Σ of products; the second factor is 1 before its list and 0 after it.
pub(super) fn product(first: &(usize, Vec<f64>), second: &(usize, Vec<f64>)) -> f64 {
    let ((start, p), (certain, q)) = (first, second);
    let ones = certain.saturating_sub(*start).min(p.len());
    let mut sum: f64 = p[..ones].iter().sum();
    let skipped = start.saturating_sub(*certain);
    for (p, q) in p[ones..].iter().zip(q.iter().skip(skipped)) {
        sum += p * q;
    }
    sum
}

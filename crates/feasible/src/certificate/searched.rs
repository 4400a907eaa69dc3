//! The unconditional bound on a difference of two rates for large groups.
//!
//! [Buehler's bound](super::unconditional) searches every value of the unknown rate p_b. The search may be limited to a
//! confidence interval C for p_b at a small part β of δ (Berger and Boos 1994): with the same nested sets R,
//!
//! $$ p(d) = \beta + \sup_{p_b \in C} \Pr_{p_b + d,\, p_b}[R] $$
//!
//! is a p-value of "p_a − p_b ≥ d", since p_b is outside C with probability β at most, and otherwise the supremum is at least the
//! probability at the true p_b. C is a few standard deviations wide, however many rows there are, so a fixed number of cells is
//! enough; in each, the probability is bounded at a corner, as it falls in p_a and grows in p_b.

use super::binomial::probabilities;
use super::count::Count;
use super::delta::Delta;
use super::unconditional::{LEAST, ROUNDING, Region, product, tails};

/// β as a share of the δ that the bound is designed for.
const FOR_RATE: f64 = 0.002;
/// Cells of C. They widen the bound by the width of one: 3 % of a standard deviation of p_b.
const CELLS: u64 = 256;
/// Coprime to the number of cells: the order in which they are tried, far apart first.
const STRIDE: u64 = 101;
/// The relative width at which the search for the bound ends.
const CLOSE: f64 = 1e-3;

/// Pr\[R\] where p_b may be.
pub(crate) struct Searched {
    rows: [u64; 2],
    estimate: f64,
    beta: f64,
    /// The ends of C.
    interval: [f64; 2],
    region: Region,
}

impl Searched {
    /// For the outcome `a`, `b`, with the order that suits a bound at `design`.
    pub(crate) fn new(a: Count, b: Count, design: Delta) -> Self {
        // As there: the group with fewer rows is the first, so that the rate that is searched is the better known one.
        let (a, b) = if a.rows() <= b.rows() { (a, b) } else { (b.complement(), a.complement()) };
        let side = design.times(0.5 * FOR_RATE);
        Self {
            rows: [a.rows(), b.rows()],
            estimate: a.rate() - b.rate(),
            beta: design.value() * FOR_RATE,
            interval: [b.lower(side), b.upper(side)],
            region: Region::new(a, b, design),
        }
    }

    /// An upper bound on Pr\[R\] over the rates in a cell of C whose difference is `d`; 0 if there are none.
    fn probability(&mut self, cell: u64, d: f64) -> f64 {
        let [low, high] = self.interval;
        let at = |k: u64| low + (high - low) * k as f64 / CELLS as f64;
        let (p, q) = (at(cell) + d, at(cell + 1));
        if p > 1.0 || q + d < 0.0 {
            return 0.0;
        }
        let first = probabilities(self.rows[0], p.max(0.0));
        let from = self.region.staircase(first.0 as u64, first.1.len());
        let second = tails(from, self.rows[1], q);
        product(&(0, first.1), &second) * (1.0 + ROUNDING)
    }

    /// log of the p-value of "the difference is at least `d`".
    pub(crate) fn ln_p(&mut self, d: f64) -> f64 {
        let largest = (0..CELLS).map(|cell| self.probability(cell, d)).fold(LEAST, f64::max);
        (self.beta + largest).min(1.0).ln()
    }

    /// The upper bound at 1 − δ, from the safe side.
    pub(crate) fn upper(&mut self, delta: Delta) -> f64 {
        let target = delta.value() - self.beta;
        let mut bound = self.estimate;
        for cell in (0..CELLS).map(|k| k * STRIDE % CELLS) {
            if self.probability(cell, bound) < target {
                continue;
            }
            // Few cells come here: each bound is the largest so far.
            let (mut low, mut step) = (bound, 1e-6_f64.max(bound - self.estimate));
            let mut high = low + step;
            while high < 1.0 && self.probability(cell, high) >= target {
                low = high;
                step *= 2.0;
                high = low + step;
            }
            while high - low > (CLOSE * (high - self.estimate)).max(1e-9) {
                let middle = 0.5 * (low + high);
                match self.probability(cell, middle) >= target {
                    true => low = middle,
                    false => high = middle,
                }
            }
            bound = high.min(1.0);
        }
        bound
    }
}

//! How far averages over N rows are from the population's, for all models of a class at once.
//!
//! Proposition 3 of the paper, with m + q requirements and a class of VC dimension d:
//!
//! $$ \zeta(N) = \sqrt{\frac1N \Big[ 1 + \log\frac{4 (m + q + 2) (2N)^d}{\delta} \Big]} . $$
//!
//! With probability at least 1 − δ the solution of the empirical dual problem meets average requirements
//! up to B ζ(Nᵢ), and pointwise ones for all but ζ(Nⱼ) of the population.

use crate::certificate::Delta;

/// ζ(N): multiply by B for an expectation, use it unscaled for the share of a population.
pub fn zeta(rows: u64, dimension: f64, requirements: usize, delta: Delta) -> f64 {
    at(rows as f64, dimension, requirements, delta)
}

fn at(n: f64, dimension: f64, requirements: usize, delta: Delta) -> f64 {
    let choices = (4.0 * (requirements as f64 + 2.0)).ln() - delta.ln();
    // (2N)^d only as a logarithm: d may be billions.
    ((1.0 + choices + dimension * (2.0 * n).ln()) / n).sqrt()
}

/// The inverse of ζ: the fewest rows with ζ(N) ≤ `epsilon`. Not a whole number where that is beyond
/// 2⁵³; infinite for ε ≤ 0, and where no `f64` is enough.
pub fn rows_for(epsilon: f64, dimension: f64, requirements: usize, delta: Delta) -> f64 {
    if epsilon.is_nan() || epsilon <= 0.0 {
        return f64::INFINITY;
    }
    let enough = |n: f64| at(n, dimension, requirements, delta) <= epsilon;
    // ζ falls from N = 1 on: (log(2N))' N < 1 + log(2N).
    let (mut low, mut high) = (0.0, 1.0);
    while !enough(high) {
        low = high;
        high *= 2.0;
        if high.is_infinite() {
            return f64::INFINITY;
        }
    }
    while high - low > 1.0_f64.max(high * 1e-12) {
        let middle = (0.5 * (low + high)).floor();
        if enough(middle) { high = middle } else { low = middle }
    }
    high
}

/// ζ⁻¹(ε, δ, d) = (d + log(1/δ))/ε² of Theorem 1: N ≥ C ζ⁻¹ rows suffice, for an absolute constant C that
/// the paper leaves open.
pub fn sample_complexity(epsilon: f64, delta: Delta, dimension: f64) -> f64 {
    (dimension - delta.ln()) / (epsilon * epsilon)
}

//! How much stricter to train, so that rows kept back will certify the result.
//!
//! With n rows a rate is certified to be at most c if no more than k* of them count, the largest k whose
//! Clopper-Pearson bound is at most c. A model whose rate is r passes with probability P(bin(n, r) ≤ k*), so
//! to pass with probability 1 − β it needs
//!
//! $$ r = \min\{p : \Pr[\mathrm{bin}(n, p) \le k^*] \le 1 - \beta\} , $$
//!
//! the Clopper-Pearson bound of k* at 1 − β. The expectation of a loss in [0, B] is treated as B times a
//! rate: of all losses with that mean, the one with values 0 and B varies most.

use super::count::Count;
use super::delta::Delta;
use crate::error::{Error, Result};

/// The rate that passes with probability `power` when `rows` rows are to certify "at most `limit`" at δ.
///
/// # Errors
/// Too few rows: not even a sample without a single hit is enough. The message states how many are.
pub fn attainable_rate(rows: u64, limit: f64, delta: Delta, power: f64) -> Result<f64> {
    let (Ok(power), true) = (Delta::new(power), limit > 0.0) else {
        return Err(Error::Setting {
            setting: "limit".into(),
            value: limit,
            allowed: "above 0 for a certificate: no number of rows shows that something never \
                      happens"
                .into(),
        });
    };
    if limit >= 1.0 {
        return Ok(1.0);
    }
    let passes = |hits: u64| {
        Count::new(hits, rows).is_ok_and(|count| count.ln_p_at_least(limit) <= delta.ln())
    };
    if !passes(0) {
        return Err(Error::TooFewRows { rows, needed: fewest_rows(limit, delta), limit });
    }
    let (mut low, mut high) = (0, rows);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if passes(middle) { low = middle } else { high = middle }
    }
    Ok(Count::new(low, rows)?.upper(power).min(limit))
}

/// The fewest rows that could certify "at most `limit`" at δ: those of a sample without a hit,
/// log δ / log(1 − limit).
pub fn fewest_rows(limit: f64, delta: Delta) -> u64 {
    if limit >= 1.0 {
        return 1;
    }
    if limit <= 0.0 {
        return u64::MAX;
    }
    (delta.ln() / (-limit).ln_1p()).ceil() as u64
}

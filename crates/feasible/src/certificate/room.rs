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

/// The rate that passes with probability `power` when `rows` rows are to certify "at most `level`" at δ.
///
/// # Errors
/// Too few rows: not even a sample without a single hit would do. The message says how many would.
pub fn attainable_rate(rows: u64, level: f64, delta: Delta, power: f64) -> Result<f64> {
    let (Ok(power), true) = (Delta::new(power), level > 0.0) else {
        return Err(Error::Setting {
            setting: "level".into(),
            value: level,
            allowed: "above 0 for a certificate: no number of rows shows that something never \
                      happens"
                .into(),
        });
    };
    if level >= 1.0 {
        return Ok(1.0);
    }
    let passes = |hits: u64| {
        Count::new(hits, rows).is_ok_and(|count| count.ln_p_at_least(level) <= delta.ln())
    };
    if !passes(0) {
        return Err(Error::TooFewRows { rows, needed: fewest_rows(level, delta), level });
    }
    let (mut low, mut high) = (0, rows);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if passes(middle) { low = middle } else { high = middle }
    }
    Ok(Count::new(low, rows)?.upper(power).min(level))
}

/// The fewest rows that could certify "at most `level`" at δ: those of a sample without a hit,
/// log δ / log(1 − level).
pub fn fewest_rows(level: f64, delta: Delta) -> u64 {
    if level >= 1.0 {
        return 1;
    }
    if level <= 0.0 {
        return u64::MAX;
    }
    (delta.ln() / (-level).ln_1p()).ceil() as u64
}

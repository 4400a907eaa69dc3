//! Differences of the means of two groups, whose rows or units may be of both.

use super::betting::{Game, Pair};
use super::delta::Delta;
use crate::error::{Error, Result};
use crate::stream::{Purpose, Stream};

/// Losses in \[0, B\] of independent rows, or units, in one of two groups or both: E\[A\] − E\[B\], by betting.
///
/// ```
/// use feasible::certificate::{Contrast, Delta};
/// // Forty rows of the first group, fifty of the second, ten of both.
/// let rows = (0..100).map(|i| {
///     let loss = f64::from(i % 5);
///     [(i < 50).then_some(loss), (i >= 40).then_some(loss)]
/// });
/// let difference = Contrast::new(rows.collect(), 4.0)?.shuffled(1);
/// assert!(difference.estimate().abs() < 1e-12 && difference.rows() == 100);
/// assert!(difference.upper(Delta::confidence(0.95)?) < 0.8);
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    /// Divided by B.
    pairs: Vec<Pair>,
    bound: f64,
}

impl Contrast {
    /// The loss of each row in the first group and in the second, if it is of them; all in [0, `bound`].
    ///
    /// # Errors
    /// A group without rows, a bound that is not positive and finite, a loss outside.
    pub fn new(pairs: Vec<Pair>, bound: f64) -> Result<Self> {
        let mut all = Vec::new();
        for group in 0..2 {
            let losses = pairs.iter().filter_map(|pair| pair[group]).collect();
            all.push(super::Values::new(losses, bound)?);
        }
        let rows = pairs.len() as f64;
        let none = pairs.contains(&[None, None]);
        Error::unless(!none, "rows", rows, "each of one of the groups at least")?;
        let mut shares = [all[0].shares().iter(), all[1].shares().iter()];
        let pairs = pairs.into_iter().map(|pair| {
            let [one, other] = &mut shares;
            [pair[0].and_then(|_| one.next().copied()), pair[1].and_then(|_| other.next().copied())]
        });
        Ok(Self { pairs: pairs.collect(), bound })
    }

    /// The same rows in the order that `seed` draws.
    #[must_use]
    pub fn shuffled(mut self, seed: u64) -> Self {
        // No epoch of a training has this number.
        let mut order: Vec<u32> = (0..self.pairs.len() as u32).collect();
        Stream::new(seed, Purpose::Shuffle, u64::MAX, 0).shuffle(&mut order);
        self.pairs = order.iter().map(|&row| self.pairs[row as usize]).collect();
        self
    }

    /// Rows or units.
    pub fn rows(&self) -> u64 {
        self.pairs.len() as u64
    }

    /// B.
    pub(crate) fn bound(&self) -> f64 {
        self.bound
    }

    /// The difference of the means.
    pub fn estimate(&self) -> f64 {
        let mean = |group: usize| {
            let losses = self.pairs.iter().filter_map(|pair| pair[group]);
            let (sum, rows) = losses.fold((0.0, 0.0), |(sum, rows), x| (sum + x, rows + 1.0));
            sum / rows
        };
        self.bound * (mean(0) - mean(1))
    }

    /// B minus each loss, which turns the sign of the difference.
    #[must_use]
    pub fn complement(&self) -> Self {
        let pairs = self.pairs.iter().map(|pair| pair.map(|x| x.map(|x| 1.0 - x)));
        Self { pairs: pairs.collect(), bound: self.bound }
    }

    /// The upper bound on the difference at 1 − δ.
    pub fn upper(&self, delta: Delta) -> f64 {
        self.upper_designed(delta, delta)
    }

    pub(crate) fn upper_designed(&self, delta: Delta, design: Delta) -> f64 {
        let bound = self.bound * Game::of_difference(&self.pairs, design).upper(delta);
        // A bound that is raised to the estimate is as valid.
        bound.max(self.estimate())
    }

    /// log of the p-value of "the difference is at least `limit`".
    pub(crate) fn ln_p_at_least(&self, limit: f64, design: Delta) -> f64 {
        if limit > self.bound {
            return f64::NEG_INFINITY;
        }
        if self.estimate() >= limit {
            return 0.0;
        }
        Game::of_difference(&self.pairs, design).ln_p(limit / self.bound)
    }

    /// The rows repeated in turn until there are `rows` of them.
    #[must_use]
    pub(crate) fn cycled(&self, rows: u64) -> Self {
        let pairs = self.pairs.iter().copied().cycle().take(rows.max(self.rows()) as usize);
        Self { pairs: pairs.collect(), bound: self.bound }
    }
}

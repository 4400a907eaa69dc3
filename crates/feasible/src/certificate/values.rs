//! Losses of rows, in [0, B]: what bounds on their expectation are made of.

use serde::{Deserialize, Serialize};

use super::betting::Game;
use super::delta::Delta;
use super::{bentkus, bernstein, hoeffding};
use crate::error::{Error, Result};
use crate::stream::{Purpose, Stream};

/// How far beyond [0, B] a loss computed in f32 may lie, relative to B; it is then taken as 0 or B.
const ROUNDING: f64 = 1e-5;

/// A bound on the expectation of values in [0, B].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Hoeffding (1963): needs the mean only.
    Hoeffding,
    /// Maurer and Pontil (2009): narrower where the values vary little.
    EmpiricalBernstein,
    /// Bates and others (2021): the better of two bounds that need the mean only.
    HoeffdingBentkus,
    /// Waudby-Smith and Ramdas (2024): betting against each candidate mean.
    #[default]
    Betting,
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Hoeffding => "Hoeffding",
            Self::EmpiricalBernstein => "empirical Bernstein",
            Self::HoeffdingBentkus => "Hoeffding-Bentkus",
            Self::Betting => "betting",
        })
    }
}

/// Losses of independent rows, each in [0, B], in an order fixed before they were seen.
///
/// ```
/// use feasible::certificate::{Delta, Method, Values};
/// let delta = Delta::new(0.05)?;
/// let losses = Values::new(vec![0.1; 400], 2.0)?;
/// // Four hundred equal losses: who looks at their spread is rewarded for it.
/// let hoeffding = losses.upper(Method::Hoeffding, delta);
/// let betting = losses.upper(Method::Betting, delta);
/// assert!(betting < 0.14 && hoeffding > 0.22, "{betting} {hoeffding}");
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// Divided by B.
    shares: Vec<f64>,
    bound: f64,
    mean: f64,
    variance: f64,
}

impl Values {
    /// Losses in [0, `bound`].
    ///
    /// # Errors
    /// No values, a bound that is not positive and finite, a value outside.
    pub fn new(values: Vec<f64>, bound: f64) -> Result<Self> {
        let usable = bound > 0.0 && bound.is_finite();
        Error::unless(usable, "bound", bound, "positive and finite: a certificate needs one")?;
        let rows = values.len() as f64;
        Error::unless(rows > 0.0, "rows", rows, "at least 1: there is nothing to average")?;
        let mut shares = values;
        for share in &mut shares {
            let value = *share;
            *share /= bound;
            let inside = (-ROUNDING..=1.0 + ROUNDING).contains(share);
            Error::unless(inside, "a loss", value, &format!("in [0, {bound}], its bound"))?;
            *share = share.clamp(0.0, 1.0);
        }
        let mean = shares.iter().sum::<f64>() / rows;
        let squares = shares.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        let variance = if rows > 1.0 { squares / (rows - 1.0) } else { 0.0 };
        Ok(Self { shares, bound, mean, variance })
    }

    /// The same values in the order that `seed` draws. Betting depends on the order, a little; one that
    /// was fixed before the values were seen keeps it valid.
    #[must_use]
    pub fn shuffled(mut self, seed: u64) -> Self {
        let mut order: Vec<u32> = (0..self.shares.len() as u32).collect();
        // No epoch of a training has this number.
        Stream::new(seed, Purpose::Shuffle, u64::MAX, 0).shuffle(&mut order);
        self.shares = order.iter().map(|&i| self.shares[i as usize]).collect();
        self
    }

    /// The values divided by B.
    pub(crate) fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// n.
    pub fn rows(&self) -> u64 {
        self.shares.len() as u64
    }

    /// B.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.mean * self.bound
    }

    /// B minus each value.
    #[must_use]
    pub fn complement(&self) -> Self {
        let shares = self.shares.iter().map(|x| 1.0 - x).collect();
        Self { shares, mean: 1.0 - self.mean, ..self.clone() }
    }

    /// The upper bound on the expectation at 1 − δ.
    pub fn upper(&self, method: Method, delta: Delta) -> f64 {
        self.upper_designed(method, delta, delta)
    }

    /// The upper bound at 1 − δ with bets made for `design`. Never below the mean: bets may win early and lose
    /// later, and a bound that is raised is as valid. The p-value of a limit at or below the mean is 1 likewise.
    pub(crate) fn upper_designed(&self, method: Method, delta: Delta, design: Delta) -> f64 {
        let n = self.rows();
        self.bound
            * match method {
                Method::Hoeffding => hoeffding::upper(self.mean, n, delta),
                Method::EmpiricalBernstein => bernstein::upper(self.mean, self.variance, n, delta),
                Method::HoeffdingBentkus => bentkus::upper(self.mean, n, delta),
                Method::Betting => Game::of_mean(&self.shares, design).upper(delta).max(self.mean),
            }
    }

    /// The lower bound on the expectation at 1 − δ.
    pub fn lower(&self, method: Method, delta: Delta) -> f64 {
        self.lower_designed(method, delta, delta)
    }

    pub(crate) fn lower_designed(&self, method: Method, delta: Delta, design: Delta) -> f64 {
        (self.bound - self.complement().upper_designed(method, delta, design)).max(0.0)
    }

    /// log of the p-value of "the expectation is at least `limit`". `design` is the δ the bets are made
    /// for; the p-value is valid whatever it is.
    pub fn ln_p_at_least(&self, method: Method, limit: f64, design: Delta) -> f64 {
        let (limit, n) = (limit / self.bound, self.rows());
        if limit > 1.0 {
            return f64::NEG_INFINITY;
        }
        if limit <= self.mean {
            return 0.0;
        }
        match method {
            Method::Hoeffding => hoeffding::ln_p(self.mean, n, limit),
            Method::EmpiricalBernstein => bernstein::ln_p(self.mean, self.variance, n, limit),
            Method::HoeffdingBentkus => bentkus::ln_p(self.mean, n, limit),
            Method::Betting => Game::of_mean(&self.shares, design).ln_p(limit),
        }
    }

    /// The values repeated in turn until there are `rows` of them: what a sample of that size might look
    /// like.
    #[must_use]
    pub(crate) fn cycled(&self, rows: u64) -> Self {
        let shares = self.shares.iter().copied().cycle().take(rows as usize).collect();
        Self { shares, ..self.clone() }
    }
}

//! The mean of a loss without an upper bound.
//!
//! However many rows have been seen, one in a million may have a loss of a billion: no number of rows bounds E\[ℓ\] from
//! above, whatever the distribution. Of the loss clipped at B they do, if B was chosen without them. With probability at
//! least 1 − δ
//!
//! $$ \mathbb{E}[\min(\ell, B)] \le U \quad\text{and}\quad \Pr[\ell > B] \le p^+ , $$
//!
//! each at δ/2. As min(ℓ, B) ≤ ℓ, a lower bound on its mean is one on E\[ℓ\], too: a requirement "at most c" can be
//! refuted and "at least c" certified, but "at most c" is never certified.

use serde::{Deserialize, Serialize};

use super::claim::Claim;
use super::count::Count;
use super::delta::Delta;
use super::values::{Method, Values};
use crate::error::Result;
use crate::requirement::Sense;

/// Losses of rows, none of which has an upper bound.
///
/// ```
/// use feasible::certificate::{Clipped, Delta, Evidence, Method, Unbounded};
/// let delta = Delta::new(0.05)?;
/// let losses = vec![0.1, 0.4, 0.2, 7.0, 0.3];
/// let seen = Unbounded::new(&losses, Some(2.0), Method::Betting, 0)?;
/// let of = |clipped: &Clipped| (clipped.values.mean(), clipped.above.hits());
/// assert_eq!(seen.clipped().map(of), Some((0.6, 1)));
/// let mean = Evidence::Unbounded(Unbounded::new(&losses, Some(2.0), Method::Betting, 0)?);
/// assert_eq!((mean.estimate(), mean.upper(delta)), (1.6, f64::INFINITY));
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Unbounded {
    mean: f64,
    rows: u64,
    clipped: Option<Clipped>,
}

/// The same losses, clipped.
#[derive(Clone, Debug, PartialEq)]
pub struct Clipped {
    /// min(ℓ, B).
    pub values: Values,
    /// The bound on their mean, chosen before the losses were seen.
    pub method: Method,
    /// Rows, or units with a row, whose loss is above B.
    pub above: Count,
}

impl Unbounded {
    /// Losses of rows, clipped at `clip` if it is given; `seed` draws the order in which they are bet on.
    ///
    /// # Errors
    /// No rows; a clip that is not positive and finite.
    pub fn new(losses: &[f64], clip: Option<f64>, method: Method, seed: u64) -> Result<Self> {
        let mean = losses.iter().sum::<f64>() / losses.len() as f64;
        let above = |clip: f64| Count::of(losses.iter().map(|loss| is_above(*loss, clip)));
        let values = |clip: f64| losses.iter().map(|loss| loss.min(clip)).collect();
        let clipped = match clip {
            Some(clip) => Clipped::new(values(clip), clip, above(clip)?, method, seed)?,
            None => None,
        };
        Ok(Self { mean, rows: losses.len() as u64, clipped })
    }

    /// Of units: the mean of each, and what is known of the clipped losses.
    pub(super) fn of_units(means: &[f64], clipped: Option<Clipped>) -> Self {
        let mean = means.iter().sum::<f64>() / means.len() as f64;
        Self { mean, rows: means.len() as u64, clipped }
    }

    /// The mean in the sample.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// n.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The losses clipped; `None` if no B was given, or a loss is below 0.
    pub fn clipped(&self) -> Option<&Clipped> {
        self.clipped.as_ref()
    }

    pub(super) fn method(&self) -> String {
        match &self.clipped {
            Some(clipped) => format!("{}, of the clipped loss", clipped.method),
            None => "none: the loss has no upper bound".into(),
        }
    }

    pub(super) fn lower(&self, delta: Delta, design: Delta) -> f64 {
        let lower =
            |clipped: &Clipped| clipped.values.lower_designed(clipped.method, delta, design);
        self.clipped.as_ref().map_or(f64::NEG_INFINITY, lower)
    }

    /// "E[ℓ] is at most `limit`" implies that of the clipped loss.
    pub(super) fn ln_p_at_most(&self, limit: f64, design: Delta) -> f64 {
        let Some(Clipped { values, method, .. }) = &self.clipped else { return 0.0 };
        values.complement().ln_p_at_least(*method, values.bound() - limit, design)
    }
}

/// NaN, as outputs that are not numbers give, is above everything.
pub(super) fn is_above(loss: f64, clip: f64) -> bool {
    loss.is_nan() || loss > clip
}

impl Clipped {
    /// `None` if a value is below 0: then 0 is no lower bound of the loss.
    pub(super) fn new(
        values: Vec<f64>,
        clip: f64,
        above: Count,
        method: Method,
        seed: u64,
    ) -> Result<Option<Self>> {
        if values.iter().any(|value| *value < 0.0) {
            return Ok(None);
        }
        let values = Values::new(values, clip)?.shuffled(seed);
        Ok(Some(Self { values, method, above }))
    }
}

/// What is proven about a loss without an upper bound: its mean, if losses above B counted as B, and how many are above B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClippedFinding {
    /// B.
    pub at: f64,
    /// The mean of min(ℓ, B) in the sample.
    pub estimate: f64,
    /// The bound on its expectation.
    pub bound: f64,
    /// Whether the bound is within the requirement's limit. That of the loss as it is is not certified thereby.
    pub within_limit: bool,
    /// Rows of the sample with a loss above B; of a difference, in the group that has the larger bound.
    pub above: u64,
    /// Rows of the sample it is of.
    pub of: u64,
    /// The bound on the probability of a loss above B.
    pub above_bound: f64,
}

impl ClippedFinding {
    /// What a claim about an expectation without an upper bound proves at δ: half for the mean, half for the shares above B.
    pub(super) fn of(claim: &Claim, delta: Delta) -> Option<Self> {
        let (evidence, at, counts) = claim.evidence.as_ref()?.clipped()?;
        let half = delta.among(2);
        let each = half.among(counts.len());
        let above = counts.into_iter().max_by(|a, b| a.upper(each).total_cmp(&b.upper(each)))?;
        let clipped = Claim { evidence: Some(evidence.clone()), ..claim.clone() };
        let bound = clipped.bound(half)?;
        Some(Self {
            at,
            estimate: evidence.estimate(),
            bound,
            within_limit: match claim.sense {
                Sense::AtMost => bound <= claim.limit,
                Sense::AtLeast => bound >= claim.limit,
            },
            above: above.hits(),
            of: above.rows(),
            above_bound: above.upper(each),
        })
    }
}

//! A claim about the population, and the verdict that held-out rows allow.

use serde::{Deserialize, Serialize};

use super::delta::Delta;
use super::evidence::Evidence;
use crate::requirement::Sense;

/// "This number of the population is at most (or at least) the limit", with the evidence for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The requirement's name.
    pub name: String,
    /// What the number is: "the error rate where age > 60".
    pub subject: String,
    /// At most or at least.
    pub sense: Sense,
    /// The limit.
    pub limit: f64,
    /// The evidence of the rows; `None` if it applies to no row.
    pub evidence: Option<Evidence>,
}

/// The verdict on a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// It holds on the population, with the stated confidence.
    Certified,
    /// It holds in the sample; there are too few rows to prove more.
    Met,
    /// It does not hold on the population, with the stated confidence.
    Violated,
    /// It does not hold in the sample, or applies to no row; nothing is proven either way.
    Open,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Certified => "CERTIFIED",
            Self::Met => "MET",
            Self::Violated => "VIOLATED",
            Self::Open => "OPEN",
        })
    }
}

impl Claim {
    /// Whether it holds in the sample; `None` without rows.
    pub(crate) fn holds_in_sample(&self) -> Option<bool> {
        let estimate = self.evidence.as_ref()?.estimate();
        Some(match self.sense {
            Sense::AtMost => estimate <= self.limit,
            Sense::AtLeast => estimate >= self.limit,
        })
    }

    /// The bound that certifies it if it is on the right side of the limit: upper for "at most".
    pub fn bound(&self, delta: Delta) -> Option<f64> {
        self.bound_designed(delta, delta)
    }

    /// The same with bets made for `design`.
    pub(crate) fn bound_designed(&self, delta: Delta, design: Delta) -> Option<f64> {
        let evidence = self.evidence.as_ref()?;
        Some(match self.sense {
            Sense::AtMost => evidence.upper_designed(delta, design),
            Sense::AtLeast => evidence.lower_designed(delta, design),
        })
    }

    /// The bound on the other side, which refutes it if it is on the wrong side of the limit.
    pub fn opposite(&self, delta: Delta) -> Option<f64> {
        self.opposite_designed(delta, delta)
    }

    /// The same with bets made for `design`.
    pub(crate) fn opposite_designed(&self, delta: Delta, design: Delta) -> Option<f64> {
        let evidence = self.evidence.as_ref()?;
        Some(match self.sense {
            Sense::AtMost => evidence.lower_designed(delta, design),
            Sense::AtLeast => evidence.upper_designed(delta, design),
        })
    }

    /// A bound, or the limit if the bound is on the other side of it than its verdict: `within` the limit or not.
    pub(crate) fn on_its_side(&self, bound: f64, within: bool) -> f64 {
        match (self.sense == Sense::AtMost) == within {
            true => bound.min(self.limit),
            false => bound.max(self.limit),
        }
    }

    /// log of the p-value of "it does not hold": small certifies it.
    pub fn ln_p_not_met(&self, design: Delta) -> f64 {
        let Some(evidence) = &self.evidence else { return 0.0 };
        // No population is beyond a limit at the end of the range.
        let met_by_all = |(low, high): (f64, f64)| match self.sense {
            Sense::AtMost => self.limit >= high,
            Sense::AtLeast => self.limit <= low,
        };
        if evidence.range().is_some_and(met_by_all) {
            return f64::NEG_INFINITY;
        }
        match self.sense {
            Sense::AtMost => evidence.ln_p_at_least(self.limit, design),
            Sense::AtLeast => evidence.ln_p_at_most(self.limit, design),
        }
    }

    /// log of the p-value of "it holds": small refutes it.
    pub(crate) fn ln_p_met(&self, design: Delta) -> f64 {
        let Some(evidence) = &self.evidence else { return 0.0 };
        match self.sense {
            Sense::AtMost => evidence.ln_p_at_most(self.limit, design),
            Sense::AtLeast => evidence.ln_p_at_least(self.limit, design),
        }
    }
}

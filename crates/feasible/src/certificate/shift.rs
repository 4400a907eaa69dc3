//! How far a certificate carries: populations other than the one the rows were drawn from.
//!
//! Let no kind of row be more than Γ times as common in the population P\' as in P, dP\'/dP ≤ Γ. Then for X ≥ f
//!
//! $$ \mathbb{E}_{P'}[X] - f \;\le\; \Gamma\,(\mathbb{E}_P[X] - f) , $$
//!
//! so that a number with the bound U is at most f + Γ (U − f), and a limit c holds up to
//!
//! $$ \Gamma^* = \frac{c - f}{U - f} . $$
//!
//! For shares and losses f is 0. A number that is "at least c" is at most t, and with the bound L it holds up to (t − c)/(t − L). A difference
//! p_a − p_b is 1 less than the sum of two non-negative means, p_a + (1 − p_b), so that f = −1, if Γ holds within either group.
//!
//! **Base rates.** A number of class y alone does not depend on how common the class is. Numbers that do, follow from those of the
//! classes: with h₁ and h₀ the probability of a hit among the class and the others, and π the share of the class,
//!
//! $$ \pi h_1 + (1 - \pi) h_0 \quad\text{(selection, error)} , \qquad
//!    \frac{(1 - \pi) h_0}{\pi h_1 + (1 - \pi) h_0} \quad\text{(false discoveries)} . $$
//!
//! Both are monotone in π, h₁ and h₀: the bound takes Clopper-Pearson's of h₁ and h₀ at δ/2 each, and the worse end of the range of π.

use serde::{Deserialize, Serialize};

use super::claim::Claim;
use super::count::Count;
use super::delta::Delta;
use crate::error::{Error, Result};
use crate::requirement::Sense;

/// The largest Γ that is told apart from "any".
const MOST: f64 = 1e9;

/// Which other populations a certified requirement holds for.
///
/// All of it at once: base rates and groups may change in any way, and within them kinds of rows by Γ*.
///
/// ```
/// use feasible::certificate::StillTrue;
/// // Of a recall that is certified to be above its limit, by a factor of 3.4 in what is missed.
/// let recall = StillTrue { shift: Some(3.4), any_base_rate: true, ..StillTrue::default() };
/// assert_eq!(serde_json::to_string(&recall).unwrap(), r#"{"shift":3.4,"any_base_rate":true}"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StillTrue {
    /// Γ*: no kind of row that the requirement applies to becomes more than this many times as common. None where the rows prove
    /// the limit but no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<f64>,
    /// Classes may become more or less common in any way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_base_rate: bool,
    /// Groups may become more or less common in any way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_group_mix: bool,
    /// The share of the positive class stays in this range, and each class as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_rate: Option<(f64, f64)>,
}

impl Claim {
    /// The stricter limit that a number must meet for the limit to hold wherever no kind of row becomes more than `shift` times as
    /// common; None if none is strict enough, as the number has no bound on the other side.
    ///
    /// ```
    /// use feasible::certificate::{Claim, Count, Evidence};
    /// use feasible::requirement::Sense;
    /// let evidence = Some(Evidence::Share(Count::new(5, 1000)?));
    /// let (name, subject) = ("errors".into(), String::new());
    /// let mut claim = Claim { name, subject, sense: Sense::AtMost, limit: 0.03, evidence };
    /// assert!((claim.limit_at_shift(1.5).unwrap() - 0.02).abs() < 1e-12);
    /// (claim.sense, claim.limit) = (Sense::AtLeast, 0.7);
    /// assert!((claim.limit_at_shift(1.5).unwrap() - 0.8).abs() < 1e-12);
    /// # Ok::<(), feasible::Error>(())
    /// ```
    pub fn limit_at_shift(&self, shift: f64) -> Option<f64> {
        let end = self.end()?;
        Some(end + (self.limit - end) / shift)
    }

    /// The bound that holds wherever no kind of row becomes more than `shift` times as common.
    pub(crate) fn bound_at_shift(&self, bound: f64, shift: f64) -> f64 {
        let Some(end) = self.end().filter(|_| shift > 1.0) else { return bound };
        let (low, high) = self.evidence.as_ref().and_then(|e| e.range()).unwrap_or((end, end));
        (end + shift * (bound - end)).clamp(low, high)
    }

    /// Γ*: up to which the limit holds, given the bound.
    pub(crate) fn carries_to(&self, bound: f64) -> Option<f64> {
        let end = self.end()?;
        let (most, used) = ((self.limit - end).abs(), (bound - end).abs());
        (most > 0.0).then(|| (most / used).clamp(1.0, MOST))
    }

    /// The end of the number's range that is safe: the least value for "at most".
    fn end(&self) -> Option<f64> {
        let (least, most) = self.evidence.as_ref()?.range()?;
        let end = if self.sense == Sense::AtMost { least } else { most };
        end.is_finite().then_some(end)
    }
}

/// A range of the share of the positive class.
///
/// ```
/// use feasible::certificate::{BaseRate, Delta, Design};
/// let base_rate = Some(BaseRate::new(0.05, 0.2, 1)?);
/// let design = Design { base_rate, ..Design::new(Delta::confidence(0.95)?) };
/// assert!(design.base_rate.is_some() && BaseRate::new(0.2, 0.05, 1).is_err());
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BaseRate {
    /// The smallest share.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// The positive class.
    pub class: u32,
}

impl BaseRate {
    /// From `low` to `high`, of class `class` of two.
    ///
    /// # Errors
    /// Shares that are not in order, or not of a population.
    pub fn new(low: f64, high: f64, class: u32) -> Result<Self> {
        for share in [low, high] {
            let inside = (0.0..=1.0).contains(&share);
            Error::unless(inside, "base rate", share, "a share of the population, from 0 to 1")?;
        }
        Error::unless(
            low <= high,
            "base rate",
            low,
            &format!("at most the {high} that it goes up to"),
        )?;
        Ok(Self { low, high, class })
    }

    /// The range of the share of a class of two.
    pub(super) fn of(self, class: u32) -> (f64, f64) {
        if class == self.class { (self.low, self.high) } else { (1.0 - self.high, 1.0 - self.low) }
    }
}

/// A number that depends on how common a class is, from what was counted within the class and within the others.
///
/// ```
/// use feasible::certificate::{ByClass, Count, Delta};
/// let (positive, negative) = (Count::new(90, 100)?, Count::new(30, 1000)?);
/// let seen = ByClass { of_class: positive, of_others: negative, discoveries: false, one_minus: false, share: (0.05, 0.2) };
/// // In the middle of the range, 0.125 · 0.9 + 0.875 · 0.03.
/// assert!((seen.estimate() - 0.13875).abs() < 1e-12);
/// let precision = ByClass { discoveries: true, one_minus: true, ..seen };
/// let delta = Delta::confidence(0.95)?;
/// assert!(precision.lower(delta) < 0.6 && seen.upper(delta) > 0.2);
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByClass {
    /// Hits among the class.
    pub of_class: Count,
    /// Hits among the others.
    pub of_others: Count,
    /// Whether it is the share of the others among the hits, not that of the hits.
    pub discoveries: bool,
    /// Whether it is 1 minus that.
    pub one_minus: bool,
    /// The range of the share of the class.
    pub share: (f64, f64),
}

impl ByClass {
    fn value(self, share: f64, of_class: f64, of_others: f64) -> f64 {
        let (right, wrong) = (share * of_class, (1.0 - share) * of_others);
        match (self.discoveries, right + wrong > 0.0) {
            (false, _) => right + wrong,
            (true, true) => wrong / (right + wrong),
            (true, false) => f64::NAN,
        }
    }

    /// The number in the middle of the range.
    pub fn estimate(self) -> f64 {
        let middle = 0.5 * (self.share.0 + self.share.1);
        let value = self.value(middle, self.of_class.rate(), self.of_others.rate());
        if self.one_minus { 1.0 - value } else { value }
    }

    /// Rows.
    pub(crate) fn rows(self) -> u64 {
        self.of_class.rows() + self.of_others.rows()
    }

    /// 1 minus the number.
    #[must_use]
    pub fn complement(self) -> Self {
        Self { one_minus: !self.one_minus, ..self }
    }

    /// The upper bound at 1 − δ, anywhere in the range.
    pub fn upper(self, delta: Delta) -> f64 {
        if self.one_minus {
            return 1.0 - self.complement().lower(delta);
        }
        let half = delta.among(2);
        let of_class =
            if self.discoveries { self.of_class.lower(half) } else { self.of_class.upper(half) };
        let at = |share| self.value(share, of_class, self.of_others.upper(half));
        let worst = at(self.share.0).max(at(self.share.1));
        if worst.is_nan() { 1.0 } else { worst.min(1.0) }
    }

    /// The lower bound at 1 − δ, anywhere in the range.
    pub fn lower(self, delta: Delta) -> f64 {
        if self.one_minus {
            return 1.0 - self.complement().upper(delta);
        }
        let half = delta.among(2);
        let of_class =
            if self.discoveries { self.of_class.upper(half) } else { self.of_class.lower(half) };
        let at = |share| self.value(share, of_class, self.of_others.lower(half));
        let worst = at(self.share.0).min(at(self.share.1));
        if worst.is_nan() { 0.0 } else { worst.max(0.0) }
    }
}

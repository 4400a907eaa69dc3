//! Several claims at once.
//!
//! **Bonferroni** tests each of m claims at δ/m. A claim is either true or not, so only one of the two
//! verdicts on it can be wrong, with probability at most δ/m: *all* verdicts, CERTIFIED and VIOLATED
//! together, are right with probability at least 1 − δ. So are all the bounds on the certifying side.
//!
//! **Holm** (1979) orders the p-values of "does not hold" and tests the smallest at δ/m, the next at
//! δ/(m − 1), and so on until one fails; more is certified, and with probability at least 1 − δ everything
//! CERTIFIED holds. VIOLATED is given by the same step-down among the p-values of "holds", so that with
//! probability at least 1 − δ everything VIOLATED is violated; together the two kinds of verdicts have
//! 1 − 2δ.
//!
//! Holm's bounds, which hold together with its verdicts (Strassburger and Bretz 2008): of r requirements that are certified
//! among m, r < m, the limit itself, and of the others the bound at δ/(m − r), which is beyond the limit. Bonferroni's bounds,
//! at δ/m, are a second statement at 1 − δ. Of each requirement the better of the two is shown, so that a
//! bound is within the limit if and only if the requirement is certified.
//!
//! **All of them** is a separate claim, and needs no correction: it is made if every p-value is at most δ. If
//! it is wrong, some requirement does not hold, and the p-value of that one was at most δ, which has
//! probability at most δ (intersection-union test: Berger 1982). So "they all hold" may be certified at 1 − δ
//! where Holm certifies only some of them one by one. A gate that lets a model pass only if everything holds
//! asks this question.

use serde::{Deserialize, Serialize};

use super::claim::{Claim, Verdict};
use super::delta::Delta;
use super::rows_needed::RowsNeeded;
use super::shift::StillTrue;
use super::unbounded::ClippedFinding;
use crate::requirement::Sense;

/// How several claims share δ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Simultaneous {
    /// Holm's step-down.
    #[default]
    Holm,
    /// δ/m each.
    Bonferroni,
}

impl std::fmt::Display for Simultaneous {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Holm => "Holm",
            Self::Bonferroni => "Bonferroni",
        })
    }
}

impl Simultaneous {
    /// Which hypotheses are rejected at δ, given the logarithms of their p-values.
    ///
    /// ```
    /// use feasible::certificate::{Delta, Simultaneous};
    /// let p = [0.020f64, 0.004, 0.024, 0.30].map(f64::ln);
    /// let delta = Delta::new(0.05)?;
    /// assert_eq!(Simultaneous::Bonferroni.rejects(&p, delta), [false, true, false, false]);
    /// // 0.004 ≤ 0.05/4, then 0.020 > 0.05/3 ends it.
    /// assert_eq!(Simultaneous::Holm.rejects(&p, delta), [false, true, false, false]);
    /// let p = [0.016f64, 0.004, 0.024, 0.30].map(f64::ln);
    /// assert_eq!(Simultaneous::Holm.rejects(&p, delta), [true, true, true, false]);
    /// # Ok::<(), feasible::Error>(())
    /// ```
    pub fn rejects(self, ln_p: &[f64], delta: Delta) -> Vec<bool> {
        let m = ln_p.len();
        let mut rejected = vec![false; m];
        let mut order: Vec<usize> = (0..m).collect();
        order.sort_by(|&i, &j| ln_p[i].total_cmp(&ln_p[j]));
        for (rank, &i) in order.iter().enumerate() {
            let left = match self {
                Self::Holm => m - rank,
                Self::Bonferroni => m,
            };
            if ln_p[i] > delta.among(left).ln() {
                break;
            }
            rejected[i] = true;
        }
        rejected
    }

    /// δ of each hypothesis that is not rejected, where these are: what is left is shared among them. Where all are rejected,
    /// δ/m.
    fn level_of_the_rest(self, rejected: &[bool], delta: Delta) -> Delta {
        let rest = rejected.iter().filter(|rejected| !**rejected).count();
        match self {
            Self::Holm if rest > 0 => delta.among(rest),
            _ => delta.among(rejected.len()),
        }
    }
}

/// What is certified about every requirement, together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// δ.
    pub delta: Delta,
    /// How the requirements share it.
    pub simultaneous: Simultaneous,
    /// Every requirement.
    pub findings: Vec<Finding>,
}

/// What held-out rows prove about one requirement.
///
/// What is said of a clipped loss takes δ/m of its own. With k such requirements, whose p-values are 1, Holm's order gives
/// the others at most t δ/(t + k) for t that do not hold, and k δ/m with m ≥ t + k is left: all of it holds together at 1 − δ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The requirement.
    pub name: String,
    /// The number of the population it is about.
    pub subject: String,
    /// At most or at least.
    pub sense: Sense,
    /// The limit.
    pub limit: f64,
    /// Rows it applies to.
    pub rows: u64,
    /// The number in the sample; `None` without rows.
    pub estimate: Option<f64>,
    /// The bound on the certifying side, within the limit if and only if it is CERTIFIED; `None` without rows, and where no
    /// number of rows gives one: an upper one of the mean of a loss without an upper bound.
    pub bound: Option<f64>,
    /// The bound on the other side, beyond the limit if and only if it is VIOLATED; if there is one.
    pub opposite: Option<f64>,
    /// How the bound was computed.
    pub method: String,
    /// The p-value of "it does not hold", before any correction.
    pub p: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// Γ: it is certified to hold wherever no kind of row becomes more than this many times as common, and so is the bound. 1 for the
    /// population that the rows were drawn from.
    #[serde(default = "no_shift", skip_serializing_if = "is_no_shift")]
    pub shift: f64,
    /// If certified, by itself or with all others: for which other populations it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub still_true_if: Option<StillTrue>,
    /// If MET: rows that would certify it beside those that are CERTIFIED, if the sample's proportions stayed the same.
    pub rows_needed: Option<RowsNeeded>,
    /// Of a loss without an upper bound: what is proven of the clipped loss, at δ/m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clipped: Option<ClippedFinding>,
}

fn no_shift() -> f64 {
    1.0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_no_shift(shift: &f64) -> bool {
    *shift == 1.0
}

impl Certificate {
    /// Judges the claims at δ.
    pub fn new(claims: &[Claim], delta: Delta, simultaneous: Simultaneous) -> Self {
        Self::at_shifts(claims, &[], delta, simultaneous)
    }

    /// Judges the claims at δ: the i-th is certified if it holds wherever no kind of row becomes more than `shifts[i]` times as
    /// common. A violation is one on the population itself.
    ///
    /// ```
    /// use feasible::certificate::{Certificate, Claim, Count, Delta, Evidence, Simultaneous, Verdict};
    /// use feasible::requirement::Sense;
    /// let claim = Claim {
    ///     name: "errors".into(),
    ///     subject: "the error rate".into(),
    ///     sense: Sense::AtMost,
    ///     limit: 0.1,
    ///     evidence: Some(Evidence::Share(Count::new(40, 1000)?)),
    /// };
    /// let at = |shift| {
    ///     Certificate::at_shifts(&[claim.clone()], &[shift], Delta::new(0.05).unwrap(), Simultaneous::Holm)
    /// };
    /// let (plain, twice) = (at(1.0), at(1.9));
    /// let carries = plain.findings[0].still_true_if.as_ref().and_then(|still| still.shift);
    /// assert!(carries > Some(1.9) && carries < Some(2.0), "{carries:?}");
    /// assert_eq!((twice.findings[0].verdict, at(2.0).findings[0].verdict), (Verdict::Certified, Verdict::Met));
    /// assert!(twice.findings[0].bound > Some(0.09));
    /// # Ok::<(), feasible::Error>(())
    /// ```
    pub fn at_shifts(
        claims: &[Claim],
        shifts: &[f64],
        delta: Delta,
        simultaneous: Simultaneous,
    ) -> Self {
        let each = delta.among(claims.len());
        let shift = |i: usize| shifts.get(i).copied().unwrap_or(1.0).max(1.0);
        let stricter = |(i, claim): (usize, &Claim)| {
            let limit = if shift(i) > 1.0 { claim.limit_at_shift(shift(i)) } else { None };
            Claim { limit: limit.unwrap_or(claim.limit), ..claim.clone() }
        };
        let judged: Vec<Claim> = claims.iter().enumerate().map(stricter).collect();
        // Bets are made for δ/m in any case, so that Holm's levels are nested.
        let not_met: Vec<f64> = judged.iter().map(|claim| claim.ln_p_not_met(each)).collect();
        let met: Vec<f64> = claims.iter().map(|claim| claim.ln_p_met(each)).collect();
        let certified = simultaneous.rejects(&not_met, delta);
        let violated = simultaneous.rejects(&met, delta);
        let unproven = simultaneous.level_of_the_rest(&certified, delta);
        let unrefuted = simultaneous.level_of_the_rest(&violated, delta);
        let finding = |(i, claim): (usize, &Claim)| {
            let verdict = match claim.holds_in_sample() {
                Some(true) if certified[i] => Verdict::Certified,
                Some(true) => Verdict::Met,
                Some(false) if violated[i] => Verdict::Violated,
                _ => Verdict::Open,
            };
            let finite = |x: &f64| x.is_finite();
            let (bound, within) = match verdict {
                Verdict::Certified => (judged[i].bound_designed(each, each), true),
                _ => (judged[i].bound_designed(unproven, each), false),
            };
            let own = bound.map(|x| judged[i].on_its_side(x, within)).filter(finite);
            let opposite = match verdict {
                Verdict::Violated => claim.opposite_designed(each, each),
                _ => claim.opposite_designed(unrefuted, each),
            };
            let opposite = opposite.map(|x| claim.on_its_side(x, verdict != Verdict::Violated));
            let needed = own.filter(|_| verdict == Verdict::Met);
            let carries = own.filter(|_| verdict == Verdict::Certified);
            let carries = carries.and_then(|bound| claim.carries_to(bound));
            let still = StillTrue { shift: carries, ..StillTrue::default() };
            Finding {
                name: claim.name.clone(),
                subject: claim.subject.clone(),
                sense: claim.sense,
                limit: claim.limit,
                rows: claim.evidence.as_ref().map_or(0, |evidence| evidence.rows()),
                estimate: claim.evidence.as_ref().map(|e| e.estimate()).filter(finite),
                bound: own.map(|bound| claim.bound_at_shift(bound, shift(i))),
                opposite: opposite.filter(finite),
                method: claim.evidence.as_ref().map_or("no rows".into(), |e| e.method()),
                p: not_met[i].exp(),
                verdict,
                shift: shift(i),
                still_true_if: (verdict == Verdict::Certified).then_some(still),
                rows_needed: needed.and_then(|bound| {
                    let rows = judged[i].rows_needed_from(bound, unproven);
                    rows.or(Some(RowsNeeded::Never).filter(|_| shift(i) > 1.0))
                }),
                clipped: ClippedFinding::of(claim, each),
            }
        };
        let findings = claims.iter().enumerate().map(finding).collect();
        let mut certificate = Self { delta, simultaneous, findings };
        if certificate.all_hold() {
            for (finding, claim) in certificate.findings.iter_mut().zip(claims) {
                // Certified with all the others, as one claim at δ.
                if finding.verdict == Verdict::Met {
                    let shift = claim.bound(delta).and_then(|bound| claim.carries_to(bound));
                    finding.still_true_if = Some(StillTrue { shift, ..StillTrue::default() });
                }
            }
        }
        certificate
    }

    /// Whether every requirement is certified one by one, as the verdicts are.
    pub fn each_certified(&self) -> bool {
        self.findings.iter().all(|finding| finding.verdict == Verdict::Certified)
    }

    /// The p-value of "some requirement does not hold": the largest of theirs.
    pub fn largest_p(&self) -> f64 {
        self.findings.iter().map(|finding| finding.p).fold(0.0, f64::max)
    }

    /// Whether it is certified at 1 − δ that all requirements hold, as one claim. True if each is certified, and
    /// sometimes if not.
    ///
    /// ```
    /// use feasible::certificate::{Certificate, Claim, Count, Delta, Evidence, Simultaneous};
    /// use feasible::requirement::Sense;
    /// let claim = |name: &str, hits| -> Result<Claim, feasible::Error> {
    ///     Ok(Claim {
    ///         name: name.into(),
    ///         subject: "the error rate".into(),
    ///         sense: Sense::AtMost,
    ///         limit: 0.1,
    ///         evidence: Some(Evidence::Share(Count::new(hits, 1000)?)),
    ///     })
    /// };
    /// // p-values of 0.031 each: below 0.05, above 0.05/2.
    /// let claims = [claim("young", 82)?, claim("old", 82)?];
    /// let certificate = Certificate::new(&claims, Delta::new(0.05)?, Simultaneous::Holm);
    /// assert!(certificate.all_hold() && !certificate.each_certified());
    /// # Ok::<(), feasible::Error>(())
    /// ```
    pub fn all_hold(&self) -> bool {
        self.all_met() && self.largest_p() <= self.delta.value()
    }

    /// Whether every requirement is certified or at least met in the sample.
    pub fn all_met(&self) -> bool {
        let met = |finding: &Finding| matches!(finding.verdict, Verdict::Certified | Verdict::Met);
        self.findings.iter().all(met)
    }
}

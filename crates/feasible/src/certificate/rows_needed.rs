//! How many rows would certify what a sample only meets.
//!
//! For a share the answer is found by bisection, up to 10⁹ rows. For everything else the width of the bound is
//! taken to fall like 1/√n, from a sample that is large enough for that: with w the width at n rows and g the
//! distance from the limit,
//!
//! $$ n \cdot (w/g)^2 \text{ rows} . $$

use serde::{Deserialize, Serialize};

use super::claim::Claim;
use super::count::Count;
use super::delta::Delta;
use super::evidence::Evidence;
use super::room::fewest_rows;
use super::values::Method;
use crate::requirement::Sense;

/// The largest number of rows that is looked at.
pub const MOST_ROWS: u64 = 1_000_000_000;

/// A sample with fewer rows is repeated up to this number before its width is scaled.
const LARGE: u64 = 4096;

/// Rows that would certify a claim if the sample's proportions stayed the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowsNeeded {
    /// This number, to two or three digits.
    About(u64),
    /// More than this.
    MoreThan(u64),
    /// No number would do: the sample is at the limit.
    Never,
}

impl RowsNeeded {
    fn about(rows: f64) -> Self {
        match rows <= MOST_ROWS as f64 {
            true => Self::About(rows.ceil().max(1.0) as u64),
            // NaN too.
            false => Self::MoreThan(MOST_ROWS),
        }
    }
}

/// Rows that certify "at most `limit`" at δ if the share of hits among them is `rate`.
///
/// ```
/// use feasible::certificate::{Delta, RowsNeeded, rows_for_rate};
/// let delta = Delta::new(0.05)?;
/// assert_eq!(rows_for_rate(0.0, 0.01, delta), RowsNeeded::About(299));
/// assert_eq!(rows_for_rate(0.01, 0.01, delta), RowsNeeded::Never);
/// assert_eq!(rows_for_rate(0.1, 0.1 + 1e-9, delta), RowsNeeded::MoreThan(1_000_000_000));
/// # Ok::<(), feasible::Error>(())
/// ```
pub fn rows_for_rate(rate: f64, limit: f64, delta: Delta) -> RowsNeeded {
    if rate >= limit {
        return RowsNeeded::Never;
    }
    if rate <= 0.0 {
        return RowsNeeded::about(fewest_rows(limit, delta) as f64);
    }
    let certified = |rows: u64| {
        // As many hits as the rate gives, rounded up.
        let hits = (rate * rows as f64 - 1e-9).ceil() as u64;
        Count::new(hits.min(rows), rows).is_ok_and(|c| c.ln_p_at_least(limit) <= delta.ln())
    };
    smallest(certified, MOST_ROWS)
}

/// The smallest number up to `most` that is enough, to three digits.
fn smallest(enough: impl Fn(u64) -> bool, most: u64) -> RowsNeeded {
    let (mut low, mut high) = (0, 1);
    while !enough(high) {
        if high >= most {
            return RowsNeeded::MoreThan(most);
        }
        low = high;
        high = (2 * high).min(most);
    }
    // Three digits are more than the sample's proportions are known to.
    while high - low > 1 + high / 1000 {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle }
    }
    RowsNeeded::About(high)
}

impl Claim {
    /// Rows that would certify it at δ if the sample's proportions stayed the same; `None` if it does not
    /// hold in the sample, or without one. A matter of milliseconds, however many they are.
    pub fn rows_needed(&self, delta: Delta) -> Option<RowsNeeded> {
        self.rows_needed_from(self.bound(delta)?, delta)
    }

    /// The same, given the bound at δ.
    pub(crate) fn rows_needed_from(&self, bound: f64, delta: Delta) -> Option<RowsNeeded> {
        if !self.holds_in_sample()? {
            return None;
        }
        // How fast a loss without an upper bound is known better, rows do not tell.
        let evidence = self.evidence.as_ref().filter(|evidence| !evidence.is_unbounded())?;
        let (rows, gap) = (evidence.rows(), (self.limit - evidence.estimate()).abs());
        if gap == 0.0 {
            return Some(RowsNeeded::Never);
        }
        let scaled = |rows: u64| Self {
            evidence: Some(evidence.scaled(rows, self.sense == Sense::AtMost)),
            ..self.clone()
        };
        let by_width = |rows: u64, width: f64| rows as f64 * (width / gap).powi(2);
        let width_of = |claim: &Self| {
            let estimate = claim.evidence.as_ref().map_or(0.0, |evidence| evidence.estimate());
            claim.bound(delta).map_or(f64::NAN, |bound| (bound - estimate).abs())
        };
        let width = (bound - evidence.estimate()).abs();
        Some(match evidence {
            Evidence::Share(count) => match self.sense {
                Sense::AtMost => rows_for_rate(count.rate(), self.limit, delta),
                Sense::AtLeast => rows_for_rate(count.complement().rate(), 1.0 - self.limit, delta),
            },
            Evidence::Difference(difference) if !difference.is_bet_on() => {
                // A small group has a wider bound than its size explains.
                let needed = by_width(rows, width);
                let at = |n: u64| by_width(n, width_of(&scaled(n)));
                RowsNeeded::about(match needed <= MOST_ROWS as f64 && needed > rows as f64 {
                    // Groups that large may be bet on, which takes time for each row.
                    true if scaled(needed as u64).is_bet_on() => at((needed as u64).min(LARGE)),
                    true => at(needed as u64),
                    false => needed,
                })
            }
            _ => {
                // Only bets take time for each row.
                let pairs = matches!(evidence, Evidence::Difference(_) | Evidence::Contrast(_));
                let large = match evidence {
                    Evidence::Mean { method, .. } if *method != Method::Betting => 32 * LARGE,
                    _ => LARGE,
                };
                let certified = |n: u64| scaled(n).is_certified(delta);
                match rows >= large {
                    true => RowsNeeded::about(by_width(rows, width)),
                    false if certified(large) => smallest(certified, large),
                    false => {
                        let first = by_width(large, width_of(&scaled(large)));
                        // Widths fall a little faster than 1/√n at first.
                        let close = !pairs && (large as f64..=16.0 * large as f64).contains(&first);
                        RowsNeeded::about(match close {
                            true => by_width(first as u64, width_of(&scaled(first as u64))),
                            false => first,
                        })
                    }
                }
            }
        })
    }

    fn is_bet_on(&self) -> bool {
        matches!(&self.evidence, Some(Evidence::Difference(difference)) if difference.is_bet_on())
    }

    /// Whether it is certified at δ, by whichever of bound and p-value is sooner computed.
    fn is_certified(&self, delta: Delta) -> bool {
        if !matches!(self.evidence, Some(Evidence::Sum(_))) {
            return self.ln_p_not_met(delta) <= delta.ln();
        }
        self.bound(delta).is_some_and(|bound| match self.sense {
            Sense::AtMost => bound < self.limit,
            Sense::AtLeast => bound > self.limit,
        })
    }
}

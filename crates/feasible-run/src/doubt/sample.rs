//! Whether the training and validation rows make it likely that a requirement holds.
//!
//! | requirement | its validation rows make it likely, if |
//! | --- | --- |
//! | a rate; a pointwise one, violated for a share of rows | the exact binomial probability of so few violations at the limit is at most 5 % |
//! | differences of rates, means of losses | v + 1.645 s ≤ 0, with v the violation and s its standard error in the sample |
//!
//! Both samples together do if v + 1.3 s ≤ 0, with v as the two estimate it, weighed by their variances. Training rows flatter, so they count for less: rates and
//! means of losses are taken to be worse on new rows by two standard errors of the training sample, give or take two; differences between groups and between views
//! of a row, which fitting does not improve, by none, give or take one. (On generated tables of 300 to 3,000 rows rates and means were worse by two to three, give or
//! take as much, differences by none; docs/quality.md.)
//!
//! A requirement on several groups is several clauses, and holds where all of them do: they share the 5 % and the 10 % among them (Bonferroni), the two sides of a
//! difference counting once. A pointwise requirement that allows no violation is taken as certificates take it: for all but 1 % of the rows.
//!
//! Means of losses with a long tail towards violations (squared errors of a few rows far off) are mostly underestimated, and their spread with them. There both
//! rules take z + g (2 z² + 1)/(6 √n) standard errors instead of z, with g twice the larger skewness of the two samples, s of the larger deviation, and n the rows: the
//! Cornish-Fisher correction of the studentised mean (Johnson 1978), twice because samples of such losses show half of their skewness or less. (Of simulated bounds
//! at 5 %, those that fail: of the square of a normal number in 60 rows 5.6 % instead of 10 %, of a lognormal one 8 % instead of 15 %, of a normal one 5 %.)

use feasible::certificate::{Count, Delta, RowsNeeded, rows_for_rate};
use feasible::requirement::Sense;
use feasible::{Kind, Loss, Requirement, View};

use crate::error::Result;
use crate::evaluate::{Evaluation, RequirementResult};
use crate::subject::Answers;

/// δ of the bounds.
pub(super) const DELTA: f64 = 0.05;
/// δ for both samples together: 1.3 standard errors.
const TOGETHER: f64 = 0.0968;
/// Standard errors by which validation rows are plainly worse than training rows.
pub(super) const APART: f64 = 1.645;
/// By how many of its standard errors a training sample flatters, and give or take how many.
const FLATTERED: (f64, f64) = (2.0, 2.0);
/// The same of what fitting does not improve.
const PLAIN: (f64, f64) = (0.0, 1.0);
/// Losses with a long tail are about so many times as skewed as samples of them.
const MORE_SKEWED: f64 = 2.0;
/// Fewer rows have no standard error to go by.
pub(super) const FEWEST: f64 = 10.0;

/// What some rows tell about a requirement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) rows: f64,
    /// By how much the limit is violated; negative if it is met.
    pub(super) violation: f64,
    /// Its standard error.
    pub(super) error: f64,
    /// The skewness of what each row adds to it, if that is a loss with a long tail towards violations; 0 of rates and differences of
    /// rates.
    pub(super) skewness: f64,
    /// Rows that violate it, and the share of them that may.
    pub(super) count: Option<(Count, f64)>,
    /// Whether it looks better on rows that were fitted to.
    pub(super) flatters: bool,
    /// Clauses that must hold together, this one included.
    pub(super) among: usize,
}

impl Sample {
    /// Of violations that are counted.
    pub(super) fn counted(violations: u64, rows: u64, allowed: f64) -> Option<Self> {
        let count = Count::new(violations.min(rows), rows).ok()?;
        Some(Self {
            rows: rows as f64,
            violation: count.rate() - allowed,
            error: (smoothed(count.rate(), rows as f64) / rows as f64).sqrt(),
            skewness: 0.0,
            count: Some((count, allowed)),
            flatters: true,
            among: 1,
        })
    }

    /// The share of an error that is this clause's.
    fn share(self, of: f64) -> f64 {
        of / self.among.max(1) as f64
    }

    /// Standard errors that this share of an error is.
    fn errors(self, of: f64) -> f64 {
        Delta::new(self.share(of)).map_or(f64::INFINITY, Delta::normal_quantile)
    }

    /// The same for a mean of so many losses. Samples of skewed ones mostly lack the tail, so that their mean and their spread are
    /// both too small: by the first term of the Cornish-Fisher expansion of the studentised mean (Johnson 1978).
    fn errors_of(self, of: f64, rows: f64) -> f64 {
        self.errors(of) + self.skewed(of) / rows.sqrt()
    }

    /// What skewness adds to the standard errors, times the root of the rows.
    fn skewed(self, of: f64) -> f64 {
        MORE_SKEWED * self.skewness * (2.0 * self.errors(of).powi(2) + 1.0) / 6.0
    }

    /// Whether rows that were fitted to and rows that were not make it likely together.
    pub(super) fn is_likely_with(self, trained: Self) -> bool {
        // Of one row: few rows that all agree are not certain.
        let deviation = (self.error * self.rows.sqrt()).max(trained.error * trained.rows.sqrt());
        if deviation == 0.0 {
            return self.is_met() && trained.is_met();
        }
        let (by, give_or_take) = if self.flatters { FLATTERED } else { PLAIN };
        let error = deviation / trained.rows.sqrt();
        let weights =
            [self.rows / deviation.powi(2), (error * 1.0_f64.hypot(give_or_take)).powi(-2)];
        let sum: f64 = weights.iter().sum();
        let expected = trained.violation + by * error;
        let violation = (weights[0] * self.violation + weights[1] * expected) / sum;
        // As many rows as all of them are worth.
        let rows = sum * deviation.powi(2);
        violation + self.errors_of(TOGETHER, rows) / sum.sqrt() <= 0.0
    }

    /// The tail of a skewed loss is the population's: few rows that happen to lack it are no better, neither in skewness nor in spread.
    pub(super) fn with_tail_of(self, other: Self) -> Self {
        let skewness = self.skewness.max(other.skewness);
        if skewness <= 0.0 {
            return self;
        }
        let error = self.error.max(other.error * (other.rows / self.rows).sqrt());
        Self { skewness, error, ..self }
    }

    /// Both samples as one.
    pub(super) fn with(self, other: Self) -> Self {
        let rows = self.rows + other.rows;
        let mean = |a: f64, b: f64| (self.rows * a + other.rows * b) / rows;
        let count = self.count.zip(other.count).and_then(|((a, allowed), (b, _))| {
            let count = Count::new(a.hits() + b.hits(), a.rows() + b.rows()).ok()?;
            Some((count, allowed))
        });
        let error = (self.rows * self.error).hypot(other.rows * other.error) / rows;
        let violation = mean(self.violation, other.violation);
        let skewness = self.skewness.max(other.skewness);
        Self { rows, violation, error, skewness, count, ..self }
    }

    pub(super) fn is_met(self) -> bool {
        self.violation <= 0.0
    }

    /// Whether it makes it likely that the requirement is met by the population.
    pub(super) fn is_likely(self) -> bool {
        match self.count {
            Some((count, allowed)) => count.ln_p_at_least(allowed) <= self.share(DELTA).ln(),
            None => {
                let errors = self.errors_of(DELTA, self.rows);
                self.rows >= FEWEST && self.violation + errors * self.error <= 0.0
            }
        }
    }

    /// Rows with the same proportions that would make it likely.
    pub(super) fn rows_needed(self) -> Option<RowsNeeded> {
        if self.violation >= 0.0 {
            return None;
        }
        Some(match self.count {
            Some((count, allowed)) => {
                rows_for_rate(count.rate(), allowed, Delta::new(self.share(DELTA)).ok()?)
            }
            None => {
                // violation √n = deviation (errors + skewed / √n), solved for √n.
                let off = self.error * self.rows.sqrt() / -self.violation;
                let half = off * self.errors(DELTA) / 2.0;
                let root = half + (half * half + off * self.skewed(DELTA)).sqrt();
                RowsNeeded::About((root * root).clamp(FEWEST, 1e15).ceil() as u64)
            }
        })
    }

    /// By how many standard errors it is worse than another sample; counts have that of a common rate.
    pub(super) fn worse_than(self, other: Self) -> f64 {
        let apart = self.violation - other.violation;
        if apart <= 0.0 {
            return 0.0;
        }
        let error = match self.with(other).count {
            Some((both, _)) => {
                let each = both.rate() * (1.0 - both.rate());
                (each * (1.0 / self.rows + 1.0 / other.rows)).sqrt()
            }
            None => self.error.hypot(other.error),
        };
        apart / error
    }
}

/// p(1 − p), as if one row of each kind were added: a sample in which all rows agree is not certain.
fn smoothed(rate: f64, rows: f64) -> f64 {
    let rate = (rate * rows + 1.0) / (rows + 2.0);
    rate * (1.0 - rate)
}

impl Answers<'_> {
    /// What the rows tell about each requirement, `None` where they tell nothing.
    pub(super) fn samples(
        &self,
        evaluation: &Evaluation,
        all_but: f64,
    ) -> Result<Vec<Option<Sample>>> {
        let mut stated = self.problem.requirements().iter();
        let mut found = Vec::new();
        for ((clause, points), result) in
            self.subject.clauses.iter().zip(&self.points).zip(&evaluation.requirements)
        {
            let requirement = points.and_then(|_| stated.next());
            let sample = match requirement {
                Some(requirement) if requirement.kind() == Kind::Pointwise => {
                    let allowed = if clause.all_but > 0.0 { clause.all_but } else { all_but };
                    let (rows, points) = (requirement.terms()[0].population().len(), result.points);
                    let over = result.violated.unwrap_or(1.0) * points as f64;
                    let flatters = !requirement.terms()[0].measure().compares_views();
                    let sample = Sample::counted(over.round() as u64, rows as u64, allowed);
                    sample.map(|sample| Sample { flatters, ..sample })
                }
                Some(requirement) => self.average(requirement, result)?,
                None => None,
            };
            let together = self.subject.clauses.iter().filter(|other| {
                let side = std::mem::discriminant(&other.bound);
                other.from == clause.from && side == std::mem::discriminant(&clause.bound)
            });
            let among = together.count();
            found.push(sample.map(|sample| Sample { among, ..sample }));
        }
        Ok(found)
    }

    fn average(
        &self,
        requirement: &Requirement,
        result: &RequirementResult,
    ) -> Result<Option<Sample>> {
        let terms = requirement.terms();
        let limit = requirement.limit().of(0);
        let (Some(value), Some(violation)) = (result.value, result.worst_violation) else {
            return Ok(None);
        };
        let rows = terms[0].population().len();
        // A ratio over predictions is counted among these.
        let ratio = matches!(terms[0].measure(), Loss::FalseDiscovery { .. });
        let rows = if ratio { result.points } else { rows };
        let plain = matches!(terms, [one] if one.coefficient() == 1.0)
            && matches!(terms[0].population().view(), View::Identity);
        if plain && terms[0].measure().is_of_decisions() {
            let allowed = match requirement.sense() {
                Sense::AtMost => limit,
                Sense::AtLeast => 1.0 - limit,
            };
            let over = (violation + allowed) * rows as f64;
            return Ok(Sample::counted(over.round().max(0.0) as u64, rows as u64, allowed));
        }
        // An attack on every row once more would take as long as training; its value alone tells too little.
        let attacked = |term: &feasible::requirement::Term| {
            matches!(term.population().view(), View::Adaptive(_))
        };
        if terms.iter().any(attacked) || !value.is_finite() {
            return Ok(None);
        }
        // The variance of Σ a mean(ℓ) is that of the sum over rows of what each adds to it.
        let mut influence = vec![0.0; self.samples.len()];
        let mut added = 0.0;
        for term in terms {
            let (population, measure) = (term.population(), term.measure());
            let decided = measure.is_of_decisions();
            let model = if decided { self.decisions() } else { &self.model };
            let losses = population.losses(measure, model, self.subject.theta)?;
            let members: Vec<u32> = population.rows().collect();
            let points = losses.len() as f64;
            let mean = losses.iter().sum::<f64>() / points;
            // Points are ordered by view, then by row.
            for (loss, &row) in losses.iter().zip(members.iter().cycle()) {
                influence[row as usize] += term.coefficient() * (loss - mean) / points;
            }
            if decided {
                let count = members.len() as f64;
                let more = smoothed(mean.clamp(0.0, 1.0), count) - mean * (1.0 - mean);
                added += term.coefficient().powi(2) * more.max(0.0) / count;
            }
        }
        let variance = influence.iter().map(|x| x * x).sum::<f64>() + added;
        let error = variance.sqrt();
        let flatters = terms.len() == 1 && !terms[0].measure().compares_views();
        let rows = rows as f64;
        let of_losses = terms.iter().all(|term| !term.measure().is_of_decisions());
        let third = requirement.sense().sign() * influence.iter().map(|x| x.powi(3)).sum::<f64>();
        let skewness = match of_losses && third > 0.0 {
            true => rows.sqrt() * third / error.powi(3),
            false => 0.0,
        };
        Ok(Some(Sample { rows, violation, error, skewness, count: None, flatters, among: 1 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_that_must_hold_together_share_the_error() {
        let sample = |among, violation| {
            let (error, flatters) = (0.1, false);
            let (skewness, count) = (0.0, None);
            Sample { rows: 100.0, violation, error, skewness, count, flatters, among }
        };
        // z of 5 % is 1.645, of 1.25 % 2.241.
        assert!(sample(1, -0.17).is_likely() && !sample(4, -0.17).is_likely());
        assert!(sample(4, -0.23).is_likely() && !sample(4, -0.22).is_likely());
        let of = |among| sample(among, -0.08).is_likely_with(sample(among, -0.08));
        assert!(!of(4) && sample(4, -0.2).is_likely_with(sample(4, -0.2)), "{}", of(1));
        let count = |among| Sample { among, ..Sample::counted(12, 100, 0.2).unwrap() };
        assert!(count(1).is_likely() && !count(4).is_likely());
    }

    #[test]
    fn a_mean_is_judged_by_its_standard_error() {
        let sample = |violation, error| {
            let flatters = true;
            let (skewness, count) = (0.0, None);
            Sample { rows: 100.0, violation, error, skewness, count, flatters, among: 1 }
        };
        assert!(sample(-0.2, 0.1).is_likely() && !sample(-0.1, 0.1).is_likely());
        assert_eq!(sample(-0.1, 0.1).rows_needed(), Some(RowsNeeded::About(271)));
        // Skewed by 5 in 100 rows: 2 · 5 (2 · 1.645² + 1)/(6 · 10) = 1.069 standard errors more.
        let skewed = |violation| Sample { skewness: 5.0, ..sample(violation, 0.1) };
        assert!(skewed(-0.28).is_likely() && !skewed(-0.27).is_likely());
        let Some(RowsNeeded::About(rows)) = skewed(-0.1).rows_needed() else { unreachable!() };
        let with = |rows: f64| Sample { rows, error: (1.0 / rows).sqrt(), ..skewed(-0.1) };
        assert!(with(rows as f64).is_likely() && !with(0.98 * rows as f64).is_likely());
        // Rows without the tail, beside as many that have one.
        let (lucky, tailed) = (sample(-0.2, 0.01), skewed(-0.2));
        assert!(lucky.is_likely() && !lucky.with_tail_of(tailed).is_likely());
        assert!(lucky.with_tail_of(sample(-0.2, 0.1)).is_likely());
        let both = sample(-0.2, 0.1).with(sample(0.0, 0.1));
        assert!(
            (both.violation + 0.1).abs() < 1e-12 && (both.error - 0.005_f64.sqrt()).abs() < 1e-12
        );
    }
}

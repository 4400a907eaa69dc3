//! Requirements that new rows may miss, although a training meets them: what is said of them, and how it is known.
//!
//! θ is fitted to the training rows, and the epoch and the threshold are chosen on the validation rows, so neither sample certifies anything. But they
//! tell where a certificate is not to be expected. A requirement is expected to hold on new rows if it is met on the training rows and either
//!
//! 1. its validation rows make it likely: the 95 % bound is within the limit; or
//! 2. both samples together do: v + 1.3 s ≤ 0, with v the violation as the two estimate it, weighed by their variances, and s its standard error.
//!
//! A requirement on several groups is several clauses, and holds where all of them do: they share the 5 % and the 10 % among them (Bonferroni), the two sides of a
//! difference counting once.
//!
//! The second is for groups with few validation rows, where the first could never be. Training rows flatter, so they count for less: rates and means of losses
//! are taken to be worse on new rows by two standard errors of the training sample, give or take two; differences between groups and between views of a row, which fitting does not
//! improve, by none, give or take one. (On generated tables of 300 to 3,000 rows rates and means were worse by two to three, give or take as much, differences
//! by none; docs/quality.md.) Everything else is a [`Doubt`]. The bounds of the first:
//!
//! | requirement | likely, if |
//! | --- | --- |
//! | a rate; a pointwise one, violated for a share of rows | the exact binomial probability of so few violations at the limit is at most 5 % |
//! | differences of rates, means of losses | v + 1.645 s ≤ 0, with v the violation and s its standard error in the sample |
//!
//! Means of losses with a long tail towards violations (squared errors of a few rows far off) are mostly underestimated, and their spread with them. There both
//! rules take z + g (2 z² + 1)/(6 √n) standard errors instead of z, with g twice the larger skewness of the two samples, s of the larger deviation, and n the rows: the Cornish-Fisher correction of
//! the studentised mean (Johnson 1978), twice because samples of such losses show half of their skewness or less. (Of simulated bounds at 5 %, those that fail: of the square of a normal number in
//! 60 rows 5.6 % instead of 10 %, of a lognormal one 8 % instead of 15 %, of a normal one 5 %.)
//!
//! Without validation rows nothing is known of how much training rows flatter, and every requirement is doubted. Test and reserved rows take no part. A pointwise requirement that allows no violation is taken as certificates take it: for all but 1 % of the rows.

use feasible::certificate::{Certificate, Count, Delta, RowsNeeded, Verdict, rows_for_rate};
use feasible::requirement::Sense;
use feasible::{Kind, Loss, Requirement, View};
use feasible_data::visible;
use feasible_problem::spec::RequirementKind;
use feasible_problem::text::{grouped, percent, precise_percent, roughly, short};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::evaluate::{Evaluation, RequirementResult};
use crate::subject::Answers;

/// δ of the bounds.
const DELTA: f64 = 0.05;
/// δ for both samples together: 1.3 standard errors.
const TOGETHER: f64 = 0.0968;
/// Standard errors by which validation rows are plainly worse than training rows.
const APART: f64 = 1.645;
/// By how many of its standard errors a training sample flatters, and give or take how many.
const FLATTERED: (f64, f64) = (2.0, 2.0);
/// The same of what fitting does not improve.
const PLAIN: (f64, f64) = (0.0, 1.0);
/// Losses with a long tail are about so many times as skewed as samples of them.
const MORE_SKEWED: f64 = 2.0;
/// Fewer rows have no standard error to go by.
const FEWEST: f64 = 10.0;

/// A requirement that is not expected to hold on new rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Doubt {
    /// The requirement.
    pub requirement: String,
    /// Validation rows that it speaks of.
    pub rows: u64,
    /// Validation rows that would make it likely, if the proportions stayed as they are; `None` where more rows are not
    /// what is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_needed: Option<RowsNeeded>,
    /// The doubt, in one sentence.
    pub text: String,
}

/// What some rows tell about a requirement.
#[derive(Clone, Copy, Debug)]
struct Sample {
    rows: f64,
    /// By how much the limit is violated; negative if it is met.
    violation: f64,
    /// Its standard error.
    error: f64,
    /// The skewness of what each row adds to it, if that is a loss with a long tail towards violations; 0 of rates and differences of
    /// rates.
    skewness: f64,
    /// Rows that violate it, and the share of them that may.
    count: Option<(Count, f64)>,
    /// Whether it looks better on rows that were fitted to.
    flatters: bool,
    /// Clauses that must hold together, this one included.
    among: usize,
}

impl Sample {
    /// Of violations that are counted.
    fn counted(violations: u64, rows: u64, allowed: f64) -> Option<Self> {
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
    fn is_likely_with(self, trained: Self) -> bool {
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
    fn with_tail_of(self, other: Self) -> Self {
        let skewness = self.skewness.max(other.skewness);
        if skewness <= 0.0 {
            return self;
        }
        let error = self.error.max(other.error * (other.rows / self.rows).sqrt());
        Self { skewness, error, ..self }
    }

    /// Both samples as one.
    fn with(self, other: Self) -> Self {
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

    fn is_met(self) -> bool {
        self.violation <= 0.0
    }

    /// Whether it makes it likely that the requirement is met by the population.
    fn is_likely(self) -> bool {
        match self.count {
            Some((count, allowed)) => count.ln_p_at_least(allowed) <= self.share(DELTA).ln(),
            None => {
                let errors = self.errors_of(DELTA, self.rows);
                self.rows >= FEWEST && self.violation + errors * self.error <= 0.0
            }
        }
    }

    /// Rows with the same proportions that would make it likely.
    fn rows_needed(self) -> Option<RowsNeeded> {
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
    fn worse_than(self, other: Self) -> f64 {
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
    fn samples(&self, evaluation: &Evaluation, all_but: f64) -> Result<Vec<Option<Sample>>> {
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

impl Doubt {
    /// What is left of it beside what held-out rows prove: nothing where they certify or refute the requirement. How many rows would
    /// be enough is then told by them alone.
    pub(crate) fn beside(mut self, certificate: &Certificate) -> Option<Self> {
        let mut findings = certificate.findings.iter();
        let Some(finding) = findings.find(|f| f.name == self.requirement && f.estimate.is_some())
        else {
            return Some(self);
        };
        if matches!(finding.verdict, Verdict::Certified | Verdict::Violated)
            || certificate.all_hold()
        {
            return None;
        }
        let rows = would_do(self.rows_needed.take(), "");
        if let Some(at) = self.text.rfind(&rows).filter(|_| !rows.is_empty()) {
            self.text.truncate(at);
            self.text.push('.');
        }
        Some(self)
    }
}

/// A model's answers to some rows, and its evaluation on them.
pub(crate) type Evaluated<'a> = (&'a Answers<'a>, &'a Evaluation);

/// The requirements that are not expected to hold on new rows. `all_but` is the share that may violate a pointwise one.
pub(crate) fn doubts(
    train: Evaluated<'_>,
    validation: Evaluated<'_>,
    all_but: f64,
) -> Result<Vec<Doubt>> {
    let trained = train.0.samples(train.1, all_but)?;
    let held = validation.0.samples(validation.1, all_but)?;
    let results = train.1.requirements.iter().zip(&validation.1.requirements);
    let each = results.zip(trained.into_iter().zip(held));
    Ok(each.filter_map(|(results, samples)| doubt(results, samples)).collect())
}

/// What is said of every requirement where there are no validation rows: fitted rows alone, of however small a sample, show nothing.
pub(crate) fn doubts_unvalidated(train: Evaluated<'_>, all_but: f64) -> Result<Vec<Doubt>> {
    let samples = train.0.samples(train.1, all_but)?;
    let each = train.1.requirements.iter().zip(samples);
    Ok(each.map(|(result, sample)| unvalidated(result, sample, train.1.rows)).collect())
}

fn unvalidated(train: &RequirementResult, trained: Option<Sample>, all: usize) -> Doubt {
    let name = visible(&train.name);
    let trained = trained.filter(|trained| trained.violation.is_finite());
    let (needed, text) = match train.met {
        false => (None, not_on_training(&name)),
        true => {
            let needed = trained.and_then(Sample::rows_needed);
            (needed, without_validation(all, &format!("'{name}' holds"), needed))
        }
    };
    Doubt { requirement: train.name.clone(), rows: 0, rows_needed: needed, text }
}

/// The sentence of training rows without validation rows; `what` is `'recall' holds`.
pub(crate) fn without_validation(all: usize, what: &str, needed: Option<RowsNeeded>) -> String {
    let would = would_do(needed, " validation rows would tell");
    let rows = match all {
        1 => "the 1 training row and none".into(),
        all => format!("{} training rows and none", grouped(all)),
    };
    format!("With {rows} for validation, nothing can be said of whether {what} on new rows{would}.")
}

/// Of a requirement that counts as met and whose sample violates it.
fn just_met(result: &RequirementResult, rows: &str, sample: Sample) -> String {
    let how = match result.kind {
        RequirementKind::Average => format!("is met on {rows} only within the tolerance"),
        // Of the rows, not of their views.
        RequirementKind::Pointwise => format!("is just met on {rows}"),
    };
    let (here, limit) = (standing(result), limit(result, sample));
    format!("'{}' {how} ({here}, {limit}), so do not expect it on new ones.", visible(&result.name))
}

fn not_on_training(name: &str) -> String {
    format!("'{name}' is not met on the training rows: do not expect it on new ones.")
}

/// Results and samples are of the training rows and of the validation rows.
fn doubt(
    (train, validation): (&RequirementResult, &RequirementResult),
    (trained, held): (Option<Sample>, Option<Sample>),
) -> Option<Doubt> {
    let name = visible(&train.name);
    let rows = held.map_or(0, |held| held.rows as u64);
    let make = |rows_needed: Option<RowsNeeded>, text: String| {
        Some(Doubt { requirement: train.name.clone(), rows, rows_needed, text })
    };
    let trained = trained.filter(|trained| trained.violation.is_finite());
    if !train.met {
        return make(None, not_on_training(&name));
    }
    if let Some(trained) = trained.filter(|trained| !trained.is_met()) {
        return make(None, just_met(train, "the training rows", trained));
    }
    let Some(held) = held.filter(|held| held.violation.is_finite()) else {
        // An average under attack, whose spread is not known.
        if validation.points > 0 {
            let text = format!(
                "'{name}' is not met on the validation rows: do not expect it on new ones."
            );
            return if validation.met { None } else { make(None, text) };
        }
        let needed = trained.and_then(Sample::rows_needed);
        let would = would_do(needed, " would tell");
        let text = format!(
            "No validation row counts for '{name}', so nothing shows that it holds on new ones{would}."
        );
        return make(needed, text);
    };
    let worse = trained.map_or(0.0, |trained| held.worse_than(trained));
    let held = trained.map_or(held, |trained| held.with_tail_of(trained));
    if held.is_likely() || trained.is_some_and(|trained| held.is_likely_with(trained)) {
        return None;
    }
    let (here, there) = (standing(validation), standing(train));
    let count = match rows {
        1 => "its 1 validation row".into(),
        rows => format!("its {} validation rows", grouped(rows as usize)),
    };
    if validation.met && !held.is_met() {
        return make(None, just_met(validation, &count, held));
    }
    if validation.met {
        let needed = held.rows_needed();
        let would = would_do(needed, " would do");
        let limit = limit(validation, held);
        let text = format!(
            "'{name}' is met on {count} ({here}, {limit}), too few to expect it on new ones{would}."
        );
        return make(needed, text);
    }
    let limit = limit(validation, held);
    let needed = trained.and_then(Sample::rows_needed);
    let enough = matches!(needed, Some(RowsNeeded::About(needed)) if needed <= rows);
    // A handful of rows says nothing of how well it generalises, however they come out.
    if held.rows >= FEWEST && (worse > APART || enough) {
        let text = format!(
            "'{name}' generalises badly: {there} on the training rows, {here} on {count} ({limit}). It needs more training \
             rows, a simpler model or a stricter limit in training (`margin`)."
        );
        return make(None, text);
    }
    let would = would_do(needed, " would do if it is on new rows what it is on the training rows");
    let text = format!(
        "'{name}' is not met on {count} ({here}, {limit}; training rows: {there}), too few to expect it on new ones{would}."
    );
    make(needed, text)
}

/// `: about 400 would do`.
fn would_do(needed: Option<RowsNeeded>, would: &str) -> String {
    match needed {
        Some(RowsNeeded::About(rows)) => format!(": about {}{would}", roughly(rows)),
        Some(RowsNeeded::MoreThan(rows)) => {
            format!(": more than {} would be needed", grouped(rows as usize))
        }
        Some(RowsNeeded::Never) | None => String::new(),
    }
}

/// What was measured of a requirement.
fn standing(result: &RequirementResult) -> String {
    match (result.kind, result.violated, result.value) {
        (RequirementKind::Pointwise, Some(share), _) => format!("violated for {}", percent(share)),
        (_, _, Some(value)) => short(value),
        _ => "no value".into(),
    }
}

fn limit(result: &RequirementResult, sample: Sample) -> String {
    let sign = if result.sense == ">=" { "≥" } else { "≤" };
    let whom = match (result.kind, sample.count) {
        (RequirementKind::Pointwise, Some((_, allowed))) => {
            format!(" for all but {} of rows", precise_percent(allowed))
        }
        _ => String::new(),
    };
    format!("limit {sign} {}{whom}", short(result.limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recall(value: f64, rows: usize) -> (RequirementResult, Option<Sample>) {
        let result = RequirementResult {
            name: "older".into(),
            kind: RequirementKind::Average,
            sense: ">=".into(),
            limit: 0.8,
            value: Some(value),
            worst_violation: Some(0.8 - value),
            violated: None,
            points: 1,
            met: value >= 0.8,
            multiplier: None,
            training_multiplier: None,
            smoothed: false,
            largest_multiplier: None,
            multipliers_at_zero: None,
            attack: None,
        };
        let over = ((1.0 - value) * rows as f64).round() as u64;
        (result, Sample::counted(over, rows as u64, 0.2))
    }

    fn of(train: (f64, usize), validation: (f64, usize)) -> Option<Doubt> {
        let (train, trained) = recall(train.0, train.1);
        let (validation, held) = recall(validation.0, validation.1);
        doubt((&train, &validation), (trained, held))
    }

    #[test]
    fn what_few_rows_meet_is_doubted_and_how_many_would_do_is_told() {
        let doubt = of((0.83, 100), (0.8361, 61)).unwrap();
        assert_eq!(
            doubt.text,
            "'older' is met on its 61 validation rows (0.8361, limit ≥ 0.8), too few to expect it on new ones: about 370 \
             would do."
        );
        let needed = doubt.rows_needed.unwrap();
        let RowsNeeded::About(rows) = needed else { unreachable!("{needed:?}") };
        // That many with the same share of misses are enough, and half of them are not.
        let misses = |rows: u64| (0.163_934 * rows as f64).ceil() as u64;
        assert!(Sample::counted(misses(rows), rows, 0.2).unwrap().is_likely());
        assert!(!Sample::counted(misses(rows / 2), rows / 2, 0.2).unwrap().is_likely());
    }

    #[test]
    fn training_rows_stand_by_validation_rows_but_count_for_less() {
        assert_eq!(of((0.9, 400), (0.9, 40)), None);
        assert!(of((0.85, 400), (0.81, 40)).is_some());
        // 0.795 of 39 and 0.747 of 160, where 0.7 is asked for: as 199 rows alike they would do, and new rows gave 0.644.
        let (few, many) = (Sample::counted(8, 39, 0.3), Sample::counted(40, 158, 0.3));
        let (few, many) = (few.unwrap(), many.unwrap());
        assert!(few.with(many).is_likely() && !few.is_likely_with(many));
        // A difference is not improved by fitting.
        let plain = |sample| Sample { flatters: false, ..sample };
        assert!(plain(few).is_likely_with(plain(many)));
        // Enough rows by themselves, however well the others are fitted.
        assert_eq!(of((1.0, 4000), (0.85, 400)), None);
    }

    #[test]
    fn what_fails_is_told_by_what_it_fails() {
        let text = |train, validation| of(train, validation).unwrap().text;
        assert!(text((0.79, 400), (0.95, 400)).contains("not met on the training rows"));
        assert!(text((0.95, 400), (0.7, 100)).contains("generalises badly: 0.95"));
        let unlucky = text((0.83, 400), (0.77, 60));
        assert!(unlucky.contains("is not met on its 60 validation rows"), "{unlucky}");
        assert!(unlucky.contains("would do if it is on new rows what"), "{unlucky}");
    }

    #[test]
    fn what_counts_as_met_is_called_met() {
        // Within a tolerance, or by the share of points where the sample counts rows.
        let ((train, trained), (validation, held)) = (recall(0.79, 400), recall(0.79, 400));
        let met = |result: &RequirementResult| RequirementResult { met: true, ..result.clone() };
        let of = |train: &RequirementResult, validation: &RequirementResult| {
            doubt((train, validation), (trained, held)).unwrap().text
        };
        assert!(of(&train, &met(&validation)).contains("is not met on the training rows"));
        let text = of(&met(&train), &met(&validation));
        assert!(
            text.contains("is met on the training rows only within the tolerance")
                && !text.contains("not met"),
            "{text}"
        );
        assert!(!unvalidated(&met(&train), trained, 400).text.contains("not met"));
        let (train, trained) = recall(0.86, 400);
        let of = |validation: &RequirementResult, held| {
            doubt((&train, validation), (trained, held)).unwrap().text
        };
        let (validation, held) = recall(0.79, 60);
        let text = of(&met(&validation), held);
        assert!(
            text.contains("is met on its 60 validation rows only within the tolerance"),
            "{text}"
        );
        let (validation, held) = recall(0.82, 60);
        let missed = RequirementResult { met: false, ..validation };
        assert!(of(&missed, held).contains("is not met on its 60 validation rows"));
    }

    #[test]
    fn beside_a_certificate_a_doubt_does_not_count_rows_of_its_own() {
        use feasible::certificate::{Claim, Evidence, Simultaneous};
        use feasible::requirement::Sense;
        let certificate = |hits, rows| {
            let claim = Claim {
                name: "older".into(),
                subject: "the recall".into(),
                sense: Sense::AtLeast,
                limit: 0.8,
                evidence: Some(Evidence::Share(Count::new(hits, rows).unwrap())),
            };
            Certificate::new(&[claim], Delta::new(DELTA).unwrap(), Simultaneous::Holm)
        };
        let doubt = of((0.83, 100), (0.8361, 61)).unwrap();
        let left = doubt.clone().beside(&certificate(164, 200)).unwrap();
        assert!(
            left.rows_needed.is_none() && left.text.ends_with("too few to expect it on new ones."),
            "{}",
            left.text
        );
        assert_eq!(doubt.clone().beside(&certificate(190, 200)), None);
        assert_eq!(doubt.beside(&certificate(60, 200)), None);
    }

    #[test]
    fn a_handful_of_validation_rows_does_not_show_that_it_generalises_badly() {
        for (train, validation) in [((0.8333, 6), (0.0, 1)), ((0.9, 100), (0.0, 9))] {
            let text = of(train, validation).unwrap().text;
            assert!(text.contains("too few to expect it on new ones"), "{text}");
            assert!(!text.contains("generalises badly"), "{text}");
        }
        assert!(of((0.9, 100), (0.0, 10)).unwrap().text.contains("generalises badly"));
    }

    #[test]
    fn without_validation_rows_every_requirement_is_doubted() {
        let of = |value| {
            let (result, sample) = recall(value, 60);
            unvalidated(&result, sample, 70)
        };
        let met = of(0.9);
        assert!(matches!(met.rows_needed, Some(RowsNeeded::About(_))), "{met:?}");
        assert!(
            met.text.starts_with(
                "With 70 training rows and none for validation, nothing can be said of whether 'older' holds on new rows: \
                 about "
            ),
            "{}",
            met.text
        );
        assert!(met.text.ends_with(" validation rows would tell."), "{}", met.text);
        assert!(of(0.7).text.contains("not met on the training rows"));
    }

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

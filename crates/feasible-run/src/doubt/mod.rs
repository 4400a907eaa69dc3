//! Requirements that new rows may miss, although a training meets them: what is said of them.
//!
//! θ is fitted to the training rows, and the epoch and the threshold are chosen on the validation rows, so neither sample certifies anything. But they
//! tell where a certificate is not to be expected. A requirement is expected to hold on new rows if it is met on the training rows and either
//!
//! 1. its validation rows make it likely: the 95 % bound is within the limit; or
//! 2. both samples together do, for groups with few validation rows, where the first could never be.
//!
//! `sample` has both rules. Everything else is a [`Doubt`]. Without validation rows nothing is known of how much training rows flatter, and every
//! requirement is doubted. Test and reserved rows take no part.

mod sample;

use feasible::certificate::{Certificate, RowsNeeded, Verdict};
use feasible_data::visible;
use feasible_problem::spec::RequirementKind;
use feasible_problem::text::{grouped, percent, precise_percent, roughly, short};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::evaluate::{Evaluation, RequirementResult};
use crate::subject::Answers;
use sample::{APART, FEWEST, Sample};

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
    use feasible::certificate::{Count, Delta};

    use super::sample::DELTA;
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
}

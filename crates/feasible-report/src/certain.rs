//! What held-out rows certify: one line for each requirement, the method in small print.
//!
//! A bound is within the limit if and only if the requirement is certified. Bounds inside certified limits are a
//! statement of their own, with the same confidence for all of them together; the page says so.

use feasible::certificate::{Certificate, Finding, RowsNeeded, Simultaneous, Verdict};
use feasible_problem::text::precise_percent;
use feasible_run::certify::{self, Certification};
use serde::Serialize;

use crate::chart::{grouped, number};
use crate::layout::{bounded, name, unbroken};
use crate::requirements::MOST;

/// What held-out rows certify.
#[derive(Serialize)]
pub(crate) struct Certain {
    /// The guarantee, in a sentence.
    pub(crate) lead: String,
    /// Requirements, those that are not certified first.
    pub(crate) claims: Vec<ClaimRow>,
    /// The rows chose the model, so that there are no bounds.
    pub(crate) chosen: bool,
    /// What else follows.
    pub(crate) sentences: Vec<String>,
    /// How it was computed.
    pub(crate) methods: Vec<String>,
}

#[derive(Serialize)]
pub(crate) struct ClaimRow {
    pub(crate) name: String,
    /// What is claimed: `the error rate where age > 52`.
    subject: String,
    pub(crate) verdict: &'static str,
    class: &'static str,
    pub(crate) limit: String,
    rows: String,
    pub(crate) sample: String,
    pub(crate) bound: String,
    /// For which other populations it holds.
    pub(crate) still: String,
    pub(crate) next: String,
}

/// A verdict in the page's words, and its class.
pub(crate) fn verdict(
    certificate: &Certificate,
    finding: &Finding,
) -> (&'static str, &'static str) {
    match finding.verdict {
        Verdict::Certified => ("certified", "yes"),
        Verdict::Met if certificate.all_hold() => ("certified together", "yes"),
        Verdict::Met => ("met, not certified", "open"),
        Verdict::Violated => ("violated", "no"),
        Verdict::Open => ("open", "open"),
    }
}

/// What a certification certifies; `None` if it speaks of no requirement.
pub(crate) fn of(certification: &Certification) -> Option<Certain> {
    let certificate = &certification.certificate;
    let findings = &certificate.findings;
    findings.first()?;
    let several = findings.len() > 1;
    let confidence = precise_percent(certification.confidence);
    let noun = if certification.unit.is_some() { "units" } else { "rows" };
    let claim = |f: &Finding| {
        let (word, class) = verdict(certificate, f);
        ClaimRow {
            name: name(&f.name),
            subject: bounded(&f.subject, 400),
            verdict: word,
            class,
            limit: certify::limit(f),
            rows: grouped(&f.rows.to_string()),
            sample: certify::estimate(f).unwrap_or_else(|| "no rows".into()),
            bound: certify::bound(certificate, f).unwrap_or_default(),
            still: certify::still_true_if(f).unwrap_or_else(|| "–".into()),
            next: match class {
                "yes" => String::new(),
                _ => next_step(certificate, f, noun),
            },
        }
    };
    let mut claims: Vec<ClaimRow> = findings.iter().map(claim).collect();
    claims.sort_by_key(|claim| match (claim.class, claim.verdict) {
        ("no", _) => 0,
        ("open", "open") => 1,
        ("open", _) => 2,
        _ => 3,
    });
    claims.truncate(MOST);
    let together = several && certificate.all_hold() && !certificate.each_certified();
    let none = !together && claims.iter().all(|claim| claim.class != "yes");
    let holds = match (several, together) {
        _ if none => "nothing is certified about the population".to_string(),
        (false, _) => "the requirement holds for the population".into(),
        (_, true) => {
            format!("all {} requirements hold together for the population", findings.len())
        }
        _ => "everything marked “certified” holds, all of it together, for the population".into(),
    };
    let lead = format!(
        "Would the requirements hold for rows that nobody has seen? With a confidence of {confidence}, {holds} that {} come \
         from{}.",
        name(&certification.rows),
        certification.held_out.clause(),
    );
    Some(Certain {
        lead: unbroken(&lead),
        claims,
        chosen: certification.chosen,
        sentences: sentences(certification, &confidence),
        methods: methods(certification, several, together),
    })
}

/// What it takes to certify what is not.
fn next_step(certificate: &Certificate, f: &Finding, noun: &str) -> String {
    let proven = match certify::bound(certificate, f) {
        Some(bound) => format!(" These {noun} certify a limit of {bound}."),
        None => String::new(),
    };
    let limit = certify::limit(f);
    if let (Verdict::Met | Verdict::Open, Some(_), None) = (f.verdict, f.estimate, f.bound) {
        let proven = |clipped| {
            format!(
                " With the confidence above, {clipped}. B was chosen without these {noun}; nothing is proven about how large \
                 losses above it are."
            )
        };
        let of = certify::clipped(f).map_or(String::new(), proven);
        return format!(
            "No number of {noun} certifies the mean of a loss that has no upper bound.{of}"
        );
    }
    let rows = match (f.verdict, certify::rows_to_certify(f), f.rows_needed) {
        (Verdict::Met, Some((more, all)), _) => format!(
            "Certifying {limit} takes about {} more {noun} that it applies to ({} in all), at the present proportions.",
            grouped(&more.to_string()),
            grouped(&all.to_string())
        ),
        (Verdict::Met, _, Some(RowsNeeded::MoreThan(n))) => {
            format!("Certifying {limit} takes more than {} {noun}.", grouped(&n.to_string()))
        }
        (Verdict::Met, ..) => {
            format!("The {noun} are at the limit itself: no number of them certifies {limit}.")
        }
        (Verdict::Violated, ..) => {
            "More rows do not help: the model or the limit has to change.".into()
        }
        _ if f.estimate.is_none() => format!("It applies to none of these {noun}."),
        _ => {
            format!("These {noun} are on the wrong side of {limit}, too few to prove a violation.")
        }
    };
    unbroken(&(rows + &proven))
}

/// What follows besides the requirements, and what the reader must know.
fn sentences(of: &Certification, confidence: &str) -> Vec<String> {
    let mut all: Vec<String> =
        of.repetition.map(|repetition| repetition.sentence()).into_iter().collect();
    if of.chosen {
        all.push(
            "These rows chose the model: they prove the limits, all of them together, whichever model of the ladder was taken, \
             and no bound beyond."
                .into(),
        );
    }
    for flip in of.flip_rates.iter().take(MOST) {
        all.push(format!(
            "{}: with a confidence of {confidence}, on its own, the prediction changes for at most {} of the population \
             ({} of {} rows here).",
            name(&flip.counterfactual),
            precise_percent(flip.upper),
            grouped(&flip.changed.to_string()),
            grouped(&of.count.to_string()),
        ));
    }
    if let Some(unit) = &of.unit {
        all.push(format!(
            "Rows with the same ‘{}’ are one unit, and units are taken for independent draws. Every unit weighs the \
             same: a rate or a mean is that of a random row of a random unit; “all but” counts a unit if any of its \
             rows violates.",
            name(&unit.column)
        ));
    }
    all.push(of.held_out.sentence());
    all.extend(of.notes.iter().cloned());
    all.iter()
        .map(|text| unbroken(&bounded(text.trim(), 800)))
        .filter(|text| !text.is_empty())
        .collect()
}

/// The methods by name.
fn methods(of: &Certification, several: bool, together: bool) -> Vec<String> {
    let certificate = &of.certificate;
    let mut names: Vec<&str> = certificate.findings.iter().map(|f| f.method.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let delta = precise_percent(certificate.delta.value());
    let each =
        precise_percent(certificate.delta.value() / certificate.findings.len().max(1) as f64);
    let mut all = vec![format!("Bounds: {}.", names.join("; "))];
    if several {
        all.push(match certificate.simultaneous {
            Simultaneous::Holm => format!(
                "Several requirements share the {delta} that may go wrong, by Holm's method: it proves the limits of \
                 those that are certified, and the bounds of the others. Bounds inside certified limits are \
                 Bonferroni's, at {each} each, a statement of their own. What is marked “violated” is judged by Holm's method, on \
                 its own."
            ),
            Simultaneous::Bonferroni => format!(
                "Several requirements share the {delta} that may go wrong: verdicts and bounds are Bonferroni's, at \
                 {each} each."
            ),
        });
    }
    if together {
        all.push(format!(
            "“Certified together” is one claim about all requirements (intersection-union test, largest p-value {}); \
             by itself, such a requirement is not certified.",
            number(certificate.largest_p())
        ));
    }
    all.iter().map(|text| bounded(text, 1_000)).take(40).collect()
}

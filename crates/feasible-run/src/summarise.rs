//! What is said of a solution when its training has ended: its threshold, its evaluation on every part of the data, what to expect on
//! rows to come, and its certificate.

use std::sync::Arc;

use feasible::Solution;
use feasible::stationarity::Stationarity;
use feasible_problem::plan::Plan;
use feasible_problem::spec::RequirementKind;

use crate::certify::Certification;
use crate::conclusion;
use crate::error::Result;
use crate::groups::{DataSummary, GroupTables};
use crate::parts::{PartResults, subject};
use crate::subject::{Answers, Subject};
use crate::summary::Summary;

/// Evaluates a solution on every part of the plan's data, and certifies it.
pub fn summarise(plan: &Plan, solution: &Solution<f32>) -> Result<Summary> {
    let (summary, _, test) = evaluate(plan, solution)?;
    Ok(certified(plan, solution, summary, test.as_ref()))
}

/// How a solution does on every part of the plan's data, within groups, and its answers to the test rows; nothing is certified yet.
pub(crate) fn evaluate<'a>(
    plan: &'a Plan,
    solution: &'a Solution<f32>,
) -> Result<(Summary, GroupTables, Option<Answers<'a>>)> {
    let multipliers = Some(&solution.multipliers);
    let results = PartResults::of(plan, &solution.theta, multipliers, Some(plan.clauses()))?;
    let PartResults { decision, train, validation, test, mut groups, doubts, clips, answers } =
        results;
    let data = plan.data();
    groups.data = Some(DataSummary::of(data, &groups.part));
    let mut summary = Summary {
        problem: plan.name().to_string(),
        seed: plan.seed(),
        outcome: conclusion::outcome(plan, solution, &train),
        epochs: solution.epochs,
        kept_epoch: Some(solution.kept_epoch),
        parameters: plan.parameters(),
        multipliers: plan.multipliers(),
        gap: solution.gap,
        kkt: solution.kkt,
        stationarity: None,
        decision,
        train,
        validation,
        test,
        cross_validation: None,
        close_call: None,
        notes: data.notes.clone(),
        doubts,
        clips,
        advice: Vec::new(),
        certify: plan.spec().certify.is_some(),
        certificate: None,
        ladder: None,
        no_certificate: Some(NOT_YET.into()),
        cost: Vec::new(),
        no_baseline: None,
        unwritten: false,
    };
    if let Some(found) = stationarity(plan, solution) {
        summary.stationarity = Some(found.residual);
        let cut = summary.decision.is_some();
        let each = summary.train.requirements.iter_mut().zip(plan.clauses()).zip(found.multipliers);
        for ((result, clause), multiplier) in each {
            let judged = clause.measure.as_ref().unwrap_or(&clause.loss);
            // Training was about decisions at 1/2.
            let elsewhere = cut && judged.is_of_decisions();
            if result.kind == RequirementKind::Average && !elsewhere {
                result.multiplier = multiplier;
            }
        }
    }
    summary.advice = conclusion::advice(plan, &summary);
    Ok((summary, groups, answers))
}

/// The multipliers that belong to θ, from gradients on the training rows. Not of images, where they take as long as some epochs.
fn stationarity(plan: &Plan, solution: &Solution<f32>) -> Option<Stationarity> {
    if plan.clauses().is_empty() || plan.spec().data.is_images() {
        return None;
    }
    let (theta, multipliers) = (&solution.theta, &solution.multipliers);
    let found = plan.train().stationarity(plan.model(), theta, multipliers, plan.most_learned());
    found.ok().filter(|found| found.residual.is_finite())
}

/// What a model says of its certificate while that is computed.
const NOT_YET: &str =
    "it has not been computed yet: `feasible resume` with the run directory computes it";

/// The same with what held-out rows certify, or why they do not. `test` are the answers to the test rows.
pub(crate) fn certified(
    plan: &Plan,
    solution: &Solution<f32>,
    summary: Summary,
    test: Option<&Answers<'_>>,
) -> Summary {
    let (certificate, no_certificate) = match certificate(plan, &solution.theta, &summary, test) {
        Ok(certificate) => (Some(certificate), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let mut doubts = summary.doubts.clone();
    if let Some(of) = &certificate {
        doubts = doubts.into_iter().filter_map(|doubt| doubt.beside(&of.certificate)).collect();
    }
    Summary { certificate, no_certificate, doubts, ..summary }
}

/// What the reserve, or else the test rows, certify; an error says why nothing does.
fn certificate(
    plan: &Plan,
    theta: &[f32],
    summary: &Summary,
    test: Option<&Answers<'_>>,
) -> Result<Certification> {
    let design = plan.design()?;
    let decision = summary.decision.clone().map(Arc::new);
    let clips = Arc::new(summary.clips.clone());
    let constant = summary.train.constant.clone().map(Arc::new);
    let subject = Subject { clips, constant, ..subject(plan, theta, decision) };
    let mut certification = subject.certify_own(&design, plan, plan.unit(), test)?;
    let tolerance = plan.settings().training.tolerance;
    certification.notes.extend(Certification::about_tolerance(tolerance));
    Ok(certification)
}

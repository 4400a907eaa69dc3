//! What is said of a solution when its training has ended: its threshold, its evaluation on every part of the data, what to expect on
//! rows to come, and its certificate.

use std::sync::Arc;

use feasible::{Problem, Samples, Solution};
use feasible_data::UnknownCategories;
use feasible_problem::plan::Plan;
use feasible_problem::sampled_table::SampledTable;
use feasible_problem::spec::DecisionSpec;

use crate::certify::{Certification, Theory};
use crate::conclusion;
use crate::decision::Decision;
use crate::decision::choose::{ChoiceRows, choose};
use crate::doubt::doubts;
use crate::error::Result;
use crate::subject::{Answers, Subject};
use crate::summary::Summary;

/// Evaluates a solution on every part of the plan's data, and certifies it.
pub fn summarise(plan: &Plan, solution: &Solution<f32>) -> Result<Summary> {
    let (summary, test) = evaluate(plan, solution)?;
    Ok(certified(plan, solution, summary, test.as_ref()))
}

/// A solution, and what the plan asks of it.
fn subject<'a>(
    plan: &'a Plan,
    solution: &'a Solution<f32>,
    decision: Option<Arc<Decision>>,
) -> Subject<'a> {
    Subject {
        loss: plan.train().objective().loss().clone(),
        clauses: plan.clauses(),
        changes: plan.changes(),
        tolerance: plan.settings().training.tolerance,
        classes: plan.data().target.classes(),
        coordinates: plan.data().target.coordinates(),
        multipliers: None,
        model: plan.model(),
        theta: &solution.theta,
        decision,
        keeps_views: false,
        given: None,
    }
}

/// How a solution does on every part of the plan's data, and its answers to the test rows; nothing is certified yet.
pub(crate) fn evaluate<'a>(
    plan: &'a Plan,
    solution: &'a Solution<f32>,
) -> Result<(Summary, Option<Answers<'a>>)> {
    let data = plan.data();
    let undecided = subject(plan, solution, None);
    let decision = decision(plan, &undecided)?;
    let subject = Subject { decision: decision.clone().map(Arc::new), ..undecided };
    let other = |samples: &Option<Arc<Samples>>, rows: &[u32], problem: Option<&Problem>| {
        samples.as_ref().map(|samples| on(plan, &subject, samples, rows, problem)).transpose()
    };
    let trained = Subject { multipliers: Some(&solution.multipliers), ..subject.clone() };
    let train = on(plan, &trained, &data.train, &data.split.train, Some(plan.train()))?;
    let validation = other(&data.validation, &data.split.validation, plan.validation())?;
    let of = |answers: &Option<Answers<'_>>| answers.as_ref().map(Answers::evaluation).transpose();
    let evaluated = (train.evaluation()?, of(&validation)?);
    let doubts = match (&validation, &evaluated) {
        (Some(held), (on_train, Some(on_validation))) => {
            let all_but = plan.design()?.all_but;
            doubts((&train, on_train), (held, on_validation), all_but)?
        }
        _ => Vec::new(),
    };
    drop((train, validation));
    let (train, validation) = evaluated;
    let test = other(&data.test, &data.split.test, None)?;
    let mut summary = Summary {
        problem: plan.name().to_string(),
        seed: plan.seed(),
        outcome: conclusion::outcome(plan, solution, &train),
        epochs: solution.epochs,
        kept_epoch: solution.kept_epoch,
        parameters: plan.parameters(),
        multipliers: plan.multipliers(),
        gap: solution.gap,
        kkt: solution.kkt,
        decision,
        train,
        validation,
        test: of(&test)?,
        notes: data.notes.clone(),
        doubts,
        advice: Vec::new(),
        certify: plan.spec().certify.is_some(),
        certificate: None,
        ladder: None,
        no_certificate: Some(NOT_YET.into()),
    };
    summary.advice = conclusion::advice(plan, &summary);
    Ok((summary, test))
}

/// Takes rows of a plan through a subject.
fn on<'a>(
    plan: &Plan,
    subject: &Subject<'a>,
    samples: &Arc<Samples>,
    rows: &[u32],
    problem: Option<&Problem>,
) -> Result<Answers<'a>> {
    let (data, unknown) = (plan.data(), UnknownCategories::MatchNothing);
    let sampled = SampledTable::new(&data.table, rows, samples, &data.encoder, unknown);
    let mut sampled = match problem {
        Some(problem) => sampled.with_shifts_of(plan.clauses(), problem),
        None => sampled,
    };
    subject.on("evaluation", &mut sampled)
}

/// The threshold, if one is chosen.
fn decision(plan: &Plan, undecided: &Subject<'_>) -> Result<Option<Decision>> {
    let data = plan.data();
    let chooses = plan.spec().decision.as_ref().filter(|spec| spec.chooses());
    let (Some(spec), Some(validation)) = (chooses, &data.validation) else { return Ok(None) };
    let keeping = Subject { keeps_views: true, ..undecided.clone() };
    let categories = |spec: &DecisionSpec, rows: &[u32]| -> Result<Vec<Option<String>>> {
        let Some(column) = &spec.per else { return Ok(Vec::new()) };
        let column = data.table.column(column)?;
        Ok(rows.iter().map(|&row| column.text(row as usize)).collect())
    };
    let rows = &data.split.validation;
    let answers = &on(plan, &keeping, validation, rows, plan.validation())?;
    let validation = ChoiceRows { answers, categories: categories(spec, rows)? };
    if plan.clauses().iter().all(|clause| clause.by_threshold.is_none()) {
        return Ok(Some(choose(&validation, None, spec)));
    }
    let rows = &data.split.train;
    let answers = &on(plan, &keeping, &data.train, rows, Some(plan.train()))?;
    let training = ChoiceRows { answers, categories: categories(spec, rows)? };
    Ok(Some(choose(&validation, Some(&training), spec)))
}

/// What a model says of its certificate while that is computed.
const NOT_YET: &str = "it was not computed yet: `feasible resume` with the run directory does it";

/// The same with what held-out rows certify, or why they do not. `test` are the answers to the test rows.
pub(crate) fn certified(
    plan: &Plan,
    solution: &Solution<f32>,
    summary: Summary,
    test: Option<&Answers<'_>>,
) -> Summary {
    let decision = summary.decision.clone().map(Arc::new);
    let (certificate, no_certificate) = match certificate(plan, solution, decision, test) {
        Ok(certificate) => (Some(certificate), None),
        Err(error) => (None, Some(error.to_string())),
    };
    Summary { certificate, no_certificate, ..summary }
}

/// What the reserve, or else the test rows, certify; an error says why nothing does.
fn certificate(
    plan: &Plan,
    solution: &Solution<f32>,
    decision: Option<Arc<Decision>>,
    test: Option<&Answers<'_>>,
) -> Result<Certification> {
    let design = plan.design()?;
    let cut = decision.is_some();
    let subject = subject(plan, solution, decision);
    let mut certification = subject.certify_own(&design, plan, plan.unit(), test)?;
    // The paper's bounds are of the class of models that are cut at 1/2.
    certification.theory = (!cut).then(|| Theory::of(plan, solution, design.delta));
    let tolerance = plan.settings().training.tolerance;
    certification.notes.extend(Certification::about_tolerance(tolerance));
    Ok(certification)
}

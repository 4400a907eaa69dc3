//! How parameters do on every part of a plan's data: each row goes through the model once.

use std::collections::BTreeMap;
use std::sync::Arc;

use feasible::{Multipliers, Problem, Samples};
use feasible_data::UnknownCategories;
use feasible_problem::clause::Clause;
use feasible_problem::plan::Plan;
use feasible_problem::sampled_table::SampledTable;
use feasible_problem::spec::DecisionSpec;

use crate::certify::clip::clips;
use crate::decision::Decision;
use crate::decision::choose::{ChoiceRows, choose};
use crate::doubt::{Doubt, doubts, doubts_unvalidated};
use crate::error::Result;
use crate::evaluate::Evaluation;
use crate::groups::GroupTables;
use crate::subject::{Answers, Subject};

/// How parameters do on every part.
pub(crate) struct PartResults<'a> {
    pub(crate) decision: Option<Decision>,
    pub(crate) train: Evaluation,
    pub(crate) validation: Option<Evaluation>,
    pub(crate) test: Option<Evaluation>,
    /// On the rows that the model is judged by: the last part that has rows.
    pub(crate) groups: GroupTables,
    /// What not to expect on new rows, of parameters that were trained under the requirements.
    pub(crate) doubts: Vec<Doubt>,
    /// Where losses without an upper bound are clipped, chosen on training and validation rows.
    pub(crate) clips: BTreeMap<String, f64>,
    /// To the test rows.
    pub(crate) answers: Option<Answers<'a>>,
}

/// Parameters, and what the plan asks of them.
pub(crate) fn subject<'a>(
    plan: &'a Plan,
    theta: &'a [f32],
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
        theta,
        decision,
        keeps_views: false,
        given: None,
        clips: Arc::default(),
        constant: None,
    }
}

impl<'a> PartResults<'a> {
    /// Of some parameters, with their multipliers if they were trained under the requirements. A threshold, if the plan has
    /// one chosen, is chosen under the rates of `deciding`.
    pub(crate) fn of(
        plan: &'a Plan,
        theta: &'a [f32],
        multipliers: Option<&'a Multipliers>,
        deciding: Option<&'a [Clause]>,
    ) -> Result<Self> {
        let data = plan.data();
        let undecided = subject(plan, theta, None);
        let decision = match deciding {
            Some(clauses) => decision(plan, &Subject { clauses, ..undecided.clone() })?,
            None => None,
        };
        let subject = Subject { decision: decision.clone().map(Arc::new), ..undecided };
        let trained = Subject { multipliers, ..subject.clone() };
        let mut groups = None;
        let mut evaluated = |part: &str, rows: &[u32], answers: &Answers<'_>| {
            let judged = match part {
                "train" => data.validation.is_none() && data.test.is_none(),
                "validation" => data.test.is_none(),
                _ => true,
            };
            if judged {
                groups = Some(GroupTables::of(plan, part, rows, answers));
            }
            answers.evaluation()
        };
        let split = &data.split;
        let constant;
        let (train, validation, doubts, clips) = {
            let on_train = on(plan, &trained, &data.train, &split.train, Some(plan.train()))?;
            let train = evaluated("train", &split.train, &on_train)?;
            constant = train.constant.clone().map(Arc::new);
            let subject = Subject { constant: constant.clone(), ..subject.clone() };
            match &data.validation {
                Some(samples) => {
                    let rows = &split.validation;
                    let held = on(plan, &subject, samples, rows, plan.validation())?;
                    let validation = evaluated("validation", rows, &held)?;
                    let doubts = match multipliers {
                        Some(_) => {
                            let all_but = plan.design()?.all_but;
                            doubts((&on_train, &train), (&held, &validation), all_but)?
                        }
                        None => Vec::new(),
                    };
                    let clips = clips(&[&on_train, &held])?;
                    (train, Some(validation), doubts, clips)
                }
                None => {
                    let doubts = match multipliers {
                        Some(_) => doubts_unvalidated((&on_train, &train), plan.design()?.all_but)?,
                        None => Vec::new(),
                    };
                    (train, None, doubts, clips(&[&on_train])?)
                }
            }
        };
        let subject = Subject { clips: Arc::new(clips.clone()), constant, ..subject };
        let answers = match &data.test {
            Some(samples) => Some(on(plan, &subject, samples, &split.test, None)?),
            None => None,
        };
        let test = answers.as_ref().map(|answers| evaluated("test", &split.test, answers));
        let test = test.transpose()?;
        let none = || crate::Error::unfit("evaluation", "there is no row to judge a model by");
        let groups = groups.ok_or_else(none)?;
        Ok(Self { decision, train, validation, test, groups, doubts, clips, answers })
    }
}

/// How parameters do on the validation rows.
pub(crate) fn on_validation(plan: &Plan, theta: &[f32]) -> Result<Evaluation> {
    let (data, rows) = (plan.data(), &plan.data().split.validation);
    let none = || crate::Error::unfit("evaluation", "there are no validation rows");
    let samples = data.validation.as_ref().ok_or_else(none)?;
    on(plan, &subject(plan, theta, None), samples, rows, plan.validation())?.evaluation()
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

/// The threshold, if one is chosen, under the rates of the subject.
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
    if undecided.clauses.iter().all(|clause| clause.by_threshold.is_none()) {
        return Ok(Some(choose(&validation, None, spec)));
    }
    let rows = &data.split.train;
    let answers = &on(plan, &keeping, &data.train, rows, Some(plan.train()))?;
    let training = ChoiceRows { answers, categories: categories(spec, rows)? };
    Ok(Some(choose(&validation, Some(&training), spec)))
}

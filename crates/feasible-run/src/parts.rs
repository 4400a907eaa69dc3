//! How parameters do on every part of a plan's data: each row goes through the model once.

use std::sync::Arc;

use feasible::{Multipliers, Problem, Samples};
use feasible_data::UnknownCategories;
use feasible_problem::clause::Clause;
use feasible_problem::plan::Plan;
use feasible_problem::sampled_table::SampledTable;

use crate::decision::Decision;
use crate::decision::choose::choose;
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
    }
}

impl<'a> PartResults<'a> {
    /// Of some parameters. A threshold, if the plan has one chosen, is chosen under the rates of `deciding`.
    pub(crate) fn of(
        plan: &'a Plan,
        theta: &'a [f32],
        multipliers: Option<&'a Multipliers>,
        deciding: Option<&'a [Clause]>,
    ) -> Result<Self> {
        let data = plan.data();
        let undecided = subject(plan, theta, None);
        let on = |subject: &Subject<'a>,
                  samples: &Arc<Samples>,
                  rows: &[u32],
                  problem: Option<&Problem>| {
            let unknown = UnknownCategories::MatchNothing;
            let sampled = SampledTable::new(&data.table, rows, samples, &data.encoder, unknown);
            let mut sampled = match problem {
                Some(problem) => sampled.with_shifts_of(plan.clauses(), problem),
                None => sampled,
            };
            subject.on("evaluation", &mut sampled)
        };
        let chooses = plan.spec().decision.as_ref().filter(|spec| spec.chooses());
        let decision = match (chooses, &data.validation, deciding) {
            (Some(spec), Some(validation), Some(clauses)) => {
                let rows = &data.split.validation;
                let keeping = Subject { keeps_views: true, clauses, ..undecided.clone() };
                let answers = on(&keeping, validation, rows, plan.validation())?;
                let groups = match &spec.per {
                    Some(column) => {
                        let column = data.table.column(column)?;
                        rows.iter().map(|&row| column.text(row as usize)).collect()
                    }
                    None => Vec::new(),
                };
                Some(choose(&answers, spec, &groups))
            }
            _ => None,
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
        let train = {
            let answers = on(&trained, &data.train, &split.train, Some(plan.train()))?;
            evaluated("train", &split.train, &answers)?
        };
        let validation = match &data.validation {
            Some(samples) => {
                let answers = on(&subject, samples, &split.validation, plan.validation())?;
                Some(evaluated("validation", &split.validation, &answers)?)
            }
            None => None,
        };
        let answers = match &data.test {
            Some(samples) => Some(on(&subject, samples, &split.test, None)?),
            None => None,
        };
        let test = answers.as_ref().map(|answers| evaluated("test", &split.test, answers));
        let test = test.transpose()?;
        let none = || crate::Error::unfit("evaluation", "there is no row to judge a model by");
        let groups = groups.ok_or_else(none)?;
        Ok(Self { decision, train, validation, test, groups, answers })
    }
}

//! Any predictor, judged by its outputs: requirements evaluated and certified on rows that it has not seen.
//!
//! ```
//! use feasible_data::{Column, Table};
//! use feasible_problem::spec::CertifySpec;
//! use feasible_problem::{Plan, ProblemSource};
//! use feasible_run::GivenOutputs;
//! let columns = vec![
//!     Column::categories("sex", ["f", "m", "f", "m"].map(Some)),
//!     Column::categories("hired", ["no", "no", "yes", "yes"].map(Some)),
//! ];
//! let text = "[data]\ntarget = \"hired\"\nsplit = { test = 0, validation = 0 }\n\
//!             [[requirement]]\nname = \"women\"\nrate = \"recall\"\nwhere = \"sex == 'f'\"\nat_least = 0.9\n";
//! let source = ProblemSource::new("any", text);
//! let plan = Plan::with_table(&source, Table::new("people", columns)?)?;
//! // log-probabilities of 'no' and 'yes' for each row
//! let outputs = GivenOutputs::new(vec![0.0, -9.0, 0.0, -9.0, -9.0, 0.0, 0.0, -9.0]);
//! let judged = outputs.judge(&plan, &CertifySpec::default())?;
//! assert_eq!(judged.evaluation.accuracy, Some(0.75));
//! assert!(judged.evaluation.met);
//! # Ok::<(), feasible_run::Error>(())
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use feasible::{Model, Shift};
use feasible_data::UnknownCategories;
use feasible_problem::held_out::HeldOut;
use feasible_problem::plan::Plan;
use feasible_problem::sampled_table::SampledTable;
use feasible_problem::spec::CertifySpec;
use feasible_problem::text::grouped;
use serde::Serialize;

use crate::certify::{Certification, units_of};
use crate::error::{Error, Result};
use crate::evaluate::Evaluation;
use crate::subject::Subject;

/// Outputs that a predictor gave for every row of a plan's table, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenOutputs {
    here: Vec<f32>,
    changed: BTreeMap<String, Vec<f32>>,
}

/// What outputs come to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// How they do on the rows.
    pub evaluation: Evaluation,
    /// What the rows certify, if none of them was used to train the predictor; or why they do not.
    pub certificate: Option<Certification>,
    /// Why nothing is certified.
    pub no_certificate: Option<String>,
}

impl GivenOutputs {
    /// The outputs for the rows as they are: log-probabilities of the classes, or numbers.
    pub fn new(here: Vec<f32>) -> Self {
        Self { here, changed: BTreeMap::new() }
    }

    /// And those for the rows under a counterfactual (`Male ↔ Female`).
    #[must_use]
    pub fn under(mut self, counterfactual: &str, outputs: Vec<f32>) -> Self {
        self.changed.insert(counterfactual.to_string(), outputs);
        self
    }

    /// Evaluates and certifies the requirements of a plan all of whose rows are training rows: the plan trains nothing.
    ///
    /// # Errors
    /// Outputs of another number of rows, or that are not finite; a counterfactual without outputs; an adversary.
    pub fn judge(&self, plan: &Plan, settings: &CertifySpec) -> Result<Judgement> {
        let data = plan.data();
        let refuse = |what: &str, reason: &str| Err(Error::unfit(what, reason));
        if plan.clauses().iter().any(|clause| clause.adversary.is_some()) {
            let reason =
                "an adversary needs gradients, but only the outputs of the model are given";
            return refuse("adversary", reason);
        }
        if data.validation.is_some() || data.test.is_some() || data.reserve.is_some() {
            return refuse(
                "split",
                "all rows are judged: give split = { test = 0, validation = 0 }",
            );
        }
        let (rows, width) = (data.train.len(), plan.model().output_width());
        for (name, outputs) in self.changed.iter().chain([(&"predictions".to_string(), &self.here)])
        {
            if outputs.len() != rows * width {
                let found = outputs.len() / width;
                return Err(Error::unfit(name, format!("{found} rows, but the table has {rows}")));
            }
            if let Some(at) = outputs.iter().position(|output| !output.is_finite()) {
                let reason = format!("the prediction for row {} is {}", at / width, outputs[at]);
                return Err(Error::unfit(name, reason));
            }
        }
        // Not asked for: what is not among the given outputs would be no number.
        let theta = vec![f32::NAN; plan.model().parameter_count()];
        let subject = Subject {
            loss: plan.train().objective().loss().clone(),
            clauses: plan.clauses(),
            changes: plan.changes(),
            tolerance: 0.0,
            classes: data.target.classes(),
            coordinates: data.target.coordinates(),
            multipliers: None,
            model: plan.model(),
            theta: &theta,
            decision: None,
            keeps_views: true,
            given: Some(self),
            clips: Arc::default(),
            constant: None,
        };
        let unknown = UnknownCategories::MatchNothing;
        let (table, split) = (&data.table, &data.split.train);
        let mut sampled = SampledTable::new(table, split, &data.train, &data.encoder, unknown);
        let answers = subject.on("evaluation", &mut sampled)?;
        let which = format!("the {} rows of {}", grouped(rows), table.name());
        let unit = units_of(&sampled, settings.unit.as_deref())?;
        let certified = match &data.copies {
            Some(copies) if unit.is_none() => Err(Error::unfit(
                table.name(),
                format!(
                    "{} of its {} rows equal an earlier row, more than chance explains, and a certificate needs \
                     independent draws: give every row once, or name the column that tells which belong together (`unit`)",
                    grouped(copies.count()),
                    grouped(rows)
                ),
            )),
            _ => answers.certify(&settings.design()?, which, unit),
        };
        let stated = |certificate| Certification { held_out: HeldOut::Stated, ..certificate };
        let (certificate, no_certificate) = match certified {
            Ok(certificate) => (Some(stated(certificate)), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Ok(Judgement { evaluation: answers.evaluation()?, certificate, no_certificate })
    }

    /// The outputs of x, then of each shift.
    pub(crate) fn views(
        &self,
        sampled: &SampledTable<'_>,
        shifts: &[Arc<Shift>],
    ) -> Result<Vec<Vec<f32>>> {
        let view = |shift: &Arc<Shift>| {
            let name = sampled.change_of(shift).map_or("a counterfactual", |change| change.name());
            self.changed.get(name).cloned().ok_or_else(|| {
                let reason = "there are no predictions for the changed rows";
                Error::unfit(name, reason)
            })
        };
        let mut views = vec![self.here.clone()];
        for shift in shifts {
            views.push(view(shift)?);
        }
        Ok(views)
    }
}

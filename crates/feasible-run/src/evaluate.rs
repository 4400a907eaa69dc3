//! How a model does on samples: accuracy, confusion, requirements, flip rates.

use feasible::{
    Batch, Loss, Model, Multipliers, Pass, Population, Problem, Samples, Targets, ViewShift,
};
use feasible_data::Change;
use feasible_problem::clause::{Bound, Clause, SampledTable};
use feasible_problem::describe::adversary;
use feasible_problem::network::Network;
use feasible_problem::spec::RequirementKind;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Rows per forward pass.
const CHUNK: usize = 512;

/// How a model does on some rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Number of rows.
    pub rows: usize,
    /// The average loss of the objective; NaN where a training that diverged left none.
    #[serde(deserialize_with = "feasible::json::or_nan")]
    pub objective: f64,
    /// The share of right predictions (of classes).
    pub accuracy: Option<f64>,
    /// `confusion[true][predicted]`, counts.
    pub confusion: Option<Vec<Vec<u64>>>,
    /// The root mean squared error (of numbers).
    pub rmse: Option<f64>,
    /// The requirements.
    pub requirements: Vec<RequirementResult>,
    /// The share of predictions that change under each counterfactual.
    pub flip_rates: Vec<FlipRate>,
    /// Whether every requirement is met.
    pub met: bool,
}

/// How one requirement stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequirementResult {
    /// Its name.
    pub name: String,
    /// Average or pointwise.
    pub kind: RequirementKind,
    /// `<=` or `>=`.
    pub sense: String,
    /// Its limit.
    pub limit: f64,
    /// The mean of its loss; `None` where no row is spoken of.
    pub value: Option<f64>,
    /// The largest violation.
    pub worst_violation: Option<f64>,
    /// The share of points over the limit.
    pub violated: Option<f64>,
    /// Points it speaks of.
    pub points: usize,
    /// Whether it is met; a requirement that speaks of no row is.
    pub met: bool,
    /// μ or the mean of λ, where they are known.
    pub multiplier: Option<f64>,
    /// The largest λ.
    pub largest_multiplier: Option<f64>,
    /// The share of multipliers that are 0.
    pub multipliers_at_zero: Option<f64>,
    /// The attack that it was judged by, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attack: Option<String>,
}

/// Predictions that change under a counterfactual.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlipRate {
    /// The counterfactual: `Male ↔ Female`.
    pub counterfactual: String,
    /// The share of all rows.
    pub share: f64,
    /// Rows that it changes at all.
    pub affected: usize,
}

/// Outputs of a model on all rows of some samples, view by view (x itself first).
pub(crate) fn outputs(
    model: &Network,
    theta: &[f32],
    samples: &feasible::Inputs,
    shifts: &[ViewShift<'_>],
) -> Vec<Vec<f32>> {
    let k = model.output_width();
    let mut views = vec![Vec::with_capacity(samples.rows() * k); 1 + shifts.len()];
    let rows: Vec<u32> = (0..samples.rows() as u32).collect();
    let pass = Pass { outputs_only: true, ..Pass::default() };
    let (mut tape, mut outputs) = (<Network as Model>::Tape::default(), Vec::new());
    for rows in rows.chunks(CHUNK) {
        let batch = Batch { inputs: samples, rows, shifts };
        outputs.resize(batch.output_rows() * k, 0.0);
        model.forward(theta, &batch, pass, &mut tape, &mut outputs);
        for (v, view) in views.iter_mut().enumerate() {
            let start = v * rows.len() * k;
            view.extend_from_slice(&outputs[start..start + rows.len() * k]);
        }
    }
    views
}

/// The predicted class: the first largest output; of one output, whether it is positive.
pub(crate) fn class_of(outputs: &[f32]) -> usize {
    if let [z] = outputs {
        return usize::from(*z > 0.0);
    }
    let mut top = 0;
    for (j, z) in outputs.iter().enumerate() {
        if *z > outputs[top] {
            top = j;
        }
    }
    top
}

/// Class probabilities.
pub(crate) fn probabilities(outputs: &[f32]) -> Vec<f64> {
    if let [z] = outputs {
        let p = 1.0 / (1.0 + (-f64::from(*z)).exp());
        return vec![1.0 - p, p];
    }
    let largest = outputs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let e: Vec<f64> = outputs.iter().map(|z| f64::from(z - largest).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.into_iter().map(|e| e / sum).collect()
}

/// What a model is held against.
pub(crate) struct Standard<'a> {
    pub(crate) loss: Loss,
    pub(crate) clauses: &'a [Clause],
    pub(crate) changes: &'a [Change],
    /// As a share of each limit.
    pub(crate) tolerance: f64,
    /// Number of classes; `None` if a number is predicted.
    pub(crate) classes: Option<usize>,
    /// The training's multipliers, in the order of the clauses.
    pub(crate) multipliers: Option<&'a Multipliers>,
}

impl Standard<'_> {
    /// Evaluates θ.
    pub(crate) fn evaluate(
        &self,
        model: &Network,
        theta: &[f32],
        sampled: &mut SampledTable<'_>,
    ) -> Result<Evaluation> {
        let samples = sampled.samples.clone();
        if samples.is_empty() {
            return Err(Error::unfit("evaluation", "there is no row: give a table with rows"));
        }
        let everyone = Population::new(samples.clone());
        let mut draft = Problem::minimise(&everyone, self.loss.clone());
        let mut present = Vec::new();
        for clause in self.clauses {
            let requirement = clause.on(sampled)?;
            present.push(requirement.as_ref().map(|r| r.multipliers()));
            if let Some(requirement) = requirement {
                draft = draft.subject_to(requirement);
            }
        }
        let problem = draft.check()?;
        let measurement = problem.measure(model, theta)?;
        let present_clauses =
            self.clauses.iter().zip(&present).filter(|(_, points)| points.is_some());
        let tolerances: Vec<f64> =
            present_clauses.map(|(clause, _)| clause.tolerance(self.tolerance)).collect();
        let start = Multipliers::start(&problem);
        let standings = measurement.standings_within(&problem, &start, &tolerances);
        let mut standings = standings.into_iter();
        let mut requirements = Vec::new();
        for (i, (clause, points)) in self.clauses.iter().zip(present).enumerate() {
            let standing = match points {
                Some(_) => standings.next(),
                None => None,
            };
            requirements.push(self.standing(i, clause, standing, points.unwrap_or(0)));
        }
        let mut evaluation = Evaluation {
            rows: samples.len(),
            objective: measurement.objective,
            accuracy: None,
            confusion: None,
            rmse: None,
            met: requirements.iter().all(|r| r.met),
            requirements,
            flip_rates: Vec::new(),
        };
        self.predictions(model, theta, &samples, sampled, &mut evaluation)?;
        Ok(evaluation)
    }

    fn standing(
        &self,
        i: usize,
        clause: &Clause,
        standing: Option<feasible::Standing>,
        points: usize,
    ) -> RequirementResult {
        let of = self.multipliers.map(|multipliers| multipliers.of(i));
        let (at_most, limit) = match clause.bound {
            Bound::AtMost(c) => (true, c),
            Bound::AtLeast(c) => (false, c),
        };
        // As the user put it: an accuracy, where the core sees an error.
        let spoken = |x: f64| clause.accuracy_is.map_or(x, |one| one - x);
        let at_most = at_most != clause.accuracy_is.is_some();
        RequirementResult {
            name: clause.name.clone(),
            kind: clause.kind,
            sense: if at_most { "<=".into() } else { ">=".into() },
            limit: spoken(limit),
            value: standing.as_ref().map(|s| spoken(s.value)),
            worst_violation: standing.as_ref().map(|s| s.worst_violation),
            violated: standing.as_ref().map(|s| s.violated),
            points,
            met: standing.as_ref().is_none_or(|s| s.met),
            multiplier: of.map(|m| m.iter().sum::<f64>() / m.len() as f64),
            largest_multiplier: of.map(|m| m.iter().copied().fold(0.0, f64::max)),
            multipliers_at_zero: of
                .map(|m| m.iter().filter(|&&m| m == 0.0).count() as f64 / m.len() as f64),
            attack: clause.adversary.as_ref().map(adversary),
        }
    }

    fn predictions(
        &self,
        model: &Network,
        theta: &[f32],
        samples: &Samples,
        sampled: &mut SampledTable<'_>,
        evaluation: &mut Evaluation,
    ) -> Result<()> {
        let k = model.output_width();
        match samples.targets() {
            Targets::Values(values) => {
                let views = outputs(model, theta, samples.inputs(), &[]);
                let squares = views[0].chunks_exact(k).zip(values);
                let sum: f64 = squares.map(|(f, y)| f64::from(f[0] - y).powi(2)).sum();
                evaluation.rmse = Some((sum / values.len() as f64).sqrt());
            }
            Targets::Classes(classes) => {
                let shifts: Vec<_> = self
                    .changes
                    .iter()
                    .map(|change| sampled.shift(change))
                    .collect::<Result<_, _>>()?;
                let views: Vec<_> = shifts.iter().map(|shift| ViewShift::Sparse(shift)).collect();
                let views = outputs(model, theta, samples.inputs(), &views);
                let predicted =
                    |view: &[f32]| -> Vec<usize> { view.chunks_exact(k).map(class_of).collect() };
                let here = predicted(&views[0]);
                let count = self.classes.unwrap_or(2);
                let mut confusion = vec![vec![0; count]; count];
                for (&p, &y) in here.iter().zip(classes) {
                    confusion[y as usize][p] += 1;
                }
                let right: u64 = (0..count).map(|c| confusion[c][c]).sum();
                evaluation.accuracy = Some(right as f64 / classes.len() as f64);
                evaluation.confusion = Some(confusion);
                for ((change, shift), view) in self.changes.iter().zip(&shifts).zip(&views[1..]) {
                    let there = predicted(view);
                    let changed = here.iter().zip(&there).filter(|(a, b)| a != b).count();
                    let affected =
                        (0..samples.len()).filter(|&row| !shift.is_identity(row)).count();
                    evaluation.flip_rates.push(FlipRate {
                        counterfactual: change.name().to_string(),
                        share: changed as f64 / here.len() as f64,
                        affected,
                    });
                }
            }
        }
        Ok(())
    }
}

//! How a model does on samples: accuracy, confusion, requirements, flip rates.

use feasible::{Loss, Measurement, Multipliers, Requirement, Targets};
use feasible_problem::clause::{Bound, Clause};
use feasible_problem::describe::adversary;
use feasible_problem::spec::RequirementKind;
use serde::{Deserialize, Serialize};

use crate::constant::Constant;
use crate::error::Result;
use crate::rates::{Calibration, ClassRates, TopAccuracy};
use crate::subject::{Answers, Subject};

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
    /// The mean of the classes' recalls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balanced_accuracy: Option<f64>,
    /// F1 of the positive class; of more than two classes, the mean over them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub f1: Option<f64>,
    /// Recall, precision and F1 of each class, in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_class: Option<Vec<ClassRates>>,
    /// The share of rows whose class is among the most probable ones (of more than two classes).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<TopAccuracy>,
    /// How far predicted probabilities are from what happened (of two classes): for everyone, and within each group
    /// that a requirement speaks of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calibration: Vec<Calibration>,
    /// The root mean squared error (of numbers). Where several are predicted: over all of them, each in units of its standard
    /// deviation on the training rows.
    pub rmse: Option<f64>,
    /// The root mean squared error of each of several numbers, in its own units.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_target: Vec<TargetError>,
    /// The best constant prediction of the training rows, on these rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<Constant>,
    /// The requirements.
    pub requirements: Vec<RequirementResult>,
    /// The share of predictions that change under each counterfactual.
    pub flip_rates: Vec<FlipRate>,
    /// Whether no requirement is violated. Of those with 0 `points` nothing is known.
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
    /// Whether it is not violated; with 0 `points` that says nothing.
    pub met: bool,
    /// μ of an average requirement, found from the gradients on the training rows; `None` where they do not determine it. Of a pointwise
    /// requirement the mean of λ, as training left them.
    pub multiplier: Option<f64>,
    /// μ or the mean of λ, as training left them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training_multiplier: Option<f64>,
    /// Whether the multiplier is that of a smooth surrogate, because a rate has no gradient.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub smoothed: bool,
    /// The largest λ.
    pub largest_multiplier: Option<f64>,
    /// The share of multipliers that are 0.
    pub multipliers_at_zero: Option<f64>,
    /// The attack that it was judged by, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attack: Option<String>,
}

/// How far predictions of one of several numbers are off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetError {
    /// The column.
    pub target: String,
    /// The root mean squared error, in the units of the column.
    #[serde(deserialize_with = "feasible::json::or_nan")]
    pub rmse: f64,
}

impl RequirementResult {
    /// Whether any row counts for it; otherwise nothing is known of it.
    pub fn is_known(&self) -> bool {
        self.points > 0
    }
}

impl Evaluation {
    /// Whether these rows show every requirement met: none is violated, and rows count for each.
    pub fn shows_met(&self) -> bool {
        self.met && self.requirements.iter().all(RequirementResult::is_known)
    }

    /// What [`Evaluation::rmse`] is called.
    pub fn rmse_name(&self) -> &'static str {
        match self.by_target.is_empty() {
            true => "root mean squared error",
            false => "root mean squared error, in deviations",
        }
    }
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

impl Answers<'_> {
    /// How the model does.
    pub(crate) fn evaluation(&self) -> Result<Evaluation> {
        let Subject { clauses, tolerance, theta, .. } = self.subject;
        let measurement = self.problem.measure(&self.model, theta)?;
        let present = clauses.iter().zip(&self.points).filter(|(_, points)| points.is_some());
        let tolerances: Vec<f64> = present.map(|(clause, _)| clause.tolerance(tolerance)).collect();
        let start = Multipliers::start(&self.problem);
        let stand = |measurement: &Measurement| {
            measurement.standings_within(&self.problem, &start, &tolerances)
        };
        let mut standings = stand(&measurement);
        if self.are_cut() {
            // Rates are of the decisions, all else of the outputs.
            let decided = stand(&self.problem.measure(self.decisions(), theta)?);
            for ((standing, decided), requirement) in
                standings.iter_mut().zip(decided).zip(self.problem.requirements())
            {
                if requirement.terms()[0].measure().is_of_decisions() {
                    *standing = decided;
                }
            }
        }
        let mut standings = standings.into_iter();
        let mut stated = self.problem.requirements().iter();
        let mut requirements = Vec::new();
        for (i, (clause, points)) in clauses.iter().zip(&self.points).enumerate() {
            let standing = points.and_then(|_| standings.next());
            let requirement = points.and_then(|_| stated.next());
            let mut result = self.standing(i, clause, standing, points.unwrap_or(0));
            if let Some(requirement) = requirement {
                self.as_ratio(clause, requirement, &mut result)?;
            }
            requirements.push(result);
        }
        let mut evaluation = Evaluation {
            rows: self.samples.len(),
            objective: measurement.objective,
            accuracy: None,
            confusion: None,
            balanced_accuracy: None,
            f1: None,
            by_class: None,
            top: Vec::new(),
            calibration: Vec::new(),
            rmse: None,
            by_target: Vec::new(),
            constant: self.constant()?,
            met: requirements.iter().all(|r| r.met),
            requirements,
            flip_rates: Vec::new(),
        };
        self.predictions(&mut evaluation);
        Ok(evaluation)
    }

    fn standing(
        &self,
        i: usize,
        clause: &Clause,
        standing: Option<feasible::Standing>,
        points: usize,
    ) -> RequirementResult {
        let of = self.subject.multipliers.map(|multipliers| multipliers.of(i));
        let mean = of.map(|m| m.iter().sum::<f64>() / m.len() as f64);
        let (at_most, limit) = match clause.bound {
            Bound::AtMost(c) => (true, c),
            Bound::AtLeast(c) => (false, c),
        };
        // As the user put it: an accuracy, where the core sees an error.
        let spoken = |x: f64| clause.complement_of.map_or(x, |one| one - x);
        let at_most = at_most != clause.complement_of.is_some();
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
            multiplier: mean.filter(|_| clause.kind == RequirementKind::Pointwise),
            training_multiplier: mean,
            smoothed: clause.measure.is_some(),
            largest_multiplier: of.map(|m| m.iter().copied().fold(0.0, f64::max)),
            multipliers_at_zero: of
                .map(|m| m.iter().filter(|&&m| m == 0.0).count() as f64 / m.len() as f64),
            attack: clause.adversary.as_ref().map(adversary),
        }
    }

    /// A precision as the ratio that it is; the core measures an average that is on the same side of its limit.
    fn as_ratio(
        &self,
        clause: &Clause,
        requirement: &Requirement,
        result: &mut RequirementResult,
    ) -> Result<()> {
        let Some(measure @ Loss::FalseDiscovery { .. }) = &clause.measure else { return Ok(()) };
        let population = requirement.terms()[0].population();
        let losses = population.losses(measure, self.decisions(), self.subject.theta)?;
        let predicted = losses.iter().filter(|loss| **loss == 0.0 || **loss == 1.0).count();
        let wrong = losses.iter().filter(|loss| **loss == 1.0).count();
        if losses.iter().any(|loss| loss.is_nan()) {
            return Ok(());
        }
        result.points = predicted;
        if predicted == 0 {
            (result.value, result.worst_violation, result.violated) = (None, None, None);
            result.met = true;
            return Ok(());
        }
        let share = wrong as f64 / predicted as f64;
        let violation = match clause.bound {
            Bound::AtMost(limit) => share - limit,
            Bound::AtLeast(limit) => limit - share,
        };
        result.value = Some(1.0 - share);
        result.worst_violation = Some(violation);
        result.met = violation <= clause.tolerance(self.subject.tolerance);
        result.violated = Some(f64::from(u8::from(!result.met)));
        Ok(())
    }

    fn predictions(&self, evaluation: &mut Evaluation) {
        match self.samples.targets() {
            Targets::Values(values) => {
                let squares = self.numbers().zip(values);
                let sum: f64 = squares.map(|(f, y)| (f - f64::from(*y)).powi(2)).sum();
                evaluation.rmse = Some((sum / values.len() as f64).sqrt());
            }
            Targets::Vectors(vectors) => {
                let (mut overall, count) = (0.0, vectors.len() as f64);
                for (j, of) in self.subject.coordinates.iter().enumerate() {
                    let squares = self.coordinate(j).zip(vectors.coordinate(j));
                    let mean =
                        squares.map(|(f, y)| (f - f64::from(y)).powi(2)).sum::<f64>() / count;
                    overall += mean / of.deviation / of.deviation;
                    let (target, rmse) = (of.column.clone(), mean.sqrt());
                    evaluation.by_target.push(TargetError { target, rmse });
                }
                let coordinates = self.subject.coordinates.len().max(1) as f64;
                evaluation.rmse = Some((overall / coordinates).sqrt());
            }
            Targets::Classes(classes) => {
                let names = self.subject.classes.unwrap_or_default();
                let count = names.len();
                let mut confusion = vec![vec![0; count]; count];
                for (p, &y) in self.predicted().zip(classes) {
                    confusion[y as usize][p] += 1;
                }
                let right: u64 = (0..count).map(|c| confusion[c][c]).sum();
                evaluation.accuracy = Some(right as f64 / classes.len() as f64);
                let rates = ClassRates::of(names, &confusion);
                let mean = |of: fn(&ClassRates) -> Option<f64>| {
                    let known: Vec<f64> = rates.iter().filter_map(of).collect();
                    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
                };
                evaluation.balanced_accuracy = mean(|rates| rates.recall);
                evaluation.f1 = match &rates[..] {
                    [_, positive] => positive.f1,
                    _ => mean(|rates| rates.f1),
                };
                evaluation.by_class = Some(rates);
                evaluation.top = TopAccuracy::of(self.outputs(), classes, count);
                evaluation.calibration = self.calibration(classes, count);
                evaluation.confusion = Some(confusion);
                let changes = self.subject.changes.iter().zip(&self.shifts);
                for ((change, shift), changed) in changes.zip(&self.changed) {
                    let flips = changed.iter().filter(|changed| **changed).count();
                    let affected =
                        (0..self.samples.len()).filter(|&row| !shift.is_identity(row)).count();
                    evaluation.flip_rates.push(FlipRate {
                        counterfactual: change.name().to_string(),
                        share: flips as f64 / changed.len() as f64,
                        affected,
                    });
                }
            }
        }
    }
}

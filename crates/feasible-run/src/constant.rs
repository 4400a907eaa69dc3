//! The best constant prediction: what a model should do better than.
//!
//! A model may meet every requirement and be of no use, so every verdict stands beside the prediction that ignores all inputs.
//!
//! | of | the constant | compared by |
//! | --- | --- | --- |
//! | classes | the most frequent class of the training rows | accuracy: like most requirements it is about the decisions, and it does not depend on the objective's loss |
//! | numbers | the numbers with the smallest objective on the training rows | the objective, as a quantile is not judged by its squared error |

use feasible::{Loss, Population, Problem, Targets};
use feasible_data::visible;
use feasible_problem::text::{percent, short};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::evaluate::Evaluation;
use crate::subject::Answers;

/// An average count that is taken for 0.
const LEAST_COUNT: f64 = 1e-9;
/// Bisections of the Huber loss.
const BISECTIONS: usize = 60;

/// By what a model and a constant are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The share of right predictions.
    Accuracy,
    /// The average loss of the objective.
    Objective,
}

/// The best constant prediction, and how it does on some rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// What it predicts: a class, or a number; nothing where several numbers are predicted.
    pub predicts: String,
    /// The outputs that predict it, of numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<f64>,
    /// What is measured.
    pub measure: Measure,
    /// Its value on these rows.
    pub value: f64,
}

/// A model beside the best constant prediction, and beside the model without the requirements, on the same rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// What is measured.
    pub measure: Measure,
    /// Of the model.
    pub model: f64,
    /// What the constant predicts.
    pub predicts: String,
    /// Of the constant.
    pub constant: f64,
    /// Of the model without the requirements, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<f64>,
}

impl Constant {
    /// `always 'no'`, `always 12.4`.
    pub fn label(&self) -> String {
        format!("always {}", self.shown())
    }

    fn shown(&self) -> String {
        shown(&self.predicts, self.measure)
    }
}

fn shown(predicts: &str, measure: Measure) -> String {
    match measure {
        _ if predicts.is_empty() => "the best constants".into(),
        Measure::Accuracy => format!("'{}'", visible(predicts)),
        Measure::Objective => predicts.to_string(),
    }
}

impl Evaluation {
    /// The model beside the best constant prediction, and beside the evaluation of one `without` the requirements on the same rows.
    pub fn comparison(&self, without: Option<&Self>) -> Option<Comparison> {
        let constant = self.constant.as_ref()?;
        let of = |evaluation: &Self| match constant.measure {
            Measure::Accuracy => evaluation.accuracy,
            Measure::Objective => Some(evaluation.objective),
        };
        let (model, without) = (of(self)?, without.and_then(of).filter(|x| x.is_finite()));
        let Constant { predicts, measure, value, .. } = constant.clone();
        let one = Comparison { measure, model, predicts, constant: value, without };
        (model.is_finite() && value.is_finite()).then_some(one)
    }
}

impl Measure {
    /// A number as people read it.
    pub fn shown(self, x: f64) -> String {
        match self {
            Self::Accuracy => percent(x),
            Self::Objective => short(x),
        }
    }
}

impl Comparison {
    fn shown(&self, x: f64) -> String {
        self.measure.shown(x)
    }

    /// Whether the constant is better, by more than the digits that are shown.
    pub fn is_worse(&self) -> bool {
        let worse = match self.measure {
            Measure::Accuracy => self.model < self.constant,
            Measure::Objective => self.model > self.constant,
        };
        worse && self.shown(self.model) != self.shown(self.constant)
    }

    /// The comparison on `the test rows`, in one sentence.
    pub fn sentence(&self, rows: &str) -> String {
        let constant = shown(&self.predicts, self.measure);
        let (model, value) = (self.shown(self.model), self.shown(self.constant));
        let without = self.without.map(|x| self.shown(x));
        let without = without.map(|x| format!("without the requirements: {x}"));
        match (self.is_worse(), self.measure) {
            (true, Measure::Accuracy) => format!(
                "The model is less accurate than always predicting {constant}: {model} against {value} on {rows}{}.",
                without.map_or(String::new(), |text| format!(" ({text})"))
            ),
            (true, Measure::Objective) => format!(
                "The model is worse than always predicting {constant}: its objective is {model} against {value} on {rows}{}.",
                without.map_or(String::new(), |text| format!(" ({text})"))
            ),
            (false, measure) => format!(
                "{} {model} on {rows} (always predicting {constant}: {value}{}).",
                if measure == Measure::Accuracy { "Accuracy" } else { "Objective" },
                without.map_or(String::new(), |text| format!("; {text}"))
            ),
        }
    }
}

impl Answers<'_> {
    /// How the best constant prediction does on these rows: that of the training, or of these rows where there was none. `None` for a
    /// loss without one.
    pub(crate) fn constant(&self) -> Result<Option<Constant>> {
        let fitted = self.subject.constant.as_deref();
        match self.samples.targets() {
            Targets::Classes(classes) => {
                let names = self.subject.classes.unwrap_or_default();
                let mut counts = vec![0_usize; names.len()];
                classes.iter().for_each(|&class| counts[class as usize] += 1);
                // Of equally frequent classes the first.
                let most = (0..counts.len()).rev().max_by_key(|&class| counts[class]);
                let known = |of: &Constant| names.iter().position(|name| *name == of.predicts);
                let Some(class) = fitted.map_or(most, known) else { return Ok(None) };
                let value = counts[class] as f64 / classes.len() as f64;
                let (predicts, measure) = (names[class].clone(), Measure::Accuracy);
                Ok(Some(Constant { predicts, outputs: Vec::new(), measure, value }))
            }
            _ => {
                let outputs = match fitted {
                    Some(fitted) => Some(fitted.outputs.clone()),
                    None => self.best_numbers(),
                };
                // Those of a file may be of anything.
                let width = feasible::Model::output_width(self.subject.model);
                let fits = |all: &Vec<f64>| all.len() == width && all.iter().all(|x| x.is_finite());
                let Some(outputs) = outputs.filter(fits) else { return Ok(None) };
                let value = self.objective_of_constant(&outputs)?;
                let predicts = match outputs[..] {
                    [x] if matches!(self.subject.loss, Loss::Poisson) => short(x.exp()),
                    [x] => short(x),
                    _ => String::new(),
                };
                let measure = Measure::Objective;
                Ok(value.is_finite().then_some(Constant { predicts, outputs, measure, value }))
            }
        }
    }

    /// The accuracy, or the objective, of the model beside the constant.
    pub(crate) fn comparison(&self) -> Result<Option<Comparison>> {
        let Some(constant) = self.constant()? else { return Ok(None) };
        let model = match (self.samples.targets(), constant.measure) {
            (Targets::Classes(classes), _) => {
                let right = self.predicted().zip(classes).filter(|(p, y)| *p == **y as usize);
                right.count() as f64 / classes.len() as f64
            }
            _ => self.objective_alone()?.measure(&self.model, self.subject.theta)?.objective,
        };
        let Constant { predicts, measure, value, .. } = constant;
        let one = Comparison { measure, model, predicts, constant: value, without: None };
        Ok(model.is_finite().then_some(one))
    }

    /// The numbers with the smallest objective on these rows; `None` for a loss of another kind.
    fn best_numbers(&self) -> Option<Vec<f64>> {
        let weights = self.samples.weights();
        let weighted = |values: &mut dyn Iterator<Item = f32>| -> Vec<(f64, f64)> {
            let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
            values.enumerate().map(|(row, y)| (f64::from(y), weight(row))).collect()
        };
        match (self.samples.targets(), &self.subject.loss) {
            (Targets::Values(values), loss) => {
                Some(vec![best_number(loss, 1.0, weighted(&mut values.iter().copied()))?])
            }
            (Targets::Vectors(vectors), Loss::Coordinates(of)) => {
                let mut best = vec![0.0; vectors.width()];
                for term in of.terms() {
                    let values = weighted(&mut vectors.coordinate(term.index));
                    best[term.index] = best_number(of.loss(), term.unit, values)?;
                }
                Some(best)
            }
            _ => None,
        }
    }

    fn objective_alone(&self) -> Result<Problem> {
        let everyone = Population::new(self.samples.clone());
        Ok(Problem::minimise(&everyone, self.subject.loss.clone()).check()?)
    }

    fn objective_of_constant(&self, outputs: &[f64]) -> Result<f64> {
        let constant = self.model.answering(outputs);
        Ok(self.objective_alone()?.measure(&constant, self.subject.theta)?.objective)
    }
}

/// The output with the smallest mean loss of numbers y that weigh w, (y, w), in this unit.
fn best_number(loss: &Loss, unit: f64, mut rows: Vec<(f64, f64)>) -> Option<f64> {
    let total: f64 = rows.iter().map(|(_, w)| w).sum();
    let mean = || rows.iter().map(|(y, w)| w * y).sum::<f64>() / total;
    match *loss {
        Loss::Squared => Some(mean()),
        Loss::Poisson => Some(mean().max(LEAST_COUNT).ln()),
        Loss::Absolute => quantile(&mut rows, 0.5),
        Loss::Quantile { tau } => quantile(&mut rows, tau),
        Loss::Huber { delta } => {
            let slope = |f: f64| -> f64 {
                rows.iter().map(|(y, w)| w * ((f - y) / unit).clamp(-delta, delta)).sum()
            };
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for (y, _) in &rows {
                (low, high) = (low.min(*y), high.max(*y));
            }
            for _ in 0..BISECTIONS {
                let middle = low + 0.5 * (high - low);
                if slope(middle) > 0.0 { high = middle } else { low = middle }
            }
            Some(low + 0.5 * (high - low))
        }
        _ => None,
    }
}

/// The smallest y whose cumulative weight reaches τ.
fn quantile(rows: &mut [(f64, f64)], tau: f64) -> Option<f64> {
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = rows.iter().map(|(_, w)| w).sum();
    let mut sum = 0.0;
    for (y, w) in rows.iter() {
        sum += w;
        if sum >= tau * total {
            return Some(*y);
        }
    }
    rows.last().map(|(y, _)| *y)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn no_other_constant_has_a_smaller_loss() {
        let rows: Vec<(f64, f64)> =
            [(3.0, 1.0), (0.0, 2.0), (1.0, 0.5), (9.0, 1.0), (2.0, 1.0)].into();
        let huber =
            |r: f64, d: f64| if r.abs() <= d { 0.5 * r * r } else { d * (r.abs() - 0.5 * d) };
        type Value = Box<dyn Fn(f64, f64) -> f64>;
        let losses: [(Loss, Value); 5] = [
            (Loss::Squared, Box::new(|f, y| (f - y) * (f - y))),
            (Loss::Absolute, Box::new(|f, y| (f - y).abs())),
            (Loss::Quantile { tau: 0.8 }, Box::new(|f, y| (0.8 * (y - f)).max(0.2 * (f - y)))),
            (Loss::Huber { delta: 1.0 }, Box::new(move |f, y| huber((f - y) / 2.0, 1.0))),
            (Loss::Poisson, Box::new(|f, y| f.exp() - y * f)),
        ];
        for (loss, value) in losses {
            let unit = if matches!(loss, Loss::Huber { .. }) { 2.0 } else { 1.0 };
            let best = best_number(&loss, unit, rows.clone()).unwrap();
            let mean = |f: f64| rows.iter().map(|(y, w)| w * value(f, *y)).sum::<f64>();
            for step in -400..=1200 {
                let other = f64::from(step) / 100.0;
                assert!(mean(best) <= mean(other) + 1e-9, "{loss}: {best} {other}");
            }
        }
        assert_eq!(best_number(&Loss::CrossEntropy, 1.0, rows), None);
    }

    #[test]
    fn worse_than_the_constant_is_said_where_the_digits_show_it() {
        let of = |measure, model, constant, without| Comparison {
            measure,
            model,
            predicts: if measure == Measure::Accuracy { "no".into() } else { "12.4".into() },
            constant,
            without,
        };
        let useless = of(Measure::Accuracy, 0.4525, 0.66125, Some(0.8));
        assert!(useless.is_worse());
        assert_eq!(
            useless.sentence("the test rows"),
            "The model is less accurate than always predicting 'no': 45.25 % against 66.12 % on the test rows (without the \
             requirements: 80.00 %)."
        );
        let useful = of(Measure::Objective, 2.5, 2.9, None);
        assert!(!useful.is_worse());
        assert_eq!(
            useful.sentence("these rows"),
            "Objective 2.5 on these rows (always predicting 12.4: 2.9)."
        );
        assert!(of(Measure::Objective, 3.1, 2.9, None).is_worse());
        assert!(!of(Measure::Objective, 2.900_000_1, 2.9, None).is_worse());
    }
}

//! Rates and means of some rows, and what needs no groups: the calibration curve, every threshold.

use feasible::Targets;

use super::{CalibrationBin, CountedRate, GroupRates, NamedMean, ThresholdRates, interval};
use crate::rates::calibration;
use crate::subject::{Answers, probabilities};

/// Classes whose recall is in a table, and numbers whose errors are.
const MOST_CLASSES: usize = 20;
const MOST_TARGETS: usize = 4;
/// Bins of the calibration curve, and steps of the threshold.
const BINS: usize = 10;
const STEPS: usize = 100;

/// What is known of each row.
pub(super) struct Measured<'a> {
    rows: Rows<'a>,
}

enum Rows<'a> {
    /// The name of the positive class; the class, whether the positive one is predicted, and its probability.
    Binary { positive: &'a str, classes: &'a [u32], predicted: Vec<usize>, probabilities: Vec<f64> },
    /// The class and the one predicted.
    Classes { names: &'a [String], classes: &'a [u32], predicted: Vec<usize> },
    /// Of each number its name, the targets and the predictions.
    Numbers(Vec<(String, Vec<f64>, Vec<f64>)>),
}

impl<'a> Measured<'a> {
    pub(super) fn new(answers: &'a Answers<'_>) -> Self {
        let rows = match answers.samples.targets() {
            Targets::Classes(classes) => {
                let names = answers.subject.classes.unwrap_or_default();
                let predicted = answers.predicted().collect();
                match names {
                    [_, positive] => {
                        let of_positive =
                            answers.outputs().map(|outputs| probabilities(outputs)[1]);
                        let probabilities = of_positive.collect();
                        Rows::Binary { positive, classes, predicted, probabilities }
                    }
                    _ => Rows::Classes { names, classes, predicted },
                }
            }
            Targets::Values(values) => {
                let targets = values.iter().map(|y| f64::from(*y)).collect();
                Rows::Numbers(vec![(String::new(), targets, answers.numbers().collect())])
            }
            Targets::Vectors(vectors) => {
                let of = |(at, of): (usize, &feasible_data::TargetCoordinate)| {
                    let targets = vectors.coordinate(at).map(f64::from).collect();
                    (format!(" of {}", of.column), targets, answers.coordinate(at).collect())
                };
                let coordinates = answers.subject.coordinates.iter().enumerate();
                Rows::Numbers(coordinates.take(MOST_TARGETS).map(of).collect())
            }
        };
        Self { rows }
    }

    /// Of the members of a group.
    pub(super) fn on(&self, group: &str, members: &[u32]) -> GroupRates {
        let (mut rates, mut means) = (Vec::new(), Vec::new());
        let mut rate = |name: &str, hits: u64, rows: u64| {
            rates.push(CountedRate::new(name, hits, rows));
        };
        let mut mean = |name: String, value: f64| means.push(NamedMean { name, value });
        let all = members.len() as u64;
        match &self.rows {
            Rows::Binary { positive, classes, predicted, probabilities } => {
                let mut counts = [[0_u64; 2]; 2];
                for &row in members {
                    let row = row as usize;
                    counts[usize::from(classes[row] == 1)][usize::from(predicted[row] == 1)] += 1;
                }
                let [[tn, fp], [fal, tp]] = counts;
                let of = |what: &str| format!("{what} of '{positive}'");
                rate(&of("base rate"), tp + fal, all);
                rate("accuracy", tp + tn, all);
                rate(&of("selection rate"), tp + fp, all);
                rate(&of("recall"), tp, tp + fal);
                rate(&of("false positive rate"), fp, fp + tn);
                rate(&of("precision"), tp, tp + fp);
                let pair = |&row: &u32| (probabilities[row as usize], classes[row as usize] == 1);
                let found = calibration(group, &members.iter().map(pair).collect::<Vec<_>>());
                let (predicted, error) =
                    found.map_or((f64::NAN, f64::NAN), |found| (found.predicted, found.error));
                mean("mean probability".into(), predicted);
                mean("calibration error".into(), error);
            }
            Rows::Classes { names, classes, predicted } => {
                let mut of = vec![(0_u64, 0_u64); names.len()];
                for &row in members {
                    let class = classes[row as usize] as usize;
                    of[class].1 += 1;
                    of[class].0 += u64::from(predicted[row as usize] == class);
                }
                rate("accuracy", of.iter().map(|(right, _)| right).sum(), all);
                for (name, (right, rows)) in names.iter().zip(of).take(MOST_CLASSES) {
                    rate(&format!("recall of '{name}'"), right, rows);
                }
            }
            Rows::Numbers(numbers) => {
                for (of, targets, predictions) in numbers {
                    let (mut target, mut error, mut square) = (0.0, 0.0, 0.0);
                    for &row in members {
                        let (y, f) = (targets[row as usize], predictions[row as usize]);
                        target += y;
                        error += f - y;
                        square += (f - y) * (f - y);
                    }
                    let n = members.len() as f64;
                    mean(format!("mean target{of}"), target / n);
                    mean(format!("root mean squared error{of}"), (square / n).sqrt());
                    mean(format!("bias{of}"), error / n);
                }
            }
        }
        GroupRates { group: group.to_string(), rows: all, rates, means }
    }

    /// Rows by tenths of predicted probability.
    pub(super) fn calibration_curve(&self) -> Vec<CalibrationBin> {
        let Rows::Binary { classes, probabilities, .. } = &self.rows else { return Vec::new() };
        let mut bins = [(0.0, 0_u64, 0_u64); BINS];
        // Those that are no numbers have no bin.
        for (&p, &class) in probabilities.iter().zip(*classes).filter(|(p, _)| !p.is_nan()) {
            let (sum, hits, rows) = &mut bins[((p * BINS as f64) as usize).min(BINS - 1)];
            *sum += p;
            *hits += u64::from(class == 1);
            *rows += 1;
        }
        let bin = |(sum, hits, rows): (f64, u64, u64)| {
            let (low, high) = interval(hits, rows);
            let predicted = (sum / rows as f64).clamp(0.0, 1.0);
            CalibrationBin { predicted, hits, rows, low, high }
        };
        let sound = |bin: &CalibrationBin| bin.rows > 0;
        bins.into_iter().map(bin).filter(sound).collect()
    }

    /// The rates at 0, 0.01, …, 1.
    pub(super) fn thresholds(&self) -> Vec<ThresholdRates> {
        let Rows::Binary { classes, probabilities, .. } = &self.rows else { return Vec::new() };
        // How many rows of each class have a probability in (k/100, (k+1)/100].
        let mut above = [[0_u64; 2]; STEPS + 1];
        let mut all = [0_u64; 2];
        let steps: Vec<f64> = (0..=STEPS).map(|k| k as f64 / STEPS as f64).collect();
        for (&p, &class) in probabilities.iter().zip(*classes) {
            let class = usize::from(class == 1);
            all[class] += 1;
            // The number of thresholds that it is above.
            let passed = steps.partition_point(|threshold| p > *threshold);
            if let Some(last) = passed.checked_sub(1) {
                above[last][class] += 1;
            }
        }
        let [negatives, positives] = all.map(|n| n as f64);
        let rows = negatives + positives;
        let (mut tp, mut fp) = (0_u64, 0_u64);
        let mut rates = Vec::new();
        for k in (0..=STEPS).rev() {
            fp += above[k][0];
            tp += above[k][1];
            let (hits, wrong) = (tp as f64, fp as f64);
            rates.push(ThresholdRates {
                threshold: steps[k],
                accuracy: (hits + negatives - wrong) / rows,
                selection_rate: (hits + wrong) / rows,
                true_positive_rate: (positives > 0.0).then(|| hits / positives),
                false_positive_rate: (negatives > 0.0).then(|| wrong / negatives),
            });
        }
        rates.reverse();
        rates
    }
}

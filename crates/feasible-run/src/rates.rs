//! What people ask of classifiers besides accuracy: recall, precision and F1 of each class, top-k accuracy,
//! calibration within groups. These are measured and required of nobody; requirements have rates of their own.

use feasible::certificate::{Count, Delta};
use serde::{Deserialize, Serialize};

use crate::subject::{Answers, probabilities};

/// Bins of equal width for the expected calibration error.
const BINS: usize = 10;
/// The confidence of the interval around the share that happened.
const CONFIDENCE: f64 = 0.95;

/// Rates of one class; those that nothing is known of are `None`: there is no row of it, or none is predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassRates {
    /// The class.
    pub class: String,
    /// The share of its rows that are predicted to be of it.
    pub recall: Option<f64>,
    /// The share of its predictions that are right.
    pub precision: Option<f64>,
    /// Their harmonic mean, 2 TP / (2 TP + FP + FN).
    pub f1: Option<f64>,
}

impl ClassRates {
    /// Of each class, from the counts `confusion[true][predicted]`.
    ///
    /// ```
    /// use feasible_run::ClassRates;
    /// // 10 positives, of which 6 are found; 8 are predicted.
    /// let names = ["no".to_string(), "yes".to_string()];
    /// let rates = ClassRates::of(&names, &[vec![88, 2], vec![4, 6]]);
    /// assert_eq!(rates[1].recall, Some(0.6));
    /// assert_eq!(rates[1].precision, Some(0.75));
    /// assert_eq!(rates[1].f1, Some(12.0 / 18.0));
    /// ```
    pub fn of(classes: &[String], confusion: &[Vec<u64>]) -> Vec<Self> {
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let class = |(c, class): (usize, &String)| {
            let right = confusion[c][c];
            let rows: u64 = confusion[c].iter().sum();
            let predicted: u64 = confusion.iter().map(|row| row[c]).sum();
            let f1 = share(2 * right, rows + predicted);
            let (recall, precision) = (share(right, rows), share(right, predicted));
            Self { class: class.clone(), recall, precision, f1 }
        };
        classes.iter().enumerate().map(class).collect()
    }
}

/// The share of rows whose class is among the k most probable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopAccuracy {
    /// k.
    pub k: usize,
    /// The share.
    pub share: f64,
}

impl TopAccuracy {
    /// For k = 3 and 5 where there are more classes than that, for k = 2 of three. Of equal outputs the first class
    /// counts as the more probable one.
    pub(crate) fn of<'o>(
        outputs: impl Iterator<Item = &'o [f32]>,
        classes: &[u32],
        count: usize,
    ) -> Vec<Self> {
        let wanted: &[usize] = if count == 3 { &[2] } else { &[3, 5] };
        let wanted: Vec<usize> = wanted.iter().copied().filter(|&k| k < count).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let mut hits = vec![0_usize; wanted.len()];
        for (outputs, &y) in outputs.zip(classes) {
            let y = y as usize;
            let before = |(j, z): (usize, &f32)| *z > outputs[y] || (*z == outputs[y] && j < y);
            let rank = match outputs[y].is_nan() {
                true => count,
                false => outputs.iter().enumerate().filter(|&at| before(at)).count(),
            };
            for (hits, &k) in hits.iter_mut().zip(&wanted) {
                *hits += usize::from(rank < k);
            }
        }
        let share = |hits: usize| hits as f64 / classes.len() as f64;
        wanted.iter().zip(hits).map(|(&k, hits)| Self { k, share: share(hits) }).collect()
    }
}

/// Predicted probabilities of the positive class beside what happened, in a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Whose: `everyone`, or the expression that selects them.
    pub group: String,
    /// Number of rows.
    pub rows: usize,
    /// The mean of the predicted probabilities.
    pub predicted: f64,
    /// The share that is positive.
    pub observed: f64,
    /// The interval of `observed` at 95 % (Clopper-Pearson).
    pub interval: (f64, f64),
    /// The expected calibration error: the mean distance of the two over ten bins of predicted probability, each by its
    /// rows.
    pub error: f64,
}

impl Answers<'_> {
    /// Calibration of everyone and within each group, where there are two classes.
    pub(crate) fn calibration(&self, classes: &[u32], count: usize) -> Vec<Calibration> {
        if count != 2 {
            return Vec::new();
        }
        let positive: Vec<f64> = self.outputs().map(|outputs| probabilities(outputs)[1]).collect();
        let of = |(name, rows): &(String, Vec<u32>)| {
            let pairs =
                rows.iter().map(|&row| (positive[row as usize], classes[row as usize] == 1));
            calibration(name, &pairs.collect::<Vec<_>>())
        };
        self.groups.iter().filter_map(of).collect()
    }
}

/// Calibration of predicted probabilities with what happened; `None` without rows.
pub(crate) fn calibration(group: &str, pairs: &[(f64, bool)]) -> Option<Calibration> {
    // A probability that is no number is no promise.
    let pairs: Vec<(f64, bool)> = pairs.iter().copied().filter(|(p, _)| !p.is_nan()).collect();
    let rows = pairs.len();
    let count = Count::of(pairs.iter().map(|(_, happened)| *happened)).ok()?;
    let tail = Delta::new((1.0 - CONFIDENCE) / 2.0).ok()?;
    let mut bins = [(0.0, 0.0); BINS];
    for &(p, happened) in &pairs {
        let (predicted, observed) = &mut bins[((p * BINS as f64) as usize).min(BINS - 1)];
        *predicted += p;
        *observed += f64::from(u8::from(happened));
    }
    // A bin's rows times the distance of its two means is the distance of its two sums.
    let distance: f64 = bins.iter().map(|(predicted, observed)| (predicted - observed).abs()).sum();
    Some(Calibration {
        group: group.to_string(),
        rows,
        predicted: pairs.iter().map(|(p, _)| p).sum::<f64>() / rows as f64,
        observed: count.hits() as f64 / rows as f64,
        interval: (count.lower(tail), count.upper(tail)),
        error: distance / rows as f64,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_true_class_is_looked_for_among_the_most_probable() {
        let outputs = [[3.0, 2.0, 1.0, 0.0], [3.0, 2.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]];
        let of = |classes: &[u32]| TopAccuracy::of(outputs.iter().map(|row| &row[..]), classes, 4);
        assert_eq!(of(&[0, 2, 2]), [TopAccuracy { k: 3, share: 1.0 }]);
        // Of equals, the first three.
        assert_eq!(of(&[3, 2, 3])[0].share, 1.0 / 3.0);
        assert!(TopAccuracy::of(outputs.iter().map(|row| &row[..2]), &[0, 1, 0], 2).is_empty());
    }

    #[test]
    fn calibration_is_the_distance_of_promised_and_kept() {
        // Two bins: (0.2, 0.25) of which one happened, (0.9, 0.9) of which both did.
        let pairs = [(0.2, true), (0.25, false), (0.9, true), (0.9, true)];
        let found = calibration("all", &pairs).unwrap();
        assert!((found.predicted - 0.5625).abs() < 1e-12);
        assert_eq!(found.observed, 0.75);
        // |0.45 − 1| and |1.8 − 2| over four rows.
        assert!((found.error - (0.55 + 0.2) / 4.0).abs() < 1e-12, "{}", found.error);
        assert!(found.interval.0 < 0.75 && found.interval.1 > 0.75);
        assert_eq!(calibration("nobody", &[]), None);
    }
}

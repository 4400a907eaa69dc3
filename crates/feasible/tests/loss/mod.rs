//! What the losses are tested with: every loss, at any row.

mod check;
mod contrast;
mod gradients;
mod properties;
mod rows;
mod series;
mod values;

use feasible::loss::{Coordinate, LossRows};
use feasible::{Loss, Real, Target, Targets, Vectors};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Cases that fail are kept in a file beside the test's, and tried first.
fn config() -> ProptestConfig {
    let kept = FileFailurePersistence::WithSource("regressions");
    ProptestConfig { failure_persistence: Some(Box::new(kept)), ..Default::default() }
}

/// The targets of a data set of this one sample.
fn alone(target: Target<'_>) -> Targets {
    match target {
        Target::Class(class) => Targets::Classes(vec![class]),
        Target::Value(y) => Targets::Values(vec![y]),
        Target::Vector(y) => Targets::Vectors(Vectors::new(y.to_vec(), y.len()).unwrap()),
    }
}

/// A row to evaluate a loss at.
#[derive(Clone, Debug)]
struct Point {
    at: Vec<f64>,
    against: Vec<f64>,
    /// Of a data set of this row alone.
    targets: Targets,
}

impl Point {
    /// A row about one view, of a class.
    fn of_class(at: &[f64], class: u32) -> Self {
        Self { at: at.to_vec(), against: vec![], targets: alone(Target::Class(class)) }
    }

    fn of_number(at: f64, y: f32) -> Self {
        Self { at: vec![at], against: vec![], targets: alone(Target::Value(y)) }
    }

    fn of_vector(at: &[f64], y: &[f32]) -> Self {
        Self { at: at.to_vec(), against: vec![], targets: alone(Target::Vector(y)) }
    }

    fn of_views(at: &[f64], against: &[f64]) -> Self {
        Self { at: at.to_vec(), against: against.to_vec(), targets: alone(Target::Class(0)) }
    }

    /// Value and gradients by both views.
    fn seeds<T: Real>(&self, loss: &Loss) -> (f64, Vec<f64>) {
        let round = |x: &[f64]| x.iter().map(|&x| T::from_f64(x)).collect::<Vec<_>>();
        let (at, against) = (round(&self.at), round(&self.against));
        let rows = LossRows {
            width: at.len(),
            at: &at,
            against: &against,
            targets: &self.targets,
            samples: &[0],
            positions: &[0],
        };
        let (mut value, mut value_again) = ([T::ZERO], [T::ZERO]);
        let (mut by_at, mut by_against) = (vec![T::ZERO; at.len()], vec![T::ZERO; against.len()]);
        loss.seeds(rows, &[T::ONE], &mut value, &mut by_at, &mut by_against);
        loss.values(rows, &mut value_again);
        let same = value == value_again || !(value[0].is_finite() || value_again[0].is_finite());
        assert!(same, "{loss}: seeds say {value:?}, values {value_again:?}");
        (value[0].to_f64(), by_at.iter().chain(&by_against).map(|g| g.to_f64()).collect())
    }

    fn value(&self, loss: &Loss) -> f64 {
        self.seeds::<f64>(loss).0
    }

    /// Both views, stacked.
    fn stacked(&self) -> Vec<f64> {
        self.at.iter().chain(&self.against).copied().collect()
    }

    /// The same row with other outputs.
    fn with(&self, stacked: &[f64]) -> Self {
        let (at, against) = stacked.split_at(self.at.len());
        Self { at: at.to_vec(), against: against.to_vec(), targets: self.targets.clone() }
    }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn bounded(loss: Loss, bound: f64) -> Loss {
    loss.bounded(bound).unwrap()
}

/// Losses of a class, of a number, and between views; each with a width it takes.
fn every_loss() -> Vec<(Loss, usize)> {
    let mut all = vec![];
    for width in [1, 2, 3, 5, 20] {
        for loss in [
            Loss::CrossEntropy,
            Loss::Brier,
            Loss::SmoothedError,
            Loss::Probability { class: 1 },
            bounded(Loss::CrossEntropy, 4.0),
            Loss::Kl,
            Loss::SymmetricKl,
            Loss::TotalVariation { smoothing: 0.01 },
            Loss::SquaredDistance,
            bounded(Loss::Kl, 4.0),
            bounded(Loss::SymmetricKl, 4.0),
            bounded(Loss::SquaredDistance, 4.0),
            Loss::Error,
            Loss::Selected { class: 1 },
            Loss::FalseDiscovery { class: 1, rate: 0.3 },
            Loss::SmoothedFalseDiscovery { class: 1, rate: 0.3 },
            Loss::Flip,
        ] {
            all.push((loss, width));
        }
    }
    for loss in [
        Loss::Logistic,
        Loss::Hinge,
        Loss::SquaredHinge,
        Loss::Squared,
        Loss::Absolute,
        Loss::Huber { delta: 0.7 },
        Loss::Quantile { tau: 0.9 },
        Loss::Poisson,
    ] {
        all.push((loss.clone(), 1));
        all.push((bounded(loss, 1.5), 1));
    }
    for loss in of_numbers() {
        for width in [2, 3, 5] {
            all.push((loss.clone(), width));
            all.push((bounded(loss.clone(), 1.5), width));
        }
    }
    for loss in of_numbers().into_iter().chain([Loss::SquaredDistance]) {
        let units = if matches!(loss, Loss::Poisson) { [1.0; 3] } else { [0.25, 1.0, 3.0] };
        let all_three =
            coordinates(&loss, &[(0, 0.2, units[0]), (2, 0.5, units[1]), (1, 1.5, units[2])]);
        for loss in [all_three, coordinates(&loss, &[(1, 1.0, 1.0)])] {
            all.push((loss.clone(), 3));
            all.push((bounded(loss, 1.5), 3));
        }
    }
    all
}

fn of_numbers() -> [Loss; 5] {
    let (huber, quantile) = (Loss::Huber { delta: 0.7 }, Loss::Quantile { tau: 0.9 });
    [Loss::Squared, Loss::Absolute, huber, quantile, Loss::Poisson]
}

/// The loss of some coordinates: index, weight and unit.
fn coordinates(loss: &Loss, terms: &[(usize, f64, f64)]) -> Loss {
    let term = |&(index, weight, unit): &(usize, f64, f64)| Coordinate { index, weight, unit };
    loss.clone().of_coordinates("these", terms.iter().map(term).collect()).unwrap()
}

fn smooth_losses() -> Vec<(Loss, usize)> {
    every_loss().into_iter().filter(|(loss, _)| loss.is_differentiable()).collect()
}

/// A row for the loss, from numbers in [−1, 1]: outputs of either view up to `scale`.
fn point(loss: &Loss, width: usize, scale: f64, numbers: &[f64]) -> Point {
    let outputs: Vec<f64> = numbers.iter().map(|x| scale * x).collect();
    let pair = loss.compares_views();
    let numeric = loss.check(width, &Targets::Classes(vec![0])).is_err();
    let last = numbers[numbers.len() - 1];
    let counts = is_of_counts(loss);
    let number = |x: f64| if counts { (2.0 * x).abs() as f32 } else { (2.0 * x) as f32 };
    Point {
        at: outputs[..width].to_vec(),
        against: if pair { outputs[width..2 * width].to_vec() } else { vec![] },
        targets: match numeric {
            true if width > 1 => {
                let y: Vec<f32> = numbers[20..][..width].iter().map(|&x| number(x)).collect();
                alone(Target::Vector(&y))
            }
            true => alone(Target::Value(number(last))),
            false => alone(Target::Class((last.abs() * 1e3) as u32 % width.max(2) as u32)),
        },
    }
}

/// Whether targets below 0 are refused.
fn is_of_counts(loss: &Loss) -> bool {
    match loss {
        Loss::Bounded(bounded) => is_of_counts(bounded.loss()),
        Loss::Coordinates(of) => is_of_counts(of.loss()),
        loss => matches!(loss, Loss::Poisson),
    }
}

/// Numbers in [−1, 1], as many as any row needs.
fn numbers() -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(-1.0..1.0f64, 41)
}

/// One of the losses at a random row.
fn loss_and_point(losses: Vec<(Loss, usize)>) -> impl Strategy<Value = (Loss, Point)> {
    (proptest::sample::select(losses), 0.05..8.0f64, numbers()).prop_map(
        |((loss, width), scale, numbers)| {
            let point = point(&loss, width, scale, &numbers);
            (loss, point)
        },
    )
}

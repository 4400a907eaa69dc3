//! Many rows at once: which ones, in which order, added to what.

use std::sync::Arc;

use feasible::loss::{CustomLoss, Properties};

use super::*;

#[test]
fn positions_and_samples_choose_outputs_and_targets() {
    // Position p holds sample samples[p]; only positions 2 and 0 are asked for.
    let at: [f64; 6] = [0.5, -0.5, 9.0, 9.0, -2.0, 1.0];
    let targets = Targets::Classes(vec![0, 1, 0, 1, 1]);
    let rows = LossRows {
        width: 2,
        at: &at,
        against: &[],
        targets: &targets,
        samples: &[4, 0, 2],
        positions: &[2, 0],
    };
    let loss = Loss::CrossEntropy;
    let (mut values, mut seeds) = ([f64::NAN; 2], [10.0; 6]);
    loss.seeds(rows, &[3.0, -0.5], &mut values, &mut seeds, &mut []);
    let (third, by_third) = Point::of_class(&at[4..], 0).seeds::<f64>(&loss);
    let (first, by_first) = Point::of_class(&at[..2], 1).seeds::<f64>(&loss);
    assert_eq!(values, [third, first]);
    // Added, not overwritten; and nothing where nothing was asked.
    let expected = [
        10.0 - 0.5 * by_first[0],
        10.0 - 0.5 * by_first[1],
        10.0,
        10.0,
        10.0 + 3.0 * by_third[0],
        10.0 + 3.0 * by_third[1],
    ];
    for (seed, expected) in seeds.iter().zip(expected) {
        assert!((seed - expected).abs() < 1e-14);
    }
    loss.values(rows, &mut values);
    assert_eq!(values, [third, first]);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn many_rows_are_the_rows_one_by_one((loss, width) in proptest::sample::select(every_loss()), seed in 0usize..1000) {
        let rows = 7;
        let number = |i: usize| ((i * 7919 + seed * 104_729) % 2003) as f64 / 1001.5 - 1.0;
        let points: Vec<Point> = (0..rows)
            .map(|r| point(&loss, width, 3.0, &(0..41).map(|i| number(41 * r + i)).collect::<Vec<_>>()))
            .collect();
        let at: Vec<f64> = points.iter().flat_map(|p| p.at.clone()).collect();
        let against: Vec<f64> = points.iter().flat_map(|p| p.against.clone()).collect();
        let classes = |p: &Point| match p.targets.get(0) { Target::Class(c) => c, _ => 0 };
        let numbers = |p: &Point| match p.targets.get(0) {
            Target::Value(y) => vec![y],
            Target::Vector(y) => y.to_vec(),
            Target::Class(_) => vec![],
        };
        let all = || points.iter().rev().flat_map(numbers).collect::<Vec<f32>>();
        let targets = match points[0].targets.get(0) {
            Target::Class(_) => Targets::Classes(points.iter().rev().map(classes).collect()),
            Target::Value(_) => Targets::Values(all()),
            Target::Vector(y) => Targets::Vectors(Vectors::new(all(), y.len()).unwrap()),
        };
        let samples: Vec<u32> = (0..rows as u32).rev().collect();
        let positions = [5, 1, 6, 3];
        let weights = [0.5, 0.0, 2.0, -1.0];
        let input = LossRows { width, at: &at, against: &against, targets: &targets, samples: &samples, positions: &positions };
        let mut values = [0.0; 4];
        let (mut by_at, mut by_against) = (vec![1.0; at.len()], vec![1.0; against.len()]);
        loss.seeds(input, &weights, &mut values, &mut by_at, &mut by_against);
        for (i, &p) in positions.iter().enumerate() {
            let p = p as usize;
            let (value, gradient) = points[p].seeds::<f64>(&loss);
            prop_assert_eq!(values[i], value);
            let found = by_at[p * width..][..width].iter().chain(by_against.iter().skip(p * width).take(width));
            for (found, g) in found.zip(gradient) {
                prop_assert!((found - (1.0 + weights[i] * g)).abs() < 1e-12 * (1.0 + g.abs()));
            }
        }
        for p in [0, 2, 4] {
            prop_assert!(by_at[p * width..][..width].iter().all(|&g| g == 1.0));
        }
    }
}

/// KL again, as a user would write it: the distance of two logits, times the class plus one.
#[derive(Debug)]
struct Weighted {
    pair: bool,
}

impl CustomLoss for Weighted {
    fn name(&self) -> String {
        "weighted distance".into()
    }
    fn compares_views(&self) -> bool {
        self.pair
    }
    fn value(&self, at: &[f64], against: &[f64], target: Target<'_>) -> f64 {
        let Target::Class(class) = target else { return f64::NAN };
        let other = against.first().copied().unwrap_or(0.0);
        f64::from(class + 1) * (at[0] - other).powi(2)
    }
    fn gradient(
        &self,
        at: &[f64],
        against: &[f64],
        target: Target<'_>,
        by_at: &mut [f64],
        by_against: &mut [f64],
    ) {
        let Target::Class(class) = target else { return };
        assert!(by_at.iter().chain(by_against.iter()).all(|&g| g == 0.0));
        let slope = 2.0 * f64::from(class + 1) * (at[0] - against.first().copied().unwrap_or(0.0));
        by_at[0] = slope;
        if let Some(by_against) = by_against.first_mut() {
            *by_against = -slope;
        }
    }
}

#[test]
fn a_loss_of_the_users_own_is_evaluated_and_clipped_like_any_other() {
    let single = Loss::Custom(Arc::new(Weighted { pair: false }));
    let pair = Loss::Custom(Arc::new(Weighted { pair: true }));
    assert!(pair.compares_views() && !single.compares_views() && pair.is_differentiable());
    assert_eq!(pair.properties(2), Properties::default());
    let point =
        Point { targets: alone(Target::Class(2)), ..Point::of_views(&[3.0, 7.0], &[1.0, 7.0]) };
    assert_eq!(point.seeds::<f32>(&pair), (12.0, vec![12.0, 0.0, -12.0, 0.0]));
    assert_eq!(Point::of_class(&[3.0, 7.0], 0).seeds::<f32>(&single), (9.0, vec![6.0, 0.0]));
    let clipped = bounded(pair, 5.0);
    assert_eq!(point.seeds::<f64>(&clipped), (5.0, vec![0.0; 4]));
    assert_eq!(clipped.properties(2).bound, Some(5.0));
    assert_eq!(clipped.name(), "weighted distance (bounded by 5)");
    // Rows of a batch share the copies: nothing may leak from one to the next.
    let rows = LossRows {
        width: 1,
        at: &[1.0f32, 2.0],
        against: &[],
        targets: &Targets::Classes(vec![0, 1]),
        samples: &[0, 1],
        positions: &[0, 1],
    };
    let (mut values, mut seeds) = ([0.0; 2], [0.0; 2]);
    single.seeds(rows, &[1.0, 1.0], &mut values, &mut seeds, &mut []);
    assert_eq!((values, seeds), ([1.0, 8.0], [2.0, 8.0]));
}

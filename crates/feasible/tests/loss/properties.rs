//! Claimed properties, measured.

use super::*;

fn convex_losses() -> Vec<(Loss, usize)> {
    every_loss().into_iter().filter(|(loss, width)| loss.properties(*width).convex).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..config() })]

    #[test]
    fn convex_losses_lie_below_their_chords((loss, point) in loss_and_point(convex_losses()), other in numbers(), t in 0.0..1.0f64) {
        let here = point.stacked();
        let there: Vec<f64> = here.iter().zip(&other).map(|(_, x)| 8.0 * x).collect();
        let between: Vec<f64> = here.iter().zip(&there).map(|(a, b)| (1.0 - t) * a + t * b).collect();
        let chord = (1.0 - t) * point.value(&loss) + t * point.with(&there).value(&loss);
        prop_assert!(point.with(&between).value(&loss) <= chord * (1.0 + 1e-12) + 1e-12, "{}", loss);
    }

    #[test]
    fn no_gradient_exceeds_the_lipschitz_constant((loss, point) in loss_and_point(smooth_losses())) {
        if let Some(most) = loss.properties(point.at.len()).lipschitz {
            let found = norm(&point.seeds::<f64>(&loss).1);
            prop_assert!(found <= most * (1.0 + 1e-12), "{}: {} above {} at {:?}", loss, found, most, point);
        }
    }

    #[test]
    fn no_value_leaves_zero_to_the_bound((loss, point) in loss_and_point(every_loss()), scale in 0.1..30.0f64) {
        let outputs: Vec<f64> = point.stacked().iter().map(|x| scale * x).collect();
        let value = point.with(&outputs).value(&loss);
        let most = loss.properties(point.at.len()).bound.unwrap_or(f64::INFINITY);
        prop_assert!((0.0..=most * (1.0 + 1e-15)).contains(&value), "{}: {}", loss, value);
    }
}

/// The largest gradient and the largest value found, on a line of well-chosen points.
fn largest(loss: &Loss, place: impl Fn(f64) -> Point) -> (f64, f64) {
    let points = (-40_000..=40_000).map(|i| place(f64::from(i) / 1000.0).seeds::<f64>(loss));
    points
        .fold((0.0, 0.0), |(slope, value): (f64, f64), (v, g)| (slope.max(norm(&g)), value.max(v)))
}

#[test]
fn lipschitz_constants_and_bounds_are_nearly_attained() {
    let tight = |loss: Loss, width: usize, place: &dyn Fn(f64) -> Point| {
        let (slope, value) = largest(&loss, place);
        let properties = loss.properties(width);
        if let Some(m) = properties.lipschitz {
            assert!(
                slope <= m * (1.0 + 1e-12) && slope >= 0.999 * m,
                "{loss}: M = {m}, found {slope}"
            );
        }
        if let Some(b) = properties.bound {
            assert!(
                value <= b * (1.0 + 1e-15) && value >= 0.999 * b,
                "{loss}: B = {b}, found {value}"
            );
        }
    };
    for loss in [
        Loss::CrossEntropy,
        Loss::Brier,
        Loss::SmoothedError,
        Loss::Probability { class: 0 },
        Loss::SmoothedFalseDiscovery { class: 1, rate: 0.3 },
        bounded(Loss::CrossEntropy, 1.5),
        bounded(Loss::CrossEntropy, 5.0),
        bounded(Loss::CrossEntropy, 20.0),
    ] {
        tight(loss.clone(), 1, &|z| Point::of_class(&[z], 0));
        tight(loss.clone(), 2, &|z| Point::of_class(&[z, 0.0], 0));
        // The third class is out of the game.
        tight(loss, 3, &|z| Point::of_class(&[z, 0.0, -200.0], 0));
    }
    for loss in [Loss::Hinge, bounded(Loss::Hinge, 2.0), bounded(Loss::SquaredHinge, 2.0)] {
        tight(loss, 1, &|z| Point::of_class(&[z], 0));
    }
    for loss in [
        Loss::Absolute,
        Loss::Huber { delta: 2.0 },
        Loss::Quantile { tau: 0.2 },
        bounded(Loss::Huber { delta: 2.0 }, 1.0),
        bounded(Loss::Huber { delta: 2.0 }, 7.0),
        bounded(Loss::Squared, 2.0),
    ] {
        tight(loss, 1, &|z| Point::of_number(z, 0.0));
    }
    for loss in [
        Loss::Absolute,
        Loss::Huber { delta: 2.0 },
        Loss::Quantile { tau: 0.2 },
        bounded(Loss::Huber { delta: 2.0 }, 1.0),
        bounded(Loss::Huber { delta: 2.0 }, 7.0),
        bounded(Loss::Squared, 2.0),
    ] {
        tight(loss, 3, &|z| Point::of_vector(&[z, z, z], &[0.0; 3]));
    }
    // In units of their own: all slopes the largest; and all in the coordinate of the largest w/u².
    let terms = [(0, 0.5, 1.0), (1, 0.25, 0.25)];
    for loss in [Loss::Absolute, Loss::Huber { delta: 2.0 }, Loss::Quantile { tau: 0.2 }] {
        tight(coordinates(&loss, &terms), 2, &|z| Point::of_vector(&[z, z], &[0.0; 2]));
    }
    for loss in [Loss::Squared, Loss::Huber { delta: 20.0 }] {
        let loss = bounded(coordinates(&loss, &terms), 2.0);
        tight(loss, 2, &|z| Point::of_vector(&[0.0, z], &[0.0; 2]));
    }
    let between = bounded(coordinates(&Loss::SquaredDistance, &terms), 2.0);
    tight(between, 2, &|z| Point::of_views(&[0.0, z], &[0.0; 2]));
    tight(bounded(Loss::SquaredDistance, 2.0), 2, &|z| Point::of_views(&[z, 1.0], &[0.0, 1.0]));
}

#[test]
fn bounds_of_divergences_are_nearly_attained() {
    // p on one class, q on another. KL of the floored ones is then
    // (1 − 2(k − 1)τ + ...) B: it reaches B as B grows.
    for width in [2, 3] {
        let mut at = vec![-300.0; width];
        let mut against = at.clone();
        (at[0], against[1]) = (300.0, 300.0);
        let point = Point::of_views(&at, &against);
        for (loss, least) in [
            (bounded(Loss::Kl, 10.0), 0.999),
            (bounded(Loss::SymmetricKl, 10.0), 0.999),
            (Loss::TotalVariation { smoothing: 0.1 }, 0.999_999),
            (bounded(Loss::Kl, 2.0), 0.4),
        ] {
            let most = loss.properties(width).bound.unwrap();
            let value = point.value(&loss);
            assert!(value <= most && value >= least * most, "{loss}: {value} of {most}");
        }
    }
}

#[test]
fn sharp_total_variation_attains_its_lipschitz_constant() {
    let loss = Loss::TotalVariation { smoothing: 1e-9 };
    for (width, point) in
        [(1, Point::of_views(&[1e-4], &[-1e-4])), (2, Point::of_views(&[1e-4, 0.0], &[0.0, 1e-4]))]
    {
        let most = loss.properties(width).lipschitz.unwrap();
        let found = norm(&point.seeds::<f64>(&loss).1);
        assert!(found <= most && found >= 0.999 * most, "{found} of {most}");
    }
}

#[test]
fn losses_called_not_convex_are_above_a_chord_somewhere() {
    let above = |loss: &Loss, width: usize| {
        let mut numbers: Vec<f64> = (0..41).map(|i| f64::from(i * i % 41) / 20.5 - 1.0).collect();
        (0..20_000).any(|turn| {
            numbers.rotate_left(turn % 7 + 1);
            let scale = [0.5, 2.0, 6.0, 20.0][turn % 4];
            let point = point(loss, width, scale, &numbers);
            numbers.rotate_left(13);
            let there: Vec<f64> =
                point.stacked().iter().zip(&numbers).map(|(x, d)| x + scale * d).collect();
            let middle: Vec<f64> =
                point.stacked().iter().zip(&there).map(|(a, b)| 0.5 * (a + b)).collect();
            let chord = 0.5 * (point.value(loss) + point.with(&there).value(loss));
            point.with(&middle).value(loss) > chord + 1e-6
        })
    };
    for (loss, width) in every_loss() {
        if !loss.properties(width).convex {
            assert!(above(&loss, width), "{loss} with {width} outputs looks convex");
        }
    }
}

#[test]
fn unbounded_slopes_are_called_so() {
    let steep = |loss: Loss, point: Point| {
        assert_eq!(loss.properties(point.at.len()).lipschitz, None, "{loss}");
        assert!(norm(&point.seeds::<f64>(&loss).1) > 100.0, "{loss}");
    };
    steep(Loss::Kl, Point::of_views(&[0.0, 0.0], &[0.0, 1000.0]));
    steep(Loss::SymmetricKl, Point::of_views(&[0.0, 0.0], &[0.0, 1000.0]));
    steep(Loss::SquaredDistance, Point::of_views(&[0.0], &[1000.0]));
    steep(Loss::Squared, Point::of_number(0.0, 1000.0));
    steep(Loss::Poisson, Point::of_number(0.0, 1000.0));
    steep(Loss::SquaredHinge, Point::of_class(&[1000.0], 0));
}

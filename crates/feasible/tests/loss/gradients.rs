//! Gradients against finite differences.

use super::*;
use feasible::check::GradientCheck;
use feasible::internals::loss_gradient_by;

/// Whether a kink of the loss is within reach of the differences.
fn near_kink(loss: &Loss, point: &Point) -> bool {
    let margin = 1.0 - point.at[0].abs();
    // The smallest distance of a residual, in units, to where the loss of one number has a kink.
    let distance = |kink: f64, of: &[Coordinate]| -> f64 {
        let y = match point.targets.get(0) {
            Target::Value(y) => &[y][..],
            Target::Vector(y) => y,
            Target::Class(_) => return f64::INFINITY,
        };
        let each = |j: usize| {
            let unit = of.iter().find(|term| term.index == j).map_or(1.0, |term| term.unit);
            (((point.at[j] - f64::from(y[j])) / unit).abs() - kink).abs()
        };
        (0..y.len()).map(each).fold(f64::INFINITY, f64::min)
    };
    let (loss, of) = match loss {
        Loss::Coordinates(of) => (of.loss(), of.terms()),
        loss => (loss, &[][..]),
    };
    // A step of 2e-3 in a unit of 1/4 is one of 8e-3.
    let near = |kink: f64| distance(kink, of) < 0.01;
    match loss {
        Loss::Hinge => margin.abs() < 0.01,
        Loss::SquaredHinge => margin.abs() < 0.01,
        Loss::Absolute | Loss::Quantile { .. } => near(0.0),
        Loss::Huber { delta } => near(*delta),
        Loss::Bounded(bounded) if !bounded.floors() => {
            let value = point.value(bounded.loss());
            (value - bounded.bound()).abs() < 0.2 || near_kink(bounded.loss(), point)
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6000, max_global_rejects: 100_000, ..config() })]

    #[test]
    fn gradients_agree_with_finite_differences((loss, point) in loss_and_point(smooth_losses())) {
        prop_assume!(!near_kink(&loss, &point));
        let (value, _) = point.seeds::<f64>(&loss);
        // With h = 1e-3 the error of differences of fourth order is about h⁴ = 1e-12 times a fifth derivative, and the
        // rounding 1e-16/h: both far below 1e-6 of a gradient of 1e-4.
        // Total variation bends on the scale of its smoothing.
        let h = if matches!(loss, Loss::TotalVariation { .. }) { 1e-4 } else { 1e-3 };
        let found = loss_gradient_by(&loss, &point.at, &point.against, point.targets.get(0), h);
        let GradientCheck { gradient, differences: expected } = found;
        let error: Vec<f64> = gradient.iter().zip(&expected).map(|(a, b)| a - b).collect();
        let size = norm(&expected).max(1e-4 * value.max(1.0));
        prop_assert!(
            norm(&error) <= 1e-6 * size,
            "{} at {:?}: {:?}, differences {:?}", loss, point, gradient, expected
        );
    }

    #[test]
    fn single_precision_follows_double((loss, point) in loss_and_point(smooth_losses())) {
        prop_assume!(!near_kink(&loss, &point));
        let round: Vec<f64> = point.stacked().iter().map(|&x| f64::from(x as f32)).collect();
        let point = point.with(&round);
        let (exact, exact_gradient) = point.seeds::<f64>(&loss);
        let (value, gradient) = point.seeds::<f32>(&loss);
        prop_assert!((value - exact).abs() <= 1e-5 * exact.max(0.1), "{}: {} {}", loss, value, exact);
        let error: Vec<f64> = gradient.iter().zip(&exact_gradient).map(|(a, b)| a - b).collect();
        // Total variation multiplies the rounding of z − u by the curvature 1/s = 100.
        let least = if matches!(loss, Loss::TotalVariation { .. }) { 1.0 } else { 0.1 };
        let allowed = 1e-5 * norm(&exact_gradient).max(least);
        prop_assert!(norm(&error) <= allowed, "{} at {:?}", loss, point);
    }
}

#[test]
fn kinks_have_a_subgradient_of_zero_or_one_side() {
    assert_eq!(Point::of_number(2.0, 2.0).seeds::<f64>(&Loss::Absolute), (0.0, vec![0.0]));
    assert_eq!(Point::of_class(&[1.0], 1).seeds::<f64>(&Loss::Hinge), (0.0, vec![0.0]));
    let sharp = Loss::TotalVariation { smoothing: 0.0 };
    assert_eq!(Point::of_views(&[1.0], &[1.0]).seeds::<f64>(&sharp), (0.0, vec![0.0, 0.0]));
    let clipped = bounded(Loss::Squared, 4.0);
    assert_eq!(Point::of_number(2.0, 0.0).seeds::<f64>(&clipped), (4.0, vec![0.0]));
    assert_eq!(Point::of_number(5.0, 0.0).seeds::<f64>(&clipped), (4.0, vec![0.0]));
    assert_eq!(Point::of_number(1.0, 0.0).seeds::<f64>(&clipped), (1.0, vec![2.0]));
    // Of vectors the mean is clipped, not each number.
    let point = Point::of_vector(&[1.0, 3.0], &[0.0, 0.0]);
    assert_eq!(point.seeds::<f64>(&clipped), (4.0, vec![0.0, 0.0]));
    let point = Point::of_vector(&[0.0, 2.5], &[0.0, 0.0]);
    assert_eq!(point.seeds::<f64>(&clipped), (3.125, vec![0.0, 2.5]));
}

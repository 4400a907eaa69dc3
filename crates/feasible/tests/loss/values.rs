//! Values known in closed form, and numbers at the edge of the types.

use super::*;

#[track_caller]
fn close(found: f64, expected: f64, relative: f64) {
    assert!(
        (found - expected).abs() <= relative * expected.abs(),
        "{found:e} instead of {expected:e}"
    );
}

const ROUNDING: f64 = 4.0 * f64::EPSILON;

#[test]
fn cross_entropy_takes_logits_and_not_probabilities() {
    // Were the logits taken for probabilities, or squashed twice, these would be about 0.31 and 1.31.
    close(
        Point::of_class(&[10.0, -10.0], 0).value(&Loss::CrossEntropy),
        2.061_153_620_314_381e-9,
        1e-14,
    );
    close(
        Point::of_class(&[10.0, -10.0], 1).value(&Loss::CrossEntropy),
        20.00000000206115,
        ROUNDING,
    );
    close(Point::of_class(&[0.0; 10], 3).value(&Loss::CrossEntropy), 10f64.ln(), ROUNDING);
    close(
        Point::of_class(&[0.0, 3f64.ln(), 4f64.ln()], 1).value(&Loss::CrossEntropy),
        (8.0 / 3.0f64).ln(),
        ROUNDING,
    );
    close(Point::of_class(&[3f64.ln()], 1).value(&Loss::Logistic), (4.0 / 3.0f64).ln(), ROUNDING);
}

#[test]
fn cross_entropy_keeps_its_digits_when_nearly_certain() {
    // log(1 + 2e^{−40}) = 2e^{−40} to within its square.
    let point = Point::of_class(&[40.0, 0.0, 0.0], 0);
    close(point.value(&Loss::CrossEntropy), 2.0 * (-40f64).exp(), 1e-14);
    close(point.seeds::<f32>(&Loss::CrossEntropy).0, 2.0 * (-40f64).exp(), 1e-6);
}

#[test]
fn regression_losses_have_their_textbook_values() {
    let point = Point::of_number(3.0, 1.0);
    assert_eq!(point.value(&Loss::Squared), 4.0);
    assert_eq!(point.value(&Loss::Absolute), 2.0);
    assert_eq!(point.value(&Loss::Huber { delta: 3.0 }), 2.0);
    assert_eq!(point.value(&Loss::Huber { delta: 1.0 }), 1.5);
}

#[test]
fn of_vectors_a_loss_is_the_mean_over_the_coordinates() {
    // Residuals 2, −4 and 0.5.
    let point = Point::of_vector(&[3.0, 1.0, 0.0], &[1.0, 5.0, -0.5]);
    close(point.value(&Loss::Squared), (4.0 + 16.0 + 0.25) / 3.0, ROUNDING);
    close(point.value(&Loss::Absolute), 6.5 / 3.0, ROUNDING);
    close(point.value(&Loss::Huber { delta: 1.0 }), (1.5 + 3.5 + 0.125) / 3.0, ROUNDING);
    close(point.value(&Loss::Quantile { tau: 0.9 }), (0.2 + 3.6 + 0.05) / 3.0, ROUNDING);
    let counts = Point::of_vector(&[0.0, 2f64.ln()], &[0.0, 2.0]);
    close(counts.value(&Loss::Poisson), 0.5, ROUNDING);
    // A vector of one number is that number, to the bit.
    for loss in of_numbers().into_iter().flat_map(|loss| [loss.clone(), bounded(loss, 1.5)]) {
        for (f, y) in [(0.3, 1.7f32), (2.1, 0.2), (0.4, 0.4)] {
            let (one, alone) = (Point::of_vector(&[f], &[y]), Point::of_number(f, y));
            assert_eq!(one.seeds::<f32>(&loss), alone.seeds::<f32>(&loss), "{loss}");
            assert_eq!(one.seeds::<f64>(&loss), alone.seeds::<f64>(&loss), "{loss}");
        }
    }
}

#[test]
fn coordinates_have_weights_and_units_of_their_own() {
    // 2 hours late at 1/2 the weight, and 3 metres off in units of 1/4 m at 1/8 of it; the second number is not looked at.
    let (hours, metres) = ((0, 0.5, 1.0), (2, 0.125, 0.25));
    let point = Point::of_vector(&[3.0, 1.0, 0.0], &[1.0, 5.0, -3.0]);
    let of = |loss: &Loss| point.seeds::<f64>(&coordinates(loss, &[hours, metres]));
    assert_eq!(of(&Loss::Squared), (2.0 + 18.0, vec![2.0, 0.0, 12.0]));
    assert_eq!(of(&Loss::Absolute), (1.0 + 1.5, vec![0.5, 0.0, 0.5]));
    assert_eq!(of(&Loss::Huber { delta: 4.0 }), (1.0 + 5.0, vec![1.0, 0.0, 2.0]));
    // Of one coordinate, it is the loss of the number.
    assert_eq!(point.value(&coordinates(&Loss::Absolute, &[(1, 1.0, 1.0)])), 4.0);
    // Between views.
    let views = Point::of_views(&[3.0, 1.0, 0.0], &[1.0, 5.0, -3.0]);
    let between = coordinates(&Loss::SquaredDistance, &[hours, metres]);
    assert_eq!(views.seeds::<f64>(&between), (20.0, vec![2.0, 0.0, 12.0, -2.0, 0.0, -12.0]));
}

#[test]
fn a_quantile_costs_by_the_side_it_is_on() {
    let loss = Loss::Quantile { tau: 0.9 };
    close(Point::of_number(3.0, 1.0).value(&loss), 0.2, ROUNDING);
    close(Point::of_number(1.0, 3.0).value(&loss), 1.8, ROUNDING);
    assert_eq!(Point::of_number(1.0, 1.0).value(&loss), 0.0);
    // Of the numbers 1 to 10 the constant that costs least is the ninth decile: from the 9th to the 10th number.
    let cost =
        |f: f64| -> f64 { (1..=10).map(|y| Point::of_number(f, y as f32).value(&loss)).sum() };
    assert!(cost(9.5) < cost(8.9) && cost(9.5) < cost(10.1));
}

#[test]
fn poisson_deviance_has_its_textbook_values() {
    let deviance = |f: f64, y: f64| f.exp() - y * f - y + y * y.ln();
    for (f, y) in [(0.0, 3.0), (1.0, 2.0), (2.5, 0.5), (-3.0, 1.0), (5.0, 40.0)] {
        close(Point::of_number(f, y as f32).value(&Loss::Poisson), deviance(f, y), 1e-13);
    }
    close(Point::of_number(0.7, 0.0).value(&Loss::Poisson), 0.7f64.exp(), ROUNDING);
    // Near its minimum it is y d²/2, with all digits.
    let d = 1e-7;
    let found = Point::of_number(4f64.ln() + d, 4.0).value(&Loss::Poisson);
    assert!((found / (2.0 * d * d) - 1.0).abs() < 1e-2, "{found:e}");
}

#[test]
fn false_discovery_counts_what_is_predicted_and_leaves_the_rest_at_its_rate() {
    let loss = Loss::FalseDiscovery { class: 1, rate: 0.25 };
    for (z, y, value) in [(1.0, 1, 0.0), (1.0, 0, 1.0), (-1.0, 1, 0.25), (-1.0, 0, 0.25)] {
        assert_eq!(Point::of_class(&[z], y).value(&loss), value);
        assert_eq!(Point::of_class(&[0.0, z], y).value(&loss), value);
    }
    // p = 3/4.
    let smooth = Loss::SmoothedFalseDiscovery { class: 1, rate: 0.25 };
    close(Point::of_class(&[3f64.ln()], 1).value(&smooth), 0.25 - 0.75 * 0.25, 1e-14);
    close(Point::of_class(&[3f64.ln()], 0).value(&smooth), 0.25 + 0.75 * 0.75, 1e-14);
}

#[test]
fn margins_are_positive_for_class_one() {
    for (z, y, hinge) in
        [(0.5, 1, 0.5), (0.5, 0, 1.5), (2.0, 1, 0.0), (-2.0, 0, 0.0), (-2.0, 1, 3.0)]
    {
        let point = Point::of_class(&[z], y);
        assert_eq!(point.value(&Loss::Hinge), hinge);
        assert_eq!(point.value(&Loss::SquaredHinge), hinge * hinge);
    }
}

#[test]
fn probability_losses_have_their_textbook_values() {
    // p = (1/8, 3/8, 4/8).
    let logits = [0.0, 3f64.ln(), 4f64.ln()];
    close(Point::of_class(&logits, 1).value(&Loss::Brier), 0.5 * (1.0 + 25.0 + 16.0) / 64.0, 1e-14);
    close(Point::of_class(&logits, 1).value(&Loss::SmoothedError), 5.0 / 8.0, 1e-14);
    close(Point::of_class(&logits, 1).value(&Loss::Probability { class: 2 }), 0.5, 1e-14);
    // With one logit, Brier's score is (p − y)².
    close(Point::of_class(&[3f64.ln()], 0).value(&Loss::Brier), 9.0 / 16.0, 1e-14);
}

#[test]
fn divergences_have_their_textbook_values() {
    // p = (1/4, 3/4) and q = (1/2, 1/2).
    for (z, u) in [(vec![0.0, 3f64.ln()], vec![5.0, 5.0]), (vec![3f64.ln()], vec![0.0])] {
        let point = Point::of_views(&z, &u);
        let forth = 0.25 * 0.5f64.ln() + 0.75 * 1.5f64.ln();
        let back = 0.5 * 2f64.ln() + 0.5 * (2.0 / 3.0f64).ln();
        close(point.value(&Loss::Kl), forth, 1e-14);
        close(Point::of_views(&u, &z).value(&Loss::Kl), back, 1e-14);
        close(point.value(&Loss::SymmetricKl), 0.5 * (forth + back), 1e-14);
        close(point.value(&Loss::TotalVariation { smoothing: 0.0 }), 0.25, 1e-14);
        let smoothing = 0.1;
        let smoothed = 0.25f64.hypot(smoothing) - smoothing;
        close(point.value(&Loss::TotalVariation { smoothing }), smoothed, 1e-14);
    }
    assert_eq!(Point::of_views(&[1.0, 2.0], &[4.0, -2.0]).value(&Loss::SquaredDistance), 25.0);
}

#[test]
fn predictions_are_the_largest_logit_and_the_first_of_equals() {
    let predicted = |z: &[f64]| {
        let hit = |&c: &u32| Point::of_class(z, 0).value(&Loss::Selected { class: c }) == 1.0;
        (0..z.len().max(2) as u32).filter(hit).collect::<Vec<_>>()
    };
    assert_eq!(predicted(&[1.0, 3.0, 2.0]), [1]);
    assert_eq!(predicted(&[1.0, 3.0, 3.0]), [1]);
    assert_eq!(predicted(&[0.0]), [0]);
    assert_eq!(predicted(&[1e-300]), [1]);
    assert_eq!(Point::of_class(&[1.0, 3.0], 1).value(&Loss::Error), 0.0);
    assert_eq!(Point::of_class(&[1.0, 3.0], 0).value(&Loss::Error), 1.0);
    assert_eq!(Point::of_views(&[1.0, 3.0], &[0.0, 9.0]).value(&Loss::Flip), 0.0);
    assert_eq!(Point::of_views(&[1.0], &[-1.0]).value(&Loss::Flip), 1.0);
}

#[test]
fn a_divergence_of_64_does_not_underflow() {
    // p = (½, ½), q = (e^{−128}, 1) nearly: KL = 64 − log 2.
    let exact = 64.0 - 2f64.ln();
    for (z, u) in [(vec![0.0, 0.0], vec![0.0, 128.0]), (vec![0.0], vec![128.0])] {
        let (single, gradient) = Point::of_views(&z, &u).seeds::<f32>(&Loss::Kl);
        close(single, exact, 1e-6);
        assert!(norm(&gradient) > 30.0);
    }
    let three = Point::of_views(&[0.0, 0.0, -200.0], &[0.0, 128.0, 0.0]);
    close(three.seeds::<f32>(&Loss::Kl).0, exact, 1e-6);
}

#[test]
fn a_divergence_of_1e_8_is_accurate_in_single_precision() {
    for (z, u) in [
        (vec![0.3f32, -0.4], vec![0.3f32, -0.4003]),
        (vec![0.7], vec![0.7003]),
        (vec![0.3, -0.4, 5.0], vec![0.3002, -0.4001, 5.0]),
        (vec![9.0, 0.0], vec![9.005, 0.0]),
    ] {
        let wide = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
        let point = Point::of_views(&wide(&z), &wide(&u));
        for loss in [Loss::Kl, Loss::SymmetricKl, bounded(Loss::Kl, 20.0)] {
            let (exact, exact_gradient) = point.seeds::<f64>(&loss);
            let (single, gradient) = point.seeds::<f32>(&loss);
            assert!((1e-10..1e-7).contains(&exact), "{exact}");
            close(single, exact, 2e-6);
            for (a, b) in gradient.iter().zip(exact_gradient) {
                close(*a, b, 1e-5);
            }
        }
    }
}

#[test]
fn a_divergence_of_1e_8_in_double_precision_is_that_of_its_expansion() {
    // KL = ½ p₀p₁δ² + O(δ³), with δ = 1e-7 to seven digits.
    let (z, delta) = (0.7f64, 1e-7);
    let p = 1.0 / (1.0 + (-z).exp());
    let expected = 0.5 * p * (1.0 - p) * delta * delta;
    close(Point::of_views(&[z], &[z + delta]).value(&Loss::Kl), expected, 1e-6);
    close(
        Point::of_views(&[0.0, z, -90.0], &[0.0, z + delta, -90.0]).value(&Loss::Kl),
        expected,
        1e-6,
    );
}

#[test]
fn a_count_expected_beyond_all_numbers_is_infinitely_wrong() {
    let targets = Targets::Values(vec![1.4]);
    let point = Point { at: vec![2.6e38], against: Vec::new(), targets };
    for (value, gradient) in
        [point.seeds::<f64>(&Loss::Poisson), point.seeds::<f32>(&Loss::Poisson)]
    {
        assert_eq!((value, &gradient[..]), (f64::INFINITY, &[f64::INFINITY][..]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..config() })]

    #[test]
    fn no_finite_output_gives_nan_or_a_negative_value(
        (loss, width) in proptest::sample::select(every_loss()),
        exponent in 0.0..38.5f64,
        mut numbers in numbers(),
    ) {
        // A third of the outputs stay small.
        let scale = 10f64.powf(exponent).min(f64::from(f32::MAX));
        for x in numbers.iter_mut().step_by(3) {
            *x /= scale;
        }
        let point = point(&loss, width, scale, &numbers);
        for (value, gradient) in [point.seeds::<f64>(&loss), point.seeds::<f32>(&loss)] {
            prop_assert!(value >= 0.0, "{}: {} at {:?}", loss, value, point);
            prop_assert!(!gradient.iter().any(|g| g.is_nan()), "{}: {:?} at {:?}", loss, gradient, point);
        }
    }

    #[test]
    fn equal_views_have_exactly_no_distance(numbers in numbers(), scale in 0.0..100.0f64) {
        let pairs = every_loss().into_iter().filter(|(loss, _)| loss.compares_views());
        for (loss, width) in pairs {
            let mut point = point(&loss, width, scale, &numbers);
            point.against = point.at.clone();
            for (value, gradient) in [point.seeds::<f64>(&loss), point.seeds::<f32>(&loss)] {
                prop_assert_eq!(value, 0.0, "{}", loss);
                prop_assert_eq!(norm(&gradient), 0.0, "{}", loss);
            }
        }
    }

    #[test]
    fn one_logit_is_the_pair_of_zero_and_it(z in -30.0..30.0f64, u in -30.0..30.0f64, y in 0u32..2) {
        let losses = every_loss().into_iter().filter(|(loss, width)| *width == 1 && loss.check(2, &Targets::Classes(vec![1])).is_ok());
        for (loss, _) in losses {
            let views = |x: &[f64], v: &[f64]| match loss.compares_views() {
                true => Point { targets: alone(Target::Class(y)), ..Point::of_views(x, v) },
                false => Point::of_class(x, y),
            };
            let (one, by_one) = views(&[z], &[u]).seeds::<f64>(&loss);
            let (two, by_two) = views(&[0.0, z], &[0.0, u]).seeds::<f64>(&loss);
            prop_assert!((one - two).abs() <= 1e-13 * one.abs(), "{}: {} {}", loss, one, two);
            for (a, b) in by_one.iter().zip(by_two.iter().skip(1).step_by(2)) {
                prop_assert!((a - b).abs() <= 1e-13 * norm(&by_one) + 1e-300, "{}: {} {}", loss, a, b);
            }
        }
    }

    #[test]
    fn two_classes_are_three_with_an_impossible_one(numbers in numbers(), scale in 0.0..20.0f64) {
        // The plain loops of three classes against the special code for two. Differences of
        // logits up to 20 are rounded to 4e-15, and the slope of KL is at most its square root.
        for loss in [Loss::CrossEntropy, Loss::Kl] {
            let two = point(&loss, 2, scale, &numbers);
            let mut three = two.clone();
            three.at.push(-1e4);
            if loss.compares_views() {
                three.against.push(-1e4);
            }
            let (a, by_a) = two.seeds::<f64>(&loss);
            let (b, by_b) = three.seeds::<f64>(&loss);
            prop_assert!((a - b).abs() <= 1e-12 * a + 1e-14 * a.sqrt(), "{}: {} {}", loss, a, b);
            for (j, g) in by_a.iter().enumerate() {
                prop_assert!((g - by_b[j + j / 2]).abs() <= 1e-12 * norm(&by_a) + 1e-14, "{}: {:?} {:?}", loss, by_a, by_b);
            }
        }
    }
}

#[test]
fn a_large_offset_of_one_view_does_not_swallow_the_other() {
    for (z, u) in
        [(vec![-0.9, 0.9], vec![1e30, 1e30]), (vec![-0.9, 0.9, -1e4], vec![1e30, 1e30, -1e30])]
    {
        let alone = Point::of_views(&[-0.9, 0.9], &[0.0, 0.0]);
        let point = Point::of_views(&z, &u);
        for loss in [Loss::Kl, Loss::SymmetricKl, Loss::TotalVariation { smoothing: 0.1 }] {
            close(point.value(&loss), alone.value(&loss), 1e-14);
            close(point.seeds::<f32>(&loss).0, alone.value(&loss), 1e-6);
        }
    }
}

fn plain(loss: &Loss) -> &Loss {
    match loss {
        Loss::Bounded(bounded) => bounded.loss(),
        loss => loss,
    }
}

#[test]
fn diverged_outputs_are_not_hidden() {
    for (loss, width) in every_loss() {
        let mut point = point(&loss, width, 1.0, &[0.3; 41]);
        // Of one coordinate, the others are of no concern.
        point.at[usize::from(matches!(plain(&loss), Loss::Coordinates(_)))] = f64::NAN;
        assert!(point.value(&loss).is_nan(), "{loss}");
    }
}

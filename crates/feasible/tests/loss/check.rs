//! What fits, what does not, and what is said about it.

use super::*;
use feasible::Error;

#[track_caller]
fn refused(loss: &Loss, width: usize, targets: &Targets, message: &str) {
    assert_eq!(loss.check(width, targets).unwrap_err(), message);
}

#[test]
fn every_loss_fits_the_rows_it_is_tested_with() {
    for (loss, width) in every_loss() {
        let targets = point(&loss, width, 1.0, &[0.5; 41]).targets;
        if !matches!(&loss, Loss::Bounded(b) if b.floors() && b.bound() < (width as f64).ln()) {
            assert_eq!(loss.check(width, &targets), Ok(()), "{loss} with {width} outputs");
        }
    }
}

#[test]
fn a_misfit_says_what_was_found_and_what_to_do() {
    let classes = Targets::Classes(vec![0, 3, 1]);
    let numbers = Targets::Values(vec![0.5]);
    let below = "needs class targets below 2, found class 3: number the classes from 0, or give the model more outputs";
    for width in [1, 2] {
        refused(&Loss::CrossEntropy, width, &classes, below);
    }
    refused(&Loss::Hinge, 1, &classes, below);
    let wanted = "needs class targets, found numbers: give the targets as classes, or use a loss for numbers such as squared error";
    for loss in [Loss::CrossEntropy, Loss::Brier, Loss::SmoothedError, Loss::Error] {
        refused(&loss, 3, &numbers, wanted);
        assert!(loss.check(4, &classes).is_ok());
    }
    refused(&Loss::Logistic, 1, &numbers, wanted);
    let one = "needs a model with 1 output, found 4: use cross-entropy for several classes";
    for loss in [Loss::Logistic, Loss::Hinge, Loss::SquaredHinge] {
        refused(&loss, 4, &classes, one);
    }
    let wanted = "needs numeric targets, found classes: give the targets as values, or use a loss for classes such as cross-entropy";
    for loss in [
        Loss::Squared,
        Loss::Absolute,
        Loss::Huber { delta: 1.0 },
        Loss::Quantile { tau: 0.5 },
        Loss::Poisson,
    ] {
        refused(&loss, 1, &classes, wanted);
        refused(
            &loss,
            2,
            &numbers,
            "needs a model with 1 output, found 2: give the model one output",
        );
    }
    let vectors = Targets::Vectors(Vectors::new(vec![0.5, 1.0, 2.0, 3.0, 4.0, 5.0], 3).unwrap());
    for loss in of_numbers() {
        assert!(loss.check(3, &vectors).is_ok());
        let few = "needs a model with 3 outputs, one for each number of a target, found 1: give the model as many";
        refused(&loss, 1, &vectors, few);
        refused(&coordinates(&loss, &[(0, 1.0, 1.0)]), 1, &vectors, few);
        let last = coordinates(&loss, &[(1, 1.0, 1.0), (3, 1.0, 1.0)]);
        let beyond = "is of output 3, counted from 0, of a model with 3 outputs";
        refused(&last, 3, &vectors, beyond);
        let one = coordinates(&loss, &[(0, 1.0, 1.0)]);
        let several = "needs several numbers as targets: give the targets as vectors";
        refused(&one, 1, &numbers, several);
    }
    refused(
        &Loss::CrossEntropy,
        3,
        &vectors,
        "needs class targets, found numbers: give the targets as classes, or use a loss for numbers such as squared error",
    );
    let zero = "needs outputs, but the model has none";
    refused(&Loss::Kl, 0, &classes, zero);
}

#[test]
fn a_parameter_out_of_range_is_named() {
    let classes = Targets::Classes(vec![0]);
    let numbers = Targets::Values(vec![0.5]);
    refused(&Loss::Huber { delta: 0.0 }, 1, &numbers, "needs a finite delta above 0, found 0");
    refused(
        &Loss::Huber { delta: f64::NAN },
        1,
        &numbers,
        "needs a finite delta above 0, found NaN",
    );
    for tau in [0.0, 1.0, f64::NAN] {
        let message = format!("needs a quantile between 0 and 1, found {tau}");
        refused(&Loss::Quantile { tau }, 1, &numbers, &message);
    }
    let negative = Targets::Values(vec![0.0, 2.0, -3.0]);
    let message = "needs counts of at least 0, found -3 in row 2: use another loss";
    refused(&Loss::Poisson, 1, &negative, message);
    let negative = Targets::Vectors(Vectors::new(vec![0.0, 2.0, -3.0, 1.0], 2).unwrap());
    let message = "needs counts of at least 0, found -3 in row 1: use another loss";
    refused(&Loss::Poisson, 2, &negative, message);
    refused(&coordinates(&Loss::Poisson, &[(0, 1.0, 1.0)]), 2, &negative, message);
    assert!(coordinates(&Loss::Poisson, &[(1, 1.0, 1.0)]).check(2, &negative).is_ok());
    let discovery = Loss::FalseDiscovery { class: 1, rate: 1.5 };
    refused(&discovery, 2, &classes, "needs a rate between 0 and 1, found 1.5");
    let smoothing = Loss::TotalVariation { smoothing: -0.1 };
    refused(&smoothing, 1, &classes, "needs a finite smoothing of at least 0, found -0.1");
    for loss in [Loss::Probability { class: 2 }, Loss::Selected { class: 2 }] {
        refused(
            &loss,
            1,
            &classes,
            "needs a class below 2, the number of classes of 1 output; found class 2",
        );
        refused(
            &loss,
            2,
            &classes,
            "needs a class below 2, the number of classes of 2 outputs; found class 2",
        );
        assert!(loss.check(3, &classes).is_ok());
    }
    let low = bounded(Loss::CrossEntropy, 2.0);
    assert!(low.check(7, &classes).is_ok());
    refused(
        &low,
        8,
        &classes,
        "needs a bound above ln 8 = 2.079, the cross-entropy of a uniform guess among 8 classes: raise the bound",
    );
    refused(
        &bounded(Loss::Squared, 2.0),
        2,
        &numbers,
        "needs a model with 1 output, found 2: give the model one output",
    );
}

#[test]
fn coordinates_that_make_no_sense_are_refused() {
    let refused = |loss: Loss, terms: &[(usize, f64, f64)]| {
        let terms = terms.iter().map(|&(index, weight, unit)| Coordinate { index, weight, unit });
        loss.of_coordinates("both", terms.collect()).unwrap_err().to_string()
    };
    assert_eq!(
        refused(Loss::Kl, &[(0, 1.0, 1.0)]),
        "both: KL divergence is not of numbers: take one such as squared error"
    );
    assert_eq!(refused(Loss::Squared, &[]), "number of coordinates = 0: must be at least 1");
    assert_eq!(
        refused(Loss::Squared, &[(1, 1.0, 1.0), (1, 2.0, 1.0)]),
        "both: squared error has coordinate 1 twice: merge them"
    );
    for x in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let end = format!("of coordinate 2 = {x}: must be positive and finite");
        assert_eq!(refused(Loss::Squared, &[(2, x, 1.0)]), format!("weight {end}"));
        assert_eq!(refused(Loss::Squared, &[(2, 1.0, x)]), format!("unit {end}"));
    }
    assert_eq!(
        refused(Loss::Poisson, &[(0, 1.0, 2.0)]),
        "unit of coordinate 0 = 2: must be 1: counts have no other unit"
    );
}

#[test]
fn a_bound_that_makes_no_sense_is_refused() {
    for bound in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let Err(Error::Setting { setting, allowed, .. }) = Loss::Squared.bounded(bound) else {
            panic!("{bound} was accepted");
        };
        assert_eq!(setting, "bound of squared error");
        assert_eq!(allowed, "finite and above 0");
    }
    for loss in [Loss::CrossEntropy, Loss::Logistic, Loss::Kl, Loss::SymmetricKl] {
        let message = loss.clone().bounded(0.69).unwrap_err().to_string();
        assert_eq!(
            message,
            format!(
                "bound of {loss} = 0.69: must be above ln 2 = 0.693..., the cross-entropy of a fair coin"
            )
        );
        assert!(loss.bounded(0.7).is_ok());
    }
    for loss in [Loss::Brier, Loss::Error, Loss::SmoothedError, Loss::Flip] {
        let message = loss.clone().bounded(0.5).unwrap_err().to_string();
        assert_eq!(message, format!("bound of {loss} = 0.5: must be at least 1, its own bound"));
    }
}

#[test]
fn a_loss_with_a_bound_of_its_own_stays_as_it_is() {
    for loss in [Loss::Brier, Loss::Flip, Loss::TotalVariation { smoothing: 0.5 }] {
        assert_eq!(loss.clone().bounded(1.0).unwrap().name(), loss.name());
    }
    let twice = bounded(bounded(Loss::Kl, 5.0), 3.0);
    assert_eq!(twice.name(), "KL divergence (bounded by 3)");
    assert_eq!(bounded(twice, 4.0).name(), "KL divergence (bounded by 3)");
}

#[test]
fn names_are_what_people_call_them() {
    let names: Vec<String> = [
        Loss::CrossEntropy,
        Loss::Huber { delta: 0.5 },
        Loss::Probability { class: 1 },
        Loss::Selected { class: 0 },
        bounded(Loss::Kl, 5.0),
        Loss::TotalVariation { smoothing: 0.01 },
    ]
    .iter()
    .map(Loss::name)
    .collect();
    assert_eq!(
        names,
        [
            "cross-entropy",
            "Huber loss (delta 0.5)",
            "probability of class 1",
            "selection of class 0",
            "KL divergence (bounded by 5)",
            "total variation (smoothing 0.01)",
        ]
    );
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_bound_that_grows_gives_the_loss_itself((loss, point) in loss_and_point(vec![
        (Loss::CrossEntropy, 1), (Loss::CrossEntropy, 3), (Loss::Logistic, 1), (Loss::Kl, 1), (Loss::Kl, 2),
        (Loss::Kl, 4), (Loss::SymmetricKl, 3), (Loss::SquaredDistance, 2), (Loss::Hinge, 1),
    ])) {
        let (exact, exact_gradient) = point.seeds::<f64>(&loss);
        // The last two floors underflow in f32, and in f64.
        for (bound, relative) in [(40.0, 1e-8), (60.0, 1e-9), (200.0, 1e-9), (1000.0, 1e-9)] {
            let (value, gradient) = point.seeds::<f64>(&bounded(loss.clone(), bound.max(exact + 1.0)));
            prop_assert!((value - exact).abs() <= relative * exact.max(1.0), "{} {} {}", loss, value, exact);
            for (a, b) in gradient.iter().zip(&exact_gradient) {
                prop_assert!((a - b).abs() <= relative * (1.0 + norm(&exact_gradient)), "{}", loss);
            }
        }
    }
}

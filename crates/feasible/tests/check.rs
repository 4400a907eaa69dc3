//! Gradients of a user's own are checked.

use std::sync::Arc;

use feasible::check::{GradientCheck, loss_gradient};
use feasible::loss::{CustomLoss, Properties};
use feasible::{Loss, Target};

/// A squared loss whose gradient lacks the 2.
#[derive(Debug)]
struct Wrong;

impl CustomLoss for Wrong {
    fn name(&self) -> String {
        "wrong".into()
    }

    fn value(&self, at: &[f64], _: &[f64], _: Target<'_>) -> f64 {
        at[0] * at[0]
    }

    fn gradient(&self, at: &[f64], _: &[f64], _: Target<'_>, by_at: &mut [f64], _: &mut [f64]) {
        by_at[0] = at[0];
    }

    fn properties(&self, _: usize) -> Properties {
        Properties::default()
    }
}

#[test]
fn a_wrong_gradient_of_a_loss_is_found() {
    let wrong = Loss::Custom(Arc::new(Wrong));
    let found = loss_gradient(&wrong, &[3.0], &[], Target::Value(0.0));
    assert!((found.relative_error() - 0.5).abs() < 1e-9, "{found:?}");
    assert!((found.differences[0] - 6.0).abs() < 1e-9, "{found:?}");
    let nan = GradientCheck { gradient: vec![f64::NAN], differences: vec![1.0] };
    assert_eq!(nan.relative_error(), f64::INFINITY);
}

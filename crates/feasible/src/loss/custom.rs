//! Losses of the user's own.

use std::cell::RefCell;
use std::fmt::Debug;

use super::Properties;
use super::row::{Row, RowLoss};
use crate::real::Real;
use crate::samples::{Target, Targets};

/// A loss on outputs, given by its value and gradient at one sample, in `f64`.
///
/// ```
/// use std::sync::Arc;
/// use feasible::loss::{CustomLoss, Loss};
/// use feasible::Target;
///
/// /// Overestimating costs three times as much as underestimating.
/// #[derive(Debug)]
/// struct Pinball;
///
/// impl CustomLoss for Pinball {
///     fn name(&self) -> String {
///         "pinball loss".into()
///     }
///     fn value(&self, at: &[f64], _: &[f64], target: Target<'_>) -> f64 {
///         let Target::Value(y) = target else { return f64::NAN };
///         let r = at[0] - f64::from(y);
///         if r > 0.0 { 3.0 * r } else { -r }
///     }
///     fn gradient(&self, at: &[f64], _: &[f64], target: Target<'_>, by_at: &mut [f64], _: &mut [f64]) {
///         let Target::Value(y) = target else { return };
///         by_at[0] = if at[0] > f64::from(y) { 3.0 } else { -1.0 };
///     }
/// }
///
/// let loss = Loss::Custom(Arc::new(Pinball)).bounded(10.0)?;
/// assert_eq!(loss.to_string(), "pinball loss (bounded by 10)");
/// # Ok::<(), feasible::Error>(())
/// ```
pub trait CustomLoss: Debug + Send + Sync {
    /// What it is called in messages and reports.
    fn name(&self) -> String;

    /// ℓ ≥ 0 at the outputs `at`. `against` is empty unless the loss compares views.
    fn value(&self, at: &[f64], against: &[f64], target: Target<'_>) -> f64;

    /// Writes ∂ℓ/∂at and ∂ℓ/∂against; both come filled with 0.
    fn gradient(
        &self,
        at: &[f64],
        against: &[f64],
        target: Target<'_>,
        by_at: &mut [f64],
        by_against: &mut [f64],
    );

    /// Whether it is a loss between two views. Default: no.
    fn compares_views(&self) -> bool {
        false
    }

    /// Whether its gradient shows how to lower it. Default: yes.
    fn is_differentiable(&self) -> bool {
        true
    }

    /// What is known of it for `width` outputs. Default: nothing.
    fn properties(&self, width: usize) -> Properties {
        let _ = width;
        Properties::default()
    }

    /// Whether it fits `width` outputs and these targets; if not, why, and what would. Default: yes.
    ///
    /// # Errors
    /// The reason, as the end of a sentence that starts with the name of the loss.
    fn check(&self, width: usize, targets: &Targets) -> Result<(), String> {
        let _ = (width, targets);
        Ok(())
    }
}

/// A custom loss row by row, through `f64` copies.
pub(super) struct CustomRows<'a> {
    loss: &'a dyn CustomLoss,
    pair: bool,
    width: usize,
    /// at, against and their gradients, each of the width.
    copies: RefCell<Vec<f64>>,
}

impl<'a> CustomRows<'a> {
    pub fn new(loss: &'a dyn CustomLoss, width: usize) -> Self {
        let copies = RefCell::new(vec![0.0; 4 * width]);
        Self { loss, pair: loss.compares_views(), width, copies }
    }
}

impl<T: Real> RowLoss<T> for CustomRows<'_> {
    fn pair(&self) -> bool {
        self.pair
    }

    fn value(&self, row: Row<'_, T>) -> T {
        let mut copies = self.copies.borrow_mut();
        let (at, against) = copies.split_at_mut(self.width);
        let against = &mut against[..row.against.len()];
        copy(row.at, at);
        copy(row.against, against);
        T::from_f64(self.loss.value(at, against, row.target))
    }

    fn seed(&self, row: Row<'_, T>, weight: T, seeds_at: &mut [T], seeds_against: &mut [T]) -> T {
        let value = self.value(row);
        let mut copies = self.copies.borrow_mut();
        let (outputs, gradients) = copies.split_at_mut(2 * self.width);
        let (at, against) = outputs.split_at(self.width);
        let against = &against[..row.against.len()];
        gradients.fill(0.0);
        let (by_at, by_against) = gradients.split_at_mut(self.width);
        let by_against = &mut by_against[..row.against.len()];
        self.loss.gradient(at, against, row.target, by_at, by_against);
        add(weight, by_at, seeds_at);
        add(weight, by_against, seeds_against);
        value
    }
}

fn copy<T: Real>(from: &[T], to: &mut [f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = from.to_f64();
    }
}

fn add<T: Real>(weight: T, gradient: &[f64], seeds: &mut [T]) {
    for (seed, &g) in seeds.iter_mut().zip(gradient) {
        *seed += weight * T::from_f64(g);
    }
}

//! Losses made bounded, for the theory and the certificates.
//!
//! A loss that is a logarithm of probabilities sees them floored and stays smooth. Any
//! other loss is clipped, min(ℓ, B): beyond B its gradient is 0.

use serde::{Deserialize, Serialize};

use super::coordinates::{self, Terms};
use super::floor::{self, Floor};
use super::row::{Row, RowLoss, RowPass};
use super::{Loss, classification, custom, pair, regression};
use crate::error::{Error, Result};
use crate::real::Real;

/// A loss kept in [0, B]; made by [`Loss::bounded`].
///
/// ```
/// use feasible::Loss;
/// use feasible::loss::{Bounded, Properties};
/// let Loss::Bounded(bounded) = Loss::CrossEntropy.bounded(4.0)? else { unreachable!() };
/// let of: &Bounded = &bounded;
/// assert!(of.floors() && of.bound() == 4.0 && matches!(of.loss(), Loss::CrossEntropy));
/// let Properties { convex, lipschitz, bound } = Loss::CrossEntropy.properties(2);
/// assert_eq!((convex, lipschitz, bound), (true, Some(2f64.sqrt()), None));
/// assert_eq!(Loss::Bounded(bounded).properties(2).bound, Some(4.0));
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bounded {
    pub(super) loss: Box<Loss>,
    pub(super) bound: f64,
}

impl Bounded {
    pub(super) fn of(loss: Loss, bound: f64) -> Result<Loss> {
        let name = format!("bound of {loss}");
        Error::unless(bound > 0.0 && bound.is_finite(), &name, bound, "finite and above 0")?;
        if let Loss::Bounded(inner) = &loss
            && bound < inner.bound
        {
            return Self::of(inner.loss.as_ref().clone(), bound);
        }
        // What a loss of the user's own says of itself may depend on the width: it is clipped.
        if !matches!(loss, Loss::Custom(_))
            && let Some(own) = loss.properties(1).bound
        {
            let allowed = format!("at least {own}, its own bound");
            Error::unless(bound >= own, &name, bound, &allowed)?;
            return Ok(loss);
        }
        let bounded = Self { loss: Box::new(loss), bound };
        if bounded.floors() {
            let allowed = "above ln 2 = 0.693..., the cross-entropy of a fair coin";
            Error::unless(bound > std::f64::consts::LN_2, &name, bound, allowed)?;
        }
        Ok(Loss::Bounded(bounded))
    }

    /// The loss before it was bounded.
    pub fn loss(&self) -> &Loss {
        &self.loss
    }

    /// B.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Whether probabilities are floored (otherwise the loss is clipped).
    pub fn floors(&self) -> bool {
        matches!(*self.loss, Loss::CrossEntropy | Loss::Logistic | Loss::Kl | Loss::SymmetricKl)
    }

    pub(super) fn dispatch<T: Real>(&self, width: usize, pass: impl RowPass<T>) {
        let flooring = || Floor::new(self.bound, width.max(2));
        let bound = T::from_f64(self.bound);
        match &*self.loss {
            Loss::Squared
            | Loss::Absolute
            | Loss::Huber { .. }
            | Loss::Quantile { .. }
            | Loss::Poisson
                if pass.is_of_vectors() =>
            {
                coordinates::dispatch(&self.loss, Terms::Mean { of: width }, Some(bound), pass);
            }
            Loss::Coordinates(of) => {
                coordinates::dispatch(of.loss(), Terms::Given(of.terms()), Some(bound), pass);
            }
            Loss::CrossEntropy | Loss::Logistic => pass.over(&floor::CrossEntropy(flooring())),
            Loss::Kl => pass.over(&floor::Kl(flooring())),
            Loss::SymmetricKl => pass.over(&floor::SymmetricKl(flooring())),
            Loss::Squared => pass.over(&Clipped { loss: regression::Squared, bound }),
            Loss::Absolute => pass.over(&Clipped { loss: regression::Absolute, bound }),
            Loss::Huber { delta } => {
                let loss = regression::Huber { delta: T::from_f64(*delta) };
                pass.over(&Clipped { loss, bound });
            }
            Loss::Quantile { tau } => {
                let loss = regression::Quantile { tau: T::from_f64(*tau) };
                pass.over(&Clipped { loss, bound });
            }
            Loss::Poisson => pass.over(&Clipped { loss: regression::Poisson, bound }),
            Loss::Hinge => {
                pass.over(&Clipped { loss: classification::Hinge { squared: false }, bound });
            }
            Loss::SquaredHinge => {
                pass.over(&Clipped { loss: classification::Hinge { squared: true }, bound });
            }
            Loss::SquaredDistance => pass.over(&Clipped { loss: pair::SquaredDistance, bound }),
            Loss::Custom(loss) => {
                pass.over(&Clipped { loss: custom::CustomRows::new(&**loss, width), bound });
            }
            bounded => bounded.dispatch(width, pass),
        }
    }
}

/// min(ℓ, B).
pub(super) struct Clipped<L, T> {
    pub loss: L,
    pub bound: T,
}

impl<T: Real, L: RowLoss<T>> RowLoss<T> for Clipped<L, T> {
    #[inline(always)]
    fn pair(&self) -> bool {
        self.loss.pair()
    }

    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        let value = self.loss.value(row);
        if value > self.bound { self.bound } else { value }
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], against: &mut [T]) -> T {
        if self.loss.value(row) >= self.bound {
            return self.bound;
        }
        self.loss.seed(row, weight, at, against)
    }
}

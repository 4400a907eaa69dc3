//! Losses of several numbers: Σ_j w_j ℓ((f_j − y_j)/u_j).
//!
//! A loss of one number, taken of vectors, is the mean over their k coordinates: all w_j = 1/k, all u_j = 1. It is a
//! mean rather than a sum so that limits and bounds mean the same for two numbers and for twenty. Numbers
//! in different units do not add up; [`Coordinates`] gives each its unit and its weight, or picks one of them.

use serde::{Deserialize, Serialize};

use super::bounded::Clipped;
use super::regression::{self, OfNumber};
use super::row::{Row, RowLoss, RowPass};
use super::{Loss, Properties};
use crate::error::{Error, Result};
use crate::real::Real;

/// One number of a vector, as a loss counts it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coordinate {
    /// Which output, and which number of the target, from 0.
    pub index: usize,
    /// w > 0.
    pub weight: f64,
    /// u > 0: what counts as a difference of 1.
    pub unit: f64,
}

/// A loss of some numbers of vectors; made by [`Loss::of_coordinates`].
///
/// ```
/// use feasible::Loss;
/// use feasible::loss::{Coordinate, Coordinates};
/// let term = Coordinate { index: 2, weight: 1.0, unit: 1.0 };
/// let Loss::Coordinates(of) = Loss::Squared.of_coordinates("z", vec![term])? else { unreachable!() };
/// let of: &Coordinates = &of;
/// assert!(matches!(of.loss(), Loss::Squared) && of.label() == "z" && of.terms() == [term]);
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Coordinates {
    loss: Box<Loss>,
    label: String,
    terms: Vec<Coordinate>,
}

impl Coordinates {
    pub(super) fn of(loss: Loss, label: String, terms: Vec<Coordinate>) -> Result<Loss> {
        let wrong = |reason: &str| {
            let (requirement, loss) = (label.clone(), loss.to_string());
            Error::LossMismatch { requirement, loss, reason: reason.into() }
        };
        let is_of_numbers = matches!(
            loss,
            Loss::Squared
                | Loss::Absolute
                | Loss::Huber { .. }
                | Loss::Quantile { .. }
                | Loss::Poisson
                | Loss::SquaredDistance
        );
        if !is_of_numbers {
            return Err(wrong("is not of numbers: take one such as squared error"));
        }
        Error::unless(!terms.is_empty(), "number of coordinates", 0.0, "at least 1")?;
        for (at, term) in terms.iter().enumerate() {
            if terms[..at].iter().any(|other| other.index == term.index) {
                return Err(wrong(&format!("has coordinate {} twice: merge them", term.index)));
            }
            for (what, x) in [("weight", term.weight), ("unit", term.unit)] {
                let name = format!("{what} of coordinate {}", term.index);
                Error::unless(x > 0.0 && x.is_finite(), &name, x, "positive and finite")?;
            }
            if matches!(loss, Loss::Poisson) {
                let name = format!("unit of coordinate {}", term.index);
                Error::unless(term.unit == 1.0, &name, term.unit, "1: counts have no other unit")?;
            }
        }
        Ok(Loss::Coordinates(Self { loss: Box::new(loss), label, terms }))
    }

    /// The loss of each number.
    pub fn loss(&self) -> &Loss {
        &self.loss
    }

    /// What the numbers are called together.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The numbers, with weights and units.
    pub fn terms(&self) -> &[Coordinate] {
        &self.terms
    }

    /// √(Σ (w/u)²), the length of the gradient where all slopes are 1.
    fn slope(&self) -> f64 {
        self.terms.iter().map(|of| (of.weight / of.unit).powi(2)).sum::<f64>().sqrt()
    }

    /// The largest w/u².
    fn curvature(&self) -> f64 {
        self.terms.iter().map(|of| of.weight / of.unit / of.unit).fold(0.0, f64::max)
    }

    pub(super) fn properties(&self) -> Properties {
        let one = self.loss.properties(1);
        Properties { lipschitz: one.lipschitz.map(|slope| slope * self.slope()), ..one }
    }

    /// The Lipschitz constant of min(ℓ, B). As the square of a slope of a squared loss is four times its value, and of a Huber
    /// loss at most twice, ‖∇‖² = Σ (w ℓ'/u)² is at most so many times max(w/u²) Σ w ℓ, and Σ w ℓ ≤ B.
    pub(super) fn clipped_lipschitz(&self, bound: f64) -> Option<f64> {
        match *self.loss {
            Loss::Squared => Some(2.0 * (bound * self.curvature()).sqrt()),
            Loss::SquaredDistance => Some((8.0 * bound * self.curvature()).sqrt()),
            Loss::Huber { delta } => {
                Some((delta * self.slope()).min((2.0 * bound * self.curvature()).sqrt()))
            }
            _ => self.properties().lipschitz,
        }
    }
}

/// The numbers that a loss is of.
#[derive(Clone, Copy)]
pub(super) enum Terms<'a> {
    /// All `of` them alike.
    Mean { of: usize },
    /// Some.
    Given(&'a [Coordinate]),
}

impl Terms<'_> {
    #[inline(always)]
    fn len(self) -> usize {
        match self {
            Self::Mean { of } => of,
            Self::Given(terms) => terms.len(),
        }
    }

    /// j, w and 1/u of a term.
    #[inline(always)]
    fn get<T: Real>(self, at: usize) -> (usize, T, T) {
        match self {
            Self::Mean { of } => (at, T::ONE / T::from_f64(of as f64), T::ONE),
            Self::Given(terms) => {
                let Coordinate { index, weight, unit } = terms[at];
                (index, T::from_f64(weight), T::from_f64(1.0 / unit))
            }
        }
    }
}

/// Chooses the loss of a number, once for all rows; `bound` is where the sum is clipped.
pub(super) fn dispatch<T: Real>(
    loss: &Loss,
    terms: Terms<'_>,
    bound: Option<T>,
    pass: impl RowPass<T>,
) {
    let pair = loss.compares_views();
    match loss {
        Loss::Squared | Loss::SquaredDistance => {
            over(Sum { loss: regression::Squared, terms, pair }, bound, pass);
        }
        Loss::Absolute => over(Sum { loss: regression::Absolute, terms, pair }, bound, pass),
        Loss::Huber { delta } => {
            let loss = regression::Huber { delta: T::from_f64(*delta) };
            over(Sum { loss, terms, pair }, bound, pass);
        }
        Loss::Quantile { tau } => {
            let loss = regression::Quantile { tau: T::from_f64(*tau) };
            over(Sum { loss, terms, pair }, bound, pass);
        }
        Loss::Poisson => over(Sum { loss: regression::Poisson, terms, pair }, bound, pass),
        other => unreachable!("{other} is not of numbers, and was refused"),
    }
}

fn over<T: Real>(loss: impl RowLoss<T>, bound: Option<T>, pass: impl RowPass<T>) {
    match bound {
        Some(bound) => pass.over(&Clipped { loss, bound }),
        None => pass.over(&loss),
    }
}

/// Σ w ℓ((f − y)/u) over the terms; y are the other view's outputs if it compares views.
struct Sum<'a, L> {
    loss: L,
    terms: Terms<'a>,
    pair: bool,
}

impl<T: Real, L: OfNumber<T>> RowLoss<T> for Sum<'_, L> {
    #[inline(always)]
    fn pair(&self) -> bool {
        self.pair
    }

    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        let mut sum = T::ZERO;
        for at in 0..self.terms.len() {
            let (j, weight, per_unit) = self.terms.get::<T>(at);
            sum += weight * self.loss.of(row.at[j], self.number(&row, j), per_unit).0;
        }
        sum
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], against: &mut [T]) -> T {
        let mut sum = T::ZERO;
        for term in 0..self.terms.len() {
            let (j, own, per_unit) = self.terms.get::<T>(term);
            let (value, slope) = self.loss.of(row.at[j], self.number(&row, j), per_unit);
            at[j] += weight * (own * slope);
            if self.pair {
                against[j] -= weight * (own * slope);
            }
            sum += own * value;
        }
        sum
    }
}

impl<L> Sum<'_, L> {
    /// What output j is compared with.
    #[inline(always)]
    fn number<T: Real>(&self, row: &Row<'_, T>, j: usize) -> T {
        if self.pair { row.against[j] } else { T::from_f32(row.numbers()[j]) }
    }
}

//! Losses on outputs.
//!
//! A loss is a function of a model's outputs $f \in \mathbb R^k$ at a sample, and of the target or
//! of the outputs at another view of the sample; never of the model. It has a value and a gradient, the
//! *seed* that goes back through the model, at every row.
//!
//! With $p = \operatorname{softmax}(f(x))$ and $q = \operatorname{softmax}(f(\rho(x)))$, where one
//! output $z$ is read as the pair of logits $(0, z)$:
//!
//! | loss | formula | outputs | targets | convex | M | B |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | [`CrossEntropy`](Loss::CrossEntropy) | $-\log p_y$ | any | classes | yes | √2 | |
//! | [`Logistic`](Loss::Logistic) | $\log(1 + e^{\mp f})$ | 1 | 0, 1 | yes | 1 | |
//! | [`Squared`](Loss::Squared) | $(f - y)^2$ | 1 | numbers | yes | | |
//! | [`Absolute`](Loss::Absolute) | $\lvert f - y\rvert$ | 1 | numbers | yes | 1 | |
//! | [`Huber`](Loss::Huber) | $\tfrac12 r^2$, $\delta(\lvert r\rvert - \tfrac12\delta)$ beyond $\lvert r\rvert = \lvert f - y\rvert = \delta$ | 1 | numbers | yes | δ | |
//! | [`Quantile`](Loss::Quantile) | $\tau (y - f)$ below $y$, $(1 - \tau)(f - y)$ above | 1 | numbers | yes | max(τ, 1 − τ) | |
//! | [`Poisson`](Loss::Poisson) | $e^f - y f - y + y \log y$ | 1 | numbers ≥ 0 | yes | | |
//! | [`Hinge`](Loss::Hinge) | $\max(0, 1 \mp f)$ | 1 | 0, 1 | yes | 1 | |
//! | [`SquaredHinge`](Loss::SquaredHinge) | $\max(0, 1 \mp f)^2$ | 1 | 0, 1 | yes | | |
//! | [`Brier`](Loss::Brier) | $\tfrac12\sum_j (p_j - 1[j = y])^2$ | any | classes | no | 8√2/27 | 1 |
//! | [`SmoothedError`](Loss::SmoothedError) | $1 - p_y$ | any | classes | no | √2/4 | 1 |
//! | [`Probability`](Loss::Probability) | $p_c$ | any | | no | √2/4 | 1 |
//! | [`Error`](Loss::Error) | $1[\arg\max f \ne y]$ | any | classes | no | | 1 |
//! | [`Selected`](Loss::Selected) | $1[\arg\max f = c]$ | any | | no | | 1 |
//! | [`SmoothedFalseDiscovery`](Loss::SmoothedFalseDiscovery) | $r + p_c (1[y \ne c] - r)$ | any | classes | no | max(r, 1 − r) √2/4 | 1 |
//! | [`FalseDiscovery`](Loss::FalseDiscovery) | $1[y \ne c]$ where $\arg\max f = c$, else $r$ | any | classes | no | | 1 |
//! | [`Kl`](Loss::Kl) | $\sum_j p_j \log(p_j/q_j)$ | any | | no | | |
//! | [`SymmetricKl`](Loss::SymmetricKl) | $\tfrac12\sum_j (p_j - q_j)\log(p_j/q_j)$ | any | | no | | |
//! | [`TotalVariation`](Loss::TotalVariation) | $\tfrac12\sum_j \sqrt{(p_j - q_j)^2 + s^2} - s$ | any | | no | 1/2 | √(1+s²) − s |
//! | [`SquaredDistance`](Loss::SquaredDistance) | $\lVert f(x) - f(\rho(x))\rVert^2$ | any | | yes | | |
//! | [`Flip`](Loss::Flip) | $1[\arg\max f(x) \ne \arg\max f(\rho(x))]$ | any | | no | | 1 |
//! | [`of_coordinates`](Loss::of_coordinates) | $\sum_j w_j\, \ell((f_j - y_j)/u_j)$ | k | vectors | as ℓ | $M_\ell \sqrt{\sum_j (w_j/u_j)^2}$ | |
//! | [`bounded(B)`](Loss::bounded) | of $\tilde p = (1 - k\tau)p + \tau$, $\tau = e^{-B}$; or $\min(\ell, B)$ | | | no | see [`Properties`] | B |
//!
//! Convexity is in the outputs, those of both views together for the losses between views. M is the
//! Lipschitz constant in the Euclidean norm of the same, for $k \ge 2$; those of the losses of p and
//! q are √2 times smaller for one output. All losses are ≥ 0 and at most B; an empty cell means that there
//! is no such constant. M and B are the smallest possible, except for the M of total variation (least as
//! s → 0) and for the M and B of bounded divergences. That Brier's M holds for more than two classes
//! was found by numerical search; the others follow from the formulas.
//!
//! The losses of a number, from squared error to Poisson, are of vectors as well: the mean over the k coordinates, with k outputs and
//! M/√k. [`Loss::of_coordinates`] weights them differently, each in its own unit, or picks some.
//!
//! Losses of p take *logits*: probabilities fed to them would be squashed once more, and a network
//! trained on that collapses to the majority class. Arg max is the first of equals. NaN outputs give
//! NaN values, for indicators too; no finite output does.
//!
//! ```
//! use feasible::Targets;
//! use feasible::loss::{Loss, LossRows};
//!
//! // Two samples, two logits each, of x and of ρ(x).
//! let at = [0.0f64, 3f64.ln(), 1.0, 1.0];
//! let against = [0.0f64, 0.0, 1.0, 1.0];
//! let targets = Targets::Classes(vec![1, 0]);
//! let rows = LossRows {
//!     width: 2,
//!     at: &at,
//!     against: &against,
//!     targets: &targets,
//!     samples: &[0, 1],
//!     positions: &[0, 1],
//! };
//! let (mut values, mut by_at, mut by_against) = ([0.0; 2], [0.0; 4], [0.0; 4]);
//!
//! // p = (1/4, 3/4) and q = (1/2, 1/2) for the first sample; p = q for the second.
//! Loss::Kl.seeds(rows, &[1.0, 1.0], &mut values, &mut by_at, &mut by_against);
//! assert!((values[0] - (0.25 * 0.5f64.ln() + 0.75 * 1.5f64.ln())).abs() < 1e-15);
//! assert_eq!(values[1], 0.0);
//! assert!((by_against[1] - (0.5 - 0.75)).abs() < 1e-15);
//!
//! // The KL divergence has no bound, as certificates need one; this has.
//! let bounded = Loss::Kl.bounded(5.0)?;
//! assert_eq!(bounded.properties(2).bound, Some(5.0));
//! assert_eq!(bounded.to_string(), "KL divergence (bounded by 5)");
//! # Ok::<(), feasible::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use std::sync::Arc;

use crate::error::Result;
use crate::real::Real;
use crate::samples::Targets;

mod bounded;
mod check;
mod classification;
pub(crate) mod contrast;
mod coordinates;
mod custom;
mod floor;
mod name;
pub(crate) mod pair;
mod properties;
mod rate;
mod regression;
pub(crate) mod row;
pub(crate) mod series;
pub(crate) mod softmax;

pub use bounded::Bounded;
pub use coordinates::{Coordinate, Coordinates};
pub use custom::CustomLoss;
pub use properties::Properties;
pub(crate) use series::exp_of_negative_f32;

use coordinates::Terms;
use row::RowPass;

/// Values, or values and seeds.
#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub enum LossPass<'a, T> {
    Values(row::RowValues<'a, T>),
    Seeds(row::RowSeeds<'a, T>),
}

/// Outputs of some samples, as a loss sees them.
///
/// Entry i of a population sits at batch position `positions[i]` and is sample
/// `samples[positions[i]]` of the data set.
#[derive(Clone, Copy, Debug)]
pub struct LossRows<'a, T> {
    /// k, outputs per sample.
    pub width: usize,
    /// Outputs of the view the loss is about; position p starts at p · k.
    pub at: &'a [T],
    /// For losses between two views: outputs of the other view. Empty otherwise.
    pub against: &'a [T],
    /// Targets of the data set.
    pub targets: &'a Targets,
    /// The data-set row of each batch position.
    pub samples: &'a [u32],
    /// The batch positions to evaluate.
    pub positions: &'a [u32],
}

/// A loss ℓ on outputs; formulas and properties are in the [module](self)'s table.
///
/// ```
/// use feasible::Loss;
/// let of_numbers = [Loss::Huber { delta: 1.0 }, Loss::Quantile { tau: 0.9 }, Loss::Poisson];
/// let of_margins = [Loss::Hinge, Loss::SquaredHinge];
/// assert!(of_numbers.iter().chain(&of_margins).all(|loss| loss.properties(1).convex));
/// assert_eq!(Loss::Brier.properties(2).bound, Some(1.0));
/// let between_views = [Loss::SymmetricKl, Loss::SquaredDistance];
/// assert!(between_views.iter().all(Loss::compares_views));
/// // What counts decisions has no gradient; its smooth form has one.
/// let wrong = Loss::FalseDiscovery { class: 1, rate: 0.2 };
/// let smooth = Loss::SmoothedFalseDiscovery { class: 1, rate: 0.2 };
/// assert!(wrong.is_of_decisions() && !wrong.is_differentiable() && smooth.is_differentiable());
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Loss {
    /// −log p_y, from logits.
    CrossEntropy,
    /// Cross-entropy of one logit z, p = 1/(1 + e^{−z}), classes 0 and 1.
    Logistic,
    /// (f − y)², without ½.
    Squared,
    /// |f − y|.
    Absolute,
    /// ½(f − y)² up to |f − y| = δ, linear beyond.
    Huber {
        /// δ > 0.
        delta: f64,
    },
    /// τ (y − f) where f is below y and (1 − τ)(f − y) above, the pinball loss: least where f is the τ-quantile of y.
    Quantile {
        /// τ, between 0 and 1.
        tau: f64,
    },
    /// e^f − y f − y + y log y: half the Poisson deviance of a count y whose expectation is e^f.
    Poisson,
    /// max(0, 1 − m), m = z for class 1 and −z for class 0.
    Hinge,
    /// max(0, 1 − m)².
    SquaredHinge,
    /// ½ Σ_j (p_j − 1\[j = y\])²; with two classes (p_1 − y)².
    Brier,
    /// 1 − p_y, a smooth stand-in for [`Loss::Error`].
    SmoothedError,
    /// p_c, a smooth stand-in for [`Loss::Selected`].
    Probability {
        /// c.
        class: u32,
    },
    /// 1\[arg max f ≠ y\]: its average is the error rate.
    Error,
    /// 1\[arg max f = c\]: its average is the selection rate.
    Selected {
        /// c.
        class: u32,
    },
    /// 1\[y ≠ c\] where class c is predicted, r elsewhere. Its average is at most r exactly if at most the share r of
    /// the predictions of c are wrong: if the precision of class c is at least 1 − r.
    FalseDiscovery {
        /// c.
        class: u32,
        /// r, between 0 and 1.
        rate: f64,
    },
    /// r + p_c (1\[y ≠ c\] − r), a smooth stand-in for [`Loss::FalseDiscovery`].
    SmoothedFalseDiscovery {
        /// c.
        class: u32,
        /// r.
        rate: f64,
    },
    /// KL(p ‖ q) from the view `at` to the view `against`.
    Kl,
    /// ½ (KL(p ‖ q) + KL(q ‖ p)).
    SymmetricKl,
    /// ½ Σ_j (√((p_j − q_j)² + s²) − s).
    TotalVariation {
        /// s ≥ 0; at s = 0 it is ½‖p − q‖₁, with subgradient 0 where p = q.
        smoothing: f64,
    },
    /// ‖f(x) − f(ρ(x))‖², of the outputs themselves.
    SquaredDistance,
    /// 1\[arg max f(x) ≠ arg max f(ρ(x))\]: its average is the share of predictions that flip.
    Flip,
    /// A loss kept in \[0, B\]; made by [`Loss::bounded`].
    Bounded(Bounded),
    /// A loss of numbers, of some coordinates of vectors; made by [`Loss::of_coordinates`].
    Coordinates(Coordinates),
    /// A loss of the user's own, which cannot be sent to another worker.
    #[serde(skip)]
    Custom(Arc<dyn CustomLoss>),
}

impl Loss {
    /// What it is called in messages and reports.
    pub fn name(&self) -> String {
        self.to_string()
    }

    /// Whether it is a loss between two views, and needs [`LossRows::against`].
    pub fn compares_views(&self) -> bool {
        match self {
            Self::Kl
            | Self::SymmetricKl
            | Self::TotalVariation { .. }
            | Self::SquaredDistance
            | Self::Flip => true,
            Self::Bounded(bounded) => bounded.loss().compares_views(),
            Self::Coordinates(of) => of.loss().compares_views(),
            Self::Custom(loss) => loss.compares_views(),
            _ => false,
        }
    }

    /// Whether it is surely the same function. The user's own are if they are one object.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Custom(a), Self::Custom(b)) => Arc::ptr_eq(a, b),
            (Self::Huber { delta: a }, Self::Huber { delta: b })
            | (Self::Quantile { tau: a }, Self::Quantile { tau: b })
            | (Self::TotalVariation { smoothing: a }, Self::TotalVariation { smoothing: b }) => {
                a == b
            }
            (
                Self::FalseDiscovery { class: a, rate: r },
                Self::FalseDiscovery { class: b, rate: s },
            )
            | (
                Self::SmoothedFalseDiscovery { class: a, rate: r },
                Self::SmoothedFalseDiscovery { class: b, rate: s },
            ) => a == b && r == s,
            (Self::Probability { class: a }, Self::Probability { class: b })
            | (Self::Selected { class: a }, Self::Selected { class: b }) => a == b,
            (Self::Coordinates(a), Self::Coordinates(b)) => {
                a.terms() == b.terms() && a.loss().is_same(b.loss())
            }
            (Self::Bounded(a), Self::Bounded(b)) => {
                a.bound() == b.bound() && a.loss().is_same(b.loss())
            }
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }

    /// Whether it and its gradient are 0 between two views with equal outputs.
    pub(crate) fn vanishes_between_equals(&self) -> bool {
        match self {
            Self::Bounded(bounded) => bounded.loss().vanishes_between_equals(),
            Self::Custom(_) => false,
            _ => self.compares_views(),
        }
    }

    /// Whether its gradient shows how to lower it. Not so for the indicators, which may only
    /// serve as the loss of a dual step.
    pub fn is_differentiable(&self) -> bool {
        match self {
            Self::Bounded(bounded) => bounded.loss().is_differentiable(),
            Self::Custom(loss) => loss.is_differentiable(),
            loss => !loss.is_of_decisions(),
        }
    }

    /// Whether it is a function of the predicted classes alone, and of the targets.
    pub fn is_of_decisions(&self) -> bool {
        matches!(
            self,
            Self::Error | Self::Selected { .. } | Self::FalseDiscovery { .. } | Self::Flip
        )
    }

    /// The loss kept in \[0, B\].
    ///
    /// Cross-entropy, logistic loss and both KL divergences see floored probabilities and stay
    /// smooth; this needs kτ < 1, that is B > log k. Losses that have a bound of their own are
    /// returned unchanged if B is no smaller. All others are clipped, min(ℓ, B). Bounding once more
    /// keeps the smaller of the two bounds.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::Error::Setting) if B is not finite and positive, at most ln 2 for
    /// the first kind, or below the loss's own bound for the second. Whether B > log k for more
    /// classes is checked by [`Loss::check`], which knows k.
    pub fn bounded(self, bound: f64) -> Result<Self> {
        Bounded::of(self, bound)
    }

    /// The loss of some numbers of vectors, each with its own weight and unit: with the terms (j, w, u),
    ///
    /// $$ \sum_j w_j \, \ell\bigl((f_j - y_j) / u_j\bigr) , $$
    ///
    /// of the outputs at the other view instead of y for [`Loss::SquaredDistance`]. It is called by the name of the loss
    /// and the label.
    ///
    /// ```
    /// use feasible::Loss;
    /// use feasible::loss::Coordinate;
    /// let waist = Coordinate { index: 1, weight: 1.0, unit: 1.0 };
    /// let loss = Loss::Absolute.of_coordinates("waist", vec![waist])?;
    /// assert_eq!(loss.to_string(), "absolute error of waist");
    /// // Lengths count in millimetres, weights in kilogrammes.
    /// let both = [(0, 1.0), (1, 1e-3)];
    /// let both = both.map(|(index, unit)| Coordinate { index, weight: 0.5, unit });
    /// assert!(Loss::Squared.of_coordinates("both", both.to_vec())?.properties(2).convex);
    /// assert!(Loss::CrossEntropy.of_coordinates("both", both.to_vec()).is_err());
    /// # Ok::<(), feasible::Error>(())
    /// ```
    ///
    /// # Errors
    /// A loss that is not of numbers; no term, or one number in two; weights and units that are not positive and finite; a
    /// unit other than 1 for [`Loss::Poisson`], whose outputs are logarithms.
    pub fn of_coordinates(self, label: impl Into<String>, terms: Vec<Coordinate>) -> Result<Self> {
        Coordinates::of(self, label.into(), terms)
    }

    /// Fills `values[i]` with the loss at `rows.positions[i]`.
    ///
    /// The loss must fit: see [`Loss::check`].
    ///
    /// # Panics
    /// If it does not, or if slices are too short.
    pub fn values<T: Real>(&self, rows: LossRows<'_, T>, values: &mut [T]) {
        assert_eq!(values.len(), rows.positions.len(), "one value for each position");
        T::of_loss(self, LossPass::Values(row::RowValues { rows, values }));
    }

    /// As [`Loss::values`]; also adds `weights[i]` · ∂ℓ/∂at to the seeds `at`, and
    /// `weights[i]` · ∂ℓ/∂against to the seeds `against`, at position `positions[i]`.
    ///
    /// Seeds are laid out as the outputs; `against` may be empty if the loss is about one view, and
    /// `values` if only the gradients are wanted. Indicators add nothing.
    ///
    /// # Panics
    /// As [`Loss::values`].
    pub fn seeds<T: Real>(
        &self,
        rows: LossRows<'_, T>,
        weights: &[T],
        values: &mut [T],
        at: &mut [T],
        against: &mut [T],
    ) {
        let wanted = if values.is_empty() { 0 } else { rows.positions.len() };
        assert_eq!(values.len(), wanted, "one value for each position");
        assert_eq!(weights.len(), rows.positions.len(), "one weight for each position");
        T::of_loss(self, LossPass::Seeds(row::RowSeeds { rows, weights, values, at, against }));
    }

    /// Called for `f32` and for `f64` by [`Real::of_loss`] alone: every other crate that called it would be given the loops
    /// of all losses once more.
    pub(crate) fn run<T: Real>(&self, pass: LossPass<'_, T>) {
        match pass {
            LossPass::Values(pass) => self.dispatch(pass.rows.width, pass),
            LossPass::Seeds(pass) => self.dispatch(pass.rows.width, pass),
        }
    }

    /// Chooses the row function, once for all rows.
    fn dispatch<T: Real>(&self, width: usize, pass: impl RowPass<T>) {
        match self {
            Self::Squared
            | Self::Absolute
            | Self::Huber { .. }
            | Self::Quantile { .. }
            | Self::Poisson
                if pass.is_of_vectors() =>
            {
                coordinates::dispatch(self, Terms::Mean { of: width }, None, pass);
            }
            Self::Coordinates(of) => {
                coordinates::dispatch(of.loss(), Terms::Given(of.terms()), None, pass);
            }
            Self::CrossEntropy | Self::Logistic if width <= 2 => {
                pass.over_contrasts(&contrast::BinaryCrossEntropy);
            }
            Self::CrossEntropy | Self::Logistic => pass.over(&classification::CrossEntropy),
            Self::Squared => pass.over(&regression::Squared),
            Self::Absolute => pass.over(&regression::Absolute),
            Self::Huber { delta } => pass.over(&regression::Huber { delta: T::from_f64(*delta) }),
            Self::Quantile { tau } => pass.over(&regression::Quantile { tau: T::from_f64(*tau) }),
            Self::Poisson => pass.over(&regression::Poisson),
            Self::Hinge => pass.over(&classification::Hinge { squared: false }),
            Self::SquaredHinge => pass.over(&classification::Hinge { squared: true }),
            Self::Brier => pass.over(&classification::Brier),
            Self::SmoothedError => pass.over(&classification::SmoothedError),
            Self::Probability { class } => {
                pass.over(&classification::Probability { class: *class as usize });
            }
            Self::Error => pass.over(&rate::Error),
            Self::Selected { class } => pass.over(&rate::Selected { class: *class as usize }),
            Self::FalseDiscovery { class, rate } => {
                let (class, rate) = (*class as usize, T::from_f64(*rate));
                pass.over(&rate::FalseDiscovery { class, rate });
            }
            Self::SmoothedFalseDiscovery { class, rate } => {
                let (class, rate) = (*class as usize, T::from_f64(*rate));
                pass.over(&classification::SmoothedFalseDiscovery { class, rate });
            }
            Self::Kl if width <= 2 => pass.over_contrasts(&contrast::BinaryKl),
            Self::Kl => pass.over(&pair::Kl),
            Self::SymmetricKl => pass.over(&pair::SymmetricKl),
            Self::TotalVariation { smoothing } => {
                pass.over(&pair::TotalVariation { smoothing: T::from_f64(*smoothing) });
            }
            Self::SquaredDistance => pass.over(&pair::SquaredDistance),
            Self::Flip => pass.over(&rate::Flip),
            Self::Bounded(bounded) => bounded.dispatch(width, pass),
            Self::Custom(loss) => pass.over(&custom::CustomRows::new(&**loss, width)),
        }
    }
}

//! Losses made bounded, for the theory and the certificates.
//!
//! A loss that is a logarithm of probabilities sees them floored,
//! $$\tilde p_j = (1 - k\tau)\, p_j + \tau, \qquad \tau = e^{-B},$$
//! a mixture with the uniform distribution: the p̃ still sum to 1, no log-ratio exceeds B, and the
//! loss stays smooth. Everything is computed in logarithms,
//! log p̃ = log(e^{log(1 − kτ) + log p} + e^{−B}), so that τ may underflow. Any other loss is clipped, min(ℓ, B): beyond B its gradient is 0.

use super::row::{Pass, Row, RowLoss};
use super::softmax::{Comparison, LogSoftmax, Logits, add, divergence_term, remember};
use super::{Loss, classification, custom, pair, regression};
use crate::error::{Error, Result};
use crate::real::Real;

/// A loss kept in [0, B]; made by [`Loss::bounded`].
#[derive(Clone, Debug)]
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

    pub(super) fn dispatch<T: Real>(&self, width: usize, pass: impl Pass<T>) {
        let floor = || Floor::new(self.bound, width.max(2));
        let bound = T::from_f64(self.bound);
        match &*self.loss {
            Loss::CrossEntropy | Loss::Logistic => pass.over(&CrossEntropy(floor())),
            Loss::Kl => pass.over(&Kl(floor())),
            Loss::SymmetricKl => pass.over(&SymmetricKl(floor())),
            Loss::Squared => pass.over(&Clipped { loss: regression::Squared, bound }),
            Loss::Absolute => pass.over(&Clipped { loss: regression::Absolute, bound }),
            Loss::Huber { delta } => {
                let loss = regression::Huber { delta: T::from_f64(*delta) };
                pass.over(&Clipped { loss, bound });
            }
            Loss::Hinge => {
                pass.over(&Clipped { loss: classification::Hinge { squared: false }, bound });
            }
            Loss::SquaredHinge => {
                pass.over(&Clipped { loss: classification::Hinge { squared: true }, bound });
            }
            Loss::SquaredDistance => pass.over(&Clipped { loss: pair::SquaredDistance, bound }),
            Loss::Custom(loss) => {
                pass.over(&Clipped { loss: custom::Rows::new(&**loss, width), bound });
            }
            bounded => bounded.dispatch(width, pass),
        }
    }
}

/// min(ℓ, B).
struct Clipped<L, T> {
    loss: L,
    bound: T,
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

/// The flooring of k probabilities.
#[derive(Clone, Copy)]
struct Floor<T> {
    bound: T,
    /// 1 − kτ.
    kept: T,
    log_kept: T,
    tau: T,
}

impl<T: Real> Floor<T> {
    fn new(bound: f64, classes: usize) -> Self {
        let tau = (-bound).exp();
        let lost = classes as f64 * tau;
        Self {
            bound: T::from_f64(bound),
            kept: T::from_f64(1.0 - lost),
            log_kept: T::from_f64((-lost).ln_1p()),
            tau: T::from_f64(tau),
        }
    }

    /// log p̃ of log p.
    #[inline(always)]
    fn log(&self, log_p: T) -> T {
        let (a, b) = (log_p + self.log_kept, -self.bound);
        a.max(b) + (-(a - b).abs()).exp().ln_1p()
    }

    /// p̃ of p.
    #[inline(always)]
    fn apply(&self, p: T) -> T {
        self.kept * p + self.tau
    }

    /// (1 − kτ) p/p̃, the slope of log p̃ by log p.
    #[inline(always)]
    fn slope(&self, log_p: T, p: T) -> T {
        let floored = self.apply(p);
        if floored > T::from_f64(1e-30) {
            self.kept * p / floored
        } else {
            T::ONE / (T::ONE + (-(log_p + self.log_kept + self.bound)).exp())
        }
    }

    /// log p̃ − log q̃ of class j.
    #[inline(always)]
    fn log_ratio(&self, views: &Comparison<'_, T>, j: usize) -> T {
        let d = views.log_ratio(j);
        if d.abs() <= T::ONE {
            (self.slope(views.q.log(j), views.q.probability(j)) * d.exp_m1()).ln_1p()
        } else {
            self.log(views.p.log(j)) - self.log(views.q.log(j))
        }
    }
}

/// −log p̃_y.
struct CrossEntropy<T>(Floor<T>);

impl<T: Real> RowLoss<T> for CrossEntropy<T> {
    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        -self.0.log(LogSoftmax::new(Logits(row.at)).log(row.class()))
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], _: &mut [T]) -> T {
        let y = row.class();
        let p = LogSoftmax::new(Logits(row.at));
        let scale = weight * self.0.slope(p.log(y), p.probability(y));
        for j in 0..p.classes() {
            add(at, j, scale * if j == y { p.minus_one(j) } else { p.probability(j) });
        }
        -self.0.log(p.log(y))
    }
}

/// KL(p̃ ‖ q̃) of the comparison, or of its reverse, with gradients scaled by a weight.
///
/// With d̃ = log p̃ − log q̃ and κ = 1 − kτ,
/// ∂/∂z_i = κ p_i (d̃_i − Σ p_j d̃_j) and ∂/∂u_i = −(e_i − q_i Σ e_j), e_i = κ q_i (p̃_i/q̃_i − 1).
#[inline(always)]
fn kl<T: Real>(
    floor: &Floor<T>,
    p: &LogSoftmax<'_, T>,
    q: &LogSoftmax<'_, T>,
    d: impl Fn(usize) -> T,
) -> T {
    let tilde = |p: &LogSoftmax<'_, T>, j| floor.apply(p.probability(j));
    (0..p.classes()).map(|j| divergence_term(tilde(p, j), tilde(q, j), d(j))).sum()
}

#[inline(always)]
fn kl_seed<T: Real>(
    floor: &Floor<T>,
    p: &LogSoftmax<'_, T>,
    q: &LogSoftmax<'_, T>,
    d: impl Fn(usize) -> T,
    weight: T,
    (at, against): (&mut [T], &mut [T]),
) {
    let excess = remember(p.classes(), |j| {
        let (q_j, d) = (floor.kept * q.probability(j), d(j));
        if d.abs() <= T::ONE {
            q_j * d.exp_m1()
        } else {
            floor.apply(p.probability(j)) * floor.slope(q.log(j), q.probability(j)) - q_j
        }
    });
    let (mut mean, mut total) = (T::ZERO, T::ZERO);
    for j in 0..p.classes() {
        mean += p.probability(j) * d(j);
        total += excess(j);
    }
    for j in 0..p.classes() {
        add(at, j, weight * floor.kept * p.probability(j) * (d(j) - mean));
        add(against, j, -weight * (excess(j) - q.probability(j) * total));
    }
}

/// KL(p̃ ‖ q̃).
struct Kl<T>(Floor<T>);

impl<T: Real> RowLoss<T> for Kl<T> {
    #[inline(always)]
    fn pair(&self) -> bool {
        true
    }

    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        let views = Comparison::new(row.at, row.against);
        kl(&self.0, &views.p, &views.q, |j| self.0.log_ratio(&views, j))
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], against: &mut [T]) -> T {
        let views = Comparison::new(row.at, row.against);
        let d = remember(views.classes(), |j| self.0.log_ratio(&views, j));
        kl_seed(&self.0, &views.p, &views.q, &d, weight, (at, against));
        kl(&self.0, &views.p, &views.q, &d)
    }
}

/// ½ (KL(p̃ ‖ q̃) + KL(q̃ ‖ p̃)).
struct SymmetricKl<T>(Floor<T>);

impl<T: Real> RowLoss<T> for SymmetricKl<T> {
    #[inline(always)]
    fn pair(&self) -> bool {
        true
    }

    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        let views = Comparison::new(row.at, row.against);
        let d = remember(views.classes(), |j| self.0.log_ratio(&views, j));
        let forth = kl(&self.0, &views.p, &views.q, &d);
        T::from_f64(0.5) * (forth + kl(&self.0, &views.q, &views.p, |j| -d(j)))
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], against: &mut [T]) -> T {
        let half = T::from_f64(0.5) * weight;
        let views = Comparison::new(row.at, row.against);
        let d = remember(views.classes(), |j| self.0.log_ratio(&views, j));
        kl_seed(&self.0, &views.p, &views.q, &d, half, (at, against));
        kl_seed(&self.0, &views.q, &views.p, |j| -d(j), half, (against, at));
        let forth = kl(&self.0, &views.p, &views.q, &d);
        T::from_f64(0.5) * (forth + kl(&self.0, &views.q, &views.p, |j| -d(j)))
    }
}

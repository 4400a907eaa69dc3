//! Losses between two views: p at z = f(x), q at u = f(ρ(x)).

use super::row::{Row, RowLoss};
use super::series;
use super::softmax::{Comparison, Logits, add, divergence_term, remember};
use crate::real::Real;

/// KL(p ‖ q) = Σ p_j d_j, d = log p − log q.
pub(super) struct Kl;

impl<T: Real> RowLoss<T> for Kl {
    #[inline(always)]
    fn pair(&self) -> bool {
        true
    }

    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        kl(&Comparison::new(row.at, row.against))
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], against: &mut [T]) -> T {
        let views = Comparison::new(row.at, row.against);
        let value = kl(&views);
        for j in 0..views.classes() {
            add(at, j, weight * views.p.probability(j) * (views.log_ratio(j) - value));
            add(against, j, -weight * views.difference(j));
        }
        value
    }
}

#[inline(always)]
fn kl<T: Real>(views: &Comparison<'_, T>) -> T {
    let (p, q) = (&views.p, &views.q);
    let term = |j| divergence_term(p.probability(j), q.probability(j), views.log_ratio(j));
    (0..views.classes()).map(term).sum()
}

/// KL(q ‖ p).
#[inline(always)]
fn reverse_kl<T: Real>(views: &Comparison<'_, T>) -> T {
    let (p, q) = (&views.p, &views.q);
    let term = |j| divergence_term(q.probability(j), p.probability(j), -views.log_ratio(j));
    (0..views.classes()).map(term).sum()
}

/// Two classes: log-odds a of p and b of q, and a − b, from differences between the views where they
/// nearly agree, so that no digits are lost.
pub struct Bernoulli<T> {
    /// Of p.
    pub a: T,
    /// Of q.
    pub b: T,
    /// a − b.
    pub change: T,
}

impl<T: Real> Bernoulli<T> {
    /// From the logits of two classes; zero for more.
    #[inline(always)]
    pub fn new(z: Logits<'_, T>, u: Logits<'_, T>) -> Self {
        let (a, b) = (z.contrast().unwrap_or_default(), u.contrast().unwrap_or_default());
        let (zeroth, first) = (z.get(0) - u.get(0), z.get(1) - u.get(1));
        let change = if zeroth.abs() <= T::ONE { first - zeroth } else { a - b };
        Self { a, b, change }
    }
}

/// KL(p ‖ q) and its derivatives by a, p₀p₁(a − b), and by b, q₁ − p₁, for |a − b| ≤ 1/2.
///
/// p from q: p₁ = q₁e^{a−b}/s, p₀ = q₀/s with s = q₀ + q₁e^{a−b}; log s = shift.
#[inline(always)]
pub fn close<T: Real>(b: T, change: T) -> (T, T, T) {
    let (q1, q0) = sigmoids(b, series::exp_of_negative(-b.abs()));
    let excess = q1 * series::exp_m1(change);
    let scale = T::ONE / (T::ONE + excess);
    let (p1, p0) = ((q1 + excess) * scale, q0 * scale);
    let shift = series::ln_1p(excess);
    // Both log-ratios are at most 1/2: the series of the divergence's terms serve.
    let value = p1 * series::exp_m1_plus(change - shift) + p0 * series::exp_m1_plus(-shift);
    (value, p1 * p0 * change, -excess * q0 * scale)
}

/// The same for any a and b; accurate where they are not close.
#[inline(always)]
pub fn far<T: Real>(a: T, b: T, change: T) -> (T, T, T) {
    let (ea, eb) = (series::exp_of_negative(-a.abs()), series::exp_of_negative(-b.abs()));
    let ((p1, p0), (q1, q0)) = (sigmoids(a, ea), sigmoids(b, eb));
    let shift = series::ln_1p(eb) - series::ln_1p(ea);
    let d1 = (T::ZERO.max(-b) - T::ZERO.max(-a)) + shift;
    let d0 = (T::ZERO.max(b) - T::ZERO.max(a)) + shift;
    let value = divergence_term(p1, q1, d1) + divergence_term(p0, q0, d0);
    // Of the two forms, the one that subtracts the smaller numbers.
    let by_b = if a > T::ZERO { p0 - q0 } else { q1 - p1 };
    (value, p1 * p0 * change, by_b)
}

/// 1/(1 + e^{−a}) and 1/(1 + e^a), given e^{−|a|}.
#[inline(always)]
fn sigmoids<T: Real>(a: T, e: T) -> (T, T) {
    let large = T::ONE / (T::ONE + e);
    let small = e * large;
    let positive = a >= T::ZERO;
    (if positive { large } else { small }, if positive { small } else { large })
}

/// ½ (KL(p ‖ q) + KL(q ‖ p)).
pub(super) struct SymmetricKl;

impl<T: Real> RowLoss<T> for SymmetricKl {
    #[inline(always)]
    fn pair(&self) -> bool {
        true
    }

    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        let views = Comparison::new(row.at, row.against);
        T::from_f64(0.5) * (kl(&views) + reverse_kl(&views))
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], against: &mut [T]) -> T {
        let half = T::from_f64(0.5);
        let views = Comparison::new(row.at, row.against);
        let (forth, back) = (kl(&views), reverse_kl(&views));
        for j in 0..views.classes() {
            let (d, difference) = (views.log_ratio(j), views.difference(j));
            let (p, q) = (views.p.probability(j), views.q.probability(j));
            add(at, j, half * weight * (p * (d - forth) + difference));
            add(against, j, half * weight * (q * (-d - back) - difference));
        }
        half * (forth + back)
    }
}

/// ½ Σ φ(p_j − q_j), φ(x) = √(x² + s²) − s.
pub(super) struct TotalVariation<T> {
    pub smoothing: T,
}

impl<T: Real> TotalVariation<T> {
    /// φ(x) = x²/(√(x² + s²) + s), free of cancellation, and φ'(x); 0 at 0 even without smoothing.
    #[inline(always)]
    fn phi(&self, x: T) -> (T, T) {
        let s = self.smoothing;
        let root = (x * x + s * s).sqrt();
        // x² and s² may both underflow.
        if root == T::ZERO { (x.abs(), T::ZERO) } else { (x * (x / (root + s)), x / root) }
    }
}

impl<T: Real> RowLoss<T> for TotalVariation<T> {
    #[inline(always)]
    fn pair(&self) -> bool {
        true
    }

    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        let views = Comparison::new(row.at, row.against);
        let sum: T = (0..views.classes()).map(|j| self.phi(views.difference(j)).0).sum();
        T::from_f64(0.5) * sum
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], against: &mut [T]) -> T {
        let views = Comparison::new(row.at, row.against);
        let difference = remember(views.classes(), |j| views.difference(j));
        let slope = remember(views.classes(), |j| self.phi(difference(j)).1);
        let (mut sum, mut over_p, mut over_q) = (T::ZERO, T::ZERO, T::ZERO);
        for j in 0..views.classes() {
            sum += self.phi(difference(j)).0;
            over_p += views.p.probability(j) * slope(j);
            over_q += views.q.probability(j) * slope(j);
        }
        let half = T::from_f64(0.5) * weight;
        for j in 0..views.classes() {
            add(at, j, half * views.p.probability(j) * (slope(j) - over_p));
            add(against, j, -half * views.q.probability(j) * (slope(j) - over_q));
        }
        T::from_f64(0.5) * sum
    }
}

/// Σ (z_j − u_j)².
pub(super) struct SquaredDistance;

impl<T: Real> RowLoss<T> for SquaredDistance {
    #[inline(always)]
    fn pair(&self) -> bool {
        true
    }

    #[inline(always)]
    fn value(&self, row: Row<'_, T>) -> T {
        row.at.iter().zip(row.against).map(|(&z, &u)| (z - u) * (z - u)).sum()
    }

    #[inline(always)]
    fn seed(&self, row: Row<'_, T>, weight: T, at: &mut [T], against: &mut [T]) -> T {
        for j in 0..row.at.len() {
            let difference = row.at[j] - row.against[j];
            at[j] += weight * (difference + difference);
            against[j] -= weight * (difference + difference);
        }
        self.value(row)
    }
}

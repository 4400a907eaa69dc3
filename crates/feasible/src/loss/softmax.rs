//! Probabilities of logits, in logarithms.
//!
//! One logit z is read as the pair (0, z), so that k = 1 and k = 2 describe the same Bernoulli
//! variable. All sums are taken after subtracting the largest logit, and without it: with
//! m = max z,
//! $$\log p_j = (z_j - m) - \log\Big(1 + \sum_{i \ne \arg\max z} e^{z_i - m}\Big),$$
//! which keeps its relative accuracy when p is nearly 1 and is finite for all finite logits.

use super::series;
use crate::real::Real;

/// Beyond this size logits are cut, so that no difference of four of them overflows in `f32`.
const LARGEST: f64 = 1e30;

/// Quantities of this many classes are kept on the stack; those of further classes are computed each
/// time they are needed, so that no row allocates.
const REMEMBERED: usize = 16;

/// The logits of one row.
#[derive(Clone, Copy)]
pub struct Logits<'a, T>(pub &'a [T]);

impl<T: Real> Logits<'_, T> {
    /// k, or 2 when there is one logit.
    #[inline(always)]
    pub fn classes(self) -> usize {
        self.0.len().max(2)
    }

    /// z_j.
    #[inline(always)]
    pub fn get(self, j: usize) -> T {
        match self.0 {
            [z] => {
                if j == 0 {
                    T::ZERO
                } else {
                    cut(*z)
                }
            }
            z => cut(z[j]),
        }
    }

    /// z_1 − z_0 when there are two classes: all that their probabilities depend on.
    #[inline(always)]
    pub fn contrast(self) -> Option<T> {
        match *self.0 {
            [z] => Some(cut(z)),
            [z0, z1] => Some(cut(z1) - cut(z0)),
            _ => None,
        }
    }

    /// The class with the largest logit, the first of equals; `None` if a logit is NaN.
    #[inline(always)]
    pub fn arg_max(self) -> Option<usize> {
        #[expect(clippy::eq_op, reason = "NaN differs from itself")]
        if self.0.iter().any(|z| z != z) { None } else { Some(self.top()) }
    }

    #[inline(always)]
    fn top(self) -> usize {
        let mut top = 0;
        for j in 1..self.classes() {
            if self.get(j) > self.get(top) {
                top = j;
            }
        }
        top
    }
}

/// z, or ±[`LARGEST`] for larger finite ones. Infinity and NaN stay what they are: they are the
/// sign of a diverged model and must not be hidden.
#[inline(always)]
fn cut<T: Real>(z: T) -> T {
    let largest = T::from_f64(LARGEST);
    if z.abs() <= largest || !z.is_finite() {
        z
    } else if z > T::ZERO {
        largest
    } else {
        -largest
    }
}

/// Adds g to the seed of logit j; the 0 of the pair (0, z) has no seed.
#[inline(always)]
pub(super) fn add<T: Real>(seeds: &mut [T], j: usize, g: T) {
    match seeds {
        [seed] => {
            if j == 1 {
                *seed += g;
            }
        }
        seeds => seeds[j] += g,
    }
}

/// log p, as a function of the class.
#[derive(Clone, Copy)]
pub(super) struct LogSoftmax<'a, T> {
    logits: Logits<'a, T>,
    /// The class of the largest logit.
    top: usize,
    /// m.
    max: T,
    /// log Σ e^{z − m}.
    rest: T,
    /// p of the first classes.
    first: [T; REMEMBERED],
}

impl<'a, T: Real> LogSoftmax<'a, T> {
    #[inline(always)]
    pub fn new(logits: Logits<'a, T>) -> Self {
        let top = logits.top();
        let max = logits.get(top);
        let mut first = [T::ZERO; REMEMBERED];
        let mut others = T::ZERO;
        for j in 0..logits.classes() {
            let e = if j == top { T::ONE } else { (logits.get(j) - max).exp() };
            if j != top {
                others += e;
            }
            if j < REMEMBERED {
                first[j] = e;
            }
        }
        let scale = T::ONE / (T::ONE + others);
        for p in &mut first[..logits.classes().min(REMEMBERED)] {
            *p *= scale;
        }
        Self { logits, top, max, rest: others.ln_1p(), first }
    }

    /// k, at least 2.
    #[inline(always)]
    pub fn classes(&self) -> usize {
        self.logits.classes()
    }

    /// log p_j.
    #[inline(always)]
    pub fn log(&self, j: usize) -> T {
        (self.logits.get(j) - self.max) - self.rest
    }

    /// p_j.
    #[inline(always)]
    pub fn probability(&self, j: usize) -> T {
        if j < REMEMBERED { self.first[j] } else { self.log(j).exp() }
    }

    /// p_j − 1, accurate when p_j is nearly 1.
    #[inline(always)]
    pub fn minus_one(&self, j: usize) -> T {
        self.log(j).exp_m1()
    }
}

/// Two distributions p (at z) and q (at u), with accurate log-ratios.
///
/// $$d_j = \log\frac{p_j}{q_j} = c_j - \log\Big(1 + \sum_i q_i (e^{c_i} - 1)\Big), \qquad
/// c_j = (z_j - u_j) - (z_m - u_m),$$
/// with m the likeliest class. When no logit moves by more than 1, d is computed in this way, so that
/// differences far below the rounding of log p survive; otherwise as log p − log q.
#[derive(Clone, Copy)]
pub(super) struct Comparison<'a, T> {
    z: Logits<'a, T>,
    u: Logits<'a, T>,
    pub p: LogSoftmax<'a, T>,
    pub q: LogSoftmax<'a, T>,
    /// z_m − u_m and log(1 + Σ q (e^c − 1)), if the views are close.
    close: Option<(T, T)>,
}

impl<'a, T: Real> Comparison<'a, T> {
    #[inline(always)]
    pub fn new(at: &'a [T], against: &'a [T]) -> Self {
        let (z, u) = (Logits(at), Logits(against));
        let (p, q) = (LogSoftmax::new(z), LogSoftmax::new(u));
        let change = |j| z.get(j) - u.get(j);
        let close = (0..z.classes()).all(|j| change(j).abs() <= T::ONE);
        let close = close.then(|| {
            let base = change(p.top);
            let growth = |j| q.probability(j) * (change(j) - base).exp_m1();
            (base, (0..z.classes()).map(growth).sum::<T>().ln_1p())
        });
        Self { z, u, p, q, close }
    }

    /// k, at least 2.
    #[inline(always)]
    pub fn classes(&self) -> usize {
        self.z.classes()
    }

    /// d_j = log p_j − log q_j.
    #[inline(always)]
    pub fn log_ratio(&self, j: usize) -> T {
        match self.close {
            Some((base, shift)) => ((self.z.get(j) - self.u.get(j)) - base) - shift,
            None => self.p.log(j) - self.q.log(j),
        }
    }

    /// p_j − q_j, to relative accuracy.
    #[inline(always)]
    pub fn difference(&self, j: usize) -> T {
        let d = self.log_ratio(j);
        if d.abs() <= T::ONE {
            self.q.probability(j) * d.exp_m1()
        } else {
            self.p.probability(j) - self.q.probability(j)
        }
    }
}

/// One term of a divergence, p (d + e^{−d} − 1) = p d + q − p with d = log(p/q).
///
/// Never negative, 0 only at d = 0, and free of cancellation: a series where |d| is small; elsewhere
/// p e^{−d} is taken to be q, which cannot overflow.
#[inline(always)]
pub(super) fn divergence_term<T: Real>(p: T, q: T, d: T) -> T {
    if d.abs() <= T::from_f64(0.5) { p * series::exp_m1_plus(d) } else { p * (d - T::ONE) + q }
}

/// f, with its first values computed once.
#[inline(always)]
pub(super) fn remember<T: Real>(classes: usize, f: impl Fn(usize) -> T) -> impl Fn(usize) -> T {
    let mut first = [T::ZERO; REMEMBERED];
    for j in 0..classes.min(REMEMBERED) {
        first[j] = f(j);
    }
    move |j| if j < REMEMBERED { first[j] } else { f(j) }
}

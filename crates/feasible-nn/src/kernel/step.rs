//! One step of an optimiser, fused over the flat θ: each number of θ, its gradient and its state
//! is read once and written once.

#![allow(unsafe_code)]

use crate::simd::{Lanes, dispatch};

/// The numbers of one Adam or AdamW step. With the bias corrections folded in:
/// θ ← θ·keep; g ← g + decay·θ; m ← β₁m + (1 − β₁)g; v ← β₂v + (1 − β₂)g²;
/// θ ← θ − rate · m / (√v · root + ε).
#[derive(Clone, Copy, Debug)]
pub struct AdamStep {
    /// The step size over 1 − β₁ᵗ.
    pub rate: f64,
    /// β₁ and β₂.
    pub betas: (f64, f64),
    /// 1 / √(1 − β₂ᵗ).
    pub root: f64,
    /// ε.
    pub epsilon: f64,
    /// Decay added to the gradient (Adam's weight decay).
    pub decay: f64,
    /// 1 − rate·decay (AdamW's), 1 without.
    pub keep: f64,
}

/// The numbers of one SGD step: g ← g + decay·θ; b ← momentum·b + g; then θ ← θ − rate·b, or
/// with Nesterov's look-ahead θ ← θ − rate·(g + momentum·b).
#[derive(Clone, Copy, Debug)]
pub struct SgdStep {
    /// The step size.
    pub rate: f64,
    /// The share of the last step that is kept.
    pub momentum: f64,
    /// Nesterov's form.
    pub nesterov: bool,
    /// Decay added to the gradient.
    pub decay: f64,
}

dispatch!(adam => adam_lanes(
    step: AdamStep, theta: &mut [f32], gradient: &[f32], m: &mut [f32], v: &mut [f32],
));

#[inline(always)]
fn adam_lanes<L: Lanes>(
    step: AdamStep,
    theta: &mut [f32],
    gradient: &[f32],
    m: &mut [f32],
    v: &mut [f32],
) {
    let len = theta.len();
    assert!(gradient.len() == len && m.len() == len && v.len() == len);
    let (theta, gradient) = (theta.as_mut_ptr(), gradient.as_ptr());
    let (m, v) = (m.as_mut_ptr(), v.as_mut_ptr());
    let mut j = 0;
    // SAFETY: all four have `len` entries, and j.. never passes that.
    unsafe {
        while j + L::N <= len {
            adam_one::<L, true>(step, theta.add(j), gradient.add(j), m.add(j), v.add(j), 0);
            j += L::N;
        }
        if j < len {
            let n = len - j;
            adam_one::<L, false>(step, theta.add(j), gradient.add(j), m.add(j), v.add(j), n);
        }
    }
}

/// # Safety
/// The pointers are good for a vector, or n numbers if not FULL.
#[inline(always)]
unsafe fn adam_one<L: Lanes, const FULL: bool>(
    step: AdamStep,
    theta: *mut f32,
    gradient: *const f32,
    m: *mut f32,
    v: *mut f32,
    n: usize,
) {
    let (b1, b2) = step.betas;
    // SAFETY: the caller's promise.
    unsafe {
        let t = L::load_if::<FULL>(theta, n);
        let g = L::splat(step.decay as f32).fma(t, L::load_if::<FULL>(gradient, n));
        let t = t.mul(L::splat(step.keep as f32));
        let first = L::splat(b1 as f32).mul(L::load_if::<FULL>(m, n));
        let first = L::splat((1.0 - b1) as f32).fma(g, first);
        let second = L::splat(b2 as f32).mul(L::load_if::<FULL>(v, n));
        let second = L::splat((1.0 - b2) as f32).mul(g).fma(g, second);
        first.store_if::<FULL>(m, n);
        second.store_if::<FULL>(v, n);
        let scale = second.sqrt().fma(L::splat(step.root as f32), L::splat(step.epsilon as f32));
        L::splat(-step.rate as f32).mul(first).fma(scale.recip(), t).store_if::<FULL>(theta, n);
    }
}

dispatch!(sgd => sgd_lanes(
    step: SgdStep, theta: &mut [f32], gradient: &[f32], buffer: &mut [f32],
));

#[inline(always)]
fn sgd_lanes<L: Lanes>(step: SgdStep, theta: &mut [f32], gradient: &[f32], buffer: &mut [f32]) {
    let len = theta.len();
    // Without momentum there is no buffer.
    assert!(gradient.len() == len && (buffer.len() == len || step.momentum == 0.0));
    let (theta, gradient) = (theta.as_mut_ptr(), gradient.as_ptr());
    let buffer = buffer.as_mut_ptr();
    let mut j = 0;
    // SAFETY: θ and gradient have `len` entries, and so has the buffer if it is used; j.. never
    // passes that.
    unsafe {
        while j + L::N <= len {
            let b = buffer.wrapping_add(j);
            sgd_one::<L, true>(step, theta.add(j), gradient.add(j), b, 0);
            j += L::N;
        }
        if j < len {
            let b = buffer.wrapping_add(j);
            sgd_one::<L, false>(step, theta.add(j), gradient.add(j), b, len - j);
        }
    }
}

/// # Safety
/// The pointers are good for a vector, or n numbers if not FULL; the buffer only if there is
/// momentum.
#[inline(always)]
unsafe fn sgd_one<L: Lanes, const FULL: bool>(
    step: SgdStep,
    theta: *mut f32,
    gradient: *const f32,
    buffer: *mut f32,
    n: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let t = L::load_if::<FULL>(theta, n);
        let g = L::splat(step.decay as f32).fma(t, L::load_if::<FULL>(gradient, n));
        let direction = if step.momentum == 0.0 {
            g
        } else {
            let momentum = L::splat(step.momentum as f32);
            let b = momentum.fma(L::load_if::<FULL>(buffer, n), g);
            b.store_if::<FULL>(buffer, n);
            if step.nesterov { momentum.fma(b, g) } else { b }
        };
        L::splat(-step.rate as f32).fma(direction, t).store_if::<FULL>(theta, n);
    }
}

/// The plain loops.
pub(super) mod plain {
    use feasible::Real;

    use super::{AdamStep, SgdStep};

    pub fn adam<T: Real>(s: AdamStep, theta: &mut [T], gradient: &[T], m: &mut [T], v: &mut [T]) {
        let t = T::from_f64;
        let (b1, b2) = s.betas;
        for i in 0..theta.len() {
            let g = gradient[i] + t(s.decay) * theta[i];
            m[i] = t(b1) * m[i] + t(1.0 - b1) * g;
            v[i] = t(b2) * v[i] + t(1.0 - b2) * g * g;
            theta[i] =
                theta[i] * t(s.keep) - t(s.rate) * m[i] / (v[i].sqrt() * t(s.root) + t(s.epsilon));
        }
    }

    pub fn sgd<T: Real>(s: SgdStep, theta: &mut [T], gradient: &[T], buffer: &mut [T]) {
        let t = T::from_f64;
        for i in 0..theta.len() {
            let g = gradient[i] + t(s.decay) * theta[i];
            let mut direction = g;
            if s.momentum != 0.0 {
                buffer[i] = t(s.momentum) * buffer[i] + g;
                direction = if s.nesterov { g + t(s.momentum) * buffer[i] } else { buffer[i] };
            }
            theta[i] -= t(s.rate) * direction;
        }
    }
}

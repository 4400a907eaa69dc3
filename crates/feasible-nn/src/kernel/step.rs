//! One step of an optimiser, fused over the flat θ: each number of θ, its gradient and its state
//! is read once and written once.

use crate::simd::{Lanes, dispatch, whole};

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
    /// What the gradient is then multiplied by: squares of very large or small ones are beyond single precision.
    pub scale: f64,
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
    let vectors = whole(len, L::N);
    let (theta, last_theta) = theta.split_at_mut(vectors);
    let (gradient, last_gradient) = gradient.split_at(vectors);
    let (m, last_m) = m.split_at_mut(vectors);
    let (v, last_v) = v.split_at_mut(vectors);
    let state = m.chunks_exact_mut(L::N).zip(v.chunks_exact_mut(L::N));
    let theta = theta.chunks_exact_mut(L::N).zip(gradient.chunks_exact(L::N));
    for ((theta, gradient), (m, v)) in theta.zip(state) {
        adam_one::<L, true>(step, theta, gradient, m, v);
    }
    adam_one::<L, false>(step, last_theta, last_gradient, last_m, last_v);
}

/// A vector of each, or what they hold if not FULL.
#[inline(always)]
fn adam_one<L: Lanes, const FULL: bool>(
    step: AdamStep,
    theta: &mut [f32],
    gradient: &[f32],
    m: &mut [f32],
    v: &mut [f32],
) {
    let (b1, b2) = step.betas;
    let t = L::of_if::<FULL>(theta);
    let g = L::splat(step.decay as f32).fma(t, L::of_if::<FULL>(gradient));
    let g = g.mul(L::splat(step.scale as f32));
    let t = t.mul(L::splat(step.keep as f32));
    let first = L::splat(b1 as f32).mul(L::of_if::<FULL>(m));
    let first = L::splat((1.0 - b1) as f32).fma(g, first);
    let second = L::splat(b2 as f32).mul(L::of_if::<FULL>(v));
    let second = L::splat((1.0 - b2) as f32).mul(g).fma(g, second);
    first.put_if::<FULL>(m);
    second.put_if::<FULL>(v);
    let scale = second.sqrt().fma(L::splat(step.root as f32), L::splat(step.epsilon as f32));
    L::splat(-step.rate as f32).mul(first).fma(scale.recip(), t).put_if::<FULL>(theta);
}

dispatch!(sgd => sgd_lanes(
    step: SgdStep, theta: &mut [f32], gradient: &[f32], buffer: &mut [f32],
));

#[inline(always)]
fn sgd_lanes<L: Lanes>(step: SgdStep, theta: &mut [f32], gradient: &[f32], buffer: &mut [f32]) {
    let len = theta.len();
    assert_eq!(gradient.len(), len);
    let vectors = whole(len, L::N);
    let (theta, last_theta) = theta.split_at_mut(vectors);
    let (gradient, last_gradient) = gradient.split_at(vectors);
    let theta = theta.chunks_exact_mut(L::N).zip(gradient.chunks_exact(L::N));
    // Without momentum there is no buffer.
    if step.momentum == 0.0 {
        for (theta, gradient) in theta {
            sgd_one::<L, true>(step, theta, gradient, &mut []);
        }
        sgd_one::<L, false>(step, last_theta, last_gradient, &mut []);
    } else {
        assert_eq!(buffer.len(), len);
        let (buffer, last_buffer) = buffer.split_at_mut(vectors);
        for ((theta, gradient), buffer) in theta.zip(buffer.chunks_exact_mut(L::N)) {
            sgd_one::<L, true>(step, theta, gradient, buffer);
        }
        sgd_one::<L, false>(step, last_theta, last_gradient, last_buffer);
    }
}

/// A vector of each, or what they hold if not FULL; the buffer is looked at only if there is momentum.
#[inline(always)]
fn sgd_one<L: Lanes, const FULL: bool>(
    step: SgdStep,
    theta: &mut [f32],
    gradient: &[f32],
    buffer: &mut [f32],
) {
    let t = L::of_if::<FULL>(theta);
    let g = L::splat(step.decay as f32).fma(t, L::of_if::<FULL>(gradient));
    let direction = if step.momentum == 0.0 {
        g
    } else {
        let momentum = L::splat(step.momentum as f32);
        let b = momentum.fma(L::of_if::<FULL>(buffer), g);
        b.put_if::<FULL>(buffer);
        if step.nesterov { momentum.fma(b, g) } else { b }
    };
    L::splat(-step.rate as f32).fma(direction, t).put_if::<FULL>(theta);
}

/// The plain loops.
pub(super) mod plain {
    use feasible::Real;

    use super::{AdamStep, SgdStep};

    pub fn adam<T: Real>(s: AdamStep, theta: &mut [T], gradient: &[T], m: &mut [T], v: &mut [T]) {
        let t = T::from_f64;
        let (b1, b2) = s.betas;
        for i in 0..theta.len() {
            let g = (gradient[i] + t(s.decay) * theta[i]) * t(s.scale);
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

//! φ(scale · x + shift) of planes, and a gradient taken back through it, for any activation φ:
//!
//! $$ y = \varphi(s_c x + t_c), \qquad g \leftarrow g\, \varphi'(s_c x + t_c), $$
//!
//! c one of the 16 channels. The slope is computed again from x on the way back instead of being kept:
//! it costs an exponential and saves a pass through memory. ReLU, which costs no more than the
//! memory it reads, stays with the safe loops of `planes`.

use super::BLOCK;
use super::planes::Channels;
use crate::activation::Activation;
use crate::kernel::activation::{RELU, SIGMOID, SILU, TANH, slope_of, value_and_slope};
use crate::simd::{Lanes, MAX_LANES, dispatch};

/// What is activated: planes of 16 channels, read through a normalisation if there is one.
#[derive(Clone, Copy, Debug)]
pub struct Activated<'a, T> {
    /// φ.
    pub activation: Activation,
    /// s and t.
    pub affine: Option<(&'a Channels<T>, &'a Channels<T>)>,
    /// x.
    pub x: &'a [T],
}

dispatch!(activate_planes => activate_lanes(of: Activated<'_, f32>, y: &mut [f32]));

#[inline(always)]
fn activate_lanes<L: Lanes>(of: Activated<'_, f32>, y: &mut [f32]) {
    match of.activation {
        Activation::Sigmoid => each::<L, SIGMOID, false>(of, y),
        Activation::Tanh => each::<L, TANH, false>(of, y),
        Activation::Relu => each::<L, RELU, false>(of, y),
        Activation::Silu => each::<L, SILU, false>(of, y),
    }
}

dispatch!(activate_planes_back => back_lanes(of: Activated<'_, f32>, g: &mut [f32]));

#[inline(always)]
fn back_lanes<L: Lanes>(of: Activated<'_, f32>, g: &mut [f32]) {
    match of.activation {
        Activation::Sigmoid => each::<L, SIGMOID, true>(of, g),
        Activation::Tanh => each::<L, TANH, true>(of, g),
        Activation::Relu => each::<L, RELU, true>(of, g),
        Activation::Silu => each::<L, SILU, true>(of, g),
    }
}

/// y = φ(u), or y ← y φ'(u) if BACK.
#[inline(always)]
fn each<L: Lanes, const F: u8, const BACK: bool>(of: Activated<'_, f32>, y: &mut [f32]) {
    assert!(of.x.len() == y.len() && y.len().is_multiple_of(BLOCK));
    let (mut scale, mut shift) = ([L::splat(1.0); MAX_LANES], [L::splat(0.0); MAX_LANES]);
    if let Some((s, t)) = of.affine {
        for v in 0..BLOCK / L::N {
            (scale[v], shift[v]) = (L::of(&s[v * L::N..]), L::of(&t[v * L::N..]));
        }
    }
    for (x, y) in of.x.chunks_exact(BLOCK).zip(y.chunks_exact_mut(BLOCK)) {
        for v in 0..BLOCK / L::N {
            let y = &mut y[v * L::N..];
            let u = L::of(&x[v * L::N..]).fma(scale[v], shift[v]);
            let (value, slope) = value_and_slope::<L, F>(u);
            match BACK {
                true => slope_of::<L, F>(slope, L::of(y)).put(y),
                false => value.put(y),
            }
        }
    }
}

/// The plain loops.
pub(crate) mod plain {
    use feasible::Real;

    use super::{Activated, BLOCK};
    use crate::kernel::activation::plain::{slope, value};

    fn inside<T: Real>(of: &Activated<'_, T>, at: usize) -> T {
        let i = at % BLOCK;
        of.affine.map_or(of.x[at], |(scale, shift)| scale[i] * of.x[at] + shift[i])
    }

    pub fn activate_planes<T: Real>(of: Activated<'_, T>, y: &mut [T]) {
        assert_eq!(of.x.len(), y.len());
        for (at, y) in y.iter_mut().enumerate() {
            *y = value(of.activation, inside(&of, at));
        }
    }

    pub fn activate_planes_back<T: Real>(of: Activated<'_, T>, g: &mut [T]) {
        assert_eq!(of.x.len(), g.len());
        for (at, g) in g.iter_mut().enumerate() {
            *g *= slope(of.activation, inside(&of, at));
        }
    }
}

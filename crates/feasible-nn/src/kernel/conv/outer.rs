//! The gradient of a convolution with respect to its weights: sums of outer products over pixels,
//!
//! $$ G_{o i t} \mathrel{+}= \sum_{r, c} \delta_o(r, c)\, x_i\big(\text{at}(r, c) + \text{tap}_t\big) . $$
//!
//! For one tap a tile of input channels × vectors of output channels stays in registers while the
//! pixels of a band of rows go by; a band of x and δ stays in the first-level cache while the taps
//! take turns. Where the input comes by planes, the taps are the rows of the tile.
#![allow(missing_docs, reason = "public for the tests of this crate alone")]
#![allow(unsafe_code)]

use super::{BLOCK, Packed, Sweep, inside, last, product};
use crate::simd::{Lanes, dispatch};

/// Numbers of x or δ in a band: 16 KiB of `f32` each.
const BAND: usize = 4096;

/// What is summed; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Outer<'a, T> {
    /// The forward sweep: taps, rows and columns. Where it writes does not matter.
    pub sweep: &'a Sweep,
    /// Number of images.
    pub images: usize,
    /// x.
    pub input: Packed<'a, T>,
    /// δ, in blocks of 16.
    pub delta: Packed<'a, T>,
    /// Where δ's first pixel is in an image.
    pub delta_start: usize,
    /// Numbers between rows of δ; columns are one pixel apart.
    pub delta_row: usize,
}

impl<T> Outer<'_, T> {
    fn check(&self, gradient: &[T]) {
        let Self { sweep, input, delta, .. } = self;
        assert!(input.pixel == BLOCK || input.pixel == 1);
        assert!(input.holds(sweep, self.images), "the packed input is too short");
        self.check_delta(sweep.rows, sweep.columns);
        let sums = [delta.blocks(), input.blocks(), sweep.taps.len(), input.pixel, BLOCK];
        assert_eq!(Some(gradient.len()), product(&sums));
        assert!(sweep.taps.iter().all(|t| t.weight < sweep.taps.len()));
    }

    /// The same for sums over 6×6 tiles, `size` of them an image.
    pub(super) fn check_tiles(&self, gradient: &[T], size: (usize, usize)) {
        let Self { sweep, input, delta, .. } = self;
        assert!(input.pixel == BLOCK && sweep.taps.len() == 9);
        assert!(
            input.holds_tiles(sweep.input_row, size, self.images),
            "the packed input is too short"
        );
        let side = super::winograd::SIDE;
        self.check_delta(side.saturating_mul(size.0), side.saturating_mul(size.1));
        let points = super::winograd::POINTS;
        let sums = [delta.blocks(), input.blocks(), points, BLOCK, BLOCK];
        assert_eq!(Some(gradient.len()), product(&sums));
    }

    fn check_delta(&self, rows: usize, columns: usize) {
        let delta = &self.delta;
        assert!(delta.pixel == BLOCK);
        let place = last(self.delta_start, &[(rows, self.delta_row), (columns, BLOCK)]);
        let place = place.and_then(|place| delta.last_plane(self.images, place));
        assert!(inside(place, BLOCK, delta.data.len()), "δ is too short");
    }

    pub(super) fn is_empty(&self) -> bool {
        self.images == 0 || self.sweep.rows == 0 || self.sweep.columns == 0
    }
}

dispatch!(outer => outer_lanes(of: Outer<'_, f32>, gradient: &mut [f32]));

#[inline(always)]
fn outer_lanes<L: Lanes>(of: Outer<'_, f32>, gradient: &mut [f32]) {
    if of.is_empty() {
        return;
    }
    of.check(gradient);
    let all = of.delta.blocks() * (BLOCK / L::N);
    let out = gradient.as_mut_ptr();
    let mut v = 0;
    // SAFETY: `check` has compared every stride and count with the lengths of the slices.
    unsafe {
        if L::N == BLOCK && of.input.pixel == BLOCK {
            while v + 2 <= all {
                bands::<L, 2>(&of, out, v);
                v += 2;
            }
        }
        while v < all {
            bands::<L, 1>(&of, out, v);
            v += 1;
        }
    }
}

/// # Safety
/// `of` has been checked against the memory at `out`, and vectors v..v + V of δ exist; so for all
/// functions below.
#[inline(always)]
unsafe fn bands<L: Lanes, const V: usize>(of: &Outer<'_, f32>, out: *mut f32, v: usize) {
    let sweep = of.sweep;
    let all = of.images * sweep.rows;
    let band = (BAND / (sweep.columns * of.input.pixel)).max(1);
    for b in 0..of.input.blocks() {
        let mut start = 0;
        while start < all {
            let end = (start + band).min(all);
            // SAFETY: rows start..end, counted over all images, exist.
            unsafe {
                if of.input.pixel == 1 {
                    let mut t = 0;
                    while t + 9 <= sweep.taps.len() {
                        taps::<L, 9>(of, out, v, b, t, start..end);
                        t += 9;
                    }
                    while t + 3 <= sweep.taps.len() {
                        taps::<L, 3>(of, out, v, b, t, start..end);
                        t += 3;
                    }
                    while t < sweep.taps.len() {
                        taps::<L, 1>(of, out, v, b, t, start..end);
                        t += 1;
                    }
                } else {
                    for t in 0..sweep.taps.len() {
                        if L::N == BLOCK && V == 1 {
                            tile::<L, V, 16>(of, out, v, b, t, 0, start..end);
                        } else {
                            tile::<L, V, 8>(of, out, v, b, t, 0, start..end);
                            tile::<L, V, 8>(of, out, v, b, t, 8, start..end);
                        }
                    }
                }
            }
            start = end;
        }
    }
}

/// Input channels c..c + I of block b by V vectors of output channels, one tap.
///
/// # Safety
/// As [`bands`].
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn tile<L: Lanes, const V: usize, const I: usize>(
    of: &Outer<'_, f32>,
    out: *mut f32,
    v: usize,
    b: usize,
    t: usize,
    c: usize,
    runs: std::ops::Range<usize>,
) {
    let sweep = of.sweep;
    let tap = sweep.taps[t];
    let mut sum = [[L::splat(0.0); V]; I];
    // SAFETY: the checked strides put every place read or written inside its slice.
    unsafe {
        let data = of.input.data.as_ptr().add(b * of.input.block + tap.input + c);
        let mut delta = [of.delta.data.as_ptr(); V];
        for i in 0..V {
            let lane = (v + i) * L::N;
            delta[i] = delta[i].add(lane / BLOCK * of.delta.block + of.delta_start + lane % BLOCK);
        }
        for r in runs {
            let (image, row) = (r / sweep.rows, r % sweep.rows);
            let from = data.add(image * of.input.image + row * sweep.input_row);
            let back = image * of.delta.image + row * of.delta_row;
            for x in 0..sweep.columns {
                let mut d = [L::splat(0.0); V];
                for i in 0..V {
                    d[i] = L::load(delta[i].add(back + x * BLOCK));
                }
                for k in 0..I {
                    let value = L::splat(*from.add(x * BLOCK + k));
                    for i in 0..V {
                        sum[k][i] = value.fma(d[i], sum[k][i]);
                    }
                }
            }
        }
        for k in 0..I {
            for i in 0..V {
                let lane = (v + i) * L::N;
                let pair = lane / BLOCK * of.input.blocks() + b;
                let place = (pair * sweep.taps.len() + tap.weight) * BLOCK * BLOCK;
                let to = out.add(place + (c + k) * BLOCK + lane % BLOCK);
                sum[k][i].add(L::load(to)).store(to);
            }
        }
    }
}

/// Plane b, taps t..t + K by one vector of output channels.
///
/// # Safety
/// As [`bands`].
#[inline(always)]
unsafe fn taps<L: Lanes, const K: usize>(
    of: &Outer<'_, f32>,
    out: *mut f32,
    v: usize,
    b: usize,
    t: usize,
    runs: std::ops::Range<usize>,
) {
    let sweep = of.sweep;
    let lane = v * L::N;
    let mut sum = [L::splat(0.0); K];
    // SAFETY: the checked strides put every place read or written inside its slice.
    unsafe {
        let delta = of.delta.data.as_ptr();
        let delta = delta.add(lane / BLOCK * of.delta.block + of.delta_start + lane % BLOCK);
        for r in runs {
            let (image, row) = (r / sweep.rows, r % sweep.rows);
            let at = b * of.input.block + image * of.input.image + row * sweep.input_row;
            let mut from = [of.input.data.as_ptr(); K];
            for k in 0..K {
                from[k] = from[k].add(at + sweep.taps[t + k].input);
            }
            let back = delta.add(image * of.delta.image + row * of.delta_row);
            for x in 0..sweep.columns {
                let d = L::load(back.add(x * BLOCK));
                for k in 0..K {
                    sum[k] = L::splat(*from[k].add(x)).fma(d, sum[k]);
                }
            }
        }
        for k in 0..K {
            let pair = lane / BLOCK * of.input.blocks() + b;
            let place = (pair * sweep.taps.len() + sweep.taps[t + k].weight) * BLOCK;
            let to = out.add(place + lane % BLOCK);
            sum[k].add(L::load(to)).store(to);
        }
    }
}

/// The plain loops.
pub(crate) mod plain {
    use feasible::Real;

    use super::{BLOCK, Outer};

    pub fn outer<T: Real>(of: Outer<'_, T>, gradient: &mut [T]) {
        if of.is_empty() {
            return;
        }
        of.check(gradient);
        let (sweep, input, delta) = (of.sweep, of.input, of.delta);
        let (n, p) = (sweep.taps.len(), input.pixel);
        for o in 0..delta.blocks() * BLOCK {
            for c in 0..input.channels {
                for tap in &sweep.taps {
                    let mut sum = T::ZERO;
                    for image in 0..of.images {
                        for row in 0..sweep.rows {
                            let from = c / p * input.block
                                + image * input.image
                                + row * sweep.input_row
                                + tap.input
                                + c % p;
                            let back = o / BLOCK * delta.block
                                + image * delta.image
                                + of.delta_start
                                + row * of.delta_row
                                + o % BLOCK;
                            for x in 0..sweep.columns {
                                sum += input.data[from + x * p] * delta.data[back + x * BLOCK];
                            }
                        }
                    }
                    let pair = o / BLOCK * input.blocks() + c / p;
                    let place = ((pair * n + tap.weight) * p + c % p) * BLOCK + o % BLOCK;
                    gradient[place] += sum;
                }
            }
        }
    }
}

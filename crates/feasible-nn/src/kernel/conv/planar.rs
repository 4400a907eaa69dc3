//! The gradient with respect to an input that comes by planes (an image with few channels):
//!
//! $$ g_i(r, c) = \sum_t \sum_o w_{o i t}\, \delta_o\big(\text{at}(r, c) + \text{tap}_t\big) . $$
//!
//! Here the lanes are summed over: a vector of 16 output channels per pixel, added up across lanes
//! at the end by one transposing sum for 16 (or 8) pixels.
#![allow(missing_docs, reason = "public for the tests of this crate alone")]
#![allow(unsafe_code)]

use super::{BLOCK, Packed, Sweep, inside, last, product};
use crate::simd::{Lanes, MAX_LANES, dispatch, sums};

/// What is computed; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Planar<'a, T> {
    /// Where: the sweep's output is one plane of one image, one number a pixel.
    pub sweep: &'a Sweep,
    /// Number of images.
    pub images: usize,
    /// δ, in blocks of 16.
    pub delta: Packed<'a, T>,
    /// The forward weights, `[out block][plane][tap][16]`.
    pub weights: &'a [T],
    /// Taps in `weights`.
    pub taps: usize,
    /// Planes of the output.
    pub planes: usize,
    /// Numbers between output images.
    pub out_image: usize,
    /// Numbers between output planes.
    pub out_plane: usize,
}

impl<T> Planar<'_, T> {
    fn check(&self, out: &[T]) {
        let Self { sweep, delta, .. } = self;
        assert!(delta.pixel == BLOCK);
        assert!(delta.holds(sweep, self.images), "δ is too short");
        let weights = [delta.blocks(), self.planes, self.taps, BLOCK];
        assert_eq!(Some(self.weights.len()), product(&weights));
        assert!(sweep.taps.iter().all(|t| t.weight < self.taps));
        let planes = [(self.images, self.out_image), (self.planes, self.out_plane)];
        let place = sweep.last_out().and_then(|place| last(place, &planes));
        assert!(inside(place, 1, out.len()), "the output is too short");
    }

    fn is_empty(&self) -> bool {
        self.images == 0 || self.planes == 0 || self.sweep.rows == 0 || self.sweep.columns == 0
    }
}

dispatch!(planar => planar_lanes(of: Planar<'_, f32>, out: &mut [f32]));

#[inline(always)]
fn planar_lanes<L: Lanes>(of: Planar<'_, f32>, out: &mut [f32]) {
    if of.is_empty() {
        return;
    }
    of.check(out);
    let sweep = of.sweep;
    for image in 0..of.images {
        for plane in 0..of.planes {
            for row in 0..sweep.rows {
                let from = image * of.delta.image + row * sweep.input_row;
                let to =
                    image * of.out_image + plane * of.out_plane + sweep.start + row * sweep.row;
                let mut x = 0;
                while x < sweep.columns {
                    let n = (sweep.columns - x).min(L::N);
                    let mut line = [0.0; MAX_LANES];
                    // SAFETY: `check` has compared every stride and count with the lengths;
                    // columns x..x + n exist.
                    unsafe {
                        if n == L::N {
                            run::<L, true>(&of, plane, from + x * BLOCK, n, &mut line);
                        } else {
                            run::<L, false>(&of, plane, from + x * BLOCK, n, &mut line);
                        }
                    }
                    for (j, &g) in line[..n].iter().enumerate() {
                        out[to + (x + j) * sweep.pixel] = g;
                    }
                    x += n;
                }
            }
        }
    }
}

/// n ≤ N pixels of one row of one plane, N of them if FULL.
///
/// # Safety
/// `of` has been checked, and the pixels exist.
#[inline(always)]
unsafe fn run<L: Lanes, const FULL: bool>(
    of: &Planar<'_, f32>,
    plane: usize,
    from: usize,
    n: usize,
    line: &mut [f32; MAX_LANES],
) {
    let mut sum = [L::splat(0.0); MAX_LANES];
    // SAFETY: the checked strides put every place read inside its slice.
    unsafe {
        for b in 0..of.delta.blocks() {
            for tap in &of.sweep.taps {
                let w = ((b * of.planes + plane) * of.taps + tap.weight) * BLOCK;
                let at = of.delta.data.as_ptr().add(b * of.delta.block + from + tap.input);
                let mut lane = 0;
                while lane < BLOCK {
                    let factor = L::load(of.weights.as_ptr().add(w + lane));
                    for j in 0..L::N {
                        if FULL || j < n {
                            let value = L::load(at.add(j * BLOCK + lane));
                            sum[j] = value.fma(factor, sum[j]);
                        }
                    }
                    lane += L::N;
                }
            }
        }
        sums(sum).store(line.as_mut_ptr());
    }
}

/// The plain loops.
pub(crate) mod plain {
    use feasible::Real;

    use super::{BLOCK, Planar};

    pub fn planar<T: Real>(of: Planar<'_, T>, out: &mut [T]) {
        if of.is_empty() {
            return;
        }
        of.check(out);
        let (sweep, delta) = (of.sweep, of.delta);
        for image in 0..of.images {
            for plane in 0..of.planes {
                for row in 0..sweep.rows {
                    for x in 0..sweep.columns {
                        let from = image * delta.image + row * sweep.input_row + x * BLOCK;
                        let mut sum = T::ZERO;
                        for o in 0..delta.channels {
                            let (b, lane) = (o / BLOCK, o % BLOCK);
                            for tap in &sweep.taps {
                                let w = ((b * of.planes + plane) * of.taps + tap.weight) * BLOCK;
                                sum += of.weights[w + lane]
                                    * delta.data[from + b * delta.block + tap.input + lane];
                            }
                        }
                        let to = image * of.out_image + plane * of.out_plane + sweep.start;
                        out[to + row * sweep.row + x * sweep.pixel] = sum;
                    }
                }
            }
        }
    }
}

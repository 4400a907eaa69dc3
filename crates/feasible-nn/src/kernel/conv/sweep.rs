//! The sum over taps and channels, a tile of output pixels × output channels in registers.
//!
//! A tile is S runs of W neighbouring pixels by V vectors of output channels. For each tap and
//! input channel it loads V vectors of weights and one number per pixel, which is spread over
//! the lanes: with V = 1 the spread is part of the multiplication's memory operand, with V = 2 it is
//! used twice. 28 accumulators of AVX-512's 32 registers are in flight, 14 of AVX2's 16. Runs may
//! lie in different rows and images, so that small maps fill a tile too. Each output is one chain
//! of additions in the order of blocks, taps, channels: the bits do not depend on the tile.
#![allow(missing_docs, reason = "public for the tests of this crate alone")]
#![allow(unsafe_code)]

use super::{BLOCK, Packed, Sweep, inside, last, product, tile_width};
use crate::simd::{Lanes, dispatch};

/// What a sweep computes.
#[derive(Clone, Copy, Debug)]
pub struct Correlation<'a, T> {
    /// Where.
    pub sweep: &'a Sweep,
    /// Number of images.
    pub images: usize,
    /// What is read.
    pub input: Packed<'a, T>,
    /// `[out block][in block][tap][in channel of the block][16]`.
    pub weights: &'a [T],
    /// Taps in `weights`, some of which the sweep may not use.
    pub taps: usize,
    /// Blocks of output channels.
    pub out_blocks: usize,
    /// Numbers between output images.
    pub out_image: usize,
    /// Numbers between output blocks.
    pub out_block: usize,
    /// Added per output channel.
    pub bias: Option<&'a [T]>,
    /// Added per output, before ReLU.
    pub add: Add<'a, T>,
    /// Whether negative outputs become 0.
    pub relu: bool,
    /// Laid out as the outputs: where it is not positive, the output is 0.
    pub mask: Option<&'a [T]>,
    /// What will be read next, to be fetched into the cache meanwhile.
    pub ahead: [&'a [T]; 4],
}

/// What is added to a sum, laid out as the outputs.
#[derive(Clone, Copy, Debug)]
pub enum Add<'a, T> {
    /// Nothing.
    Nothing,
    /// What is there.
    Current,
    /// Another tensor.
    Other(&'a [T]),
}

impl<T> Correlation<'_, T> {
    /// # Panics
    /// If anything it touches lies outside of its slice.
    fn check(&self, out: &[T]) {
        let Self { sweep, input, .. } = self;
        assert!(input.pixel == BLOCK || input.pixel == 1);
        assert!(input.holds(sweep, self.images), "the packed input is too short");
        let weights = [self.out_blocks, input.blocks(), self.taps, input.pixel, BLOCK];
        assert_eq!(Some(self.weights.len()), product(&weights));
        assert!(sweep.taps.iter().all(|t| t.weight < self.taps));
        self.check_out(out);
    }

    fn check_out(&self, out: &[T]) {
        let planes = [(self.images, self.out_image), (self.out_blocks, self.out_block)];
        let place = self.sweep.last_out().and_then(|place| last(place, &planes));
        assert!(inside(place, BLOCK, out.len()), "the output is too short");
        let fits = |other: &[T]| assert_eq!(other.len(), out.len());
        if let Add::Other(other) = self.add {
            fits(other);
        }
        self.mask.into_iter().for_each(fits);
        let biases = product(&[self.out_blocks, BLOCK]);
        self.bias.into_iter().for_each(|b| assert_eq!(Some(b.len()), biases));
    }

    /// The same for a sweep by 6×6 tiles, `size` of them an image.
    ///
    /// # Panics
    /// As [`Correlation::check`].
    pub(super) fn check_tiles(&self, out: &[T], size: (usize, usize)) {
        let Self { sweep, input, .. } = self;
        assert!(input.pixel == BLOCK && sweep.taps.len() == 9 && self.taps == 9);
        assert!(
            input.holds_tiles(sweep.input_row, size, self.images),
            "the packed input is too short"
        );
        let points = super::winograd::POINTS;
        let weights = [self.out_blocks, input.blocks(), points, BLOCK, BLOCK];
        assert_eq!(Some(self.weights.len()), product(&weights));
        self.check_out(out);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.images == 0 || self.sweep.rows == 0 || self.sweep.columns == 0
    }
}

dispatch!(sweep => sweep_lanes(of: Correlation<'_, f32>, out: &mut [f32]));

#[inline(always)]
fn sweep_lanes<L: Lanes>(of: Correlation<'_, f32>, out: &mut [f32]) {
    if of.is_empty() {
        return;
    }
    of.check(out);
    let out = out.as_mut_ptr();
    // SAFETY: `check` has compared every stride and count with the lengths of the slices, and the
    // functions below stay inside those counts.
    unsafe {
        if of.input.pixel == 1 {
            vectors::<L, 1>(&of, out);
        } else {
            vectors::<L, BLOCK>(&of, out);
        }
    }
}

/// Over the vectors of output channels, two by two where registers allow.
///
/// # Safety
/// `of` has been checked against the memory at `out`; so for all functions below.
#[inline(always)]
unsafe fn vectors<L: Lanes, const P: usize>(of: &Correlation<'_, f32>, out: *mut f32) {
    let all = of.out_blocks * (BLOCK / L::N);
    let mut v = 0;
    // SAFETY: vectors v.. exist.
    unsafe {
        if L::N == BLOCK {
            while v + 2 <= all {
                columns::<L, P, 2>(of, out, v);
                v += 2;
            }
        }
        while v < all {
            columns::<L, P, 1>(of, out, v);
            v += 1;
        }
    }
}

/// # Safety
/// As [`vectors`]; vectors v..v + V exist.
#[inline(always)]
unsafe fn columns<L: Lanes, const P: usize, const V: usize>(
    of: &Correlation<'_, f32>,
    out: *mut f32,
    v: usize,
) {
    let columns = of.sweep.columns;
    let mut x = 0;
    while x < columns {
        let width = tile_width(columns, x);
        // SAFETY: columns x..x + width exist.
        unsafe {
            match (width, V, L::N) {
                (7, 1, 16) => runs::<L, P, V, 4, 7>(of, out, v, x),
                (7, ..) => runs::<L, P, V, 2, 7>(of, out, v, x),
                (4, 1, 16) => runs::<L, P, V, 6, 4>(of, out, v, x),
                (4, ..) => runs::<L, P, V, 3, 4>(of, out, v, x),
                _ => runs::<L, P, V, 8, 1>(of, out, v, x),
            }
        }
        x += width;
    }
}

/// # Safety
/// As [`columns`]; columns x..x + W exist.
#[inline(always)]
unsafe fn runs<L: Lanes, const P: usize, const V: usize, const S: usize, const W: usize>(
    of: &Correlation<'_, f32>,
    out: *mut f32,
    v: usize,
    x: usize,
) {
    let all = of.images * of.sweep.rows;
    let mut r = 0;
    // SAFETY: runs r.. exist.
    unsafe {
        while r + S <= all {
            tile::<L, P, V, S, W>(of, out, v, x, r);
            r += S;
        }
        if S > 2 {
            while r + 2 <= all {
                tile::<L, P, V, 2, W>(of, out, v, x, r);
                r += 2;
            }
        }
        while r < all {
            tile::<L, P, V, 1, W>(of, out, v, x, r);
            r += 1;
        }
    }
}

/// Repeats the body for each of the (at most eight) runs, written out: a loop of this size the
/// compiler would not unroll, and the sums would live in memory.
macro_rules! each_run {
    ($s:ident < $n:ident => $body:block) => {
        each_run!(@ $s $n $body 0 1 2 3 4 5 6 7);
    };
    (@ $s:ident $n:ident $body:block $($k:literal)*) => {$(
        if $n > $k {
            let $s = $k;
            $body
        }
    )*};
}

/// # Safety
/// As [`runs`]; runs r..r + S (counted over the rows of all images) exist.
#[inline(always)]
unsafe fn tile<L: Lanes, const P: usize, const V: usize, const S: usize, const W: usize>(
    of: &Correlation<'_, f32>,
    out: *mut f32,
    v: usize,
    x: usize,
    r: usize,
) {
    let sweep = of.sweep;
    let blocks = of.input.blocks();
    let pair = of.taps * P * BLOCK;
    // Vector v is lanes v·N… of the output channels.
    let block = |v: usize| (v * L::N / BLOCK, v * L::N % BLOCK);
    let weight = |v: usize| block(v).0 * blocks * pair + block(v).1;
    let mut from = [0; S];
    let mut to = [0; S];
    for s in 0..S {
        let (image, row) = ((r + s) / sweep.rows, (r + s) % sweep.rows);
        from[s] = image * of.input.image + row * sweep.input_row + x * P;
        to[s] = image * of.out_image + sweep.start + row * sweep.row + x * sweep.pixel;
    }
    let mut sum = [[[L::splat(0.0); W]; S]; V];
    // SAFETY: the checked strides put every place read or written inside its slice.
    unsafe {
        let (data, weights) = (of.input.data.as_ptr(), of.weights.as_ptr());
        for b in 0..blocks {
            let channels = (of.input.channels - b * P).min(P);
            for tap in &sweep.taps {
                let mut w = [weights; V];
                for i in 0..V {
                    w[i] = weights.add(weight(v + i) + b * pair + tap.weight * P * BLOCK);
                }
                let mut at = [data; S];
                for s in 0..S {
                    at[s] = data.add(from[s] + b * of.input.block + tap.input);
                }
                for c in 0..channels {
                    let mut factor = [L::splat(0.0); V];
                    for i in 0..V {
                        factor[i] = L::load(w[i].add(c * BLOCK));
                    }
                    each_run!(s < S => {
                        for j in 0..W {
                            let value = L::splat(*at[s].add(j * P + c));
                            for i in 0..V {
                                sum[i][s][j] = value.fma(factor[i], sum[i][s][j]);
                            }
                        }
                    });
                }
            }
        }
        for i in 0..V {
            let (b, lane) = block(v + i);
            let base = b * of.out_block + lane;
            let bias =
                of.bias.map_or(L::splat(0.0), |bias| L::load(bias.as_ptr().add(b * BLOCK + lane)));
            each_run!(s < S => {
                for j in 0..W {
                    let place = base + to[s] + j * sweep.pixel;
                    let mut y = sum[i][s][j].add(bias);
                    match of.add {
                        Add::Nothing => {}
                        Add::Current => y = y.add(L::load(out.add(place))),
                        Add::Other(other) => y = y.add(L::load(other.as_ptr().add(place))),
                    }
                    if of.relu {
                        y = L::splat(0.0).max(y);
                    }
                    if let Some(mask) = of.mask {
                        y = L::load(mask.as_ptr().add(place)).where_positive(y);
                    }
                    y.store(out.add(place));
                }
            });
        }
    }
}

/// The plain loops.
pub(crate) mod plain {
    use feasible::Real;

    use super::{Add, BLOCK, Correlation};

    pub fn sweep<T: Real>(of: Correlation<'_, T>, out: &mut [T]) {
        if of.is_empty() {
            return;
        }
        of.check(out);
        let (sweep, input) = (of.sweep, of.input);
        let pair = of.taps * input.pixel * BLOCK;
        for image in 0..of.images {
            for o in 0..of.out_blocks * BLOCK {
                for row in 0..sweep.rows {
                    for column in 0..sweep.columns {
                        let from =
                            image * input.image + row * sweep.input_row + column * input.pixel;
                        let mut sum = T::ZERO;
                        for c in 0..input.channels {
                            let (b, lane) = (c / input.pixel, c % input.pixel);
                            for tap in &sweep.taps {
                                let w = (o / BLOCK * input.blocks() + b) * pair
                                    + (tap.weight * input.pixel + lane) * BLOCK
                                    + o % BLOCK;
                                let x = from + b * input.block + tap.input + lane;
                                sum += of.weights[w] * input.data[x];
                            }
                        }
                        let place = image * of.out_image
                            + o / BLOCK * of.out_block
                            + sweep.start
                            + row * sweep.row
                            + column * sweep.pixel
                            + o % BLOCK;
                        sum += of.bias.map_or(T::ZERO, |bias| bias[o]);
                        match of.add {
                            Add::Nothing => {}
                            Add::Current => sum += out[place],
                            Add::Other(other) => sum += other[place],
                        }
                        if of.relu && sum < T::ZERO {
                            sum = T::ZERO;
                        }
                        if of.mask.is_some_and(|mask| mask[place] <= T::ZERO) {
                            sum = T::ZERO;
                        }
                        out[place] = sum;
                    }
                }
            }
        }
    }
}

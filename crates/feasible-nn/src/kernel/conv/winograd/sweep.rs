//! The convolution itself: tiles to points, a product at every point, and back.
//!
//! Tiles come in blocks, all of whose points are in flight, in memory that stays in the cache; a block takes two
//! runs of tiles through the product, so that weights, where there are many, are fetched half as often.

use super::{A, B, BLOCK, PAIRS, POINTS, RUN, SIDE, Tile, WIDE, Walk, tiles_of, transform_inputs};
use crate::kernel::conv::Correlation;
use crate::kernel::conv::sweep::Add;
use crate::simd::{Lanes, dispatch};

/// Tiles of a block.
const TILES: usize = 2 * RUN;

/// Numbers of scratch memory a sweep by tiles needs: the inputs at points, and two vectors of sums.
pub fn sweep_scratch(in_blocks: usize) -> usize {
    POINTS * TILES * BLOCK * (in_blocks + 2)
}

dispatch!(sweep => sweep_lanes(of: Correlation<'_, f32>, scratch: &mut [f32], out: &mut [f32]));

#[inline(always)]
fn sweep_lanes<L: Lanes>(of: Correlation<'_, f32>, scratch: &mut [f32], out: &mut [f32]) {
    if of.is_empty() {
        return;
    }
    let sweep = of.sweep;
    let size = tiles_of(sweep.rows, sweep.columns);
    of.check_tiles(out, size);
    let blocks = of.input.blocks();
    assert!(scratch.len() >= sweep_scratch(blocks));
    let (v, m) = scratch.split_at_mut(POINTS * TILES * BLOCK * blocks);
    let (v, m) = (v.as_mut_ptr(), m.as_mut_ptr());
    let all = of.images * size.0 * size.1;
    let vectors = of.out_blocks * (BLOCK / L::N);
    let turns = if L::N == BLOCK { vectors.div_ceil(2) } else { vectors };
    let mut next = Next::new(&of, out, all.div_ceil(TILES) * turns * POINTS);
    let out = out.as_mut_ptr();
    let mut walk = Walk::default();
    let mut first = 0;
    while first < all {
        let count = TILES.min(all - first);
        let mut tiles = [Tile::default(); TILES];
        let tiles = &mut tiles[..count];
        walk.take(tiles, size);
        let tiles = &*tiles;
        let (input, row) = (&of.input, sweep.input_row);
        let point = |pair: usize| PAIRS[pair].0 * WIDE;
        // SAFETY: `check_tiles` has compared strides and counts with the lengths of the slices; the
        // scratch memory is as long as its formula says.
        unsafe {
            transform_inputs::<L, 0, POINTS, TILES>(input, row, tiles, point(0), v);
            transform_inputs::<L, 1, POINTS, TILES>(input, row, tiles, point(1), v);
            transform_inputs::<L, 2, POINTS, TILES>(input, row, tiles, point(2), v);
            transform_inputs::<L, 3, POINTS, TILES>(input, row, tiles, point(3), v);
            let mut o = 0;
            while o < vectors {
                let two = L::N == BLOCK && o + 2 <= vectors;
                if two {
                    products::<L, 2>(&of, v, m, o, count, &mut next);
                } else {
                    products::<L, 1>(&of, v, m, o, count, &mut next);
                }
                for i in 0..1 + usize::from(two) {
                    outputs::<L>(&of, m.add(i * POINTS * TILES * L::N), o + i, tiles, out);
                }
                o += 1 + usize::from(two);
            }
        }
        first += count;
    }
}

/// Memory that will be needed next, to be fetched a little at a time while the products go on:
/// all at once it would be waited for.
struct Next {
    at: [*const f32; 5],
    left: [usize; 5],
    each: [usize; 5],
}

impl Next {
    /// What is to be read and written next, fetched in this number of steps.
    #[inline(always)]
    fn new(of: &Correlation<'_, f32>, out: &[f32], steps: usize) -> Self {
        let [a, b, c, d] = of.ahead;
        // What is written next follows in memory.
        let at = [a.as_ptr(), b.as_ptr(), c.as_ptr(), d.as_ptr(), out.as_ptr_range().end];
        let left = [a, b, c, d, out].map(|memory| memory.len() / BLOCK);
        Self { at, left, each: left.map(|lines| lines.div_ceil(steps)) }
    }

    #[inline(always)]
    fn step<L: Lanes>(&mut self) {
        for i in 0..self.at.len() {
            let lines = self.each[i].min(self.left[i]);
            for k in 0..lines {
                L::fetch(self.at[i].wrapping_add(k * BLOCK));
            }
            self.at[i] = self.at[i].wrapping_add(lines * BLOCK);
            self.left[i] -= lines;
        }
    }
}

/// Repeats the body for each channel of a block, written out: the compiler would leave it a loop, and
/// a loop of 16 costs a wrongly guessed jump at the end of each.
macro_rules! each_channel {
    ($c:ident => $body:block) => {
        each_channel!(@ $c $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    };
    (@ $c:ident $body:block $($k:literal)*) => {$({
        let $c = $k;
        $body
    })*};
}

/// For each point: [tiles × in] · [in × V vectors of out], to `[vector][point][tile][N]`.
///
/// # Safety
/// v and m are the scratch memory of [`sweep_lanes`], vectors o..o + V exist, and count ≤ TILES.
#[inline(always)]
unsafe fn products<L: Lanes, const V: usize>(
    of: &Correlation<'_, f32>,
    v: *const f32,
    m: *mut f32,
    o: usize,
    count: usize,
    next: &mut Next,
) {
    for point in 0..POINTS {
        next.step::<L>();
        let mut k = 0;
        while k < count {
            // The last run may compute tiles that do not exist, in memory that does.
            // SAFETY: the caller's promise.
            unsafe {
                match count - k {
                    ..=4 => multiply::<L, V, 4>(of, v, m, point, o, k),
                    5..=8 => multiply::<L, V, 8>(of, v, m, point, o, k),
                    _ => multiply::<L, V, RUN>(of, v, m, point, o, k),
                }
            }
            k += RUN;
        }
    }
}

/// Tiles k..k + W at one point.
///
/// # Safety
/// As [`products`]; k + W ≤ TILES.
#[inline(always)]
unsafe fn multiply<L: Lanes, const V: usize, const W: usize>(
    of: &Correlation<'_, f32>,
    v: *const f32,
    m: *mut f32,
    point: usize,
    o: usize,
    k: usize,
) {
    let blocks = of.input.blocks();
    // SAFETY: weights are [out block][point][in block][16][16].
    unsafe {
        let mut w = [of.weights.as_ptr(); V];
        for i in 0..V {
            let lane = (o + i) * L::N;
            let tile = (lane / BLOCK * POINTS + point) * blocks * BLOCK * BLOCK;
            w[i] = w[i].add(tile + lane % BLOCK);
        }
        let from = v.add((point * TILES + k) * BLOCK);
        let mut sum = [[L::splat(0.0); W]; V];
        for b in 0..blocks {
            let from = from.add(b * POINTS * TILES * BLOCK);
            let mut factors = w;
            for i in 0..V {
                factors[i] = w[i].add(b * BLOCK * BLOCK);
            }
            each_channel!(c => {
                let mut factor = [L::splat(0.0); V];
                for i in 0..V {
                    factor[i] = L::load(factors[i].add(c * BLOCK));
                }
                for j in 0..W {
                    let value = L::splat(*from.add(j * BLOCK + c));
                    for i in 0..V {
                        sum[i][j] = value.fma(factor[i], sum[i][j]);
                    }
                }
            });
        }
        for i in 0..V {
            let to = m.add(((i * POINTS + point) * TILES + k) * L::N);
            for j in 0..W {
                sum[i][j].store(to.add(j * L::N));
            }
        }
    }
}

/// Aᵀ m along one axis.
#[inline(always)]
fn gathered<L: Lanes>(m: [L; WIDE]) -> [L; SIDE] {
    let (s1, d1) = (m[1].add(m[2]), m[1].sub(m[2]));
    let (s2, d2) = (m[3].add(m[4]), m[3].sub(m[4]));
    [
        m[0].add(s1.add(s2)),
        L::splat(A).fma(d1, L::splat(B).mul(d2)),
        L::splat(0.5).fma(s1, s2.add(s2)),
        L::splat(A / 2.0).fma(d1, L::splat(2.0 * B).fma(d2, m[5])),
    ]
}

/// What follows the sums, as bits; [`ANY`]: whatever there is.
const BIAS: u8 = 1;
const OTHER: u8 = 2;
const CURRENT: u8 = 4;
const RELU: u8 = 8;
const MASK: u8 = 16;
const ANY: u8 = 32;

/// The outputs of vector o, and everything that follows the sum.
///
/// # Safety
/// As [`multiply`], and the outputs of the tiles lie inside `out` unless they are cut off.
#[inline(always)]
unsafe fn outputs<L: Lanes>(
    of: &Correlation<'_, f32>,
    m: *const f32,
    o: usize,
    tiles: &[Tile],
    out: *mut f32,
) {
    let bits = [(of.bias.is_some(), BIAS), (of.relu, RELU), (of.mask.is_some(), MASK)];
    let mut after = match of.add {
        Add::Nothing => 0,
        Add::Current => CURRENT,
        Add::Other(_) => OTHER,
    };
    for (is, bit) in bits {
        after |= if is { bit } else { 0 };
    }
    const FORWARD: u8 = BIAS | RELU;
    const JOINED: u8 = BIAS | OTHER | RELU;
    const ADDED: u8 = CURRENT | MASK;
    // SAFETY: the caller's promise.
    unsafe {
        match after {
            0 => transform_outputs::<L, 0>(of, m, o, tiles, out),
            FORWARD => transform_outputs::<L, FORWARD>(of, m, o, tiles, out),
            JOINED => transform_outputs::<L, JOINED>(of, m, o, tiles, out),
            MASK => transform_outputs::<L, MASK>(of, m, o, tiles, out),
            CURRENT => transform_outputs::<L, CURRENT>(of, m, o, tiles, out),
            ADDED => transform_outputs::<L, ADDED>(of, m, o, tiles, out),
            _ => transform_outputs::<L, ANY>(of, m, o, tiles, out),
        }
    }
}

/// # Safety
/// As [`outputs`].
#[inline(always)]
unsafe fn transform_outputs<L: Lanes, const AFTER: u8>(
    of: &Correlation<'_, f32>,
    m: *const f32,
    o: usize,
    tiles: &[Tile],
    out: *mut f32,
) {
    let sweep = of.sweep;
    let (b, lane) = (o * L::N / BLOCK, o * L::N % BLOCK);
    // SAFETY: checked.
    unsafe {
        let bias = match of.bias {
            None => L::splat(0.0),
            Some(bias) => L::load(bias.as_ptr().add(b * BLOCK + lane)),
        };
        for (k, tile) in tiles.iter().enumerate() {
            let from = m.add(k * L::N);
            let mut rows = [[L::splat(0.0); SIDE]; WIDE];
            for y in 0..WIDE {
                let mut row = [L::splat(0.0); WIDE];
                for x in 0..WIDE {
                    row[x] = L::load(from.add((y * WIDE + x) * TILES * L::N));
                }
                rows[y] = gathered(row);
            }
            let Tile { image, row, column } = *tile;
            let place = image * of.out_image + b * of.out_block + sweep.start + lane;
            let place = place + row * sweep.row + column * sweep.pixel;
            let (tall, wide) = (sweep.rows - row, sweep.columns - column);
            for x in 0..SIDE {
                if x >= wide {
                    break;
                }
                let mut column = [L::splat(0.0); WIDE];
                for y in 0..WIDE {
                    column[y] = rows[y][x];
                }
                let sums = gathered(column);
                for y in 0..SIDE {
                    if y < tall {
                        let place = place + y * sweep.row + x * sweep.pixel;
                        finish::<L, AFTER>(of, sums[y], bias, place, out);
                    }
                }
            }
        }
    }
}

/// # Safety
/// `place` is inside `out` and what is laid out alike.
#[inline(always)]
unsafe fn finish<L: Lanes, const AFTER: u8>(
    of: &Correlation<'_, f32>,
    mut y: L,
    bias: L,
    place: usize,
    out: *mut f32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if AFTER & (BIAS | ANY) != 0 {
            y = y.add(bias);
        }
        if AFTER & (CURRENT | OTHER | ANY) != 0 {
            match of.add {
                Add::Current if AFTER & (CURRENT | ANY) != 0 => y = y.add(L::load(out.add(place))),
                Add::Other(other) if AFTER & (OTHER | ANY) != 0 => {
                    y = y.add(L::load(other.as_ptr().add(place)));
                }
                _ => {}
            }
        }
        if AFTER & RELU != 0 || (AFTER == ANY && of.relu) {
            y = L::splat(0.0).max(y);
        }
        if AFTER & (MASK | ANY) != 0
            && let Some(mask) = of.mask
        {
            y = L::load(mask.as_ptr().add(place)).where_positive(y);
        }
        y.store(out.add(place));
    }
}

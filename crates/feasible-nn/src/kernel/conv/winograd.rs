//! 3×3 convolutions of stride 1 with 16 multiplications for four outputs instead of 36
//! (Winograd's F(2×2, 3×3); Lavin and Gray, 2016):
//!
//! $$ Y = A^\top \big[ (G g G^\top) \odot (B^\top d B) \big] A , $$
//!
//! for a 4×4 tile d of the input, a filter g and a 2×2 tile Y of the output. For each of the 16 points of the
//! transformed tile the sum over channels is a small matrix product, [tiles × in] · [in × out]. Tiles
//! come in blocks of 14, a row of four points at a time, in memory that stays in the cache; the constants are 0, ±1 and
//! ½, so that little accuracy is lost. The gradient with respect to g is the same formula read
//! backwards, $G^\top [\sum (B^\top d B) \odot (A\, \delta A^\top)]\, G$, with blocks of 28 tiles.

#![allow(unsafe_code)]

use feasible::Real;

use super::planes::compiled;
use super::sweep::Add;
use super::{BLOCK, Correlation, Outer};
use crate::simd::{Lanes, Level, dispatch};

/// Points of a transformed tile.
pub const POINTS: usize = 16;
/// Tiles of a block: forward, and in sums over tiles.
pub(crate) const TILES: usize = 14;
const OUTER_TILES: usize = 28;

/// Points in a row of a transformed tile. Rows are taken one after the other, so that what is in
/// flight stays in the first-level cache.
const ROW: usize = 4;

/// Numbers of scratch memory a sweep by tiles needs.
pub fn sweep_scratch(in_blocks: usize, out_blocks: usize) -> usize {
    // A row of points of the inputs, of two vectors of sums, and four outputs of everything.
    TILES * BLOCK * (ROW * in_blocks + 2 * ROW + 4 * out_blocks)
}

/// Numbers of scratch memory sums over tiles need.
pub fn outer_scratch(in_blocks: usize, out_blocks: usize) -> usize {
    ROW * OUTER_TILES * BLOCK * (in_blocks + out_blocks)
}

/// Where a tile is: its image, and row and column of its first output.
#[derive(Clone, Copy, Default)]
struct Tile {
    image: usize,
    row: usize,
    column: usize,
}

/// Tiles one after the other. Counting is cheaper than dividing.
#[derive(Clone, Copy, Default)]
struct Walk {
    next: Tile,
}

impl Walk {
    /// The next `count` tiles of images of `size` tiles.
    #[inline(always)]
    fn take<const N: usize>(&mut self, count: usize, size: (usize, usize)) -> [Tile; N] {
        let mut tiles = [Tile::default(); N];
        for tile in tiles.iter_mut().take(count) {
            *tile = self.next;
            self.next.column += 2;
            if self.next.column >= 2 * size.1 {
                self.next.column = 0;
                self.next.row += 2;
                if self.next.row >= 2 * size.0 {
                    self.next.row = 0;
                    self.next.image += 1;
                }
            }
        }
        tiles
    }
}

dispatch!(sweep => sweep_lanes(of: Correlation<'_, f32>, scratch: &mut [f32], out: &mut [f32]));

/// Row `y` of Bᵀ d: one pixel of two rows of the tile, added or subtracted.
///
/// # Safety
/// A vector is readable at `from` and up to three rows of `row` numbers below.
#[inline(always)]
unsafe fn down<L: Lanes, const Y: usize>(from: *const f32, row: usize) -> L {
    // SAFETY: the caller's promise.
    unsafe {
        let at = |r: usize| L::load(from.add(r * row));
        match Y {
            0 => at(0).sub(at(2)),
            1 => at(1).add(at(2)),
            2 => at(2).sub(at(1)),
            _ => at(1).sub(at(3)),
        }
    }
}

/// Row `y` of the points of all tiles and input blocks, to `[point][block][tile][16]`.
///
/// # Safety
/// The tiles lie inside the packed images, and `to` has room for ROW × blocks × N × 16.
#[inline(always)]
unsafe fn transform_inputs<L: Lanes, const Y: usize, const N: usize>(
    input: &super::Packed<'_, f32>,
    row: usize,
    tiles: &[Tile],
    to: *mut f32,
) {
    let blocks = input.blocks();
    let stride = blocks * N * BLOCK;
    for b in 0..blocks {
        let mut lane = 0;
        while lane < BLOCK {
            let (mut r0, mut r1) = (L::splat(0.0), L::splat(0.0));
            let mut last = usize::MAX;
            for (k, tile) in tiles.iter().enumerate() {
                let Tile { image, row: r, column } = *tile;
                let from = b * input.block + image * input.image + r * row + column * BLOCK;
                // SAFETY: the caller's promise.
                unsafe {
                    let from_at = input.data.as_ptr().add(from + lane);
                    // Neighbours share two columns.
                    if from != last {
                        r0 = down::<L, Y>(from_at, row);
                        r1 = down::<L, Y>(from_at.add(BLOCK), row);
                    }
                    let r2 = down::<L, Y>(from_at.add(2 * BLOCK), row);
                    let r3 = down::<L, Y>(from_at.add(3 * BLOCK), row);
                    let to = to.add((b * N + k) * BLOCK + lane);
                    r0.sub(r2).store(to);
                    r1.add(r2).store(to.add(stride));
                    r2.sub(r1).store(to.add(2 * stride));
                    r1.sub(r3).store(to.add(3 * stride));
                    (r0, r1) = (r2, r3);
                }
                last = from + 2 * BLOCK;
            }
            lane += L::N;
        }
    }
}

#[inline(always)]
fn sweep_lanes<L: Lanes>(of: Correlation<'_, f32>, scratch: &mut [f32], out: &mut [f32]) {
    if of.is_empty() {
        return;
    }
    let sweep = of.sweep;
    let size = (sweep.rows.div_ceil(2), sweep.columns.div_ceil(2));
    of.check_tiles(out, size);
    let blocks = of.input.blocks();
    assert!(scratch.len() >= sweep_scratch(blocks, of.out_blocks));
    let (v, rest) = scratch.split_at_mut(ROW * TILES * BLOCK * blocks);
    let (m, kept) = rest.split_at_mut(2 * ROW * TILES * BLOCK);
    let (v, m, kept) = (v.as_mut_ptr(), m.as_mut_ptr(), kept.as_mut_ptr());
    let out = out.as_mut_ptr();
    let all = of.images * size.0 * size.1;
    let mut walk = Walk::default();
    let mut first = 0;
    while first < all {
        let count = TILES.min(all - first);
        let tiles: [Tile; TILES] = walk.take(count, size);
        let tiles = &tiles[..count];
        for ahead in of.ahead {
            let share = |t: usize| (ahead.len() / all * t) & !(BLOCK - 1);
            let (mut at, end) = (share(first), share(first + count));
            while at < end {
                L::fetch(ahead.as_ptr().wrapping_add(at));
                at += BLOCK;
            }
        }
        // SAFETY: `check_tiles` has compared strides and counts with the lengths of the slices; the
        // scratch memory is as long as its formula says.
        unsafe {
            sweep_row::<L, 0>(&of, tiles, v, m, kept, out);
            sweep_row::<L, 1>(&of, tiles, v, m, kept, out);
            sweep_row::<L, 2>(&of, tiles, v, m, kept, out);
            sweep_row::<L, 3>(&of, tiles, v, m, kept, out);
        }
        first += count;
    }
}

/// Row Y of the points of a block of tiles.
///
/// # Safety
/// As [`multiply`] and [`transform_outputs`].
#[inline(always)]
unsafe fn sweep_row<L: Lanes, const Y: usize>(
    of: &Correlation<'_, f32>,
    tiles: &[Tile],
    v: *mut f32,
    m: *mut f32,
    kept: *mut f32,
    out: *mut f32,
) {
    let vectors = of.out_blocks * (BLOCK / L::N);
    // SAFETY: the caller's promise.
    unsafe {
        transform_inputs::<L, Y, TILES>(&of.input, of.sweep.input_row, tiles, v);
        let mut o = 0;
        if L::N == BLOCK {
            while o + 2 <= vectors {
                multiply::<L, 2>(of, v, m, Y, o);
                transform_outputs::<L, Y, 2>(of, m, kept, o, tiles, out);
                o += 2;
            }
        }
        while o < vectors {
            multiply::<L, 1>(of, v, m, Y, o);
            transform_outputs::<L, Y, 1>(of, m, kept, o, tiles, out);
            o += 1;
        }
    }
}

/// For each point of row `y`: [tiles × in] · [in × V vectors of out], to `[vector][point][tile][N]`.
///
/// # Safety
/// v and m are the scratch memory of [`sweep_lanes`], and vectors o..o + V exist.
#[inline(always)]
unsafe fn multiply<L: Lanes, const V: usize>(
    of: &Correlation<'_, f32>,
    v: *const f32,
    m: *mut f32,
    y: usize,
    o: usize,
) {
    let blocks = of.input.blocks();
    for x in 0..ROW {
        // SAFETY: weights are [out block][point][in block][16][16].
        unsafe {
            let mut w = [of.weights.as_ptr(); V];
            for i in 0..V {
                let lane = (o + i) * L::N;
                let tile = (lane / BLOCK * POINTS + ROW * y + x) * blocks * BLOCK * BLOCK;
                w[i] = w[i].add(tile + lane % BLOCK);
            }
            let from = v.add(x * blocks * TILES * BLOCK);
            let mut low = [[L::splat(0.0); 7]; V];
            let mut high = [[L::splat(0.0); 7]; V];
            for b in 0..blocks {
                let from = from.add(b * TILES * BLOCK);
                for c in 0..BLOCK {
                    let mut factor = [L::splat(0.0); V];
                    for i in 0..V {
                        factor[i] = L::load(w[i].add((b * BLOCK + c) * BLOCK));
                    }
                    for j in 0..7 {
                        let value = L::splat(*from.add(j * BLOCK + c));
                        for i in 0..V {
                            low[i][j] = value.fma(factor[i], low[i][j]);
                        }
                    }
                    for j in 0..7 {
                        let value = L::splat(*from.add((7 + j) * BLOCK + c));
                        for i in 0..V {
                            high[i][j] = value.fma(factor[i], high[i][j]);
                        }
                    }
                }
            }
            for i in 0..V {
                let to = m.add((i * ROW + x) * TILES * L::N);
                for j in 0..7 {
                    low[i][j].store(to.add(j * L::N));
                    high[i][j].store(to.add((7 + j) * L::N));
                }
            }
        }
    }
}

/// Adds row `y` of the points to the 2×2 outputs kept so far; after rows 2 and 3 a row of outputs is
/// complete and gets everything that follows the sum.
///
/// # Safety
/// As [`multiply`], and the outputs of the tiles lie inside `out` unless they are cut off.
#[inline(always)]
unsafe fn transform_outputs<L: Lanes, const Y: usize, const V: usize>(
    of: &Correlation<'_, f32>,
    m: *const f32,
    kept: *mut f32,
    o: usize,
    tiles: &[Tile],
    out: *mut f32,
) {
    let sweep = of.sweep;
    for i in 0..V {
        let lane = (o + i) * L::N;
        let (b, lane) = (lane / BLOCK, lane % BLOCK);
        // SAFETY: checked.
        unsafe {
            let bias = match of.bias {
                None => L::splat(0.0),
                Some(bias) => L::load(bias.as_ptr().add(b * BLOCK + lane)),
            };
            for (k, tile) in tiles.iter().enumerate() {
                let at = |x: usize| L::load(m.add(((i * ROW + x) * TILES + k) * L::N));
                let [m0, m1, m2, m3] = [at(0), at(1), at(2), at(3)];
                let (left, right) = (m0.add(m1).add(m2), m1.sub(m2).sub(m3));
                // [row of outputs][left, right]
                let kept = kept.add(((o + i) * TILES + k) * 4 * L::N);
                let (upper, lower) = (kept, kept.add(2 * L::N));
                let load = |at: *mut f32| (L::load(at), L::load(at.add(L::N)));
                let store = |at: *mut f32, left: L, right: L| {
                    left.store(at);
                    right.store(at.add(L::N));
                };
                let (row, left, right) = match Y {
                    0 => {
                        store(upper, left, right);
                        continue;
                    }
                    1 => {
                        let (l, r) = load(upper);
                        store(upper, l.add(left), r.add(right));
                        store(lower, left, right);
                        continue;
                    }
                    2 => {
                        let (l, r) = load(lower);
                        store(lower, l.sub(left), r.sub(right));
                        let (l, r) = load(upper);
                        (0, l.add(left), r.add(right))
                    }
                    _ => {
                        let (l, r) = load(lower);
                        (1, l.sub(left), r.sub(right))
                    }
                };
                let Tile { image, row: r, column: c } = *tile;
                if r + row < sweep.rows {
                    let place = image * of.out_image + b * of.out_block + sweep.start + lane;
                    let place = place + (r + row) * sweep.row + c * sweep.pixel;
                    finish(of, left.add(bias), place, out);
                    if c + 1 < sweep.columns {
                        finish(of, right.add(bias), place + sweep.pixel, out);
                    }
                }
            }
        }
    }
}

/// # Safety
/// `place` is inside `out` and what is laid out alike.
#[inline(always)]
unsafe fn finish<L: Lanes>(of: &Correlation<'_, f32>, mut y: L, place: usize, out: *mut f32) {
    // SAFETY: the caller's promise.
    unsafe {
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
}

dispatch!(outer => outer_lanes(of: Outer<'_, f32>, scratch: &mut [f32], gradient: &mut [f32]));

#[inline(always)]
fn outer_lanes<L: Lanes>(of: Outer<'_, f32>, scratch: &mut [f32], gradient: &mut [f32]) {
    if of.is_empty() {
        return;
    }
    let sweep = of.sweep;
    let size = (sweep.rows.div_ceil(2), sweep.columns.div_ceil(2));
    of.check_tiles(gradient, size);
    let (ins, outs) = (of.input.blocks(), of.delta.blocks());
    assert!(scratch.len() >= outer_scratch(ins, outs));
    let (v, d) = scratch.split_at_mut(ROW * OUTER_TILES * BLOCK * ins);
    let (v, d) = (v.as_mut_ptr(), d.as_mut_ptr());
    let out = gradient.as_mut_ptr();
    let all = of.images * size.0 * size.1;
    let mut walk = Walk::default();
    let mut first = 0;
    while first < all {
        let count = OUTER_TILES.min(all - first);
        let tiles: [Tile; OUTER_TILES] = walk.take(count, size);
        let tiles = &tiles[..count];
        // SAFETY: `check_tiles` has compared strides and counts with the lengths of the slices; the
        // scratch memory is as long as its formula says.
        unsafe {
            outer_row::<L, 0>(&of, tiles, v, d, out);
            outer_row::<L, 1>(&of, tiles, v, d, out);
            outer_row::<L, 2>(&of, tiles, v, d, out);
            outer_row::<L, 3>(&of, tiles, v, d, out);
        }
        first += count;
    }
}

/// Row Y of the points of a block of tiles.
///
/// # Safety
/// As [`outer_lanes`].
#[inline(always)]
unsafe fn outer_row<L: Lanes, const Y: usize>(
    of: &Outer<'_, f32>,
    tiles: &[Tile],
    v: *mut f32,
    d: *mut f32,
    out: *mut f32,
) {
    let (ins, count) = (of.input.blocks(), tiles.len());
    let vectors = of.delta.blocks() * (BLOCK / L::N);
    // SAFETY: the caller's promise.
    unsafe {
        transform_inputs::<L, Y, OUTER_TILES>(&of.input, of.sweep.input_row, tiles, v);
        transform_deltas::<L, Y>(of, tiles, d);
        for x in 0..ROW {
            let mut o = 0;
            while o < vectors {
                let two = L::N == BLOCK && o + 2 <= vectors;
                for b in 0..ins {
                    let at = Cell { y: Y, x, o, b };
                    if two {
                        product::<L, 2, 8>(of, v, d, at, 0, count, out);
                        product::<L, 2, 8>(of, v, d, at, 8, count, out);
                    } else if L::N == BLOCK {
                        product::<L, 1, 16>(of, v, d, at, 0, count, out);
                    } else {
                        product::<L, 1, 8>(of, v, d, at, 0, count, out);
                        product::<L, 1, 8>(of, v, d, at, 8, count, out);
                    }
                }
                o += if two { 2 } else { 1 };
            }
        }
    }
}

/// A point, a vector of δ and a block of the input.
#[derive(Clone, Copy)]
struct Cell {
    y: usize,
    x: usize,
    o: usize,
    b: usize,
}

/// Row `y` of A δ Aᵀ of tiles to `[point][block][tile][16]`.
///
/// # Safety
/// As [`outer_lanes`].
#[inline(always)]
unsafe fn transform_deltas<L: Lanes, const Y: usize>(
    of: &Outer<'_, f32>,
    tiles: &[Tile],
    to: *mut f32,
) {
    let delta = &of.delta;
    let stride = delta.blocks() * OUTER_TILES * BLOCK;
    let zero = L::splat(0.0);
    for b in 0..delta.blocks() {
        for (k, tile) in tiles.iter().enumerate() {
            let Tile { image, row: r, column: c } = *tile;
            let (low, right) = (r + 1 < of.sweep.rows, c + 1 < of.sweep.columns);
            let from = b * delta.block
                + image * delta.image
                + of.delta_start
                + r * of.delta_row
                + c * BLOCK;
            let mut lane = 0;
            while lane < BLOCK {
                // SAFETY: the pixels that exist lie inside δ.
                unsafe {
                    let from = delta.data.as_ptr().add(from + lane);
                    let upper = |x: usize| L::load(from.add(x * BLOCK));
                    let lower = |x: usize| {
                        if low { L::load(from.add(of.delta_row + x * BLOCK)) } else { zero }
                    };
                    let column = |x: usize| match Y {
                        0 => upper(x),
                        1 => upper(x).add(lower(x)),
                        2 => upper(x).sub(lower(x)),
                        _ => zero.sub(lower(x)),
                    };
                    let c0 = column(0);
                    let c1 = if right { column(1) } else { zero };
                    let to = to.add((b * OUTER_TILES + k) * BLOCK + lane);
                    c0.store(to);
                    c0.add(c1).store(to.add(stride));
                    c0.sub(c1).store(to.add(2 * stride));
                    zero.sub(c1).store(to.add(3 * stride));
                }
                lane += L::N;
            }
        }
    }
}

/// Adds, at one point, the sum over tiles of input channels c..c + I of a block by V vectors of δ.
///
/// # Safety
/// As [`outer_lanes`].
#[inline(always)]
unsafe fn product<L: Lanes, const V: usize, const I: usize>(
    of: &Outer<'_, f32>,
    v: *const f32,
    d: *const f32,
    at: Cell,
    c: usize,
    count: usize,
    out: *mut f32,
) {
    let (ins, outs) = (of.input.blocks(), of.delta.blocks());
    let Cell { y, x, o, b } = at;
    let mut sum = [[L::splat(0.0); V]; I];
    // SAFETY: v is [point][in block][tile][16], d [point][out block][tile][16], and the gradient
    // [out block][point][in block][16][16].
    unsafe {
        let v = v.add((x * ins + b) * OUTER_TILES * BLOCK + c);
        let mut delta = [d; V];
        for i in 0..V {
            let lane = (o + i) * L::N;
            let block = (x * outs + lane / BLOCK) * OUTER_TILES * BLOCK;
            delta[i] = d.add(block + lane % BLOCK);
        }
        for k in 0..count {
            let mut row = [L::splat(0.0); V];
            for i in 0..V {
                row[i] = L::load(delta[i].add(k * BLOCK));
            }
            for j in 0..I {
                let value = L::splat(*v.add(k * BLOCK + j));
                for i in 0..V {
                    sum[j][i] = value.fma(row[i], sum[j][i]);
                }
            }
        }
        for i in 0..V {
            let lane = (o + i) * L::N;
            let tile = ((lane / BLOCK * POINTS + ROW * y + x) * ins + b) * BLOCK * BLOCK;
            for j in 0..I {
                let to = out.add(tile + (c + j) * BLOCK + lane % BLOCK);
                sum[j][i].add(L::load(to)).store(to);
            }
        }
    }
}

compiled! {
    /// G g Gᵀ of all pairs of blocks: `[a][b][9 taps][256]` to `[a][16 points][b][256]`, the taps in
    /// reverse if `flipped`.
    fn transform_weights<T>(from: &[T], blocks: usize, flipped: bool, to: &mut [T]) {
        const TILE: usize = BLOCK * BLOCK;
        let half = T::from_f64(0.5);
        for (pair, g) in from.chunks_exact(9 * TILE).enumerate() {
            let (a, b) = (pair / blocks, pair % blocks);
            let at = |p: usize| ((a * POINTS + p) * blocks + b) * TILE;
            for start in (0..TILE).step_by(BLOCK) {
                let mut t = [[[T::ZERO; BLOCK]; 3]; 4];
                for x in 0..3 {
                    let tap = |y: usize| if flipped { 8 - (3 * y + x) } else { 3 * y + x };
                    let [g0, g1, g2] = [tap(0), tap(1), tap(2)].map(|t| &g[t * TILE + start..][..BLOCK]);
                    for i in 0..BLOCK {
                        let outer = half * (g0[i] + g2[i]);
                        let inner = half * g1[i];
                        t[0][x][i] = g0[i];
                        t[1][x][i] = outer + inner;
                        t[2][x][i] = outer - inner;
                        t[3][x][i] = g2[i];
                    }
                }
                for y in 0..4 {
                    let [g0, g1, g2] = &t[y];
                    let mut u = [[T::ZERO; BLOCK]; 4];
                    for i in 0..BLOCK {
                        let outer = half * (g0[i] + g2[i]);
                        let inner = half * g1[i];
                        u[0][i] = g0[i];
                        u[1][i] = outer + inner;
                        u[2][i] = outer - inner;
                        u[3][i] = g2[i];
                    }
                    for x in 0..4 {
                        to[at(4 * y + x) + start..][..BLOCK].copy_from_slice(&u[x]);
                    }
                }
            }
        }
    }

    /// Gᵀ u G of all pairs of blocks: `[a][16 points][b][256]` to `[a][b][9 taps][256]`.
    fn transform_gradient<T>(from: &[T], blocks: usize, to: &mut [T]) {
        const TILE: usize = BLOCK * BLOCK;
        let half = T::from_f64(0.5);
        for (pair, g) in to.chunks_exact_mut(9 * TILE).enumerate() {
            let (a, b) = (pair / blocks, pair % blocks);
            let at = |p: usize| ((a * POINTS + p) * blocks + b) * TILE;
            for start in (0..TILE).step_by(BLOCK) {
                let mut t = [[[T::ZERO; BLOCK]; 4]; 3];
                for x in 0..4 {
                    let [u0, u1, u2, u3] = [0, 1, 2, 3].map(|y| &from[at(4 * y + x) + start..][..BLOCK]);
                    for i in 0..BLOCK {
                        let both = half * (u1[i] + u2[i]);
                        t[0][x][i] = u0[i] + both;
                        t[1][x][i] = half * (u1[i] - u2[i]);
                        t[2][x][i] = both + u3[i];
                    }
                }
                for y in 0..3 {
                    let [u0, u1, u2, u3] = &t[y];
                    for i in 0..BLOCK {
                        let both = half * (u1[i] + u2[i]);
                        g[(3 * y) * TILE + start + i] = u0[i] + both;
                        g[(3 * y + 1) * TILE + start + i] = half * (u1[i] - u2[i]);
                        g[(3 * y + 2) * TILE + start + i] = both + u3[i];
                    }
                }
            }
        }
    }
}

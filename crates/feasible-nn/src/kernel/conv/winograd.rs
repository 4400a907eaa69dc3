//! 3×3 convolutions of stride 1 with 16 multiplications for four outputs instead of 36
//! (Winograd's F(2×2, 3×3); Lavin and Gray, 2016):
//!
//! $$ Y = A^\top \big[ (G g G^\top) \odot (B^\top d B) \big] A , $$
//!
//! for a 4×4 tile d of the input, a filter g and a 2×2 tile Y of the output. For each of the 16 points of the
//! transformed tile the sum over channels is a small matrix product, [tiles × in] · [in × out]. Tiles
//! come in blocks of 14, transformed into memory that stays in the cache; the constants are 0, ±1 and
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
const TILES: usize = 14;
const OUTER_TILES: usize = 28;

/// Numbers of scratch memory [`sweep`] needs.
pub fn sweep_scratch(in_blocks: usize) -> usize {
    POINTS * TILES * BLOCK * (in_blocks + 2)
}

/// Numbers of scratch memory [`outer`] needs.
pub fn outer_scratch(in_blocks: usize, out_blocks: usize) -> usize {
    POINTS * OUTER_TILES * BLOCK * (in_blocks + out_blocks)
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

/// The 4×4 tile at `from` to points at `to`, `stride` numbers apart.
///
/// # Safety
/// Four pixels of four rows, `row` numbers apart, are readable at `from`; N numbers at each of the 16
/// points writable.
#[inline(always)]
unsafe fn transform_input<L: Lanes>(from: *const f32, row: usize, to: *mut f32, stride: usize) {
    let mut t = [[L::splat(0.0); 4]; 4];
    // SAFETY: the caller's promise.
    unsafe {
        for x in 0..4 {
            let d0 = L::load(from.add(x * BLOCK));
            let d1 = L::load(from.add(row + x * BLOCK));
            let d2 = L::load(from.add(2 * row + x * BLOCK));
            let d3 = L::load(from.add(3 * row + x * BLOCK));
            t[0][x] = d0.sub(d2);
            t[1][x] = d1.add(d2);
            t[2][x] = d2.sub(d1);
            t[3][x] = d1.sub(d3);
        }
        for y in 0..4 {
            let [d0, d1, d2, d3] = t[y];
            d0.sub(d2).store(to.add(4 * y * stride));
            d1.add(d2).store(to.add((4 * y + 1) * stride));
            d2.sub(d1).store(to.add((4 * y + 2) * stride));
            d1.sub(d3).store(to.add((4 * y + 3) * stride));
        }
    }
}

/// Transforms the `count` first tiles of all input blocks to `[point][block][tile][16]`.
///
/// # Safety
/// The tiles lie inside the packed images, and `to` has room for POINTS × blocks × N × 16.
#[inline(always)]
unsafe fn transform_inputs<L: Lanes, const N: usize>(
    input: &super::Packed<'_, f32>,
    row: usize,
    tiles: &[Tile; N],
    count: usize,
    to: *mut f32,
) {
    let blocks = input.blocks();
    for b in 0..blocks {
        for (k, tile) in tiles[..count].iter().enumerate() {
            let Tile { image, row: r, column } = *tile;
            let from = b * input.block + image * input.image + r * row + column * BLOCK;
            let mut lane = 0;
            while lane < BLOCK {
                // SAFETY: the caller's promise.
                unsafe {
                    let from = input.data.as_ptr().add(from + lane);
                    let to = to.add((b * N + k) * BLOCK + lane);
                    transform_input::<L>(from, row, to, blocks * N * BLOCK);
                }
                lane += L::N;
            }
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
    assert!(scratch.len() >= sweep_scratch(blocks));
    let (v, m) = scratch.split_at_mut(POINTS * TILES * BLOCK * blocks);
    let (v, m) = (v.as_mut_ptr(), m.as_mut_ptr());
    let all = of.images * size.0 * size.1;
    let vectors = of.out_blocks * (BLOCK / L::N);
    let mut walk = Walk::default();
    let mut first = 0;
    while first < all {
        let count = TILES.min(all - first);
        let tiles: [Tile; TILES] = walk.take(count, size);
        // SAFETY: `check_tiles` has compared strides and counts with the lengths of the slices; the
        // scratch memory is as long as its formula says.
        unsafe {
            let (input, row) = (&of.input, sweep.input_row);
            transform_inputs::<L, TILES>(input, row, &tiles, count, v);
            let mut o = 0;
            if L::N == BLOCK {
                while o + 2 <= vectors {
                    multiply::<L, 2>(&of, v, m, o);
                    transform_outputs::<L, 2>(&of, m, o, &tiles[..count], out.as_mut_ptr());
                    o += 2;
                }
            }
            while o < vectors {
                multiply::<L, 1>(&of, v, m, o);
                transform_outputs::<L, 1>(&of, m, o, &tiles[..count], out.as_mut_ptr());
                o += 1;
            }
        }
        first += count;
    }
}

/// For each point: [tiles × in] · [in × V vectors of out], to `[vector][point][tile][N]`.
///
/// # Safety
/// v and m are the scratch memory of [`sweep_lanes`], and vectors o..o + V exist.
#[inline(always)]
unsafe fn multiply<L: Lanes, const V: usize>(
    of: &Correlation<'_, f32>,
    v: *const f32,
    m: *mut f32,
    o: usize,
) {
    let blocks = of.input.blocks();
    for p in 0..POINTS {
        // SAFETY: weights are [out block][point][in block][16][16].
        unsafe {
            let mut w = [of.weights.as_ptr(); V];
            for i in 0..V {
                let lane = (o + i) * L::N;
                let tile = (lane / BLOCK * POINTS + p) * blocks * BLOCK * BLOCK;
                w[i] = w[i].add(tile + lane % BLOCK);
            }
            let from = v.add(p * blocks * TILES * BLOCK);
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
                let to = m.add((i * POINTS + p) * TILES * L::N);
                for j in 0..7 {
                    low[i][j].store(to.add(j * L::N));
                    high[i][j].store(to.add((7 + j) * L::N));
                }
            }
        }
    }
}

/// Back from points to 2×2 outputs, with everything that follows the sum.
///
/// # Safety
/// As [`multiply`], and the outputs of the tiles lie inside `out` unless they are cut off.
#[inline(always)]
unsafe fn transform_outputs<L: Lanes, const V: usize>(
    of: &Correlation<'_, f32>,
    m: *const f32,
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
                let at = |p: usize| m.add(((i * POINTS + p) * TILES + k) * L::N);
                let mut s = [[L::splat(0.0); 4]; 2];
                for x in 0..4 {
                    let (m0, m1) = (L::load(at(x)), L::load(at(4 + x)));
                    let (m2, m3) = (L::load(at(8 + x)), L::load(at(12 + x)));
                    s[0][x] = m0.add(m1).add(m2);
                    s[1][x] = m1.sub(m2).sub(m3);
                }
                let Tile { image, row: r, column: c } = *tile;
                let place = image * of.out_image + b * of.out_block + sweep.start + lane;
                for y in 0..2 {
                    let [s0, s1, s2, s3] = s[y];
                    let row = place + (r + y) * sweep.row + c * sweep.pixel;
                    if r + y < sweep.rows {
                        finish(of, s0.add(s1).add(s2).add(bias), row, out);
                        if c + 1 < sweep.columns {
                            finish(of, s1.sub(s2).sub(s3).add(bias), row + sweep.pixel, out);
                        }
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
    let (v, d) = scratch.split_at_mut(POINTS * OUTER_TILES * BLOCK * ins);
    let (v, d) = (v.as_mut_ptr(), d.as_mut_ptr());
    let all = of.images * size.0 * size.1;
    let vectors = outs * (BLOCK / L::N);
    let mut walk = Walk::default();
    let mut first = 0;
    while first < all {
        let count = OUTER_TILES.min(all - first);
        let tiles: [Tile; OUTER_TILES] = walk.take(count, size);
        // SAFETY: `check_tiles` has compared strides and counts with the lengths of the slices; the
        // scratch memory is as long as its formula says.
        unsafe {
            let (input, row) = (&of.input, sweep.input_row);
            transform_inputs::<L, OUTER_TILES>(input, row, &tiles, count, v);
            transform_deltas::<L>(&of, &tiles[..count], d);
            for p in 0..POINTS {
                let mut o = 0;
                while o < vectors {
                    for b in 0..ins {
                        if L::N == BLOCK && o + 2 <= vectors {
                            product::<L, 2, 8>(&of, v, d, p, o, b, 0, count, gradient.as_mut_ptr());
                            product::<L, 2, 8>(&of, v, d, p, o, b, 8, count, gradient.as_mut_ptr());
                        } else if L::N == BLOCK {
                            product::<L, 1, 16>(
                                &of,
                                v,
                                d,
                                p,
                                o,
                                b,
                                0,
                                count,
                                gradient.as_mut_ptr(),
                            );
                        } else {
                            product::<L, 1, 8>(&of, v, d, p, o, b, 0, count, gradient.as_mut_ptr());
                            product::<L, 1, 8>(&of, v, d, p, o, b, 8, count, gradient.as_mut_ptr());
                        }
                    }
                    o += if L::N == BLOCK && o + 2 <= vectors { 2 } else { 1 };
                }
            }
        }
        first += count;
    }
}

/// A δ Aᵀ of tiles to `[point][block][tile][16]`.
///
/// # Safety
/// As [`outer_lanes`]. δ's border makes the pixels after an odd last row or column zeros.
#[inline(always)]
unsafe fn transform_deltas<L: Lanes>(of: &Outer<'_, f32>, tiles: &[Tile], to: *mut f32) {
    let delta = &of.delta;
    let stride = delta.blocks() * OUTER_TILES * BLOCK;
    let zero = L::splat(0.0);
    for (k, tile) in tiles.iter().enumerate() {
        let Tile { image, row: r, column: c } = *tile;
        let (low, right) = (r + 1 < of.sweep.rows, c + 1 < of.sweep.columns);
        for b in 0..delta.blocks() {
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
                    let load = |there: bool, at: usize| {
                        if there { L::load(from.wrapping_add(at)) } else { zero }
                    };
                    let columns = [
                        [load(true, 0), load(low, of.delta_row)],
                        [load(right, BLOCK), load(low && right, of.delta_row + BLOCK)],
                    ];
                    let mut t = [[zero; 2]; 4];
                    for x in 0..2 {
                        let [y0, y1] = columns[x];
                        t[0][x] = y0;
                        t[1][x] = y0.add(y1);
                        t[2][x] = y0.sub(y1);
                        t[3][x] = zero.sub(y1);
                    }
                    let to = to.add((b * OUTER_TILES + k) * BLOCK + lane);
                    for y in 0..4 {
                        let [x0, x1] = t[y];
                        x0.store(to.add(4 * y * stride));
                        x0.add(x1).store(to.add((4 * y + 1) * stride));
                        x0.sub(x1).store(to.add((4 * y + 2) * stride));
                        zero.sub(x1).store(to.add((4 * y + 3) * stride));
                    }
                }
                lane += L::N;
            }
        }
    }
}

/// Adds, at one point, the sum over tiles of input channels c..c + I of block b by V vectors of δ.
///
/// # Safety
/// As [`outer_lanes`].
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn product<L: Lanes, const V: usize, const I: usize>(
    of: &Outer<'_, f32>,
    v: *const f32,
    d: *const f32,
    p: usize,
    o: usize,
    b: usize,
    c: usize,
    count: usize,
    out: *mut f32,
) {
    let (ins, outs) = (of.input.blocks(), of.delta.blocks());
    let mut sum = [[L::splat(0.0); V]; I];
    // SAFETY: v is [point][in block][tile][16], d [point][out block][tile][16], and the gradient
    // [out block][point][in block][16][16].
    unsafe {
        let v = v.add((p * ins + b) * OUTER_TILES * BLOCK + c);
        let mut delta = [d; V];
        for i in 0..V {
            let lane = (o + i) * L::N;
            let block = (p * outs + lane / BLOCK) * OUTER_TILES * BLOCK;
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
            let tile = ((lane / BLOCK * POINTS + p) * ins + b) * BLOCK * BLOCK;
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

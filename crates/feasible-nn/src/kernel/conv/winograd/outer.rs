//! The gradient with respect to the weights, at points: sums over tiles of outer products of the
//! transformed inputs and the transformed δ. Points are taken a pair of rows at a time, so that what is
//! in flight stays in the cache.

use super::{A, B, BLOCK, PAIRS, POINTS, SIDE, Tile, WIDE, Walk, tiles_of, transform_inputs};
use crate::kernel::conv::Outer;
use crate::simd::{Lanes, dispatch};

/// The most tiles of a block.
const TILES: usize = 56;
/// Points in flight: two rows.
const FLIGHT: usize = 2 * WIDE;

/// Numbers of scratch memory sums over tiles need.
pub fn outer_scratch(in_blocks: usize, out_blocks: usize) -> usize {
    FLIGHT * TILES * BLOCK * (in_blocks + out_blocks)
}

dispatch!(outer => outer_lanes(of: Outer<'_, f32>, fresh: bool, scratch: &mut [f32], gradient: &mut [f32]));

#[inline(always)]
fn outer_lanes<L: Lanes>(
    of: Outer<'_, f32>,
    fresh: bool,
    scratch: &mut [f32],
    gradient: &mut [f32],
) {
    if of.is_empty() {
        if fresh {
            gradient.fill(0.0);
        }
        return;
    }
    let size = tiles_of(of.sweep.rows, of.sweep.columns);
    of.check_tiles(gradient, size);
    let (ins, outs) = (of.input.blocks(), of.delta.blocks());
    assert!(scratch.len() >= outer_scratch(ins, outs));
    let (v, d) = scratch.split_at_mut(FLIGHT * TILES * BLOCK * ins);
    let (v, d) = (v.as_mut_ptr(), d.as_mut_ptr());
    let out = gradient.as_mut_ptr();
    let all = of.images * size.0 * size.1;
    // Blocks of equal size.
    let even = all.div_ceil(all.div_ceil(TILES));
    let mut walk = Walk::default();
    let mut first = 0;
    while first < all {
        let count = even.min(all - first);
        let mut tiles = [Tile::default(); TILES];
        let tiles = &mut tiles[..count];
        walk.take(tiles, size);
        let tiles = &*tiles;
        let adds = !(fresh && first == 0);
        // SAFETY: `check_tiles` has compared strides and counts with the lengths of the slices; the
        // scratch memory is as long as its formula says.
        unsafe {
            pair::<L, 0>(&of, tiles, v, d, adds, out);
            pair::<L, 1>(&of, tiles, v, d, adds, out);
            pair::<L, 2>(&of, tiles, v, d, adds, out);
            pair::<L, 3>(&of, tiles, v, d, adds, out);
        }
        first += count;
    }
}

/// Rows of pair P of the points of a block of tiles.
///
/// # Safety
/// As [`outer_lanes`].
#[inline(always)]
unsafe fn pair<L: Lanes, const P: usize>(
    of: &Outer<'_, f32>,
    tiles: &[Tile],
    v: *mut f32,
    d: *mut f32,
    adds: bool,
    out: *mut f32,
) {
    let ins = of.input.blocks();
    let vectors = of.delta.blocks() * (BLOCK / L::N);
    let (first, rows) = PAIRS[P];
    let count = tiles.len();
    // SAFETY: the caller's promise.
    unsafe {
        transform_inputs::<L, P, FLIGHT, TILES>(&of.input, of.sweep.input_row, tiles, 0, v);
        transform_deltas::<L, P>(of, tiles, d);
        for x in 0..rows * WIDE {
            let point = first * WIDE + x;
            let mut o = 0;
            while o < vectors {
                let two = L::N == BLOCK && o + 2 <= vectors;
                for b in 0..ins {
                    let at = Cell { point, x, o, b };
                    if two {
                        product::<L, 2, 8>(of, v, d, at, 0, count, adds, out);
                        product::<L, 2, 8>(of, v, d, at, 8, count, adds, out);
                    } else if L::N == BLOCK {
                        product::<L, 1, 16>(of, v, d, at, 0, count, adds, out);
                    } else {
                        product::<L, 1, 8>(of, v, d, at, 0, count, adds, out);
                        product::<L, 1, 8>(of, v, d, at, 8, count, adds, out);
                    }
                }
                o += if two { 2 } else { 1 };
            }
        }
    }
}

/// A point, its place among those in flight, a vector of δ and a block of the input.
#[derive(Clone, Copy)]
struct Cell {
    point: usize,
    x: usize,
    o: usize,
    b: usize,
}

/// e + f·o and e − f·o with e = δ₀ + f² δ₂ and o = δ₁ + f² δ₃.
#[inline(always)]
fn both<L: Lanes>(d: [L; SIDE], square: f32, f: f32) -> (L, L) {
    let square = L::splat(square);
    let (even, odd) = (square.fma(d[2], d[0]), square.fma(d[3], d[1]));
    (L::splat(f).fma(odd, even), L::splat(-f).fma(odd, even))
}

/// A δ along one axis.
#[inline(always)]
fn across<L: Lanes>(d: [L; SIDE]) -> [L; WIDE] {
    let (p1, p2) = both(d, 0.5, A);
    let (p3, p4) = both(d, 2.0, B);
    [d[0], p1, p2, p3, p4, d[3]]
}

/// Rows of pair P of A δ Aᵀ of tiles to `[block][point][tile][16]`.
///
/// # Safety
/// As [`outer_lanes`].
#[inline(always)]
unsafe fn transform_deltas<L: Lanes, const P: usize>(
    of: &Outer<'_, f32>,
    tiles: &[Tile],
    to: *mut f32,
) {
    let (delta, row) = (&of.delta, of.delta_row);
    for b in 0..delta.blocks() {
        for (k, tile) in tiles.iter().enumerate() {
            let Tile { image, row: r, column: c } = *tile;
            let from = b * delta.block + image * delta.image + of.delta_start + r * row + c * BLOCK;
            let mut lane = 0;
            while lane < BLOCK {
                // SAFETY: δ has zeros where a tile goes beyond its image, as `check_tiles` has seen.
                unsafe {
                    let from = delta.data.as_ptr().add(from + lane);
                    let mut one = [L::splat(0.0); SIDE];
                    let mut two = one;
                    for x in 0..SIDE {
                        let from = from.add(x * BLOCK);
                        if P == 0 {
                            one[x] = L::load(from);
                        } else if P == 3 {
                            one[x] = L::load(from.add(3 * row));
                        } else {
                            let column = [
                                L::load(from),
                                L::load(from.add(row)),
                                L::load(from.add(2 * row)),
                                L::load(from.add(3 * row)),
                            ];
                            (one[x], two[x]) =
                                if P == 1 { both(column, 0.5, A) } else { both(column, 2.0, B) };
                        }
                    }
                    let to = to.add((b * FLIGHT * TILES + k) * BLOCK + lane);
                    let one = across(one);
                    for x in 0..WIDE {
                        one[x].store(to.add(x * TILES * BLOCK));
                    }
                    if PAIRS[P].1 == 2 {
                        let two = across(two);
                        for x in 0..WIDE {
                            two[x].store(to.add((WIDE + x) * TILES * BLOCK));
                        }
                    }
                }
                lane += L::N;
            }
        }
    }
}

/// At one point, the sum over tiles of input channels c..c + I of a block by V vectors of δ.
///
/// # Safety
/// As [`outer_lanes`].
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn product<L: Lanes, const V: usize, const I: usize>(
    of: &Outer<'_, f32>,
    v: *const f32,
    d: *const f32,
    at: Cell,
    c: usize,
    count: usize,
    adds: bool,
    out: *mut f32,
) {
    let ins = of.input.blocks();
    let Cell { point, x, o, b } = at;
    let mut sum = [[L::splat(0.0); V]; I];
    // SAFETY: v is [in block][point][tile][16], d [out block][point][tile][16], and the gradient
    // [out block][point][in block][16][16].
    unsafe {
        let v = v.add((b * FLIGHT + x) * TILES * BLOCK + c);
        let mut delta = [d; V];
        for i in 0..V {
            let lane = (o + i) * L::N;
            let block = (lane / BLOCK * FLIGHT + x) * TILES * BLOCK;
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
            let tile = ((lane / BLOCK * POINTS + point) * ins + b) * BLOCK * BLOCK;
            for j in 0..I {
                let to = out.add(tile + (c + j) * BLOCK + lane % BLOCK);
                let total = if adds { sum[j][i].add(L::load(to)) } else { sum[j][i] };
                total.store(to);
            }
        }
    }
}

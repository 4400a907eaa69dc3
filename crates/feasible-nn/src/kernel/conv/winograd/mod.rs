//! 3×3 convolutions of stride 1 with 36 multiplications for sixteen outputs instead of 144
//! (Winograd's F(4×4, 3×3); Lavin and Gray, 2016):
//!
//! $$ Y = A^\top \big[ (G g G^\top) \odot (B^\top d B) \big] A , $$
//!
//! for a 6×6 tile d of the input, a filter g and a 4×4 tile Y of the output. A product of polynomials is
//! found from its values at the points 0, ±1/√2, ±√2 and ∞: with these
//!
//! $$ B^\top = \begin{pmatrix} 1 & 0 & -\tfrac52 & 0 & 1 & 0 \\\\ 0 & -2a & -2 & a & 1 & 0 \\\\ 0 & 2a & -2 & -a & 1 & 0
//! \\\\ 0 & -\tfrac b2 & -\tfrac12 & b & 1 & 0 \\\\ 0 & \tfrac b2 & -\tfrac12 & -b & 1 & 0 \\\\ 0 & 1 & 0 & -\tfrac52 & 0 & 1 \end{pmatrix} ,
//! \quad a = \tfrac{1}{\sqrt 2},\ b = \sqrt 2 , $$
//!
//! G has the rows (1, p, p²)/N with N = 1, −3/2, −3/2, 6, 6 and (0, 0, 1), and $A^\top$ the powers 0 to 3 of
//! the points. They balance each other's powers: the error is 2.7 times that of 2×2 tiles, while the
//! usual points 0, ±1, ±2 have it 6 times, and 25 times at worst.
//!
//! For each of the 36 points of the transformed tile the sum over channels is a small matrix product,
//! [tiles × in] · [in × out]: `sweep`. The gradient with respect to g is the same formula read
//! backwards, $G^\top [\sum (B^\top d B) \odot (A\, \delta A^\top)]\, G$: `outer`.

#![allow(unsafe_code)]

mod outer;
mod sweep;
pub(crate) mod weights;

pub(crate) use outer::{outer, outer_scratch};
pub(crate) use sweep::{sweep, sweep_scratch};
pub(crate) use weights::{transform_gradient, transform_weights};

use super::{BLOCK, Packed};
use crate::simd::Lanes;

/// Outputs along the side of a tile.
pub(crate) const SIDE: usize = 4;
/// Points along the side of a transformed tile.
const WIDE: usize = SIDE + 2;
/// Points of a transformed tile.
pub const POINTS: usize = WIDE * WIDE;
/// Tiles a matrix product keeps in registers.
pub(crate) const RUN: usize = 14;

const A: f32 = std::f32::consts::FRAC_1_SQRT_2;
const B: f32 = std::f32::consts::SQRT_2;

/// Tiles of an image along both sides.
fn tiles_of(rows: usize, columns: usize) -> (usize, usize) {
    (rows.div_ceil(SIDE), columns.div_ceil(SIDE))
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
    /// The next tiles of images of `size` tiles.
    #[inline(always)]
    fn take(&mut self, tiles: &mut [Tile], size: (usize, usize)) {
        for tile in tiles {
            *tile = self.next;
            self.next.column += SIDE;
            if self.next.column >= SIDE * size.1 {
                self.next.column = 0;
                self.next.row += SIDE;
                if self.next.row >= SIDE * size.0 {
                    self.next.row = 0;
                    self.next.image += 1;
                }
            }
        }
    }
}

/// Rows of the points that are found together, as they share terms: 0, 1 and 2, 3 and 4, 5.
const PAIRS: [(usize, usize); 4] = [(0, 1), (1, 2), (3, 2), (5, 1)];

/// e + f·o and e − f·o with e = d₄ − g d₂ and o = d₃ − g d₁.
#[inline(always)]
fn both<L: Lanes>(d: [L; 4], g: f32, f: f32) -> (L, L) {
    let g = L::splat(-g);
    let (even, odd) = (g.fma(d[1], d[3]), g.fma(d[0], d[2]));
    (L::splat(f).fma(odd, even), L::splat(-f).fma(odd, even))
}

/// Bᵀ d along one axis.
#[inline(always)]
fn across<L: Lanes>(d: [L; WIDE]) -> [L; WIDE] {
    let inner = [d[1], d[2], d[3], d[4]];
    let (p1, p2) = both(inner, 2.0, A);
    let (p3, p4) = both(inner, 0.5, B);
    let c = L::splat(-2.5);
    [c.fma(d[2], d[0].add(d[4])), p1, p2, p3, p4, c.fma(d[3], d[1].add(d[5]))]
}

/// The same for the rows of pair P, from a column of the tile in memory; one or two of them count.
///
/// # Safety
/// A vector is readable at `from` and up to five rows of `row` numbers below.
#[inline(always)]
unsafe fn down<L: Lanes, const P: usize>(from: *const f32, row: usize) -> (L, L) {
    // SAFETY: the caller's promise.
    unsafe {
        let c = L::splat(-2.5);
        if P == 0 || P == 3 {
            let from = if P == 0 { from } else { from.add(row) };
            let ends = L::load(from).add(L::load(from.add(4 * row)));
            let one = c.fma(L::load(from.add(2 * row)), ends);
            return (one, one);
        }
        let inner = [
            L::load(from.add(row)),
            L::load(from.add(2 * row)),
            L::load(from.add(3 * row)),
            L::load(from.add(4 * row)),
        ];
        if P == 1 { both(inner, 2.0, A) } else { both(inner, 0.5, B) }
    }
}

/// Rows of pair P of the points of all tiles and blocks, to `[block][F points][N tiles][16]`, the pair's
/// first point at `first`. Strides that are constants make one pointer do.
///
/// # Safety
/// The tiles lie inside the packed images, are at most N, and `to` has room.
#[inline(always)]
unsafe fn transform_inputs<L: Lanes, const P: usize, const F: usize, const N: usize>(
    input: &Packed<'_, f32>,
    row: usize,
    tiles: &[Tile],
    first: usize,
    to: *mut f32,
) {
    for b in 0..input.blocks() {
        for (k, tile) in tiles.iter().enumerate() {
            let Tile { image, row: r, column } = *tile;
            let from = b * input.block + image * input.image + r * row + column * BLOCK;
            let mut lane = 0;
            while lane < BLOCK {
                // SAFETY: the caller's promise.
                unsafe {
                    let from = input.data.as_ptr().add(from + lane);
                    let to = to.add(((b * F + first) * N + k) * BLOCK + lane);
                    let mut one = [L::splat(0.0); WIDE];
                    let mut two = one;
                    for x in 0..WIDE {
                        (one[x], two[x]) = down::<L, P>(from.add(x * BLOCK), row);
                    }
                    let one = across(one);
                    for x in 0..WIDE {
                        one[x].store(to.add(x * N * BLOCK));
                    }
                    if PAIRS[P].1 == 2 {
                        let two = across(two);
                        for x in 0..WIDE {
                            two[x].store(to.add((WIDE + x) * N * BLOCK));
                        }
                    }
                }
                lane += L::N;
            }
        }
    }
}

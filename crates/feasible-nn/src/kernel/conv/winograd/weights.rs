//! Filters to points, and the gradient at points to filters.

use feasible::Real;

use super::{BLOCK, POINTS, WIDE};
use crate::kernel::conv::planes::compiled;
use crate::simd::Level;

const TILE: usize = BLOCK * BLOCK;

/// G g along one axis.
#[inline(always)]
fn spread<T: Real>([g0, g1, g2]: [T; 3], [c0, c1, c2, c3, c4, c5]: [T; 6]) -> [T; WIDE] {
    let (even, odd) = (c0 * g0 + c1 * g2, c2 * g1);
    let (far, further) = (c3 * g0 + c4 * g2, c5 * g1);
    [g0, even + odd, even - odd, far + further, far - further, g2]
}

/// Gᵀ u along one axis.
#[inline(always)]
fn collected<T: Real>(u: [T; WIDE], [c0, c1, c2, c3, c4, c5]: [T; 6]) -> [T; 3] {
    let (s1, d1) = (u[1] + u[2], u[1] - u[2]);
    let (s2, d2) = (u[3] + u[4], u[3] - u[4]);
    [u[0] + (c0 * s1 + c3 * s2), c2 * d1 + c5 * d2, c1 * s1 + c4 * s2 + u[5]]
}

/// The rows ±1/√2 and ±√2 of G: (1, ±p, p²)/N.
#[inline(always)]
fn rows<T: Real>() -> [T; 6] {
    let root = std::f64::consts::SQRT_2;
    [-2.0 / 3.0, -1.0 / 3.0, -root / 3.0, 1.0 / 6.0, 1.0 / 3.0, root / 6.0].map(T::from_f64)
}

compiled! {
    /// G g Gᵀ of all pairs of blocks: `[a][b][9 taps][256]` to `[a][36 points][b][256]`, the taps in
    /// reverse if `flipped`.
    fn transform_weights<T>(from: &[T], blocks: usize, flipped: bool, to: &mut [T]) {
        let rows = rows();
        for (pair, g) in from.chunks_exact(9 * TILE).enumerate() {
            let (a, b) = (pair / blocks, pair % blocks);
            let at = |p: usize| ((a * POINTS + p) * blocks + b) * TILE;
            for start in (0..TILE).step_by(BLOCK) {
                let mut t = [[[T::ZERO; BLOCK]; 3]; WIDE];
                for x in 0..3 {
                    let tap = |y: usize| if flipped { 8 - (3 * y + x) } else { 3 * y + x };
                    let [g0, g1, g2] = [tap(0), tap(1), tap(2)].map(|t| &g[t * TILE + start..][..BLOCK]);
                    for i in 0..BLOCK {
                        let u = spread([g0[i], g1[i], g2[i]], rows);
                        for y in 0..WIDE {
                            t[y][x][i] = u[y];
                        }
                    }
                }
                for y in 0..WIDE {
                    let [g0, g1, g2] = &t[y];
                    let mut u = [[T::ZERO; BLOCK]; WIDE];
                    for i in 0..BLOCK {
                        let v = spread([g0[i], g1[i], g2[i]], rows);
                        for x in 0..WIDE {
                            u[x][i] = v[x];
                        }
                    }
                    for x in 0..WIDE {
                        to[at(WIDE * y + x) + start..][..BLOCK].copy_from_slice(&u[x]);
                    }
                }
            }
        }
    }

    /// Gᵀ u G of all pairs of blocks: `[a][36 points][b][256]` to `[a][b][9 taps][256]`.
    fn transform_gradient<T>(from: &[T], blocks: usize, to: &mut [T]) {
        let rows = rows();
        for (pair, g) in to.chunks_exact_mut(9 * TILE).enumerate() {
            let (a, b) = (pair / blocks, pair % blocks);
            let at = |p: usize| ((a * POINTS + p) * blocks + b) * TILE;
            for start in (0..TILE).step_by(BLOCK) {
                let mut t = [[[T::ZERO; BLOCK]; WIDE]; 3];
                for x in 0..WIDE {
                    let u = [0, 1, 2, 3, 4, 5].map(|y| &from[at(WIDE * y + x) + start..][..BLOCK]);
                    for i in 0..BLOCK {
                        let g = collected(u.map(|u| u[i]), rows);
                        for y in 0..3 {
                            t[y][x][i] = g[y];
                        }
                    }
                }
                for y in 0..3 {
                    for i in 0..BLOCK {
                        let column = std::array::from_fn(|x| t[y][x][i]);
                        let taps = collected(column, rows);
                        for x in 0..3 {
                            g[(3 * y + x) * TILE + start + i] = taps[x];
                        }
                    }
                }
            }
        }
    }
}

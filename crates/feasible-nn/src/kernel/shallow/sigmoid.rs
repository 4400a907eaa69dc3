//! The forward pass of sigmoids. See the [table](super::table) for the two ways and their formulas.
//!
//! A few rows at a time keep the processor busy: their p in registers, then row by row
//! $\sigma = 1 / (1 + p^s)$ of x and of its views, and what each adds to the outputs.

#![allow(unsafe_code)]

use feasible::{Batch, ViewShift};

use super::forward::{BLOCK, add_up};
use super::table::{Way, factors_len, moves_of, table_len};
use super::{Shallow, even_hot, even_row};
use crate::simd::{Lanes, MAX_LANES, exp_of_minus, sigmoid_of};

/// What all rows are computed from.
#[derive(Clone, Copy)]
pub(super) struct Pass<'b, 'a> {
    pub(super) batch: &'b Batch<'a>,
    pub(super) net: Shallow<'b, f32>,
    pub(super) table: &'b [f32],
    pub(super) factors: &'b [f32],
    pub(super) way: Way,
    /// Whether a is kept for a backward pass.
    pub(super) keep: bool,
}

#[inline(always)]
pub(super) fn rows<L: Lanes, const K: usize>(
    pass: Pass<'_, '_>,
    a: &mut [f32],
    outputs: &mut [f32],
    partial: &mut [f32],
) {
    let Pass { batch, net, table, factors, keep, .. } = pass;
    let h = net.bias.len();
    assert!(table.len() == table_len(batch.inputs.width(), h, K) && net.head_bias.len() == K);
    assert!(factors.len() == factors_len(batch, h));
    assert!(!keep || a.len() == batch.output_rows() * h);
    assert!(partial.len() >= batch.views() * BLOCK * K * L::N);
    match pass.way.products {
        true => blocks::<L, K, true>(pass, a, outputs, partial),
        false => blocks::<L, K, false>(pass, a, outputs, partial),
    }
}

#[inline(always)]
fn blocks<L: Lanes, const K: usize, const PRODUCTS: bool>(
    pass: Pass<'_, '_>,
    a: &mut [f32],
    outputs: &mut [f32],
    partial: &mut [f32],
) {
    let (h, rows) = (pass.net.bias.len(), pass.batch.rows.len());
    let mut start = 0;
    while start < rows {
        let end = (start + BLOCK).min(rows);
        let mut j = 0;
        while j < h {
            let n = h - j;
            let units = Units::new::<K>(pass, start, j, n, a, partial);
            if n >= 4 * L::N {
                block::<L, K, PRODUCTS, 4, true>(&units, start, end);
                j += 4 * L::N;
            } else if n >= L::N {
                block::<L, K, PRODUCTS, 1, true>(&units, start, end);
                j += L::N;
            } else {
                block::<L, K, PRODUCTS, 1, false>(&units, start, end);
                j = h;
            }
        }
        for view in 0..pass.batch.views() {
            let outputs = &mut outputs[(view * rows + start) * K..(view * rows + end) * K];
            add_up::<L>(&partial[view * BLOCK * K * L::N..], outputs);
        }
        start = end;
    }
}

/// Some hidden units of a block of rows: everything from their first on.
struct Units<'b, 'a> {
    pass: Pass<'b, 'a>,
    h: usize,
    /// How many are left, these included.
    n: usize,
    /// Whether they are the first, which start the outputs.
    first: bool,
    /// Rows of h numbers: d for the columns, one more, the bias's, K for the outputs.
    table: *const f32,
    bias: *const f32,
    head: *const f32,
    factors: *const f32,
    /// Views × rows × h.
    a: *mut f32,
    /// K vectors for each row of the block and view, whose lanes are still to be added up.
    partial: *mut f32,
    start: usize,
}

impl<'b, 'a> Units<'b, 'a> {
    #[inline(always)]
    fn new<const K: usize>(
        pass: Pass<'b, 'a>,
        start: usize,
        j: usize,
        n: usize,
        a: &mut [f32],
        partial: &mut [f32],
    ) -> Self {
        let h = pass.net.bias.len();
        let table = pass.table.as_ptr().wrapping_add(j);
        let bias = table.wrapping_add((pass.batch.inputs.width() + 1) * h);
        let head = bias.wrapping_add(h);
        let factors = pass.factors.as_ptr().wrapping_add(j);
        let a = a.as_mut_ptr().wrapping_add(j);
        let partial = partial.as_mut_ptr();
        Self { pass, h, n, first: j == 0, table, bias, head, factors, a, partial, start }
    }
}

/// Rows start..end: V vectors of units, or if not FULL the n that are left.
#[inline(always)]
fn block<L: Lanes, const K: usize, const PRODUCTS: bool, const V: usize, const FULL: bool>(
    units: &Units<'_, '_>,
    start: usize,
    end: usize,
) {
    let mut r = start;
    // As many products at once as there are registers for.
    if PRODUCTS && L::N == MAX_LANES {
        while r + 4 <= end {
            some::<L, K, PRODUCTS, V, FULL, 4>(units, r);
            r += 4;
        }
    }
    while r + 2 <= end {
        some::<L, K, PRODUCTS, V, FULL, 2>(units, r);
        r += 2;
    }
    if r < end {
        some::<L, K, PRODUCTS, V, FULL, 1>(units, r);
    }
}

/// R rows from r on.
#[inline(always)]
fn some<
    L: Lanes,
    const K: usize,
    const PRODUCTS: bool,
    const V: usize,
    const FULL: bool,
    const R: usize,
>(
    units: &Units<'_, '_>,
    r: usize,
) {
    let Units { pass: Pass { batch, .. }, h, n, table, bias, .. } = *units;
    let mut of_rows = [[L::splat(0.0); V]; R];
    let mut hot: [&[u32]; R] = [&[]; R];
    let rows = &batch.rows[r..r + R];
    for i in 0..R {
        hot[i] = even_hot(batch.inputs, rows[i] as usize);
    }
    // SAFETY: the table has d + 2 + K rows of h entries (checked by `rows`), of which these units are
    // V vectors, or the n that are left (checked by `blocks`); lists of hot columns name columns up to d,
    // dense ones below (checked when the inputs were built). All lists have the length of the first.
    unsafe {
        for v in 0..V {
            let bias = L::load_if::<FULL>(bias.add(v * L::N), n);
            for i in 0..R {
                of_rows[i][v] = bias;
            }
        }
        for at in 0..hot[0].len() {
            for i in 0..R {
                let w = table.add(*hot[i].get_unchecked(at) as usize * h);
                for v in 0..V {
                    let w = L::load_if::<FULL>(w.add(v * L::N), n);
                    let of_row = &mut of_rows[i][v];
                    *of_row = if PRODUCTS { of_row.mul(w) } else { of_row.add(w) };
                }
            }
        }
        if !PRODUCTS {
            let dense = batch.inputs.dense_columns();
            for i in 0..R {
                for (&c, &x) in dense.iter().zip(batch.inputs.dense_row(rows[i] as usize)) {
                    let w = table.add(c as usize * h);
                    let x = L::splat(x);
                    for v in 0..V {
                        let w = L::load_if::<FULL>(w.add(v * L::N), n);
                        of_rows[i][v] = x.fma(w, of_rows[i][v]);
                    }
                }
            }
        }
    }
    for i in 0..R {
        let of_row = of_rows[i];
        let p = if PRODUCTS { of_row } else { exponential(units.pass.way, of_row) };
        view::<L, K, V, FULL>(units, r + i, 0, p);
        if !batch.shifts.is_empty() {
            views::<L, K, V, FULL>(units, r + i, of_row, p);
        }
    }
}

/// p of z.
#[inline(always)]
fn exponential<L: Lanes, const V: usize>(way: Way, mut z: [L; V]) -> [L; V] {
    let scale = L::splat(1.0 / (1u32 << way.halvings) as f32);
    for v in 0..V {
        z[v] = exp_of_minus(z[v].mul(scale));
    }
    z
}

/// The views of row r, from its p, or from its z.
#[inline(always)]
fn views<L: Lanes, const K: usize, const V: usize, const FULL: bool>(
    units: &Units<'_, '_>,
    r: usize,
    z: [L; V],
    p: [L; V],
) {
    let Units { pass: Pass { batch, way, .. }, h, n, table, factors, .. } = *units;
    let row = batch.rows[r] as usize;
    let mut first_factor = 0;
    for (number, shift) in batch.shifts.iter().enumerate() {
        let mut moved = p;
        if let Some(moves) = moves_of(shift).filter(|_| way.factors) {
            let factor = first_factor + moves.of_row(row);
            first_factor += moves.count();
            for v in 0..V {
                // SAFETY: there is a factor of h entries for every move (checked by `rows`), of which these
                // units are V vectors, or n.
                let g = unsafe { L::load_if::<FULL>(factors.add(factor * h + v * L::N), n) };
                moved[v] = moved[v].mul(g);
            }
        } else if let ViewShift::Sparse(sparse) = shift {
            moved = z;
            let (columns, deltas) = even_row(sparse, row);
            for (&c, &delta) in columns.iter().zip(deltas) {
                let delta = L::splat(delta);
                for v in 0..V {
                    // SAFETY: as for the columns of x; `is_even` checks that shifts name no others.
                    let w = unsafe { L::load_if::<FULL>(table.add(c as usize * h + v * L::N), n) };
                    moved[v] = delta.fma(w, moved[v]);
                }
            }
            moved = exponential(way, moved);
        }
        view::<L, K, V, FULL>(units, r, number + 1, moved);
    }
}

/// σ of p = e^{−z/s} for a view of row r, and what it adds to the outputs.
#[inline(always)]
fn view<L: Lanes, const K: usize, const V: usize, const FULL: bool>(
    units: &Units<'_, '_>,
    r: usize,
    number: usize,
    p: [L; V],
) {
    let Units { pass, h, n, first, head, a, partial, start, .. } = *units;
    let mut active = p;
    for _ in 0..pass.way.halvings {
        for v in 0..V {
            active[v] = active[v].mul(active[v]);
        }
    }
    for v in 0..V {
        active[v] = sigmoid_of(active[v]);
    }
    // SAFETY: a, if it is kept, has views × rows rows of h entries, the table K for the outputs, of which
    // these units are V vectors, or n; there are K vectors for each row of a block (all checked by `rows`).
    unsafe {
        if pass.keep {
            let to = a.add((number * pass.batch.rows.len() + r) * h);
            for v in 0..V {
                active[v].store_if::<FULL>(to.add(v * L::N), n);
            }
        }
        let to = partial.add((number * BLOCK + r - start) * K * L::N);
        for o in 0..K {
            let (to, u) = (to.add(o * L::N), head.add(o * h));
            let mut sum = if first {
                L::load_part(pass.net.head_bias.as_ptr().add(o), 1)
            } else {
                L::load(to)
            };
            for v in 0..V {
                sum = active[v].fma(L::load_if::<FULL>(u.add(v * L::N), n), sum);
            }
            sum.store(to);
        }
    }
}

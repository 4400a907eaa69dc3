//! The rows of a forward pass. See the [table](super::table) for the two ways of sigmoids and their formulas.
//!
//! A few rows at a time keep the processor busy: their z, or the p of sigmoids, in registers, then row by
//! row a = φ(z) of x and of its views, and what each adds to the outputs.

#![allow(unsafe_code)]

use feasible::{Batch, ViewShift};

use super::forward::BLOCK;
use super::table::{Way, factors_len, moves_of, table_len};
use super::{Shallow, even_hot, even_row};
use crate::kernel::activation::{SIGMOID, SILU, value_and_slope};
use crate::simd::{Lanes, MAX_LANES, exp_of_minus, fetch_near, sigmoid_of, sums};

/// Sigmoids whose p is a product: an activation, as a parameter, besides those there are.
pub(super) const PRODUCTS: u8 = u8::MAX;

/// What all rows are computed from.
#[derive(Clone, Copy)]
pub(super) struct Pass<'b, 'a> {
    pub(super) batch: &'b Batch<'a>,
    pub(super) net: Shallow<'b, f32>,
    pub(super) table: &'b [f32],
    pub(super) factors: &'b [f32],
    pub(super) way: Way,
    /// Whether a, and for SiLU the slopes, are kept for a backward pass.
    pub(super) keep: bool,
    /// Whether rows are where the processor does not look by itself: in no order, in a table larger than its caches.
    pub(super) far: bool,
}

/// All rows of a batch: φ is F.
#[inline(always)]
pub(super) fn rows<L: Lanes, const F: u8>(
    pass: Pass<'_, '_>,
    a: &mut [f32],
    slope: &mut [f32],
    outputs: &mut [f32],
    partial: &mut [f32],
) {
    let Pass { batch, net, table, factors, keep, .. } = pass;
    let (h, k, rows) = (net.bias.len(), net.head_bias.len(), batch.rows.len());
    assert!(table.len() == table_len(batch.inputs.width(), h, k));
    assert!(factors.len() == factors_len(batch, h));
    assert!(!keep || a.len() == batch.output_rows() * h);
    assert!(!keep || F != SILU || slope.len() == a.len());
    assert!(partial.len() >= batch.views() * BLOCK * k * L::N);
    if pass.far {
        fetch_rows::<BLOCK>(batch, 0);
    }
    let mut start = 0;
    while start < rows {
        let end = (start + BLOCK).min(rows);
        let mut j = 0;
        while j < h {
            let n = h - j;
            let units = Units::new(pass, start, j, n.min(L::N), a, slope, partial);
            if n >= 4 * L::N {
                block::<L, F, 4, true>(&units, start, end);
                j += 4 * L::N;
            } else {
                block::<L, F, 1, false>(&units, start, end);
                j += n.min(L::N);
            }
        }
        for view in 0..batch.views() {
            let outputs = &mut outputs[(view * rows + start) * k..(view * rows + end) * k];
            add_up::<L>(&partial[view * BLOCK * k * L::N..], outputs);
        }
        start = end;
    }
}

/// Some hidden units of a block of rows: everything from their first on.
struct Units<'b, 'a> {
    pass: Pass<'b, 'a>,
    h: usize,
    /// Outputs.
    k: usize,
    /// How many are worked on, if they are not whole vectors.
    n: usize,
    /// Whether they are the first, which start the outputs.
    first: bool,
    /// Rows of h numbers: d for the columns, one more, the bias's, k for the outputs.
    table: *const f32,
    bias: *const f32,
    head: *const f32,
    factors: *const f32,
    /// Views × rows × h.
    a: *mut f32,
    slope: *mut f32,
    /// k vectors for each row of the block and view, whose lanes are still to be added up.
    partial: *mut f32,
    start: usize,
}

impl<'b, 'a> Units<'b, 'a> {
    #[inline(always)]
    fn new(
        pass: Pass<'b, 'a>,
        start: usize,
        j: usize,
        n: usize,
        a: &mut [f32],
        slope: &mut [f32],
        partial: &mut [f32],
    ) -> Self {
        let h = pass.net.bias.len();
        let table = pass.table.as_ptr().wrapping_add(j);
        let bias = table.wrapping_add((pass.batch.inputs.width() + 1) * h);
        Self {
            pass,
            h,
            k: pass.net.head_bias.len(),
            n,
            first: j == 0,
            table,
            bias,
            head: bias.wrapping_add(h),
            factors: pass.factors.as_ptr().wrapping_add(j),
            a: a.as_mut_ptr().wrapping_add(j),
            slope: slope.as_mut_ptr().wrapping_add(j),
            partial: partial.as_mut_ptr(),
            start,
        }
    }
}

/// Rows start..end: V vectors of units, or if not FULL the n that are left.
#[inline(always)]
fn block<L: Lanes, const F: u8, const V: usize, const FULL: bool>(
    units: &Units<'_, '_>,
    start: usize,
    end: usize,
) {
    let mut r = start;
    // As many products at once as there are registers for.
    if F == PRODUCTS && L::N == MAX_LANES {
        while r + 4 <= end {
            some::<L, F, V, FULL, 4>(units, r);
            r += 4;
        }
    }
    while r + 2 <= end {
        some::<L, F, V, FULL, 2>(units, r);
        r += 2;
    }
    if r < end {
        some::<L, F, V, FULL, 1>(units, r);
    }
}

/// R rows from r on.
#[inline(always)]
fn some<L: Lanes, const F: u8, const V: usize, const FULL: bool, const R: usize>(
    units: &Units<'_, '_>,
    r: usize,
) {
    let Units { pass: Pass { batch, way, .. }, h, n, table, bias, .. } = *units;
    let mut of_rows = [[L::splat(0.0); V]; R];
    let mut hot: [&[u32]; R] = [&[]; R];
    let rows = &batch.rows[r..r + R];
    for i in 0..R {
        hot[i] = even_hot(batch.inputs, rows[i] as usize);
    }
    // SAFETY: the table has d + 2 + k rows of h entries (checked by `rows`), of which these units are
    // V vectors, or the n that are left (also there); lists of hot columns name columns up to d,
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
                    *of_row = if F == PRODUCTS { of_row.mul(w) } else { of_row.add(w) };
                }
            }
        }
        if F != PRODUCTS {
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
    if units.pass.far && units.first {
        fetch_rows::<R>(batch, r + BLOCK);
    }
    for i in 0..R {
        views::<L, F, V, FULL>(units, r + i, of_rows[i], power::<L, F, V>(way, of_rows[i]));
    }
}

/// Asks for R rows from r on, and what their views change, while others are worked on.
#[inline(always)]
fn fetch_rows<const R: usize>(batch: &Batch<'_>, r: usize) {
    for &row in batch.rows.iter().skip(r).take(R) {
        let row = row as usize;
        fetch_near(even_hot(batch.inputs, row));
        fetch_near(batch.inputs.dense_row(row));
        for shift in batch.shifts {
            if let ViewShift::Sparse(sparse) = shift {
                let (columns, deltas) = even_row(sparse, row);
                fetch_near(columns);
                fetch_near(deltas);
            }
        }
    }
}

/// What φ is computed from: p of z for sigmoids, else z itself.
#[inline(always)]
fn power<L: Lanes, const F: u8, const V: usize>(way: Way, mut z: [L; V]) -> [L; V] {
    if F == SIGMOID {
        let scale = L::splat(1.0 / (1u32 << way.halvings) as f32);
        for v in 0..V {
            z[v] = exp_of_minus(z[v].mul(scale));
        }
    }
    z
}

/// Row r and its views, from its z and the p of it.
#[inline(always)]
fn views<L: Lanes, const F: u8, const V: usize, const FULL: bool>(
    units: &Units<'_, '_>,
    r: usize,
    z: [L; V],
    p: [L; V],
) {
    let shifts = units.pass.batch.shifts;
    let mut factor = 0;
    // One loop, x itself included: its body is long, and there is a copy for each row that is worked on at once.
    for number in 0..=shifts.len() {
        let of = match number.checked_sub(1) {
            None => p,
            Some(shift) => moved::<L, F, V, FULL>(units, r, &shifts[shift], z, p, &mut factor),
        };
        view::<L, F, V, FULL>(units, r, number, of);
    }
}

/// p of the view that `shift` makes of row r; `factor` is the first factor of its moves, then of the next view's.
#[inline(always)]
fn moved<L: Lanes, const F: u8, const V: usize, const FULL: bool>(
    units: &Units<'_, '_>,
    r: usize,
    shift: &ViewShift<'_>,
    mut z: [L; V],
    mut p: [L; V],
    factor: &mut usize,
) -> [L; V] {
    let Units { pass: Pass { batch, way, .. }, h, n, table, factors, .. } = *units;
    let row = batch.rows[r] as usize;
    let by_factors = (F == PRODUCTS || F == SIGMOID) && way.factors;
    if let Some(moves) = moves_of(shift).filter(|_| by_factors) {
        let g = factors.wrapping_add((*factor + moves.of_row(row)) * h);
        *factor += moves.count();
        for v in 0..V {
            // SAFETY: there is a factor of h entries for every move (checked by `rows`), of which these
            // units are V vectors, or n.
            p[v] = p[v].mul(unsafe { L::load_if::<FULL>(g.add(v * L::N), n) });
        }
        return p;
    }
    let ViewShift::Sparse(sparse) = shift else { return p };
    let (columns, deltas) = even_row(sparse, row);
    for (&c, &delta) in columns.iter().zip(deltas) {
        let delta = L::splat(delta);
        for v in 0..V {
            // SAFETY: as for the columns of x; `is_even` checks that shifts name no others.
            let w = unsafe { L::load_if::<FULL>(table.add(c as usize * h + v * L::N), n) };
            z[v] = delta.fma(w, z[v]);
        }
    }
    power::<L, F, V>(way, z)
}

/// φ for a view of row r, of z or for sigmoids of p = e^{−z/s}, and what it adds to the outputs.
#[inline(always)]
fn view<L: Lanes, const F: u8, const V: usize, const FULL: bool>(
    units: &Units<'_, '_>,
    r: usize,
    number: usize,
    of: [L; V],
) {
    let Units { pass, h, k, n, first, head, a, slope, partial, start, .. } = *units;
    let kept = (number * pass.batch.rows.len() + r) * h;
    let mut active = of;
    if F == PRODUCTS || F == SIGMOID {
        for _ in 0..pass.way.halvings {
            for v in 0..V {
                active[v] = active[v].mul(active[v]);
            }
        }
    }
    // SAFETY: a and for SiLU the slopes, if they are kept, have views × rows rows of h entries, the table k for
    // the outputs, of which these units are V vectors, or n; there are k vectors for each row of a block (all
    // checked by `rows`).
    unsafe {
        for v in 0..V {
            if F == PRODUCTS || F == SIGMOID {
                active[v] = sigmoid_of(active[v]);
            } else {
                let (value, derivative) = value_and_slope::<L, F>(active[v]);
                active[v] = value;
                if F == SILU && pass.keep {
                    derivative.store_if::<FULL>(slope.add(kept + v * L::N), n);
                }
            }
        }
        if pass.keep {
            for v in 0..V {
                active[v].store_if::<FULL>(a.add(kept + v * L::N), n);
            }
        }
        let to = partial.add((number * BLOCK + r - start) * k * L::N);
        for o in 0..k {
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

/// outputs[i] = the sum of the lanes of vector i.
#[inline(always)]
fn add_up<L: Lanes>(vectors: &[f32], outputs: &mut [f32]) {
    assert!(vectors.len() >= outputs.len() * L::N);
    let square = L::N * L::N;
    for (outputs, vectors) in outputs.chunks_mut(L::N).zip(vectors.chunks(square)) {
        // Places in `sum` are known when this is compiled, so that it stays in registers; whole groups, which are
        // nearly all, take no test for each vector.
        let mut sum = [L::splat(0.0); MAX_LANES];
        if outputs.len() == L::N {
            let vectors = &vectors[..square];
            for i in 0..L::N {
                sum[i] = L::of(&vectors[i * L::N..]);
            }
        } else {
            for i in 0..L::N {
                if i < outputs.len() {
                    sum[i] = L::of(&vectors[i * L::N..]);
                }
            }
        }
        sums(sum).put_part(outputs);
    }
}

//! The forward pass. See the [module above](super); sigmoids have [their own](super::sigmoid).

#![allow(unsafe_code)]

use feasible::{Batch, ViewShift};

use super::sigmoid::{self, Pass};
use super::table::{Table, factors_len, prepare, table_len};
use super::{Shallow, even_hot, even_row, is_even, row_of, weights_at};
use crate::activation::Activation;
use crate::kernel::activation::{RELU, SILU, TANH, finish};
use crate::simd::{Lanes, MAX_LANES, dispatch, sums};

/// Rows whose outputs are added up together: enough for whole vectors of outputs.
pub(super) const BLOCK: usize = 16;

dispatch!(forward => forward_lanes(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    memory: ShallowMemory<'_, f32>,
    a: &mut [f32],
    slope: &mut [f32],
    outputs: &mut [f32],
));

/// What a forward pass works in.
#[derive(Debug)]
pub struct ShallowMemory<'m, T> {
    /// [`table_len`] numbers, kept from call to call.
    pub table: &'m mut [T],
    /// What they are: of this θ and these inputs, or unknown.
    pub holds: &'m mut Table,
    /// [`scratch_len`] numbers.
    pub scratch: &'m mut [T],
}

#[inline(always)]
fn forward_lanes<L: Lanes>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    memory: ShallowMemory<'_, f32>,
    a: &mut [f32],
    slope: &mut [f32],
    outputs: &mut [f32],
) {
    let ShallowMemory { table, holds, scratch } = memory;
    let (d, h, k) = (batch.inputs.width(), net.bias.len(), net.head_bias.len());
    let all = batch.output_rows();
    assert!(is_even(batch) && net.first.len() == d * h && table.len() == table_len(d, h, k));
    assert!(a.len() == all * h || a.len() == kept_rows(batch, false) * h);
    assert!(outputs.len() == all * k && net.head.len() == k * h);
    assert!(net.activation != Activation::Silu || slope.len() == a.len());
    assert!(scratch.len() == scratch_len(batch, h, k));
    let (partial, factors) = scratch.split_at_mut(batch.views() * BLOCK * k * MAX_LANES);
    let way = prepare::<L>(batch, net, table, factors, holds);
    let factors = &factors[factors_len(batch, h)..];
    let table = &*table;
    if net.activation == Activation::Sigmoid {
        let keep = a.len() == all * h;
        let pass = Pass { batch, net, table, factors, way, keep };
        match k {
            1 => sigmoid::rows::<L, 1>(pass, a, outputs, partial),
            2 => sigmoid::rows::<L, 2>(pass, a, outputs, partial),
            _ => panic!("one or two outputs"),
        }
        return;
    }
    match k {
        1 => activations::<L, 1>(batch, net, table, a, slope, outputs, partial),
        2 => activations::<L, 2>(batch, net, table, a, slope, outputs, partial),
        _ => panic!("one or two outputs"),
    }
}

#[inline(always)]
fn activations<L: Lanes, const K: usize>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    table: &[f32],
    a: &mut [f32],
    slope: &mut [f32],
    outputs: &mut [f32],
    partial: &mut [f32],
) {
    match net.activation {
        Activation::Tanh => rows::<L, K, TANH>(batch, net, table, a, slope, outputs, partial),
        Activation::Relu => rows::<L, K, RELU>(batch, net, table, a, slope, outputs, partial),
        Activation::Silu => rows::<L, K, SILU>(batch, net, table, a, slope, outputs, partial),
        Activation::Sigmoid => unreachable!("sigmoids have rows of their own"),
    }
}

/// Rows of a that there is memory for: all, or if no backward pass follows those of one block, which
/// all blocks write over.
pub fn kept_rows(batch: &Batch<'_>, keep: bool) -> usize {
    batch.views() * if keep { batch.rows.len() } else { BLOCK.min(batch.rows.len()) }
}

/// Numbers the forward pass needs for sums that are not added up yet, and for the factors of moves.
pub fn scratch_len(batch: &Batch<'_>, h: usize, k: usize) -> usize {
    batch.views() * BLOCK * k * MAX_LANES + 2 * factors_len(batch, h)
}

/// What the steps of a block share: rows `start..end` of the batch, whose rows of `a` and of the
/// slopes are `kept` and, for view v, `v · kept_per_view` after.
struct Block<'b, 'a> {
    batch: &'b Batch<'a>,
    net: Shallow<'b, f32>,
    table: &'b [f32],
    start: usize,
    end: usize,
    kept: usize,
    kept_per_view: usize,
}

#[inline(always)]
fn rows<L: Lanes, const K: usize, const F: u8>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    table: &[f32],
    a: &mut [f32],
    slope: &mut [f32],
    outputs: &mut [f32],
    partial: &mut [f32],
) {
    let (h, rows) = (net.bias.len(), batch.rows.len());
    let keep = a.len() == batch.output_rows() * h;
    let mut start = 0;
    while start < rows {
        let end = (start + BLOCK).min(rows);
        let (kept, kept_per_view) = if keep { (start, rows) } else { (0, BLOCK.min(rows)) };
        let block = Block { batch, net, table, start, end, kept, kept_per_view };
        let mut j = 0;
        while j < h {
            let left = h - j;
            if left >= 4 * L::N {
                units::<L, K, F, 4, true>(&block, j, 0, a, slope, partial);
                j += 4 * L::N;
            } else if left >= L::N {
                units::<L, K, F, 1, true>(&block, j, 0, a, slope, partial);
                j += L::N;
            } else {
                units::<L, K, F, 1, false>(&block, j, left, a, slope, partial);
                j = h;
            }
        }
        for view in 0..batch.views() {
            let outputs = &mut outputs[(view * rows + start) * K..(view * rows + end) * K];
            add_up::<L>(&partial[view * BLOCK * K * L::N..], outputs);
        }
        start = end;
    }
}

/// Hidden units j.. of a block, all views: V vectors, or if not FULL the `n` that are left.
#[inline(always)]
fn units<L: Lanes, const K: usize, const F: u8, const V: usize, const FULL: bool>(
    block: &Block<'_, '_>,
    j: usize,
    n: usize,
    a: &mut [f32],
    slope: &mut [f32],
    partial: &mut [f32],
) {
    assert!(j + if FULL { V * L::N } else { n } <= block.net.bias.len());
    gather::<L, V, FULL>(block, j, n, a);
    activate::<L, F, V, FULL>(block, j, n, a, slope);
    head::<L, K, V, FULL>(block, j, n, a, partial);
}

/// z of every row and view into a.
#[inline(always)]
fn gather<L: Lanes, const V: usize, const FULL: bool>(
    block: &Block<'_, '_>,
    j: usize,
    n: usize,
    a: &mut [f32],
) {
    let Block { start, end, .. } = *block;
    let mut r = start;
    while r + 2 <= end {
        let sums = gather_rows::<L, V, FULL, 2>(block, r, j, n);
        for (i, sum) in sums.into_iter().enumerate() {
            views::<L, V, FULL>(block, r + i, j, n, sum, a);
        }
        r += 2;
    }
    if r < end {
        let [sum] = gather_rows::<L, V, FULL, 1>(block, r, j, n);
        views::<L, V, FULL>(block, r, j, n, sum, a);
    }
}

/// z of R rows from r on: two at a time keep the processor busy.
#[inline(always)]
fn gather_rows<L: Lanes, const V: usize, const FULL: bool, const R: usize>(
    block: &Block<'_, '_>,
    r: usize,
    j: usize,
    n: usize,
) -> [[L; V]; R] {
    let Block { batch, net, table, .. } = *block;
    let (h, d) = (net.bias.len(), batch.inputs.width());
    let dense = batch.inputs.dense_columns();
    let mut sums = [[L::splat(0.0); V]; R];
    let mut hot: [&[u32]; R] = [&[]; R];
    let mut row = [0; R];
    for i in 0..R {
        row[i] = batch.rows[r + i] as usize;
        hot[i] = even_hot(batch.inputs, row[i]);
    }
    // SAFETY: every row of the table has h entries (checked by `forward_lanes`), of
    // which j.. are V vectors, or n entries (checked by `units`); `weights_at` asks for a column
    // that it has. All lists of hot columns have the length of the first.
    unsafe {
        let bias = weights_at(table, d as u32 + 1, h).add(j);
        for v in 0..V {
            let bias = L::load_if::<FULL>(bias.add(v * L::N), n);
            for i in 0..R {
                sums[i][v] = bias;
            }
        }
        for at in 0..hot[0].len() {
            for i in 0..R {
                let w = weights_at(table, *hot[i].get_unchecked(at), h).add(j);
                for v in 0..V {
                    sums[i][v] = sums[i][v].add(L::load_if::<FULL>(w.add(v * L::N), n));
                }
            }
        }
        for i in 0..R {
            for (&c, &x) in dense.iter().zip(batch.inputs.dense_row(row[i])) {
                let w = weights_at(table, c, h).add(j);
                let x = L::splat(x);
                for v in 0..V {
                    sums[i][v] = x.fma(L::load_if::<FULL>(w.add(v * L::N), n), sums[i][v]);
                }
            }
        }
    }
    sums
}

/// Stores z of row r, and that of its views.
#[inline(always)]
fn views<L: Lanes, const V: usize, const FULL: bool>(
    block: &Block<'_, '_>,
    r: usize,
    j: usize,
    n: usize,
    sum: [L; V],
    a: &mut [f32],
) {
    let Block { batch, net, table, start, kept, kept_per_view, .. } = *block;
    let (h, row) = (net.bias.len(), batch.rows[r] as usize);
    // SAFETY: every row of the table and of a has h entries (checked by `forward_lanes`), of which
    // j.. are V vectors, or n entries (checked by `units`); `weights_at` asks for a row that
    // it has, `row_of` checks that the row of a exists.
    unsafe {
        let to = row_of(a, kept + r - start, h).add(j);
        for v in 0..V {
            sum[v].store_if::<FULL>(to.add(v * L::N), n);
        }
        for (view, shift) in batch.shifts.iter().enumerate() {
            let ViewShift::Sparse(sparse) = shift else { continue };
            let mut moved = sum;
            let (columns, deltas) = even_row(sparse, row);
            for (&c, &delta) in columns.iter().zip(deltas) {
                let w = weights_at(table, c, h).add(j);
                let delta = L::splat(delta);
                for v in 0..V {
                    moved[v] = delta.fma(L::load_if::<FULL>(w.add(v * L::N), n), moved[v]);
                }
            }
            let to = row_of(a, (view + 1) * kept_per_view + kept + r - start, h).add(j);
            for v in 0..V {
                moved[v].store_if::<FULL>(to.add(v * L::N), n);
            }
        }
    }
}

/// a = φ(z), in place.
#[inline(always)]
fn activate<L: Lanes, const F: u8, const V: usize, const FULL: bool>(
    block: &Block<'_, '_>,
    j: usize,
    n: usize,
    a: &mut [f32],
    slope: &mut [f32],
) {
    let Block { batch, net, start, end, kept, kept_per_view, .. } = *block;
    let h = net.bias.len();
    for view in 0..batch.views() {
        for place in 0..end - start {
            let row = view * kept_per_view + kept + place;
            // SAFETY: rows of a and for SiLU of the slopes have h entries (checked by `forward_lanes`),
            // of which j.. are V vectors, or n entries (checked by `units`); `row_of` checks that
            // the row of a exists.
            unsafe {
                let z = row_of(a, row, h).add(j);
                let mut of_row = [L::splat(0.0); V];
                for v in 0..V {
                    of_row[v] = L::load_if::<FULL>(z.add(v * L::N), n);
                }
                let slope = slope.as_mut_ptr().wrapping_add(row * h + j);
                finish::<L, F, V, FULL>(of_row, z, slope, n);
            }
        }
    }
}

/// Adds U_o a over the hidden units j.. to the vector of output o of every row; the first of them
/// starts it with u_o.
#[inline(always)]
fn head<L: Lanes, const K: usize, const V: usize, const FULL: bool>(
    block: &Block<'_, '_>,
    j: usize,
    n: usize,
    a: &mut [f32],
    partial: &mut [f32],
) {
    let Block { batch, net, start, end, kept, kept_per_view, .. } = *block;
    let h = net.bias.len();
    assert!(net.head_bias.len() == K && net.head.len() == K * h);
    // SAFETY: the K rows of U and the rows of a have h entries, of which j.. are V vectors, or n
    // entries (checked by `units`); `row_of` checks that the row of a exists, the slice that there are K vectors.
    unsafe {
        let mut u = [[L::splat(0.0); V]; K];
        let mut first = [L::splat(0.0); K];
        for o in 0..K {
            first[o] = L::load_part(&raw const net.head_bias[o], 1);
            for v in 0..V {
                u[o][v] = L::load_if::<FULL>(net.head.as_ptr().add(o * h + j + v * L::N), n);
            }
        }
        for view in 0..batch.views() {
            for place in 0..end - start {
                let from = row_of(a, view * kept_per_view + kept + place, h).add(j);
                let mut active = [L::splat(0.0); V];
                for v in 0..V {
                    active[v] = L::load_if::<FULL>(from.add(v * L::N), n);
                }
                let to = &mut partial[(view * BLOCK + place) * K * L::N..][..K * L::N];
                for o in 0..K {
                    let to = to.as_mut_ptr().add(o * L::N);
                    let mut sum = if j == 0 { first[o] } else { L::load(to) };
                    for v in 0..V {
                        sum = active[v].fma(u[o][v], sum);
                    }
                    sum.store(to);
                }
            }
        }
    }
}

/// outputs[i] = the sum of the lanes of vector i.
#[inline(always)]
pub(super) fn add_up<L: Lanes>(vectors: &[f32], outputs: &mut [f32]) {
    assert!(vectors.len() >= outputs.len() * L::N);
    let mut at = 0;
    while at < outputs.len() {
        let count = (outputs.len() - at).min(L::N);
        let mut sum = [L::splat(0.0); MAX_LANES];
        // SAFETY: there are `outputs.len()` vectors and as many outputs, of which `count` from `at`.
        unsafe {
            for i in 0..L::N {
                if i < count {
                    sum[i] = L::load(vectors.as_ptr().add((at + i) * L::N));
                }
            }
            sums(sum).store_part(outputs.as_mut_ptr().add(at), count);
        }
        at += count;
    }
}

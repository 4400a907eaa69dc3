//! The forward pass. See the [module above](super).

#![allow(unsafe_code)]

use feasible::{Batch, Moves, ViewShift};

use super::{Shallow, even_hot, even_row, is_even};
use crate::activation::Activation;
use crate::kernel::activation::{RELU, SIGMOID, SILU, TANH, finish};
use crate::simd::{Lanes, MAX_LANES, dispatch, exp_of_minus, sigmoid_of, sums};

/// Rows whose outputs are added up together: enough for whole vectors of outputs.
const BLOCK: usize = 16;

dispatch!(forward => forward_lanes(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    a: &mut [f32],
    slope: &mut [f32],
    outputs: &mut [f32],
    scratch: &mut [f32],
));

#[inline(always)]
fn forward_lanes<L: Lanes>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    a: &mut [f32],
    slope: &mut [f32],
    outputs: &mut [f32],
    scratch: &mut [f32],
) {
    let (h, k) = (net.bias.len(), net.head_bias.len());
    let all = batch.output_rows();
    assert!(is_even(batch) && net.first.len() == (batch.inputs.width() + 1) * h);
    assert!(a.len() == all * h || a.len() == kept_rows(batch, false) * h);
    assert!(outputs.len() == all * k && net.head.len() == k * h);
    assert!(net.activation != Activation::Silu || slope.len() == a.len());
    assert!(scratch.len() >= scratch_len(batch, h, k));
    let (partial, factors) = scratch.split_at_mut(batch.views() * BLOCK * k * MAX_LANES);
    if net.activation == Activation::Sigmoid {
        view_factors::<L>(batch, net, factors);
    }
    let factors = &*factors;
    match (k, net.activation) {
        (1, Activation::Sigmoid) => {
            rows::<L, 1, SIGMOID>(batch, net, a, slope, outputs, partial, factors)
        }
        (1, Activation::Tanh) => {
            rows::<L, 1, TANH>(batch, net, a, slope, outputs, partial, factors)
        }
        (1, Activation::Relu) => {
            rows::<L, 1, RELU>(batch, net, a, slope, outputs, partial, factors)
        }
        (1, Activation::Silu) => {
            rows::<L, 1, SILU>(batch, net, a, slope, outputs, partial, factors)
        }
        (2, Activation::Sigmoid) => {
            rows::<L, 2, SIGMOID>(batch, net, a, slope, outputs, partial, factors)
        }
        (2, Activation::Tanh) => {
            rows::<L, 2, TANH>(batch, net, a, slope, outputs, partial, factors)
        }
        (2, Activation::Relu) => {
            rows::<L, 2, RELU>(batch, net, a, slope, outputs, partial, factors)
        }
        (2, Activation::Silu) => {
            rows::<L, 2, SILU>(batch, net, a, slope, outputs, partial, factors)
        }
        _ => panic!("one or two outputs"),
    }
}

/// Rows of a that there is memory for: all, or if no backward pass follows those of one block, which
/// all blocks write over.
pub fn kept_rows(batch: &Batch<'_>, keep: bool) -> usize {
    batch.views() * if keep { batch.rows.len() } else { BLOCK.min(batch.rows.len()) }
}

/// Numbers the forward pass needs for sums that are not added up yet, and for the factors of moves.
pub fn scratch_len(batch: &Batch<'_>, h: usize, k: usize) -> usize {
    let moves: usize = batch.shifts.iter().map(moves).sum();
    batch.views() * BLOCK * k * MAX_LANES + moves * h
}

fn moves(shift: &ViewShift<'_>) -> usize {
    match shift {
        ViewShift::Sparse(shift) => shift.moves().map_or(0, Moves::count),
        ViewShift::Dense(_) => 0,
    }
}

/// g of the module doc, for the moves of every view: moves × h.
#[inline(always)]
fn view_factors<L: Lanes>(batch: &Batch<'_>, net: Shallow<'_, f32>, factors: &mut [f32]) {
    let h = net.bias.len();
    let mut at = 0;
    for shift in batch.shifts {
        let ViewShift::Sparse(shift) = shift else { continue };
        let Some(moves) = shift.moves() else { continue };
        for number in 0..moves.count() {
            let factor = &mut factors[at..at + h];
            at += h;
            let (columns, deltas) = even_row(shift, moves.example(number));
            let mut j = 0;
            while j < h {
                let n = (h - j).min(L::N);
                let mut z = L::splat(0.0);
                // SAFETY: rows of the weights and of the factors have h entries, of which j.. are at
                // least n.
                unsafe {
                    for (&c, &delta) in columns.iter().zip(deltas) {
                        let w = L::load_part(weights_at(net.first, c, h).add(j), n);
                        z = L::splat(delta).fma(w, z);
                    }
                    exp_of_minus(z).store_part(factor.as_mut_ptr().add(j), n);
                }
                j += n;
            }
        }
    }
}

/// What the steps of a block share: rows `start..end` of the batch, whose rows of `a` and of the
/// slopes are `kept` and, for view v, `v · kept_per_view` after.
struct Block<'b, 'a> {
    batch: &'b Batch<'a>,
    net: Shallow<'b, f32>,
    start: usize,
    end: usize,
    kept: usize,
    kept_per_view: usize,
}

#[inline(always)]
fn rows<L: Lanes, const K: usize, const F: u8>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    a: &mut [f32],
    slope: &mut [f32],
    outputs: &mut [f32],
    partial: &mut [f32],
    factors: &[f32],
) {
    let (h, rows) = (net.bias.len(), batch.rows.len());
    let keep = a.len() == batch.output_rows() * h;
    let mut start = 0;
    while start < rows {
        let end = (start + BLOCK).min(rows);
        let (kept, kept_per_view) = if keep { (start, rows) } else { (0, BLOCK.min(rows)) };
        let block = Block { batch, net, start, end, kept, kept_per_view };
        let mut j = 0;
        while j < h {
            let left = h - j;
            if left >= 4 * L::N {
                units::<L, K, F, 4, true>(&block, j, 0, a, slope, partial, factors);
                j += 4 * L::N;
            } else if left >= L::N {
                units::<L, K, F, 1, true>(&block, j, 0, a, slope, partial, factors);
                j += L::N;
            } else {
                units::<L, K, F, 1, false>(&block, j, left, a, slope, partial, factors);
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
    factors: &[f32],
) {
    assert!(j + if FULL { V * L::N } else { n } <= block.net.bias.len());
    gather::<L, F, V, FULL>(block, j, n, a);
    activate::<L, F, V, FULL>(block, j, n, a, slope, factors);
    head::<L, K, V, FULL>(block, j, n, a, partial);
}

/// Whether a view's activations come from those of x by the factors of its moves.
#[inline(always)]
fn by_factors<'s, const F: u8>(shift: &ViewShift<'s>) -> Option<&'s Moves> {
    match shift {
        ViewShift::Sparse(shift) if F == SIGMOID => shift.moves(),
        _ => None,
    }
}

/// z of every row and view into a, except of views that have factors.
#[inline(always)]
fn gather<L: Lanes, const F: u8, const V: usize, const FULL: bool>(
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
            views::<L, F, V, FULL>(block, r + i, j, n, sum, a);
        }
        r += 2;
    }
    if r < end {
        let [sum] = gather_rows::<L, V, FULL, 1>(block, r, j, n);
        views::<L, F, V, FULL>(block, r, j, n, sum, a);
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
    let Block { batch, net, .. } = *block;
    let h = net.bias.len();
    let dense = batch.inputs.dense_columns();
    let mut sums = [[L::splat(0.0); V]; R];
    let mut hot: [&[u32]; R] = [&[]; R];
    let mut row = [0; R];
    for i in 0..R {
        row[i] = batch.rows[r + i] as usize;
        hot[i] = even_hot(batch.inputs, row[i]);
    }
    // SAFETY: the bias and every row of the weights have h entries (checked by `forward_lanes`), of
    // which j.. are V vectors, or n entries (checked by `units`); `weights_at` asks for a column
    // that the inputs have. All lists of hot columns have the length of the first.
    unsafe {
        for v in 0..V {
            let bias = L::load_if::<FULL>(net.bias.as_ptr().add(j + v * L::N), n);
            for i in 0..R {
                sums[i][v] = bias;
            }
        }
        for at in 0..hot[0].len() {
            for i in 0..R {
                let w = weights_at(net.first, *hot[i].get_unchecked(at), h).add(j);
                for v in 0..V {
                    sums[i][v] = sums[i][v].add(L::load_if::<FULL>(w.add(v * L::N), n));
                }
            }
        }
        for i in 0..R {
            for (&c, &x) in dense.iter().zip(batch.inputs.dense_row(row[i])) {
                let w = weights_at(net.first, c, h).add(j);
                let x = L::splat(x);
                for v in 0..V {
                    sums[i][v] = x.fma(L::load_if::<FULL>(w.add(v * L::N), n), sums[i][v]);
                }
            }
        }
    }
    sums
}

/// Stores z of row r, and that of its views without factors.
#[inline(always)]
fn views<L: Lanes, const F: u8, const V: usize, const FULL: bool>(
    block: &Block<'_, '_>,
    r: usize,
    j: usize,
    n: usize,
    sum: [L; V],
    a: &mut [f32],
) {
    let Block { batch, net, start, kept, kept_per_view, .. } = *block;
    let (h, row) = (net.bias.len(), batch.rows[r] as usize);
    // SAFETY: every row of the weights and of a has h entries (checked by `forward_lanes`), of which
    // j.. are V vectors, or n entries (checked by `units`); `weights_at` asks for a column that the
    // inputs have, `row_of` checks that the row of a exists.
    unsafe {
        let to = row_of(a, kept + r - start, h).add(j);
        for v in 0..V {
            sum[v].store_if::<FULL>(to.add(v * L::N), n);
        }
        for (view, shift) in batch.shifts.iter().enumerate() {
            let ViewShift::Sparse(sparse) = shift else { continue };
            if by_factors::<F>(shift).is_some() {
                continue;
            }
            let mut moved = sum;
            let (columns, deltas) = even_row(sparse, row);
            for (&c, &delta) in columns.iter().zip(deltas) {
                let w = weights_at(net.first, c, h).add(j);
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
    factors: &[f32],
) {
    let Block { batch, net, start, end, kept, kept_per_view } = *block;
    let h = net.bias.len();
    for r in start..end {
        let row = batch.rows[r] as usize;
        let mut first_factor = 0;
        let at = (kept + r - start) * h + j;
        // SAFETY: rows of a, of the factors and for SiLU of the slopes have h entries (checked by
        // `forward_lanes`), of which j.. are V vectors, or n entries (checked by `units`); `row_of`
        // checks that the row of a exists.
        unsafe {
            let z = row_of(a, kept + r - start, h).add(j);
            let mut e = [L::splat(0.0); V];
            for v in 0..V {
                e[v] = L::load_if::<FULL>(z.add(v * L::N), n);
            }
            if F == SIGMOID {
                for v in 0..V {
                    e[v] = exp_of_minus(e[v]);
                    sigmoid_of(e[v]).store_if::<FULL>(z.add(v * L::N), n);
                }
            } else {
                finish::<L, F, V, FULL>(e, z, slope.as_mut_ptr().wrapping_add(at), n);
            }
            for (view, shift) in batch.shifts.iter().enumerate() {
                let at = (view + 1) * kept_per_view * h + at;
                let z = row_of(a, (view + 1) * kept_per_view + kept + r - start, h).add(j);
                if let Some(moves) = by_factors::<F>(shift) {
                    let factor = (first_factor + moves.of_row(row)) * h;
                    first_factor += moves.count();
                    let g = factors[factor..][..h].as_ptr().add(j);
                    for v in 0..V {
                        let g = L::load_if::<FULL>(g.add(v * L::N), n);
                        sigmoid_of(e[v].mul(g)).store_if::<FULL>(z.add(v * L::N), n);
                    }
                } else {
                    let mut moved = [L::splat(0.0); V];
                    for v in 0..V {
                        moved[v] = L::load_if::<FULL>(z.add(v * L::N), n);
                    }
                    finish::<L, F, V, FULL>(moved, z, slope.as_mut_ptr().wrapping_add(at), n);
                }
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
    let Block { batch, net, start, end, kept, kept_per_view } = *block;
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

/// Row `r` of rows of h entries.
#[inline(always)]
fn row_of(rows: &mut [f32], r: usize, h: usize) -> *mut f32 {
    rows[r * h..][..h].as_mut_ptr()
}

/// outputs[i] = the sum of the lanes of vector i.
#[inline(always)]
fn add_up<L: Lanes>(vectors: &[f32], outputs: &mut [f32]) {
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

/// Row c of the weights.
///
/// # Safety
/// The weights have a row c of h entries. They have one for every column of the inputs and one more
/// (checked by `forward_lanes`), which are all that the lists of the inputs name, checked when they were
/// built, and those of the shifts, checked by [`is_even`].
#[inline(always)]
unsafe fn weights_at(weights: &[f32], c: u32, h: usize) -> *const f32 {
    debug_assert!((c as usize + 1) * h <= weights.len());
    // SAFETY: the caller's promise.
    unsafe { weights.as_ptr().add(c as usize * h) }
}

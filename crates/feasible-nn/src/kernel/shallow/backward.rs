//! The backward pass. See the [module above](super).

#![allow(unsafe_code)]

use feasible::{Batch, ViewShift};

use super::{Hidden, Shallow, ShallowGradient, even_hot, even_row, is_even};
use crate::activation::Activation;
use crate::kernel::activation::{RELU, SIGMOID, SILU, TANH, slope_of};
use crate::kernel::product::Left;
use crate::kernel::scatter::add;
use crate::simd::{Lanes, dispatch, put_vectors, vectors};

dispatch!(backward => backward_lanes(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    hidden: Hidden<'_, f32>,
    seeds: &[f32],
    gradient: ShallowGradient<'_, f32>,
));

#[inline(always)]
fn backward_lanes<L: Lanes>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    hidden: Hidden<'_, f32>,
    seeds: &[f32],
    gradient: ShallowGradient<'_, f32>,
) {
    let (h, k, all) = (net.bias.len(), net.head_bias.len(), batch.output_rows());
    assert!(is_even(batch) && gradient.first.len() == (batch.inputs.width() + 1) * h);
    assert!(hidden.a.len() == all * h && seeds.len() == all * k);
    assert!(net.head.len() == k * h && gradient.head.len() == k * h);
    assert!(net.activation != Activation::Silu || hidden.slope.len() == all * h);
    match k {
        1 => activations::<L, 1>(batch, net, hidden, seeds, gradient),
        2 => activations::<L, 2>(batch, net, hidden, seeds, gradient),
        _ => panic!("one or two outputs"),
    }
}

#[inline(always)]
fn activations<L: Lanes, const K: usize>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    hidden: Hidden<'_, f32>,
    seeds: &[f32],
    gradient: ShallowGradient<'_, f32>,
) {
    match net.activation {
        Activation::Sigmoid => {
            blocks::<L, K, SIGMOID>(batch, net, hidden, seeds, gradient);
        }
        Activation::Tanh => blocks::<L, K, TANH>(batch, net, hidden, seeds, gradient),
        Activation::Relu => blocks::<L, K, RELU>(batch, net, hidden, seeds, gradient),
        Activation::Silu => blocks::<L, K, SILU>(batch, net, hidden, seeds, gradient),
    }
}

#[inline(always)]
fn blocks<L: Lanes, const K: usize, const F: u8>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    hidden: Hidden<'_, f32>,
    seeds: &[f32],
    mut gradient: ShallowGradient<'_, f32>,
) {
    let h = net.bias.len();
    let mut j = 0;
    while j + 4 * L::N <= h {
        block::<L, K, F, 4, true>(batch, net, hidden, seeds, &mut gradient, j, 4 * L::N);
        j += 4 * L::N;
    }
    while j + L::N <= h {
        block::<L, K, F, 1, true>(batch, net, hidden, seeds, &mut gradient, j, L::N);
        j += L::N;
    }
    if j < h {
        block::<L, K, F, 1, false>(batch, net, hidden, seeds, &mut gradient, j, h - j);
    }
}

/// `len` hidden units from j on: V vectors, or less than one if not FULL.
///
/// Of a row's views only `d`, `sum` and the totals are kept, all in registers; what goes to memory is the gradient's
/// rows of columns that are hot, or that a view changes.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn block<L: Lanes, const K: usize, const F: u8, const V: usize, const FULL: bool>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    hidden: Hidden<'_, f32>,
    seeds: &[f32],
    gradient: &mut ShallowGradient<'_, f32>,
    j: usize,
    len: usize,
) {
    let (h, rows, all) = (net.bias.len(), batch.rows.len(), batch.output_rows());
    // Once, so that in the loops only rows are checked.
    assert!(j <= h && len <= h - j);
    let (seeds, active) = (Left::new(seeds, all, K), Left::new(hidden.a, all, h));
    let slopes = if F == SILU { Left::new(hidden.slope, all, h) } else { active };
    let mut outer = [[L::splat(0.0); V]; K];
    let mut head = [[L::splat(0.0); V]; K];
    for o in 0..K {
        head[o] = vectors::<L, V, FULL>(&net.head[o * h..][..h][j..][..len]);
    }
    // Lists are filled up with column d, where b's gradient is: it is put aside meanwhile.
    let bias = batch.inputs.width() * h;
    let mut total = vectors::<L, V, FULL>(&gradient.first[bias..][..h][j..][..len]);
    for (r, &row) in batch.rows.iter().enumerate() {
        let row = row as usize;
        let mut sum = [L::splat(0.0); V];
        for view in 0..batch.views() {
            let at = view * rows + r;
            let (active, slopes) = (active.along(at, j, len), slopes.along(at, j, len));
            let seeds = seeds.along(at, 0, K);
            let mut s = [L::splat(0.0); K];
            for o in 0..K {
                s[o] = L::splat(seeds[o]);
            }
            let mut d = [L::splat(0.0); V];
            for v in 0..V {
                let a = L::of_if::<FULL>(&active[v * L::N..]);
                for o in 0..K {
                    d[v] = if o == 0 { s[o].mul(head[o][v]) } else { s[o].fma(head[o][v], d[v]) };
                    outer[o][v] = s[o].fma(a, outer[o][v]);
                }
                let known = if F == SILU { L::of_if::<FULL>(&slopes[v * L::N..]) } else { a };
                d[v] = slope_of::<L, F>(known, d[v]);
            }
            let Some(shift) = view.checked_sub(1) else {
                sum = d;
                continue;
            };
            for v in 0..V {
                sum[v] = sum[v].add(d[v]);
            }
            if let ViewShift::Sparse(shift) = batch.shifts[shift] {
                let (columns, deltas) = even_row(shift, row);
                for (&c, &delta) in columns.iter().zip(deltas) {
                    add::<L, V, FULL>(L::splat(delta), d, gradient.first, h, c, j, len);
                }
            }
        }
        for v in 0..V {
            total[v] = total[v].add(sum[v]);
        }
        for &c in even_hot(batch.inputs, row) {
            debug_assert!((c as usize + 1) * h <= gradient.first.len());
            // SAFETY: the first gradient has d + 1 rows of h entries (checked by `backward_lanes`), lists of hot columns
            // name no others (checked when the inputs were built), and j.. are `len` entries of a row, as asserted
            // above. A check would add two instructions to the dozen that a column takes.
            let to = unsafe {
                gradient.first.get_unchecked_mut(c as usize * h + j..c as usize * h + j + len)
            };
            for v in 0..V {
                let to = &mut to[v * L::N..];
                L::of_if::<FULL>(to).add(sum[v]).put_if::<FULL>(to);
            }
        }
        let columns = batch.inputs.dense_columns();
        for (&c, &x) in columns.iter().zip(batch.inputs.dense_row(row)) {
            add::<L, V, FULL>(L::splat(x), sum, gradient.first, h, c, j, len);
        }
    }
    put_vectors::<L, V, FULL>(total, &mut gradient.first[bias..][..h][j..][..len]);
    for o in 0..K {
        add::<L, V, FULL>(L::splat(1.0), outer[o], gradient.head, h, o as u32, j, len);
    }
}

//! The backward pass. See the [module above](super).

#![allow(unsafe_code)]

use feasible::{Batch, ViewShift};

use super::{Hidden, Shallow, ShallowGradient, even_hot, even_row, is_even};
use crate::activation::Activation;
use crate::kernel::activation::{RELU, SIGMOID, SILU, TANH, slope_of};
use crate::kernel::scatter::add;
use crate::simd::{Lanes, dispatch};

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
        block::<L, K, F, 4, true>(batch, net, hidden, seeds, &mut gradient, j, 0);
        j += 4 * L::N;
    }
    while j + L::N <= h {
        block::<L, K, F, 1, true>(batch, net, hidden, seeds, &mut gradient, j, 0);
        j += L::N;
    }
    if j < h {
        block::<L, K, F, 1, false>(batch, net, hidden, seeds, &mut gradient, j, h - j);
    }
}

/// Hidden units j..: V vectors, or if not FULL the `n` that are left.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn block<L: Lanes, const K: usize, const F: u8, const V: usize, const FULL: bool>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    hidden: Hidden<'_, f32>,
    seeds: &[f32],
    gradient: &mut ShallowGradient<'_, f32>,
    j: usize,
    n: usize,
) {
    let (h, rows) = (net.bias.len(), batch.rows.len());
    let len = if FULL { V * L::N } else { n };
    assert!(j <= h && len <= h - j);
    let mut total = [L::splat(0.0); V];
    let mut outer = [[L::splat(0.0); V]; K];
    // SAFETY: the K rows of U and its gradient, the d + 1 rows of the first gradient, which are all that lists
    // of hot columns name (checked when the inputs were built), and the views × rows rows of a (and for SiLU of the slopes) have h entries, and the seeds K a row (checked by
    // `backward_lanes`); j.. are V vectors of them, or n entries, as asserted above.
    unsafe {
        let mut head = [[L::splat(0.0); V]; K];
        for o in 0..K {
            for v in 0..V {
                head[o][v] = L::load_if::<FULL>(net.head.as_ptr().add(o * h + j + v * L::N), n);
            }
        }
        // Lists are filled up with column d, where b's gradient is: it is put aside meanwhile.
        let first = gradient.first.as_mut_ptr();
        let bias = first.add(batch.inputs.width() * h + j);
        for v in 0..V {
            total[v] = L::load_if::<FULL>(bias.add(v * L::N), n);
        }
        for (r, &row) in batch.rows.iter().enumerate() {
            let row = row as usize;
            let mut sum = [L::splat(0.0); V];
            for view in 0..batch.views() {
                let at = view * rows + r;
                let mut s = [L::splat(0.0); K];
                for o in 0..K {
                    s[o] = L::splat(*seeds.get_unchecked(at * K + o));
                }
                let mut d = [L::splat(0.0); V];
                for v in 0..V {
                    let unit = at * h + j + v * L::N;
                    let a = L::load_if::<FULL>(hidden.a.as_ptr().add(unit), n);
                    for o in 0..K {
                        d[v] =
                            if o == 0 { s[o].mul(head[o][v]) } else { s[o].fma(head[o][v], d[v]) };
                        outer[o][v] = s[o].fma(a, outer[o][v]);
                    }
                    let known = if F == SILU {
                        L::load_if::<FULL>(hidden.slope.as_ptr().add(unit), n)
                    } else {
                        a
                    };
                    d[v] = slope_of::<L, F>(known, d[v]);
                    sum[v] = if view == 0 { d[v] } else { sum[v].add(d[v]) };
                }
                if view > 0
                    && let ViewShift::Sparse(shift) = batch.shifts[view - 1]
                {
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
                let to = first.add(c as usize * h + j);
                for v in 0..V {
                    let to = to.add(v * L::N);
                    L::load_if::<FULL>(to, n).add(sum[v]).store_if::<FULL>(to, n);
                }
            }
            let columns = batch.inputs.dense_columns();
            for (&c, &x) in columns.iter().zip(batch.inputs.dense_row(row)) {
                add::<L, V, FULL>(L::splat(x), sum, gradient.first, h, c, j, len);
            }
        }
        for v in 0..V {
            let unit = j + v * L::N;
            total[v].store_if::<FULL>(bias.add(v * L::N), n);
            for o in 0..K {
                let to = gradient.head.as_mut_ptr().add(o * h + unit);
                L::load_if::<FULL>(to, n).add(outer[o][v]).store_if::<FULL>(to, n);
            }
        }
    }
}

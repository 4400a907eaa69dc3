//! What a forward pass derives from θ before it looks at a row, and which way the rows go.
//!
//! For the sigmoid of inputs that are indicators only, $e^{-z}$ is a product:
//! with $E_c = e^{-W_c / s}$ for every column, $p = E_b \prod_{c\ \mathrm{hot}} E_c$ and
//! $e^{-z} = p^s$, s = 2ᵏ. Exponentials are then taken of the d rows of W and not of every row of the
//! batch. k is the least number of halvings for which no product can leave the range of `f32`:
//! $|b| + \sum_g \max_{c \in g} |W_c| + |\Delta| \le 80\, s$ in every hidden unit, over the
//! [exclusive groups](feasible::Inputs::exclusive) g of columns and the views' moves Δ.
//!
//! With n indicators the relative error of $e^{-z}$ is that of some 2n + 3 roundings times s: about 10⁻⁶ for nine and
//! s = 1. There is an s > 1 only where weights are so large that the sum z would lose as much.
//!
//! Else p = $e^{-z/s}$ of the sum z, where views need a p at all: a view that makes few different
//! [moves](feasible::Moves) Δ has $p\,g$ with $g = e^{-\Delta/s}$, computed once for each. For |Δ| ≤ 43 s a z that
//! had to be cut off at 86 s is one where σ(z) and σ(z + Δ) are both 0 or 1.

use feasible::{Batch, Moves, ViewShift};

use super::{Shallow, even_row};
use crate::activation::Activation;
use crate::kernel::product::Left;
use crate::simd::{Lanes, MAX_LANES, exp_of_minus_halved, whole};

/// The most halvings; beyond, rows go by sums.
const MOST_HALVINGS: u32 = 5;
/// The largest |z| / s of a product, and of a move.
const RANGE: f32 = 80.0;
const RANGE_OF_MOVES: f32 = 43.0;

/// What the table holds, from one forward pass to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Table {
    /// Nothing that could be used again.
    #[default]
    Unknown,
    /// W, a row of zeros, b and U.
    Weights,
    /// E, a row of ones, E_b, U, and what they were bounded by.
    Exponentials {
        /// k.
        halvings: u32,
    },
}

/// Numbers in the table: (d + 2) rows for the hidden units, k for the outputs, and one more.
pub fn table_len(d: usize, h: usize, k: usize) -> usize {
    (d + 2 + k) * h + 1
}

/// The way the rows of a batch go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) products: bool,
    /// k of the module doc.
    pub(super) halvings: u32,
    /// Whether views with moves have factors.
    pub(super) factors: bool,
}

/// The moves of a view, if it has any.
#[inline(always)]
pub(super) fn moves_of<'s>(shift: &ViewShift<'s>) -> Option<&'s Moves> {
    match shift {
        ViewShift::Sparse(shift) => shift.moves(),
        ViewShift::Dense(_) => None,
    }
}

/// Chooses the way, and fills the table, unless it is right `already`, and the second half of the factors.
#[inline(always)]
pub(super) fn prepare<L: Lanes>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    table: &mut [f32],
    factors: &mut [f32],
    already: &mut Table,
) -> Way {
    let (moved, factors) = factors.split_at_mut(factors_len(batch, net.bias.len()));
    let known = matches!(already, Table::Exponentials { .. }).then(|| table[table.len() - 1]);
    let (way, bound) = choose::<L>(batch, net, moved, *already, known);
    let wanted = match way.products {
        true => Table::Exponentials { halvings: way.halvings },
        false => Table::Weights,
    };
    if wanted != *already {
        fill::<L>(net, wanted, table);
        table[table.len() - 1] = bound;
        *already = wanted;
    }
    if way.factors {
        exponentials::<L>(moved, way.halvings, factors);
    }
    way
}

/// Numbers in the factors, and in what they are made of.
pub(super) fn factors_len(batch: &Batch<'_>, h: usize) -> usize {
    batch.shifts.iter().filter_map(moves_of).map(Moves::count).sum::<usize>() * h
}

/// Chooses the way, and leaves Δ of every move in `moved`. The bound without views may be known.
#[inline(always)]
fn choose<L: Lanes>(
    batch: &Batch<'_>,
    net: Shallow<'_, f32>,
    moved: &mut [f32],
    already: Table,
    known: Option<f32>,
) -> (Way, f32) {
    let sums = Way { products: false, halvings: 0, factors: false };
    if net.activation != Activation::Sigmoid {
        return (sums, 0.0);
    }
    let moved = moves::<L>(batch, net, moved);
    let all_move = batch.shifts.iter().all(|shift| moves_of(shift).is_some());
    if batch.inputs.dense_columns().is_empty() && all_move {
        let bound = match known {
            Some(bound) => bound,
            None => bound::<L>(batch.inputs.exclusive(), net),
        };
        if let Some(least) = halvings(bound + moved, RANGE) {
            // A table with more of them will do.
            let halvings = match already {
                Table::Exponentials { halvings } => halvings.max(least),
                _ => least,
            };
            return (Way { products: true, halvings, factors: true }, bound);
        }
    }
    match halvings(moved, RANGE_OF_MOVES) {
        Some(halvings) => (Way { halvings, factors: true, ..sums }, 0.0),
        None => (sums, 0.0),
    }
}

/// The least k for which `bound` ≤ `range` 2ᵏ.
fn halvings(bound: f32, range: f32) -> Option<u32> {
    (0..=MOST_HALVINGS).find(|&k| bound <= range * (1u32 << k) as f32)
}

/// The largest |b| + Σ max |W_c| of a hidden unit; the groups of columns are given by their starts.
#[inline(always)]
fn bound<L: Lanes>(groups: &[u32], net: Shallow<'_, f32>) -> f32 {
    let h = net.bias.len();
    let d = net.first.len() / h;
    let weights = Left::new(net.first, d, h);
    let mut largest = 0.0f32;
    let mut j = 0;
    while j < h {
        let n = (h - j).min(L::N);
        let mut total = size_of(L::of_part(&net.bias[j..][..n]));
        for (g, &start) in groups.iter().enumerate() {
            let end = groups.get(g + 1).map_or(d, |&end| (end as usize).min(d));
            let mut most = L::splat(0.0);
            for c in start as usize..end {
                let w = weights.along(c, j, n);
                let w = if n == L::N { L::of(w) } else { L::of_part(w) };
                most = most.max(size_of(w));
            }
            total = total.add(most);
        }
        largest = largest.max(largest_of(total));
        j += n;
    }
    largest
}

#[inline(always)]
fn size_of<L: Lanes>(x: L) -> L {
    x.max(L::splat(0.0).sub(x))
}

#[inline(always)]
fn largest_of<L: Lanes>(x: L) -> f32 {
    let mut lanes = [0.0; MAX_LANES];
    x.put(&mut lanes);
    lanes.into_iter().fold(0.0, |most, x| if x > most { x } else { most })
}

/// Δ = Σ Δ_c W_c of every move of every view into `moved`; returns the largest size.
#[inline(always)]
fn moves<L: Lanes>(batch: &Batch<'_>, net: Shallow<'_, f32>, moved: &mut [f32]) -> f32 {
    let h = net.bias.len();
    let (mut at, mut largest) = (0, 0.0f32);
    for shift in batch.shifts {
        let ViewShift::Sparse(shift) = shift else { continue };
        let Some(moves) = shift.moves() else { continue };
        for number in 0..moves.count() {
            let to = &mut moved[at..at + h];
            at += h;
            let (columns, deltas) = even_row(shift, moves.example(number));
            let mut most = L::splat(0.0);
            let mut j = 0;
            while j < h {
                let n = (h - j).min(L::N);
                let mut z = L::splat(0.0);
                for (&c, &delta) in columns.iter().zip(deltas) {
                    let w = L::of_part(&net.first[c as usize * h + j..][..n]);
                    z = L::splat(delta).fma(w, z);
                }
                z.put_part(&mut to[j..][..n]);
                most = most.max(size_of(z));
                j += n;
            }
            largest = largest.max(largest_of(most));
        }
    }
    largest
}

#[inline(always)]
fn fill<L: Lanes>(net: Shallow<'_, f32>, wanted: Table, table: &mut [f32]) {
    let (h, weights) = (net.bias.len(), net.first.len());
    let (first, rest) = table.split_at_mut(weights);
    let (nothing, rest) = rest.split_at_mut(h);
    let (bias, head) = rest.split_at_mut(h);
    head[..net.head.len()].copy_from_slice(net.head);
    match wanted {
        Table::Exponentials { halvings } => {
            exponentials::<L>(net.first, halvings, first);
            nothing.fill(1.0);
            exponentials::<L>(net.bias, halvings, bias);
        }
        _ => {
            first.copy_from_slice(net.first);
            nothing.fill(0.0);
            bias.copy_from_slice(net.bias);
        }
    }
}

/// to = e^{−from / 2ᵏ}, for what the range of products allows.
#[inline(always)]
fn exponentials<L: Lanes>(from: &[f32], halvings: u32, to: &mut [f32]) {
    assert_eq!(from.len(), to.len());
    // Four vectors at a time, whose long chains of operations overlap.
    let fours = whole(from.len(), 4 * L::N);
    let ((from, from_rest), (to, to_rest)) = (from.split_at(fours), to.split_at_mut(fours));
    for (from, to) in from.chunks_exact(4 * L::N).zip(to.chunks_exact_mut(4 * L::N)) {
        for v in 0..4 {
            let x = L::of(&from[v * L::N..]);
            exp_of_minus_halved(x, halvings).put(&mut to[v * L::N..]);
        }
    }
    for (from, to) in from_rest.chunks(L::N).zip(to_rest.chunks_mut(L::N)) {
        exp_of_minus_halved(L::of_part(from), halvings).put_part(to);
    }
}

//! The forward pass: checks, the table, and which [rows](super::rows) to run.

use feasible::Batch;

use super::rows::{PRODUCTS, Pass, rows};
use super::table::{Table, factors_len, prepare, table_len};
use super::{Shallow, even_hot, is_even};
use crate::activation::Activation;
use crate::kernel::activation::{RELU, SIGMOID, SILU, TANH};
use crate::simd::{Lanes, MAX_LANES, dispatch};

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

/// Numbers the forward pass needs for sums that are not added up yet, and for the factors of moves.
pub fn scratch_len(batch: &Batch<'_>, h: usize, k: usize) -> usize {
    batch.views() * BLOCK * k * MAX_LANES + 2 * factors_len(batch, h)
}

/// Bytes of inputs that caches are taken to hold.
const CACHED: usize = 2 << 20;

/// See [`Pass::far`].
fn is_far(batch: &Batch<'_>) -> bool {
    let Some(&first) = batch.rows.first() else { return false };
    let row = even_hot(batch.inputs, first as usize).len() + batch.inputs.dense_columns().len();
    batch.inputs.rows() * row * size_of::<f32>() > CACHED
        && !batch.rows.windows(2).all(|pair| pair[0] < pair[1])
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
    assert!(a.is_empty() || a.len() == all * h);
    assert!(outputs.len() == all * k && net.head.len() == k * h);
    assert!(net.activation != Activation::Silu || slope.len() == a.len());
    assert!(scratch.len() == scratch_len(batch, h, k));
    let (partial, factors) = scratch.split_at_mut(batch.views() * BLOCK * k * MAX_LANES);
    let way = prepare::<L>(batch, net, table, factors, holds);
    let factors = &factors[factors_len(batch, h)..];
    let (keep, far) = (!a.is_empty(), is_far(batch));
    let pass = Pass { batch, net, table, factors, way, keep, far };
    match net.activation {
        Activation::Sigmoid if way.products => {
            rows::<L, PRODUCTS>(pass, a, slope, outputs, partial);
        }
        Activation::Sigmoid => rows::<L, SIGMOID>(pass, a, slope, outputs, partial),
        Activation::Tanh => rows::<L, TANH>(pass, a, slope, outputs, partial),
        Activation::Relu => rows::<L, RELU>(pass, a, slope, outputs, partial),
        Activation::Silu => rows::<L, SILU>(pass, a, slope, outputs, partial),
    }
}

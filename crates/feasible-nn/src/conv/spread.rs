//! Work on images spread over the threads of the pool it runs in.
//!
//! The work comes in units (a few images each) whose results do not depend on each other. On a
//! thread of a pool the units are dealt out, each thread a stretch of them with scratch memory of
//! its own; elsewhere they are done one after the other. No result knows of the threads.

use std::ops::Range;

/// A slice that is cut between units.
pub(crate) struct Cut<'a, T> {
    pub(crate) data: &'a mut [T],
    pub(crate) unit: usize,
}

/// How many threads will share the work.
pub(crate) fn strands() -> usize {
    if rayon::current_thread_index().is_some() { rayon::current_num_threads() } else { 1 }
}

/// Calls `work` for stretches of `units`, with their parts of `cuts` and scratch memory:
/// `scratch.len() / strands` numbers for each of them.
pub(crate) fn spread<T: Send, const K: usize>(
    units: Range<usize>,
    mut cuts: [Cut<'_, T>; K],
    strands: usize,
    scratch: &mut [T],
    work: &(impl Fn(Range<usize>, [&mut [T]; K], &mut [T]) + Sync),
) {
    if strands <= 1 || units.len() <= 1 {
        if !units.is_empty() {
            work(units, cuts.map(|cut| cut.data), scratch);
        }
        return;
    }
    let few = strands / 2;
    let here = units.len() * few / strands;
    let middle = units.start + here;
    let others = cuts.each_mut().map(|cut| {
        let data = std::mem::take(&mut cut.data);
        let (own, rest) = data.split_at_mut((here * cut.unit).min(data.len()));
        cut.data = own;
        Cut { data: rest, unit: cut.unit }
    });
    let (own, rest) = scratch.split_at_mut(scratch.len() * few / strands);
    rayon::join(
        || spread(units.start..middle, cuts, few, own, work),
        || spread(middle..units.end, others, strands - few, rest, work),
    );
}

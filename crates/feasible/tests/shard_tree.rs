//! The tree along which the sums of shards are added up.

use std::ops::Range;
use std::sync::Arc;

use feasible::Reduce;
use feasible::aligned::AlignedVec;
use feasible::internals::{GROUP, Shards, shard_of};
use feasible::reduce::{Alone, SHARDS};

#[derive(Debug)]
struct Of(usize, usize);

impl Reduce for Of {
    fn workers(&self) -> usize {
        self.1
    }
    fn worker(&self) -> usize {
        self.0
    }
    fn send(&self, _: usize, _: &[u8]) {}
    fn receive(&self, _: usize) -> Vec<u8> {
        Vec::new()
    }
}

#[test]
fn every_shard_has_one_worker_and_is_in_one_node_of_the_tree() {
    let of_shards = (1..=SHARDS).map(|workers| (workers, 1));
    for (workers, together) in of_shards.chain((1..=8).map(|workers| (workers, GROUP))) {
        let mut next = 0;
        for worker in 0..workers {
            let shards = Shards::of_shares(Arc::new(Of(worker, workers)), together, vec![]);
            let nodes = if together == 1 { 16 } else { shards.own().len() / GROUP };
            for node in shards.own_nodes(nodes) {
                assert!(node.len() >= together, "{node:?} of {workers}");
                assert_eq!(node.start, next);
                assert!(node.len().is_power_of_two() && node.start.is_multiple_of(node.len()));
                assert!(node.clone().all(|shard| shards.owner(shard) == worker));
                next = node.end;
            }
        }
        assert_eq!(next, SHARDS);
    }
}

#[test]
fn ids_in_a_row_are_spread_evenly() {
    let mut rows = [0; SHARDS];
    (0..64_000).for_each(|id| rows[shard_of(id) as usize] += 1);
    // 1000 of each, ± 5 standard deviations.
    assert!(rows.iter().all(|n| (842..1158).contains(n)), "{rows:?}");
}

#[test]
fn shards_without_rows_leave_the_sum_as_it_is() {
    let shards = Shards::of_shares(Arc::new(Alone), 1, vec![]);
    let mut nodes: Vec<(Range<usize>, Option<AlignedVec<f64>>)> =
        shards.own_nodes(16).into_iter().map(|node| (node, None)).collect();
    let mut total = [1.0];
    shards.add_up(0, &mut nodes, &mut total);
    assert_eq!(total, [0.0]);
    let mut sum = AlignedVec::new();
    sum.place(1)[0] = -0.0;
    nodes[3].1 = Some(sum);
    shards.add_up(1 << 13, &mut nodes, &mut total);
    assert_eq!(total[0].to_bits(), (-0.0_f64).to_bits());
}

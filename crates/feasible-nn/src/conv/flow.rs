//! Where gradients are kept on the way back, and who completes them.
//!
//! Nodes are visited last to first. A node's gradient is complete when the first of its readers (the
//! last one visited) has added its part. A node with a shortcut passes its own gradient on to the
//! shortcut's source unchanged: the two share one buffer where the source does not change it before
//! the node is done with it. Buffers are taken up again once their node has been visited.
//!
//! Where images are taken a few at a time through the front nodes (see [`front`]), the gradient of the
//! last of these is there for all images before the first few are taken: its buffer is not taken up again.

use crate::conv::graph::Node;

/// The part a node's visit plays for one of the values it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VisitRole {
    /// Nothing is there yet: write instead of adding.
    pub(crate) first: bool,
    /// Nothing will be added after: the gradient is complete.
    pub(crate) last: bool,
    /// (Of shortcuts.) The buffer is shared: nothing is to be written.
    pub(crate) shared: bool,
}

/// The parts of a node's visit: for the value it reads, and for its shortcut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    pub(crate) from: Option<VisitRole>,
    pub(crate) shortcut: Option<VisitRole>,
}

/// Numbers an image of a node must have for going a few images at a time to pay.
const LARGE: usize = 4096;

/// How many nodes are the front: the first ones, up to the last with large images that is the only one of
/// them read by the others. As many images as fit into the second-level cache are taken through
/// all of them before the next, where images do not depend on each other.
pub(crate) fn front(nodes: &[Node]) -> usize {
    let reads = |m: usize, n: usize| nodes[m].from == Some(n) || nodes[m].shortcut() == Some(n);
    let alone = |p: usize| (0..p - 1).all(|n| (p..nodes.len()).all(|m| !reads(m, n)));
    let large = |p: usize| nodes[p - 1].shape.blocked() >= LARGE;
    (1..nodes.len()).rev().find(|&p| large(p) && alone(p)).unwrap_or(0)
}

/// Assigns the buffers, and says how many there are.
pub(crate) fn plan(nodes: &mut [Node], front: usize) -> (Vec<Parts>, usize) {
    let readers = |n: usize, nodes: &[Node]| {
        nodes
            .iter()
            .map(|m| usize::from(m.from == Some(n)) + usize::from(m.shortcut() == Some(n)))
            .sum::<usize>()
    };
    let mut left: Vec<usize> = (0..nodes.len()).map(|n| readers(n, nodes)).collect();
    let all = left.clone();
    let mut buffer: Vec<Option<usize>> = vec![None; nodes.len()];
    // How many nodes not yet visited use each buffer.
    let mut users: Vec<usize> = Vec::new();
    let take = |users: &mut Vec<usize>| match users.iter().position(|&u| u == 0) {
        Some(free) => {
            users[free] = 1;
            free
        }
        None => {
            users.push(1);
            users.len() - 1
        }
    };
    if let Some(last) = buffer.last_mut() {
        *last = Some(take(&mut users));
    }
    let mut parts = vec![Parts { from: None, shortcut: None }; nodes.len()];
    for n in (0..nodes.len()).rev() {
        let own = buffer[n].unwrap_or_default();
        if let Some(s) = nodes[n].shortcut() {
            let (first, last) = (left[s] == all[s], left[s] == 1);
            // A source that is complete with this and has an activation is changed at once.
            let changes = last && nodes[s].convolution().is_some_and(|c| c.activation.is_some());
            let shared = first && !changes && nodes[n].from != Some(s);
            if shared {
                buffer[s] = Some(own);
                users[own] += 1;
            } else if first {
                buffer[s] = Some(take(&mut users));
            }
            left[s] -= 1;
            parts[n].shortcut = Some(VisitRole { first, last, shared });
        }
        if let Some(f) = nodes[n].from {
            let (first, last) = (left[f] == all[f], left[f] == 1);
            if first {
                buffer[f] = Some(take(&mut users));
            }
            left[f] -= 1;
            parts[n].from = Some(VisitRole { first, last, shared: false });
        }
        if n + 1 != front {
            users[own] -= 1;
        }
    }
    for (node, buffer) in nodes.iter_mut().zip(&buffer) {
        node.gradient = buffer.unwrap_or_default();
    }
    (parts, users.len())
}

//! Weights from their order in θ, out × in × taps, to the kernels' order and back.

use feasible::{Mode, Real};

use crate::conv::graph::{After, Convolution, Node};
use crate::conv::{BACK, BACK_POINTED, BIAS, ConvNet, ConvTape, EPSILON, PACKED, POINTED};
use crate::kernel::Kernels;
use crate::kernel::conv::BLOCK;
use crate::kernel::conv::winograd::transform_weights;

/// The factor on the weights of a channel, and what is added, when θ's running statistics are
/// multiplied in.
pub(crate) fn folded<T: Real>(after: After, theta: &[T], channel: usize) -> (f64, f64) {
    match after {
        After::Bias(bias) => (1.0, theta[bias + channel].to_f64()),
        After::Norm(norm) => {
            let at = |place: usize| theta[place + channel].to_f64();
            let scale = at(norm.gamma) / (at(norm.variance) + EPSILON).sqrt();
            (scale, at(norm.beta) - at(norm.mean) * scale)
        }
    }
}

impl<T: Kernels> ConvNet<T> {
    /// Packs the weights for forward passes, unless the tape has them: in evaluation those of the
    /// last call with the same θ are kept, so that an attack of many steps packs once.
    pub(crate) fn pack_weights(&self, theta: &[T], mode: Mode, tape: &mut ConvTape<T>) {
        if mode == Mode::Evaluation && tape.made == Some(mode) && tape.key == theta {
            return;
        }
        let packed = tape.slots[PACKED].place(self.packed);
        for c in self.nodes.iter().filter_map(Node::convolution) {
            let own = &mut packed[c.packed..c.packed + c.plan.weights()];
            pack_forward(c, theta, mode, own);
        }
        self.transform(PACKED, POINTED, false, tape);
        let bias = tape.slots[BIAS].place(self.channels);
        bias.fill(T::ZERO);
        for c in self.nodes.iter().filter_map(Node::convolution) {
            for o in 0..c.plan.to.channels {
                bias[c.channel + o] = T::from_f64(folded(c.after, theta, o).1);
            }
        }
        tape.key.clear();
        tape.key.extend_from_slice(theta);
        (tape.made, tape.made_back) = (Some(mode), false);
    }

    /// Packs the weights for backward passes with the θ of the last forward pass.
    pub(crate) fn pack_back(&self, tape: &mut ConvTape<T>) {
        if tape.made_back {
            return;
        }
        let mut back = std::mem::take(&mut tape.slots[BACK]);
        let packed = back.place(self.packed);
        let forward = &tape.slots[PACKED][..];
        for c in self.nodes.iter().filter_map(Node::convolution).filter(|c| !c.plan.planar()) {
            let range = c.packed..c.packed + c.plan.weights();
            let (blocks, taps) = (c.plan.in_blocks(), c.plan.taps);
            let (from, to) = (&forward[range.clone()], &mut packed[range]);
            for (tile, w) in from.chunks_exact(BLOCK * BLOCK).enumerate() {
                // [out block][in block][tap] → [in block][out block][tap], each tile transposed.
                let (tap, pair) = (tile % taps, tile / taps);
                let (o, i) = (pair / blocks, pair % blocks);
                let at = ((i * c.plan.to.blocks() + o) * taps + tap) * BLOCK * BLOCK;
                let to = &mut to[at..at + BLOCK * BLOCK];
                for y in 0..BLOCK {
                    for x in 0..BLOCK {
                        to[y * BLOCK + x] = w[x * BLOCK + y];
                    }
                }
            }
        }
        tape.slots[BACK] = back;
        self.transform(BACK, BACK_POINTED, true, tape);
        tape.made_back = true;
    }

    /// Takes packed 3×3 weights to points.
    fn transform(&self, from: usize, to: usize, back: bool, tape: &mut ConvTape<T>) {
        if !T::TILES {
            return;
        }
        let mut points = std::mem::take(&mut tape.slots[to]);
        let all = points.place(self.points);
        let packed = &tape.slots[from][..];
        for c in self.nodes.iter().filter_map(Node::convolution).filter(|c| c.plan.tiles) {
            let from = &packed[c.packed..c.packed + c.plan.weights()];
            let own = &mut all[c.points..c.points + c.plan.points()];
            let blocks = if back { c.plan.to.blocks() } else { c.plan.in_blocks() };
            transform_weights(self.level, from, blocks, back, own);
        }
        tape.slots[to] = points;
    }
}

/// Where the weight of channels o, i and a tap lies among the packed ones.
#[inline(always)]
fn place_of(c: &Convolution, o: usize, i: usize, tap: usize) -> usize {
    let p = c.plan.input.pixel;
    let pair = o / BLOCK * c.plan.in_blocks() + i / p;
    ((pair * c.plan.taps + tap) * p + i % p) * BLOCK + o % BLOCK
}

fn pack_forward<T: Real>(c: &Convolution, theta: &[T], mode: Mode, to: &mut [T]) {
    let plan = &c.plan;
    to.fill(T::ZERO);
    let per_out = plan.from.channels * plan.taps;
    for o in 0..plan.to.channels {
        let scale = match (mode, c.after) {
            (Mode::Evaluation, After::Norm(_)) => T::from_f64(folded(c.after, theta, o).0),
            _ => T::ONE,
        };
        let from = &theta[c.weight + o * per_out..c.weight + (o + 1) * per_out];
        for (i, taps) in from.chunks_exact(plan.taps).enumerate() {
            for (tap, &w) in taps.iter().enumerate() {
                to[place_of(c, o, i, tap)] = w * scale;
            }
        }
    }
}

/// Adds the gradient with respect to packed weights to those of θ: of w, and in evaluation, where
/// the packed ones are s w with s = γ/√(σ² + ε), of γ too: ∂/∂s = ⟨gradient, w⟩.
pub(crate) fn unpack<T: Real>(
    c: &Convolution,
    theta: &[T],
    mode: Mode,
    packed: &[T],
    gradient: &mut [T],
) {
    let plan = &c.plan;
    let per_out = plan.from.channels * plan.taps;
    for o in 0..plan.to.channels {
        let norm = match (mode, c.after) {
            (Mode::Evaluation, After::Norm(norm)) => Some(norm),
            _ => None,
        };
        let scale = norm.map_or(T::ONE, |_| T::from_f64(folded(c.after, theta, o).0));
        let mut along = 0.0;
        for i in 0..plan.from.channels {
            for tap in 0..plan.taps {
                let at = c.weight + o * per_out + i * plan.taps + tap;
                let g = packed[place_of(c, o, i, tap)];
                if norm.is_some() {
                    along += g.to_f64() * theta[at].to_f64();
                }
                gradient[at] += scale * g;
            }
        }
        if let Some(norm) = norm {
            let inverse = 1.0 / (theta[norm.variance + o].to_f64() + EPSILON).sqrt();
            gradient[norm.gamma + o] += T::from_f64(inverse * along);
        }
    }
}

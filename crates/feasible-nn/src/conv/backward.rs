//! Backward: node by node, last to first.
//!
//! When a node is visited its gradient is complete and has been taken back through its activation
//! ("finished"), with the sums that its normalisation or bias needs. The visit passes it on to the
//! shortcut's source, adds the gradients of the parameters, and pulls it back through the
//! convolution to what the node reads; whoever completes a gradient finishes it on the spot,
//! image by image, while it is in the cache.

use std::ops::Range;

use feasible::aligned::AlignedVec;
use feasible::{Batch, Mode};

use crate::activation::Activation;
use crate::conv::absorb::add_up;
use crate::conv::forward::{Ask, ConvSource, images_of, packed_input};
use crate::conv::graph::{After, Convolution, Op};
use crate::conv::spread::{Cut, spread, strands};
use crate::conv::weights::unpack;
use crate::conv::{
    BACK, BACK_POINTED, ConvNet, ConvTape, EPSILON, GRADIENT, PACKED, PARTS, SCRATCH, SUMS, TOTALS,
    channels,
};
use crate::kernel::Kernels;
use crate::kernel::conv::planes::{self, Pull};
use crate::kernel::conv::sweep::Add;
use crate::kernel::conv::winograd::transform_gradient;
use crate::kernel::conv::{BLOCK, Correlation, Outer, Packed, Planar};

/// Numbers all parts of a layer's weight gradients should have at most, and the range of their count.
const PART_NUMBERS: usize = 1 << 19;
const PART_COUNT: (usize, usize) = (4, 8);

/// What the way back is to give.
#[derive(Clone, Copy)]
struct Wanted {
    parameters: bool,
    inputs: bool,
}

impl<T: Kernels> ConvNet<T> {
    pub(crate) fn backward_views(
        &self,
        theta: &[T],
        batch: &Batch<'_>,
        tape: &mut ConvTape<T>,
        seeds: &[T],
        mut parameters: Option<&mut [T]>,
        mut inputs: Option<&mut [T]>,
    ) {
        assert_eq!(seeds.len(), batch.output_rows() * self.outputs());
        let mode = tape.made.unwrap_or_default();
        self.pack_back(tape);
        let wanted = Wanted { parameters: parameters.is_some(), inputs: inputs.is_some() };
        let n = batch.rows.len();
        for view in 0..batch.views() {
            let ask = Ask { theta, batch, view, mode };
            let k = self.outputs();
            let own = n * self.image.len();
            self.seed(&seeds[view * n * k..(view + 1) * n * k], ask, wanted, tape);
            let mut inputs =
                inputs.as_deref_mut().map(|all| &mut all[view * own..(view + 1) * own]);
            // Sums for the parameters are over all images.
            let apart = mode == Mode::Evaluation && !wanted.parameters;
            for (nodes, images) in self.stretches(n, apart).rev() {
                for number in nodes.rev() {
                    let (parameters, inputs) = (parameters.as_deref_mut(), inputs.as_deref_mut());
                    self.visit(number, ask, wanted, images.clone(), tape, parameters, inputs);
                }
            }
        }
    }

    /// The last node's gradient.
    fn seed(&self, seeds: &[T], ask: Ask<'_, T>, wanted: Wanted, tape: &mut ConvTape<T>) {
        let last = self.nodes.len() - 1;
        let (k, width) = (self.outputs(), self.nodes[last].shape.blocked());
        tape.slots[TOTALS].place(2 * self.channels).fill(T::ZERO);
        let slot = GRADIENT + self.nodes[last].gradient;
        let to = tape.slots[slot].place(ask.images() * width);
        to.fill(T::ZERO);
        for (to, from) in to.chunks_exact_mut(width).zip(seeds.chunks_exact(k)) {
            to[..k].copy_from_slice(from);
        }
        self.finish(last, ask, wanted, 0..ask.images(), tape);
    }

    #[allow(clippy::too_many_arguments)]
    fn visit(
        &self,
        number: usize,
        ask: Ask<'_, T>,
        wanted: Wanted,
        images: Range<usize>,
        tape: &mut ConvTape<T>,
        parameters: Option<&mut [T]>,
        inputs: Option<&mut [T]>,
    ) {
        let node = &self.nodes[number];
        match &node.op {
            Op::Pool(pooling, window) => {
                self.pool_backward(number, *pooling, *window, ask, images.clone(), tape);
                if let (Some(f), Some(part)) = (node.from, self.parts[number].from)
                    && part.last
                {
                    self.finish(f, ask, wanted, images, tape);
                }
            }
            Op::Convolution(c) => {
                self.pass_to_shortcut(number, ask, wanted, images.clone(), tape);
                self.pull_back(number, c, ask, wanted, images, tape, parameters, inputs);
            }
        }
    }

    /// Where the gradient of a node begins: at the first image, or, where images are taken a few at
    /// a time and nobody outside needs it, at the first of these.
    pub(crate) fn origin(&self, number: usize, images: &Range<usize>) -> usize {
        if self.is_local(number) { images.start } else { 0 }
    }

    /// Whether only front nodes need a node's gradient.
    fn is_local(&self, number: usize) -> bool {
        let held = self.front.checked_sub(1).map(|last| self.nodes[last].gradient);
        number < self.front && Some(self.nodes[number].gradient) != held
    }

    /// The gradient of a node for some images, in its buffer.
    pub(crate) fn gradient_of<'a>(
        &self,
        number: usize,
        ask: Ask<'_, T>,
        images: &Range<usize>,
        buffer: &'a mut AlignedVec<T>,
    ) -> &'a mut [T] {
        let (origin, image) = (self.origin(number, images), self.nodes[number].shape.blocked());
        let last = if self.is_local(number) { images.end } else { ask.images() };
        let all = buffer.place((last - origin) * image);
        &mut all[(images.start - origin) * image..(images.end - origin) * image]
    }

    fn pass_to_shortcut(
        &self,
        number: usize,
        ask: Ask<'_, T>,
        wanted: Wanted,
        images: Range<usize>,
        tape: &mut ConvTape<T>,
    ) {
        let node = &self.nodes[number];
        let (Some(s), Some(part)) = (node.shortcut(), self.parts[number].shortcut) else { return };
        if !part.shared {
            let slot = GRADIENT + self.nodes[s].gradient;
            let mut to = std::mem::take(&mut tape.slots[slot]);
            let image = node.shape.blocked();
            let from = &tape.slots[GRADIENT + node.gradient][..];
            let from = &from[(images.start - self.origin(number, &images)) * image..];
            let from = &from[..images.len() * image];
            let own = self.gradient_of(s, ask, &images, &mut to);
            if part.first {
                own.copy_from_slice(from);
            } else {
                planes::accumulate(self.level, from, own);
            }
            tape.slots[slot] = to;
        }
        if part.last {
            self.finish(s, ask, wanted, images, tape);
        }
    }

    /// Whether sums of a node's gradient are needed.
    fn wants_sums(&self, number: usize, mode: Mode, wanted: Wanted) -> bool {
        self.nodes[number].convolution().is_some()
            && (wanted.parameters || self.is_lazy(number, mode))
    }

    /// Whether finishing a node's gradient does anything.
    fn wants_finish(&self, number: usize, mode: Mode, wanted: Wanted) -> bool {
        let activation = self.nodes[number].convolution().and_then(|c| c.activation);
        activation.is_some() || self.wants_sums(number, mode, wanted)
    }

    /// Finishes the gradient of a node for some images.
    fn finish(
        &self,
        number: usize,
        ask: Ask<'_, T>,
        wanted: Wanted,
        images: Range<usize>,
        tape: &mut ConvTape<T>,
    ) {
        if !self.wants_finish(number, ask.mode, wanted) {
            return;
        }
        let slot = GRADIENT + self.nodes[number].gradient;
        let mut gradient = std::mem::take(&mut tape.slots[slot]);
        let mut sums = std::mem::take(&mut tape.slots[SUMS]);
        let shape = self.nodes[number].shape;
        let per_image = shape.blocks() * 2 * BLOCK;
        let cuts = [
            Cut {
                data: self.gradient_of(number, ask, &images, &mut gradient),
                unit: shape.blocked(),
            },
            Cut { data: sums.place(images.len() * per_image), unit: per_image },
        ];
        let slots = &tape.slots;
        let work = |units: Range<usize>, [gradient, sums]: [&mut [T]; 2], _: &mut [T]| {
            self.finish_images(number, ask, wanted, slots, units, gradient, sums);
        };
        spread(images, cuts, strands(), &mut [], &work);
        tape.slots[slot] = gradient;
        tape.slots[SUMS] = sums;
        self.total(number, ask, wanted, tape);
    }

    /// Finishes the gradient of a node for some images; `gradient` and `sums` are theirs.
    #[allow(clippy::too_many_arguments)]
    fn finish_images(
        &self,
        number: usize,
        ask: Ask<'_, T>,
        wanted: Wanted,
        slots: &[AlignedVec<T>],
        images: Range<usize>,
        gradient: &mut [T],
        sums: &mut [T],
    ) {
        let Op::Convolution(c) = &self.nodes[number].op else { return };
        let (shape, level) = (c.plan.to, self.level);
        let (plane, blocks) = (shape.plane(), shape.blocks());
        let coefficients = &slots[self.coefficients(ask.view)][..];
        let stored = &slots[self.stored(ask.view, number)][..];
        let z = &slots[self.sums(ask.view, number, ask.mode)][..];
        let lazy = self.is_lazy(number, ask.mode);
        for b in 0..blocks {
            let reading = self.reading(number, b, ask.mode, coefficients, true);
            let mean = if lazy {
                channels(coefficients, 2 * self.channels + c.channel + b * BLOCK)
            } else {
                [T::ZERO; BLOCK]
            };
            for (m, image) in images.clone().enumerate() {
                let g = &mut gradient[m * shape.blocked() + b * plane..][..plane];
                let at = image * shape.blocked() + b * plane;
                let (stored, z) = (&stored[at..at + plane], &z[at..at + plane]);
                if lazy && reading.activation == Some(Activation::Relu) {
                    let sums = &mut sums[(m * blocks + b) * 2 * BLOCK..][..2 * BLOCK];
                    match &reading.affine {
                        Some((scale, shift)) => {
                            planes::through_and_covariance(level, z, scale, shift, &mean, g, sums);
                        }
                        None => planes::mask_and_covariance(level, stored, z, &mean, g, sums),
                    }
                    continue;
                }
                if reading.activation.is_some() {
                    planes::through(level, stored, &reading, g);
                }
                let sums = &mut sums[(m * blocks + b) * 2 * BLOCK..][..2 * BLOCK];
                if lazy {
                    planes::covariance(level, g, z, &mean, sums);
                } else if wanted.parameters {
                    sums.fill(T::ZERO);
                    planes::total(level, g, sums);
                }
            }
        }
    }

    /// Adds up the sums of a node's gradient over the images.
    fn total(&self, number: usize, ask: Ask<'_, T>, wanted: Wanted, tape: &mut ConvTape<T>) {
        if !self.wants_sums(number, ask.mode, wanted) {
            return;
        }
        let Op::Convolution(c) = &self.nodes[number].op else { return };
        let mut totals = std::mem::take(&mut tape.slots[TOTALS]);
        let sums = &tape.slots[SUMS][..];
        let own = &mut totals[..];
        for o in 0..c.plan.to.channels {
            let [first, second] = add_up(sums, ask.images(), c.plan.to.blocks(), o);
            own[c.channel + o] = T::from_f64(first);
            own[self.channels + c.channel + o] = T::from_f64(second);
        }
        tape.slots[TOTALS] = totals;
    }

    /// Gradients of bias, γ and β, from the sums.
    fn after_gradient(
        &self,
        c: &Convolution,
        ask: Ask<'_, T>,
        tape: &ConvTape<T>,
        gradient: &mut [T],
    ) {
        let totals = &tape.slots[TOTALS][..];
        let coefficients = &tape.slots[self.coefficients(ask.view)][..];
        for o in 0..c.plan.to.channels {
            let at = c.channel + o;
            let (first, second) = (totals[at], totals[self.channels + at]);
            match c.after {
                After::Bias(bias) => gradient[bias + o] += first,
                After::Norm(norm) => {
                    gradient[norm.beta + o] += first;
                    gradient[norm.gamma + o] += match ask.mode {
                        Mode::Training => coefficients[3 * self.channels + at] * second,
                        Mode::Evaluation => {
                            let number = |p: usize| ask.theta[p + o].to_f64();
                            let inverse = 1.0 / (number(norm.variance) + EPSILON).sqrt();
                            T::from_f64(-inverse * number(norm.mean) * first.to_f64())
                        }
                    };
                }
            }
        }
    }

    /// Pulls a finished gradient back through the convolution.
    #[allow(clippy::too_many_arguments)]
    fn pull_back(
        &self,
        number: usize,
        c: &Convolution,
        ask: Ask<'_, T>,
        wanted: Wanted,
        images: Range<usize>,
        tape: &mut ConvTape<T>,
        mut parameters: Option<&mut [T]>,
        inputs: Option<&mut [T]>,
    ) {
        if let Some(gradient) = parameters.as_deref_mut() {
            self.after_gradient(c, ask, tape, gradient);
        }
        let (plan, n) = (&c.plan, images.len());
        let (begin, end) = (images.start, images.end);
        let from = self.nodes[number].from;
        let part = self.parts[number].from;
        let last = part.is_some_and(|p| p.last);
        // Where a ReLU alone is left to do, the sweep does it.
        let finishes = from.filter(|&f| last && self.wants_finish(f, ask.mode, wanted));
        let relu = |f: usize| {
            self.nodes[f].convolution().is_some_and(|c| c.activation == Some(Activation::Relu))
        };
        let masks = finishes.filter(|&f| {
            relu(f) && !self.wants_sums(f, ask.mode, wanted) && !self.is_lazy(f, ask.mode)
        });
        let finishes = finishes.filter(|_| masks.is_none());
        let mut out_slot = AlignedVec::new();
        if let Some(f) = from {
            out_slot = std::mem::take(&mut tape.slots[GRADIENT + self.nodes[f].gradient]);
        }
        let mut sums = std::mem::take(&mut tape.slots[SUMS]);
        let mut parts = std::mem::take(&mut tape.slots[PARTS]);
        let mut scratch = std::mem::take(&mut tape.slots[SCRATCH]);
        let unit = if wanted.parameters {
            let (low, high) = PART_COUNT;
            let count = (PART_NUMBERS / plan.weights()).clamp(low, high);
            n.div_ceil(count).next_multiple_of(plan.group)
        } else {
            plan.group
        };
        let image = if from.is_some() { plan.from.blocked() } else { plan.from.len() };
        let out: &mut [T] = match (from, inputs) {
            (Some(f), _) => self.gradient_of(f, ask, &images, &mut out_slot),
            (None, Some(inputs)) => &mut inputs[begin * image..end * image],
            (None, None) => &mut [],
        };
        let wants_out = from.is_some() || wanted.inputs;
        let tiles = T::TILES && plan.tiles;
        let weights = match (wanted.parameters, tiles) {
            (false, _) => 0,
            (true, false) => plan.weights(),
            (true, true) => plan.points(),
        };
        let per_image = finishes.map_or(0, |f| self.nodes[f].shape.blocks() * 2 * BLOCK);
        let units = n.div_ceil(unit);
        let parts_all = parts.place(units * weights);
        if !tiles {
            parts_all.fill(T::ZERO);
        }
        let cuts = [
            Cut { data: out, unit: unit * image },
            Cut { data: sums.place(n * per_image), unit: unit * per_image },
            Cut { data: parts_all, unit: weights },
        ];
        let slots = &tape.slots;
        let coefficients = &slots[self.coefficients(ask.view)][..];
        let totals = &slots[TOTALS][..];
        let pull = |b: usize| {
            let lazy = self.is_lazy(number, ask.mode);
            lazy.then(|| self.pull(c, b, ask.images(), coefficients, totals))
        };
        let source = match from {
            None => ConvSource::Image,
            Some(f) => ConvSource::Node(f, &slots[self.stored(ask.view, f)][..], coefficients),
        };
        let gradient = &slots[GRADIENT + self.nodes[number].gradient][..];
        let own = self.origin(number, &images);
        let z = &slots[self.sums(ask.view, number, ask.mode)][..];
        let lazy = self.is_lazy(number, ask.mode);
        // What finishing reads besides the stored value: sums that a shortcut was added to.
        let beside = match finishes {
            Some(f) if self.joins(f, ask.mode) => &slots[self.sums(ask.view, f, ask.mode)][..],
            _ => &[],
        };
        let mask = masks.map(|f| &slots[self.stored(ask.view, f)][..]);
        let work = |units: Range<usize>, [out, sums, parts]: [&mut [T]; 3], scratch: &mut [T]| {
            let start = begin + units.start * unit;
            let (delta, input) = scratch.split_at_mut(plan.packed_delta());
            let own_input = if weights > 0 { plan.packed_input() } else { 0 };
            let (input, more) = input.split_at_mut(own_input);
            for (u, u_first) in units.clone().map(|u| begin + u * unit).enumerate() {
                for first in (u_first..(u_first + unit).min(end)).step_by(plan.group) {
                    let images = plan.group.min(end.min(u_first + unit) - first);
                    self.pack_delta(c, gradient, own, z, &pull, first..first + images, delta);
                    if weights > 0 {
                        self.pack_input(c, source, ask, first..first + images, input);
                        let part = &mut parts[u * weights..(u + 1) * weights];
                        let of = Outer {
                            sweep: &plan.forward,
                            images,
                            input: packed_input(c, input),
                            delta: packed_delta(c, delta),
                            delta_start: delta_start(c),
                            delta_row: plan.delta.row(),
                        };
                        if tiles {
                            T::outer_tiles(self.level, of, first == u_first, more, part);
                        } else {
                            T::outer(self.level, of, part);
                        }
                    }
                    if wants_out {
                        let at = first * image..(first + images) * image;
                        let out = &mut out[(first - start) * image..][..images * image];
                        let mask = mask.map(|mask| &mask[at]);
                        let adds = part.is_some_and(|p| !p.first);
                        let (to, from) = (plan.to.blocked(), plan.from.blocked());
                        let (next, group) = (first + images, plan.group);
                        let ahead = [
                            images_of(gradient, next - own, group, to),
                            if lazy { images_of(z, next, group, to) } else { &[] },
                            source.images(next, group, from),
                            images_of(beside, next, group, from),
                        ];
                        self.sweep_back(c, images, delta, slots, adds, mask, ahead, more, out);
                        if let Some(f) = finishes {
                            let sums =
                                &mut sums[(first - start) * per_image..][..images * per_image];
                            let images = first..first + images;
                            self.finish_images(f, ask, wanted, slots, images, out, sums);
                        }
                    }
                }
            }
        };
        let strands = strands();
        let [_, sweeps, outers] = plan.tile_scratch();
        let own_input = if weights > 0 { plan.packed_input() + outers } else { 0 };
        let per_strand = plan.packed_delta() + own_input + sweeps;
        let memory = scratch.place(strands * per_strand);
        spread(0..units, cuts, strands, memory, &work);
        if let Some(gradient) = parameters {
            let (total, others) = &mut parts[..].split_at_mut(weights);
            for part in others.chunks_exact(weights) {
                planes::accumulate(self.level, part, total);
            }
            if tiles {
                let natural = scratch.place(plan.weights());
                transform_gradient(self.level, total, plan.in_blocks(), natural);
                unpack(c, ask.theta, ask.mode, natural, gradient);
            } else {
                unpack(c, ask.theta, ask.mode, total, gradient);
            }
        }
        if let Some(f) = from {
            tape.slots[GRADIENT + self.nodes[f].gradient] = out_slot;
        }
        tape.slots[SUMS] = sums;
        tape.slots[PARTS] = parts;
        tape.slots[SCRATCH] = scratch;
        if let Some(f) = finishes {
            self.total(f, ask, wanted, tape);
        }
    }

    /// Packs dz of some images; `gradient` begins with that of image `origin`.
    #[allow(clippy::too_many_arguments)]
    fn pack_delta(
        &self,
        c: &Convolution,
        gradient: &[T],
        origin: usize,
        z: &[T],
        pull: &impl Fn(usize) -> Option<Pull<T>>,
        images: Range<usize>,
        to: &mut [T],
    ) {
        let (plan, level) = (&c.plan, self.level);
        let (image, size, plane) = (plan.to.blocked(), plan.to.plane(), plan.delta.plane());
        let same = planes::Reading { affine: None, activation: None };
        for b in 0..plan.to.blocks() {
            let pull = pull(b);
            for (m, position) in images.clone().enumerate() {
                let at = position * image + b * size;
                let g = &gradient[at - origin * image..][..size];
                let to = &mut to[(b * plan.group + m) * plane..][..plane];
                match &pull {
                    None => planes::pack(level, g, plan.to.width, &same, &plan.delta, to),
                    Some(pull) => {
                        let z = &z[at..at + size];
                        planes::pack_pull(level, g, z, pull, plan.to.width, &plan.delta, to);
                    }
                }
            }
        }
    }

    /// The gradient with respect to what a convolution reads, for a group of images.
    #[allow(clippy::too_many_arguments)]
    fn sweep_back(
        &self,
        c: &Convolution,
        images: usize,
        delta: &[T],
        slots: &[AlignedVec<T>],
        adds: bool,
        mask: Option<&[T]>,
        ahead: [&[T]; 4],
        scratch: &mut [T],
        out: &mut [T],
    ) {
        let plan = &c.plan;
        let tiles = T::TILES && plan.tiles;
        let range = c.packed..c.packed + plan.weights();
        for sweep in &plan.backward {
            if plan.planar() {
                let of = Planar {
                    sweep,
                    images,
                    delta: packed_delta(c, delta),
                    weights: &slots[PACKED][range.clone()],
                    taps: plan.taps,
                    planes: plan.from.channels,
                    out_image: plan.from.len(),
                    out_plane: plan.from.height * plan.from.width,
                };
                T::planar(self.level, of, out);
            } else if !(sweep.taps.is_empty() && adds && mask.is_none()) {
                let of = Correlation {
                    sweep,
                    images,
                    input: packed_delta(c, delta),
                    weights: if tiles {
                        &slots[BACK_POINTED][c.points..c.points + plan.points()]
                    } else {
                        &slots[BACK][range.clone()]
                    },
                    taps: plan.taps,
                    out_blocks: plan.from.blocks(),
                    out_image: plan.from.blocked(),
                    out_block: plan.from.plane(),
                    bias: None,
                    add: if adds { Add::Current } else { Add::Nothing },
                    relu: false,
                    mask,
                    ahead,
                };
                if tiles {
                    T::sweep_tiles(self.level, of, scratch, out);
                } else {
                    T::sweep(self.level, of, out);
                }
            }
        }
        if plan.planar() {
            // The image was normalised: ∂/∂x = ∂/∂x̂ / deviation.
            let plane = plan.from.height * plan.from.width;
            for (p, out) in out.chunks_exact_mut(plane).enumerate() {
                let (_, deviation) = self.normalisation[p % plan.from.channels];
                let factor = T::from_f64(1.0 / deviation);
                out.iter_mut().for_each(|g| *g *= factor);
            }
        }
    }
}

/// A group of packed gradients.
pub(crate) fn packed_delta<'a, T>(c: &Convolution, data: &'a [T]) -> Packed<'a, T> {
    let plane = c.plan.delta.plane();
    Packed {
        data: &data[..c.plan.packed_delta()],
        channels: c.plan.to.channels,
        pixel: BLOCK,
        image: plane,
        block: c.plan.group * plane,
    }
}

/// Where the first pixel of a packed gradient is.
pub(crate) fn delta_start(c: &Convolution) -> usize {
    (c.plan.delta.top * c.plan.delta.run + c.plan.delta.left) * BLOCK
}

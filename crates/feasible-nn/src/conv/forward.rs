//! Forward: node by node, every node for all images before the next.

use std::ops::Range;

use feasible::aligned::AlignedVec;
use feasible::{Batch, Mode};

use crate::activation::Activation;
use crate::conv::graph::{Convolution, Op};
use crate::conv::image::Planes;
use crate::conv::spread::{Cut, spread, strands};
use crate::conv::{BIAS, ConvNet, ConvTape, PACKED, POINTED, SCRATCH, SUMS, channels};
use crate::kernel::Kernels;
use crate::kernel::conv::planes;
use crate::kernel::conv::sweep::Add;
use crate::kernel::conv::{BLOCK, Correlation, Packed};

/// What one view of a batch is asked.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a, T> {
    pub(crate) theta: &'a [T],
    pub(crate) batch: &'a Batch<'a>,
    pub(crate) view: usize,
    pub(crate) mode: Mode,
}

impl<T> Ask<'_, T> {
    pub(crate) fn images(&self) -> usize {
        self.batch.rows.len()
    }
}

/// What a convolution reads.
#[derive(Clone, Copy)]
pub(crate) enum ConvSource<'a, T> {
    Image,
    /// A node: what is stored, and the coefficients to read it with.
    Node(usize, &'a [T], &'a [T]),
}

impl<'a, T> ConvSource<'a, T> {
    /// What is stored of some images of a node.
    pub(crate) fn images(&self, first: usize, count: usize, image: usize) -> &'a [T] {
        match self {
            Self::Image => &[],
            Self::Node(_, stored, _) => images_of(stored, first, count, image),
        }
    }
}

/// Images first..first + count, as far as they exist.
pub(crate) fn images_of<T>(all: &[T], first: usize, count: usize, image: usize) -> &[T] {
    let end = ((first + count) * image).min(all.len());
    &all[(first * image).min(end)..end]
}

impl<T: Kernels> ConvNet<T> {
    pub(crate) fn forward_views(
        &self,
        theta: &[T],
        batch: &Batch<'_>,
        mode: Mode,
        tape: &mut ConvTape<T>,
        outputs: &mut [T],
    ) {
        assert_eq!(theta.len(), self.parameter_count_());
        assert_eq!(batch.inputs.width(), self.image.len());
        assert_eq!(outputs.len(), batch.output_rows() * self.outputs());
        let slots = self.coefficients(batch.views());
        if tape.slots.len() < slots {
            tape.slots.resize_with(slots, AlignedVec::new);
        }
        self.pack_weights(theta, mode, tape);
        for view in 0..batch.views() {
            self.forward_view(Ask { theta, batch, view, mode }, tape, outputs);
        }
    }

    fn parameter_count_(&self) -> usize {
        self.trainable + self.statistics
    }

    pub(crate) fn outputs(&self) -> usize {
        self.nodes[self.nodes.len() - 1].shape.channels
    }

    fn forward_view(&self, ask: Ask<'_, T>, tape: &mut ConvTape<T>, outputs: &mut [T]) {
        if ask.mode == Mode::Training {
            let len = tape.statistics.len();
            tape.statistics.resize(len + self.statistics, T::ZERO);
            let at = self.coefficients(ask.view);
            tape.slots[at].place(4 * self.channels).fill(T::ZERO);
        }
        for (nodes, images) in self.stretches(ask.images(), ask.mode == Mode::Evaluation) {
            for number in nodes {
                match &self.nodes[number].op {
                    Op::Convolution(convolution) => {
                        self.convolve(number, convolution, ask, images.clone(), tape);
                        if self.joins(number, ask.mode) && !self.joins_late(number, ask.mode) {
                            self.join(number, ask, images.clone(), tape);
                        }
                    }
                    Op::Pool(pooling, window) => {
                        self.pool_forward(number, *pooling, *window, ask, images.clone(), tape)
                    }
                }
            }
        }
        let (k, n) = (self.outputs(), ask.images());
        let last = self.nodes.len() - 1;
        let from = &tape.slots[self.stored(ask.view, last)][..];
        let width = self.nodes[last].shape.blocked();
        let to = &mut outputs[ask.view * n * k..(ask.view + 1) * n * k];
        for (to, from) in to.chunks_exact_mut(k).zip(from.chunks_exact(width)) {
            to.copy_from_slice(&from[..k]);
        }
    }

    /// z = w ∗ x for some images; in evaluation with everything that follows.
    fn convolve(
        &self,
        number: usize,
        c: &Convolution,
        ask: Ask<'_, T>,
        images: Range<usize>,
        tape: &mut ConvTape<T>,
    ) {
        let (plan, n, level) = (&c.plan, ask.images(), self.level);
        let (begin, end) = (images.start, images.end);
        let lazy = self.is_lazy(number, ask.mode);
        let joins = self.joins(number, ask.mode);
        let slot = self.sums(ask.view, number, ask.mode);
        let mut out = std::mem::take(&mut tape.slots[slot]);
        let mut sums = std::mem::take(&mut tape.slots[SUMS]);
        let mut scratch = std::mem::take(&mut tape.slots[SCRATCH]);
        let strands = strands();
        let group = plan.group;
        let (blocks, image, plane) = (plan.to.blocks(), plan.to.blocked(), plan.to.plane());
        let per_image = if lazy { blocks * 2 * BLOCK } else { 0 };
        // What is read may have to be joined first, while it is in the cache.
        let late = self.nodes[number].from.filter(|&f| f + 1 == number);
        let late = late.filter(|&f| self.joins_late(f, ask.mode));
        let mut joined = AlignedVec::new();
        if let Some(f) = late {
            joined = std::mem::take(&mut tape.slots[self.stored(ask.view, f)]);
        }
        let per_joined = late.map_or(0, |_| plan.from.blocked());
        let to_join: &mut [T] = if late.is_some() { joined.place(n * per_joined) } else { &mut [] };
        let cuts = [
            Cut {
                data: &mut out.place(n * image)[begin * image..end * image],
                unit: group * image,
            },
            Cut { data: sums.place(n * per_image), unit: group * per_image },
            Cut { data: to_join, unit: group * per_joined },
        ];
        let slots = &tape.slots;
        let coefficients = &tape.slots[self.coefficients(ask.view)][..];
        let source = match self.nodes[number].from {
            None => ConvSource::Image,
            Some(f) => ConvSource::Node(f, &tape.slots[self.stored(ask.view, f)][..], coefficients),
        };
        let tiles = T::TILES && plan.tiles;
        let weights = if tiles {
            &tape.slots[POINTED][c.points..c.points + plan.points()]
        } else {
            &tape.slots[PACKED][c.packed..c.packed + plan.weights()]
        };
        let bias = &tape.slots[BIAS][c.channel..c.channel + blocks * BLOCK];
        let shortcut = c.shortcut.filter(|_| !joins);
        let shortcut = shortcut.map(|s| &tape.slots[self.stored(ask.view, s)][..]);
        let pivots = self.nodes[number].norm().filter(|_| lazy).map(|norm| norm.mean);
        let work = |units: Range<usize>, [out, sums, joined]: [&mut [T]; 3], scratch: &mut [T]| {
            let start = begin + units.start * group;
            let (scratch, more) = scratch.split_at_mut(plan.packed_input());
            for unit in units {
                let first = begin + unit * group;
                let images = group.min(end - first);
                let (next, each) = (first + images, plan.from.blocked());
                let mut ahead = [&[][..]; 4];
                if let Some(f) = late {
                    let own = &mut joined[(first - start) * each..][..images * each];
                    self.join_images(f, ask, slots, first..next, own);
                    let own = ConvSource::Node(f, own, coefficients);
                    self.pack_input(c, own, ask, 0..images, scratch);
                    for (ahead, terms) in ahead.iter_mut().zip(self.terms(f, ask, slots)) {
                        *ahead = images_of(terms, next, group, each);
                    }
                } else {
                    self.pack_input(c, source, ask, first..next, scratch);
                    ahead[0] = source.images(next, group, each);
                }
                let at = (first - start) * image;
                let out = &mut out[at..at + images * image];
                let of = Correlation {
                    sweep: &plan.forward,
                    images,
                    input: packed_input(c, scratch),
                    weights,
                    taps: plan.taps,
                    out_blocks: blocks,
                    out_image: image,
                    out_block: plane,
                    bias: (!lazy).then_some(bias),
                    add: match shortcut {
                        None => Add::Nothing,
                        Some(s) => Add::Other(&s[first * image..(first + images) * image]),
                    },
                    relu: !lazy && !joins && c.activation == Some(Activation::Relu),
                    mask: None,
                    ahead,
                };
                if tiles {
                    T::sweep_tiles(level, of, more, out);
                } else {
                    T::sweep(level, of, out);
                }
                if let Some(mean) = pivots {
                    let at = (first - start) * per_image;
                    let sums = &mut sums[at..at + images * per_image];
                    let planes = out.chunks_exact(plane).zip(sums.chunks_exact_mut(2 * BLOCK));
                    for (p, (z, sums)) in planes.enumerate() {
                        let pivot = self.partial(ask.theta, mean, plan.to.channels, p % blocks);
                        planes::moments(level, z, &pivot, sums);
                    }
                }
            }
        };
        spread(
            0..images.len().div_ceil(group),
            cuts,
            strands,
            scratch.place(strands * (plan.packed_input() + plan.tile_scratch()[0])),
            &work,
        );
        tape.slots[slot] = out;
        tape.slots[SCRATCH] = scratch;
        if let Some(f) = late {
            tape.slots[self.stored(ask.view, f)] = joined;
        }
        if lazy && let Some(norm) = self.nodes[number].norm() {
            let record = tape.statistics.len() - self.statistics;
            let record = &mut tape.statistics[record..];
            let at = self.coefficients(ask.view);
            let coefficients = &mut tape.slots[at][..];
            self.settle(c, norm, ask.theta, n, &sums[..], coefficients, record);
        }
        tape.slots[SUMS] = sums;
    }

    /// 16 numbers of a tensor of θ that has `channels`; zeros where it has none.
    fn partial(&self, theta: &[T], at: usize, channels: usize, block: usize) -> [T; BLOCK] {
        std::array::from_fn(|i| {
            let c = block * BLOCK + i;
            if c < channels { theta[at + c] } else { T::ZERO }
        })
    }

    /// Packs some images of what a convolution reads.
    pub(crate) fn pack_input(
        &self,
        c: &Convolution,
        source: ConvSource<'_, T>,
        ask: Ask<'_, T>,
        images: Range<usize>,
        to: &mut [T],
    ) {
        let plan = &c.plan;
        let plane = plan.input.plane();
        let block = plan.group * plane;
        match source {
            ConvSource::Image => {
                let normalisation = &self.normalisation;
                let planes =
                    Planes { shape: plan.from, packing: &plan.input, normalisation, block };
                for (m, position) in images.enumerate() {
                    planes.write(ask.batch, ask.view, position, &mut to[m * plane..]);
                }
            }
            ConvSource::Node(node, stored, coefficients) => {
                let (image, size) = (plan.from.blocked(), plan.from.plane());
                for b in 0..plan.from.blocks() {
                    let reading = self.reading(node, b, ask.mode, coefficients, false);
                    for (m, position) in images.clone().enumerate() {
                        let from = &stored[position * image + b * size..][..size];
                        let to = &mut to[b * block + m * plane..][..plane];
                        planes::pack(self.level, from, plan.from.width, &reading, &plan.input, to);
                    }
                }
            }
        }
    }

    /// Whether a shortcut is added by the next node, while it packs what it reads.
    fn joins_late(&self, number: usize, mode: Mode) -> bool {
        let next = self.nodes.get(number + 1);
        mode == Mode::Training
            && self.joins(number, mode)
            && next.is_some_and(|n| {
                let reads = n.convolution().is_some() && n.from == Some(number);
                reads && n.shortcut() != Some(number)
            })
    }

    /// φ(norm(z) + shortcut).
    fn join(&self, number: usize, ask: Ask<'_, T>, images: Range<usize>, tape: &mut ConvTape<T>) {
        let slot = self.stored(ask.view, number);
        let mut out = std::mem::take(&mut tape.slots[slot]);
        let image = self.nodes[number].shape.blocked();
        let slots = &tape.slots;
        let work = |units: Range<usize>, [out]: [&mut [T]; 1], _: &mut [T]| {
            self.join_images(number, ask, slots, units, out);
        };
        let all = out.place(ask.images() * image);
        let data = &mut all[images.start * image..images.end * image];
        spread(images, [Cut { data, unit: image }], strands(), &mut [], &work);
        tape.slots[slot] = out;
    }

    /// What is added: z, and what is stored of the shortcut's source.
    fn terms<'a>(
        &self,
        number: usize,
        ask: Ask<'_, T>,
        slots: &'a [AlignedVec<T>],
    ) -> [&'a [T]; 2] {
        let other = self.nodes[number].shortcut().map(|s| self.stored(ask.view, s));
        [
            &slots[self.sums(ask.view, number, ask.mode)][..],
            other.map_or(&[], |slot| &slots[slot][..]),
        ]
    }

    /// [`ConvNet::join`] of some images; `out` is theirs.
    fn join_images(
        &self,
        number: usize,
        ask: Ask<'_, T>,
        slots: &[AlignedVec<T>],
        images: Range<usize>,
        out: &mut [T],
    ) {
        let Op::Convolution(c) = &self.nodes[number].op else { return };
        let Some(s) = c.shortcut else { return };
        let (image, plane) = (c.plan.to.blocked(), c.plan.to.plane());
        let [z, other] = self.terms(number, ask, slots);
        let coefficients = &slots[self.coefficients(ask.view)][..];
        let relu = c.activation == Some(Activation::Relu);
        for b in 0..c.plan.to.blocks() {
            let lazy = self.is_lazy(number, ask.mode);
            let reading = self.own_normalisation(c, b, lazy, coefficients);
            let shortcut = self.reading(s, b, ask.mode, coefficients, false);
            for (m, position) in images.clone().enumerate() {
                let at = position * image + b * plane..position * image + (b + 1) * plane;
                let out = &mut out[m * image + b * plane..][..plane];
                let (z, other) = (&z[at.clone()], &other[at]);
                planes::join(self.level, z, &reading, other, &shortcut, relu, out);
            }
        }
    }

    /// A convolution's own normalisation, before the shortcut is added.
    fn own_normalisation(
        &self,
        c: &Convolution,
        block: usize,
        lazy: bool,
        coefficients: &[T],
    ) -> planes::Reading<T> {
        let at = c.channel + block * BLOCK;
        let affine =
            lazy.then(|| (channels(coefficients, at), channels(coefficients, self.channels + at)));
        planes::Reading { affine, activation: None }
    }
}

/// A group of packed inputs.
pub(crate) fn packed_input<'a, T>(c: &Convolution, data: &'a [T]) -> Packed<'a, T> {
    let plane = c.plan.input.plane();
    Packed {
        data: &data[..c.plan.packed_input()],
        channels: c.plan.from.channels,
        pixel: c.plan.input.pixel,
        image: plane,
        block: c.plan.group * plane,
    }
}

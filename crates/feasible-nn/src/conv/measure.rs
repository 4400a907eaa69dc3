//! Single convolutions, timed.

use std::time::Instant;

use crate::conv::ConvNet;
use crate::conv::backward::{delta_start, packed_delta};
use crate::conv::forward::packed_input;
use crate::conv::graph::{Convolution, Node};
use crate::kernel::Kernels;
use crate::kernel::conv::planes::{Reading, pack};
use crate::kernel::conv::sweep::Add;
use crate::kernel::conv::{Correlation, Outer, Planar};
use feasible::aligned::AlignedVec;

/// A convolution of a network.
#[derive(Debug)]
pub struct LayerTimes<'a> {
    model: &'a ConvNet,
    convolution: &'a Convolution,
    name: String,
}

pub(crate) fn layers(model: &ConvNet) -> Vec<LayerTimes<'_>> {
    let tensor = |at: usize| model.layout.iter().find(|t| t.offset == at);
    let named = |convolution| {
        let &Convolution { weight, .. } = convolution;
        let name = tensor(weight).map(|t| t.name.trim_end_matches(".weight").to_string());
        LayerTimes { model, convolution, name: name.unwrap_or_default() }
    };
    model.nodes.iter().filter_map(Node::convolution).map(named).collect()
}

impl LayerTimes<'_> {
    /// Its name and sizes.
    pub fn name(&self) -> String {
        let (from, to) = (self.convolution.plan.from, self.convolution.plan.to);
        format!("{} {}→{} {}×{}", self.name, from.channels, to.channels, to.height, to.width)
    }

    /// Multiplications for one image.
    pub fn multiplications(&self) -> usize {
        self.convolution.plan.multiplications()
    }

    /// Seconds for `images` images, packing included: forward, to the inputs, to the weights; the
    /// shortest of `runs`.
    pub fn times(&self, images: usize, runs: usize) -> [f64; 3] {
        let (c, plan, level) = (self.convolution, &self.convolution.plan, self.model.level);
        let numbers =
            |len: usize| -> Vec<f32> { (0..len).map(|i| (i % 13) as f32 / 13.0).collect() };
        let x = numbers(images * plan.from.blocked());
        let dz = numbers(images * plan.to.blocked());
        let weights = numbers(plan.weights().max(plan.points()));
        let (direct, tiles) = (&weights[..plan.weights()], &weights[..plan.points()]);
        let mut scratch = numbers(plan.tile_scratch().into_iter().max().unwrap_or(0));
        let weights = if plan.tiles { tiles } else { direct };
        let [mut y, mut input, mut delta, mut gw, mut gx] = [const { AlignedVec::new() }; 5];
        let y = y.place(images * plan.to.blocked());
        let gx = gx.place(images * plan.from.blocked());
        let gw = gw.place(weights.len());
        let input = input.place(plan.packed_input());
        let delta = delta.place(plan.packed_delta());
        let plain = Reading { affine: None, activation: None };
        let mut best = [f64::INFINITY; 3];
        let mut timed = |which: usize, f: &mut dyn FnMut()| {
            let start = Instant::now();
            f();
            best[which] = best[which].min(start.elapsed().as_secs_f64());
        };
        for _ in 0..runs {
            let groups =
                || (0..images).step_by(plan.group).map(|s| (s, plan.group.min(images - s)));
            let pack_input = |first: usize, count: usize, to: &mut [f32]| {
                // Planes are packed as cheaply as this from pixels; here they stay as they are.
                if plan.planar() {
                    return;
                }
                let (image, size, plane) =
                    (plan.from.blocked(), plan.from.plane(), plan.input.plane());
                for b in 0..plan.from.blocks() {
                    for m in 0..count {
                        let from = &x[(first + m) * image + b * size..][..size];
                        let to = &mut to[(b * plan.group + m) * plane..][..plane];
                        pack(level, from, plan.from.width, &plain, &plan.input, to);
                    }
                }
            };
            let pack_delta = |first: usize, count: usize, to: &mut [f32]| {
                let (image, size, plane) = (plan.to.blocked(), plan.to.plane(), plan.delta.plane());
                for b in 0..plan.to.blocks() {
                    for m in 0..count {
                        let from = &dz[(first + m) * image + b * size..][..size];
                        let to = &mut to[(b * plan.group + m) * plane..][..plane];
                        pack(level, from, plan.to.width, &plain, &plan.delta, to);
                    }
                }
            };
            timed(0, &mut || {
                for (first, count) in groups() {
                    pack_input(first, count, input);
                    let image = plan.to.blocked();
                    let of = Correlation {
                        sweep: &plan.forward,
                        images: count,
                        input: packed_input(c, input),
                        weights,
                        taps: plan.taps,
                        out_blocks: plan.to.blocks(),
                        out_image: image,
                        out_block: plan.to.plane(),
                        bias: None,
                        add: Add::Nothing,
                        relu: true,
                        mask: None,
                        ahead: [&[]; 4],
                    };
                    let y = &mut y[first * image..(first + count) * image];
                    if plan.tiles {
                        f32::sweep_tiles(level, of, &mut scratch, y);
                    } else {
                        f32::sweep(level, of, y);
                    }
                }
            });
            timed(1, &mut || {
                for (first, count) in groups() {
                    pack_delta(first, count, delta);
                    for sweep in &plan.backward {
                        if plan.planar() {
                            let image = plan.from.len();
                            let of = Planar {
                                sweep,
                                images: count,
                                delta: packed_delta(c, delta),
                                weights,
                                taps: plan.taps,
                                planes: plan.from.channels,
                                out_image: image,
                                out_plane: plan.from.height * plan.from.width,
                            };
                            f32::planar(level, of, &mut gx[first * image..(first + count) * image]);
                            continue;
                        }
                        let image = plan.from.blocked();
                        let of = Correlation {
                            sweep,
                            images: count,
                            input: packed_delta(c, delta),
                            weights,
                            taps: plan.taps,
                            out_blocks: plan.from.blocks(),
                            out_image: image,
                            out_block: plan.from.plane(),
                            bias: None,
                            add: Add::Nothing,
                            relu: false,
                            mask: None,
                            ahead: [&[]; 4],
                        };
                        let gx = &mut gx[first * image..(first + count) * image];
                        if plan.tiles {
                            f32::sweep_tiles(level, of, &mut scratch, gx);
                        } else {
                            f32::sweep(level, of, gx);
                        }
                    }
                }
            });
            timed(2, &mut || {
                for (first, count) in groups() {
                    pack_input(first, count, input);
                    pack_delta(first, count, delta);
                    let of = Outer {
                        sweep: &plan.forward,
                        images: count,
                        input: packed_input(c, input),
                        delta: packed_delta(c, delta),
                        delta_start: delta_start(c),
                        delta_row: plan.delta.row(),
                    };
                    if plan.tiles {
                        f32::outer_tiles(level, of, false, &mut scratch, gw);
                    } else {
                        f32::outer(level, of, gw);
                    }
                }
            });
        }
        best
    }
}

//! How a convolution is carried out: packings and sweeps, worked out once for a filter and an
//! image.
//!
//! Forward, output pixel (r, c) reads input pixels (s r + k − p, s c + l − p). Backward, input pixel
//! y = s q + e (e its residue) gets from output rows q + (e + p − k)/s, for the k that make this
//! whole; these offsets are the same for all q, which makes one sweep for each residue.
#![allow(missing_docs, reason = "public for the tests of this crate alone")]

use crate::conv::shape::{ConvShape, Window};
use crate::kernel::conv::winograd::{self, POINTS, SIDE};
use crate::kernel::conv::{BLOCK, Packing, Sweep, Tap};

/// Pixels a group of images should have: enough to pay for loading a tile of weights.
const GROUP_PIXELS: usize = 512;
/// The most images in a group.
const GROUP_IMAGES: usize = 8;
/// The most pixels and images in a group that goes by tiles.
const TILED_PIXELS: usize = 1600;
const TILED_IMAGES: usize = 28;

#[derive(Clone, Debug)]
pub struct ConvPlan {
    pub from: ConvShape,
    pub to: ConvShape,
    pub taps: usize,
    /// Whether 3×3 tiles can be swept by Winograd's transform, both ways.
    pub tiles: bool,
    /// Images packed together.
    pub group: usize,
    /// The input with its border.
    pub input: Packing,
    pub forward: Sweep,
    /// The outputs' gradient with its border.
    pub delta: Packing,
    pub backward: Vec<Sweep>,
}

impl ConvPlan {
    /// `planar`: the input comes by planes, one number a pixel.
    pub fn new(from: ConvShape, to: ConvShape, window: Window, planar: bool) -> Self {
        let Window { size: (tall, wide), stride, padding } = window;
        let pixel = if planar { 1 } else { BLOCK };
        let tiles = window.size == (3, 3) && stride == 1 && padding <= 2 && !planar;
        // Tiles read two pixels more than they write, whole tiles only.
        let cover = |outputs: usize| if tiles { outputs.next_multiple_of(SIDE) } else { 0 };
        let whole = |outputs: usize| if tiles { cover(outputs) + 2 } else { 0 };
        let input = Packing {
            pixel,
            stride,
            top: padding,
            left: padding,
            rows: ((to.height - 1) * stride + tall).max(whole(to.height)),
            run: ((to.width - 1) * stride + wide).div_ceil(stride).max(whole(to.width)),
            read: if planar { stride } else { tall.max(wide).min(stride) },
        };
        let taps = (0..tall * wide).map(|weight| {
            let (k, l) = (weight / wide, weight % wide);
            let run = (l % stride) * input.run + l / stride;
            Tap { input: k * input.row() + run * pixel, weight }
        });
        let forward = Sweep {
            taps: taps.collect(),
            rows: to.height,
            columns: to.width,
            input_row: stride * input.row(),
            start: 0,
            row: to.width * BLOCK,
            pixel: BLOCK,
        };
        let rows = Residues::new(from.height, to.height, tall, stride, padding);
        let columns = Residues::new(from.width, to.width, wide, stride, padding);
        let delta = Packing {
            pixel: BLOCK,
            stride: 1,
            top: rows.before,
            left: columns.before,
            rows: rows.total.max(whole(from.height)).max(rows.before + cover(to.height)),
            run: columns.total.max(whole(from.width)).max(columns.before + cover(to.width)),
            read: 1,
        };
        let mut backward = Vec::new();
        for e in 0..stride.min(from.height) {
            for f in 0..stride.min(from.width) {
                let mut taps = Vec::new();
                for (k, down) in rows.taps(e) {
                    for (l, right) in columns.taps(f) {
                        let input = down * delta.row() + right * BLOCK;
                        taps.push(Tap { input, weight: k * wide + l });
                    }
                }
                backward.push(Sweep {
                    taps,
                    rows: (from.height - e).div_ceil(stride),
                    columns: (from.width - f).div_ceil(stride),
                    input_row: delta.row(),
                    start: (e * from.width + f) * pixel,
                    row: stride * from.width * pixel,
                    pixel: stride * pixel,
                });
            }
        }
        let group = group(to, tiles);
        Self { from, to, taps: tall * wide, tiles, group, input, forward, delta, backward }
    }

    pub fn planar(&self) -> bool {
        self.input.pixel == 1
    }

    /// Blocks (or planes) of the input.
    pub fn in_blocks(&self) -> usize {
        self.from.channels.div_ceil(self.input.pixel)
    }

    /// Numbers of a packed group of inputs.
    pub fn packed_input(&self) -> usize {
        self.group * self.in_blocks() * self.input.plane()
    }

    /// Numbers of a packed group of gradients.
    pub fn packed_delta(&self) -> usize {
        self.group * self.to.blocks() * self.delta.plane()
    }

    /// Numbers of the weights transformed to points.
    pub fn points(&self) -> usize {
        if self.tiles { self.weights() / 9 * POINTS } else { 0 }
    }

    /// Scratch numbers of a forward and of a backward sweep by tiles, and of their weights' gradient.
    pub fn tile_scratch(&self) -> [usize; 3] {
        if !self.tiles {
            return [0; 3];
        }
        let (ins, outs) = (self.in_blocks(), self.to.blocks());
        [
            winograd::sweep_scratch(ins),
            winograd::sweep_scratch(outs),
            winograd::outer_scratch(ins, outs),
        ]
    }

    /// Multiplications of one image.
    pub fn multiplications(&self) -> usize {
        self.to.len() * self.from.channels * self.taps
    }

    /// Numbers of the packed weights.
    pub fn weights(&self) -> usize {
        self.to.blocks() * self.in_blocks() * self.taps * self.input.pixel * BLOCK
    }
}

/// Images that are worth being packed together: enough pixels, and tiles that fill their blocks.
fn group(to: ConvShape, tiles: bool) -> usize {
    let pixels = to.height * to.width;
    if !tiles {
        return (GROUP_PIXELS / pixels).clamp(1, GROUP_IMAGES);
    }
    let most = (TILED_PIXELS / pixels).clamp(1, TILED_IMAGES);
    let each = to.height.div_ceil(SIDE) * to.width.div_ceil(SIDE);
    let filled = |images: usize| {
        let tiles = images * each;
        tiles as f64 / tiles.next_multiple_of(winograd::RUN) as f64
    };
    // The fewest of those that fill best, with two runs at least.
    let least = (2 * winograd::RUN).div_ceil(each).min(most);
    (least..=most).rev().max_by(|&a, &b| filled(a).total_cmp(&filled(b))).unwrap_or(1)
}

/// The backward offsets along one axis.
struct Residues {
    window: usize,
    stride: usize,
    padding: usize,
    /// Zeros before the first output.
    before: usize,
    /// Outputs with the zeros around them.
    total: usize,
}

impl Residues {
    fn new(from: usize, to: usize, window: usize, stride: usize, padding: usize) -> Self {
        let mut axis = Self { window, stride, padding, before: 0, total: to };
        let offsets = |e: usize| {
            let axis = &axis;
            (0..window).filter_map(move |k| axis.offset(e, k))
        };
        let (mut before, mut after) = (0, to as isize);
        for e in 0..stride.min(from) {
            let last = ((from - e).div_ceil(stride) - 1) as isize;
            for offset in offsets(e) {
                before = before.max(-offset);
                after = after.max(last + offset + 1);
            }
        }
        axis.before = before as usize;
        axis.total = (before + after) as usize;
        axis
    }

    /// (e + p − k)/s if whole.
    fn offset(&self, e: usize, k: usize) -> Option<isize> {
        let n = e as isize + self.padding as isize - k as isize;
        (n.rem_euclid(self.stride as isize) == 0).then(|| n.div_euclid(self.stride as isize))
    }

    /// Window places k that reach residue e, and where they read.
    fn taps(&self, e: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let place = move |k| self.offset(e, k).map(|o| (k, (o + self.before as isize) as usize));
        (0..self.window).filter_map(place)
    }
}

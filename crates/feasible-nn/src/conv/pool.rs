//! Pooling: the largest or the mean of a window, and the way back.
//!
//! The largest is found again on the way back instead of being remembered; of equals the first one
//! in the window gets the gradient, as in PyTorch.

use std::ops::Range;

use feasible::Real;

use crate::conv::forward::Ask;
use crate::conv::graph::Pooling;
use crate::conv::shape::{ConvShape, Window};
use crate::conv::spread::{Cut, spread, strands};
use crate::conv::{ConvNet, ConvTape};
use crate::kernel::Kernels;
use crate::kernel::conv::planes::{Packing, Reading, pack};
use crate::kernel::conv::{BLOCK, planes::compiled};
use crate::simd::Level;

/// The pixels of an image that a window at (r, c) sees, as (pixel, …) ranges of rows and columns.
#[inline(always)]
fn seen(window: &Window, from: ConvShape, r: usize, c: usize) -> [Range<usize>; 2] {
    let along = |at: usize, size: usize, image: usize| {
        let start = at * window.stride;
        start.saturating_sub(window.padding)
            ..(start + size).saturating_sub(window.padding).min(image)
    };
    [along(r, window.size.0, from.height), along(c, window.size.1, from.width)]
}

/// Whether x is the larger one; NaN is larger than anything.
#[inline(always)]
fn takes_over<T: Real>(x: T, best: T) -> bool {
    x > best || x.partial_cmp(&x).is_none()
}

compiled! {
    /// One plane, from values.
    fn forward<T>(x: &[T], from: ConvShape, to: ConvShape, pooling: Pooling, window: &Window, y: &mut [T]) {
        let mean = T::ONE / T::from_f64((window.size.0 * window.size.1) as f64);
        for (place, y) in y.chunks_exact_mut(BLOCK).enumerate() {
            let [rows, columns] = seen(window, from, place / to.width, place % to.width);
            let mut best = [T::ZERO; BLOCK];
            let mut first = true;
            for r in rows {
                let line = &x[(r * from.width + columns.start) * BLOCK..(r * from.width + columns.end) * BLOCK];
                for x in line.chunks_exact(BLOCK) {
                    for i in 0..BLOCK {
                        best[i] = match pooling {
                            Pooling::Average => best[i] + x[i],
                            Pooling::Max if first || takes_over(x[i], best[i]) => x[i],
                            Pooling::Max => best[i],
                        };
                    }
                    first = false;
                }
            }
            for i in 0..BLOCK {
                y[i] = if pooling == Pooling::Average { best[i] * mean } else { best[i] };
            }
        }
    }

    /// Adds the gradient of one plane.
    fn backward<T>(x: &[T], from: ConvShape, to: ConvShape, pooling: Pooling, window: &Window, gy: &[T], gx: &mut [T]) {
        let mean = T::ONE / T::from_f64((window.size.0 * window.size.1) as f64);
        for (place, gy) in gy.chunks_exact(BLOCK).enumerate() {
            let [rows, columns] = seen(window, from, place / to.width, place % to.width);
            match pooling {
                Pooling::Average => {
                    for r in rows {
                        let line = (r * from.width + columns.start) * BLOCK..(r * from.width + columns.end) * BLOCK;
                        for gx in gx[line].chunks_exact_mut(BLOCK) {
                            for i in 0..BLOCK {
                                gx[i] += gy[i] * mean;
                            }
                        }
                    }
                }
                Pooling::Max => {
                    for i in 0..BLOCK {
                        let mut best = None;
                        for r in rows.clone() {
                            for c in columns.clone() {
                                let at = (r * from.width + c) * BLOCK + i;
                                if best.is_none_or(|b: usize| takes_over(x[at], x[b])) {
                                    best = Some(at);
                                }
                            }
                        }
                        if let Some(at) = best {
                            gx[at] += gy[i];
                        }
                    }
                }
            }
        }
    }
}

/// A plane without a border.
fn plain(shape: ConvShape) -> Packing {
    Packing {
        pixel: BLOCK,
        stride: 1,
        top: 0,
        left: 0,
        rows: shape.height,
        run: shape.width,
        read: 1,
    }
}

/// The values of a plane: as stored, or read into scratch memory.
fn values<'a, T: Kernels>(
    level: Level,
    stored: &'a [T],
    reading: &Reading<T>,
    shape: ConvShape,
    scratch: &'a mut [T],
) -> &'a [T] {
    if reading.is_plain() {
        return stored;
    }
    let scratch = &mut scratch[..shape.plane()];
    pack(level, stored, shape.width, reading, &plain(shape), scratch);
    scratch
}

impl<T: Kernels> ConvNet<T> {
    pub(crate) fn pool_forward(
        &self,
        number: usize,
        pooling: Pooling,
        window: Window,
        ask: Ask<'_, T>,
        images: Range<usize>,
        tape: &mut ConvTape<T>,
    ) {
        let node = &self.nodes[number];
        let Some(f) = node.from else { return };
        let (from, to, level) = (self.nodes[f].shape, node.shape, self.level);
        let slot = self.stored(ask.view, number);
        let mut out = std::mem::take(&mut tape.slots[slot]);
        let mut scratch = std::mem::take(&mut tape.slots[super::SCRATCH]);
        let stored = &tape.slots[self.stored(ask.view, f)][..];
        let coefficients = &tape.slots[self.coefficients(ask.view)][..];
        let work = |units: Range<usize>, [out]: [&mut [T]; 1], scratch: &mut [T]| {
            for b in 0..from.blocks() {
                let reading = self.reading(f, b, ask.mode, coefficients, false);
                for (m, image) in units.clone().enumerate() {
                    let x = &stored[image * from.blocked() + b * from.plane()..][..from.plane()];
                    let x = values(level, x, &reading, from, scratch);
                    let y = &mut out[m * to.blocked() + b * to.plane()..][..to.plane()];
                    forward(level, x, from, to, pooling, &window, y);
                }
            }
        };
        let strands = strands();
        let image = to.blocked();
        let data = out.place(ask.images() * image);
        let data = &mut data[images.start * image..images.end * image];
        let cuts = [Cut { data, unit: image }];
        let memory = scratch.place(strands * from.plane());
        spread(images, cuts, strands, memory, &work);
        tape.slots[slot] = out;
        tape.slots[super::SCRATCH] = scratch;
    }

    /// Adds (or writes, if nothing is there yet) a pooling's gradient to that of what it reads.
    pub(crate) fn pool_backward(
        &self,
        number: usize,
        pooling: Pooling,
        window: Window,
        ask: Ask<'_, T>,
        images: Range<usize>,
        tape: &mut ConvTape<T>,
    ) {
        let node = &self.nodes[number];
        let (Some(f), Some(part)) = (node.from, self.parts[number].from) else { return };
        let (from, to, level) = (self.nodes[f].shape, node.shape, self.level);
        let slot = super::GRADIENT + self.nodes[f].gradient;
        let own = self.origin(number, &images);
        let mut out = std::mem::take(&mut tape.slots[slot]);
        let mut scratch = std::mem::take(&mut tape.slots[super::SCRATCH]);
        let stored = &tape.slots[self.stored(ask.view, f)][..];
        let coefficients = &tape.slots[self.coefficients(ask.view)][..];
        let gradient = &tape.slots[super::GRADIENT + node.gradient][..];
        let work = |units: Range<usize>, [out]: [&mut [T]; 1], scratch: &mut [T]| {
            if part.first {
                out.fill(T::ZERO);
            }
            for b in 0..from.blocks() {
                let reading = self.reading(f, b, ask.mode, coefficients, false);
                for (m, image) in units.clone().enumerate() {
                    let x = &stored[image * from.blocked() + b * from.plane()..][..from.plane()];
                    let x = values(level, x, &reading, from, scratch);
                    let at = (image - own) * to.blocked() + b * to.plane();
                    let gy = &gradient[at..][..to.plane()];
                    let gx = &mut out[m * from.blocked() + b * from.plane()..][..from.plane()];
                    backward(level, x, from, to, pooling, &window, gy, gx);
                }
            }
        };
        let strands = strands();
        let data = self.gradient_of(f, ask, &images, &mut out);
        let cuts = [Cut { data, unit: from.blocked() }];
        let memory = scratch.place(strands * from.plane());
        spread(images, cuts, strands, memory, &work);
        tape.slots[slot] = out;
        tape.slots[super::SCRATCH] = scratch;
    }
}

//! The image: a row of the inputs, moved by its view, normalised, by planes with a border.

use feasible::{Batch, Real, ViewShift};

use crate::conv::shape::ConvShape;
use crate::kernel::conv::Packing;

/// Where the pixels of a row of inputs go.
pub(crate) struct Planes<'a> {
    pub(crate) shape: ConvShape,
    pub(crate) packing: &'a Packing,
    /// Mean and deviation per channel.
    pub(crate) normalisation: &'a [(f64, f64)],
    /// Numbers between planes.
    pub(crate) block: usize,
}

impl Planes<'_> {
    /// Writes one image.
    pub(crate) fn write<T: Real>(
        &self,
        batch: &Batch<'_>,
        view: usize,
        position: usize,
        to: &mut [T],
    ) {
        let ConvShape { channels, height, width } = self.shape;
        let row = batch.rows[position] as usize;
        let (d, inputs) = (self.shape.len(), batch.inputs);
        for c in 0..channels {
            let plane = &mut to[c * self.block..c * self.block + self.packing.plane()];
            plane.fill(T::ZERO);
        }
        let dense = inputs.dense_columns().len() == d;
        if dense {
            let pixels = inputs.dense_row(row);
            self.each_line(to, |from, line| {
                for (to, &x) in line.iter_mut().zip(&pixels[from..]) {
                    *to = T::from_f32(x);
                }
            });
        } else {
            let mut put = |column: u32, x: f32| {
                if let Some(at) = self.place(column as usize) {
                    to[at] = T::from_f32(x);
                }
            };
            for (&c, &x) in inputs.dense_columns().iter().zip(inputs.dense_row(row)) {
                put(c, x);
            }
            inputs.hot(row).iter().for_each(|&c| put(c, 1.0));
        }
        match view.checked_sub(1).map(|v| batch.shifts[v]) {
            None => {}
            Some(ViewShift::Sparse(shift)) => {
                for (c, delta) in shift.row(row) {
                    if let Some(at) = self.place(c as usize) {
                        to[at] += T::from_f32(delta);
                    }
                }
            }
            Some(ViewShift::Dense(deltas)) => {
                let deltas = &deltas[position * d..(position + 1) * d];
                self.each_line(to, |from, line| {
                    for (to, &x) in line.iter_mut().zip(&deltas[from..]) {
                        *to += T::from_f32(x);
                    }
                });
            }
        }
        self.each_line(to, |from, line| {
            let (mean, deviation) = self.normalisation[from / (height * width)];
            let (mean, factor) = (T::from_f64(mean), T::from_f64(1.0 / deviation));
            for x in line {
                *x = (*x - mean) * factor;
            }
        });
    }

    /// Calls `f` with the number of the first column of every row of pixels, and with their places.
    /// With a stride the pixels of a row are not neighbours, and `f` is called for each.
    fn each_line<T: Real>(&self, to: &mut [T], mut f: impl FnMut(usize, &mut [T])) {
        let ConvShape { channels, height, width } = self.shape;
        let packing = self.packing;
        let (rows, columns) =
            (height.min(packing.rows.saturating_sub(packing.top)), packing.columns(width));
        for c in 0..channels {
            for y in 0..rows {
                let at = c * self.block + (y + packing.top) * packing.row();
                let from = (c * height + y) * width;
                if packing.stride == 1 {
                    f(from, &mut to[at + packing.left..at + packing.left + columns]);
                } else {
                    for x in 0..columns {
                        let at = at + packing.column(x);
                        f(from + x, &mut to[at..at + 1]);
                    }
                }
            }
        }
    }

    /// The place of a column of the inputs; none if no window ever sees it.
    fn place(&self, column: usize) -> Option<usize> {
        let ConvShape { height, width, .. } = self.shape;
        let (c, y, x) = (column / (height * width), column / width % height, column % width);
        let inside = y + self.packing.top < self.packing.rows && x < self.packing.columns(width);
        let row = (y + self.packing.top) * self.packing.row();
        inside.then(|| c * self.block + row + self.packing.column(x))
    }
}

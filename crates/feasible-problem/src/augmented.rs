//! Training images moved about, as a view: x' = placed(x), anew in every epoch, and the adversary on top of it.
//!
//! Where an image is placed is a function of (seed, epoch, sample), see
//! [`Augmentation`]. The adversary then looks at x' as if it were the image: x' + δ is in its ball around
//! x' and in the box. Only training sees this view; everything is measured on the images as they are. A loss
//! between two views compares with the image as it is.

use std::sync::Arc;

use feasible::adversary::Adversary;
use feasible::{Adaptive, Inputs, Probe, Samples, TrainingPlace};
use feasible_data::image::{Augmentation, ImageShape};

/// The view of augmented images, attacked or not. See the [module](self).
#[derive(Clone, Debug)]
pub struct Augmented {
    /// How images are moved.
    pub augmentation: Augmentation,
    /// The size of an image.
    pub shape: ImageShape,
    /// Who attacks them there.
    pub adversary: Option<Arc<Adversary>>,
}

impl Adaptive for Augmented {
    fn shift(&self, probe: &mut dyn Probe, place: TrainingPlace, shift: &mut [f32]) {
        let d = self.shape.len();
        let (mut x, mut moved) = (vec![0.0; d], vec![0.0; shift.len()]);
        let (samples, rows) = (probe.samples(), probe.rows());
        let each = rows.iter().zip(moved.chunks_exact_mut(d)).zip(shift.chunks_exact_mut(d));
        for ((&row, moved), shift) in each {
            samples.inputs().write_row(row as usize, &mut x);
            let id = samples.ids()[row as usize];
            self.augmentation.place(place.epoch, id).apply(self.shape, &x, moved);
            for ((shift, to), from) in shift.iter_mut().zip(&*moved).zip(&x) {
                *shift = to - from;
            }
        }
        let Some(adversary) = &self.adversary else { return };
        let ids = rows.iter().map(|&row| samples.ids()[row as usize]).collect();
        let targets = samples.targets().chosen(rows.iter().map(|&row| row as usize));
        // Pixels of a checked batch, so this cannot fail; if it did, the images stay as they are placed.
        let Ok(batch) = Inputs::dense(moved, d).and_then(|x| Samples::with_ids(x, targets, ids))
        else {
            return;
        };
        let rows: Vec<u32> = (0..rows.len() as u32).collect();
        let mut delta = vec![0.0; shift.len()];
        let mut there = There { probe, base: shift, batch: &batch, rows: &rows, total: Vec::new() };
        adversary.shift(&mut there, place, &mut delta);
        for (shift, delta) in shift.iter_mut().zip(delta) {
            *shift += delta;
        }
    }
}

/// The model as seen from the moved images.
struct There<'a> {
    probe: &'a mut dyn Probe,
    /// What moves each image of the batch to where it is placed.
    base: &'a [f32],
    batch: &'a Samples,
    rows: &'a [u32],
    total: Vec<f32>,
}

impl There<'_> {
    fn add(&mut self, positions: &[u32], shift: &[f32]) {
        let d = self.batch.inputs().width();
        self.total.clear();
        for (&p, shift) in positions.iter().zip(shift.chunks_exact(d)) {
            let base = &self.base[p as usize * d..(p as usize + 1) * d];
            self.total.extend(base.iter().zip(shift).map(|(base, delta)| base + delta));
        }
    }
}

impl Probe for There<'_> {
    fn samples(&self) -> &Samples {
        self.batch
    }

    fn rows(&self) -> &[u32] {
        self.rows
    }

    fn output_width(&self) -> usize {
        self.probe.output_width()
    }

    fn outputs(&mut self, shift: &[f32]) -> &[f32] {
        self.add(self.rows, shift);
        self.probe.outputs(&self.total)
    }

    fn outputs_at(&mut self, positions: &[u32], shift: &[f32]) -> &[f32] {
        self.add(positions, shift);
        self.probe.outputs_at(positions, &self.total)
    }

    fn input_gradient(&mut self, seeds: &[f32], gradient: &mut [f32]) {
        self.probe.input_gradient(seeds, gradient);
    }
}

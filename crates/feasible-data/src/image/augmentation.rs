//! Mirroring and padded crops: training images moved about so that a network cannot learn them
//! by heart.
//!
//! Where an image is placed is a function of (seed, epoch, sample id) alone, so that it does not
//! depend on batches, threads or interruptions:
//!
//! ```text
//! out[c, y, x] = in[c, y + down, x' + right],   x' = W − 1 − x if mirrored, else x,
//! ```
//!
//! and 0 outside; `down` and `right` are uniform on −pad, …, pad. This is padding all sides by
//! `pad` black pixels, cutting out H × W at random, and mirroring half of the images.
//!
//! ```
//! use feasible_data::image::{Augmentation, ImageShape};
//! let shape = ImageShape { channels: 1, height: 1, width: 3 };
//! let augmentation = Augmentation { mirror: true, pad: 1, seed: 7 };
//! let placement = augmentation.place(0, 42);
//! let mut out = [0; 3];
//! placement.apply(shape, &[1, 2, 3], &mut out);
//! assert_eq!(placement, augmentation.place(0, 42));
//! ```

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use super::images::ImageShape;

/// How images are moved about. The default leaves them alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Augmentation {
    /// Whether half of the images are mirrored left to right. Default no.
    pub mirror: bool,
    /// Black pixels added to every side before a crop of the old size. Default 0.
    pub pad: u16,
    /// Default 0.
    pub seed: u64,
}

/// Where one image goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Whether it is mirrored left to right.
    pub mirrored: bool,
    /// Rows by which the crop is lower than the image.
    pub down: i32,
    /// Columns by which the crop is further right than the image.
    pub right: i32,
}

impl Augmentation {
    /// Where sample `id` goes in `epoch`.
    pub fn place(&self, epoch: u64, id: u64) -> Placement {
        // A key of its own, in the layout of `feasible::Stream`: no purpose there is this word.
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key[8..16].copy_from_slice(b"augment\0");
        key[16..24].copy_from_slice(&epoch.to_le_bytes());
        key[24..].copy_from_slice(&id.to_le_bytes());
        let mut random = ChaCha8Rng::from_seed(key);
        let coin = random.next_u32() >> 31 == 1;
        let choices = 2 * u64::from(self.pad) + 1;
        let mut offset = || {
            let draw = (u64::from(random.next_u32()) * choices) >> 32;
            draw as i32 - i32::from(self.pad)
        };
        let (down, right) = (offset(), offset());
        Placement { mirrored: self.mirror && coin, down, right }
    }
}

impl Placement {
    /// Writes the image `pixels` to `out` as placed; both have `shape.len()` entries, row-major
    /// C × H × W, in u8 or as a model sees them.
    ///
    /// # Panics
    /// If they have not.
    pub fn apply<T: Copy + Default>(&self, shape: ImageShape, pixels: &[T], out: &mut [T]) {
        assert!(pixels.len() == shape.len() && out.len() == shape.len(), "images of {shape}");
        let (height, width) = (shape.height as i32, shape.width as i32);
        for (to, out_row) in out.chunks_exact_mut(shape.width).enumerate() {
            let (channel, y) = (to / shape.height, (to % shape.height) as i32 + self.down);
            if !(0..height).contains(&y) {
                out_row.fill(T::default());
                continue;
            }
            let start = (channel * shape.height + y as usize) * shape.width;
            let row = &pixels[start..start + shape.width];
            for (x, value) in out_row.iter_mut().enumerate() {
                let x = if self.mirrored { width - 1 - x as i32 } else { x as i32 } + self.right;
                *value = if (0..width).contains(&x) { row[x as usize] } else { T::default() };
            }
        }
    }
}

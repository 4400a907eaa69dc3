//! Convolutions of images whose channels come in blocks of 16.
//!
//! A batch of images is `[image][block][row][column][16]`: the 16 channels of a block at one pixel
//! are one cache line and one AVX-512 vector. Before a convolution reads a few images they are
//! *packed* with their zero border, `[block][image][row][column][16]`, so that no kernel knows of
//! borders; with stride s the columns of a row are dealt to s runs (0, s, 2s, …; 1, s + 1, …), so
//! that neighbours in the output read neighbours in the input whatever the stride. An image with
//! few channels (the network's input) is packed by planes instead, one number a pixel.
//!
//! A convolution is then a [`Sweep`]: for every output pixel the sum over taps
//!
//! $$ y_{o}(r, c) = \sum_{t} \sum_{i} w_{o i t}\, x_{i}\big(\text{at}(r, c) + \text{tap}_t\big) $$
//!
//! with the same tap offsets everywhere. The gradient with respect to x is the same sum with the
//! roles of o and i exchanged, one sweep for each residue of the pixel modulo the stride. The
//! gradient with respect to w sums products over pixels instead of over channels: [`Outer`].

pub mod activate;
pub mod outer;
pub mod planar;
pub(crate) mod planes;
pub mod sweep;
pub mod winograd;

pub use activate::Activated;
pub use outer::Outer;
pub use planar::Planar;
pub(crate) use planes::Packing;
pub use sweep::Correlation;

/// Channels in a block.
pub const BLOCK: usize = 16;

/// One term of a sweep: where it reads, from the pixel's place on, and which weights it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tap {
    /// Numbers from the place of the pixel.
    pub input: usize,
    /// Which of the packed taps.
    pub weight: usize,
}

/// Output pixels on a regular grid, all reading their inputs at the same taps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// The taps, in the order of summation.
    pub taps: Vec<Tap>,
    /// Output rows per image.
    pub rows: usize,
    /// Output columns.
    pub columns: usize,
    /// Numbers between the places of pixels one output row apart. Pixels one output column apart
    /// are one packed pixel apart.
    pub input_row: usize,
    /// Where the first output pixel is in its image's block.
    pub start: usize,
    /// Numbers between output rows.
    pub row: usize,
    /// Numbers between output columns.
    pub pixel: usize,
}

impl Sweep {
    /// The last pixel of an image's block that it writes.
    #[doc(hidden)]
    pub fn last_out(&self) -> Option<usize> {
        last(self.start, &[(self.rows, self.row), (self.columns, self.pixel)])
    }

    /// The last pixel it reads in a packed image of `pixel` numbers a pixel.
    fn last_input(&self, pixel: usize) -> Option<usize> {
        let tap = self.taps.iter().map(|t| t.input).max().unwrap_or(0);
        last(tap, &[(self.rows, self.input_row), (self.columns, pixel)])
    }
}

/// Where the last of regularly placed numbers is: from `start`, (count − 1) · stride for each pair. `None` if a count is 0
/// or the place is beyond what an index can say, which a sum that wraps around would hide.
fn last(start: usize, steps: &[(usize, usize)]) -> Option<usize> {
    steps.iter().try_fold(start, |place, &(count, stride)| {
        place.checked_add(count.checked_sub(1)?.checked_mul(stride)?)
    })
}

/// Whether `width` numbers from a place on lie inside of `len`.
fn inside(place: Option<usize>, width: usize, len: usize) -> bool {
    place.and_then(|place| place.checked_add(width)).is_some_and(|end| end <= len)
}

/// The product of some counts, if it can be counted.
#[doc(hidden)]
pub fn product(counts: &[usize]) -> Option<usize> {
    counts.iter().try_fold(1_usize, |product, &count| product.checked_mul(count))
}

/// Packed images.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a, T> {
    /// The numbers, `[block][image]…`.
    pub data: &'a [T],
    /// Channels.
    pub channels: usize,
    /// Numbers a pixel: 16, or 1 for planes.
    pub pixel: usize,
    /// Numbers between images.
    pub image: usize,
    /// Numbers between blocks.
    pub block: usize,
}

impl<T> Packed<'_, T> {
    /// How many blocks (or planes).
    pub fn blocks(&self) -> usize {
        self.channels.div_ceil(self.pixel)
    }

    /// A place in an image, in the last block of the last of `images`.
    fn last_plane(&self, images: usize, place: usize) -> Option<usize> {
        last(place, &[(self.blocks(), self.block), (images, self.image)])
    }

    /// Whether a sweep over `images` of them stays inside.
    #[doc(hidden)]
    pub fn holds(&self, sweep: &Sweep, images: usize) -> bool {
        let input = sweep.last_input(self.pixel);
        let place = input.and_then(|input| self.last_plane(images, input));
        inside(place, self.pixel, self.data.len())
    }

    /// Whether 6×6 tiles four pixels apart, `size` of them an image, stay inside.
    #[doc(hidden)]
    pub fn holds_tiles(&self, row: usize, size: (usize, usize), images: usize) -> bool {
        // A tile reads two rows and columns more than it writes.
        let reads = |tiles: usize| tiles.checked_mul(winograd::SIDE)?.checked_add(2);
        let place = || last(0, &[(reads(size.0)?, row), (reads(size.1)?, BLOCK)]);
        let place = place().and_then(|place| self.last_plane(images, place));
        inside(place, BLOCK, self.data.len()) && product(&[images, size.0, size.1]).is_some()
    }
}

/// Column runs of a row: as many of the widest tile as fit.
fn tile_width(columns: usize, at: usize) -> usize {
    let left = columns - at;
    if columns.is_multiple_of(7) {
        7
    } else if columns.is_multiple_of(4) {
        4
    } else if left >= 7 {
        7
    } else if left >= 4 {
        4
    } else {
        1
    }
}

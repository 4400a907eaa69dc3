//! Sizes: of images, and of the filters that go over them.

use feasible::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::kernel::conv::BLOCK;
use crate::shape::{positive, product};

/// The longest side of an image, a window or a border, and the longest stride.
const LONGEST: usize = 1 << 16;
/// The most pixels of a window.
const WIDEST: usize = 1 << 24;

/// channels × height × width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConvShape {
    /// Channels.
    pub channels: usize,
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
}

impl ConvShape {
    /// channels × height × width.
    pub fn new(channels: usize, height: usize, width: usize) -> Self {
        Self { channels, height, width }
    }

    /// Numbers of an image.
    pub fn len(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn check(&self, what: &str) -> Result<()> {
        positive(&format!("channels of {what}"), self.channels)?;
        positive(&format!("height of {what}"), self.height)?;
        positive(&format!("width of {what}"), self.width)?;
        let pixels = [self.height, self.width, BLOCK];
        product(&format!("numbers of {what}"), &pixels)?;
        product(&format!("numbers of {what}"), &[self.blocks(), self.plane()]).map(drop)
    }

    #[doc(hidden)]
    pub fn blocks(&self) -> usize {
        self.channels.div_ceil(BLOCK)
    }

    /// Numbers of one block of an image.
    #[doc(hidden)]
    pub fn plane(&self) -> usize {
        self.height * self.width * BLOCK
    }

    /// Numbers of an image in blocks.
    #[doc(hidden)]
    pub fn blocked(&self) -> usize {
        self.blocks() * self.plane()
    }
}

/// A window that goes over an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Rows and columns it sees.
    pub size: (usize, usize),
    /// Pixels between its places.
    pub stride: usize,
    /// Border of zeros (of nothing, for pooling) around the image.
    pub padding: usize,
}

impl Window {
    /// `size` × `size`, one pixel at a time, no border.
    pub fn new(size: usize) -> Self {
        Self { size: (size, size), stride: 1, padding: 0 }
    }

    /// Pixels between places.
    pub fn stride(self, stride: usize) -> Self {
        Self { stride, ..self }
    }

    /// Border.
    pub fn padding(self, padding: usize) -> Self {
        Self { padding, ..self }
    }

    /// How many places it has on an image, (rows, columns).
    #[doc(hidden)]
    pub fn places(&self, of: ConvShape, what: &str) -> Result<(usize, usize)> {
        positive(&format!("height of the window of {what}"), self.size.0)?;
        positive(&format!("width of the window of {what}"), self.size.1)?;
        positive(&format!("stride of {what}"), self.stride)?;
        for (side, length) in [
            ("height of the window", self.size.0),
            ("width of the window", self.size.1),
            ("stride", self.stride),
            ("border", self.padding),
        ] {
            let allowed = format!("at most {LONGEST}");
            Error::unless(
                length <= LONGEST,
                &format!("{side} of {what}"),
                length as f64,
                &allowed,
            )?;
        }
        let pixels = self.size.0 * self.size.1;
        let allowed = format!("at most {WIDEST}");
        let window = format!("pixels of the window of {what}");
        Error::unless(pixels <= WIDEST, &window, pixels as f64, &allowed)?;
        let (tall, wide) = (of.height + 2 * self.padding, of.width + 2 * self.padding);
        product(&format!("numbers of the input of {what}"), &[of.blocks() * BLOCK, tall, wide])?;
        let along = |size: usize, image: usize| {
            let room = image + 2 * self.padding;
            if size > room || self.padding >= size {
                return Err(Error::Shape {
                    what: format!("window of {what}"),
                    expected: format!(
                        "larger than its border ({}) and no larger than the image with it ({room})",
                        self.padding
                    ),
                    found: size,
                });
            }
            Ok((room - size) / self.stride + 1)
        };
        Ok((along(self.size.0, of.height)?, along(self.size.1, of.width)?))
    }
}

//! Images of one size with their labels, checked.

use std::fmt;

use feasible::{Inputs, Samples, Targets};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::ImageError;
use super::identity::{Identity, hex};
use crate::error::Result;

/// Channels × height × width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageShape {
    /// 1 for grey, 3 for red, green, blue.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Pixels of a row.
    pub width: usize,
}

impl ImageShape {
    /// Pixel values of one image.
    pub fn len(self) -> usize {
        self.channels * self.height * self.width
    }

    /// Whether an image has no pixel.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl fmt::Display for ImageShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {} × {}", self.channels, self.height, self.width)
    }
}

/// Images of one size with their labels. Every label is a class, every image is whole, and there
/// is at least one. Pixels are u8, an image after the other, each row-major C × H × W.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Images {
    shape: ImageShape,
    pixels: Vec<u8>,
    labels: Vec<u32>,
    classes: Vec<String>,
    identity: Identity,
}

impl Images {
    /// Images from memory.
    ///
    /// # Errors
    /// No image, a size of zero, pixels that are no whole number of images, as many labels as
    /// images, or a label that is no class.
    pub fn new(
        shape: ImageShape,
        pixels: Vec<u8>,
        labels: Vec<u32>,
        classes: Vec<String>,
        identity: Identity,
    ) -> Result<Self> {
        let name = || identity.name.clone();
        if shape.is_empty() || labels.is_empty() {
            let reason = format!("has {} images of {shape} pixels: nothing to learn", labels.len());
            return Err(ImageError::Nothing { place: name(), reason }.into());
        }
        if pixels.len() != labels.len().saturating_mul(shape.len()) {
            return Err(ImageError::Counts {
                images_file: name(),
                images: pixels.len() / shape.len(),
                labels_file: name(),
                labels: labels.len(),
            }
            .into());
        }
        check_labels(&identity.name, &labels, classes.len())?;
        Ok(Self { shape, pixels, labels, classes, identity })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Never: there is at least one.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The size of each.
    pub fn shape(&self) -> ImageShape {
        self.shape
    }

    /// The pixels of image `row`, row-major C × H × W.
    pub fn pixels(&self, row: usize) -> &[u8] {
        &self.pixels[row * self.shape.len()..(row + 1) * self.shape.len()]
    }

    /// The class of every image.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// The names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Which files they came from.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// SHA-256 of shape, class names, labels and pixels: equal images have equal hashes, whatever
    /// files they came in.
    pub fn sha256(&self) -> String {
        let mut digest = Sha256::new();
        let mut number = |n: usize| digest.update((n as u64).to_le_bytes());
        let ImageShape { channels, height, width } = self.shape;
        [channels, height, width, self.len(), self.classes.len()].into_iter().for_each(&mut number);
        for class in &self.classes {
            digest.update((class.len() as u64).to_le_bytes());
            digest.update(class.as_bytes());
        }
        for label in &self.labels {
            digest.update(label.to_le_bytes());
        }
        digest.update(&self.pixels);
        hex(&digest.finalize())
    }

    /// The images of some rows as a model takes them: x/255 in row-major C × H × W; ids are the
    /// row numbers.
    ///
    /// # Errors
    /// Rows that do not exist or are repeated.
    pub fn samples(&self, rows: &[u32]) -> Result<Samples> {
        let inputs = self.inputs(rows)?;
        let labels = rows.iter().map(|&row| self.labels[row as usize]).collect();
        let ids = rows.iter().map(|&row| u64::from(row)).collect();
        Ok(Samples::with_ids(inputs, Targets::Classes(labels), ids)?)
    }

    /// The pixels of some rows as a model takes them, without their labels.
    ///
    /// # Errors
    /// Rows that do not exist.
    pub fn inputs(&self, rows: &[u32]) -> Result<Inputs> {
        self.check_rows(rows)?;
        let mut values = Vec::with_capacity(rows.len() * self.shape.len());
        for &row in rows {
            values.extend(self.pixels(row as usize).iter().map(|&x| unit(x)));
        }
        Ok(Inputs::dense(values, self.shape.len())?)
    }

    /// A number for the pixels of an image, from its SHA-256: equal images have equal ones, different
    /// images hardly ever (48 bits, so that it is exact as an `f64`).
    pub fn digest(&self, row: usize) -> f64 {
        let digest = Sha256::digest(self.pixels(row));
        digest[..6].iter().fold(0.0, |sum, &byte| 256.0 * sum + f64::from(byte))
    }

    /// The mean pixel of an image, in \[0, 1\].
    pub fn brightness(&self, row: usize) -> f64 {
        let sum: u64 = self.pixels(row).iter().map(|&x| u64::from(x)).sum();
        sum as f64 / (255 * self.shape.len()) as f64
    }

    /// Some of the images, in the order of `rows`.
    ///
    /// # Errors
    /// Rows that do not exist, or none.
    pub fn select(&self, rows: &[u32]) -> Result<Self> {
        self.check_rows(rows)?;
        let pixels = rows.iter().flat_map(|&row| self.pixels(row as usize)).copied().collect();
        let labels = rows.iter().map(|&row| self.labels[row as usize]).collect();
        Self::new(self.shape, pixels, labels, self.classes.clone(), self.identity.clone())
    }

    /// These images and then those.
    ///
    /// # Errors
    /// Different sizes or classes.
    pub(super) fn then(mut self, other: Self) -> Result<Self> {
        if self.shape != other.shape {
            return Err(ImageError::Sizes {
                file: other.identity.name,
                found: other.shape,
                first: self.identity.name,
                expected: self.shape,
            }
            .into());
        }
        self.pixels.extend(other.pixels);
        self.labels.extend(other.labels);
        self.identity = self.identity.join(other.identity);
        check_labels(&self.identity.name, &self.labels, self.classes.len())?;
        Ok(self)
    }

    pub(super) fn check_rows(&self, rows: &[u32]) -> Result<()> {
        match rows.iter().find(|&&row| row as usize >= self.len()) {
            Some(&row) => Err(ImageError::Row { row, rows: self.len() }.into()),
            None => Ok(()),
        }
    }

    pub(super) fn named(mut self, name: &str) -> Self {
        self.identity.name = name.to_string();
        self
    }
}

/// A pixel as a model sees it.
#[inline(always)]
pub(super) fn unit(pixel: u8) -> f32 {
    f32::from(pixel) / 255.0
}

pub(super) fn check_labels(file: &str, labels: &[u32], classes: usize) -> Result<()> {
    match labels.iter().position(|&label| label as usize >= classes) {
        Some(image) => {
            let (file, label) = (file.to_string(), labels[image]);
            Err(ImageError::Label { file, image, label, classes }.into())
        }
        None => Ok(()),
    }
}

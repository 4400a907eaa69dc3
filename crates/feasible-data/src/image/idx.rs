//! IDX files, the format of MNIST: a big-endian header, then bytes.
//!
//! | offset | images | labels |
//! | --- | --- | --- |
//! | 0 | 0x00000803: u8, three dimensions | 0x00000801: u8, one dimension |
//! | 4 | number of images | number of labels |
//! | 8, 12 | height, width | |
//! | then | one byte per pixel, row by row | one byte per label |
//!
//! Plain, gzip or zstd, as the first bytes of the file say, not its name.

use std::io::Read;
use std::path::Path;

use super::error::ImageError;
use super::identity::{FileHash, Hashed, Identity};
use super::images::{ImageShape, Images, check_labels};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::source::ByteSource;

const IMAGES: u32 = 0x0000_0803;
const LABELS: u32 = 0x0000_0801;

/// Images and their labels from two IDX files; `classes` names the labels.
///
/// # Errors
/// Wrong magic numbers, truncated files, counts that disagree, labels out of range.
pub fn read(images: &Path, labels: &Path, classes: &[&str]) -> Result<Images> {
    read_sources(ByteSource::Path(images), ByteSource::Path(labels), classes)
}

/// As [`read`], from bytes in memory with names that stand for the files.
///
/// # Errors
/// As [`read`].
pub fn from_bytes(
    images: (&str, &[u8]),
    labels: (&str, &[u8]),
    classes: &[&str],
) -> Result<Images> {
    let source = |(name, bytes)| ByteSource::Bytes { name, bytes };
    read_sources(source(images), source(labels), classes)
}

fn read_sources(
    images: ByteSource<'_>,
    labels: ByteSource<'_>,
    classes: &[&str],
) -> Result<Images> {
    let (image_file, label_file) = (images.name(), labels.name());
    let ([count, height, width], pixels, image_hash) = content(images, IMAGES, "IDX images")?;
    let ([label_count], label_bytes, label_hash) = content(labels, LABELS, "IDX labels")?;
    if count != label_count {
        return Err(ImageError::Counts {
            images_file: image_file,
            images: count,
            labels_file: label_file,
            labels: label_count,
        }
        .into());
    }
    let labels: Vec<u32> = label_bytes.into_iter().map(u32::from).collect();
    check_labels(&label_file, &labels, classes.len())?;
    let files =
        vec![FileHash::new(&image_file, image_hash), FileHash::new(&label_file, label_hash)];
    let classes = classes.iter().map(ToString::to_string).collect();
    let shape = ImageShape { channels: 1, height, width };
    Images::new(shape, pixels, labels, classes, Identity::new(&image_file, files))
}

/// Dimensions, bytes and SHA-256 of one file.
fn content<const D: usize>(
    source: ByteSource<'_>,
    magic: u32,
    what: &'static str,
) -> Result<([usize; D], Vec<u8>, String)> {
    let file = source.name();
    let mut reader = Hashed::new(source.bytes(&Limits::default())?);
    let mut header = vec![0; 4 * (D + 1)];
    let mut got = 0;
    while got < header.len() {
        match reader.read(&mut header[got..]).map_err(Error::io(&file))? {
            0 => break,
            n => got += n,
        }
    }
    let word = |at: usize| {
        let bytes = [header[4 * at], header[4 * at + 1], header[4 * at + 2], header[4 * at + 3]];
        u32::from_be_bytes(bytes)
    };
    // A file that begins wrongly is the wrong file, however short it is.
    if got >= 4 && word(0) != magic {
        let (expected, found) = (magic, word(0));
        return Err(ImageError::Magic { file, what, expected, found, hint: hint(found) }.into());
    }
    if got < header.len() {
        let expected = header.len() as u64;
        return Err(ImageError::Truncated { file, expected, found: got as u64 }.into());
    }
    let dimensions: [usize; D] = std::array::from_fn(|at| word(at + 1) as usize);
    let product = dimensions.iter().try_fold(1_u64, |n, &d| n.checked_mul(d as u64));
    let Some(length) = product.filter(|&n| n <= Limits::default().image_bytes) else {
        let reason = format!("the header says {dimensions:?}: more than can be read");
        return Err(ImageError::Header { file, reason }.into());
    };
    if length == 0 {
        let reason = format!("the header says {dimensions:?}: there is nothing in it");
        return Err(ImageError::Header { file, reason }.into());
    }
    let mut bytes = Vec::new();
    // One byte more than the header calls for shows a file that goes on.
    (&mut reader).take(length + 1).read_to_end(&mut bytes).map_err(|error| {
        // gzip and zstd files that were cut short end in the middle of a block.
        if error.kind() == std::io::ErrorKind::UnexpectedEof {
            let expected = header.len() as u64 + length;
            ImageError::Truncated { file: file.clone(), expected, found: reader.count }.into()
        } else {
            Error::io(&file)(error)
        }
    })?;
    let expected = header.len() as u64 + length;
    match (bytes.len() as u64).cmp(&length) {
        std::cmp::Ordering::Less => {
            let found = header.len() as u64 + bytes.len() as u64;
            Err(ImageError::Truncated { file, expected, found }.into())
        }
        std::cmp::Ordering::Greater => Err(ImageError::Trailing { file, expected }.into()),
        std::cmp::Ordering::Equal => Ok((dimensions, bytes, reader.sha256())),
    }
}

/// What a file with this beginning probably is.
fn hint(found: u32) -> &'static str {
    match found {
        IMAGES => ": this is a file of images, not of labels",
        LABELS => ": this is a file of labels, not of images",
        0x0308_0000 | 0x0108_0000 => ": the bytes of each number are in the wrong order",
        0x8950_4e47 => ": this is a PNG image; a folder of images is read as one",
        0x3c21_444f | 0x3c68_746d => ": this is a web page; the download went wrong",
        n if n >> 16 == 0xffd8 => ": this is a JPEG image; a folder of images is read as one",
        n if n >> 8 == 0x08 => ": this IDX file has another number of dimensions",
        n if n >> 16 == 0 => ": this IDX file does not hold bytes",
        _ => ": this is not an IDX file",
    }
}

//! CIFAR-10's binary batches: per image one byte of label and 3 × 32 × 32 bytes of pixels,
//! channel by channel, row by row.

use std::io::Read;
use std::path::Path;

use super::archive;
use super::error::ImageError;
use super::identity::{FileHash, Hashed, Identity};
use super::images::{ImageShape, Images, check_labels};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::source::ByteSource;

/// The size of an image.
pub const SHAPE: ImageShape = ImageShape { channels: 3, height: 32, width: 32 };
const RECORD: usize = 1 + 3 * 32 * 32;

/// Images from binary batches, in the order given; `classes` names the labels.
///
/// # Errors
/// Truncated files, labels out of range.
pub fn read(batches: &[&Path], classes: &[&str]) -> Result<Images> {
    let mut reading = Reading::default();
    for path in batches {
        let source = ByteSource::Path(path);
        reading.batch(&source.name(), source.bytes(&Limits::default())?, classes.len())?;
    }
    let name = batches.first().map_or_else(String::new, |path| path.display().to_string());
    reading.finish(&name, classes)
}

/// Images from the batches of the official archive (`cifar-10-binary.tar.gz`), in the order
/// given by file name, wherever in the archive they are.
///
/// # Errors
/// As [`read`]; and a damaged archive, or one without those files.
pub fn read_archive(archive: &Path, batches: &[&str], classes: &[&str]) -> Result<Images> {
    let file = archive.display().to_string();
    let source = ByteSource::Path(archive).bytes(&Limits::default())?;
    let mut found = archive::members(&file, source, batches)?;
    let mut reading = Reading::default();
    for (name, bytes) in batches.iter().zip(&mut found) {
        let Some(bytes) = bytes.take() else {
            let reason =
                format!("there is no {name} in it: this is not the binary archive of CIFAR-10");
            return Err(ImageError::Archive { file, reason }.into());
        };
        reading.batch(&format!("{file}/{name}"), bytes.as_slice(), classes.len())?;
    }
    reading.finish(&file, classes)
}

#[derive(Default)]
struct Reading {
    pixels: Vec<u8>,
    labels: Vec<u32>,
    files: Vec<FileHash>,
}

impl Reading {
    fn batch(&mut self, file: &str, source: impl Read, classes: usize) -> Result<()> {
        let mut bytes = Vec::new();
        let mut reader = Hashed::new(source);
        let most = Limits::default().image_bytes;
        (&mut reader).take(most + 1).read_to_end(&mut bytes).map_err(Error::io(file))?;
        if bytes.len() as u64 > most {
            let reason = format!("it has more than {most} bytes: it is not a CIFAR-10 batch");
            return Err(ImageError::Header { file: file.to_string(), reason }.into());
        }
        if bytes.is_empty() || !bytes.len().is_multiple_of(RECORD) {
            let expected = (bytes.len().div_ceil(RECORD).max(1) * RECORD) as u64;
            let (file, found) = (file.to_string(), bytes.len() as u64);
            return Err(ImageError::Truncated { file, expected, found }.into());
        }
        let labels: Vec<u32> = bytes.chunks_exact(RECORD).map(|r| u32::from(r[0])).collect();
        check_labels(file, &labels, classes)?;
        self.labels.extend(labels);
        for record in bytes.chunks_exact(RECORD) {
            self.pixels.extend_from_slice(&record[1..]);
        }
        self.files.push(FileHash::new(file, reader.sha256()));
        Ok(())
    }

    fn finish(self, name: &str, classes: &[&str]) -> Result<Images> {
        let classes = classes.iter().map(ToString::to_string).collect();
        Images::new(SHAPE, self.pixels, self.labels, classes, Identity::new(name, self.files))
    }
}

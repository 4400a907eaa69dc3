//! Bytes to read a table or images from, decompressed as their content says.
//!
//! What a file is, is decided by its first bytes, not by its name: gzip, zstd, Parquet, or
//! text.

use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::disk;
use crate::error::{Error, Result};
use crate::zstd_frames::ZstdFrames;

/// Where bytes come from; it can be opened again for a second pass.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    Path(&'a Path),
    Bytes { name: &'a str, bytes: &'a [u8] },
}

/// Bytes read at a time. Less than what allocators map apart: letting go of a mapped buffer has glibc take
/// columns from its heap from then on, which does not shrink when they are let go.
const BUFFER: usize = 1 << 16;

/// What the first bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Gzip,
    Zstd,
    Parquet,
    Plain,
}

impl Content {
    fn of(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            // A zstd file may begin with a skippable frame (pzstd writes them).
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [b'P', b'A', b'R', b'1', ..] => Self::Parquet,
            _ => Self::Plain,
        }
    }
}

impl<'a> Source<'a> {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Bytes { name, .. } => (*name).to_string(),
        }
    }

    fn raw(&self) -> Result<Box<dyn BufRead + 'a>> {
        match self {
            Self::Path(path) => {
                let file = disk::open(path).map_err(Error::io(&self.name()))?;
                Ok(Box::new(BufReader::with_capacity(BUFFER, file)))
            }
            Self::Bytes { bytes, .. } => Ok(Box::new(Cursor::new(*bytes))),
        }
    }

    pub(crate) fn content(&self) -> Result<Content> {
        let mut start = Vec::new();
        self.raw()?.take(4).read_to_end(&mut start).map_err(Error::io(&self.name()))?;
        Ok(Content::of(&start))
    }

    /// The bytes, decompressed.
    pub(crate) fn bytes(&self) -> Result<Box<dyn BufRead + 'a>> {
        let raw = self.raw()?;
        Ok(match self.content()? {
            Content::Gzip => Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(raw))),
            Content::Zstd => Box::new(BufReader::with_capacity(BUFFER, ZstdFrames::new(raw))),
            Content::Plain | Content::Parquet => raw,
        })
    }

    /// The decompressed text, without a byte-order mark.
    pub(crate) fn text(&self) -> Result<Box<dyn BufRead + 'a>> {
        let name = self.name();
        let mut text = self.bytes()?;
        let start = text.fill_buf().map_err(Error::io(&name))?;
        if start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]) {
            let reason = "this is UTF-16 text: save it as UTF-8";
            let source = std::io::Error::new(std::io::ErrorKind::InvalidData, reason);
            return Err(Error::Io { file: name, source });
        }
        if Content::of(start) == Content::Parquet && self.content()? != Content::Plain {
            let reason = "a compressed Parquet file: decompress it first";
            return Err(Error::Parquet { file: name, reason: reason.to_string() });
        }
        if start.starts_with(&[0xef, 0xbb, 0xbf]) {
            text.consume(3);
        }
        Ok(text)
    }
}

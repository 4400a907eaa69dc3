//! Bytes to read a table or images from, decompressed as their content says.
//!
//! What a file is, is decided by its first bytes, not by its name: gzip, zstd, Parquet, or
//! text.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use crate::disk;
use crate::error::{Error, Result};
use crate::hashed_file::HashedFile;
use crate::limits::{Exceeded, FREE, Limits};
use crate::zstd_frames::ZstdFrames;

/// Where bytes come from; it can be opened again for a second pass.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ByteSource<'a> {
    Path(&'a Path),
    /// Its bytes are hashed as they are read.
    Hashed(&'a HashedFile),
    Bytes {
        name: &'a str,
        bytes: &'a [u8],
    },
}

/// Bytes read at a time. Less than what allocators map apart: letting go of a mapped buffer has glibc take
/// columns from its heap from then on, which does not shrink when they are freed.
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

impl<'a> ByteSource<'a> {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Hashed(file) => file.path().display().to_string(),
            Self::Bytes { name, .. } => (*name).to_string(),
        }
    }

    fn raw(&self) -> Result<Box<dyn BufRead + Send + 'a>> {
        match self {
            Self::Path(path) => {
                let file = disk::open(path).map_err(Error::io(&self.name()))?;
                Ok(Box::new(BufReader::with_capacity(BUFFER, file)))
            }
            Self::Hashed(file) => {
                let file = file.open().map_err(Error::io(&self.name()))?;
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

    /// The bytes, decompressed, within the limits.
    pub(crate) fn bytes(&self, limits: &Limits) -> Result<Box<dyn BufRead + Send + 'a>> {
        let raw = Counted { source: self.raw()?, count: Arc::default() };
        let read = raw.count.clone();
        let (most, ratio) = (limits.table_bytes, Some(limits.expansion));
        Ok(match self.content()? {
            Content::Gzip => {
                let plain = BufReader::with_capacity(BUFFER, MultiGzDecoder::new(raw));
                Box::new(Bounded { source: plain, given: 0, read, most, ratio })
            }
            Content::Zstd => {
                let plain = BufReader::with_capacity(BUFFER, ZstdFrames::new(raw));
                Box::new(Bounded { source: plain, given: 0, read, most, ratio })
            }
            Content::Plain | Content::Parquet => {
                Box::new(Bounded { source: raw, given: 0, read, most, ratio: None })
            }
        })
    }

    /// The decompressed text, without a byte-order mark.
    pub(crate) fn text(&self, limits: &Limits) -> Result<Box<dyn BufRead + Send + 'a>> {
        let name = self.name();
        let mut text = self.bytes(limits)?;
        let start = text.fill_buf().map_err(Error::io(&name))?;
        if start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]) {
            let reason = "this is UTF-16 text: save it as UTF-8";
            let source = io::Error::new(io::ErrorKind::InvalidData, reason);
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

/// Counts what is taken from a source.
struct Counted<R> {
    source: R,
    count: Arc<AtomicU64>,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(out)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        self.source.consume(count);
    }
}

/// Gives out as much as the limits allow, and then an error if there is more.
struct Bounded<R> {
    source: R,
    given: u64,
    /// Bytes of the file that were read for it.
    read: Arc<AtomicU64>,
    most: u64,
    /// How many times as many as were read may be given out.
    ratio: Option<u64>,
}

impl<R: BufRead> Bounded<R> {
    /// Bytes that may still be given out; at least one.
    fn room(&mut self) -> io::Result<usize> {
        let room = self.most.saturating_sub(self.given);
        if room == 0 && !self.source.fill_buf()?.is_empty() {
            let what = match self.ratio {
                Some(_) => format!("it decompresses to more than the {} bytes allowed", self.most),
                None => format!("it has more than the {} bytes allowed", self.most),
            };
            return Err(Exceeded::new("table_bytes", what).into());
        }
        let read = self.read.load(Ordering::Relaxed);
        match self.ratio {
            Some(ratio) if self.given > FREE && self.given > ratio.saturating_mul(read) => {
                let what = format!(
                    "{read} bytes of it decompress to {}, more than {ratio} times as many",
                    self.given
                );
                Err(Exceeded::new("expansion", what).into())
            }
            _ => Ok(usize::try_from(room).unwrap_or(usize::MAX).max(1)),
        }
    }
}

impl<R: BufRead> Read for Bounded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let room = self.room()?.min(out.len());
        let count = self.source.read(&mut out[..room])?;
        self.given += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Bounded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let room = self.room()?;
        let buffer = self.source.fill_buf()?;
        Ok(&buffer[..room.min(buffer.len())])
    }

    fn consume(&mut self, count: usize) {
        self.given += count as u64;
        self.source.consume(count);
    }
}

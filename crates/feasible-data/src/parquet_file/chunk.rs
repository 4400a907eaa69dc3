//! Ranges of a Parquet file in memory, so that several threads can decode at once.
//!
//! The format's own reader of files seeks: threads that share a file would move it under one another.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use bytes::{Buf, Bytes, buf};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, Length};

/// Bytes that old writers forgot to count for the header of a dictionary.
const FORGOTTEN: u64 = 128;

/// A Parquet file.
pub(super) enum Chunks {
    File { file: Mutex<File>, length: u64 },
    Bytes(Bytes),
}

impl Chunks {
    pub(super) fn of_file(file: File) -> Self {
        let length = file.len();
        Self::File { file: Mutex::new(file), length }
    }

    pub(super) fn of_bytes(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }

    pub(super) fn length(&self) -> u64 {
        match self {
            Self::File { length, .. } => *length,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    pub(super) fn metadata(&self) -> Result<ParquetMetaData> {
        let reader = ParquetMetaDataReader::new();
        match self {
            Self::File { file, .. } => {
                reader.parse_and_finish(&*file.lock().unwrap_or_else(PoisonError::into_inner))
            }
            Self::Bytes(bytes) => reader.parse_and_finish(bytes),
        }
    }

    /// Where the footer is: the metadata, their length in 4 bytes, and 4 more.
    pub(super) fn footer(&self) -> io::Result<std::ops::Range<u64>> {
        let end = self.length();
        let mut length = [0; 4];
        if let Some(at) = end.checked_sub(8) {
            let tail = self.get(at, 8)?.bytes;
            length.copy_from_slice(&tail[..4]);
        }
        Ok(end.saturating_sub(8 + u64::from(u32::from_le_bytes(length)))..end)
    }

    /// The bytes of a column chunk, and a few behind it.
    pub(super) fn get(&self, start: u64, length: u64) -> io::Result<Chunk> {
        let end =
            start.checked_add(length).filter(|&end| end <= self.length()).ok_or_else(|| {
                let text = "the Parquet data goes beyond the end of the file: write it again";
                io::Error::new(io::ErrorKind::UnexpectedEof, text)
            })?;
        let end = end.saturating_add(FORGOTTEN).min(self.length());
        let bytes = match self {
            Self::File { file, .. } => {
                let mut bytes = vec![0; (end - start) as usize];
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(start))?;
                file.read_exact(&mut bytes)?;
                bytes.into()
            }
            Self::Bytes(bytes) => bytes.slice(start as usize..end as usize),
        };
        Ok(Chunk { start, bytes })
    }
}

/// Some bytes of a file, found by their place in it.
pub(super) struct Chunk {
    start: u64,
    bytes: Bytes,
}

impl Chunk {
    fn from(&self, start: u64) -> Result<Bytes> {
        let at = start.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        let bytes = at.filter(|&at| at <= self.bytes.len()).map(|at| self.bytes.slice(at..));
        bytes.ok_or_else(|| ParquetError::EOF("a page outside of its column".to_string()))
    }
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for Chunk {
    type T = buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let bytes = self.from(start)?;
        if bytes.len() < length {
            return Err(ParquetError::EOF("a page outside of its column".to_string()));
        }
        Ok(bytes.slice(..length))
    }
}

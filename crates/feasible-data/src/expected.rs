//! About how many bytes a training on a table takes, before the table is read.
//!
//! | file | bytes |
//! | --- | --- |
//! | Parquet | 16 for each cell: up to 8 as read, 4 as an input, and the lists of a training with an entry for each row |
//! | text | twice its bytes |
//! | text, compressed | twelve times its bytes |

use std::path::Path;

use crate::disk;
use crate::error::{Error, Result};
use crate::many_files::files_of;
use crate::source::{ByteSource, Content};

/// Bytes for each cell of a Parquet file.
#[cfg(feature = "parquet")]
const CELL: u64 = 16;
/// Times the bytes of a text file, and of a compressed one.
const TEXT: (u64, u64) = (2, 12);

/// About how many bytes a training takes on the file, or the [files](crate::many_files), of this path.
///
/// # Errors
/// A file that cannot be read.
pub fn expected_bytes(path: &Path) -> Result<u64> {
    let mut sum = 0_u64;
    for file in files_of(path)? {
        let content = ByteSource::Path(&file).content()?;
        let bytes = disk::open(&file).and_then(|file| file.metadata());
        let bytes = bytes.map_err(Error::io(&file.display().to_string()))?.len();
        sum = sum.saturating_add(match content {
            #[cfg(feature = "parquet")]
            Content::Parquet => crate::parquet_file::cells(&file)?.saturating_mul(CELL),
            #[cfg(not(feature = "parquet"))]
            Content::Parquet => bytes,
            Content::Plain => bytes.saturating_mul(TEXT.0),
            Content::Gzip | Content::Zstd => bytes.saturating_mul(TEXT.1),
        });
    }
    Ok(sum)
}

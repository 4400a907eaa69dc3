//! Slices of a table, which are read by themselves, and who reads them.
//!
//! A [`TableSlice`] is a file, or some neighbouring row groups of a Parquet file. A table of several slices can be read by several processes:
//! [`Readers`] read slices elsewhere, and what they have read is put together here, in order, to the table that this process would have read alone.
//! One text file is one slice: where a row begins depends on every quote before it.
//!
//! A slice that nobody else reads is read here, and so is one that another process has read from other bytes: with its rows comes the SHA-256 of what it was
//! read from. What is wrong with a file is found out here alone: readers send no errors, and this process reads what they could not read.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::disk;
use crate::error::{Error, Result};
use crate::expected::expected_bytes;
use crate::format::Format;
use crate::hashed_file::{HashedFile, changed, hash_all, hexadecimal};
use crate::many_files::files_of;
use crate::origin::Origin;
use crate::read;
use crate::source::{ByteSource, Content};
use crate::table::Table;
use crate::visible::visible;

/// The most slices of a file: so many ranks can work.
const MOST: u64 = 64;

/// A file, or row groups of a Parquet file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSlice {
    file: PathBuf,
    /// The row groups; all of the file if there are none.
    groups: Option<Range<usize>>,
}

/// What is to be read.
#[derive(Clone, Debug)]
pub struct ReadRequest {
    /// The slices of a table, in order.
    pub slices: Vec<TableSlice>,
    /// How they are written.
    pub format: Format,
    /// The directory of the [scratch file](crate::scratch), if long lists are kept there.
    pub scratch: Option<PathBuf>,
}

/// A slice that was read.
#[derive(Clone, Debug)]
pub struct SliceRead {
    /// Its rows.
    pub table: Table,
    /// The SHA-256 of the bytes that it was read from ([`TableSlice::sha256`]).
    pub sha256: String,
}

/// What became of a slice elsewhere.
#[derive(Clone, Debug)]
pub enum SliceAnswer {
    /// Nobody else was given it.
    NotGiven,
    /// Whoever was given it could not read it.
    Unread,
    /// It was read.
    Read(Box<SliceRead>),
}

/// What became of each slice of a request, in order.
pub type SliceAnswers<'r> = Box<dyn Iterator<Item = SliceAnswer> + 'r>;

/// Other processes that read slices.
pub trait Readers: fmt::Debug + Send + Sync {
    /// Has them begin to read. They stop once the list is dropped; one that is shorter than the request leaves the rest to this process.
    fn read(&self, request: Arc<ReadRequest>) -> SliceAnswers<'_>;
}

/// A table that was read.
#[derive(Clone, Debug)]
pub struct WholeRead {
    /// The table.
    pub table: Table,
    /// The SHA-256 of each file's bytes, as they were read.
    pub sha256: Vec<(PathBuf, String)>,
    /// Who has read it.
    pub counts: ReadCounts,
}

/// How many slices were read by whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// All slices.
    pub slices: usize,
    /// Given to others.
    pub given: usize,
    /// Read by others.
    pub elsewhere: usize,
    /// Read by others, from other bytes, and then here.
    pub differing: usize,
}

impl TableSlice {
    /// The slices of a file.
    fn of(file: &Path) -> Vec<Self> {
        let slice = |groups| Self { file: file.to_path_buf(), groups };
        let rows = match ByteSource::Path(file).content() {
            #[cfg(feature = "parquet")]
            Ok(Content::Parquet) => crate::parquet_file::group_rows(file).unwrap_or_default(),
            // What is wrong with a file is said when it is read.
            _ => Vec::new(),
        };
        let groups = neighbours(&rows);
        match groups.len() {
            0 | 1 => vec![slice(None)],
            _ => groups.into_iter().map(|groups| slice(Some(groups))).collect(),
        }
    }

    /// The file that it is of.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Reads it.
    ///
    /// # Errors
    /// As [`Table::read`], though the rows of an error are counted from the first of the slice.
    pub fn read(&self, format: &Format) -> Result<SliceRead> {
        match &self.groups {
            #[cfg(feature = "parquet")]
            Some(groups) => self.unchanged(Self::sha256, || {
                crate::parquet_file::read_groups(&self.file, format, groups.clone())
            }),
            _ => {
                let file = HashedFile::new(&self.file);
                let table = read::read(ByteSource::Hashed(&file), format, None)?;
                Ok(SliceRead { table, sha256: file.sha256()? })
            }
        }
    }

    /// What was read while the bytes were of one hash, as far as that can be seen before and after.
    fn unchanged(
        &self,
        hash: impl Fn(&Self) -> Result<String>,
        read: impl FnOnce() -> Result<Table>,
    ) -> Result<SliceRead> {
        let sha256 = hash(self)?;
        let table = read()?;
        match hash(self)? == sha256 {
            true => Ok(SliceRead { table, sha256 }),
            false => Err(changed(&self.file.display().to_string())),
        }
    }

    /// SHA-256 of its bytes, in hexadecimal: those of the file, or of the row groups, after the file's length and footer.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn sha256(&self) -> Result<String> {
        let name = self.file.display().to_string();
        let failed = Error::io(&name);
        let mut file = disk::open(&self.file).map_err(&failed)?;
        let mut hash = Sha256::new();
        let length = file.metadata().map_err(&failed)?.len();
        let whole = 0..length;
        let ranges = match &self.groups {
            None => vec![whole],
            #[cfg(feature = "parquet")]
            Some(groups) => {
                hash.update(length.to_le_bytes());
                crate::parquet_file::byte_ranges(&self.file, groups.clone())?
            }
            #[cfg(not(feature = "parquet"))]
            Some(_) => Vec::new(),
        };
        for range in ranges {
            add(&mut hash, &mut file, range).map_err(&failed)?;
        }
        Ok(hexadecimal(&hash.finalize()))
    }

    /// About how many bytes reading it takes ([`expected_bytes`]).
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn expected_bytes(&self) -> Result<u64> {
        let all = expected_bytes(&self.file)?;
        #[cfg(feature = "parquet")]
        if let Some(groups) = &self.groups {
            let rows = crate::parquet_file::group_rows(&self.file)?;
            let of = |rows: &[u64]| rows.iter().fold(0, |sum: u64, rows| sum.saturating_add(*rows));
            let (here, whole) = (of(rows.get(groups.clone()).unwrap_or_default()), of(&rows));
            let share = u128::from(all) * u128::from(here) / u128::from(whole.max(1));
            return Ok(u64::try_from(share).unwrap_or(u64::MAX));
        }
        Ok(all)
    }
}

/// Adds some bytes of a file to a hash.
fn add(hash: &mut Sha256, file: &mut File, range: Range<u64>) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(range.start))?;
    hash_all(hash, &mut file.take(range.end.saturating_sub(range.start)))
}

/// Neighbouring row groups together, about the same number of rows and at least one: at most [`MOST`] ranges.
fn neighbours(rows: &[u64]) -> Vec<Range<usize>> {
    let mut left = rows.iter().fold(0_u64, |sum, &rows| sum.saturating_add(rows));
    let (mut ranges, mut first, mut sum) = (Vec::<Range<usize>>::new(), 0, 0_u64);
    for (group, &rows) in rows.iter().enumerate() {
        sum = sum.saturating_add(rows);
        // What is left, over the ranges that are left.
        let enough = left.div_ceil(MOST.saturating_sub(ranges.len() as u64).max(1)).max(1);
        if sum >= enough {
            ranges.push(first..group + 1);
            left = left.saturating_sub(sum);
            (first, sum) = (group + 1, 0);
        }
    }
    match ranges.last_mut() {
        // Groups without rows belong to the ones before.
        Some(last) if sum == 0 => last.end = rows.len(),
        _ if sum > 0 => ranges.push(first..rows.len()),
        _ => {}
    }
    ranges
}

/// A table that is being read, here and by others.
pub struct Reading<'r> {
    name: String,
    request: Arc<ReadRequest>,
    /// The slices of each file.
    files: Vec<Range<usize>>,
    elsewhere: Option<SliceAnswers<'r>>,
    /// Slices that were taken from the list of the others.
    taken: usize,
    counts: ReadCounts,
}

impl fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("name", &self.name).field("counts", &self.counts).finish()
    }
}

impl<'r> Reading<'r> {
    /// Begins to read a table, as [`Table::read`] does. `readers` read slices of it from now on, if it has several; `scratch` is the directory
    /// where they may keep long lists.
    ///
    /// # Errors
    /// As [`files_of`].
    pub fn begin(
        path: &Path,
        format: &Format,
        scratch: Option<&Path>,
        readers: Option<&'r dyn Readers>,
    ) -> Result<Self> {
        let (mut slices, mut files) = (Vec::new(), Vec::new());
        for file in files_of(path)? {
            let first = slices.len();
            match readers {
                Some(_) => slices.extend(TableSlice::of(&file)),
                None => slices.push(TableSlice { file, groups: None }),
            }
            files.push(first..slices.len());
        }
        let scratch = scratch.map(Path::to_path_buf);
        let request = Arc::new(ReadRequest { slices, format: format.clone(), scratch });
        let several = request.slices.len() > 1;
        let elsewhere = readers.filter(|_| several).map(|readers| readers.read(request.clone()));
        let counts = ReadCounts { slices: request.slices.len(), ..ReadCounts::default() };
        let name = path.display().to_string();
        Ok(Self { name, request, files, elsewhere, taken: 0, counts })
    }

    /// The table, who has read it, and the SHA-256 of each file.
    ///
    /// # Errors
    /// As [`Table::read`].
    pub fn finish(mut self) -> Result<WholeRead> {
        let files = std::mem::take(&mut self.files);
        let (name, request) = (self.name.clone(), self.request.clone());
        let mut sha256 = Vec::with_capacity(files.len());
        let mut one = |slices: Range<usize>| {
            let file = request.slices[slices.start].file.clone();
            let SliceRead { table, sha256: own } = self.file(slices)?;
            sha256.push((file, own));
            Ok::<_, Error>(table)
        };
        let table = if let [file] = files.as_slice() {
            one(file.clone())?
        } else {
            let limits = &request.format.limits;
            let (mut rows, mut width) = (0, 0);
            let tables = files.into_iter().map(|slices| {
                let table = one(slices)?;
                rows += table.rows();
                width = table.columns().len().max(width);
                // What the files ask for together.
                limits.check_rows(rows, width).map_err(|more| more.at(visible(&name)))?;
                Ok(table)
            });
            Table::concat_all(&name, tables)?.0
        };
        Ok(WholeRead { table, sha256, counts: self.counts })
    }

    /// The table of a file, and its SHA-256.
    fn file(&mut self, slices: Range<usize>) -> Result<SliceRead> {
        let request = self.request.clone();
        let whole = &request.slices[slices.start];
        if whole.groups.is_none() {
            return match self.take() {
                Some(read) => Ok(read),
                None => whole.read(&request.format),
            };
        }
        let all = TableSlice { groups: None, ..whole.clone() };
        all.unchanged(TableSlice::sha256, || {
            let file = whole.file.display().to_string();
            let parts = request.slices[slices.clone()].iter().map(|slice| match self.take() {
                Some(read) => Ok(read.table),
                None => Ok(slice.read(&request.format)?.table),
            });
            match Table::concat_all(&file, parts) {
                Ok((table, _)) => {
                    let origins = vec![Origin::numbered(&file, table.rows)];
                    Ok(Table { origins, ..table })
                }
                // From the top: what is wrong in which row, only the whole file says.
                Err(_) => {
                    let table = all.read(&request.format)?.table;
                    while self.taken < slices.end {
                        self.take();
                    }
                    Ok(table)
                }
            }
        })
    }

    /// What others have read of the next slice, if they have read what is here.
    fn take(&mut self) -> Option<SliceRead> {
        let slice = &self.request.slices[self.taken];
        self.taken += 1;
        let answer = self.elsewhere.as_mut()?.next()?;
        self.counts.given += usize::from(!matches!(answer, SliceAnswer::NotGiven));
        let SliceAnswer::Read(read) = answer else { return None };
        if slice.sha256().ok()? != read.sha256 {
            self.counts.differing += 1;
            return None;
        }
        self.counts.elsewhere += 1;
        Some(*read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_row_groups_are_slices_of_about_the_same_number_of_rows() {
        let ranges = |rows: &[u64]| neighbours(rows);
        assert!(ranges(&[]).is_empty() && ranges(&[0, 0]).is_empty());
        assert_eq!(ranges(&[5]).len(), 1);
        assert_eq!(ranges(&[5, 5, 5]), [0..1, 1..2, 2..3]);
        // A slice has rows, whatever its groups have.
        assert_eq!(ranges(&[0, 5, 0, 0, 5, 0]), [0..2, 2..6]);
        for groups in [63, 64, 65, 1000] {
            let ranges = ranges(&vec![7; groups]);
            assert!(ranges.len() <= 64 && ranges.len() >= groups.min(50), "{}", ranges.len());
            let covered: Vec<usize> = ranges.into_iter().flatten().collect();
            assert_eq!(covered, (0..groups).collect::<Vec<_>>());
        }
        assert_eq!(ranges(&[u64::MAX, u64::MAX, 1]), [0..1, 1..2, 2..3]);
    }
}

//! A table as it was read, in one file: the cache of large tables.
//!
//! Reading text takes far longer than reading what it says. So a table that is kept on disk is written once as it was read, column by column, and known
//! again by a *key*: a hash that its reader makes of whatever the table depends on (the files' contents, how they were to be read).
//!
//! ```text
//! magic               16 bytes, with the version of the format
//! blocks              the cells of each column, 2¹⁷ rows at a time, little-endian
//! footer              JSON: key, names, categories, lines of the rows; of each block place, type, rows and CRC-32
//! length, CRC-32      of the footer, 8 and 4 bytes
//! magic               again
//! ```
//!
//! It is written under another name and renamed when it is whole and on disk. A file that is not whole, whose checksums are wrong or that has another key is not
//! used: [`read`] says why, and the table is read again from its sources.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::codes::Codes;
use crate::column::{Categories, Cells, Column, MISSING, Mixed};
use crate::disk;
use crate::numbers::{BLOCK, Numbers};
use crate::origin::Origin;
use crate::table::Table;

/// At both ends of a file; another version of the format has another one.
const MAGIC: &[u8; 16] = b"feasible table 1";
/// How the names of files begin that are being written.
const UNFINISHED: &str = ".table-";
/// Bytes of length and checksum of the footer, and the magic after them.
const END: u64 = 8 + 4 + MAGIC.len() as u64;

#[derive(Serialize, Deserialize)]
struct Footer {
    key: String,
    name: String,
    rows: usize,
    columns: Vec<SavedColumn>,
    origins: Vec<Origin>,
    unread: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
struct SavedColumn {
    name: String,
    /// The names of categories; numbers have none.
    categories: Option<Vec<String>>,
    mixed: Option<Mixed>,
    blocks: Vec<SavedBlock>,
}

#[derive(Serialize, Deserialize)]
struct SavedBlock {
    at: u64,
    cells: CellType,
    rows: usize,
    crc: u32,
}

/// How the cells of a block are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CellType {
    /// Codes of one byte,
    U8,
    /// two
    U16,
    /// or four; or packed decimals.
    U32,
    F64,
}

impl CellType {
    /// Bytes of a cell.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 => 4,
            Self::F64 => 8,
        }
    }

    /// The type whose cells have so many bytes.
    pub(crate) fn of_bytes(bytes: u8) -> Option<Self> {
        [Self::U8, Self::U16, Self::U32, Self::F64]
            .into_iter()
            .find(|of| of.bytes() == usize::from(bytes))
    }
}

/// Why a file is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// There is none.
    Absent,
    /// It is of other data, or of another version.
    Other,
    /// It is not whole, or not what was written: what is wrong.
    Damaged(String),
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Absent,
            _ => Self::Damaged(error.to_string()),
        }
    }
}

fn damaged<T>(what: &str) -> Result<T, Unusable> {
    Err(Unusable::Damaged(what.to_string()))
}

/// Writes a table whose columns are all there. Nothing is at `path` but what was there, or the whole table.
///
/// # Errors
/// What the system says.
pub fn write(path: &Path, table: &Table, key: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    remove_left(directory);
    if path.symlink_metadata().is_ok() && !is_ours(path) {
        let text = "it is there already, and feasible did not write it: move it away";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    }
    let mut scratch = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(directory)?;
    let mut out = BufWriter::with_capacity(1 << 16, scratch.as_file_mut());
    disk::fault("write")?;
    write_to(&mut out, table, key)?;
    out.flush()?;
    drop(out);
    disk::fault("sync")?;
    scratch.as_file().sync_all()?;
    disk::fault("rename")?;
    scratch.persist(path).map_err(|error| error.error)?;
    File::open(directory)?.sync_all()
}

/// As [`write()`], to anything that takes bytes.
///
/// # Errors
/// What that says.
pub fn write_to(out: &mut impl Write, table: &Table, key: &str) -> io::Result<()> {
    out.write_all(MAGIC)?;
    let mut at = MAGIC.len() as u64;
    let mut columns = Vec::with_capacity(table.columns.len());
    let mut bytes = Vec::new();
    for column in &table.columns {
        let mut saved = SavedColumn {
            name: column.name.clone(),
            categories: None,
            mixed: None,
            blocks: Vec::new(),
        };
        for block in 0..table.rows.div_ceil(BLOCK) {
            bytes.clear();
            let cells = match &column.cells {
                Cells::Numbers(x) => x.write_block(block, &mut bytes),
                Cells::Categories(categories) => categories.codes.write_block(block, &mut bytes),
            };
            let rows = bytes.len() / cells.bytes();
            saved.blocks.push(SavedBlock { at, cells, rows, crc: crc32fast::hash(&bytes) });
            out.write_all(&bytes)?;
            at += bytes.len() as u64;
        }
        if let Cells::Categories(Categories { names, mixed, .. }) = &column.cells {
            (saved.categories, saved.mixed) = (Some(names.clone()), mixed.clone());
        }
        columns.push(saved);
    }
    let footer = Footer {
        key: key.to_string(),
        name: table.name.clone(),
        rows: table.rows,
        columns,
        origins: table.origins.clone(),
        unread: table.unread.clone(),
    };
    let footer = serde_json::to_vec(&footer)?;
    out.write_all(&footer)?;
    out.write_all(&(footer.len() as u64).to_le_bytes())?;
    out.write_all(&crc32fast::hash(&footer).to_le_bytes())?;
    out.write_all(MAGIC)
}

/// Whether a file begins as one of any version of the format.
fn is_ours(path: &Path) -> bool {
    let mut start = [0; MAGIC.len() - 1];
    let read = disk::open_inside(path, OpenOptions::new().read(true))
        .and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && MAGIC.starts_with(&start)
}

/// Removes files that a process left unfinished when it was killed: those that nobody has written to for a day.
fn remove_left(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        let written = entry.metadata().and_then(|found| found.modified());
        let age = written.ok().and_then(|at| at.elapsed().ok());
        if ours && age.is_some_and(|age| age.as_secs() > 86_400) && is_ours(&entry.path()) {
            // Somebody else may have.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The table that was written with this key.
///
/// # Errors
/// Why there is none.
pub fn read(path: &Path, key: &str) -> Result<Table, Unusable> {
    let file = disk::open_inside(path, OpenOptions::new().read(true))?;
    read_from(BufReader::with_capacity(1 << 16, file), key)
}

/// As [`read`], from the bytes of a file.
///
/// # Errors
/// As [`read`].
pub fn read_from(mut file: impl Read + Seek, key: &str) -> Result<Table, Unusable> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut magic = [0; MAGIC.len()];
    file.rewind()?;
    if length < END + MAGIC.len() as u64 {
        return damaged("it is too short");
    }
    file.read_exact(&mut magic)?;
    if magic != *MAGIC {
        return Err(Unusable::Other);
    }
    file.seek(SeekFrom::Start(length - END))?;
    let (mut size, mut crc) = ([0; 8], [0; 4]);
    file.read_exact(&mut size)?;
    file.read_exact(&mut crc)?;
    file.read_exact(&mut magic)?;
    let size = u64::from_le_bytes(size);
    let Some(end) = (length - END).checked_sub(size).filter(|_| magic == *MAGIC) else {
        return damaged("it does not end as it should");
    };
    file.seek(SeekFrom::Start(end))?;
    let mut footer = vec![0; size as usize];
    file.read_exact(&mut footer)?;
    if crc32fast::hash(&footer) != u32::from_le_bytes(crc) {
        return damaged("the checksum of its footer is wrong");
    }
    let Ok(footer) = serde_json::from_slice::<Footer>(&footer) else {
        return damaged("its footer cannot be read");
    };
    if footer.key != key {
        return Err(Unusable::Other);
    }
    let Footer { name, rows, columns, origins, unread, .. } = footer;
    let mut bytes = Vec::new();
    let mut whole = Vec::with_capacity(columns.len());
    for saved in columns {
        let mut numbers = Numbers::default();
        let mut codes = Codes::default();
        for SavedBlock { at, cells, rows, crc } in saved.blocks {
            let size = rows.saturating_mul(cells.bytes());
            if rows > BLOCK || at.saturating_add(size as u64) > end {
                return damaged("a block lies outside of it");
            }
            bytes.resize(size, 0);
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(&mut bytes)?;
            if crc32fast::hash(&bytes) != crc {
                return damaged(&format!("the checksum of a block of '{}' is wrong", saved.name));
            }
            let known = match &saved.categories {
                None => numbers.read_block(cells, &bytes),
                Some(_) => codes.read_block(cells, &bytes),
            };
            if !known {
                return damaged("a block has another type than its column");
            }
        }
        let cells = match saved.categories {
            None => Cells::Numbers(numbers),
            Some(names) => {
                if codes.iter().any(|code| code != MISSING && code as usize >= names.len()) {
                    return damaged("a code stands for no category");
                }
                Cells::Categories(Categories { names, codes, mixed: saved.mixed })
            }
        };
        whole.push(Column { name: saved.name, cells });
    }
    if origins.iter().map(Origin::rows).sum::<usize>() != rows {
        return damaged("its rows are not as many as their lines");
    }
    let table = Table::with_origin(&name, whole, Origin::numbered(&name, rows));
    let table = table.map_err(|error| Unusable::Damaged(error.to_string()))?;
    Ok(Table { origins, unread, ..table })
}

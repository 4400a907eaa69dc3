//! A table as bytes that are written and read in one pass: from the process that has read it to the one that needs it.
//!
//! ```text
//! length, head        8 bytes; JSON: names, categories, lines of the rows
//! blocks              of each column, 2¹⁷ rows at a time: bytes of a cell (1), bytes of the block (4), the cells, little-endian
//! ```
//!
//! Neither side holds more than a block beside the table.
//!
//! ```
//! use feasible_data::{Format, Table, table_stream};
//! let table = Table::from_bytes("people.csv", b"age,city\n41,Rome\n,Oslo\n", &Format::default())?;
//! let mut bytes = Vec::new();
//! table_stream::write(&mut bytes, &table)?;
//! assert_eq!(table_stream::read(&mut bytes.as_slice())?, table);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use crate::codes::Codes;
use crate::column::{Categories, Cells, Column, MISSING, Mixed};
use crate::numbers::{BLOCK, Numbers};
use crate::origin::Origin;
use crate::table::Table;
use crate::table_file::CellType;

#[derive(Serialize, Deserialize)]
struct Head {
    name: String,
    rows: usize,
    columns: Vec<ColumnHead>,
    origins: Vec<Origin>,
    unread: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
struct ColumnHead {
    name: String,
    /// The names of categories; numbers have none.
    categories: Option<Vec<String>>,
    mixed: Option<Mixed>,
}

/// Writes a table whose columns are all there.
///
/// # Errors
/// What `out` says.
pub fn write(out: &mut impl Write, table: &Table) -> io::Result<()> {
    let head = |column: &Column| {
        let (categories, mixed) = match &column.cells {
            Cells::Numbers(_) => (None, None),
            Cells::Categories(Categories { names, mixed, .. }) => {
                (Some(names.clone()), mixed.clone())
            }
        };
        ColumnHead { name: column.name.clone(), categories, mixed }
    };
    let head = serde_json::to_vec(&Head {
        name: table.name.clone(),
        rows: table.rows,
        columns: table.columns.iter().map(head).collect(),
        origins: table.origins.clone(),
        unread: table.unread.clone(),
    })?;
    out.write_all(&(head.len() as u64).to_le_bytes())?;
    out.write_all(&head)?;
    let mut cells = Vec::new();
    for column in &table.columns {
        for block in 0..table.rows.div_ceil(BLOCK) {
            cells.clear();
            let of = match &column.cells {
                Cells::Numbers(x) => x.write_block(block, &mut cells),
                Cells::Categories(categories) => categories.codes.write_block(block, &mut cells),
            };
            out.write_all(&[of.bytes() as u8])?;
            out.write_all(&(cells.len() as u32).to_le_bytes())?;
            out.write_all(&cells)?;
        }
    }
    Ok(())
}

/// Reads a table, and nothing behind it.
///
/// # Errors
/// What `from` says; bytes that are no table.
pub fn read(from: &mut impl Read) -> io::Result<Table> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let mut head = Vec::new();
    let length = u64::from_le_bytes(length);
    if from.take(length).read_to_end(&mut head)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let Head { name, rows, columns, origins, unread } = serde_json::from_slice(&head)?;
    drop(head);
    let mut cells = Vec::new();
    let mut whole = Vec::with_capacity(columns.len());
    for ColumnHead { name, categories, mixed } in columns {
        let (mut numbers, mut codes) = (Numbers::default(), Codes::default());
        for block in 0..rows.div_ceil(BLOCK) {
            let (mut width, mut length) = ([0], [0; 4]);
            from.read_exact(&mut width)?;
            from.read_exact(&mut length)?;
            let of = CellType::of_bytes(width[0]).ok_or_else(|| damaged("cells of no width"))?;
            let here = BLOCK.min(rows - BLOCK * block);
            if u32::from_le_bytes(length) as usize != here * of.bytes() {
                return Err(damaged("a block of another length"));
            }
            cells.resize(here * of.bytes(), 0);
            from.read_exact(&mut cells)?;
            let known = match &categories {
                None => numbers.read_block(of, &cells),
                Some(_) => codes.read_block(of, &cells),
            };
            if !known {
                return Err(damaged("a block of another type than its column"));
            }
        }
        let cells = match categories {
            None => Cells::Numbers(numbers),
            Some(names) => {
                if codes.iter().any(|code| code != MISSING && code as usize >= names.len()) {
                    return Err(damaged("a code that stands for no category"));
                }
                Cells::Categories(Categories { names, codes, mixed })
            }
        };
        whole.push(Column { name, cells });
    }
    if origins.iter().map(Origin::rows).sum::<usize>() != rows {
        return Err(damaged("rows that are not as many as their lines"));
    }
    let table = Table::with_origin(&name, whole, Origin::numbered(&name, rows));
    let table = table.map_err(|error| damaged(&error.to_string()))?;
    Ok(Table { origins, unread, ..table })
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a table between processes: {what}"))
}

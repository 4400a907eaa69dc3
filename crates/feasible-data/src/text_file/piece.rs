//! A block of rows, read into pieces of columns. It depends on nothing but the block and on how far the columns are.

use crate::column_builder::{ColumnBuilder, Progress};
use crate::error::{Error, Result};
use crate::format::Format;
use crate::limits::Exceeded;
use crate::origin::Origin;
use crate::visible::visible;

use super::blocks::{Block, Marks, too_long};
use super::records::{Record, Records};

/// What all blocks of a file have in common.
pub(super) struct Rules<'a> {
    pub(super) file: &'a str,
    pub(super) format: &'a Format,
    pub(super) marks: Marks,
    /// Columns of the file.
    pub(super) width: usize,
    /// The only lines to read rows from, ascending.
    pub(super) lines: Option<&'a [u64]>,
}

/// What was read from a block.
pub(super) struct Piece {
    /// How far each column was when this was read.
    pub(super) entry: Vec<Progress>,
    pub(super) columns: Vec<ColumnBuilder>,
    pub(super) origin: Origin,
    /// Bytes up to the end of the first record; none if there is no record.
    pub(super) head: Option<usize>,
    /// Bytes after the last record, and the line on which they begin.
    pub(super) tail: usize,
    pub(super) tail_line: u64,
    pub(super) stop: Option<Stop>,
}

impl Piece {
    /// Moves each column's progress on by what is in this piece. False, and some may be moved, if it was read for
    /// columns that are now another kind.
    pub(super) fn advance(&self, progress: &mut [Progress]) -> bool {
        let failed = matches!(self.stop, Some(Stop::Failed { .. }));
        let columns = self.entry.iter().zip(&self.columns);
        progress.iter_mut().zip(columns).all(|(now, (&entry, column))| {
            if failed && *now != entry {
                return false;
            }
            column.progress_after(*now, entry).map(|after| *now = after).is_some()
        })
    }
}

/// Why no more rows are read.
pub(super) enum Stop {
    /// None of the lines behind is wanted.
    Done,
    /// An error in a row of this number in the piece; one of `shape` is found before the rows are counted.
    Failed { row: usize, shape: bool, error: Error },
}

impl Rules<'_> {
    /// Whether a record is no row: one cell with nothing in it, unless the table has one column and it is written as `""`, or as
    /// spaces that are not trimmed.
    pub(super) fn is_blank(&self, records: &Records<'_>, record: Record, one_column: bool) -> bool {
        let [cell] = records.cells[record.first..] else { return false };
        let cell = records.cell(cell);
        cell.trim_ascii().is_empty() && !(one_column && (cell.is_empty() || !self.format.trim))
    }

    /// A row, with what is before it, of more bytes than allowed.
    pub(super) fn row_bytes(&self, bytes: usize, begins: u64) -> Result<()> {
        if bytes as u64 <= self.format.limits.row_bytes {
            return Ok(());
        }
        Err(self.too_long(too_long(self.format.limits.row_bytes), begins))
    }

    pub(super) fn too_long(&self, exceeded: Exceeded, begins: u64) -> Error {
        exceeded.at(format!("{}, from line {begins} on", visible(self.file)))
    }

    fn ragged(&self, records: &Records<'_>, record: Record) -> Error {
        let cells = &records.cells[record.first..];
        let broken = cells.iter().any(|&cell| records.cell(cell).contains(&b'\n'));
        let hint = match broken {
            true => "; a cell of it holds line breaks: is a quote left open?",
            false => ": quote cells that hold the delimiter, or correct the row",
        };
        let (file, hint) = (self.file.to_string(), hint.to_string());
        Error::Ragged { file, line: record.line, expected: self.width, found: cells.len(), hint }
    }

    /// Reads the rows of a block from byte `start` on, which is on `line`.
    pub(super) fn read(
        &self,
        block: &Block,
        start: usize,
        line: u64,
        builders: &[ColumnBuilder],
    ) -> Piece {
        let mut records = Records::new(&block.text, start, line, self.marks);
        let mut origin = Origin::new(self.file);
        let (mut head, mut tail, mut tail_line) = (None, start, line);
        let mut stop = None;
        while let Some(record) = records.next() {
            let row = origin.rows();
            if head.is_some()
                && let Err(error) = self.row_bytes(record.after - tail, tail_line)
            {
                stop = Some(Stop::Failed { row, shape: true, error });
                break;
            }
            head.get_or_insert(record.after - start);
            (tail, tail_line) = (record.after, record.line_after);
            let width = records.cells.len() - record.first;
            if width == 1 && self.is_blank(&records, record, self.width == 1) {
                records.drop(record);
                continue;
            }
            if width != self.width {
                let error = self.ragged(&records, record);
                stop = Some(Stop::Failed { row, shape: true, error });
                break;
            }
            if let Some(lines) = self.lines
                && lines.binary_search(&record.line).is_err()
            {
                records.drop(record);
                if lines.last().is_none_or(|&last| record.line > last) {
                    stop = Some(Stop::Done);
                    break;
                }
                continue;
            }
            // No cell is longer than the block.
            if block.text.len() as u64 > self.format.limits.cell_bytes
                && let Err(error) = self.cell_bytes(&records, record, builders)
            {
                stop = Some(Stop::Failed { row, shape: false, error });
                break;
            }
            origin.push(record.line);
        }
        let rows = origin.rows();
        records.cells.truncate(rows * self.width);
        let mut columns = Vec::with_capacity(builders.len());
        for (at, builder) in builders.iter().enumerate() {
            let mut column = builder.piece(rows);
            if let Err((row, error)) = self.fill(&mut column, &records, at, &origin)
                && !matches!(&stop, Some(Stop::Failed { row: first, .. }) if *first <= row)
            {
                stop = Some(Stop::Failed { row, shape: false, error });
            }
            columns.push(column);
        }
        let entry = builders.iter().map(ColumnBuilder::progress).collect();
        let tail = block.text.len() - tail;
        Piece { entry, columns, origin, head, tail, tail_line, stop }
    }

    fn cell_bytes(
        &self,
        records: &Records<'_>,
        record: Record,
        builders: &[ColumnBuilder],
    ) -> Result<()> {
        let limits = &self.format.limits;
        for (builder, &cell) in builders.iter().zip(&records.cells[record.first..]) {
            let within = limits.check_cell(records.cell(cell).len());
            within.map_err(|more| more.at(builder.place(self.file, record.line)))?;
        }
        Ok(())
    }

    /// Reads the cells of column `at` from top to bottom; the row of the first error.
    fn fill(
        &self,
        column: &mut ColumnBuilder,
        records: &Records<'_>,
        at: usize,
        origin: &Origin,
    ) -> Result<(), (usize, Error)> {
        if matches!(column.progress(), Progress::Skipped | Progress::Again) {
            return Ok(());
        }
        let (format, file) = (self.format, self.file);
        for (row, cells) in records.cells.chunks_exact(self.width).enumerate() {
            let cell = records.cell(cells[at]);
            let cell = if format.trim { cell.trim_ascii() } else { cell };
            column.push(cell, format, file, || origin.line(row)).map_err(|error| (row, error))?;
        }
        Ok(())
    }
}

//! Comma-, tab- and semicolon-separated text, read into typed columns on all cores.
//!
//! The text is cut into [blocks](blocks) of whole rows, a few at a time. Each is read on its own: its [records](records) are found, then
//! its cells become [pieces](piece) of columns, which are joined in order. A block is read under the assumption that
//! each column is, where the block begins, as numeric or categorical as it was when the blocks were handed out. If
//! one before it changed that, the block is read again. So table and errors are those of reading
//! row by row, whatever the blocks and the cores; the tests have such a reader ([sequential]) to compare with.

mod blocks;
#[cfg(test)]
mod line_ends;
mod piece;
mod records;
#[cfg(test)]
mod sequential;
#[cfg(test)]
mod tests;

use std::io::BufRead;

use rayon::prelude::*;

use crate::column::Column;
use crate::column_builder::{ColumnBuilder, Progress, readable};
use crate::error::{CellPlace, Error, Result};
use crate::format::Format;
use crate::origin::Origin;
use crate::source::ByteSource;
use crate::table::Table;
use crate::visible::visible;

use blocks::{Block, Blocks, End, Marks};
use piece::{Piece, Rules, Stop};
use records::Records;

/// Bytes of a block: many for each core, and less than what allocators map apart (see `BUFFER` of
/// [`source`](crate::source)).
const BLOCK: usize = 120_000;
/// Blocks that are handed out together, for each core.
const EACH: usize = 8;

/// Reads a text table; see [`Format`] for what it may look like. Only the rows on these lines, if any are
/// given.
pub(crate) fn read(
    source: ByteSource<'_>,
    format: &Format,
    lines: Option<&[u64]>,
) -> Result<Table> {
    read_in_blocks(source, format, lines, BLOCK)
}

fn read_in_blocks(
    source: ByteSource<'_>,
    format: &Format,
    lines: Option<&[u64]>,
    target: usize,
) -> Result<Table> {
    let file = source.name();
    let text = TextFile::open(source, format, target)?;
    let (names, wanted) = format.settle(&file, text.names.clone())?;
    let builder =
        |(name, &wanted): (&String, &bool)| ColumnBuilder::new(name, wanted, format.kind_of(name));
    let mut builders: Vec<_> = names.iter().zip(&wanted).map(builder).collect();
    let width = wanted.iter().filter(|&&wanted| wanted).count();
    let origin = text.fill(&mut builders, format, lines, width)?;
    if origin.rows() == 0 {
        return Err(Error::NoRows { file });
    }
    // Columns whose early numbers must be read as text.
    let again: Vec<_> = builders.iter_mut().map(ColumnBuilder::again).collect();
    if again.iter().any(|column| column.progress() != Progress::Skipped) {
        let mut columns = again;
        TextFile::open(source, format, target)?.fill(&mut columns, format, lines, 0)?;
        for (first, second) in builders.iter_mut().zip(columns) {
            if second.progress() != Progress::Skipped {
                *first = second;
            }
        }
    }
    let many = origin.rows() > 10_000;
    let finished: Vec<_> = match many {
        true => builders.into_par_iter().map(|builder| builder.finish(&file)).collect(),
        false => builders.into_iter().map(|builder| builder.finish(&file)).collect(),
    };
    let mut columns: Vec<Column> = Vec::with_capacity(finished.len());
    for column in finished {
        columns.extend(column?);
    }
    Table::with_origin(&file, columns, origin)
}

/// A text file of which the names of the columns were read.
struct TextFile<'a> {
    file: String,
    blocks: Blocks<'a>,
    marks: Marks,
    names: Vec<String>,
    /// The block of the first row, the byte of it where rows begin, and the line of that.
    first: Block,
    start: usize,
    line: u64,
}

impl<'a> TextFile<'a> {
    fn open(source: ByteSource<'a>, format: &Format, target: usize) -> Result<Self> {
        let file = source.name();
        let mut text = source.text(&format.limits)?;
        let mut skipped = 0;
        for _ in 0..format.skip_lines {
            if text.skip_until(b'\n').map_err(Error::io(&file))? == 0 {
                let reason = format!(
                    "{} lines are to be skipped, but {} has only {skipped}",
                    format.skip_lines,
                    visible(&file)
                );
                return Err(Error::Option { option: "skip_lines".into(), reason });
            }
            skipped += 1;
        }
        let comment = format.comment.map(|c| Format::byte("comment", c)).transpose()?;
        let mut blocks = Blocks::new(&file, text, skipped + 1, target, format.limits.row_bytes);
        let delimiter = match format.delimiter {
            Some(c) => Format::byte("delimiter", c)?,
            None => commonest_delimiter(blocks.start(), comment),
        };
        blocks.skip_mark();
        Self::names(file, blocks, Marks { delimiter, comment }, format)
    }

    /// Reads the first record, and from it the names of the columns.
    fn names(file: String, mut blocks: Blocks<'a>, marks: Marks, format: &Format) -> Result<Self> {
        let rules = Rules { file: &file, format, marks, width: 0, lines: None };
        let one_column = !format.header && format.names.len() <= 1;
        let (mut gap, mut gap_line) = (0, None);
        loop {
            let Some(first) = blocks.next(marks) else {
                let begins = gap_line.unwrap_or(blocks.line());
                return Err(match blocks.end() {
                    End::Text => Error::Empty { file },
                    End::Row(exceeded) => rules.too_long(exceeded, begins),
                    End::Failed(error) => error,
                });
            };
            let mut records = Records::new(&first.text, 0, first.line, marks);
            let mut before = 0;
            while let Some(record) = records.next() {
                let begins = gap_line.take().unwrap_or(first.line);
                rules.row_bytes(gap + record.after - before, begins)?;
                (gap, gap_line, before) = (0, Some(record.line_after), record.after);
                if rules.is_blank(&records, record, one_column) {
                    records.drop(record);
                    continue;
                }
                let names = column_names(&records, record.line, &rules)?;
                let (start, line) = match format.header {
                    true => (record.after, record.line_after),
                    false => (0, first.line),
                };
                blocks.aim(64 * record.after);
                return Ok(Self { file, blocks, marks, names, first, start, line });
            }
            gap += first.text.len() - before;
            let begins = *gap_line.get_or_insert(first.line);
            rules.row_bytes(gap, begins)?;
        }
    }

    /// Reads all rows into the columns, `width` of which count for the limits, and gives their lines.
    fn fill(
        mut self,
        builders: &mut [ColumnBuilder],
        format: &Format,
        lines: Option<&[u64]>,
        width: usize,
    ) -> Result<Origin> {
        let marks = self.marks;
        let rules = Rules { file: &self.file, format, marks, width: builders.len(), lines };
        let mut joined = Joined {
            rules: &rules,
            origin: Origin::new(&self.file),
            width,
            gap: 0,
            gap_line: self.line,
            done: false,
        };
        let piece = rules.read(&self.first, self.start, self.line, builders);
        joined.join(builders, &[self.first], vec![piece], self.start)?;
        let many = |blocks: &mut Blocks<'_>| -> Vec<Block> {
            let count = EACH * rayon::current_num_threads();
            std::iter::from_fn(|| blocks.next(marks)).take(count).collect()
        };
        let mut group: Vec<Block> = match joined.done || self.blocks.is_over() {
            true => Vec::new(),
            false => many(&mut self.blocks),
        };
        while !group.is_empty() && !joined.done {
            let (next, pieces) = {
                let (now, blocks) = (&*builders, &mut self.blocks);
                let read = |block: &Block| rules.read(block, 0, block.line, now);
                rayon::join(|| many(blocks), || group.par_iter().map(read).collect())
            };
            joined.join(builders, &group, pieces, 0)?;
            group = next;
        }
        match self.blocks.end() {
            _ if joined.done => Ok(joined.origin),
            End::Text => Ok(joined.origin),
            End::Row(exceeded) => Err(rules.too_long(exceeded, joined.gap_line)),
            End::Failed(error) => Err(error),
        }
    }
}

/// The names in the header, or as they are given.
fn column_names(records: &Records<'_>, line: u64, rules: &Rules<'_>) -> Result<Vec<String>> {
    let (format, file) = (rules.format, rules.file);
    let width = records.cells.len();
    let mut names = Vec::with_capacity(width);
    for (at, &cell) in records.cells.iter().enumerate() {
        let cell = records.cell(cell);
        let unnamed = format!("column {}", at + 1);
        let place = || CellPlace { file: file.to_string(), line, column: unnamed.clone() };
        format.limits.check_cell(cell.len()).map_err(|more| more.at(place()))?;
        let name = match format.header {
            true => readable(if format.trim { cell.trim_ascii() } else { cell }, place)?,
            false => String::new(),
        };
        names.push(if name.is_empty() { unnamed } else { name });
    }
    if !format.names.is_empty() {
        if format.names.len() != width {
            let given = format.names.len();
            let reason = format!("{given} names for the {width} columns of {file}");
            return Err(Error::Option { option: "names".into(), reason });
        }
        names.clone_from(&format.names);
    }
    Ok(names)
}

/// The pieces that were put under one another.
struct Joined<'a> {
    rules: &'a Rules<'a>,
    origin: Origin,
    /// Columns that count for the limits.
    width: usize,
    /// Bytes since the last record, and the line on which they begin.
    gap: usize,
    gap_line: u64,
    /// None of the rows behind is wanted.
    done: bool,
}

impl Joined<'_> {
    /// Puts pieces, read from `start` of their blocks on, under what there is.
    fn join(
        &mut self,
        builders: &mut [ColumnBuilder],
        blocks: &[Block],
        mut pieces: Vec<Piece>,
        start: usize,
    ) -> Result<()> {
        let mut progress: Vec<Progress> = builders.iter().map(ColumnBuilder::progress).collect();
        let mut read = 0;
        for (at, block) in blocks.iter().enumerate() {
            if self.done {
                break;
            }
            if !pieces[at].advance(&mut progress) {
                // A column became another kind within these blocks. What is before goes in, to read this one again.
                append(builders, &pieces[read..at]);
                read = at;
                pieces[at] = self.rules.read(block, 0, block.line, builders);
                progress = builders.iter().map(ColumnBuilder::progress).collect();
                pieces[at].advance(&mut progress);
            }
            self.count(&mut pieces[at], block.text.len() - start)?;
            if self.done {
                pieces.truncate(at + 1);
                break;
            }
        }
        append(builders, &pieces[read..]);
        Ok(())
    }

    /// Counts the rows of a piece of so many bytes of text, and finds the first error in it.
    fn count(&mut self, piece: &mut Piece, bytes: usize) -> Result<()> {
        let gap = self.gap + piece.head.unwrap_or(bytes);
        self.rules.row_bytes(gap, self.gap_line)?;
        match piece.head {
            Some(_) => (self.gap, self.gap_line) = (piece.tail, piece.tail_line),
            None => self.gap = gap,
        }
        let rows = match &piece.stop {
            Some(Stop::Failed { row, shape, .. }) => row + usize::from(!shape),
            _ => piece.origin.rows(),
        };
        self.check_rows(rows)?;
        match piece.stop.take() {
            Some(Stop::Failed { error, .. }) => return Err(error),
            Some(Stop::Done) => self.done = true,
            None => {}
        }
        self.origin.append(&piece.origin);
        Ok(())
    }

    /// So many rows more.
    fn check_rows(&self, more: usize) -> Result<()> {
        let before = self.origin.rows();
        let limits = &self.rules.format.limits;
        if before + more < u32::MAX as usize && limits.check_rows(before + more, self.width).is_ok()
        {
            return Ok(());
        }
        for rows in before + 1..=before + more {
            if rows >= u32::MAX as usize {
                let reason = "more than 4 billion rows: read a part of the file".to_string();
                return Err(Error::Option { option: self.rules.file.to_string(), reason });
            }
            let within = limits.check_rows(rows, self.width);
            within.map_err(|more| more.at(visible(self.rules.file)))?;
        }
        Ok(())
    }
}

/// Puts the columns of pieces under those there are.
fn append(builders: &mut [ColumnBuilder], pieces: &[Piece]) {
    let append = |(at, builder): (usize, &mut ColumnBuilder)| {
        pieces.iter().for_each(|piece| builder.append(&piece.columns[at]));
    };
    match pieces.len() {
        0..=1 => builders.iter_mut().enumerate().for_each(append),
        _ => builders.par_iter_mut().enumerate().for_each(append),
    }
}

/// The commonest of comma, tab and semicolon outside quotes in the first line; comma if none.
fn commonest_delimiter(start: &[u8], comment: Option<u8>) -> u8 {
    let mut lines = start.split(|&b| b == b'\n');
    let first = lines.find(|line| {
        !line.trim_ascii().is_empty() && line.first().copied() != comment.or(Some(b'\n'))
    });
    let mut quoted = false;
    let mut counts = [(b',', 0), (b'\t', 0), (b';', 0)];
    for &byte in first.unwrap_or(b"") {
        quoted ^= byte == b'"';
        for (delimiter, count) in &mut counts {
            *count += usize::from(!quoted && byte == *delimiter);
        }
    }
    let mut best = counts[0];
    for candidate in &counts[1..] {
        if candidate.1 > best.1 {
            best = *candidate;
        }
    }
    best.0
}

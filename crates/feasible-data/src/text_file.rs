//! Comma-, tab- and semicolon-separated text, read row by row into typed columns.

use std::cell::Cell;
use std::io::BufRead;
use std::rc::Rc;

use csv::ByteRecord;

use crate::column::Column;
use crate::column_builder::{ColumnBuilder, readable};
use crate::error::{CellPlace, Error, Result};
use crate::format::Format;
use crate::limits::Exceeded;
use crate::line_ends::LineEnds;
use crate::origin::Origin;
use crate::source::ByteSource;
use crate::table::Table;
use crate::visible::visible;

/// Reads a text table; see [`Format`] for what it may look like. Only the rows on these lines, if any are
/// given.
pub(crate) fn read(
    source: ByteSource<'_>,
    format: &Format,
    lines: Option<&[u64]>,
) -> Result<Table> {
    let wanted_line = |line: u64| lines.is_none_or(|lines| lines.binary_search(&line).is_ok());
    let last = lines.map_or(u64::MAX, |lines| lines.last().copied().unwrap_or(0));
    let file = source.name();
    let mut rows = TextRows::open(source, format)?;
    let (names, first) = rows.names()?;
    let (names, wanted) = format.settle(&file, names)?;
    let builder = |(name, &wanted): (&String, &bool)| {
        ColumnBuilder::new(name, wanted, format.kinds.get(name).copied())
    };
    let mut builders: Vec<_> = names.iter().zip(&wanted).map(builder).collect();
    let mut origin = Origin::new(&file);
    let width = wanted.iter().filter(|&&wanted| wanted).count();
    if let Some(line) = first.filter(|&line| wanted_line(line)) {
        rows.fill(&mut builders, line)?;
        origin.push(line);
    }
    while let Some(line) = rows.next(names.len())? {
        if origin.rows() == u32::MAX as usize - 1 {
            let reason = "more than 4 billion rows: read a part of the file".to_string();
            return Err(Error::Option { option: file, reason });
        }
        if !wanted_line(line) {
            if line > last {
                break;
            }
            continue;
        }
        format
            .limits
            .check_rows(origin.rows() + 1, width)
            .map_err(|more| more.at(visible(&file)))?;
        rows.fill(&mut builders, line)?;
        origin.push(line);
    }
    if origin.rows() == 0 {
        return Err(Error::NoRows { file });
    }
    let mut again: Vec<_> = builders.iter_mut().map(ColumnBuilder::again).collect();
    if again.iter().any(Option::is_some) {
        reread(source, format, &mut again, &wanted_line)?;
    }
    let mut columns: Vec<Column> = Vec::with_capacity(builders.len());
    for (first, second) in builders.into_iter().zip(again) {
        columns.extend(second.unwrap_or(first).finish(&file)?);
    }
    Table::with_origin(&file, columns, origin)
}

/// The second pass: fills the columns whose early numbers must be read as text.
fn reread(
    source: ByteSource<'_>,
    format: &Format,
    again: &mut [Option<ColumnBuilder>],
    wanted: &dyn Fn(u64) -> bool,
) -> Result<()> {
    let mut rows = TextRows::open(source, format)?;
    let (names, first) = rows.names()?;
    let mut line = match first {
        Some(line) => Some(line),
        None => rows.next(names.len())?,
    };
    while let Some(at) = line {
        for (builder, cell) in again.iter_mut().zip(rows.record.iter()) {
            if let (Some(builder), true) = (builder, wanted(at)) {
                builder.push(rows.trimmed(cell), format, &rows.file, at)?;
            }
        }
        line = rows.next(names.len())?;
    }
    Ok(())
}

/// The rows of a text file.
struct TextRows<'a> {
    file: String,
    format: &'a Format,
    reader: csv::Reader<LineEnds<Box<dyn BufRead + 'a>>>,
    record: ByteRecord,
    skipped: u64,
    /// Bytes of the row that is being read.
    of_row: Rc<Cell<u64>>,
}

impl<'a> TextRows<'a> {
    fn open(source: ByteSource<'a>, format: &'a Format) -> Result<Self> {
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
        let start = text.fill_buf().map_err(Error::io(&file))?;
        let delimiter = match format.delimiter {
            Some(c) => Format::byte("delimiter", c)?,
            None => commonest_delimiter(start, comment),
        };
        let text = LineEnds::new(text, format.limits.row_bytes);
        let of_row = text.of_row();
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .comment(comment)
            .buffer_capacity(1 << 16)
            .from_reader(text);
        Ok(Self { file, format, reader, record: ByteRecord::new(), skipped, of_row })
    }

    fn trimmed<'c>(&self, cell: &'c [u8]) -> &'c [u8] {
        if self.format.trim { cell.trim_ascii() } else { cell }
    }

    /// Reads the next row that is not blank and gives its line. A record of one cell with nothing in it is a row
    /// only of a table of one column, and only as `""`, or as spaces that are not trimmed.
    fn advance(&mut self, one_column: bool) -> Result<Option<u64>> {
        loop {
            self.of_row.set(0);
            let begins = self.skipped + self.reader.position().line();
            let more = self.reader.read_byte_record(&mut self.record).map_err(|error| {
                let source = match error.into_kind() {
                    csv::ErrorKind::Io(source) => source,
                    other => std::io::Error::other(format!("{other:?}")),
                };
                match Error::io(&self.file)(source) {
                    Error::Limit { what, key: key @ "row_bytes", place } => {
                        Error::Limit { what, key, place: format!("{place}, from line {begins} on") }
                    }
                    other => other,
                }
            })?;
            if !more {
                return Ok(None);
            }
            if self.record.len() == 1 && self.record[0].trim_ascii().is_empty() {
                // The reader itself passes over lines of no bytes: an empty cell was quoted.
                let written = self.record[0].is_empty() || !self.format.trim;
                if !(one_column && written) {
                    continue;
                }
            }
            // The reader stands on the line after the row.
            let after = self.reader.position().line();
            let within = memchr::memchr_iter(b'\n', self.record.as_slice()).count() as u64;
            return Ok(Some(self.skipped + after.saturating_sub(within + 1)));
        }
    }

    /// Reads the next row of a table of `width` columns and gives its line.
    fn next(&mut self, width: usize) -> Result<Option<u64>> {
        let Some(line) = self.advance(width == 1)? else { return Ok(None) };
        let found = self.record.len();
        if found == width {
            return Ok(Some(line));
        }
        let broken = self.record.iter().any(|cell| cell.contains(&b'\n'));
        let hint = match broken {
            true => "; a cell of it holds line breaks: is a quote left open?",
            false => ": quote cells that hold the delimiter, or correct the row",
        };
        let (file, hint) = (self.file.clone(), hint.to_string());
        Err(Error::Ragged { file, line, expected: width, found, hint })
    }

    /// Names of the columns, and the line of the first row if that had to be read for them.
    fn names(&mut self) -> Result<(Vec<String>, Option<u64>)> {
        let one_column = !self.format.header && self.format.names.len() <= 1;
        let Some(line) = self.advance(one_column)? else {
            return Err(Error::Empty { file: self.file.clone() });
        };
        let width = self.record.len();
        let mut names = Vec::with_capacity(width);
        for (at, cell) in self.record.iter().enumerate() {
            let unnamed = format!("column {}", at + 1);
            let place = || CellPlace { file: self.file.clone(), line, column: unnamed.clone() };
            self.check_cell(cell).map_err(|more| more.at(place()))?;
            let name = match self.format.header {
                true => readable(self.trimmed(cell), place)?,
                false => String::new(),
            };
            names.push(if name.is_empty() { unnamed } else { name });
        }
        if !self.format.names.is_empty() {
            if self.format.names.len() != width {
                let given = self.format.names.len();
                let reason = format!("{given} names for the {width} columns of {}", self.file);
                return Err(Error::Option { option: "names".into(), reason });
            }
            names.clone_from(&self.format.names);
        }
        Ok((names, (!self.format.header).then_some(line)))
    }

    fn check_cell(&self, cell: &[u8]) -> Result<(), Exceeded> {
        self.format.limits.check_cell(cell.len())
    }

    fn fill(&self, builders: &mut [ColumnBuilder], line: u64) -> Result<()> {
        // No cell is longer than its row.
        if self.record.as_slice().len() as u64 > self.format.limits.cell_bytes {
            for (builder, cell) in builders.iter().zip(self.record.iter()) {
                self.check_cell(cell).map_err(|more| more.at(builder.place(&self.file, line)))?;
            }
        }
        for (builder, cell) in builders.iter_mut().zip(self.record.iter()) {
            builder.push(self.trimmed(cell), self.format, &self.file, line)?;
        }
        Ok(())
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

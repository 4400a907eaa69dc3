//! Text tables read row by row with the `csv` crate: what the reader in blocks must agree with.
//!
//! Left out is the limit on the bytes of a row.

use std::io::{BufRead, Cursor, Read};

use csv::ByteRecord;

use crate::column::Column;
use crate::column_builder::{ColumnBuilder, Progress, readable};
use crate::error::{CellPlace, Error, Result};
use crate::format::Format;
use crate::limits::Exceeded;
use crate::origin::Origin;
use crate::source::ByteSource;
use crate::table::Table;
use crate::visible::visible;

use super::blocks::START;
use super::commonest_delimiter;
use super::line_ends::LineEnds;

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
    let builder =
        |(name, &wanted): (&String, &bool)| ColumnBuilder::new(name, wanted, format.kind_of(name));
    let mut builders: Vec<_> = names.iter().zip(&wanted).map(builder).collect();
    let mut origin = Origin::new(&file);
    let width = wanted.iter().filter(|&&wanted| wanted).count();
    let done = first.is_some_and(|line| line > last);
    if let Some(line) = first.filter(|&line| wanted_line(line)) {
        format.limits.check_rows(1, width).map_err(|more| more.at(visible(&file)))?;
        rows.fill(&mut builders, line)?;
        origin.push(line);
    }
    while let Some(line) = if done { None } else { rows.next(names.len())? } {
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
    let read_again = |column: &ColumnBuilder| column.progress() != Progress::Skipped;
    if again.iter().any(read_again) {
        reread(source, format, &mut again, &wanted_line, last)?;
    }
    let mut columns: Vec<Column> = Vec::with_capacity(builders.len());
    for (first, second) in builders.into_iter().zip(again) {
        columns.extend(if read_again(&second) { second } else { first }.finish(&file)?);
    }
    Table::with_origin(&file, columns, origin)
}

/// The second pass: fills the columns whose early numbers must be read as text.
fn reread(
    source: ByteSource<'_>,
    format: &Format,
    again: &mut [ColumnBuilder],
    wanted: &dyn Fn(u64) -> bool,
    last: u64,
) -> Result<()> {
    let mut rows = TextRows::open(source, format)?;
    let (names, first) = rows.names()?;
    let mut line = match first {
        Some(line) => Some(line),
        None => rows.next(names.len())?,
    };
    while let Some(at) = line.filter(|&line| line <= last) {
        for (builder, cell) in again.iter_mut().zip(rows.record.iter()) {
            if wanted(at) {
                builder.push(rows.trimmed(cell), format, &rows.file, || at)?;
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
    reader: csv::Reader<Box<dyn Read>>,
    record: ByteRecord,
    skipped: u64,
    comment: Option<u8>,
    /// A byte of the text, and the line ends before it.
    counted: (usize, u64),
    /// The text that the CSV reader sees.
    text: Vec<u8>,
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
            None => commonest_delimiter(&start[..start.len().min(START)], comment),
        };
        let (mut whole, mut failed) = (Vec::new(), None);
        let mut text = LineEnds::new(text);
        let mut buffer = [0; 1000];
        loop {
            match text.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => whole.extend_from_slice(&buffer[..count]),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        let text = Box::new(Cursor::new(whole.clone()).chain(Failing(failed)));
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .comment(comment)
            .buffer_capacity(1 << 16)
            .from_reader(text as Box<dyn Read>);
        Ok(Self {
            file,
            format,
            reader,
            record: ByteRecord::new(),
            skipped,
            comment,
            counted: (0, 0),
            text: whole,
        })
    }

    fn trimmed<'c>(&self, cell: &'c [u8]) -> &'c [u8] {
        if self.format.trim { cell.trim_ascii() } else { cell }
    }

    /// Reads the next row that is not blank and gives its line. A record of one cell with nothing in it is a row
    /// only of a table of one column, and only as `""`, or as spaces that are not trimmed.
    fn advance(&mut self, one_column: bool) -> Result<Option<u64>> {
        loop {
            let before = self.reader.position().byte();
            let more = self.reader.read_byte_record(&mut self.record).map_err(|error| {
                let source = match error.into_kind() {
                    csv::ErrorKind::Io(source) => source,
                    other => std::io::Error::other(format!("{other:?}")),
                };
                Error::io(&self.file)(source)
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
            return Ok(Some(self.line(before as usize)));
        }
    }

    /// The line of the record that comes next after this byte: one more than there are LF before it.
    fn line(&mut self, mut at: usize) -> u64 {
        if at == 0 && self.text.starts_with(&[0xef, 0xbb, 0xbf]) {
            at = 3;
        }
        loop {
            match self.text[at] {
                b'\n' | b'\r' => at += 1,
                mark if self.comment == Some(mark) => {
                    at += memchr::memchr(b'\n', &self.text[at..]).unwrap_or(0) + 1;
                }
                _ => break,
            }
        }
        let (from, lines) = self.counted;
        let lines = lines + memchr::memchr_iter(b'\n', &self.text[from..at]).count() as u64;
        self.counted = (at, lines);
        self.skipped + 1 + lines
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
            builder.push(self.trimmed(cell), self.format, &self.file, || line)?;
        }
        Ok(())
    }
}

/// Nothing but an error, once.
struct Failing(Option<std::io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

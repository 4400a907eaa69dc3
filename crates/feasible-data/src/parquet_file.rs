//! Parquet files: flat columns of numbers, booleans and text.
//!
//! Types come from the file: integers, floats and decimals are numeric; text, enums and booleans
//! (`false`, `true`) are categorical; dates and timestamps are text as `2024-03-31` and
//! `2024-03-31T12:30:00`; null is missing. Nested and repeated columns, times of day and binary values are not read
//! ([`Table::unread`]): it is an error to use one, not to leave it out.
//!
//! Pages may be plain or compressed with Snappy, gzip, LZ4 or zstd; Brotli is left out for its
//! compile time.
//!
//! The columns are read with the format's own typed column readers, columns and row groups side by side on all
//! cores; nothing of Arrow is needed.

mod chunk;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescriptor;
use rayon::prelude::*;

use crate::column::{Categories, Cells, Column, ColumnKind};
use crate::column_builder::ColumnBuilder;
use crate::dates::{date_text, time_text};
use crate::decoding::decoding;
use crate::disk;
use crate::error::{CellPlace, Error, Result};
use crate::format::Format;
use crate::numbers::Numbers;
use crate::origin::Origin;
use crate::source::ByteSource;
use crate::table::Table;
use crate::visible::visible;

use chunk::Chunks;

/// Rows taken from a column reader at a time.
const BATCH: usize = 8192;

/// Reads a Parquet file. A damaged file is an error, also where the decoder panics on it.
pub(crate) fn read(source: ByteSource<'_>, format: &Format) -> Result<Table> {
    let file = source.name();
    let damaged = damaged(&file);
    decoding(damaged, || {
        let read = |chunks| read_chunks(&chunks, &file, format, None);
        match source {
            ByteSource::Path(path) => {
                read(Chunks::of_file(disk::open(path).map_err(Error::io(&file))?))
            }
            ByteSource::Hashed(of) => of.at_will(|opened| read(Chunks::of_file(opened))),
            ByteSource::Bytes { bytes, .. } => {
                read(Chunks::of_bytes(Bytes::copy_from_slice(bytes)))
            }
        }
    })
}

/// Reads some of the row groups; rows are counted from the first of them.
pub(crate) fn read_groups(path: &Path, format: &Format, groups: Range<usize>) -> Result<Table> {
    let file = path.display().to_string();
    decoding(damaged(&file), || {
        let chunks = Chunks::of_file(disk::open(path).map_err(Error::io(&file))?);
        read_chunks(&chunks, &file, format, Some(groups))
    })
}

/// The rows of each row group, as the file says.
pub(crate) fn group_rows(path: &Path) -> Result<Vec<u64>> {
    let file = path.display().to_string();
    decoding(damaged(&file), || {
        let chunks = Chunks::of_file(disk::open(path).map_err(Error::io(&file))?);
        let metadata = chunks.metadata().map_err(failed(&file))?;
        let rows = |group: &RowGroupMetaData| u64::try_from(group.num_rows()).unwrap_or(0);
        Ok(metadata.row_groups().iter().map(rows).collect())
    })
}

/// Where the bytes of row groups are, after the footer.
pub(crate) fn byte_ranges(path: &Path, groups: Range<usize>) -> Result<Vec<Range<u64>>> {
    let file = path.display().to_string();
    decoding(damaged(&file), || {
        let chunks = Chunks::of_file(disk::open(path).map_err(Error::io(&file))?);
        let metadata = chunks.metadata().map_err(failed(&file))?;
        let groups = metadata.row_groups().get(groups).ok_or_else(damaged(&file))?;
        let of_columns = groups.iter().flat_map(|group| group.columns()).map(|chunk| {
            let (start, length) = chunk.byte_range();
            start..start.saturating_add(length)
        });
        let footer = chunks.footer().map_err(Error::io(&file))?;
        Ok(std::iter::once(footer).chain(of_columns).collect())
    })
}

/// Rows times columns, as the file says.
pub(crate) fn cells(path: &Path) -> Result<u64> {
    let file = path.display().to_string();
    decoding(damaged(&file), || {
        let chunks = Chunks::of_file(disk::open(path).map_err(Error::io(&file))?);
        let metadata = chunks.metadata().map_err(failed(&file))?;
        let of_file = metadata.file_metadata();
        let rows = u64::try_from(of_file.num_rows()).unwrap_or(0);
        Ok(rows.saturating_mul(of_file.schema_descr().num_columns() as u64))
    })
}

/// What to say of a file on which a decoder panics.
fn damaged(file: &str) -> impl Fn() -> Error + '_ {
    || {
        let reason = "the Parquet data is damaged: write the file again".to_string();
        Error::Parquet { file: file.to_string(), reason }
    }
}

fn failed(file: &str) -> impl Fn(parquet::errors::ParquetError) -> Error + '_ {
    |error| Error::Parquet { file: file.to_string(), reason: error.to_string() }
}

/// Reads some row groups, or all.
fn read_chunks(
    chunks: &Chunks,
    file: &str,
    format: &Format,
    groups: Option<Range<usize>>,
) -> Result<Table> {
    let metadata = chunks.metadata().map_err(failed(file))?;
    let of_groups = groups.clone().map(|groups| {
        let groups = metadata.row_groups().get(groups).unwrap_or_default();
        groups.iter().fold(0, |sum: i64, group| sum.saturating_add(group.num_rows()))
    });
    let groups = groups.unwrap_or(0..metadata.num_row_groups());
    if groups.end > metadata.num_row_groups() {
        return Err(damaged(file)());
    }
    let schema = metadata.file_metadata().schema_descr_ptr();
    // A column of lists or structures is one column to its user, whatever it consists of.
    let (mut names, mut leaves, mut unread) = (Vec::new(), Vec::new(), Vec::new());
    for (at, column) in schema.columns().iter().enumerate() {
        let root = column.path().parts().first().cloned().unwrap_or_default();
        match kind(column) {
            Ok(kind) => {
                names.push(root);
                leaves.push((at, kind));
            }
            Err(holds) if !unread.iter().any(|(name, _)| *name == root) => {
                unread.push((root, holds.to_string()));
            }
            Err(_) => {}
        }
    }
    let asked = |(name, _): &&(String, String)| {
        format.columns.iter().flatten().chain(format.kinds.keys()).any(|asked| asked == name)
    };
    if let Some((column, holds)) = unread.iter().find(asked) {
        let (column, holds) = (column.clone(), holds.clone());
        return Err(Error::Unread { table: file.to_string(), column, holds });
    }
    let (names, wanted) = format.settle(file, names)?;
    let width = wanted.iter().filter(|&&wanted| wanted).count();
    let limits = &format.limits;
    // What the file says of itself is checked before anything is made room for, what it holds while it is read.
    let said = usize::try_from(metadata.file_metadata().num_rows()).unwrap_or(0);
    limits.check_rows(said, width).map_err(|more| more.at(visible(file)))?;
    let read: Vec<(&String, usize, Kind)> = names
        .iter()
        .zip(&leaves)
        .zip(&wanted)
        .filter(|(_, wanted)| **wanted)
        .map(|((name, (at, kind)), _)| (name, *at, *kind))
        .collect();
    let sizes = metadata
        .row_groups()
        .iter()
        .flat_map(|group| read.iter().filter_map(|(_, at, _)| group.columns().get(*at)));
    let bytes = sizes.fold(0_u64, |sum, chunk| {
        sum.saturating_add(u64::try_from(chunk.uncompressed_size()).unwrap_or(0))
    });
    limits.check_expansion(chunks.length(), bytes).map_err(|more| more.at(visible(file)))?;
    let fillers: Vec<Filler<'_>> = read
        .iter()
        .map(|&(name, at, kind)| Filler::new(name, &schema.column(at), kind, file, format, width))
        .collect();
    let columns =
        ColumnChunks { chunks, metadata: &metadata, file, groups }.read(fillers, &read)?;
    let rows = columns.first().map_or(0, Column::len);
    // Where a group begins is known from the rows that those before it are said to have.
    if of_groups.is_some_and(|said| usize::try_from(said) != Ok(rows)) {
        return Err(damaged(file)());
    }
    if let (true, Some((column, holds))) = (names.is_empty(), unread.first()) {
        let (column, holds) = (column.clone(), holds.clone());
        return Err(Error::Unread { table: file.to_string(), column, holds });
    }
    if names.is_empty() {
        return Err(Error::Empty { file: file.to_string() });
    }
    let unread = if format.columns.is_some() { Vec::new() } else { unread };
    let table = Table::with_origin(file, columns, Origin::numbered(file, rows))?;
    Ok(Table { unread, ..table })
}

/// The column chunks of a file: the cells of a column in a row group.
struct ColumnChunks<'a> {
    chunks: &'a Chunks,
    metadata: &'a ParquetMetaData,
    file: &'a str,
    /// The row groups that are read.
    groups: Range<usize>,
}

impl ColumnChunks<'_> {
    /// Fills columns, those of the file at `read`. The first error is that of the first column.
    fn read(
        &self,
        mut fillers: Vec<Filler<'_>>,
        read: &[(&String, usize, Kind)],
    ) -> Result<Vec<Column>> {
        let groups = self.groups.len();
        if fillers.len() * groups <= 1 || self.chunks.length() < SMALL {
            for (filler, &(_, at, _)) in fillers.iter_mut().zip(read) {
                self.groups.clone().try_for_each(|group| self.fill(filler, at, group))?;
            }
            return fillers.into_iter().map(Filler::finish).collect();
        }
        // A few columns at a time, so that little is held both in pieces and whole.
        let together = (4 * rayon::current_num_threads()).div_ceil(groups.max(1));
        for (fillers, read) in fillers.chunks_mut(together).zip(read.chunks(together)) {
            let begun = &*fillers;
            let piece = |task: usize| {
                let (column, group) = (task / groups, self.groups.start + task % groups);
                let mut piece = begun[column].piece();
                // The decoder runs on this thread, whose panics are the file's fault too.
                let filled =
                    decoding(damaged(self.file), || self.fill(&mut piece, read[column].1, group));
                filled.map(|()| piece)
            };
            let tasks = (0..begun.len() * groups).into_par_iter();
            let pieces: Vec<Result<Filler<'_>>> = tasks.map(piece).collect();
            let mut pieces = pieces.into_iter();
            for (filler, &(_, at, _)) in fillers.iter_mut().zip(read) {
                let of_column: Result<Vec<_>> = pieces.by_ref().take(groups).collect();
                match of_column {
                    Ok(pieces) => pieces.into_iter().try_for_each(|piece| filler.append(piece))?,
                    // From the top, to count its rows: what they are is known to the cells only.
                    Err(_) => {
                        self.groups.clone().try_for_each(|group| self.fill(filler, at, group))?
                    }
                }
            }
        }
        let finished: Vec<Result<Column>> = fillers.into_par_iter().map(Filler::finish).collect();
        finished.into_iter().collect()
    }

    /// Adds the cells of a column of the file in a row group.
    fn fill(&self, filler: &mut Filler<'_>, at: usize, group: usize) -> Result<()> {
        let failed = failed(self.file);
        let group = self.metadata.row_group(group);
        let chunk = group.column(at);
        let (start, length) = chunk.byte_range();
        let bytes = self.chunks.get(start, length).map_err(Error::io(self.file))?;
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        let pages =
            SerializedPageReader::new(Arc::new(bytes), chunk, rows, None).map_err(&failed)?;
        filler.fill(get_column_reader(chunk.column_descr_ptr(), Box::new(pages)))
    }
}

/// Bytes of a file that one core reads before others would be there.
const SMALL: u64 = 100_000;

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Signed,
    Unsigned,
    /// Whole numbers of which the last digits are decimals.
    Decimal(i32),
    /// Days since 1970-01-01.
    Date,
    /// Units since 1970-01-01, so many a second.
    Time(i64),
    /// Text, or true and false.
    Text,
}

/// What a column holds, or why it cannot be read.
fn kind(d: &ColumnDescriptor) -> Result<Kind, &'static str> {
    use parquet::basic::{TimeUnit, Type};
    if d.max_rep_level() > 0 || d.max_def_level() > 1 || d.path().parts().len() > 1 {
        return Err("nested or repeated values");
    }
    let converted = d.converted_type();
    match (d.logical_type_ref(), converted) {
        (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => return Ok(Kind::Date),
        (Some(LogicalType::Timestamp(time)), _) => {
            return Ok(Kind::Time(match time.unit {
                TimeUnit::MILLIS => 1_000,
                TimeUnit::MICROS => 1_000_000,
                TimeUnit::NANOS => 1_000_000_000,
            }));
        }
        (None, ConvertedType::TIMESTAMP_MILLIS) => return Ok(Kind::Time(1_000)),
        (None, ConvertedType::TIMESTAMP_MICROS) => return Ok(Kind::Time(1_000_000)),
        (Some(LogicalType::Time(_)), _)
        | (None, ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS) => {
            return Err("times of day");
        }
        _ => {}
    }
    let decimal = converted == ConvertedType::DECIMAL
        || matches!(d.logical_type_ref(), Some(LogicalType::Decimal { .. }));
    match d.physical_type() {
        Type::INT96 => Ok(Kind::Time(1_000_000_000)),
        _ if decimal => Ok(Kind::Decimal(d.type_scale())),
        Type::BOOLEAN | Type::BYTE_ARRAY => Ok(Kind::Text),
        Type::FIXED_LEN_BYTE_ARRAY => Err("fixed-length binary values"),
        _ => match converted {
            ConvertedType::UINT_32 | ConvertedType::UINT_64 => Ok(Kind::Unsigned),
            _ => Ok(Kind::Signed),
        },
    }
}

/// Whole numbers of which the last `scale` digits are decimals.
fn scaled(unscaled: f64, scale: i32) -> f64 {
    unscaled / 10f64.powi(scale)
}

/// The number in big-endian two's complement.
fn big_endian(bytes: &[u8]) -> f64 {
    let negative = bytes.first().is_some_and(|&byte| byte >= 0x80);
    let magnitude = |byte: u8| f64::from(if negative { !byte } else { byte });
    let size = bytes.iter().fold(0.0, |sum, &byte| sum * 256.0 + magnitude(byte));
    if negative { -1.0 - size } else { size }
}

/// A time as nanoseconds of a day and a Julian day number.
fn time_text_96(words: &[u32]) -> Option<String> {
    let &[low, high, julian] = words else { return None };
    let nanos = i128::from(u64::from(high) << 32 | u64::from(low));
    // 1970-01-01 is the Julian day 2,440,588.
    let days = i128::from(julian) - 2_440_588;
    let microseconds = days * 86_400_000_000 + nanos / 1000;
    time_text(i64::try_from(microseconds).ok()?, 1_000_000)
}

/// A column being filled.
struct Filler<'a> {
    name: &'a str,
    file: &'a str,
    format: &'a Format,
    optional: bool,
    kind: Kind,
    /// Columns that are read, and rows of this one so far.
    width: usize,
    rows: usize,
    cells: Growing,
}

#[allow(clippy::large_enum_variant, reason = "there is one for each column")]
enum Growing {
    Numbers(Numbers),
    Text(ColumnBuilder, u64),
}

impl<'a> Filler<'a> {
    fn new(
        name: &'a str,
        d: &ColumnDescriptor,
        kind: Kind,
        file: &'a str,
        format: &'a Format,
        width: usize,
    ) -> Self {
        let cells = match kind {
            Kind::Text => {
                let declared = format.kind_of(name);
                let declared = declared.unwrap_or(ColumnKind::Categorical);
                Growing::Text(ColumnBuilder::new(name, true, Some(declared)), 1)
            }
            Kind::Date | Kind::Time(_) => {
                let builder = ColumnBuilder::new(name, true, Some(ColumnKind::Categorical));
                Growing::Text(builder, 1)
            }
            _ => Growing::Numbers(Numbers::default()),
        };
        let optional = d.max_def_level() > 0;
        Self { name, file, format, optional, kind, width, rows: 0, cells }
    }

    /// Begins a piece that will stand under this column.
    fn piece(&self) -> Self {
        let cells = match &self.cells {
            Growing::Numbers(_) => Growing::Numbers(Numbers::default()),
            Growing::Text(builder, _) => Growing::Text(builder.piece(0), 1),
        };
        Self { cells, rows: 0, ..*self }
    }

    /// Puts a piece under the column.
    fn append(&mut self, piece: Self) -> Result<()> {
        self.rows += piece.rows;
        let within = self.format.limits.check_rows(self.rows, self.width);
        within.map_err(|more| more.at(visible(self.file)))?;
        match (&mut self.cells, piece.cells) {
            (Growing::Numbers(above), Growing::Numbers(below)) if above.is_empty() => {
                *above = below
            }
            (Growing::Numbers(above), Growing::Numbers(below)) => above.append(&below),
            // Its kind was declared: it is the same in all pieces.
            (Growing::Text(above, row), Growing::Text(below, next)) => {
                if *row == 1 {
                    *above = below
                } else {
                    above.append(&below)
                }
                *row += next - 1;
            }
            _ => {}
        }
        Ok(())
    }

    fn fill(&mut self, reader: ColumnReader) -> Result<()> {
        let kind = self.kind;
        let scale = if let Kind::Decimal(scale) = kind { scale } else { 0 };
        match (reader, kind) {
            (ColumnReader::Int32ColumnReader(r), Kind::Date) => {
                self.dates(r, |&days| date_text(days.into()))
            }
            (ColumnReader::Int64ColumnReader(r), Kind::Time(a_second)) => {
                self.dates(r, |&units| time_text(units, a_second))
            }
            (ColumnReader::Int96ColumnReader(r), _) => self.dates(r, |x| time_text_96(x.data())),
            (ColumnReader::Int32ColumnReader(r), _) => self.numbers(r, |&x| match kind {
                Kind::Unsigned => f64::from(x as u32),
                _ => scaled(f64::from(x), scale),
            }),
            (ColumnReader::Int64ColumnReader(r), _) => self.numbers(r, |&x| match kind {
                Kind::Unsigned => x as u64 as f64,
                _ => scaled(x as f64, scale),
            }),
            (ColumnReader::FloatColumnReader(r), _) => self.numbers(r, |&x| f64::from(x)),
            (ColumnReader::DoubleColumnReader(r), _) => self.numbers(r, |&x| x),
            (ColumnReader::FixedLenByteArrayColumnReader(r), _) => {
                self.numbers(r, |x| scaled(big_endian(x.data()), scale))
            }
            (ColumnReader::ByteArrayColumnReader(r), Kind::Decimal(_)) => {
                self.numbers(r, |x| scaled(big_endian(x.data()), scale))
            }
            (ColumnReader::ByteArrayColumnReader(r), _) => self.text(r, |x| x.data()),
            (ColumnReader::BoolColumnReader(r), _) => {
                self.text(r, |&x| if x { b"true".as_slice() } else { b"false" })
            }
        }
    }

    /// Reads the next cells, and which of the rows have one (if some may not); gives the number of rows.
    fn batch<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        cells: &mut Vec<T::T>,
        present: &mut Vec<i16>,
    ) -> Result<usize> {
        cells.clear();
        present.clear();
        let definition = self.optional.then_some(present);
        let (rows, ..) =
            reader.read_records(BATCH, definition, None, cells).map_err(failed(self.file))?;
        self.rows += rows;
        let within = self.format.limits.check_rows(self.rows, self.width);
        within.map_err(|more| more.at(visible(self.file)))?;
        Ok(rows)
    }

    /// Calls `each` with every cell, `None` where it is null.
    fn cells<T: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<T>,
        mut each: impl FnMut(&mut Self, Option<&T::T>) -> Result<()>,
    ) -> Result<()> {
        let (mut values, mut present) = (Vec::new(), Vec::new());
        loop {
            let rows = self.batch(&mut reader, &mut values, &mut present)?;
            if rows == 0 {
                return Ok(());
            }
            let mut next = values.iter();
            for row in 0..rows {
                let absent = self.optional && present.get(row) != Some(&1);
                each(self, if absent { None } else { next.next() })?;
            }
        }
    }

    fn numbers<T: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<T>,
        number: impl Fn(&T::T) -> f64,
    ) -> Result<()> {
        let (mut cells, mut present) = (Vec::new(), Vec::new());
        let mut numbers: Vec<f64> = Vec::new();
        while self.batch(&mut reader, &mut cells, &mut present)? > 0 {
            numbers.clear();
            if self.optional && present.len() != cells.len() {
                let mut next = cells.iter();
                let cell = |&level: &i16| if level == 1 { next.next() } else { None };
                numbers.extend(present.iter().map(cell).map(|cell| cell.map_or(f64::NAN, &number)));
            } else {
                numbers.extend(cells.iter().map(&number));
            }
            if !numbers.iter().all(|x| x.is_finite()) {
                self.check_finite(&mut numbers, &present)?;
            }
            if let Growing::Numbers(values) = &mut self.cells {
                values.extend_from_slice(&numbers);
            }
        }
        Ok(())
    }

    /// Has NaN and infinities be missing, if they are declared to be.
    fn check_finite(&self, numbers: &mut [f64], present: &[i16]) -> Result<()> {
        let Growing::Numbers(values) = &self.cells else { return Ok(()) };
        for (row, value) in numbers.iter_mut().enumerate().filter(|(_, x)| !x.is_finite()) {
            let absent = self.optional && present.get(row) != Some(&1);
            if !absent && !self.format.is_missing(value.to_string().as_bytes()) {
                let (file, column) = (self.file.to_string(), self.name.to_string());
                let place = CellPlace { file, line: (values.len() + row) as u64 + 1, column };
                return Err(Error::NotFinite { place, value: value.to_string() });
            }
            *value = f64::NAN;
        }
        Ok(())
    }

    /// Dates and times, written out.
    fn dates<T: DataType>(
        &mut self,
        reader: ColumnReaderImpl<T>,
        text: impl Fn(&T::T) -> Option<String>,
    ) -> Result<()> {
        self.cells(reader, |filler, cell| {
            let Growing::Text(builder, row) = &mut filler.cells else { return Ok(()) };
            match cell {
                Some(cell) => {
                    let text = text(cell).ok_or_else(|| Error::NotADate {
                        place: builder.place(filler.file, *row),
                        value: "a date beyond the years 1 to 9999".to_string(),
                    })?;
                    builder.push(text.as_bytes(), filler.format, filler.file, || *row)?;
                }
                None => builder.push_missing(),
            }
            *row += 1;
            Ok(())
        })
    }

    fn text<T: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<T>,
        bytes: impl Fn(&T::T) -> &[u8],
    ) -> Result<()> {
        let (mut cells, mut present) = (Vec::new(), Vec::new());
        loop {
            let rows = self.batch(&mut reader, &mut cells, &mut present)?;
            let Growing::Text(builder, row) = &mut self.cells else { return Ok(()) };
            if rows == 0 {
                return Ok(());
            }
            // Cells of one entry of a dictionary share their bytes. Those of a batch are all in memory, so that what is in
            // one place is one text.
            let mut seen = [(0, 0, 0); 1 << 10];
            let mut next = cells.iter();
            for at in 0..rows {
                let absent = self.optional && present.get(at) != Some(&1);
                match if absent { None } else { next.next() } {
                    Some(cell) => {
                        let cell = bytes(cell);
                        let (place, length) = (cell.as_ptr() as usize, cell.len());
                        let slot = &mut seen[place % (1 << 10)];
                        if (slot.0, slot.1) == (place, length) {
                            builder.push_code(slot.2);
                        } else {
                            let within = self.format.limits.check_cell(length);
                            within.map_err(|more| more.at(builder.place(self.file, *row)))?;
                            builder.push(cell, self.format, self.file, || *row)?;
                            if let Some(code) = builder.last_code() {
                                *slot = (place, length, code);
                            }
                        }
                    }
                    None => builder.push_missing(),
                }
                *row += 1;
            }
        }
    }

    fn finish(self) -> Result<Column> {
        let categorical = self.format.kind_of(self.name) == Some(ColumnKind::Categorical);
        let name = self.name.to_string();
        match self.cells {
            Growing::Numbers(x) if categorical => {
                Ok(Column { name, cells: Cells::Categories(Categories::of_numbers(&x)) })
            }
            Growing::Numbers(x) => Ok(Column { name, cells: Cells::Numbers(x) }),
            Growing::Text(builder, _) => match builder.finish(self.file)? {
                Some(column) => Ok(column),
                None => Ok(Column { name, cells: Cells::Numbers(Numbers::default()) }),
            },
        }
    }
}

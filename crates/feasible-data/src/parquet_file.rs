//! Parquet files: flat columns of numbers, booleans and text.
//!
//! Types come from the file: integers, floats and decimals are numeric; text, enums and booleans
//! (`false`, `true`) are categorical; null is missing. Dates and times, nested and repeated
//! columns are refused by name: convert them, or leave them out with
//! [`Format::columns`](crate::Format::columns).
//!
//! Pages may be plain or compressed with Snappy, gzip, LZ4 or zstd; Brotli is left out for its
//! compile time.
//!
//! The columns are read with the format's own typed column readers, one row group at a time;
//! nothing of Arrow is needed.

use bytes::Bytes;
use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use crate::column::{Categories, Cells, Column, ColumnKind};
use crate::column_builder::ColumnBuilder;
use crate::decoding::decoding;
use crate::disk;
use crate::error::{CellPlace, Error, Result};
use crate::format::Format;
use crate::numbers::Numbers;
use crate::origin::Origin;
use crate::source::ByteSource;
use crate::table::Table;
use crate::visible::visible;

/// Rows taken from a column reader at a time.
const BATCH: usize = 8192;

/// Reads a Parquet file. A damaged file is an error, also where the decoder panics on it.
pub(crate) fn read(source: ByteSource<'_>, format: &Format) -> Result<Table> {
    let file = source.name();
    let read = || match source {
        ByteSource::Path(path) => {
            let handle = disk::open(path).map_err(Error::io(&file))?;
            read_chunks(handle, &file, format)
        }
        ByteSource::Bytes { bytes, .. } => {
            read_chunks(Bytes::copy_from_slice(bytes), &file, format)
        }
    };
    let damaged = || {
        let reason = "the Parquet data is damaged: write the file again".to_string();
        Error::Parquet { file: file.clone(), reason }
    };
    decoding(damaged, read)
}

fn read_chunks<R: ChunkReader + 'static>(chunks: R, file: &str, format: &Format) -> Result<Table> {
    let failed = |error: parquet::errors::ParquetError| Error::Parquet {
        file: file.to_string(),
        reason: error.to_string(),
    };
    let length = chunks.len();
    let reader = SerializedFileReader::new(chunks).map_err(failed)?;
    let metadata = reader.metadata();
    let schema = metadata.file_metadata().schema_descr_ptr();
    let names = schema.columns().iter().map(|column| column.path().string()).collect();
    let (names, wanted) = format.settle(file, names)?;
    let width = wanted.iter().filter(|&&wanted| wanted).count();
    let limits = &format.limits;
    // What the file says of itself is checked before anything is made room for, what it holds while it is read.
    let said = usize::try_from(metadata.file_metadata().num_rows()).unwrap_or(0);
    limits.check_rows(said, width).map_err(|more| more.at(visible(file)))?;
    let chunks = metadata.row_groups().iter().flat_map(|group| {
        group.columns().iter().zip(&wanted).filter(|(_, wanted)| **wanted).map(|(chunk, _)| chunk)
    });
    let bytes = chunks.fold(0_u64, |sum, chunk| {
        sum.saturating_add(u64::try_from(chunk.uncompressed_size()).unwrap_or(0))
    });
    limits.check_expansion(length, bytes).map_err(|more| more.at(visible(file)))?;
    let mut columns = Vec::new();
    for (at, name) in names.iter().enumerate().filter(|&(at, _)| wanted[at]) {
        let descriptor = schema.column(at);
        let mut cells = Filler::new(name, &descriptor, file, format)?;
        cells.width = width;
        for group in 0..reader.num_row_groups() {
            let group = reader.get_row_group(group).map_err(failed)?;
            let values = group.get_column_reader(at).map_err(failed)?;
            cells.fill(values)?;
        }
        columns.push(cells.finish()?);
    }
    let rows = columns.first().map_or(0, Column::len);
    if names.is_empty() {
        return Err(Error::Empty { file: file.to_string() });
    }
    Table::with_origin(file, columns, Origin::numbered(file, rows))
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

/// A column being filled.
struct Filler<'a> {
    name: &'a str,
    file: &'a str,
    format: &'a Format,
    optional: bool,
    unsigned: bool,
    /// Decimals after the point of a decimal column.
    scale: Option<i32>,
    /// Columns that are read, and rows of this one so far.
    width: usize,
    rows: usize,
    cells: Growing,
}

enum Growing {
    Numbers(Numbers),
    Text(ColumnBuilder, u64),
}

impl<'a> Filler<'a> {
    fn new(name: &'a str, d: &ColumnDescriptor, file: &'a str, format: &'a Format) -> Result<Self> {
        use parquet::basic::Type;
        let refuse = |what: &str| Error::Parquet {
            file: file.to_string(),
            reason: format!(
                "column '{name}' holds {what}: convert it to numbers or text, or leave it out with \
                 `columns`"
            ),
        };
        if d.max_rep_level() > 0 || d.max_def_level() > 1 || d.path().parts().len() > 1 {
            return Err(refuse("nested or repeated values"));
        }
        match d.logical_type_ref() {
            Some(LogicalType::Date | LogicalType::Time { .. } | LogicalType::Timestamp { .. }) => {
                return Err(refuse("dates or times"));
            }
            _ if d.physical_type() == Type::INT96 => return Err(refuse("dates or times")),
            _ => {}
        }
        let decimal = d.converted_type() == ConvertedType::DECIMAL
            || matches!(d.logical_type_ref(), Some(LogicalType::Decimal { .. }));
        let text = match d.physical_type() {
            Type::BOOLEAN => true,
            Type::BYTE_ARRAY => !decimal,
            Type::FIXED_LEN_BYTE_ARRAY if decimal => false,
            Type::FIXED_LEN_BYTE_ARRAY => return Err(refuse("fixed-length binary values")),
            _ => false,
        };
        let unsigned =
            matches!(d.converted_type(), ConvertedType::UINT_32 | ConvertedType::UINT_64);
        let cells = match text {
            true => {
                let kind = format.kinds.get(name).copied().unwrap_or(ColumnKind::Categorical);
                Growing::Text(ColumnBuilder::new(name, true, Some(kind)), 1)
            }
            false => Growing::Numbers(Numbers::default()),
        };
        let scale = decimal.then(|| d.type_scale());
        let optional = d.max_def_level() > 0;
        Ok(Self { name, file, format, optional, unsigned, scale, width: 1, rows: 0, cells })
    }

    fn fill(&mut self, reader: ColumnReader) -> Result<()> {
        let (unsigned, scale) = (self.unsigned, self.scale.unwrap_or(0));
        match reader {
            ColumnReader::Int32ColumnReader(r) => self.numbers(r, |&x| match unsigned {
                true => f64::from(x as u32),
                false => scaled(f64::from(x), scale),
            }),
            ColumnReader::Int64ColumnReader(r) => self.numbers(r, |&x| match unsigned {
                true => x as u64 as f64,
                false => scaled(x as f64, scale),
            }),
            ColumnReader::FloatColumnReader(r) => self.numbers(r, |&x| f64::from(x)),
            ColumnReader::DoubleColumnReader(r) => self.numbers(r, |&x| x),
            ColumnReader::FixedLenByteArrayColumnReader(r) => {
                self.numbers(r, |x| scaled(big_endian(x.data()), scale))
            }
            ColumnReader::ByteArrayColumnReader(r) if self.scale.is_some() => {
                self.numbers(r, |x| scaled(big_endian(x.data()), scale))
            }
            ColumnReader::ByteArrayColumnReader(r) => self.text(r, |x| x.data()),
            ColumnReader::BoolColumnReader(r) => {
                self.text(r, |&x| if x { b"true".as_slice() } else { b"false" })
            }
            ColumnReader::Int96ColumnReader(_) => Ok(()), // refused in `new`
        }
    }

    /// Calls `each` with every cell, `None` where it is null.
    fn cells<T: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<T>,
        mut each: impl FnMut(&mut Self, Option<&T::T>) -> Result<()>,
    ) -> Result<()> {
        let (mut values, mut present) = (Vec::new(), Vec::new());
        loop {
            values.clear();
            present.clear();
            let definition = self.optional.then_some(&mut present);
            let read = reader.read_records(BATCH, definition, None, &mut values);
            let (rows, ..) = read.map_err(|error| Error::Parquet {
                file: self.file.to_string(),
                reason: error.to_string(),
            })?;
            if rows == 0 {
                return Ok(());
            }
            self.rows += rows;
            let within = self.format.limits.check_rows(self.rows, self.width);
            within.map_err(|more| more.at(visible(self.file)))?;
            let mut next = values.iter();
            for row in 0..rows {
                let absent = self.optional && present.get(row) != Some(&1);
                each(self, if absent { None } else { next.next() })?;
            }
        }
    }

    fn numbers<T: DataType>(
        &mut self,
        reader: ColumnReaderImpl<T>,
        number: impl Fn(&T::T) -> f64,
    ) -> Result<()> {
        self.cells(reader, |filler, cell| {
            let Growing::Numbers(values) = &mut filler.cells else { return Ok(()) };
            let value = cell.map_or(f64::NAN, &number);
            if cell.is_some()
                && !value.is_finite()
                && !filler.format.is_missing(value.to_string().as_bytes())
            {
                let (file, column) = (filler.file.to_string(), filler.name.to_string());
                let place = CellPlace { file, line: values.len() as u64 + 1, column };
                return Err(Error::NotFinite { place, value: value.to_string() });
            }
            values.push(if value.is_finite() { value } else { f64::NAN });
            Ok(())
        })
    }

    fn text<T: DataType>(
        &mut self,
        reader: ColumnReaderImpl<T>,
        bytes: impl Fn(&T::T) -> &[u8],
    ) -> Result<()> {
        self.cells(reader, |filler, cell| {
            let Growing::Text(builder, row) = &mut filler.cells else { return Ok(()) };
            match cell {
                Some(cell) => {
                    let cell = bytes(cell);
                    let within = filler.format.limits.check_cell(cell.len());
                    within.map_err(|more| more.at(builder.place(filler.file, *row)))?;
                    builder.push(cell, filler.format, filler.file, *row)?;
                }
                None => builder.push_missing(),
            }
            *row += 1;
            Ok(())
        })
    }

    fn finish(self) -> Result<Column> {
        let categorical = self.format.kinds.get(self.name) == Some(&ColumnKind::Categorical);
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

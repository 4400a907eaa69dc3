//! Delimiters, compression and Parquet: what a file is, is decided by its content.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::io::Write;

use feasible_data::{Error, Format, Table};

const CSV: &[u8] = b"age,gender\n41,Male\n,Female\n23,Male\n";

fn read(bytes: &[u8]) -> Result<Table, Error> {
    Table::from_bytes("t", bytes, &Format::default())
}

fn same(bytes: &[u8]) {
    assert_eq!(read(bytes).unwrap(), read(CSV).unwrap());
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn tabs_and_semicolons_are_recognised() {
    same(b"age\tgender\n41\tMale\n\tFemale\n23\tMale\n");
    same(b"age;gender\n41;Male\n;Female\n23;Male\n");
}

#[test]
fn gzip_and_zstd_are_recognised_in_one_or_several_pieces() {
    same(&gzip(CSV));
    same(&[gzip(&CSV[..20]), gzip(&CSV[20..])].concat());
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 3).unwrap();
    same(&zstd(CSV));
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9];
    same(&[zstd(&CSV[..20]), skippable.to_vec(), zstd(&CSV[20..])].concat());
}

#[test]
fn damaged_compression_is_an_error() {
    let long: Vec<u8> =
        (0..20_000).flat_map(|i| format!("{i},x{}\n", i * i).into_bytes()).collect();
    for packed in [gzip(&long), zstd::encode_all(long.as_slice(), 3).unwrap()] {
        let cut = &packed[..packed.len() / 2];
        assert!(matches!(read(cut), Err(Error::Io { .. })));
        let mut turned = packed.clone();
        for at in (10..packed.len()).step_by(packed.len() / 50) {
            turned[at] ^= 0x55;
            let _ = read(&turned); // an error or other text, never a panic
            turned[at] ^= 0x55;
        }
    }
}

#[test]
fn a_file_and_its_bytes_read_alike() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("misleading.parquet");
    std::fs::write(&path, gzip(CSV)).unwrap();
    let table = Table::read(&path, &Format::default()).unwrap();
    assert_eq!(table.columns(), read(CSV).unwrap().columns());
}

#[test]
fn options_out_of_range_are_explained() {
    for format in [
        Format { delimiter: Some('→'), ..Format::default() },
        Format { comment: Some('\n'), ..Format::default() },
        Format { names: vec!["one".into()], ..Format::default() },
        Format { columns: Some(vec!["gendr".into()]), ..Format::default() },
    ] {
        assert!(Table::from_bytes("t", CSV, &format).is_err(), "{format:?}");
    }
}

#[cfg(feature = "parquet")]
mod parquet_files {
    use std::sync::Arc;

    use feasible_data::{Cells, ColumnKind};
    use parquet::basic::{Compression, ZstdLevel};
    use parquet::data_type::{
        BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type,
    };
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    fn parquet(compression: Compression) -> Vec<u8> {
        let schema = "message t {
            required int32 age;
            optional double pay;
            optional binary race (UTF8);
            required boolean married;
            required int64 price (DECIMAL(10,2));
        }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
        for _ in 0..2 {
            let mut group = writer.next_row_group().unwrap();
            let mut at = 0;
            while let Some(mut column) = group.next_column().unwrap() {
                let some = Some([1, 0, 1].as_slice());
                match at {
                    0 => column.typed::<Int32Type>().write_batch(&[41, 38, 23], None, None),
                    1 => column.typed::<DoubleType>().write_batch(&[1.5, 2.5], some, None),
                    2 => {
                        let text = [ByteArray::from("White"), ByteArray::from("Black")];
                        column.typed::<ByteArrayType>().write_batch(&text, some, None)
                    }
                    3 => column.typed::<BoolType>().write_batch(&[true, false, true], None, None),
                    _ => column.typed::<Int64Type>().write_batch(&[123, -5, 0], None, None),
                }
                .unwrap();
                column.close().unwrap();
                at += 1;
            }
            group.close().unwrap();
        }
        writer.into_inner().unwrap()
    }

    #[test]
    fn parquet_is_read_with_its_types_and_nulls_whatever_the_compression() {
        for compression in [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(Default::default()),
            Compression::LZ4_RAW,
            Compression::ZSTD(ZstdLevel::default()),
        ] {
            let table = read(&parquet(compression)).unwrap();
            assert_eq!(table.rows(), 6, "{compression}");
            let age = &table.column("age").unwrap().cells;
            assert_eq!(*age, Cells::Numbers(vec![41.0, 38.0, 23.0, 41.0, 38.0, 23.0].into()));
            assert_eq!(table.column("pay").unwrap().text(2).unwrap(), "2.5");
            assert_eq!(table.column("pay").unwrap().missing(), 2);
            assert_eq!(table.column("race").unwrap().text(1), None);
            assert_eq!(table.column("married").unwrap().text(0).unwrap(), "true");
            assert_eq!(table.column("price").unwrap().text(0).unwrap(), "1.23");
        }
    }

    #[test]
    fn parquet_columns_can_be_chosen_and_declared() {
        let format = Format {
            columns: Some(vec!["age".into()]),
            kinds: [("age".to_string(), ColumnKind::Categorical)].into(),
            ..Format::default()
        };
        let bytes = parquet(Compression::SNAPPY);
        let table = Table::from_bytes("t.parquet", &bytes, &format).unwrap();
        assert_eq!(table.columns().len(), 1);
        assert_eq!(table.columns()[0].kind(), ColumnKind::Categorical);
    }

    #[test]
    fn damaged_parquet_is_an_error() {
        let bytes = parquet(Compression::SNAPPY);
        for end in [4, 5, 8, 12, bytes.len() / 2, bytes.len() - 1] {
            assert!(matches!(read(&bytes[..end]), Err(Error::Parquet { .. })), "{end}");
        }
        let mut turned = bytes.clone();
        for at in 4..bytes.len() {
            turned[at] ^= 0x55;
            let _ = read(&turned); // an error or other values, never a panic
            turned[at] ^= 0x55;
        }
    }

    /// 40,000 rows in row groups of so many: a number that may be missing (one is NaN, if that is asked for), a whole number, a text
    /// of few categories that may be missing, and one that is another in every row.
    fn grouped(rows_of_group: usize, nan: Option<usize>) -> Vec<u8> {
        let schema = "message t {
            optional double x;
            required int64 n;
            optional binary city (UTF8);
            required binary id (UTF8);
        }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
        let rows: Vec<usize> = (0..40_000).collect();
        for rows in rows.chunks(rows_of_group) {
            let mut group = writer.next_row_group().unwrap();
            let some: Vec<i16> = rows.iter().map(|row| i16::from(row % 7 != 3)).collect();
            let there: Vec<usize> = rows.iter().copied().filter(|row| row % 7 != 3).collect();
            let mut at = 0;
            while let Some(mut column) = group.next_column().unwrap() {
                match at {
                    0 => {
                        let x = |row: &usize| match nan {
                            Some(at) if at == *row => f64::NAN,
                            _ => *row as f64 / if row % 5000 < 4000 { 1.0 } else { 7.0 },
                        };
                        let x: Vec<f64> = there.iter().map(x).collect();
                        column.typed::<DoubleType>().write_batch(&x, Some(&some), None)
                    }
                    1 => {
                        let n: Vec<i64> = rows.iter().map(|row| *row as i64 * 3000).collect();
                        column.typed::<Int64Type>().write_batch(&n, None, None)
                    }
                    2 => {
                        let text = |row: &usize| {
                            ByteArray::from(format!("city {}", row * row % 91).as_str())
                        };
                        let text: Vec<ByteArray> = there.iter().map(text).collect();
                        column.typed::<ByteArrayType>().write_batch(&text, Some(&some), None)
                    }
                    _ => {
                        let text = |row: &usize| {
                            ByteArray::from(format!("{}-long-id", row * 7919).as_str())
                        };
                        let text: Vec<ByteArray> = rows.iter().map(text).collect();
                        column.typed::<ByteArrayType>().write_batch(&text, None, None)
                    }
                }
                .unwrap();
                column.close().unwrap();
                at += 1;
            }
            group.close().unwrap();
        }
        writer.into_inner().unwrap()
    }

    #[test]
    fn row_groups_that_are_read_side_by_side_are_the_table() {
        let whole = grouped(40_000, None);
        assert!(whole.len() > 200_000, "so few that one core reads them");
        let table = read(&whole).unwrap();
        for row in [0, 3, 4_999, 39_999] {
            let cell = |name: &str| table.column(name).unwrap().text(row);
            let there = row % 7 != 3;
            assert_eq!(cell("city"), there.then(|| format!("city {}", row * row % 91)));
            assert_eq!(cell("id"), Some(format!("{}-long-id", row * 7919)));
            assert_eq!(cell("n"), Some(format!("{}", row * 3000)));
            assert_eq!(cell("x").is_some(), there);
        }
        for rows in [1_000, 7_777, 30_000] {
            assert!(read(&grouped(rows, None)).unwrap() == table, "groups of {rows}");
        }
    }

    #[test]
    fn an_error_in_any_row_group_names_the_row() {
        for rows in [40_000, 7_777, 1_000] {
            let error = read(&grouped(rows, Some(33_333))).unwrap_err().to_string();
            assert!(
                error.starts_with("t, line 33334, column 'x': 'NaN' is not a finite"),
                "{error}"
            );
            let mut bytes = grouped(rows, None);
            let middle = bytes.len() / 2;
            bytes[middle..middle + 2_000].fill(0xff);
            // An error or other values, never a panic.
            let _ = read(&bytes);
        }
    }

    /// A file of one row of 32-bit numbers: 7 in every column.
    fn sevens(schema: &str, repeated: bool) -> Vec<u8> {
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        while let Some(mut column) = group.next_column().unwrap() {
            let (def, rep) = ([1_i16], [0_i16]);
            let typed = column.typed::<Int32Type>();
            let wrote = match repeated && typed.get_descriptor().max_rep_level() > 0 {
                true => typed.write_batch(&[7], Some(&def), Some(&rep)),
                false => typed.write_batch(&[7], None, None),
            };
            wrote.unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.into_inner().unwrap()
    }

    #[test]
    fn columns_that_cannot_be_read_are_an_error_when_used_and_none_when_dropped() {
        for (schema, what) in [
            ("message t { required int32 day (TIME_MILLIS); required int32 a; }", "times of day"),
            ("message t { repeated int32 day; required int32 a; }", "nested or repeated values"),
            (
                "message t { required group day { required int32 b; required int32 c; } required int32 a; }",
                "nested or repeated values",
            ),
        ] {
            let bytes = sevens(schema, what.contains("repeated"));
            let table = read(&bytes).unwrap();
            assert_eq!(table.unread(), [("day".to_string(), what.to_string())]);
            let error = table.column("day").unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "t: column 'day' holds {what}, which cannot be read: leave it out with drop = [\"day\"], or convert \
                     it to numbers or text"
                )
            );
            let fit = |spec: &str| {
                let spec = toml::from_str(spec).unwrap();
                feasible_data::Encoder::fit(&table, &[0], &spec, &[])
            };
            assert!(fit("").unwrap_err().to_string().contains("cannot be read"));
            assert!(
                fit("columns = ['day', 'a']").unwrap_err().to_string().contains("cannot be read")
            );
            // Only the number is left, which is constant.
            for left in ["drop = ['day']", "columns = ['a']"] {
                assert!(fit(left).unwrap_err().to_string().contains("no column is left"), "{left}");
            }
            let format = Format { columns: Some(vec!["a".into()]), ..Format::default() };
            assert!(Table::from_bytes("t", &bytes, &format).unwrap().unread().is_empty());
            let format = Format { columns: Some(vec!["day".into()]), ..Format::default() };
            let asked = Table::from_bytes("t", &bytes, &format);
            assert!(matches!(asked, Err(Error::Unread { .. })));
            let (both, _) = Table::concat("both", vec![table.clone(), table.clone()]).unwrap();
            assert_eq!(both.unread().len(), 1);
        }
        let only = read(&sevens("message t { repeated int32 day; }", true));
        assert!(matches!(only, Err(Error::Unread { .. })));
    }

    #[test]
    fn dates_and_timestamps_are_text() {
        let schema = "message t {
            required int32 day (DATE);
            optional int64 ms (TIMESTAMP_MILLIS);
            required int64 us (TIMESTAMP(MICROS,true));
            required int64 ns (TIMESTAMP(NANOS,false));
            required int96 old;
        }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut at = 0;
        while let Some(mut column) = group.next_column().unwrap() {
            let noon = 19_813 * 86_400 + 43_200; // 2024-03-31T12:00:00
            match at {
                0 => column.typed::<Int32Type>().write_batch(&[19_813, -1], None, None),
                1 => column.typed::<Int64Type>().write_batch(&[noon * 1000], Some(&[0, 1]), None),
                2 => column.typed::<Int64Type>().write_batch(&[noon * 1_000_000, 1], None, None),
                3 => {
                    column.typed::<Int64Type>().write_batch(&[noon * 1_000_000_000, 1], None, None)
                }
                _ => {
                    let mut times = [parquet::data_type::Int96::new(); 2];
                    let nanos = 43_200_000_000_000_u64;
                    times[0].set_data(nanos as u32, (nanos >> 32) as u32, 2_440_588 + 19_813);
                    times[1].set_data(0, 0, 2_440_588);
                    column.typed::<parquet::data_type::Int96Type>().write_batch(&times, None, None)
                }
            }
            .unwrap();
            column.close().unwrap();
            at += 1;
        }
        group.close().unwrap();
        let table = read(&writer.into_inner().unwrap()).unwrap();
        let text = |column: &str, row| table.column(column).unwrap().text(row);
        assert_eq!(text("day", 0).unwrap(), "2024-03-31");
        assert_eq!(text("day", 1).unwrap(), "1969-12-31");
        assert_eq!(text("ms", 0), None);
        for (column, row) in [("ms", 1), ("us", 0), ("ns", 0), ("old", 0)] {
            assert_eq!(text(column, row).unwrap(), "2024-03-31T12:00:00", "{column}");
        }
        assert_eq!(text("us", 1).unwrap(), "1970-01-01T00:00:00.000001");
        assert_eq!(text("ns", 1).unwrap(), "1970-01-01T00:00:00.000000001");
        assert_eq!(text("old", 1).unwrap(), "1970-01-01T00:00:00");
    }

    #[test]
    fn a_date_beyond_the_calendar_is_an_error_with_its_place() {
        let schema = "message t { required int32 day (DATE); }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(&[0, i32::MAX], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        let error = read(&writer.into_inner().unwrap()).unwrap_err().to_string();
        assert!(error.starts_with("t, line 2, column 'day': 'a date beyond"), "{error}");
    }
}

#[test]
fn rows_can_be_read_by_their_lines() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, "zip,x\n007,1\n\n7,2.50\n\"a\nb\",3\n,4\n8,5\n").unwrap();
    let whole = Table::read(&path, &Format::default()).unwrap();
    let lines: Vec<u64> = [1, 2, 3].map(|row| whole.origin(row).1).to_vec();
    assert_eq!(lines, [4, 5, 7]);
    let (some, sha256) = Table::read_lines(&path, &Format::default(), &lines).unwrap();
    assert_eq!(sha256.len(), 64);
    assert_eq!(some.rows(), 3);
    for (at, row) in [1, 2, 3].into_iter().enumerate() {
        for column in ["zip", "x"] {
            let text = |table: &Table, row| table.column(column).unwrap().text(row);
            assert_eq!(text(&some, at), text(&whole, row));
        }
        assert_eq!(some.origin(at).1, whole.origin(row).1);
    }
}

#[test]
fn an_empty_cell_of_the_only_column_is_a_row_when_it_is_quoted() {
    let cells = |bytes: &[u8], format: &Format| -> Vec<Option<String>> {
        let table = Table::from_bytes("t", bytes, format).unwrap();
        (0..table.rows()).map(|row| table.columns()[0].text(row)).collect()
    };
    let text = |cells: &[&str]| -> Vec<Option<String>> {
        cells.iter().map(|cell| Some(cell.to_string()).filter(|cell| !cell.is_empty())).collect()
    };
    let default = Format::default();
    assert_eq!(cells(b"x\n1\n\"\"\n\n  \n3\n\"\"\n", &default), text(&["1", "", "3", ""]));
    assert_eq!(cells(b"x\r\n\"\"\r\n\r\nb\r\n", &default), text(&["", "b"]));
    let bare = Format { header: false, ..Format::default() };
    assert_eq!(cells(b"\"\"\nb\n", &bare), text(&["", "b"]));
    // Without trimming, spaces are what a cell holds.
    let spaces = Format { trim: false, ..Format::default() };
    assert_eq!(cells(b"\n  \nx\na\n  \n\n\"\"\n", &spaces), text(&["a", "  ", ""]));
    // Where there are more columns it is a line with nothing on it, as before.
    assert_eq!(cells(b"\"\"\nx,y\n\"\"\n1,2\n \n", &default), text(&["1"]));
}

#[test]
fn a_table_of_one_column_keeps_its_rows_when_it_is_written_and_read() {
    let cells = [Some("a"), None, Some("b"), None, None];
    let table = Table::new("t", vec![feasible_data::Column::categories("x", cells)]).unwrap();
    let mut csv = Vec::new();
    table.write_csv(&mut csv).unwrap();
    let again = read(&csv).unwrap();
    let text =
        |table: &Table| -> Vec<_> { (0..5).map(|row| table.columns()[0].text(row)).collect() };
    assert_eq!(again.rows(), 5, "{:?}", String::from_utf8_lossy(&csv));
    assert_eq!(text(&again), text(&table));
}

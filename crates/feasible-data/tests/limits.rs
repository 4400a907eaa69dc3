//! Files that ask for more than anybody has: each is refused by a limit that has a name and can be raised.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::io::Write;

use feasible_data::{Duplicates, Error, Format, Limits, Table};

fn within(bytes: &[u8], limits: Limits) -> Result<Table, Error> {
    Table::from_bytes("t.csv", bytes, &Format { limits, ..Format::default() })
}

/// The key that refuses the file, and what it says.
fn refused(read: Result<Table, Error>) -> (&'static str, String) {
    match read {
        Err(Error::Limit { key, place, what }) => (key, format!("{place}: {what}")),
        other => panic!("{:?}", other.map(|table| table.rows())),
    }
}

fn gzip(pieces: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    pieces.for_each(|piece| encoder.write_all(&piece).unwrap());
    encoder.finish().unwrap()
}

fn zstd(pieces: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    pieces.for_each(|piece| encoder.write_all(&piece).unwrap());
    encoder.finish().unwrap()
}

#[test]
fn lines_are_skipped_no_further_than_the_file_goes() {
    let format = Format { skip_lines: i64::MAX as usize, ..Format::default() };
    let error = Table::from_bytes("t.csv", b"a,b\n1,2\n", &format).unwrap_err().to_string();
    let expected =
        "skip_lines: 9223372036854775807 lines are to be skipped, but t.csv has only 2".to_string();
    assert_eq!(error, expected);
    let format = Format { skip_lines: 1, ..Format::default() };
    let table = Table::from_bytes("t.csv", b"notes\na,b\n1,2\n", &format).unwrap();
    assert_eq!(table.origin(0), ("t.csv", 3));
}

#[test]
fn a_small_file_with_one_endless_cell_is_refused_before_it_is_kept() {
    let start = std::iter::once(b"a,b\n1,\"".to_vec());
    let packed = zstd(start.chain((0..300).map(|_| vec![b'x'; 1_000_000])));
    assert!(packed.len() < 100_000, "{}", packed.len());
    let (key, said) = refused(within(&packed, Limits::default()));
    // Whichever comes first: both are 64 MB.
    assert!(["row_bytes", "expansion"].contains(&key), "{said}");
    let limits = Limits { row_bytes: 1 << 20, ..Limits::default() };
    let (key, said) = refused(within(&packed, limits));
    assert_eq!(key, "row_bytes");
    assert!(said.starts_with("t.csv, from line 2 on: more than the 1048576 bytes"), "{said}");
    assert!(said.ends_with("(a quote left open?)"), "{said}");
}

#[test]
fn what_expands_too_much_is_refused_and_read_once_the_limit_is_raised() {
    let rows = || {
        let row = format!("1,{}\n", "x".repeat(9_000)).into_bytes();
        std::iter::once(b"a,b\n".to_vec()).chain((0..8_000).map(move |_| row.clone()))
    };
    for packed in [gzip(rows()), zstd(rows())] {
        let (key, said) = refused(within(&packed, Limits::default()));
        assert_eq!(key, "expansion", "{said}");
        assert!(said.contains("more than 200 times as many"), "{said}");
        let limits = Limits { expansion: 1_000_000, ..Limits::default() };
        let format = Format {
            limits: limits.clone(),
            columns: Some(vec!["a".to_string()]),
            ..Format::default()
        };
        assert_eq!(Table::from_bytes("t.csv", &packed, &format).unwrap().rows(), 8_000);
        let limits = Limits { table_bytes: 10_000_000, ..limits };
        let (key, said) = refused(within(&packed, limits));
        assert_eq!(key, "table_bytes", "{said}");
    }
}

#[test]
fn blank_lines_do_not_go_on_for_ever() {
    let lines = |count: usize| [b"a,b\n1,2\n".to_vec(), vec![b'\n'; count]].concat();
    let limits = || Limits { row_bytes: 200_000, ..Limits::default() };
    assert_eq!(within(&lines(100_000), limits()).unwrap().rows(), 1);
    assert_eq!(refused(within(&lines(2_000_000), limits())).0, "row_bytes");
}

#[test]
fn rows_columns_cells_and_bytes_have_limits() {
    let csv = b"name,age\nsomebody,41\nanybody,38\nnobody,50\n";
    let usual = Limits::default;
    assert_eq!(within(csv, usual()).unwrap().rows(), 3);
    for (limits, expected) in [
        (Limits { rows: 2, ..usual() }, "rows"),
        (Limits { cells: 5, ..usual() }, "cells"),
        (Limits { columns: 1, ..usual() }, "columns"),
        (Limits { cell_bytes: 7, ..usual() }, "cell_bytes"),
        (Limits { table_bytes: 20, ..usual() }, "table_bytes"),
    ] {
        let error = within(csv, limits).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(&format!("--read-limit {expected}=N")), "{said}");
        assert_eq!(refused(Err(error)).0, expected);
    }
    for limits in [Limits { rows: 3, ..usual() }, Limits { cells: 6, cell_bytes: 8, ..usual() }] {
        assert_eq!(within(csv, limits).unwrap().rows(), 3);
    }
    // A name of a column is a cell.
    let (key, said) = refused(within(csv, Limits { cell_bytes: 3, ..usual() }));
    assert_eq!(
        (key, said.as_str()),
        (
            "cell_bytes",
            "t.csv, line 1, column 'column 1': a cell of 4 bytes, and at most 3 are allowed"
        )
    );
}

#[test]
fn a_million_columns_are_refused_and_many_of_one_name_take_no_square_of_time() {
    let header = |count: usize| [vec!["x"; count].join(","), vec!["1"; count].join(",")].join("\n");
    let read = |text: &str| {
        let format = Format { duplicates: Duplicates::Number, ..Format::default() };
        Table::from_bytes("t.csv", text.as_bytes(), &format)
    };
    assert_eq!(refused(read(&header(1_000_000))).0, "columns");
    let table = read(&header(100_000)).unwrap();
    assert_eq!(table.columns()[99_999].name, "x.99999");
}

#[cfg(feature = "parquet")]
#[test]
fn a_parquet_file_is_held_to_the_limits_before_it_is_read() {
    use std::sync::Arc;

    use parquet::data_type::{BoolType, ByteArray, ByteArrayType};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    let rows = 1_000_000;
    let schema = "message m { required boolean flag; required binary name (STRING); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<BoolType>().write_batch(&vec![true; rows], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let name = ByteArray::from("somebody");
    column.typed::<ByteArrayType>().write_batch(&vec![name; rows], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    assert!(bytes.len() < 200_000, "{}", bytes.len());

    let usual = Limits::default;
    for (limits, expected) in [
        (Limits { rows: 999_999, ..usual() }, "rows"),
        (Limits { cells: 1_999_999, ..usual() }, "cells"),
        (Limits { columns: 1, ..usual() }, "columns"),
        (Limits { cell_bytes: 7, ..usual() }, "cell_bytes"),
        (Limits { table_bytes: 1_000, ..usual() }, "table_bytes"),
    ] {
        assert_eq!(refused(within(&bytes, limits)).0, expected);
    }
    assert_eq!(within(&bytes, usual()).unwrap().rows(), rows);
}

#[test]
fn images_have_room_for_so_many_bytes_and_no_more() {
    use feasible_data::image::folder::{read, read_within};
    let scratch = tempfile::tempdir().unwrap();
    for (class, shade) in [("a", 0), ("b", 255)] {
        std::fs::create_dir(scratch.path().join(class)).unwrap();
        let file = std::fs::File::create(scratch.path().join(class).join("1.png")).unwrap();
        let mut encoder = png::Encoder::new(file, 2_000, 1_000);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&vec![shade; 2_000_000]).unwrap();
    }
    assert_eq!(read(scratch.path()).unwrap().0.len(), 2);
    let limits = Limits { image_bytes: 3_999_999, ..Limits::default() };
    let error = read_within(scratch.path(), &limits).unwrap_err();
    assert!(matches!(error, Error::Limit { key: "image_bytes", .. }), "{error}");
    assert!(error.to_string().contains("b/1.png: the pixels of the images up to it"), "{error}");
}

#[test]
fn a_header_of_images_that_lies_is_refused_before_room_is_made() {
    use feasible_data::image::idx::from_bytes;
    let header = |n: u32| {
        let words = [0x0803, n, 60_000, 60_000_u32];
        words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>()
    };
    for images in [header(4), header(u32::MAX), gzip([header(4), vec![0; 1 << 20]].into_iter())] {
        let error = from_bytes(("i", &images), ("l", &[]), &["0"]).unwrap_err().to_string();
        assert!(error.starts_with("i: the header says [4"), "{error}");
    }
}

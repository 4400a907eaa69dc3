//! Tables: text, compressed text and Parquet.
//!
//! A first line `#format {…}` gives the [`Format`] as JSON; all else is the file. It is read as a file of the cache, too.

use std::io::Cursor;

use feasible_data::table_file;
use feasible_data::{Encoder, Format, Missing, Preprocessing, Table};

/// A table that is accepted has columns of one length, is written as CSV that reads as the same table, comes back from the cache as it was, and is
/// encoded as finite numbers.
///
/// # Panics
/// If it is not.
pub fn run(bytes: &[u8]) -> bool {
    let (format, bytes) = format(bytes);
    // The key of the file in the corpus.
    let cached = table_file::read_from(Cursor::new(bytes), "key");
    let table = match cached {
        Ok(table) => table,
        Err(_) => match Table::from_bytes("table", bytes, &format) {
            Ok(table) => table,
            Err(_) => return false,
        },
    };
    assert!(table.rows() > 0, "a table without rows was accepted");
    for column in table.columns() {
        assert_eq!(column.len(), table.rows(), "column {:?}", column.name);
    }
    if table.columns().is_empty() {
        return true;
    }
    written_and_read_again(&table);
    cached_and_read_again(&table);
    encoded(&table);
    true
}

/// The format on the first line, if there is one, and the file.
fn format(bytes: &[u8]) -> (Format, &[u8]) {
    let parsed = bytes.strip_prefix(b"#format ").and_then(|rest| {
        let end = rest.iter().position(|&byte| byte == b'\n')?;
        Some((serde_json::from_slice(&rest[..end]).ok()?, &rest[end + 1..]))
    });
    parsed.unwrap_or((Format::default(), bytes))
}

fn written_and_read_again(table: &Table) {
    let mut csv = Vec::new();
    if let Err(error) = table.write_csv(&mut csv) {
        panic!("cannot be written: {error}");
    }
    let names = || table.columns().iter().map(|column| &column.name);
    let nameless = |name: &String| name.trim_ascii().is_empty() || name.contains('\0');
    if names().any(nameless) || is_something_else(&csv) {
        return;
    }
    let kinds = table.columns().iter().map(|column| (lines(&column.name), column.kind())).collect();
    let format = Format { delimiter: Some(','), trim: false, kinds, ..Format::default() };
    let again = match Table::from_bytes("again", &csv, &format) {
        Ok(again) => again,
        Err(error) => {
            panic!("written as {:?}, which cannot be read: {error}", String::from_utf8_lossy(&csv))
        }
    };
    assert_eq!(again.rows(), table.rows());
    assert_eq!(again.columns().len(), table.columns().len());
    for (a, b) in table.columns().iter().zip(again.columns()) {
        assert_eq!((lines(&a.name), a.kind()), (lines(&b.name), b.kind()));
        for row in 0..table.rows() {
            // An empty category is written as a missing cell is.
            let [before, after] = [a, b].map(|column| column.text(row).unwrap_or_default());
            assert_eq!(lines(&before), lines(&after), "column {:?}, row {row}", a.name);
        }
    }
}

fn cached_and_read_again(table: &Table) {
    let mut file = Vec::new();
    if let Err(error) = table_file::write_to(&mut file, table, "key") {
        panic!("cannot be cached: {error}");
    }
    match table_file::read_from(Cursor::new(file), "key") {
        Ok(again) => assert_eq!(again, *table),
        Err(error) => panic!("cached as a file that cannot be used: {error:?}"),
    }
}

/// Line ends as they are read inside quotes: LF, whatever was written.
fn lines(text: &str) -> String {
    let mut text = text.to_string();
    while text.contains("\r\n") {
        text = text.replace("\r\n", "\n");
    }
    text
}

/// Whether a name of the first column makes the file look like one of another kind.
fn is_something_else(csv: &[u8]) -> bool {
    let starts: [&[u8]; 3] = [b"PAR1", "\u{feff}".as_bytes(), b"*M\x18"];
    starts
        .iter()
        .any(|start| csv.starts_with(start) || csv.get(1..).is_some_and(|c| c.starts_with(start)))
}

fn encoded(table: &Table) {
    let preprocessing = Preprocessing { missing: Missing::Impute, ..Preprocessing::default() };
    let rows = table.all_rows();
    let Ok(encoder) = Encoder::fit(table, &rows, &preprocessing, &[]) else { return };
    assert_eq!(encoder.names().len(), encoder.width());
    if rows.len().saturating_mul(encoder.width()) > 1 << 22 {
        return;
    }
    let Ok(inputs) = encoder.transform(table, &rows) else { return };
    assert_eq!((inputs.rows(), inputs.width()), (rows.len(), encoder.width()));
    let mut row = vec![0.0; inputs.width()];
    for at in 0..inputs.rows() {
        inputs.write_row(at, &mut row);
        assert!(row.iter().all(|x| x.is_finite()), "row {at} is encoded as {row:?}");
    }
    match Encoder::from_json(&encoder.to_json()) {
        Ok(again) => assert_eq!(again, encoder, "saved and read again"),
        Err(error) => panic!("an encoder cannot be read again: {error}"),
    }
}

//! Tables in the file of the cache: the same table comes back, or the reason why not.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use std::path::Path;

use feasible_data::table_file::{Unusable, read, write};
use feasible_data::{Column, Format, Table};

fn table() -> Table {
    let csv = "age,city,note,mixed,empty\n41,Rome,\"a, b\",1,\n,Oslo,c,x,\n3.14159265358979,,\"two\nlines\",2,\n\n-0,Rome,a,,\n";
    Table::from_bytes("people.csv", csv.as_bytes(), &Format::default()).unwrap()
}

/// `UPDATE_CORPUS=1` writes it.
#[test]
fn the_file_in_the_corpus_is_the_table_it_was() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/tables/valid-cached.table");
    if std::env::var_os("UPDATE_CORPUS").is_some() {
        write(&path, &table(), "key").unwrap();
    }
    assert_eq!(read(&path, "key").unwrap(), table());
}

/// More than one block of every type of cells.
fn long() -> Table {
    let rows = 300_000;
    let name = |row: usize, of: usize| format!("c{}", row % of);
    let names: Vec<[String; 2]> = (0..rows).map(|row| [name(row, 9), name(row, 70_000)]).collect();
    let column = |at: usize| names.iter().map(move |names| Some(names[at].as_str()));
    Table::new(
        "long",
        vec![
            Column::numbers("whole", (0..rows).map(|row| row as f64).collect()),
            Column::numbers("real", (0..rows).map(|row| (row as f64).sqrt()).collect()),
            Column::categories("few", column(0)),
            Column::categories("many", column(1)),
        ],
    )
    .unwrap()
}

#[test]
fn a_table_comes_back_as_it_was_with_the_lines_of_its_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.table");
    for table in [table(), long()] {
        write(&path, &table, "key").unwrap();
        let back = read(&path, "key").unwrap();
        assert_eq!(back, table);
        assert_eq!(back.bytes(), table.bytes());
        assert_eq!(back.place(2, "age"), table.place(2, "age"));
    }
    // Nothing else is left in the directory.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn every_table_of_the_corpus_comes_back_parquet_included() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.table");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/tables");
    let mut tables = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let Ok(table) = Table::read(&entry.unwrap().path(), &Format::default()) else { continue };
        write(&path, &table, "key").unwrap();
        assert_eq!(read(&path, "key").unwrap(), table, "{}", table.name());
        tables += 1;
    }
    assert!(tables > 20, "{tables}");
}

#[test]
fn a_file_of_other_data_or_none_is_known_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.table");
    assert_eq!(read(&path, "key").unwrap_err(), Unusable::Absent);
    write(&path, &table(), "key").unwrap();
    assert_eq!(read(&path, "another").unwrap_err(), Unusable::Other);
    std::fs::write(&path, [b'x'; 200]).unwrap();
    assert_eq!(read(&path, "key").unwrap_err(), Unusable::Other);
}

#[test]
fn every_changed_byte_and_every_missing_end_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.table");
    write(&path, &table(), "key").unwrap();
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&path, &bytes).unwrap();
        assert!(read(&path, "key").is_err(), "byte {at}");
        std::fs::write(&path, &whole[..at]).unwrap();
        assert!(read(&path, "key").is_err(), "{at} bytes");
    }
}

#[test]
fn a_directory_that_cannot_be_written_to_is_an_error() {
    assert!(write(Path::new("/dev/null/t.table"), &table(), "key").is_err());
}

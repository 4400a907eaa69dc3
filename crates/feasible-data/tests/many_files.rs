//! Directories and patterns: several files are one table, in the order of their names.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::fs;
use std::path::{Path, PathBuf};

use feasible_data::{Error, Format, Limits, Table, files_of};

/// A directory with these files.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(scratch.path().join(name), text).unwrap();
    }
    scratch
}

fn read(path: &Path) -> Result<Table, Error> {
    Table::read(path, &Format::default())
}

fn names(files: &[PathBuf]) -> Vec<&str> {
    files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect()
}

#[test]
fn files_that_fit_a_pattern_are_one_table_in_the_order_of_their_names() {
    let scratch = directory(&[
        ("part-2.csv", "age,city\n3,Rome\n"),
        ("part-10.csv", "age,city\n1,Oslo\n2,\n"),
        ("part-3.tsv", "city\tage\nBonn\t4\n"),
        ("notes.md", "# notes\n"),
        ("_metadata.csv", "x\n"),
        (".part-0.csv", "x\n"),
    ]);
    let pattern = scratch.path().join("part-*");
    let table = read(&pattern).unwrap();
    let cells = |name: &str| -> Vec<_> {
        (0..table.rows()).map(|row| table.column(name).unwrap().text(row)).collect()
    };
    let some = |cells: &[&str]| cells.iter().map(|cell| Some(cell.to_string())).collect::<Vec<_>>();
    assert_eq!(cells("age"), some(&["1", "2", "3", "4"]));
    assert_eq!(cells("city")[2..], some(&["Rome", "Bonn"]));
    assert_eq!(table.name(), pattern.display().to_string());
    let (file, line) = table.origin(1);
    assert!(file.ends_with("part-10.csv") && line == 3, "{file}, {line}");
    // A directory is the tables in it, and nothing else.
    assert_eq!(
        names(&files_of(scratch.path()).unwrap()),
        ["part-10.csv", "part-2.csv", "part-3.tsv"]
    );
    assert_eq!(read(scratch.path()).unwrap().rows(), 4);
    assert_eq!(names(&files_of(&scratch.path().join("part-?.csv")).unwrap()), ["part-2.csv"]);
}

#[test]
fn a_file_with_other_columns_is_named() {
    for (file, text, reason) in [
        ("b.csv", "age,town\n2,Rome\n", "column 'town' is not in"),
        ("c.csv", "age\n2\n", "has no column 'city'"),
        ("d.csv", "age,city\nold,Rome\n", "column 'age' is numeric above but categorical here"),
    ] {
        let scratch = directory(&[("a.csv", "age,city\n1,Oslo\n"), (file, text)]);
        let error = read(&scratch.path().join("*.csv")).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains(file), "{error}");
    }
}

#[test]
fn what_no_file_fits_is_explained() {
    let scratch = directory(&[("notes.md", "# notes\n")]);
    let message = |path: &Path| read(path).unwrap_err().to_string();
    assert!(
        message(&scratch.path().join("*.csv"))
            .ends_with("no file fits: give a path, or a pattern that some fit")
    );
    assert!(message(scratch.path()).contains("a directory without tables"));
    assert!(message(&scratch.path().join("*/a.csv")).contains("not of a directory"));
    let absent = message(&scratch.path().join("none.csv"));
    assert!(absent.contains("No such file"), "{absent}");
}

#[test]
fn a_file_that_is_called_like_a_pattern_is_that_file() {
    let scratch = directory(&[("a*.csv", "x\n1\n"), ("ab.csv", "x\n2\n")]);
    assert_eq!(read(&scratch.path().join("a*.csv")).unwrap().rows(), 1);
}

#[test]
fn limits_hold_for_all_files_together() {
    let scratch = directory(&[("a.csv", "x\n1\n2\n"), ("b.csv", "x\n3\n4\n")]);
    let limited = |rows| {
        let limits = Limits { rows, ..Limits::default() };
        Table::read(&scratch.path().join("*.csv"), &Format { limits, ..Format::default() })
    };
    assert_eq!(limited(4).unwrap().rows(), 4);
    let error = limited(3).unwrap_err().to_string();
    assert!(error.contains("*.csv: more than the 3 rows allowed"), "{error}");
}

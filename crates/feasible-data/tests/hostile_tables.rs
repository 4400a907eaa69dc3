//! One test per malformation: a typed error that says where, or documented behaviour.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use feasible_data::{
    Cells, ColumnKind, Duplicates, Encoder, Error, Format, Preprocessing, Table, TargetEncoder,
    TargetSpec, Unseen,
};

fn read(text: &[u8]) -> Result<Table, Error> {
    Table::from_bytes("t.csv", text, &Format::default())
}

fn message(text: &[u8]) -> String {
    read(text).unwrap_err().to_string()
}

fn encoded(table: &Table, spec: &Preprocessing) -> Result<Encoder, Error> {
    Encoder::fit(table, &table.all_rows(), spec, &[])
}

#[test]
fn an_empty_file_is_refused() {
    for text in [b"".as_slice(), b"\n\n", b"\xef\xbb\xbf"] {
        assert!(matches!(read(text), Err(Error::Empty { .. })), "{text:?}");
    }
}

#[test]
fn a_header_without_rows_is_refused() {
    let message = message(b"age,race\n");
    assert!(message.contains("t.csv has a header but no rows"), "{message}");
}

#[test]
fn one_row_is_a_table() {
    let table = read(b"age,race\n41,Black").unwrap();
    assert_eq!(table.rows(), 1);
    // All its columns are constant, so there is nothing for a model to learn from.
    assert!(matches!(encoded(&table, &Preprocessing::default()), Err(Error::Nothing { .. })));
}

#[test]
fn constant_columns_are_left_out_of_the_inputs() {
    let table = read(b"a,b,c\n1,x,5\n1,x,6\n").unwrap();
    let encoder = encoded(&table, &Preprocessing::default()).unwrap();
    assert_eq!(encoder.constant(), ["a", "b"]);
    assert_eq!(encoder.names(), ["c"]);
    assert_eq!(encoder.transform(&table, &[1]).unwrap().row(0), [1.0]);
}

#[test]
fn one_class_is_refused() {
    let table = read(b"a,y\n1,no\n2,no\n").unwrap();
    let error = TargetEncoder::fit(&table, &[0, 1], &TargetSpec::new("y")).unwrap_err();
    assert!(matches!(error, Error::OneClass { .. }));
    let error = TargetEncoder::fit(&table, &[0, 1], &TargetSpec::new("y").positive("nö"));
    assert!(error.unwrap_err().to_string().contains("did you mean 'no'?"));
}

#[test]
fn a_duplicate_header_is_refused_unless_numbered() {
    assert_eq!(
        message(b"a,b,a\n1,2,3\n"),
        "t.csv: columns 1 and 3 are both named 'a': rename one, or read with \
         duplicates = \"number\" to call the second 'a.1'"
    );
    let format = Format { duplicates: Duplicates::Number, ..Format::default() };
    let table = Table::from_bytes("t.csv", b"a,a,a.1,a\n1,2,3,4\n", &format).unwrap();
    let names: Vec<_> = table.columns().iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["a", "a.1", "a.1.1", "a.2"]);
}

#[test]
fn a_ragged_row_is_refused_with_its_line() {
    assert!(message(b"a,b\n1,2\n3\n").starts_with("t.csv, line 3: 1 cells where the table has 2"));
    assert!(message(b"a,b\n1,2,3\n").starts_with("t.csv, line 2: 3 cells"));
    // Blank lines are not rows, and count as lines.
    assert!(message(b"a,b\n\n1,2\n\n\n3\n").starts_with("t.csv, line 6: 1 cells"));
}

#[test]
fn an_open_quote_is_explained() {
    assert!(message(b"a,b\n\"1,2\n3,4\n").contains("is a quote left open?"));
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_name() {
    assert!(read(b"\xef\xbb\xbfage,b\n1,2\n").unwrap().column("age").is_ok());
    assert!(message(b"\xff\xfea\0,\0b\0").contains("UTF-16"));
}

#[test]
fn carriage_returns_are_line_ends() {
    let table = read(b"a,b\r\n1,x\r\n2,y\r\n").unwrap();
    assert_eq!(table.column("b").unwrap().text(1).unwrap(), "y");
    assert_eq!(table.origin(1), ("t.csv", 3));
    assert!(message(b"a,b\r\n1,x\r\n2\r\n").starts_with("t.csv, line 3: 1 cells"));
}

#[test]
fn a_nul_byte_is_refused_with_its_place() {
    assert!(
        message(b"a,b\n1,x\n2,y\0z\n")
            .starts_with("t.csv, line 3, column 'b': the cell holds a NUL")
    );
    assert!(
        message(b"a,b\n1,x\n2\0,y\n")
            .starts_with("t.csv, line 3, column 'a': the cell holds a NUL")
    );
    assert!(message(b"a\0,b\n1,2\n").contains("NUL"));
}

#[test]
fn invalid_utf8_is_refused_with_its_place() {
    let latin1 = b"a,name\n1,Ann\n2,Ren\xe9\n";
    assert!(
        message(latin1).starts_with("t.csv, line 3, column 'name': 'Ren\u{fffd}' is not UTF-8")
    );
    assert!(message(b"pr\xe9nom\nx\n").contains("not UTF-8"));
}

#[test]
fn nan_and_infinity_among_numbers_are_refused_unless_missing() {
    for cell in ["NaN", "nan", "inf", "-Infinity", "1e999"] {
        let text = format!("a,b\n1,2\n{cell},3\n");
        let error = read(text.as_bytes()).unwrap_err();
        assert!(matches!(error, Error::NotFinite { .. }), "{cell}: {error}");
        assert!(error.to_string().starts_with("t.csv, line 3, column 'a':"), "{error}");
        let format = Format { missing: vec![cell.to_string()], ..Format::default() };
        let table = Table::from_bytes("t.csv", text.as_bytes(), &format).unwrap();
        assert_eq!(table.column("a").unwrap().missing(), 1);
    }
}

#[test]
fn nan_among_text_is_a_category() {
    let table = read(b"dish\nnan\nrice\n").unwrap();
    assert_eq!(table.column("dish").unwrap().text(0).unwrap(), "nan");
}

#[test]
fn huge_numbers_are_refused_where_they_do_not_fit() {
    let table = read(b"a,b\n1e308,1\n-1e308,2\n3,3\n").unwrap();
    assert!(encoded(&table, &Preprocessing::default()).is_err());
    let spec = Preprocessing {
        standardise: feasible_data::Standardise::All(false),
        ..Preprocessing::default()
    };
    let encoder = encoded(&table, &spec).unwrap();
    let error = encoder.transform(&table, &[2, 0]).unwrap_err();
    assert!(error.to_string().starts_with("t.csv, line 2, column 'a': 1"), "{error}");
}

#[test]
fn thousands_separators_are_refused_unless_declared() {
    let text = b"pay\n1000\n\"1,234\"\n";
    let error = read(text).unwrap_err();
    assert!(matches!(error, Error::Commas { .. }));
    assert!(error.to_string().starts_with("t.csv, line 3, column 'pay': '1,234'"), "{error}");
    let format = Format { thousands: Some(','), ..Format::default() };
    let table = Table::from_bytes("t.csv", text, &format).unwrap();
    assert_eq!(table.column("pay").unwrap().cells, Cells::Numbers(vec![1000.0, 1234.0].into()));
}

#[test]
fn decimal_commas_are_refused_unless_declared() {
    let semicolons = Format { delimiter: Some(';'), ..Format::default() };
    let text = b"pay;name\n12,5;a\n3;b\n-0,25;c\n";
    let error = Table::from_bytes("t.csv", text, &semicolons).unwrap_err();
    assert!(error.to_string().starts_with("t.csv, line 2, column 'pay': '12,5'"), "{error}");
    assert!(error.to_string().contains("decimal = \",\""), "{error}");
    let format = Format { decimal: Some(','), ..semicolons.clone() };
    let table = Table::from_bytes("t.csv", text, &format).unwrap();
    let pay = Cells::Numbers(vec![12.5, 3.0, -0.25].into());
    assert_eq!(table.column("pay").unwrap().cells, pay);
    // Lists, or text among the numbers: categories.
    for text in [&b"codes\n1,5\n1,5,7\n"[..], b"codes\n12,5\nabout 3\n"] {
        let table = Table::from_bytes("t.csv", text, &semicolons).unwrap();
        assert!(matches!(table.column("codes").unwrap().cells, Cells::Categories(_)));
    }
}

#[test]
fn an_unseen_category_is_an_error_or_other_as_the_spec_says() {
    let train = read(b"c,d\nx,p\ny,q\nz,q\n").unwrap();
    let new = Table::from_bytes("new.csv", b"c,d\nx,p\nw,r\n", &Format::default()).unwrap();
    let strict = encoded(&train, &Preprocessing::default()).unwrap();
    let error = strict.transform(&new, &[0, 1]).unwrap_err();
    assert!(
        error.to_string().starts_with("new.csv, line 3, column 'c': category 'w' does not occur")
    );
    assert!(strict.transform(&new, &[0]).is_ok(), "only rows that are asked for count");
    let lenient = Preprocessing { unseen: Unseen::Other, ..Preprocessing::default() };
    let x = encoded(&train, &lenient).unwrap().transform(&new, &[1]).unwrap();
    // No indicator of c, and of d, which has two categories, the more frequent one, q.
    assert_eq!(x.row(0), [0.0, 0.0, 0.0, 1.0]);
    let explicit = Preprocessing {
        categories: [("c".to_string(), ["x", "y", "z", "(other)"].map(String::from).to_vec())]
            .into(),
        ..lenient
    };
    let x = encoded(&train, &explicit).unwrap().transform(&new, &[1]).unwrap();
    assert_eq!(x.row(0), [0.0, 0.0, 0.0, 1.0, 1.0]);
}

#[test]
fn ten_thousand_columns_are_read_and_encoded() {
    let names: Vec<String> = (0..10_000).map(|c| format!("x{c}")).collect();
    let row = |r: usize| -> String {
        (0..10_000).map(|c| ((r * 7 + c) % 5).to_string()).collect::<Vec<_>>().join(",")
    };
    let text = format!("{}\n{}\n{}\n{}\n", names.join(","), row(0), row(1), row(2));
    let table = read(text.as_bytes()).unwrap();
    let encoder = encoded(&table, &Preprocessing::default()).unwrap();
    assert_eq!(encoder.width(), 10_000);
    assert_eq!(encoder.transform(&table, &[0, 1, 2]).unwrap().rows(), 3);
}

#[test]
fn quoted_line_breaks_belong_to_the_cell_and_lines_stay_right() {
    let table = read(b"a,b\n1,\"x\ny\"\n2,z\n").unwrap();
    assert_eq!(table.column("b").unwrap().text(0).unwrap(), "x\ny");
    assert_eq!((table.origin(0).1, table.origin(1).1), (2, 4));
}

#[test]
fn a_late_text_cell_makes_a_column_categorical_with_its_spelling_kept() {
    let table = read(b"zip,n\n007,1\n7.0,2\nunknown,3\n,4\n").unwrap();
    let zip = table.column("zip").unwrap();
    assert_eq!(zip.kind(), ColumnKind::Categorical);
    assert_eq!(zip.text(0).unwrap(), "007");
    assert_eq!(zip.text(1).unwrap(), "7.0");
    assert_eq!(zip.missing(), 1);
    let Cells::Categories(categories) = &zip.cells else { panic!("categories") };
    let mixed = categories.mixed.as_ref().unwrap();
    assert_eq!((mixed.numbers, mixed.line, mixed.value.as_str()), (2, 4, "unknown"));
}

#[test]
fn a_declared_kind_wins() {
    let format = Format {
        kinds: [
            ("zip".to_string(), ColumnKind::Categorical),
            ("n".to_string(), ColumnKind::Numeric),
        ]
        .into(),
        ..Format::default()
    };
    let table = Table::from_bytes("t.csv", b"zip,n\n007,1\n", &format).unwrap();
    assert_eq!(table.column("zip").unwrap().text(0).unwrap(), "007");
    let error = Table::from_bytes("t.csv", b"zip,n\n007,one\n", &format).unwrap_err();
    assert!(error.to_string().starts_with("t.csv, line 2, column 'n': 'one' is not a number"));
}

#[test]
fn numbers_that_mean_missing_are_missing() {
    let format = Format { missing: vec!["-999".into(), "NA".into()], ..Format::default() };
    let table = Table::from_bytes("t.csv", b"a\n1\n-999\nNA\n", &format).unwrap();
    assert_eq!(table.column("a").unwrap().missing(), 2);
}

#[test]
fn a_column_of_numbers_but_for_one_cell_points_at_that_cell() {
    let mut text = String::from("id,y\n");
    (0..2000).for_each(|i| text.push_str(&format!("{i},{}\n", i % 2)));
    text.push_str("n/a,1\n");
    let error = encoded(&read(text.as_bytes()).unwrap(), &Preprocessing::default()).unwrap_err();
    assert!(error.to_string().contains("line 2002, column 'id': 'n/a' is no number"), "{error}");
}

#[test]
fn missing_cells_are_rejected_with_their_place() {
    let table = read(b"a,b\n1,x\n,y\n").unwrap();
    let error = encoded(&table, &Preprocessing::default()).unwrap_err();
    assert!(error.to_string().starts_with("t.csv, line 3, column 'a': the value is missing"));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Table::read("no/such.csv".as_ref(), &Format::default()).unwrap_err();
    assert!(error.to_string().starts_with("no/such.csv: "), "{error}");
}

#[test]
fn a_directory_is_an_error() {
    assert!(Table::read(&std::env::temp_dir(), &Format::default()).is_err());
}

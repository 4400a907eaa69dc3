//! The reader in blocks and the one that reads row by row agree, on tables and on errors, wherever the text is cut.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use proptest::prelude::*;

use super::*;
use crate::column::ColumnKind;
use crate::limits::Limits;

/// Reads with both, in blocks of several sizes, and insists that they agree.
fn agree(
    text: &[u8],
    format: &Format,
    lines: Option<&[u64]>,
    sizes: &[usize],
) -> Result<(), String> {
    let source = ByteSource::Bytes { name: "t.csv", bytes: text };
    let expected = sequential::read(source, format, lines).map_err(|error| error.to_string());
    for &size in sizes {
        let found = read_in_blocks(source, format, lines, size).map_err(|error| error.to_string());
        if found != expected {
            let text = String::from_utf8_lossy(text);
            return Err(format!("{text:?} in blocks of {size}: {found:?}, not {expected:?}"));
        }
    }
    Ok(())
}

fn every_size(text: &[u8], format: &Format) {
    let sizes: Vec<usize> = (1..text.len() + 2).collect();
    agree(text, format, None, &sizes).unwrap();
}

#[test]
fn every_cut_of_a_table_gives_the_same_table() {
    let text = b"\xef\xbb\xbfage,name,\"pay\"\r\n41,\"Smith, \"\"J\"\"\r\nJr\",1.5\r\n\n38,O\"Neil,2\r,\"x\"y\"z,\n\
        \" 7 \",\"\",3.25\r\n6,\"open \r to the end\n5,4,3\r";
    every_size(text, &Format::default());
    every_size(&text[..text.len() - 28], &Format::default());
    every_size(b"a\r1\r2\r3", &Format::default());
    every_size(b"a,b\r\r\n1,2\r\r\n3,4\r\r\n", &Format::default());
    let comments = Format { comment: Some('#'), ..Format::default() };
    every_size(b"# \"x\na,b\n1,#2\n#3,\"4\r#x\n\r#y,\"\"z\n5,6\n#", &comments);
}

#[test]
fn a_column_that_changes_its_kind_in_any_block_is_the_same_column() {
    for cells in [
        "1 2 3 x 4 5 y",
        ", , , x 1 2",
        "1 nan 2 3",
        "1 nan 2 x nan",
        "\"1,234\" 2 3",
        "\"1,234\" x",
        ", , 7 , x , 007",
        "inf x 1",
        ", nan , x , 1e999",
    ] {
        let text: String =
            cells.split(' ').map(|cell| format!("{},1\n", cell.trim_end_matches(','))).collect();
        every_size(format!("a,b\n{text}").as_bytes(), &Format::default());
        let declared = [("a".to_string(), ColumnKind::Numeric)].into();
        every_size(
            format!("a,b\n{text}").as_bytes(),
            &Format { kinds: declared, ..Format::default() },
        );
    }
}

#[test]
fn a_row_has_so_many_bytes_and_no_more_wherever_it_is_cut() {
    let format = |row_bytes| Format {
        limits: Limits { row_bytes, ..Limits::default() },
        ..Format::default()
    };
    // The longest row is the second, with the blank lines before it: 12 bytes.
    let text = b"a,b\n1,2\n\n\n\n\n\n\"3\n\",4\n5,6\n";
    let read = |row_bytes, size| {
        let source = ByteSource::Bytes { name: "t.csv", bytes: text };
        read_in_blocks(source, &format(row_bytes), None, size)
    };
    for size in 1..text.len() + 2 {
        assert_eq!(read(12, size).unwrap().rows(), 3);
        for most in [4, 11] {
            let error = read(most, size).unwrap_err().to_string();
            let expected = format!("t.csv, from line 3 on: more than the {most} bytes allowed");
            assert!(error.starts_with(&expected), "{size}: {error}");
        }
        let error = read(3, size).unwrap_err().to_string();
        assert!(
            error.starts_with("t.csv, from line 1 on: more than the 3 bytes"),
            "{size}: {error}"
        );
    }
}

#[test]
fn a_row_that_may_not_be_read_to_its_end_is_not_read() {
    for most in 1..20 {
        let limits = Limits { table_bytes: most, ..Limits::default() };
        let format = Format { limits, ..Format::default() };
        every_size(b"a,\xff\r\n1,2\r\n", &format);
        every_size(b"a,b\r\n\xff,2\r\n3,4,5\r\n", &format);
        every_size(b"a,b\r1,2\r\r\n3,4,5\r", &format);
    }
}

#[test]
fn a_header_behind_many_blank_lines_is_found() {
    for size in [1, 3, 10, 1000] {
        let text = [vec![b'\n'; 50], b"a,b\n1,2\n".to_vec()].concat();
        let format = Format::default();
        let source = ByteSource::Bytes { name: "t.csv", bytes: &text };
        assert_eq!(read_in_blocks(source, &format, None, size).unwrap().origin(0), ("t.csv", 52));
        let format = Format { limits: Limits { row_bytes: 53, ..Limits::default() }, ..format };
        let error = read_in_blocks(source, &format, None, size).unwrap_err().to_string();
        assert!(error.starts_with("t.csv, from line 1 on: more than the 53 bytes"), "{error}");
    }
}

fn formats() -> impl Strategy<Value = Format> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), 0..8_u8, 0..12_u8);
    flags.prop_map(|(header, trim, comment, rare, limit)| {
        let mut format = Format { header: header || rare > 4, trim, ..Format::default() };
        format.comment = comment.then_some('#');
        format.missing = vec![String::new(), "?".to_string()];
        match rare {
            0 => format.skip_lines = 1,
            1 => format.thousands = Some(','),
            2 => format.decimal = Some(','),
            3 => format.strip_suffix = Some(".".to_string()),
            4 => format.names = vec!["x".to_string(), "y".to_string()],
            5 => format.delimiter = Some(';'),
            6 => format.duplicates = crate::format::Duplicates::Number,
            _ => {}
        }
        match limit {
            0 => format.limits.rows = 2,
            1 => format.limits.cells = 5,
            2 => format.limits.cell_bytes = 4,
            3 => format.limits.table_bytes = 30,
            4 => format.limits.columns = 1,
            _ => {}
        }
        format
    })
}

/// Texts of two columns, mostly, with all that can be hard about them.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let cell = prop_oneof![
        6 => "[0-9]{1,3}(\\.[0-9]{1,2})?",
        3 => "[a-c]{1,2}",
        1 => "-?[0-9]{17,20}(\\.[0-9]{3})?(e-?[0-9]{1,3})?",
        1 => Just(String::new()),
        1 => prop::sample::select(vec!["nan", "inf", "1e999", "?", "\"1,234\"", " 7 ", "a.", "1,5", "\"\""])
            .prop_map(String::from),
        1 => "\"[ab\",\n\r1;#]{0,6}\"",
        1 => "[ab\",\n\r1;# ]{0,4}",
        1 => Just("\u{fffd}".to_string()),
        1 => Just("b\0".to_string()),
    ];
    let end = prop_oneof![8 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r"), 1 => Just("\n\n"), 1 => Just(",\n"), 1 => Just("\n#\n")];
    let row = (cell.clone(), cell, end).prop_map(|(a, b, end)| format!("{a},{b}{end}"));
    let rows = prop::collection::vec(row, 0..12);
    let start = prop::sample::select(vec![
        "a,b\n",
        "a,b\r\n",
        "",
        "a;b\n",
        "a,a\n",
        "x\n",
        "\u{feff}a,b\n",
        "#\n",
    ]);
    (start, rows, any::<bool>()).prop_map(|(start, rows, invalid)| {
        let text = format!("{start}{}", rows.concat()).into_bytes();
        // Some are not UTF-8.
        let replaced = |byte: u8| if byte == 0xbf { 0xff } else { byte };
        if invalid { text.into_iter().map(replaced).collect() } else { text }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn any_text_in_blocks_is_read_as_it_is_row_by_row(
        text in texts(),
        format in formats(),
        lines in prop::option::weighted(0.2, prop::collection::btree_set(1_u64..15, 0..6)),
    ) {
        let lines: Option<Vec<u64>> = lines.map(|lines| lines.into_iter().collect());
        let sizes = [1, 2, 3, 5, 8, 13, 21, 34, 55, 1000];
        agree(&text, &format, lines.as_deref(), &sizes).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn any_bytes_in_blocks_are_read_as_they_are_row_by_row(
        text in prop::collection::vec(prop::sample::select(b"\"\"\",,\n\n\r1a #\0\xef\xbb\xbf".to_vec()), 0..40),
        format in formats(),
    ) {
        agree(&text, &format, None, &[1, 2, 3, 5, 8, 13, 50]).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn a_large_table_is_the_same_on_all_cores() {
    // Many blocks: text that appears late, quoted line breaks, a column of many categories.
    let mut text = "id,age,note,late,city\n".to_string();
    for row in 0..30_000_u32 {
        let note = if row % 7 == 0 { "\"two\nlines, \"\"quoted\"\"\"" } else { "plain" };
        let late = if row == 25_000 { "text".to_string() } else { format!("{}", row % 50) };
        let city = row.wrapping_mul(2_654_435_761) >> 22;
        text += &format!("r{row},{}.{},{note},{late},c{city}\n", row % 90, row % 1000);
    }
    assert!(text.len() > 5 * BLOCK);
    agree(text.as_bytes(), &Format::default(), None, &[BLOCK, 10_000]).unwrap();
    // An error is the first of the file, whichever block is read first.
    let broken = text.replace("\nr29990,", "\nr29990,7,").replace("\nr20001,", "\nr20001,7,");
    agree(broken.as_bytes(), &Format::default(), None, &[BLOCK, 10_000]).unwrap();
}

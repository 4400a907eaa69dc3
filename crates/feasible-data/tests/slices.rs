//! A table whose slices are read by several readers is the table that one process reads, with the same errors.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use feasible_data::{
    ColumnKind, Format, Limits, ReadCounts, ReadRequest, Readers, Reading, SliceAnswer,
    SliceAnswers, SliceRead, Table, table_stream,
};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

/// Reads slices on threads, all but those of the first; what they read comes as bytes.
#[derive(Debug)]
struct Threads {
    count: usize,
    /// These slices are read from other bytes.
    other: Vec<usize>,
    /// Units that were read on a thread, whether they could be or not.
    asked: AtomicUsize,
}

impl Threads {
    fn new(count: usize) -> Self {
        Self { count, other: Vec::new(), asked: AtomicUsize::new(0) }
    }
}

/// The name of what was read, and the table.
type Sent = Option<(String, Vec<u8>)>;

impl Readers for Threads {
    fn read(&self, request: Arc<ReadRequest>) -> SliceAnswers<'_> {
        let line = |first: usize| -> Receiver<Sent> {
            let (request, step) = (request.clone(), self.count);
            let (send, receive) = channel();
            thread::spawn(move || {
                for slice in request.slices.iter().skip(first).step_by(step) {
                    let read = slice.read(&request.format).ok().map(|read| {
                        let mut bytes = Vec::new();
                        table_stream::write(&mut bytes, &read.table).unwrap();
                        (read.sha256, bytes)
                    });
                    if send.send(read).is_err() {
                        return;
                    }
                }
            });
            receive
        };
        let lines: Vec<_> = (1..self.count).map(line).collect();
        Box::new((0..request.slices.len()).map(move |slice| {
            let Some(at) = (slice % self.count).checked_sub(1) else {
                return SliceAnswer::NotGiven;
            };
            self.asked.fetch_add(1, Ordering::SeqCst);
            let Some((mut sha256, bytes)) = lines[at].recv().unwrap() else {
                return SliceAnswer::Unread;
            };
            let mut bytes = bytes.as_slice();
            let mut table = table_stream::read(&mut bytes).unwrap();
            assert!(bytes.is_empty(), "it leaves bytes");
            if self.other.contains(&slice) {
                table = Table::from_bytes("other.csv", b"x\n77\n", &request.format).unwrap();
                sha256 = sha256.chars().rev().collect();
            }
            SliceAnswer::Read(Box::new(SliceRead { table, sha256 }))
        }))
    }
}

type Read = Result<Table, String>;

fn alone(path: &Path, format: &Format) -> Read {
    Table::read(path, format).map_err(|error| error.to_string())
}

fn divided(
    path: &Path,
    format: &Format,
    readers: &dyn Readers,
) -> Result<(Table, ReadCounts), String> {
    let reading = Reading::begin(path, format, None, Some(readers));
    let read = reading.and_then(Reading::finish).map_err(|error| error.to_string())?;
    for (file, sha256) in &read.sha256 {
        let known = Sha256::digest(fs::read(file).unwrap());
        assert_eq!(*sha256, known.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    }
    Ok((read.table, read.counts))
}

/// Insists that it does not matter who reads: the same cells, lines of rows and names, or the same sentence. Gives the most slices that were read
/// by others.
fn assert_same(path: &Path, format: &Format) -> usize {
    let expected = alone(path, format);
    let mut most = 0;
    for count in [1, 2, 3, 4, 8] {
        let found = divided(path, format, &Threads::new(count));
        most = most.max(found.as_ref().map_or(0, |(_, counts)| counts.elsewhere));
        let found = found.map(|(table, _)| table);
        assert_eq!(found, expected, "{count} readers");
        if let (Ok(found), Ok(expected)) = (found, &expected) {
            let origins = |table: &Table| -> Vec<(String, u64)> {
                let of = |row| table.origin(row);
                (0..table.rows()).map(of).map(|(file, line)| (file.to_string(), line)).collect()
            };
            assert_eq!(origins(&found), origins(expected));
        }
    }
    most
}

/// A directory with these files.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(scratch.path().join(name), text).unwrap();
    }
    scratch
}

#[test]
fn files_that_several_readers_read_are_the_table_that_one_reads() {
    for (files, elsewhere) in [
        // Categories in another order in every file, columns in another order, missing cells, several lines in a cell.
        (
            vec![
                ("a.csv", "age,city,note\n1,Rome,\n2,Oslo,x\n,,\n"),
                ("b.csv", "city,age,note\nBonn,3,\"two\nlines\"\nOslo,4.5,y\n"),
                ("c.tsv", "note\tcity\tage\nz\tAix\t1e300\n"),
                ("d.csv", "age,city,note\n\n7,Rome,x\n"),
                ("e.csv", "age,city,note\n,,\n"),
            ],
            4,
        ),
        // A column that is missing in one file takes the kind of the others.
        (vec![("a.csv", "x,y\n,1\n"), ("b.csv", "x,y\nred,2\n"), ("c.csv", "x,y\n,\n")], 2),
        // What is wrong, in one file or in how they fit.
        (vec![("a.csv", "x\n1\n"), ("b.csv", ""), ("c.csv", "x\n1,2\n")], 0),
        (vec![("a.csv", "x\n1\n"), ("b.csv", "x\n"), ("c.csv", "y\n1\n")], 0),
        (vec![("a.csv", "x\n1\n"), ("b.csv", "x\nred\n"), ("c.csv", "x\n1,2\n")], 0),
        (vec![("a.csv", "x,z\n1,2\n"), ("b.csv", "x\n3\n"), ("c.csv", "x,z,w\n1,2,3\n")], 0),
        (vec![("a.csv", "x\n1\n2,3\n"), ("b.csv", "x\n4,5\n")], 0),
        (vec![("a.csv", "x\n1\n"), ("b.csv", "x\n2\n"), ("c.csv", "x\n\u{0}\n")], 0),
    ] {
        let scratch = directory(&files);
        let read = assert_same(scratch.path(), &Format::default());
        assert_eq!(read, elsewhere, "{files:?}");
    }
}

#[test]
fn limits_and_formats_are_those_of_one_reader() {
    let scratch = directory(&[
        ("a.csv", "x;city\n1,5;Rome\n"),
        ("b.csv", "x;city\n2,5;Oslo\n"),
        ("c.csv", "x;city\n3,5;Rome\n4;Bonn\n"),
    ]);
    let kinds = [("city".to_string(), ColumnKind::Categorical)].into();
    let format = Format { decimal: Some(','), kinds, ..Format::default() };
    assert_eq!(assert_same(scratch.path(), &format), 2);
    for rows in 1..5 {
        let limits = Limits { rows, ..Limits::default() };
        assert_same(scratch.path(), &Format { limits, ..format.clone() });
    }
    let columns = Some(vec!["city".to_string()]);
    assert_eq!(assert_same(scratch.path(), &Format { columns, ..format.clone() }), 2);
    let columns = Some(vec!["town".to_string()]);
    assert_same(scratch.path(), &Format { columns, ..format });
}

#[test]
fn what_was_read_from_other_bytes_is_read_again() {
    let scratch = directory(&[("a.csv", "x\n1\n"), ("b.csv", "x\n2\n"), ("c.csv", "x\n3\n")]);
    let threads = Threads { other: vec![1], ..Threads::new(3) };
    let (table, counts) = divided(scratch.path(), &Format::default(), &threads).unwrap();
    assert_eq!(table, alone(scratch.path(), &Format::default()).unwrap());
    assert_eq!(counts, ReadCounts { slices: 3, given: 2, elsewhere: 1, differing: 1 });
}

#[test]
fn one_text_file_is_read_here_and_readers_that_give_up_leave_the_rest() {
    let scratch = directory(&[("a.csv", "x\n1\n"), ("b.csv", "x\n2\n"), ("c.csv", "x\n3\n")]);
    let threads = Threads::new(4);
    let one = divided(&scratch.path().join("a.csv"), &Format::default(), &threads).unwrap();
    assert_eq!(one.0, alone(&scratch.path().join("a.csv"), &Format::default()).unwrap());
    assert_eq!(threads.asked.load(Ordering::SeqCst), 0);

    #[derive(Debug)]
    struct None;
    impl Readers for None {
        fn read(&self, _: Arc<ReadRequest>) -> SliceAnswers<'_> {
            Box::new(std::iter::empty())
        }
    }
    let (table, counts) = divided(scratch.path(), &Format::default(), &None).unwrap();
    assert_eq!(table, alone(scratch.path(), &Format::default()).unwrap());
    assert_eq!(counts, ReadCounts { slices: 3, ..ReadCounts::default() });
}

/// Cells of which some are alike, some missing, some odd.
fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0..40_u32).prop_map(|n| n.to_string()),
        2 => "[a-d]{1,2}",
        2 => Just(String::new()),
        1 => Just("0.1".to_string()),
        1 => Just("\"a, \n b\"".to_string()),
        1 => Just("1e-300".to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_files_are_read_alike(
        files in prop::collection::vec(prop::collection::vec((cell(), cell(), 0..9_u32), 0..12), 1..7),
        widths in prop::collection::vec(2..40_usize, 7),
    ) {
        let scratch = tempfile::tempdir().unwrap();
        for (at, (rows, width)) in files.iter().zip(&widths).enumerate() {
            // Now and then a file has a column less.
            let columns = if *width == 2 { 2 } else { 3 };
            let mut text = ["a", "b", "c"][..columns].join(",") + "\n";
            for (a, b, c) in rows {
                let c = c.to_string();
                text += &[a.as_str(), b, &c][..columns].join(",");
                text.push('\n');
            }
            fs::write(scratch.path().join(format!("{at}.csv")), text).unwrap();
        }
        assert_same(scratch.path(), &Format::default());
    }
}

#[cfg(feature = "parquet")]
mod row_groups {
    use parquet::basic::Compression;
    use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    /// Age, pay, city.
    type Row = (i32, Option<f64>, Option<&'static str>);
    type Group = Vec<Row>;

    fn parquet(groups: &[Group]) -> Vec<u8> {
        let schema = "message t {
            required int32 age;
            optional double pay;
            optional binary city (UTF8);
            required boolean old;
        }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_dictionary_enabled(true);
        let properties = Arc::new(properties.build());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
        for rows in groups {
            let mut group = writer.next_row_group().unwrap();
            let present = |is: fn(&Row) -> bool| -> Vec<i16> {
                rows.iter().map(|row| i16::from(is(row))).collect()
            };
            let mut at = 0;
            while let Some(mut column) = group.next_column().unwrap() {
                match at {
                    0 => {
                        let ages: Vec<i32> = rows.iter().map(|row| row.0).collect();
                        column.typed::<Int32Type>().write_batch(&ages, None, None)
                    }
                    1 => {
                        let pay: Vec<f64> = rows.iter().filter_map(|row| row.1).collect();
                        let present = present(|row| row.1.is_some());
                        column.typed::<DoubleType>().write_batch(&pay, Some(&present), None)
                    }
                    2 => {
                        let cities = rows.iter().filter_map(|row| row.2);
                        let cities: Vec<ByteArray> = cities.map(ByteArray::from).collect();
                        let present = present(|row| row.2.is_some());
                        column.typed::<ByteArrayType>().write_batch(&cities, Some(&present), None)
                    }
                    _ => {
                        let old: Vec<bool> = rows.iter().map(|row| row.0 > 30).collect();
                        column.typed::<BoolType>().write_batch(&old, None, None)
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

    fn groups(count: usize) -> Vec<Group> {
        let city = ["Rome", "Oslo", "Aix", "Bonn", "Yverdon"];
        let row = |n: usize| {
            let pay = (!n.is_multiple_of(3)).then_some(n as f64 / 7.0);
            // Each group brings a category, and they do not come in order.
            let city = (n % 4 != 1).then(|| city[(n / 9 + n) % (1 + n / 9).min(5)]);
            (n as i32 % 61, pay, city)
        };
        (0..count).map(|group| (9 * group..9 * group + 9).map(row).collect()).collect()
    }

    fn write(scratch: &Path, name: &str, bytes: &[u8]) -> std::path::PathBuf {
        let path = scratch.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn row_groups_that_several_readers_read_are_the_table_that_one_reads() {
        let scratch = tempfile::tempdir().unwrap();
        let mut all = groups(7);
        all.insert(2, Vec::new());
        all.push(vec![(1, None, None)]);
        all.push(Vec::new());
        let path = write(scratch.path(), "t.parquet", &parquet(&all));
        // 8 groups with rows; of 8 readers, the first reads one.
        assert_eq!(assert_same(&path, &Format::default()), 7);
        let kinds = [("age".to_string(), ColumnKind::Categorical)].into();
        assert_eq!(assert_same(&path, &Format { kinds, ..Format::default() }), 7);
        let columns = Some(vec!["city".to_string(), "pay".to_string()]);
        assert_eq!(assert_same(&path, &Format { columns, ..Format::default() }), 7);
        // Cells that are missing because their text says so.
        let missing = vec!["Rome".to_string()];
        assert_eq!(assert_same(&path, &Format { missing, ..Format::default() }), 7);
        for rows in [63, 64] {
            let limits = Limits { rows, ..Limits::default() };
            assert_same(&path, &Format { limits, ..Format::default() });
        }
        // One group is not divided, and neither is a file without rows.
        for (name, groups) in [("one.parquet", &all[..1]), ("none.parquet", &all[2..3])] {
            let path = write(scratch.path(), name, &parquet(groups));
            assert_eq!(assert_same(&path, &Format::default()), 0);
        }
        // Several files, one of them text, are as good.
        write(scratch.path(), "u.csv", b"age,pay,city,old\n1,2,Graz,true\n");
        write(scratch.path(), "v.parquet", &parquet(&groups(2)));
        fs::remove_file(scratch.path().join("none.parquet")).unwrap();
        assert!(assert_same(scratch.path(), &Format::default()) > 7);
    }

    #[test]
    fn what_is_wrong_in_a_row_group_is_said_of_its_row_in_the_file() {
        let scratch = tempfile::tempdir().unwrap();
        let mut all = groups(5);
        all[3][4].1 = Some(f64::INFINITY);
        all[4][0].1 = Some(f64::NAN);
        let path = write(scratch.path(), "t.parquet", &parquet(&all));
        assert_eq!(assert_same(&path, &Format::default()), 0);
        let error = alone(&path, &Format::default()).unwrap_err();
        assert!(error.contains("line 32, column 'pay'"), "{error}");
        let missing = vec!["inf".to_string(), "NaN".to_string()];
        assert_eq!(assert_same(&path, &Format { missing, ..Format::default() }), 4);
    }

    #[test]
    fn a_file_that_is_damaged_or_changed_is_not_put_together() {
        let scratch = tempfile::tempdir().unwrap();
        let whole = parquet(&groups(6));
        for at in (4..whole.len()).step_by(whole.len() / 40) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            let path = write(scratch.path(), "t.parquet", &bytes);
            assert_same(&path, &Format::default());
            let path = write(scratch.path(), "t.parquet", &whole[..at]);
            assert_same(&path, &Format::default());
        }
        // Each slice has its own name, which changes with any byte of the slice or of the footer.
        let path = write(scratch.path(), "t.parquet", &whole);
        #[derive(Debug)]
        struct Names(std::sync::Mutex<Vec<String>>);
        impl Readers for Names {
            fn read(&self, request: Arc<ReadRequest>) -> SliceAnswers<'_> {
                let names = request.slices.iter().map(|slice| slice.sha256().unwrap());
                *self.0.lock().unwrap() = names.collect();
                Box::new(std::iter::empty())
            }
        }
        let names = || {
            let names = Names(Default::default());
            divided(&path, &Format::default(), &names).unwrap();
            names.0.into_inner().unwrap()
        };
        let before = names();
        assert_eq!(before.len(), 6);
        let mut changed = groups(6);
        changed[2][0].0 += 1;
        fs::write(&path, parquet(&changed)).unwrap();
        let after = names();
        assert!(after.iter().all(|name| !before.contains(name)), "the footer has statistics");
    }
}

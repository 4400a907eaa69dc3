//! Writes a table of any number of rows, a piece at a time.
//!
//! ```text
//! cargo run -p feasible-data --release --example large_table -- ROWS FILE [GROUP]
//! ```
//!
//! GROUP is the number of rows of a row group, 1,000,000 if it is not given. FILE ends in `.csv` or `.parquet`. There are 20 columns: 17 numbers of two decimals, `gender`, `city` and `outcome`, which depends on some of
//! the numbers and, a little, on `gender`. The rows of a shorter table are the first of a longer one.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, FloatType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

const NUMBERS: usize = 17;
const CITIES: [&str; 5] = ["Bergen", "Lyon", "Oslo", "Rome", "Turin"];
/// Rows of a row group, unless another number is given.
const GROUP: usize = 1_000_000;

/// The next of a fixed sequence of pseudo-random numbers (splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

struct Row {
    numbers: [f32; NUMBERS],
    gender: usize,
    city: usize,
    outcome: usize,
}

fn row(state: &mut u64) -> Row {
    // The sum of four uniform numbers is normal enough; hundredths.
    let number = |state: &mut u64| {
        let bits = next(state);
        let sum: u64 = (0..4).map(|part| bits >> (16 * part) & 0xffff).sum();
        ((sum as f32 / 65_536.0 - 2.0) * 173.2).round() / 100.0
    };
    let numbers = std::array::from_fn(|_| number(state));
    let bits = next(state);
    let (gender, city) = ((bits & 1) as usize, (bits >> 1) as usize % CITIES.len());
    let score = numbers[0] - 0.7 * numbers[1] + 0.5 * numbers[2] * numbers[3] + 0.3 * gender as f32;
    let uniform = (bits >> 40) as f32 / (1_u64 << 24) as f32;
    let outcome = usize::from(uniform < 1.0 / (1.0 + (-score).exp()));
    Row { numbers, gender, city, outcome }
}

fn names() -> Vec<String> {
    let numbers = (0..NUMBERS).map(|at| format!("number{at}"));
    numbers.chain(["gender", "city", "outcome"].map(String::from)).collect()
}

const GENDERS: [&str; 2] = ["Female", "Male"];
const OUTCOMES: [&str; 2] = ["no", "yes"];

fn write_csv(rows: usize, path: &str) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    writeln!(out, "{}", names().join(","))?;
    let mut state = 7;
    for _ in 0..rows {
        let Row { numbers, gender, city, outcome } = row(&mut state);
        for x in numbers {
            write!(out, "{x},")?;
        }
        writeln!(out, "{},{},{}", GENDERS[gender], CITIES[city], OUTCOMES[outcome])?;
    }
    Ok(out.flush()?)
}

fn write_parquet(rows: usize, path: &str, of_group: usize) -> Result<(), Box<dyn Error>> {
    let kind = |name: &String| match name.starts_with("number") {
        true => format!("required float {name};"),
        false => format!("required binary {name} (string);"),
    };
    let columns: Vec<String> = names().iter().map(kind).collect();
    let schema = Arc::new(parse_message_type(&format!("message t {{ {} }}", columns.join(" ")))?);
    let properties = WriterProperties::builder().set_compression(Compression::UNCOMPRESSED);
    let mut writer = SerializedFileWriter::new(
        BufWriter::with_capacity(1 << 20, File::create(path)?),
        schema,
        Arc::new(properties.build()),
    )?;
    let mut state = 7;
    let mut left = rows;
    while left > 0 {
        let group: Vec<Row> = (0..left.min(of_group)).map(|_| row(&mut state)).collect();
        left -= group.len();
        let mut columns = writer.next_row_group()?;
        let mut at = 0;
        while let Some(mut column) = columns.next_column()? {
            if at < NUMBERS {
                let cells: Vec<f32> = group.iter().map(|row| row.numbers[at]).collect();
                column.typed::<FloatType>().write_batch(&cells, None, None)?;
            } else {
                let cell = |row: &Row| match at - NUMBERS {
                    0 => GENDERS[row.gender],
                    1 => CITIES[row.city],
                    _ => OUTCOMES[row.outcome],
                };
                let cells: Vec<ByteArray> = group.iter().map(|row| cell(row).into()).collect();
                column.typed::<ByteArrayType>().write_batch(&cells, None, None)?;
            }
            column.close()?;
            at += 1;
        }
        columns.close()?;
    }
    writer.close()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (rows, path, group) = match &arguments[..] {
        [rows, path] => (rows, path, GROUP),
        [rows, path, group] => (rows, path, group.parse::<usize>()?.max(1)),
        _ => return Err("give ROWS, FILE and, if you like, GROUP".into()),
    };
    let rows = rows.parse()?;
    if path.ends_with(".parquet") {
        write_parquet(rows, path, group)
    } else {
        write_csv(rows, path)
    }
}

//! How fast a table is read and encoded, and how much memory it takes.
//!
//! ```text
//! cargo run -p feasible-data --release --example read_speed [-- ROWS | -- FILE]
//! ```
//!
//! Writes a CSV of ROWS (default 1,000,000) rows and 20 columns (12 numbers, 8 categories) to a
//! temporary directory, reads it, encodes it, and prints seconds and the peak memory of the
//! process (VmHWM, on Linux). With FILE, a table, it only reads that, and prints the seconds.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use feasible_data::{Encoder, Format, Preprocessing, Table};

fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// The next of a fixed sequence of pseudo-random numbers (splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn write(out: &mut impl Write, rows: usize) -> std::io::Result<()> {
    let names: Vec<String> = (0..20).map(|column| format!("column-{column}")).collect();
    writeln!(out, "{}", names.join(","))?;
    let mut state = 1;
    for _ in 0..rows {
        for column in 0..20 {
            let x = next(&mut state);
            let separator = if column == 19 { '\n' } else { ',' };
            match column {
                0..6 => write!(out, "{}{separator}", x % 100)?,
                6..12 => write!(out, "{:.5}{separator}", (x % 10_000_000) as f64 / 1e5)?,
                _ => write!(out, "level-{}{separator}", x % (2 << (column - 12)))?,
            }
        }
    }
    out.flush()
}

fn main() -> Result<(), Box<dyn Error>> {
    let rows = match std::env::args().nth(1) {
        Some(rows) if rows.bytes().all(|byte| byte.is_ascii_digit()) => rows.parse()?,
        Some(file) => {
            let start = Instant::now();
            let table = Table::read(Path::new(&file), &Format::default())?;
            let (seconds, peak) = (start.elapsed().as_secs_f64(), peak_megabytes());
            let (rows, columns) = (table.rows(), table.columns().len());
            let peak = peak.unwrap_or(f64::NAN);
            println!("{seconds:.4} s, {rows} rows x {columns} columns, peak {peak:.0} MB");
            return Ok(());
        }
        None => 1_000_000,
    };
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("table.csv");
    write(&mut BufWriter::new(File::create(&path)?), rows)?;
    let megabytes = std::fs::metadata(&path)?.len() as f64 / 1e6;

    let start = Instant::now();
    let table = Table::read(&path, &Format::default())?;
    let seconds = start.elapsed().as_secs_f64();
    let peak = peak_megabytes().unwrap_or(f64::NAN);
    println!(
        "read {rows} rows x 20 columns, {megabytes:.0} MB of text: {seconds:.2} s, peak {peak:.0} MB"
    );

    let all = table.all_rows();
    let start = Instant::now();
    let encoder = Encoder::fit(&table, &all, &Preprocessing::default(), &[])?;
    let fitted = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let inputs = encoder.transform(&table, &all)?;
    let seconds = start.elapsed().as_secs_f64();
    let peak = peak_megabytes().unwrap_or(f64::NAN);
    println!(
        "fit {fitted:.2} s; encode to {} x {} inputs: {seconds:.2} s, peak {peak:.0} MB",
        inputs.rows(),
        inputs.width()
    );
    Ok(())
}

//! Makes the embedded data sets from the distributors' files.
//!
//! ```text
//! cargo run -p feasible-data --release --example embed -- adult DIRECTORY OUT
//! cargo run -p feasible-data --release --example embed -- compas DIRECTORY OUT
//! ```
//!
//! DIRECTORY holds `adult.data` and `adult.test`, or `compas-scores-two-years.csv`, as
//! distributed (see `DATA.md`); the parts are written to OUT as CSV with a header, compressed
//! with zstd at its highest level, and their SHA-256 is printed. The result is the same bytes
//! every time.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;

use feasible_data::DataSet;
use sha2::{Digest, Sha256};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, directory, out] = arguments.as_slice() else {
        return Err("usage: embed adult|compas DIRECTORY OUT".into());
    };
    let set = DataSet::named(name)?;
    for (part, table) in set.parts.iter().zip(set.tables_from(Path::new(directory))?) {
        let mut csv = Vec::new();
        table.write_csv(&mut csv)?;
        let packed = zstd::encode_all(csv.as_slice(), 22)?;
        std::fs::write(Path::new(out).join(part.file), &packed)?;
        let digest: String = Sha256::digest(&packed).iter().map(|b| format!("{b:02x}")).collect();
        println!("{digest}  {}  {} rows, {} bytes", part.file, table.rows(), packed.len());
    }
    Ok(())
}

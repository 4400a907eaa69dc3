//! How often tables are refused as re-used: fresh ones, and ones that re-use rows. The tables of the book.
//!
//! ```sh
//! cargo run --release -p feasible-problem --example overlap_validity
//! ```
//!
//! 2,000 fresh tables and 100 re-used ones for every line.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../tests/overlap/mod.rs"]
mod overlap;

use overlap::{POPULATIONS, bare, refused, reused, stream, trained};

const FRESH: u64 = 2000;
const REUSED: u64 = 100;
const SIZES: [(usize, usize); 2] = [(300, 300), (1000, 200)];

fn main() {
    println!("| rows | trained on | table | fresh | 100 % | 50 % | 10 % | 1 % re-used |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut alarms = 0;
    for (at, rows) in POPULATIONS.into_iter().enumerate() {
        for (m, n) in SIZES {
            let mut wrong = 0;
            for trial in 0..FRESH {
                let mut stream = stream(100 + at as u64, trial * 10_000 + n as u64);
                let prints = trained(&rows.sample(m, &mut stream));
                let fresh = bare(&rows.sample(n, &mut stream));
                wrong += u64::from(prints.compare(&fresh).is_err());
            }
            alarms += wrong;
            let power = [1.0, 0.5, 0.1, 0.01].map(|share| {
                let found = |trial: u64| {
                    let mut stream = stream(200 + at as u64, trial * 10_000 + n as u64);
                    let values = rows.sample(m, &mut stream);
                    refused(&trained(&values), &reused(rows, &values, n, share, &mut stream))
                };
                let found = (0..REUSED).filter(|trial| found(*trial)).count();
                format!("{:.0} %", 100.0 * found as f64 / REUSED as f64)
            });
            println!(
                "| {} | {m} | {n} | {:.2} % | {} |",
                rows.name(),
                100.0 * wrong as f64 / FRESH as f64,
                power.join(" | ")
            );
        }
    }
    let tables = FRESH * (POPULATIONS.len() * SIZES.len()) as u64;
    println!("\n{alarms} of {tables} fresh tables refused");
}

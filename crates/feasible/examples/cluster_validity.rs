//! How often certificates are wrong where rows come in units, by unit and by row: the table of the book.
//!
//! ```sh
//! cargo run --release -p feasible --example cluster_validity
//! ```
//!
//! 2,000 synthetic populations of units for every line.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../tests/clusters/mod.rs"]
mod clusters;

use clusters::{CLAIMS, UNITS, coverage};
use feasible::certificate::Delta;

const TRIALS: u64 = 2000;

fn main() {
    let delta = Delta::new(0.05).unwrap();
    println!("| units of | bound | wrong by unit | wrong by row | mean width by unit |");
    println!("| --- | --- | ---: | ---: | ---: |");
    for units in UNITS {
        for (name, tally) in CLAIMS.iter().zip(coverage(units, 200, delta, TRIALS)) {
            let share = |wrong: u64| 100.0 * wrong as f64 / tally.trials as f64;
            let unit = share(tally.by_unit);
            // By row, a share of rows is bounded, which is another number.
            let row = match *name {
                "units with an error, upper" => "–".into(),
                _ => format!("{:.2} %", share(tally.by_row)),
            };
            let width = tally.width / tally.trials as f64;
            println!("| {} | {name} | {unit:.2} % | {row} | {width:.4} |", units.name());
            assert!(!tally.refutes(0.05), "{name}: {tally:?}");
        }
    }
}

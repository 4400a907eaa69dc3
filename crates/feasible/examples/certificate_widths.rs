//! How wide bounds are beside the normal approximation: the table of widths of the book.
//!
//! ```sh
//! cargo run --release -p feasible --example certificate_widths
//! ```
#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../tests/validity/mod.rs"]
mod validity;

use feasible::certificate::{Count, Delta, Difference};
use validity::widths::{KINDS, width};

const TRIALS: u64 = 100;
const SIZES: [usize; 4] = [200, 1000, 5000, 20_000];

fn main() {
    let delta = Delta::new(0.05).unwrap();
    println!("| upper bound, δ = 5 % | 200 rows | 1,000 | 5,000 | 20,000 | wrong at 1,000 |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for kind in KINDS {
        let found =
            SIZES.map(|n| width(kind, n, delta, if n > 5000 { TRIALS / 10 } else { TRIALS }));
        let cells =
            found.iter().map(|(tally, ratio)| format!("{:.4} ({ratio:.2})", tally.mean_width()));
        let cells: Vec<String> = cells.collect();
        println!(
            "| {} | {} | {:.1} % |",
            kind.name(),
            cells.join(" | "),
            100.0 * found[1].0.share()
        );
    }
    println!(
        "\n| rows of the second group | 300 of which 90 hit, and a fifth: bound minus difference | seconds |"
    );
    println!("| ---: | ---: | ---: |");
    for rows in [3000, 10_000, 20_000, 30_000, 100_000, 1_000_000] {
        let (a, b) = (Count::new(90, 300).unwrap(), Count::new(rows / 5, rows).unwrap());
        let difference = Difference::Apart { a, b };
        let started = std::time::Instant::now();
        let width = difference.upper(delta) - difference.estimate();
        println!("| {rows} | {width:.5} | {:.2} |", started.elapsed().as_secs_f64());
    }
}

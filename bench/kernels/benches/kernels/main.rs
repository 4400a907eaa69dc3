//! Time of every kernel at every level this machine has, and how near that is to what the core can do.
//!
//! `cargo bench --manifest-path bench/kernels/Cargo.toml` from the project's root; a word after `--`
//! chooses kernels by name. After criterion's own output comes a table: the fastest block
//! of calls of each kernel, because what else runs on the machine can only add to it, and its share of the
//! peak measured in the same run ([`feasible_bench::peak`]).

mod elementwise;
mod losses;
mod networks;
mod products;
mod table;

use std::time::Duration;

use criterion::Criterion;
use feasible::FlushDenormals;
use feasible_nn::Level;
use table::Measured;

fn main() -> Result<(), feasible::Error> {
    // As training does.
    let _flush = FlushDenormals::new();
    let criterion = Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400))
        .nresamples(1001)
        .without_plots()
        .configure_from_args();
    let mut measured = Measured::new(criterion);
    for level in Level::available() {
        products::measure(&mut measured, level);
        elementwise::measure(&mut measured, level);
        networks::measure(&mut measured, level)?;
    }
    losses::measure(&mut measured);
    measured.print();
    Ok(())
}

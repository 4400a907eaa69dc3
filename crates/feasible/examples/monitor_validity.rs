//! How often verdicts on a model in use are wrong over its life, and how soon a drift is found: the tables of the book.
//!
//! ```sh
//! cargo run --release -p feasible --example monitor_validity
//! ```
//!
//! 2,000 lives of 60 months for every line; a few minutes on one core.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../tests/lives/mod.rs"]
mod lives;

use lives::{DELTA, Errors, LIVES, change, median, monthly_certificates, together};

const TRIALS: u64 = 2000;

fn main() {
    let share = |wrong: u64| format!("{:.2} %", 100.0 * wrong as f64 / TRIALS as f64);
    println!("| life | a CERTIFIED is wrong | a DRIFTED is wrong | any verdict is | bounds are |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    for life in LIVES {
        let e = life.errors(TRIALS);
        println!(
            "| {} | {} | {} | {} | {} |",
            life.name(),
            share(e.certified),
            share(e.drifted),
            share(e.any),
            share(e.bounds)
        );
        for wrong in [e.any, e.bounds] {
            assert!(!Errors::refutes(wrong, TRIALS, DELTA), "{e:?}");
        }
    }
    let five = together(TRIALS);
    println!("| five requirements on the same rows, all at their limits | | | {} | |", share(five));
    println!();
    for months in [12, 60] {
        let wrong = share(monthly_certificates(months, TRIALS));
        println!(
            "{months} monthly certificates at 95 %, at the limit: some wrong one in {wrong} of lives"
        );
    }
    println!();
    println!(
        "| rate before, after | rows a month | certified at month 24 | no longer CERTIFIED after | DRIFTED after | DRIFTED before |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for (before, after) in [(0.06, 0.12), (0.06, 0.15), (0.06, 0.20)] {
        for rows in [100, 500, 2000] {
            let c = change(before, after, rows, TRIALS);
            println!(
                "| {} %, {} % | {rows} | {} | {} months | {} months | {} |",
                100.0 * before,
                100.0 * after,
                share(c.certified),
                median(&c.lapsed),
                median(&c.drifted),
                share(c.early)
            );
        }
    }
}

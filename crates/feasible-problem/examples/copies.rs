//! How often equal rows are taken for copies, how often copies are found, and how often certificates on them are false. The tables of
//! the book.
//!
//! ```sh
//! cargo run --release -p feasible-problem --example copies
//! ```
//!
//! `FEASIBLE_DEPTH=10` draws ten times as many tables.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../tests/repeated/mod.rs"]
mod repeated;

use repeated::{BASES, CHANCE, WAYS, base, by_chance, stream};

fn main() {
    let depth: u64 =
        std::env::var("FEASIBLE_DEPTH").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (mut wrong, mut tables) = (0, 0);
    println!("| rows equal by chance | tables | taken for copies |\n| --- | ---: | ---: |");
    for (kind, name) in CHANCE.iter().enumerate() {
        let (mut here, mut of) = (0, 0);
        for trial in 0..30 * depth {
            for n in [100, 1000, 5000] {
                for d in [1, 3, 6, 10] {
                    let mut random = stream(kind as u64, trial * 1_000_000 + (n * 20 + d) as u64);
                    here += u64::from(by_chance(kind, n, d, &mut random).has_copies());
                    of += 1;
                }
            }
        }
        println!("| {name} | {of} | {here} |");
        (wrong, tables) = (wrong + here, tables + of);
    }
    println!("\n{wrong} of {tables}\n\n| copies found, % | rows | {} |", WAYS.join(" | "));
    println!("| --- | ---: |{}", " ---: |".repeat(WAYS.len()));
    let trials = 20 * depth;
    for (kind, name) in BASES.iter().enumerate() {
        for n in [200, 1000, 4000] {
            let found = |way: usize| {
                let found = |trial: &u64| {
                    let mut random =
                        stream(100 + kind as u64, trial * 100_000 + (n * 10 + way) as u64);
                    base(kind, n, 0.1, &mut random).copied(way, &mut random).has_copies()
                };
                let found = (0..trials).filter(found).count();
                format!("{:.0}", 100.0 * found as f64 / trials as f64)
            };
            let found: Vec<String> = (0..WAYS.len()).map(found).collect();
            println!("| {name} | {n} | {} |", found.join(" | "));
        }
    }
    println!("\n| certificates on | tables | false at 95 % |\n| --- | ---: | ---: |");
    let trials = 500 * depth;
    for (way, name) in WAYS.iter().enumerate() {
        let positive = if way < 2 { 0.1 } else { 0.5 };
        let is_false = |trial: &u64| {
            let mut random = stream(200 + way as u64, *trial);
            let draft = base((trial % 3) as usize, 400, positive, &mut random);
            draft.copied(way, &mut random).certificate_is_false(positive)
        };
        let wrong = (0..trials).filter(is_false).count();
        println!("| {name} | {trials} | {:.1} % |", 100.0 * wrong as f64 / trials as f64);
    }
}

//! How often equal rows are taken for copies, how often copies are found, and how often certificates are false: on tables with copies, with
//! rows that were trained on, and with rows in units. The tables of the book.
//!
//! ```sh
//! cargo run --release -p feasible-problem --example copies
//! ```
//!
//! `FEASIBLE_DEPTH=10` draws ten times as many tables.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../tests/repeated/mod.rs"]
mod repeated;

use repeated::reused::{EXPORTS, FRESH_COPIES, PERCENTS, Tally, UNITS, WRITTEN};
use repeated::reused::{copied_afresh, in_units, reexported};
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
    let trials = 1000 * depth;
    println!("\n| copies within a table | tables | false at 95 % |\n| --- | ---: | ---: |");
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
    print_head("a file of fresh rows");
    for way in FRESH_COPIES {
        print_line(WAYS[way], copied_afresh(way, 300, trials));
    }
    print_head("rows in units");
    for (kind, name) in UNITS.iter().enumerate() {
        print_line(name, in_units(kind, 400, trials));
    }
    for (written, (columns, _)) in WRITTEN.iter().enumerate() {
        print_head(&format!("rows trained on, {columns}"));
        let mut fresh = Tally::default();
        for (name, tallies) in EXPORTS.iter().zip(reexported(written, 10_000, 500 * depth)) {
            for (tally, percent) in tallies.into_iter().zip(PERCENTS) {
                match percent {
                    0 => fresh = fresh.and(tally),
                    _ => print_line(&format!("{name}, {percent} %"), tally),
                }
            }
        }
        print_line("written in any of these ways, 0 %", fresh);
    }
}

fn print_head(what: &str) {
    println!(
        "\n| {what} | tables | certified | of these if the rows are new | false | share | false on that condition |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
}

fn print_line(name: &str, tally: Tally) {
    let Tally { tables, certified, on_condition, wrong, wrong_on_condition } = tally;
    let share = 100.0 * wrong as f64 / tables as f64;
    println!(
        "| {name} | {tables} | {certified} | {on_condition} | {wrong} | {share:.1} % | {wrong_on_condition} |"
    );
}

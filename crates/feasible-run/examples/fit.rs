//! Fits a problem and prints what came of it: `fit adult training.epochs=50`, `reproduce adult`.
#![allow(clippy::print_stdout)]

use feasible_run::reproduce::{Reproduction, adult, compas};
use feasible_run::{FitOptions, Plan, Source, fit};

fn main() -> feasible_run::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let start = std::time::Instant::now();
    match arguments.split_first() {
        Some((command, rest)) if command == "reproduce" => {
            let (name, overrides) = (rest.first(), rest.get(1..).unwrap_or_default());
            let how = Reproduction { overrides: overrides.to_vec(), ..Reproduction::default() };
            match name.map(String::as_str) {
                Some("compas") => println!("{}", compas(&how, &|_| {})?.to_text()),
                _ => println!("{}", adult(&how, &|_| {})?.to_text()),
            }
        }
        Some((problem, overrides)) => {
            let plan = Plan::check(&Source::open(problem)?.with_overrides(overrides))?;
            println!("{}", plan.describe());
            println!("planned in {:.2} s", start.elapsed().as_secs_f64());
            println!("{}", fit(&plan, &FitOptions::default(), &|_| {})?.to_text());
        }
        None => println!("usage: fit PROBLEM [KEY=VALUE]... | fit reproduce adult|compas"),
    }
    println!("{:.2} s", start.elapsed().as_secs_f64());
    Ok(())
}

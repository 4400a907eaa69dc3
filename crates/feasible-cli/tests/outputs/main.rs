//! No output contradicts itself: over some hundred random problems, what the terminal, `summary.json`, the page and
//! the model card say is compared with the numbers and with each other, by the rules of [`rules`].
//!
//! `FEASIBLE_PROBLEMS=5000 cargo test --release -p feasible-cli --test outputs` draws more; `FEASIBLE_PROBLEM=17` draws that
//! one and prints it.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod problem;
mod rules;
#[path = "../support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};

use feasible_report::Report;
use feasible_run::{FitOptions, Plan, Source, Summary};
use problem::{Drawn, draw};
use rules::{Outputs, RULES};
use support::Scratch;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn place() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.into() } else { std::env::temp_dir() }
}

/// The rules that an output breaks, with what was drawn.
fn broken(drawn: &Drawn, outputs: &Outputs) -> Vec<String> {
    let check = |(name, rule): &(&str, fn(&Outputs) -> Result<(), String>)| {
        let found = rule(outputs).err()?;
        Some(format!(
            "seed {}: {name}: {found}\n{}\n---\n{}",
            drawn.seed, drawn.toml, outputs.terminal
        ))
    };
    RULES.iter().filter_map(check).collect()
}

fn insist(broken: &[String]) {
    for one in broken.iter().take(5) {
        println!("{one}\n");
    }
    assert!(broken.is_empty(), "{} contradictions, the first ones above", broken.len());
}

/// Trains it here; `None` if the problem file is refused.
fn run(drawn: &Drawn, scratch: &Scratch) -> Option<Outputs> {
    scratch.write("table.csv", &drawn.csv);
    scratch.write("drawn.toml", &drawn.toml);
    let path = scratch.path("drawn.toml").display().to_string();
    let plan = Source::open(&path).and_then(|source| Plan::check(&source));
    let plan = match plan {
        Ok(plan) => plan,
        Err(error) => {
            assert!(error.is_input(), "seed {}: {error}\n{}", drawn.seed, drawn.toml);
            println!("seed {} is refused: {error}", drawn.seed);
            return None;
        }
    };
    let directory = scratch.path("run");
    let options =
        FitOptions { directory: Some(directory.clone()), force: true, ..FitOptions::default() };
    let fit = feasible_run::fit(&plan, &options, &|_| {});
    let fit = match fit {
        Ok(fit) => fit,
        Err(error) => {
            assert!(error.is_input(), "seed {}: {error}\n{}", drawn.seed, drawn.toml);
            println!("seed {} is refused: {error}", drawn.seed);
            return None;
        }
    };
    let summary = fit.runs()[0].summary.clone().unwrap();
    let report = Report::of(&directory);
    // A ladder without a certified model leaves none.
    let report = match summary.ladder {
        Some(_) => report.ok(),
        None => Some(report.unwrap()),
    };
    Some(Outputs {
        terminal: format!("{}\n{}\n", fit.to_text(), summary.verdict()),
        summary: read(&directory),
        page: report.as_ref().map(|report| report.html().to_string()),
        card: report.and_then(|report| report.card().map(String::from)),
        all_but: plan.clauses().iter().map(|clause| clause.all_but).collect(),
        tolerance: plan.spec().training.tolerance.unwrap_or(0.0),
        code: None,
    })
}

fn read(directory: &Path) -> Summary {
    serde_json::from_slice(&std::fs::read(directory.join("summary.json")).unwrap()).unwrap()
}

#[test]
fn no_output_of_a_random_problem_contradicts_itself() {
    let scratch = Scratch::under(&place());
    let one = number("FEASIBLE_PROBLEM");
    let count = number("FEASIBLE_PROBLEMS").unwrap_or(300);
    let seeds = one.map_or(0..count, |seed| seed..seed + 1);
    let (mut all, mut refused, mut certified) = (0, 0, 0);
    let mut slowest = Vec::new();
    let (mut broke, mut ended) = (Vec::new(), std::collections::BTreeMap::new());
    for seed in seeds {
        let drawn = draw(seed);
        all += 1;
        let began = std::time::Instant::now();
        let ran = run(&drawn, &scratch);
        slowest.push((began.elapsed(), seed));
        let Some(outputs) = ran else {
            refused += 1;
            continue;
        };
        if one.is_some() {
            println!("{}\n{}", drawn.toml, outputs.terminal);
        }
        broke.extend(broken(&drawn, &outputs));
        let headline = outputs.summary.headline();
        let word = headline.split([':', ' ']).next().unwrap_or_default().to_string();
        *ended.entry(word).or_insert(0) += 1;
        certified += u64::from(outputs.terminal.contains("CERTIFIED"));
    }
    println!("{all} problems, {refused} refused, {certified} with something certified: {ended:?}");
    slowest.sort();
    println!("slowest, by seed: {:.0?}", slowest.iter().rev().take(5).collect::<Vec<_>>());
    insist(&broke);
    // Otherwise the problems are drawn badly and the test shows little.
    assert!(10 * refused <= all || one.is_some(), "{refused} of {all} refused");
    assert!(ended.len() >= 3 && certified > 0 || one.is_some(), "{ended:?}, {certified} certified");
}

#[test]
fn no_output_of_the_program_contradicts_its_exit_code() {
    let scratch = Scratch::under(&place());
    let mut broke = Vec::new();
    for seed in 10_000..10_024 {
        let drawn = draw(seed);
        scratch.write("table.csv", &drawn.csv);
        scratch.write("drawn.toml", &drawn.toml);
        let ran = scratch.run(&["fit", "drawn.toml", "-o", "run", "--force"]);
        if ran.code == Some(2) {
            assert!(ran.out.is_empty() && ran.err.contains("error:"), "{}", ran.err);
            continue;
        }
        let path = scratch.path("drawn.toml").display().to_string();
        let plan = Plan::check(&Source::open(&path).unwrap()).unwrap();
        let text = |name: &str| std::fs::read_to_string(scratch.path("run").join(name)).ok();
        let outputs = Outputs {
            terminal: ran.out.clone(),
            summary: read(&scratch.path("run")),
            page: text("report.html"),
            card: text("model-card.md"),
            all_but: plan.clauses().iter().map(|clause| clause.all_but).collect(),
            tolerance: plan.spec().training.tolerance.unwrap_or(0.0),
            code: ran.code,
        };
        broke.extend(broken(&drawn, &outputs));
        if !scratch.path("run/model.safetensors").exists() {
            continue;
        }
        let audit = scratch.run(&["audit", "run", "table.csv", "--json"]);
        let met = audit.json()["met"].as_bool();
        assert_eq!(audit.code, met.map(|met| i32::from(!met)), "seed {seed}: {}", audit.err);
        let certify = scratch.run(&["certify", "run", "--json"]);
        if certify.code != Some(2) {
            let certified = certify.json()["certified"].as_bool();
            let code = certified.map(|certified| i32::from(!certified));
            assert_eq!(certify.code, code, "seed {seed}: {}", certify.err);
        }
    }
    insist(&broke);
}

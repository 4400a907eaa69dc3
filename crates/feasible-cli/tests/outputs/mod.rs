//! No output contradicts itself: over some hundred random problems, what the terminal, `summary.json`, the page and
//! the model card say is compared with the numbers and with each other, by the rules of [`rules`]. Of some, the numbers are computed
//! again from the table and the predictions ([`recomputed`]), and `audit`, `certify` and `monitor` are read, too: 24, or 240 with
//! `FEASIBLE_DEPTH=10`.
//!
//! `FEASIBLE_DEPTH=100 cargo test --release -p feasible-cli --test suite outputs::` draws more; `FEASIBLE_PROBLEM=17` draws that
//! one and prints it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may stop, and say why")]

mod problem;
mod recomputed;
mod rules;
use crate::depth::depth;
use crate::support;

use std::path::{Path, PathBuf};

use feasible::certificate::{Finding, Verdict};
use feasible_problem::{Plan, ProblemSource};
use feasible_report::Report;
use feasible_run::{FitOptions, Summary};

use problem::{Drawn, draw};
use recomputed::Facts;
use rules::{Outputs, RULES, Rule};
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
    let check = |(name, rule): &(&str, Rule)| {
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
    let plan = ProblemSource::open(&path).and_then(|source| Plan::check(&source));
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
        terminal: fit.to_text(),
        written: written(&directory),
        summary: read(&directory),
        page: report.as_ref().map(|report| report.html().to_string()),
        card: report.and_then(|report| report.card().map(String::from)),
        all_but: plan.clauses().iter().map(|clause| clause.all_but).collect(),
        tolerances: tolerances(&plan),
        code: None,
    })
}

fn tolerances(plan: &Plan) -> Vec<f64> {
    let share = plan.spec().training.tolerance.unwrap_or(0.0);
    plan.clauses().iter().map(|clause| clause.tolerance(share)).collect()
}

fn written(directory: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(directory.join("summary.json")).unwrap()).unwrap()
}

fn read(directory: &Path) -> Summary {
    serde_json::from_slice(&std::fs::read(directory.join("summary.json")).unwrap()).unwrap()
}

#[test]
fn no_output_of_a_random_problem_contradicts_itself() {
    let scratch = Scratch::under(&place());
    let one = number("FEASIBLE_PROBLEM");
    let count = 60 * depth();
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
fn the_rules_find_contradictions_that_are_planted() {
    let scratch = Scratch::under(&place());
    let all_met = |o: &Outputs| {
        let certified = o.terminal.contains("CERTIFIED");
        o.summary.train.met && o.summary.met() && certified && o.summary.ladder.is_none()
    };
    let sound = (0..100).find_map(|seed| run(&draw(seed), &scratch).filter(all_met)).unwrap();
    let found = |plant: &dyn Fn(&mut Outputs)| -> Vec<&str> {
        let mut outputs = sound.clone();
        plant(&mut outputs);
        RULES.iter().filter(|(_, rule)| rule(&outputs).is_err()).map(|(name, _)| *name).collect()
    };
    let insist = |rule: &str, plant: &dyn Fn(&mut Outputs)| {
        assert!(found(plant).iter().any(|name| name.contains(rule)), "{rule}: {:?}", found(plant));
    };
    assert!(found(&|_| {}).is_empty());
    insist("its numbers", &|o| o.summary.train.requirements[0].met = false);
    insist("how training ended", &|o| o.summary.outcome = feasible::Outcome::MaxEpochs);
    insist("infeasible", &|o| o.terminal.insert_str(0, "infeasible: "));
    insist("verdict is the first line", &|o| o.terminal.insert_str(0, "'rule 0' is not met\n"));
    insist("verdict is the first line", &|o| o.terminal += &o.summary.verdict());
    insist("summary.json", &|o| o.written["verdict"] = "no-requirements".into());
    insist("summary.json", &|o| o.written["format"] = 2.into());
    insist("certified", &|o| {
        let certificate = &mut o.summary.certificate.as_mut().unwrap().certificate;
        let certified = |f: &&mut Finding| f.verdict == Verdict::Certified;
        let finding = certificate.findings.iter_mut().find(certified).unwrap();
        finding.limit = -2.0 * finding.sense.sign();
    });
    insist("NOT MET", &|o| o.terminal.insert_str(0, "NOT MET\n"));
    insist("advice", &|o| o.summary.advice.push("'rule 0' is not met".into()));
    insist("page and card", &|o| o.page = Some("The requirement is not met.".into()));
    insist("no number", &|o| o.terminal.insert_str(0, "objective  NaN\n"));
    insist("shares", &|o| o.summary.train.requirements[0].violated = Some(1.5));
    insist("percentages", &|o| o.terminal.insert_str(0, "bound 1500 %\n"));
    insist("multipliers", &|o| o.summary.train.requirements[0].multiplier = Some(-0.1));
    insist("exit code", &|o| o.code = Some(1));
    insist("the table calls met", &|o| {
        let name = o.summary.train.requirements[0].name.clone();
        let text =
            format!("'{name}' is not met on the training rows: do not expect it on new ones.");
        let doubt = feasible_run::Doubt { requirement: name, rows: 0, rows_needed: None, text };
        o.summary.doubts.push(doubt);
    });
    insist("behind the verdict", &|o| {
        let certificate = &mut o.summary.certificate.as_mut().unwrap().certificate;
        let certified = |f: &&mut Finding| f.verdict == Verdict::Certified;
        let finding = certificate.findings.iter_mut().find(certified).unwrap();
        finding.bound = Some(finding.limit + finding.sense.sign());
    });
    insist("rows that are missing", &|o| o.terminal += "takes about 68 more rows (1 in all)\n");
    insist("best constant", &|o| {
        o.summary.train.constant = None;
        let judged = o.summary.test.as_mut().or(o.summary.validation.as_mut());
        let judged = judged.unwrap_or(&mut o.summary.train);
        judged.accuracy = judged.accuracy.map(|_| 0.0);
        judged.objective = 1e9;
        let constant = feasible_run::Constant {
            predicts: "no".into(),
            outputs: Vec::new(),
            measure: feasible_run::Measure::Accuracy,
            value: 0.5,
        };
        judged.constant = Some(constant);
    });
}

#[test]
fn no_output_of_the_program_contradicts_its_exit_code() {
    let scratch = Scratch::under(&place());
    let mut broke = Vec::new();
    let (mut recomputed, mut certified, mut watched) = (0, 0, 0);
    for seed in 10_000..10_000 + 24 * depth() {
        let drawn = draw(seed);
        scratch.write("table.csv", &drawn.csv);
        scratch.write("drawn.toml", &drawn.toml);
        let ran = scratch.run(&["fit", "drawn.toml", "-o", "run", "--force"]);
        if ran.code == Some(2) {
            assert!(ran.out.is_empty() && ran.err.contains("error:"), "{}", ran.err);
            continue;
        }
        let path = scratch.path("drawn.toml").display().to_string();
        let plan = Plan::check(&ProblemSource::open(&path).unwrap()).unwrap();
        let text = |name: &str| std::fs::read_to_string(scratch.path("run").join(name)).ok();
        let outputs = Outputs {
            terminal: ran.out.clone(),
            written: written(&scratch.path("run")),
            summary: read(&scratch.path("run")),
            page: text("report.html"),
            card: text("model-card.md"),
            all_but: plan.clauses().iter().map(|clause| clause.all_but).collect(),
            tolerances: tolerances(&plan),
            code: ran.code,
        };
        broke.extend(broken(&drawn, &outputs));
        if !scratch.path("run/model.safetensors").exists() {
            continue;
        }
        let mut check = |what: &str, found: Result<(), String>| {
            broke.extend(found.err().map(|e| format!("seed {seed}: {what}: {e}\n{}", drawn.toml)));
        };
        let predicted = scratch.run(&["predict", "run", "table.csv", "--json"]);
        if predicted.code != Some(0) {
            // Outputs that are not numbers.
            assert!(
                outputs.summary.headline().contains("diverged"),
                "seed {seed}: {}",
                predicted.err
            );
            continue;
        }
        let parts = serde_json::from_str(&scratch.read("run/rows.json")).unwrap();
        let facts = Facts::new(&drawn.csv, &drawn.toml, predicted.json(), &parts);
        recomputed += 1;
        check("summary.json", recomputed::summary(&facts, &outputs.summary));
        let audit = scratch.run(&["audit", "run", "table.csv", "--json"]);
        let met = audit.json()["met"].as_bool();
        assert_eq!(audit.code, met.map(|met| i32::from(!met)), "seed {seed}: {}", audit.err);
        let text = scratch.run(&["audit", "run", "table.csv"]).out;
        check("audit", recomputed::audit(&facts, &audit.json(), &text));
        let certify = scratch.run(&["certify", "run", "--json"]);
        if certify.code != Some(2) {
            certified += 1;
            let json = certify.json();
            let is = json["certified"].as_bool();
            let code = is.map(|certified| i32::from(!certified));
            assert_eq!(certify.code, code, "seed {seed}: {}", certify.err);
            // What the fit has said.
            let found = &outputs.written["certificate"]["certificate"];
            assert_eq!(&json["certificate"], found, "seed {seed}");
            let text = scratch.run(&["certify", "run", "-v"]).out;
            let first = text.lines().next().unwrap_or_default();
            let good = first.starts_with("Every") || first.starts_with("All requirements");
            let none = json["verdict"] == "no-requirements";
            assert!(none || Some(good) == is, "seed {seed}: {first}");
            let findings = found["findings"].as_array().into_iter().flatten();
            for finding in findings {
                let name = finding["name"].as_str().unwrap();
                let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
                let verdict = finding["verdict"].as_str().unwrap();
                let missing = format!("{name} is {verdict}: {line}\n{text}");
                check("certify", if line.contains(verdict) { Ok(()) } else { Err(missing) });
            }
        }
        scratch.write("fresh.csv", &drawn.fresh);
        let monitor = scratch.run(&["monitor", "run", "fresh.csv", "--json"]);
        if monitor.code != Some(2) {
            watched += 1;
            check("monitor", monitored(&outputs.summary, &monitor.json(), monitor.code));
            let text = scratch.run(&["monitor", "run"]).out;
            check("monitor", monitored_text(&monitor.json(), &text));
        }
    }
    println!("{recomputed} runs recomputed, {certified} certified again, {watched} monitored");
    insist(&broke);
    assert!(
        recomputed >= 12 && certified >= 6 && watched >= 3,
        "{recomputed} {certified} {watched}"
    );
}

/// What `monitor` concludes, from what it has measured and how training ended.
fn monitored(summary: &Summary, json: &serde_json::Value, code: Option<i32>) -> Result<(), String> {
    let all = json["requirements"].as_array().unwrap();
    let mut bad = false;
    for one in all {
        let name = one["name"].as_str().unwrap();
        let (_, judged) = summary.judged();
        let trained = judged.requirements.iter().find(|r| r.name == name).unwrap();
        let verdict = one["verdict"].as_str().unwrap();
        let shown = || format!("{one}: {trained:?}");
        let limit = one["limit"].as_f64().unwrap();
        let at_most = one["sense"] == "at_most";
        let within = |x: &serde_json::Value| {
            x.as_f64().map(|x| if at_most { x <= limit } else { x >= limit })
        };
        let bound = if at_most { &one["upper"] } else { &one["lower"] };
        let wrong = match verdict {
            "CERTIFIED" => within(bound) != Some(true) || within(&one["value"]) != Some(true),
            "DRIFTED" => trained.points > 0 && !trained.met || one["drift"].is_null(),
            "VIOLATED" => trained.points > 0 && trained.met || one["drift"].is_null(),
            _ => false,
        };
        bad |= ["DRIFTED", "VIOLATED"].contains(&verdict);
        if wrong {
            return Err(shown());
        }
    }
    let is = |verdict: &str| all.iter().any(|one| one["verdict"] == verdict);
    let agrees = json["drifted"] == is("DRIFTED")
        && json["violated"] == is("VIOLATED")
        && json["certified"] == all.iter().all(|one| one["verdict"] == "CERTIFIED")
        && code == Some(i32::from(bad));
    if agrees { Ok(()) } else { Err(format!("{code:?}: {json}")) }
}

/// The text of `monitor` has the verdicts of its JSON, and its first line the worst of them.
fn monitored_text(json: &serde_json::Value, text: &str) -> Result<(), String> {
    let first = text.lines().next().unwrap_or_default();
    let has = |verdict: &str, words: &str| {
        let all = json["requirements"].as_array().unwrap();
        all.iter().any(|one| one["verdict"] == verdict) == first.contains(words)
    };
    let worst = has("DRIFTED", "drifted.")
        || first.contains("drifted;")
        || first.contains("No requirement has drifted");
    if !worst || !has("VIOLATED", "violated since training") {
        return Err(first.into());
    }
    for one in json["requirements"].as_array().unwrap() {
        let (name, verdict) = (one["name"].as_str().unwrap(), one["verdict"].as_str().unwrap());
        let mut lines = text.lines().filter(|line| line.starts_with(name));
        if !lines.any(|line| line.ends_with(verdict)) {
            return Err(format!("{name} is not {verdict} in {text}"));
        }
    }
    Ok(())
}

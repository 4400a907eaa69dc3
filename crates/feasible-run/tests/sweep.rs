//! Sweeps and prices, on a problem whose every answer is known.
//!
//! Half of the rows have y = 1, half y = ± 0.1; the model sees only x, which says nothing, so that
//! it is a constant u. The others' loss is u² + 0.01, so with d = c − 0.01 the problem is to
//! minimise ½(u − 1)² + ½(u² + 0.01) subject to u² ≤ d. For d < ¼ the requirement binds: u = √d,
//! P = d − √d + 0.505 and μ = −P' = 1/(2√d) − 1; for larger d it is free: u = ½, P = 0.255, μ = 0.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use std::path::Path;

use feasible_problem::{Plan, ProblemSource};
use feasible_run::sweep::{Key, SWEEP, SWEEP_CSV, Starts, Warmth};
use feasible_run::{FitOptions, Interrupt, SweepOptions, check_prices, fit, sweep};

/// The tolerance is that of the learner in single precision, 64 ε = 8e-6.
const PROBLEM: &str = r#"
[data]
file = "two.csv"
target = "y"
drop = ["group"]
split = { train = 1.0, test = 0.0 }

[model]
kind = "linear"

[objective]
loss = "squared"

[[requirement]]
name = "low"
loss = "squared"
where = "group == 'zero'"
at_most = 0.05

[training]
learner = "exact"
tolerance = 1e-5
"#;

fn problem(scratch: &Path) -> ProblemSource {
    let mut csv = String::from("x,group,y\n");
    for _ in 0..10 {
        for x in [-1, 1] {
            csv += &format!("{x},one,1\n{x},one,1\n{x},zero,0.1\n{x},zero,-0.1\n");
        }
    }
    std::fs::write(scratch.join("two.csv"), csv).unwrap();
    let file = scratch.join("two.toml");
    std::fs::write(&file, PROBLEM).unwrap();
    ProblemSource::open(&file.display().to_string()).unwrap()
}

/// P(c) and μ.
fn exact(c: f64) -> (f64, f64) {
    let d = c - 0.01;
    if d < 0.25 { (d - d.sqrt() + 0.505, 0.5 / d.sqrt() - 1.0) } else { (0.255, 0.0) }
}

#[test]
fn a_frontier_is_the_one_found_by_hand() {
    let scratch = tempfile::tempdir().unwrap();
    let source = problem(scratch.path());
    let limits = vec![0.02, 0.05, 0.1, 0.17, 0.37];
    let options = SweepOptions {
        limits: limits.clone(),
        seeds: vec![2, 1],
        threads: 2,
        ..SweepOptions::new("low")
    };
    let frontier = sweep(&source, &options, &|_| {}).unwrap();
    assert_eq!((frontier.key, &frontier.limits), (Key::AtMost, &limits));
    assert_eq!(frontier.starts, Starts::Chain);
    assert_eq!(frontier.points.len(), 10);
    for point in &frontier.points {
        let (objective, multiplier) = exact(point.limit);
        // Single precision: residuals of 64 ε are 8e-6, and a multiplier is a ratio of gradients.
        assert!((point.train.objective.unwrap() - objective).abs() < 2e-5, "{point:?}");
        assert!(
            (point.multiplier.unwrap() - multiplier).abs() < 2e-3 * (1.0 + multiplier),
            "{point:?}"
        );
        assert!(point.train.met && point.judged.is_none(), "{point:?}");
    }
    let text = frontier.to_text();
    assert!(text.contains("2 of 2") && text.contains("multiplier"), "{text}");
    // Afresh at every limit is another way to the same place.
    let cold =
        sweep(&source, &SweepOptions { start: Some(Warmth::Afresh), ..options }, &|_| {}).unwrap();
    for (a, b) in frontier.points.iter().zip(&cold.points) {
        assert!((a.train.objective.unwrap() - b.train.objective.unwrap()).abs() < 2e-5);
    }
}

#[test]
fn a_sweep_goes_on_where_it_stopped_and_threads_change_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let source = problem(scratch.path());
    let (first, second) = (scratch.path().join("first"), scratch.path().join("second"));
    let options = |directory: &Path, threads| SweepOptions {
        limits: vec![0.02, 0.05, 0.1],
        seeds: vec![1, 2],
        threads,
        directory: Some(directory.to_path_buf()),
        ..SweepOptions::new("low")
    };
    let whole = sweep(&source, &options(&first, 2), &|_| {}).unwrap();
    for file in [SWEEP, SWEEP_CSV, "problem.toml", "README.txt"] {
        assert!(first.join(file).is_file(), "{file}");
    }
    // One that was stopped: two runs are there, of one not all files.
    let other = options(&second, 1);
    let interrupt = Interrupt::new();
    let stopping = SweepOptions { interrupt: interrupt.clone(), ..other.clone() };
    let ended = std::sync::atomic::AtomicUsize::new(0);
    let stop = |event: &feasible_run::Event| {
        if matches!(event, feasible_run::Event::Ended { .. })
            && ended.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 1
        {
            interrupt.raise();
        }
    };
    let error = sweep(&source, &stopping, &stop).unwrap_err();
    assert!(error.to_string().contains("interrupted"), "{error}");
    let trained = std::sync::atomic::AtomicUsize::new(0);
    let count = |event: &feasible_run::Event| {
        if matches!(event, feasible_run::Event::Started { .. }) {
            trained.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    };
    assert_eq!(sweep(&source, &other, &count).unwrap(), whole);
    assert_eq!(trained.into_inner(), 4, "two of six were done");
    let same = |file: &str| {
        let read = |top: &Path| std::fs::read(top.join(file)).unwrap();
        assert_eq!(read(&first), read(&second), "{file}");
    };
    same("sweep.csv");
    same("limit-0.02/seed-2/model.safetensors");
    // Says where it started from; the loosest limit started by itself.
    let info =
        |limit: &str| std::fs::read_to_string(first.join(limit).join("seed-1/run.json")).unwrap();
    assert!(info("limit-0.05").contains("\"started_from\": \"the solution at 0.1\""));
    assert!(!info("limit-0.1").contains("started_from"));
    // Other limits are another sweep.
    let others = SweepOptions { limits: vec![0.3], ..options(&first, 1) };
    let error = sweep(&source, &others, &|_| {}).unwrap_err();
    assert!(error.to_string().contains("a sweep of other settings"), "{error}");
    sweep(&source, &SweepOptions { force: true, ..others }, &|_| {}).unwrap();
    assert!(first.join("limit-0.3/seed-1/summary.json").is_file());
    assert!(!first.join("limit-0.05").exists());
}

#[test]
fn what_cannot_be_swept_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let source = problem(scratch.path());
    let refuse = |options: SweepOptions| sweep(&source, &options, &|_| {}).unwrap_err().to_string();
    let error = refuse(SweepOptions { limits: vec![0.1], ..SweepOptions::new("lov") });
    assert!(error.contains("no requirement is named 'lov': did you mean 'low'?"), "{error}");
    let error = refuse(SweepOptions { limits: vec![0.1], ..SweepOptions::new("something else") });
    assert!(error.contains("The requirements are 'low'"), "{error}");
    let error = refuse(SweepOptions::new("low"));
    assert!(error.contains("--limits"), "{error}");
    for (limit, said) in [(-0.1, "never below 0"), (1e300, "out of all proportion")] {
        let error = refuse(SweepOptions { limits: vec![limit, 0.1], ..SweepOptions::new("low") });
        assert!(error.starts_with("--limits") && error.contains(said), "{error}");
    }
}

#[test]
fn predicted_and_observed_prices_agree_with_the_derivative() {
    let scratch = tempfile::tempdir().unwrap();
    let plan = Plan::check(&problem(scratch.path())).unwrap();
    let run = scratch.path().join("run");
    let options = FitOptions { directory: Some(run.clone()), ..FitOptions::default() };
    fit(&plan, &options, &|_| {}).unwrap();
    let prices = check_prices(&run, 0.1, 2, &Interrupt::new(), &|_| {}).unwrap();
    let [price] = prices.prices.as_slice() else { panic!("{prices:?}") };
    // δ is a tenth of 0.05, μ is 1.5.
    assert!(
        (price.delta - 0.005).abs() < 1e-12 && (price.multiplier.unwrap() - 1.5).abs() < 3e-3,
        "{price:?}"
    );
    assert!((price.predicted().unwrap() + 0.0075).abs() < 2e-5, "{price:?}");
    let by_hand = (exact(0.055).0 - exact(0.045).0) / 2.0;
    assert!((prices.observed(price).unwrap() - by_hand).abs() < 2e-5, "{price:?} {by_hand}");
    assert!(prices.drift().unwrap().abs() < 2e-5 && prices.remark(price).is_empty(), "{prices:?}");
    // Curvature: δ²/2 · P'' with P'' = ¼ d^(−3/2) is 4e-4.
    assert!((prices.noise(price).unwrap() - 3.9e-4).abs() < 4e-5, "{prices:?}");
    assert!(prices.to_text().contains("predicted"), "{}", prices.to_text());
    assert!(run.join("sensitivity.json").is_file());
    let error = check_prices(&run, 0.0, 1, &Interrupt::new(), &|_| {}).unwrap_err();
    assert!(error.to_string().contains("--delta"), "{error}");
    let error = check_prices(scratch.path(), 0.1, 1, &Interrupt::new(), &|_| {}).unwrap_err();
    assert!(error.to_string().contains("is not a run directory"), "{error}");
}

#[test]
fn first_order_limits_have_all_had_the_same_training() {
    let scratch = tempfile::tempdir().unwrap();
    let settings = ["training.learner=alternating".to_string(), "training.epochs=4".into()];
    let source = problem(scratch.path()).with_overrides(&settings);
    let options = |start| SweepOptions {
        limits: vec![0.05, 0.1],
        start,
        threads: 3,
        directory: Some(scratch.path().join(format!("{start:?}"))),
        ..SweepOptions::new("low")
    };
    let afresh = sweep(&source, &options(None), &|_| {}).unwrap();
    assert_eq!(afresh.starts, Starts::Afresh);
    let warm = sweep(&source, &options(Some(Warmth::Warm)), &|_| {}).unwrap();
    assert_eq!(warm.starts, Starts::Loosest);
    let top = scratch.path().join("Some(Warm)");
    assert!(top.join("start/seed-0/summary.json").is_file());
    for limit in ["limit-0.05", "limit-0.1"] {
        let info = std::fs::read_to_string(top.join(limit).join("seed-0/run.json")).unwrap();
        assert!(info.contains("\"started_from\": \"the solution at 0.1\""), "{info}");
    }
}

//! Searches: the same choice however they are run, made on validation rows alone, and what is chosen is the run that a fit
//! makes.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::common;
#[path = "../../feasible/tests/common/workers.rs"]
mod workers;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::GENDER;
use feasible::Reduce;
use feasible_problem::{Plan, ProblemSource};
use feasible_run::tune::{SharedSearch, Tuning};
use feasible_run::{
    Event, Interrupt, JobPart, Memory, Search, Storage, TuneOptions, Tuned, files, fit_in, tune,
};

/// Batches of 16 rows, so that a dozen epochs tell settings apart.
const TRAINING: &str = "epochs = 18\nbatch_size = 16\ncheckpoint = { epochs = 1 }\n";

fn problem(directory: &Path) -> ProblemSource {
    common::problem(directory, GENDER, TRAINING)
}

fn search(source: &ProblemSource, trials: u64, threads: usize) -> Tuned {
    let options = TuneOptions { trials: Some(trials), threads, ..TuneOptions::default() };
    tune(source, &options, &|_| {}).unwrap()
}

fn refused(source: &ProblemSource) -> String {
    tune(source, &TuneOptions::default(), &|_| {}).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn neither_threads_nor_memory_change_the_choice_and_another_seed_is_another_search() {
    let directory = tempfile::tempdir().unwrap();
    let source = problem(directory.path());
    let one = search(&source, 10, 1);
    let many = search(&source, 10, 7);
    assert_eq!(one.search, many.search);
    assert_eq!(one.fit, many.fit);
    assert_eq!(one.search.design.rounds, [1.0 / 9.0, 1.0 / 3.0, 1.0]);
    let took_part = |round| one.search.trials.iter().filter(|t| t.rounds.len() > round).count();
    // A third of those before, and the settings of the file if they are not among them.
    assert_eq!(took_part(0), 10);
    assert!((4..=5).contains(&took_part(1)) && (2..=3).contains(&took_part(2)));
    let other = search(&source.with_overrides(&["training.seed=1".into()]), 10, 2);
    let settings = |search: &Search| -> Vec<_> {
        search.trials.iter().map(|trial| trial.settings.clone()).collect()
    };
    assert_ne!(settings(&one.search), settings(&other.search));
}

#[test]
fn the_settings_of_the_file_are_a_trial_that_stays_and_what_is_chosen_is_no_worse() {
    let directory = tempfile::tempdir().unwrap();
    let search = search(&problem(directory.path()), 9, 2).search;
    assert!(search.trials[0].settings.is_empty());
    assert_eq!(search.trials[0].rounds.len(), 3);
    let (_, chosen) = search.chosen().unwrap();
    let merit = |trial: &tune::TrialRecord| {
        let last = trial.last().unwrap();
        (!last.with_room, last.merit.unwrap())
    };
    assert!(merit(chosen) <= merit(&search.trials[0]));
    for trial in &search.trials {
        // Continued, not trained again: the epochs of a round are those of the round before and more.
        assert!(trial.rounds.windows(2).all(|pair| pair[0].epochs <= pair[1].epochs));
        assert_eq!(trial.rounds[0].epochs, trial.epochs.div_ceil(9));
    }
}

#[test]
fn what_is_chosen_is_the_run_that_a_fit_of_its_problem_file_makes() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("tuned");
    let options = TuneOptions {
        trials: Some(6),
        threads: 3,
        directory: Some(run.clone()),
        ..TuneOptions::default()
    };
    // Settings of the file that hardly learn anything, and rows enough to tell: on 60 for validation the others are better by 2.2 standard errors, the luck of
    // the best of five.
    let slow =
        ["training.rate=1e-5".into(), "tune.training.rate={ from = 0.02, to = 0.05 }".into()];
    let source = common::problem(directory.path(), "", TRAINING).with_overrides(&slow);
    common::write(directory.path(), "people.csv", &common::people(3000));
    let tuned = tune(&source, &options, &|_| {}).unwrap();
    let (n, chosen) = tuned.search.chosen().unwrap();
    assert!(n > 0 && chosen.last().unwrap().difference.unwrap().is_lower(5));
    let file = run.join(files::PROBLEM);
    let plan = Plan::check(&ProblemSource::open(file.to_str().unwrap()).unwrap()).unwrap();
    assert_eq!(plan.spec().training.rate, chosen.settings["training.rate"].as_float());
    assert_eq!(plan.spec().tune, None);
    let fitted = Memory::new();
    let again = fit_in(&plan, &fitted, &Interrupt::new(), &|_| {}).unwrap();
    for name in [files::PROBLEM, files::METRICS, files::MULTIPLIERS, files::ROWS] {
        assert!(std::fs::read(run.join(name)).unwrap() == fitted.read(name).unwrap(), "{name}");
    }
    let (of, found) = (again.summary.unwrap(), tuned.fit.runs()[0].summary.clone().unwrap());
    assert_eq!((of.train, of.validation, of.test), (found.train, found.validation, found.test));
    // The trials themselves are evaluated on no part.
    for trial in 0..6 {
        let trial = run.join(format!("trial-{trial}"));
        assert!(trial.join(files::CHECKPOINT).exists());
        assert!(!trial.join(files::SUMMARY).exists() && !trial.join(files::MODEL).exists());
    }
}

#[test]
fn where_networks_are_averaged_the_averages_are_compared() {
    let directory = tempfile::tempdir().unwrap();
    let set = [
        "data.split={ test = 0.2, seed = 3 }".into(),
        "tune.training.rate={ from = 0.02, to = 0.05 }".into(),
    ];
    let source = common::problem(directory.path(), "", TRAINING).with_overrides(&set);
    let tuned = search(&source, 2, 2);
    // Each row is judged by the networks that have not seen it, not by the first one on a fifth of the rows.
    let (_, chosen) = tuned.search.chosen().unwrap();
    let compared = chosen.last().unwrap().objective.unwrap();
    let fitted = tuned.fit.runs()[0].summary.clone().unwrap();
    let judged = fitted.cross_validation.unwrap().objective;
    assert!((judged - compared).abs() < 1e-6 * judged, "{compared} is not {judged}");
    assert!(tuned.search.trials[1].last().unwrap().difference.is_some());
}

/// Exchanges the classes of some rows of the table.
fn scramble(directory: &Path, rows: &[u32]) {
    let file = directory.join("people.csv");
    let text = std::fs::read_to_string(&file).unwrap();
    let line = |(at, line): (usize, &str)| -> String {
        let is_one = at > 0 && rows.contains(&(at as u32 - 1));
        match line.rsplit_once(',') {
            Some((rest, "high")) if is_one => format!("{rest},low\n"),
            Some((rest, "low")) if is_one => format!("{rest},high\n"),
            _ => format!("{line}\n"),
        }
    };
    let text: String = text.lines().enumerate().map(line).collect();
    std::fs::write(&file, text).unwrap();
}

#[test]
fn test_rows_and_the_reserve_have_no_part_in_the_choice() {
    let certify = "all_but = 0.3\n\n[certify]\nconfidence = 0.8\nreserve = 0.3\n";
    let requirements = format!("{GENDER}{certify}");
    let tuned = |scrambled: fn(&Plan) -> Vec<u32>| {
        let directory = tempfile::tempdir().unwrap();
        let source = common::problem(directory.path(), &requirements, TRAINING);
        let plan = Plan::check(&source).unwrap();
        scramble(directory.path(), &scrambled(&plan));
        let run = directory.path().join("tuned");
        let options = TuneOptions {
            trials: Some(9),
            threads: 2,
            directory: Some(run.clone()),
            ..TuneOptions::default()
        };
        let tuned = tune(&source, &options, &|_| {}).unwrap();
        let directory_of = directory.path().display().to_string();
        let read = |name: &str| {
            let bytes = std::fs::read(run.join(name)).unwrap();
            String::from_utf8_lossy(&bytes).replace(&directory_of, "")
        };
        let files = [files::PROBLEM, files::METRICS, files::MULTIPLIERS].map(read);
        (tuned.search.trials, tuned.search.chosen, files, tuned.fit.runs()[0].clone())
    };
    let plain = tuned(|_| Vec::new());
    let scrambled = tuned(|plan| {
        let (test, reserve) = (&plan.data().split.test, &plan.data().reserve_rows);
        assert!(test.len() > 30 && reserve.len() > 30);
        [&test[..], reserve].concat()
    });
    assert_eq!(plain.0, scrambled.0);
    assert_eq!(plain.1, scrambled.1);
    assert!(plain.2 == scrambled.2);
    let test = |run: &feasible_run::Fitted| run.summary.clone().unwrap().test.unwrap().accuracy;
    assert_ne!(test(&plain.3), test(&scrambled.3), "the rows were scrambled");
    // Validation rows have: otherwise the above would show nothing.
    let other = tuned(|plan| plan.data().split.validation.clone());
    assert_ne!(plain.0, other.0);
}

/// Every file under a directory but locks and clock times.
fn tree(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            let inner = tree(&entry.path()).into_iter();
            found.extend(inner.map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else if name != ".lock" && name != files::TIMINGS {
            found.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
    found
}

#[test]
fn a_search_that_is_interrupted_again_and_again_ends_in_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let source = problem(directory.path());
    let options = |name: &str, threads| TuneOptions {
        trials: Some(9),
        threads,
        directory: Some(directory.path().join(name)),
        ..TuneOptions::default()
    };
    tune(&source, &options("whole", 2), &|_| {}).unwrap();
    let mut stops = 0;
    loop {
        let now = options("stopped", 1 + stops % 3);
        let epochs = AtomicU64::new(0);
        let interrupt = now.interrupt.clone();
        let stop = |event: &Event| {
            let is_epoch = matches!(event, Event::Epoch { .. });
            if is_epoch && epochs.fetch_add(1, Ordering::SeqCst) == 6 {
                interrupt.raise();
            }
        };
        match tune(&source, &now, &stop) {
            Ok(_) => break,
            Err(error) => assert!(error.to_string().contains("interrupted"), "{error}"),
        }
        stops += 1;
    }
    assert!(stops > 5, "{stops}");
    let [whole, stopped] = ["whole", "stopped"].map(|name| tree(&directory.path().join(name)));
    assert_eq!(whole.keys().collect::<Vec<_>>(), stopped.keys().collect::<Vec<_>>());
    for (name, bytes) in &whole {
        assert!(bytes == &stopped[name], "{name} differs");
    }
    // Complete, it is not trained again.
    tune(&source, &options("stopped", 2), &|event| panic!("{event:?}")).unwrap();
    // Other settings are another search.
    let other = source.with_overrides(&["training.seed=5".into()]);
    let error = tune(&other, &options("stopped", 2), &|_| {}).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("a search of other settings"), "{error}");
    assert!(tree(&directory.path().join("stopped")) == whole);
    let force = TuneOptions { force: true, trials: Some(3), ..options("stopped", 2) };
    tune(&other, &force, &|_| {}).unwrap();
    assert!(!directory.path().join("stopped/trial-3").exists());
}

#[test]
fn ranks_that_share_a_search_out_end_in_the_bytes_of_one_process() {
    let directory = tempfile::tempdir().unwrap();
    let source = problem(directory.path());
    let options = |name: &str| TuneOptions {
        trials: Some(9),
        directory: Some(directory.path().join(name)),
        ..TuneOptions::default()
    };
    let tuning = Tuning::check(&source, Some(9)).unwrap();
    let whole = tuning.run(&options("whole"), &|_| {}).unwrap();
    for count in [1, 2, 3, 12] {
        let name = format!("on-{count}");
        let tuned: Vec<Option<Tuned>> = std::thread::scope(|scope| {
            let search = |rank: Arc<dyn Reduce>| {
                let (tuning, options) = (&tuning, options(&name));
                scope.spawn(move || tuning.run_on(&*rank, &options, &|_| {}).unwrap())
            };
            let ranks: Vec<_> = workers::workers(count).into_iter().map(search).collect();
            ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
        });
        assert_eq!(tuned[0].as_ref().map(|of| &of.search), Some(&whole.search));
        assert!(tuned[1..].iter().all(Option::is_none));
        let [whole, shared] = ["whole", &name].map(|name| tree(&directory.path().join(name)));
        assert_eq!(whole.keys().collect::<Vec<_>>(), shared.keys().collect::<Vec<_>>());
        for (file, bytes) in &whole {
            assert!(bytes == &shared[file], "{count} ranks: {file} differs");
        }
    }
}

#[test]
fn parts_that_are_interrupted_and_come_in_any_order_end_in_the_bytes_of_one_process() {
    let directory = tempfile::tempdir().unwrap();
    let source = problem(directory.path());
    let options = |name: &str| TuneOptions {
        trials: Some(9),
        directory: Some(directory.path().join(name)),
        ..TuneOptions::default()
    };
    let tuning = Tuning::check(&source, Some(9)).unwrap();
    tuning.run(&options("whole"), &|_| {}).unwrap();
    let (mut starts, mut stops, mut unfinished) = (0, 0, 0);
    loop {
        let now = options("parts");
        let part = JobPart::new(1 + starts * 2 % 3, 3).unwrap();
        starts += 1;
        assert!(starts < 100, "it does not end");
        let (epochs, interrupt) = (AtomicU64::new(0), now.interrupt.clone());
        let stop = |event: &Event| {
            let is_epoch = matches!(event, Event::Epoch { .. });
            if is_epoch && epochs.fetch_add(1, Ordering::SeqCst) == 6 {
                interrupt.raise();
            }
        };
        match tuning.run_part(&part, &now, &stop) {
            Ok(SharedSearch::Ended(_)) => break,
            Ok(SharedSearch::UnderWay { missing, .. }) => {
                assert!(!missing.is_empty());
                unfinished += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("interrupted"), "{error}");
                stops += 1;
            }
        }
    }
    assert!(stops > 1 && unfinished > 3, "{stops} stops, {unfinished} times others were missing");
    let [whole, parts] = ["whole", "parts"].map(|name| tree(&directory.path().join(name)));
    assert_eq!(whole.keys().collect::<Vec<_>>(), parts.keys().collect::<Vec<_>>());
    for (file, bytes) in &whole {
        assert!(bytes == &parts[file], "{file} differs");
    }
}

#[test]
fn a_space_of_ones_own_is_searched_and_settings_that_are_the_same_are_tried_once() {
    let directory = tempfile::tempdir().unwrap();
    let source = problem(directory.path());
    let with = |tune: &str| {
        let text = format!("{}\n[tune]\n{tune}\n", source.text());
        std::fs::write(directory.path().join("own.toml"), text).unwrap();
        ProblemSource::open(directory.path().join("own.toml").to_str().unwrap()).unwrap()
    };
    let own =
        with("trials = 5\n\"training.rate\" = [0.003, 0.03]\n\"model.hidden\" = [[4], [8, 8]]");
    let tuned = search_as_given(&own);
    // Four combinations, one of which is what the file says (0.003 is the recipe's rate).
    assert_eq!(tuned.trials.len(), 4);
    let hidden: Vec<String> = tuned
        .trials
        .iter()
        .filter_map(|t| Some(t.settings.get("model.hidden")?.to_string()))
        .collect();
    assert_eq!(hidden.len(), 3);
    assert!(hidden.contains(&"[8, 8]".to_string()), "{hidden:?}");
    let same = search_as_given(&with("\"model.hidden\" = [[4]]"));
    assert_eq!((same.trials.len(), same.chosen), (1, Some(0)));
    // It keeps no iterate by validation rows.
    let error = refused(&with("\"training.learner\" = [\"exact\"]"));
    assert!(error.contains("tune") && error.contains("no iterate is chosen"), "{error}");
}

fn search_as_given(source: &ProblemSource) -> Search {
    tune(source, &TuneOptions::default(), &|_| {}).unwrap().search
}

#[test]
fn a_problem_that_chooses_nothing_on_validation_rows_cannot_be_tuned() {
    let directory = tempfile::tempdir().unwrap();
    let source = problem(directory.path());
    for (change, said) in [
        ("data.split={ validation = 0, test = 0.2 }", "validation rows, but there are none"),
        ("training.keep=last", "keep = \"best\""),
        ("training.seconds=10", "must not depend on the clock"),
        ("certify={ ladder = [1.0, 0.0] }", "trains one model"),
    ] {
        let change = vec![change.to_string()];
        let with = match change[0].starts_with("certify") {
            true => {
                let all_but = "requirement.gender.all_but=0.3".to_string();
                source.clone().with_overrides(&[change[0].clone(), all_but])
            }
            false => source.clone().with_overrides(&change),
        };
        let error = refused(&with);
        assert!(error.contains(said), "{change:?}: {error}");
    }
}

//! A run that is interrupted, anywhere and as often as one likes, ends in the same bytes.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use feasible::Outcome;
use feasible_problem::Plan;
use feasible_run::{
    Checkpoint, Event, Interrupt, Memory, SavedModel, Storage, files, finish_in, fit_in, resume_in,
};

use common::{GENDER, assert_same, plan};

fn whole(plan: &Plan) -> Memory {
    let files = Memory::new();
    let run = fit_in(plan, &files, &Interrupt::new(), &|_| {}).unwrap();
    assert_ne!(run.outcome, Outcome::Interrupted);
    files
}

#[test]
fn interrupted_after_any_epoch_a_run_ends_in_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    for training in [
        "epochs = 6\nrate = 0.05\n",
        "epochs = 6\nkeep = \"best\"\nlearner = \"simultaneous\"\ncheckpoint = { epochs = 2 }\n",
        "epochs = 6\nlearner = \"exact\"\n",
    ] {
        let plan = plan(directory.path(), GENDER, training);
        let expected = whole(&plan);
        for stop in 0..6 {
            let files = Memory::new();
            let interrupt = Interrupt::new();
            let observer = |event: &Event| {
                let epoch = match event {
                    Event::Started { epoch, .. } => *epoch,
                    Event::Epoch { metrics, .. } => metrics.epoch,
                    _ => return,
                };
                if epoch == stop {
                    interrupt.raise();
                }
            };
            let run = fit_in(&plan, &files, &interrupt, &observer).unwrap();
            if run.outcome == Outcome::Interrupted {
                assert!(run.summary.is_none());
                assert!(files.read(files::MODEL).is_err(), "no model of an unfinished run");
            }
            resume_in(&files, &Interrupt::new(), &|_| {}).unwrap();
            assert_same(&files, &expected, &format!("{training:?} stopped after {stop}"));
        }
    }
}

/// Interrupts the run as soon as its model is written.
struct StopsAtModel(Memory, Interrupt);

impl Storage for StopsAtModel {
    fn location(&self) -> String {
        self.0.location()
    }

    fn read(&self, name: &str) -> std::io::Result<Vec<u8>> {
        self.0.read(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        if name == files::MODEL {
            self.1.raise();
        }
        self.0.write(name, bytes)
    }

    fn append(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        self.0.append(name, bytes)
    }

    fn sync(&self, name: &str) -> std::io::Result<()> {
        self.0.sync(name)
    }

    fn truncate(&self, name: &str, length: u64) -> std::io::Result<()> {
        self.0.truncate(name, length)
    }

    fn list(&self) -> std::io::Result<Vec<String>> {
        self.0.list()
    }
}

#[test]
fn a_run_stopped_before_its_certificate_has_a_model_and_gets_the_rest_when_resumed() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), GENDER, "epochs = 3\n");
    let expected = whole(&plan);
    let files = StopsAtModel(Memory::new(), Interrupt::new());
    let run = fit_in(&plan, &files, &files.1, &|_| {}).unwrap();
    assert_eq!((run.outcome, run.summary.is_none()), (Outcome::Interrupted, true));
    assert!(files.read(files::SUMMARY).is_err());
    let model = SavedModel::from_bytes("model", &files.read(files::MODEL).unwrap()).unwrap();
    let training = &model.manifest().training;
    assert!(training.certificate.is_none() && training.train.rows > 0);
    assert!(training.no_certificate.as_ref().unwrap().contains("`feasible resume`"));
    resume_in(&files.0, &Interrupt::new(), &|_| {}).unwrap();
    assert_same(&files.0, &expected, "stopped before the certificate");
}

#[test]
fn a_run_that_is_ended_early_is_one_of_so_many_epochs() {
    let directory = tempfile::tempdir().unwrap();
    // A rate that falls with the epochs there will be would tell the two apart.
    let training =
        |epochs: u32| format!("recipe = \"paper\"\nepochs = {epochs}\nkeep = \"best\"\n");
    let short = whole(&plan(directory.path(), GENDER, &training(3)));
    let long = plan(directory.path(), GENDER, &training(6));
    let files = Memory::new();
    let interrupt = Interrupt::new();
    let observer = |event: &Event| {
        if matches!(event, Event::Epoch { metrics, .. } if metrics.epoch == 3) {
            interrupt.raise();
        }
    };
    fit_in(&long, &files, &interrupt, &observer).unwrap();
    let run = finish_in(&files, &Interrupt::new(), &|_| {}).unwrap();
    assert_eq!((run.epochs, run.summary.unwrap().epochs), (3, 3));
    for name in [files::METRICS, files::MULTIPLIERS] {
        assert!(files.read(name).unwrap() == short.read(name).unwrap(), "{name}");
    }
    // It has ended: there is nothing to go on with.
    assert_eq!(resume_in(&files, &Interrupt::new(), &|_| {}).unwrap().epochs, 3);
}

#[test]
fn a_run_without_an_epoch_cannot_end() {
    let directory = tempfile::tempdir().unwrap();
    let files = Memory::new();
    let interrupt = Interrupt::new();
    interrupt.raise();
    fit_in(&plan(directory.path(), GENDER, "epochs = 3\n"), &files, &interrupt, &|_| {}).unwrap();
    let error = finish_in(&files, &Interrupt::new(), &|_| {}).unwrap_err().to_string();
    assert!(error.contains("no epoch of this run has been saved yet"), "{error}");
}

#[test]
fn interrupted_within_an_epoch_a_run_ends_in_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let training = "epochs = 3\nbatch_size = 1\nkeep = \"best\"\n";
    let source = common::problem(directory.path(), GENDER, training)
        .with_overrides(&["model.hidden=[64]".to_string()]);
    // Large enough that an epoch takes several milliseconds.
    common::write(directory.path(), "people.csv", &common::people(4000));
    let plan = Plan::check(&source).unwrap().with_seed(5);
    let expected = whole(&plan);
    let mut within = 0;
    for attempt in 0..40 {
        let files = Memory::new();
        let mut run = None;
        // Interrupted again and again until it is through.
        for again in 0..50 {
            let interrupt = Interrupt::new();
            let delay = Duration::from_micros(200 + 700 * (attempt % 23) + 300 * again);
            let started = AtomicBool::new(false);
            let observer = |event: &Event| {
                if matches!(event, Event::Started { .. }) {
                    started.store(true, Ordering::SeqCst);
                }
            };
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !started.load(Ordering::SeqCst) {
                        std::hint::spin_loop();
                    }
                    let start = Instant::now();
                    while start.elapsed() < delay {
                        std::hint::spin_loop();
                    }
                    interrupt.raise();
                });
                run = Some(match run {
                    None => fit_in(&plan, &files, &interrupt, &observer).unwrap(),
                    Some(_) => resume_in(&files, &interrupt, &observer).unwrap(),
                });
            });
            let bytes = files.read(files::CHECKPOINT).unwrap();
            within += u32::from(Checkpoint::from_bytes(&bytes).unwrap().state.batch > 0);
            if run.as_ref().is_some_and(|run| run.outcome != Outcome::Interrupted) {
                break;
            }
        }
        resume_in(&files, &Interrupt::new(), &|_| {}).unwrap();
        assert_same(&files, &expected, &format!("attempt {attempt}"));
        if within > 10 {
            return;
        }
    }
    assert!(within > 0, "no interruption fell within an epoch");
}

#[test]
fn a_finished_run_can_be_resumed_and_stays_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), GENDER, "epochs = 2\n");
    let files = whole(&plan);
    let run = resume_in(&files, &Interrupt::new(), &|_| {}).unwrap();
    assert!(run.summary.is_some());
    assert_same(&files, &whole(&plan), "resumed when finished");
}

#[test]
fn threads_change_nothing_but_the_time() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), GENDER, "epochs = 2\nbatch_size = 180\n");
    let (one, two) = (whole(&plan), whole(&plan.with_threads(3)));
    for name in [files::METRICS, files::MULTIPLIERS, files::MODEL, files::SUMMARY] {
        assert_eq!(one.read(name).unwrap(), two.read(name).unwrap(), "{name}");
    }
}

#[test]
fn changed_data_are_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), GENDER, "epochs = 1\n");
    let files = whole(&plan);
    common::write(directory.path(), "people.csv", &common::people(301));
    let error = resume_in(&files, &Interrupt::new(), &|_| {}).unwrap_err().to_string();
    assert!(error.contains("people.csv has changed since the run was started"), "{error}");
}

#[test]
fn a_directory_without_a_problem_is_no_run() {
    let error = resume_in(&Memory::new(), &Interrupt::new(), &|_| {}).unwrap_err().to_string();
    assert_eq!(error, "memory is not a run directory: it has no problem.toml");
}

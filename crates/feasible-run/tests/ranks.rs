//! A run that several ranks train has the bytes of a run in shards that one process trains. The ranks are threads.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "../../feasible/tests/common/workers.rs"]
mod workers;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use feasible::Reduce;
use feasible_problem::{Plan, ProblemSource};
use feasible_run::{Event, Interrupt, Memory, fit_in, ranks, resume_in};

use common::assert_same;

fn plan(settings: &[&str]) -> Plan {
    let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_string()).collect();
    Plan::check(&ProblemSource::open("compas").unwrap().with_overrides(&settings)).unwrap()
}

/// A problem whose table is five files, in which categories come in different orders.
fn five_files(directory: &Path) -> ProblemSource {
    let city = ["Rome", "Oslo", "Bonn", "Aix", "Graz"];
    for file in 0..5 {
        let row = |n: usize| {
            let city = if n.is_multiple_of(11) { "" } else { city[(4 * file + n) % (file + 1)] };
            format!("{},{city},{}\n", (7 * n + file) % 50, (n + file) % 2)
        };
        let text: String = (0..40).map(row).collect();
        fs::write(directory.join(format!("{file}.csv")), format!("age,city,y\n{text}")).unwrap();
    }
    let files = directory.join("*.csv").display().to_string();
    let data = format!("[data]\nfile = {files:?}\ntarget = \"y\"\nmissing = \"category\"\n");
    let training = "[training]\nepochs = 2\nshards = true\n[model]\nkind = \"linear\"\n";
    ProblemSource::new("files.toml", data + training)
}

/// Counts the bytes that a worker receives.
#[derive(Debug)]
struct Counted(Arc<dyn Reduce>, AtomicUsize);

impl Reduce for Counted {
    fn workers(&self) -> usize {
        self.0.workers()
    }
    fn worker(&self) -> usize {
        self.0.worker()
    }
    fn send(&self, to: usize, message: &[u8]) {
        self.0.send(to, message);
    }
    fn receive(&self, from: usize) -> Vec<u8> {
        let message = self.0.receive(from);
        self.1.fetch_add(message.len(), Ordering::SeqCst);
        message
    }
}

// One test: there is one leader per process.
#[test]
fn what_ranks_train_and_resume_has_the_bytes_of_a_run_alone() {
    let shards = plan(&["training.epochs=4", "training.shards=true"]);
    let quiet = |_: &Event| {};
    let alone = Memory::new();
    fit_in(&shards, &alone, &Interrupt::new(), &quiet).unwrap();

    let kernel = plan(&[
        "training.epochs=2",
        "training.shards=true",
        "model.kind=kernel",
        "requirement.invariance.kind=pointwise",
    ]);
    let kernel_alone = Memory::new();
    fit_in(&kernel, &kernel_alone, &Interrupt::new(), &quiet).unwrap();

    let directory = tempfile::tempdir().unwrap();
    let of_files = five_files(directory.path());
    let files_alone = Memory::new();
    let plan_alone = Plan::check(&of_files).unwrap();
    fit_in(&plan_alone, &files_alone, &Interrupt::new(), &quiet).unwrap();

    let mut all = workers::workers(3).into_iter();
    let first = Arc::new(Counted(all.next().unwrap(), AtomicUsize::new(0)));
    ranks::lead(first.clone(), Default::default);
    let ends: Vec<u8> = thread::scope(|scope| {
        let follow = |rank| scope.spawn(move || ranks::follow(&rank, &Interrupt::new()).unwrap());
        let others: Vec<_> = all.map(follow).collect();

        let files = Memory::new();
        fit_in(&shards, &files, &Interrupt::new(), &quiet).unwrap();
        assert_same(&files, &alone, "from the start");

        let files = Memory::new();
        fit_in(&kernel, &files, &Interrupt::new(), &quiet).unwrap();
        assert_same(
            &files,
            &kernel_alone,
            "of a kernel expansion, with a multiplier for every point",
        );

        let (files, interrupt) = (Memory::new(), Interrupt::new());
        let stop = |event: &Event| {
            if matches!(event, Event::Epoch { metrics, .. } if metrics.epoch == 2) {
                interrupt.raise();
            }
        };
        let run = fit_in(&shards, &files, &interrupt, &stop).unwrap();
        assert!(run.summary.is_none(), "it was not interrupted");
        resume_in(&files, &Interrupt::new(), &quiet).unwrap();
        assert_same(&files, &alone, "resumed");

        // Ranks 1 and 2 read three of the files.
        let before = first.1.load(Ordering::SeqCst);
        let together = Plan::check(&of_files).unwrap();
        assert_eq!(together.data().table, plan_alone.data().table);
        let note = together.data().store_notes.concat();
        assert!(note.ends_with("was read in 5 parts, 3 of them by other ranks"), "{note}");
        assert!(first.1.load(Ordering::SeqCst) > before + 3 * 40 * 3, "who has read them?");
        let files = Memory::new();
        fit_in(&together, &files, &Interrupt::new(), &quiet).unwrap();
        assert_same(&files, &files_alone, "of files that ranks have read");

        // What is wrong is said of the first file in which it is, and ranks that have read others stop.
        for file in [4, 1] {
            let short = directory.path().join(format!("{file}.csv"));
            fs::write(&short, "age,city,y\n1,Rome,0\n2,Oslo\n").unwrap();
            let error = Plan::check(&of_files).unwrap_err().to_string();
            assert!(error.contains(&format!("{file}.csv, line 3: 2 cells")), "{error}");
        }
        // A file that cannot even be hashed.
        #[cfg(unix)]
        {
            fs::remove_file(directory.path().join("0.csv")).unwrap();
            std::os::unix::fs::symlink("nowhere", directory.path().join("0.csv")).unwrap();
            let error = Plan::check(&of_files).unwrap_err().to_string();
            assert!(error.contains("0.csv"), "{error}");
        }
        assert!(!ranks::are_busy());

        let without = plan(&["training.epochs=4"]);
        let error = fit_in(&without, &Memory::new(), &Interrupt::new(), &quiet).unwrap_err();
        assert!(error.to_string().contains("training.shards"), "{error}");
        assert!(!ranks::are_busy());

        ranks::dismiss(&*first, 130);
        others.into_iter().map(|other| other.join().unwrap()).collect()
    });
    assert_eq!(ends, [130, 130]);
}

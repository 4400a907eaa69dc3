//! A run that several ranks train has the bytes of a run in shards that one process trains. The ranks are threads.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "../../feasible/tests/common/workers.rs"]
mod workers;

use std::thread;

use feasible_problem::{Plan, ProblemSource};
use feasible_run::{Event, Interrupt, Memory, fit_in, ranks, resume_in};

use common::assert_same;

fn plan(settings: &[&str]) -> Plan {
    let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_string()).collect();
    Plan::check(&ProblemSource::open("compas").unwrap().with_overrides(&settings)).unwrap()
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

    let mut all = workers::workers(3).into_iter();
    let first = all.next().unwrap();
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

        let without = plan(&["training.epochs=4"]);
        let error = fit_in(&without, &Memory::new(), &Interrupt::new(), &quiet).unwrap_err();
        assert!(error.to_string().contains("training.shards"), "{error}");
        assert!(!ranks::are_busy());

        ranks::dismiss(&*first, 130);
        others.into_iter().map(|other| other.join().unwrap()).collect()
    });
    assert_eq!(ends, [130, 130]);
}

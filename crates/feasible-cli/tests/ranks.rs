//! The program where `mpirun` would start several of it, and trainings in shards. What needs MPI is in `bench/ranks`.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use support::Scratch;

#[test]
#[cfg(not(feature = "mpi"))]
fn a_program_without_mpi_refuses_to_be_one_of_several_ranks() {
    let scratch = Scratch::new();
    let mut command = scratch.command(&["fit", "compas", "-o", "run"]);
    let first = command.env("OMPI_COMM_WORLD_SIZE", "4").env("OMPI_COMM_WORLD_RANK", "0");
    let ran = first.output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(said.contains("--features mpi"), "{said}");
    // One of them says so.
    let second = command.env("OMPI_COMM_WORLD_RANK", "1").output().unwrap();
    assert_eq!((second.status.code(), second.stderr.len()), (Some(2), 0));
    assert!(!scratch.path("run").exists());
}

#[test]
fn a_training_in_shards_has_the_same_bytes_on_any_number_of_threads() {
    let scratch = Scratch::new();
    let fit = |threads: &str| {
        let set = ["--set", "training.epochs=3", "--set", "training.shards=true"];
        let fit =
            ["fit", "compas", "--no-report", "-q", "--force", "-o", "run", "--threads", threads];
        let ran = scratch.run(&[&fit[..], &set[..]].concat());
        assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
        std::fs::read(scratch.path("run/multipliers.csv")).unwrap()
    };
    assert_eq!(fit("1"), fit("2"));
}

//! Many trainings in jobs that know nothing of each other: `--part 3/16`, joined by `feasible report`.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod support;

use support::{Ran, SHORT, Scratch, assert_same_run, copy_tree, numbered};

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("numbered.csv", &numbered(200, 0));
    scratch.write("short.toml", SHORT);
    scratch
}

/// Starts all parts at the same moment, in one directory.
fn at_once(scratch: &Scratch, command: &[&str], parts: usize) -> Vec<Ran> {
    let start = |part: usize| {
        let part = format!("{part}/{parts}");
        let mut command = scratch.command(&[command, &["--part", &part, "-q"]].concat());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let jobs: Vec<_> = (1..=parts).map(start).collect();
    jobs.into_iter().map(|job| Ran::of(job.wait_with_output().unwrap())).collect()
}

/// Jobs leave the same files as one.
fn assert_same(scratch: &Scratch, one: &str, other: &str) {
    assert_same_run(&scratch.path(other), &scratch.path(one), other);
}

const SWEEP: [&str; 10] = [
    "sweep",
    "short.toml",
    "--requirement",
    "gender",
    "--limits",
    "0.1,0.3,0.5",
    "--seeds",
    "2",
    "--threads",
    "1",
];

#[test]
fn parts_of_a_sweep_at_the_same_time_make_the_sweep() {
    let scratch = scratch();
    scratch.expect(0, &[&SWEEP[..], &["-o", "whole", "-q"]].concat());
    let jobs = at_once(&scratch, &[&SWEEP[..], &["-o", "parts"]].concat(), 4);
    for job in &jobs {
        assert_eq!(job.code, Some(0), "{}{}", job.out, job.err);
    }
    scratch.expect(0, &["report", "parts", "-q"]);
    assert_same(&scratch, "whole", "parts");
}

#[test]
fn what_is_missing_is_named_and_machines_need_not_share_a_disk() {
    let scratch = scratch();
    let part = |directory: &str, part: &str| {
        scratch.expect(0, &[&SWEEP[..], &["-o", directory, "--part", part]].concat())
    };
    let first = part("first", "1/2");
    assert!(first.out.contains("3 of 6 runs are finished"), "{}", first.out);
    assert!(first.out.contains("`feasible report first` joins them"), "{}", first.out);
    let error = scratch.refuse(&["report", "first"]);
    assert!(error.contains("3 of its 6 runs are not finished"), "{error}");
    assert!(error.contains("seed") && error.contains("--part"), "{error}");
    // The other half, made elsewhere.
    part("second", "2/2");
    copy_tree(&scratch.path("second"), &scratch.path("first"));
    let page = scratch.expect(0, &["report", "first"]).out;
    assert!(page.contains("report.html"), "{page}");
    assert!(scratch.read("first/sweep.csv").lines().count() > 6);
    // Joined, it is a sweep like any other.
    let again = scratch.expect(0, &[&SWEEP[..], &["-o", "first"]].concat());
    assert!(again.out.contains("mean ± sd of 2 seeds"), "{}", again.out);
}

#[test]
fn limits_that_start_from_each_other_stay_in_one_job() {
    let scratch = scratch();
    let warm = [&SWEEP[..], &["--warm"]].concat();
    scratch.expect(0, &[&warm[..], &["-o", "whole", "-q"]].concat());
    for job in at_once(&scratch, &[&warm[..], &["-o", "parts"]].concat(), 3) {
        assert_eq!(job.code, Some(0), "{}{}", job.out, job.err);
    }
    scratch.expect(0, &["report", "parts", "-q"]);
    assert_same(&scratch, "whole", "parts");
}

#[test]
fn parts_of_seeds_make_the_fit_of_all_seeds() {
    let scratch = scratch();
    let fit = ["fit", "short.toml", "--seeds", "5", "--threads", "1"];
    let whole = scratch.expect(0, &[&fit[..], &["-o", "whole"]].concat());
    let first = scratch.expect(0, &[&fit[..], &["-o", "parts", "--part", "1/3"]].concat());
    assert!(first.err.contains("2 of 5 seeds are finished"), "{}", first.err);
    let error = scratch.refuse(&["report", "parts"]);
    assert!(error.contains("3 of its 5 runs are not finished (seed "), "{error}");
    for job in at_once(&scratch, &[&fit[..], &["-o", "parts"]].concat(), 3) {
        assert_eq!(job.code, Some(0), "{}{}", job.out, job.err);
    }
    assert!(scratch.path("parts/summary.json").is_file(), "the last job joins");
    scratch.expect(0, &["report", "parts", "-q"]);
    assert_same(&scratch, "whole", "parts");
    assert!(whole.out.contains("5 seeds"), "{}", whole.out);
}

#[test]
fn a_part_that_makes_no_sense_is_refused() {
    let scratch = scratch();
    for wrong in ["0/4", "5/4", "3", "a/b", "1/0", "-1/2"] {
        let error = scratch.refuse(&[
            "fit",
            "short.toml",
            "--seeds",
            "4",
            "-o",
            "x",
            &format!("--part={wrong}"),
        ]);
        assert!(error.contains("such as 3/16"), "{wrong}: {error}");
    }
    let error = scratch.refuse(&["fit", "short.toml", "--seeds", "4", "--part", "1/2"]);
    assert!(error.contains("--output"), "{error}");
    let error = scratch.refuse(&["fit", "short.toml", "-o", "x", "--part", "1/2"]);
    assert!(error.contains("--seeds"), "{error}");
    let error = scratch.refuse(&["fit", "short.toml", "--seeds", "1", "-o", "x", "--part", "1/2"]);
    assert!(error.contains("there is one seed"), "{error}");
    // Jobs that were given different commands do not mix.
    scratch.expect(0, &["fit", "short.toml", "--seeds", "4", "-o", "runs", "--part", "1/2", "-q"]);
    let other = ["fit", "short.toml", "--seeds", "5", "-o", "runs", "--part", "2/2", "-q"];
    let error = scratch.refuse(&other);
    assert!(error.contains("of other settings"), "{error}");
    let error =
        scratch.refuse(&[&other[..], &["--seeds", "4", "--set", "training.epochs=2"]].concat());
    assert!(error.contains("of other settings") || error.contains("cannot be used"), "{error}");
    assert!(!scratch.path("x").exists());
}

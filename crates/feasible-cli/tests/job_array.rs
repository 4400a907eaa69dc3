//! Many trainings in jobs that know nothing of each other: `--part 3/16`, joined by `feasible report`.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

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

const TUNE: [&str; 8] =
    ["tune", "short.toml", "--trials", "9", "--threads", "1", "--set", "training.epochs=18"];

#[test]
fn parts_of_a_search_started_once_for_every_round_make_the_search() {
    let scratch = scratch();
    scratch.expect(0, &[&TUNE[..], &["-o", "whole", "-q"]].concat());
    let parts = [&TUNE[..], &["-o", "parts"]].concat();
    let mut starts = 0;
    while !scratch.path("parts/summary.json").exists() {
        starts += 1;
        assert!(starts <= 3, "there are three rounds");
        for job in at_once(&scratch, &parts, 4) {
            assert_eq!(job.code, Some(0), "{}{}", job.out, job.err);
        }
    }
    assert_same(&scratch, "whole", "parts");
    // Complete, all say the same.
    let [one, other] = [&["--part", "4/4"][..], &[]]
        .map(|part| scratch.expect(0, &[&parts[..], part, &["--json", "-q"]].concat()).json());
    assert_eq!(one, other);
    assert_eq!(one["search"]["trials"].as_array().map(Vec::len), Some(9));
}

#[test]
fn a_search_says_what_is_missing_and_the_report_compares_what_is_there() {
    let scratch = scratch();
    scratch.expect(0, &[&TUNE[..], &["-o", "whole", "-q"]].concat());
    let part = |directory: &str, part: &str| {
        scratch.expect(0, &[&TUNE[..], &["-o", directory, "--part", part]].concat()).out
    };
    // Machines that share no disk.
    let said = part("first", "1/2");
    assert!(said.contains("round 1 of 3: 5 of 9 trials are trained"), "{said}");
    let error = scratch.refuse(&["report", "first"]);
    assert!(
        error.contains("4 of its 9 trials in round 1 of 3 are not finished (trial 1;"),
        "{error}"
    );
    assert!(error.contains("--part"), "{error}");
    part("second", "2/2");
    copy_tree(&scratch.path("second"), &scratch.path("first"));
    let error = scratch.refuse(&["report", "first"]);
    assert!(error.contains("trials in round 2 of 3 are not finished"), "{error}");
    // From here on in one directory, one after the other.
    let said = part("first", "1/2");
    assert!(said.contains("round 2 of 3: "), "{said}");
    part("first", "2/2");
    for n in ["1/2", "2/2"] {
        part("first", n);
    }
    scratch.expect(0, &["report", "first", "-q"]);
    assert_same(&scratch, "whole", "first");
    let other = [&TUNE[..], &["-o", "first", "--part", "1/2", "--seed", "7"]].concat();
    let error = scratch.refuse(&other);
    assert!(error.contains("a search of other settings"), "{error}");
}

#[test]
fn the_report_chooses_where_no_job_found_all_trials() {
    let scratch = scratch();
    // Of two trials there is one round.
    let two = ["tune", "short.toml", "--trials", "2", "-q", "-o"];
    scratch.expect(0, &[&two[..], &["whole"]].concat());
    for (directory, part) in [("first", "1/2"), ("second", "2/2")] {
        scratch.expect(0, &[&two[..], &[directory, "--part", part]].concat());
        assert!(!scratch.path(directory).join("summary.json").exists());
    }
    copy_tree(&scratch.path("second"), &scratch.path("first"));
    scratch.expect(0, &["report", "first", "-q"]);
    assert_same(&scratch, "whole", "first");
    assert!(scratch.read("first/report.html").contains("How its settings were chosen"));
}

#[test]
fn parts_of_a_ladder_make_the_ladder() {
    let scratch = scratch();
    let ladder = "certify = { confidence = 0.9, ladder = [2.0, 1.0, 0.0] }\n";
    scratch.write("ladder.toml", &format!("{ladder}{SHORT}"));
    let fit = ["fit", "ladder.toml", "--threads", "1"];
    let whole = scratch.run(&[&fit[..], &["-o", "whole", "--json"]].concat());
    assert!(matches!(whole.code, Some(0 | 1)), "{}", whole.err);
    let parts = [&fit[..], &["-o", "parts"]].concat();
    let first = scratch.expect(0, &[&parts[..], &["--part", "1/2"]].concat());
    assert!(first.out.contains("2 of 3 rungs are finished"), "{}", first.out);
    let error = scratch.refuse(&["report", "parts"]);
    assert!(error.contains("1 of its 3 rungs are not finished (rung 2)"), "{error}");
    assert!(error.contains("feasible resume parts"), "{error}");
    let last = scratch.run(&[&parts[..], &["--part", "2/2", "--json"]].concat());
    let result = |ran: &Ran| {
        let mut json = ran.json();
        json["directory"].take();
        (ran.code, json)
    };
    assert_eq!(result(&last), result(&whole), "the last job joins");
    assert_same(&scratch, "whole", "parts");
    for job in at_once(&scratch, &[&fit[..], &["-o", "again"]].concat(), 4) {
        assert!(matches!(job.code, Some(0 | 1)), "{}{}", job.out, job.err);
    }
    scratch.expect(0, &["report", "again", "-q"]);
    assert_same(&scratch, "whole", "again");
    // Made elsewhere, and joined by the report.
    for (directory, part) in [("one", "1/2"), ("two", "2/2")] {
        scratch.expect(0, &[&fit[..], &["-o", directory, "--part", part, "-q"]].concat());
    }
    copy_tree(&scratch.path("two"), &scratch.path("one"));
    scratch.expect(0, &["report", "one", "-q"]);
    assert_same(&scratch, "whole", "one");
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

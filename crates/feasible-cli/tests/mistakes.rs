//! Wrong input ends with 2, nothing on standard output, and a message that helps.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use support::{PROBLEM, Scratch};

/// The message for the problem with `from` replaced by `to`.
fn with(from: &str, to: &str) -> String {
    let scratch = Scratch::new();
    assert!(PROBLEM.contains(from), "{from}");
    scratch.write("problem.toml", &PROBLEM.replace(from, to));
    let refused = scratch.refuse(&["fit", "problem.toml"]);
    assert!(!scratch.path("runs").exists(), "a run was begun");
    assert_eq!(scratch.refuse(&["check", "problem.toml"]), refused);
    refused
}

#[test]
fn an_unknown_column_is_answered_with_the_nearest() {
    let error = with("{ gender =", "{ gendr =");
    assert!(error.contains("problem.toml:17:"), "{error}");
    assert!(error.contains("did you mean 'gender'?"), "{error}");
}

#[test]
fn an_unknown_column_of_an_expression_is_answered_with_the_nearest() {
    let error = with("at_most = 0.5", "at_most = 0.5\nwhere = \"aeg > 40\"");
    assert!(error.contains("problem.toml:17:"), "{error}");
    assert!(error.contains("did you mean 'age'?"), "{error}");
}

#[test]
fn an_unknown_key_is_answered_with_its_line_and_the_nearest() {
    let error = with("at_most", "atmost");
    assert!(error.starts_with("error: problem.toml:16:1: "), "{error}");
    assert!(error.contains("unknown key 'atmost': did you mean 'at_most'?"), "{error}");
}

#[test]
fn a_value_of_the_wrong_type_is_answered_with_its_line() {
    let error = with("epochs = 20", "epochs = \"many\"");
    assert!(error.starts_with("error: problem.toml:20:"), "{error}");
}

#[test]
fn a_file_that_is_not_toml_is_answered_with_its_line() {
    let error = with("[model]", "[model");
    assert!(error.starts_with("error: problem.toml:9:"), "{error}");
}

#[test]
fn a_table_that_is_missing_is_named() {
    let error = with("people.csv", "nobody.csv");
    assert!(error.contains("nobody.csv"), "{error}");
}

#[test]
fn a_problem_that_is_missing_is_answered_with_the_nearest() {
    let scratch = Scratch::new();
    let error = scratch.refuse(&["fit", "adlt"]);
    assert!(error.contains("did you mean 'adult'?"), "{error}");
    let error = scratch.refuse(&["fit", "nothing-like-it.toml"]);
    assert!(error.contains("no problem file 'nothing-like-it.toml'"), "{error}");
}

#[test]
fn a_setting_that_cannot_be_made_is_explained() {
    let scratch = Scratch::new();
    let set = |given: &str| scratch.refuse(&["fit", "problem.toml", "--set", given]);
    assert!(set("training.epochs").contains("write key=value"));
    assert!(set("training.epoch=3").contains("did you mean 'epochs'?"));
    assert!(set("requirement.gendr.at_most=1").contains("did you mean 'gender'?"));
    assert!(set("training.epochs=many").contains("--set training.epochs=many"));
}

#[test]
fn a_directory_that_is_not_a_run_is_left_as_it_is() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("thesis")).unwrap();
    let error = scratch.refuse(&["resume", "thesis"]);
    assert!(error.contains("thesis is not a run directory"), "{error}");
    let error = scratch.refuse(&["predict", "thesis", "people.csv"]);
    assert!(error.contains("thesis is not a run directory"), "{error}");
    assert_eq!(std::fs::read_dir(scratch.path("thesis")).unwrap().count(), 0);
    let error = scratch.refuse(&["resume", "nowhere"]);
    assert!(error.contains("nowhere"), "{error}");
}

#[test]
fn a_run_that_had_not_begun_is_started_again() {
    let scratch = Scratch::new();
    scratch.expect(0, &["fit", "problem.toml", "-o", "run"]);
    std::fs::remove_file(scratch.path("run/problem.toml")).unwrap();
    let error = scratch.refuse(&["resume", "run"]);
    assert!(error.contains("had not begun") && error.contains("--force"), "{error}");
    scratch.expect(0, &["fit", "problem.toml", "-o", "run", "--force"]);
}

#[test]
fn a_model_is_asked_for_where_there_is_one() {
    let scratch = Scratch::new();
    let error = scratch.refuse(&["predict", "nowhere", "people.csv"]);
    assert!(error.contains("nowhere"), "{error}");
    let error = scratch.refuse(&["audit", "people.csv", "people.csv"]);
    assert!(error.contains("people.csv is not a model"), "{error}");
    let fit = ["fit", "problem.toml", "--seeds", "2", "-o", "seeds"];
    scratch.expect(0, &fit);
    let error = scratch.refuse(&["predict", "seeds", "people.csv"]);
    assert!(error.contains("name one of its seed-"), "{error}");
    std::fs::remove_file(scratch.path("seeds/seed-0/model.safetensors")).unwrap();
    let error = scratch.refuse(&["predict", "seeds/seed-0", "people.csv"]);
    assert!(error.contains("feasible resume seeds/seed-0"), "{error}");
}

#[test]
fn a_table_without_a_column_or_with_a_new_category_is_answered_with_the_place() {
    let scratch = Scratch::new();
    scratch.expect(0, &["fit", "problem.toml", "-o", "run"]);
    scratch.write("short.csv", "age,gender\n30,Male\n");
    let error = scratch.refuse(&["predict", "run", "short.csv"]);
    assert!(error.contains("city"), "{error}");
    scratch.write("new.csv", "age,gender,city\n30,Male,Lyon\n31,Male,Oslo\n");
    let error = scratch.refuse(&["predict", "run", "new.csv"]);
    assert!(error.contains("Oslo") && error.contains("line 3"), "{error}");
    scratch.expect(0, &["predict", "run", "new.csv", "--unseen", "other"]);
}

#[test]
fn data_that_changed_are_not_resumed() {
    let scratch = Scratch::new();
    scratch.expect(0, &["fit", "problem.toml", "-o", "run"]);
    scratch.write("people.csv", &support::people(401));
    let error = scratch.refuse(&["resume", "run"]);
    assert!(error.contains("has changed since the run was started"), "{error}");
}

#[test]
fn arguments_that_make_no_sense_end_with_2() {
    let scratch = Scratch::new();
    for arguments in [
        &["fitt", "adult"][..],
        &["fit"],
        &["fit", "adult", "--seeds", "0"],
        &["fit", "adult", "--threads", "none"],
        &["fit", "adult", "-q", "-v"],
        &["reproduce", "mnist"],
        &["data", "show", "adlt"],
        &["completions", "cobol"],
        &["init", "people.csv", "--target", "incom"],
        &["sweep", "problem.toml", "--requirement", "gender"],
        &["sweep", "problem.toml", "--requirement", "gender", "--limits", "1..2", "--points", "1"],
        &[
            "sweep",
            "problem.toml",
            "--requirement",
            "gender",
            "--limits",
            "1..2",
            "--warm",
            "--cold",
        ],
        &["tune", "problem.toml", "--trials", "0"],
        &["tune", "problem.toml", "--trials", "1001"],
        &["tune", "nothing.toml"],
        &["report", "--check-sensitivity"],
        &["report", ".", "--delta", "1"],
    ] {
        scratch.refuse(arguments);
    }
    let error = scratch.refuse(&["data", "show", "adlt"]);
    assert!(error.contains("did you mean 'adult'?"), "{error}");
    let error = scratch.refuse(&["init", "people.csv", "--target", "incom"]);
    assert!(error.contains("did you mean 'income'?"), "{error}");
}

#[test]
fn a_disk_that_is_full_is_not_the_users_fault() {
    let full = std::path::Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let scratch = Scratch::new();
    let out = std::fs::OpenOptions::new().write(true).open(full).unwrap();
    let ran = scratch.command(&["data", "list"]).stdout(out).output().unwrap();
    assert_eq!(ran.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("cannot write the result"));
}

/// Words of the compiler, which nobody at a terminal knows.
const OF_TYPES: [&str; 10] = [
    "u64",
    "f64",
    "usize",
    "i64",
    "u32",
    "invalid digit",
    "invalid float",
    "invalid type",
    "variant",
    "ParseIntError",
];

#[test]
fn a_wrong_value_of_any_flag_is_refused_in_plain_words() {
    let scratch = Scratch::new();
    let commands = [
        "fit",
        "resume",
        "predict",
        "export",
        "audit",
        "attack",
        "certify",
        "monitor",
        "bound",
        "sweep",
        "tune",
        "report",
        "check",
        "init",
        "reproduce",
    ];
    let mut tried = 0;
    for command in commands {
        let help = scratch.expect(0, &[command, "--help"]).out;
        let flags = help.split_whitespace().filter(|word| word.starts_with("--"));
        let flags: Vec<&str> = flags
            .filter(|word| word[2..].chars().all(|c| c.is_alphanumeric() || c == '-'))
            .collect();
        for flag in flags.iter().filter(|flag| help.contains(&format!("{flag} <"))) {
            for value in ["nonsense", "-1", "1.5", "99999999999999999999", ""] {
                let ran = scratch.run(&[command, &format!("{flag}={value}")]);
                tried += 1;
                assert_eq!(ran.code, Some(2), "{command} {flag}={value}: {}{}", ran.out, ran.err);
                let rusty = OF_TYPES.iter().find(|word| ran.err.contains(*word));
                assert_eq!(rusty, None, "{command} {flag}={value}: {}", ran.err);
            }
        }
    }
    assert!(tried > 300, "{tried}");
}

#[test]
fn a_wrong_environment_variable_is_named() {
    let scratch = Scratch::new();
    let cases = [
        ("FEASIBLE_SEED", "x", "give a whole number, 0 or more"),
        ("FEASIBLE_SEED", "", "give a whole number, 0 or more"),
        ("FEASIBLE_THREADS", "none", "give a whole number from 1 to 1,024"),
        ("FEASIBLE_THREADS", "0", "give a whole number from 1 to 1,024"),
        ("FEASIBLE_MEMORY", "much", "write a size as a number with a unit"),
        ("FEASIBLE_SIMD", "sse9", "portable"),
    ];
    for (name, value, words) in cases {
        let mut command = scratch.command(&["fit", "problem.toml", "-o", "run"]);
        let ran = support::Ran::of(command.env(name, value).output().unwrap());
        assert_eq!(ran.code, Some(2), "{name}={value}: {}", ran.err);
        assert!(ran.err.starts_with(&format!("error: {name}")), "{}", ran.err);
        assert!(ran.err.contains(words), "{}", ran.err);
        assert!(OF_TYPES.iter().all(|word| !ran.err.contains(word)), "{}", ran.err);
    }
}

#[test]
fn an_unknown_name_lists_the_known_ones_and_the_nearest() {
    let scratch = Scratch::new();
    let all =
        "The data sets are adult, compas, fashion-mnist-sample, fashion-mnist, mnist, cifar-10";
    for command in ["show", "fetch"] {
        let error = scratch.refuse(&["data", command, "foo"]);
        assert!(error.contains("no data set is named 'foo'") && error.contains(all), "{error}");
        let error = scratch.refuse(&["data", command, "fashion-mnst"]);
        assert!(error.contains("did you mean 'fashion-mnist'?") && error.contains(all), "{error}");
    }
    let error = scratch.refuse(&["data", "export", "adlt", "out"]);
    assert!(error.contains("did you mean 'adult'?") && error.contains(all), "{error}");
    let error = scratch.refuse(&["fit", "adlt"]);
    assert!(error.contains("did you mean 'adult'?") && error.contains("compas-paper"), "{error}");
    let error = scratch.refuse(&["check", "problem.toml", "--set", "requirement.gendr.at_most=1"]);
    assert!(error.contains("did you mean 'gender'? There are 'gender'"), "{error}");
}

//! Every command does what it is for.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use support::{IMPOSSIBLE, PROBLEM, Scratch, assert_same_run};

#[test]
fn fit_writes_a_run_and_says_that_requirements_are_met() {
    let scratch = Scratch::new();
    let ran = scratch.expect(0, &["fit", "problem.toml", "-o", "run"]);
    assert!(ran.out.contains("Every requirement is met on the test rows."), "{}", ran.out);
    assert!(ran.err.contains("Run directory: run\n"), "{}", ran.err);
    for file in ["model.safetensors", "multipliers.csv", "metrics.jsonl", "summary.json"] {
        assert!(scratch.path("run").join(file).is_file(), "{file}");
    }
    assert_eq!(scratch.read("run/metrics.jsonl").lines().count(), 20);
    assert!(ran.err.lines().any(|line| line == "Report: run/report.html"), "{}", ran.err);
    assert!(scratch.read("run/report.html").contains("Every requirement is met on the test rows."));
    assert!(scratch.read("run/model-card.md").starts_with("# Model card: People\n"));
    scratch.expect(0, &["fit", "problem.toml", "-o", "bare", "--no-report"]);
    assert!(!scratch.path("bare/report.html").exists());
    assert!(!scratch.path("bare/model-card.md").exists());
}

#[test]
fn fit_ends_with_1_when_a_requirement_is_not_met() {
    let scratch = Scratch::new();
    scratch.write("problem.toml", &format!("{PROBLEM}{IMPOSSIBLE}"));
    let ran = scratch.expect(1, &["fit", "problem.toml", "-o", "run"]);
    assert!(ran.out.contains("'perfect' is not met on the test rows."), "{}", ran.out);
    assert!(scratch.path("run/model.safetensors").is_file());
}

#[test]
fn fit_without_requirements_ends_with_0() {
    let scratch = Scratch::new();
    let (data, _) = PROBLEM.split_once("[[requirement]]").unwrap();
    scratch.write("plain.toml", data);
    let ran = scratch.expect(0, &["fit", "plain.toml", "--set", "training.epochs=2"]);
    assert!(ran.out.contains("No requirements were stated."), "{}", ran.out);
}

#[test]
fn fit_without_output_never_touches_an_earlier_run() {
    let scratch = Scratch::new();
    for directory in ["runs/problem", "runs/problem-2", "runs/problem-3"] {
        let ran = scratch.expect(0, &["fit", "problem.toml", "--set", "training.epochs=1"]);
        assert!(ran.err.ends_with(&format!("Run directory: {directory}\n")), "{}", ran.err);
    }
}

#[test]
fn fit_replaces_a_run_only_when_forced() {
    let scratch = Scratch::new();
    let fit = ["fit", "problem.toml", "-o", "run", "--set", "training.epochs=1"];
    scratch.expect(0, &fit);
    let error = scratch.refuse(&fit);
    assert!(error.contains("run is not empty") && error.contains("--force"), "{error}");
    let mut forced = fit.to_vec();
    forced.push("--force");
    scratch.expect(0, &forced);
    scratch.write("run/thesis.tex", "years of work");
    scratch.refuse(&forced);
    assert_eq!(scratch.read("run/thesis.tex"), "years of work");
}

#[test]
fn several_seeds_are_summed_up_and_every_run_is_kept() {
    let scratch = Scratch::new();
    let fit = ["fit", "problem.toml", "-o", "run", "--seed", "4", "--seeds", "3"];
    let ran = scratch.expect(0, &fit);
    assert!(ran.out.contains("3 seeds (4, 5, 6): mean ± sd"), "{}", ran.out);
    assert!(ran.out.contains("3 of 3 runs meet every requirement on the test rows."));
    for seed in 4..7 {
        assert!(scratch.path(&format!("run/seed-{seed}/model.safetensors")).is_file());
    }
    let page = scratch.read("run/report.html");
    assert!(page.contains("All 3 runs meet their requirements."), "{page}");
    assert!(scratch.path("run/seed-4/report.html").is_file());
    // A seed among others and alone: the same run.
    scratch.expect(0, &["fit", "problem.toml", "-o", "alone", "--seed", "5"]);
    assert_same_run(&scratch.path("run/seed-5"), &scratch.path("alone"), "seed 5");
}

#[test]
fn results_do_not_depend_on_threads() {
    let scratch = Scratch::new();
    for threads in ["1", "3"] {
        scratch.expect(0, &["fit", "problem.toml", "-o", threads, "--threads", threads]);
    }
    for file in ["multipliers.csv", "metrics.jsonl", "summary.json", "model.safetensors"] {
        let bytes = |run: &str| std::fs::read(scratch.path(run).join(file)).unwrap();
        assert!(bytes("1") == bytes("3"), "{file}");
    }
}

#[test]
fn fit_of_the_embedded_problems_needs_no_files() {
    let scratch = Scratch::new();
    let ran = scratch.run(&["fit", "adult", "-o", "a", "--set", "training.epochs=1"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
    // 32,561 and 4,937 training rows, less those for validation.
    assert!(ran.out.contains("29,304") && ran.out.contains("3,257"), "{}", ran.out);
    let ran = scratch.run(&["fit", "compas", "-o", "c", "--set", "training.epochs=1"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
    assert!(ran.out.contains("3,949") && ran.out.contains("988"), "{}", ran.out);
}

#[test]
fn resume_of_a_finished_run_reports_it_again() {
    let scratch = Scratch::new();
    let fitted = scratch.expect(0, &["fit", "problem.toml", "-o", "run"]);
    let resumed = scratch.expect(0, &["resume", "run"]);
    assert_eq!(resumed.out, fitted.out);
}

#[test]
fn predict_prints_one_line_of_csv_for_each_row() {
    let scratch = Scratch::new();
    scratch.expect(0, &["fit", "problem.toml", "-o", "run"]);
    scratch.write("new.csv", "city,age,gender\nLyon,70,Male\nTurin,20,Female\n");
    let ran = scratch.expect(0, &["predict", "run", "new.csv"]);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines[0], "row,class,p(low),p(high)");
    assert!(lines[1].starts_with("0,high,") && lines[2].starts_with("1,low,"), "{}", ran.out);
    assert_eq!((lines.len(), ran.err.as_str()), (3, ""));
    // The model file alone is enough, and a file gets the same bytes.
    let model = "run/model.safetensors";
    assert_eq!(scratch.expect(0, &["predict", model, "new.csv"]).out, ran.out);
    let written = scratch.expect(0, &["predict", "run", "new.csv", "-o", "p.csv"]);
    assert_eq!((written.out.as_str(), scratch.read("p.csv")), ("", ran.out));
}

#[test]
fn export_writes_an_onnx_file_beside_the_model_or_where_it_is_told() {
    let scratch = Scratch::new();
    scratch.expect(0, &["fit", "problem.toml", "-o", "run", "-q"]);
    let said = scratch.expect(0, &["export", "run"]).out;
    let head = ", ONNX operator set 19\n\ninput   type    shape\nage     double  N × 1\n";
    assert!(said.starts_with("run/model.onnx: ") && said.contains(head), "{said}");
    let tail = "label          string  N\nprobabilities  float   N × 2\n";
    assert!(said.ends_with(tail), "{said}");
    let bytes = |name: &str| std::fs::read(scratch.path(name)).unwrap();
    // An ONNX file begins with its version.
    assert_eq!(bytes("run/model.onnx")[..2], [8, 9]);
    scratch.expect(0, &["export", "run/model.safetensors", "--format", "onnx", "-o", "m.onnx"]);
    assert!(bytes("m.onnx") == bytes("run/model.onnx"));
    std::fs::copy(scratch.path("run/model.safetensors"), scratch.path("own.safetensors")).unwrap();
    scratch.expect(0, &["export", "own.safetensors", "--numbers", "float", "-q"]);
    assert!(bytes("own.onnx") != bytes("m.onnx"));
    // A file that a run may have, so that `--force` replaces it with the rest.
    scratch.expect(0, &["fit", "problem.toml", "-o", "run", "-q", "--force"]);
    assert!(!scratch.path("run/model.onnx").exists());
}

#[test]
fn export_says_what_is_wrong_and_leaves_no_file() {
    let scratch = Scratch::new();
    let error = scratch.refuse(&["export", "people.csv"]);
    assert!(error.contains("people.csv is not a model that can be used"), "{error}");
    let error = scratch.refuse(&["export", "nowhere"]);
    assert!(error.contains("cannot read nowhere"), "{error}");
    std::fs::create_dir(scratch.path("empty")).unwrap();
    let error = scratch.refuse(&["export", "empty"]);
    assert!(error.contains("is not a run directory"), "{error}");
    assert!(
        scratch.run(&["export", "run", "--format", "pmml"]).err.contains("possible values: onnx")
    );
    let found = |name: &str| scratch.path(name).exists();
    assert!(!found("people.onnx") && !found("nowhere.onnx") && !found("empty/model.onnx"));
}

#[test]
fn predict_reads_standard_input() {
    let scratch = Scratch::new();
    scratch.expect(0, &["fit", "problem.toml", "-o", "run"]);
    scratch.write("new.csv", "city,age,gender\nLyon,70,Male\n");
    let input = std::fs::File::open(scratch.path("new.csv")).unwrap();
    let piped = scratch.command(&["predict", "run", "-"]).stdin(input).output().unwrap();
    assert_eq!(support::Ran::of(piped).out, scratch.expect(0, &["predict", "run", "new.csv"]).out);
}

#[test]
fn audit_ends_with_what_the_requirements_come_to() {
    let scratch = Scratch::new();
    scratch.expect(0, &["fit", "problem.toml", "-o", "run"]);
    let ran = scratch.expect(0, &["audit", "run", "people.csv"]);
    assert!(
        ran.out.contains("accuracy") && ran.out.contains("flip rate, Male ↔ Female"),
        "{}",
        ran.out
    );
    scratch.write("problem.toml", &format!("{PROBLEM}{IMPOSSIBLE}"));
    scratch.expect(1, &["fit", "problem.toml", "-o", "strict"]);
    let ran = scratch.expect(1, &["audit", "strict", "people.csv"]);
    assert!(ran.out.contains("NOT MET"), "{}", ran.out);
}

#[test]
fn an_audit_of_rows_that_were_trained_on_begins_with_that() {
    let scratch = Scratch::new();
    scratch.write("numbered.csv", &support::numbered(400, 0));
    scratch.write("short.toml", support::SHORT);
    scratch.run(&["fit", "short.toml", "-q", "-o", "run"]);
    let opening = |arguments: &[&str]| {
        let ran = scratch.run(&[&["audit", "run"], arguments].concat());
        assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
        ran.out.lines().next().unwrap().to_string()
    };
    // A quarter was kept for the test.
    let trained = "These are rows the model was trained on: 300 of the 400 rows of";
    let first = opening(&["numbered.csv"]);
    assert!(first.starts_with(trained), "{first}");
    let json = scratch.run(&["audit", "run", "numbered.csv", "--json"]).json();
    assert_eq!(json["trained_on"], 300);
    // In another order, and in a file of another name.
    let text = support::numbered(400, 0);
    let mut lines: Vec<&str> = text.lines().collect();
    lines[1..].reverse();
    scratch.write("again.csv", &(lines.join("\n") + "\n"));
    let first = opening(&["again.csv"]);
    assert!(first.starts_with(trained), "{first}");
    scratch.write("fresh.csv", &support::numbered(200, 400));
    let first = opening(&["fresh.csv"]);
    assert!(!first.contains("trained"), "{first}");
    assert!(scratch.run(&["audit", "run", "fresh.csv", "--json"]).json()["trained_on"].is_null());
}

#[test]
fn a_model_that_is_worse_than_a_constant_is_called_so_at_the_top_whatever_it_meets() {
    let scratch = Scratch::new();
    let most = "\n[[requirement]]\nname = \"most\"\nrate = \"selection\"\nat_least = 0.97\n";
    let problem = PROBLEM.replace("hidden = [8]", "kind = \"linear\"");
    let (head, rest) = problem.split_once("[[requirement]]").unwrap();
    let (_, training) = rest.split_once("[training]").unwrap();
    // Three of four are low.
    let rare = |(at, line): (usize, &str)| match at % 2 {
        0 => format!("{}\n", line.replace(",high", ",low")),
        _ => format!("{line}\n"),
    };
    let people: String = support::people(400).lines().enumerate().map(rare).collect();
    scratch.write("people.csv", &people);
    scratch.write("most.toml", &format!("{head}{most}\n[training]{training}"));
    let ran = scratch.run(&["fit", "most.toml", "-o", "run"]);
    let useless = "The model is less accurate than always predicting 'low': ";
    assert!(ran.out.lines().nth(1).unwrap().starts_with(useless), "{}", ran.out);
    let json: serde_json::Value = serde_json::from_str(&scratch.read("run/summary.json")).unwrap();
    let (accuracy, constant) = (&json["test"]["accuracy"], &json["test"]["constant"]["value"]);
    assert!(accuracy.as_f64() < constant.as_f64(), "{accuracy} {constant}");
    // Beside the model without the requirements.
    let without = ran.out.lines().take(3).collect::<Vec<_>>().join(" ");
    assert!(without.contains("(without the requirements: "), "{without}");
    for file in ["run/report.html", "run/model-card.md"] {
        assert!(scratch.read(file).contains("is less accurate than always predicting"), "{file}");
    }
    for command in [&["certify", "run"][..], &["audit", "run", "people.csv"]] {
        let ran = scratch.run(command);
        let top = ran.out.lines().take(4).collect::<Vec<_>>().join(" ");
        assert!(top.contains(useless) && top.contains("(without the requirements: "), "{top}");
    }
}

#[test]
fn check_says_what_the_file_means_and_trains_nothing() {
    let scratch = Scratch::new();
    let ran = scratch.expect(0, &["check", "problem.toml"]);
    assert!(ran.out.contains("minimise over θ") && ran.out.contains("subject to"), "{}", ran.out);
    assert!(!scratch.path("runs").exists());
    // What is resolved is a problem file of its own, and means the same.
    let resolved = scratch.expect(0, &["check", "problem.toml", "--resolved"]).out;
    scratch.write("resolved.toml", &resolved);
    assert_eq!(scratch.expect(0, &["check", "resolved.toml", "--resolved"]).out, resolved);
}

#[test]
fn init_writes_a_file_that_check_and_fit_accept() {
    let scratch = Scratch::new();
    let ran = scratch.expect(0, &["init", "people.csv"]);
    assert!(ran.out.starts_with("wrote people.toml"), "{}", ran.out);
    scratch.expect(0, &["check", "people.toml"]);
    scratch.expect(0, &["fit", "people.toml", "--set", "training.epochs=2"]);
    let error = scratch.refuse(&["init", "people.csv"]);
    assert!(error.contains("people.toml exists"), "{error}");
    scratch.expect(0, &["init", "people.csv", "--force", "--target", "city"]);
    assert!(scratch.read("people.toml").contains("target = \"city\""));
    let printed = scratch.expect(0, &["init", "people.csv", "--target", "city", "-o", "-"]).out;
    assert_eq!(printed, scratch.read("people.toml"));
}

#[test]
fn init_of_an_embedded_problem_writes_its_file() {
    let scratch = Scratch::new();
    scratch.expect(0, &["init", "compas", "-o", "mine.toml"]);
    assert!(scratch.read("mine.toml").contains("crosses = [\"sex\", \"race\"]"));
    scratch.expect(0, &["check", "mine.toml"]);
}

#[test]
fn image_sets_are_listed_shown_and_told_how_to_get() {
    let scratch = Scratch::new();
    let list = scratch.expect(0, &["data", "list"]).out;
    assert!(list.contains("fashion-mnist-sample") && list.contains("cifar-10"), "{list}");
    let show = scratch.expect(0, &["data", "show", "fashion-mnist-sample"]).out;
    assert!(show.contains("embedded in the program and verified"), "{show}");
    let show = scratch.expect(0, &["data", "show", "mnist", "--data-dir", "nowhere"]).out;
    assert!(show.contains("nowhere/MNIST/raw") && show.contains("not found"), "{show}");
    let fetch = scratch.expect(0, &["data", "fetch", "cifar-10", "images"]).out;
    assert!(fetch.contains("mkdir -p 'images'") && fetch.contains("curl -fLO https://"), "{fetch}");
    let error = scratch.refuse(&["data", "fetch", "cifar-100"]);
    assert!(error.contains("did you mean 'cifar-10'?"), "{error}");
    let error = scratch.refuse(&["data", "fetch", "fashion-mnist-sample"]);
    assert!(error.contains("embedded in the program"), "{error}");
    let error = scratch.refuse(&["data", "export", "mnist", "out"]);
    assert!(error.contains("a set of images"), "{error}");
    // A file of the right name and the wrong content is refused, not shown as found.
    for part in ["train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"] {
        scratch.write(&format!("{part}-ubyte"), "<html>");
    }
    let error = scratch.refuse(&["data", "show", "mnist", "--data-dir", "."]);
    assert!(error.contains("train-images-idx3-ubyte starts with 0x"), "{error}");
}

#[test]
fn data_lists_shows_and_exports() {
    let scratch = Scratch::new();
    let list = scratch.expect(0, &["data", "list"]).out;
    assert!(list.contains("adult") && list.contains("compas"), "{list}");
    assert_eq!(scratch.expect(0, &["data"]).out, list);
    let show = scratch.expect(0, &["data", "show", "adult"]).out;
    assert!(show.contains("licence") && show.contains("SHA-256"), "{show}");
    let export = scratch.expect(0, &["data", "export", "compas", "out"]).out;
    assert_eq!(export.lines().count(), 1, "{export}");
    assert_eq!(scratch.read(export.trim_end()).lines().count(), 7_215);
    let error = scratch.refuse(&["data", "export", "compas", "out"]);
    assert!(error.contains("exists"), "{error}");
    scratch.expect(0, &["data", "export", "compas", "out", "--force"]);
}

#[test]
fn a_directory_of_original_files_stands_in_for_the_embedded_set() {
    let scratch = Scratch::new();
    scratch.expect(0, &["data", "export", "compas", "out"]);
    std::fs::create_dir(scratch.path("full")).unwrap();
    std::fs::rename(
        scratch.path("out/compas.csv"),
        scratch.path("full/compas-scores-two-years.csv"),
    )
    .unwrap();
    let embedded = scratch.expect(0, &["check", "compas"]).out;
    let flag = scratch.expect(0, &["check", "compas", "--data-dir", "full"]).out;
    assert_eq!(flag, embedded);
    let resolved = ["check", "compas", "--resolved"];
    let environment = scratch.command(&resolved).env("FEASIBLE_DATA", "full").output().unwrap();
    let environment = support::Ran::of(environment);
    assert_eq!(environment.code, Some(0), "{}", environment.err);
    assert!(environment.out.contains("directory = "), "{}", environment.out);
    let missing = scratch.refuse(&["check", "compas", "--data-dir", "nowhere"]);
    assert!(missing.contains("nowhere"), "{missing}");
    let own = scratch.refuse(&["check", "problem.toml", "--data-dir", "full"]);
    assert!(own.contains("names its own files"), "{own}");
}

#[test]
fn reproduce_prints_the_papers_figures_beside_ours() {
    let scratch = Scratch::new();
    let quick = ["--seeds", "1", "--set", "training.epochs=1"];
    let mut adult = vec!["reproduce", "adult"];
    adult.extend(quick);
    let ran = scratch.expect(0, &adult);
    assert!(ran.out.contains("paper") && ran.out.contains("unconstrained"), "{}", ran.out);
    let mut compas = vec!["reproduce", "compas"];
    compas.extend(quick);
    let ran = scratch.expect(0, &compas);
    assert!(ran.out.contains("28.84 %") && ran.out.contains("multipliers"), "{}", ran.out);
    let page = scratch.read("runs/reproduce-adult/report.html");
    assert!(page.contains("Fig. 1a") && page.contains("multipliers at zero: 96 %"), "{page}");
    assert!(scratch.path("runs/reproduce-adult/figures/sensitivity.svg").is_file());
    assert!(scratch.path("runs/reproduce-adult/adult-pointwise/seed-1/summary.json").is_file());
    let page = scratch.read("runs/reproduce-compas/report.html");
    assert!(page.contains("28.84 %") && page.contains("of 7 constraints, gender is the hardest"));
    assert!(scratch.path("runs/reproduce-compas/figures/mu-13.svg").is_file());
    // Without a page nothing is written.
    scratch.expect(0, &[&compas[..], &["--no-report"]].concat());
    assert!(!scratch.path("runs/reproduce-compas-2").exists());
}

#[test]
fn the_program_describes_itself() {
    let scratch = Scratch::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = scratch.expect(0, &["completions", shell]).out;
        assert!(script.contains("reproduce"), "{shell}");
    }
    let page = scratch.expect(0, &["man"]).out;
    assert!(page.contains(".TH feasible 1"), "{page}");
    let pages = scratch.expect(0, &["man", "-o", "pages"]).out;
    assert!(pages.contains("feasible-data-export.1"), "{pages}");
    assert!(scratch.read("pages/feasible-fit.1").contains("Example"));
    let schema = scratch.expect(0, &["schema"]).json();
    assert_eq!(schema["title"], "Feasible problem file");
}

#[test]
fn the_sweep_that_is_advised_can_be_run() {
    let scratch = Scratch::new();
    let rates = "\n[[requirement]]\nname = \"found\"\nrate = \"recall\"\nat_least = 0.995\n\n[[requirement]]\n\
                 name = \"alarms\"\nrate = \"fall-out\"\nat_most = 0.4\n";
    scratch.write("rates.toml", &PROBLEM.replace("[training]", &format!("{rates}\n[training]")));
    let ran = scratch.run(&["fit", "rates.toml", "-o", "rates", "--no-report"]);
    let advised = ran.out.split("`feasible ").find_map(|text| text.strip_prefix("sweep "));
    let advised = advised.and_then(|text| text.split('`').next()).expect(&ran.out);
    let mut arguments = vec!["sweep"];
    arguments.extend(advised.split(' ').map(|word| word.trim_matches('\'')));
    arguments.extend(["--points", "2", "--epochs", "1", "-o", "sweep", "-q"]);
    let swept = scratch.run(&arguments);
    assert!(matches!(swept.code, Some(0 | 1)), "{arguments:?}: {}", swept.err);
}

#[test]
fn the_limits_that_are_advised_include_one_that_the_model_meets() {
    let scratch = Scratch::new();
    for (key, limit, extra) in [
        // Four times the limit is still out of reach, as is half of it.
        ("at_most", 0.01, "rate = \"error\"\n"),
        ("at_least", 0.99, "rate = \"specificity\"\n"),
        ("within", 0.01, "rate = \"error\"\nwhere = \"age > 60\"\nagainst = \"age < 40\"\n"),
    ] {
        let requirement = format!("[[requirement]]\nname = \"r\"\n{extra}{key} = {limit}\n");
        let (data, training) = PROBLEM.split_once("[[requirement]]").unwrap();
        let training = training.split_once("[training]").unwrap().1;
        let cut = "[decision]\nthreshold = 0.5\n";
        let kept = "\n[training]\nkeep = \"last\"\nmargins = \"stated\"\n";
        scratch.write("r.toml", &format!("{data}{requirement}{cut}{kept}{training}"));
        // So few epochs that it is nowhere near.
        let fit = ["fit", "r.toml", "-o", key, "--set", "training.epochs=1", "--no-report"];
        let ran = scratch.expect(1, &fit);
        let advised = ran.out.split("--limits ").nth(1).expect(&ran.out).split('`').next().unwrap();
        let (low, high) = advised.split_once("..").unwrap();
        let (low, high): (f64, f64) = (low.parse().unwrap(), high.parse().unwrap());
        let summary: serde_json::Value =
            serde_json::from_str(&scratch.read(&format!("{key}/summary.json"))).unwrap();
        for part in ["train", "test"] {
            for result in summary[part]["requirements"].as_array().unwrap() {
                let value = result["value"].as_f64().unwrap();
                let met = match key {
                    "at_most" => high >= value,
                    "at_least" => low <= value,
                    _ => high >= value.abs(),
                };
                assert!(met, "{key} {advised}: {value}");
            }
        }
        assert!(low <= limit && limit <= high, "{key} {advised}");
    }
}

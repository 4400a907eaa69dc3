//! `feasible report`: a page, or a clear sentence and exit code 2.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use support::Scratch;

#[test]
fn a_run_becomes_a_page_and_figures() {
    let scratch = Scratch::new();
    // Long enough for the multipliers to move apart.
    scratch.expect(0, &["fit", "problem.toml", "-o", "run", "--set", "training.epochs=120"]);
    let ran = scratch.expect(0, &["report", "run", "--figures", "figures"]);
    assert!(ran.out.starts_with("run/report.html\nrun/model-card.md\nfigures/"), "{}", ran.out);
    let page = scratch.read("run/report.html");
    assert!(page.contains("Every requirement is met on the test rows."), "{page}");
    assert!(page.contains("<th scope=\"row\"><bdi>gender</bdi>"));
    // The data are found again from inside the run directory.
    assert!(!page.contains("could not be read again") && page.contains("tested"), "{page}");
    let all =
        scratch.expect(0, &["report", "run", "--top", "0.1", "--of", "all", "-o", "all.html"]);
    assert!(
        scratch.read("all.html").contains("the hardest 10 %, that is 24 of the 240 individuals,"),
        "{}",
        all.out
    );
    scratch.refuse(&["report", "run", "--top", "0"]);
    for figure in ["objective", "violations", "multipliers", "gap", "times", "lambda-1"] {
        assert!(scratch.read(&format!("figures/{figure}.svg")).starts_with("<svg"), "{figure}");
    }
    // Twice the same, and no obstacle to a new run in its place.
    scratch.expect(0, &["report", "run", "-o", "again.html"]);
    assert_eq!(scratch.read("again.html"), page);
    scratch.expect(0, &["fit", "problem.toml", "-o", "run", "--force"]);
    let json = scratch.expect(0, &["report", "run", "--json"]).json();
    assert_eq!((&json["page"], &json["met"]), (&"run/report.html".into(), &true.into()));
}

#[test]
fn the_cost_is_said_unless_no_baseline_is_asked_for_and_groups_can_be_added_later() {
    let scratch = Scratch::new();
    let ran = scratch.expect(0, &["fit", "problem.toml", "-o", "run"]);
    assert!(
        ran.out.contains("The cost of the requirements, test rows (without: one model, "),
        "{}",
        ran.out
    );
    let alone = scratch.expect(0, &["fit", "problem.toml", "-o", "alone", "--no-baseline"]);
    assert!(!alone.out.contains("The cost of the requirements"), "{}", alone.out);
    assert!(!scratch.path("alone/baseline.json").exists());
    // The baseline changes nothing about the run.
    for name in ["model.safetensors", "multipliers.csv", "metrics.jsonl", "groups.json"] {
        let bytes = |run: &str| std::fs::read(scratch.path(&format!("{run}/{name}"))).unwrap();
        assert!(bytes("run") == bytes("alone"), "{name}");
    }
    scratch.refuse(&["fit", "problem.toml", "-o", "both", "--baseline", "--no-baseline"]);
    scratch.expect(0, &["report", "run", "-o", "more.html", "--groups", "city,age"]);
    let page = scratch.read("more.html");
    assert!(page.contains("By <bdi>city</bdi>") && page.contains("By <bdi>age</bdi>"));
    assert!(!scratch.read("run/report.html").contains("By <bdi>city</bdi>"));
    let error = scratch.refuse(&["report", "run", "-o", "more.html", "--groups", "citty"]);
    assert!(error.contains("citty") && error.contains("city"), "{error}");
    let error = scratch.refuse(&["report", "run", "alone", "-o", "more.html", "--groups", "city"]);
    assert!(error.contains("--groups works on one run"), "{error}");
}

#[test]
fn what_is_no_finished_run_is_refused_with_a_sentence() {
    let scratch = Scratch::new();
    let error = scratch.refuse(&["report", "nowhere"]);
    assert!(error.contains("nowhere does not exist"), "{error}");
    let error = scratch.refuse(&["report", "."]);
    assert!(error.contains("is not a run directory: it has no run.json"), "{error}");
    scratch.expect(0, &["fit", "problem.toml", "-o", "run"]);
    std::fs::rename(scratch.path("run/summary.json"), scratch.path("summary.json")).unwrap();
    let error = scratch.refuse(&["report", "run"]);
    assert!(
        error.contains("cut short after 20 epochs") && error.contains("feasible resume run"),
        "{error}"
    );
    std::fs::rename(scratch.path("summary.json"), scratch.path("run/summary.json")).unwrap();
    let info = scratch.read("run/run.json");
    scratch.write("run/run.json", &info.replace("\"format\": 2", "\"format\": 7"));
    let error = scratch.refuse(&["report", "run"]);
    assert!(error.contains("in format 7; this program reads format 2"), "{error}");
    scratch.write("run/run.json", &info);
    scratch.write("run/metrics.jsonl", "{\"epoch\": 1}\n");
    let error = scratch.refuse(&["report", "run"]);
    assert!(error.contains("metrics.jsonl, line 1, is damaged"), "{error}");
    scratch.expect(0, &["fit", "problem.toml", "--seeds", "2", "-o", "seeds"]);
    let error = scratch.refuse(&["report", "seeds", "--check-sensitivity"]);
    assert!(error.contains("the runs of 2 seeds"), "{error}");
}

#[test]
fn runs_stand_side_by_side() {
    let scratch = Scratch::new();
    scratch.expect(0, &["fit", "problem.toml", "-o", "a"]);
    scratch.expect(0, &["fit", "problem.toml", "-o", "b", "--seeds", "2"]);
    let ran = scratch.expect(0, &["report", "a", "b"]);
    assert_eq!(ran.out, "comparison.html\n");
    let page = scratch.read("comparison.html");
    for label in ["<bdi>a</bdi>", "<bdi>seed-0</bdi>", "<bdi>seed-1</bdi>"] {
        assert!(page.contains(label), "{label}");
    }
    assert!(page.contains("All 3 runs meet their requirements."), "{page}");
    // Of several seeds, all of them.
    let ran = scratch.expect(0, &["report", "b", "--figures", "figures", "-o", "b.html"]);
    assert!(ran.out.starts_with("b.html\nfigures/"), "{}", ran.out);
    let error = scratch.refuse(&["report", "a", "nowhere"]);
    assert!(error.contains("nowhere does not exist"), "{error}");
    let error = scratch.refuse(&["report", "a", "b", "--check-sensitivity"]);
    assert!(error.contains("works on one run"), "{error}");
}

#[test]
fn prices_are_verified_by_solving_again() {
    let scratch = Scratch::new();
    scratch.expect(0, &["fit", "problem.toml", "-o", "run"]);
    let ran = scratch.expect(0, &["report", "run", "--check-sensitivity", "--delta", "0.2"]);
    assert!(ran.out.contains("relaxed by 20 %") && ran.out.contains("observed"), "{}", ran.out);
    assert!(scratch.read("run/report.html").contains("<th scope=\"col\">observed</th>"));
    let json = scratch.expect(0, &["report", "run", "--check-sensitivity", "--json"]).json();
    let price = &json["sensitivity"]["prices"][0];
    assert_eq!(price["requirement"], "gender");
    // The limit is 0.5, and training leaves it 2 % of that.
    assert!((price["delta"].as_f64().unwrap() - 0.001).abs() < 1e-9, "{price}");
    // A new run in its place has no prices yet.
    scratch.expect(0, &["fit", "problem.toml", "-o", "run", "--seed", "1", "--force"]);
    assert!(!scratch.path("run/sensitivity.json").exists());
}

#[test]
fn a_sweep_is_a_table_files_and_a_page() {
    let scratch = Scratch::new();
    let sweep = |more: &[&'static str]| {
        [&["sweep", "problem.toml", "--requirement", "gender", "--epochs", "3"], more].concat()
    };
    let ran = scratch.expect(0, &sweep(&["--limits", "0.01..1", "--points", "3", "--seeds", "2"]));
    assert!(ran.out.contains("limit of 'gender', mean ± sd of 2 seeds"), "{}", ran.out);
    assert_eq!(ran.out.lines().count(), 6, "{}", ran.out);
    let csv = scratch.read("runs/problem-sweep/sweep.csv");
    // Three limits, two seeds, training and test rows.
    assert_eq!(csv.lines().count(), 1 + 3 * 2 * 2, "{csv}");
    assert!(csv.starts_with("limit,seed,part,objective,accuracy,"), "{csv}");
    let page = scratch.read("runs/problem-sweep/report.html");
    assert!(page.contains("From 1 to 0.01, accuracy on the test rows"), "{page}");
    for figure in ["objective", "accuracy", "violation", "multiplier"] {
        assert!(scratch.path(&format!("runs/problem-sweep/figures/{figure}.svg")).is_file());
    }
    scratch.expect(0, &["report", "runs/problem-sweep/limit-0.1/seed-1"]);
    let json = scratch.expect(0, &sweep(&["--limits", "0.1", "--seeds", "1", "--json", "-o", "x"]));
    assert_eq!(json.json()["points"][0]["limit"], 0.1);
    // Threads change nothing.
    let again =
        ["--limits", "0.01..1", "--points", "3", "--seeds", "2", "-o", "y", "--threads", "1"];
    scratch.expect(0, &sweep(&again));
    assert_eq!(scratch.read("y/sweep.csv"), csv);
    let error =
        scratch.refuse(&["sweep", "problem.toml", "--requirement", "gendre", "--limits", "1"]);
    assert!(error.contains("no requirement is named 'gendre': did you mean 'gender'?"), "{error}");
    let error = scratch.refuse(&sweep(&["--limits", "low..high"]));
    assert!(
        error.contains("--limits low..high: 'low' is not a limit: write 1e-4..1e-1"),
        "{error}"
    );
}

#[test]
fn a_training_that_diverged_can_be_reported_on() {
    let scratch = Scratch::new();
    // Squares of the numbers of the test rows are beyond single precision.
    let row = |k: i32| {
        let (part, y) = if k < 30 { ("a", 1.0) } else { ("b", 1e25) };
        format!("{},{part},{}\n", f64::from(k % 7) - 3.0, f64::from(k % 5) * y)
    };
    let rows: String = (0..40).map(row).collect();
    scratch.write("large.csv", &format!("x,part,y\n{rows}"));
    scratch.write(
        "large.toml",
        "[data]\nfile = \"large.csv\"\ntarget = \"y\"\ntask = \"regress\"\n\
         split_by = { column = \"part\", train = [\"a\"], test = [\"b\"] }\n[model]\nkind = \"linear\"\n\
         [[requirement]]\nname = \"small\"\nloss = \"squared\"\nat_most = 1.0\n\
         [training]\noptimiser = \"sgd\"\nrate = 1e30\nepochs = 3\n",
    );
    let ran = scratch.expect(1, &["fit", "large.toml", "-o", "run"]);
    assert!(ran.out.contains("diverged"), "{}", ran.out);
    assert!(scratch.read("run/summary.json").contains("\"objective\": null"));
    scratch.expect(0, &["report", "run"]);
    let page = scratch.read("run/report.html");
    assert!(page.contains("diverged") && page.contains("not finite"), "{page}");
    assert!(scratch.read("run/model-card.md").contains("diverged"));
}

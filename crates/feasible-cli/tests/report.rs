//! `feasible report`: a page, or a clear sentence and exit code 2.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod support;

use support::Scratch;

#[test]
fn a_run_becomes_a_page_and_figures() {
    let scratch = Scratch::new();
    scratch.expect(0, &["fit", "problem.toml", "-o", "run"]);
    let ran = scratch.expect(0, &["report", "run", "--figures", "figures"]);
    assert!(ran.out.starts_with("run/report.html\n"), "{}", ran.out);
    let page = scratch.read("run/report.html");
    assert!(page.contains("The requirement is met on the test rows."), "{page}");
    assert!(page.contains("<th scope=\"row\"><bdi>gender</bdi>"));
    // The data are found again from inside the run directory.
    assert!(!page.contains("could not be read again") && page.contains("tested"), "{page}");
    let all =
        scratch.expect(0, &["report", "run", "--top", "0.1", "--of", "all", "-o", "all.html"]);
    assert!(
        scratch.read("all.html").contains("the hardest 10 %, that is 30 of the 300 individuals,"),
        "{}",
        all.out
    );
    scratch.refuse(&["report", "run", "--top", "0"]);
    for figure in ["objective", "slacks", "multipliers", "gap", "times", "lambda-1"] {
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
fn what_is_no_finished_run_is_refused_with_a_sentence() {
    let scratch = Scratch::new();
    let error = scratch.refuse(&["report", "nowhere"]);
    assert!(error.contains("nowhere is not a run directory"), "{error}");
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
    scratch.write("run/run.json", &info.replace("\"format\": 1", "\"format\": 7"));
    let error = scratch.refuse(&["report", "run"]);
    assert!(error.contains("in format 7; this program reads format 1"), "{error}");
    scratch.write("run/run.json", &info);
    scratch.write("run/metrics.jsonl", "{\"epoch\": 1}\n");
    let error = scratch.refuse(&["report", "run"]);
    assert!(error.contains("metrics.jsonl, line 1, is damaged"), "{error}");
    scratch.expect(0, &["fit", "problem.toml", "--seeds", "2", "-o", "seeds"]);
    let error = scratch.refuse(&["report", "seeds"]);
    assert!(error.contains("the runs of 2 seeds"), "{error}");
}

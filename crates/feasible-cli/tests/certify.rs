//! Certificates by the real program: what it certifies, what it refuses, and how it ends.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use support::{Scratch, numbered};

const BY_FILE: &str = r#"
[data]
train = "train.csv"
test = "test.csv"
target = "income"
positive = "high"
drop = ["id"]

[model]
kind = "linear"

[[requirement]]
name = "error"
rate = "error"
at_most = 0.45

[training]
epochs = 20
"#;

fn by_file() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("train.csv", &numbered(600, 0));
    scratch.write("test.csv", &numbered(500, 600));
    scratch.write("problem.toml", BY_FILE);
    scratch
}

#[test]
fn a_fit_ends_with_a_certificate_that_certify_repeats_and_a_pipeline_can_gate_on() {
    let scratch = Scratch::new();
    let fit = scratch.expect(0, &["fit", "problem.toml", "-q", "-o", "run"]).out;
    assert!(fit.contains("Certificate on the 100 test rows"), "{fit}");
    // A hundred rows without a violation: 1 − 0.05^{1/100} is 2.95 %, more than 1 %.
    let ran = scratch.expect(1, &["certify", "run"]);
    assert!(ran.out.contains("all but 2.952 %  MET"), "{}", ran.out);
    assert!(
        ran.out.contains("certifying it takes about 200 more rows (300 in all)"),
        "{}",
        ran.out
    );
    scratch.expect(0, &["certify", "run", "--require", "met"]);
    let ran = scratch.expect(0, &["certify", "run", "--all-but", "0.03", "--json"]).json();
    let finding = &ran["certificate"]["findings"][0];
    assert_eq!(ran["certified"], true);
    assert_eq!(finding["verdict"], "CERTIFIED");
    assert_eq!(finding["method"], "Clopper-Pearson");
    let bound = finding["bound"].as_f64().unwrap();
    assert!((bound - (1.0 - 0.05f64.powf(0.01))).abs() < 1e-12, "{bound}");
    let text = scratch.expect(0, &["certify", "run", "--all-but", "0.03"]).out;
    let sentence = "With probability at least 95 % over the draw of the 100 held-out rows, the share of the \
                    population whose KL divergence (Male ↔ Female) exceeds 0.5 is at most 2.952 %.";
    assert!(text.contains(sentence), "{text}");
    // The table the run was split from: only the rows it held out count.
    let ran = scratch.expect(1, &["certify", "run", "people.csv"]);
    assert!(ran.out.contains("the 100 test rows of people.csv"), "{}", ran.out);
}

#[test]
fn rows_that_were_trained_on_are_refused_however_they_are_written() {
    let scratch = by_file();
    scratch.expect(0, &["fit", "problem.toml", "-q", "-o", "run"]);
    let ran = scratch.expect(0, &["certify", "run"]);
    assert!(ran.out.contains("the 500 test rows"), "{}", ran.out);
    let error = scratch.refuse(&["certify", "run", "train.csv"]);
    assert!(error.contains("all of its 600 rows were used in training"), "{error}");
    // The same rows under another name, in another order, columns too.
    let text = scratch.read("train.csv");
    let mut lines: Vec<String> =
        text.lines().map(|line| line.rsplit(',').collect::<Vec<_>>().join(",")).collect();
    lines[1..].reverse();
    scratch.write("copy.csv", &(lines.join("\n") + "\n"));
    let error = scratch.refuse(&["certify", "run", "copy.csv"]);
    assert!(error.contains("600 of its 600 rows were used in training the model"), "{error}");
    assert!(error.contains("keep some back with `certify`"), "{error}");
    // A single one among others.
    let one = text.lines().nth(7).unwrap();
    scratch.write("mixed.csv", &(numbered(300, 1200) + one + "\n"));
    let error = scratch.refuse(&["certify", "run", "mixed.csv"]);
    assert!(error.contains("1 of its 301 rows"), "{error}");
    // Others are welcome, in a pipe too.
    scratch.write("fresh.csv", &numbered(400, 2000));
    let ran = scratch.expect(0, &["certify", "run", "fresh.csv"]);
    assert!(ran.out.contains("the 400 rows of fresh.csv"), "{}", ran.out);
    // An audit says as much.
    let audit = scratch.expect(0, &["audit", "run", "fresh.csv"]).out;
    assert!(audit.contains("CERTIFIED"), "{audit}");
    let audit = scratch.expect(0, &["audit", "run", "copy.csv"]).out;
    assert!(audit.contains("No certificate: copy.csv: 600 of its 600 rows"), "{audit}");
}

#[test]
fn a_table_that_has_changed_is_refused() {
    let scratch = by_file();
    scratch.expect(0, &["fit", "problem.toml", "-q", "-o", "run"]);
    scratch.write("test.csv", &numbered(500, 700));
    for arguments in [&["certify", "run"][..], &["certify", "run", "test.csv"]] {
        let error = scratch.refuse(arguments);
        assert!(error.contains("test.csv has changed since the run was started"), "{error}");
    }
}

#[test]
fn a_model_without_its_run_directory_is_refused() {
    let scratch = by_file();
    scratch.expect(0, &["fit", "problem.toml", "-q", "-o", "run"]);
    std::fs::create_dir(scratch.path("elsewhere")).unwrap();
    std::fs::copy(scratch.path("run/model.safetensors"), scratch.path("elsewhere/m.safetensors"))
        .unwrap();
    let error = scratch.refuse(&["certify", "elsewhere/m.safetensors", "test.csv"]);
    assert!(error.contains("does not record which rows it was trained on"), "{error}");
    std::fs::remove_file(scratch.path("run/fingerprints.bin")).unwrap();
    let error = scratch.refuse(&["certify", "run", "test.csv"]);
    assert!(error.contains("it has no fingerprints.bin"), "{error}");
}

#[test]
fn a_certificate_says_for_which_other_populations_it_holds() {
    let scratch = by_file();
    scratch.expect(0, &["fit", "problem.toml", "-q", "-o", "run"]);
    let finding = |more: &[&str], code| {
        let ran = scratch.expect(code, &[&["certify", "run", "--json"], more].concat());
        ran.json()["certificate"]["findings"][0].clone()
    };
    let plain = finding(&[], 0);
    let number = |finding: &serde_json::Value, key: &str| finding[key].as_f64().unwrap();
    let carries = number(&plain["still_true_if"], "shift");
    let (limit, bound) = (number(&plain, "limit"), number(&plain, "bound"));
    assert!(carries > 1.05 && (carries - limit / bound).abs() < 1e-9, "{plain}");
    let text = scratch.expect(0, &["certify", "run"]).out;
    assert!(
        text.contains("still true if") && text.contains("no kind of row becomes more than "),
        "{text}"
    );
    let card = scratch.read("run/model-card.md");
    assert!(
        card.contains("| still true if |") && card.contains("no kind of row becomes more than "),
        "{card}"
    );
    assert!(scratch.read("run/report.html").contains("no kind of row becomes more than "));
    // Certified up to there, and no further.
    let (below, above) = ((0.999 * carries).to_string(), (1.001 * carries).to_string());
    let at = finding(&["--shift", &below], 0);
    assert_eq!(
        (at["verdict"].as_str(), number(&at, "shift")),
        (Some("CERTIFIED"), 0.999 * carries)
    );
    assert!((number(&at, "bound") - 0.999 * carries * bound).abs() < 1e-9, "{at}");
    assert_eq!(finding(&["--shift", &above], 1)["verdict"], "MET");
    let text = scratch.expect(0, &["certify", "run", "--shift", &below]).out;
    assert!(text.contains(" wherever no kind of row is more than "), "{text}");
    let error = scratch.refuse(&["certify", "run", "--shift", "0.5"]);
    assert!(error.contains("shift = 0.5: must be at least 1 and finite"), "{error}");
    // Base rates.
    let mixed = finding(&["--base-rate", "0.2..0.4"], 0);
    assert_eq!(mixed["still_true_if"]["base_rate"], serde_json::json!([0.2, 0.4]));
    assert_eq!(mixed["method"], "Clopper-Pearson in either class, δ/2 each");
    let text = scratch.expect(0, &["certify", "run", "--base-rate", "0.2..0.4"]).out;
    assert!(text.contains("the base rate is 20 % to 40 %, with each class as it is"), "{text}");
    let error = scratch.refuse(&["certify", "run", "--base-rate", "0.4..0.2"]);
    assert!(error.contains("the smaller first, such as 0.05..0.2"), "{error}");
    let error = scratch.refuse(&["certify", "run", "--base-rate", "0.2", "--shift", "1.1"]);
    assert!(error.contains("'error'") && error.contains("give a base rate or a shift"), "{error}");
}

#[test]
fn rates_within_a_class_hold_at_any_base_rate_and_a_requirement_may_ask_for_a_shift() {
    let scratch = by_file();
    let rate = |keys: &str| BY_FILE.replace("rate = \"error\"\nat_most = 0.45", keys);
    scratch.write(
        "problem.toml",
        &rate("rate = \"fpr\"\nwhere = \"age > 20\"\nat_most = 0.9\nshift = 1.2"),
    );
    let ran = scratch.run(&["fit", "problem.toml", "-q", "-o", "run"]);
    let report = scratch.run(&["certify", "run", "--json"]).json();
    let finding = &report["certificate"]["findings"][0];
    assert_eq!(finding["shift"], 1.2, "{}", ran.err);
    assert_eq!(finding["still_true_if"]["any_base_rate"], true, "{finding}");
    assert_eq!(finding["still_true_if"]["any_group_mix"], true, "{finding}");
    let text = scratch.run(&["certify", "run"]).out;
    let wording = |text: &str| {
        text.contains("no kind of row of the class in the group becomes more")
            && text.contains("the base rate and the mix of groups are")
    };
    assert!(wording(&text.replace('\n', " ")), "{text}");
    let check = scratch.expect(0, &["check", "problem.toml"]).out;
    assert!(check.contains("wherever no kind of row is more than 1.2 times as common"), "{check}");
    let error = scratch.refuse(&["certify", "run", "--base-rate", "0.2"]);
    assert!(error.contains("no requirement depends on it"), "{error}");
    for (keys, wrong) in [
        (
            "rate = \"error\"\nat_most = 0.4\nshift = 0.9",
            "shift = 0.9: must be at least 1 and finite",
        ),
        ("loss = \"cross-entropy\"\nat_most = 0.4\nshift = 2", "has no upper bound"),
        (
            "rate = \"selection\"\ngroups = \"gender\"\nwithin = 0.1\nshift = 1.5",
            "1.5 is too much for a difference of at most 0.1 either way, which no model keeps beyond 1.1",
        ),
    ] {
        scratch.write("wrong.toml", &rate(keys));
        let error = scratch.refuse(&["check", "wrong.toml"]);
        assert!(error.contains("wrong.toml:") && error.contains(".shift: "), "{error}");
        assert!(error.contains(wrong), "{error}");
    }
}

#[test]
fn numbers_outside_their_range_are_refused_with_the_range() {
    let scratch = by_file();
    scratch.expect(0, &["fit", "problem.toml", "-q", "-o", "run"]);
    for confidence in ["1.5", "0", "1"] {
        let error = scratch.refuse(&["certify", "run", "--confidence", confidence]);
        assert!(error.contains("must be between 0 and 1, both excluded"), "{error}");
    }
    let error = scratch.refuse(&["certify", "run", "--all-but", "0"]);
    assert!(error.contains("no number of rows shows that something never happens"), "{error}");
    let error = scratch.refuse(&["bound"]);
    assert!(error.contains("--rows N (what can N rows certify?)"), "{error}");
    let error = scratch.refuse(&["bound", "--rows", "10", "--confidence", "95"]);
    assert!(
        error.contains("--confidence: 95 is not a share between 0 and 1; did you mean 0.95?"),
        "{error}"
    );
    let error = scratch.refuse(&["bound", "--limit", "1.5"]);
    assert!(error.contains("1.5 is not a share"), "{error}");
    scratch.write("certify.toml", &format!("certify = 95\n{BY_FILE}"));
    let error = scratch.refuse(&["check", "certify.toml"]);
    assert!(
        error.contains("certify.toml:1:11: certify.confidence: 95 is not a probability: above 0 and below 1; did you mean 0.95?"),
        "{error}"
    );
    scratch.write("certify.toml", &format!("certify = {{ reserv = 0.1 }}\n{BY_FILE}"));
    let error = scratch.refuse(&["check", "certify.toml"]);
    assert!(error.contains("unknown key 'reserv': did you mean 'reserve'?"), "{error}");
    scratch.write("certify.toml", &format!("certify = {{ ladder = [0, 1] }}\n{BY_FILE}"));
    let error = scratch.refuse(&["check", "certify.toml"]);
    assert!(error.contains("the most cautious comes first"), "{error}");
}

#[test]
fn a_loss_without_an_upper_bound_is_never_certified_and_takes_no_certificate_from_others() {
    let scratch = Scratch::new();
    let average = support::PROBLEM.replace("kind = \"pointwise\"\n", "");
    scratch.write("average.toml", &average);
    let fit = scratch.run(&["fit", "average.toml", "-q", "-o", "run"]).out;
    assert!(!fit.contains("No certificate"), "{fit}");
    for text in [&fit, &scratch.expect(1, &["certify", "run"]).out] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let sentence = "No number of rows certifies the mean of a loss that has no upper bound. With probability at least 95 %";
        assert!(text.contains(sentence), "{text}");
        assert!(text.contains("in the sample, met): the mean is at most"), "{text}");
        assert!(text.contains("within the limit, if losses above B ="), "{text}");
        assert!(text.contains("Each B was chosen without these rows."), "{text}");
        assert!(!text.contains("CERTIFIED") && !text.contains("Loss::"), "{text}");
    }
    // Another requirement keeps its certificate.
    let error = "\n[[requirement]]\nname = \"error\"\nrate = \"error\"\nat_most = 0.9\n";
    scratch.write("both.toml", &format!("{average}{error}"));
    scratch.run(&["fit", "both.toml", "-q", "-o", "both"]);
    let certified = scratch.expect(1, &["certify", "both"]).out;
    let line = |name: &str| certified.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(line("error ").contains("  CERTIFIED  no kind of row"), "{certified}");
    assert!(line("gender ").ends_with("  MET        –"), "{certified}");
    // Where a certificate is what is trained for, it says so beforehand.
    scratch.write("asked.toml", &format!("certify = 0.95\n{average}"));
    let error = scratch.refuse(&["check", "asked.toml"]);
    assert!(
        error.contains("has no upper bound, so no number of rows certifies its mean"),
        "{error}"
    );
    scratch.write("bounded.toml", &average.replace("at_most = 0.5", "at_most = 0.5\nbound = 2.0"));
    scratch.expect(0, &["fit", "bounded.toml", "-q", "-o", "bounded"]);
    let ran = scratch.expect(0, &["certify", "bounded"]);
    assert!(ran.out.contains("the expected KL divergence (bounded by 2)"), "{}", ran.out);
}

#[test]
fn a_reserve_that_cannot_certify_anything_is_refused_before_training() {
    let scratch = Scratch::new();
    scratch.write("problem.toml", &format!("certify = 0.95\n{}", support::PROBLEM));
    let error = scratch.refuse(&["fit", "problem.toml", "-q", "-o", "run"]);
    assert!(error.contains("60 rows cannot certify a rate of at most 0.01"), "{error}");
    assert!(error.contains("at least 299 are needed"), "{error}");
    assert!(!scratch.path("run").exists());
}

#[test]
fn rows_are_kept_back_from_everything_and_decide_how_a_fit_ends() {
    let scratch = by_file();
    scratch.write("problem.toml", &format!("certify = 0.95\n{BY_FILE}"));
    let fit = scratch.expect(0, &["fit", "problem.toml", "-q", "-o", "run"]).out;
    assert!(fit.contains("Certificate on the 120 reserved rows"), "{fit}");
    assert!(fit.starts_with("Every requirement is certified.\n"), "{fit}");
    let check = scratch.expect(0, &["check", "problem.toml"]).out;
    assert!(
        check.contains("384 train, 96 validation") && check.contains("training limit"),
        "{check}"
    );
    let rows: serde_json::Value = serde_json::from_str(&scratch.read("run/rows.json")).unwrap();
    let count = |part: &str| -> u64 {
        let ranges = rows[part].as_array().unwrap();
        ranges.iter().map(|r| r[1].as_u64().unwrap() - r[0].as_u64().unwrap() + 1).sum()
    };
    assert_eq!((count("train"), count("validation")), (384, 96));
    assert_eq!((count("reserve"), count("test")), (120, 500));
    // The reserve of train.csv may be used, its other rows may not.
    let ran = scratch.expect(0, &["certify", "run", "train.csv"]);
    assert!(ran.out.contains("the 120 reserved rows of train.csv"), "{}", ran.out);
    // A limit that cannot be reached: the fit says so.
    let hard = BY_FILE.replace("at_most = 0.45", "at_most = 0.1");
    scratch.write("hard.toml", &format!("certify = 0.95\n{hard}"));
    let fit = scratch.expect(1, &["fit", "hard.toml", "-q", "-o", "hard"]).out;
    assert!(fit.starts_with("'error' is violated.\n"), "{fit}");
}

#[test]
fn a_ladder_takes_the_best_certified_model_and_can_be_resumed() {
    let scratch = by_file();
    let ladder = "certify = { reserve = 0.4, ladder = [1.5, 0.5, 0.0] }";
    scratch.write("problem.toml", &format!("{ladder}\n{BY_FILE}"));
    let fit = scratch.expect(0, &["fit", "problem.toml", "-q", "-o", "run"]).out;
    assert!(fit.contains("Ladder: the most cautious model first"), "{fit}");
    assert_eq!(fit.matches(", taken").count(), 1, "{fit}");
    // The reserve chose the model: it proves the limits, and no bound beyond.
    assert!(fit.contains("whichever model of the ladder was taken"), "{fit}");
    assert!(fit.contains("error: the error rate is at most 45 %"), "{fit}");
    assert!(
        fit.contains("they prove the limits, all of them together, and no bound beyond"),
        "{fit}"
    );
    let summary = scratch.read("run/summary.json");
    let json: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let finding = &json["certificate"]["certificate"]["findings"][0];
    assert_eq!(json["certificate"]["chosen"], true);
    assert!(finding["bound"].is_null() && finding["opposite"].is_null(), "{finding}");
    let page = scratch.read("run/report.html");
    assert!(page.contains("whichever model of the ladder was taken"), "{page}");
    let model = std::fs::read(scratch.path("run/model.safetensors")).unwrap();
    // Killed after the first rung: the rest is done again, to the same bytes.
    for name in ["run/rung-2", "run/rung-3"] {
        std::fs::remove_dir_all(scratch.path(name)).unwrap();
    }
    for name in ["run/summary.json", "run/model.safetensors"] {
        std::fs::remove_file(scratch.path(name)).unwrap();
    }
    scratch.expect(0, &["resume", "run", "-q"]);
    assert_eq!(scratch.read("run/summary.json"), summary);
    assert_eq!(std::fs::read(scratch.path("run/model.safetensors")).unwrap(), model);
    // The same again on the rows it was chosen with; nothing at another confidence, and a bound on other rows.
    let own = scratch.expect(0, &["certify", "run"]).out;
    assert!(own.contains("whichever model of the ladder was taken"), "{own}");
    assert_eq!(scratch.expect(0, &["certify", "run", "train.csv"]).out, own);
    let error = scratch.refuse(&["certify", "run", "--confidence", "0.99"]);
    assert!(error.contains("was chosen from a ladder with the reserved rows"), "{error}");
    scratch.write("fresh.csv", &numbered(400, 2000));
    let fresh = scratch.expect(0, &["certify", "run", "fresh.csv", "--confidence", "0.99"]).out;
    assert!(!fresh.contains("ladder") && fresh.contains("CERTIFIED"), "{fresh}");
    scratch.expect(0, &["fit", "problem.toml", "-q", "-o", "run", "--force"]);
    // A limit nobody reaches: no model is handed over.
    let hard = BY_FILE.replace("at_most = 0.45", "at_most = 0.05");
    scratch.write("hard.toml", &format!("{ladder}\n{hard}"));
    let fit = scratch.expect(1, &["fit", "hard.toml", "-q", "-o", "hard"]).out;
    assert!(fit.contains("No model of the ladder is certified"), "{fit}");
    assert!(fit.contains("not tested"), "{fit}");
    let error = scratch.refuse(&["certify", "hard"]);
    assert!(error.contains("none of its ladder was certified"), "{error}");
}

#[test]
fn bound_answers_both_questions() {
    let scratch = Scratch::new();
    let text = scratch.expect(0, &["bound", "--rows", "32561"]).out;
    assert!(text.contains("What 32,561 held-out rows can certify"), "{text}");
    assert!(text.contains("0.0092 %"), "{text}");
    let json = scratch.expect(0, &["bound", "--limit", "0.01", "--json"]).json();
    assert_eq!(json["needed"][0]["rows"]["about"], 299);
    let text = scratch.expect(0, &["bound", "problem.toml", "--limit", "0.05"]).out;
    assert!(text.contains("vacuous") && text.contains("Theorem 1"), "{text}");
    let text = scratch.expect(0, &["bound", "--rows", "100000", "--dimension", "5"]).out;
    assert!(text.contains("ζ(100,000 training rows) = 0.0"), "{text}");
}

#[test]
fn a_certificate_that_would_take_very_many_rows_does_not_keep_a_fit_from_ending() {
    let scratch = by_file();
    let strict = BY_FILE.replace("epochs = 20", "epochs = 3")
        + r#"
[[requirement]]
name = "parity"
fairness = "demographic-parity"
groups = "gender"
within = 0.01

[[requirement]]
name = "men"
rate = "error"
where = "gender == 'Male'"
at_most = 0.9
"#;
    scratch.write("strict.toml", &strict);
    let started = std::time::Instant::now();
    let ran = scratch.run(&["fit", "strict.toml", "-q", "-o", "run", "--json"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    assert!(scratch.path("run/model.safetensors").is_file());
    // A number, a number that is exceeded, or never: if the sample meets it.
    let summary: serde_json::Value =
        serde_json::from_str(&scratch.read("run/summary.json")).unwrap();
    for finding in summary["certificate"]["certificate"]["findings"].as_array().unwrap() {
        let needed = &finding["rows_needed"];
        let named = needed["about"].is_u64() || needed["more_than"] == 1_000_000_000u64;
        let met = finding["verdict"] == "MET";
        assert_eq!(met, named || needed == "never", "{finding}");
    }
}

#[test]
fn bound_has_an_answer_for_every_limit_and_number_of_rows() {
    let scratch = Scratch::new();
    let ran = scratch.expect(0, &["bound", "--limit", "0.1", "--rate", "0.0999999"]).out;
    assert!(ran.contains("more than 1,000,000,000"), "{ran}");
    let ran = scratch.expect(0, &["bound", "--limit", "1e-300", "--json"]).json();
    assert_eq!(ran["needed"][0]["rows"]["more_than"], 1_000_000_000u64);
    let ran = scratch.expect(0, &["bound", "--limit", "0.1", "--rate", "0.2", "--json"]).json();
    assert_eq!(ran["needed"][0]["rows"], "never");
    let error = scratch.refuse(&["bound", "--rows", "18446744073709551615"]);
    assert!(error.contains("1,000,000,000"), "{error}");
}

/// The same rows under other numbers.
fn renumbered(table: &str) -> String {
    let mut lines = table.lines();
    let mut text = lines.next().unwrap().to_string() + "\n";
    for (at, line) in lines.enumerate() {
        text += &format!("q{at},{}\n", line.split_once(',').unwrap().1);
    }
    text
}

#[test]
fn a_new_number_hides_no_row_and_what_chance_explains_is_said() {
    let scratch = by_file();
    scratch.expect(0, &["fit", "problem.toml", "-q", "-o", "run"]);
    scratch.write("renumbered.csv", &renumbered(&scratch.read("train.csv")));
    let error = scratch.refuse(&["certify", "run", "renumbered.csv"]);
    assert!(error.contains("600 of its 600 rows equal training rows"), "{error}");
    assert!(error.contains("less than once in 10,000 tables"), "{error}");
    scratch.write("fresh.csv", &numbered(400, 2000));
    let ran = scratch.expect(0, &["certify", "run", "fresh.csv"]);
    assert!(ran.out.contains("equal a training row, no more than chance explains)"), "{}", ran.out);
    assert!(ran.out.contains("it would have been noticed; fewer cannot be told"), "{}", ran.out);
    let json = scratch.expect(0, &["certify", "run", "fresh.csv", "--json"]).json();
    assert_eq!(json["held_out"]["known"], "explained");
    // A test file that is a copy of the training file gives no certificate.
    scratch.write("test.csv", &renumbered(&scratch.read("train.csv")));
    let fit = scratch.run(&["fit", "problem.toml", "-q", "-o", "copied"]).out;
    assert!(fit.contains("No certificate: the test rows: 600 of its 600 rows"), "{fit}");
}

#[test]
fn a_table_given_four_times_counts_once() {
    let scratch = by_file();
    scratch.expect(0, &["fit", "problem.toml", "-q", "-o", "run"]);
    let fresh = numbered(300, 2000);
    let (head, rows) = fresh.split_once('\n').unwrap();
    scratch.write("once.csv", &fresh);
    scratch.write("four.csv", &format!("{head}\n{}", rows.repeat(4)));
    let once = scratch.run(&["certify", "run", "once.csv", "--json"]).json();
    let four = scratch.run(&["certify", "run", "four.csv", "--json"]).json();
    assert_eq!(four["certificate"], once["certificate"]);
    assert_eq!((&four["repetition"]["times"], &four["count"]), (&4.into(), &300.into()));
    let text = scratch.run(&["certify", "run", "four.csv"]).out;
    assert!(text.contains("every row occurs 4 times or a multiple of that"), "{text}");
    // A test file given four times, too.
    scratch.write("test.csv", &scratch.read("four.csv"));
    let ran = scratch.run(&["fit", "problem.toml", "-o", "four"]);
    let fit = ran.out + &ran.err;
    assert!(fit.contains("Certificate on the 300 test rows"), "{fit}");
    let expected = "900 of the 1,200 test rows equal an earlier row in every column that is used";
    assert!(unwrapped(&fit).contains(expected), "{fit}");
    // Some rows twice, among people of whom some are equal anyhow: which of them are copies is not known.
    let some: String = rows.split_inclusive('\n').take(150).collect();
    scratch.write("some.csv", &format!("{fresh}{some}"));
    let error = scratch.refuse(&["certify", "run", "some.csv"]);
    assert!(error.contains("its rows repeat each other beyond chance"), "{error}");
}

/// Lines that were broken for the page, in one.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Two numbers and a label that depends on the first; all digits.
fn measured(rows: usize, seed: u64) -> Vec<(f64, f64, bool)> {
    let mut state = seed;
    let mut uniform = || support::random(&mut state) as f64 / (1u64 << 31) as f64;
    let row = |_| {
        let (a, b) = (uniform() - 0.5, 40.0 + uniform());
        (a, b, a + 0.4 * (uniform() - 0.5) > 0.15)
    };
    (0..rows).map(row).collect()
}

fn written(rows: &[(f64, f64, bool)], how: impl Fn(f64) -> String) -> String {
    let line = |(a, b, y): &(f64, f64, bool)| {
        format!("{},{},{}\n", how(*a), how(*b), if *y { "case" } else { "other" })
    };
    format!("a,b,y\n{}", rows.iter().map(line).collect::<String>())
}

const MEASURED: &str = r#"[data]
file = "measured.csv"
target = "y"
positive = "case"

[model]
kind = "linear"

[[requirement]]
name = "error"
rate = "error"
at_most = 0.3

[training]
epochs = 20
"#;

#[test]
fn copies_stay_in_one_part_and_init_check_and_fit_say_so() {
    let scratch = Scratch::new();
    let rows = measured(600, 5);
    let times = |(_, _, y): &(f64, f64, bool)| if *y { 5 } else { 1 };
    let mut all: Vec<_> =
        rows.iter().flat_map(|row| std::iter::repeat_n(*row, times(row))).collect();
    all.sort_by(|a, b| (a.1, a.0).partial_cmp(&(b.1, b.0)).unwrap());
    scratch.write("measured.csv", &written(&all, |x| x.to_string()));
    scratch.write("problem.toml", MEASURED);
    let copies = all.len() - rows.len();
    let expected =
        format!("{copies} of the {} rows equal an earlier row in every column", grouped(all.len()));
    let check = unwrapped(&scratch.expect(0, &["check", "problem.toml"]).out);
    assert!(check.contains(&expected) && check.contains("(`weight` under [data])"), "{check}");
    let ran = scratch.run(&["fit", "problem.toml", "-o", "run"]);
    let fit = unwrapped(&(ran.out + &ran.err));
    assert!(fit.contains(&expected), "{fit}");
    assert!(fit.contains("Certificate on the 120 test rows, none of which equals"), "{fit}");
    scratch.expect(0, &["init", "measured.csv", "-o", "first.toml"]);
    let first = scratch.read("first.toml");
    assert!(first.contains(&expected), "{first}");
}

#[test]
fn audit_and_certify_count_copies_of_a_row_once() {
    let scratch = Scratch::new();
    scratch.write("measured.csv", &written(&measured(600, 5), |x| x.to_string()));
    scratch.write("problem.toml", MEASURED);
    scratch.run(&["fit", "problem.toml", "-q", "-o", "run"]);
    let fresh = measured(300, 6);
    let copied: Vec<_> =
        fresh.iter().flat_map(|row| std::iter::repeat_n(*row, if row.2 { 4 } else { 1 })).collect();
    scratch.write("fresh.csv", &written(&fresh, |x| x.to_string()));
    scratch.write("copied.csv", &written(&copied, |x| x.to_string()));
    let audit = |table| scratch.run(&["audit", "run", table, "--json"]).json();
    let (once, copies) = (audit("fresh.csv"), audit("copied.csv"));
    assert_eq!(copies["evaluation"], once["evaluation"]);
    assert_eq!(copies["repetition"]["rows"], copied.len());
    assert_eq!(copies["certificate"]["count"], copies["evaluation"]["rows"]);
    assert_eq!(once["repetition"], serde_json::Value::Null);
    let text = unwrapped(&scratch.run(&["audit", "run", "copied.csv"]).out);
    let counted = format!("each row was counted once: 300 of {} rows.", grouped(copied.len()));
    assert_eq!(text.matches(&counted).count(), 2, "{text}");
}

fn grouped(n: usize) -> String {
    if n < 1000 { n.to_string() } else { format!("{},{:03}", n / 1000, n % 1000) }
}

#[test]
fn training_rows_are_refused_however_they_were_exported_and_test_rows_are_not() {
    let scratch = Scratch::new();
    let rows = measured(800, 6);
    scratch.write("measured.csv", &written(&rows, |x| x.to_string()));
    scratch.write("problem.toml", MEASURED);
    let fit = scratch.run(&["fit", "problem.toml", "-q", "-o", "run"]).out;
    let heading = |text: &str| {
        let text = unwrapped(text);
        let (_, heading) = text.split_once("Certificate on").unwrap();
        let (heading, _) = heading.split_once(" requirement").unwrap();
        heading.split_once(',').map_or(String::new(), |(_, what)| what.to_string())
    };
    type Export = fn(f64) -> String;
    let exports: [(&str, Export); 5] = [
        ("single.csv", |x| (x as f32).to_string()),
        ("six.csv", |x| format!("{x:.6}")),
        ("three.csv", |x| format!("{x:.3}")),
        ("scientific.csv", |x| format!("{x:.2e}")),
        ("noise.csv", |x| (x + 1e-9).to_string()),
    ];
    for (name, export) in exports {
        scratch.write(name, &written(&rows, export));
        let error = scratch.refuse(&["certify", "run", name]);
        assert!(error.contains("were used in training the model"), "{name}: {error}");
    }
    // The rows that the run itself held out, as a file: the same judgement, in the same words.
    let json: serde_json::Value = serde_json::from_str(&scratch.read("run/rows.json")).unwrap();
    let held = json["test"].as_array().unwrap().iter().flat_map(|range| {
        let [first, last] = [0, 1].map(|at| range[at].as_u64().unwrap() as usize);
        rows[first..=last].to_vec()
    });
    let held: Vec<_> = held.collect();
    scratch.write("held.csv", &written(&held, |x| x.to_string()));
    let own = scratch.run(&["certify", "run"]).out;
    let file = scratch.run(&["certify", "run", "held.csv"]).out;
    assert_eq!(heading(&own), heading(&file));
    assert_eq!(heading(&own), heading(&fit));
    // One row, thousands of times.
    scratch.write("one.csv", &written(&vec![measured(1, 9)[0]; 5000], |x| x.to_string()));
    let one = scratch.run(&["certify", "run", "one.csv"]);
    assert!(!one.out.contains("CERTIFIED"), "{}", one.out);
    let error = scratch.refuse(&["monitor", "run", "one.csv"]);
    assert!(error.contains("(1 of 5,000 are distinct)"), "{error}");
    // A month counts once, however it was exported.
    let month = measured(900, 10);
    scratch.write("month.csv", &written(&month, |x| x.to_string()));
    assert!(matches!(scratch.run(&["monitor", "run", "month.csv"]).code, Some(0 | 1)));
    for (_, export) in exports {
        scratch.write("again.csv", &written(&month, export));
        let error = scratch.refuse(&["monitor", "run", "again.csv"]);
        assert!(error.contains("which was counted already"), "{error}");
    }
    scratch.write("next.csv", &written(&measured(900, 11), |x| format!("{x:.3}")));
    assert!(matches!(scratch.run(&["monitor", "run", "next.csv"]).code, Some(0 | 1)));
}

/// Three visits of each person, all alike but for the day.
fn visits(people: std::ops::Range<usize>) -> String {
    let all = support::people(people.end);
    let mut text = String::from("person,day,age,gender,city,income\n");
    for (person, line) in all.lines().skip(1).enumerate().skip(people.start) {
        for day in 0..3 {
            text += &format!("n{person},{day},{line}\n");
        }
    }
    text
}

#[test]
fn rows_of_one_unit_stay_together_and_count_as_one() {
    let scratch = Scratch::new();
    scratch.write("visits.csv", &visits(0..500));
    let problem = BY_FILE
        .replace("train = \"train.csv\"\ntest = \"test.csv\"", "file = \"visits.csv\"")
        .replace("drop = [\"id\"]\n", "")
        .replace("at_most = 0.45", "at_most = 0.5");
    let problem = format!("certify = {{ unit = \"person\", reserve = 0.3 }}\n{problem}");
    scratch.write("problem.toml", &problem);
    let fit = scratch.run(&["fit", "problem.toml", "-q", "-o", "run"]).out;
    assert!(fit.contains("Certificate on the 360 reserved rows"), "{fit}");
    assert!(fit.contains("over the draw of the 120 held-out units"), "{fit}");
    assert!(fit.contains("a random row of a random unit"), "{fit}");
    let rows: serde_json::Value = serde_json::from_str(&scratch.read("run/rows.json")).unwrap();
    for part in ["train", "reserve", "test"] {
        for range in rows[part].as_array().unwrap() {
            let [first, last] = [0, 1].map(|at| range[at].as_u64().unwrap());
            assert!(first % 3 == 0 && last % 3 == 2, "{part}: {first} to {last}");
        }
    }
    let json = scratch.run(&["certify", "run", "--json"]).json();
    assert_eq!(json["unit"], serde_json::json!({ "column": "person", "count": 120 }));
    assert_eq!(json["certificate"]["findings"][0]["rows"], 120);
    // Another day of people who were trained on.
    let again = scratch.read("visits.csv").replace(",1,", ",9,");
    scratch.write("again.csv", &again);
    let error = scratch.refuse(&["certify", "run", "again.csv"]);
    assert!(error.contains("were used in training"), "{error}");
    // New people under the numbers of others, and under new ones.
    scratch.write("fresh.csv", &visits(1000..1400));
    let ran = scratch.run(&["certify", "run", "fresh.csv"]).out;
    assert!(ran.contains("over the draw of the 400 held-out units"), "{ran}");
    let known = scratch.read("fresh.csv").replace("\nn1", "\nn");
    scratch.write("known.csv", &known);
    let error = scratch.refuse(&["certify", "run", "known.csv"]);
    assert!(error.contains("units by 'person' were used in training the model"), "{error}");
    let error = scratch.refuse(&["certify", "run", "fresh.csv", "--unit", "persn"]);
    assert!(error.contains("persn"), "{error}");
    scratch.write("problem.toml", &problem.replace("\"person\"", "\"persn\""));
    let error = scratch.refuse(&["check", "problem.toml"]);
    assert!(error.contains("did you mean 'person'"), "{error}");
}

const EITHER_WAY: &str = r#"
[data]
train = "train.csv"
test = "test.csv"
target = "income"
positive = "high"
drop = ["id", "age"]

[model]
hidden = [8]
activation = "relu"

[[requirement]]
name = "found"
rate = "recall"
at_least = 0.05

[[requirement]]
name = "some"
rate = "selection"
at_least = 0.01

[[requirement]]
name = "few"
rate = "selection"
at_most = 0.99

[[requirement]]
name = "right"
rate = "precision"
at_least = 0.1

[[requirement]]
name = "equal"
rate = "selection"
where = "gender == 'Male'"
against = "gender == 'Female'"
at_most = 0.9

[[requirement]]
name = "each"
loss = "kl"
kind = "pointwise"
at_most = 100
counterfactual = { swap = { gender = ["Male", "Female"] } }

[training]
epochs = 3
"#;

/// Weights that are finite, and outputs that are not.
#[test]
fn rows_whose_outputs_are_no_numbers_violate_every_requirement_and_are_not_predicted() {
    let scratch = by_file();
    scratch.write("problem.toml", EITHER_WAY);
    scratch.run(&["fit", "problem.toml", "-q", "-o", "run", "--no-report"]);
    let file = scratch.path("run/model.safetensors");
    let mut bytes = std::fs::read(&file).unwrap();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let tensors: serde_json::Value = serde_json::from_slice(&bytes[8..header]).unwrap();
    // Every hidden unit is infinite, and so is the output of the positive class, beside −∞.
    for layer in ["layer1.weight", "layer1.bias", "layer2.weight", "layer2.bias"] {
        let place =
            |at: usize| header + tensors[layer]["data_offsets"][at].as_u64().unwrap() as usize;
        let (from, to) = (place(0), place(1));
        let weights = bytes[from..to].chunks_exact_mut(4);
        let half = weights.len() / 2;
        for (at, weight) in weights.enumerate() {
            let large = if layer == "layer2.weight" && at < half { -3.4e38_f32 } else { 3.4e38 };
            weight.copy_from_slice(&large.to_le_bytes());
        }
    }
    std::fs::write(&file, bytes).unwrap();
    scratch.write("fresh.csv", &numbered(2000, 5000));
    for arguments in [&["certify", "run"][..], &["certify", "run", "fresh.csv"]] {
        let ran = scratch.expect(1, &[arguments, &["--json"]].concat()).json();
        let findings = ran["certificate"]["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 6);
        for finding in findings {
            assert_eq!(finding["verdict"], "VIOLATED", "{arguments:?}: {finding}");
        }
        let text = scratch.expect(1, arguments).out;
        assert!(!text.contains("CERTIFIED") && !text.contains("100 %  MET"), "{text}");
    }
    let audit = scratch.run(&["audit", "run", "fresh.csv", "--json"]);
    assert_eq!(audit.code, Some(1), "{}{}", audit.out, audit.err);
    let audit = audit.json();
    for requirement in audit["evaluation"]["requirements"].as_array().unwrap() {
        assert_eq!(requirement["met"], false, "{requirement}");
    }
    assert_eq!(audit["evaluation"]["accuracy"], 0.0);
    let monitor = scratch.expect(1, &["monitor", "run", "fresh.csv", "--json"]).json();
    let text = monitor.to_string();
    assert!(!text.contains("CERTIFIED") && !text.contains("\"holds\""), "{text}");
    let error = scratch.refuse(&["predict", "run", "fresh.csv"]);
    assert!(error.contains("fresh.csv") && error.contains("row 0"), "{error}");
    assert!(error.contains("not a finite number"), "{error}");
}

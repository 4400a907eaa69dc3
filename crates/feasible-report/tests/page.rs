//! The page of real runs: complete, self-contained, and harmless whatever names are in it.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::fs;
use std::path::Path;

use feasible_data::DataSet;
use feasible_problem::{Plan, ProblemSource};
use feasible_report::hard::{Among, Data};
use feasible_report::{Error, Options, Report, Run};
use feasible_run::{FitOptions, fit};
use tempfile::TempDir;

fn trained(problem: &str, settings: &[&str]) -> TempDir {
    let scratch = TempDir::new().unwrap();
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let plan =
        Plan::check(&ProblemSource::open(problem).unwrap().with_overrides(&settings)).unwrap();
    let options = FitOptions { directory: Some(scratch.path().into()), ..FitOptions::default() };
    fit(&plan, &options, &|_| {}).unwrap();
    scratch
}

/// Nothing runs, nothing is loaded, tags of a kind are balanced.
fn harmless(page: &str) {
    assert!(page.contains("default-src 'none'"));
    for forbidden in
        ["<script", "javascript:", "onerror=", "onload=", "<img", "<iframe", "@import", "url("]
    {
        let found = page.match_indices(forbidden).next();
        assert_eq!(found, None, "{forbidden}");
    }
    // The only addresses are names of formats and the empty icon.
    for (at, _) in page.match_indices("href=\"") {
        let target = &page[at + 6..];
        assert!(target.starts_with('#') || target.starts_with("data:,"), "{}", &target[..30]);
    }
    for tag in
        ["svg", "table", "figure", "section", "details", "bdi", "text", "g", "div", "tr", "td"]
    {
        let open =
            page.matches(&format!("<{tag} ")).count() + page.matches(&format!("<{tag}>")).count();
        assert_eq!(open, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

#[test]
fn average_requirements_are_ranked_and_priced() {
    let run = trained("compas", &["training.epochs=4"]);
    let report = Report::of(run.path()).unwrap();
    harmless(report.html());
    let html = report.html();
    assert!(html.contains("met on the test rows"));
    // A verdict on each.
    assert_eq!(html.matches("<td data-label=\"verdict\"><span class=\"pill").count(), 13);
    assert!(html.contains("Training multipliers of the average requirements"));
    assert!(html.contains("Multipliers moved by Adam"));
    // The problem file has lines.
    assert!(html.contains("\n[data]\nsource = &quot;compas&quot;\n"), "{html}");
    for table in Run::open(run.path()).unwrap().info.tables {
        assert!(html.contains(&table.sha256));
    }
    let names: Vec<&str> = report.figures().iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names[..6], ["mu", "objective", "violations", "multipliers", "gap", "times"]);
    assert_eq!(names[6..], ["rates-1", "rates-2", "calibration", "thresholds"]);
    // The same files, the same page.
    assert_eq!(Report::of(run.path()).unwrap().html(), html);
}

/// People whose columns and categories are markup, or hide text.
fn markup(requirements: &str, more: &str) -> TempDir {
    let scratch = TempDir::new().unwrap();
    let mut csv = String::from("<script>alert(1)</script>,a\u{202e}b,score,income\n");
    for n in 0..120 {
        let group = ["</td><img src=x onerror=alert(1)>", "{{ 7 * 7 }}", "tiny"];
        let group = if n == 5 { group[2] } else { group[n % 2] };
        let income = if (n * 7) % 10 > 4 { "<b>high" } else { "low" };
        csv += &format!("{group},{},{},{income}\n", n % 3, n % 40);
    }
    fs::write(scratch.path().join("people.csv"), csv).unwrap();
    let problem = format!(
        "[data]\nfile = \"people.csv\"\ntarget = \"income\"\npositive = \"<b>high\"\nunseen = \"other\"\n\
         split = {{ test = 0.5, seed = 1 }}\n\n[model]\nhidden = [2]\n\n{requirements}\n\
         [training]\nepochs = 2\n{more}"
    );
    let file = scratch.path().join("problem.toml");
    fs::write(&file, problem).unwrap();
    let plan = Plan::check(&ProblemSource::open(file.to_str().unwrap()).unwrap()).unwrap();
    let directory = Some(scratch.path().join("run"));
    fit(&plan, &FitOptions { directory, ..FitOptions::default() }, &|_| {}).unwrap();
    scratch
}

const FLOOR: &str = "[[requirement]]\nname = \"floor\"\nrate = \"selection\"\nat_least = 0.01\n\
    where = \"score >= 20\"\n";

#[test]
fn groups_costs_and_data_are_on_the_page_and_their_names_are_text() {
    let report = "[report]\ngroups = [\"<script>alert(1)</script>\", \"a\u{202e}b\"]\n";
    let scratch = markup(FLOOR, report);
    let made = Report::of(&scratch.path().join("run")).unwrap();
    let page = made.html();
    harmless(&page.replace("&lt;script", "").replace("&lt;img src=x onerror=", ""));
    for shown in [
        "Who gets what",
        "The price of the requirements",
        "Without the requirements the same recipe reaches an accuracy of",
        "By <bdi>score</bdi>",
        "<bdi>≥ 20</bdi>",
        "&lt;script&gt;alert(1)",
        "too few rows to judge",
        "predicted <bdi>&lt;b&gt;high</bdi>",
        "Calibration",
        "Rates against the threshold",
        "The data",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(!page.contains("49") || page.contains("{{ 7"), "a category was taken for a template");
    assert!(!page.contains('\u{202e}'));
}

#[test]
fn without_a_baseline_the_page_says_how_to_get_one_and_without_requirements_nothing() {
    let scratch = markup(FLOOR, "[report]\nbaseline = false\n");
    let report = Report::of(&scratch.path().join("run")).unwrap();
    assert!(report.html().contains("feasible fit --baseline"));
    assert!(!report.html().contains("The price of the requirements"));
    let scratch = markup("", "");
    let report = Report::of(&scratch.path().join("run")).unwrap();
    harmless(&report.html().replace("&lt;script", "").replace("&lt;img src=x onerror=", ""));
    assert!(!report.html().contains("baseline"));
    assert!(report.html().contains("No requirement names a column."));
}

#[test]
fn pointwise_requirements_show_how_lambda_is_spread_and_who_has_most() {
    let run = trained("adult", &["training.epochs=2", "data.split.validation=0.0"]);
    let read = Run::open(run.path()).unwrap();
    let [gender] = read.multipliers.as_slice() else { panic!() };
    assert!(gender.pointwise && gender.points.len() == 32_561);
    let largest = gender.largest(10);
    assert!(largest.is_sorted_by(|a, b| a.multiplier >= b.multiplier));
    assert!(gender.points.iter().all(|p| p.multiplier <= largest[0].multiplier));
    // The page agrees with what the run itself says of its multipliers.
    let standing = &read.summary.train.requirements[0];
    assert!((gender.at_zero() - standing.multipliers_at_zero.unwrap()).abs() < 1e-12);
    assert_eq!(Some(largest[0].multiplier), standing.largest_multiplier);
    let report = Report::of(run.path()).unwrap();
    harmless(report.html());
    assert!(report.html().len() < 400_000);
    // Groups are those of the data, counted by hand for one of them.
    let data = Data::of(&read).unwrap();
    let options = Options { among: Among::All, ..Options::default() };
    let hard = data.hard(gender, &options, 3).unwrap();
    assert_eq!((hard.population, hard.hardest.members.len()), (32_561, 6_513));
    let (table, split) = DataSet::adult().load().unwrap();
    let column = table.column("race").unwrap();
    let white = |row: u32| column.text(row as usize).as_deref() == Some("White");
    let group = hard.groups.iter().find(|g| g.name == "race = White").unwrap();
    assert_eq!(group.among_all, split.train.iter().filter(|&&row| white(row)).count());
    let hardest = hard.hardest.members.iter().map(|&at| gender.points[at as usize].row.unwrap());
    assert_eq!(group.among_hardest, hardest.filter(|&row| white(row as u32)).count());
    // Every category of a column is a group: together they are everybody, hard or not.
    for column in ["gender", "age", "race", "education"] {
        let prefix = format!("{column} ");
        let of = || hard.groups.iter().filter(|g| g.name.starts_with(&prefix));
        assert_eq!(of().map(|g| g.among_all).sum::<usize>(), 32_561, "{column}");
        assert_eq!(of().map(|g| g.among_hardest).sum::<usize>(), 6_513, "{column}");
    }
    // Individuals are shown as they stand in the data.
    let row = largest[0].row.unwrap() as usize;
    let at = hard.columns.iter().position(|c| c == "race").unwrap();
    assert_eq!(Some(&hard.individuals[0][at]), column.text(row).as_ref());
}

#[test]
fn data_that_changed_or_went_are_not_guessed_at() {
    let run = trained("adult", &["training.epochs=1"]);
    harder(run.path(), |_| false);
    let info = run.path().join("run.json");
    let text = fs::read_to_string(&info).unwrap();
    fs::write(&info, text.replace("539e6ab2", "00000000")).unwrap();
    let report = Report::of(run.path()).unwrap();
    assert!(report.html().contains("The data have changed since the run."));
    assert!(!report.html().contains("over-represented"));
    let problem = run.path().join("problem.toml");
    let text = fs::read_to_string(&problem).unwrap();
    fs::write(&problem, text.replace("source = \"adult\"", "file = \"gone.csv\"")).unwrap();
    let report = Report::of(run.path()).unwrap();
    assert!(report.html().contains("The data could not be read again"));
}

#[test]
fn what_held_out_rows_certify_stands_beside_the_requirement() {
    let run = trained("adult", &["training.epochs=2"]);
    let report = Report::of(run.path()).unwrap();
    let html = report.html();
    assert!(html.contains("<th scope=\"col\">certificate</th>"));
    let summary = Run::open(run.path()).unwrap().summary;
    let certificate = &summary.certificate.as_ref().unwrap().certificate;
    let finding = &certificate.findings[0];
    let verdict = finding.verdict.to_string().to_lowercase();
    assert!(html.contains(&format!("</span>{verdict}</span></td>")), "{verdict}");
    assert!(html.contains("With a confidence of 95\u{a0}%, the requirement holds for the population that the 16,281 test rows"));
    let bound = feasible_run::certify::bound(certificate, finding).unwrap();
    assert!(html.contains(&format!("<td data-label=\"bound\">{bound}</td>")), "{bound}");
    // Of one requirement, nothing is shared.
    assert!(!html.contains("Holm's method") && !html.contains("Bonferroni"));
    let card = report.card().unwrap();
    assert!(card.contains(&format!("| {verdict} | all but ")), "{card}");
    // Of COMPAS nothing can be: KL has no upper bound. What is proven of the clipped loss stands there instead.
    let run = trained("compas", &["training.epochs=1"]);
    let report = Report::of(run.path()).unwrap();
    for text in [report.html(), report.card().unwrap()] {
        assert!(text.contains("certifies the mean of a loss that has no upper bound"), "{text}");
        assert!(
            text.contains("if losses above B = ") && text.contains("of its population are above B")
        );
        assert!(!text.contains("certified together"));
    }
}

#[test]
fn requirements_with_a_multiplier_of_0_are_named() {
    let run = trained("compas", &["training.epochs=1"]);
    let file = run.path().join("summary.json");
    let mut summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let requirements = summary["train"]["requirements"].as_array_mut().unwrap();
    let names: Vec<String> =
        requirements.iter().map(|r| r["name"].as_str().unwrap().to_string()).collect();
    for (at, requirement) in requirements.iter_mut().enumerate() {
        requirement["multiplier"] = if at < 2 { 0.0.into() } else { serde_json::Value::Null };
    }
    fs::write(&file, summary.to_string()).unwrap();
    let html = Report::of(run.path()).unwrap().html().to_string();
    assert!(
        html.contains("2 of 13 multipliers are 0: those requirements do not hold this model back")
    );
    assert!(!html.contains("would still be a solution"));
    // What all names begin with is left out.
    let short = |name: &str| name.replace("invariance: ", "");
    let named = format!("<bdi>{}</bdi>, <bdi>{}</bdi>.", short(&names[0]), short(&names[1]));
    assert!(html.contains(&named), "{named}");
    // Multipliers that the gradients do not determine predict nothing.
    assert!(!html.contains("The price of each requirement"), "{html}");
    // Verified prices that say otherwise are not passed over.
    assert!(!html.contains("Re-solving contradicts"));
    let price = |name: &str, relaxed: f64, stricter: f64| {
        serde_json::json!({
            "requirement": name, "multiplier": 0.0, "delta": 1e-6, "relaxed": relaxed, "stricter": stricter
        })
    };
    let prices = serde_json::json!({
        "model": Run::open(run.path()).unwrap().model_sha256, "share": 0.1,
        "objective": 0.6, "again": 0.6,
        "prices": [price(&names[0], 0.59, 0.61), price(&names[1], 0.6, 0.6)],
    });
    fs::write(run.path().join("sensitivity.json"), prices.to_string()).unwrap();
    let html = Report::of(run.path()).unwrap().html().to_string();
    let contradicted = format!("Re-solving contradicts this for <bdi>{}</bdi>:", short(&names[0]));
    assert!(html.contains(&contradicted), "{contradicted}");
}

/// Gives the run multipliers that have moved apart: 0 for one row in ten, more for those chosen.
fn harder(run: &Path, is_hard: impl Fn(u64) -> bool) {
    let [of] = &Run::open(run).unwrap().multipliers[..] else { panic!() };
    let mut csv = String::from("requirement,kind,row,counterfactual,multiplier,violation\n");
    for (at, point) in of.points.iter().enumerate() {
        let row = point.row.unwrap();
        let lambda = match (is_hard(row), at % 10) {
            (true, _) => 9.0,
            (false, 0) => 0.0,
            (false, k) => 1.0 + k as f64 / 10.0,
        };
        csv += &format!("{},pointwise,{row},,{lambda},-0.001\n", of.name);
    }
    fs::write(run.join("multipliers.csv"), csv).unwrap();
}

#[test]
fn nobody_is_called_hard_before_the_multipliers_have_moved_apart() {
    let run = trained("adult", &["training.epochs=2"]);
    let report = Report::of(run.path()).unwrap();
    let html = report.html();
    assert!(html.contains("Nobody stands out: all multipliers lie between 2"), "{html}");
    assert!(html.contains("of 2, the one this model is from."));
    for hidden in
        ["differ beyond chance", "The rows with the largest λ", "The price of each requirement"]
    {
        assert!(!html.contains(hidden), "{hidden}");
    }
    let drawn = |name: &str| report.figures().iter().any(|figure| figure.name == name);
    assert!(!drawn("groups-1") && !drawn("lambda-1"));
    assert!(!report.card().unwrap().contains("For whom it was hard"));
}

#[test]
fn who_was_hard_begins_with_a_sentence_and_the_protected_column() {
    let run = trained("adult", &["training.epochs=1"]);
    let (table, _) = DataSet::adult().load().unwrap();
    let marital = table.column("marital-status").unwrap();
    harder(run.path(), |row| marital.text(row as usize).as_deref() == Some("Widowed"));
    let report = Report::of(run.path()).unwrap();
    let html = report.html();
    harmless(html);
    let sentence = html.split("<p class=\"headline\"><bdi>").nth(1).unwrap();
    assert!(sentence.starts_with("‘marital-status = Widowed’ makes up 3."), "{}", &sentence[..90]);
    assert!(sentence.contains(" % of the hardest.</bdi></p>"));
    // The column that the requirement swaps is the first, that of the hardest the second.
    let head = html.split("table class=\"cards people\"").nth(1).unwrap();
    let head = &head[..head.find("</thead>").unwrap()];
    let columns: Vec<&str> =
        head.split("<bdi>").skip(1).map(|c| &c[..c.find('<').unwrap()]).collect();
    assert_eq!(columns[..2], ["gender", "marital-status"], "{columns:?}");
    assert!(report.figures().iter().any(|figure| figure.name == "groups-1"));
}

const SEVERAL: &str = r#"
title = "Several requirements"
[data]
source = "adult"
[model]
kind = "mlp"
hidden = [4]
[[requirement]]
name = "error of older"
rate = "error"
where = "age > 52"
at_most = 0.9
[[requirement]]
name = "false alarms"
rate = "fpr"
at_most = 0.0001
[[requirement]]
name = "recall"
rate = "tpr"
at_least = 0.999
[training]
epochs = 2
"#;

fn several() -> TempDir {
    let scratch = TempDir::new().unwrap();
    let plan = Plan::check(&ProblemSource::new("several.toml", SEVERAL)).unwrap();
    let options = FitOptions { directory: Some(scratch.path().into()), ..FitOptions::default() };
    fit(&plan, &options, &|_| {}).unwrap();
    scratch
}

#[test]
fn what_is_not_met_is_named_first_and_has_a_next_step() {
    let run = several();
    let report = Report::of(run.path()).unwrap();
    let html = report.html();
    harmless(html);
    let banner = html.split("class=\"verdict missed\"").nth(1).unwrap();
    let banner = &banner[..banner.find("</header>").unwrap()];
    assert!(banner.contains(" not met on the test rows."), "{banner}");
    let failed: Vec<String> = Run::open(run.path())
        .unwrap()
        .summary
        .test
        .unwrap()
        .requirements
        .into_iter()
        .filter(|r| !r.met)
        .map(|r| r.name)
        .collect();
    assert!(!failed.is_empty() && !failed.contains(&"error of older".into()), "{failed:?}");
    assert!(failed.iter().all(|name| banner.contains(name.as_str())), "{banner}");
    // In the table, in the certificate: failures before the one that is met.
    for section in ["id=\"requirements\"", "id=\"certain\""] {
        let part = html.split(section).nth(1).unwrap();
        let place = |name: &str| part.find(&format!("<bdi>{name}</bdi>")).unwrap();
        assert!(failed.iter().all(|name| place(name) < place("error of older")), "{section}");
        assert!(part[..place("error of older")].contains("Next step."), "{section}");
    }
    assert!(html.contains("This model would meet a limit of"));
    // One table, and a word about the two methods.
    let certain = html.split("id=\"certain\"").nth(1).unwrap();
    let certain = &certain[..certain.find("</section>").unwrap()];
    assert_eq!(certain.matches("<tbody class=\"entry\">").count(), 3);
    assert!(certain.contains("that may go wrong, by Holm") && certain.contains("are Bonferroni"));
    let card = report.card().unwrap();
    assert!(
        card.contains(" not met on the test rows.**") && card.contains("| **not met** |"),
        "{card}"
    );
}

#[test]
fn contents_and_glossary_lead_to_what_is_there() {
    let run = several();
    let report = Report::of(run.path()).unwrap();
    let html = report.html();
    for (at, _) in html.match_indices("href=\"#") {
        let id = html[at + 7..].split('"').next().unwrap();
        assert_eq!(html.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
    }
    let contents = html.split("aria-label=\"Contents\"").nth(1).unwrap();
    let contents = &contents[..contents.find("</nav>").unwrap()];
    assert_eq!(contents.matches("<li>").count(), html.matches("<h2 id=").count());
    assert!(html.contains("<dt id=\"term-limit\">limit</dt>"));
}

#[test]
fn a_report_of_a_plan_at_hand_is_the_same() {
    let scratch = TempDir::new().unwrap();
    let quick = ["training.epochs=1".to_string()];
    let plan = Plan::check(&ProblemSource::open("adult").unwrap().with_overrides(&quick)).unwrap();
    let options = FitOptions { directory: Some(scratch.path().into()), ..FitOptions::default() };
    fit(&plan, &options, &|_| {}).unwrap();
    let (read, at_hand) =
        (Report::of(scratch.path()).unwrap(), Report::of_plan(scratch.path(), &plan).unwrap());
    assert_eq!(read.html(), at_hand.html());
    assert_eq!(read.card(), at_hand.card());
}

#[test]
fn a_problem_without_requirements_says_so() {
    let run = trained("adult-unconstrained", &["training.epochs=1"]);
    let report = Report::of(run.path()).unwrap();
    harmless(report.html());
    assert!(report.html().contains("<p><bdi>No requirements were stated.</bdi></p>"));
    for text in [report.html(), report.card().unwrap()] {
        for wrong in [
            "What made it hard",
            "requirement is met",
            "requirements are met",
            "not met",
            "green band",
        ] {
            assert!(!text.contains(wrong), "{wrong}");
        }
    }
    assert!(report.card().unwrap().contains("**No requirements were stated.**"));
}

/// Replaces a text in all files of a run that people read.
fn rename(run: &Path, from: &str, to: &str) {
    for file in ["summary.json", "metrics.jsonl", "run.json"] {
        let quoted = serde_json::to_string(to).unwrap();
        let text = fs::read_to_string(run.join(file)).unwrap();
        fs::write(run.join(file), text.replace(from, quoted.trim_matches('"'))).unwrap();
    }
    let mut out = csv::Writer::from_path(run.join("renamed.csv")).unwrap();
    let mut reader = csv::Reader::from_path(run.join("multipliers.csv")).unwrap();
    out.write_record(reader.headers().unwrap()).unwrap();
    for record in reader.records() {
        out.write_record(record.unwrap().iter().map(|cell| cell.replace(from, to))).unwrap();
    }
    out.flush().unwrap();
    fs::rename(run.join("renamed.csv"), run.join("multipliers.csv")).unwrap();
}

#[test]
fn hostile_names_are_harmless_text() {
    let run = trained("compas", &["training.epochs=2"]);
    let hostile = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "'; DROP TABLE people; --{{ 7*7 }}{% raw %}",
        "\u{202e}desrever\u{2066}",
        "=HYPERLINK(\"x\")\u{1b}]0;x\u{7}\u{9b}2J\u{200b}\n\t",
        "مرحبا بالعالم",
        "😀👩‍👩‍👧‍👦",
    ];
    let names: Vec<String> = Run::open(run.path())
        .unwrap()
        .summary
        .train
        .requirements
        .iter()
        .map(|r| r.name.clone())
        .collect();
    for (name, to) in names.iter().rev().zip(hostile) {
        rename(run.path(), name, to);
    }
    rename(run.path(), &names[0], &"W".repeat(10_000));
    let title = format!(
        "title = {}\n",
        serde_json::to_string("</title><script>alert(1)</script>").unwrap()
    );
    let problem = fs::read_to_string(run.path().join("problem.toml")).unwrap();
    let (_, rest) = problem.split_once('\n').unwrap();
    fs::write(run.path().join("problem.toml"), title + rest).unwrap();
    let report = Report::of(run.path()).unwrap();
    // What was a tag is text now; nothing but text contains these words.
    let html = report.html().replace("&lt;script", "").replace("&lt;img src=x onerror=", "");
    harmless(&html);
    assert!(report.html().contains("{{ 7*7 }}"));
    let hidden = |c: char| c != '\n' && feasible_data::is_hidden(c);
    assert!(!report.html().contains(hidden) && !report.card().unwrap().contains(hidden));
    assert!(report.html().contains(r"\u{202e}desrever\u{2066}"));
    assert!(report.html().contains(r"\u{1b}]0;x\u{7}\u{9b}2J\u{200b}\n\t"));
    assert!(!report.html().contains(&"W".repeat(1_000)));
    assert!(report.html().contains("😀"));
    // Neither a tag nor a new cell nor a link in the card.
    let card = report.card().unwrap();
    assert!(!card.contains("<script") && !card.contains("<img") && !card.contains('\u{202e}'));
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    for line in card.lines().filter(|line| line.contains("average")) {
        assert_eq!(cells(line), 9, "{line}");
    }
    // Nor in a comparison of two.
    let two = [run.path().to_path_buf(), run.path().to_path_buf()];
    let both = Report::compare(&two).unwrap();
    harmless(&both.html().replace("&lt;script", "").replace("&lt;img src=x onerror=", ""));
    for figure in report.figures() {
        assert!(!figure.svg().contains("<script") && !figure.svg().contains("<img"));
    }
}

#[test]
fn numbers_that_are_not_finite_leave_gaps() {
    let run = trained("compas", &["training.epochs=3"]);
    let metrics = run.path().join("metrics.jsonl");
    let text = fs::read_to_string(&metrics).unwrap();
    let (first, _) = text.split_once(",\"penalty\"").unwrap();
    let (head, _) = first.rsplit_once(':').unwrap();
    fs::write(&metrics, text.replacen(first, &format!("{head}:null"), 1)).unwrap();
    assert!(Run::open(run.path()).unwrap().epochs[0].objective.is_nan());
    harmless(Report::of(run.path()).unwrap().html());
}

#[test]
fn a_million_multipliers_give_a_small_page_in_seconds() {
    let run = trained("compas", &["training.epochs=1"]);
    let mut csv = String::from("requirement,kind,row,counterfactual,multiplier,violation\n");
    for row in 0..1_000_000_u32 {
        let lambda = if row % 5 == 0 { f64::from(row % 1013) / 7.0 } else { 0.0 };
        csv += &format!("everyone,pointwise,{row},,{lambda},-0.001\n");
    }
    fs::write(run.path().join("multipliers.csv"), csv).unwrap();
    let report = Report::of(run.path()).unwrap();
    assert!(report.html().len() < 2_000_000, "{}", report.html().len());
    assert!(report.html().contains("1,000,000 multipliers"));
}

#[test]
fn what_is_no_finished_run_is_named() {
    let scratch = TempDir::new().unwrap();
    let error = Report::of(scratch.path()).unwrap_err();
    assert!(
        matches!(error, Error::Run(feasible_run::Error::NotARun { missing: "run.json", .. })),
        "{error}"
    );
    let error = Report::of(&scratch.path().join("nowhere")).unwrap_err();
    assert!(matches!(error, Error::Run(feasible_run::Error::NotARun { .. })), "{error}");
    let run = trained("compas", &["training.epochs=1"]);
    fs::write(run.path().join("multipliers.csv"), "requirement,kind,row\nx,pointwise,1\n").unwrap();
    let error = Report::of(run.path()).unwrap_err();
    assert!(error.to_string().contains("multipliers.csv, line 2, is damaged"), "{error}");
    fs::write(run.path().join("summary.json"), "{").unwrap();
    let error = Report::of(run.path()).unwrap_err();
    assert!(matches!(error, Error::Run(feasible_run::Error::Damaged { .. })), "{error}");
    fs::remove_file(run.path().join("summary.json")).unwrap();
    let error = Report::of(run.path()).unwrap_err();
    assert!(error.to_string().contains("cut short after 1 epoch:"), "{error}");
}

//! Runs whose files were changed: a page or an error that names the file, never a panic.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::fs;
use std::path::Path;

use crate::depth::depth;
use feasible_problem::{Plan, ProblemSource};
use feasible_report::Report;
use feasible_run::{FitOptions, files, fit};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A small run: some people, one requirement for each of them and one on average.
fn trained() -> TempDir {
    let scratch = TempDir::new().unwrap();
    let mut csv = String::from("age,gender,income\n");
    for n in 0..90 {
        let gender = ["Male", "Female"][n % 2];
        let income = if (n * 7) % 10 > 4 { "high" } else { "low" };
        csv += &format!("{},{gender},{income}\n", 20 + n % 40);
    }
    fs::write(scratch.path().join("people.csv"), csv).unwrap();
    let problem = "[data]\nfile = \"people.csv\"\ntarget = \"income\"\npositive = \"high\"\n\
        split = { validation = 0.2, test = 0.2, seed = 1 }\n\n[model]\nhidden = [2]\n\n\
        [[requirement]]\nname = \"gender\"\nloss = \"kl\"\nkind = \"pointwise\"\nat_most = 0.1\n\
        counterfactual = { swap = { gender = [\"Male\", \"Female\"] } }\n\n\
        [[requirement]]\nname = \"errors\"\nrate = \"error\"\nat_most = 0.9\n\n[training]\nepochs = 2\n";
    let file = scratch.path().join("problem.toml");
    fs::write(&file, problem).unwrap();
    let plan = Plan::check(&ProblemSource::open(file.to_str().unwrap()).unwrap()).unwrap();
    let directory = Some(scratch.path().join("run"));
    fit(&plan, &FitOptions { directory, ..FitOptions::default() }, &|_| {}).unwrap();
    scratch
}

/// Where values and lists of a tree are.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    if !value.is_object() {
        out.push(at.to_string());
    }
    match value {
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, v)| places(v, &format!("{at}/{i}"), out));
        }
        Value::Object(map) => map.iter().for_each(|(key, v)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            places(v, &format!("{at}/{key}"), out);
        }),
        _ => {}
    }
}

fn reported(run: &Path) -> bool {
    match Report::of(run) {
        Ok(report) => !report.html().is_empty(),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

#[test]
fn a_run_with_any_value_changed_is_a_page_or_an_error() {
    let scratch = trained();
    let run = scratch.path().join("run");
    assert!(reported(&run));
    let values =
        [json!(0), json!(-1), json!(u64::MAX), json!(1e308), Value::Null, json!("<b>"), json!([])];
    let (mut pages, mut all) = (0, 0);
    let names = [
        files::SUMMARY,
        files::RUN,
        files::METRICS,
        files::TIMINGS,
        files::GROUPS,
        files::BASELINE,
    ];
    for name in names {
        let file = run.join(name);
        let text = fs::read_to_string(&file).unwrap();
        // Of the files with a line for each epoch, the first line is changed.
        let (first, rest) = match name {
            files::METRICS | files::TIMINGS => text.split_once('\n').unwrap(),
            _ => (text.as_str(), ""),
        };
        let tree: Value = serde_json::from_str(first).unwrap();
        let mut at = Vec::new();
        places(&tree, "", &mut at);
        // Every fifth place, all of them in `./check all`; another value at the next.
        let stride = if depth() > 1 { 1 } else { 5 };
        for (n, at) in at.iter().enumerate().step_by(stride) {
            let mut changed = tree.clone();
            *changed.pointer_mut(at).unwrap() = values[n % values.len()].clone();
            fs::write(&file, format!("{changed}\n{rest}")).unwrap();
            all += 1;
            pages += usize::from(reported(&run));
        }
        fs::write(&file, text).unwrap();
    }
    assert!(all > 100 && pages > 0 && pages < all, "{pages} of {all}");
}

#[test]
fn a_run_with_a_file_cut_short_is_a_page_or_an_error() {
    let scratch = trained();
    let run = scratch.path().join("run");
    for name in [
        files::SUMMARY,
        files::RUN,
        files::METRICS,
        files::MODEL,
        files::MULTIPLIERS,
        files::PROBLEM,
        files::GROUPS,
        files::BASELINE,
    ] {
        let file = run.join(name);
        let bytes = fs::read(&file).unwrap();
        for part in 0..8 {
            fs::write(&file, &bytes[..part * bytes.len() / 8]).unwrap();
            reported(&run);
        }
        fs::write(&file, bytes).unwrap();
    }
    assert!(reported(&run));
}

/// A small run on images with an adversary.
fn images() -> TempDir {
    let scratch = TempDir::new().unwrap();
    let problem = "[data]\nsource = \"fashion-mnist-sample\"\nper_class = { train = 6, validation = 1, test = 2 }\n\n\
        [model]\nkind = \"cnn\"\n\n[[requirement]]\nname = \"robust\"\nloss = \"cross-entropy\"\nat_most = 2.0\n\
        adversary = { epsilon = 0.05, steps = 1 }\n\n[training]\nepochs = 2\n\n\
        [evaluation]\nattack = { steps = 2, restarts = 1 }\n";
    let plan = Plan::check(&ProblemSource::new("images.toml", problem)).unwrap();
    let directory = Some(scratch.path().join("run"));
    fit(&plan, &FitOptions { directory, ..FitOptions::default() }, &|_| {}).unwrap();
    scratch
}

#[test]
fn attacked_images_of_a_stranger_are_a_page_or_an_error() {
    let scratch = images();
    let run = scratch.path().join("run");
    let page = Report::of(&run).unwrap();
    assert!(page.html().contains("<img src=\"data:image/png;base64,iVBOR"), "{}", page.html());
    let [name, sheet] = files::ADVERSARY.map(|name| run.join(name));
    let text = fs::read_to_string(&name).unwrap();
    let tree: Value = serde_json::from_str(&text).unwrap();
    let values =
        [json!(0), json!(-1), json!(u64::MAX), json!(1e308), Value::Null, json!("<b>"), json!([])];
    let mut at = Vec::new();
    places(&tree, "", &mut at);
    for (n, at) in at.iter().enumerate() {
        for value in [&values[n % values.len()], &values[(n + 3) % values.len()]] {
            let mut changed = tree.clone();
            *changed.pointer_mut(at).unwrap() = value.clone();
            fs::write(&name, changed.to_string()).unwrap();
            reported(&run);
        }
    }
    fs::write(&name, text).unwrap();
    // Pictures that are none of ours are left out.
    let bytes = fs::read(&sheet).unwrap();
    let svg = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>";
    for wrong in [&bytes[..bytes.len() / 2], &svg[..], &[0xff, 0xd8, 0xff], &[]] {
        fs::write(&sheet, wrong).unwrap();
        let page = Report::of(&run).unwrap();
        assert!(!page.html().contains("<img"), "{}", page.html());
        assert!(page.html().contains("still recognised under attack"));
    }
    fs::remove_file(&sheet).unwrap();
    assert!(!Report::of(&run).unwrap().html().contains("<img"));
}

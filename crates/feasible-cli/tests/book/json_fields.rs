//! The fields of what `--json` prints and of the JSON files of a run, found by looking at them.
//!
//! Their meanings are kept in the page itself: the table is written again with the meanings that it had, and a field
//! without one is marked `?`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::support::{IMPOSSIBLE, PROBLEM, Scratch, numbered};

const HEAD: &str = "<!-- Fields are written by `UPDATE_BOOK=1 cargo test -p feasible-cli --test book`; meanings are edited here and kept. -->\n\n\
# JSON fields\n\n\
What `--json` prints for each command, and the JSON files of a run directory. `[]` stands for every element of a list. A field that a run has no\n\
use for is absent or null: accuracy of a regression, say. Ignore fields that you do not know: later versions may add some.\n";

/// A part that occurs in several places has one section: its name, and the last name of the paths that lead to it.
const SHARED: [(&str, &[&str]); 4] = [
    ("An evaluation", &["train", "validation", "test", "evaluation", "reserve"]),
    ("A certificate", &["certificate"]),
    ("A summary", &["summary"]),
    ("A problem", &["resolved", "space", "settings"]),
];

type Fields = BTreeMap<String, BTreeSet<&'static str>>;

/// The page, with the meanings of the old one.
pub fn json_page(old: &str) -> String {
    let mut sections: Vec<(String, Fields)> = Vec::new();
    let mut look = |title: &str, values: &[Value]| {
        for value in values {
            record(&mut sections, title, value);
        }
    };
    let scratch = Scratch::new();
    scratch.write("certified.toml", &format!("certify = {{ confidence = 0.9, all_but = 0.1 }}\n{PROBLEM}"));
    scratch.write("impossible.toml", &format!("{PROBLEM}{IMPOSSIBLE}"));
    scratch.write("more.csv", &numbered(300, 5000));
    let regression = PROBLEM.split("[[requirement]]").next().unwrap();
    let regression = regression.replace("\"income\"", "\"age\"").replace("positive = \"high\"\n", "");
    scratch.write("numbers.toml", &(regression + "[training]\nepochs = 3\n"));
    let json = |arguments: &[&str]| {
        let ran = scratch.run(&[arguments, &["--json", "-q"]].concat());
        assert!(matches!(ran.code, Some(0 | 1)), "{arguments:?}: {}", ran.err);
        ran.json()
    };
    let fits = ["problem", "certified", "impossible", "numbers"];
    let fits: Vec<Value> = fits
        .iter()
        .map(|name| json(&["fit", &format!("{name}.toml"), "-o", &format!("runs/{name}")]))
        .collect();
    look("`fit`, `resume`", &fits);
    let file = |name: &str| -> Value {
        serde_json::from_str(&scratch.read(&format!("runs/problem/{name}"))).unwrap()
    };
    let line = |name: &str| -> Value {
        serde_json::from_str(scratch.read(&format!("runs/problem/{name}")).lines().next().unwrap()).unwrap()
    };
    look("`predict`", &[json(&["predict", "runs/problem", "people.csv"]), json(&["predict", "runs/numbers", "people.csv"])]);
    look("`audit`", &[json(&["audit", "runs/problem", "more.csv"])]);
    look("`certify`", &[json(&["certify", "runs/problem", "more.csv"])]);
    look("`monitor`", &[json(&["monitor", "runs/problem", "more.csv"])]);
    look("`attack`", &[json(&["attack", "runs/problem", "people.csv", "--epsilons", "0,0.1", "--steps", "2"])]);
    look("`bound`", &[json(&["bound", "problem.toml", "--limit", "0.05"])]);
    look("`check`", &[json(&["check", "problem.toml"])]);
    look("`init`", &[json(&["init", "people.csv", "--target", "income", "-o", "new.toml"])]);
    let sweep = ["sweep", "problem.toml", "--requirement", "gender", "--limits", "0.1,0.5"];
    look("`sweep`", &[json(&[&sweep[..], &["-o", "runs/sweep", "--set", "training.epochs=2"]].concat())]);
    let tune = ["tune", "problem.toml", "--trials", "3", "-o", "runs/tuned", "--set", "training.epochs=2"];
    look("`tune`", &[json(&tune)]);
    look("`report`", &[json(&["report", "runs/problem"])]);
    look("`export`", &[json(&["export", "runs/problem"])]);
    look("`data list`", &[json(&["data", "list"])]);
    look("`data show`", &[json(&["data", "show", "adult"])]);
    look("`run.json`", &[file("run.json")]);
    look("`rows.json`", &[file("rows.json")]);
    look("`metrics.jsonl`, each line", &[line("metrics.jsonl")]);
    look("`timings.jsonl`, each line", &[line("timings.jsonl")]);
    write(&sections, &meanings(old))
}

fn section<'a>(sections: &'a mut Vec<(String, Fields)>, title: &str) -> &'a mut Fields {
    let at = sections.iter().position(|(known, _)| known == title).unwrap_or_else(|| {
        sections.push((title.to_string(), Fields::new()));
        sections.len() - 1
    });
    &mut sections[at].1
}

fn record(sections: &mut Vec<(String, Fields)>, title: &str, value: &Value) {
    section(sections, title);
    walk(sections, title, "", value);
}

fn walk(sections: &mut Vec<(String, Fields)>, title: &str, path: &str, value: &Value) {
    let mut note = |kind: &'static str| {
        if !path.is_empty() && !path.ends_with("[]") {
            section(sections, title).entry(path.to_string()).or_default().insert(kind);
        }
    };
    match value {
        Value::Null => note("null"),
        Value::Bool(_) => note("true or false"),
        Value::Number(_) => note("number"),
        Value::String(_) => note("text"),
        Value::Array(values) => {
            note("list");
            for value in values {
                walk(sections, title, &format!("{path}[]"), value);
            }
        }
        Value::Object(fields) => {
            let last = path.rsplit('.').next().unwrap_or_default();
            // What `certify` prints is itself a certificate, and a sweep keeps less than evaluations.
            let inside = |name: &str| name == title || matches!(title, "`certify`" | "`sweep`");
            let shared = SHARED.iter().find(|(name, names)| names.contains(&last) && !inside(name));
            if let Some((name, _)) = shared {
                note(name);
                // The keys of a problem have a page of their own.
                if *name != "A problem" {
                    record(sections, name, value);
                }
                return;
            }
            for (key, value) in fields {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                walk(sections, title, &below, value);
            }
        }
    }
}

/// The meanings in a page: by section and field, and by field alone.
fn meanings(page: &str) -> BTreeMap<(String, String), String> {
    let mut meanings = BTreeMap::new();
    let mut title = "";
    for line in page.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            title = name;
        } else if let Some(rest) = line.strip_prefix("| `") {
            let Some((field, rest)) = rest.split_once("` | ") else { continue };
            let Some((_, meaning)) = rest.split_once(" | ") else { continue };
            let meaning = meaning.trim_end_matches(" |").to_string();
            if meaning != "?" {
                let last = field.rsplit('.').next().unwrap_or(field).to_string();
                meanings.entry((String::new(), last)).or_insert_with(|| meaning.clone());
                meanings.insert((title.to_string(), field.to_string()), meaning);
            }
        }
    }
    meanings
}

fn write(sections: &[(String, Fields)], meanings: &BTreeMap<(String, String), String>) -> String {
    let mut page = HEAD.to_string();
    for (title, fields) in sections {
        page += &format!("\n## {title}\n\n| field | value | meaning |\n| --- | --- | --- |\n");
        for (field, kinds) in fields {
            let last = field.rsplit('.').next().unwrap_or(field).to_string();
            let meaning = meanings
                .get(&(title.clone(), field.clone()))
                .or_else(|| meanings.get(&(String::new(), last)))
                .map_or("?", String::as_str);
            let kinds: Vec<String> = kinds.iter().map(|kind| linked(kind)).collect();
            page += &format!("| `{field}` | {} | {meaning} |\n", kinds.join(", "));
        }
    }
    page
}

/// The kind of a value, with a link to its section.
fn linked(kind: &str) -> String {
    match kind {
        "A problem" => "[keys of a problem file](problem-file.md)".to_string(),
        kind if kind.starts_with("A") => {
            let anchor = kind.to_lowercase().replace(' ', "-");
            format!("[{}](#{anchor})", kind.to_lowercase())
        }
        kind => kind.to_string(),
    }
}

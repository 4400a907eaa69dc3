//! The fields of the JSON files of a run, found by looking at them.
//!
//! Their meanings are kept in the page itself: the table is written again with the meanings that it had, and a field
//! without one is marked `?`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::support::Scratch;

const HEAD: &str = "<!-- Fields are written by `UPDATE_BOOK=1 cargo test -p feasible-cli --test book`; meanings are edited here and kept. -->\n\n\
# JSON files of a run\n\n\
The files of a [run directory](../program.md#the-run-directory) that scripts read, besides `summary.json`, which is what `fit --json` prints for each run. `[]` stands\n\
for every element of a list. Ignore fields that you do not know: later versions may add some.\n";

/// Field → what it may hold.
type Fields = BTreeMap<String, BTreeSet<&'static str>>;

/// The page, with the meanings of the old one.
pub fn run_files_page(old: &str) -> String {
    let scratch = Scratch::new();
    scratch.expect(0, &["fit", "problem.toml", "-o", "run", "-q"]);
    let meanings = meanings(old);
    let mut page = HEAD.to_string();
    for file in ["run.json", "rows.json", "metrics.jsonl", "timings.jsonl"] {
        let text = scratch.read(&format!("run/{file}"));
        let lines = file.ends_with(".jsonl");
        let first = if lines { text.lines().next().unwrap() } else { text.as_str() };
        let mut fields = Fields::new();
        walk(&mut fields, "", &serde_json::from_str(first).unwrap());
        let title = if lines { format!("{file}, each line") } else { file.to_string() };
        page += &format!("\n## {title}\n\n| field | value | meaning |\n| --- | --- | --- |\n");
        for (field, kinds) in fields {
            let meaning = meanings.get(&(title.clone(), field.clone())).map_or("?", String::as_str);
            let kinds: Vec<&str> = kinds.into_iter().collect();
            page += &format!("| `{field}` | {} | {meaning} |\n", kinds.join(", "));
        }
    }
    page
}

fn walk(fields: &mut Fields, path: &str, value: &Value) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(inner) => {
            for (key, value) in inner {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                walk(fields, &below, value);
            }
            return;
        }
    };
    if !path.ends_with("[]") {
        fields.entry(path.to_string()).or_default().insert(kind);
    }
    for value in value.as_array().into_iter().flatten() {
        walk(fields, &format!("{path}[]"), value);
    }
}

/// The meanings in a page, by section and field.
fn meanings(page: &str) -> BTreeMap<(String, String), String> {
    let mut meanings = BTreeMap::new();
    let mut title = "";
    for line in page.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            title = name;
        } else if let Some(rest) = line.strip_prefix("| `")
            && let Some((field, rest)) = rest.split_once("` | ")
            && let Some((_, meaning)) = rest.split_once(" | ")
        {
            let meaning = meaning.trim_end_matches(" |").to_string();
            meanings.insert((title.to_string(), field.to_string()), meaning);
        }
    }
    meanings
}

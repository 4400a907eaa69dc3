//! The schema of the problem file as tables of keys.

use std::collections::BTreeSet;

use serde_json::Value;

const HEAD: &str = "<!-- Written by `UPDATE_BOOK=1 cargo test -p feasible-cli --test book`: do not edit. -->\n\n# Problem file keys\n\n\
Every key of the problem file, from the schema that `feasible schema` prints. Give the schema to your editor and it completes keys\n\
and marks mistakes as you type. [The program](../program.md#the-problem-file) has a complete example and explains the requirements.\n\
`feasible check --resolved FILE` prints your file with every default filled in. Keys in bold are required.\n";

/// The whole page.
pub fn problem_page(schema: &Value) -> String {
    let mut writer =
        Writer { schema, page: HEAD.to_string(), queue: Vec::new(), seen: BTreeSet::new() };
    writer.section("The file", schema);
    while !writer.queue.is_empty() {
        let (path, definition) = writer.queue.remove(0);
        writer.section(&path, definition);
    }
    writer.page
}

struct Writer<'a> {
    schema: &'a Value,
    page: String,
    /// Sections to come: where the table stands in a file, and its schema.
    queue: Vec<(String, &'a Value)>,
    seen: BTreeSet<String>,
}

/// One line, without what only rustdoc understands, safe in a table.
fn sentence(value: &Value) -> String {
    let text = value["description"].as_str().unwrap_or_default().replace('\n', " ");
    let text = text.replace(" See the [module](self).", "").replace("[module](self)", "module");
    text.replace('|', "\\|").replace('<', "&lt;")
}

fn properties(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value["properties"].as_object().into_iter().flatten()
}

fn is_null(value: &Value) -> bool {
    value["type"] == "null"
}

impl<'a> Writer<'a> {
    fn resolve(&self, value: &'a Value) -> &'a Value {
        let schema: &'a Value = self.schema;
        match value["$ref"].as_str() {
            Some(name) => schema.pointer(name.trim_start_matches('#')).unwrap(),
            None => value,
        }
    }

    /// The alternatives of a value, null left out.
    fn alternatives(&self, value: &'a Value) -> Vec<&'a Value> {
        let value = self.resolve(value);
        match value["anyOf"].as_array().or(value["oneOf"].as_array()) {
            Some(all) => all
                .iter()
                .filter(|one| !is_null(one))
                .flat_map(|one| self.alternatives(one))
                .collect(),
            None => vec![value],
        }
    }

    /// What may stand for a key; tables get a section of their own.
    fn kind(&mut self, path: &str, value: &'a Value) -> String {
        let kinds: Vec<String> =
            self.alternatives(value).into_iter().map(|one| self.one_kind(path, one)).collect();
        let mut distinct: Vec<String> = Vec::new();
        for kind in kinds {
            if !distinct.contains(&kind) {
                distinct.push(kind);
            }
        }
        distinct.join(", ")
    }

    fn one_kind(&mut self, path: &str, value: &'a Value) -> String {
        if let Some(name) = value["const"].as_str() {
            return format!("`\"{name}\"`");
        }
        if let Some(names) = value["enum"].as_array() {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            return names.join(", ");
        }
        let types: Vec<&str> = match &value["type"] {
            Value::String(one) => vec![one],
            Value::Array(all) => {
                all.iter().filter_map(Value::as_str).filter(|t| *t != "null").collect()
            }
            _ => vec!["any"],
        };
        let named: Vec<String> =
            types.into_iter().map(|name| self.named_kind(name, path, value)).collect();
        named.join(", ")
    }

    fn named_kind(&mut self, name: &str, path: &str, value: &'a Value) -> String {
        match name {
            "string" => "text".to_string(),
            "boolean" => "true or false".to_string(),
            "integer" => "whole number".to_string(),
            "array" if value["items"].is_object() => {
                let of = self.kind(&format!("{path}[]"), &value["items"]);
                format!("list of {of}")
            }
            "array" => "list".to_string(),
            "object" if properties(value).next().is_some() => {
                if self.seen.insert(path.to_string()) {
                    self.queue.push((path.to_string(), value));
                }
                format!("[table](#{})", anchor(path))
            }
            "object" if value["additionalProperties"].is_object() => {
                let of = self.kind(&format!("{path}.NAME"), &value["additionalProperties"]);
                format!("table: name → {of}")
            }
            "object" => "table".to_string(),
            other => other.to_string(),
        }
    }

    fn section(&mut self, path: &str, value: &'a Value) {
        self.page += &format!("\n## {path}\n\n");
        let about = sentence(value);
        let about = about.trim();
        if !about.is_empty() && path != "The file" {
            self.page += &format!("{about}\n\n");
        }
        self.page += "| key | value | meaning |\n| --- | --- | --- |\n";
        let required: Vec<&str> =
            value["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut named = Vec::new();
        for (key, property) in properties(value) {
            let below = match path {
                "The file" => key.clone(),
                path => format!("{path}.{key}"),
            };
            let kind = self.kind(&below, property);
            let meaning = sentence(property);
            let bold = if required.contains(&key.as_str()) { "**" } else { "" };
            self.page += &format!("| {bold}`{key}`{bold} | {kind} | {meaning} |\n");
            let values = self.alternatives(property);
            if values
                .iter()
                .filter(|value| value["const"].is_string() && value["description"].is_string())
                .count()
                > 1
            {
                named.push((below, values));
            }
        }
        for (path, values) in named {
            self.page += &format!("\nValues of `{path}`:\n\n| value | meaning |\n| --- | --- |\n");
            for value in values {
                let name = match value["const"].as_str() {
                    Some(name) => format!("\"{name}\""),
                    None => properties(value).map(|(key, _)| format!("{{ {key} = … }}")).collect(),
                };
                if !name.is_empty() {
                    self.page += &format!("| `{name}` | {} |\n", sentence(value));
                }
            }
        }
    }
}

/// The anchor of a heading.
fn anchor(title: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    title.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

//! What is wrong with a value, in the words of the problem file: what was found, and what the schema allows there.
//!
//! serde speaks of `u64`, variants and structs; whoever writes a problem file knows numbers, text, lists and tables.

use serde_json::Value as Schema;
use toml::Value;

use crate::schema::problem_schema;
use crate::text::grouped;

/// Words that only somebody who knows the program's types understands.
const OF_TYPES: [&str; 10] = [
    "invalid type",
    "invalid value",
    "invalid length",
    "did not match any variant",
    "unknown variant",
    "expected struct",
    "expected a sequence",
    "expected a map",
    "invalid character",
    "wanted ",
];

/// A sentence about the value at a path of a file, if the message is about its type; `text` is the file.
pub(super) fn in_words(message: &str, path: &str, text: &str) -> Option<String> {
    if !OF_TYPES.iter().any(|words| message.contains(words)) {
        return None;
    }
    let steps = steps(path);
    let file: Option<Value> = toml::from_str(text).ok();
    let found = file.as_ref().and_then(|file| {
        steps.iter().try_fold(file, |value, step| match step {
            Step::Key(key) => value.get(key),
            Step::Item(at) => value.get(at),
        })
    });
    // A whole number of more than 64 bits can be written, but not be held.
    let found = found.map_or("this value".to_string(), of_value);
    if let Some(expected) = expected(message) {
        return Some(format!("{found} is not allowed here: give {expected}"));
    }
    let root: Schema = serde_json::from_str(&problem_schema()).ok()?;
    let allowed = steps.iter().try_fold(&root, |schema, step| below(&root, schema, step));
    let allowed = allowed.map(|schema| describe(&root, schema)).filter(|words| !words.is_empty());
    Some(match allowed {
        Some(allowed) => format!("{found} is not allowed here: give {allowed}"),
        None => format!("{found} is not allowed here"),
    })
}

/// Words of types, in what serde expects.
const TYPES: [&str; 20] = [
    "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "f32", "f64", "string", "str",
    "boolean", "sequence", "map", "tuple", "struct", "enum", "variant",
];

/// What a reader of ours expects, which says it in the words of the problem file.
fn expected(message: &str) -> Option<&str> {
    let words = message.lines().next()?.split_once(", expected ")?.1.trim();
    let mut parts = words.split(|c: char| !c.is_alphanumeric());
    (!words.is_empty() && !parts.any(|word| TYPES.contains(&word))).then_some(words)
}

enum Step {
    Key(String),
    Item(usize),
}

/// `requirement[0].at_most` in steps.
fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let mut pieces = part.split('[');
        steps.extend(pieces.next().filter(|key| !key.is_empty()).map(|key| Step::Key(key.into())));
        let items = pieces.filter_map(|piece| piece.strip_suffix(']')?.parse().ok());
        steps.extend(items.map(Step::Item));
    }
    steps
}

/// The schemas that one may stand for: references followed, alternatives taken apart.
fn alternatives<'a>(root: &'a Schema, schema: &'a Schema, depth: usize) -> Vec<&'a Schema> {
    let reference = schema.get("$ref").and_then(Schema::as_str);
    let referred = reference.and_then(|path| root.pointer(path.strip_prefix('#')?));
    let lists = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema.get(key)?.as_array());
    let inner: Vec<&Schema> = referred.into_iter().chain(lists.flatten()).collect();
    if inner.is_empty() || depth == 0 {
        return vec![schema];
    }
    inner.into_iter().flat_map(|inner| alternatives(root, inner, depth - 1)).collect()
}

/// Alternatives within each other, more than the schema has.
const DEEPEST: usize = 8;

fn below<'a>(root: &'a Schema, schema: &'a Schema, step: &Step) -> Option<&'a Schema> {
    alternatives(root, schema, DEEPEST).into_iter().find_map(|schema| match step {
        Step::Key(key) => {
            let own = schema.get("properties").and_then(|of| of.get(key));
            own.or_else(|| schema.get("additionalProperties").filter(|of| of.is_object()))
        }
        Step::Item(_) => schema.get("items"),
    })
}

/// What a schema allows: `a whole number, 1 or more`, `"adam" or "sgd"`.
fn describe(root: &Schema, schema: &Schema) -> String {
    let mut words: Vec<String> = Vec::new();
    for one in alternatives(root, schema, DEEPEST) {
        let values = one.get("enum").and_then(Schema::as_array).into_iter().flatten();
        let values: Vec<&Schema> = values.chain(one.get("const")).collect();
        if !values.is_empty() {
            words.extend(values.iter().map(ToString::to_string));
            continue;
        }
        let types: Vec<&str> = match one.get("type") {
            Some(Schema::String(name)) => vec![name],
            Some(Schema::Array(names)) => names.iter().filter_map(Schema::as_str).collect(),
            _ => Vec::new(),
        };
        words.extend(types.iter().filter_map(|name| of_type(root, one, name)));
    }
    let mut distinct: Vec<String> = Vec::new();
    for word in words {
        if !distinct.contains(&word) {
            distinct.push(word);
        }
    }
    match distinct.pop() {
        Some(last) if distinct.is_empty() => last,
        Some(last) => format!("{} or {last}", distinct.join(", ")),
        None => String::new(),
    }
}

fn of_type(root: &Schema, schema: &Schema, name: &str) -> Option<String> {
    let bound = |key: &str| schema.get(key).and_then(Schema::as_f64);
    Some(match name {
        "integer" | "number" => {
            let noun = if name == "integer" { "a whole number" } else { "a number" };
            match (bound("minimum"), bound("maximum")) {
                (Some(least), Some(most)) if most < 1e15 => {
                    format!("{noun} from {least} to {}", grouped(most as usize))
                }
                (Some(least), _) => format!("{noun}, {least} or more"),
                (None, _) if bound("exclusiveMinimum") == Some(0.0) => format!("{noun} above 0"),
                (None, _) => noun.to_string(),
            }
        }
        "string" => "text in quotes".to_string(),
        "boolean" => "true or false".to_string(),
        "array" => {
            let items = schema.get("items").map(|items| describe(root, items));
            match items.filter(|items| !items.is_empty()) {
                Some(items) => format!("a list, each entry {items}"),
                None => "a list".to_string(),
            }
        }
        "object" => match schema.get("properties").and_then(Schema::as_object) {
            Some(keys) => {
                let keys: Vec<&str> = keys.keys().map(String::as_str).collect();
                format!("a table with keys among {}", keys.join(", "))
            }
            None => "a table".to_string(),
        },
        _ => return None,
    })
}

/// What was found.
fn of_value(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let start: String = text.chars().take(40).collect();
            let more = if start.len() < text.len() { "…" } else { "" };
            format!("the text \"{start}{more}\"")
        }
        Value::Integer(n) => format!("the number {n}"),
        Value::Float(x) => format!("the number {x}"),
        Value::Boolean(yes) => format!("the value {yes}"),
        Value::Datetime(date) => format!("the date {date}"),
        Value::Array(items) if items.is_empty() => "an empty list".into(),
        Value::Array(_) => "this list".into(),
        Value::Table(_) => "this table".into(),
    }
}

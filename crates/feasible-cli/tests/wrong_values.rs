//! Every key of the schema with values of a wrong kind: each is refused at its key, in the words of the problem file.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::depth::depth;
use feasible_problem::{ProblemSource, problem_schema};
use serde_json::Value as Schema;

/// Words of the compiler and of serde, which nobody who writes a problem file knows.
const OF_TYPES: [&str; 16] = [
    "u64",
    "f64",
    "usize",
    "i64",
    "u32",
    "i128",
    "u128",
    "invalid type",
    "invalid value",
    "expected struct",
    "variant",
    "ParseIntError",
    "ParseFloatError",
    "unit struct",
    "a sequence",
    "target type",
];

/// Values of every kind; each is wrong for most keys.
const VALUES: [&str; 10] = [
    "\"neither\"",
    "-7",
    "2.5",
    "true",
    "[]",
    "[true, \"x\"]",
    "{ nonsense = 1 }",
    "2024-03-31",
    "1e400",
    "123456789012345678901234567890",
];

/// The schemas that one may stand for.
fn alternatives<'a>(root: &'a Schema, schema: &'a Schema, depth: usize) -> Vec<&'a Schema> {
    let referred = schema.get("$ref").and_then(|path| root.pointer(&path.as_str()?[1..]));
    let lists = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema.get(key)?.as_array());
    let inner: Vec<&Schema> = referred.into_iter().chain(lists.flatten()).collect();
    match inner.is_empty() || depth == 0 {
        true => vec![schema],
        false => inner.into_iter().flat_map(|s| alternatives(root, s, depth - 1)).collect(),
    }
}

/// Every key below a schema: `data.split.train`, `requirement.adversary.steps`.
fn keys(root: &Schema, schema: &Schema, path: &[String], found: &mut Vec<Vec<String>>) {
    if path.len() > 4 {
        return;
    }
    for schema in alternatives(root, schema, 8) {
        if let Some(items) = schema.get("items") {
            keys(root, items, path, found);
        }
        let Some(properties) = schema.get("properties").and_then(Schema::as_object) else {
            continue;
        };
        for (key, inner) in properties {
            let mut below = path.to_vec();
            below.push(key.clone());
            if !found.contains(&below) {
                found.push(below.clone());
                keys(root, inner, &below, found);
            }
        }
    }
}

/// A problem file with a value at a key, and what else it needs to be read up to there.
fn problem(path: &[String], value: &str) -> String {
    let (section, rest) = path.split_first().unwrap();
    // Within a section keys are written as `a.b.c = value`.
    let line = |keys: &[String]| format!("{} = {value}\n", keys.join("."));
    let data = "source = \"adult\"\n";
    match (section.as_str(), rest) {
        (_, []) if section == "data" => line(path),
        (_, []) => format!("{}[data]\n{data}", line(path)),
        ("data", [key]) if key == "source" => format!("[data]\n{}", line(rest)),
        ("data", rest) => format!("[data]\n{data}{}", line(rest)),
        ("requirement", [key]) if key == "name" => {
            format!("[data]\n{data}[[requirement]]\n{}", line(rest))
        }
        ("requirement", rest) => {
            format!("[data]\n{data}[[requirement]]\nname = \"r\"\n{}", line(rest))
        }
        (_, rest) => format!("[data]\n{data}[{section}]\n{}", line(rest)),
    }
}

#[test]
fn a_value_of_the_wrong_kind_is_refused_at_its_key_in_the_words_of_the_file() {
    let root: Schema = serde_json::from_str(&problem_schema()).unwrap();
    let mut found = Vec::new();
    keys(&root, &root, &[], &mut found);
    assert!(found.len() > 150, "{} keys", found.len());
    let (mut refused, mut wrong) = (0, Vec::new());
    // Every third value of a key by default.
    let step = if depth() > 1 { 1 } else { 3 };
    for (at, path) in found.iter().enumerate() {
        for value in VALUES.into_iter().skip(at % step).step_by(step) {
            let text = problem(path, value);
            let Err(error) = ProblemSource::new("my.toml", &text).parse(&[]) else { continue };
            refused += 1;
            let error = error.to_string();
            let rusty = OF_TYPES.iter().find(|word| error.contains(*word));
            let named = error.contains(path.last().unwrap().as_str());
            // The value is fine, but a key beside it is missing.
            let named = named || error.ends_with("' is missing");
            if rusty.is_some() || !named {
                wrong.push(format!("{} = {value}\n    {error}", path.join(".")));
            }
        }
    }
    assert!(step * refused > 5 * found.len(), "{refused} of {} keys refused", found.len());
    assert!(wrong.is_empty(), "{} of {refused}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_is_allowed_is_said() {
    let refuse =
        |text: &str| ProblemSource::new("my.toml", text).parse(&[]).unwrap_err().to_string();
    assert_eq!(
        refuse("[data]\nsource = \"adult\"\n[training]\nepochs = \"many\"\n"),
        "my.toml:4:10: training.epochs: the text \"many\" is not allowed here: give a whole number, 0 or more"
    );
    let error = refuse("[data]\nsource = \"adult\"\n[training]\nkeep = 3\n");
    assert!(
        error.ends_with("the number 3 is not allowed here: give \"last\" or \"best\""),
        "{error}"
    );
    let error = refuse("data = 3\n");
    assert!(error.contains("give a table with keys among"), "{error}");
}

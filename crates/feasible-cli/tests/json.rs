//! What `--json` prints: every document fits the schema, the schema is made from `docs/json.md`, and errors are documents too.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use support::{IMPOSSIBLE, PROBLEM, Ran, SHORT, Scratch, numbered};

/// The documents; every other section is a part of one.
const DOCUMENTS: [&str; 23] = [
    "Error",
    "Fit",
    "Tune",
    "Predictions",
    "AuditResult",
    "Certify",
    "Monitor",
    "Curve",
    "Bound",
    "Sweep",
    "Report",
    "Check",
    "Init",
    "Export",
    "DataList",
    "DataShow",
    "DataShowImages",
    "DataExport",
    "DataFetch",
    "Man",
    "ReproduceAdult",
    "ReproduceCompas",
    "ReproduceImages",
];

fn file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The type of a field: `list of text or null`, `[Summary](#summary)`, `"holm"`.
fn type_of(text: &str) -> Value {
    let alternatives: Vec<&str> = text.split(" or ").collect();
    let words: Vec<&str> = alternatives.iter().filter_map(|a| a.strip_prefix("`\"")).collect();
    let mut any: Vec<Value> = Vec::new();
    if !words.is_empty() {
        any.push(
            json!({ "enum": words.iter().map(|w| w.trim_end_matches("\"`")).collect::<Vec<_>>() }),
        );
    }
    for one in alternatives.iter().filter(|a| !a.starts_with('`')) {
        any.push(match *one {
            "any" => json!({}),
            one if one.starts_with("list of ") => {
                json!({ "type": "array", "items": type_of(&one[8..]) })
            }
            one if one.starts_with("map of ") => {
                json!({ "type": "object", "additionalProperties": type_of(&one[7..]) })
            }
            one if one.starts_with('[') => {
                json!({ "$ref": format!("#/$defs/{}", one[1..].split(']').next().unwrap()) })
            }
            "text" => json!({ "type": "string" }),
            one if ["null", "number", "integer", "boolean"].contains(&one) => {
                json!({ "type": one })
            }
            one => panic!("no type: {one}"),
        });
    }
    if any.len() == 1 { any.remove(0) } else { json!({ "anyOf": any }) }
}

/// The schema that the tables of the documentation describe.
fn schema_of(documentation: &str) -> Value {
    let mut defs: BTreeMap<String, (Map<String, Value>, Vec<String>)> = BTreeMap::new();
    let mut name = String::new();
    let mut included: Vec<(String, String)> = Vec::new();
    for line in documentation.lines() {
        if let Some(title) = line.strip_prefix("### ") {
            name = title.to_string();
            let of = defs.entry(name.clone()).or_default();
            if DOCUMENTS.contains(&title) {
                of.0.insert(
                    "format".into(),
                    json!({ "const": 1, "description": "The version of the format." }),
                );
                of.1.push("format".into());
            }
        }
        let cells: Vec<&str> =
            line.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
        let [field, kind, words] = cells[..] else { continue };
        if field == "…" {
            let inner = kind.trim_start_matches('[').split(']').next().unwrap();
            included.push((name.clone(), inner.to_string()));
        } else if let Some(field) = field.strip_prefix('`') {
            let (field, optional) = field.split_once('`').unwrap();
            let mut schema = type_of(kind);
            schema["description"] = words.into();
            let of = defs.get_mut(&name).unwrap();
            of.0.insert(field.into(), schema);
            if optional.is_empty() {
                of.1.push(field.into());
            }
        }
    }
    for (outer, inner) in included {
        let (fields, required) = defs[&inner].clone();
        let of = defs.get_mut(&outer).unwrap();
        of.0.extend(fields);
        of.1.extend(required);
    }
    let object = |(fields, required): (Map<String, Value>, Vec<String>)| json!({ "type": "object", "properties": fields, "required": required });
    let defs: Map<String, Value> = defs.into_iter().map(|(name, of)| (name, object(of))).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What feasible prints with --json",
        "anyOf": DOCUMENTS.map(|name| json!({ "$ref": format!("#/$defs/{name}") })),
        "$defs": defs,
    })
}

/// What is wrong with a value; unlike the schema it allows no field that is not documented.
fn faults(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    if let Some(path) = schema["$ref"].as_str() {
        return faults(root, root.pointer(&path[1..]).unwrap(), value, at, found);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let of = |schema: &Value| {
            let mut inner = Vec::new();
            faults(root, schema, value, at, &mut inner);
            inner
        };
        let all: Vec<Vec<String>> = any.iter().map(of).collect();
        if all.iter().all(|inner| !inner.is_empty()) {
            found.extend(all.into_iter().min_by_key(Vec::len).unwrap());
        }
        return;
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        found.push(format!("{at}: {value} is none of {words:?}"));
    }
    if let Some(constant) = schema.get("const")
        && constant != value
    {
        found.push(format!("{at}: {value} is not {constant}"));
    }
    let fits = match schema["type"].as_str() {
        None => true,
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some(other) => panic!("no type: {other}"),
    };
    if !fits {
        found.push(format!("{at}: {value} is no {}", schema["type"]));
        return;
    }
    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(items) = schema.get("items") {
            faults(root, items, item, &format!("{at}[{i}]"), found);
        }
    }
    let Some(fields) = value.as_object().filter(|_| schema["type"] == "object") else { return };
    for name in schema["required"].as_array().into_iter().flatten() {
        if !fields.contains_key(name.as_str().unwrap()) {
            found.push(format!("{at}: no {name}"));
        }
    }
    for (name, inner) in fields {
        let own = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
        match own {
            Some(own) => faults(root, own, inner, &format!("{at}.{name}"), found),
            None => found.push(format!("{at}: '{name}' is not documented")),
        }
    }
}

fn schema() -> Value {
    serde_json::from_str(&std::fs::read_to_string(file("output.schema.json")).unwrap()).unwrap()
}

/// Insists that a document is one of a kind.
fn insist(kind: &str, document: &Value) {
    let (root, mut found) = (schema(), Vec::new());
    faults(&root, &root["$defs"][kind], document, kind, &mut found);
    assert!(found.is_empty(), "{kind}:\n{}", found.join("\n"));
}

#[test]
fn the_schema_is_made_from_the_documentation() {
    let documentation = std::fs::read_to_string(file("../../docs/json.md")).unwrap();
    let made = serde_json::to_string_pretty(&schema_of(&documentation)).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(file("output.schema.json"), &made).unwrap();
    }
    let kept = std::fs::read_to_string(file("output.schema.json")).unwrap();
    assert_eq!(
        kept, made,
        "UPDATE_SCHEMA=1 cargo test -p feasible-cli --test suite json:: writes the schema"
    );
    let printed = Scratch::new().expect(0, &["schema", "--of", "output"]).out;
    assert_eq!(printed, made);
}

#[test]
fn every_document_fits_the_schema() {
    let scratch = Scratch::new();
    scratch.write("numbered.csv", &numbered(400, 0));
    scratch.write("later.csv", &numbered(300, 400));
    scratch.write("short.toml", SHORT);
    scratch.write("missed.toml", &format!("{PROBLEM}{IMPOSSIBLE}"));
    let without = PROBLEM.split("[[requirement]]").next().unwrap();
    scratch.write("none.toml", &format!("{without}\n[training]\nepochs = 3\n"));
    let number =
        "[data]\nfile = \"people.csv\"\ntarget = \"age\"\nsplit = { test = 0.3, seed = 1 }\n";
    scratch.write("number.toml", &format!("{number}[training]\nepochs = 3\n"));
    scratch.write(
        "certify.toml",
        &format!("{}\n[certify]\nreserve = 0.4\nladder = [1.0, 0.3]\nall_but = 0.1\n", SHORT),
    );
    let quick = ["--set", "training.epochs=2"];
    let runs: [(&str, &[&str]); 29] = [
        ("Fit", &["fit", "short.toml", "-o", "run"]),
        ("Fit", &["resume", "run"]),
        ("Fit", &["fit", "missed.toml", "-o", "missed"]),
        ("Fit", &["fit", "none.toml", "-o", "none"]),
        ("Fit", &["fit", "number.toml", "-o", "number"]),
        ("Fit", &["fit", "certify.toml", "-o", "ladder"]),
        ("Fit", &["fit", "short.toml", "--seeds", "2", "-o", "seeds"]),
        ("Tune", &["tune", "short.toml", "--trials", "3", "-o", "tuned", quick[0], quick[1]]),
        ("Predictions", &["predict", "run", "later.csv"]),
        ("Predictions", &["predict", "number", "people.csv"]),
        ("AuditResult", &["audit", "run", "later.csv"]),
        ("AuditResult", &["audit", "missed", "people.csv"]),
        ("Certify", &["certify", "run"]),
        ("Monitor", &["monitor", "run", "later.csv"]),
        (
            "Curve",
            &[
                "attack",
                "run",
                "later.csv",
                "--steps",
                "2",
                "--restarts",
                "1",
                "--epsilons",
                "0,0.1",
            ],
        ),
        ("Bound", &["bound", "--rows", "1000", "--limit", "0.02"]),
        ("Bound", &["bound", "short.toml"]),
        (
            "Sweep",
            &[
                "sweep",
                "short.toml",
                "--requirement",
                "gender",
                "--limits",
                "0.1,0.5",
                "--seeds",
                "1",
                "-o",
                "swept",
            ],
        ),
        ("Report", &["report", "run", "--check-sensitivity"]),
        ("Check", &["check", "short.toml"]),
        ("Init", &["init", "people.csv", "-o", "new.toml"]),
        ("Export", &["export", "run"]),
        ("DataList", &["data", "list"]),
        ("DataShow", &["data", "show", "adult"]),
        ("DataShowImages", &["data", "show", "mnist"]),
        ("DataExport", &["data", "export", "compas", "out"]),
        ("DataFetch", &["data", "fetch", "mnist"]),
        ("Man", &["man", "-o", "pages"]),
        (
            "ReproduceCompas",
            &["reproduce", "compas", "--seeds", "1", "--no-report", quick[0], quick[1]],
        ),
    ];
    for (kind, arguments) in runs {
        let mut arguments = arguments.to_vec();
        arguments.push("--json");
        let ran = scratch.run(&arguments);
        assert!(ran.code <= Some(1), "{arguments:?}\n{}\n{}", ran.out, ran.err);
        insist(kind, &ran.json());
    }
    for run in ["run", "missed", "none", "number", "ladder"] {
        let summary = scratch.read(&format!("{run}/summary.json"));
        insist("Summary", &serde_json::from_str(&summary).unwrap());
    }
    insist("Curve", &serde_json::from_str(&scratch.read("run/attack.json")).unwrap());
}

#[test]
fn an_error_is_a_document_with_the_same_exit_status() {
    let scratch = Scratch::new();
    scratch.write("wrong.toml", &PROBLEM.replace("epochs = 20", "epochs = \"many\""));
    let cases: [&[&str]; 6] = [
        &["fit", "adlt"],
        &["fit", "wrong.toml"],
        &["fit", "problem.toml", "--seed", "x"],
        &["certify"],
        &["data", "show", "foo"],
        &["predict", "nowhere", "people.csv"],
    ];
    for arguments in cases {
        let plain = scratch.run(arguments);
        let mut with = arguments.to_vec();
        with.push("--json");
        let ran = scratch.run(&with);
        assert_eq!((plain.code, ran.code), (Some(2), Some(2)), "{arguments:?}");
        assert_eq!(ran.err, "", "{arguments:?}");
        let document = ran.json();
        insist("Error", &document);
        assert_eq!(document["error"]["exit"], 2);
        let message = document["error"]["message"].as_str().unwrap();
        assert!(plain.err.contains(message.lines().next().unwrap()), "{}\n{message}", plain.err);
    }
}

#[test]
fn an_error_that_cannot_be_printed_as_json_is_text() {
    let full = std::path::Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let out = std::fs::OpenOptions::new().write(true).open(full).unwrap();
    let scratch = Scratch::new();
    let ran = Ran::of(scratch.command(&["data", "list", "--json"]).stdout(out).output().unwrap());
    assert_eq!(ran.code, Some(3));
    assert!(ran.err.contains("error: cannot write the result"), "{}", ran.err);
}

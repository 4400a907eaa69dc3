//! The JSON schema of the problem file, for editors that complete and check it.
//!
//! It is generated from the types; those of `feasible-data` are described here.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::spec::Spec;

/// The schema of the problem file as JSON text.
pub fn problem_schema() -> String {
    let schema = schemars::schema_for!(Spec);
    // A JSON value cannot fail to serialise.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

fn strings() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

fn one_of(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

pub(crate) fn task(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["classify", "regress"] })
}

pub(crate) fn target(_: &mut SchemaGenerator) -> Schema {
    let list = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 });
    json_schema!({ "anyOf": [{ "type": "string" }, list] })
}

fn any_label() -> Value {
    json!({ "type": ["string", "number", "boolean"] })
}

fn label_lists() -> Value {
    json!({ "type": "object", "additionalProperties": { "type": "array", "items": any_label() } })
}

/// A category, which may be written as a number.
pub(crate) fn label(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "number", "boolean"] })
}

pub(crate) fn lists(_: &mut SchemaGenerator) -> Schema {
    Schema::try_from(label_lists()).unwrap_or_default()
}

pub(crate) fn groups(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": label_lists() })
}

pub(crate) fn rate(_: &mut SchemaGenerator) -> Schema {
    let rates = [
        "selection",
        "positive-rate",
        "tpr",
        "recall",
        "sensitivity",
        "fpr",
        "fall-out",
        "fnr",
        "specificity",
        "precision",
        "ppv",
        "npv",
        "error",
        "accuracy",
    ];
    json_schema!({ "type": "string", "enum": rates })
}

pub(crate) fn class_weights(_: &mut SchemaGenerator) -> Schema {
    let weight = json_schema!({ "type": "number", "exclusiveMinimum": 0 });
    json_schema!({ "anyOf": [
        { "const": "balanced" },
        { "type": "object", "additionalProperties": weight },
    ] })
}

pub(crate) fn activation(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["sigmoid", "tanh", "relu", "silu"] })
}

pub(crate) fn standardise(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [{ "type": "boolean" }, strings()] })
}

pub(crate) fn piecewise(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [{ "type": "boolean" }, one_of(&["auto"]), strings()] })
}

pub(crate) fn augmentation(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "mirror": { "type": "boolean", "description": "Half of the images left to right." },
            "pad": {
                "type": "integer", "minimum": 0,
                "description": "Black pixels around the image before a crop of the old size."
            },
            "seed": { "type": "integer", "minimum": 0 }
        }
    })
}

pub(crate) fn missing(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["reject", "category", "impute"] })
}

pub(crate) fn missing_in(_: &mut SchemaGenerator) -> Schema {
    let values = one_of(&["reject", "category", "impute"]);
    json_schema!({ "type": "object", "additionalProperties": values })
}

pub(crate) fn unseen(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["error", "other"] })
}

pub(crate) fn bins(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "quantiles": {
                    "type": "integer", "minimum": 2,
                    "description": "Number of bins with about as many training rows each."
                },
                "edges": {
                    "type": "array", "items": { "type": "number" },
                    "description": "Edges, ascending; bins are closed on the right."
                },
                "labels": strings()
            }
        }
    })
}

pub(crate) fn format(_: &mut SchemaGenerator) -> Schema {
    let character = json!({ "type": "string", "minLength": 1, "maxLength": 1 });
    let kinds = one_of(&["numeric", "categorical"]);
    json_schema!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "delimiter": character, "header": { "type": "boolean" }, "names": strings(),
            "trim": { "type": "boolean" }, "comment": character,
            "skip_lines": { "type": "integer", "minimum": 0 }, "missing": strings(),
            "thousands": character, "decimal": character, "strip_suffix": { "type": "string" },
            "duplicates": one_of(&["reject", "number"]), "columns": strings(),
            "kinds": { "type": "object", "additionalProperties": kinds }
        }
    })
}

pub(crate) fn limits(_: &mut SchemaGenerator) -> Schema {
    let key = |(key, what): (&str, &str)| {
        (key.to_string(), json!({ "type": "integer", "minimum": 0, "description": what }))
    };
    let properties: serde_json::Map<String, Value> =
        feasible_data::Limits::KEYS.into_iter().map(key).collect();
    json_schema!({
        "type": "object", "additionalProperties": false, "properties": properties
    })
}

pub(crate) fn by_column(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": false,
        "required": ["column"],
        "properties": {
            "column": { "type": "string" }, "train": strings(), "validation": strings(),
            "test": strings()
        }
    })
}

/// `[tune]`: a number of trials, and the values of keys.
pub(crate) fn tune(_: &mut SchemaGenerator) -> Schema {
    let range = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["from", "to"],
        "properties": {
            "from": { "type": "number" }, "to": { "type": "number" },
            "log": { "type": "boolean", "description": "Equally many for every factor. Default false." }
        }
    });
    let list = json!({ "type": "array", "minItems": 1 });
    let section = json!({ "type": "object", "description": "Keys of a section." });
    json_schema!({
        "type": "object",
        "properties": {
            "trials": {
                "type": "integer", "minimum": 1, "maximum": 1000,
                "description": "Trials, the first of which has the settings of the file. Default 27."
            }
        },
        "additionalProperties": { "anyOf": [list, range, section] }
    })
}

/// One counterfactual or a list of them.
pub(crate) fn counterfactuals() -> Schema {
    let pair = json!({ "type": "array", "items": any_label(), "minItems": 2, "maxItems": 2 });
    let set = json!({ "anyOf": [{ "type": "number" }, { "type": "string" }] });
    let one = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "swap": {
                "type": "object", "additionalProperties": pair,
                "description": "Column → the two categories to exchange."
            },
            "set": {
                "type": "object", "additionalProperties": set,
                "description": "Column → the category or number to give it."
            },
            "pairs": {
                "type": "string",
                "description": "A column: one change for every pair of its categories."
            },
            "crosses": {
                "type": "array", "items": { "type": "string" }, "minItems": 2,
                "description": "Columns: every pair of the one at once with every pair of the other."
            }
        }
    });
    json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
}

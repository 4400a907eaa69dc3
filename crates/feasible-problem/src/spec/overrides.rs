//! What is put on top of a problem file: settings of a program, which have types, and `training.epochs=50`, which edits
//! the file's text before it is read.
//!
//! ```
//! let text = "[training]\nepochs = 300 # as in the paper\n";
//! let text = feasible_problem::spec::apply_overrides(text, &["training.epochs=50".into()])?;
//! assert_eq!(text, "[training]\nepochs = 50 # as in the paper\n");
//! # Ok::<(), feasible_problem::Error>(())
//! ```
//!
//! A value is TOML (`50`, `true`, `[64, 64]`, `{ rate = 2 }`) or else text as it is. A
//! requirement is named by its name or its number from 0: `requirement.gender.at_most=1e-4`.

use std::fmt;
use std::path::PathBuf;

use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use super::{LimitKey, Spec};
use crate::error::{Error, Result};

/// What is put on top of a problem file.
#[derive(Clone, Debug, PartialEq)]
pub enum Override {
    /// `key=value`, as `--set` takes it.
    Text(String),
    /// `training.epochs`.
    Epochs(u64),
    /// `training.seed`.
    Seed(u64),
    /// `training.threads`.
    Threads(u64),
    /// `data.directory`.
    DataDirectory(PathBuf),
    /// The limit of a requirement.
    Limit {
        /// The number of its `[[requirement]]`, from 0.
        requirement: usize,
        /// The key that holds it.
        key: LimitKey,
        /// The limit.
        limit: f64,
    },
}

impl From<String> for Override {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Epochs(n) => write!(f, "training.epochs={n}"),
            Self::Seed(n) => write!(f, "training.seed={n}"),
            Self::Threads(n) => write!(f, "training.threads={n}"),
            Self::DataDirectory(path) => write!(f, "data.directory={}", path.display()),
            Self::Limit { requirement, key, limit } => {
                write!(f, "requirement.{requirement}.{}={limit:?}", key.name())
            }
        }
    }
}

impl Override {
    /// The path of its key as places name it: `requirement[0].at_most`; `text` is the problem file.
    pub(crate) fn path(&self, text: &str) -> Option<String> {
        match self {
            Self::Text(given) => path_of(given, text),
            Self::Limit { requirement, key, .. } => {
                Some(format!("requirement[{requirement}].{}", key.name()))
            }
            typed => typed.to_string().split_once('=').map(|(key, _)| key.to_string()),
        }
    }

    /// Applies it to what was read; text was applied before.
    pub(crate) fn apply(&self, spec: &mut Spec) -> Result<()> {
        let wrong = |reason: String| Error::Override { text: self.to_string(), reason };
        if let Self::Epochs(n) | Self::Seed(n) | Self::Threads(n) = self
            && i64::try_from(*n).is_err()
        {
            return Err(wrong(format!("a problem file holds numbers up to {}", i64::MAX)));
        }
        match self {
            Self::Text(_) => {}
            Self::Epochs(epochs) => spec.training.epochs = Some(*epochs),
            Self::Seed(seed) => spec.training.seed = Some(*seed),
            Self::Threads(n) => {
                spec.training.threads = Some(usize::try_from(*n).unwrap_or(usize::MAX))
            }
            Self::DataDirectory(path) => spec.data.directory = Some(path.clone()),
            Self::Limit { requirement, key, limit } => {
                let of = spec.requirements.get_mut(*requirement);
                let of =
                    of.ok_or_else(|| wrong(format!("there is no requirement {requirement}")))?;
                match key {
                    LimitKey::AtMost => of.at_most = Some(*limit),
                    LimitKey::AtLeast => of.at_least = Some(*limit),
                    LimitKey::Within => of.within = Some(*limit),
                }
            }
        }
        Ok(())
    }
}

/// Keys within each other, more than any problem file has.
const DEEPEST: usize = 32;

/// Applies overrides to the text of a problem file.
///
/// # Errors
/// An override without a key or value, or whose path leads through something that has no keys;
/// text that is not TOML.
pub fn apply(text: &str, overrides: &[String]) -> Result<String> {
    if overrides.is_empty() {
        return Ok(text.to_string());
    }
    let wrong = |given: &str, reason: String| Error::Override { text: given.into(), reason };
    let mut document: DocumentMut = text
        .parse()
        .map_err(|e| wrong(&overrides[0], format!("the problem file is not TOML: {e}")))?;
    for given in overrides {
        let (path, value) = given.split_once('=').ok_or_else(|| {
            wrong(given, "write key=value, for example training.epochs=50".into())
        })?;
        let keys: Vec<&str> = path.trim().split('.').map(str::trim).collect();
        if keys.len() > DEEPEST {
            let start: String = given.chars().take(40).collect();
            let reason = format!("{} nested keys, and no key is that deep", keys.len());
            return Err(wrong(&format!("{start}…"), reason));
        }
        if keys.iter().any(|key| key.is_empty()) {
            return Err(wrong(
                given,
                "the key is empty: write, for example, training.epochs=50".into(),
            ));
        }
        set(document.as_table_mut(), &keys, parse_value(value.trim()))
            .map_err(|reason| wrong(given, reason))?;
    }
    Ok(document.to_string())
}

/// The path of an override as places name it: `requirement[0].at_most`.
fn path_of(given: &str, text: &str) -> Option<String> {
    let (path, _) = given.split_once('=')?;
    let document: DocumentMut = text.parse().ok()?;
    let mut keys = path.trim().split('.').map(str::trim);
    let first = keys.next()?.to_string();
    let mut path = first.clone();
    let mut item = document.get(&first);
    for key in keys {
        match item.and_then(Item::as_array_of_tables) {
            Some(tables) => {
                let at = tables.iter().position(|table| is_named(table, key));
                let at = at.or_else(|| key.parse().ok())?;
                path = format!("{path}[{at}]");
                item = None;
            }
            None => {
                path = format!("{path}.{key}");
                item = item.and_then(|item| item.get(key));
            }
        }
    }
    Some(path)
}

fn parse_value(text: &str) -> Value {
    match format!("x = {text}").parse::<DocumentMut>() {
        Ok(document) => match document.get("x").and_then(Item::as_value) {
            Some(value) if document.len() == 1 => value.clone().decorated(" ", ""),
            _ => Value::from(text).decorated(" ", ""),
        },
        Err(_) => Value::from(text).decorated(" ", ""),
    }
}

fn is_named(table: &Table, name: &str) -> bool {
    table.get("name").and_then(Item::as_str) == Some(name)
}

fn set(table: &mut dyn TableLike, keys: &[&str], value: Value) -> Result<(), String> {
    let (key, rest) = (keys[0], &keys[1..]);
    if rest.is_empty() {
        match table.get_mut(key) {
            Some(Item::Value(old)) => {
                let decor = old.decor().clone();
                *old = value;
                *old.decor_mut() = decor;
            }
            _ => {
                table.insert(key, Item::Value(value));
            }
        }
        return Ok(());
    }
    let item = table.entry(key).or_insert_with(|| {
        let mut fresh = Table::new();
        fresh.set_implicit(rest.len() > 1);
        Item::Table(fresh)
    });
    if let Some(tables) = item.as_array_of_tables_mut() {
        let wanted = rest[0];
        let known: Vec<String> = tables
            .iter()
            .map(|table| table.get("name").and_then(Item::as_str).unwrap_or("?").to_string())
            .collect();
        let at = known.iter().position(|name| name == wanted).or_else(|| wanted.parse().ok());
        let table = at.and_then(|at| tables.get_mut(at)).ok_or_else(|| {
            let nearest = feasible_data::nearest(wanted, known.iter().map(String::as_str));
            let known = known.join("', '");
            let hint = match nearest {
                Some(name) => format!("did you mean '{name}'? There are '{known}'"),
                None => format!("there are '{known}'"),
            };
            format!("no {key} is named '{wanted}': {hint}")
        })?;
        if rest.len() < 2 {
            return Err(format!("'{wanted}' is a {key}, not a single value: name one of its keys"));
        }
        return set(table, &rest[1..], value);
    }
    match item.as_table_like_mut() {
        Some(table) => set(table, rest, value),
        None => Err(format!("'{key}' is a single value and has no key '{}'", rest[0])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(text: &str, given: &str) -> String {
        apply(text, &[given.to_string()]).unwrap()
    }

    fn refuse(text: &str, given: &str) -> String {
        apply(text, &[given.to_string()]).unwrap_err().to_string()
    }

    const FILE: &str =
        "[data]\nsource = \"adult\"\n\n[[requirement]]\nname = \"gender\"\nat_most = 1e-3\n";

    #[test]
    fn a_new_section_and_a_new_key_are_added() {
        assert_eq!(
            edit("[data]\nsource = \"adult\"\n", "training.dual.rate=2"),
            "[data]\nsource = \"adult\"\n\n[training.dual]\nrate = 2\n"
        );
    }

    #[test]
    fn a_value_that_is_not_toml_is_text() {
        assert!(edit(FILE, "data.positive=>50K").contains("positive = \">50K\""));
        assert!(edit(FILE, "data.drop=[\"age\"]").contains("drop = [\"age\"]"));
    }

    #[test]
    fn a_requirement_goes_by_its_name_or_number() {
        assert!(edit(FILE, "requirement.gender.at_most=1e-4").contains("at_most = 1e-4\n"));
        assert!(edit(FILE, "requirement.0.at_most=2").contains("at_most = 2\n"));
        assert_eq!(
            refuse(FILE, "requirement.gendr.at_most=1"),
            "--set requirement.gendr.at_most=1: no requirement is named 'gendr': did you mean 'gender'? \
             There are 'gender'"
        );
    }

    #[test]
    fn what_cannot_be_set_is_said() {
        assert!(refuse(FILE, "epochs").contains("write key=value"));
        assert!(refuse(FILE, "=3").contains("the key is empty"));
        assert!(refuse(FILE, "data.source.name=3").contains("'source' is a single value"));
        assert!(refuse(FILE, "requirement.gender=3").contains("name one of its keys"));
    }
}

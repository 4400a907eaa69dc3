//! The text of a problem file, and errors that say where in it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use feasible_data::{Table, disk};
use serde::Deserialize;

use super::locate::{Places, line_and_column};
use super::overrides::{self, Override};
use super::{Spec, allowed};
use crate::data::{Files, InMemory, Tables};
use crate::embedded;
use crate::error::{Error, KeyPlace, Result};
use crate::starter::starter_name;

/// How the names of tables end.
const TABLE_ENDS: [&str; 9] = [
    ".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz", ".txt.gz", ".csv.zst", ".tsv.zst", ".txt.zst",
];

/// How files begin that are compressed, or Parquet.
const BINARY_STARTS: [&[u8]; 3] = [b"PAR1", &[0x28, 0xb5, 0x2f, 0xfd], &[0x1f, 0x8b]];

/// The largest problem file, in bytes.
const LARGEST: u64 = 16_000_000;

/// A problem file: its name, its text and the overrides put on it.
#[derive(Clone, Debug)]
pub struct ProblemSource {
    name: String,
    text: String,
    directory: PathBuf,
    places: Places,
    overrides: Vec<Override>,
    tables: Arc<dyn Tables>,
}

impl ProblemSource {
    /// From text; `name` stands for the file in messages.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let places = Places::of(&text);
        let directory = PathBuf::from(".");
        let (overrides, tables) = (Vec::new(), Arc::new(Files));
        Self { name: name.into(), text, directory, places, overrides, tables }
    }

    /// From a file, or from the embedded problem of that name.
    ///
    /// # Errors
    /// Neither exists, or the file cannot be read.
    pub fn open(name: &str) -> Result<Self> {
        let path = Path::new(name);
        if path.exists() && !path.is_dir() {
            if is_table(path) {
                return Err(Error::unfit(name, instead_of_problem(path)));
            }
            let text = read(path).map_err(|source| Error::Storage {
                operation: "read",
                path: name.to_string(),
                source,
            })?;
            let mut opened = Self::new(name, text);
            opened.directory = path.parent().map(Path::to_path_buf).unwrap_or_default();
            return Ok(opened);
        }
        embedded::problem(name).map(|problem| Self::new(problem.name, problem.text))
    }

    /// With tables read in another way than from files.
    #[must_use]
    pub fn with_tables(mut self, tables: Arc<dyn Tables>) -> Self {
        self.tables = tables;
        self
    }

    /// With a table in memory in place of `[data] file`.
    #[must_use]
    pub fn with_table(self, table: Table) -> Self {
        self.with_tables(Arc::new(InMemory::new(table)))
    }

    /// How its tables are read.
    pub fn tables(&self) -> &dyn Tables {
        &*self.tables
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The directory of the file, from which its paths are meant.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Puts overrides on it, of which later ones win; they apply from the next [`ProblemSource::parse`] on.
    #[must_use]
    pub fn with(mut self, overrides: &[Override]) -> Self {
        self.overrides.extend_from_slice(overrides);
        self
    }

    /// As [`ProblemSource::with`], each written as `key=value`.
    #[must_use]
    pub fn with_overrides(self, overrides: &[String]) -> Self {
        let overrides: Vec<Override> = overrides.iter().cloned().map(Override::Text).collect();
        self.with(&overrides)
    }

    /// Reads the file, `overrides` (`training.epochs=50`) applied.
    ///
    /// # Errors
    /// Text that is not TOML, unknown keys, values of the wrong type: each with line, column,
    /// key, what is allowed and the nearest name.
    pub fn parse(&self, overrides: &[String]) -> Result<Spec> {
        let given = overrides.iter().cloned().map(Override::Text);
        let given: Vec<Override> = self.overrides.iter().cloned().chain(given).collect();
        let text_of = |given: &Override| match given {
            Override::Text(text) => Some(text.clone()),
            _ => None,
        };
        let all: Vec<String> = given.iter().filter_map(text_of).collect();
        if let Err(error) = toml::de::DeTable::parse(&self.text) {
            let message = of_syntax(error.message());
            return Err(self.wrong("", error.span().map(|s| s.start), message));
        }
        let text = overrides::apply(&self.text, &all)?;
        let deserializer = toml::Deserializer::parse(&text)
            .map_err(|error| self.wrong("", None, of_syntax(error.message())))?;
        let mut spec = Spec::deserialize(deserializer).map_err(|error| {
            let span = error.span();
            let path = span.as_ref().and_then(|span| Places::of(&text).path_at(span));
            let path = path.unwrap_or_else(|| ".".into());
            let span = span.map(|span| span.start);
            let message = error.message().to_string();
            let told = friendly(&message, &path, &text);
            let set_by = all.iter().find(|given| {
                Override::Text(given.to_string()).path(&text).is_some_and(|set| {
                    set == path || message.contains(&format!("`{}`", last(&set)))
                })
            });
            match set_by {
                Some(given) => Error::Problem {
                    place: KeyPlace {
                        file: self.name.clone(),
                        at: None,
                        key: path,
                        set_by: Some(given.clone()),
                    },
                    message: told,
                },
                None if all.is_empty() => self.wrong(&path, span, told),
                None => self.wrong(&path, self.places.value_of(&path), told),
            }
        })?;
        for (at, one) in given.iter().enumerate() {
            let path = one.path(&self.text);
            let text = |later: &&Override| matches!(later, Override::Text(_));
            let mut later = given[at + 1..].iter().filter(text);
            if !later.any(|later| later.path(&self.text) == path) {
                one.apply(&mut spec)?;
            }
        }
        spec.resolve_paths(&self.directory);
        Ok(spec)
    }

    fn wrong(&self, key: &str, byte: Option<usize>, message: String) -> Error {
        let at = byte.map(|byte| line_and_column(&self.text, byte));
        let place = KeyPlace { file: self.name.clone(), at, key: key.into(), set_by: None };
        Error::Problem { place, message }
    }

    /// Whether an override sets this very key.
    pub(crate) fn overrides_set(&self, key: &str) -> bool {
        self.set_by(key).is_some()
    }

    /// The override that sets this very key: the last one.
    fn set_by(&self, key: &str) -> Option<&Override> {
        let sets = |given: &&Override| given.path(&self.text).as_deref() == Some(key);
        self.overrides.iter().rev().find(sets)
    }

    /// An error about a key that was read without fault.
    pub fn at(&self, key: &str, message: impl Into<String>) -> Error {
        // The closest key that the file has: the one asked for, or the section it belongs to.
        let mut path = key;
        loop {
            let byte = self.places.value_of(path).or_else(|| self.places.key_of(path));
            if byte.is_some() {
                let set_by = self.set_by(key).map(ToString::to_string);
                let mut error = self.wrong(key, byte, message.into());
                if let Error::Problem { place, .. } = &mut error {
                    place.set_by = set_by;
                }
                return error;
            }
            match path.rfind(['.', '[']) {
                Some(at) => path = &path[..at],
                None => return self.wrong(key, None, message.into()),
            }
        }
    }

    /// An error about data, placed at the key or value that names the offending column or category.
    pub fn about(&self, section: &str, error: feasible_data::Error) -> Error {
        use feasible_data::Error as Data;
        let named = match &error {
            Data::UnknownColumn { column, .. }
            | Data::Preprocessing { column, .. }
            | Data::TooManyCategories { column, .. }
            | Data::RoundedTarget { column, .. }
            | Data::OneClass { column, .. }
            | Data::Kind { column, .. } => Some(column.clone()),
            Data::UnknownCategory { category, .. }
            | Data::GroupedCategory { category, .. }
            | Data::NoPositive { category, .. } => Some(category.clone()),
            Data::UnknownDataSet { name, .. } => Some(name.clone()),
            Data::Expression(_) | Data::Counterfactual { .. } | Data::Split { .. } => None,
            _ => return Error::Data(error),
        };
        let message = error.to_string();
        // An override that mentions the name comes after the file, and is to blame.
        if let Some(given) = named.as_ref().and_then(|name| {
            let mentions = |given: &&Override| {
                given.to_string().split_once('=').is_some_and(|(_, value)| value.contains(name))
            };
            self.overrides.iter().rev().find(mentions)
        }) {
            let key = given.path(&self.text).unwrap_or_else(|| section.to_string());
            let set_by = Some(given.to_string());
            let place = KeyPlace { file: self.name.clone(), at: None, key, set_by };
            return Error::Problem { place, message };
        }
        match named.and_then(|name| self.places.mention(section, &name)) {
            Some((path, byte)) => self.wrong(&path, Some(byte), message),
            None => self.at(section, message),
        }
    }
}

/// Whether a file is a table by its first bytes or its name.
fn is_table(path: &Path) -> bool {
    let lower = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let ends = TABLE_ENDS.iter().any(|end| lower.ends_with(end));
    ends || disk::open(path).is_ok_and(|file| {
        let mut start = Vec::new();
        let read = file.take(4).read_to_end(&mut start).is_ok();
        read && BINARY_STARTS.iter().any(|begin| start.starts_with(begin))
    })
}

/// What to do with a table where a problem file is needed.
fn instead_of_problem(table: &Path) -> String {
    let (shown, problem) = (in_shell(table), starter_name(table));
    let problem_shown = in_shell(&problem);
    match problem.exists() {
        true => format!(
            "this is a table, not a problem file: `feasible fit {problem_shown}` trains the problem file \
             of that name, `feasible init {shown} --output NEW.toml` writes another"
        ),
        false => format!(
            "this is a table, not a problem file: `feasible init {shown}` writes one for it, \
             {problem_shown}, and `feasible fit {problem_shown}` trains that"
        ),
    }
}

/// A path as a shell takes it.
fn in_shell(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@".contains(c);
    match text.chars().all(plain) && !text.starts_with('-') {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// The text of a file, if it is one that somebody could have written.
fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let mut file = disk::open(path)?.take(LARGEST + 1);
    file.read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        let reason = format!("it has more than {LARGEST} bytes, which no problem file needs");
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, reason));
    }
    Ok(text)
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// What is wrong with text that is not TOML.
fn of_syntax(message: &str) -> String {
    match message {
        m if m.contains("number too large") => "this number is too large for a problem file".into(),
        m => m.replace('\n', "; "),
    }
}

/// serde's words in ours: what is allowed, or the nearest of the names it lists.
fn friendly(message: &str, path: &str, text: &str) -> String {
    let parts: Vec<&str> = message.split('`').collect();
    let (what, rest) = match message {
        m if m.starts_with("unknown field") => ("key", &parts[..]),
        m if m.starts_with("unknown variant") => ("value", &parts[..]),
        m if m.starts_with("missing field") => {
            return format!("the key '{}' is missing", parts.get(1).unwrap_or(&""));
        }
        _ => {
            let told = allowed::in_words(message, path, text);
            return told.unwrap_or_else(|| message.to_string());
        }
    };
    let names: Vec<&str> = rest.iter().skip(1).step_by(2).copied().collect();
    let Some((found, known)) = names.split_first() else { return message.to_string() };
    if (path, *found) == ("data.cache", "cache") {
        return "a problem file does not say where files go: give --cache DIR to the command"
            .into();
    }
    let nearest = match last(path) {
        "rate" => super::requirement::rate_called(found, known),
        _ => feasible_data::nearest(found, known.iter().copied()),
    };
    let hint = match nearest {
        Some(name) => format!(": did you mean '{name}'?"),
        None => String::new(),
    };
    format!("unknown {what} '{found}'{hint} (allowed: {})", known.join(", "))
}

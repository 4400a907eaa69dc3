//! From a key to its line and column.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Every key of a file, with where it stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    /// `requirement[0].at_most`.
    path: String,
    /// The last part of the path, or the text of a value in a list.
    text: String,
    key: Range<usize>,
    value: Range<usize>,
    /// The value, if it is text.
    value_text: Option<String>,
}

impl Places {
    pub(crate) fn of(text: &str) -> Self {
        let mut places = Self::default();
        if let Ok(table) = DeTable::parse(text) {
            places.table("", table.get_ref());
        }
        places
    }

    fn table(&mut self, path: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = key.get_ref().to_string();
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            self.value(path, name, key.span(), value);
        }
    }

    fn value(
        &mut self,
        path: String,
        text: String,
        key: Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let value_text = value.get_ref().as_str().map(String::from);
        let entry = Entry { path: path.clone(), text, key, value: value.span(), value_text };
        self.entries.push(entry);
        match value.get_ref() {
            DeValue::Table(table) => self.table(&path, table),
            DeValue::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    let text = item.get_ref().as_str().unwrap_or_default().to_string();
                    self.value(format!("{path}[{at}]"), text, item.span(), item);
                }
            }
            _ => {}
        }
    }

    /// Where the value of a key starts.
    pub(crate) fn value_of(&self, path: &str) -> Option<usize> {
        self.entries.iter().find(|entry| entry.path == path).map(|entry| entry.value.start)
    }

    /// Where the key of a path stands.
    pub(crate) fn key_of(&self, path: &str) -> Option<usize> {
        self.entries.iter().find(|entry| entry.path == path).map(|entry| entry.key.start)
    }

    /// The path of the smallest key or value that these bytes are in.
    pub(crate) fn path_at(&self, bytes: &Range<usize>) -> Option<String> {
        let within = |range: &Range<usize>| range.start <= bytes.start && bytes.end <= range.end;
        let holds = |entry: &&Entry| within(&entry.key) || within(&entry.value);
        let size = |entry: &&Entry| match within(&entry.key) {
            true => entry.key.len(),
            false => entry.value.len(),
        };
        // Of equal ones the innermost: the first `[[table]]` stands where the list of them does.
        self.entries.iter().rev().filter(holds).min_by_key(size).map(|entry| entry.path.clone())
    }

    /// The first key or text value equal to `text` at or below `section`: its path and place.
    pub(crate) fn mention(&self, section: &str, text: &str) -> Option<(String, usize)> {
        let below = |path: &str| {
            path.strip_prefix(section).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with(['.', '[']) || section.is_empty()
            })
        };
        let mentions = |entry: &&Entry| {
            below(&entry.path) && (entry.text == text || entry.value_text.as_deref() == Some(text))
        };
        self.entries.iter().find(mentions).map(|entry| {
            let at = if entry.text == text { entry.key.start } else { entry.value.start };
            (entry.path.clone(), at)
        })
    }
}

/// Line and column, from 1, of a byte of a text; columns are characters.
pub(crate) fn line_and_column(text: &str, byte: usize) -> (usize, usize) {
    let mut end = byte.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line, before[start..].chars().count() + 1)
}

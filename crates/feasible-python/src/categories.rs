//! Categories that are found row by row.

use std::collections::HashMap;

use feasible_data::{Column, MISSING};

/// Categories in the order of their first rows.
#[derive(Default)]
pub(crate) struct CategoryBuilder {
    known: HashMap<String, u32>,
    names: Vec<String>,
    codes: Vec<u32>,
}

impl CategoryBuilder {
    /// The number of a category.
    pub(crate) fn code(&mut self, category: &str) -> u32 {
        if let Some(&code) = self.known.get(category) {
            return code;
        }
        let code = self.names.len() as u32;
        self.names.push(category.to_string());
        self.known.insert(category.to_string(), code);
        code
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, category: Option<&str>) {
        let code = category.map_or(MISSING, |category| self.code(category));
        self.codes.push(code);
    }

    /// Adds a row by number.
    pub(crate) fn push_code(&mut self, code: u32) {
        self.codes.push(code);
    }

    /// The column.
    pub(crate) fn finish(self, name: &str) -> Column {
        Column::coded(name, &self.names, &self.codes)
    }
}

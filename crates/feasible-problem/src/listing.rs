//! The embedded data sets and the problems on them: what `feasible data` lists.

use feasible_data::DataSet;
use serde::Serialize;

use crate::embedded::problems;
use crate::text::{Align, Grid, grouped};

/// An embedded data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DataSetInfo {
    /// What it is called: `adult`.
    pub name: String,
    /// One line about it.
    pub title: String,
    /// Who made it, and where.
    pub source: String,
    /// On what terms.
    pub licence: String,
    /// Rows of all its tables.
    pub rows: usize,
    /// Bytes inside the program.
    pub bytes: usize,
    /// The embedded problems on it.
    pub problems: Vec<String>,
}

/// All embedded data sets.
pub fn data_sets() -> Vec<DataSetInfo> {
    let info = |set: DataSet| {
        let on = |name: &str| name == set.name || name.starts_with(&format!("{}-", set.name));
        DataSetInfo {
            name: set.name.into(),
            title: set.title.into(),
            source: set.source.into(),
            licence: set.licence.into(),
            rows: set.parts.iter().map(|part| part.rows).sum(),
            bytes: set.parts.iter().map(|part| part.bytes.len()).sum(),
            problems: problems().iter().map(|p| p.name.to_string()).filter(|n| on(n)).collect(),
        }
    };
    DataSet::all().into_iter().map(info).collect()
}

/// As text for people.
pub fn to_text(sets: &[DataSetInfo]) -> String {
    let mut grid = Grid::new();
    for set in sets {
        let line = |key: &str, value: String| [key.to_string(), value];
        grid.row(line(&set.name, set.title.clone()));
        grid.row(line("", format!("{} rows, {} bytes", grouped(set.rows), grouped(set.bytes))));
        grid.row(line("", set.source.clone()));
        grid.row(line("", format!("licence: {}", set.licence)));
        grid.row(line("", format!("problems: {}", set.problems.join(", "))));
    }
    grid.to_text(&[Align::Left])
}

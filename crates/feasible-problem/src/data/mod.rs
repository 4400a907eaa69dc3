//! Tables of a problem: read, hashed, split; target and inputs fitted on the training rows.

mod draft;
mod elsewhere;
mod hash;
mod images;
mod parts;
mod tables;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use feasible::{InputsBuilder, Samples};
use feasible_data::image::{ImageShape, Images};
use feasible_data::{DataSet, Encoder, Format, SampleWeights, Split, Table, TargetEncoder};

use crate::error::{Error, Result};
use crate::held_out::Copies;

pub(crate) use draft::DataDraft;
pub use elsewhere::{read_slice, read_with};
pub use hash::{TableHash, sha256, sha256_of_file, sha256_of_files};
pub use parts::validation_share;
pub(crate) use tables::InMemory;
pub use tables::{Files, TableRead, Tables};

/// The data of a problem, ready to be learned from.
#[derive(Clone, Debug)]
pub struct Data {
    /// All rows of all tables; of large tables not all columns ([`Table::taken`]).
    pub table: Table,
    /// Which rows are for training, validation and test.
    pub split: Split,
    /// Rows kept back for a certificate: nothing is fitted to them.
    pub reserve_rows: Vec<u32>,
    /// The inputs.
    pub encoder: Encoder,
    /// The target.
    pub target: TargetEncoder,
    /// What was read.
    pub hashes: Vec<TableHash>,
    /// How tables are written.
    pub format: Format,
    /// The embedded set the data are from.
    pub set: Option<DataSet>,
    /// The images, if the data are images; their table then has a row for each.
    pub images: Option<Arc<Images>>,
    /// What was decided about the data without being asked, and what a reader should know of them: a sentence each.
    pub notes: Vec<String>,
    /// What a user should know of where the rows are kept: of this process, and in no file of a run.
    pub store_notes: Vec<String>,
    /// The samples of each part; their ids are row numbers of the table.
    pub train: Arc<Samples>,
    /// Validation samples, if there are any.
    pub validation: Option<Arc<Samples>>,
    /// Test samples, if there are any.
    pub test: Option<Arc<Samples>>,
    /// Reserved samples, if there are any.
    pub reserve: Option<Arc<Samples>>,
    /// Whether the validation rows were taken out of the training rows without being asked for.
    pub took_validation: bool,
    /// Rows that are copies of others, which are in the same part: training rows, and rows in no part.
    pub copies: Option<Arc<Copies>>,
    /// Copies of validation rows that were taken without being asked for.
    pub(crate) copied: Option<Arc<Samples>>,
    /// What samples weigh in the objective, if not all the same.
    pub weights: Option<SampleWeights>,
}

impl Data {
    /// The size of an image, if the data are images.
    pub fn image_shape(&self) -> Option<ImageShape> {
        self.images.as_ref().map(|images| images.shape())
    }

    /// The samples of some rows that were held out: reserved, or else for test.
    ///
    /// # Errors
    /// Rows that are not.
    pub fn held_out(&self, rows: &[u32]) -> Result<Arc<Samples>> {
        let parts = [(&self.reserve_rows, &self.reserve), (&self.split.test, &self.test)];
        for (all, samples) in parts {
            let Some(samples) = samples else { continue };
            if all == rows {
                return Ok(samples.clone());
            }
            let place = |row: &u32| all.binary_search(row).ok();
            if let Some(places) = rows.iter().map(place).collect::<Option<Vec<usize>>>() {
                return Ok(Arc::new(chosen(samples, &places)?));
            }
        }
        Err(Error::unfit(self.table.name(), "its rows were not held out"))
    }

    /// The cells of some rows as text, `None` where one is missing. Columns that were freed are read
    /// again from the files.
    ///
    /// # Errors
    /// Unknown columns; files that cannot be read any more.
    pub fn cells(&self, rows: &[u32], columns: &[String]) -> Result<Vec<Vec<Option<String>>>> {
        let of = |table: &Table, row: usize| -> Result<Vec<Option<String>>> {
            columns.iter().map(|column| Ok(table.column(column)?.text(row))).collect()
        };
        if self.table.taken().is_empty() {
            return rows.iter().map(|&row| of(&self.table, row as usize)).collect();
        }
        let mut format = self.format.clone();
        format.kinds.extend(self.table.taken().iter().cloned());
        let mut cells = vec![Vec::new(); rows.len()];
        for TableHash { table: file, sha256 } in &self.hashes {
            let origin = |(at, &row): (usize, &u32)| {
                let (of, line) = self.table.origin(row as usize);
                (of == file).then_some((line, at))
            };
            let here: Vec<(u64, usize)> = rows.iter().enumerate().filter_map(origin).collect();
            let lines: BTreeSet<u64> = here.iter().map(|(line, _)| *line).collect();
            let lines: Vec<u64> = lines.into_iter().collect();
            if lines.is_empty() {
                continue;
            }
            let (table, found) = Table::read_lines(Path::new(file), &format, &lines)?;
            if found != *sha256 {
                return Err(Error::unfit(file, "it has changed since it was read: restore it"));
            }
            for (line, at) in here {
                cells[at] = of(&table, lines.partition_point(|&other| other < line))?;
            }
        }
        Ok(cells)
    }

    /// Without what only validating and testing need.
    pub(crate) fn of_training(mut self) -> Self {
        (self.validation, self.test, self.reserve, self.copied) = (None, None, None, None);
        self
    }
}

/// Some of the samples.
fn chosen(of: &Samples, places: &[usize]) -> Result<Samples> {
    let inputs = of.inputs();
    let dense_columns = inputs.dense_columns().to_vec();
    let mut builder = InputsBuilder::new(inputs.width(), dense_columns, places.len())?;
    for &at in places {
        builder.push(inputs.dense_row(at), inputs.hot(at))?;
    }
    let targets = of.targets().chosen(places.iter().copied());
    let ids = places.iter().map(|&at| of.ids()[at]).collect();
    Ok(Samples::with_ids(builder.finish(), targets, ids)?)
}

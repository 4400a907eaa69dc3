//! Images as rows: pixels for the model, and a table of what is known of each image.
//!
//! | column | is |
//! | --- | --- |
//! | `class` | what is to be predicted |
//! | `brightness` | the mean pixel, in \[0, 1\] |
//! | `digest` | a number made of the pixels: equal images have equal ones |
//!
//! With the table, all that speaks of rows speaks of images: `where = "class == 'Bag'"`, groups, splits,
//! certificates (which know images that were trained on again by their digest), the report.
//!
//! ```
//! use feasible_problem::Gallery;
//! let gallery = Gallery::named("fashion-mnist-sample", None)?;
//! assert_eq!(gallery.table().rows(), 7_000);
//! assert_eq!(gallery.split().test.len(), 1_000);
//! # Ok::<(), feasible_problem::Error>(())
//! ```

use std::path::Path;
use std::sync::Arc;

use feasible::Samples;
use feasible_data::image::{ImageSet, Images, folder};
use feasible_data::{Column, Limits, Split, Table, TargetEncoder};

use crate::data::{Data, TableHash};
use crate::error::{Error, Result};

/// The column of classes.
pub const CLASS: &str = "class";
/// The column that knows images again.
pub const DIGEST: &str = "digest";

/// Images with their table. See the [module](self).
#[derive(Clone, Debug)]
pub struct Gallery {
    images: Arc<Images>,
    split: Split,
    table: Table,
}

impl Gallery {
    /// A known set, from `directory` if one is given, else from the usual places.
    ///
    /// # Errors
    /// An unknown name; files that are nowhere, with how to get them; files that are damaged.
    pub fn named(name: &str, directory: Option<&Path>) -> Result<Self> {
        let (images, split) = ImageSet::named(name)?.load(directory)?;
        Self::new(images, split)
    }

    /// A folder of PNG or JPEG images by class.
    ///
    /// # Errors
    /// No images, or images that cannot be read or differ in size.
    pub fn folder(path: &Path, limits: &Limits) -> Result<Self> {
        let (images, split) = folder::read_within(path, limits)?;
        Self::new(images, split)
    }

    fn new(images: Images, split: Split) -> Result<Self> {
        let class = |&label: &u32| Some(images.classes()[label as usize].as_str());
        let rows = || 0..images.len();
        let columns = vec![
            Column::categories(CLASS, images.labels().iter().map(class)),
            Column::numbers("brightness", rows().map(|row| images.brightness(row)).collect()),
            Column::numbers(DIGEST, rows().map(|row| images.digest(row)).collect()),
        ];
        let table = Table::new(&images.identity().name, columns)?;
        Ok(Self { images: Arc::new(images), split, table })
    }

    /// The images of a plan's data, with its split; `None` if they are a table.
    pub fn of(data: &Data) -> Option<Self> {
        let (images, split) = (data.images.clone()?, data.split.clone());
        Some(Self { images, split, table: data.table.clone() })
    }

    /// The images.
    pub fn images(&self) -> &Arc<Images> {
        &self.images
    }

    /// Which images are for training, validation and test.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// What is known of each image.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// What was read.
    pub fn hashes(&self) -> Vec<TableHash> {
        let hash = |file: &feasible_data::image::FileHash| TableHash {
            table: file.file.clone(),
            sha256: file.sha256.clone(),
        };
        self.images.identity().files.iter().map(hash).collect()
    }

    /// The classes that some rows have, in the order of the set's labels.
    pub fn classes_of(&self, rows: &[u32]) -> Vec<String> {
        let mut used = vec![false; self.images.classes().len()];
        for &row in rows {
            used[self.images.labels()[row as usize] as usize] = true;
        }
        let all = self.images.classes().iter().zip(used);
        all.filter(|(_, used)| *used).map(|(class, _)| class.clone()).collect()
    }

    /// The images of some rows as samples; their ids are the row numbers.
    ///
    /// # Errors
    /// Classes that the target does not have.
    pub fn samples(&self, rows: &[u32], target: &TargetEncoder) -> Result<Samples> {
        samples(&self.images, &self.table, rows, target)
    }

    /// The images a model that exists already is asked about: test images, or all if there are none.
    pub fn test_rows(&self) -> Vec<u32> {
        match self.split.test.is_empty() {
            true => self.table.all_rows(),
            false => self.split.test.clone(),
        }
    }

    pub(crate) fn into_parts(self) -> (Arc<Images>, Split, Table) {
        (self.images, self.split, self.table)
    }
}

/// Images and their targets.
pub fn samples(
    images: &Images,
    table: &Table,
    rows: &[u32],
    target: &TargetEncoder,
) -> Result<Samples> {
    let inputs = images.inputs(rows)?;
    let targets = target.transform(table, rows)?;
    let ids = rows.iter().map(|&row| u64::from(row)).collect();
    Samples::with_ids(inputs, targets, ids).map_err(Error::Core)
}

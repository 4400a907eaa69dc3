//! Tables and images for constrained learning.
//!
//! A row of data walks from a file to a model's inputs in typed steps:
//!
//! | step | type |
//! | --- | --- |
//! | read a file | [`Table`], by a [`Format`] |
//! | choose rows | [`Split`], [`Expression`] |
//! | encode columns | [`Preprocessing`] → [`Encoder`] → [`feasible::Inputs`] |
//! | encode the target | [`TargetSpec`] → [`TargetEncoder`] → [`feasible::Targets`] |
//! | what if it were different | [`Counterfactual`] → [`Change`] → [`feasible::Shift`] |
//!
//! Images are read, checked and split by the module [`image`].
//!
//! Two tables are built in, [`DataSet::adult`] and [`DataSet::compas`]:
//!
//! ```
//! use feasible_data::{DataSet, Encoder, TargetEncoder, samples};
//!
//! let adult = DataSet::adult();
//! let (table, split) = adult.load()?;
//! let target = TargetEncoder::fit(&table, &split.train, &adult.target)?;
//! let inputs = Encoder::fit(&table, &split.train, &adult.preprocessing, &[target.column()])?;
//! let train = samples(&table, &split.train, &inputs, &target)?;
//! assert_eq!((train.len(), train.inputs().width()), (32_561, 61));
//!
//! let reversed = &adult.counterfactuals[0].changes(&inputs)?[0];
//! assert_eq!(reversed.name(), "Male ↔ Female");
//! let shift = reversed.shift(train.inputs())?;
//! assert_eq!(shift.rows(), train.len());
//! # Ok::<(), feasible_data::Error>(())
//! ```

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod bins;
mod category_set;
mod codes;
pub mod column;
mod column_builder;
pub mod column_name;
mod concat;
pub mod counterfactual;
mod dates;
mod decoding;
pub mod disk;
pub mod embedded;
pub mod encoder;
pub mod error;
mod expected;
pub mod expression;
pub mod format;
pub mod formula;
mod hashed_file;
pub mod image;
pub mod label;
pub mod limits;
pub mod many_files;
mod nearest;
mod numbers;
mod origin;
#[cfg(feature = "parquet")]
mod parquet_file;
pub mod preprocessing;
mod quantiles;
mod read;
mod samples;
pub mod scratch;
pub mod slices;
mod source;
pub mod split;
mod stray;
pub mod table;
pub mod table_file;
pub mod table_stream;
pub mod target;
mod text_file;
mod visible;
pub mod weight;
mod write;
mod zstd_frames;

pub use codes::Codes;
pub use column::{Categories, Cells, Column, ColumnKind, MISSING, Mixed};
pub use counterfactual::{Change, Counterfactual, SetTo};
pub use dates::{date_text, is_date, time_text};
pub use decoding::damage;
pub use embedded::DataSet;
pub use encoder::{Cycle, Encoder, Encoding, Variable};
pub use error::{CellPlace, Error, Result};
pub use expected::expected_bytes;
pub use expression::{Expression, ExpressionError, Filter, UnknownCategories};
pub use format::{Duplicates, Format};
pub use image::{ImageError, ImageSet, Images};
pub use label::Label;
pub use limits::Limits;
pub use many_files::files_of;
pub use nearest::nearest;
pub use numbers::Numbers;
pub use preprocessing::{
    Bins, Dates, Missing, Piecewise, PiecewiseRule, Preprocessing, Standardise, Unseen,
};
pub use samples::{samples, samples_out};
pub use slices::{
    ReadCounts, ReadRequest, Readers, Reading, SliceAnswer, SliceAnswers, SliceRead, TableSlice,
    WholeRead,
};
pub use split::{ByColumn, Fractions, Split};
pub use table::Table;
pub use target::{TargetColumns, TargetCoordinate, TargetEncoder, TargetSpec, Task, moments};
pub use visible::{is_hidden, visible, visible_lines};
pub use weight::{ClassWeights, SampleWeights};

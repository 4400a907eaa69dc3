//! A problem of Feasible: from the text of a problem file to a checked [`Plan`].
//!
//! | step | type |
//! | --- | --- |
//! | read a problem file | [`ProblemSource`] → [`Spec`] |
//! | read, split and encode its data | [`data::Data`] |
//! | hold its requirements against the data | [`clause::Clause`] |
//! | everything a training needs | [`Plan`] |
//! | know again the rows that were trained on | [`Fingerprints`] |
//!
//! Nothing here trains, writes a file or reads a terminal.
//!
//! ```
//! use feasible_problem::{Plan, ProblemSource};
//! let quick = ["training.epochs=3".to_string()];
//! let plan = Plan::check(&ProblemSource::open("compas")?.with_overrides(&quick))?;
//! assert!(plan.describe().contains("13"));
//! # Ok::<(), feasible_problem::Error>(())
//! ```

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod augmented;
mod blame;
pub mod clause;
mod combination;
mod conditioning;
mod contradiction;
pub mod data;
pub mod describe;
pub mod embedded;
pub mod error;
pub mod gallery;
mod generalise;
pub mod held_out;
pub mod listing;
pub mod loss;
pub mod memory;
pub mod network;
pub mod plan;
pub mod rate;
pub mod recipe;
pub mod room;
pub mod sampled_table;
pub mod schema;
pub mod settings;
pub mod space;
pub mod spec;
pub mod starter;
pub mod store;
pub mod text;
pub mod threshold;
pub mod units;

pub use feasible_nn::Level;

pub use augmented::Augmented;
pub use embedded::{EmbeddedProblem, problems};
pub use error::{Error, KeyPlace, Result};
pub use gallery::Gallery;
pub use held_out::Fingerprints;
pub use listing::{DataSetInfo, data_sets};
pub use network::Network;
pub use plan::Plan;
pub use schema::problem_schema;
pub use settings::Settings;
pub use space::Space;
pub use spec::{ProblemSource, Spec};
pub use starter::{read_for_starter, starter, starter_name};
pub use store::Store;
pub use units::{OutputUnit, OutputUnits};

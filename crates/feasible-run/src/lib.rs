//! A run of Feasible: from a problem file to a trained, saved, resumable model.
//!
//! | step | type |
//! | --- | --- |
//! | read a problem file | [`Source`] → [`Spec`] |
//! | hold it against its data | [`Plan`] |
//! | train it | [`fit()`], [`resume`] → [`Fit`], in a [`Directory`] or in [`Memory`] |
//! | use what came of it | [`SavedModel::predict`], [`SavedModel::audit`] |
//! | attack it | [`SavedModel::attack_images`] → [`Curve`] |
//! | say what is certain about it | [`RunRecord`] → [`Certification`] |
//! | watch it in use | [`Monitor`] → [`monitor::Standing`] |
//! | the paper's experiments | [`reproduce`] |
//!
//! Nothing here prints or reads a terminal: progress is [`Event`]s, stopping is an
//! [`Interrupt`], results are values with a `to_text`.
//!
//! ```
//! use feasible_run::{FitOptions, Plan, Source, fit};
//! let quick = ["training.epochs=3".to_string()];
//! let plan = Plan::check(&Source::open("compas")?.with_overrides(&quick))?;
//! assert!(plan.describe().contains("13"));
//! let fit = fit(&plan, &FitOptions::default(), &|_event| {})?;
//! assert!(fit.to_text().contains("flips, Male ↔ Female"));
//! # Ok::<(), feasible_run::Error>(())
//! ```

pub mod attack;
pub mod audit;
pub mod augmented;
pub mod bound;
pub mod certify;
pub mod checkpoint;
pub mod clause;
mod conclusion;
pub mod data;
mod describe;
pub mod embedded;
pub mod error;
pub mod evaluate;
pub mod files;
pub mod fit;
pub mod gallery;
mod interrupt;
pub mod ladder;
pub mod listing;
pub mod loss;
pub mod memory;
pub mod metrics;
pub mod monitor;
pub mod network;
pub mod parse;
pub mod plan;
pub mod predict;
pub mod prices;
pub mod recipe;
pub mod reproduce;
pub mod saved_model;
pub mod schema;
mod seeds;
mod settings;
pub mod spec;
pub mod start;
pub mod starter;
pub mod storage;
pub mod summary;
pub mod sweep;
mod text;
mod threads;

pub use feasible_nn::Level;

pub use attack::{AttackOptions, AttackProgress, Curve, CurvePoint};
pub use audit::Audit;
pub use augmented::Augmented;
pub use certify::{Certification, Fingerprints, RunRecord};
pub use checkpoint::{Checkpoint, CheckpointError};
pub use embedded::{EmbeddedProblem, problems};
pub use error::{Error, Place, Result};
pub use evaluate::{Evaluation, Flips, Standing};
pub use feasible_data::disk;
pub use fit::{Fitted, Observer, finish_in, fit_from, fit_in, resume_in, summarise};
pub use gallery::Gallery;
pub use interrupt::Interrupt;
pub use ladder::Rung;
pub use listing::{DataSetInfo, data_sets};
pub use metrics::{EpochMetrics, Event};
pub use monitor::Monitor;
pub use network::Network;
pub use plan::Plan;
pub use predict::{Formulas, Prediction, Predictions};
pub use prices::{Prices, check_prices};
pub use saved_model::{Manifest, SavedModel};
pub use schema::problem_schema;
pub use seeds::{Fit, FitOptions, finish, fit, resume, seed_directory};
pub use settings::{AnyLearner, AnyOptimiser};
pub use spec::{Source, Spec};
pub use start::Start;
pub use starter::starter;
pub use storage::{Directory, Memory, Storage, write_whole};
pub use summary::{SeedsSummary, Spread, Summary};
pub use sweep::{Frontier, SweepOptions, sweep};

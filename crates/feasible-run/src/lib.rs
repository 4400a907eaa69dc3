//! A run of Feasible: from a checked plan to a trained, saved, resumable model.
//!
//! | step | type |
//! | --- | --- |
//! | read a problem file and its data | [`feasible_problem::Plan`] |
//! | train it | [`fit()`], [`resume`] → [`Fit`], in a [`Directory`] or in [`Memory`] |
//! | use the model | [`SavedModel::predict`], [`SavedModel::audit`] |
//! | attack it | [`SavedModel::attack_images`] → [`Curve`] |
//! | say what is certain about it | [`RunRecord`] → [`Certification`] |
//! | choose its settings | [`tune()`] → [`Search`] |
//! | watch it in use | [`Monitor`] → [`monitor::MonitorReport`] |
//!
//! Nothing here prints or reads a terminal: progress is [`Event`]s, stopping is an
//! [`Interrupt`], results are values with a `to_text`.
//!
//! ```
//! use feasible_problem::{Plan, ProblemSource};
//! use feasible_run::{FitOptions, fit};
//! let quick = ["training.epochs=3".to_string()];
//! let plan = Plan::check(&ProblemSource::open("compas")?.with_overrides(&quick))?;
//! assert!(plan.describe().contains("13"));
//! let fit = fit(&plan, &FitOptions::default(), &|_event| {})?;
//! assert!(fit.to_text().contains("flip rate, Male ↔ Female"));
//! # Ok::<(), feasible_run::Error>(())
//! ```

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod attack;
pub mod attacked;
pub mod audit;
pub mod baseline;
pub mod bound;
pub mod certify;
pub mod checkpoint;
mod close_call;
mod conclusion;
pub mod constant;
pub mod decision;
pub mod directory;
pub mod doubt;
pub mod error;
pub mod evaluate;
pub mod export;
pub mod files;
pub mod fit;
pub mod folds;
pub mod given;
pub mod groups;
mod interrupt;
mod job_part;
pub mod ladder;
pub mod metrics;
pub mod monitor;
pub mod multipliers;
mod network_choice;
pub mod output;
pub mod parse;
mod parts;
pub mod predict;
pub mod prices;
pub mod ranks;
pub mod rates;
mod removal;
mod resumable;
pub mod saved_model;
pub mod scores;
pub mod seeds;
pub mod selected;
pub mod start;
pub mod storage;
mod subject;
pub mod summarise;
pub mod summary;
pub mod sweep;
mod threads;
pub mod tune;

pub use attack::{AttackOptions, AttackProgress, ClassCurve, Curve, CurvePoint};
pub use attacked::{AttackedClass, AttackedExamples, AttackedImage, AttackedImages};
pub use audit::Audit;
pub use baseline::{Baseline, Difference};
pub use certify::{Certification, RunRecord};
pub use checkpoint::{Checkpoint, CheckpointError};
pub use conclusion::{JSON_FORMAT, RunVerdict, WrittenSummary};
pub use constant::{Comparison, Constant, Measure};
pub use decision::{Decision, GroupThresholds};
pub use directory::RunDirectory;
pub use doubt::Doubt;
pub use error::{Error, Result};
pub use evaluate::{Evaluation, FlipRate, RequirementResult, TargetError};
pub use feasible_data::disk;
pub use fit::{Fitted, Observer, finish_in, finish_plan, fit_from, fit_in, resume_in};
pub use given::{GivenOutputs, Judgement};
pub use groups::GroupTables;
pub use interrupt::Interrupt;
pub use job_part::{JobPart, join};
pub use ladder::Rung;
pub use metrics::{EpochMetrics, Event};
pub use monitor::Monitor;
pub use network_choice::settle_network;
pub use output::write_whole;
pub use predict::{Formulas, Prediction, Predictions};
pub use prices::{Prices, check_prices};
pub use rates::{Calibration, ClassRates, TopAccuracy};
pub use saved_model::{Manifest, SavedModel};
pub use scores::Scores;
pub use seeds::{Fit, FitOptions, finish, fit, resume};
pub use selected::Selected;
pub use start::Start;
pub use storage::{Directory, Memory, Storage};
pub use summarise::summarise;
pub use summary::{SeedsSummary, Spread, Summary};
pub use sweep::{Frontier, SweepOptions, sweep};
pub use tune::{Search, TuneOptions, Tuned, tune};

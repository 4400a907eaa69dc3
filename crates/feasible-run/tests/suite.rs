//! Runs: trained, stopped, resumed, saved, read back, certified, swept and searched.
//!
//! One program, since each is linked by itself: `cargo test -p feasible-run --test suite attack_verdicts::` runs one file of it.
//! Tests that need a process to themselves are programs of their own; `Cargo.toml` names them.

mod common;

mod attack_verdicts;
mod baseline;
mod certificates;
mod checkpoints;
mod classifiers;
mod default_recipe;
mod folds;
mod hostile_files;
mod images;
mod ladder;
mod network_choice;
mod onnx;
mod requirements;
mod resume;
mod saved_models;
mod scores;
mod several_files;
mod shared_data;
mod storage_failures;
mod sweep;
mod tune;
mod vector_targets;

//! Tables and images: reading, encoding, splits, counterfactuals, limits.
//!
//! One program, since each is linked by itself: `cargo test -p feasible-data --test suite encoding::` runs one file of it.
//! Tests that need a process to themselves are programs of their own; `Cargo.toml` names them.

#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod augmentation;
mod decided;
mod embedded;
mod encoding;
mod expressions;
mod files;
mod hostile_tables;
mod image_files;
mod image_sets;
mod limits;
mod many_files;
mod piecewise;
mod slices;
mod table_file;
mod targets;

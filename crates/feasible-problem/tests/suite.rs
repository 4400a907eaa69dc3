//! Problem files: read, refused and planned, and rows recognised again.
//!
//! One program, since each is linked by itself: `cargo test -p feasible-problem --test suite held_out::` runs one file of it.

#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod common;
mod overlap;
mod repeated;

mod classifiers;
mod copies;
mod held_out;
mod problem_files;

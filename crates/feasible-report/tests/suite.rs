//! Pages and charts.
//!
//! One program, since each is linked by itself: `cargo test -p feasible-report --test suite page::` runs one file of it.

#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod charts;
mod hostile_runs;
mod page;

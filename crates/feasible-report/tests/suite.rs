//! Pages and charts.
//!
//! One program, since each is linked by itself: `cargo test -p feasible-report --test suite page::` runs one file of it.

#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod charts;
#[path = "../../feasible/tests/common/depth.rs"]
mod depth;
mod hostile_runs;
mod page;
